// Files of the account as the API shows them.
export interface Entry {
  path: string;
  name: string;
  size: number;
  modified: string;
  folder: boolean;
}

export interface Share {
  id: string;
  path: string;
  name: string;
  size: number;
  status: string;
  times: number | null;
  used: number;
  created_at: string;
  expires_at: string;
  revoked_at: string | null;
  receipts: { at: string; address: string; agent: string; restarts: number; sent: number; finished_at: string | null }[];
}

/** A path for an address, without its first slash. */
export function encodePath(path: string): string {
  return path.replace(/^\/+/, '').split('/').map(encodeURIComponent).join('/');
}

export type Shown = 'text' | 'table' | 'frame' | 'none';

/** How a file is shown before it is opened. */
export function previewOf(name: string): Shown {
  const ext = name.slice(name.lastIndexOf('.') + 1).toLowerCase();
  if (['csv', 'tsv'].includes(ext)) return 'table';
  if (['png', 'jpg', 'jpeg', 'gif', 'webp', 'avif', 'svg', 'pdf', 'mp4', 'webm', 'mp3', 'ogg', 'wav'].includes(ext)) return 'frame';
  if (['zip', 'gz', 'wasm', 'db', 'sqlite', 'exe', 'bin', 'woff', 'woff2', 'ico', '7z', 'tar', 'xlsx', 'docx'].includes(ext)) return 'none';
  return 'text';
}

/** The rows of the beginning of a CSV text. */
export function csvRows(text: string, most: number): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = '';
  let quoted = false;
  const first = text.split('\n', 1)[0] ?? '';
  const separator = [';', '\t', ','].reduce((best, c) => (first.split(c).length > first.split(best).length ? c : best), ',');
  for (let i = 0; i < text.length && rows.length < most; i++) {
    const c = text[i]!;
    if (quoted) {
      if (c === '"' && text[i + 1] === '"') {
        cell += '"';
        i++;
      } else if (c === '"') quoted = false;
      else cell += c;
    } else if (c === '"') quoted = true;
    else if (c === separator) {
      row.push(cell);
      cell = '';
    } else if (c === '\n') {
      row.push(cell.replace(/\r$/, ''));
      rows.push(row);
      row = [];
      cell = '';
    } else cell += c;
  }
  if ((cell !== '' || row.length > 0) && rows.length < most) rows.push([...row, cell]);
  return rows;
}
