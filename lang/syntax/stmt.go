package syntax

import "ql/lang/source"

// statement reads one statement. It returns nil for a word that was only
// reported and left out.
func (p *parser) statement() Stmt {
	if p.tok.kind != tWord {
		return p.badStatement()
	}
	start, verb := p.tok.start, p.tok.word
	if verb.isSQLHead() {
		if verb == wReplace && !p.peek(1).is(wInto) {
			return p.badStatement()
		}
		return p.sql()
	}
	if verb == wInput && p.peek(1).is(wFields) {
		return p.input(start)
	}
	if !verb.isVerb() || verb == wCheck && p.touchesParen() || verb == wImport && !p.startsImport() || verb == wMail && !p.peek(1).is(wTo) || verb == wSignal && !p.startsSignal() {
		return p.badStatement()
	}
	p.next()
	p.prior, p.last = p.last, lastStmt{verb: verb, start: start}
	switch verb {
	case wEmit:
		return p.emit(start)
	case wSet:
		return p.set(start)
	case wUnset:
		return p.unset(start)
	case wAppend:
		return p.appendStmt(start)
	case wIf:
		return p.ifStmt(start)
	case wFor:
		return p.forStmt(start)
	case wWhile:
		return p.whileStmt(start)
	case wBreak:
		p.needLoop(start, verb)
		return &Break{p.span(start)}
	case wContinue:
		p.needLoop(start, verb)
		return &Continue{p.span(start)}
	case wStop:
		p.leavesFinally(start, verb)
		return &Stop{p.span(start)}
	case wReturn:
		return p.returnStmt(start)
	case wCall:
		return p.callStmt(start)
	case wTry:
		return p.tryStmt(start)
	case wFail:
		return p.failStmt(start)
	case wStart:
		if p.is(wScript) {
			return p.runScript(start, wStart)
		}
		p.need(wSession, "START SESSION")
		return &StartSession{p.span(start)}
	case wEnd: // no block ends here, so SESSION follows
		p.need(wSession, "END SESSION")
		return &EndSession{p.span(start)}
	case wConfirm:
		return p.confirm(start)
	case wGather:
		return p.gather(start)
	case wWait:
		return p.wait(start)
	case wRead:
		return p.read(start)
	case wWrite:
		return p.write(start)
	case wList:
		return p.list(start)
	case wCopy:
		return p.copyStmt(start)
	case wMove:
		return p.move(start)
	case wRemove:
		x := p.object(verb)
		return &Remove{p.span(start), x}
	case wShare:
		return p.share(start)
	case wUnshare:
		x := p.object(verb)
		return &Unshare{p.span(start), x}
	case wUse:
		p.need(wDatabase, `USE DATABASE "name"`)
		x := p.expr()
		return &Use{p.span(start), x}
	case wTransaction:
		return p.transaction(start)
	case wRender:
		return p.render(start)
	case wFetch:
		if p.is(wAll) {
			return p.fetchAll(start)
		}
		return p.fetch(start)
	case wRun:
		if p.is(wScript) {
			return p.runScript(start, wRun)
		}
		return p.run(start)
	case wSignal:
		return p.signal(start)
	case wCheck:
		return p.check(start)
	case wImport:
		return p.importStmt(start)
	case wMail:
		return p.mail(start)
	case wDefine:
		return p.define(start)
	default:
		return p.include(start)
	}
}

// span reaches from start to the end of the token taken last.
func (p *parser) span(start source.Pos) Span { return Span{start, p.prevStop} }

// need takes the word or fails with an example of how to write it.
func (p *parser) need(w word, example string) {
	if !p.got(w) {
		p.expected(w.String(), example)
	}
}

// object reads the expression that a verb cannot do without.
func (p *parser) object(verb word) Expr {
	if !p.startsExpr() {
		p.missingObject(verb)
	}
	return p.expr()
}

