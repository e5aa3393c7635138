// What a script finds of its caller, in sets by file: each has a name, and one of them is sent.
export interface Sent {
  get: string;
  body: string;
  input: string;
}
export interface Named extends Sent {
  name: string;
}
/** The sets of a file, and which of them is chosen. */
export interface Requests {
  sets: Named[];
  chosen: number;
}

/** As many sets are kept for a file. */
export const mostSets = 20;

export const emptySet = (name: string): Named => ({ name, get: '', body: '', input: '' });
export const none = (): Requests => ({ sets: [emptySet('Request')], chosen: 0 });

const keyOf = (file: string) => 'ql.request ' + file;

/** The sets of a file as this browser keeps them. */
export function readRequests(file: string): Requests {
  try {
    const kept = JSON.parse(localStorage.getItem(keyOf(file)) ?? 'null') as Partial<Requests & Sent> | null;
    if (!kept) return none();
    // One request for each file was kept before there were sets.
    const sets = Array.isArray(kept.sets) ? kept.sets : [kept];
    const all = sets.slice(0, mostSets).map((s: Partial<Named>, i) => ({ name: String(s.name ?? 'Request' + (i > 0 ? ' ' + (i + 1) : '')), get: String(s.get ?? ''), body: String(s.body ?? ''), input: String(s.input ?? '') }));
    if (all.length === 0) return none();
    return { sets: all, chosen: Math.min(Math.max(0, Number(kept.chosen) || 0), all.length - 1) };
  } catch {
    return none();
  }
}

export function keepRequests(file: string, r: Requests): void {
  try {
    localStorage.setItem(keyOf(file), JSON.stringify(r));
  } catch {
    // A browser that is full, or in private mode, keeps none.
  }
}

/** A name that no set has yet. */
export function freeName(sets: Named[], name = 'Request'): string {
  for (let n = 1; ; n++) {
    const free = n === 1 ? name : `${name} ${n}`;
    if (!sets.some((s) => s.name === free)) return free;
  }
}

/** The fields of a call; throws where a text is no JSON. */
export function callOf(s: Sent): Record<string, unknown> {
  const read = (name: string, text: string) => {
    try {
      return JSON.parse(text) as unknown;
    } catch {
      throw new Error(`${name} is no JSON: look at the panel Request.`);
    }
  };
  const request: Record<string, unknown> = {};
  if (s.get.trim() !== '') request.get = read('What !GET finds', s.get);
  if (s.body.trim() !== '') request.body = read('The body', s.body);
  return {
    ...(Object.keys(request).length > 0 ? { request } : {}),
    ...(s.input.trim() !== '' ? { input: read('The input', s.input) } : {}),
  };
}

/** The set that sends what a job was sent. */
export function setOf(name: string, request: Record<string, unknown> | null, input: unknown): Named {
  const text = (v: unknown) => (v === undefined || v === null ? '' : JSON.stringify(v, null, 2));
  return { name, get: text(request?.get), body: text(request?.body), input: text(input) };
}
