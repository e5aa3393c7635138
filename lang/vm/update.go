package vm

import (
	"ql/lang/bytecode"
	"ql/lang/value"
)

// The operations of the machine's own that read a field or an element and go on with what is there: see fuse.go. m.pc is
// behind the first of their instructions, and is moved on behind those that were done. The first that is not common ends them:
// it and the others come in their turn.

func (m *Machine) twoFields(at *place) *value.Error {
	w, r := at.words[m.pc-1:][:5], at.r
	get, getK, other, otherK, in := w[0], w[1]>>32, w[2], w[3]>>32, w[4]
	x := value.ElementField(&r[opB(get)], &r[opC(get)], &m.consts[getK], &m.hints[getK], false)
	y := value.ElementField(&r[opB(other)], &r[opC(other)], &m.consts[otherK], &m.hints[otherK], false)
	if x == nil || y == nil || !x.IsFloat() || !y.IsFloat() {
		return m.getField(r, w)
	}
	a, b := x.Float64(), y.Float64()
	f := a
	switch bytecode.Op(in) {
	case bytecode.OpAdd, opAddAddI:
		f += b
	case bytecode.OpSub:
		f -= b
	default:
		f *= b
	}
	if !value.IsBroken(f) {
		return m.getField(r, w)
	}
	r[opB(in)].SetFloat(a)
	r[opC(in)].SetFloat(b)
	r[opA(in)].SetFloat(f)
	m.pc += 4
	return nil
}

func (m *Machine) updateByProduct(at *place) *value.Error {
	w, r := at.words[m.pc-1:][:4], at.r
	get, k, mul := w[0], w[1]>>32, w[2]
	v := value.ElementField(&r[opB(get)], &r[opC(get)], &m.consts[k], &m.hints[k], true)
	x, y := &r[opB(mul)], &r[opC(mul)]
	if v == nil || !v.IsFloat() || !x.IsFloat() || !y.IsFloat() {
		return m.getField(r, w)
	}
	// The conversion keeps machines from rounding once for both.
	f := float64(x.Float64() * y.Float64())
	if bytecode.Op(w[3]) == bytecode.OpSub {
		f = -f
	}
	if f += v.Float64(); !value.IsBroken(f) {
		return m.getField(r, w)
	}
	r[opA(get)].SetFloat(f)
	v.SetFloat(f)
	m.pc += 6
	return nil
}

func (m *Machine) updateField(at *place) *value.Error {
	w, r := at.words[m.pc-1:][:3], at.r
	get, k, in := w[0], w[1]>>32, w[2]
	v := value.ElementField(&r[opB(get)], &r[opC(get)], &m.consts[k], &m.hints[k], true)
	if v == nil || !v.CopyScalar(&r[opA(get)]) {
		return m.getField(r, w)
	}
	m.pc++
	if m.arithmeticAtOnce(r, in) {
		r[opA(in)].CopyTo(v)
		m.pc += 4
	}
	return nil
}

func (m *Machine) updateEntry(at *place) *value.Error {
	w, r := at.words[m.pc-1:][:3], at.r
	get, in, move := w[0], w[1], w[2]
	c, k, t := &r[opB(get)], &r[opC(get)], &r[opA(get)]
	if c.IsList() && k.IsInt() && c.List().LoadPacked(k.Int64(), t) {
		if m.arithmeticAtOnce(r, in) {
			m.pc++
			if c.List().StorePacked(k.Int64(), *t) {
				k.CopyTo(&r[opA(move)])
				m.pc += 2
			}
		}
		return nil
	}
	v, _, _ := value.OwnEntry(c, k)
	if v == nil || !v.CopyScalar(t) {
		return m.getElement(r, get)
	}
	if m.arithmeticAtOnce(r, in) {
		t.CopyTo(v)
		k.CopyTo(&r[opA(move)])
		m.pc += 3
	}
	return nil
}

