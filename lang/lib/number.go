package lib

import (
	"math"
	"math/bits"
	"strconv"

	"ql/lang/value"
)

var numberFunctions = []Builtin{
	{Name: "ABS", Min: 1, Max: 1, Fn: needs(1, abs),
		Signature: "ABS(number)", Summary: "The number without its sign.",
		Example: `ABS(-5)`, Result: "5"},
	{Name: "SIGN", Min: 1, Max: 1, Fn: needs(1, sign),
		Signature: "SIGN(number)", Summary: "-1, 0 or 1: whether the number is below, at or above zero.",
		Example: `SIGN(-0.5)`, Result: "-1"},
	{Name: "ROUND", Min: 1, Max: 3, Fn: needs(1, round),
		Signature: "ROUND(number[, digits[, rounding]])", Summary: "The nearest number with so many digits after the point, none unless given. A half goes away from zero, or as the rounding says: \"half up\", \"half even\", \"half down\", \"up\", \"down\", \"ceiling\" or \"floor\". A decimal then has just so many digits.",
		Example: `ROUND(2.675, 2)`, Result: "2.68"},
	{Name: "FLOOR", Min: 1, Max: 1, Fn: needs(1, wholeBy("FLOOR", math.Floor, value.Floor)),
		Signature: "FLOOR(number)", Summary: "The largest whole number that is not above the number.",
		Example: `FLOOR(-2.5)`, Result: "-3"},
	{Name: "CEIL", Min: 1, Max: 1, Fn: needs(1, wholeBy("CEIL", math.Ceil, value.Ceiling)),
		Signature: "CEIL(number)", Summary: "The smallest whole number that is not below the number.",
		Example: `CEIL(2.1)`, Result: "3"},
	{Name: "TRUNCATE", Min: 1, Max: 1, Fn: needs(1, wholeBy("TRUNCATE", math.Trunc, value.Down)),
		Signature: "TRUNCATE(number)", Summary: "The number without what follows its point.",
		Example: `TRUNCATE(-2.9)`, Result: "-2"},
	{Name: "CLAMP", Min: 3, Max: 3, Fn: needs(3, clamp),
		Signature: "CLAMP(number, low, high)", Summary: "The number, or low if it is below, or high if it is above.",
		Example: `CLAMP(120, 0, 100)`, Result: "100"},
	{Name: "MIN", Min: 1, Max: -1, Fn: extreme("MIN", -1),
		Signature: "MIN(value, …) or MIN(list)", Summary: "The smallest of the numbers, or of the texts; nulls do not count. Null if there is none.",
		Example: `MIN(3, 1, 2)`, Result: "1"},
	{Name: "MAX", Min: 1, Max: -1, Fn: extreme("MAX", 1),
		Signature: "MAX(value, …) or MAX(list)", Summary: "The largest of the numbers, or of the texts; nulls do not count. Null if there is none.",
		Example: `MAX([3, 1, 2])`, Result: "3"},
	{Name: "SUM", Min: 1, Max: -1, Fn: sum,
		Signature: "SUM(list) or SUM(number, …)", Summary: "All the numbers added up; nulls do not count. 0 if there is none.",
		Example: `SUM([0.1, 0.2, 0.3])`, Result: "0.6"},
	{Name: "PRODUCT", Min: 1, Max: -1, Fn: product,
		Signature: "PRODUCT(list) or PRODUCT(number, …)", Summary: "All the numbers multiplied; nulls do not count. 1 if there is none.",
		Example: `PRODUCT([2, 3, 4])`, Result: "24"},
	{Name: "AVERAGE", Min: 1, Max: -1, Fn: average,
		Signature: "AVERAGE(list) or AVERAGE(number, …)", Summary: "The sum of the numbers divided by how many there are; nulls do not count. Null if there is none.",
		Example: `AVERAGE([1, 2, 6])`, Result: "3"},
	{Name: "MEDIAN", Min: 1, Max: -1, Fn: median,
		Signature: "MEDIAN(list) or MEDIAN(number, …)", Summary: "The number in the middle, or the average of the two there; nulls do not count. Null if there is none.",
		Example: `MEDIAN([1, 100, 3, 2])`, Result: "2.5"},
	{Name: "DIVIDE", Min: 3, Max: 4, Fn: needs(3, divide),
		Signature: "DIVIDE(a, b, digits[, rounding])", Summary: "a / b as a decimal with so many digits after its point, for decimals and whole numbers; a half goes away from zero, or as the rounding says.",
		Example: `DIVIDE(DECIMAL("100.00"), 3, 2)`, Result: "33.33"},
	{Name: "POWER", Min: 2, Max: 2, Fn: needs(2, power),
		Signature: "POWER(base, exponent)", Summary: "The base to the power of the exponent.",
		Example: `POWER(2, 10)`, Result: "1024"},
	{Name: "SQRT", Min: 1, Max: 1, Fn: needs(1, byFloatIn("SQRT", math.Sqrt, fromZero)),
		Signature: "SQRT(number)", Summary: "The square root.",
		Example: `SQRT(2.25)`, Result: "1.5"},
	{Name: "EXP", Min: 1, Max: 1, Fn: needs(1, byFloat("EXP", math.Exp)),
		Signature: "EXP(number)", Summary: "e to the power of the number.",
		Example: `ROUND(EXP(1), 4)`, Result: "2.7183"},
	{Name: "LN", Min: 1, Max: 1, Fn: needs(1, byFloatIn("LN", math.Log, aboveZero)),
		Signature: "LN(number)", Summary: "The natural logarithm.",
		Example: `ROUND(LN(10), 4)`, Result: "2.3026"},
	{Name: "LOG", Min: 2, Max: 2, Fn: needs(2, logarithm),
		Signature: "LOG(number, base)", Summary: "The logarithm to a base; LN has the natural one.",
		Example: `LOG(8, 2)`, Result: "3"},
	{Name: "LOG2", Min: 1, Max: 1, Fn: needs(1, byFloatIn("LOG2", math.Log2, aboveZero)),
		Signature: "LOG2(number)", Summary: "The logarithm to the base 2.",
		Example: `LOG2(1024)`, Result: "10"},
	{Name: "LOG10", Min: 1, Max: 1, Fn: needs(1, byFloatIn("LOG10", math.Log10, aboveZero)),
		Signature: "LOG10(number)", Summary: "The logarithm to the base 10.",
		Example: `LOG10(1000)`, Result: "3"},
	{Name: "PI", Min: 0, Max: 0, Fn: pi,
		Signature: "PI()", Summary: "The number π.",
		Example: `ROUND(PI(), 4)`, Result: "3.1416"},
	{Name: "SIN", Min: 1, Max: 1, Fn: needs(1, byFloat("SIN", math.Sin)),
		Signature: "SIN(angle)", Summary: "The sine of an angle in radians.",
		Example: `SIN(PI() / 2)`, Result: "1"},
	{Name: "COS", Min: 1, Max: 1, Fn: needs(1, byFloat("COS", math.Cos)),
		Signature: "COS(angle)", Summary: "The cosine of an angle in radians.",
		Example: `COS(0)`, Result: "1"},
	{Name: "TAN", Min: 1, Max: 1, Fn: needs(1, byFloat("TAN", math.Tan)),
		Signature: "TAN(angle)", Summary: "The tangent of an angle in radians.",
		Example: `ROUND(TAN(1), 4)`, Result: "1.5574"},
	{Name: "ASIN", Min: 1, Max: 1, Fn: needs(1, byFloatIn("ASIN", math.Asin, toOne)),
		Signature: "ASIN(number)", Summary: "The angle, in radians, whose sine the number is.",
		Example: `ROUND(ASIN(1), 4)`, Result: "1.5708"},
	{Name: "ACOS", Min: 1, Max: 1, Fn: needs(1, byFloatIn("ACOS", math.Acos, toOne)),
		Signature: "ACOS(number)", Summary: "The angle, in radians, whose cosine the number is.",
		Example: `ROUND(ACOS(0), 4)`, Result: "1.5708"},
	{Name: "ATAN", Min: 1, Max: 1, Fn: needs(1, byFloat("ATAN", math.Atan)),
		Signature: "ATAN(number)", Summary: "The angle, in radians, whose tangent the number is.",
		Example: `ROUND(ATAN(1), 4)`, Result: "0.7854"},
	{Name: "ATAN2", Min: 2, Max: 2, Fn: needs(2, atan2),
		Signature: "ATAN2(y, x)", Summary: "The angle, in radians, of the point at x and y.",
		Example: `ROUND(ATAN2(1, 1), 4)`, Result: "0.7854"},
	{Name: "GCD", Min: 2, Max: 2, Fn: needs(2, gcd),
		Signature: "GCD(a, b)", Summary: "The largest whole number that divides two whole numbers.",
		Example: `GCD(12, 18)`, Result: "6"},
	{Name: "LCM", Min: 2, Max: 2, Fn: needs(2, lcm),
		Signature: "LCM(a, b)", Summary: "The smallest whole number that two whole numbers divide.",
		Example: `LCM(4, 6)`, Result: "12"},
	{Name: "RANDOM", Min: 0, Max: 2, Host: true,
		Signature: "RANDOM() or RANDOM(low, high)", Summary: "A number by chance: from 0 up to but not 1, or a whole one from low to high, both included.",
		Example: `RANDOM(1, 6)`},
}

