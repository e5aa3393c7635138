// Colours for the language, line by line as it is written. What is right and wrong is the service's to
// say: its parser is the only one.
import { HighlightStyle, StreamLanguage, syntaxHighlighting, type StringStream } from '@codemirror/language';
import { tags } from '@lezer/highlight';
import words from './words.json';

const kinds = new Map<string, string>();
for (const w of words.kinds) kinds.set(w, 'typeName');
for (const w of words.clauses) kinds.set(w, 'modifier');
for (const w of words.operators) kinds.set(w, 'operatorKeyword');
for (const w of words.constants) kinds.set(w, 'atom');
for (const w of words.verbs) kinds.set(w, 'keyword');
const functions = new Set(words.functions);

interface State {
  comment: boolean;
  quote: string; // the one that a text began with; "" outside of texts
  depth: number; // of braces within an insertion of a text; 0 outside
}

function inText(s: StringStream, state: State): string {
  while (!s.eol()) {
    const c = s.next();
    if (c === '\\') s.next();
    else if (c === '{' && /[?!=]/.test(s.peek() ?? '')) {
      if (s.pos - s.start > 1) {
        s.backUp(1);
        return 'string';
      }
      state.depth = 1;
      return 'brace';
    } else if (c === state.quote) {
      state.quote = '';
      return 'string';
    }
  }
  return 'string';
}

export const ql = StreamLanguage.define<State>({
  name: 'ql',
  startState: () => ({ comment: false, quote: '', depth: 0 }),
  copyState: (s) => ({ ...s }),
  token(s, state) {
    if (state.comment) {
      if (s.skipTo('*/')) {
        s.match('*/');
        state.comment = false;
      } else s.skipToEnd();
      return 'comment';
    }
    if (state.quote !== '' && state.depth === 0) return inText(s, state);
    if (s.eatSpace()) return null;
    if (s.match('--')) {
      s.skipToEnd();
      return 'comment';
    }
    if (s.match('/*')) {
      state.comment = true;
      return 'comment';
    }
    const c = s.peek()!;
    if (state.quote === '' && (c === '"' || c === "'")) {
      state.quote = c;
      s.next();
      return inText(s, state);
    }
    if (state.depth > 0 && (c === '{' || c === '}')) {
      state.depth += c === '{' ? 1 : -1;
      s.next();
      return 'brace';
    }
    if (s.match(/^\?[\p{L}_][\p{L}\p{M}\p{N}_]*/u)) return 'variableName';
    if (s.match(/^![\p{L}_][\p{L}\p{M}\p{N}_]*/u)) return 'variableName.special';
    if (s.match(/^\d[\d_]*(\.\d+)?([eE][+-]?\d+)?/)) return 'number';
    const word = s.match(/^[\p{L}_][\p{L}\p{M}\p{N}_]*/u) as RegExpMatchArray | null;
    if (word) {
      const upper = word[0].toUpperCase();
      if (functions.has(upper) && s.match(/^\s*\(/, false)) return 'function';
      return kinds.get(upper) ?? null;
    }
    s.next();
    return /[{}()[\],]/.test(c) ? 'brace' : 'operator';
  },
  languageData: {
    commentTokens: { line: '--', block: { open: '/*', close: '*/' } },
    closeBrackets: { brackets: ['(', '[', '{', '"', "'"] },
  },
  tokenTable: {
    function: tags.function(tags.variableName),
  },
});

/** The colours, by classes of the stylesheet, so that they follow light and dark. */
export const colours = syntaxHighlighting(
  HighlightStyle.define([
    { tag: [tags.keyword, tags.operatorKeyword], class: 'tok-keyword' },
    { tag: tags.modifier, class: 'tok-clause' },
    { tag: tags.typeName, class: 'tok-type' },
    { tag: tags.string, class: 'tok-text' },
    { tag: [tags.number, tags.atom], class: 'tok-number' },
    { tag: tags.comment, class: 'tok-comment' },
    { tag: tags.variableName, class: 'tok-variable' },
    { tag: tags.special(tags.variableName), class: 'tok-global' },
    { tag: tags.function(tags.variableName), class: 'tok-function' },
  ]),
);
