package compile

import (
	"ql/lang/bytecode"
	"ql/lang/syntax"
	"ql/lang/value"
)

func (g *fn) ifStmt(s *syntax.If) {
	falls := false // some branch goes on after the END
	for _, b := range s.Branches {
		falls = falls || !terminates(b.Body)
	}
	var toEnd []int
	for i, b := range s.Branches {
		g.begin(b, "IF", bytecode.ClassCPU)
		last := i == len(s.Branches)-1 && s.Else == nil
		if last && falls {
			g.flush() // the way past the IF meets the way through it
		}
		no := g.jump(b.Cond, false)
		pending := g.pending
		g.block(b.Body)
		switch {
		case last:
			if falls {
				g.flush()
			}
		case !terminates(b.Body):
			toEnd = append(toEnd, g.emit(bytecode.OpJump, 0, 0, g.takeSteps(), 0))
		}
		g.patch(no...)
		if !last || !falls {
			g.pending = pending
		}
	}
	if s.Else != nil {
		g.block(s.Else)
		if len(toEnd) > 0 {
			g.flush()
		}
	}
	g.patch(toEnd...)
}

// loopBody compiles the statements of a loop. entry is the instruction that
// jumps to the loop's end, or -1; before are the steps pending there. On
// return the next instruction is the one that decides on another round, and
// the steps of a round are pending.
func (g *fn) loopBody(b *syntax.Block, entry, before int) (l *loop, body int) {
	l = &loop{txs: g.txs}
	g.loops = append(g.loops, l)
	body = g.here()
	g.code.Loops = append(g.code.Loops, int32(body))
	g.block(b)
	g.loops = g.loops[:len(g.loops)-1]
	if entry >= 0 {
		l.continues = append(l.continues, skip{entry, before})
	}
	for _, c := range l.continues {
		g.patch(c.pc)
		g.code.Instrs[c.pc].C = uint8(int8(c.pending - g.pending))
	}
	return l, body
}

func (g *fn) while(s *syntax.While) {
	g.pos = s.Pos()
	cond := g.hoist(s.Cond)
	before := g.pending
	g.pending = 0
	entry := g.emit(bytecode.OpJump, 0, 0, 0, 0)
	l, body := g.loopBody(s.Body, entry, before)
	g.begin(s, "WHILE", bytecode.ClassCPU)
	if !g.loopCompare(cond, body) {
		exits := g.jump(cond.expr, false)
		pending := g.pending
		g.emit(bytecode.OpLoop, 0, 0, g.takeSteps(), int32(body))
		g.patch(exits...)
		g.pending = pending
		g.flush()
	}
	g.patch(l.breaks...)
}

// hoisted is a loop's condition; where it is an order, a constant side stands
// in a register of its own for the time of the loop.
type hoisted struct {
	expr   syntax.Expr
	binary *syntax.Binary
	x, y   int // registers of constants, -1
}

func (g *fn) hoist(e syntax.Expr) hoisted {
	h := hoisted{expr: e, x: -1, y: -1}
	b, ok := unparen(e).(*syntax.Binary)
	if !ok {
		return h
	}
	switch b.Op {
	case syntax.OpLt, syntax.OpLe, syntax.OpGt, syntax.OpGe:
	default:
		return h
	}
	h.binary = b
	for _, side := range []struct {
		e   syntax.Expr
		reg *int
	}{{b.X, &h.x}, {b.Y, &h.y}} {
		if v, ok := g.c.constOf(side.e); ok {
			r := g.temp()
			g.load(v, r)
			*side.reg = int(r)
		}
	}
	return h
}

// loopCompare closes a loop with a comparing jump, where its condition is one.
func (g *fn) loopCompare(h hoisted, body int) bool {
	if h.binary == nil {
		return false
	}
	mark := g.next
	side := func(e syntax.Expr, reg int) uint8 {
		if reg >= 0 {
			return uint8(reg)
		}
		return g.operand(e)
	}
	a := side(h.binary.X, h.x)
	b := side(h.binary.Y, h.y)
	op := bytecode.OpLoopLt
	switch h.binary.Op {
	case syntax.OpLe:
		op = bytecode.OpLoopLe
	case syntax.OpGt:
		a, b = b, a
	case syntax.OpGe:
		op = bytecode.OpLoopLe
		a, b = b, a
	}
	g.pos = h.binary.OpPos
	g.emit(op, a, b, g.takeSteps(), int32(body))
	g.free(mark)
	return true
}