// number returns f as a value, or the error for a result that is no number.
func (c *Call) number(name string, f float64) (value.Value, error) {
	v, ok := value.Number(f)
	if !ok {
		return value.Null, value.Errorf(value.NumberRange, "the result of %s is not a number, or too large for one", name)
	}
	return v, nil
}

// byFloat makes a function of one number from a Go function.
func byFloat(name string, f func(float64) float64) Func { return byFloatIn(name, f, anywhere) }

// domain is the numbers that a function has a result for.
type domain struct {
	words string
	has   func(float64) bool
}

var (
	anywhere  = domain{"a number", func(float64) bool { return true }}
	fromZero  = domain{"a number from 0 on", func(f float64) bool { return f >= 0 }}
	aboveZero = domain{"a number above 0", func(f float64) bool { return f > 0 }}
	toOne     = domain{"a number from -1 to 1", func(f float64) bool { return f >= -1 && f <= 1 }}
)

// in reads a number of the domain.
func (d domain) in(in *input, i int, what string) float64 {
	n := in.number(i, what)
	if in.err == nil && !d.has(n.Float()) {
		if what != "" {
			what = " for argument " + strconv.Itoa(i+1) + ", " + what
		}
		in.fail(value.NumberRange, "takes %s%s, not %s", d.words, what, value.AppendNumber(nil, n))
	}
	return n.Float()
}

