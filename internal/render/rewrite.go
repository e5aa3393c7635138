package render

import (
	"fmt"
	"slices"
	"strconv"
	"text/template/parse"
)

// The names of the charging calls. Templates are parsed before these exist,
// so none can name them.
const (
	fnTick  = "ql_tick"  // (n): n nodes are about to run
	fnEnter = "ql_enter" // (): a definition is about to be used
	fnLeave = "ql_leave" // (): it is over
	fnShow  = "ql_show"  // (v): v is about to be shown
	fnRange = "ql_range" // (v): v is about to be looped over
	fnUse   = "ql_use"   // (name, v): the recursive definition, filled with v
)

// rewriter puts the charging calls into a tree.
type rewriter struct {
	template  string                  // its name
	recursive map[string]bool         // the definitions that are filled by fnUse
	calls     map[string][]parse.Node // of each text, made once: nothing changes them
	err       error
}

// body rewrites the body of a loop or definition: it starts with a tick for
// all the nodes that run each time it does, the tick itself among them.
func (w *rewriter) body(l *parse.ListNode, loops int) *parse.ListNode {
	n := 1 + w.list(l, loops)
	l.Nodes = slices.Concat(w.call(fnTick+" "+strconv.Itoa(n)), l.Nodes)
	return l
}

// list rewrites a list of nodes and returns how many of them run with it.
func (w *rewriter) list(l *parse.ListNode, loops int) (n int) {
	if l == nil {
		return 0
	}
	var out []parse.Node
	for _, node := range l.Nodes {
		n++
		switch node := node.(type) {
		case *parse.ActionNode:
			n += size(node.Pipe)
			if len(node.Pipe.Decl) == 0 {
				pipeTo(node.Pipe, fnShow)
			}
		case *parse.IfNode:
			n += w.branches(&node.BranchNode, loops)
		case *parse.WithNode:
			n += w.branches(&node.BranchNode, loops)
		case *parse.RangeNode:
			if loops == maxLoops && w.err == nil {
				w.err = fmt.Errorf("loops stand more than %d deep inside each other in line %d", maxLoops, node.Line)
			}
			if w.err != nil {
				return n
			}
			pipeTo(node.Pipe, fnRange)
			node.List = w.body(node.List, loops+1)
			n += size(node.Pipe) + w.list(node.ElseList, loops)
		case *parse.TextNode:
			out = append(out, lines(node)...)
			continue
		case *parse.TemplateNode:
			n += 2 + size(node.Pipe)
			if w.recursive[node.Name] {
				use, err := useNode(w.template, node)
				if err != nil {
					w.err = err
					return n
				}
				out = append(out, use)
				continue
			}
			out = append(out, w.call(fnEnter)...)
			out = append(out, node)
			out = append(out, w.call(fnLeave)...)
			continue
		}
		out = append(out, node)
	}
	l.Nodes = out
	return n
}

func (w *rewriter) branches(b *parse.BranchNode, loops int) int {
	return size(b.Pipe) + w.list(b.List, loops) + w.list(b.ElseList, loops)
}

// call returns the nodes of a call that prints nothing in any context: what
// it gives is a condition without branches. A variable would stay, to be
// searched each time that another one is used.
func (w *rewriter) call(text string) []parse.Node {
	if nodes, ok := w.calls[text]; ok {
		return nodes
	}
	trees, err := parse.Parse("call", "{{if "+text+"}}{{end}}", "", "", charging)
	if err != nil {
		w.err = err
		return nil
	}
	w.calls[text] = trees["call"].Root.Nodes
	return w.calls[text]
}

// pipeTo sends what a pipe gives through the function.
func pipeTo(p *parse.PipeNode, function string) {
	name := parse.NewIdentifier(function).SetTree(nil).SetPos(p.Position())
	p.Cmds = append(p.Cmds, &parse.CommandNode{NodeType: parse.NodeCommand, Pos: p.Position(), Args: []parse.Node{name}})
}
