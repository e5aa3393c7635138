package syntax

import (
	"strings"

	"ql/lang/source"
)

// opener is the statement whose block is being read.
type opener struct {
	verb    word
	start   source.Pos // of the verb
	indent  int        // of the verb's line
	accepts word       // ELSE, CATCH or FINALLY, where this block may end with it
	braces  bool       // opened with "{" by habit, and so closed with "}"
	shape   string     // of its head, where that is another than the usual one of the verb
}

// script reads all statements of a text.
func (p *parser) script() (list []Stmt) {
	defer func() {
		switch r := recover(); r.(type) {
		case nil:
		case stop:
			list = p.takeStmts(0)
		default:
			panic(r)
		}
	}()
	p.skip()
	for {
		p.statements()
		if p.tok.kind == tEOF {
			p.next()
			if p.expect == nil { // at a cursor nobody is told of mistakes
				p.checkNested()
				p.checkWordCalls()
				p.checkNames()
			}
			return p.takeStmts(0)
		}
		p.strayWord()
	}
}

// wholeExpr reads a text that is one expression.
func (p *parser) wholeExpr() (x Expr) {
	defer func() {
		switch r := recover(); r.(type) {
		case nil, stop, unwind:
		default:
			panic(r)
		}
	}()
	p.skip()
	x = p.expr()
	if p.tok.kind != tEOF {
		p.expected("the end of the expression", "")
	}
	p.next()
	p.checkNames()
	return x
}

// statements reads statements onto p.stmts up to the end of the block.
func (p *parser) statements() {
	for !p.statementRun() {
		if p.is(wThen) || p.is(wDo) {
			p.skipBlock()
		}
	}
}

// skipBlock reads the block of a statement whose start was broken, so that its
// END closes nothing else.
func (p *parser) skipBlock() {
	open := p.open(wIf, p.tok.start)
	if p.is(wDo) {
		p.loops++
		defer func() { p.loops-- }()
	}
	p.skip()
	for open.accepts = wElse; ; {
		p.block(open)
		if !p.got(wElse) {
			break
		}
		if p.is(wIf) && !p.tok.line {
			p.next()
			p.guard(func() { p.expr() })
			p.got(wThen)
		}
	}
	if p.tok.kind == tEOF {
		p.endMissed = true // of which block, nobody can know
	}
	p.got(wEnd)
}

// statementRun reads statements until the block ends or, with false, until one
// of them is broken.
func (p *parser) statementRun() (done bool) {
	m := p.mark()
	defer p.recoverAt(&m, false)
	if p.show != nil {
		p.bases = append(p.bases[:len(p.blocks)], p.nodes.mark())
	}
	for {
		m.start = source.NoPos
		if p.tok.kind == tSemi {
			p.next()
			continue
		}
		if p.atBlockEnd() {
			return true
		}
		m.start = p.tok.start
		if p.tok.line {
			p.indent = p.column(p.tok.start)
		}
		if p.skimming && p.skim() {
			continue
		}
		verb := p.tok.word
		s := p.statement()
		if p.last.start != m.start { // statements inside it came last
			p.last = lastStmt{verb: verb, start: m.start}
		}
		p.last.stop = p.prevStop
		if s != nil {
			p.push(s)
		}
		m.stmts = len(p.stmts)
	}
}

// push adds a statement to the block being read, or shows it.
func (p *parser) push(s Stmt) {
	if p.show == nil {
		p.stmts = append(p.stmts, s)
		return
	}
	p.shown = true
	p.show(s, p.vars, len(p.blocks))
	p.vars = p.vars[:0]
	p.nodes.rewind(&p.bases[len(p.blocks)])
}

// first says whether no statement was read yet.
func (p *parser) first() bool {
	return len(p.stmts) == 0 && !p.shown && len(p.blocks) == 0 && p.last.verb == wNone
}

// takeStmts copies out the statements from base on.
func (p *parser) takeStmts(base int) []Stmt {
	list, rest := p.nodes.stmts.take(p.stmts, base)
	p.stmts = rest
	return list
}

// column returns the offset of pos in its line.
func (p *parser) column(pos source.Pos) int {
	return int(pos) - 1 - strings.LastIndexByte(p.src[:pos], '\n')
}