func (m *Machine) updateOrAdd(at *place) *value.Error {
	w, r := at.words[m.pc-1:][:5], at.r
	get, number, in, move := w[0], w[2], w[3], w[4]
	c, k, t := &r[opB(get)], &r[opC(get)], &r[opA(get)]
	v, hash, ok := value.OwnEntry(c, k)
	switch {
	case !ok || v != nil && !v.CopyScalar(t):
		return m.getElement(r, get)
	case v == nil:
		t.SetInt(int64(imm(number)))
	}
	m.pc += 2
	if !m.arithmeticAtOnce(r, in) {
		return nil
	}
	k.CopyTo(&r[opA(move)])
	m.pc += 3
	if v != nil {
		t.CopyTo(v)
	} else {
		value.SetMissing(&m.meter, c, *k, hash, *t)
	}
	return nil
}

// getField does the OpGet and the OpGetK that some words start with, or the OpGet alone.
func (m *Machine) getField(r *[window]value.Value, w []uint64) *value.Error {
	get, k := w[0], w[1]>>32
	if value.LoadElementField(&r[opA(w[1])], &r[opB(get)], &r[opC(get)], &m.consts[k], &m.hints[k], opC(w[1]) == 0) {
		m.pc++
		return nil
	}
	return m.get(r, get)
}

// getElement is OpGet.
func (m *Machine) getElement(r *[window]value.Value, in uint64) *value.Error {
	if value.LoadElement(&r[opA(in)], &r[opB(in)], &r[opC(in)], in>>32 == 0) {
		return nil
	}
	return m.get(r, in)
}

// arithmeticAtOnce does what is common of an instruction of arithmetic, and reports whether it was that.
func (m *Machine) arithmeticAtOnce(r *[window]value.Value, in uint64) bool {
	dst, x, y := &r[opA(in)], &r[opB(in)], &r[opC(in)]
	switch bytecode.Op(in) {
	case bytecode.OpAdd, opAddAddI:
		return add(dst, x, y)
	case bytecode.OpAddI, opAddLoopLt:
		n := value.Int(int64(imm(in)))
		return add(dst, x, &n)
	case bytecode.OpAddK:
		return add(dst, x, &m.consts[in>>32])
	case bytecode.OpSub:
		return subtract(dst, x, y)
	case bytecode.OpSubK:
		return subtract(dst, x, &m.consts[in>>32])
	case bytecode.OpDiv:
		return dst.SetQuotient(x, y)
	case bytecode.OpDivK:
		return dst.SetQuotient(x, &m.consts[in>>32])
	case bytecode.OpMul:
		return product(dst, x, y)
	case bytecode.OpMulK:
		return product(dst, x, &m.consts[in>>32])
	}
	return false
}

// add, subtract and product do the common cases of two numbers, and report whether it was one.

func add(dst, x, y *value.Value) bool {
	if x.IsInt() && y.IsInt() {
		a, b := x.Int64(), y.Int64()
		s := a + b
		if (s^a)&(s^b) < 0 {
			return false
		}
		dst.SetInt(s)
		return true
	}
	if x.IsFloat() && y.IsFloat() {
		if f := x.Float64() + y.Float64(); value.IsBroken(f) {
			dst.SetFloat(f)
			return true
		}
	}
	return dst.SetSum(x, y)
}

func subtract(dst, x, y *value.Value) bool {
	if x.IsInt() && y.IsInt() {
		a, b := x.Int64(), y.Int64()
		s := a - b
		if (a^b)&(a^s) < 0 {
			return false
		}
		dst.SetInt(s)
		return true
	}
	if x.IsFloat() && y.IsFloat() {
		if f := x.Float64() - y.Float64(); value.IsBroken(f) {
			dst.SetFloat(f)
			return true
		}
	}
	return dst.SetDifference(x, y)
}

func product(dst, x, y *value.Value) bool {
	if x.IsFloat() && y.IsFloat() {
		if f := x.Float64() * y.Float64(); value.IsBroken(f) {
			dst.SetFloat(f)
			return true
		}
	} else if x.IsInt() && y.IsInt() {
		a, b := x.Int64(), y.Int64()
		if int64(int32(a)) != a || int64(int32(b)) != b {
			return false
		}
		dst.SetInt(a * b)
		return true
	}
	return dst.SetProduct(x, y)
}
