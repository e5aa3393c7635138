package vm

import (
	"errors"
	"math"
	"slices"

	"ql/lang/bytecode"
	"ql/lang/lib"
	"ql/lang/value"
)

// The parts of an instruction word; its lowest byte is the operation.
func opA(in uint64) uint8 { return uint8(in >> 8) }
func opB(in uint64) uint8 { return uint8(in >> 16) }
func opC(in uint64) uint8 { return uint8(in >> 24) }
func imm(in uint64) int32 { return int32(in >> 32) }

// What the loop makes of them.
func target(in uint64) int   { return int(int32(in >> 32)) }
func number(in uint64) int64 { return int64(int32(in >> 32)) }
func short(in uint64) int64  { return int64(int16(in >> 16)) }
func steps(in uint64) int64  { return int64(int8(in >> 24)) }

// areSmall reports whether the product of two integers is sure to be one.
func areSmall(a, b int64) bool { return int64(int32(a)) == a && int64(int32(b)) == b }

// goesBack takes the fuel of a jump back by so many instructions, and reports whether no more is to be done for it.
func (m *Machine) goesBack(n int) bool {
	m.meter.Fuel -= int64(n)
	return m.meter.Fuel >= 0 && (m.fast || m.steps < m.traceFirst)
}

// holds tells whether a comparing jump is taken.
func holds(op bytecode.Op, c int) bool {
	switch op {
	case bytecode.OpJLt, bytecode.OpJLtI, bytecode.OpJLtK:
		return c < 0
	case bytecode.OpJGe, bytecode.OpJGeI, bytecode.OpJGeK:
		return c >= 0
	case bytecode.OpJLeI, bytecode.OpJLeK:
		return c <= 0
	}
	return c > 0
}

// second returns the right operand of a comparing jump.
func (m *Machine) second(r *[window]value.Value, in uint64) value.Value {
	switch bytecode.Op(in) {
	case bytecode.OpJEqI, bytecode.OpJNeI, bytecode.OpJLtI, bytecode.OpJGeI, bytecode.OpJLeI, bytecode.OpJGtI:
		return value.Int(int64(int16(in >> 16)))
	case bytecode.OpJEqK, bytecode.OpJNeK, bytecode.OpJLtK, bytecode.OpJGeK, bytecode.OpJLeK, bytecode.OpJGtK:
		return m.consts[uint16(in>>16)]
	}
	return r[opB(in)]
}

// jumpCompared is a comparing jump beyond the quick cases.
func (m *Machine) jumpCompared(r *[window]value.Value, in uint64) *value.Error {
	c, err := value.Compare(&m.meter, r[opA(in)], m.second(r, in))
	if err == nil && holds(bytecode.Op(in), c) {
		m.pc = int(imm(in))
	}
	return err
}

// jumpIfEqual is a jump that takes two values to be equal, or not to be, beyond the quick cases.
func (m *Machine) jumpIfEqual(r *[window]value.Value, in uint64) {
	op := bytecode.Op(in)
	want := op == bytecode.OpJEq || op == bytecode.OpJEqI || op == bytecode.OpJEqK
	if value.Equal(&m.meter, r[opA(in)], m.second(r, in)) == want {
		m.pc = int(imm(in))
	}
}

// jumpIf is a jump by the truth of what is no boolean.
//
//go:noinline
func (m *Machine) jumpIf(r *[window]value.Value, in uint64) {
	if r[opA(in)].Truthy() == (bytecode.Op(in) == bytecode.OpJTrue) {
		m.pc = int(imm(in))
	}
}

// equals makes a boolean of whether two values are equal.
//
//go:noinline
func (m *Machine) equals(r *[window]value.Value, in uint64) {
	r[opA(in)].SetBool(value.Equal(&m.meter, r[opB(in)], r[opC(in)]) == (bytecode.Op(in) == bytecode.OpEq))
}

// less makes a boolean of a comparison.
func (m *Machine) less(r *[window]value.Value, in uint64) *value.Error {
	c, err := value.Compare(&m.meter, r[opB(in)], r[opC(in)])
	if err == nil {
		r[opA(in)].SetBool(c < 0 || c == 0 && bytecode.Op(in) == bytecode.OpLe)
	}
	return err
}

// negate is -x.
func (m *Machine) negate(r *[window]value.Value, in uint64) *value.Error {
	v, err := value.Neg(&m.meter, r[opB(in)])
	if dst := &r[opA(in)]; err == nil && !v.CopyScalar(dst) {
		*dst = v
	}
	return err
}

