package compile

import (
	"math"

	"ql/lang/bytecode"
	"ql/lang/lib"
	"ql/lang/syntax"
	"ql/lang/value"
)

// variable returns the register of a variable that has one.
func (g *fn) variable(name string) (uint8, bool) {
	for i := len(g.scopes) - 1; i >= 0; i-- {
		if g.scopes[i].name == name {
			return g.scopes[i].reg, true
		}
	}
	slot := g.f.Slot(name)
	return uint8(slot), slot < registerVars
}

// spillList is the register of the list of spilled variables.
const spillList = registerVars

// operand returns a register that holds the value of e to be read at once: a
// variable's own where e is one.
func (g *fn) operand(e syntax.Expr) uint8 {
	switch e := e.(type) {
	case *syntax.Paren:
		return g.operand(e.X)
	case *syntax.Var:
		if r, ok := g.variable(e.Name); ok {
			return r
		}
	}
	r := g.temp()
	g.borrow(e, r)
	return r
}

// borrow puts the value of e into a temporary register to be read at once:
// containers stay the property of where they came from.
func (g *fn) borrow(e syntax.Expr, dst uint8) {
	switch e := e.(type) {
	case *syntax.Paren:
		g.borrow(e.X, dst)
		return
	case *syntax.Var:
		if r, ok := g.variable(e.Name); ok {
			g.pos = e.Pos()
			g.emit(bytecode.OpMove, dst, r, 0, 0)
			return
		}
		g.loadSpilled(e, dst, true)
		return
	case *syntax.FieldAccess, *syntax.Index:
		g.access(e, dst, true)
		return
	}
	g.into(e, dst)
}

func (g *fn) loadSpilled(v *syntax.Var, dst uint8, borrow bool) {
	g.pos = v.Pos()
	g.emit(bytecode.OpGetN, dst, spillList, bytecode.Flag(borrow), int32(g.f.Slot(v.Name)-registerVars))
}

// isTemp reports whether nothing but the expression under way uses a register.
func (g *fn) isTemp(r uint8) bool { return int(r) >= g.first }

// base returns a temporary register with only free ones after it: dst where it
// is one. Every register in use below a place where the machine may stop must
// hold a value of the program's own, so what is computed for dst is computed
// in dst as far as possible.
func (g *fn) base(dst uint8) uint8 {
	if g.isTemp(dst) && int(dst) == g.next-1 {
		return dst
	}
	return g.temp()
}

// into puts the value of e into dst, to be kept there. Where dst is a
// variable, it is written last: a failure leaves it as it was.
func (g *fn) into(e syntax.Expr, dst uint8) {
	if v, ok := g.c.constOf(e); ok {
		g.pos = e.Pos()
		g.load(v, dst)
		return
	}
	mark := g.next
	switch e := e.(type) {
	case *syntax.Paren:
		g.into(e.X, dst)
	case *syntax.Var:
		if r, ok := g.variable(e.Name); ok {
			g.pos = e.Pos()
			g.emit(bytecode.OpCopy, dst, r, 0, 0)
		} else {
			g.loadSpilled(e, dst, false)
		}
	case *syntax.FieldAccess, *syntax.Index:
		g.access(e, dst, false)
	case *syntax.Unary:
		g.unary(e, dst)
	case *syntax.Binary:
		g.binary(e, dst)
	case *syntax.Between:
		g.boolean(e, dst)
	case *syntax.IsNull:
		x := g.left(e.X, dst)
		g.pos = e.Pos()
		op := bytecode.OpIsNull
		if e.Not {
			op = bytecode.OpIsNotNull
		}
		g.emit(op, dst, x, 0, 0)
	case *syntax.Text:
		g.template(e, dst, bytecode.PlainTemplate)
	case *syntax.Global:
		g.global(e, dst)
	default:
		// What is put together step by step must not be seen half-done.
		t := dst
		if !g.isTemp(dst) {
			t = g.temp()
		}
		switch e := e.(type) {
		case *syntax.Call:
			g.call(e, t)
		case *syntax.Case:
			g.caseExpr(e, t)
		case *syntax.ListLit:
			g.list(e, t)
		case *syntax.MapLit:
			g.mapLit(e, t)
		}
		if t != dst {
			g.emit(bytecode.OpMove, dst, t, 0, 0)
		}
	}
	g.free(mark)
}

