package format

import "ql/lang/syntax"

// importStmt prints an IMPORT. The table's name stays as it is.
func (p *printer) importStmt(s *syntax.Import) doc {
	table := clause{"INTO", name(s.Table)}
	if s.Quoted != nil {
		table.value = s.Quoted
	}
	return p.clauses(p.sentence("IMPORT", s.Rows, clause{"FILE", s.Path}),
		table, clause{"AS", s.Format}, clause{"ENCODING", s.Encoding}, clause{"BAD", s.Bad}, clause{"SET", s.Result})
}
