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

// maxFormErrors is how many fields of INPUT are found to make no sense: looking on behind
// one takes as long as what follows.
const maxFormErrors = 5

// input puts the form of INPUT FIELDS into the program. What makes no sense is
// found here, before anybody gives it anything.
func (c *compiler) input() {
	s := c.res.Input
	if s == nil {
		return
	}
	env := form.Env{Compile: c.compilePattern}
	fields := s.Fields
	definition := c.defaultOf(formExpr(s.Span, nil, fields))
	c.prog.Input = definition.Freeze()
	for range maxFormErrors {
		_, at, err := form.ParseLocated(definition, env)
		switch {
		case err == nil:
			return
		case at < 0:
			c.errs.Add(c.res.Files[0], s.Pos(), s.End(), "%s", err)
			return
		}
		f := fields[at]
		c.errs.Add(c.res.Files[0], f.Pos(), f.End(), "%s", err)
		if fields = fields[at+1:]; len(fields) == 0 {
			return
		}
		definition = c.defaultOf(formExpr(s.Span, nil, fields))
	}
}

// compilePattern compiles a pattern as the machine will, in turns of the compiler.
func (c *compiler) compilePattern(pattern string) (m form.Matcher, err *value.Error) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *value.LimitError:
			err = value.Errorf(value.BadPattern, "PATTERN is too large: its repetitions multiply")
		default:
			panic(e)
		}
	}()
	compiled, err := (&lib.Call{}).Compile(pattern)
	if err != nil {
		return nil, err
	}
	for range compiled.Instructions() {
		c.yield.Step()
	}
	return compiled, nil
}
