// What the page at hand adds to the palette.
import { onMount } from 'svelte';

export interface Command {
  label: string;
  icon: string;
  hint?: string;
  run: () => void;
}

export const commands = $state<{ list: Command[] }>({ list: [] });

/** Adds commands as long as the component is there. */
export function useCommands(list: Command[]): void {
  onMount(() => {
    commands.list = list;
    return () => {
      if (commands.list.length === list.length && commands.list[0]?.label === list[0]?.label) commands.list = [];
    };
  });
}
