package compile

import (
	"math"

	"ql/lang/bytecode"
	"ql/lang/syntax"
)

// comparison describes how an order or equality is compiled: the jump for
// when it holds, with its operands swapped or not, and for a constant on the
// right.
type comparison struct {
	reg     bytecode.Op
	swap    bool
	imm, k  bytecode.Op
	negated syntax.Op
}

var comparisons = map[syntax.Op]comparison{
	syntax.OpEq: {bytecode.OpJEq, false, bytecode.OpJEqI, bytecode.OpJEqK, syntax.OpNe},
	syntax.OpNe: {bytecode.OpJNe, false, bytecode.OpJNeI, bytecode.OpJNeK, syntax.OpEq},
	syntax.OpLt: {bytecode.OpJLt, false, bytecode.OpJLtI, bytecode.OpJLtK, syntax.OpGe},
	syntax.OpGe: {bytecode.OpJGe, false, bytecode.OpJGeI, bytecode.OpJGeK, syntax.OpLt},
	syntax.OpLe: {bytecode.OpJGe, true, bytecode.OpJLeI, bytecode.OpJLeK, syntax.OpGt},
	syntax.OpGt: {bytecode.OpJLt, true, bytecode.OpJGtI, bytecode.OpJGtK, syntax.OpLe},
}

// mirrored is the same comparison with its sides exchanged.
var mirrored = map[syntax.Op]syntax.Op{
	syntax.OpEq: syntax.OpEq, syntax.OpNe: syntax.OpNe, syntax.OpLt: syntax.OpGt,
	syntax.OpGt: syntax.OpLt, syntax.OpLe: syntax.OpGe, syntax.OpGe: syntax.OpLe,
}

// jump compiles a condition: it jumps when the truth of e is want and falls
// through otherwise. It returns the jumps, to be patched.
func (g *fn) jump(e syntax.Expr, want bool) []int {
	mark := g.next
	defer func() { g.free(mark) }()
	switch e := e.(type) {
	case *syntax.Paren:
		return g.jump(e.X, want)
	case *syntax.Unary:
		if e.Op == syntax.OpNot {
			return g.jump(e.X, !want)
		}
	case *syntax.IsNull:
		x := g.operand(e.X)
		g.pos = e.Pos()
		op := bytecode.OpJNull
		if e.Not == want {
			op = bytecode.OpJNotNull
		}
		return []int{g.emit(op, x, 0, 0, 0)}
	case *syntax.Between:
		return g.between(e, want)
	case *syntax.Binary:
		switch e.Op {
		case syntax.OpAnd, syntax.OpOr:
			if (e.Op == syntax.OpOr) == want {
				return append(g.jump(e.X, want), g.jump(e.Y, want)...)
			}
			skip := g.jump(e.X, !want)
			jumps := g.jump(e.Y, want)
			g.patch(skip...)
			return jumps
		}
		if _, ok := comparisons[e.Op]; ok {
			return []int{g.compareJump(e, want)}
		}
	}
	if v, ok := g.c.constOf(e); ok {
		if v.Truthy() == want {
			return []int{g.emit(bytecode.OpJump, 0, 0, 0, 0)}
		}
		return nil
	}
	x := g.operand(e)
	g.pos = e.Pos()
	op := bytecode.OpJFalse
	if want {
		op = bytecode.OpJTrue
	}
	return []int{g.emit(op, x, 0, 0, 0)}
}

// between compiles x >= low AND x <= high, with x computed once.
func (g *fn) between(e *syntax.Between, want bool) []int {
	x, done := g.named(e.X)
	defer done()
	both := &syntax.Binary{
		Span: e.Span, Op: syntax.OpAnd, OpPos: e.OpPos,
		X: &syntax.Binary{Span: e.Span, Op: syntax.OpGe, OpPos: e.OpPos, X: x, Y: e.Low},
		Y: &syntax.Binary{Span: e.Span, Op: syntax.OpLe, OpPos: e.OpPos, X: x, Y: e.High},
	}
	return g.jump(both, want != e.Not)
}

// named computes e once and returns a variable that stands for it, until done is called.
// No script can write its name.
func (g *fn) named(e syntax.Expr) (v *syntax.Var, done func()) {
	v = &syntax.Var{Span: syntax.Span{Start: e.Pos(), Stop: e.End()}, Name: " once"}
	r, _ := g.held(e)
	g.scopes = append(g.scopes, scope{v.Name, r})
	return v, func() { g.scopes = g.scopes[:len(g.scopes)-1] }
}

func (g *fn) compareJump(e *syntax.Binary, want bool) int {
	op := e.Op
	if !want {
		op = comparisons[op].negated
	}
	x, y := e.X, e.Y
	if _, ok := g.c.constOf(x); ok {
		if _, ok := g.c.constOf(y); !ok {
			x, y, op = y, x, mirrored[op]
		}
	}
	cmp := comparisons[op]
	a := g.operand(x)
	if n, ok := g.c.smallInt(y, math.MinInt16, math.MaxInt16); ok {
		g.pos = e.OpPos
		return g.emit(cmp.imm, a, uint8(n), uint8(uint16(n)>>8), 0)
	}
	if v, ok := g.c.constOf(y); ok && !v.IsContainer() && !v.IsNull() && !v.IsBool() {
		if k := g.c.constant(v); k <= math.MaxUint16 {
			g.pos = e.OpPos
			return g.emit(cmp.k, a, uint8(k), uint8(k>>8), 0)
		}
	}
	b := g.operand(y)
	g.pos = e.OpPos
	if cmp.swap {
		a, b = b, a
	}
	return g.emit(cmp.reg, a, b, 0, 0)
}
