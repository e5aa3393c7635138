// Calls of the public API. A page calls get, post, … and handles ApiError; what a sign-in needs is
// done here: the token, signing in again over the page, and asking for the password once more.
import { parseEvents, type ServerEvent } from './events';
import { askPassword, askSignIn, session } from './session.svelte';

/** An error as the service tells it, or one of the way to it (code "offline"). */
export class ApiError extends Error {
  status: number;
  code: string;
  field?: string;
  fields?: Record<string, string>;
  limit?: string;
  details?: { code: string; message: string; line?: number; column?: number }[];
  retryAfter?: number;
  body?: unknown;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** What is wrong with a field, for the place beside it, where its name need not be said; "" for nothing. */
export function wrong(e: ApiError | null | undefined, field: string): string {
  const said = e?.field === field ? e.message : (e?.fields?.[field] ?? '');
  if (!said.startsWith(field + ': ')) return said;
  // What is said of the field by its name goes on as said of it: "is no colour", "has 2 fields".
  return said.slice(field.length + 2).replace(/^(is|has|stands|names|does|lets|cannot|was) /, 'it $1 ');
}

/** What the service says, as people write it: it begins with a small letter there, as errors of programs do. */
export function sentence(said: string): string {
  return said.replace(/^[a-z](?=[a-z]* )/, (c) => c.toUpperCase());
}

export interface Options {
  query?: Record<string, string | number | boolean | null | undefined>;
  /** Sent as JSON. */
  json?: unknown;
  /** Sent as it is. */
  body?: BodyInit;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

interface Token {
  token: string;
  username: string;
  expires_at: string;
}

let token: (Token & { renewAt: number }) | null = null;
let renewing: Promise<Token> | null = null;

/** A token is good for 15 minutes, and is renewed when 10 of them are over. */
const renewAfter = 10 * 60_000;

async function renew(): Promise<Token> {
  const answer = await plain<Token>('POST', '/v1/session/token', {});
  // Another has signed in by another tab, or over this page: what is on it, and what it was about to do, is
  // not theirs. It begins anew, and nothing waits for an answer any more.
  if (session.who && session.who.username !== answer.username) {
    location.reload();
    return new Promise(() => {});
  }
  token = { ...answer, renewAt: Date.now() + renewAfter };
  return token;
}

/** The token of the session, new where it is old. Calls at the same time share one request. */
export function currentToken(): Promise<Token> {
  if (token && Date.now() < token.renewAt) return Promise.resolve(token);
  renewing ??= renew().finally(() => (renewing = null));
  return renewing;
}

export function forgetToken(): void {
  token = null;
}

function address(path: string, query: Options['query']): string {
  const q = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== null && value !== '') q.set(name, String(value));
  }
  const text = q.toString();
  return text === '' ? path : path + '?' + text;
}

async function send(method: string, path: string, o: Options, bearer?: string): Promise<Response> {
  const headers: Record<string, string> = { Accept: 'application/json', ...o.headers };
  if (bearer !== undefined) headers.Authorization = 'Bearer ' + bearer;
  let body = o.body;
  if (o.json !== undefined) {
    headers['Content-Type'] = 'application/json';
    body = JSON.stringify(o.json);
  }
  try {
    return await fetch(address(path, o.query), { method, headers, body, signal: o.signal, credentials: 'same-origin' });
  } catch (e) {
    if (o.signal?.aborted) throw e;
    throw new ApiError(0, 'offline', 'The service cannot be reached. Look whether it runs and you are online; this is tried again.');
  }
}

/** The error of an answer that is none of the good ones. */
export async function errorOf(r: Response): Promise<ApiError> {
  let body: { error?: Partial<ApiError> & { message?: string } } | undefined;
  try {
    body = await r.json();
  } catch {
    // Not the service: a proxy before it, perhaps.
  }
  const e = body?.error;
  const error = new ApiError(r.status, e?.code ?? 'http_' + r.status, e?.message ?? `The service answered with the status ${r.status}.`);
  error.field = e?.field;
  error.fields = e?.fields;
  error.limit = e?.limit;
  error.details = e?.details;
  error.body = body;
  const after = Number(r.headers.get('Retry-After'));
  if (after > 0) error.retryAfter = after;
  return error;
}