func (p *parser) emit(start source.Pos) Stmt {
	s := p.nodes.emits.new()
	if p.is(wLine) || p.is(wJSON) {
		word := p.tok
		s.Line, s.JSON = word.is(wLine), word.is(wJSON)
		p.next()
		if !p.startsExpr() {
			if p.strayOperand() {
				p.badOperand()
			}
			if s.JSON {
				p.fail(start, word.stop, "EMIT JSON needs a value: EMIT JSON ?name or EMIT JSON {…}")
			}
			s.Span = p.span(start)
			return s
		}
		if p.tok.kind == tLParen && p.tok.start == word.stop {
			p.wordCalls = append(p.wordCalls, wordCall{wEmit, word.word, word.start})
		}
	} else if !p.startsExpr() {
		p.missingObject(wEmit)
	}
	if s.JSON {
		p.emitJSON(s)
		s.Span = p.span(start)
		return s
	}
	base := len(p.exprs)
	for {
		p.pushExpr(p.expr())
		if p.tok.kind != tComma {
			break
		}
		p.next()
	}
	s.Args = p.takeExprs(base)
	s.Span = p.span(start)
	return s
}

// emitJSON reads the one value of EMIT JSON.
func (p *parser) emitJSON(s *Emit) {
	base := len(p.exprs)
	p.pushExpr(p.expr())
	s.Args = p.takeExprs(base)
	if p.tok.kind == tComma {
		p.fail(p.tok.start, p.tok.stop, "EMIT JSON writes one value: several go into a list, EMIT JSON [?a, ?b], or a map")
	}
	p.last.whole = true
}

// wordCall is a word of a statement that touches the bracket behind it.
type wordCall struct {
	verb, word word
	pos        source.Pos
}

// wordMeanings says what a word does in a statement that reads like a call of it.
var wordMeanings = map[word]string{wLine: "writes a line", wJSON: "writes a value as JSON", wFile: "reads a file", wAll: "calls a list of addresses", wScript: "runs a published script"}

// checkWordCalls refuses EMIT line(…) in a script with a function line: it reads
// like a call, but is EMIT LINE. So does it with EMIT json(…) and FOR ?x IN file(…).
func (p *parser) checkWordCalls() {
	if len(p.wordCalls) == 0 {
		return
	}
	defined := map[word]string{}
	for _, s := range p.stmts {
		if d, ok := s.(*Define); ok {
			if w := lookupWord(d.Name); wordMeanings[w] != "" && defined[w] == "" {
				defined[w] = d.Name
			}
		}
	}
	for _, c := range p.wordCalls {
		name := defined[c.word]
		if name == "" {
			continue
		}
		before := c.verb.String()
		if c.verb == wFor {
			before = "IN"
		}
		p.errorAt(c.pos, c.pos+source.Pos(len(name)), "%s %s %s and does not call %s: write %s (%s(…)), or %s %s (…) with a space",
			before, c.word, wordMeanings[c.word], name, before, name, before, c.word)
	}
}

func (p *parser) set(start source.Pos) Stmt {
	if p.tok.isText() {
		key := p.textLit(false)
		p.assign()
		value := p.expr()
		p.need(wOf, `SET "key" AS value OF ?map`)
		place := p.place()
		return &SetKey{p.span(start), key, value, place}
	}
	if p.tok.kind != tVar {
		p.badSet(start)
	}
	target := p.target()
	p.assign()
	value := p.expr()
	if p.is(wOf) {
		p.fail(p.tok.start, p.tok.stop, "the key before OF is a text: for a key in a variable write SET ?map[%s] AS …", p.src[target.Start:target.Stop])
	}
	s := p.nodes.sets.new()
	*s = Set{p.span(start), target, value}
	return s
}

func (p *parser) unset(start source.Pos) Stmt {
	if p.tok.isText() {
		key := p.textLit(false)
		p.need(wOf, `UNSET "key" OF ?map`)
		place := p.place()
		return &UnsetKey{p.span(start), key, place}
	}
	if p.tok.kind != tVar {
		if p.tok.kind == tWord {
			p.offer(source.ForeignWord, &p.tok, "?"+p.text(&p.tok))
			p.fail(p.tok.start, p.tok.stop, "a variable starts with ?: UNSET ?%s", p.text(&p.tok))
		}
		p.noteVariable()
		p.expected("a variable or a key", `UNSET ?name or UNSET "key" OF ?map`)
	}
	target := p.target()
	return &Unset{p.span(start), target}
}

