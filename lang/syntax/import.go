package syntax

import "ql/lang/source"

// startsImport says whether the IMPORT at the current token is a verb: before anything else it
// is a name.
func (p *parser) startsImport() bool {
	next := p.peek(1)
	return next.kind == tVar || next.kind == tLBrack || next.is(wFile)
}

func (p *parser) importStmt(start source.Pos) Stmt {
	s := &Import{}
	example := "IMPORT ?rows INTO people"
	if p.got(wFile) {
		example = `IMPORT FILE "/people.csv" INTO people`
		if !p.startsExpr() {
			p.expected("the path of a file", example)
		}
		s.Path = p.expr()
	} else {
		s.Rows = p.expr()
	}
	into := false
	for p.tok.kind == tWord {
		switch w := p.tok.word; {
		case w == wInto:
			p.once(into)
			into = true
			p.next()
			p.importTable(s, example)
			continue
		case s.Path != nil && w == wAs:
			p.once(s.Format != NoFormat)
			p.next()
			s.Format = p.importFormat()
			continue
		case s.Path != nil && w == wEncoding:
			s.Encoding = p.clauseExpr(s.Encoding)
			continue
		case s.Path != nil && w == wBad:
			s.Bad = p.clauseVar(s.Bad, "?bad", example)
			continue
		case w == wAs || w == wEncoding || w == wBad:
			p.fail(p.tok.start, p.tok.stop, "%s is a clause of IMPORT FILE, and these rows are values already: leave it out", w)
		}
		break
	}
	if !into {
		p.expected("INTO and the name of a table", example)
	}
	s.Result = p.result()
	s.Span = p.span(start)
	return s
}

// importFormat reads the format of a file whose rows have columns.
func (p *parser) importFormat() Format {
	if p.is(wLines) {
		p.fail(p.tok.start, p.tok.stop, "a line has no columns: IMPORT takes AS CSV or AS JSON LINES")
	}
	return p.rowFormat()
}

// importTable reads the name of the table.
func (p *parser) importTable(s *Import, example string) {
	switch {
	case p.tok.kind == tWord:
		s.Table = p.text(&p.tok)
		p.next()
	case p.tok.isText():
		s.Quoted = p.textLit(false)
		s.Table = s.Quoted.Plain()
		if s.Table == "" {
			p.errorAt(s.Quoted.Start, s.Quoted.Stop, "the table is a word or a plain text, such as people or \"my people\"")
		}
	default:
		p.expected("the name of a table", example)
	}
}