/** A call that is made as nobody: the routes of sessions, which go by their cookie. */
export async function plain<T>(method: string, path: string, o: Options = {}): Promise<T> {
  const r = await send(method, path, o);
  if (!r.ok) throw await errorOf(r);
  return (r.status === 204 ? undefined : await r.json()) as T;
}

/** A call of whoever is signed in. The answer is as it came, and good. */
export async function request(method: string, path: string, o: Options = {}): Promise<Response> {
  let refused = 0;
  for (;;) {
    let bearer: Token;
    try {
      bearer = await currentToken();
    } catch (e) {
      if (!(e instanceof ApiError) || e.status !== 401) throw e;
      await askSignIn();
      continue;
    }
    const used = bearer.token;
    // A query names its caller in its body, as programs do.
    const inBody = path === '/v1/query' && method === 'POST';
    const sent = inBody ? { ...o, json: { auth: { username: bearer.username, token: used }, ...(o.json as object) } } : o;
    const r = await send(method, path, sent, inBody ? undefined : used);
    if (r.ok) return r;
    const error = await errorOf(r);
    // One that is refused while it is new is refused for another reason, which asking again does not mend.
    if (error.status === 401 && error.code === 'bad_credentials' && refused++ < 2) {
      // The session may have ended while the token was young: the next round asks.
      if (token?.token === used) forgetToken();
      await stillSignedIn();
      continue;
    }
    if (error.status === 403 && error.code === 'confirm_required') {
      await askPassword();
      continue;
    }
    throw error;
  }
}

/** Asks to sign in where the session is over. */
async function stillSignedIn(): Promise<void> {
  try {
    await currentToken();
  } catch (e) {
    if (!(e instanceof ApiError) || e.status !== 401) throw e;
    await askSignIn();
  }
}

async function json<T>(method: string, path: string, o?: Options): Promise<T> {
  const r = await request(method, path, o);
  return (r.status === 204 ? undefined : await r.json()) as T;
}

export const get = <T>(path: string, query?: Options['query'], signal?: AbortSignal) => json<T>('GET', path, { query, signal });
export const post = <T>(path: string, body: unknown = {}, o?: Options) => json<T>('POST', path, { ...o, json: body });
export const put = <T>(path: string, body: unknown, o?: Options) => json<T>('PUT', path, { ...o, json: body });
export const patch = <T>(path: string, body: unknown, o?: Options) => json<T>('PATCH', path, { ...o, json: body });
export const del = <T = void>(path: string, o?: Options) => json<T>('DELETE', path, o);

/** The path of the API of an address that the service gave, whatever host it names. */
export function pathOf(url: string): string {
  const u = new URL(url, location.href);
  return u.pathname + u.search;
}

/**
 * Reads Server-Sent Events. EventSource cannot send a header, so this is fetch. It comes back by
 * itself with the last id until the signal ends it, or until `ended` says that all is told. What
 * `onEvent` promises is waited for before more is read.
 */
export async function events(path: string, o: { onEvent: (e: ServerEvent) => void | Promise<void>; signal: AbortSignal; ended?: () => boolean; onState?: (live: boolean) => void }): Promise<void> {
  let last = '';
  let failures = 0;
  while (!o.signal.aborted) {
    try {
      const headers: Record<string, string> = { Accept: 'text/event-stream' };
      if (last !== '') headers['Last-Event-ID'] = last;
      const r = await request('GET', path, { headers, signal: o.signal });
      o.onState?.(true);
      for await (const e of parseEvents(r.body!)) {
        failures = 0;
        if (e.id !== '') last = e.id;
        await o.onEvent(e);
      }
      if (o.ended?.()) return;
    } catch (e) {
      if (o.signal.aborted) return;
      if (e instanceof ApiError && e.status >= 400 && e.status < 500 && e.status !== 429) throw e;
      failures++;
    }
    o.onState?.(false);
    await pause(Math.min(10_000, 250 * 2 ** Math.min(failures, 6)), o.signal);
  }
}

/** Waits, or until the signal comes. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    function done() {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    }
    signal?.addEventListener('abort', done);
  });
}

export type { ServerEvent };
