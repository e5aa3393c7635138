package syntax

import "ql/lang/source"

// startsImport says whether the IMPORT at the current token is a verb: before anything else it
// is a name.
func (p *parser) startsImport() bool {
	next := p.peek(1)
	return next.kind == tVar || next.kind == tLBrack
}

func (p *parser) importStmt(start source.Pos) Stmt {
	s := &Import{Rows: p.expr()}
	p.need(wInto, "IMPORT ?rows INTO people")
	p.importTable(s)
	s.Result = p.result()
	s.Span = p.span(start)
	return s
}

// importTable reads the name of the table.
func (p *parser) importTable(s *Import) {
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
		p.expected("the name of a table", "IMPORT ?rows INTO people")
	}
}
