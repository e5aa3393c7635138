// Drafts: what was written and is not saved, in the browser's own database, by file. A tab that is
// killed has everything back.
export interface Draft {
  text: string;
  /** The ETag of the file that it began with; "" where there was none. */
  tag: string;
  at: number;
}

const name = 'ql-editor';
const table = 'drafts';

function open(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const r = indexedDB.open(name, 1);
    r.onupgradeneeded = () => r.result.createObjectStore(table);
    r.onsuccess = () => resolve(r.result);
    r.onerror = () => reject(r.error);
  });
}

async function use<T>(mode: IDBTransactionMode, act: (s: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  const db = await open();
  try {
    return await new Promise((resolve, reject) => {
      const t = db.transaction(table, mode);
      const r = act(t.objectStore(table));
      t.oncomplete = () => resolve(r.result);
      t.onerror = () => reject(t.error);
    });
  } finally {
    db.close();
  }
}

/** The key of a file of an account: drafts of another account are not shown. */
export const keyOf = (username: string, file: string) => username + ' ' + file;

export const readDraft = (key: string) => use<Draft | undefined>('readonly', (s) => s.get(key) as IDBRequest<Draft | undefined>);
export const keepDraft = (key: string, d: Draft) => use('readwrite', (s) => s.put(d, key));
export const dropDraft = (key: string) => use('readwrite', (s) => s.delete(key));