// atBlockEnd says whether the current token ends the block being read.
func (p *parser) atBlockEnd() bool {
	switch p.tok.kind {
	case tEOF:
		p.noteStatement()
		return true
	case tWord:
		switch p.tok.word {
		case wElse, wCatch:
			return true
		case wFinally:
			return p.peek(1).kind != tLParen
		case wEnd:
			return !p.peek(1).is(wSession)
		case wNone:
			return p.foreignBlockWord() != wNone
		}
	case tRBrace:
		return p.inBraces()
	}
	return false
}

// inBraces says whether a block of ours was opened with "{", by habit.
func (p *parser) inBraces() bool {
	return len(p.blocks) > 0 && p.blocks[len(p.blocks)-1].braces
}

// block reads the statements of a block up to the word that ends it.
func (p *parser) block(open opener) *Block {
	p.enter()
	p.blocks = append(p.blocks, open)
	b := p.nodes.blocks.new()
	b.Start = p.prevStop
	base := len(p.stmts)
	p.statements()
	for !p.endsBlock(&open) {
		p.strayWord()
		p.statements()
	}
	b.Stmts = p.takeStmts(base)
	b.Stop = p.tok.start
	p.blocks = p.blocks[:len(p.blocks)-1]
	p.leave()
	return b
}

// endsBlock says whether the current token, which may end some block, ends this
// one: its own END, ELSE, CATCH or FINALLY, or one that an outer block waits for.
func (p *parser) endsBlock(open *opener) bool {
	if p.tok.kind != tWord {
		return true
	}
	w := p.tok.word
	if w == wNone {
		w = p.foreignBlockWord()
	}
	if w == wEnd || open.takes(w) {
		return true
	}
	for i := range p.blocks {
		if p.blocks[i].takes(w) {
			return true
		}
	}
	return false
}

// takes says whether w parts the block from one that follows it: FINALLY stands after
// TRY as well as after CATCH.
func (o *opener) takes(w word) bool {
	return w != wNone && (w == o.accepts || w == wFinally && o.accepts == wCatch)
}

// end takes the END of a statement with blocks.
func (p *parser) end(open opener) {
	switch {
	case p.is(wEnd):
		p.noteLateEnd(open)
		p.next()
		p.endWithVerb(open)
	case p.tok.kind == tRBrace && open.braces:
		p.next()
	case p.tok.kind == tWord && p.tok.word == wNone && p.foreignBlockWord() == wEnd:
		p.offer(source.ForeignWord, &p.tok, "END")
		p.errorAt(p.tok.start, p.tok.stop, "write END instead of %s: every block ends with END", p.text(&p.tok))
		p.skip()
	case p.tok.kind == tEOF:
		p.missingEnd(open)
		p.prevStop = p.tok.start // the statement reaches as far as its block
	default:
		p.fix.code = source.MissingEnd
		p.errorAt(open.start, open.start+source.Pos(len(open.verb.String())),
			"this %s has no END: %s on line %d comes first", open.verb, p.describe(&p.tok), p.file.Line(p.tok.start))
		p.prevStop = p.tok.start
	}
}

// noteLateEnd remembers a block whose END stands further left than its opening
// line, under an outer block: most likely its own END is missing.
func (p *parser) noteLateEnd(open opener) {
	if !p.tok.line || p.lateEnd.verb != wNone {
		return
	}
	column := p.column(p.tok.start)
	if column >= open.indent {
		return
	}
	for i := range p.blocks {
		if p.blocks[i].indent == column {
			p.lateEnd = open
			return
		}
	}
}

// missingEnd reports that the script ends inside a block. It is said once: for
// the block that most likely lacks its END.
func (p *parser) missingEnd(open opener) {
	if p.endMissed {
		return
	}
	p.endMissed = true
	if p.tok.err != errNone {
		p.reportScan(&p.tok)
		return
	}
	if w := p.swallowed; w.word != wNone {
		p.fix = fix{source.MissingEnd, w.pos, w.pos, "; "}
		p.errorAt(w.pos, w.pos+source.Pos(len(w.word.String())), "this SQL has no end: put ; before %s", w.word)
		return
	}
	if p.lateEnd.verb != wNone {
		open = p.lateEnd
	}
	hint := ""
	if before := strings.TrimRight(p.src[:open.start], " \t"); len(before) >= 3 && equalFold(before[len(before)-3:], "END") {
		hint = "; END alone closes a block, without " + open.verb.String() + " behind it"
	}
	p.fix.code = source.MissingEnd
	p.errorAt(open.start, open.start+source.Pos(len(open.verb.String())), "this %s has no END%s", open.verb, hint)
}
