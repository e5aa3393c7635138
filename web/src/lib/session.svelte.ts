// Who is signed in, and the two dialogs that stand over whatever page is open: to sign in again, and
// to say the password once more before something that is guarded.
import { ApiError, currentToken, forgetToken, plain } from './api';

export interface Session {
  username: string;
  admin: boolean;
  dev: boolean;
  expires_at: string;
  confirmed_until: string | null;
}

/** What the service says of itself in the page, which it writes anew for every request. */
export const service = {
  dev: document.documentElement.dataset.dev === 'true',
  /** Who makes an account for themselves: "closed" for nobody, "invite" for who was invited, "open" for anybody. */
  signUp: document.documentElement.dataset.signUp ?? 'closed',
  nonce: document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? '',
};

export const session = $state<{ state: 'unknown' | 'in' | 'out'; who: Session | null }>({ state: 'unknown', who: null });

interface Asked {
  promise: Promise<void>;
  resolve: () => void;
  reject: (e: unknown) => void;
}

/** What is being asked for over the page; null for nothing. */
export const asked = $state<{ signIn: Asked | null; password: Asked | null }>({ signIn: null, password: null });

function ask(): Asked {
  let resolve!: () => void;
  let reject!: (e: unknown) => void;
  const promise = new Promise<void>((a, b) => {
    resolve = a;
    reject = b;
  });
  return { promise, resolve, reject };
}

/** Waits until somebody has signed in, by the dialog or on the page for it. */
export function askSignIn(): Promise<void> {
  if (session.state !== 'in') session.state = 'out';
  asked.signIn ??= ask();
  return asked.signIn.promise;
}

/** Waits until the password was given again. Rejects where somebody thinks better of it. */
export function askPassword(): Promise<void> {
  asked.password ??= ask();
  return asked.password.promise;
}

/** Begins a page: the session of the cookie, in development a new one without being asked. */
export async function begin(): Promise<void> {
  try {
    await enter();
  } catch (e) {
    if (!(e instanceof ApiError)) throw e;
    if (e.status !== 401) throw e;
    if (service.dev) {
      try {
        await plain('POST', '/v1/session/dev', { json: {} });
        await enter();
        return;
      } catch (again) {
        if (!(again instanceof ApiError) || again.status === 0) throw again;
      }
    }
    session.state = 'out';
  }
}

async function enter(): Promise<void> {
  await currentToken();
  session.who = await plain<Session>('GET', '/v1/session');
  session.state = 'in';
}

/** Signs in by the link that a service in development has printed. */
export async function signInByLink(token: string): Promise<void> {
  await plain('POST', '/v1/session/dev', { json: { token } });
  forgetToken();
  await enter();
}

export async function signIn(username: string, password: string): Promise<void> {
  await plain('POST', '/v1/session', { json: { username, password } });
  forgetToken();
  await enter();
  asked.signIn?.resolve();
  asked.signIn = null;
}

export async function confirmPassword(password: string): Promise<void> {
  await plain('POST', '/v1/session/confirm', { json: { password } });
  asked.password?.resolve();
  asked.password = null;
}

export function leavePassword(): void {
  asked.password?.reject(new ApiError(403, 'confirm_required', 'The password was not given, so nothing was changed.'));
  asked.password = null;
}

export async function signOut(): Promise<void> {
  await plain('DELETE', '/v1/session');
  forgetToken();
  // All that pages hold is gone with the document.
  location.assign('/app/sign-in');
}