// move is OpMove.
//
//go:noinline
func (m *Machine) move(r *[window]value.Value, in uint64) { r[opA(in)] = r[opB(in)] }

// arithmetic is arithmetic beyond the quick cases, but for sums.
func (m *Machine) arithmetic(r *[window]value.Value, in uint64) *value.Error {
	dst, x, y := &r[opA(in)], &r[opB(in)], &r[opC(in)]
	var v value.Value
	var err *value.Error
	switch bytecode.Op(in) {
	case bytecode.OpSubK:
		y = &m.consts[in>>32]
		fallthrough
	case bytecode.OpSub:
		if dst.SetDifference(x, y) {
			return nil
		}
		v, err = value.Sub(&m.meter, *x, *y)
	case bytecode.OpMulK:
		y = &m.consts[in>>32]
		if opC(in) == bytecode.ConstantFirst {
			x, y = y, x
		}
		fallthrough
	case bytecode.OpMul:
		if dst.SetProduct(x, y) {
			return nil
		}
		v, err = value.Mul(&m.meter, *x, *y)
	case bytecode.OpDivK:
		y = &m.consts[in>>32]
		fallthrough
	case bytecode.OpDiv:
		if dst.SetQuotient(x, y) {
			return nil
		}
		v, err = value.Div(&m.meter, *x, *y)
	case bytecode.OpIDivK:
		y = &m.consts[in>>32]
		fallthrough
	case bytecode.OpIDiv:
		v, err = value.IntDiv(&m.meter, *x, *y)
	case bytecode.OpModK:
		y = &m.consts[in>>32]
		fallthrough
	default:
		v, err = value.Mod(&m.meter, *x, *y)
	}
	if err == nil && !v.CopyScalar(dst) {
		*dst = v
	}
	return err
}

// multiply is the product that an operation of the machine's own begins with.
func (m *Machine) multiply(at *place) *value.Error {
	return m.arithmetic(at.r, at.words[m.pc-1]&^0xff|uint64(bytecode.OpMul))
}

// addSlowly is a sum beyond the quick cases.
func (m *Machine) addSlowly(r *[window]value.Value, in uint64) *value.Error {
	dst, x := &r[opA(in)], &r[opB(in)]
	switch bytecode.Op(in) {
	case bytecode.OpAddI:
		n := int64(imm(in))
		if opC(in) == 1 {
			v, err := value.Sub(&m.meter, *x, value.Int(-n))
			if err == nil {
				*dst = v
			}
			return err
		}
		y := value.Int(n)
		if opC(in) == bytecode.ConstantFirst {
			return m.add(dst, &y, x, false)
		}
		return m.add(dst, x, &y, false)
	case bytecode.OpAddK:
		y := &m.consts[in>>32]
		if opC(in) == bytecode.ConstantFirst {
			return m.add(dst, y, x, false)
		}
		return m.add(dst, x, y, opC(in) == 1)
	}
	return m.add(dst, x, &r[opC(in)], in>>32 == 1)
}

// addConstant is the sum that an operation of the machine's own begins with.
func (m *Machine) addConstant(r *[window]value.Value, in uint64) *value.Error {
	return m.addSlowly(r, in&^0xff|uint64(bytecode.OpAddI))
}

// get is an access beyond the quick cases.
func (m *Machine) get(r *[window]value.Value, in uint64) *value.Error {
	dst, c, key, share := &r[opA(in)], &r[opB(in)], &r[opC(in)], in>>32 == 0
	return m.index(dst, c, *key, share)
}

func (m *Machine) index(dst, c *value.Value, key value.Value, share bool) *value.Error {
	v, err := value.Index(&m.meter, *c, key)
	if err != nil {
		return err
	}
	if share {
		v.Share()
	}
	*dst = v
	return nil
}

func (m *Machine) getConstant(r *[window]value.Value, in uint64) *value.Error {
	return m.index(&r[opA(in)], &r[opB(in)], m.consts[in>>32], opC(in) == 0)
}

// getNumber is OpGetN.
func (m *Machine) getNumber(r *[window]value.Value, in uint64) *value.Error {
	return m.index(&r[opA(in)], &r[opB(in)], value.Int(number(in)), opC(in) == 0)
}

// set is a write beyond the quick cases.
func (m *Machine) set(r *[window]value.Value, in uint64) *value.Error {
	c, key, v := &r[opA(in)], &r[opB(in)], &r[opC(in)]
	if value.StoreElement(c, key, v) {
		return nil
	}
	return m.setIndex(c, *key, *v, in>>32 == 1)
}

