package value

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// num makes a number of what a test writes: an int, an int64 or a float64.
func num(t *testing.T, x any) Value {
	t.Helper()
	switch x := x.(type) {
	case int:
		return Int(int64(x))
	case int64:
		return Int(x)
	case float64:
		v, ok := Number(x)
		if !ok {
			t.Fatalf("%v is no number", x)
		}
		return v
	}
	t.Fatalf("%v is no number", x)
	return Null
}

const (
	maxInt = int64(math.MaxInt64)
	minInt = int64(math.MinInt64)
)

func TestArithmetic(t *testing.T) {
	neg := func(m *Meter, a, _ Value) (Value, *Error) { return Neg(m, a) }
	for _, test := range []struct {
		name string
		op   func(m *Meter, a, b Value) (Value, *Error)
		a, b any
		want any // a number, or the code of an error
	}{
		{"+", Add, 2, 3, 5},
		{"+", Add, 0.1, 0.2, 0.30000000000000004},
		{"+", Add, 0.5, 0.5, 1}, // whole again
		{"+", Add, maxInt, 1, 9223372036854775808.0},
		{"+", Add, minInt, -1, -9223372036854775808.0},
		{"+", Add, maxInt, minInt, -1},
		{"+", Add, 1 << 53, 1, 1<<53 + 1}, // exact where floats are not
		{"+", Add, 1e308, 1e308, NumberRange},
		{"+", Add, -1e308, -1e308, NumberRange},
		{"+", Add, 0.25, -0.25, 0},
		{"-", Sub, 2, 3, -1},
		{"-", Sub, minInt, 1, -9223372036854775808.0},
		{"-", Sub, 0, minInt, 9223372036854775808.0},
		{"-", Sub, 1.5, 1.5, 0},
		{"-", Sub, -1e308, 1e308, NumberRange},
		{"*", Mul, 6, 7, 42},
		{"*", Mul, 3037000500, 3037000500, 9223372037000250000.0},
		{"*", Mul, -1, minInt, 9223372036854775808.0},
		{"*", Mul, minInt, 1, minInt},
		{"*", Mul, 1 << 31, -(1 << 32), minInt},
		{"*", Mul, 0, -5, 0}, // no −0
		{"*", Mul, 0.5, 0, 0},
		{"*", Mul, 2, 0.5, 1},
		{"*", Mul, 1e200, 1e200, NumberRange},
		{"*", Mul, 5e-324, 0.5, 0},
		{"/", Div, 6, 3, 2},
		{"/", Div, 1, 4, 0.25},
		{"/", Div, 7, -2, -3.5},
		{"/", Div, 0, -5, 0},
		{"/", Div, maxInt, 1, maxInt},
		{"/", Div, minInt, -1, 9223372036854775808.0},
		{"/", Div, 1, 0, DivisionByZero},
		{"/", Div, 0, 0, DivisionByZero},
		{"/", Div, 1.5, 0, DivisionByZero},
		{"/", Div, 1e308, 1e-10, NumberRange},
		{"/", Div, 1.5, 0.5, 3},
		{"/", Div, maxInt - 1, 2, maxInt / 2}, // exact beyond 2^53
		{"DIV", IntDiv, 7, 2, 3},
		{"DIV", IntDiv, -7, 2, -3}, // towards zero
		{"DIV", IntDiv, 7, -2, -3},
		{"DIV", IntDiv, -7, -2, 3},
		{"DIV", IntDiv, minInt, -1, 9223372036854775808.0},
		{"DIV", IntDiv, 1, 0, DivisionByZero},
		{"DIV", IntDiv, 1.5, 1, WrongKind},
		{"DIV", IntDiv, 1e300, 7, WrongKind},
		{"%", Mod, 7, 3, 1},
		{"%", Mod, -7, 3, -1}, // the left side's sign
		{"%", Mod, 7, -3, 1},
		{"%", Mod, -7, -3, -1},
		{"%", Mod, minInt, -1, 0},
		{"%", Mod, 5, 0, DivisionByZero},
		{"%", Mod, 5, 2.5, WrongKind},
		{"-x", neg, 5, 0, -5},
		{"-x", neg, 0, 0, 0},
		{"-x", neg, minInt, 0, 9223372036854775808.0},
		{"-x", neg, -0.5, 0, 0.5},
	} {
		got, err := test.op(nil, num(t, test.a), num(t, test.b))
		if code, ok := test.want.(string); ok {
			if err == nil || err.Code != code {
				t.Errorf("%v %s %v: got %v, %v, want the error %s", test.a, test.name, test.b, plain(got), err, code)
			}
			continue
		}
		if err != nil || got != num(t, test.want) {
			t.Errorf("%v %s %v: got %v, %v, want %v", test.a, test.name, test.b, plain(got), err, test.want)
		}
		if got.IsFloat() && (got.Float64() == 0 || got.Float64() == math.Trunc(got.Float64()) && math.Abs(got.Float64()) < MaxExact) {
			t.Errorf("%v %s %v: %v is a float that should be whole", test.a, test.name, test.b, got.Float64())
		}
	}
}