// load puts a constant into dst.
func (g *fn) load(v value.Value, dst uint8) {
	switch {
	case v.IsNull():
		g.emit(bytecode.OpLoadNull, dst, 0, 0, 0)
	case v.IsBool():
		g.emit(bytecode.OpLoadBool, dst, bytecode.Flag(v.IsTrue()), 0, 0)
	case v.IsInt() && v.Int64() >= math.MinInt32 && v.Int64() <= math.MaxInt32:
		g.emit(bytecode.OpLoadI, dst, 0, 0, int32(v.Int64()))
	default:
		g.emit(bytecode.OpLoadK, dst, 0, 0, g.c.constant(v))
	}
}

// access compiles x.name and x[i].
func (g *fn) access(e syntax.Expr, dst uint8, borrow bool) {
	if v, ok := g.c.constOf(e); ok {
		g.pos = e.Pos()
		g.load(v, dst)
		return
	}
	mark := g.next
	defer g.free(mark)
	switch e := e.(type) {
	case *syntax.FieldAccess:
		if gl, ok := e.X.(*syntax.Global); ok && gl.Arg == nil {
			g.globalEntry(gl, &syntax.Text{Span: e.Span, Parts: []syntax.TextPart{{Plain: e.Name}}}, dst)
			return
		}
		x := g.left(e.X, dst)
		g.pos = e.X.End()
		g.emit(bytecode.OpGetK, dst, x, bytecode.Flag(borrow), g.c.text(e.Name))
	case *syntax.Index:
		if gl, ok := e.X.(*syntax.Global); ok && gl.Arg == nil {
			g.globalEntry(gl, e.I, dst)
			return
		}
		x := g.left(e.X, dst)
		if n, ok := g.c.smallInt(e.I, math.MinInt32, math.MaxInt32); ok {
			g.pos = e.X.End()
			g.emit(bytecode.OpGetN, dst, x, bytecode.Flag(borrow), int32(n))
			return
		}
		i := g.right(e.I, x, dst)
		g.pos = e.X.End()
		g.emit(bytecode.OpGet, dst, x, i, int32(bytecode.Flag(borrow)))
	}
}

func (g *fn) unary(e *syntax.Unary, dst uint8) {
	x := g.left(e.X, dst)
	g.pos = e.Pos()
	if e.Op == syntax.OpNeg {
		g.emit(bytecode.OpNeg, dst, x, 0, 0)
		return
	}
	g.emit(bytecode.OpNot, dst, x, 0, 0)
}

var arithmetic = map[syntax.Op]struct{ reg, k bytecode.Op }{
	syntax.OpAdd:    {bytecode.OpAdd, bytecode.OpAddK},
	syntax.OpSub:    {bytecode.OpSub, bytecode.OpSubK},
	syntax.OpMul:    {bytecode.OpMul, bytecode.OpMulK},
	syntax.OpDiv:    {bytecode.OpDiv, bytecode.OpDivK},
	syntax.OpIntDiv: {bytecode.OpIDiv, bytecode.OpIDivK},
	syntax.OpMod:    {bytecode.OpMod, bytecode.OpModK},
}

// left returns the register of a left operand, using dst for it where that is
// free.
func (g *fn) left(e syntax.Expr, dst uint8) uint8 {
	if p, ok := e.(*syntax.Paren); ok {
		return g.left(p.X, dst)
	}
	if v, ok := e.(*syntax.Var); ok {
		if r, ok := g.variable(v.Name); ok {
			return r
		}
	}
	if !g.isTemp(dst) {
		return g.operand(e)
	}
	g.borrow(e, dst)
	return dst
}

// right returns the register of a right operand, using dst for it where the
// left one does not.
func (g *fn) right(e syntax.Expr, left, dst uint8) uint8 {
	if left == dst {
		return g.operand(e)
	}
	return g.left(e, dst)
}

// inPlace is 1 where a sum goes back to the variable that is its left side: a
// list there may grow where it stands. In a temporary register it may belong
// to somebody else.
func (g *fn) inPlace(op syntax.Op, left, dst uint8) uint8 {
	return bytecode.Flag(op == syntax.OpAdd && left == dst && !g.isTemp(dst))
}

// constantSide is the C of arithmetic with a constant: bytecode.ConstantFirst
// where that stands on the left.
func constantSide(c uint8, swapped bool) uint8 {
	if swapped {
		return bytecode.ConstantFirst
	}
	return c
}