func (m *Machine) setIndex(c *value.Value, key, v value.Value, share bool) *value.Error {
	if share {
		v.Share()
	}
	return value.SetIndex(&m.meter, c, key, v)
}

func (m *Machine) setConstant(r *[window]value.Value, in uint64) *value.Error {
	return m.setIndex(&r[opA(in)], m.consts[in>>32], r[opB(in)], opC(in) == 1)
}

func (m *Machine) append(r *[window]value.Value, in uint64) *value.Error {
	v := r[opB(in)]
	if opC(in) == 1 {
		v.Share()
	}
	return value.AppendTo(&m.meter, &r[opA(in)], v)
}

// valueOperand returns the value that a path is set to.
func valueOperand(r *[window]value.Value, in uint64) value.Value {
	v := r[uint8(imm(in))]
	if imm(in)>>8 == 1 {
		v.Share()
	}
	return v
}

// loop goes back to the start of a loop's body, for which its fuel has been taken, where there is more to do.
func (m *Machine) loop(at *place, in uint64) {
	if m.meter.Fuel < 0 {
		m.meter.Refill()
	}
	m.pc = int(imm(in))
	if !m.fast && m.steps >= m.traceFirst {
		m.quicken()
		m.enter(at)
	}
}

// loopBack is loop of an instruction whose fuel has not been taken.
func (m *Machine) loopBack(at *place, in uint64) {
	m.meter.Fuel -= int64(m.pc) - int64(imm(in))
	m.loop(at, in)
}

// loopCompared is a comparing loop, beyond the quick cases.
func (m *Machine) loopCompared(at *place, r *[window]value.Value, in uint64) *value.Error {
	c, err := value.Compare(&m.meter, r[opA(in)], r[opB(in)])
	if err == nil && (c < 0 || c == 0 && bytecode.Op(in) == bytecode.OpLoopLe) {
		m.loopBack(at, in)
	}
	return err
}

// loopBroken is the next round of a counting loop over broken numbers.
func (m *Machine) loopBroken(at *place, r *[window]value.Value, in uint64) {
	forNext(r, opA(in), opB(in))
	m.loopBack(at, in)
}

// loopThrough is the next round of a loop through a list or a map, if there is one.
func (m *Machine) loopThrough(at *place, r *[window]value.Value, in uint64) {
	if m.iterNext(r, in) {
		m.loopBack(at, in)
	}
}

// quicken continues in the fast code of the current function, where the loop
// whose body starts at m.pc of the traced code has its place there.
func (m *Machine) quicken() {
	i, ok := slices.BinarySearch(m.fn.Traced.Loops, int32(m.pc))
	if !ok {
		return
	}
	m.fast = true
	m.trace.endBefore(len(m.frames))
	m.pc = int(m.fn.Fast.Loops[i])
}

// step says that a statement begins.
func (m *Machine) step(n int32) {
	if m.steps < m.traceFirst {
		m.trace.begin(m, n)
	} else {
		m.trace.endBefore(len(m.frames))
	}
	m.steps++
}

// add is + beyond the quick cases. Where the target is the variable that
// stands on the left, a list that is nobody else's grows in place: SET ?l AS
// ?l + [x] costs what it adds.
func (m *Machine) add(dst, x, y *value.Value, inPlace bool) *value.Error {
	if dst.SetSum(x, y) {
		return nil
	}
	if inPlace && x.IsList() && y.IsList() && !x.Shared() {
		x.List().Extend(&m.meter, y.List())
		return nil
	}
	v, err := value.Add(&m.meter, *x, *y)
	if err == nil {
		*dst = v
	}
	return err
}

