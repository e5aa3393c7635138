package vm

import (
	"ql/lang/bytecode"
	"ql/lang/value"
)

// run is the loop. It keeps the current frame in variables of its own and
// writes them back before anything that may look at the machine: an error, an
// allocation, an effect. Cases that go on with the next instruction say
// continue; those that break out of the switch have an error to raise.
func (m *Machine) run() {
	fn, base, fast := m.fn, m.base, m.fast
	pc := m.pc
	instrs := code(fn, fast).Instrs
	consts := m.prog.Consts
	r := (*[window]value.Value)(m.stack[base:])
	for {
		in := instrs[pc]
		pc++
		var err *value.Error
		switch in.Op {
		case bytecode.OpNop:
			continue
		case bytecode.OpLoadK:
			r[in.A] = consts[in.Imm]
			continue
		case bytecode.OpLoadI:
			r[in.A].SetInt(int64(in.Imm))
			continue
		case bytecode.OpLoadBool:
			r[in.A].SetBool(in.B != 0)
			continue
		case bytecode.OpLoadNull:
			for i := int(in.A); i <= int(in.A)+int(in.B); i++ {
				r[uint8(i)] = value.Null
			}
			continue
		case bytecode.OpMove:
			if !r[in.B].CopyScalar(&r[in.A]) {
				r[in.A] = r[in.B]
			}
			continue
		case bytecode.OpCopy:
			if !r[in.B].CopyScalar(&r[in.A]) {
				r[in.A] = r[in.B].Share()
			}
			continue

		case bytecode.OpAdd:
			x, y := &r[in.B], &r[in.C]
			if x.IsInt() && y.IsInt() {
				a, b := x.Int64(), y.Int64()
				if s := a + b; (s^a)&(s^b) >= 0 {
					r[in.A].SetInt(s)
					continue
				}
			} else if x.IsNumber() && y.IsNumber() {
				if f := x.Float() + y.Float(); float64(int64(f)) != f && f-f == 0 {
					r[in.A].SetFloat(f)
					continue
				}
			}
			m.pc = pc
			err = m.add(&r[in.A], x, y)
			if err == nil {
				continue
			}
		case bytecode.OpSub:
			x, y := &r[in.B], &r[in.C]
			if x.IsInt() && y.IsInt() {
				a, b := x.Int64(), y.Int64()
				if s := a - b; (a^b)&(a^s) >= 0 {
					r[in.A].SetInt(s)
					continue
				}
			} else if x.IsNumber() && y.IsNumber() {
				if f := x.Float() - y.Float(); float64(int64(f)) != f && f-f == 0 {
					r[in.A].SetFloat(f)
					continue
				}
			}
			var v value.Value
			if v, err = value.Sub(*x, *y); err == nil {
				r[in.A] = v
				continue
			}
		case bytecode.OpMul:
			x, y := &r[in.B], &r[in.C]
			if x.IsInt() && y.IsInt() {
				a, b := x.Int64(), y.Int64()
				if int64(int32(a)) == a && int64(int32(b)) == b {
					r[in.A].SetInt(a * b)
					continue
				}
			} else if x.IsNumber() && y.IsNumber() {
				if f := x.Float() * y.Float(); float64(int64(f)) != f && f-f == 0 {
					r[in.A].SetFloat(f)
					continue
				}
			}
			var v value.Value
			if v, err = value.Mul(*x, *y); err == nil {
				r[in.A] = v
				continue
			}
		case bytecode.OpDiv:
			x, y := &r[in.B], &r[in.C]
			var v value.Value
			if v, err = value.Div(*x, *y); err == nil {
				r[in.A] = v
				continue
			}
		case bytecode.OpIDiv:
			var v value.Value
			if v, err = value.IntDiv(r[in.B], r[in.C]); err == nil {
				r[in.A] = v
				continue
			}
		case bytecode.OpMod:
			var v value.Value
			if v, err = value.Mod(r[in.B], r[in.C]); err == nil {
				r[in.A] = v
				continue
			}
		case bytecode.OpAddI:
			if x := &r[in.B]; x.IsInt() {
				a := x.Int64()
				if s := a + int64(in.Imm); (s > a) == (in.Imm > 0) {
					r[in.A].SetInt(s)
					continue
				}
			}
			var v value.Value
			if in.C == 1 {
				v, err = value.Sub(r[in.B], value.Int(-int64(in.Imm)))
			} else {
				v, err = value.Add(&m.meter, r[in.B], value.Int(int64(in.Imm)))
			}
			if err == nil {
				r[in.A] = v
				continue
			}
		case bytecode.OpAddK:
			m.pc = pc
			k := consts[in.Imm]
			err = m.add(&r[in.A], &r[in.B], &k)
			if err == nil {
				continue
			}
		case bytecode.OpSubK:
			var v value.Value
			if v, err = value.Sub(r[in.B], consts[in.Imm]); err == nil {
				r[in.A] = v
				continue
			}
		case bytecode.OpMulK:
			x, y := &r[in.B], &consts[in.Imm]
			if x.IsInt() && y.IsInt() {
				a, b := x.Int64(), y.Int64()
				if int64(int32(a)) == a && int64(int32(b)) == b {
					r[in.A].SetInt(a * b)
					continue
				}
			} else if x.IsNumber() && y.IsNumber() {
				if f := x.Float() * y.Float(); float64(int64(f)) != f && f-f == 0 {
					r[in.A].SetFloat(f)
					continue
				}
			}
			var v value.Value
			if v, err = value.Mul(*x, *y); err == nil {
				r[in.A] = v
				continue
			}
		case bytecode.OpDivK:
			var v value.Value
			if v, err = value.Div(r[in.B], consts[in.Imm]); err == nil {
				r[in.A] = v
				continue
			}
		case bytecode.OpIDivK:
			if x, y := &r[in.B], &consts[in.Imm]; x.IsInt() && y.IsInt() && y.Int64() > 0 {
				r[in.A].SetInt(x.Int64() / y.Int64())
				continue
			}
			var v value.Value
			if v, err = value.IntDiv(r[in.B], consts[in.Imm]); err == nil {
				r[in.A] = v
				continue
			}
		case bytecode.OpModK:
			if x, y := &r[in.B], &consts[in.Imm]; x.IsInt() && y.IsInt() && y.Int64() > 0 {
				r[in.A].SetInt(x.Int64() % y.Int64())
				continue
			}
			var v value.Value
			if v, err = value.Mod(r[in.B], consts[in.Imm]); err == nil {
				r[in.A] = v
				continue
			}
		case bytecode.OpNeg:
			var v value.Value
			if v, err = value.Neg(r[in.B]); err == nil {
				r[in.A] = v
				continue
			}

		case bytecode.OpEq:
			m.pc = pc
			r[in.A].SetBool(value.Equal(&m.meter, r[in.B], r[in.C]))
			continue
		case bytecode.OpNe:
			m.pc = pc
			r[in.A].SetBool(!value.Equal(&m.meter, r[in.B], r[in.C]))
			continue
		case bytecode.OpLt:
			m.pc = pc
			var c int
			if c, err = value.Compare(&m.meter, r[in.B], r[in.C]); err == nil {
				r[in.A].SetBool(c < 0)
				continue
			}
		case bytecode.OpLe:
			m.pc = pc
			var c int
			if c, err = value.Compare(&m.meter, r[in.B], r[in.C]); err == nil {
				r[in.A].SetBool(c <= 0)
				continue
			}
		case bytecode.OpIn:
			m.pc = pc
			var is bool
			if is, err = value.In(&m.meter, r[in.B], r[in.C]); err == nil {
				r[in.A].SetBool(is)
				continue
			}
		case bytecode.OpNotIn:
			m.pc = pc
			var is bool
			if is, err = value.In(&m.meter, r[in.B], r[in.C]); err == nil {
				r[in.A].SetBool(!is)
				continue
			}
		case bytecode.OpNot:
			r[in.A].SetBool(!r[in.B].Truthy())
			continue
		case bytecode.OpTruth:
			r[in.A].SetBool(r[in.B].Truthy())
			continue
		case bytecode.OpIsNull:
			r[in.A].SetBool(r[in.B].IsNull())
			continue
		case bytecode.OpIsNotNull:
			r[in.A].SetBool(!r[in.B].IsNull())
			continue

		case bytecode.OpJump:
			m.steps += int64(int8(in.C))
			pc = int(in.Imm)
			continue
		case bytecode.OpJTrue:
			if x := &r[in.A]; x.IsBool() {
				if x.IsTrue() {
					pc = int(in.Imm)
				}
			} else if x.Truthy() {
				pc = int(in.Imm)
			}
			continue
		case bytecode.OpJFalse:
			if x := &r[in.A]; x.IsBool() {
				if !x.IsTrue() {
					pc = int(in.Imm)
				}
			} else if !x.Truthy() {
				pc = int(in.Imm)
			}
			continue
		case bytecode.OpJNull:
			if r[in.A].IsNull() {
				pc = int(in.Imm)
			}
			continue
		case bytecode.OpJNotNull:
			if !r[in.A].IsNull() {
				pc = int(in.Imm)
			}
			continue
		case bytecode.OpJEq:
			x, y := &r[in.A], &r[in.B]
			if x.IsInt() && y.IsInt() {
				if x.Int64() == y.Int64() {
					pc = int(in.Imm)
				}
				continue
			}
			m.pc = pc
			if value.Equal(&m.meter, *x, *y) {
				pc = int(in.Imm)
			}
			continue
		case bytecode.OpJNe:
			x, y := &r[in.A], &r[in.B]
			if x.IsInt() && y.IsInt() {
				if x.Int64() != y.Int64() {
					pc = int(in.Imm)
				}
				continue
			}
			m.pc = pc
			if !value.Equal(&m.meter, *x, *y) {
				pc = int(in.Imm)
			}
			continue
		case bytecode.OpJLt:
			x, y := &r[in.A], &r[in.B]
			if x.IsInt() && y.IsInt() {
				if x.Int64() < y.Int64() {
					pc = int(in.Imm)
				}
				continue
			}
			m.pc = pc
			var c int
			if c, err = value.Compare(&m.meter, *x, *y); err == nil {
				if c < 0 {
					pc = int(in.Imm)
				}
				continue
			}
		case bytecode.OpJGe:
			x, y := &r[in.A], &r[in.B]
			if x.IsInt() && y.IsInt() {
				if x.Int64() >= y.Int64() {
					pc = int(in.Imm)
				}
				continue
			}
			m.pc = pc
			var c int
			if c, err = value.Compare(&m.meter, *x, *y); err == nil {
				if c >= 0 {
					pc = int(in.Imm)
				}
				continue
			}
		case bytecode.OpJEqI:
			if x := &r[in.A]; x.IsInt() && x.Int64() == int64(int16(uint16(in.B)|uint16(in.C)<<8)) {
				pc = int(in.Imm)
			}
			continue
		case bytecode.OpJNeI:
			if x := &r[in.A]; !x.IsInt() || x.Int64() != int64(int16(uint16(in.B)|uint16(in.C)<<8)) {
				pc = int(in.Imm)
			}
			continue
		case bytecode.OpJLtI:
			if x := &r[in.A]; x.IsInt() {
				if x.Int64() < int64(int16(uint16(in.B)|uint16(in.C)<<8)) {
					pc = int(in.Imm)
				}
				continue
			}
			var c int
			if c, err = value.Compare(&m.meter, r[in.A], immediate(in)); err == nil {
				if c < 0 {
					pc = int(in.Imm)
				}
				continue
			}
		case bytecode.OpJGeI:
			if x := &r[in.A]; x.IsInt() {
				if x.Int64() >= int64(int16(uint16(in.B)|uint16(in.C)<<8)) {
					pc = int(in.Imm)
				}
				continue
			}
			var c int
			if c, err = value.Compare(&m.meter, r[in.A], immediate(in)); err == nil {
				if c >= 0 {
					pc = int(in.Imm)
				}
				continue
			}
		case bytecode.OpJLeI:
			if x := &r[in.A]; x.IsInt() {
				if x.Int64() <= int64(int16(uint16(in.B)|uint16(in.C)<<8)) {
					pc = int(in.Imm)
				}
				continue
			}
			var c int
			if c, err = value.Compare(&m.meter, r[in.A], immediate(in)); err == nil {
				if c <= 0 {
					pc = int(in.Imm)
				}
				continue
			}
		case bytecode.OpJGtI:
			if x := &r[in.A]; x.IsInt() {
				if x.Int64() > int64(int16(uint16(in.B)|uint16(in.C)<<8)) {
					pc = int(in.Imm)
				}
				continue
			}
			var c int
			if c, err = value.Compare(&m.meter, r[in.A], immediate(in)); err == nil {
				if c > 0 {
					pc = int(in.Imm)
				}
				continue
			}
		case bytecode.OpJEqK:
			m.pc = pc
			if value.Equal(&m.meter, r[in.A], consts[int(in.B)|int(in.C)<<8]) {
				pc = int(in.Imm)
			}
			continue
		case bytecode.OpJNeK:
			m.pc = pc
			if !value.Equal(&m.meter, r[in.A], consts[int(in.B)|int(in.C)<<8]) {
				pc = int(in.Imm)
			}
			continue
		case bytecode.OpJLtK, bytecode.OpJGeK, bytecode.OpJLeK, bytecode.OpJGtK:
			m.pc = pc
			var c int
			if c, err = value.Compare(&m.meter, r[in.A], consts[int(in.B)|int(in.C)<<8]); err == nil {
				if holds(in.Op, c) {
					pc = int(in.Imm)
				}
				continue
			}

		case bytecode.OpLoop:
			m.steps += int64(int8(in.C))
			m.meter.Fuel -= int64(pc) - int64(in.Imm)
			if m.meter.Fuel < 0 {
				m.pc = pc
				m.meter.Refill()
			}
			pc = int(in.Imm)
			if fast || m.steps < int64(m.limits.TraceFirst) {
				continue
			}
			if to := fastLoop(fn, pc); to >= 0 {
				fast = true
				m.fast = true
				instrs = fn.Fast.Instrs
				pc = to
			}
			continue
		case bytecode.OpLoopLt:
			m.steps += int64(int8(in.C))
			x, y := &r[in.A], &r[in.B]
			if x.IsInt() && y.IsInt() {
				if x.Int64() >= y.Int64() {
					continue
				}
			} else {
				m.pc = pc
				var c int
				if c, err = value.Compare(&m.meter, *x, *y); err != nil {
					break
				}
				if c >= 0 {
					continue
				}
			}
			m.meter.Fuel -= int64(pc) - int64(in.Imm)
			if m.meter.Fuel < 0 {
				m.pc = pc
				m.meter.Refill()
			}
			pc = int(in.Imm)
			if fast || m.steps < int64(m.limits.TraceFirst) {
				continue
			}
			if to := fastLoop(fn, pc); to >= 0 {
				fast = true
				m.fast = true
				instrs = fn.Fast.Instrs
				pc = to
			}
			continue
		case bytecode.OpLoopLe:
			m.steps += int64(int8(in.C))
			x, y := &r[in.A], &r[in.B]
			if x.IsInt() && y.IsInt() {
				if x.Int64() > y.Int64() {
					continue
				}
			} else {
				m.pc = pc
				var c int
				if c, err = value.Compare(&m.meter, *x, *y); err != nil {
					break
				}
				if c > 0 {
					continue
				}
			}
			m.meter.Fuel -= int64(pc) - int64(in.Imm)
			if m.meter.Fuel < 0 {
				m.pc = pc
				m.meter.Refill()
			}
			pc = int(in.Imm)
			if fast || m.steps < int64(m.limits.TraceFirst) {
				continue
			}
			if to := fastLoop(fn, pc); to >= 0 {
				fast = true
				m.fast = true
				instrs = fn.Fast.Instrs
				pc = to
			}
			continue
		case bytecode.OpForPrep:
			m.steps += int64(int8(in.C))
			var rounds bool
			if rounds, err = forPrep(r, in.A); err == nil {
				if !rounds {
					pc = int(in.Imm)
				} else {
					r[in.B] = r[in.A]
				}
				continue
			}
		case bytecode.OpForLoop:
			m.steps += int64(int8(in.C))
			left := &r[in.A+1]
			if left.Int64() == 0 {
				continue
			}
			left.SetInt(left.Int64() - 1)
			if x, step := &r[in.A], &r[in.A+2]; step.IsInt() {
				i := x.Int64() + step.Int64()
				x.SetInt(i)
				r[in.B].SetInt(i)
			} else {
				forNext(r, in.A, in.B)
			}
			m.meter.Fuel -= int64(pc) - int64(in.Imm)
			if m.meter.Fuel < 0 {
				m.pc = pc
				m.meter.Refill()
			}
			pc = int(in.Imm)
			if fast || m.steps < int64(m.limits.TraceFirst) {
				continue
			}
			if to := fastLoop(fn, pc); to >= 0 {
				fast = true
				m.fast = true
				instrs = fn.Fast.Instrs
				pc = to
			}
			continue
		case bytecode.OpIterPrep:
			m.steps += int64(int8(in.C))
			if err = iterPrep(r[in.A], in.B == 1); err == nil {
				r[in.A+1].SetInt(0)
				pc = int(in.Imm)
				continue
			}
		case bytecode.OpIterNext, bytecode.OpIterNext2:
			key := (*value.Value)(nil)
			if in.Op == bytecode.OpIterNext2 {
				key = &r[in.C]
			} else {
				m.steps += int64(int8(in.C))
			}
			if !iterNext(r[in.A], &r[in.A+1], &r[in.B], key) {
				continue
			}
			m.meter.Fuel -= int64(pc) - int64(in.Imm)
			if m.meter.Fuel < 0 {
				m.pc = pc
				m.meter.Refill()
			}
			pc = int(in.Imm)
			if fast || m.steps < int64(m.limits.TraceFirst) {
				continue
			}
			if to := fastLoop(fn, pc); to >= 0 {
				fast = true
				m.fast = true
				instrs = fn.Fast.Instrs
				pc = to
			}
			continue

		case bytecode.OpGet:
			c, k := &r[in.B], &r[in.C]
			if k.IsInt() && c.IsList() && c.List().LoadPacked(k.Int64(), &r[in.A]) {
				continue
			}
			var v value.Value
			if v, err = value.Index(*c, *k); err == nil {
				if in.Imm == 0 {
					v.Share()
				}
				r[in.A] = v
				continue
			}
		case bytecode.OpGetK:
			var v value.Value
			if v, err = value.Field(r[in.B], consts[in.Imm].Str()); err == nil {
				if in.C == 0 {
					v.Share()
				}
				r[in.A] = v
				continue
			}
		case bytecode.OpGetN:
			if c := &r[in.B]; c.IsList() && c.List().LoadPacked(int64(in.Imm), &r[in.A]) {
				continue
			}
			var v value.Value
			if v, err = value.Index(r[in.B], value.Int(int64(in.Imm))); err == nil {
				if in.C == 0 {
					v.Share()
				}
				r[in.A] = v
				continue
			}
		case bytecode.OpSet:
			c, k, v := &r[in.A], &r[in.B], r[in.C]
			if k.IsInt() && c.IsList() && c.List().StorePacked(k.Int64(), v) {
				continue
			}
			m.pc = pc
			if in.Imm == 1 {
				v.Share()
			}
			if err = value.SetIndex(&m.meter, c, *k, v); err == nil {
				continue
			}
		case bytecode.OpSetK:
			m.pc = pc
			v := r[in.B]
			if in.C == 1 {
				v.Share()
			}
			if err = value.SetIndex(&m.meter, &r[in.A], consts[in.Imm], v); err == nil {
				continue
			}
		case bytecode.OpSetPath:
			m.pc = pc
			if err = value.SetPath(&m.meter, &r[in.A], r[in.B:int(in.B)+int(in.C)], valueOperand(r, in)); err == nil {
				continue
			}
		case bytecode.OpDelPath:
			m.pc = pc
			if err = value.RemovePath(&m.meter, &r[in.A], r[in.B:int(in.B)+int(in.C)]); err == nil {
				continue
			}
		case bytecode.OpAppend, bytecode.OpPush:
			c, v := &r[in.A], r[in.B]
			if c.IsList() && c.List().PushPacked(v) {
				continue
			}
			m.pc = pc
			if in.C == 1 {
				v.Share()
			}
			if err = value.AppendTo(&m.meter, c, v); err == nil {
				continue
			}
		case bytecode.OpAppPath:
			m.pc = pc
			if err = value.AppendAt(&m.meter, &r[in.A], r[in.B:int(in.B)+int(in.C)], valueOperand(r, in)); err == nil {
				continue
			}

		case bytecode.OpNewList:
			m.pc = pc
			r[in.A] = value.NewList(&m.meter, int(in.Imm)).Value()
			continue
		case bytecode.OpNewMap:
			m.pc = pc
			r[in.A] = value.NewMap(&m.meter, int(in.Imm)).Value()
			continue
		case bytecode.OpPut:
			m.pc = pc
			v := r[in.B]
			if in.C == 1 {
				v.Share()
			}
			if err = value.SetIndex(&m.meter, &r[in.A], consts[in.Imm], v); err == nil {
				continue
			}
		case bytecode.OpText:
			m.pc = pc
			t := &m.prog.Templates[in.Imm]
			var v value.Value
			if v, err = m.text(t, r[in.B:int(in.B)+len(t.Texts)-1]); err == nil {
				r[in.A] = v
				continue
			}
		case bytecode.OpToText:
			m.pc = pc
			var v value.Value
			if v, err = value.ToText(&m.meter, r[in.B]); err == nil {
				r[in.A] = v
				continue
			}

		case bytecode.OpCall:
			f := m.prog.Funcs[in.Imm]
			m.meter.Fuel -= 4
			if len(m.frames) >= m.limits.CallDepth || m.meter.Fuel < 0 {
				m.pc = pc
				m.deep()
			}
			m.frames = append(m.frames, frame{fn, int32(pc), int32(base), fast})
			base += int(in.A)
			if base+window > len(m.stack) {
				m.growStack(base + window)
			}
			if !fast && m.steps >= int64(m.limits.TraceFirst) {
				fast = true
			}
			fn = f
			m.fn, m.base, m.fast = fn, base, fast
			if fast {
				instrs = fn.Fast.Instrs
			} else {
				instrs = fn.Traced.Instrs
			}
			pc = 0
			r = (*[window]value.Value)(m.stack[base:])
			continue
		case bytecode.OpReturn:
			m.steps += int64(int8(in.C))
			m.meter.Fuel -= int64(pc)
			if m.meter.Fuel < 0 {
				m.pc = pc
				m.meter.Refill()
			}
			if v := &r[in.A]; !v.CopyScalar(&r[0]) {
				r[0] = *v
			}
			n := len(m.frames) - 1
			f := &m.frames[n]
			fn, pc, base, fast = f.fn, int(f.pc), int(f.base), f.fast
			m.frames = m.frames[:n]
			m.fn, m.base, m.fast = fn, base, fast
			if fast {
				instrs = fn.Fast.Instrs
			} else {
				instrs = fn.Traced.Instrs
			}
			r = (*[window]value.Value)(m.stack[base:])
			continue
		case bytecode.OpBuiltin:
			m.pc = pc
			var v value.Value
			if v, err = m.builtin(in.Imm, r[in.A:int(in.A)+int(in.B)]); err == nil {
				r[in.A] = v
				continue
			}
		case bytecode.OpEffect:
			m.pc = pc
			if err = m.ask(in.Imm, in.A); err == nil {
				return
			}
		case bytecode.OpHalt:
			m.pc = pc
			m.end(in.C, Done)
			return
		case bytecode.OpStop:
			m.pc = pc
			if m.tx > 0 {
				// A calling function's TRANSACTION commits first; then this
				// instruction comes again.
				m.pc--
				m.commitFirst()
				return
			}
			m.end(in.C, Done)
			return

		case bytecode.OpStep:
			if m.steps < int64(m.limits.TraceFirst) {
				m.trace.begin(in.Imm, len(m.frames))
			}
			m.steps++
			continue
		case bytecode.OpSteps:
			m.steps += int64(in.Imm)
			continue

		case bytecode.OpEmit:
			m.pc = pc
			m.emit(r[in.A:int(in.A)+int(in.B)], in.C == 1)
			continue
		case bytecode.OpEmitRows:
			m.pc = pc
			if v := r[in.A]; v.IsList() {
				m.emitJSON(v)
			}
			continue
		case bytecode.OpFail:
			err = failure(r[in.A], r[in.B], in.C == 1)
		case bytecode.OpRaise:
			err = failure(r[in.A], value.Null, false)
		case bytecode.OpDecline:
			if r[in.A].Truthy() {
				continue
			}
			m.pc = pc
			m.end(0, Declined)
			return
		case bytecode.OpGlobal:
			m.pc = pc
			r[in.A] = m.global(in.Imm)
			continue
		case bytecode.OpGlobalGet:
			m.pc = pc
			var v value.Value
			if v, err = m.globalEntry(in.Imm, r[in.B]); err == nil {
				r[in.A] = v
				continue
			}
		case bytecode.OpGlobalSet:
			m.pc = pc
			if err = m.setGlobal(in.Imm, r[in.B], r[in.C]); err == nil {
				continue
			}
		case bytecode.OpGlobalDel:
			m.pc = pc
			if err = m.unsetGlobal(in.Imm, r[in.B]); err == nil {
				continue
			}
		case bytecode.OpUse:
			if in.B == 1 {
				m.db = r[in.A]
				continue
			}
			if err = m.use(r[in.A]); err == nil {
				continue
			}
		case bytecode.OpSaveDB:
			r[in.A] = m.db
			continue
		case bytecode.OpSeconds:
			var v value.Value
			if v, err = seconds(r[in.B], in.Imm); err == nil {
				r[in.A] = v
				continue
			}
		case bytecode.OpCheckKey:
			if r[in.A].IsText() {
				continue
			}
			err = value.Errorf(value.WrongKind, "a key is a text, not %s", value.Describe(r[in.A]))
		}
		m.pc = pc
		if !m.raise(err) {
			return
		}
		fn, pc, base, fast = m.fn, m.pc, m.base, m.fast
		instrs = code(fn, fast).Instrs
		r = (*[window]value.Value)(m.stack[base:])
	}
}