func (g *fn) binary(e *syntax.Binary, dst uint8) {
	switch e.Op {
	case syntax.OpAnd, syntax.OpOr:
		g.boolean(e, dst)
		return
	case syntax.OpDefault:
		g.fallback(e, dst)
		return
	case syntax.OpLike, syntax.OpNotLike:
		g.like(e, dst)
		return
	}
	x, y := e.X, e.Y
	if ops, ok := arithmetic[e.Op]; ok {
		swapped := false
		if v, ok := g.c.constOf(x); ok && v.IsNumber() && (e.Op == syntax.OpAdd || e.Op == syntax.OpMul) {
			x, y = y, x
			swapped = true
		}
		a := g.left(x, dst)
		v, isConst := g.c.constOf(y)
		if !isConst || !v.IsNumber() && e.Op != syntax.OpAdd {
			b := g.right(y, a, dst)
			g.pos = e.OpPos
			g.emit(ops.reg, dst, a, b, int32(g.inPlace(e.Op, a, dst)))
			return
		}
		g.pos = e.OpPos
		if v.IsInt() && v.Int64() > math.MinInt32 && v.Int64() <= math.MaxInt32 && (e.Op == syntax.OpAdd || e.Op == syntax.OpSub) {
			n := int32(v.Int64())
			if e.Op == syntax.OpSub {
				n = -n
			}
			g.emit(bytecode.OpAddI, dst, a, constantSide(bytecode.Flag(e.Op == syntax.OpSub), swapped), n)
			return
		}
		g.emit(ops.k, dst, a, constantSide(g.inPlace(e.Op, a, dst), swapped), g.c.constant(v))
		return
	}
	a := g.left(x, dst)
	b := g.right(y, a, dst)
	g.pos = e.OpPos
	switch e.Op {
	case syntax.OpEq:
		g.emit(bytecode.OpEq, dst, a, b, 0)
	case syntax.OpNe:
		g.emit(bytecode.OpNe, dst, a, b, 0)
	case syntax.OpLt:
		g.emit(bytecode.OpLt, dst, a, b, 0)
	case syntax.OpLe:
		g.emit(bytecode.OpLe, dst, a, b, 0)
	case syntax.OpGt:
		g.emit(bytecode.OpLt, dst, b, a, 0)
	case syntax.OpGe:
		g.emit(bytecode.OpLe, dst, b, a, 0)
	case syntax.OpIn:
		g.emit(bytecode.OpIn, dst, a, b, 0)
	case syntax.OpNotIn:
		g.emit(bytecode.OpNotIn, dst, a, b, 0)
	}
}

// like calls the built-in, whatever the script's own functions are called.
func (g *fn) like(e *syntax.Binary, dst uint8) {
	base := g.base(dst)
	g.args(base, []syntax.Expr{e.X, e.Y})
	g.pos = e.OpPos
	i, _ := lib.Lookup("LIKE")
	g.emit(bytecode.OpBuiltin, base, 2, 0, g.c.builtin(i))
	switch {
	case e.Op == syntax.OpNotLike:
		g.emit(bytecode.OpNot, dst, base, 0, 0)
	case base != dst:
		g.emit(bytecode.OpMove, dst, base, 0, 0)
	}
}

// boolean makes true or false of AND, OR and BETWEEN.
func (g *fn) boolean(e syntax.Expr, dst uint8) {
	if g.isTemp(dst) {
		g.emit(bytecode.OpLoadNull, dst, 0, 0, 0)
	}
	no := g.jump(e, false)
	g.emit(bytecode.OpLoadBool, dst, 1, 0, 0)
	end := g.emit(bytecode.OpJump, 0, 0, 0, 0)
	g.patch(no...)
	g.emit(bytecode.OpLoadBool, dst, 0, 0, 0)
	g.patch(end)
}

// fallback compiles x DEFAULT y.
func (g *fn) fallback(e *syntax.Binary, dst uint8) {
	t := dst
	if !g.isTemp(dst) {
		t = g.temp()
	}
	g.into(e.X, t)
	g.pos = e.OpPos
	end := g.emit(bytecode.OpJNotNull, t, 0, 0, 0)
	g.into(e.Y, t)
	g.patch(end)
	if t != dst {
		g.emit(bytecode.OpMove, dst, t, 0, 0)
	}
}

func (g *fn) caseExpr(e *syntax.Case, dst uint8) {
	// A condition may stop at an effect: dst must hold no garbage then.
	g.emit(bytecode.OpLoadNull, dst, 0, 0, 0)
	var ends []int
	condition := func(w syntax.When) syntax.Expr { return w.Cond }
	if e.Of != nil {
		of, done := g.named(e.Of)
		defer done()
		condition = func(w syntax.When) syntax.Expr {
			return &syntax.Binary{Span: syntax.Span{Start: w.Cond.Pos(), Stop: w.Cond.End()}, Op: syntax.OpEq, OpPos: w.Cond.Pos(), X: of, Y: w.Cond}
		}
	}
	for _, w := range e.Whens {
		no := g.jump(condition(w), false)
		g.into(w.Then, dst)
		ends = append(ends, g.emit(bytecode.OpJump, 0, 0, 0, 0))
		g.patch(no...)
	}
	if e.Else != nil {
		g.into(e.Else, dst)
	} else {
		g.emit(bytecode.OpLoadNull, dst, 0, 0, 0)
	}
	g.patch(ends...)
}