// byFloatIn is byFloat for functions that not all numbers have a result for.
func byFloatIn(name string, f func(float64) float64, d domain) Func {
	return func(c *Call, args []value.Value) (value.Value, error) {
		in := read(c, name, args)
		n := d.in(&in, 0, "")
		if in.err != nil {
			return value.Null, in.err
		}
		return c.number(name, f(n))
	}
}

// logarithm is exact where the number is a power of the base.
func logarithm(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "LOG", args)
	n, base := aboveZero.in(&in, 0, "the number"), aboveZero.in(&in, 1, "the base")
	if in.err == nil && base == 1 {
		in.fail(value.NumberRange, "takes a base other than 1")
	}
	if in.err != nil {
		return value.Null, in.err
	}
	switch base {
	case 2:
		return c.number("LOG", math.Log2(n))
	case 10:
		return c.number("LOG", math.Log10(n))
	}
	l := math.Log(n) / math.Log(base)
	if whole := math.Round(l); math.Pow(base, whole) == n { // a power of the base, exactly
		l = whole
	}
	return c.number("LOG", l)
}

// integer reads an integer.
func (in *input) integer(i int, what string) int64 {
	n := in.number(i, what)
	if in.err == nil && !n.IsInt() {
		in.fail(value.BadArgument, "takes a whole number for argument %d, %s, not %s", i+1, what, value.AppendNumber(nil, n))
	}
	return n.Int64()
}

