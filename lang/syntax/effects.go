package syntax

import "ql/lang/source"

func (p *parser) confirm(start source.Pos) Stmt {
	s := &Confirm{Message: p.object(wConfirm)}
	s.To, s.ByMail, s.Within = p.question()
	s.Result = p.result()
	s.Span = p.span(start)
	return s
}

// question reads the clauses of a question: whom it is for, whether it is sent there, and how
// long it is open.
func (p *parser) question() (to Expr, byMail bool, within *Duration) {
	for {
		switch {
		case p.is(wBy):
			p.once(byMail)
			by := p.tok
			p.next()
			p.need(wMail, `CONFIRM "Go on?" TO "ada@example.com" BY MAIL`)
			byMail = true
			defer func() {
				if to == nil {
					p.errorAt(by.start, by.stop, `BY MAIL sends the question to an address, and TO says which: TO "ada@example.com" BY MAIL`)
				}
			}()
		case p.is(wTo):
			to = p.clauseExpr(to)
		case p.is(wWithin):
			within = p.clauseDuration(within)
		default:
			return to, byMail, within
		}
	}
}

func (p *parser) wait(start source.Pos) Stmt {
	if p.got(wUntil) {
		x := p.expr()
		return &Wait{Span: p.span(start), Until: x}
	}
	if p.got(wFor) {
		return p.waitFor(start)
	}
	if !p.startsExpr() {
		p.missingObject(wWait)
	}
	d := p.duration()
	return &Wait{Span: p.span(start), Duration: d}
}

func (p *parser) read(start source.Pos) Stmt {
	s := &Read{Path: p.object(wRead)}
	for {
		switch {
		case p.is(wAs):
			p.once(s.Format != NoFormat)
			p.next()
			s.Format = p.format()
		case p.is(wOptional):
			p.once(s.Optional)
			p.next()
			s.Optional = true
		default:
			s.Result = p.needResult(wRead, `READ "/a.json" SET ?name`)
			s.Span = p.span(start)
			return s
		}
	}
}

func (p *parser) write(start source.Pos) Stmt {
	s := &Write{Value: p.object(wWrite)}
	if p.got(wAs) {
		s.Format = p.format()
	}
	p.need(wTo, `WRITE value TO "/a.txt"`)
	s.Path = p.expr()
	s.Span = p.span(start)
	return s
}

func (p *parser) list(start source.Pos) Stmt {
	path := p.object(wList)
	result := p.needResult(wList, `LIST "/folder" SET ?files`)
	return &List{p.span(start), path, result}
}

func (p *parser) copyStmt(start source.Pos) Stmt {
	s := &Copy{From: p.object(wCopy)}
	if p.got(wOn) {
		s.FromOn = p.expr()
	}
	p.need(wTo, `COPY "/a" TO "/b"`)
	s.To = p.expr()
	if p.got(wOn) {
		s.ToOn = p.expr()
	}
	s.Span = p.span(start)
	return s
}

func (p *parser) move(start source.Pos) Stmt {
	from := p.object(wMove)
	p.need(wTo, `MOVE "/a" TO "/b"`)
	to := p.expr()
	return &Move{p.span(start), from, to}
}

func (p *parser) share(start source.Pos) Stmt {
	s := &Share{Path: p.object(wShare)}
	for p.tok.kind == tWord {
		switch p.tok.word {
		case wTimes:
			s.Times = p.clauseExpr(s.Times)
			continue
		case wUnlimited:
			p.once(s.Unlimited)
			p.next()
			s.Unlimited = true
			continue
		case wFor:
			s.For = p.clauseDuration(s.For)
			continue
		case wNamed:
			s.Named = p.clauseExpr(s.Named)
			continue
		}
		break
	}
	if s.Unlimited && s.Times != nil {
		p.errorAt(s.Times.Pos(), s.Times.End(), "TIMES and UNLIMITED exclude each other: write one of them")
	}
	s.Result = p.needResult(wShare, `SHARE "/a.pdf" SET ?url`)
	s.Span = p.span(start)
	return s
}

func (p *parser) render(start source.Pos) Stmt {
	s := &Render{Path: p.object(wRender)}
	if p.got(wUsing) {
		s.Using = p.expr()
	}
	s.Span = p.span(start)
	return s
}

func (p *parser) fetch(start source.Pos) Stmt {
	s := &Fetch{URL: p.object(wFetch)}
	for p.tok.kind == tWord {
		switch p.tok.word {
		case wMethod:
			s.Method = p.clauseExpr(s.Method)
			continue
		case wHeaders:
			s.Headers = p.clauseExpr(s.Headers)
			continue
		case wQuery:
			s.Query = p.clauseExpr(s.Query)
			continue
		case wBody:
			s.Body = p.clauseExpr(s.Body)
			continue
		case wTimeout:
			s.Timeout = p.clauseDuration(s.Timeout)
			continue
		}
		break
	}
	s.Result = p.result()
	s.Span = p.span(start)
	return s
}

const shapeMail = `MAIL TO "ada@example.com" SUBJECT "Hello" TEXT "…"`

func (p *parser) mail(start source.Pos) Stmt {
	p.next() // TO, or this is no MAIL
	s := &Mail{To: p.expr()}
	for p.tok.kind == tWord {
		switch p.tok.word {
		case wSubject:
			s.Subject = p.clauseExpr(s.Subject)
			continue
		case wText:
			s.Text = p.clauseExpr(s.Text)
			continue
		case wHTML:
			p.once(s.HTML != nil)
			if s.Escapes = p.peek(1).isText(); !s.Escapes {
				p.next()
			}
			s.HTML = p.expr()
			continue
		case wFrom:
			s.From = p.clauseExpr(s.From)
			continue
		case wAttach:
			s.Attach = p.clauseExpr(s.Attach)
			continue
		}
		break
	}
	switch {
	case s.Subject == nil:
		p.expected("SUBJECT and what the mail is about", shapeMail)
	case s.Text == nil && s.HTML == nil:
		p.expected("TEXT or HTML and what the mail says", shapeMail)
	case s.Text != nil && s.HTML != nil:
		p.errorAt(s.HTML.Pos(), s.HTML.End(), "TEXT and HTML exclude each other: write one of them")
	}
	s.Result = p.result()
	s.Span = p.span(start)
	return s
}

func (p *parser) run(start source.Pos) Stmt {
	s := &Run{Command: p.object(wRun)}
	for p.tok.kind == tWord {
		switch p.tok.word {
		case wOn:
			s.On = p.clauseExpr(s.On)
			continue
		case wInput:
			s.Input = p.clauseExpr(s.Input)
			continue
		case wTimeout:
			s.Timeout = p.clauseDuration(s.Timeout)
			continue
		}
		break
	}
	if s.On == nil {
		p.expected("ON and the name of a machine", `RUN "command" ON "machine"`)
	}
	s.Result = p.result()
	s.Span = p.span(start)
	return s
}