func (g *fn) forRange(s *syntax.ForRange) {
	g.begin(s, "FOR", bytecode.ClassCPU)
	base := g.temp()
	g.into(s.From, base)
	g.into(s.To, g.temp())
	step := g.temp()
	if s.Step != nil {
		g.into(s.Step, step)
	} else {
		g.emit(bytecode.OpLoadI, step, 0, 0, 1)
	}
	v, spilled := g.loopVar(s.Var)
	g.pos = s.Pos()
	prep := g.emit(bytecode.OpForPrep, base, v, g.takeSteps(), 0)
	l, body := g.loopBody(g.withVar(s.Body, s.Var, v, spilled), -1, 0)
	g.pos = s.Pos()
	g.emit(bytecode.OpForLoop, base, v, g.takeSteps(), int32(body))
	g.patch(prep)
	g.patch(l.breaks...)
}

func (g *fn) forIn(s *syntax.ForIn) {
	g.begin(s, "FOR", bytecode.ClassCPU)
	base := g.temp()
	g.into(s.Seq, base)
	g.temp() // the place in it
	v, spilled := g.loopVar(s.Value)
	stmts := g.withVar(s.Body, s.Value, v, spilled)
	var k uint8
	if s.Key != nil {
		var spilledKey bool
		k, spilledKey = g.loopVar(s.Key)
		stmts = g.withVar(stmts, s.Key, k, spilledKey)
	}
	g.pos = s.Seq.Pos()
	before := g.pending
	prep := g.emit(bytecode.OpIterPrep, base, 0, 0, 0)
	g.pending = 0
	if s.Key == nil {
		l, body := g.loopBody(stmts, prep, before)
		g.pos = s.Pos()
		g.emit(bytecode.OpIterNext, base, v, g.takeSteps(), int32(body))
		g.patch(l.breaks...)
		return
	}
	// No room for steps in the two-variable form: they are counted before it.
	g.code.Instrs[prep].C = uint8(before)
	l, body := g.loopBody(stmts, -1, 0)
	g.flush()
	g.patch(prep)
	g.pos = s.Pos()
	g.emit(bytecode.OpIterNext2, base, v, k, int32(body))
	g.patch(l.breaks...)
}

// forFile compiles a loop through a file. The host hands out its rows in pieces: an outer
// loop asks for them, an inner one goes through each. What the file was when the loop began,
// and how far it has come, stand in registers, so that it can be stored at any row.
func (g *fn) forFile(s *syntax.ForFile) {
	file := g.perform(s, "FOR", bytecode.EffectFileOpen, g.val(s.Path), g.constant(formatNames[s.Format]), g.val(s.Encoding), g.constant(value.Bool(s.Bad != nil)))
	g.free(int(file) + 1)
	at := g.temp()
	g.emit(bytecode.OpGetK, at, file, 1, g.c.text("at"))
	g.emit(bytecode.OpGetK, file, file, 1, g.c.text("file"))
	var bad uint8
	if s.Bad != nil {
		bad = g.temp()
		g.emit(bytecode.OpNewList, bad, 0, 0, 0)
		g.storeCopy(s.Bad, bad)
	}
	v, spilled := g.loopVar(s.Value)
	var line uint8
	if s.At != nil {
		line, _ = g.loopVar(s.At)
	}
	g.flush()
	g.pos = s.Pos()
	outer := g.here()
	g.code.Loops = append(g.code.Loops, int32(outer))
	rows := g.temp()
	mark := g.next
	g.emit(bytecode.OpCopy, rows, file, 0, 0)
	g.emit(bytecode.OpCopy, g.temp(), at, 0, 0)
	args := 2
	if s.Bad != nil {
		g.emit(bytecode.OpCopy, g.temp(), bad, 0, 0)
		args = 3
	}
	g.effect(bytecode.EffectFileRows, rows, args)
	g.free(mark)
	g.temp() // the place in the rows
	g.emit(bytecode.OpGetK, at, rows, 1, g.c.text("at"))
	if s.Bad != nil {
		more := g.temp()
		g.emit(bytecode.OpGetK, more, rows, 1, g.c.text("bad"))
		none := g.emit(bytecode.OpJNull, more, 0, 0, 0)
		g.emit(bytecode.OpMove, bad, more, 0, 0)
		g.free(int(more))
		g.storeCopy(s.Bad, bad)
		g.patch(none)
	}
	l := g.pieceRows(s, g.withVar(s.Body, s.Value, v, spilled), rows, v, line)
	g.pos = s.Pos()
	end := g.emit(bytecode.OpJNull, at, 0, 0, 0)
	g.emit(bytecode.OpLoop, 0, 0, 0, int32(outer))
	g.patch(end)
	g.patch(l.breaks...)
}

