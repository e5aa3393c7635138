// The editor itself: CodeMirror, with the service behind its mistakes, completions and hovers.
import type { CompletionContext, CompletionResult } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, indentWithTab, toggleComment } from '@codemirror/commands';
import { bracketMatching, indentOnInput, indentUnit, syntaxTree } from '@codemirror/language';
import { linter, lintGutter, lintKeymap, nextDiagnostic, type Diagnostic } from '@codemirror/lint';
import { Compartment, EditorState, StateEffect, StateField } from '@codemirror/state';
import { Decoration, drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, highlightSpecialChars, hoverTooltip, keymap, lineNumbers, type DecorationSet } from '@codemirror/view';
import { ApiError, post } from '../lib/api';
import { service } from '../lib/session.svelte';
import { colours, ql } from './language';
import { offset, placeAt, range, type Span } from './place';

export interface NamedEffects {
  names: string[];
  any: boolean;
}
export interface Effects {
  databases: NamedEffects;
  reads: NamedEffects;
  writes: NamedEffects;
  hosts: NamedEffects;
  machines: NamedEffects;
  scripts: NamedEffects;
  signals: boolean;
  secrets: NamedEffects;
  mails: NamedEffects;
  people: boolean;
  waits: boolean;
  sessions: boolean;
  shares: boolean;
}
interface Mistake extends Span {
  severity: 'error' | 'warning';
  code: string;
  message: string;
  fixes: { title: string; edits: (Span & { text: string })[] }[];
}
interface Completion extends Span {
  label: string;
  kind: string;
  detail: string | null;
  doc: string | null;
  insert: string;
}

export interface Options {
  parent: HTMLElement;
  text: string;
  onChange: (text: string) => void;
  onLine: (line: number) => void;
  onChecked: (errors: number, effects: Effects) => void;
  onUnchecked: (e: Error) => void;
  run: () => void;
  save: () => void;
  format: () => void;
  /** Asks for another name of what stands at the cursor. */
  rename: (word: string) => void;
  /** Opens a file that the script includes. */
  openFile: (path: string, line: number) => void;
  /** Says why something was not done. */
  say: (words: string) => void;
}

/** It is on its way while the text is loaded. Where it cannot be, the browser's own search is there, and nothing is proposed. */
const coming = import('./later').catch(() => null);

const setMarked = StateEffect.define<number | null>();
const marked = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(set, tr) {
    set = set.map(tr.changes);
    for (const e of tr.effects) {
      if (!e.is(setMarked)) continue;
      set = e.value === null || e.value > tr.state.doc.lines ? Decoration.none : Decoration.set(Decoration.line({ class: 'cm-marked' }).range(tr.state.doc.line(e.value).from));
    }
    return set;
  },
  provide: (f) => EditorView.decorations.from(f),
});

function element(tag: string, className: string, text: string): HTMLElement {
  const e = document.createElement(tag);
  e.className = className;
  e.textContent = text;
  return e;
}

/** The little Markdown of hovers: blocks of code, and paragraphs. */
function markdown(text: string): HTMLElement {
  const all = element('div', 'cm-words', '');
  text.split(/```\w*\n?/).forEach((part, i) => {
    const trimmed = part.trim();
    if (trimmed === '') return;
    if (i % 2 === 1) all.append(element('pre', '', trimmed));
    else for (const p of trimmed.split(/\n\n+/)) all.append(element('p', '', p.replace(/[`*]/g, '')));
  });
  return all;
}

const icons: Record<string, string> = { keyword: 'keyword', function: 'function', variable: 'variable', global: 'constant', field: 'property', table: 'class', column: 'property', database: 'namespace', file: 'text', program: 'interface' };

/** Whether an error is one of a moment. */
const mayPass = (e: ApiError) => e.code === 'offline' || e.status === 429 || e.status === 503;

