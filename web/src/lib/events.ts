// Server-Sent Events, as they come in a stream of bytes.

export interface ServerEvent {
  id: string;
  event: string;
  data: string;
}

/** The events of a stream. */
export async function* parseEvents(stream: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = stream.pipeThrough(new TextDecoderStream() as unknown as ReadableWritablePair<string, Uint8Array>).getReader();
  let rest = '';
  let event: ServerEvent = { id: '', event: 'message', data: '' };
  let hasData = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      // A long line comes in many pieces, each of which is looked at once.
      if (!value.includes('\n')) {
        rest += value;
        continue;
      }
      const lines = (rest + value).split('\n');
      rest = lines.pop()!;
      for (const line of lines) {
        if (line === '') {
          if (hasData) yield event;
          event = { id: '', event: 'message', data: '' };
          hasData = false;
          continue;
        }
        const colon = line.indexOf(':');
        if (colon === 0) continue;
        const name = colon < 0 ? line : line.slice(0, colon);
        const text = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
        if (name === 'data') {
          event.data = hasData ? event.data + '\n' + text : text;
          hasData = true;
        } else if (name === 'id') event.id = text;
        else if (name === 'event') event.event = text;
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}
