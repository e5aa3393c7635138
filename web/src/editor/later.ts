// What comes a moment after the editor, which can be written in before: completions, brackets that close themselves,
// finding and replacing.
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap, startCompletion, type CompletionSource } from '@codemirror/autocomplete';
import { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search';
import { EditorState, type Extension } from '@codemirror/state';
import { keymap } from '@codemirror/view';

/** The words of finding, written as those of the other buttons. */
const words = { next: 'Next', previous: 'Previous', all: 'All', 'match case': 'Match case', regexp: 'Pattern', 'by word': 'Whole words', replace: 'Replace', 'replace all': 'Replace all' };

export function later(complete: CompletionSource): Extension {
  return [
    closeBrackets(),
    autocompletion({ override: [complete], activateOnTypingDelay: 50 }),
    keymap.of([...closeBracketsKeymap, ...completionKeymap]),
    EditorState.phrases.of(words),
    highlightSelectionMatches(),
    search({ top: true }),
    keymap.of(searchKeymap),
  ];
}

export { startCompletion };