func (p *parser) appendStmt(start source.Pos) Stmt {
	line := false
	if p.is(wLine) {
		line = true
		p.next()
	}
	value := p.object(wAppend)
	p.need(wTo, "APPEND value TO ?list")
	if p.got(wFile) {
		path := p.expr()
		return &AppendFile{p.span(start), line, value, path}
	}
	if line {
		p.expected("FILE", `APPEND LINE value TO FILE "/path", or APPEND value TO ?list`)
	}
	if p.tok.kind != tVar {
		p.noteVariable()
		p.expected("a variable or FILE", `APPEND value TO ?list or APPEND value TO FILE "/path"`)
	}
	target := p.target()
	return &Append{p.span(start), value, target}
}

// target reads a variable with accesses.
func (p *parser) target() *Target {
	t := p.nodes.targets.new()
	t.Var = p.variable()
	t.Start = t.Var.Start
	for {
		start := p.tok.start
		switch p.tok.kind {
		case tDot:
			p.next()
			name := p.fieldName()
			t.Path = append(t.Path, Access{Span: p.span(start), Name: name})
		case tLBrack:
			index := p.index()
			t.Path = append(t.Path, Access{Span: p.span(start), Index: index})
		default:
			t.Stop = p.prevStop
			return t
		}
	}
}

// place reads what OF names.
func (p *parser) place() Place {
	switch p.tok.kind {
	case tVar:
		return p.target()
	case tGlobal:
		g := p.globalName()
		switch g.Name {
		case "SESSION", "RESPONSE", "COOKIE":
		default:
			p.errorAt(g.Start, g.Stop, "!%s cannot be changed: OF takes a variable, !SESSION, !RESPONSE or !COOKIE", g.Name)
		}
		return g
	}
	p.noteVariable()
	p.notePlace()
	p.expected("a variable, !SESSION, !RESPONSE or !COOKIE after OF", "")
	return nil
}

// variable takes a VAR; the caller has seen it or wants it now.
func (p *parser) variable() *Var {
	if p.tok.kind != tVar {
		p.noteVariable()
		p.expected("a variable such as ?name", "")
	}
	v := p.newVar(p.tok.start, p.tok.stop)
	p.next()
	return v
}

// newVar makes a node of the VAR at start.
func (p *parser) newVar(start, stop source.Pos) *Var {
	v := p.nodes.vars.new()
	*v = Var{Span{start, stop}, p.src[start+1 : stop]}
	p.noteVar(start+1, stop)
	return v
}

// atResult says whether the current SET takes the result of the statement
// before it rather than starting a statement.
func (p *parser) atResult() bool {
	if !p.is(wSet) || p.peek(1).kind != tVar {
		return false
	}
	after := p.peek(2)
	return !after.is(wAs) && after.kind != tDot && after.kind != tLBrack
}

// result reads the result clause where it stands.
func (p *parser) result() *Var {
	if !p.atResult() {
		return nil
	}
	p.next()
	v := p.variable()
	p.last.result = v.Name
	return v
}

// needResult reads the result clause of a statement that must have one.
func (p *parser) needResult(verb word, example string) *Var {
	v := p.result()
	if v == nil {
		p.noResult(verb, example)
	}
	return v
}

// duration reads "sum unit".
func (p *parser) duration() *Duration {
	start := p.tok.start
	amount := p.sum()
	if p.tok.kind == tWord {
		if unit, ok := p.tok.word.unit(); ok {
			p.next()
			return &Duration{p.span(start), amount, unit}
		}
	}
	p.badUnit(amount)
	return nil
}

// format reads the word after AS.
func (p *parser) format() Format {
	if p.tok.kind == tWord {
		if f, ok := p.tok.word.format(); ok {
			p.next()
			return f
		}
	}
	p.badFormat()
	return NoFormat
}

// once refuses a clause that is written twice.
func (p *parser) once(seen bool) {
	if seen {
		p.errorAt(p.tok.start, p.tok.stop, "%s is written twice in this %s", p.tok.word, p.last.verb)
	}
}

// clauseExpr takes the current clause word and the expression behind it.
func (p *parser) clauseExpr(seen Expr) Expr {
	p.once(seen != nil)
	p.next()
	return p.expr()
}

// clauseDuration takes the current clause word and the duration behind it.
func (p *parser) clauseDuration(seen *Duration) *Duration {
	p.once(seen != nil)
	p.next()
	return p.duration()
}
