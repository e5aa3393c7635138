package syntax

import "ql/lang/source"

// secondWord takes the second word of a statement such as FETCH ALL. A bracket that touches it is
// no call of a function of that name.
func (p *parser) secondWord(verb word) {
	word := p.tok
	p.next()
	if p.tok.kind == tLParen && p.tok.start == word.stop {
		p.wordCalls = append(p.wordCalls, wordCall{verb, word.word, word.start})
	}
}

func (p *parser) fetchAll(start source.Pos) Stmt {
	const example = "FETCH ALL ?addresses AT MOST 10 SET ?replies"
	p.secondWord(wFetch)
	if !p.startsExpr() {
		p.expected("a list of addresses", example)
	}
	s := &FetchAll{List: p.expr()}
	for p.tok.kind == tWord {
		switch p.tok.word {
		case wAt:
			p.once(s.AtMost != nil)
			p.next()
			p.need(wMost, example)
			s.AtMost = p.expr()
			continue
		case wTimeout:
			s.Timeout = p.clauseDuration(s.Timeout)
			continue
		case wMethod, wHeaders, wQuery, wBody:
			p.fail(p.tok.start, p.tok.stop, "%s is a clause of FETCH: with FETCH ALL each member of the list has its own, such as {url: \"https://…\", %s: …}", p.tok.word, fetchKeys[p.tok.word])
		}
		break
	}
	s.Result = p.result()
	s.Span = p.span(start)
	return s
}

// fetchKeys are the keys that members of FETCH ALL have in place of the clauses of FETCH.
var fetchKeys = map[word]string{wMethod: "method", wHeaders: "headers", wQuery: "query", wBody: "body"}

// runScript reads RUN SCRIPT and START SCRIPT.
func (p *parser) runScript(start source.Pos, verb word) Stmt {
	example := `RUN SCRIPT "name" USING {key: 1} SET ?result`
	if verb == wStart {
		example = `START SCRIPT "name" USING {key: 1} SET ?job`
	}
	p.secondWord(verb)
	if !p.startsExpr() {
		p.expected("the name of a published script", example)
	}
	s := &RunScript{Start: verb == wStart, Name: p.expr()}
	for p.tok.kind == tWord {
		switch p.tok.word {
		case wUsing:
			s.Using = p.clauseExpr(s.Using)
			continue
		case wWithin:
			if s.Start {
				p.fail(p.tok.start, p.tok.stop, "START SCRIPT does not wait, so it has no WITHIN: write it with WAIT FOR ?job")
			}
			s.Within = p.clauseDuration(s.Within)
			continue
		}
		break
	}
	s.Result = p.result()
	s.Span = p.span(start)
	return s
}

// waitFor reads what is behind WAIT FOR.
func (p *parser) waitFor(start source.Pos) Stmt {
	s := &WaitFor{}
	if p.is(wSignal) && !p.touchesParen() {
		p.next()
		if !p.startsExpr() {
			p.expected("the name of a signal", `WAIT FOR SIGNAL "paid" WITHIN 3 DAYS SET ?data`)
		}
		s.Signal = p.expr()
	} else {
		if !p.startsExpr() {
			p.expected("a job, or SIGNAL and its name", "WAIT FOR ?job SET ?result")
		}
		s.Job = p.expr()
	}
	for p.is(wWithin) {
		s.Within = p.clauseDuration(s.Within)
	}
	s.Result = p.result()
	s.Span = p.span(start)
	return s
}

// startsSignal says whether the SIGNAL at the current token is a verb: before anything else it is
// a name.
func (p *parser) startsSignal() bool {
	next := p.peek(1)
	return next.kind == tVar || next.isText()
}

const shapeSignal = `SIGNAL "paid" TO ?job`

func (p *parser) signal(start source.Pos) Stmt {
	s := &Signal{Name: p.expr()}
	for p.tok.kind == tWord {
		switch p.tok.word {
		case wTo:
			s.To = p.clauseExpr(s.To)
			continue
		case wUsing:
			s.Using = p.clauseExpr(s.Using)
			continue
		}
		break
	}
	if s.To == nil {
		p.expected("TO and a job", shapeSignal)
	}
	s.Span = p.span(start)
	return s
}
