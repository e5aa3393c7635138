package value

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

func dec(t *testing.T, s string) Value {
	t.Helper()
	v, err := ParseDecimal(nil, s)
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return v
}

// amount is the real number that a decimal, or a number as it is written, stands
// for.
func amount(t *testing.T, v Value) *big.Rat {
	t.Helper()
	r, ok := new(big.Rat).SetString(string(AppendText(nil, v)))
	if !ok {
		t.Fatalf("%s is no number", AppendText(nil, v))
	}
	return r
}

// randomDecimal returns a decimal of any size, small ones more often.
func randomDecimal(r *rand.Rand) Value {
	d := decimal{negative: r.IntN(2) == 0, scale: r.IntN(5)}
	switch r.IntN(4) {
	case 0:
		d.hi, d.lo, d.scale = r.Uint64N(limitHi)>>r.IntN(64), r.Uint64(), r.IntN(MaxDigits+1)
	case 1:
		d.lo = r.Uint64() >> r.IntN(64)
	case 2: // much that divides, and is divided
		d.lo = 10 * (1 + r.Uint64N(20))
	default:
		d.lo = r.Uint64N(10_000)
	}
	return d.value(nil)
}

// representable reports whether a real number is a decimal.
func representable(x *big.Rat) bool {
	for scale := 0; scale <= MaxDigits; scale++ {
		n := new(big.Rat).Mul(x, new(big.Rat).SetInt(ten(scale)))
		if n.IsInt() {
			return n.Num().CmpAbs(ten(MaxDigits)) < 0
		}
	}
	return false
}

// TestDecimalsExact compares arithmetic with that of real numbers: a result is
// exact, or there is none that a decimal could hold.
func TestDecimalsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	none := map[string]int{}
	for range 3000 {
		a, b := randomDecimal(r), randomDecimal(r)
		switch r.IntN(6) {
		case 0:
			a = Int(int64(r.Uint64()) >> r.IntN(64))
		case 1:
			b = Int(int64(r.Uint64()) >> r.IntN(64))
		}
		x, y := amount(t, a), amount(t, b)
		if got, err := Compare(nil, a, b); err != nil || got != x.Cmp(y) || Equal(nil, a, b) != (got == 0) || Order(nil, a, b) != got {
			t.Fatalf("%s compared with %s: %d, %v, want %d", AppendText(nil, a), AppendText(nil, b), got, err, x.Cmp(y))
		}
		for name, op := range map[string]struct {
			op   func(m *Meter, a, b Value) (Value, *Error)
			want func() *big.Rat
		}{
			"+": {Add, func() *big.Rat { return new(big.Rat).Add(x, y) }},
			"-": {Sub, func() *big.Rat { return new(big.Rat).Sub(x, y) }},
			"*": {Mul, func() *big.Rat { return new(big.Rat).Mul(x, y) }},
			"/": {Div, func() *big.Rat { return new(big.Rat).Quo(x, y) }},
			"DIV": {IntDiv, func() *big.Rat {
				q := new(big.Rat).Quo(x, y)
				return new(big.Rat).SetInt(new(big.Int).Quo(q.Num(), q.Denom()))
			}},
			"%": {Mod, func() *big.Rat {
				q := new(big.Rat).Quo(x, y)
				q.SetInt(new(big.Int).Quo(q.Num(), q.Denom()))
				return q.Sub(x, q.Mul(q, y))
			}},
		} {
			got, err := op.op(nil, a, b)
			if y.Sign() == 0 && strings.Contains("/ DIV %", name) {
				if err == nil || err.Code != DivisionByZero {
					t.Fatalf("%s %s 0: %v", AppendText(nil, a), name, err)
				}
				continue
			}
			want := op.want()
			switch {
			case err != nil && err.Code == NumberRange && !representable(want):
				none[name]++
			case err != nil || amount(t, got).Cmp(want) != 0:
				t.Fatalf("%s %s %s: %s, %v, want %s", AppendText(nil, a), name, AppendText(nil, b), AppendText(nil, got), err, want.RatString())
			case (a.IsDecimal() || b.IsDecimal()) && (!got.IsDecimal() || !validDecimal(got.Raw())):
				t.Fatalf("%s %s %s is the %s %s", AppendText(nil, a), name, AppendText(nil, b), got.Kind(), AppendText(nil, got))
			}
		}
	}
	for _, name := range []string{"+", "*", "/"} {
		if none[name] == 0 {
			t.Errorf("no result of %s was too long: too little was tried", name)
		}
	}
}

