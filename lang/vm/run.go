package vm

import (
	"ql/lang/bytecode"
	"ql/lang/value"
)

// run is the loop. It keeps its place in a variable of its own and writes it
// back before anything that may look at the machine: an error, an allocation,
// an effect. Cases that continue with the next instruction say so; those
// that break out of the switch have an error to raise, or none to fetch.
//
// Only what short loops are made of is here, and of that only the common
// cases. The rest is in functions of its own: the compiler gives up on a loop
// that grows much larger than this one.
func (m *Machine) run() {
	pc := m.pc
	instrs := m.fn.words(m.fast)
	r := (*[window]value.Value)(m.stack[m.base:])
	for {
		in := instrs[pc]
		pc++
		var err *value.Error
		switch bytecode.Op(in) {
		case bytecode.OpLoadI:
			r[uint8(in>>8)].SetInt(int64(int32(in >> 32)))
			continue
		case bytecode.OpLoadBool:
			r[uint8(in>>8)].SetBool(uint8(in>>16) != 0)
			continue
		case bytecode.OpLoadK:
			r[uint8(in>>8)] = m.consts[in>>32]
			continue
		case bytecode.OpMove:
			if x := &r[uint8(in>>16)]; !x.CopyScalar(&r[uint8(in>>8)]) {
				r[uint8(in>>8)] = *x
			}
			continue
		case bytecode.OpCopy:
			if x := &r[uint8(in>>16)]; !x.CopyScalar(&r[uint8(in>>8)]) {
				r[uint8(in>>8)] = x.Share()
			}
			continue

		case bytecode.OpAdd:
			x, y := &r[uint8(in>>16)], &r[uint8(in>>24)]
			if x.IsInt() && y.IsInt() {
				a, b := x.Int64(), y.Int64()
				if s := a + b; (s^a)&(s^b) >= 0 {
					r[uint8(in>>8)].SetInt(s)
					continue
				}
			} else if x.IsFloat() && y.IsFloat() {
				f := x.Float64() + y.Float64()
				if value.IsBroken(f) {
					r[uint8(in>>8)].SetFloat(f)
					continue
				}
			}
			m.pc = pc
			if err = m.add(&r[uint8(in>>8)], x, y, in>>32 == 1); err == nil {
				continue
			}
		case bytecode.OpSub:
			x, y := &r[uint8(in>>16)], &r[uint8(in>>24)]
			if x.IsInt() && y.IsInt() {
				a, b := x.Int64(), y.Int64()
				if s := a - b; (a^b)&(a^s) >= 0 {
					r[uint8(in>>8)].SetInt(s)
					continue
				}
			} else if x.IsFloat() && y.IsFloat() {
				f := x.Float64() - y.Float64()
				if value.IsBroken(f) {
					r[uint8(in>>8)].SetFloat(f)
					continue
				}
			}
			m.pc = pc
			if err = m.arith(bytecode.OpSub, &r[uint8(in>>8)], x, y); err == nil {
				continue
			}
		case bytecode.OpMul:
			x, y := &r[uint8(in>>16)], &r[uint8(in>>24)]
			if x.IsFloat() && y.IsFloat() {
				f := x.Float64() * y.Float64()
				if value.IsBroken(f) {
					r[uint8(in>>8)].SetFloat(f)
					continue
				}
			} else if x.IsInt() && y.IsInt() {
				a, b := x.Int64(), y.Int64()
				if int64(int32(a)) == a && int64(int32(b)) == b {
					r[uint8(in>>8)].SetInt(a * b)
					continue
				}
			}
			m.pc = pc
			if err = m.arith(bytecode.OpMul, &r[uint8(in>>8)], x, y); err == nil {
				continue
			}
		case bytecode.OpDiv:
			x, y := &r[uint8(in>>16)], &r[uint8(in>>24)]
			if r[uint8(in>>8)].SetQuotient(x, y) {
				continue
			}
			m.pc = pc
			if err = m.arith(bytecode.OpDiv, &r[uint8(in>>8)], x, y); err == nil {
				continue
			}
		case bytecode.OpIDiv, bytecode.OpMod:
			m.pc = pc
			if err = m.arith(bytecode.Op(in), &r[uint8(in>>8)], &r[uint8(in>>16)], &r[uint8(in>>24)]); err == nil {
				continue
			}
		case bytecode.OpAddI:
			x, n := &r[uint8(in>>16)], int64(int32(in>>32))
			if x.IsInt() {
				a := x.Int64()
				if s := a + n; (s > a) == (n > 0) {
					r[uint8(in>>8)].SetInt(s)
					continue
				}
			} else if x.IsFloat() {
				f := x.Float64() + float64(n)
				if value.IsBroken(f) {
					r[uint8(in>>8)].SetFloat(f)
					continue
				}
			}
			m.pc = pc
			if err = m.addImmediate(&r[uint8(in>>8)], *x, n, uint8(in>>24)); err == nil {
				continue
			}
		case bytecode.OpAddK:
			if r[uint8(in>>8)].SetSum(&r[uint8(in>>16)], &m.consts[in>>32]) {
				continue
			}
			m.pc = pc
			if err = m.addConstant(&r[uint8(in>>8)], &r[uint8(in>>16)], &m.consts[in>>32], uint8(in>>24)); err == nil {
				continue
			}
		case bytecode.OpMulK:
			x, y := &r[uint8(in>>16)], &m.consts[in>>32]
			if x.IsFloat() {
				f := x.Float64() * y.Float()
				if value.IsBroken(f) {
					r[uint8(in>>8)].SetFloat(f)
					continue
				}
			} else if x.IsInt() && y.IsInt() {
				a, b := x.Int64(), y.Int64()
				if int64(int32(a)) == a && int64(int32(b)) == b {
					r[uint8(in>>8)].SetInt(a * b)
					continue
				}
			}
			m.pc = pc
			if err = m.mulConstant(&r[uint8(in>>8)], x, y, uint8(in>>24)); err == nil {
				continue
			}
		case bytecode.OpSubK:
			x, y := &r[uint8(in>>16)], &m.consts[in>>32]
			if x.IsFloat() {
				if f := x.Float64() - y.Float(); value.IsBroken(f) {
					r[uint8(in>>8)].SetFloat(f)
					continue
				}
			}
			m.pc = pc
			if err = m.arith(bytecode.OpSub, &r[uint8(in>>8)], x, y); err == nil {
				continue
			}
		case bytecode.OpDivK:
			if r[uint8(in>>8)].SetQuotient(&r[uint8(in>>16)], &m.consts[in>>32]) {
				continue
			}
			m.pc = pc
			if err = m.arith(bytecode.OpDiv, &r[uint8(in>>8)], &r[uint8(in>>16)], &m.consts[in>>32]); err == nil {
				continue
			}
		case bytecode.OpNeg:
			m.pc = pc
			if err = m.negate(&r[uint8(in>>8)], &r[uint8(in>>16)]); err == nil {
				continue
			}
		case bytecode.OpEq, bytecode.OpNe:
			m.pc = pc
			r[uint8(in>>8)].SetBool(value.Equal(&m.meter, r[uint8(in>>16)], r[uint8(in>>24)]) == (bytecode.Op(in) == bytecode.OpEq))
			continue
		case bytecode.OpLt, bytecode.OpLe:
			m.pc = pc
			if err = m.less(&r[uint8(in>>8)], &r[uint8(in>>16)], &r[uint8(in>>24)], in); err == nil {
				continue
			}
		case bytecode.OpModK:
			if x, y := &r[uint8(in>>16)], &m.consts[in>>32]; x.IsInt() && y.IsInt() && y.Int64() > 0 {
				r[uint8(in>>8)].SetInt(x.Int64() % y.Int64())
				continue
			}
			m.pc = pc
			if err = m.arith(bytecode.OpMod, &r[uint8(in>>8)], &r[uint8(in>>16)], &m.consts[in>>32]); err == nil {
				continue
			}
		case bytecode.OpIDivK:
			if x, y := &r[uint8(in>>16)], &m.consts[in>>32]; x.IsInt() && y.IsInt() && y.Int64() > 0 {
				r[uint8(in>>8)].SetInt(x.Int64() / y.Int64())
				continue
			}
			m.pc = pc
			if err = m.arith(bytecode.OpIDiv, &r[uint8(in>>8)], &r[uint8(in>>16)], &m.consts[in>>32]); err == nil {
				continue
			}

		case bytecode.OpJump:
			m.steps += int64(int8(in >> 24))
			pc = int(int32(in >> 32))
			continue
		case bytecode.OpJTrue:
			if r[uint8(in>>8)].Truthy() {
				pc = int(int32(in >> 32))
			}
			continue
		case bytecode.OpJFalse:
			if x := &r[uint8(in>>8)]; x.IsBool() {
				if !x.IsTrue() {
					pc = int(int32(in >> 32))
				}
			} else if !x.Truthy() {
				pc = int(int32(in >> 32))
			}
			continue
		case bytecode.OpJNotNull:
			if !r[uint8(in>>8)].IsNull() {
				pc = int(int32(in >> 32))
			}
			continue
		case bytecode.OpJNull:
			if r[uint8(in>>8)].IsNull() {
				pc = int(int32(in >> 32))
			}
			continue
		case bytecode.OpJEq, bytecode.OpJNe:
			x, y := &r[uint8(in>>8)], &r[uint8(in>>16)]
			m.pc = pc
			if value.Equal(&m.meter, *x, *y) == (bytecode.Op(in) == bytecode.OpJEq) {
				pc = int(int32(in >> 32))
			}
			continue
		case bytecode.OpJEqK, bytecode.OpJNeK:
			m.pc = pc
			if value.Equal(&m.meter, r[uint8(in>>8)], m.consts[uint16(in>>16)]) == (bytecode.Op(in) == bytecode.OpJEqK) {
				pc = int(int32(in >> 32))
			}
			continue
		case bytecode.OpJLt:
			x, y := &r[uint8(in>>8)], &r[uint8(in>>16)]
			if x.IsInt() && y.IsInt() {
				if x.Int64() < y.Int64() {
					pc = int(int32(in >> 32))
				}
				continue
			} else if x.IsFloat() && y.IsFloat() {
				if x.Float64() < y.Float64() {
					pc = int(int32(in >> 32))
				}
				continue
			}
			m.pc = pc
			var jump bool
			if jump, err = m.compares(x, y, in); err == nil {
				if jump {
					pc = int(int32(in >> 32))
				}
				continue
			}
		case bytecode.OpJGe:
			x, y := &r[uint8(in>>8)], &r[uint8(in>>16)]
			if x.IsInt() && y.IsInt() {
				if x.Int64() >= y.Int64() {
					pc = int(int32(in >> 32))
				}
				continue
			} else if x.IsFloat() && y.IsFloat() {
				if x.Float64() >= y.Float64() {
					pc = int(int32(in >> 32))
				}
				continue
			}
			m.pc = pc
			var jump bool
			if jump, err = m.compares(x, y, in); err == nil {
				if jump {
					pc = int(int32(in >> 32))
				}
				continue
			}
		case bytecode.OpJEqI:
			if x := &r[uint8(in>>8)]; x.IsInt() {
				if x.Int64() == int64(int16(in>>16)) {
					pc = int(int32(in >> 32))
				}
			} else if m.pc = pc; m.equalsImmediate(x, in) {
				pc = int(int32(in >> 32))
			}
			continue
		case bytecode.OpJNeI:
			if x := &r[uint8(in>>8)]; x.IsInt() {
				if x.Int64() != int64(int16(in>>16)) {
					pc = int(int32(in >> 32))
				}
			} else if m.pc = pc; !m.equalsImmediate(x, in) {
				pc = int(int32(in >> 32))
			}
			continue
		case bytecode.OpJLtI:
			if x := &r[uint8(in>>8)]; x.IsInt() {
				if x.Int64() < int64(int16(in>>16)) {
					pc = int(int32(in >> 32))
				}
				continue
			} else if x.IsFloat() {
				if x.Float64() < float64(int16(in>>16)) {
					pc = int(int32(in >> 32))
				}
				continue
			}
			m.pc = pc
			var jump bool
			if jump, err = m.comparesImmediate(&r[uint8(in>>8)], in); err == nil {
				if jump {
					pc = int(int32(in >> 32))
				}
				continue
			}
		case bytecode.OpJGeI:
			if x := &r[uint8(in>>8)]; x.IsInt() {
				if x.Int64() >= int64(int16(in>>16)) {
					pc = int(int32(in >> 32))
				}
				continue
			} else if x.IsFloat() {
				if x.Float64() >= float64(int16(in>>16)) {
					pc = int(int32(in >> 32))
				}
				continue
			}
			m.pc = pc
			var jump bool
			if jump, err = m.comparesImmediate(&r[uint8(in>>8)], in); err == nil {
				if jump {
					pc = int(int32(in >> 32))
				}
				continue
			}
		case bytecode.OpJLeI:
			if x := &r[uint8(in>>8)]; x.IsInt() {
				if x.Int64() <= int64(int16(in>>16)) {
					pc = int(int32(in >> 32))
				}
				continue
			} else if x.IsFloat() {
				if x.Float64() <= float64(int16(in>>16)) {
					pc = int(int32(in >> 32))
				}
				continue
			}
			m.pc = pc
			var jump bool
			if jump, err = m.comparesImmediate(&r[uint8(in>>8)], in); err == nil {
				if jump {
					pc = int(int32(in >> 32))
				}
				continue
			}
		case bytecode.OpJGtI:
			if x := &r[uint8(in>>8)]; x.IsInt() {
				if x.Int64() > int64(int16(in>>16)) {
					pc = int(int32(in >> 32))
				}
				continue
			} else if x.IsFloat() {
				if x.Float64() > float64(int16(in>>16)) {
					pc = int(int32(in >> 32))
				}
				continue
			}
			m.pc = pc
			var jump bool
			if jump, err = m.comparesImmediate(&r[uint8(in>>8)], in); err == nil {
				if jump {
					pc = int(int32(in >> 32))
				}
				continue
			}

		case bytecode.OpJLtK, bytecode.OpJGeK, bytecode.OpJLeK, bytecode.OpJGtK:
			m.pc = pc
			var jump bool
			if jump, err = m.compares(&r[uint8(in>>8)], &m.consts[uint16(in>>16)], in); err == nil {
				if jump {
					pc = int(int32(in >> 32))
				}
				continue
			}

		case bytecode.OpLoop:
			m.steps += int64(int8(in >> 24))
			if m.meter.Fuel -= int64(pc) - int64(int32(in>>32)); m.meter.Fuel < 0 {
				m.pc = pc
				m.meter.Refill()
			}
			pc = int(int32(in >> 32))
			if !m.fast && m.steps >= m.traceFirst {
				pc = m.quicken(pc)
				instrs = m.fn.words(m.fast)
			}
			continue
		case bytecode.OpLoopLt, bytecode.OpLoopLe:
			m.steps += int64(int8(in >> 24))
			x, y := &r[uint8(in>>8)], &r[uint8(in>>16)]
			if x.IsInt() && y.IsInt() {
				if a, b := x.Int64(), y.Int64(); a > b || a == b && bytecode.Op(in) == bytecode.OpLoopLt {
					continue
				}
			} else {
				m.pc = pc
				var again bool
				if again, err = m.loopAgain(x, y, in); err != nil {
					break
				}
				if !again {
					continue
				}
			}
			if m.meter.Fuel -= int64(pc) - int64(int32(in>>32)); m.meter.Fuel < 0 {
				m.pc = pc
				m.meter.Refill()
			}
			pc = int(int32(in >> 32))
			if !m.fast && m.steps >= m.traceFirst {
				pc = m.quicken(pc)
				instrs = m.fn.words(m.fast)
			}
			continue
		case bytecode.OpForLoop:
			m.steps += int64(int8(in >> 24))
			left := &r[uint8(in>>8)+1]
			if left.Int64() == 0 {
				continue
			}
			left.SetInt(left.Int64() - 1)
			if x, step := &r[uint8(in>>8)], &r[uint8(in>>8)+2]; step.IsInt() {
				i := x.Int64() + step.Int64()
				x.SetInt(i)
				r[uint8(in>>16)].SetInt(i)
			} else {
				forNext(r, uint8(in>>8), uint8(in>>16))
			}
			if m.meter.Fuel -= int64(pc) - int64(int32(in>>32)); m.meter.Fuel < 0 {
				m.pc = pc
				m.meter.Refill()
			}
			pc = int(int32(in >> 32))
			if !m.fast && m.steps >= m.traceFirst {
				pc = m.quicken(pc)
				instrs = m.fn.words(m.fast)
			}
			continue
		case bytecode.OpIterNext, bytecode.OpIterNext2:
			if !m.iterNext(r, in) {
				continue
			}
			if m.meter.Fuel -= int64(pc) - int64(int32(in>>32)); m.meter.Fuel < 0 {
				m.pc = pc
				m.meter.Refill()
			}
			pc = int(int32(in >> 32))
			if !m.fast && m.steps >= m.traceFirst {
				pc = m.quicken(pc)
				instrs = m.fn.words(m.fast)
			}
			continue

		case bytecode.OpGet:
			c, k := &r[uint8(in>>16)], &r[uint8(in>>24)]
			if k.IsInt() && c.IsList() && c.List().LoadPacked(k.Int64(), &r[uint8(in>>8)]) {
				continue
			}
			if value.LoadElement(&r[uint8(in>>8)], c, k, in>>32 == 0) {
				continue
			}
			m.pc = pc
			if err = m.get(&r[uint8(in>>8)], c, *k, in>>32 == 0); err == nil {
				continue
			}
		case opGetField:
			next := instrs[pc]
			m.pc = pc
			if value.LoadElementField(&r[uint8(next>>8)], &r[uint8(in>>16)], &r[uint8(in>>24)], &m.consts[next>>32], &m.hints[next>>32], uint8(next>>24) == 0) {
				pc = m.pc + 1
				continue
			}
			if err = m.get(&r[uint8(in>>8)], &r[uint8(in>>16)], r[uint8(in>>24)], false); err == nil {
				continue
			}
		case bytecode.OpGetK:
			if value.LoadField(&r[uint8(in>>8)], &r[uint8(in>>16)], &m.consts[in>>32], &m.hints[in>>32], uint8(in>>24) == 0) {
				continue
			}
			m.pc = pc
			if err = m.get(&r[uint8(in>>8)], &r[uint8(in>>16)], m.consts[in>>32], uint8(in>>24) == 0); err == nil {
				continue
			}
		case bytecode.OpGetN:
			if err = m.get(&r[uint8(in>>8)], &r[uint8(in>>16)], value.Int(int64(int32(in>>32))), uint8(in>>24) == 0); err == nil {
				continue
			}
		case bytecode.OpSet:
			c, k, v := &r[uint8(in>>8)], &r[uint8(in>>16)], &r[uint8(in>>24)]
			if k.IsInt() && c.IsList() && c.List().StorePacked(k.Int64(), *v) {
				continue
			}
			if value.StoreElement(c, k, v) {
				continue
			}
			m.pc = pc
			if err = m.set(c, *k, *v, in>>32 == 1); err == nil {
				continue
			}
		case opSetField:
			key, set := instrs[pc]>>32, instrs[pc+1]
			m.pc = pc
			if value.StoreElementField(&r[uint8(set>>8)], &r[uint8(in>>16)], &m.consts[key], &m.hints[key], &r[uint8(set>>32)]) {
				pc = m.pc + 2
				continue
			}
			if x := &r[uint8(in>>16)]; !x.CopyScalar(&r[uint8(in>>8)]) {
				r[uint8(in>>8)] = *x
			}
			continue
		case bytecode.OpSetK:
			if value.StoreField(&r[uint8(in>>8)], &m.consts[in>>32], &m.hints[in>>32], &r[uint8(in>>16)]) {
				continue
			}
			m.pc = pc
			if err = m.set(&r[uint8(in>>8)], m.consts[in>>32], r[uint8(in>>16)], uint8(in>>24) == 1); err == nil {
				continue
			}
		case bytecode.OpAppend, bytecode.OpPush:
			c, v := &r[uint8(in>>8)], &r[uint8(in>>16)]
			if c.IsList() && c.List().PushPacked(*v) {
				continue
			}
			m.pc = pc
			if err = m.append(c, *v, uint8(in>>24) == 1); err == nil {
				continue
			}
		case bytecode.OpText:
			m.pc = pc
			if err = m.text(&r[uint8(in>>8)], &m.prog.Templates[in>>32], r[uint8(in>>16):]); err == nil {
				continue
			}

		case bytecode.OpCall:
			if m.meter.Fuel -= 4; len(m.frames) >= m.limits.CallDepth || m.meter.Fuel < 0 {
				m.pc = pc
				m.checkCall()
			}
			m.frames = append(m.frames, frame{m.fn, int32(pc), int32(m.base), m.fast})
			m.base += int(uint8(in >> 8))
			if m.base+window > len(m.stack) {
				m.growStack(m.base + window)
			}
			m.fn = &m.link.funcs[in>>32]
			if m.fast || m.steps >= m.traceFirst {
				m.fast = true
				instrs = m.fn.fast
			} else {
				instrs = m.fn.traced
			}
			pc = 0
			r = (*[window]value.Value)(m.stack[m.base:])
			continue
		case bytecode.OpReturn:
			m.steps += int64(int8(in >> 24))
			if m.meter.Fuel -= int64(pc); m.meter.Fuel < 0 {
				m.pc = pc
				m.meter.Refill()
			}
			if v := &r[uint8(in>>8)]; !v.CopyScalar(&r[0]) {
				r[0] = *v
			}
			n := len(m.frames) - 1
			f := &m.frames[n]
			pc = int(f.pc)
			m.fn, m.base, m.fast = f.fn, int(f.base), f.fast
			m.frames = m.frames[:n]
			if m.fast {
				instrs = m.fn.fast
			} else {
				instrs = m.fn.traced
			}
			r = (*[window]value.Value)(m.stack[m.base:])
			continue
		case bytecode.OpBuiltin:
			m.pc = pc
			a := uint8(in >> 8)
			if err = m.builtin(&r[a], int32(in>>32), r[a:int(a)+int(uint8(in>>16))]); err == nil {
				continue
			}
		case bytecode.OpStep:
			if m.steps < m.traceFirst {
				m.trace.begin(m, int32(in>>32))
			} else {
				m.trace.endBefore(len(m.frames))
			}
			m.steps++
			continue
		case bytecode.OpSteps:
			m.steps += int64(in >> 32)
			continue
		default:
			m.pc = pc
			if err = m.execRare(r, in); err == nil {
				if m.status != Ready {
					return
				}
				pc = m.pc
				continue
			}
		}
		m.pc = pc
		if !m.raise(err) {
			return
		}
		pc = m.pc
		instrs = m.fn.words(m.fast)
		r = (*[window]value.Value)(m.stack[m.base:])
	}
}
