package compile

import (
	"ql/lang/bytecode"
	"ql/lang/source"
	"ql/lang/syntax"
)

// finally is a TRY with a FINALLY around the statement being compiled. Every way out of it
// leads to the one code of the FINALLY, with a note of how the rest was left; behind that
// code the note says where to go on. Programs so grow with their text, however deep such
// statements are nested.
type finally struct {
	how   uint8 // the register of the note: null, or one of the ends below
	value uint8 // what is returned, or the error that goes on
	txs   int   // TRANSACTIONs around it
	loops int   // loops around it
	exits []int // jumps to the code of the FINALLY
	ends  [endCount]end
}

// The ways out of a TRY that are not its end.
const (
	endFail = 1 + iota
	endBreak
	endContinue
	endReturn
	endCount
)

// end is a way out that some statement takes: the last of them.
type end struct {
	used bool
	pos  source.Pos
	step int32
}

// tryFinally compiles a TRY with a FINALLY. The registers of the note and the value hold
// something from the start on: the machine may stop anywhere in it.
func (g *fn) tryFinally(s *syntax.Try) {
	mark := g.next
	f := &finally{txs: g.txs, loops: len(g.loops), how: g.temp()}
	f.value = g.temp()
	g.pos = s.Pos()
	g.emit(bytecode.OpLoadNull, f.how, 1, 0, 0)
	g.finallies = append(g.finallies, f)
	from := g.here()
	if s.Catch != nil {
		g.tryCatch(s)
	} else {
		g.block(s.Body)
	}
	g.finallies = g.finallies[:len(g.finallies)-1]
	to := g.here()
	f.exits = append(f.exits, g.emit(bytecode.OpJump, 0, 0, g.takeSteps(), 0))
	g.handler(from, to, f.value, false)
	g.emit(bytecode.OpLoadI, f.how, 0, 0, endFail)
	g.patch(f.exits...)
	g.block(s.Finally)
	g.flush()
	g.pos = s.Pos()
	g.when(f, endFail, func() { g.emit(bytecode.OpRaise, f.value, 0, 0, 0) })
	if f.ends[endBreak].used {
		g.when(f, endBreak, g.breakLoop)
	}
	if f.ends[endContinue].used {
		g.when(f, endContinue, g.continueLoop)
	}
	if f.ends[endReturn].used {
		g.when(f, endReturn, func() {
			outer := g.finallyAround(false)
			if outer == nil {
				g.returnFrom(f.value, g.pos)
				return
			}
			g.emit(bytecode.OpMove, outer.value, f.value, 0, 0)
			g.leaveBy(outer, endReturn)
		})
	}
	g.free(mark)
}

// when goes on as the note says, where it says so.
func (g *fn) when(f *finally, how int, on func()) {
	mark, step := g.next, g.step
	no := g.emit(bytecode.OpJNeI, f.how, uint8(how), 0, 0)
	if e := f.ends[how]; e.used {
		g.pos, g.step = e.pos, e.step
	}
	on()
	g.step = step
	g.patch(no)
	g.free(mark)
}

// finallyAround returns the innermost FINALLY that a statement has to go through: in the
// same round of the innermost loop for one that ends the round.
func (g *fn) finallyAround(inRound bool) *finally {
	n := len(g.finallies)
	if n == 0 || inRound && g.finallies[n-1].loops < len(g.loops) {
		return nil
	}
	return g.finallies[n-1]
}

// leaveBy goes to the code of a FINALLY.
func (g *fn) leaveBy(f *finally, how int) {
	g.commitTo(f.txs)
	f.ends[how] = end{true, g.pos, g.step}
	g.emit(bytecode.OpLoadI, f.how, 0, 0, int32(how))
	f.exits = append(f.exits, g.emit(bytecode.OpJump, 0, 0, g.takeSteps(), 0))
}

func (g *fn) breakLoop() {
	if f := g.finallyAround(true); f != nil {
		g.leaveBy(f, endBreak)
		return
	}
	l := g.loops[len(g.loops)-1]
	g.commitTo(l.txs)
	l.breaks = append(l.breaks, g.emit(bytecode.OpJump, 0, 0, g.takeSteps(), 0))
}

func (g *fn) continueLoop() {
	if f := g.finallyAround(true); f != nil {
		g.leaveBy(f, endContinue)
		return
	}
	l := g.loops[len(g.loops)-1]
	g.commitTo(l.txs)
	p := g.pending
	g.pending = 0
	l.continues = append(l.continues, skip{g.emit(bytecode.OpJump, 0, 0, 0, 0), p})
}
