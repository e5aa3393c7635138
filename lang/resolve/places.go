package resolve

import (
	"slices"
	"strings"

	"ql/lang/source"
	"ql/lang/syntax"
)

// Names are the variables and functions of one text, with every place where they stand.
// Mistakes in the text leave holes in it, and nothing worse.
type Names struct {
	Scopes []*Scope // 0 is the top level, then each DEFINE in order
	// Funcs are the functions and constants that the text defines or uses, by name in
	// small letters. What stands behind the prefix of an INCLUDE is not among them.
	Funcs map[string]*Name
}

// Scope is what a variable belongs to: the top level, a DEFINE, or a lambda.
type Scope struct {
	syntax.Span
	Define *syntax.Define // nil for the top level and lambdas
	Lambda *syntax.Lambda // nil but for lambdas
	Outer  *Scope         // of a lambda
	Vars   map[string]*Name
	// Order has the names of Vars in the order of their appearance.
	Order []string
	// Below are the lambdas inside.
	Below []*Scope
}

// Name is a variable or function and its places.
type Name struct {
	Name     string           // as it is first written, without "?"
	Define   *syntax.Define   // of a function that the text defines
	Constant *syntax.Constant // of a constant that it defines
	Places   []Place
}

// Place is where a name stands, a variable with its "?".
type Place struct {
	syntax.Span
	// Sets says that the name gets its meaning here: a variable is set, a function
	// defined.
	Sets bool
}

// Set returns the first place where the name gets its meaning.
func (n *Name) Set() (Place, bool) {
	for _, p := range n.Places {
		if p.Sets {
			return p, true
		}
	}
	return Place{}, false
}

// NamesOf collects the names of a text.
func NamesOf(script *syntax.Script) *Names {
	c := collector{names: &Names{Funcs: map[string]*Name{}}, sets: settings(script), script: script, prefixes: map[*syntax.Name]bool{}}
	c.scope = c.newScope(syntax.Span{Start: 0, Stop: script.End()})
	c.names.Scopes = append(c.names.Scopes, c.scope)
	syntax.Walk(script, c.visit)
	return c.names
}

// settings finds the places where variables are set, as the resolver does.
func settings(script *syntax.Script) map[*syntax.Var]bool {
	r := &resolver{yield: source.NewYield(nil), fn: &Func{slots: map[string]int{}}, sets: map[*syntax.Var]bool{}}
	r.collect(script.Statements)
	syntax.Walk(script, func(n syntax.Node) bool {
		if d, ok := n.(*syntax.Define); ok {
			for _, p := range d.Params {
				r.declareVar(p.Var)
			}
			r.collectBlock(d.Body)
		}
		return true
	})
	return r.sets
}

// collector walks a tree; left is what to do when the nodes that are open are left.
type collector struct {
	names *Names
	scope *Scope
	sets  map[*syntax.Var]bool
	left  []*Scope

	script   *syntax.Script
	prefixes map[*syntax.Name]bool
}

func (c *collector) newScope(at syntax.Span) *Scope {
	return &Scope{Span: at, Vars: map[string]*Name{}}
}

func (c *collector) visit(n syntax.Node) bool {
	if n == nil {
		last := len(c.left) - 1
		c.scope, c.left = c.left[last], c.left[:last]
		return true
	}
	c.left = append(c.left, c.scope)
	switch n := n.(type) {
	case *syntax.Define:
		c.define(n)
	case *syntax.Lambda:
		s := c.newScope(n.Span)
		s.Lambda, s.Outer = n, c.scope
		c.scope.Below = append(c.scope.Below, s)
		c.scope = s
		for _, v := range n.Params {
			c.add(s, v, true)
		}
	case *syntax.Constant:
		c.function(n.Name, n.NamePos, true).Constant = n
	case *syntax.Call:
		if n.Prefix == "" {
			c.function(n.Name, n.Start, false)
		}
	case *syntax.Name:
		if !c.prefixes[n] {
			c.function(n.Name, n.Start, false)
		}
	case *syntax.FieldAccess:
		if x, ok := n.X.(*syntax.Name); ok && c.isPrefix(x.Name) {
			c.prefixes[x] = true
		}
	case *syntax.Var:
		c.variable(n)
	}
	return true
}

func (c *collector) define(d *syntax.Define) {
	s := c.newScope(d.Span)
	s.Define = d
	c.names.Scopes = append(c.names.Scopes, s)
	c.scope = s
	if d.Name != "" {
		if f := c.function(d.Name, d.NamePos, true); f.Define == nil {
			f.Name, f.Define = d.Name, d
		}
	}
}

func (c *collector) function(name string, at source.Pos, sets bool) *Name {
	key := strings.ToLower(name)
	f := c.names.Funcs[key]
	if f == nil {
		f = &Name{Name: name}
		c.names.Funcs[key] = f
	}
	f.Places = append(f.Places, Place{syntax.Span{Start: at, Stop: at + source.Pos(len(name))}, sets})
	return f
}

// isPrefix says whether an INCLUDE of the text gives the name as a prefix.
func (c *collector) isPrefix(name string) bool {
	return slices.ContainsFunc(c.script.Statements, func(s syntax.Stmt) bool {
		i, ok := s.(*syntax.Include)
		return ok && strings.EqualFold(i.As, name)
	})
}

// variable finds the scope of a variable: the innermost lambda that has it as a
// parameter, or else the function around.
func (c *collector) variable(v *syntax.Var) {
	s := c.scope
	for s.Lambda != nil {
		if slices.ContainsFunc(s.Lambda.Params, func(p *syntax.Var) bool { return p.Name == v.Name }) {
			if slices.Contains(s.Lambda.Params, v) {
				return // noted with its lambda
			}
			break
		}
		s = s.Outer
	}
	c.add(s, v, c.sets[v])
}

func (c *collector) add(s *Scope, v *syntax.Var, sets bool) {
	n := s.Vars[v.Name]
	if n == nil {
		n = &Name{Name: v.Name}
		s.Vars[v.Name] = n
		s.Order = append(s.Order, v.Name)
	}
	n.Places = append(n.Places, Place{v.Span, sets})
}

// At returns the name that stands at the place, and its scope, which is nil for a
// function.
func (n *Names) At(pos source.Pos) (*Name, *Scope) {
	touches := func(p Place) bool { return p.Start <= pos && pos <= p.Stop }
	var in func(s *Scope) (*Name, *Scope)
	in = func(s *Scope) (*Name, *Scope) {
		if pos < s.Start || pos > s.Stop {
			return nil, nil
		}
		for _, b := range s.Below {
			if name, scope := in(b); name != nil {
				return name, scope
			}
		}
		for _, v := range s.Vars {
			if slices.ContainsFunc(v.Places, touches) {
				return v, s
			}
		}
		return nil, nil
	}
	for _, s := range n.Scopes {
		if name, scope := in(s); name != nil {
			return name, scope
		}
	}
	for _, f := range n.Funcs {
		if slices.ContainsFunc(f.Places, touches) {
			return f, nil
		}
	}
	return nil, nil
}

// Around returns the function that the place stands in.
func (n *Names) Around(pos source.Pos) *Scope {
	for _, s := range n.Scopes[1:] {
		if s.Start <= pos && pos <= s.Stop {
			return s
		}
	}
	return n.Scopes[0]
}
