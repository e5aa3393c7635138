package syntax

import (
	"strings"

	"ql/lang/source"
)

// badStatement fails where a statement should start, or goes on where it is
// clear what was meant.
func (p *parser) badStatement() Stmt {
	if p.tok.kind == tVar {
		p.bareVariable()
	}
	p.checkToken()
	t := p.tok
	switch t.kind {
	case tWord:
		return p.bareWord()
	case tLBrace, tRBrace:
		if !p.bracesTold {
			p.bracesTold = true
			p.errorAt(t.start, t.stop, "blocks have no braces: IF, FOR and the others open a block, END closes it")
		}
		p.skip()
		return nil
	}
	if t.kind == tRParen || t.kind == tRBrack {
		p.fail(t.start, t.stop, "this %s closes nothing: no bracket is open here", p.text(&t))
	}
	if !t.line && p.last.verb == wEmit && !p.last.whole && p.startsExpr() {
		p.fail(t.start, t.stop, "a comma is missing before %s: EMIT takes values with commas between", p.describe(&t))
	}
	if p.startsExpr() {
		p.fail(t.start, t.stop, "expected a statement, found %s: to write a value out write EMIT %s", p.describe(&t), short(p.text(&t)))
	}
	p.fail(t.start, t.stop, "expected a statement, found %s: every statement starts with a verb such as SET or EMIT", p.describe(&t))
	return nil
}

// bareVariable fails at a statement that starts with a variable.
func (p *parser) bareVariable() {
	start := p.tok.start
	end := p.tok.stop
	p.skip()
	for p.tok.kind == tDot || p.tok.kind == tLBrack {
		closer := tWord
		if p.tok.kind == tLBrack {
			closer = tRBrack
		}
		for p.tok.kind != closer && p.tok.kind != tEOF && !p.peek(1).line {
			p.skip()
		}
		end = p.tok.stop
		p.skip()
		if p.tok.line {
			break
		}
	}
	target := "?" + p.src[start+1:end] // also of $x and @x
	p.assignment(start, end, target)
	p.fail(start, end, "expected a statement, found %s: to write it out write EMIT %s, to set it SET %s AS value",
		short(p.src[start:end]), short(target), short(target))
}

// assignment fails where the current token assigns to the name before it, which
// is spelt target in our language.
func (p *parser) assignment(start, end source.Pos, target string) {
	target = short(target)
	t := p.tok
	rest := strings.TrimLeft(p.src[end:], " \t")
	switch {
	case t.kind == tEq && !t.line, t.kind == tColon && p.peek(1).kind == tEq, t.is(wAs) && !t.line:
		p.fail(start, end, "a variable is set with SET: SET %s AS %s", target, p.valueAfter(end))
	case !t.line && p.compound() != "":
		p.fail(start, end, "a variable is set with SET: SET %s AS %s %s", target, target, p.compound())
	case strings.HasPrefix(rest, "--"):
		p.fail(start, end, "a variable is set with SET: SET %s AS %s - 1", target, target)
	}
}

