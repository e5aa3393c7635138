package syntax

import (
	"strings"
	"unicode/utf8"

	"ql/lang/source"
)

// MaxNesting is how deep blocks, expressions and insertions may stand in one
// another, all together.
const MaxNesting = 200

// MaxChain is how many operators or accesses may follow one another at one
// level. It bounds the depth of the tree, which leans to the left there.
const MaxChain = 1000

// maxErrors is how many errors a text gets before the parser gives up.
const maxErrors = 20

// maxSpellings bounds the search for misspelt verbs behind an error.
const maxSpellings = 200

// Parse reads a whole script. The Script is never nil; with errors it holds the
// statements that could be read.
func Parse(f *source.File) (*Script, source.Errors) { return ParseYielding(f, source.NewYield(nil)) }

// ParseYielding is Parse that takes a step of y with each token, and panics as y does.
func ParseYielding(f *source.File, y *source.Yield) (*Script, source.Errors) {
	p := newParser(f)
	p.yield = y
	script := &Script{File: f}
	if p.checkBytes() {
		script.Statements = p.script()
		script.Comments = p.scan.comments
	}
	p.errs.Sort()
	return script, p.errs
}

// ParseExpr reads a text that is one expression. The expression is nil when
// there are errors.
func ParseExpr(f *source.File) (Expr, source.Errors) {
	p := newParser(f)
	var x Expr
	if p.checkBytes() {
		x = p.wholeExpr()
	}
	p.errs.Sort()
	if len(p.errs) > 0 {
		return nil, p.errs
	}
	return x, nil
}

// parser is a recursive descent parser. tok is the token to be taken next;
// ahead holds tokens that a look ahead has scanned already.
type parser struct {
	file  *source.File
	yield *source.Yield
	src   string
	scan  scanner
	tok   token
	ahead []token
	// prevStop is the end of the token taken last.
	prevStop source.Pos
	prevKind kind
	prevText Quote // the quote of the text taken last

	errs    source.Errors
	errLine int // the line of the error reported last

	depth int // nesting of blocks, expressions and insertions
	cases int // CASE expressions being read, for recovery

	blocks    []opener // the blocks being read
	loops     int      // loops of the script or function being read
	inDefine  bool
	inFinally bool
	strayEnds int // END words left over by a block that was opened in a foreign way
	indent    int // of the line that the statement being read starts on
	endMissed bool
	lateEnd   opener // verb wNone: none
	// swallowed is a word inside SQL that seems to end a block: where a block
	// lacks its END, that was it.
	swallowed swallowedEnd

	last       lastStmt   // the statement being read, or read last
	prior      lastStmt   // the one before
	wordCalls  []wordCall // "EMIT LINE(", "EMIT JSON(" and "IN FILE(" without a space
	bracesTold bool
	nested     []nestedStmt    // DEFINE and INCLUDE inside a block
	constants  map[string]bool // see mayName; nil until it is asked
	names      []namedAt       // that the script must say the meaning of
	spellings  int             // look-ups left for misspelt verbs in a broken part

	// Lists under construction; a finished list is copied out at its length.
	stmts   []Stmt
	exprs   []Expr
	parts   []TextPart
	raw     []rawPiece
	entries []Entry
	sqls    sqlReader

	nodes slabs
	// show, where it is not nil, is called with each statement instead of a tree being made of
	// them, and the statement's nodes are used again for the next: bases are the marks of the
	// blocks being read that they are taken back to, shown says whether there was one, and
	// vars are the names of variables since the one before.
	show  Show
	bases []slabMarks
	shown bool
	vars  []Span
	// skimming says that what is plain is passed over then, with these as the skimmers' memory.
	skimming   bool
	skims      []skimOpen
	skimmedSQL SQL

	// expect is where a text that ends at a cursor has noted what may stand there, nil
	// otherwise; fix goes with the error that is reported next.
	expect *Expected
	fix    fix
}

// fix is what an error offers to be written in the place of [start, stop).
type fix struct {
	code        source.Code
	start, stop source.Pos
	text        string
}

// lastStmt is what messages need to know of a statement.
type lastStmt struct {
	verb        word
	result      string // the name of the variable that it sets, "" without one
	file        bool   // it has SET FILE
	whole       bool   // no value can follow it
	start, stop source.Pos
}

// nestedStmt is a statement inside a block that may stand at the top level only.
// It is reported at the end, unless the block has no END: then that says it all.
type nestedStmt struct {
	verb, block word
	start       source.Pos
}

func newParser(f *source.File) *parser {
	return &parser{file: f, yield: source.NewYield(nil), src: f.Text, scan: scanner{src: f.Text}, spellings: maxSpellings}
}

