// Finding and replacing in a script. It comes after the editor: nobody finds anything in the first moment.
import { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search';
import { EditorState, type Extension } from '@codemirror/state';
import { keymap } from '@codemirror/view';

/** Its words, written as those of the other buttons. */
const words = { next: 'Next', previous: 'Previous', all: 'All', 'match case': 'Match case', regexp: 'Pattern', 'by word': 'Whole words', replace: 'Replace', 'replace all': 'Replace all' };

export const find: Extension = [EditorState.phrases.of(words), highlightSelectionMatches(), search({ top: true }), keymap.of(searchKeymap)];
