package ide

import (
	"sync"

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
	memory   *spans
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

// spans is the memory of the lists of a before, which the next one uses again: a collection in
// the middle of a completion takes as long as the completion itself.
type spans struct{ top, last, sql []syntax.Span }

var spansPool = sync.Pool{New: func() any { return new(spans) }}

// maxSpans bounds how long a list may be whose memory is kept.
const maxSpans = 1 << 16

// readTo reads a text up to a place, its end. Whoever is done with it may release it.
func readTo(f *source.File) (*before, *syntax.Expected) {
	m := spansPool.Get().(*spans)
	b := &before{text: f.Text, top: scope{vars: m.top[:0]}, last: scope{vars: m.last[:0]}, sql: m.sql[:0], memory: m, whole: true}
	e := syntax.ParseTo(f, b.show)
	if !b.whole { // reading has ended within a statement, over too many mistakes
		b.top.add(&b.last)
	}
	return b, e
}

// release gives the lists back. Only names and includes may be asked for behind it.
func (b *before) release() {
	m := b.memory
	if b.memory = nil; m == nil || max(cap(b.top.vars), cap(b.last.vars), cap(b.sql)) > maxSpans {
		return
	}
	m.top, m.last, m.sql = b.top.vars, b.last.vars, b.sql
	b.top.vars, b.last.vars, b.sql = nil, nil, nil
	spansPool.Put(m)
}

// scope returns what the function that the place stands in has, or the text outside of them.
func (b *before) scope(e *syntax.Expected) *scope {
	if e.Define {
		return &b.last
	}
	return &b.top
}

func (b *before) show(s syntax.Stmt, vars []syntax.Span, depth int) {
	if s == nil && depth == 0 && b.whole { // what most statements are
		b.last = scope{vars: b.last.vars[:0]}
		b.top.vars = append(b.top.vars, vars...)
		return
	}
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

// variables returns the names of the variables of a scope, the nearest first: they stand in the
// order in which they were read.
func (b *before) variables(s *scope) []string {
	var names []string
	seen := make(map[string]bool)
	for i := len(s.vars) - 1; i >= 0; i-- {
		if name := b.text[s.vars[i].Start:s.vars[i].Stop]; !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names
}