func (g *fn) list(e *syntax.ListLit, dst uint8) {
	g.pos = e.Pos()
	g.emit(bytecode.OpNewList, dst, 0, 0, int32(len(e.Items)))
	for _, x := range e.Items {
		mark := g.next
		r, own := g.held(x)
		g.pos = x.Pos()
		g.emit(bytecode.OpPush, dst, r, bytecode.Flag(!own), 0)
		g.free(mark)
	}
}

func (g *fn) mapLit(e *syntax.MapLit, dst uint8) {
	g.pos = e.Pos()
	g.emit(bytecode.OpNewMap, dst, 0, 0, int32(len(e.Entries)))
	for _, x := range e.Entries {
		mark := g.next
		r, own := g.held(x.Value)
		g.pos = x.Value.Pos()
		g.emit(bytecode.OpPut, dst, r, bytecode.Flag(!own), g.c.text(x.Key))
		g.free(mark)
	}
}

// held returns a register with the value of e, to be put into a container, and
// whether the value is nobody else's.
func (g *fn) held(e syntax.Expr) (r uint8, own bool) {
	if v, ok := unparen(e).(*syntax.Var); ok {
		if r, ok := g.variable(v.Name); ok {
			return r, false
		}
	}
	r = g.temp()
	g.into(e, r)
	return r, true
}

func unparen(e syntax.Expr) syntax.Expr {
	for {
		p, ok := e.(*syntax.Paren)
		if !ok {
			return e
		}
		e = p.X
	}
}

// template compiles a text with insertions. One with more than registers can hold is put together
// of several.
func (g *fn) template(t *syntax.Text, dst uint8, mode bytecode.TemplateMode) {
	if t.HTML {
		mode = bytecode.HTMLTemplate
	}
	head, rest := splitParts(t.Parts)
	if rest == nil {
		g.templateOf(t, head, dst, mode)
		return
	}
	whole := dst
	if !g.isTemp(dst) {
		whole = g.temp()
	}
	g.templateOf(t, head, whole, mode)
	for rest != nil {
		head, rest = splitParts(rest)
		mark := g.next
		next := g.temp()
		g.templateOf(t, head, next, mode)
		g.emit(bytecode.OpAdd, whole, whole, next, 0)
		g.free(mark)
	}
	if whole != dst {
		g.emit(bytecode.OpMove, dst, whole, 0, 0)
	}
}

// splitParts returns the first parts of a text, with as many insertions as a template takes, and
// the others.
func splitParts(parts []syntax.TextPart) (head, rest []syntax.TextPart) {
	n := 0
	for i, p := range parts {
		if p.Insert == nil {
			continue
		}
		if n == maxArgs {
			return parts[:i], parts[i:]
		}
		n++
	}
	return parts, nil
}

// templateOf compiles some parts of a text.
func (g *fn) templateOf(t *syntax.Text, parts []syntax.TextPart, dst uint8, mode bytecode.TemplateMode) {
	mark := g.next
	defer g.free(mark)
	tpl := bytecode.Template{Mode: mode}
	base := -1
	plain := ""
	for _, p := range parts {
		if p.Insert == nil {
			plain += p.Plain
			continue
		}
		tpl.Texts = append(tpl.Texts, plain)
		plain = ""
		var r uint8
		if base < 0 {
			r = g.base(dst)
			base = int(r)
		} else {
			r = g.temp()
		}
		g.borrow(p.Insert, r)
	}
	tpl.Texts = append(tpl.Texts, plain)
	g.pos = t.Pos()
	if !g.fast {
		g.c.prog.Templates = append(g.c.prog.Templates, tpl)
	}
	g.emit(bytecode.OpText, dst, uint8(max(base, 0)), 0, int32(g.at.templates))
	g.at.templates++
}

// machineGlobals are the globals that the machine itself holds.
var machineGlobals = map[string]int32{
	"GET": bytecode.GlobalGet, "POST": bytecode.GlobalPost, "COOKIE": bytecode.GlobalCookie,
	"REQUEST": bytecode.GlobalRequest, "RESPONSE": bytecode.GlobalResponse, "BODY": bytecode.GlobalBody, "INPUT": bytecode.GlobalInput,
	"FILES": bytecode.GlobalFiles,
}

