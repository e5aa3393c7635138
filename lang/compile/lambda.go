package compile

import (
	"ql/lang/bytecode"
	"ql/lang/lib"
	"ql/lang/syntax"
)

// lambdaLoop compiles a built-in that takes a lambda: a loop over its list, so
// that the machine can stop inside the lambda as anywhere else. dst is a
// temporary register.
func (g *fn) lambdaLoop(e *syntax.Call, b *lib.Builtin, number int, dst uint8) {
	l := g.lambdaOf(e, b)
	keyed := b.Loop == lib.LoopKeys || b.Loop == lib.LoopEntries // which needs the list again, before the list of keys
	base := g.base(dst)
	result := base
	if keyed {
		g.borrow(e.Args[0], base)
		result = g.temp()
	}
	g.pos = e.Pos()
	switch b.Loop {
	case lib.LoopAny, lib.LoopAll:
		g.emit(bytecode.OpLoadBool, result, bytecode.Flag(b.Loop == lib.LoopAll), 0, 0)
	case lib.LoopReduce, lib.LoopFirst, lib.LoopLast:
		g.emit(bytecode.OpLoadNull, result, 0, 0, 0)
	default:
		g.emit(bytecode.OpNewList, result, 0, 0, 0)
	}
	iter := g.temp()
	if keyed {
		g.emit(bytecode.OpMove, iter, base, 0, 0)
	} else {
		g.borrow(e.Args[0], iter)
	}
	if b.Loop == lib.LoopReduce {
		if len(e.Args) > 2 {
			g.into(e.Args[2], result)
		}
	}
	g.temp() // the place in the list
	element := g.temp()
	params := l.Params
	if b.Loop == lib.LoopReduce {
		g.scopes = append(g.scopes, scope{params[0].Name, result})
		params = params[1:]
	}
	g.scopes = append(g.scopes, scope{params[0].Name, element})
	index := uint8(0)
	if len(params) > 1 {
		index = g.temp()
		g.scopes = append(g.scopes, scope{params[1].Name, index})
	}
	// The parameters hold their values from the first round on; until then
	// nothing may be left in them.
	g.emit(bytecode.OpLoadNull, element, uint8(len(params)-1), 0, 0)
	g.pos = e.Args[0].Pos()
	prep := g.emit(bytecode.OpIterPrep, iter, uint8(g.c.builtin(number)+1), 0, 0)
	body := g.here()
	leave := g.lambdaBody(b.Loop, l.Body, result, element)
	g.patch(prep)
	if len(params) > 1 {
		g.emit(bytecode.OpIterNext2, iter, element, index, int32(body))
	} else {
		g.emit(bytecode.OpIterNext, iter, element, 0, int32(body))
	}
	g.patch(leave...)
	g.scopes = g.scopes[:len(g.scopes)-len(l.Params)]
	g.pos = e.Pos()
	if keyed {
		g.free(int(result) + 1)
		for _, more := range e.Args[2:] {
			g.borrow(more, g.temp())
		}
		g.pos = e.Pos()
		g.emit(bytecode.OpBuiltin, base, uint8(len(e.Args)), 0, g.c.builtin(number))
	}
	if base != dst {
		g.emit(bytecode.OpMove, dst, base, 0, 0)
	}
}

// lambdaOf returns the lambda of a call; for a function that is given by its name it is one
// that calls it. No script can write the names of its parameters.
func (g *fn) lambdaOf(e *syntax.Call, b *lib.Builtin) *syntax.Lambda {
	if l, ok := e.Args[1].(*syntax.Lambda); ok {
		return l
	}
	prefix, name, n := g.c.res.Passed(g.f.File, b, e.Args[1])
	span := syntax.Span{Start: e.Args[1].Pos(), Stop: e.Args[1].End()}
	call := &syntax.Call{Span: span, Prefix: prefix, Name: name}
	l := &syntax.Lambda{Span: span, Body: call}
	for _, param := range []string{" first", " second", " third"}[:n] {
		v := &syntax.Var{Span: span, Name: param}
		l.Params = append(l.Params, v)
		call.Args = append(call.Args, v)
	}
	return l
}

// lambdaBody compiles one round and returns the jumps that leave the loop.
func (g *fn) lambdaBody(l lib.Loop, body syntax.Expr, result, element uint8) []int {
	mark := g.next
	defer g.free(mark)
	switch l {
	case lib.LoopFilter:
		no := g.jump(body, false)
		g.emit(bytecode.OpPush, result, element, 1, 0)
		g.patch(no...)
	case lib.LoopAny, lib.LoopAll:
		onward := g.jump(body, l == lib.LoopAll)
		g.emit(bytecode.OpLoadBool, result, bytecode.Flag(l == lib.LoopAny), 0, 0)
		leave := g.emit(bytecode.OpJump, 0, 0, 0, 0)
		g.patch(onward...)
		return []int{leave}
	case lib.LoopFirst, lib.LoopLast:
		no := g.jump(body, false)
		g.emit(bytecode.OpCopy, result, element, 0, 0)
		if l == lib.LoopFirst {
			leave := g.emit(bytecode.OpJump, 0, 0, 0, 0)
			g.patch(no...)
			return []int{leave}
		}
		g.patch(no...)
	case lib.LoopReduce:
		t := g.temp()
		g.into(body, t)
		g.emit(bytecode.OpMove, result, t, 0, 0)
	default:
		r, own := g.held(body)
		g.emit(bytecode.OpPush, result, r, bytecode.Flag(!own), 0)
	}
	return nil
}
