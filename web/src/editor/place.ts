// Places as the service counts them: lines and columns from 1, columns in code points. The editor
// counts UTF-16 units from 0.
import type { Text } from '@codemirror/state';

export interface Place {
  line: number;
  column: number;
}
export interface Span extends Place {
  end_line: number;
  end_column: number;
}

export function placeAt(doc: Text, pos: number): Place {
  const line = doc.lineAt(pos);
  return { line: line.number, column: [...line.text.slice(0, pos - line.from)].length + 1 };
}

export function offset(doc: Text, line: number, column: number): number {
  if (line > doc.lines) return doc.length;
  const l = doc.line(Math.max(1, line));
  let units = 0;
  let n = 1;
  for (const c of l.text) {
    if (n >= column) break;
    units += c.length;
    n++;
  }
  return l.from + units;
}

export function range(doc: Text, s: Span): { from: number; to: number } {
  const from = offset(doc, s.line, s.column);
  return { from, to: Math.max(from, offset(doc, s.end_line, s.end_column)) };
}
