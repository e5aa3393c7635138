package refeval

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"ql/lang/source"
	"ql/lang/syntax"
	"ql/lang/value"
)

// decimal is an exact number as it is written.
type decimal string

func (d decimal) rat() *big.Rat {
	r, ok := new(big.Rat).SetString(string(d))
	if !ok {
		panic("no decimal: " + string(d))
	}
	return r
}

// scale is how many digits stand after the point.
func (d decimal) scale() int {
	_, fraction, _ := strings.Cut(string(d), ".")
	return len(fraction)
}

// asDecimal returns a decimal, or an integer as one.
func asDecimal(v val) (decimal, bool) {
	switch v := v.(type) {
	case decimal:
		return v, true
	case int64:
		return decimal(strconv.FormatInt(v, 10)), true
	}
	return "", false
}

// decimals is arithmetic of which at least one side is a decimal.
func (m *machine) decimals(at source.Pos, op syntax.Op, x, y val) val {
	a, okA := asDecimal(x)
	b, okB := asDecimal(y)
	if !okA || !okB {
		m.fail(at, value.WrongKind)
	}
	p, q := a.rat(), b.rat()
	r, scale := new(big.Rat), max(a.scale(), b.scale())
	switch op {
	case syntax.OpAdd:
		r.Add(p, q)
	case syntax.OpSub:
		r.Sub(p, q)
	case syntax.OpMul:
		r.Mul(p, q)
		scale = a.scale() + b.scale()
	default:
		if q.Sign() == 0 {
			m.fail(at, value.DivisionByZero)
		}
		r.Quo(p, q)
		whole := new(big.Rat).SetInt(new(big.Int).Quo(r.Num(), r.Denom()))
		switch op {
		case syntax.OpIntDiv:
			r, scale = whole, 0
		case syntax.OpMod:
			r.Sub(p, whole.Mul(whole, q))
		default:
			scale = a.scale()
		}
	}
	d, ok := written38(r, scale)
	if !ok {
		m.fail(at, value.NumberRange)
	}
	return d
}

// written38 writes a real number with so many digits after the point: more where
// it needs them, less where it has more than 38 digits and the last are zeros.
func written38(r *big.Rat, scale int) (decimal, bool) {
	limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(38), nil)
	for least := 0; least <= 38; least++ {
		n := new(big.Rat).Mul(r, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(least)), nil)))
		if !n.IsInt() {
			continue
		}
		for s := max(least, min(scale, 38)); s >= least; s-- {
			if new(big.Int).Mul(n.Num(), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(s-least)), nil)).CmpAbs(limit) < 0 {
				return decimal(r.FloatString(s)), true
			}
		}
		return "", false
	}
	return "", false
}

// shown is the real number of what is written: that of a float's digits, where a
// decimal is compared with it.
func shown(v val) *big.Rat {
	switch v := v.(type) {
	case decimal:
		return v.rat()
	case int64:
		return new(big.Rat).SetInt64(v)
	}
	f := v.(float64)
	if f == math.Trunc(f) && math.Abs(f) < 1<<63 {
		return new(big.Rat).SetFloat64(f)
	}
	r, _ := new(big.Rat).SetString(strconv.FormatFloat(f, 'e', -1, 64))
	return r
}
