package syntax

import (
	"slices"

	"ql/lang/source"
)

// Expected is what the grammar would take at the end of a text, as the parser asked for
// it there: no second description of the grammar, so that it knows every statement
// that the parser knows.
type Expected struct {
	// Statement says that a statement may start. Words has the verbs that may.
	Statement bool
	// Value and Operator say that an operand or an operator of an expression may follow.
	Value, Operator bool
	// Variable, Function, Access and Key say that a variable to be set, the name of a
	// function, of a part behind a dot, or a key or field of its own may follow.
	Variable, Function, Access, Key bool
	// Words are the words that may follow: verbs, clauses, structure, operators, kinds.
	Words []string
	// Globals are those that may follow where not every one may.
	Globals []string
	// What is what a message would say was expected, "" where it would say nothing.
	What string
	// Verb is the verb of the statement that the end stands in or behind, "" before the
	// first one, and Start where it starts.
	Verb  string
	Start source.Pos
	// Define says that the end stands in a DEFINE, the last statement of the script.
	Define bool
	// SQL is where the statement of SQL that the end stands in starts, and Text where the
	// content of the text does; NoPos outside of one. In a comment all else is empty.
	SQL     source.Pos
	Text    source.Pos
	Comment bool

	seen bool // the parser has come to the end
	over bool // an error was reported at the end: what follows is recovery
}

// cursorErrors bounds what is read of a text full of mistakes before its end.
const cursorErrors = 200

// Show is told of each statement of a text and of how many blocks it stands in: those of a
// block come before the statement that has the block, which comes without them. vars are the
// names of the variables since the statement before, but for the parameters of lambdas,
// which are whole and over. The statement and all below it are gone when Show returns, and
// so is vars; only texts may be kept. Of a statement that is plain only this is told: s is nil,
// or a SQL with its parts alone, or an IF or loop without what stands in its head.
type Show func(s Stmt, vars []Span, depth int)

// ParseTo reads a text up to a cursor, its end, and returns what may stand there. It shows
// the statements one by one instead of making a tree of them, so that it takes little memory
// to read a long text.
func ParseTo(f *source.File, show Show) *Expected {
	_, e := parseTo(f, show, true)
	return e
}

// parseTo is ParseTo that returns the script where show is nil, and may skim where it is not.
func parseTo(f *source.File, show Show, skim bool) ([]Stmt, *Expected) {
	p := newParser(f)
	p.show, p.skimming = show, skim && show != nil
	p.expect = &Expected{SQL: source.NoPos, Text: source.NoPos}
	p.scan.cursor = true
	var list []Stmt
	if p.checkBytes() {
		list = p.script()
	}
	e := p.expect
	end := source.Pos(len(f.Text))
	comments := p.scan.comments
	if n := len(comments); n > 0 && comments[n-1].Stop == end && f.Text[comments[n-1].Start] == '-' || e.Comment {
		return list, &Expected{SQL: source.NoPos, Text: source.NoPos, Comment: true}
	}
	p.noteLookahead(e)
	return list, e
}

// noteVar notes the name of a variable for whom statements are shown to.
func (p *parser) noteVar(start, stop source.Pos) {
	if p.show != nil {
		p.vars = append(p.vars, Span{start, stop})
	}
}

// forgetParams takes back the parameters of a lambda that started there and is whole.
func (p *parser) forgetParams(start source.Pos, params []*Var) {
	if p.show == nil {
		return
	}
	var names nameSet
	for _, v := range params {
		names.add(v.Name)
	}
	first := len(p.vars)
	for first > 0 && p.vars[first-1].Start >= start {
		first--
	}
	kept := slices.DeleteFunc(p.vars[first:], func(v Span) bool { return names.has(p.src[v.Start:v.Stop]) })
	p.vars = p.vars[:first+len(kept)]
}

// mostErrors is how many errors end the reading.
func (p *parser) mostErrors() int {
	if p.expect != nil {
		return cursorErrors
	}
	return maxErrors
}

// atCursor returns where to note what may stand at the current token: nil unless that
// is the cursor, and nothing was found wrong there before.
func (p *parser) atCursor() *Expected {
	e := p.expect
	if e == nil || e.over || p.tok.kind != tEOF {
		return nil
	}
	if !e.seen {
		p.see(e)
	}
	return e
}

// see notes where the cursor stands, when the parser first comes to it.
func (p *parser) see(e *Expected) {
	e.seen, e.Define = true, p.inDefine
	if p.last.verb != wNone {
		e.Verb, e.Start = p.last.verb.String(), p.last.start
	}
}

// noteError ends the noting where the cursor, or what was looked at ahead up to it, is
// what an error is about.
func (p *parser) noteError() {
	if e := p.expect; e != nil && (p.tok.kind == tEOF || slices.ContainsFunc(p.ahead, func(t token) bool { return t.kind == tEOF })) {
		p.atCursor()
		e.over = true
	}
}

