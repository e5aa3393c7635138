// Keys of the whole page. A page says its own by useKeys; the help (?) lists what is there.
import { onMount } from 'svelte';

export interface Key {
  /** "?", "/", "Ctrl+k", "Escape", or two after each other: "g j". */
  keys: string;
  label: string;
  run: (e: KeyboardEvent) => void;
  /** Also while somebody writes in a field. */
  always?: boolean;
}

export const bound = $state<{ keys: Key[] }>({ keys: [] });

let before = '';
let beforeAt = 0;

/** Binds keys as long as the component is there. */
export function useKeys(keys: Key[]): void {
  onMount(() => {
    bound.keys.push(...keys);
    return () => {
      bound.keys = bound.keys.filter((k) => !keys.some((mine) => mine.keys === k.keys && mine.label === k.label));
    };
  });
}

export function isWriting(target: EventTarget | null): boolean {
  const e = target as HTMLElement | null;
  return !!e?.closest?.('input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable=true], dialog[open]');
}

/** How a key of an event is written here. */
export function nameOf(e: KeyboardEvent): string {
  let name = e.key.length === 1 ? e.key : e.key;
  if (e.ctrlKey || e.metaKey) name = 'Ctrl+' + (e.key.length === 1 ? e.key.toLowerCase() : e.key);
  return name;
}

export function startKeys(): void {
  window.addEventListener('keydown', (e) => {
    if (e.defaultPrevented || e.isComposing || e.altKey) return;
    const name = nameOf(e);
    const writing = isWriting(e.target);
    const after = before !== '' && e.timeStamp - beforeAt < 1200 ? before + ' ' + name : '';
    const found = bound.keys.findLast((k) => (k.keys === after || k.keys === name) && (!writing || k.always));
    before = !writing && bound.keys.some((k) => k.keys.startsWith(name + ' ')) ? name : '';
    beforeAt = e.timeStamp;
    if (found) {
      e.preventDefault();
      before = '';
      found.run(e);
    }
  });
}