// forPrep readies a counting loop: the start in r[a], the number of rounds
// after the first in r[a+1], the step in r[a+2]. It reports whether there is a
// first round.
func forPrep(r *[window]value.Value, a uint8) (bool, *value.Error) {
	from, to, step := r[a], r[a+1], r[a+2]
	if from.IsInt() && to.IsInt() && step.IsInt() && step.Int64() == 1 {
		i, j := from.Int64(), to.Int64()
		if i > j {
			return false, nil
		}
		r[a+1].SetInt(int64(min(uint64(j)-uint64(i), math.MaxInt64)))
		return true, nil
	}
	for _, x := range []struct {
		name string
		v    value.Value
	}{{"FROM", from}, {"TO", to}, {"STEP", step}} {
		if !x.v.IsNumber() {
			return false, value.Errorf(value.WrongKind, "%s takes a number, not %s", x.name, value.Describe(x.v))
		}
	}
	if step.IsInt() && step.Int64() == 0 {
		return false, value.Errorf(value.BadArgument, "STEP 0 would never end")
	}
	if from.IsInt() && to.IsInt() && step.IsInt() {
		i, j, s := from.Int64(), to.Int64(), step.Int64()
		if s > 0 && i > j || s < 0 && i < j {
			return false, nil
		}
		var n uint64
		if s > 0 {
			n = (uint64(j) - uint64(i)) / uint64(s)
		} else {
			n = (uint64(i) - uint64(j)) / (uint64(-(s + 1)) + 1)
		}
		r[a+1] = value.Int(int64(min(n, math.MaxInt64)))
		return true, nil
	}
	f, t, s := from.Float(), to.Float(), step.Float()
	if s > 0 && f > t || s < 0 && f < t {
		return false, nil
	}
	// A little slack, so that FROM 0 TO 1 STEP 0.1 has its eleventh round.
	n := math.Floor((t-f)/s + 1e-9)
	if !(n < 1<<62) {
		return false, value.Errorf(value.NumberRange, "FOR would need more rounds than can be counted")
	}
	r[a+1] = value.Int(int64(n))
	r[a+2] = value.ListOf(value.Int(int64(n)), from, step)
	return true, nil
}

// forNext sets the variable of a loop over broken numbers to start + i × step,
// which does not gather rounding errors. r[a+2] holds [rounds, start, step].
func forNext(r *[window]value.Value, a, b uint8) {
	if !r[a+2].IsList() || r[a+2].List().Len() != 3 {
		return // no program gets here
	}
	l := r[a+2].List()
	i := l.At(0).Int64() - r[a+1].Int64()
	v, _ := value.Number(l.At(1).Float() + float64(i)*l.At(2).Float())
	r[a] = v
	r[b] = v
}

// iterPrep checks what a loop shall go through. Where it is a lambda's, b is 1
// and the number of its built-in.
func (m *Machine) iterPrep(v value.Value, b uint8) *value.Error {
	k := v.Kind()
	overMap := b > 0 && m.link.overMaps[b-1]
	if k == value.KindNull || k == value.KindList && !overMap || k == value.KindMap && (b == 0 || overMap) {
		return nil
	}
	if overMap {
		hint := ""
		if k == value.KindList {
			hint = ": MAP and FILTER go through a list"
		}
		return value.Errorf(value.WrongKind, "%s goes through a map, not %s%s", m.prog.Builtins[b-1], value.Describe(v), hint)
	}
	if b > 0 {
		hint := ""
		switch k {
		case value.KindMap:
			hint = ": VALUES(?map) or ENTRIES(?map) makes one"
		case value.KindText:
			hint = ": SPLIT(?text, \",\") makes one"
		}
		return value.Errorf(value.WrongKind, "%s goes through a list, not %s%s", m.prog.Builtins[b-1], value.Describe(v), hint)
	}
	hint := ""
	switch k {
	case value.KindText:
		hint = ": SPLIT(?text, \",\") makes a list"
	case value.KindInt:
		hint = ": FOR ?i FROM 1 TO 10 counts"
	}
	return value.Errorf(value.WrongKind, "FOR goes through a list or a map, not %s%s", value.Describe(v), hint)
}

// iterNext moves on in a list or map. R(A+1) is the place of the next element.
func (m *Machine) iterNext(r *[window]value.Value, in uint64) bool {
	var key *value.Value
	if bytecode.Op(in) == bytecode.OpIterNext2 {
		key = &r[opC(in)]
	} else {
		m.steps += int64(int8(opC(in)))
	}
	c, at, v := r[opA(in)], &r[opA(in)+1], &r[opB(in)]
	switch c.Kind() {
	case value.KindList:
		l, i := c.List(), at.Int64()
		if uint64(i) >= uint64(l.Len()) {
			return false
		}
		if !l.LoadPacked(i, v) {
			*v = l.At(int(i)).Share()
		}
		if key != nil {
			key.SetInt(i)
		}
		at.SetInt(i + 1)
		return true
	case value.KindMap:
		n, k, e := c.Map().Next(max(0, int(at.Int64())))
		if n < 0 {
			return false
		}
		*v = e.Share()
		if key != nil {
			*key = k
		}
		at.SetInt(int64(n + 1))
		return true
	}
	return false
}