// TestDecimalScales shows how many digits a result has.
func TestDecimalScales(t *testing.T) {
	for _, test := range []struct {
		op         func(m *Meter, a, b Value) (Value, *Error)
		a, b, want string
	}{
		{Add, "12.30", "0.7", "13.00"},
		{Add, "12.30", "-12.3", "0.00"},
		{Sub, "1", "0.01", "0.99"},
		{Sub, "0.01", "1", "-0.99"},
		{Mul, "12.30", "2", "24.60"},
		{Mul, "1.10", "1.10", "1.2100"},
		{Mul, "-0.00", "5", "0.00"},
		{Div, "10.00", "4", "2.50"},
		{Div, "1", "8", "0.125"},
		{Div, "-3", "1.5", "-2"},
		{Div, "0.00", "7", "0.00"},
		{IntDiv, "-7.5", "2", "-3"},
		{Mod, "-7.50", "2", "-1.50"},
		{Mod, "7.5", "0.2", "0.1"},
		{Add, strings.Repeat("9", 37), "0.1", strings.Repeat("9", 37) + ".1"},
		{Mul, "1" + strings.Repeat("0", 19) + ".50", "1" + strings.Repeat("0", 17) + ".00", "1" + strings.Repeat("0", 19) + "5" + strings.Repeat("0", 16) + ".0"},
	} {
		got, err := test.op(nil, dec(t, test.a), dec(t, test.b))
		if err != nil || string(AppendText(nil, got)) != test.want {
			t.Errorf("%s and %s: %s, %v, want %s", test.a, test.b, AppendText(nil, got), err, test.want)
		}
	}
}

// TestDecimalRounding compares the ways to round with their definitions.
func TestDecimalRounding(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	half := big.NewRat(1, 2)
	for range 1000 {
		v, digits := randomDecimal(r), r.IntN(9)-3
		for mode := range RoundingNames {
			mode := Rounding(mode)
			unit := new(big.Rat).SetInt(ten(max(digits, -digits)))
			if digits > 0 {
				unit.Inv(unit)
			}
			x := amount(t, v)
			steps := new(big.Rat).Quo(x, unit)
			want := new(big.Rat).SetInt(rounded(steps, mode, half))
			want.Mul(want, unit)
			got, err := RoundDecimal(nil, v, digits, mode)
			if err != nil && err.Code == NumberRange && !representable(want) {
				continue
			}
			if err != nil || amount(t, got).Cmp(want) != 0 {
				t.Fatalf("%s to %d digits, %s: %s, %v, want %s", AppendText(nil, v), digits, RoundingNames[mode], AppendText(nil, got), err, want.FloatString(3))
			}
			if d := got.decimal(); d.scale != max(digits, 0) && d.hi == 0 {
				t.Fatalf("%s to %d digits is %s", AppendText(nil, v), digits, AppendText(nil, got))
			}
			b := randomDecimal(r)
			if Sign(b) == 0 || digits < 0 {
				continue
			}
			steps.Quo(x, amount(t, b))
			steps.Quo(steps, unit)
			want.SetInt(rounded(steps, mode, half))
			want.Mul(want, unit)
			got, err = DivideDecimals(nil, v, b, digits, mode)
			if err != nil && err.Code == NumberRange && !representable(want) {
				continue
			}
			if err != nil || amount(t, got).Cmp(want) != 0 {
				t.Fatalf("%s divided by %s to %d digits, %s: %s, %v, want %s", AppendText(nil, v), AppendText(nil, b), digits, RoundingNames[mode], AppendText(nil, got), err, want.FloatString(9))
			}
		}
	}
}

// rounded is the integer that a real number becomes.
func rounded(x *big.Rat, mode Rounding, half *big.Rat) *big.Int {
	floor := new(big.Int).Div(x.Num(), x.Denom()) // Euclidean: the denominator is above zero
	rest := new(big.Rat).Sub(x, new(big.Rat).SetInt(floor))
	if rest.Sign() == 0 {
		return floor
	}
	ceiling := new(big.Int).Add(floor, big.NewInt(1))
	away, near := ceiling, floor
	if x.Sign() < 0 {
		away, near = floor, ceiling
	}
	closest := floor
	if rest.Cmp(half) > 0 {
		closest = ceiling
	}
	isHalf := rest.Cmp(half) == 0
	switch mode {
	case Up:
		return away
	case Down:
		return near
	case Floor:
		return floor
	case Ceiling:
		return ceiling
	case HalfUp:
		if isHalf {
			return away
		}
	case HalfDown:
		if isHalf {
			return near
		}
	case HalfEven:
		if isHalf && floor.Bit(0) == 1 {
			return ceiling
		}
	}
	return closest
}