async function complete(c: CompletionContext): Promise<CompletionResult | null> {
  const word = c.matchBefore(/[?!]?[\p{L}\p{M}\p{N}_]*/u);
  const before = c.state.sliceDoc(Math.max(0, c.pos - 1), c.pos);
  if (!c.explicit && (!word || word.from === word.to) && !/[?!./"]/.test(before)) return null;
  // Nothing is proposed within a comment, where each letter would be asked about, and behind the end of a text, where
  // Enter would put what nobody wanted.
  const here = syntaxTree(c.state).resolveInner(c.pos, -1);
  if (!c.explicit && (here.name === 'comment' || (before === '"' && here.to === c.pos))) return null;
  const doc = c.state.doc;
  const control = new AbortController();
  c.addEventListener('abort', () => control.abort());
  let answer: { completions: Completion[] } | undefined;
  // A node that is busy for a moment is asked again: without, the list would stay away until the next letter.
  for (let tries = 0; !answer; tries++) {
    try {
      answer = await post<{ completions: Completion[] }>('/v1/complete', { text: doc.toString(), ...placeAt(doc, c.pos) }, { signal: control.signal });
    } catch (e) {
      if (c.aborted || tries === 2 || !(e instanceof ApiError) || !mayPass(e)) return null;
      await new Promise((r) => setTimeout(r, Math.min(e.retryAfter ?? 1, 2) * 500));
      if (c.aborted) return null;
    }
  }
  if (c.aborted || answer.completions.length === 0) return null;
  const at = range(doc, answer.completions[0]!);
  return {
    from: at.from,
    to: at.to,
    options: answer.completions.map((o, i) => ({
      label: o.label,
      apply: o.insert,
      type: icons[o.kind] ?? 'text',
      detail: o.detail ?? undefined,
      info: o.doc ? () => markdown(o.doc!) : undefined,
      boost: -Math.min(i, 98),
    })),
    validFor: /^[?!]?[\p{L}\p{M}\p{N}_]*$/u,
  };
}

const hover = hoverTooltip(
  async (view, pos) => {
    const doc = view.state.doc;
    try {
      const { hover: h } = await post<{ hover: (Span & { markdown: string }) | null }>('/v1/hover', { text: doc.toString(), ...placeAt(doc, pos) });
      if (!h || view.state.doc !== doc) return null;
      const at = range(doc, h);
      return { pos: at.from, end: at.to, above: true, create: () => ({ dom: markdown(h.markdown) }) };
    } catch {
      return null;
    }
  },
  { hoverTime: 350 },
);

/** Mistakes as the text is written. An answer about a text that has changed meanwhile is dropped. */
function checks(o: Options) {
  return linter(
    async (view): Promise<Diagnostic[]> => {
      const doc = view.state.doc;
      try {
        const answer = await post<{ mistakes: Mistake[]; effects: Effects }>('/v1/check', { text: doc.toString() });
        if (view.state.doc !== doc) return [];
        o.onChecked(answer.mistakes.filter((m) => m.severity === 'error').length, answer.effects);
        return answer.mistakes.map((m) => {
          const at = range(doc, m);
          return {
            from: at.from,
            to: Math.min(doc.length, Math.max(at.to, at.from + 1)),
            severity: m.severity,
            message: m.message,
            actions: m.fixes.slice(0, 3).map((f) => ({
              name: f.title,
              apply: (v) => v.dispatch({ changes: f.edits.map((e) => ({ ...range(v.state.doc, e), insert: e.text })) }),
            })),
          };
        });
      } catch (e) {
        o.onUnchecked(e as Error);
        return [];
      }
    },
    { delay: 150 },
  );
}

// What is typed over several lines is put there by the editor, not by the browser: that would join the lines with styles
// of its own, which the policy refuses.
const typedOver = EditorView.domEventHandlers({
  beforeinput(e, view) {
    const { from, to } = view.state.selection.main;
    if (e.inputType !== 'insertText' || !e.data || view.composing || view.state.doc.lineAt(from).to >= to) return false;
    e.preventDefault();
    const text = e.data;
    const insert = () => view.state.update(view.state.replaceSelection(text), { userEvent: 'input.type', scrollIntoView: true });
    if (!view.state.facet(EditorView.inputHandler).some((h) => h(view, from, to, text, insert))) view.dispatch(insert());
    return true;
  },
});

/** What stands before the cursor, enough for one sign. */
const before = (state: EditorState) => state.sliceDoc(Math.max(0, state.selection.main.head - 2), state.selection.main.head);

/** The name at a place, with the sign of a variable. */
function nameAt(state: EditorState, pos: number): string {
  const line = state.doc.lineAt(pos);
  for (const m of line.text.matchAll(/[?!]?[\p{L}_][\p{L}\p{M}\p{N}_]*/gu)) {
    if (line.from + m.index <= pos && pos <= line.from + m.index + m[0].length) return m[0];
  }
  return '';
}

/** Goes to where the name at a place gets its meaning. */
async function toDefinition(view: EditorView, pos: number, o: Options): Promise<void> {
  const doc = view.state.doc;
  try {
    const { definition: d } = await post<{ definition: (Span & { file: string | null }) | null }>('/v1/definition', { text: doc.toString(), ...placeAt(doc, pos) });
    if (view.state.doc !== doc) return;
    if (!d) o.say(nameAt(view.state, pos) === '' ? 'No name stands here' : `${nameAt(view.state, pos)} is defined nowhere in this script`);
    else if (d.file) o.openFile(d.file, d.line);
    else {
      const at = range(doc, d);
      view.dispatch({ selection: { anchor: at.from, head: at.to }, effects: EditorView.scrollIntoView(at.from, { y: 'center' }) });
      view.focus();
    }
  } catch (e) {
    o.say((e as Error).message);
  }
}

export class Code {
  view: EditorView;
  private options: Options;

  constructor(o: Options) {
    this.options = o;
    let line = 0;
    let isTyped = false;
    const rest = new Compartment();
    this.view = new EditorView({
      parent: o.parent,
      state: EditorState.create({
        doc: o.text,
        extensions: [
          EditorView.cspNonce.of(service.nonce),
          lineNumbers(),
          lintGutter(),
          highlightActiveLineGutter(),
          highlightSpecialChars(),
          history(),
          drawSelection(),
          indentUnit.of('  '),
          EditorState.tabSize.of(2),
          indentOnInput(),
          bracketMatching(),
          highlightActiveLine(),
          ql,
          colours,
          marked,
          hover,
          checks(o),
          typedOver,
          EditorView.domEventHandlers({
            mousedown: (e, v) => {
              if (e.button !== 0 || !(e.ctrlKey || e.metaKey)) return false;
              const pos = v.posAtCoords({ x: e.clientX, y: e.clientY });
              if (pos === null || nameAt(v.state, pos) === '') return false;
              void toDefinition(v, pos, o);
              return true;
            },
          }),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ 'aria-label': 'Script. Tab indents; Escape, then Tab leaves.' }),
          EditorView.updateListener.of((u) => {
            if (u.docChanged) o.onChange(u.state.doc.toString());
            isTyped ||= u.transactions.some((t) => t.isUserEvent('input.type'));
            const now = u.state.doc.lineAt(u.state.selection.main.head).number;
            if (now !== line) {
              line = now;
              o.onLine(now);
            }
          }),
          keymap.of([
            { key: 'Mod-Enter', run: () => (o.run(), true) },
            { key: 'Mod-s', run: () => (o.save(), true) },
            { key: 'Shift-Alt-f', run: () => (o.format(), true) },
            { key: 'F2', run: (v) => (o.rename(nameAt(v.state, v.state.selection.main.head)), true) },
            { key: 'F12', run: (v) => (void toDefinition(v, v.state.selection.main.head, o), true) },
            { key: 'F8', run: nextDiagnostic },
            { key: 'Mod-/', run: toggleComment },
          ]),
          rest.of([]),
          keymap.of([
            ...lintKeymap,
            ...historyKeymap,
            ...defaultKeymap,
            indentWithTab,
          ]),
        ],
      }),
    });
    void coming.then((all) => {
      if (!all) return;
      this.view.dispatch({ effects: rest.reconfigure(all.later(complete)) });
      // Who has begun a word meanwhile gets what it may become.
      if (isTyped && /[\p{L}\p{N}_]$/u.test(before(this.view.state))) all.startCompletion(this.view);
    });
  }

  get text(): string {
    return this.view.state.doc.toString();
  }

  /** Puts another text in the place of all, as one change that can be undone. */
  replace(text: string): void {
    const doc = this.view.state.doc.toString();
    if (doc === text) return;
    let from = 0;
    while (from < doc.length && from < text.length && doc[from] === text[from]) from++;
    let end = 0;
    while (end < doc.length - from && end < text.length - from && doc[doc.length - 1 - end] === text[text.length - 1 - end]) end++;
    this.view.dispatch({ changes: { from, to: doc.length - end, insert: text.slice(from, text.length - end) } });
  }

  toDefinition(): void {
    void toDefinition(this.view, this.view.state.selection.main.head, this.options);
  }

  /** The name at the cursor. */
  get word(): string {
    return nameAt(this.view.state, this.view.state.selection.main.head);
  }

  /** Gives the name at the cursor another one, wherever it stands; an error says why not. */
  async rename(name: string): Promise<number> {
    const doc = this.view.state.doc;
    const { edits } = await post<{ edits: (Span & { text: string })[] }>('/v1/rename', { text: doc.toString(), ...placeAt(doc, this.view.state.selection.main.head), name });
    if (this.view.state.doc !== doc) throw new Error('The script was changed meanwhile: try again.');
    this.view.dispatch({ changes: edits.map((e) => ({ ...range(doc, e), insert: e.text })) });
    return edits.length;
  }

  insert(text: string): void {
    this.view.dispatch(this.view.state.replaceSelection(text), { userEvent: 'input.type' });
    this.view.focus();
  }

  mark(line: number | null, scroll = false): void {
    const known = line !== null && line <= this.view.state.doc.lines;
    this.view.dispatch({
      effects: [setMarked.of(known ? line : null), ...(known && scroll ? [EditorView.scrollIntoView(offset(this.view.state.doc, line, 1), { y: 'center' })] : [])],
    });
  }

  goTo(line: number): void {
    const at = offset(this.view.state.doc, line, 1);
    this.view.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: 'center' }) });
    this.view.focus();
  }

  destroy(): void {
    this.view.destroy();
  }
}
