package value

import (
	"math"
	"math/bits"
)

// SetInt makes *v the integer i. The tag is written only where it changes:
// a store of a pointer costs more than a look.
func (v *Value) SetInt(i int64) {
	if v.p != tagInt() {
		v.p = tagInt()
	}
	v.n = uint64(i)
}

// SetFloat makes *v the float f, which must be finite and not a whole number
// below 2^53.
func (v *Value) SetFloat(f float64) {
	if v.p != tagFloat() {
		v.p = tagFloat()
	}
	v.n = math.Float64bits(f)
}

// SetBool makes *v the boolean b.
func (v *Value) SetBool(b bool) {
	if v.p != tagBool() {
		v.p = tagBool()
	}
	v.n = 0
	if b {
		v.n = 1
	}
}

func number(f float64) (Value, *Error) {
	v, ok := Number(f)
	if !ok {
		return Null, Errorf(NumberRange, "the result is too large for a number")
	}
	return v, nil
}

// Add returns a + b: the sum of numbers or decimals; texts, lists or bytes joined; maps
// merged, the right one winning. The containers of a and b end up shared.
func Add(m *Meter, a, b Value) (Value, *Error) {
	ka, kb := a.Kind(), b.Kind()
	if a.IsNumber() && b.IsNumber() {
		if ka == KindInt && kb == KindInt {
			x, y := int64(a.n), int64(b.n)
			if s := x + y; (s^x)&(s^y) >= 0 {
				return Int(s), nil
			}
		}
		return number(a.Float() + b.Float())
	}
	if ka == kb {
		switch ka {
		case KindText, KindBytes:
			return Concat(m, a, b), nil
		case KindList:
			x, y := a.List(), b.List()
			if x.Len() == 0 {
				return y.Clone(m).Value(), nil
			}
			l := x.copyFor(m, y.Len())
			l.Extend(m, y)
			return l.Value(), nil
		case KindMap:
			return MergeInto(m, a.Map().Clone(m), b.Map()), nil
		}
	}
	if x, y, ok := operands(a, b); ok {
		return addDecimals(m, x, y)
	}
	return Null, addError(a, b)
}

// copyFor returns an unshared copy of l with room for n more elements.
func (l *List) copyFor(m *Meter, n int) *List {
	if l.tag != nil {
		c := newPacked(m, l.tag, l.Len()+n)
		c.words = append(c.words, l.words...)
		m.Work(l.Len() / 4)
		return c
	}
	c := NewList(m, l.Len()+n)
	c.height = l.height
	m.Work(l.Len())
	for _, v := range l.vals {
		c.vals = append(c.vals, v.Share())
	}
	return c
}

// MergeInto sets all entries of b in t, which must not be shared, and returns
// it as a value.
func MergeInto(m *Meter, t, b *Map) Value {
	m.Work(2 * b.Len())
	for k, v := range b.All {
		t.Set(m, k, v.Share())
	}
	return t.Value()
}

// Sub returns a - b.
func Sub(m *Meter, a, b Value) (Value, *Error) {
	if a.p == tagInt() && b.p == tagInt() {
		x, y := int64(a.n), int64(b.n)
		if s := x - y; (x^y)&(x^s) >= 0 {
			return Int(s), nil
		}
	} else if !a.IsNumber() || !b.IsNumber() {
		if x, y, ok := operands(a, b); ok {
			return addDecimals(m, x, y.negated())
		}
		return Null, operandError("cannot subtract %[2]s from %[1]s", a, b)
	}
	return number(a.Float() - b.Float())
}

// Mul returns a * b.
func Mul(m *Meter, a, b Value) (Value, *Error) {
	if a.p == tagInt() && b.p == tagInt() {
		x, y := int64(a.n), int64(b.n)
		hi, lo := bits.Mul64(magnitude(x), magnitude(y))
		if hi == 0 && (lo <= math.MaxInt64 || lo == 1<<63 && x^y < 0) {
			return Int(x * y), nil
		}
	} else if !a.IsNumber() || !b.IsNumber() {
		if x, y, ok := operands(a, b); ok {
			return mulDecimals(m, x, y)
		}
		return Null, mulError(a, b)
	}
	return number(a.Float() * b.Float())
}

func magnitude(x int64) uint64 {
	if x < 0 {
		return uint64(-x)
	}
	return uint64(x)
}

// Div returns a / b: exact where it can be, and always so between decimals.
func Div(m *Meter, a, b Value) (Value, *Error) {
	if !a.IsNumber() || !b.IsNumber() {
		if x, y, ok := operands(a, b); ok {
			if y.zero() {
				return Null, dividedByZero(a)
			}
			return divDecimals(m, x, y)
		}
		return Null, operandError("cannot divide %s by %s", a, b)
	}
	if b.p == tagInt() {
		if b.n == 0 {
			return Null, dividedByZero(a)
		}
		if a.p == tagInt() {
			x, y := int64(a.n), int64(b.n)
			if !(x == math.MinInt64 && y == -1) && x%y == 0 {
				return Int(x / y), nil
			}
		}
	}
	return number(a.Float() / b.Float())
}

// IntDiv returns a DIV b, cut towards zero; both must be whole, or decimals.
func IntDiv(m *Meter, a, b Value) (Value, *Error) {
	if a.p != tagInt() || b.p != tagInt() {
		if x, y, ok := operands(a, b); ok {
			if y.zero() {
				return Null, dividedByZero(a)
			}
			q, _, _ := quotient(m, x, y)
			return exactly(m, q, 0)
		}
		return Null, wantWhole("DIV", a, b)
	}
	if b.n == 0 {
		return Null, dividedByZero(a)
	}
	if int64(a.n) == math.MinInt64 && int64(b.n) == -1 {
		return number(-float64(math.MinInt64))
	}
	return Int(int64(a.n) / int64(b.n)), nil
}

// Mod returns a % b, with the sign of a; both must be whole, or decimals.
func Mod(m *Meter, a, b Value) (Value, *Error) {
	if a.p != tagInt() || b.p != tagInt() {
		if x, y, ok := operands(a, b); ok {
			if y.zero() {
				return Null, dividedByZero(a)
			}
			_, r, scale := quotient(m, x, y)
			return exactly(m, r, scale)
		}
		return Null, wantWhole("%", a, b)
	}
	if b.n == 0 {
		return Null, dividedByZero(a)
	}
	if int64(b.n) == -1 {
		return Int(0), nil
	}
	return Int(int64(a.n) % int64(b.n)), nil
}

// Neg returns -a.
func Neg(m *Meter, a Value) (Value, *Error) {
	switch {
	case a.p == tagInt() && int64(a.n) != math.MinInt64:
		return Int(-int64(a.n)), nil
	case a.IsNumber():
		return number(-a.Float())
	case a.IsDecimal():
		return a.decimal().negated().value(m), nil
	}
	return Null, Errorf(WrongKind, "- takes a number, not %s%s", Describe(a), numberFor(a, a))
}