// checkBytes refuses what is no text at all. Nothing more is said about it then.
func (p *parser) checkBytes() bool {
	const maxLen = 1 << 30 // positions are 32 bits wide
	if len(p.src) > maxLen {
		p.errorAt(0, 0, "the script is too long")
		return false
	}
	if !utf8.ValidString(p.src) {
		i := invalidByte(p.src)
		p.errorAt(source.Pos(i), source.Pos(i+1), "the byte 0x%02X is not UTF-8: save the script as UTF-8", p.src[i])
		return false
	}
	if i := strings.IndexByte(p.src, 0); i >= 0 {
		p.errorAt(source.Pos(i), source.Pos(i+1), "a NUL character may not stand in a script")
		return false
	}
	return true
}

func invalidByte(s string) int {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(s)
}

// Tokens.

// next takes the current token.
func (p *parser) next() {
	if p.tok.err != errNone {
		p.reportScan(&p.tok)
	}
	p.skip()
}

// skip drops the current token without reporting what is wrong with it.
func (p *parser) skip() {
	p.yield.Step()
	p.prevStop, p.prevKind, p.prevText = p.tok.stop, p.tok.kind, p.tok.quote
	if len(p.ahead) > 0 {
		p.tok = p.ahead[0]
		p.ahead = p.ahead[:copy(p.ahead, p.ahead[1:])]
		return
	}
	p.scan.scan(&p.tok)
}

// peek returns the token n places behind the current one, n from 1 to 3.
func (p *parser) peek(n int) *token {
	for len(p.ahead) < n {
		p.ahead = append(p.ahead, token{})
		p.scan.scan(&p.ahead[len(p.ahead)-1])
	}
	return &p.ahead[n-1]
}

// resetTo goes on reading tokens at pos, outside all texts.
func (p *parser) resetTo(pos int) {
	p.ahead = p.ahead[:0]
	p.scan.reset(pos)
	p.scan.scan(&p.tok)
}

// is says whether the current token is the word.
func (p *parser) is(w word) bool {
	if p.tok.kind == tWord {
		return p.tok.word == w
	}
	if p.tok.kind == tEOF {
		p.noteWord(w)
	}
	return false
}

func (t *token) is(w word) bool { return t.kind == tWord && t.word == w }

// isText says whether the token starts a text.
func (t *token) isText() bool { return t.kind == tText || t.kind == tTextHead }

// got takes the word where it stands.
func (p *parser) got(w word) bool {
	if !p.is(w) {
		return false
	}
	p.next()
	return true
}

// text returns the source of a token.
func (p *parser) text(t *token) string { return p.src[t.start:t.stop] }

// Nesting.

func (p *parser) enter() {
	p.depth++
	if p.depth > MaxNesting {
		p.errLine = 0
		p.errorAt(p.tok.start, p.tok.stop, "this is nested more than %d levels deep: take a part out into a variable or a function", MaxNesting)
		panic(stop{})
	}
}

func (p *parser) leave() { p.depth-- }

// chain counts the links of a chain of operators or accesses.
func (p *parser) chain(n *int) {
	*n++
	if *n > MaxChain {
		p.fail(p.tok.start, p.tok.stop, "more than %d operators follow one another: split this with SET", MaxChain)
	}
}

// Errors. A syntax error unwinds to the statement list or the statement header
// that it stands in, which goes on behind it; no panic leaves the package.

// unwind is the panic of an error that ends its statement.
type unwind struct{}

// stop is the panic that ends the whole reading.
type stop struct{}

// errorAt reports an error and returns. Only the first error of a line counts:
// what follows on the same line is mostly its consequence.
func (p *parser) errorAt(pos, end source.Pos, format string, args ...any) {
	p.noteError()
	line := p.file.Line(pos)
	if line == p.errLine {
		p.fix = fix{}
		return
	}
	p.errLine = line
	e := p.errs.Add(p.file, pos, end, format, args...).As(source.Syntax)
	if f := p.fix; f.code != "" {
		p.fix = fix{}
		if e.As(f.code); f.text != "" {
			e.Offer(f.start, f.stop, f.text)
		}
	}
	if len(p.errs) >= p.mostErrors() {
		panic(stop{})
	}
}

// offer has the next error be of the code and offer text instead of the token, so that
// whoever reports it need not say it twice.
func (p *parser) offer(code source.Code, t *token, text string) {
	p.fix = fix{code, t.start, t.stop, text}
}

// forgetErrors takes back all errors but the first n: they were found in a part
// that is not what it was taken for.
func (p *parser) forgetErrors(n int) {
	p.errs, p.errLine = p.errs[:n], 0
}

