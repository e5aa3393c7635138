package format

import "ql/lang/syntax"

// fieldsOnLine is how many fields of a form may stand on one line.
const fieldsOnLine = 2

// gather prints a GATHER.
func (p *printer) gather(s *syntax.Gather) doc {
	to, by, within, result := clause{"TO", s.To}, clause{"BY", byMail(s.ByMail)}, clause{"WITHIN", s.Within}, clause{"SET", s.Result}
	if s.Short != nil {
		head := p.sentence("GATHER")
		names := p.commas(len(s.Short), func(i int) doc { return p.exprHere(s.Short[i]) })
		return p.clauses(concat{head, names}, to, by, within, result)
	}
	return p.form(p.sentence("GATHER", s.Title, "FIELDS"), s.Fields, to, by, within, result)
}

// form prints a statement with fields.
func (p *printer) form(head doc, fields []*syntax.Field, clauses ...clause) doc {
	form := concat{head, indented(p.fields(fields))}
	for c := find(clauses, p.ahead()); c != nil; c = find(clauses, p.ahead()) {
		form = append(form, p.clause(lineOrSpace, *c))
		if c.word == "SET" {
			break // what follows is another statement's
		}
	}
	return group{form, len(fields) > fieldsOnLine || mustBreak(form)}
}

// fields prints the fields of a form: each on its own line where the form is
// broken, their kinds below one another.
func (p *printer) fields(list []*syntax.Field) doc {
	type row struct {
		before, between []comment
		name, kind, end doc
	}
	rows := make([]row, len(list))
	widest := 0
	for i, f := range list {
		r := &rows[i]
		r.before = p.collect()
		if f.Quoted != nil {
			r.name = p.exprHere(f.Quoted)
		} else {
			r.name = p.atom(f.Name, f.Name)
		}
		widest = max(widest, width(onLine(r.name)))
		r.between = p.collect()
		r.kind = p.fieldKind(f)
		if i < len(list)-1 {
			r.end = p.comma()
		}
	}
	var out concat
	for _, r := range rows {
		column := tab{1 + widest - width(onLine(r.name))}
		out = append(out, spread(r.before, lineOrSpace), r.name, spread(r.between, column), r.kind, r.end)
	}
	return out
}

// fieldKind prints the kind of a field and its attributes, as they are ordered.
func (p *printer) fieldKind(f *syntax.Field) doc {
	out := concat{p.sentence(fieldKindWords[f.Kind], f.Choices)}
	attributes := []clause{
		{"REQUIRED", f.Required}, {"MIN", f.Min}, {"MAX", f.Max}, {"DEFAULT", f.Default},
		{"LABEL", f.Label}, {"HELP", f.Help}, {"PATTERN", f.Pattern},
	}
	for range f.Order {
		c := find(attributes, p.ahead())
		if c == nil {
			break
		}
		out = append(out, grouped(indented(p.clause(lineOrSpace, *c))))
	}
	return out
}
