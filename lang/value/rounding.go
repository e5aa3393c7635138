package value

import "math/big"

// Rounding says where a number goes that lies between two of those that are left
// when its last digits are dropped.
type Rounding uint8

// The ways to round. Up is away from zero and Down towards it, whatever the sign.
const (
	HalfUp Rounding = iota
	HalfEven
	HalfDown
	Up
	Down
	Ceiling
	Floor
)

// RoundingNames are how scripts name the ways to round.
var RoundingNames = [...]string{"half up", "half even", "half down", "up", "down", "ceiling", "floor"}

// ParseRounding returns the way to round of that name.
func ParseRounding(name string) (Rounding, bool) {
	for r, n := range RoundingNames {
		if n == name {
			return Rounding(r), true
		}
	}
	return 0, false
}

// Away reports whether a number goes to the one further from zero. odd says whether
// the last digit that stays is odd; half is below, at or above zero as what is
// dropped is less than a half, a half, or more. Something must be dropped.
func (r Rounding) Away(negative, odd bool, half int) bool {
	switch r {
	case HalfUp:
		return half >= 0
	case HalfEven:
		return half > 0 || half == 0 && odd
	case HalfDown:
		return half > 0
	case Up:
		return true
	case Ceiling:
		return !negative
	case Floor:
		return negative
	}
	return false
}

// divide returns n / d without a fraction, rounded. d is above zero. It changes n.
func (r Rounding) divide(n, d *big.Int) *big.Int {
	rest := new(big.Int)
	negative := n.Sign() < 0
	n.QuoRem(n, d, rest)
	if rest.Sign() == 0 {
		return n
	}
	half := rest.Lsh(rest, 1).CmpAbs(d)
	if !r.Away(negative, n.Bit(0) == 1, half) {
		return n
	}
	if negative {
		return n.Sub(n, big.NewInt(1))
	}
	return n.Add(n, big.NewInt(1))
}

// RoundDecimal returns a decimal with so many digits after its point: zeros are
// added where it has less. A negative number of them drops digits before the
// point.
func RoundDecimal(m *Meter, v Value, digits int, r Rounding) (Value, *Error) {
	m.Work(wideWork)
	digits = min(max(digits, -MaxDigits-1), MaxDigits)
	d := v.decimal()
	n := d.integer()
	if digits >= d.scale {
		return exactly(m, n.Mul(n, ten(digits-d.scale)), digits)
	}
	n = r.divide(n, ten(d.scale-digits))
	if digits < 0 {
		return exactly(m, n.Mul(n, ten(-digits)), 0)
	}
	return exactly(m, n, digits)
}

// DivideDecimals returns a / b with so many digits after the point, for operands
// that are decimals or integers.
func DivideDecimals(m *Meter, a, b Value, digits int, r Rounding) (Value, *Error) {
	m.Work(divideWork)
	x, _ := operand(a)
	y, _ := operand(b)
	if y.zero() {
		return Null, dividedByZero(a)
	}
	n, d, _ := wide(x, y)
	if d.Sign() < 0 {
		n.Neg(n)
		d.Neg(d)
	}
	n.Mul(n, ten(digits))
	return exactly(m, r.divide(n, d), digits)
}