func (e *Expected) word(w string) {
	if !slices.Contains(e.Words, w) {
		e.Words = append(e.Words, w)
	}
}

func (p *parser) noteWord(w word) {
	if e := p.atCursor(); e != nil {
		e.word(w.String())
		if w == wSet {
			p.noteClauses(e)
		}
	}
}

func (p *parser) noteWords(list func() []string) {
	if e := p.atCursor(); e != nil {
		for _, w := range list() {
			e.word(w)
		}
	}
}

// noteClauses adds the clauses of the statement being read.
func (p *parser) noteClauses(e *Expected) {
	for _, c := range clausesOf[p.last.verb] {
		if w := lookupWord(c); w != wNone {
			e.word(w.String())
		}
	}
}

// noteStatement adds the verbs that may stand here.
func (p *parser) noteStatement() {
	e := p.atCursor()
	if e == nil {
		return
	}
	e.Statement = true
	for w := wEmit; w <= wReplace; w++ {
		switch w {
		case wBreak, wContinue:
			if p.loops == 0 {
				continue
			}
		case wReturn:
			if !p.inDefine {
				continue
			}
		case wDefine, wInclude:
			if len(p.blocks) > 0 {
				continue
			}
		}
		e.word(w.String())
	}
	if p.first() {
		e.word(wInput.String())
	}
}

// noteValue adds the words that an operand may start with.
func (p *parser) noteValue() {
	if e := p.atCursor(); e != nil {
		e.Value = true
		for _, w := range []word{wNot, wNull, wTrue, wFalse, wCase, wHTML} {
			e.word(w.String())
		}
	}
}

func (p *parser) noteOperator() {
	e := p.atCursor()
	if e == nil {
		return
	}
	e.Operator = true
	e.word(wNot.String())
	for w, o := range wordOps {
		if o.level > 0 {
			e.word(word(w).String())
		}
	}
	p.noteClauses(e)
}

func (p *parser) noteVariable() {
	if e := p.atCursor(); e != nil {
		e.Variable = true
	}
}

func (p *parser) notePlace() {
	if e := p.atCursor(); e != nil {
		e.Globals = []string{"SESSION", "RESPONSE", "COOKIE"}
	}
}

func (p *parser) noteFunction() {
	if e := p.atCursor(); e != nil {
		e.Function = true
	}
}

func (p *parser) noteAccess() {
	if e := p.atCursor(); e != nil {
		e.Access = true
	}
}

func (p *parser) noteKey() {
	if e := p.atCursor(); e != nil {
		e.Key = true
	}
}

func (p *parser) noteExpected(what string) {
	if e := p.atCursor(); e != nil {
		e.What = what
	}
}

// noteSQL notes the statement of SQL that the cursor stands in.
func (p *parser) noteSQL(s *SQL) {
	if e := p.expect; e != nil && !e.over {
		p.see(e)
		e.SQL, e.over = s.Start, true
	}
}

// noteText notes the text or comment that has no end before the cursor.
func (p *parser) noteText(t *token) {
	e := p.expect
	if e != nil && t.err == errComment {
		e.Comment = true
	}
	if e == nil || e.over || t.err != errText && t.err != errTriple || int(t.stop) < len(p.src) {
		return
	}
	p.see(e)
	e.Text, e.over = t.bodyStart, true
}

// afterWord lists what may follow a word that the parser takes only when it has seen
// the word behind it.
var afterWord = map[word][]word{
	wEnd: {wSession}, wReplace: {wInto}, wInput: {wFields}, wNot: {wIn, wLike, wBetween, wNull}, wLong: {wText},
	wElse: {wIf}, wIs: {wNot, wNull}, wImport: {wFile}, wMail: {wTo}, wRun: {wScript}, wFetch: {wAll}, wStart: {wScript}, wWait: {wFor},
}

// noteLookahead adds what may follow the last word by looking ahead.
func (p *parser) noteLookahead(e *Expected) {
	if e.SQL != source.NoPos || e.Text != source.NoPos {
		return
	}
	text := p.src
	end := len(text)
	for end > 0 && class[text[end-1]] == cSpace {
		end--
	}
	start := end
	for start > 0 && class[text[start-1]] == cLetter {
		start--
	}
	w := lookupWord(text[start:end])
	for _, next := range afterWord[w] {
		e.word(next.String())
	}
	switch w {
	case wSet, wImport:
		e.Variable = true
	case wNot:
		e.Value = true
	}
}

// Usage returns how the statement that starts with the word is written: its rule of the
// grammar, "" where there is none.
func Usage(verb string) string { return usages()[verb] }
