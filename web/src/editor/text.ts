// A long text that is drawn in part: blocks of whole lines, and where each of them stands.

/** A block has no more lines and characters: it is laid out at once. A longer line is cut into several. */
export const mostLines = 64;
export const mostLength = 4 << 10;

export interface Block {
  text: string;
  /** Where it begins in the whole text. */
  from: number;
  lines: number;
  /** The length of its longest line. */
  longest: number;
}

export class BlockText {
  blocks: Block[] = [];
  length = 0;

  append(more: string): void {
    if (more === '') return;
    const last = this.blocks.pop(); // the only one that may grow
    const all = last ? last.text + more : more;
    const start = last ? last.from : 0;
    let lineEnd = -1;
    for (let at = 0; at < all.length; ) {
      let end = at;
      let lines = 0;
      let longest = 0;
      while (lines < mostLines && end < all.length) {
        if (lineEnd <= end) lineEnd = all.indexOf('\n', end) + 1 || all.length;
        if (lineEnd - at > mostLength) {
          if (lines > 0) break;
          end = at + mostLength;
          if (isHigh(all.charCodeAt(end - 1))) end--;
          lines = 1;
          longest = end - at;
          break;
        }
        lines++;
        longest = Math.max(longest, lineEnd - end);
        end = lineEnd;
      }
      this.blocks.push({ text: all.slice(at, end), from: start + at, lines, longest });
      at = end;
    }
    this.length = start + all.length;
  }

  /** The number of the block that has a character; the last one for those behind the text. */
  blockAt(offset: number): number {
    return Math.max(0, lastAtMost(this.blocks.length, (i) => this.blocks[i]!.from, offset));
  }

  slice(from = 0, to = this.length): string {
    if (to <= from) return '';
    const first = this.blockAt(from);
    const last = this.blockAt(to - 1);
    const parts = this.blocks.slice(first, last + 1).map((b) => b.text);
    parts[parts.length - 1] = parts.at(-1)!.slice(0, to - this.blocks[last]!.from);
    parts[0] = parts[0]!.slice(from - this.blocks[first]!.from);
    return parts.join('');
  }

  /** Where a pattern (with the flag g) is found in a block, or begins in it. */
  found(i: number, pattern: RegExp, length: number): number[] {
    const b = this.blocks[i]!;
    // A line that was cut goes on in the next block.
    const text = b.text.endsWith('\n') ? b.text : b.text + (this.blocks[i + 1]?.text.slice(0, length - 1) ?? '');
    return [...text.matchAll(pattern)].filter((m) => m.index < b.text.length).map((m) => b.from + m.index);
  }
}

const isHigh = (code: number) => code >= 0xd800 && code < 0xdc00;

/** The last of n rising values that is at most so large; -1 for none. */
function lastAtMost(n: number, at: (i: number) => number, most: number): number {
  let low = 0;
  for (let high = n; low < high; ) {
    const middle = (low + high) >> 1;
    if (at(middle) <= most) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

export const rowHeight = 20;
/** Browsers draw nothing that is higher: what is not drawn takes less room than it would, in longer texts. */
const mostHeight = 15_000_000;

/** What is drawn: a block, and the room of those before it that are not. */
export interface Drawn {
  i: number;
  text: string;
  gap: number;
}

/** How high the blocks of a text are: as it was seen, or as it is expected. */
export class Heights {
  private heights: number[] = [];
  private tops: number[] = [0];
  private columns = 80;
  private text: BlockText;

  constructor(text: BlockText) {
    this.text = text;
  }

  get total(): number {
    return this.tops.at(-1)!;
  }

  /** How much of its height a block has as room where it is not drawn. */
  private get scale(): number {
    return Math.min(1, mostHeight / this.total);
  }

  of(i: number): number {
    return this.heights[i]!;
  }

  private expected(b: Block): number {
    return rowHeight * (b.longest <= this.columns ? b.lines : b.lines + Math.floor(b.text.length / this.columns));
  }

  private sum(from: number): void {
    for (let i = from; i < this.heights.length; i++) this.tops[i + 1] = this.tops[i]! + this.heights[i]!;
  }

  /** Takes in the blocks that have come, and the last one of before, which may have grown. */
  grow(): void {
    const from = Math.max(0, this.heights.length - 1);
    for (let i = from; i < this.text.blocks.length; i++) this.heights[i] = this.expected(this.text.blocks[i]!);
    this.sum(from);
  }

  /** So many characters fit on a row. */
  setColumns(columns: number): void {
    if (columns === this.columns) return;
    this.columns = columns;
    this.heights = [];
    this.grow();
  }

  /** A block was drawn, and is so high. Tells whether another height was expected. */
  measured(i: number, height: number): boolean {
    if (i >= this.heights.length || Math.abs(this.heights[i]! - height) < 0.5) return false;
    this.heights[i] = height;
    this.sum(i);
    return true;
  }

  /** The room of blocks that are not drawn. */
  gap(from: number, to: number): number {
    return to <= from ? 0 : (this.tops[to]! - this.tops[from]!) * this.scale;
  }

  /** The block at a height, where some are drawn. */
  at(y: number, drawn: Drawn[]): number {
    let top = 0;
    let next = 0;
    for (const d of drawn) {
      if (y < top + d.gap) break;
      top += d.gap;
      if (y < top + this.heights[d.i]!) return d.i;
      top += this.heights[d.i]!;
      next = d.i + 1;
    }
    const wanted = this.tops[Math.min(next, this.heights.length)]! + (y - top) / this.scale;
    return Math.max(0, Math.min(this.heights.length - 1, lastAtMost(this.heights.length, (i) => this.tops[i]!, wanted)));
  }

  /** The blocks around one, so far up and down. */
  around(i: number, up: number, down: number): [number, number] {
    let first = i;
    for (let room = up; first > 0 && room > 0; room -= this.heights[first]!) first--;
    let last = i;
    for (let room = down; last < this.heights.length && room > 0; last++) room -= this.heights[last]!;
    return [first, last];
  }

  /** What is drawn of the blocks from the first and before the last, and of single ones. */
  draw(first: number, last: number, single: number[]): Drawn[] {
    const all = single.filter((i) => i >= 0 && i < this.heights.length && (i < first || i >= last));
    for (let i = first; i < last; i++) all.push(i);
    all.sort((a, b) => a - b);
    return [...new Set(all)].map((i, n, list) => ({ i, text: this.text.blocks[i]!.text, gap: this.gap(n === 0 ? 0 : list[n - 1]! + 1, i) }));
  }
}