// commonDivisor returns the largest number that divides two integers, and their
// magnitudes; 0 where both are.
func (in *input) commonDivisor() (divisor, a, b uint64) {
	x, y := in.integer(0, "the first"), in.integer(1, "the second")
	if in.err != nil {
		return 0, 0, 0
	}
	a, b = unsigned(x), unsigned(y)
	divisor = a
	for rest := b; rest != 0; {
		divisor, rest = rest, divisor%rest
	}
	in.Meter.Work(divisorWork)
	return divisor, a, b
}

// divisorWork is what it takes to find a common divisor, of which the last
// remainders of a Fibonacci sequence take most.
const divisorWork = 60

// unsigned returns the magnitude of an integer.
func unsigned(x int64) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}

func gcd(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "GCD", args)
	divisor, _, _ := in.commonDivisor()
	if in.err != nil {
		return value.Null, in.err
	}
	return c.whole("GCD", 0, divisor)
}

func lcm(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "LCM", args)
	divisor, a, b := in.commonDivisor()
	switch {
	case in.err != nil:
		return value.Null, in.err
	case divisor == 0:
		return value.Int(0), nil
	}
	hi, lo := bits.Mul64(a/divisor, b)
	return c.whole("LCM", hi, lo)
}

// whole returns an integer of 128 bits where it is one of the language.
func (c *Call) whole(name string, hi, lo uint64) (value.Value, error) {
	if hi != 0 || lo > math.MaxInt64 {
		return value.Null, value.Errorf(value.NumberRange, "the result of %s is too large for a whole number", name)
	}
	return value.Int(int64(lo)), nil
}

// wholeBy makes a rounding function from a Go function; integers are whole
// already.
func wholeBy(name string, f func(float64) float64, r value.Rounding) Func {
	return func(c *Call, args []value.Value) (value.Value, error) {
		in := read(c, name, args)
		n := in.numeric(0, "")
		if in.err != nil {
			return value.Null, in.err
		}
		switch {
		case n.IsInt():
			return n, nil
		case n.IsDecimal():
			return orError(value.RoundDecimal(c.Meter, n, 0, r))
		}
		return c.number(name, f(n.Float64()))
	}
}

func abs(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "ABS", args)
	n := in.numeric(0, "")
	if in.err != nil {
		return value.Null, in.err
	}
	if n.IsDecimal() {
		if value.Sign(n) >= 0 {
			return n, nil
		}
		return orError(value.Neg(c.Meter, n))
	}
	if n.IsInt() && n.Int64() != math.MinInt64 {
		return value.Int(max(n.Int64(), -n.Int64())), nil
	}
	return c.number("ABS", math.Abs(n.Float()))
}

func sign(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "SIGN", args)
	n := in.numeric(0, "")
	if in.err != nil {
		return value.Null, in.err
	}
	return value.Int(int64(value.Sign(n))), nil
}

// mostPlaces is beyond the digits of any number, on either side of the point.
const mostPlaces = 400

func round(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "ROUND", args)
	n, places := in.numeric(0, "the number"), int64(0)
	if in.given(1) {
		places = in.whole(1, "the digits")
	}
	r := in.rounding(2)
	if in.err != nil {
		return value.Null, in.err
	}
	digits := int(min(max(places, -mostPlaces), mostPlaces))
	if n.IsDecimal() {
		return orError(value.RoundDecimal(c.Meter, n, digits, r))
	}
	if n.IsInt() && places >= 0 {
		return n, nil
	}
	d := c.decimal(n)
	d.round(digits, r)
	v, ok := d.value()
	if !ok {
		return value.Null, value.Errorf(value.NumberRange, "the result of ROUND is too large for a number")
	}
	return v, nil
}

func clamp(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "CLAMP", args)
	n, low, high := in.numeric(0, "the number"), in.numeric(1, "the lowest"), in.numeric(2, "the highest")
	if in.err == nil && value.Order(c.Meter, low, high) > 0 {
		in.fail(value.BadArgument, "takes the lower bound before the higher, not %s before %s", value.AppendText(nil, low), value.AppendText(nil, high))
	}
	switch {
	case in.err != nil:
		return value.Null, in.err
	case value.Order(c.Meter, n, low) < 0:
		return low, nil
	case value.Order(c.Meter, n, high) > 0:
		return high, nil
	}
	return n, nil
}

