import { describe, expect, it } from 'vitest';
import { type ServerEvent, parseEvents } from './events';

function stream(parts: string[]): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder();
  return new ReadableStream({
    start(c) {
      for (const p of parts) c.enqueue(bytes.encode(p));
      c.close();
    },
  });
}

async function all(parts: string[]): Promise<ServerEvent[]> {
  const got: ServerEvent[] = [];
  for await (const e of parseEvents(stream(parts))) got.push(e);
  return got;
}

describe('parseEvents', () => {
  const text = 'id: 1\nevent: step\ndata: {"a":1}\n\n: a comment\n\ndata: first\ndata: second\n\nid: 3\n\ndata: never ended';
  const want = [
    { id: '1', event: 'step', data: '{"a":1}' },
    { id: '', event: 'message', data: 'first\nsecond' },
  ];
  it('reads events', async () => expect(await all([text])).toEqual(want));
  it('reads them however they are cut', async () => {
    for (let i = 1; i < text.length; i++) expect(await all([text.slice(0, i), text.slice(i)])).toEqual(want);
  });
});