// TestDecimalOrder checks that decimals, integers and floats have one order: that
// of what is written.
func TestDecimalOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	vs := append([]Value{}, interesting...)
	for _, s := range []string{"0", "0.00", "0.1", "0.10", "-0.1", "0.5", "2", "2.00", "9007199254740993", "9007199254740992.5", "9223372036854775807.5", "9223372036854775808",
		"0." + strings.Repeat("0", 37) + "1", strings.Repeat("9", 38), "100000000000000000000", "0.30000000000000004"} {
		vs = append(vs, dec(t, s))
	}
	for _, f := range []float64{0.1, 0.1 + 0.2, 0.30000000000000004, 1e20, 1e37, 1e38, -1e38, 1e-38, 1.5e-38, 1e-39, -1e-40, 123456.789} {
		v, _ := Number(f)
		vs = append(vs, v)
		if d, err := ToDecimal(nil, v); err == nil {
			if !Equal(nil, d, v) {
				t.Errorf("%v is not equal to the decimal of it, %s", f, AppendText(nil, d))
			}
			vs = append(vs, d)
		}
	}
	for range 60 {
		v, _ := Number((r.Float64() - 0.5) * math.Pow(10, float64(r.IntN(50)-20)))
		vs = append(vs, v, randomDecimal(r))
		if d, err := ToDecimal(nil, v); err == nil {
			vs = append(vs, d)
		}
	}
	for _, a := range vs {
		x := amount(t, a)
		for _, b := range vs {
			if !a.IsDecimal() && !b.IsDecimal() {
				continue
			}
			want := x.Cmp(amount(t, b))
			got, err := Compare(nil, a, b)
			if err != nil || got != want || Equal(nil, a, b) != (want == 0) || Order(nil, a, b) != want {
				t.Fatalf("%s %s compared with %s %s: %d, %v, want %d", a.Kind(), AppendText(nil, a), b.Kind(), AppendText(nil, b), got, err, want)
			}
			if want == 0 && a.IsDecimal() {
				n1, d1 := HashKey(nil, a)
				n2, d2 := b, ""
				if b.IsDecimal() {
					n2, d2 = HashKey(nil, b)
				}
				if d1 != d2 || d1 == "" && !Equal(nil, n1, n2) {
					t.Fatalf("%s %s and %s %s are equal and hash apart", a.Kind(), AppendText(nil, a), b.Kind(), AppendText(nil, b))
				}
			}
		}
	}
}

func TestParseDecimal(t *testing.T) {
	for s, want := range map[string]string{
		"12.30": "12.30", "-0.5": "-0.5", "+7": "7", "007.10": "7.10", "0": "0", "-0": "0", "-0.00": "0.00",
		strings.Repeat("9", 38): strings.Repeat("9", 38), "0." + strings.Repeat("0", 37) + "1": "0." + strings.Repeat("0", 37) + "1",
		strings.Repeat("0", 100) + "1": "1", "18446744073709551616": "18446744073709551616", "99999999999999999999.99": "99999999999999999999.99",
	} {
		if got := string(AppendText(nil, dec(t, s))); got != want {
			t.Errorf("%s is read as %s, want %s", s, got, want)
		}
	}
	for s, code := range map[string]string{
		"": NotANumber, ".5": NotANumber, "5.": NotANumber, "-": NotANumber, "1e3": NotANumber, "1,5": NotANumber, "1 000": NotANumber, "1_000": NotANumber,
		"--1": NotANumber, "+-1": NotANumber, "-+1": NotANumber, "1.2.3": NotANumber, "٣": NotANumber, "0x10": NotANumber, "12€": NotANumber, "NaN": NotANumber, "Infinity": NotANumber,
		"1" + strings.Repeat("0", 38): NumberRange, "0." + strings.Repeat("0", 39): NumberRange, strings.Repeat("1", 30) + "." + strings.Repeat("1", 9): NumberRange,
	} {
		if v, err := ParseDecimal(nil, s); err == nil || err.Code != code {
			t.Errorf("%q is read as %s, %v, want the error %s", s, AppendText(nil, v), err, code)
		}
	}
}