func TestNumberForms(t *testing.T) {
	for _, test := range []struct {
		f    float64
		want any // nil where it is none
	}{
		{0, 0}, {math.Copysign(0, -1), 0}, {2, 2}, {-3, -3}, {2.5, 2.5},
		{MaxExact - 1, MaxExact - 1}, {MaxExact, float64(MaxExact)}, {-MaxExact, -float64(MaxExact)}, {-MaxExact + 1, -MaxExact + 1},
		{1e300, 1e300}, {math.Inf(1), nil}, {math.Inf(-1), nil}, {math.NaN(), nil},
		{9.3e18, 9.3e18}, {-9223372036854775808, -9223372036854775808.0},
	} {
		v, ok := Number(test.f)
		switch want := test.want.(type) {
		case nil:
			if ok {
				t.Errorf("%v is taken for a number", test.f)
			}
		case int:
			if !ok || v != Int(int64(want)) {
				t.Errorf("%v becomes %v, want the integer %d", test.f, plain(v), want)
			}
		case float64:
			if !ok || !v.IsFloat() || v.Float64() != want {
				t.Errorf("%v becomes %v, want it as it is", test.f, plain(v))
			}
		}
	}
}

// interesting are numbers at which forms, ranges and precisions change.
var interesting = func() []Value {
	vs := []Value{Int(0), Int(1), Int(-1), Int(maxInt), Int(maxInt - 1), Int(minInt), Int(minInt + 1)}
	for _, f := range []float64{0.5, -0.5, 1e18, 1e19, -1e19, 9.223372036854775e18, 9223372036854775808, -9223372036854775808, 5e-324, 1.7e308, 4503599627370496.5} {
		v, _ := Number(f)
		vs = append(vs, v)
	}
	for _, shift := range []uint{31, 32, 52, 53, 54, 62} {
		for d := int64(-2); d <= 2; d++ {
			vs = append(vs, Int(1<<shift+d), Int(-(1<<shift)+d))
			if v, ok := Number(math.Ldexp(1, int(shift)) + float64(d)*0.75); ok {
				vs = append(vs, v)
			}
		}
	}
	return vs
}()

func rat(v Value) *big.Rat {
	if v.IsInt() {
		return new(big.Rat).SetInt64(v.Int64())
	}
	return new(big.Rat).SetFloat64(v.Float64())
}

// TestNumbersCompareExactly compares integers and floats as the real numbers
// that they are.
func TestNumbersCompareExactly(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	vs := interesting
	for range 200 {
		v, _ := Number((r.Float64() - 0.5) * math.Pow(10, float64(r.IntN(40))))
		vs = append(vs, v, Int(int64(r.Uint64())>>r.IntN(64)))
	}
	for _, a := range vs {
		for _, b := range vs {
			want := rat(a).Cmp(rat(b))
			got, err := Compare(nil, a, b)
			if err != nil || got != want || Equal(nil, a, b) != (want == 0) || Order(nil, a, b) != want {
				t.Fatalf("%s compared with %s: %d, equal %t, want %d", AppendNumber(nil, a), AppendNumber(nil, b), got, Equal(nil, a, b), want)
			}
		}
	}
}

// TestIntegersExact checks + - * on integers against exact ones: where the
// result fits, it is that; where not, it is a float near it.
func TestIntegersExact(t *testing.T) {
	for _, a := range interesting {
		for _, b := range interesting {
			if !a.IsInt() || !b.IsInt() {
				continue
			}
			x, y := big.NewInt(a.Int64()), big.NewInt(b.Int64())
			for name, want := range map[string]*big.Int{"+": new(big.Int).Add(x, y), "-": new(big.Int).Sub(x, y), "*": new(big.Int).Mul(x, y)} {
				var got Value
				var err *Error
				switch name {
				case "+":
					got, err = Add(nil, a, b)
				case "-":
					got, err = Sub(nil, a, b)
				case "*":
					got, err = Mul(nil, a, b)
				}
				if err != nil {
					t.Fatalf("%v %s %v: %v", x, name, y, err)
				}
				if want.IsInt64() {
					if got != Int(want.Int64()) {
						t.Fatalf("%v %s %v is %s, want %v", x, name, y, AppendNumber(nil, got), want)
					}
					continue
				}
				near, _ := new(big.Float).SetInt(want).Float64()
				if !got.IsFloat() || math.Abs(got.Float64()-near) > math.Abs(near)*1e-15 {
					t.Fatalf("%v %s %v is %s, want about %v", x, name, y, AppendNumber(nil, got), near)
				}
			}
		}
	}
}

func TestNumbersPrinted(t *testing.T) {
	for _, test := range []struct {
		x    any
		want string
	}{
		{2, "2"}, {-0.5, "-0.5"}, {2.50, "2.5"}, {1e20, "100000000000000000000"}, {1e21, "1e+21"}, {1e-6, "0.000001"}, {1e-7, "1e-7"},
		{3.7e-9, "3.7e-9"}, {1.5e-10, "1.5e-10"}, {1e300, "1e+300"}, {-2.5e-300, "-2.5e-300"}, {maxInt, "9223372036854775807"}, {93454567890123456.0, "93454567890123456"}, {-9223372036854774784.0, "-9223372036854774784"}, {9223372036854775808.0, "9223372036854776000"}, {0.30000000000000004, "0.30000000000000004"},
	} {
		v := num(t, test.x)
		if got := string(AppendNumber(nil, v)); got != test.want {
			t.Errorf("%v is printed %s, want %s", test.x, got, test.want)
		}
		// Into room for just as much, as texts are put together.
		room := make([]byte, 0, len(test.want))
		if got := AppendNumber(room, v); &got[0] != &room[:1][0] {
			t.Errorf("%v does not stay in its room", test.x)
		}
		if n := JSONSize(nil, v); n != len(test.want) {
			t.Errorf("%v takes %d bytes, announced are %d", test.x, len(test.want), n)
		}
		back, err := ParseJSON(nil, test.want)
		if err != nil || !Equal(nil, back, v) {
			t.Errorf("%s is read as %v, %v", test.want, plain(back), err)
		}
	}
}
