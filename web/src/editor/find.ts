// Finding and replacing in a script. It comes after the editor: nobody finds anything in the first moment.
import { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search';
import type { Extension } from '@codemirror/state';
import { keymap } from '@codemirror/view';

export const find: Extension = [highlightSelectionMatches(), search({ top: true }), keymap.of(searchKeymap)];
