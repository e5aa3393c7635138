package syntax

// What to say where a block does not fit. The functions named bad… and missing…
// fail, save where their comment says that they go on.

// foreignBlockWord returns which word of ours the current word stands for by
// habit: END for ENDIF, ELSE for ELSEIF, CATCH for EXCEPT, FINALLY for ENSURE.
func (p *parser) foreignBlockWord() word {
	if p.peek(1).kind == tLParen {
		if w := foreignBlockWords[p.upper(&p.tok)]; w == wElse {
			return w
		}
		return wNone
	}
	return foreignBlockWords[p.upper(&p.tok)]
}

// strayWord reports a word that ends blocks where no block waits for it, and
// goes on behind it.
func (p *parser) strayWord() {
	t := p.tok
	w := t.word
	if w == wNone {
		w = p.foreignBlockWord()
	}
	switch w {
	case wEnd:
		if p.strayEnds > 0 {
			p.strayEnds--
			break
		}
		p.errorAt(t.start, t.stop, "this END closes nothing: no block is open here")
	case wElse:
		p.errorAt(t.start, t.stop, "this ELSE belongs to no IF: %s", p.elseHint())
		if p.last.verb == wIf && !p.peek(1).is(wIf) {
			p.strayEnds++
		}
	case wFinally:
		p.errorAt(t.start, t.stop, "this FINALLY belongs to no TRY: write TRY … CATCH ?err … FINALLY … END, with FINALLY last")
		p.strayEnds++
	default:
		if n := len(p.blocks); n > 0 && p.blocks[n-1].verb == wTry && p.inFinally {
			p.errorAt(t.start, t.stop, "CATCH stands before FINALLY: write TRY … CATCH ?err … FINALLY … END")
			if p.peek(1).kind == tVar {
				p.skip()
			}
			break
		}
		p.errorAt(t.start, t.stop, "this CATCH belongs to no TRY: write TRY … CATCH ?err … END")
		p.strayEnds++
		if p.peek(1).kind == tVar {
			p.skip()
		}
	}
	p.skip()
}

func (p *parser) elseHint() string {
	switch {
	case p.last.verb == wIf:
		return "the END before it has closed the IF"
	case len(p.blocks) > 0 && p.blocks[len(p.blocks)-1].verb == wIf:
		return "the IF has its ELSE already"
	}
	return "write IF … THEN … ELSE … END"
}

// endWithVerb reports END IF and its like, and goes on.
func (p *parser) endWithVerb(open opener) {
	t := p.tok
	if t.kind != tWord || t.line {
		return
	}
	next := p.peek(1)
	apart := next.line || next.kind == tEOF || next.kind == tSemi || next.kind == tWord && next.word.isStructure()
	if !apart {
		return
	}
	switch {
	case (t.word == wIf || t.word == wWhile) && !next.mayStartExpr(), t.word == wFor && next.kind != tVar,
		t.word == wCase, t.word == wFunction, t.word == wProcedure,
		t.word == wNone && equalFold(p.text(&t), "LOOP"):
		p.errorAt(t.start, t.stop, "write END instead of END %s: END alone closes the %s", p.upper(&t), open.verb)
		p.skip()
	}
}

// openingBrace reports a brace, a colon or BEGIN at the start of a block, and
// goes on.
func (p *parser) openingBrace(open *opener) {
	switch {
	case p.tok.kind == tLBrace:
		if !open.braces {
			p.errorAt(p.tok.start, p.tok.stop, "blocks have no braces: a block of %s ends with END", open.verb)
		}
		open.braces = true
		p.skip()
	case p.tok.kind == tColon:
		p.errorAt(p.tok.start, p.tok.stop, "no colon starts a block: it ends with END")
		p.skip()
	case p.is(wBegin):
		p.errorAt(p.tok.start, p.tok.stop, "blocks have no BEGIN: a block of %s ends with END", open.verb)
		p.strayEnds++
		p.skip()
	}
}

// badOpening reports that THEN or DO is missing, and goes on in the block.
func (p *parser) badOpening(open *opener, w word) {
	t := p.tok
	shape := "IF condition THEN … END"
	switch {
	case open.shape != "":
		shape = open.shape
	case open.verb == wFor:
		shape = "FOR ?x IN ?list DO … END"
	case open.verb == wWhile:
		shape = "WHILE condition DO … END"
	}
	switch {
	case t.kind == tLBrace:
		p.errorAt(t.start, t.stop, "blocks have no braces: write %s", shape)
		open.braces = true
		p.skip()
	case t.kind == tColon, t.is(wThen), t.is(wDo), t.is(wBegin):
		p.errorAt(t.start, t.stop, "expected %s, found %s: write %s", w, p.describe(&t), shape)
		p.skip()
	case t.line || t.kind == tEOF || t.kind == tWord && t.word.isVerb():
		pos, end := p.missingAt()
		p.errorAt(pos, end, "expected %s, found %s: write %s", w, p.describe(&t), shape)
	default:
		p.guard(func() { p.expected(w.String(), shape) })
		if !p.got(w) && p.tok.kind == tLBrace {
			open.braces = true
			p.skip()
		}
	}
}

// catchWord takes CATCH. It reports false where there is none.
func (p *parser) catchWord() bool {
	if p.got(wCatch) {
		return true
	}
	return p.foreignPart(wCatch, "CATCH ?err")
}

// finallyWord takes FINALLY. It reports false where there is none.
func (p *parser) finallyWord() bool {
	if p.is(wFinally) && p.peek(1).kind != tLParen {
		p.next()
		return true
	}
	return p.foreignPart(wFinally, "FINALLY")
}

// foreignPart takes, with the rest of its line, a word that stands for w elsewhere.
func (p *parser) foreignPart(w word, write string) bool {
	if p.tok.kind != tWord || p.tok.word != wNone || p.foreignBlockWord() != w {
		return false
	}
	p.errorAt(p.tok.start, p.tok.stop, "write %s instead of %s", write, p.upper(&p.tok))
	for !p.peek(1).line && p.peek(1).kind != tEOF {
		p.skip()
	}
	p.skip()
	return true
}

// catchVar reads the variable of CATCH, and goes on after a foreign one.
func (p *parser) catchVar(s *Try) {
	t := p.tok
	switch {
	case t.kind == tVar:
		s.Err = p.variable()
	case t.kind == tLParen && !t.line:
		p.errorAt(t.start, t.stop, "CATCH takes a variable without brackets: CATCH ?err")
		p.skipBrackets()
	case t.kind == tWord && t.word == wNone && !t.line && p.peek(1).kind != tLParen && verbHabits[p.upper(&t)] == "":
		p.errorAt(t.start, t.stop, "a variable starts with ?: CATCH ?%s", p.text(&t))
		p.skip()
	}
}

// skipBrackets skips from a bracket behind the one that closes it, on one line.
func (p *parser) skipBrackets() {
	for depth := 0; p.tok.kind != tEOF; {
		switch p.tok.kind {
		case tLParen:
			depth++
		case tRParen:
			depth--
		}
		p.skip()
		if depth == 0 || p.tok.line {
			return
		}
	}
}