// pieceRows compiles the loop through one piece of a file, which stands in the register
// rows and becomes its list of rows there.
func (g *fn) pieceRows(s *syntax.ForFile, body *syntax.Block, rows, v, line uint8) *loop {
	if s.At == nil {
		g.emit(bytecode.OpGetK, rows, rows, 1, g.c.text("rows"))
		prep := g.emit(bytecode.OpIterPrep, rows, 0, 0, 0)
		l, first := g.loopBody(body, prep, 0)
		g.pos = s.Pos()
		g.emit(bytecode.OpIterNext, rows, v, g.takeSteps(), int32(first))
		return l
	}
	lines, index := g.temp(), g.temp()
	g.emit(bytecode.OpLoadNull, index, 0, 0, 0)
	g.emit(bytecode.OpGetK, lines, rows, 1, g.c.text("lines"))
	g.emit(bytecode.OpGetK, rows, rows, 1, g.c.text("rows"))
	prep := g.emit(bytecode.OpIterPrep, rows, 0, 0, 0)
	load := &lineLoad{Break: syntax.Break{Span: s.At.Span}, v: s.At, lines: lines, index: index, r: line}
	l, first := g.loopBody(&syntax.Block{Span: body.Span, Stmts: append([]syntax.Stmt{load}, body.Stmts...)}, -1, 0)
	g.flush()
	g.patch(prep)
	g.pos = s.Pos()
	g.emit(bytecode.OpIterNext2, rows, v, index, int32(first))
	return l
}

// storeCopy gives a variable the value of a register that keeps it.
func (g *fn) storeCopy(v *syntax.Var, x uint8) {
	t := g.temp()
	g.emit(bytecode.OpCopy, t, x, 0, 0)
	g.store(v, t)
	g.free(int(t))
}

// lineLoad is a statement of our own making: it gives the variable of AT the line of a row.
type lineLoad struct {
	syntax.Break
	v               *syntax.Var
	lines, index, r uint8
}

// loopVar returns the register that a loop writes its variable to: a temporary
// one for a spilled variable.
func (g *fn) loopVar(v *syntax.Var) (r uint8, spilled bool) {
	if r, ok := g.variable(v.Name); ok {
		return r, false
	}
	r = g.temp()
	g.emit(bytecode.OpLoadNull, r, 0, 0, 0)
	return r, true
}

// withVar returns a loop's body, in front of it the storing of a spilled variable.
func (g *fn) withVar(b *syntax.Block, v *syntax.Var, r uint8, spilled bool) *syntax.Block {
	if !spilled {
		return b
	}
	return &syntax.Block{Span: b.Span, Stmts: append([]syntax.Stmt{&spillStore{Break: syntax.Break{Span: v.Span}, v: v, r: r}}, b.Stmts...)}
}

// spillStore is a statement of our own making: it stores a loop's variable. It
// embeds a statement to be one.
type spillStore struct {
	syntax.Break
	v *syntax.Var
	r uint8
}

func (g *fn) try(s *syntax.Try) {
	switch {
	case s.Finally != nil:
		g.tryFinally(s)
	default:
		g.tryCatch(s)
	}
}

func (g *fn) tryCatch(s *syntax.Try) {
	mark := g.next
	from := g.here()
	g.block(s.Body)
	to := g.here()
	end := g.emit(bytecode.OpJump, 0, 0, g.takeSteps(), 0)
	g.free(mark)
	r, inReg := uint8(0), false
	if s.Err != nil {
		r, inReg = g.variable(s.Err.Name)
	}
	if !inReg {
		r = g.temp()
	}
	g.handler(from, to, r, false)
	if s.Err != nil && !inReg {
		g.setSpilled(s.Err.Name, r, true)
	}
	g.free(mark)
	g.block(s.Catch)
	g.flush()
	g.patch(end)
}

// handler enters a handler for [from, to) that goes on at the next
// instruction.
func (g *fn) handler(from, to int, r uint8, tx bool) {
	if from == to {
		return
	}
	g.code.Handlers = append(g.code.Handlers, bytecode.Handler{From: int32(from), To: int32(to), Target: int32(g.here()), Reg: r, Transaction: tx})
}

func (g *fn) transaction(s *syntax.Transaction) {
	g.begin(s, "TRANSACTION", bytecode.ClassDB)
	step := g.step
	mark := g.next
	g.effect(bytecode.EffectTxBegin, g.temp(), 0)
	g.free(mark)
	g.txs++
	from := g.here()
	g.block(s.Body)
	g.pos, g.step = s.Pos(), step
	g.commitTo(g.txs - 1)
	to := g.here()
	end := g.emit(bytecode.OpJump, 0, 0, g.takeSteps(), 0)
	g.txs--
	r := g.temp()
	g.handler(from, to, r, true)
	g.effect(bytecode.EffectTxRollback, g.temp(), 0)
	g.emit(bytecode.OpRaise, r, 0, 0, 0)
	g.free(mark)
	g.patch(end)
}

// commitTo commits until only n transactions are open.
func (g *fn) commitTo(n int) {
	if g.txs > n {
		t := g.temp()
		g.effect(bytecode.EffectTxCommit, t, 0)
		g.free(int(t))
	}
}