// fail reports an error and ends the statement.
func (p *parser) fail(pos, end source.Pos, format string, args ...any) {
	p.errorAt(pos, end, format, args...)
	panic(unwind{})
}

// mark is the state that recovery goes back to.
type mark struct {
	depth, cases, blocks, stmts, exprs, parts, raw, entries int
	start                                                   source.Pos // of the statement being read
}

func (p *parser) mark() mark {
	return mark{p.depth, p.cases, len(p.blocks), len(p.stmts), len(p.exprs), len(p.parts), len(p.raw), len(p.entries), source.NoPos}
}

// recoverAt is deferred where reading goes on after an error. It brings the
// parser back to the mark and skips the rest of the broken statement or header.
func (p *parser) recoverAt(m *mark, header bool) {
	switch r := recover(); r.(type) {
	case nil:
	case unwind:
		open, last := p.cases-m.cases, p.last
		p.depth, p.cases, p.blocks = m.depth, m.cases, p.blocks[:m.blocks]
		p.stmts, p.exprs = p.stmts[:m.stmts], p.exprs[:m.exprs]
		p.parts, p.raw, p.entries = p.parts[:m.parts], p.raw[:m.raw], p.entries[:m.entries]
		p.leaveTexts()
		if p.tok.start == m.start {
			p.skip()
		}
		p.sync(open, header)
		if !header && m.start != source.NoPos {
			p.push(p.badStmt(last, m.start))
		}
	default:
		panic(r)
	}
}

// guard reads the header of a statement with a block, and goes on behind it even
// after an error. It reports whether all was well.
func (p *parser) guard(parse func()) (ok bool) {
	m := p.mark()
	defer p.recoverAt(&m, true)
	parse()
	return true
}

// leaveTexts skips the rest of a text after an error in one of its insertions.
func (p *parser) leaveTexts() {
	if len(p.scan.texts) == 0 || p.scan.texts[0].start >= p.tok.start { // not in a text, or only looking ahead into one
		return
	}
	pos := int(p.tok.start)
	if p.scan.texts[0].quote == DoubleQuote {
		p.resetTo(lineEnd(p.src, pos))
		return
	}
	if i := strings.Index(p.src[pos:], `"""`); i >= 0 {
		p.resetTo(pos + i + len(`"""`))
		return
	}
	p.resetTo(len(p.src))
	p.endMissed = true // it may stand in what was skipped
}

// sync skips to where a statement may start, or a block start or end: behind a
// broken statement that leaves so many CASE expressions open.
func (p *parser) sync(cases int, header bool) {
	for {
		switch p.tok.kind {
		case tEOF, tSemi:
			return
		case tLBrace:
			if header && p.peek(1).line {
				return
			}
		case tRBrace:
			if p.inBraces() {
				return
			}
		case tWord:
			switch w := p.tok.word; {
			case w == wCase:
				cases++
			case p.tok.line && (p.startsStatement() || p.startsForeign()):
				return
			case cases > 0 && w == wEnd:
				cases--
			case cases > 0 && (w == wElse || w == wThen):
			case w == wElse || w == wCatch || w == wFinally && p.peek(1).kind != tLParen || w == wEnd || w == wThen || w == wDo:
				return
			}
		}
		p.skip()
	}
}

// startsStatement says whether the word at the start of a line begins a
// statement rather than a clause, a key or a field of a broken one.
func (p *parser) startsStatement() bool {
	if !p.tok.word.isVerb() || p.tok.word == wEnd {
		return false
	}
	next := p.peek(1)
	switch p.tok.word {
	case wSet:
		return next.kind == tVar && !p.atResult() || next.isText()
	case wFor:
		return next.kind == tVar
	case wReplace:
		return next.is(wInto)
	case wImport:
		return p.startsImport()
	case wMail:
		return next.is(wTo)
	case wSignal:
		return p.startsSignal()
	}
	return next.kind != tColon && next.kind != tComma && next.kind != tEq && next.kind != tDot
}

// startsForeign says whether the word at the start of a line begins a statement
// or ends a block in another language, or is a misspelt verb.
func (p *parser) startsForeign() bool {
	if p.tok.word != wNone {
		return p.tok.word == wFunction && p.peek(1).kind == tWord
	}
	next := p.peek(1)
	if next.kind == tColon || next.kind == tComma {
		return false
	}
	upper := p.upper(&p.tok)
	if p.foreignBlockWord() != wNone {
		return true
	}
	if verbHabits[upper] != "" || setHabits[upper] || defineHabits[upper] || upper == "FOREACH" {
		return true
	}
	if p.spellings == 0 || !next.mayStartExpr() {
		return false
	}
	p.spellings--
	return nearest(upper, Verbs()) != ""
}
