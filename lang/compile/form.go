package compile

import (
	"ql/lang/bytecode"
	"ql/lang/form"
	"ql/lang/lib"
	"ql/lang/syntax"
	"ql/lang/value"
)

// check compiles CHECK value FIELDS …: the machine checks by itself, since all
// that it needs is computed.
func (g *fn) check(s *syntax.Check) {
	g.begin(s, "CHECK", bytecode.ClassCPU)
	x := g.operand(s.Value)
	dst := g.temp()
	g.borrow(g.c.formOf(s, nil, s.Fields), dst)
	g.pos = s.Pos()
	g.emit(bytecode.OpCheck, dst, x, dst, 0)
	g.store(s.Result, dst)
}

// input puts the form of INPUT FIELDS into the program. What makes no sense is
// found here, before anybody gives it anything.
func (c *compiler) input() {
	s := c.res.Input
	if s == nil {
		return
	}
	for _, f := range s.Fields {
		if why := badForm(c.defaultOf(formExpr(s.Span, nil, []*syntax.Field{f}))); why != "" {
			c.errs.Add(c.res.Files[0], f.Pos(), f.End(), "%s", why)
		}
	}
	definition := c.defaultOf(formExpr(s.Span, nil, s.Fields))
	if why := badForm(definition); why != "" && len(c.errs) == 0 {
		c.errs.Add(c.res.Files[0], s.Pos(), s.End(), "%s", why)
	}
	c.prog.Input = definition.Freeze()
}

// badForm returns why a form makes no sense, or "". Patterns are compiled as the
// machine will compile them.
func badForm(definition value.Value) (why string) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *value.LimitError:
			why = e.Error()
		default:
			panic(e)
		}
	}()
	call := &lib.Call{}
	_, err := form.ParseUnder(definition, form.Env{Compile: func(pattern string) (form.Matcher, *value.Error) { return call.Compile(pattern) }})
	if err != nil {
		return err.Error()
	}
	return ""
}