// power keeps whole powers of integers exact as long as they fit.
func power(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "POWER", args)
	base, exponent := in.numeric(0, "the base"), in.number(1, "the exponent")
	if in.err != nil {
		return value.Null, in.err
	}
	if base.IsDecimal() {
		return powerOfDecimal(&in, base, exponent)
	}
	if base.IsInt() && exponent.IsInt() && exponent.Int64() >= 0 {
		if n, ok := intPower(base.Int64(), exponent.Int64()); ok {
			return value.Int(n), nil
		}
	}
	return c.number("POWER", math.Pow(base.Float(), exponent.Float()))
}

func intPower(base, exponent int64) (int64, bool) {
	result := int64(1)
	for exponent > 0 {
		if exponent&1 == 1 {
			var ok bool
			if result, ok = timesExact(result, base); !ok {
				return 0, false
			}
		}
		exponent >>= 1
		if exponent > 0 {
			var ok bool
			if base, ok = timesExact(base, base); !ok {
				return 0, false
			}
		}
	}
	return result, true
}

// timesExact returns a*b and whether it fits.
func timesExact(a, b int64) (int64, bool) {
	if a == 0 || b == 0 {
		return 0, true
	}
	n := a * b
	return n, n/b == a && !(a == -1 && b == math.MinInt64) && !(b == -1 && a == math.MinInt64)
}

func pi(*Call, []value.Value) (value.Value, error) {
	v, _ := value.Number(math.Pi)
	return v, nil
}

func atan2(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "ATAN2", args)
	y, x := in.number(0, "y"), in.number(1, "x")
	if in.err != nil {
		return value.Null, in.err
	}
	return c.number("ATAN2", math.Atan2(y.Float(), x.Float()))
}

// each calls f with the elements of the only argument, if it is a list, or
// with the arguments. Nulls are left out.
func (in *input) each(f func(v value.Value)) {
	if len(in.args) == 1 && in.args[0].IsList() {
		l := in.args[0].List()
		in.Meter.Work(2 * l.Len())
		for i := range l.Len() {
			if v := l.At(i); !v.IsNull() {
				f(v)
			}
		}
		return
	}
	for _, v := range in.args {
		if !v.IsNull() {
			f(v)
		}
	}
}

// numbers calls f with each number or decimal of the arguments.
func (in *input) numbers(f func(v value.Value)) {
	in.each(func(v value.Value) {
		switch {
		case in.err != nil:
		case !v.IsNumeric():
			in.fail(value.WrongKind, "takes numbers, or one list of numbers; among them is %s%s", value.Describe(v), toNumberHint(v))
		default:
			f(v)
		}
	})
}

func extreme(name string, direction int) Func {
	return func(c *Call, args []value.Value) (value.Value, error) {
		in := read(c, name, args)
		best := value.Null
		in.each(func(v value.Value) {
			switch {
			case in.err != nil:
			case !v.IsNumeric() && !v.IsText():
				in.fail(value.WrongKind, "takes numbers or texts, or one list of them; among them is %s", value.Describe(v))
			case best.IsNull():
				best = v
			case best.IsText() != v.IsText():
				in.fail(value.WrongKind, "takes either numbers or texts, not both %s and %s%s", value.Describe(best), value.Describe(v), "; NUMBER(…) makes a number of a text")
			case value.Order(c.Meter, v, best)*direction > 0:
				best = v
			}
		})
		if in.err != nil {
			return value.Null, in.err
		}
		return best, nil
	}
}

// total adds numbers up: integers exactly in 128 bits, decimals exactly, floats with
// the error of each step carried along (after Neumaier).
type total struct {
	in       *input
	n        int64
	hi       int64
	lo       uint64
	floats   bool
	float0   value.Value // the first of them
	sum, off float64
	decimals *value.DecimalSum
}

// totalOf adds up the numbers of the arguments.
func totalOf(in *input) *total {
	t := &total{in: in}
	in.numbers(t.add)
	return t
}

