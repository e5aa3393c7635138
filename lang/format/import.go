package format

import "ql/lang/syntax"

// importStmt prints an IMPORT. The table's name stays as it is.
func (p *printer) importStmt(s *syntax.Import) doc {
	head := concat{p.sentence("IMPORT", s.Rows, "INTO")}
	if s.Quoted != nil {
		head = append(head, p.sentence(s.Quoted))
	} else {
		head = append(head, p.gap(space{}), p.atom(s.Table, s.Table))
	}
	return p.clauses(head, clause{"SET", s.Result})
}
