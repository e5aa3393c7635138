package format

import (
	"strings"

	"ql/lang/syntax"
)

// Measure bounds what it takes to format a script: how many nodes its tree and comments have, and how many
// bytes are written on the way. Those are the printed text, in which each node might begin and
// end a line, and texts once more, since one in another's insertion is printed by itself first.
func Measure(s *syntax.Script) (nodes, bytes int) {
	m := measure{bytes: len(s.File.Text)}
	syntax.Walk(s, m.visit)
	for _, c := range s.Comments {
		m.nodes++
		m.bytes += len(c.Text) + (1+strings.Count(c.Text, "\n"))*indentation(m.deepest)
	}
	return m.nodes, m.bytes
}

type measure struct {
	nodes, bytes   int
	depth, deepest int
	open           []bool // for each node that is being visited, whether it is one deeper
}

// indentation is that of a line so deep: brackets and the operators in them may each be a
// step.
func indentation(depth int) int { return 2 * indent * (depth + 1) }

func (m *measure) visit(n syntax.Node) bool {
	if n == nil {
		last := len(m.open) - 1
		if m.open[last] {
			m.depth--
		}
		m.open = m.open[:last]
		return true
	}
	m.nodes++
	const words = 16 // that are written in full, and what stands between
	m.bytes += words + 2*indentation(m.depth)
	deeper := false
	switch n := n.(type) {
	case *syntax.Text:
		m.bytes += int(n.Stop-n.Start) + linesOf(n)*indentation(m.depth)
	case *syntax.Block, *syntax.Paren, *syntax.ListLit, *syntax.MapLit, *syntax.Call, *syntax.Case, *syntax.Lambda:
		deeper = true
	}
	if deeper {
		m.depth++
		m.deepest = max(m.deepest, m.depth)
	}
	m.open = append(m.open, deeper)
	return true
}

// linesOf is how many lines a text has beyond the first.
func linesOf(t *syntax.Text) int {
	n := 0
	for i := range t.Parts {
		n += strings.Count(t.Parts[i].Plain, "\n")
	}
	return n
}