// callInNewRoom is a call, whose fuel has been taken, that may need more of it, of callers or of registers.
func (m *Machine) callInNewRoom(at *place, in uint64) {
	if len(m.frames) >= m.limits.CallDepth {
		panic(&value.LimitError{Name: "call_depth", Max: int64(m.limits.CallDepth)})
	}
	if m.meter.Fuel < 0 {
		m.meter.Refill()
	}
	m.frames = append(m.frames, frame{m.fn, int32(m.pc), int32(m.base), m.fast})
	m.base += int(opA(in))
	if m.base+window > len(m.stack) {
		m.growStack(m.base + window)
	}
	m.fn = &m.link.funcs[in>>32]
	m.fast = m.fast || m.steps >= m.traceFirst
	m.pc = 0
	m.enter(at)
}

// returnRefilled is a return that has used the last fuel at hand.
func (m *Machine) returnRefilled(at *place, r *[window]value.Value, in uint64) {
	m.meter.Refill()
	r[0] = r[opA(in)]
	n := len(m.frames) - 1
	f := &m.frames[n]
	m.pc, m.fn, m.base, m.fast = int(f.pc), f.fn, int(f.base), f.fast
	m.frames = m.frames[:n]
	m.enter(at)
}

// growStack makes room for n registers, and half as many again. What lies
// behind the end of the stack is clear.
func (m *Machine) growStack(n int) {
	if n <= cap(m.stack) {
		m.stack = m.stack[:min(cap(m.stack), n+n/2)]
		return
	}
	s := make([]value.Value, n+n/2)
	copy(s, m.stack)
	m.stack = s
}

// builtinCost is the fuel that calling a built-in costs, besides what it does.
const builtinCost = 4

func (m *Machine) builtin(r *[window]value.Value, in uint64) *value.Error {
	a := int(opA(in))
	m.meter.Begin()
	m.meter.Work(builtinCost)
	v, err := m.link.builtins[in>>32](&m.call, r[a:a+int(opB(in))])
	m.meter.End()
	if err == nil {
		v.CopyTo(&r[a])
		return nil
	}
	var e *value.Error
	if errors.As(err, &e) {
		return e
	}
	return value.Errorf("internal", "something went wrong inside the service")
}

// end ends the run well.
func (m *Machine) end(steps uint8, s Status) {
	m.steps += int64(int8(steps))
	m.meter.Work(m.pc)
	m.countAll()
	m.trace.close(m.trace.now(), 0, stepOk)
	m.status = s
}

// commitFirst asks for the commit of the open TRANSACTION before a STOP.
func (m *Machine) commitFirst() {
	m.site = bytecode.CommitSite
	m.reg = m.height()
	if m.reg >= len(m.stack) {
		m.growStack(m.reg + 1)
	}
	m.seq++
	m.status = Pending
	m.call.ResetPaid()
	m.clearDead()
	m.buildEffect()
}

// emit appends values to the output.
func (m *Machine) emit(args []value.Value, line bool) *value.Error {
	if m.json {
		return afterJSON()
	}
	for _, v := range args {
		switch v.Kind() {
		case value.KindText, value.KindBytes:
			s := v.Str()
			m.checkOutput(len(s))
			m.meter.Work(2 + len(s)/16)
			m.out = append(m.out, s...)
		case value.KindList, value.KindMap:
			m.checkOutput(value.JSONSize(&m.meter, v))
			m.out = value.AppendJSON(m.out, v)
		case value.KindNull:
		default:
			n := len(m.out)
			m.meter.Work(value.NumberWork(v))
			m.out = value.AppendText(m.out, v)
			m.truncateOutput(n)
		}
	}
	if line {
		m.checkOutput(1)
		m.out = append(m.out, '\n')
	}
	return nil
}

// truncateOutput takes back what was just emitted where it went over the limit.
func (m *Machine) truncateOutput(n int) {
	if len(m.out) > m.limits.Output {
		m.out = m.out[:n]
		panic(m.outputLimit())
	}
}

// checkOutput checks that n more bytes may be emitted.
func (m *Machine) checkOutput(n int) {
	if n > m.limits.Output-len(m.out) {
		panic(m.outputLimit())
	}
}

// emitRows emits rows that no SET took.
func (m *Machine) emitRows(v value.Value) *value.Error {
	if m.json {
		return afterJSON()
	}
	m.checkOutput(value.JSONSize(&m.meter, v) + 1)
	m.out = append(value.AppendJSON(m.out, v), '\n')
	return nil
}

