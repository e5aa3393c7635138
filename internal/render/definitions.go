package render

import (
	"bytes"
	"fmt"
	"html/template"
	"text/template/parse"

	"ql/lang/value"
)

// recursive returns the definitions by which others, reached from start, come
// back to themselves: without the uses of these, no definition uses itself.
func recursive(trees map[string]*parse.Tree, start string) map[string]bool {
	found := map[string]bool{}
	const underWay, done = 1, 2
	state := map[string]int{}
	var visit func(name string)
	visit = func(name string) {
		tree := trees[name]
		if tree == nil || tree.Root == nil {
			return
		}
		state[name] = underWay
		for used := range uses(tree.Root) {
			switch state[used] {
			case underWay:
				found[used] = true
			case 0:
				visit(used)
			}
		}
		state[name] = done
	}
	visit(start)
	return found
}

// uses yields the names of the definitions that a list uses, in their order.
func uses(l *parse.ListNode) func(yield func(string) bool) {
	return func(yield func(string) bool) { yieldUses(l, yield) }
}

func yieldUses(l *parse.ListNode, yield func(string) bool) bool {
	if l == nil {
		return true
	}
	for _, node := range l.Nodes {
		more := true
		switch node := node.(type) {
		case *parse.TemplateNode:
			more = yield(node.Name)
		case *parse.IfNode:
			more = yieldUses(node.List, yield) && yieldUses(node.ElseList, yield)
		case *parse.WithNode:
			more = yieldUses(node.List, yield) && yieldUses(node.ElseList, yield)
		case *parse.RangeNode:
			more = yieldUses(node.List, yield) && yieldUses(node.ElseList, yield)
		}
		if !more {
			return false
		}
	}
	return true
}

// enter counts one more definition under way.
func (e *execution) enter() error {
	if e.depth++; e.depth > maxCalls {
		return value.Errorf(BadTemplate, "definitions in the template use each other more than %d deep: is there one that never ends?", maxCalls)
	}
	return nil
}

// use fills a recursive definition as a page of its own. What it gives ends
// where HTML text ends, or html/template refuses it, so it is HTML to whatever
// place it goes.
func (e *execution) use(name string, data any) (template.HTML, error) {
	if err := e.enter(); err != nil {
		return "", err
	}
	defer func() { e.depth-- }()
	part := piece{meter: e.meter}
	if err := e.page.ExecuteTemplate(&part, name, data); err != nil {
		return "", e.failure(err)
	}
	e.meter.WorkBytes(8 * part.out.Len())
	return template.HTML(part.out.String()), nil
}

// failure makes a script's error of one in the template. Limits stay as they
// are.
func (e *execution) failure(err error) error {
	if limit := limitOf(err); limit != nil {
		return limit
	}
	return failure(e.name, err)
}

// piece takes output, within the limits of one text.
type piece struct {
	meter *value.Meter
	out   bytes.Buffer
}

func (p *piece) Write(b []byte) (int, error) {
	p.meter.CheckSize(p.out.Len() + len(b))
	p.meter.Alloc(2 * len(b)) // the buffer, and the text that is made of it
	p.meter.WorkBytes(2 * len(b))
	return p.out.Write(b)
}

// useNode makes of {{template "name" pipe}} an action that calls use. template
// is the name for errors.
func useNode(template string, t *parse.TemplateNode) (*parse.ActionNode, error) {
	trees, err := parse.Parse(template, fmt.Sprintf("{{%s %q nil}}", fnUse, t.Name), "", "", charging)
	if err != nil {
		return nil, err
	}
	action := trees[template].Root.Nodes[0].(*parse.ActionNode)
	if t.Pipe != nil {
		action.Pipe.Cmds[0].Args[2] = t.Pipe
	}
	return action, nil
}
