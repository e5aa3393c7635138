package ide

import (
	"slices"

	"ql/lang/source"
	"ql/lang/syntax"
)

// before is what is asked about the text in front of a place. It is collected while that is
// read, and no tree is made of it.
type before struct {
	text     string
	names    []named
	includes []reference
	sql      []syntax.Span // the engine's text in all statements of SQL
	top      scope         // outside of functions
	last     scope         // of the statement of the top level that was shown last
	whole    bool          // and to its end
}

// scope is what some statements share.
type scope struct {
	vars     []syntax.Span // the names of variables
	use      bool
	database string // of the last USE DATABASE, where there is one
}

func (s *scope) add(t *scope) {
	s.vars = append(s.vars, t.vars...)
	if t.use {
		s.use, s.database = true, t.database
	}
}

// named is a function or constant of a text.
type named struct {
	name     string
	pos      source.Pos
	function bool
	params   []string    // of a function, with their "?"
	value    syntax.Span // of a constant
}

func (n *named) signature() string { return signatureOf(n.name, n.params) }

// reference is an INCLUDE.
type reference struct{ path, as string }

// readTo reads a text up to a place, its end.
func readTo(f *source.File) (*before, *syntax.Expected) {
	const perVariable = 32 // bytes, about
	b := &before{text: f.Text, top: scope{vars: make([]syntax.Span, 0, len(f.Text)/perVariable)}}
	e := syntax.ParseTo(f, b.show)
	if !b.whole { // reading has ended within a statement, over too many mistakes
		b.top.add(&b.last)
	}
	return b, e
}

// scope returns what the function that the place stands in has, or the text outside of them.
func (b *before) scope(e *syntax.Expected) *scope {
	if e.Define {
		return &b.last
	}
	return &b.top
}

func (b *before) show(s syntax.Stmt, vars []syntax.Span, depth int) {
	if b.whole {
		b.last = scope{vars: b.last.vars[:0]}
		b.whole = false
	}
	b.last.vars = append(b.last.vars, vars...)
	b.whole = depth == 0
	switch s := s.(type) {
	case *syntax.Use:
		if t, ok := s.Name.(*syntax.Text); ok && !t.HasInsertion() {
			b.last.use, b.last.database = true, t.Plain()
		}
	case *syntax.SQL:
		for i := range s.Parts {
			if p := &s.Parts[i]; p.Param == nil {
				b.sql = append(b.sql, p.Span)
			}
		}
	}
	if b.whole && !b.define(s) {
		b.top.add(&b.last)
	}
}

// define notes what a statement of the top level brings, and says whether it is a function.
func (b *before) define(s syntax.Stmt) bool {
	switch s := s.(type) {
	case *syntax.Define:
		if s.Name != "" {
			b.names = append(b.names, named{name: s.Name, pos: s.NamePos, function: true, params: parametersOf(s)})
		}
		return true
	case *syntax.Constant:
		b.names = append(b.names, named{name: s.Name, pos: s.NamePos, value: syntax.Span{Start: s.Value.Pos(), Stop: s.Value.End()}})
	case *syntax.Include:
		if r, ok := referenceOf(s); ok {
			b.includes = append(b.includes, r)
		}
	}
	return false
}

func referenceOf(i *syntax.Include) (reference, bool) {
	if i.Path == nil || i.Path.HasInsertion() {
		return reference{}, false
	}
	return reference{i.Path.Plain(), i.As}, true
}

// variables returns the names of the variables of a scope, the nearest first.
func (b *before) variables(s *scope) []string {
	last := make(map[string]source.Pos)
	for _, v := range s.vars {
		name := b.text[v.Start:v.Stop]
		if at, ok := last[name]; !ok || at < v.Start {
			last[name] = v.Start
		}
	}
	names := make([]string, 0, len(last))
	for name := range last {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return int(last[b] - last[a]) })
	return names
}