// emitJSON makes a value the whole output.
func (m *Machine) emitJSON(v value.Value) *value.Error {
	switch {
	case m.json:
		return value.Errorf(emitConflict, "EMIT JSON writes the whole output, once, and has done so already: put all values into one list or map")
	case len(m.out) > 0:
		return value.Errorf(emitConflict, "EMIT JSON writes the whole output, and something was emitted before it: EMIT TO_JSON(…) writes JSON among other output")
	}
	m.meter.Work(2)
	m.checkOutput(value.JSONSize(&m.meter, v))
	m.out, m.json = value.AppendJSON(m.out, v), true
	return nil
}

// emitConflict is the code of output beside that of EMIT JSON.
const emitConflict = "emit_conflict"

func afterJSON() *value.Error {
	return value.Errorf(emitConflict, "EMIT JSON has written the whole output: nothing can be emitted after it")
}

// text puts a template together; its insertions are in the registers from the second operand on.
func (m *Machine) text(r *[window]value.Value, in uint64) *value.Error {
	dst, t := &r[opA(in)], &m.prog.Templates[in>>32]
	args := r[opB(in):][:len(t.Texts)-1]
	if t.Mode != bytecode.PlainTemplate {
		v, err := m.quotedText(t, args)
		if err == nil {
			*dst = v
		}
		return err
	}
	m.meter.Work(4 * len(args))
	var sizes [16]int
	at := sizes[:0]
	total := 0
	for _, s := range t.Texts {
		total += len(s)
	}
	for _, v := range args {
		if v.Kind() == value.KindBytes {
			if err := value.CheckPrintable(&m.meter, v); err != nil {
				return err
			}
		}
		n := value.TextSize(&m.meter, v)
		at = append(at, n)
		total += n
	}
	b := value.NewBuilder(&m.meter, value.KindText, total)
	room := b.Reserve(total)
	for i, v := range args {
		room = room[copy(room, t.Texts[i]):]
		value.PutText(room[:at[i]], v)
		room = room[at[i]:]
	}
	copy(room, t.Texts[len(args)])
	*dst = b.Value()
	return nil
}

// quotedText is text for HTML and for shells, whose insertions are escaped.
func (m *Machine) quotedText(t *bytecode.Template, args []value.Value) (value.Value, *value.Error) {
	escapes, quote := lib.HTMLEscapes, ""
	if t.Mode == bytecode.ShellTemplate {
		escapes, quote = lib.ShellEscapes, "'"
	}
	total := 0
	for _, s := range t.Texts {
		total += len(s)
	}
	var few [8]insertion
	parts := few[:0]
	for _, v := range args {
		part := insertion{v: v}
		// Nothing of a number is escaped.
		if v.IsNumber() {
			part.size = value.TextSize(&m.meter, v)
			m.meter.Work(10)
		} else {
			text, err := value.ToText(&m.meter, v)
			if err != nil {
				return value.Null, err
			}
			m.meter.Work(10 + len(text.Str())/4)
			part = insertion{text, escapes.Size(text.Str())}
		}
		parts = append(parts, part)
		total += 2*len(quote) + part.size
	}
	b := value.NewBuilder(&m.meter, value.KindText, total)
	room := b.Reserve(total)
	for i, part := range parts {
		room = room[copy(room, t.Texts[i]):]
		room = room[copy(room, quote):]
		// Each escape is longer than what it stands for.
		if part.v.IsText() && part.size > len(part.v.Str()) {
			escapes.Append(room[:0], part.v.Str())
		} else {
			value.PutText(room[:part.size], part.v)
		}
		room = room[part.size:]
		room = room[copy(room, quote):]
	}
	copy(room, t.Texts[len(parts)])
	return b.Value(), nil
}

// insertion is what is put into a text: a number, or a text to be escaped, and the length of either there.
type insertion struct {
	v    value.Value
	size int
}

// seconds makes a duration of an amount and its unit.
func seconds(v value.Value, unit int32) (value.Value, *value.Error) {
	if !v.IsNumber() {
		return value.Null, value.Errorf(value.WrongKind, "a duration takes a number, not %s", value.Describe(v))
	}
	if v.Float() < 0 {
		return value.Null, value.Errorf(value.BadArgument, "a duration cannot be negative, as %s is", value.AppendNumber(nil, v))
	}
	s, err := value.Mul(nil, v, value.Int(int64(unit)))
	if err == nil && s.Float() > 100*366*86400 {
		return value.Null, value.Errorf(value.NumberRange, "a duration is at most 100 years")
	}
	return s, err
}
