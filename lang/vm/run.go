package vm

import (
	"math"
	"math/bits"

	"ql/lang/bytecode"
	"ql/lang/value"
)

// place is where the loop works: the words of the code that the machine is in, and the
// registers of its frame.
type place struct {
	words []uint64
	r     *[window]value.Value
}

// enter makes p the place that the machine is at. It stays a call, so that a place is in
// memory, where the loop finds it again after others.
//
//go:noinline
func (m *Machine) enter(p *place) {
	p.words = m.fn.words(m.fast)
	p.r = (*[window]value.Value)(m.stack[m.base:])
}

// run is the loop. It keeps its place in variables of its own, and uses none of them after a
// call: it writes m.pc back before each, breaks out of the switch after it, and reads all of them
// anew. Were one needed after a call in any of the cases, the compiler would write it to memory before
// each instruction. Cases that call nothing continue with the next instruction at once; those
// that break out of the switch have an error to raise, or none.
//
// Only what short loops are made of is here, and of that only the common
// cases. The rest is in functions of its own: of a function with more than 5000 nodes of
// syntax, before anything is put into it, the compiler makes calls of nearly all that it would put into a smaller
// one, and each instruction takes half as long again. So the parts of an instruction are small functions, too, which are
// fewer nodes than what they stand for. TestLoopHasNoSmallCalls fails where it has become too large.
func (m *Machine) run() {
	var at place
	m.enter(&at)
	for {
		pc, instrs, r := m.pc, at.words, at.r
		var err *value.Error
		for {
			in := instrs[pc]
			pc++
			switch bytecode.Op(in) {
			case bytecode.OpLoadI:
				r[opA(in)].SetInt(number(in))
				continue
			case bytecode.OpLoadBool:
				r[opA(in)].SetBool(opB(in) != 0)
				continue
			case bytecode.OpLoadK:
				r[opA(in)] = m.consts[in>>32]
				continue
			case bytecode.OpMove:
				if x := &r[opB(in)]; !x.CopyScalar(&r[opA(in)]) {
					r[opA(in)] = *x
				}
				continue
			case bytecode.OpCopy:
				if x := &r[opB(in)]; !x.CopyScalar(&r[opA(in)]) {
					r[opA(in)] = x.Share()
				}
				continue

			case opTwoCopies:
				if x := &r[opB(in)]; !x.CopyScalar(&r[opA(in)]) {
					r[opA(in)] = x.Share()
					continue
				}
				next := instrs[pc]
				if x := &r[opB(next)]; x.CopyScalar(&r[opA(next)]) {
					pc++
				}
				continue

			case bytecode.OpAdd:
				x, y := &r[opB(in)], &r[opC(in)]
				if x.IsInt() && y.IsInt() {
					a, b := x.Int64(), y.Int64()
					if s := a + b; (s^a)&(s^b) >= 0 {
						r[opA(in)].SetInt(s)
						continue
					}
				} else if x.IsFloat() && y.IsFloat() {
					if f := x.Float64() + y.Float64(); value.IsBroken(f) {
						r[opA(in)].SetFloat(f)
						continue
					}
				}
				m.pc = pc
				err = m.addSlowly(r, in)
			case bytecode.OpSub:
				x, y := &r[opB(in)], &r[opC(in)]
				if x.IsInt() && y.IsInt() {
					a, b := x.Int64(), y.Int64()
					if s := a - b; (a^b)&(a^s) >= 0 {
						r[opA(in)].SetInt(s)
						continue
					}
				} else if x.IsFloat() && y.IsFloat() {
					if f := x.Float64() - y.Float64(); value.IsBroken(f) {
						r[opA(in)].SetFloat(f)
						continue
					}
				}
				m.pc = pc
				err = m.arithmetic(r, in)
			case bytecode.OpMul:
				x, y := &r[opB(in)], &r[opC(in)]
				if x.IsFloat() && y.IsFloat() {
					if f := x.Float64() * y.Float64(); value.IsBroken(f) {
						r[opA(in)].SetFloat(f)
						continue
					}
				} else if x.IsInt() && y.IsInt() {
					a, b := x.Int64(), y.Int64()
					if areSmall(a, b) {
						r[opA(in)].SetInt(a * b)
						continue
					}
				}
				m.pc = pc
				err = m.arithmetic(r, in)
			case opMulAdd:
				x, y, next := &r[opB(in)], &r[opC(in)], instrs[pc]
				// The operand that is not the product.
				z := &r[opB(next)^opC(next)^opA(in)]
				if x.IsFloat() && y.IsFloat() && z.IsFloat() {
					// The conversion keeps machines from rounding once for both.
					if f := float64(x.Float64()*y.Float64()) + z.Float64(); value.IsBroken(f) {
						r[opA(next)].SetFloat(f)
						pc++
						continue
					}
				} else if x.IsInt() && y.IsInt() {
					a, b := x.Int64(), y.Int64()
					if areSmall(a, b) {
						if a *= b; z.IsInt() {
							b = z.Int64()
							if s := a + b; (s^a)&(s^b) >= 0 {
								r[opA(next)].SetInt(s)
								pc++
								continue
							}
						}
						r[opA(in)].SetInt(a)
						continue
					}
				}
				m.pc = pc
				err = m.multiply(&at)
			case opMulSub:
				x, y, next := &r[opB(in)], &r[opC(in)], instrs[pc]
				z := &r[opB(next)^opC(next)^opA(in)]
				if x.IsFloat() && y.IsFloat() && z.IsFloat() {
					f := float64(x.Float64()*y.Float64()) - z.Float64()
					if opC(next) == opA(in) {
						f = -f
					}
					if value.IsBroken(f) {
						r[opA(next)].SetFloat(f)
						pc++
						continue
					}
				} else if x.IsInt() && y.IsInt() {
					a, b := x.Int64(), y.Int64()
					if areSmall(a, b) {
						r[opA(in)].SetInt(a * b)
						continue
					}
				}
				m.pc = pc
				err = m.multiply(&at)
			case opMulMul:
				x, y := &r[opB(in)], &r[opC(in)]
				if x.IsFloat() && y.IsFloat() {
					f, next, then := float64(x.Float64()*y.Float64()), instrs[pc], instrs[pc+1]
					if x, y := &r[opB(next)], &r[opC(next)]; x.IsFloat() && y.IsFloat() {
						second := float64(x.Float64() * y.Float64())
						if bytecode.Op(then) == bytecode.OpSub {
							second = -second
						}
						if f += second; value.IsBroken(f) {
							r[opA(then)].SetFloat(f)
							pc += 2
							continue
						}
					}
				} else if x.IsInt() && y.IsInt() {
					a, b := x.Int64(), y.Int64()
					if areSmall(a, b) {
						r[opA(in)].SetInt(a * b)
						continue
					}
				}
				m.pc = pc
				err = m.multiply(&at)
			case opAddAddI:
				x, y, next := &r[opB(in)], &r[opC(in)], instrs[pc]
				if x.IsInt() && y.IsInt() {
					a, b, n := x.Int64(), y.Int64(), number(next)
					if s := a + b; (s^a)&(s^b) >= 0 {
						if t := s + n; (t > s) == (n > 0) {
							r[opA(next)].SetInt(t)
							pc++
							continue
						}
						r[opA(in)].SetInt(s)
						continue
					}
				} else if x.IsFloat() && y.IsFloat() {
					if f := x.Float64() + y.Float64(); value.IsBroken(f) {
						r[opA(in)].SetFloat(f)
						continue
					}
				}
				m.pc = pc
				err = m.addSlowly(r, in)
			case bytecode.OpDiv:
				x, y := &r[opB(in)], &r[opC(in)]
				if x.IsFloat() && y.IsFloat() {
					if f := x.Float64() / y.Float64(); value.IsBroken(f) {
						r[opA(in)].SetFloat(f)
						continue
					}
				} else if x.IsInt() && y.IsInt() {
					a, b := x.Int64(), y.Int64()
					if areSmall(a, b) {
						if f := float64(a) / float64(b); value.IsBroken(f) {
							r[opA(in)].SetFloat(f)
							continue
						}
					}
				}
				m.pc = pc
				if !r[opA(in)].SetQuotient(x, y) {
					err = m.arithmetic(at.r, at.words[m.pc-1])
				}
			case bytecode.OpIDiv, bytecode.OpMod:
				m.pc = pc
				err = m.arithmetic(r, in)
			case bytecode.OpAddI:
				x, n := &r[opB(in)], number(in)
				if x.IsInt() {
					a := x.Int64()
					if s := a + n; (s > a) == (n > 0) {
						r[opA(in)].SetInt(s)
						continue
					}
				} else if x.IsFloat() {
					if f := x.Float64() + float64(n); value.IsBroken(f) {
						r[opA(in)].SetFloat(f)
						continue
					}
				}
				m.pc = pc
				err = m.addSlowly(r, in)
			case bytecode.OpAddK:
				x, y := &r[opB(in)], &m.consts[in>>32]
				if x.IsFloat() && y.IsNumber() {
					if f := x.Float64() + y.Float(); value.IsBroken(f) {
						r[opA(in)].SetFloat(f)
						continue
					}
				}
				m.pc = pc
				err = m.addSlowly(r, in)
			case bytecode.OpMulK:
				x, y := &r[opB(in)], &m.consts[in>>32]
				if x.IsFloat() {
					if f := x.Float64() * y.Float(); value.IsBroken(f) {
						r[opA(in)].SetFloat(f)
						continue
					}
				} else if x.IsInt() && y.IsInt() {
					a, b := x.Int64(), y.Int64()
					if areSmall(a, b) {
						r[opA(in)].SetInt(a * b)
						continue
					}
				}
				m.pc = pc
				err = m.arithmetic(r, in)
			case bytecode.OpSubK:
				x, y := &r[opB(in)], &m.consts[in>>32]
				if x.IsFloat() {
					if f := x.Float64() - y.Float(); value.IsBroken(f) {
						r[opA(in)].SetFloat(f)
						continue
					}
				}
				m.pc = pc
				err = m.arithmetic(r, in)
			case bytecode.OpDivK:
				x, y := &r[opB(in)], &m.consts[in>>32]
				if x.IsFloat() {
					if f := x.Float64() / y.Float(); value.IsBroken(f) {
						r[opA(in)].SetFloat(f)
						continue
					}
				} else if x.IsInt() && y.IsInt() {
					// Divided by a power of two that it has.
					if a, b := x.Int64(), y.Int64(); b > 0 && (a|b)&(b-1) == 0 {
						r[opA(in)].SetInt(a >> bits.TrailingZeros64(uint64(b)))
						continue
					}
				}
				m.pc = pc
				if !r[opA(in)].SetQuotient(x, y) {
					err = m.arithmetic(at.r, at.words[m.pc-1])
				}
			case bytecode.OpNeg:
				x := &r[opB(in)]
				if x.IsFloat() {
					r[opA(in)].SetFloat(-x.Float64()) // broken, or large and whole, as x is
					continue
				}
				m.pc = pc
				err = m.negate(r, in)
			case bytecode.OpEq, bytecode.OpNe:
				x, y := &r[opB(in)], &r[opC(in)]
				if x.IsInt() && y.IsInt() {
					r[opA(in)].SetBool((x.Int64() == y.Int64()) == (bytecode.Op(in) == bytecode.OpEq))
					continue
				}
				m.pc = pc
				m.equals(r, in)
			case bytecode.OpLt, bytecode.OpLe:
				m.pc = pc
				err = m.less(r, in)
			case bytecode.OpModK:
				x, y := &r[opB(in)], &m.consts[in>>32]
				if x.IsInt() && y.IsInt() && y.Int64() > 0 {
					r[opA(in)].SetInt(x.Int64() % y.Int64())
					continue
				}
				m.pc = pc
				err = m.arithmetic(r, in)
			case bytecode.OpIDivK:
				x, y := &r[opB(in)], &m.consts[in>>32]
				if x.IsInt() && y.IsInt() && y.Int64() > 0 {
					r[opA(in)].SetInt(x.Int64() / y.Int64())
					continue
				}
				m.pc = pc
				err = m.arithmetic(r, in)

			case bytecode.OpJump:
				m.steps += steps(in)
				pc = target(in)
				continue
			case bytecode.OpJTrue:
				if x := &r[opA(in)]; x.IsBool() {
					if x.IsTrue() {
						pc = target(in)
					}
					continue
				}
				m.pc = pc
				m.jumpIf(r, in)
			case bytecode.OpJFalse:
				if x := &r[opA(in)]; x.IsBool() {
					if !x.IsTrue() {
						pc = target(in)
					}
					continue
				}
				m.pc = pc
				m.jumpIf(r, in)
			case bytecode.OpJNotNull:
				if !r[opA(in)].IsNull() {
					pc = target(in)
				}
				continue
			case bytecode.OpJNull:
				if r[opA(in)].IsNull() {
					pc = target(in)
				}
				continue
			case bytecode.OpJEq, bytecode.OpJNe:
				x, y := &r[opA(in)], &r[opB(in)]
				if x.IsInt() && y.IsInt() {
					if (x.Int64() == y.Int64()) == (bytecode.Op(in) == bytecode.OpJEq) {
						pc = target(in)
					}
					continue
				}
				m.pc = pc
				m.jumpIfEqual(r, in)
			case bytecode.OpJEqK, bytecode.OpJNeK:
				m.pc = pc
				m.jumpIfEqual(r, in)
			case bytecode.OpJLt:
				x, y := &r[opA(in)], &r[opB(in)]
				if x.IsInt() && y.IsInt() {
					if x.Int64() < y.Int64() {
						pc = target(in)
					}
					continue
				} else if x.IsFloat() && y.IsFloat() {
					if x.Float64() < y.Float64() {
						pc = target(in)
					}
					continue
				}
				m.pc = pc
				err = m.jumpCompared(r, in)
			case bytecode.OpJGe:
				x, y := &r[opA(in)], &r[opB(in)]
				if x.IsInt() && y.IsInt() {
					if x.Int64() >= y.Int64() {
						pc = target(in)
					}
					continue
				} else if x.IsFloat() && y.IsFloat() {
					if x.Float64() >= y.Float64() {
						pc = target(in)
					}
					continue
				}
				m.pc = pc
				err = m.jumpCompared(r, in)
			case bytecode.OpJEqI:
				if x := &r[opA(in)]; x.IsInt() {
					if x.Int64() == short(in) {
						pc = target(in)
					}
					continue
				}
				m.pc = pc
				m.jumpIfEqual(r, in)
			case bytecode.OpJNeI:
				if x := &r[opA(in)]; x.IsInt() {
					if x.Int64() != short(in) {
						pc = target(in)
					}
					continue
				}
				m.pc = pc
				m.jumpIfEqual(r, in)
			case bytecode.OpJLtI:
				if x := &r[opA(in)]; x.IsInt() {
					if x.Int64() < short(in) {
						pc = target(in)
					}
					continue
				} else if x.IsFloat() {
					if x.Float64() < float64(short(in)) {
						pc = target(in)
					}
					continue
				}
				m.pc = pc
				err = m.jumpCompared(r, in)
			case bytecode.OpJGeI:
				if x := &r[opA(in)]; x.IsInt() {
					if x.Int64() >= short(in) {
						pc = target(in)
					}
					continue
				} else if x.IsFloat() {
					if x.Float64() >= float64(short(in)) {
						pc = target(in)
					}
					continue
				}
				m.pc = pc
				err = m.jumpCompared(r, in)
			case bytecode.OpJLeI:
				if x := &r[opA(in)]; x.IsInt() {
					if x.Int64() <= short(in) {
						pc = target(in)
					}
					continue
				} else if x.IsFloat() {
					if x.Float64() <= float64(short(in)) {
						pc = target(in)
					}
					continue
				}
				m.pc = pc
				err = m.jumpCompared(r, in)
			case bytecode.OpJGtI:
				if x := &r[opA(in)]; x.IsInt() {
					if x.Int64() > short(in) {
						pc = target(in)
					}
					continue
				} else if x.IsFloat() {
					if x.Float64() > float64(short(in)) {
						pc = target(in)
					}
					continue
				}
				m.pc = pc
				err = m.jumpCompared(r, in)
			case bytecode.OpJLtK, bytecode.OpJGeK, bytecode.OpJLeK, bytecode.OpJGtK:
				m.pc = pc
				err = m.jumpCompared(r, in)

			case bytecode.OpLoop:
				m.steps += steps(in)
				to := target(in)
				if m.goesBack(pc - to) {
					pc = to
					continue
				}
				m.pc = pc
				m.loop(&at, in)
			case bytecode.OpLoopLt, bytecode.OpLoopLe:
				m.steps += steps(in)
				x, y := &r[opA(in)], &r[opB(in)]
				if x.IsInt() && y.IsInt() {
					if a, b := x.Int64(), y.Int64(); a > b || a == b && bytecode.Op(in) == bytecode.OpLoopLt {
						continue
					}
					to := target(in)
					if m.goesBack(pc - to) {
						pc = to
						continue
					}
					m.pc = pc
					m.loop(&at, in)
					break
				}
				m.pc = pc
				err = m.loopCompared(&at, r, in)
			case opAddLoopLt:
				x, n := &r[opB(in)], number(in)
				if !x.IsInt() {
					m.pc = pc
					err = m.addConstant(r, in)
					break
				}
				a := x.Int64()
				a += n
				if (a > x.Int64()) != (n > 0) {
					m.pc = pc
					err = m.addConstant(r, in)
					break
				}
				r[opA(in)].SetInt(a)
				next := instrs[pc]
				x, y := &r[opA(next)], &r[opB(next)]
				if !x.IsInt() || !y.IsInt() {
					continue
				}
				pc++
				m.steps += steps(next)
				if x.Int64() >= y.Int64() {
					continue
				}
				to := target(next)
				if m.goesBack(pc - to) {
					pc = to
					continue
				}
				m.pc = pc
				m.loop(&at, next)
			case bytecode.OpForLoop:
				m.steps += steps(in)
				left := &r[opA(in)+1]
				if left.Int64() == 0 {
					continue
				}
				left.SetInt(left.Int64() - 1)
				if x, step := &r[opA(in)], &r[opA(in)+2]; step.IsInt() {
					i := x.Int64() + step.Int64()
					x.SetInt(i)
					r[opB(in)].SetInt(i)
					to := target(in)
					if m.goesBack(pc - to) {
						pc = to
						continue
					}
					m.pc = pc
					m.loop(&at, in)
					break
				}
				m.pc = pc
				m.loopBroken(&at, r, in)
			case bytecode.OpIterNext, bytecode.OpIterNext2:
				m.pc = pc
				m.loopThrough(&at, r, in)

			case bytecode.OpGet:
				c, k := &r[opB(in)], &r[opC(in)]
				if k.IsInt() && c.IsList() && c.List().LoadPacked(k.Int64(), &r[opA(in)]) {
					continue
				}
				m.pc = pc
				if !value.LoadElement(&r[opA(in)], c, k, in>>32 == 0) {
					err = m.get(at.r, at.words[m.pc-1])
				}
			case opGetField:
				next := instrs[pc]
				m.pc = pc + 1
				c, k, key, hint := &r[opB(in)], &r[opC(in)], &m.consts[next>>32], &m.hints[next>>32]
				if !value.LoadElementField(&r[opA(next)], c, k, key, hint, opC(next) == 0) {
					m.pc--
					err = m.get(at.r, at.words[m.pc-1])
				}
			case opTwoFields:
				m.pc = pc
				err = m.twoFields(&at)
			case opUpdateField:
				m.pc = pc
				err = m.updateField(&at)
			case opUpdateByProduct:
				m.pc = pc
				err = m.updateByProduct(&at)
			case opUpdateEntry:
				m.pc = pc
				err = m.updateEntry(&at)
			case opUpdateOrAdd:
				m.pc = pc
				err = m.updateOrAdd(&at)
			case bytecode.OpGetK:
				m.pc = pc
				if !value.LoadField(&r[opA(in)], &r[opB(in)], &m.consts[in>>32], &m.hints[in>>32], opC(in) == 0) {
					err = m.getConstant(at.r, at.words[m.pc-1])
				}
			case bytecode.OpGetN:
				m.pc = pc
				if !value.LoadIndex(&r[opA(in)], &r[opB(in)], number(in), opC(in) == 0) {
					err = m.getNumber(at.r, at.words[m.pc-1])
				}
			case bytecode.OpSet:
				c, k, v := &r[opA(in)], &r[opB(in)], &r[opC(in)]
				if k.IsInt() && c.IsList() && c.List().StorePacked(k.Int64(), *v) {
					continue
				}
				m.pc = pc
				err = m.set(r, in)
			case opSetAt:
				set := instrs[pc]
				c, k, v := &r[opA(set)], &r[opB(in)], &r[opC(set)]
				if k.IsInt() && c.IsList() {
					i := k.Int64()
					if c.List().StorePacked(i, *v) {
						pc++
					}
					r[opA(in)].SetInt(i)
					continue
				}
				m.pc = pc
				m.move(r, in)
			case opSetAtI:
				set, i := instrs[pc], number(in)
				c, v := &r[opA(set)], &r[opC(set)]
				if c.IsList() && c.List().StorePacked(i, *v) {
					pc++
				}
				r[opA(in)].SetInt(i)
				continue
			case opSetField:
				key, set := instrs[pc]>>32, instrs[pc+1]
				m.pc = pc + 2
				if !value.StoreElementField(&r[opA(set)], &r[opB(in)], &m.consts[key], &m.hints[key], &r[uint8(set>>32)]) {
					m.pc -= 2
					m.move(at.r, at.words[m.pc-1])
				}
			case bytecode.OpSetK:
				m.pc = pc
				if !value.StoreField(&r[opA(in)], &m.consts[in>>32], &m.hints[in>>32], &r[opB(in)]) {
					err = m.setConstant(at.r, at.words[m.pc-1])
				}
			case bytecode.OpAppend, bytecode.OpPush:
				c, v := &r[opA(in)], &r[opB(in)]
				if c.IsList() && c.List().PushPacked(*v) {
					continue
				}
				m.pc = pc
				err = m.append(r, in)
			case bytecode.OpText:
				m.pc = pc
				err = m.text(r, in)

			case bytecode.OpCall:
				n, base := len(m.frames), m.base+int(opA(in))
				if m.meter.Fuel -= 4; n >= m.limits.CallDepth || m.meter.Fuel < 0 || n >= cap(m.frames) || base+window > len(m.stack) {
					m.pc = pc
					m.callInNewRoom(&at, in)
					break
				}
				m.frames = m.frames[:n+1]
				m.frames[n] = frame{m.fn, int32(pc), int32(m.base), m.fast}
				m.base = base
				m.fn = &m.link.funcs[in>>32]
				if m.fast || m.steps >= m.traceFirst {
					m.fast = true
					at.words = m.fn.fast
				} else {
					at.words = m.fn.traced
				}
				pc = 0
				instrs = at.words
				r = (*[window]value.Value)(m.stack[base:])
				at.r = r
				continue
			case bytecode.OpReturn:
				m.steps += steps(in)
				if m.meter.Fuel -= int64(pc); m.meter.Fuel < 0 {
					m.pc = pc
					m.returnRefilled(&at, r, in)
					break
				}
				if v := &r[opA(in)]; !v.CopyScalar(&r[0]) {
					r[0] = *v
				}
				n := len(m.frames) - 1
				f := &m.frames[n]
				pc = int(f.pc)
				m.fn, m.base, m.fast = f.fn, int(f.base), f.fast
				m.frames = m.frames[:n]
				if m.fast {
					at.words = m.fn.fast
				} else {
					at.words = m.fn.traced
				}
				instrs = at.words
				r = (*[window]value.Value)(m.stack[m.base:])
				at.r = r
				continue
			case bytecode.OpBuiltin:
				m.pc = pc
				err = m.builtin(r, in)
			case opSqrt:
				if x := &r[opA(in)]; x.IsFloat() && m.meter.Fuel >= builtinCost {
					if f := math.Sqrt(x.Float64()); value.IsBroken(f) {
						m.meter.Fuel -= builtinCost
						x.SetFloat(f)
						continue
					}
				}
				m.pc = pc
				err = m.builtin(r, in)
			case bytecode.OpStep:
				m.pc = pc
				m.step(int32(in >> 32))
			case bytecode.OpSteps:
				m.steps += int64(in >> 32)
				continue
			default:
				m.pc = pc
				if err = m.execRare(r, in); m.status != Ready {
					return
				}
			}
			break
		}
		if err != nil {
			if !m.raise(err) {
				return
			}
			m.enter(&at)
		}
	}
}