func (t *total) add(v value.Value) {
	t.n++
	switch {
	case v.IsFloat() && t.decimals != nil:
		t.in.mixed(v)
		return
	case v.IsDecimal():
		if t.floats {
			t.in.mixed(t.float0)
			return
		}
		if t.decimals == nil {
			t.decimals = new(value.DecimalSum)
		}
		t.decimals.Add(t.in.Meter, v)
		return
	}
	if v.IsInt() {
		i := v.Int64()
		var carry uint64
		t.lo, carry = bits.Add64(t.lo, uint64(i), 0)
		t.hi += i>>63 + int64(carry)
		return
	}
	if !t.floats {
		t.floats, t.float0 = true, v
	}
	t.addFloat(v.Float64())
}

func (t *total) addFloat(f float64) {
	s := t.sum + f
	if math.Abs(t.sum) >= math.Abs(f) {
		t.off += t.sum - s + f
	} else {
		t.off += f - s + t.sum
	}
	t.sum = s
}

// whole returns the sum where it is an integer of the language.
func (t *total) whole() (int64, bool) {
	return int64(t.lo), !t.floats && t.hi == int64(t.lo)>>63
}

// exact returns the sum of decimals and integers.
func (t *total) exact() (value.Value, error) {
	t.decimals.AddWide(t.hi, t.lo)
	return orError(t.decimals.Value(t.in.Meter))
}

func (t *total) float() float64 {
	u := *t
	if i, ok := (&total{hi: u.hi, lo: u.lo}).whole(); ok {
		u.addFloat(float64(i))
	} else {
		u.addFloat(math.Ldexp(float64(u.hi), 64))
		u.addFloat(float64(u.lo))
	}
	if math.IsInf(u.sum, 0) {
		return u.sum
	}
	return u.sum + u.off
}

func sum(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "SUM", args)
	t := totalOf(&in)
	if in.err != nil {
		return value.Null, in.err
	}
	if t.decimals != nil {
		return t.exact()
	}
	if i, ok := t.whole(); ok {
		return value.Int(i), nil
	}
	return c.number("SUM", t.float())
}

func average(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "AVERAGE", args)
	t := totalOf(&in)
	if in.err != nil {
		return value.Null, in.err
	}
	if t.decimals != nil {
		sum, err := t.exact()
		if err != nil {
			return value.Null, err
		}
		return averageOfDecimals(c, sum, t.n)
	}
	if t.n == 0 {
		return value.Null, nil
	}
	if i, ok := t.whole(); ok && i%t.n == 0 {
		return value.Int(i / t.n), nil
	}
	return c.number("AVERAGE", t.float()/float64(t.n))
}

func product(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "PRODUCT", args)
	exact, float, whole := int64(1), 1.0, true
	decimals := false
	in.numbers(func(v value.Value) {
		if decimals = decimals || v.IsDecimal(); decimals {
			return
		}
		float *= v.Float()
		if whole = whole && v.IsInt(); whole {
			exact, whole = timesExact(exact, v.Int64())
		}
	})
	if in.err != nil {
		return value.Null, in.err
	}
	switch {
	case decimals:
		return productOfDecimals(&in)
	case whole:
		return value.Int(exact), nil
	}
	return c.number("PRODUCT", float)
}

func median(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "MEDIAN", args)
	n := 0
	in.numbers(func(value.Value) { n++ })
	if in.err != nil {
		return value.Null, in.err
	}
	if n == 0 {
		return value.Null, nil
	}
	c.Meter.Alloc(n * 16)
	all := make([]value.Value, 0, n)
	in.numbers(func(v value.Value) { all = append(all, v) })
	sortStable(c, all, 16, func(a, b value.Value) int { return value.Order(c.Meter, a, b) })
	low, high := all[(n-1)/2], all[n/2]
	if low.IsInt() && high.IsInt() {
		a, b := low.Int64(), high.Int64()
		if (a^b)&1 == 0 {
			return value.Int(a&b + (a^b)>>1), nil
		}
	}
	if low.IsDecimal() || high.IsDecimal() {
		return medianOfDecimals(&in, low, high)
	}
	return c.number("MEDIAN", low.Float()/2+high.Float()/2)
}