// TestDecimalForms checks how a decimal is written, and that what is announced is
// written.
func TestDecimalForms(t *testing.T) {
	v := dec(t, "-12.30")
	for got, want := range map[string]string{
		string(AppendText(nil, v)):                 "-12.30",
		string(AppendJSON(nil, ListOf(v, Int(1)))): `["-12.30",1]`,
		Describe(v):       "the decimal -12.30",
		v.Kind().String(): "decimal",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	r := rand.New(rand.NewPCG(11, 12))
	for range 2000 {
		v := randomDecimal(r)
		if text := AppendText(nil, v); TextSize(nil, v) != len(text) || JSONSize(nil, v) != len(text)+2 || !FitsJSON(v, len(text)+2) || FitsJSON(v, len(text)+1) {
			t.Fatalf("%s takes %d bytes, announced are %d", text, len(text), TextSize(nil, v))
		}
	}
	if dec(t, "0.00").Truthy() || !dec(t, "0.01").Truthy() {
		t.Error("a decimal is true where it is not zero")
	}
	if v.IsContainer() || v.IsNumber() || !v.IsNumeric() || v.Share() != v || v.Shared() {
		t.Error("a decimal is taken for something else")
	}
	for want, v := range map[Value]Value{
		Int(12): dec(t, "12.00"), Int(maxInt): dec(t, "9223372036854775807.0"), Int(0): dec(t, "0.0"),
		num(t, 0.1): dec(t, "0.10"), num(t, 9223372036854775808.0): dec(t, "9223372036854775808"),
	} {
		if got := DecimalToNumber(nil, v); got != want {
			t.Errorf("the number of %s is %s, want %s", AppendText(nil, v), AppendText(nil, got), AppendText(nil, want))
		}
	}
}

// TestDecimalsAreCounted checks that memory is charged for each result.
func TestDecimalsAreCounted(t *testing.T) {
	a := dec(t, "12.30")
	for name, op := range map[string]func(m *Meter) (Value, *Error){
		"+":     func(m *Meter) (Value, *Error) { return Add(m, a, a) },
		"*":     func(m *Meter) (Value, *Error) { return Mul(m, a, a) },
		"/":     func(m *Meter) (Value, *Error) { return Div(m, a, Int(3)) },
		"-x":    func(m *Meter) (Value, *Error) { return Neg(m, a) },
		"ROUND": func(m *Meter) (Value, *Error) { return RoundDecimal(m, a, 1, HalfUp) },
		"read":  func(m *Meter) (Value, *Error) { return ParseDecimal(m, "1.5") },
	} {
		m := roomy(1 << 20)
		v, err := op(m)
		if err != nil {
			t.Fatal(name, err)
		}
		if charged, fuel := m.Memory-m.BytesLeft, m.TotalFuel-m.Fuel; charged != SizeOf(v) || charged == 0 || fuel < 3 {
			t.Errorf("%s: %d bytes and %d fuel were charged for %d bytes", name, charged, fuel, SizeOf(v))
		}
	}
}

// FuzzParseDecimal reads any text: an error, or a decimal that is read the same
// again from what it is written as.
func FuzzParseDecimal(f *testing.F) {
	for _, s := range []string{"12.30", "-0.00", "+1", "1e3", ".5", strings.Repeat("9", 38), "0." + strings.Repeat("9", 38), strings.Repeat("9", 39)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := ParseDecimal(nil, s)
		if err != nil {
			if err.Code != NotANumber && err.Code != NumberRange {
				t.Fatal(err.Code)
			}
			return
		}
		if !validDecimal(v.Raw()) {
			t.Fatalf("%q is read as %x", s, v.Raw())
		}
		want, ok := new(big.Rat).SetString(s)
		if !ok || amount(t, v).Cmp(want) != 0 {
			t.Fatalf("%q is read as %s", s, AppendText(nil, v))
		}
		again, err := ParseDecimal(nil, string(AppendText(nil, v)))
		if err != nil || again.decimal() != v.decimal() {
			t.Fatalf("%q is written as %s, and that is read as %s, %v", s, AppendText(nil, v), AppendText(nil, again), err)
		}
	})
}
