package ide

import (
	"slices"
	"strings"

	"ql/lang/resolve"
	"ql/lang/source"
	"ql/lang/syntax"
)

// Folds returns the ranges that an editor may hide: statements with blocks, long
// statements, comments and texts of several lines.
func Folds(text string) []Fold {
	d := open(text)
	script, _ := d.parse()
	var out []Fold
	add := func(s syntax.Span, kind Kind) {
		if strings.IndexByte(d.file.Text[s.Start:s.Stop], '\n') >= 0 {
			start, end := d.raws(s)
			out = append(out, Fold{start, end, kind})
		}
	}
	for _, c := range script.Comments {
		add(syntax.Span{Start: c.Start, Stop: c.Stop}, Comment)
	}
	syntax.Walk(script, func(n syntax.Node) bool {
		switch n := n.(type) {
		case nil, *syntax.Script, *syntax.BadStmt:
		case *syntax.Text:
			if n.Quote == syntax.TripleQuote {
				add(n.Span, Text)
			}
		case syntax.Stmt:
			add(syntax.Span{Start: n.Pos(), Stop: n.End()}, Keyword)
		}
		return true
	})
	slices.SortStableFunc(out, func(a, b Fold) int { return a.Start - b.Start })
	return out
}

// Symbols returns what a script defines: the fields of its INPUT, its functions, and
// the variables of its top level where they are first set.
func Symbols(text string) []Symbol {
	d := open(text)
	script, _ := d.parse()
	var out []Symbol
	add := func(name, detail string, kind Kind, whole, at syntax.Span) {
		s := Symbol{Name: name, Detail: detail, Kind: kind}
		s.Start, s.End = d.raws(whole)
		s.NameStart, s.NameEnd = d.raws(at)
		out = append(out, s)
	}
	for _, s := range script.Statements {
		switch s := s.(type) {
		case *syntax.Define:
			if s.Name != "" {
				add(s.Name, signatureOf(s.Name, parametersOf(s)), Function, s.Span, syntax.Span{Start: s.NamePos, Stop: s.NamePos + source.Pos(len(s.Name))})
			}
		case *syntax.Constant:
			add(s.Name, "", Constant, s.Span, syntax.Span{Start: s.NamePos, Stop: s.NamePos + source.Pos(len(s.Name))})
		case *syntax.Input:
			for _, f := range s.Fields {
				add(f.Name, f.Kind.String(), Field, f.Span, syntax.Span{Start: f.Start, Stop: min(f.Stop, f.Start+source.Pos(len(f.Name)))})
			}
		}
	}
	top := resolve.NamesOf(script).Scopes[0]
	for _, name := range top.Order {
		if p, ok := top.Vars[name].Set(); ok {
			add("?"+name, "", Variable, p.Span, p.Span)
		}
	}
	slices.SortStableFunc(out, func(a, b Symbol) int { return a.Start - b.Start })
	return out
}

// signatureOf shows how a function is called.
func signatureOf(name string, params []string) string {
	return name + "(" + strings.Join(params, ", ") + ")"
}

func parametersOf(f *syntax.Define) []string {
	var out []string
	for _, p := range f.Params {
		if p.Var != nil {
			out = append(out, "?"+p.Var.Name)
		}
	}
	return out
}
