package format

import "ql/lang/syntax"

// simple prints a statement that holds no block.
func (p *printer) simple(s syntax.Stmt) doc {
	switch s := s.(type) {
	case *syntax.Emit:
		return p.sentence("EMIT", clause{"LINE", s.Line}, clause{"JSON", s.JSON}, s.Args)
	case *syntax.Set:
		return p.sentence("SET", s.Target, "AS", s.Value)
	case *syntax.SetKey:
		return p.sentence("SET", s.Key, "AS", s.Value, "OF", s.Place)
	case *syntax.Unset:
		return p.sentence("UNSET", s.Target)
	case *syntax.UnsetKey:
		return p.sentence("UNSET", s.Key, "OF", s.Place)
	case *syntax.Append:
		return p.sentence("APPEND", s.Value, "TO", s.Target)
	case *syntax.AppendFile:
		return p.sentence("APPEND", clause{"LINE", s.Line}, s.Value, "TO FILE", s.Path)
	case *syntax.Break:
		return p.sentence("BREAK")
	case *syntax.Continue:
		return p.sentence("CONTINUE")
	case *syntax.Stop:
		return p.sentence("STOP")
	case *syntax.Return:
		return p.sentence("RETURN", s.Value)
	case *syntax.CallStmt:
		return p.sentence("CALL", s.Call)
	case *syntax.Fail:
		return p.sentence("FAIL", s.Value, clause{"CODE", s.Code})
	case *syntax.StartSession:
		return p.sentence("START SESSION")
	case *syntax.EndSession:
		return p.sentence("END SESSION")
	case *syntax.Confirm:
		return p.clauses(p.sentence("CONFIRM", s.Message),
			clause{"TO", s.To}, clause{"BY", byMail(s.ByMail)}, clause{"WITHIN", s.Within}, clause{"SET", s.Result})
	case *syntax.Gather:
		return p.gather(s)
	case *syntax.Check:
		return p.form(p.sentence("CHECK", s.Value, "FIELDS"), s.Fields, clause{"SET", s.Result})
	case *syntax.Input:
		return p.form(p.sentence("INPUT FIELDS"), s.Fields)
	case *syntax.Wait:
		return p.sentence("WAIT", s.Duration, clause{"UNTIL", s.Until})
	case *syntax.Read:
		return p.clauses(p.sentence("READ", s.Path),
			clause{"AS", s.Format}, clause{"OPTIONAL", s.Optional}, clause{"SET", s.Result})
	case *syntax.Write:
		return p.sentence("WRITE", s.Value, clause{"AS", s.Format}, "TO", s.Path)
	case *syntax.List:
		return p.clauses(p.sentence("LIST", s.Path), clause{"SET", s.Result})
	case *syntax.Copy:
		return p.sentence("COPY", s.From, clause{"ON", s.FromOn}, "TO", s.To, clause{"ON", s.ToOn})
	case *syntax.Move:
		return p.sentence("MOVE", s.From, "TO", s.To)
	case *syntax.Remove:
		return p.sentence("REMOVE", s.Path)
	case *syntax.Share:
		return p.clauses(p.sentence("SHARE", s.Path),
			clause{"TIMES", s.Times}, clause{"UNLIMITED", s.Unlimited}, clause{"FOR", s.For},
			clause{"NAMED", s.Named}, clause{"SET", s.Result})
	case *syntax.Unshare:
		return p.sentence("UNSHARE", s.URL)
	case *syntax.Use:
		return p.sentence("USE DATABASE", s.Name)
	case *syntax.Render:
		return p.sentence("RENDER", s.Path, clause{"USING", s.Using})
	case *syntax.Fetch:
		return p.clauses(p.sentence("FETCH", s.URL),
			clause{"METHOD", s.Method}, clause{"HEADERS", s.Headers}, clause{"QUERY", s.Query},
			clause{"BODY", s.Body}, clause{"TIMEOUT", s.Timeout}, clause{"SET", s.Result})
	case *syntax.Mail:
		html := clause{"HTML", s.HTML}
		if s.Escapes {
			html.value = literal{s.HTML}
		}
		return p.clauses(p.sentence("MAIL TO", s.To),
			clause{"SUBJECT", s.Subject}, clause{"TEXT", s.Text}, html,
			clause{"FROM", s.From}, clause{"ATTACH", s.Attach}, clause{"SET", s.Result})
	case *syntax.FetchAll:
		return p.clauses(p.sentence("FETCH ALL", s.List),
			clause{"AT MOST", s.AtMost}, clause{"TIMEOUT", s.Timeout}, clause{"SET", s.Result})
	case *syntax.RunScript:
		verb := "RUN SCRIPT"
		if s.Start {
			verb = "START SCRIPT"
		}
		return p.clauses(p.sentence(verb, s.Name),
			clause{"USING", s.Using}, clause{"WITHIN", s.Within}, clause{"SET", s.Result})
	case *syntax.WaitFor:
		return p.clauses(p.sentence("WAIT FOR", s.Job, clause{"SIGNAL", s.Signal}),
			clause{"WITHIN", s.Within}, clause{"SET", s.Result})
	case *syntax.Signal:
		return p.clauses(p.sentence("SIGNAL", s.Name),
			clause{"TO", s.To}, clause{"USING", s.Using})
	case *syntax.Run:
		return p.clauses(p.sentence("RUN", s.Command),
			clause{"ON", s.On}, clause{"INPUT", s.Input}, clause{"TIMEOUT", s.Timeout},
			clause{"SET", s.Result})
	case *syntax.SQL:
		return p.sql(s)
	case *syntax.Import:
		return p.importStmt(s)
	case *syntax.Include:
		if s.As == "" {
			return p.sentence("INCLUDE", s.Path)
		}
		return concat{p.sentence("INCLUDE", s.Path, "AS"), p.gap(space{}), p.atom(s.As, s.As)}
	case *syntax.Constant:
		head := p.sentence("DEFINE")
		name := concat{p.gap(space{}), p.atom(s.Name, s.Name)}
		return concat{head, name, p.sentence("AS", s.Value)}
	}
	return nil
}

