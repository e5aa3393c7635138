package value

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// numbers are those at the edges of what is done at once.
func numbers(r *rand.Rand) []Value {
	list := []Value{Null, True, Text("1"), ListOf()}
	for _, i := range []int64{0, 1, -1, 2, 3, 7, 10, 1 << 31, -1 << 31, MaxExact, MaxExact - 1, -MaxExact, -MaxExact + 1, MaxExact + 1, math.MaxInt64, math.MinInt64} {
		list = append(list, Int(i))
	}
	for _, f := range []float64{0.5, -0.5, 0.1, 1e-300, 5e-324, 1.5, 1e17, 1e300, math.MaxFloat64, 4503599627370495.5} {
		v, _ := Number(f)
		list = append(list, v)
	}
	for range 40 {
		v, ok := Number(math.Float64frombits(r.Uint64()))
		if ok {
			list = append(list, v)
		}
		list = append(list, Int(int64(r.Uint64())>>r.IntN(64)))
		v, _ = Number(float64(r.IntN(1000)) / 8)
		list = append(list, v)
	}
	return list
}

// TestQuickArithmetic checks that what is done at once is what the long way gives.
func TestQuickArithmetic(t *testing.T) {
	list := numbers(rand.New(rand.NewPCG(1, 2)))
	tests := []struct {
		name  string
		quick func(dst, x, y *Value) bool
		slow  func(m *Meter, x, y Value) (Value, *Error)
	}{
		{"+", (*Value).SetSum, Add}, {"-", (*Value).SetDifference, Sub}, {"*", (*Value).SetProduct, Mul}, {"/", (*Value).SetQuotient, Div},
	}
	for _, test := range tests {
		done := 0
		for _, x := range list {
			for _, y := range list {
				var got Value
				if !test.quick(&got, &x, &y) {
					continue
				}
				done++
				want, err := test.slow(nil, x, y)
				if err != nil || got != want {
					t.Fatalf("%v %s %v is %v at once; want %v, %v", show(x), test.name, show(y), show(got), show(want), err)
				}
			}
		}
		if done < 1000 {
			t.Errorf("%s: %d pairs were done at once: too few to tell anything", test.name, done)
		}
	}
	for _, x := range list {
		if !x.IsNumber() {
			continue
		}
		f := x.Float()
		want, _ := Number(f)
		if IsBroken(f) && !want.IsFloat() {
			t.Errorf("%v is not whole, but %v", f, show(want))
		}
	}
	r := rand.New(rand.NewPCG(5, 6))
	broken := 0
	for range 200_000 {
		// Each exponent, and with few ones behind the point too.
		f := math.Float64frombits(r.Uint64() &^ (1<<r.IntN(64) - 1))
		v, ok := Number(f)
		if IsBroken(f) && !(ok && v.IsFloat()) || !IsBroken(f) && ok && f != math.Trunc(f) {
			t.Fatalf("%v is taken for a number that is kept as a float: %t", f, IsBroken(f))
		}
		if ok && f != math.Trunc(f) {
			broken++
		}
	}
	if broken < 1000 {
		t.Errorf("%d numbers were not whole: too few to tell anything", broken)
	}
	for _, f := range []float64{math.Inf(1), math.Inf(-1), math.NaN(), 0, math.Copysign(0, -1), 5, MaxExact - 1} {
		if IsBroken(f) {
			t.Errorf("%v is taken for a number that is not whole", f)
		}
	}
}

func show(v Value) string { return fmt.Sprintf("%s %s", v.Kind(), AppendText(nil, v)) }

// TestShortKeys checks that keys are told apart that are compared as one number: also where what follows them in
// their block is the same, or is not.
func TestShortKeys(t *testing.T) {
	const letters = "abcdefghijkl"
	for n := range len(letters) {
		key := Text(letters[:n])
		m := NewMap(nil, 0)
		m.Set(nil, key, Int(1))
		c := m.Value()
		texts := []Value{key, Text(letters[:n]), {Text(letters).p, uint64(n)}, {Text(letters[:n] + "z").p, uint64(n)}, Text(letters[:n+1])}
		for i := range n {
			other := []byte(letters[:n])
			other[i] ^= 0x20
			texts = append(texts, TextOf(other), Text(letters[:i]))
		}
		for _, k := range texts {
			var got Value
			var hint uint8
			if has := k.Str() == key.Str(); LoadField(&got, &c, &k, &hint, false) != has || has && got != Int(1) {
				t.Errorf("%q is found at %q: %t", k.Str(), key.Str(), !has)
			}
		}
	}
}

// TestFieldsByHints checks that fields are found whatever a hint says, and whatever map it was learned from.
func TestFieldsByHints(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var keys []Value
	for i := range 400 {
		keys = append(keys, Text(fmt.Sprintf("key%d", i)))
	}
	long := Text("a key that is longer than what is looked up at once")
	var hint uint8
	found, stored := 0, 0
	for round := range 3000 {
		m := NewMap(nil, 0)
		for range r.IntN([]int{3, 10, 400}[round%3]) {
			key := keys[r.IntN(len(keys))]
			if r.IntN(2) == 0 {
				key = Text(key.Str()) // the same text in another block
			}
			m.Set(nil, key, Int(r.Int64()))
		}
		if r.IntN(3) == 0 {
			m.Remove(nil, keys[r.IntN(len(keys))].Str())
		}
		c := m.Value()
		for range 20 {
			key := keys[r.IntN(len(keys))]
			if r.IntN(4) == 0 {
				key = long
			}
			if r.IntN(3) == 0 {
				hint = uint8(r.Uint32())
			}
			want, has := m.Get(key.Str())
			var got Value
			if LoadField(&got, &c, &key, &hint, true) != has || got != want {
				t.Fatalf("field %s is %s, want %s", key.Str(), show(got), show(want))
			}
			v := Int(r.Int64())
			if StoreField(&c, &key, &hint, &v) != has {
				t.Fatalf("field %s is stored, or not, where there is one: %t", key.Str(), has)
			}
			if has {
				found++
				if now, _ := m.Get(key.Str()); now != v {
					t.Fatalf("field %s is %s after a store of %s", key.Str(), show(now), show(v))
				}
				stored++
			}
		}
	}
	if found < 1000 || stored < 1000 {
		t.Errorf("%d fields found, %d stored: too few to tell anything", found, stored)
	}
}

// TestQuickStores checks that nothing is written that others see, nor a container, whose height must be counted.
func TestQuickStores(t *testing.T) {
	key, index, v := Text("a"), Int(0), Int(9)
	inner := NewMap(nil, 0)
	inner.SetText("a", Int(1))
	list := ListOf(inner.Value())
	var hint uint8
	if !StoreElementField(&list, &index, &key, &hint, &v) {
		t.Error("a field of an element is not stored at once")
	}
	container := ListOf()
	if StoreElementField(&list, &index, &key, &hint, &container) || StoreElement(&list, &index, &container) {
		t.Error("a container is stored at once")
	}
	inner.Value().Share()
	if StoreElementField(&list, &index, &key, &hint, &v) {
		t.Error("a field of a shared map is stored at once")
	}
	other := ListOf(Text("x"))
	if !StoreElement(&other, &index, &v) || other.List().At(0) != v {
		t.Error("an element is not stored at once")
	}
	other.Share()
	if StoreElement(&other, &index, &v) {
		t.Error("an element of a shared list is stored at once")
	}
	beyond, below := Int(1), Int(-1)
	fresh := ListOf(Text("x"))
	if StoreElement(&fresh, &beyond, &v) || StoreElement(&fresh, &below, &v) {
		t.Error("an element is stored beyond the list")
	}
}