// bareWord handles a statement that starts with a word that is no verb.
func (p *parser) bareWord() Stmt {
	t := p.tok
	text, upper := p.text(&t), p.upper(&t)
	next := *p.peek(1)
	if !t.line && p.last.verb != wNone && p.last.stop == p.prevStop {
		p.misplacedClause()
	}
	switch {
	case t.word == wBegin:
		p.errorAt(t.start, t.stop, "blocks have no BEGIN; for a transaction write TRANSACTION … END, whose END commits")
		p.strayEnds++
		p.skip()
		if p.is(wTransaction) {
			p.skip()
		}
		return nil
	case defineHabits[upper] || t.word == wFunction || t.word == wProcedure:
		return p.foreignDefine()
	case upper == "FOREACH":
		return p.foreignFor()
	case setHabits[upper]:
		name, value := "name", "value"
		if next.kind == tWord || next.kind == tVar {
			name = strings.TrimLeft(p.text(&next), "?$@")
		}
		if p.peek(2).kind == tEq {
			value = p.valueAfter(next.stop)
		}
		p.fail(t.start, t.stop, "write SET instead of %s: SET ?%s AS %s", upper, name, value)
	case t.word == wThen || t.word == wDo:
		p.errorAt(t.start, t.stop, "%s stands only behind IF, FOR or WHILE", t.word)
		p.skipBlock()
		return nil
	case t.word == wCase:
		p.fail(t.start, t.stop, "CASE gives a value and is no statement: write EMIT CASE …, or IF … THEN … END")
	case refusedSQL[upper] != "" && next.kind != tEq && next.kind != tLParen:
		p.fail(t.start, t.stop, "%s is not allowed: %s", upper, refusedSQL[upper])
	case verbHabits[upper] != "" && next.kind != tEq:
		p.offerWord(&t, verbHabits[upper])
		p.fail(t.start, t.stop, "instead of %s write %s", upper, verbHabits[upper])
	case next.kind == tLParen:
		p.fail(t.start, next.stop, "a function is called with CALL %s(…); to write out its value write EMIT %s(…)", short(text), short(text))
	}
	if t.word == wNone || t.word > wHTML || t.word == wMail || t.word == wSignal {
		p.skip()
		p.assignment(t.start, t.stop, "?"+text)
	}
	switch t.word { // verbs before one thing alone, and names elsewhere
	case wMail:
		p.fail(t.start, t.stop, "MAIL begins with TO: write %s", shapeMail)
	case wSignal:
		p.fail(t.start, t.stop, "SIGNAL begins with the name of a signal: write %s", shapeSignal)
	}
	if near := nearest(text, Verbs()); near != "" && t.word == wNone { // a clause is no misspelt verb
		p.offer(source.UnknownWord, &t, near)
		p.fail(t.start, t.stop, "%s is no statement; did you mean %s?", text, near)
	}
	p.fix.code = source.UnknownWord
	p.fail(t.start, t.stop, "%s is no statement: every statement starts with a verb such as SET or EMIT", short(text))
	return nil
}

// misplacedClause fails at a word right behind a statement that ended before it.
func (p *parser) misplacedClause() {
	t := &p.tok
	verb := p.last.verb
	upper := p.upper(t)
	if t.is(wInto) && p.peek(1).kind == tVar && (verb.isSQLHead() || clauseTakesSet(verb)) {
		p.offer(source.ForeignWord, t, "SET")
		p.fail(t.start, t.stop, "write SET %s instead of INTO %s", p.text(p.peek(1)), p.text(p.peek(1)))
	}
	for _, c := range clausesOf[verb] {
		if c != upper {
			continue
		}
		if p.last.result != "" {
			p.fail(t.start, t.stop, "%s has to stand before SET ?%s: the result is always last", upper, p.last.result)
		}
		p.fail(t.start, t.stop, "%s stands in the wrong place or twice: %s takes %s", upper, verb, orList(clausesOf[verb]))
	}
	if p.last.result != "" && verb.isSQLHead() {
		p.fail(t.start, t.stop, "SET ?%s ends the SQL: %s has to stand before it", p.last.result, upper)
	}
	if _, habit := verbHabits[upper]; habit || setHabits[upper] || defineHabits[upper] || p.peek(1).kind == tLParen {
		return
	}
	if p.last.file && (t.word == wNone || t.word > wHTML) {
		p.fail(t.start, t.stop, "SET FILE ends the SQL: %s has to stand before it", upper)
	}
	if len(clausesOf[verb]) > 0 && p.last.result == "" {
		p.badClause(verb)
	}
}

// foreignDefine reads FUNCTION name(…) as DEFINE.
func (p *parser) foreignDefine() Stmt {
	t := p.tok
	p.offer(source.ForeignWord, &t, "DEFINE")
	p.errorAt(t.start, t.stop, "write DEFINE instead of %s: DEFINE name(?a, ?b) … END", p.upper(&t))
	p.skip()
	p.last = lastStmt{verb: wDefine, start: t.start}
	return p.define(t.start)
}

// foreignFor reads FOREACH ?x IN … as FOR.
func (p *parser) foreignFor() Stmt {
	t := p.tok
	p.offer(source.ForeignWord, &t, "FOR")
	p.errorAt(t.start, t.stop, "write FOR instead of FOREACH: FOR ?x IN ?list DO … END")
	p.skip()
	p.last = lastStmt{verb: wFor, start: t.start}
	return p.forStmt(t.start)
}