// compound prints a statement that holds blocks and tells whether s is one.
func (p *printer) compound(s syntax.Stmt) bool {
	switch s := s.(type) {
	case *syntax.If:
		p.ifStmt(s)
	case *syntax.ForIn:
		if s.Key != nil {
			p.line(p.sentence("FOR", s.Key), p.comma(), p.sentence(s.Value, "IN", s.Seq, "DO"))
		} else {
			p.line(p.sentence("FOR", s.Value, "IN", s.Seq, "DO"))
		}
		p.body(s.Body)
		p.line(p.sentence("END"))
	case *syntax.ForRange:
		p.line(p.sentence("FOR", s.Var, "FROM", s.From, "TO", s.To, clause{"STEP", s.Step}, "DO"))
		p.body(s.Body)
		p.line(p.sentence("END"))
	case *syntax.ForFile:
		head := p.clauses(p.sentence("FOR", s.Value, "IN FILE", s.Path),
			clause{"AS", s.Format}, clause{"ENCODING", s.Encoding}, clause{"AT", s.At}, clause{"BAD", s.Bad})
		p.line(nest{indent, grouped(head)}, p.sentence("DO")) // deeper than the block that follows
		p.body(s.Body)
		p.line(p.sentence("END"))
	case *syntax.While:
		p.line(p.sentence("WHILE", condition{s.Cond}, "DO"))
		p.body(s.Body)
		p.line(p.sentence("END"))
	case *syntax.Try:
		p.line(p.sentence("TRY"))
		p.body(s.Body)
		if s.Catch != nil {
			p.line(p.sentence("CATCH", s.Err))
			p.body(s.Catch)
		}
		if s.Finally != nil {
			p.line(p.sentence("FINALLY"))
			p.body(s.Finally)
		}
		p.line(p.sentence("END"))
	case *syntax.Transaction:
		p.line(p.sentence("TRANSACTION"))
		p.body(s.Body)
		p.line(p.sentence("END"))
	case *syntax.Define:
		p.define(s)
	default:
		return false
	}
	return true
}

// ifStmt prints an IF. ELSE IF stays on one line, which makes it part of the
// same IF; an IF inside an ELSE has its own line, as every statement.
func (p *printer) ifStmt(s *syntax.If) {
	for i, b := range s.Branches {
		word := "IF"
		if i > 0 {
			word = "ELSE IF"
		}
		p.line(p.sentence(word, condition{b.Cond}, "THEN"))
		p.body(b.Body)
	}
	if s.Else != nil {
		p.line(p.sentence("ELSE"))
		p.body(s.Else)
	}
	p.line(p.sentence("END"))
}

func (p *printer) define(s *syntax.Define) {
	start := p.sentence("DEFINE")
	name := concat{p.gap(space{}), p.atom(s.Name, s.Name), p.gap(nil)}
	params := p.brackets("(", ")", len(s.Params), func(i int) doc {
		param := s.Params[i]
		d := p.exprHere(param.Var)
		if param.Default == nil {
			return d
		}
		return concat{d, p.sentence("DEFAULT", param.Default)}
	})
	p.line(start, name, grouped(params.doc()))
	p.body(s.Body)
	p.line(p.sentence("END"))
}