// hostGlobals are those that the host is asked for.
var hostGlobals = map[string]bytecode.Effect{
	"SESSION": bytecode.EffectSessionGet, "ACCOUNT": bytecode.EffectAccountGet, "QUOTA": bytecode.EffectQuotaGet,
	"SECRET": bytecode.EffectSecretGet, "JOB": bytecode.EffectJobGet,
}

func (g *fn) global(e *syntax.Global, dst uint8) {
	if e.Arg != nil {
		g.globalEntry(e, e.Arg, dst)
		return
	}
	g.pos = e.Pos()
	if i, ok := machineGlobals[e.Name]; ok {
		g.emit(bytecode.OpGlobal, dst, 0, 0, i)
		return
	}
	g.ask(hostGlobals[e.Name], dst, nil)
}

func (g *fn) globalEntry(e *syntax.Global, key syntax.Expr, dst uint8) {
	if i, ok := machineGlobals[e.Name]; ok {
		k := g.left(key, dst)
		g.pos = e.Pos()
		g.emit(bytecode.OpGlobalGet, dst, k, 0, i)
		return
	}
	g.pos = e.Pos()
	g.ask(hostGlobals[e.Name], dst, key)
}

// ask compiles an effect in an expression.
func (g *fn) ask(effect bytecode.Effect, dst uint8, args ...syntax.Expr) {
	pos := g.pos
	mark := g.next
	base := g.base(dst)
	g.args(base, args)
	g.pos = pos
	g.effect(effect, base, len(args))
	if base != dst {
		g.emit(bytecode.OpMove, dst, base, 0, 0)
	}
	g.free(mark)
}

// args puts values into registers from base on, which is taken already; a nil
// expression is null.
func (g *fn) args(base uint8, args []syntax.Expr) {
	for i, a := range args {
		r := base
		if i > 0 {
			r = g.temp()
		}
		if isNil(a) {
			g.emit(bytecode.OpLoadNull, r, 0, 0, 0)
			continue
		}
		g.borrow(a, r)
	}
}

func isNil(e syntax.Expr) bool {
	if e == nil {
		return true
	}
	t, ok := e.(*syntax.Text)
	return ok && t == nil
}

func (g *fn) call(e *syntax.Call, dst uint8) {
	mark := g.next
	defer g.free(mark)
	if len(e.Args) > maxArgs {
		g.errorf(e, "a call takes at most %d arguments: pass a list", maxArgs)
		return
	}
	if i, ok := g.c.res.Lookup(g.f.File, e.Prefix, e.Name); ok {
		base := g.base(dst)
		g.callDefined(e, i, base)
		if base != dst {
			g.emit(bytecode.OpMove, dst, base, 0, 0)
		}
		return
	}
	i, _ := lib.Lookup(e.Name)
	b := lib.At(i)
	switch {
	case b.Host:
		g.pos = e.Pos()
		g.ask(hostFunctions[b.Name], dst, e.Args...)
		return
	case b.Loop != lib.NoLoop && len(e.Args) > 1 && g.c.res.TakesLambda(g.f.File, b, e.Args[1]):
		g.lambdaLoop(e, b, i, dst)
		return
	}
	base := g.base(dst)
	g.args(base, e.Args)
	g.pos = e.Pos()
	g.emit(bytecode.OpBuiltin, base, uint8(len(e.Args)), 0, g.c.builtin(i))
	if base != dst {
		g.emit(bytecode.OpMove, dst, base, 0, 0)
	}
}

var hostFunctions = map[string]bytecode.Effect{
	"NOW": bytecode.EffectNow, "RANDOM": bytecode.EffectRandom, "UUID": bytecode.EffectUUID, "TOKEN": bytecode.EffectToken,
	"PASSWORD_HASH": bytecode.EffectPasswordHash, "PASSWORD_MATCHES": bytecode.EffectPasswordMatches,
}

// callDefined calls a DEFINEd function; base takes its first argument and its
// result.
func (g *fn) callDefined(e *syntax.Call, i int, base uint8) {
	f := g.c.res.Funcs[i]
	for k := range f.Params {
		r := base
		if k > 0 {
			r = g.temp()
		}
		if k < len(e.Args) {
			g.into(e.Args[k], r)
			continue
		}
		g.pos = e.Pos()
		g.load(g.c.defaultOf(f.Params[k].Default), r)
	}
	g.pos = e.Pos()
	g.emit(bytecode.OpCall, base, uint8(len(f.Params)), 0, int32(i))
	g.free(int(base) + 1)
}
