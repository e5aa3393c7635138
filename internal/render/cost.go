package render

import (
	"bytes"
	"strings"
	"text/template/parse"

	"ql/lang/value"
)

const (
	// maxEscaping bounds the work of escaping a template, in microseconds as
	// estimated from above: it cannot be interrupted.
	maxEscaping = 300_000
	// escapeFuel and escapeBytes are what a microsecond of it costs.
	escapeFuel  = 50
	escapeBytes = 100
	// endless is more than any bound, and small enough to multiply.
	endless = 1e30
)

// escaping is what html/template may have to do to escape a piece of a
// template, whatever the context it begins in.
type escaping struct {
	time     float64 // for nodes and text, in microseconds
	branches float64 // copies of a context
	calls    float64 // definitions worked through, and loops
	contexts float64 // definitions in a context that are remembered at a time
	literals float64 // template literals of JavaScript, opened in each other
}

// add counts o too, and times over what is done again without being remembered.
func (e *escaping) add(o escaping, times float64) {
	e.contexts = min(endless, e.contexts+o.contexts)
	e.time = min(endless, e.time+times*o.time)
	e.branches = min(endless, e.branches+times*o.branches)
	e.calls = min(endless, e.calls+times*o.calls)
	e.literals = min(endless, e.literals+times*o.literals)
}

// total is the time of all of it. All contexts remembered are copied for each
// definition that is worked through. A context has a number for each template
// literal that is open, and is compared and copied at each branch, and
// written out at each use of a definition.
func (e *escaping) total() float64 {
	return e.time + 0.3*e.calls*e.contexts + e.literals*(0.02*e.branches+0.1*e.calls)
}

// charge bounds and charges the work of escaping the template called name and
// the recursive definitions, each of which is escaped like a page.
func charge(m *value.Meter, name string, trees map[string]*parse.Tree, recursive map[string]bool) error {
	c := costs{trees: trees, known: map[string]escaping{}}
	all := c.definition(name)
	for part := range recursive {
		if part != name {
			all.add(c.definition(part), 1)
		}
	}
	total := all.total()
	if total > maxEscaping {
		fits := "use fewer definitions inside each other, or use them less often"
		if c.longest > maxEscaping/20 {
			fits = "put line breaks into its long lines"
		}
		return value.Errorf(BadTemplate, "the template %s takes too much work to prepare: %s", name, fits)
	}
	m.Work(int(total) * escapeFuel)
	m.Alloc(int(total) * escapeBytes)
	return nil
}

// costs adds up what definitions cost. None of them uses itself.
type costs struct {
	trees map[string]*parse.Tree
	known map[string]escaping
	// longest is the costliest text that stands in one piece.
	longest float64
}

// definition returns what it takes to work through a definition once.
func (c *costs) definition(name string) escaping {
	if e, ok := c.known[name]; ok {
		return e
	}
	e := escaping{calls: 1, contexts: 1}
	if tree := c.trees[name]; tree != nil {
		c.list(&e, tree.Root)
	}
	c.known[name] = e
	return e
}

func (c *costs) list(e *escaping, l *parse.ListNode) {
	if l == nil {
		return
	}
	for _, node := range l.Nodes {
		e.time++
		switch node := node.(type) {
		case *parse.TextNode:
			t := textTime(node.Text)
			c.longest = max(c.longest, t)
			e.time += t
			// In an attribute, either sign may be written as an entity.
			e.literals += float64(bytes.Count(node.Text, []byte("${")) + bytes.Count(node.Text, []byte("&")))
		case *parse.ActionNode:
			e.time += 2 * float64(size(node.Pipe))
		case *parse.IfNode:
			c.branch(e, &node.BranchNode)
		case *parse.WithNode:
			c.branch(e, &node.BranchNode)
		case *parse.RangeNode:
			// The body is worked through twice: a second round may begin in
			// another context than the first.
			body := escaping{calls: 1, branches: 1}
			c.list(&body, node.List)
			e.add(body, 1)
			e.add(body, 1)
			e.time += float64(size(node.Pipe))
			c.list(e, node.ElseList)
		case *parse.BreakNode, *parse.ContinueNode:
			e.branches++
		case *parse.TemplateNode:
			e.time += float64(size(node.Pipe))
			// A definition that ends in an error is tried twice.
			e.add(c.definition(node.Name), 2)
		}
	}
}

func (c *costs) branch(e *escaping, b *parse.BranchNode) {
	e.branches++
	e.time += float64(size(b.Pipe))
	c.list(e, b.List)
	c.list(e, b.ElseList)
}

// size is the number of nodes in a pipe.
func size(p *parse.PipeNode) int {
	if p == nil {
		return 0
	}
	n := 1 + len(p.Decl)
	for _, cmd := range p.Cmds {
		n += 1 + len(cmd.Args)
		for _, arg := range cmd.Args {
			n += operand(arg)
		}
	}
	return n
}

// operand is what an operand adds to the one node that it is.
func operand(arg parse.Node) int {
	switch arg := arg.(type) {
	case *parse.PipeNode:
		return size(arg)
	case *parse.ChainNode:
		return len(arg.Field) + operand(arg.Node)
	case *parse.FieldNode:
		return len(arg.Ident) - 1
	case *parse.VariableNode:
		return len(arg.Ident) - 1
	}
	return 0
}

// pieceBytes is from which size on text is divided at its lines.
const pieceBytes = 512

// lines divides a text at ends of lines into pieces: html/template looks at the
// rest of a piece again and again. What may belong together stays: url and its
// bracket in a style, or its = in a meta tag, are looked for in one piece.
func lines(t *parse.TextNode) (pieces []parse.Node) {
	add := func(text []byte) {
		part := *t
		part.Text = text
		pieces = append(pieces, &part)
	}
	from := 0
	for i, b := range t.Text {
		if b != '\n' || i-from < pieceBytes || i == len(t.Text)-1 {
			continue
		}
		if next := bytes.TrimLeft(t.Text[i:min(i+64, len(t.Text))], " \t\r\n\f"); len(next) > 0 && next[0] != '(' && next[0] != '=' {
			add(t.Text[from : i+1])
			from = i + 1
		}
	}
	add(t.Text[from:])
	return pieces
}

// textTime is how long html/template may take for a text, whatever the context
// it begins in.
func textTime(text []byte) float64 {
	size := float64(len(text))
	var tags, tokens, escapes float64
	for _, b := range text {
		if b == '<' {
			tags++
		}
		if b == '\\' || b == '&' { // &bsol; in an attribute is one too
			escapes++
		}
		if strings.IndexByte("\"`'/{}<-#()\\=>; \t\n\f\r", b) >= 0 {
			tokens++
		}
	}
	ends := float64(bytes.Count(text, []byte("</")))
	return 0.05*size + // reading it
		0.0015*tags*size + // a copy of the rest for each < in text
		tokens*(0.0001*size+0.02*ends) + // a search in the rest, for the end of a script or style
		escapes*(0.0003*size+0.02*escapes) // escapes in strings of a style, decoded from its start
}
