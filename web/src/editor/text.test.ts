import { describe, expect, it } from 'vitest';
import { BlockText, Heights, mostLength, mostLines, rowHeight } from './text';

function textOf(parts: string[]): BlockText {
  const text = new BlockText();
  for (const p of parts) text.append(p);
  return text;
}
const lines = (n: number) => Array.from({ length: n }, (_, i) => `line ${i}\n`).join('');

describe('BlockText', () => {
  const whole = lines(500) + 'x'.repeat(3 * mostLength) + '😀'.repeat(mostLength) + '\n\n\nthe end';
  it('has the same blocks however the text comes', () => {
    const want = textOf([whole]).blocks;
    for (const size of [1, 7, 1000, 5000]) {
      const parts = [];
      for (let i = 0; i < whole.length; i += size) parts.push(whole.slice(i, i + size));
      expect(textOf(parts).blocks).toEqual(want);
    }
  });
  it('has whole lines and characters in small blocks', () => {
    const text = textOf([whole]);
    expect(text.blocks.map((b) => b.text).join('')).toBe(whole);
    expect(text.length).toBe(whole.length);
    for (const b of text.blocks) {
      expect(b.text.length).toBeLessThanOrEqual(mostLength);
      expect(b.lines).toBeLessThanOrEqual(mostLines);
      expect(b.text).not.toMatch(/\p{Surrogate}/u);
      expect(whole.startsWith(b.text, b.from)).toBe(true);
    }
    expect(text.blocks[0]).toMatchObject({ lines: mostLines, text: lines(mostLines), longest: 8 });
  });
  it('gives any part of it', () => {
    const text = textOf([whole]);
    for (let i = 0; i < whole.length; i += 997) expect(text.slice(i, i + 5000)).toBe(whole.slice(i, i + 5000));
    expect(text.slice()).toBe(whole);
    expect(text.slice(5, 5)).toBe('');
    expect(new BlockText().slice()).toBe('');
  });
  it('finds what a cut divides', () => {
    const text = textOf(['-'.repeat(mostLength - 2) + 'found' + '-'.repeat(mostLength) + '\nfound']);
    const all = text.blocks.flatMap((_, i) => text.found(i, /found/gi, 5));
    expect(all).toEqual([mostLength - 2, 2 * mostLength + 4]);
  });
});

describe('Heights', () => {
  const text = textOf([lines(10 * mostLines)]);
  it('knows the room of all', () => {
    const h = new Heights(text);
    h.grow();
    expect(h.total).toBe(10 * mostLines * rowHeight);
    text.blocks.forEach((_, i) => expect(h.at(i * mostLines * rowHeight, [])).toBe(i));
    expect(h.at(1e9, [])).toBe(9);
  });
  it('takes what was seen for what was expected', () => {
    const h = new Heights(text);
    h.grow();
    expect(h.measured(0, mostLines * rowHeight)).toBe(false);
    expect(h.measured(0, 100)).toBe(true);
    expect(h.at(100, [])).toBe(1);
    h.setColumns(4);
    expect(h.of(0)).toBeGreaterThan(mostLines * rowHeight);
  });
  it('draws what is around a block and what must not go, with room for the rest', () => {
    const h = new Heights(text);
    h.grow();
    const one = mostLines * rowHeight;
    expect(h.around(5, one, 2 * one)).toEqual([4, 7]);
    const drawn = h.draw(4, 7, [1, 5]);
    expect(drawn.map((d) => [d.i, d.gap])).toEqual([[1, one], [4, 2 * one], [5, 0], [6, 0]]);
    for (const y of [0, 1.5, 3.5, 4.5, 6.9, 9.5]) expect(h.at(y * one, drawn)).toBe(Math.floor(y));
  });
  it('fits a text of any length into what a browser draws', () => {
    const long = textOf([lines(100_000)]);
    const h = new Heights(long);
    h.grow();
    h.measured(10, 40_000_000);
    const drawn = h.draw(700, 703, []);
    const end = drawn[0]!.gap + h.gap(703, long.blocks.length);
    expect(end).toBeLessThanOrEqual(15_000_000);
    expect(h.at(drawn[0]!.gap + 1, drawn)).toBe(700);
    expect(h.at(drawn[0]!.gap - 1, drawn)).toBe(699);
    expect(h.at(0, drawn)).toBe(0);
  });
});
