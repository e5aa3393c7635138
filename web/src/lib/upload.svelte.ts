// Files on their way to the account: some at a time, with progress, paused, tried again. They go on
// while other pages of the dashboard are open.
import { ApiError, currentToken } from './api';
import { encodePath } from './files';

export interface Upload {
  id: number;
  /** Where it goes. */
  path: string;
  file: File;
  state: 'waiting' | 'sending' | 'done' | 'exists' | 'failed' | 'skipped';
  sent: number;
  message: string;
  /** Whether a file that is there may be replaced. */
  replace: boolean;
}

const atOnce = 3;

class Uploads {
  list = $state<Upload[]>([]);
  paused = $state(false);
  /** Grows with each file that has arrived, so that a list can follow. */
  arrived = $state(0);
  private last = 0;
  private requests = new Map<number, XMLHttpRequest>();

  add(files: { path: string; file: File }[]): void {
    for (const f of files) this.list.push({ id: ++this.last, path: f.path, file: f.file, state: 'waiting', sent: 0, message: '', replace: false });
    this.next();
  }

  get open(): Upload[] {
    return this.list.filter((u) => u.state === 'waiting' || u.state === 'sending');
  }

  pause(): void {
    this.paused = true;
    for (const [id, r] of this.requests) {
      r.abort();
      const u = this.list.find((u) => u.id === id);
      if (u) {
        u.state = 'waiting';
        u.sent = 0;
      }
    }
    this.requests.clear();
  }

  go(): void {
    this.paused = false;
    this.next();
  }

  retry(u: Upload): void {
    u.state = 'waiting';
    u.message = '';
    u.sent = 0;
    this.next();
  }

  /** Decides for a file that is there already. */
  decide(u: Upload, what: 'replace' | 'both' | 'skip'): void {
    if (what === 'skip') {
      u.state = 'skipped';
      return;
    }
    if (what === 'replace') u.replace = true;
    else u.path = besides(u.path);
    this.retry(u);
  }

  clear(): void {
    this.list = this.list.filter((u) => u.state === 'waiting' || u.state === 'sending' || u.state === 'exists');
  }

  private next(): void {
    if (this.paused) return;
    for (const u of this.list) {
      if (this.list.filter((x) => x.state === 'sending').length >= atOnce) return;
      if (u.state === 'waiting') void this.send(u);
    }
  }

  private async send(u: Upload): Promise<void> {
    u.state = 'sending';
    try {
      const status = await this.put(u);
      if (status === 412) {
        u.state = 'exists';
        u.message = 'There is a file of this name.';
      } else {
        u.state = 'done';
        u.sent = u.file.size;
        this.arrived++;
      }
    } catch (e) {
      if ((u.state as string) === 'waiting') return; // paused
      u.state = 'failed';
      u.message = e instanceof Error ? e.message : String(e);
    }
    this.next();
  }

  // fetch tells nothing of how much was sent.
  private async put(u: Upload): Promise<number> {
    const token = await currentToken();
    return new Promise((resolve, reject) => {
      const r = new XMLHttpRequest();
      this.requests.set(u.id, r);
      const over = () => this.requests.delete(u.id);
      r.open('PUT', '/v1/files/' + encodePath(u.path));
      r.setRequestHeader('Authorization', 'Bearer ' + token.token);
      r.setRequestHeader('Content-Type', u.file.type || 'application/octet-stream');
      if (!u.replace) r.setRequestHeader('If-None-Match', '*');
      r.upload.onprogress = (e) => (u.sent = e.loaded);
      r.onload = () => {
        over();
        if (r.status < 300 || r.status === 412) resolve(r.status);
        else reject(new ApiError(r.status, '', said(r)));
      };
      r.onerror = () => {
        over();
        reject(new ApiError(0, 'offline', 'The line was cut.'));
      };
      r.onabort = () => {
        over();
        reject(new ApiError(0, 'paused', 'Paused.'));
      };
      r.send(u.file);
    });
  }
}

function said(r: XMLHttpRequest): string {
  try {
    return JSON.parse(r.responseText).error.message;
  } catch {
    return `The service answered with the status ${r.status}.`;
  }
}

/** "a (2).txt" for "a.txt", "a (3).txt" for "a (2).txt". */
export function besides(path: string): string {
  const [, stem = '', n, ext = ''] = /^(.*?)(?: \((\d+)\))?(\.[^./]*)?$/.exec(path) ?? [];
  return `${stem} (${n ? Number(n) + 1 : 2})${ext}`;
}

export const uploads = new Uploads();

/** The files of what was dropped, those in folders too. */
export async function dropped(data: DataTransfer, folder: string): Promise<{ path: string; file: File }[]> {
  const out: { path: string; file: File }[] = [];
  const entries = [...data.items].map((i) => i.webkitGetAsEntry()).filter((e) => e !== null);
  if (entries.length === 0) return [...data.files].map((file) => ({ path: join(folder, file.name), file }));
  async function walk(e: FileSystemEntry, at: string): Promise<void> {
    if (e.isFile) {
      const file = await new Promise<File>((ok, bad) => (e as FileSystemFileEntry).file(ok, bad));
      out.push({ path: join(at, e.name), file });
      return;
    }
    const reader = (e as FileSystemDirectoryEntry).createReader();
    for (;;) {
      const some = await new Promise<FileSystemEntry[]>((ok, bad) => reader.readEntries(ok, bad));
      if (some.length === 0) return;
      for (const child of some) await walk(child, join(at, e.name));
    }
  }
  for (const e of entries) await walk(e, folder);
  return out;
}

export function join(folder: string, name: string): string {
  return (folder === '/' || folder === '' ? '/' : folder + '/') + name;
}
