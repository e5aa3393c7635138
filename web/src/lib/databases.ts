// Databases of the account as the API shows them, and the SQL by which pages read and change rows.
import { post } from './api';

export interface ColumnInfo {
  name: string;
  type: string;
  not_null: boolean;
  default: string | null;
  primary_key: number;
  computed: boolean;
}

export interface TableInfo {
  name: string;
  kind: 'table' | 'view';
  columns: ColumnInfo[];
  indexes: { name: string; unique: boolean; columns: (string | null)[] }[];
  rows: number | null;
  rows_exact: boolean;
  sql: string;
}

export type Cell = string | number | boolean | null | { base64: string } | object;

export interface Result {
  columns?: string[];
  rows?: Cell[][];
  more?: boolean;
  changes?: number;
  last_id?: number | null;
}

export const quote = (name: string) => '"' + name.replaceAll('"', '""') + '"';

export async function runSQL(db: string, sql: string, o: { params?: unknown[]; limit?: number; write?: boolean; signal?: AbortSignal } = {}): Promise<Result[]> {
  const { signal, ...body } = o;
  return (await post<{ results: Result[] }>(`/v1/databases/${encodeURIComponent(db)}/query`, { sql, ...body }, { signal })).results;
}

/** What a cell shows. */
export function shown(v: Cell): string {
  if (v === null) return 'NULL';
  if (typeof v === 'object') return 'base64' in v ? `bytes (${Math.floor(((v as { base64: string }).base64.length * 3) / 4)})` : JSON.stringify(v);
  return String(v);
}

export const isBytes = (v: Cell): v is { base64: string } => typeof v === 'object' && v !== null && 'base64' in v;

/** The columns that name a row: its primary key, else the row's own number; null where a view has neither. */
export function keyOf(t: TableInfo): string[] | null {
  if (t.kind === 'view') return null;
  const key = t.columns.filter((c) => c.primary_key > 0).sort((a, b) => a.primary_key - b.primary_key);
  if (key.length > 0) return key.map((c) => c.name);
  return /\bWITHOUT\s+ROWID\b/i.test(t.sql) || t.columns.some((c) => c.name.toLowerCase() === 'rowid') ? null : ['rowid'];
}

/** What somebody typed, as the column takes it: numbers stay numbers. */
export function typedValue(text: string, type: string): string | number {
  return /INT|REAL|NUM|DEC|FLOA|DOUB/i.test(type) && text.trim() !== '' && Number.isFinite(Number(text)) && String(Number(text)) === text.trim() ? Number(text) : text;
}
