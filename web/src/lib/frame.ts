// Work that goes by the frames of the page, so that keys and drawing come before it.

/** Nothing is drawn of a page that is hidden: what waits for a frame goes on after this time. */
const lateMs = 100;

/** Calls once, before the next frame is drawn. */
export function beforeFrame(call: () => void): void {
  const once = () => {
    clearTimeout(late);
    cancelAnimationFrame(frame);
    call();
  };
  const late = setTimeout(once, lateMs);
  const frame = requestAnimationFrame(once);
}

/** Resolves when the next frame is drawn: what was typed meanwhile is handled by then. */
export function breathe(): Promise<void> {
  return new Promise((done) =>
    beforeFrame(() => {
      const after = new MessageChannel();
      after.port1.onmessage = () => {
        after.port1.close();
        done();
      };
      after.port2.postMessage(null);
    }),
  );
}

/** Resolves as much later, and asks for no frame: one that is under way is one that a key waits for. */
export function giveWay(): Promise<void> {
  return new Promise((done) => setTimeout(done, 1000 / 60));
}

/** Who has pressed a key so lately goes on typing. */
const typingMs = 500;
let lastKey = -typingMs;
addEventListener('keydown', () => (lastKey = performance.now()), { capture: true, passive: true });

/** Tells whether somebody types, for whom other work takes longer so that no key waits for it. */
export function isTyping(): boolean {
  return performance.now() - lastKey < typingMs;
}
