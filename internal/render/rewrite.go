package render

import (
	"fmt"
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
)

// rewriter puts the charging calls into a tree.
type rewriter struct {
	err error
}

// body rewrites the body of a loop or definition: it starts with a tick for
// all the nodes that run each time it does, the tick itself among them.
func (w *rewriter) body(l *parse.ListNode, loops int) *parse.ListNode {
	n := 1 + w.list(l, loops)
	l.Nodes = append(w.call(fnTick+" "+strconv.Itoa(n)), l.Nodes...)
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
			n += len(node.Pipe.Cmds)
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
			n += len(node.Pipe.Cmds) + w.list(node.ElseList, loops)
		case *parse.TemplateNode:
			n += 2
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
	return len(b.Pipe.Cmds) + w.list(b.List, loops) + w.list(b.ElseList, loops)
}

// call returns the nodes of a call whose result goes to a variable: in no
// context does that print anything.
func (w *rewriter) call(text string) []parse.Node {
	trees, err := parse.Parse("call", "{{$ql_ := "+text+"}}", "", "", charging)
	if err != nil {
		w.err = err
		return nil
	}
	return trees["call"].Root.Nodes
}

// pipeTo sends what a pipe gives through the function.
func pipeTo(p *parse.PipeNode, function string) {
	name := parse.NewIdentifier(function).SetTree(nil).SetPos(p.Position())
	p.Cmds = append(p.Cmds, &parse.CommandNode{NodeType: parse.NodeCommand, Pos: p.Position(), Args: []parse.Node{name}})
}
