package value

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// orderedMap is a model of a Map: keys in the order of their first setting.
type orderedMap struct {
	keys []string
	vals map[string]int64
}

func (o *orderedMap) set(key string, v int64) {
	if _, ok := o.vals[key]; !ok {
		o.keys = append(o.keys, key)
	}
	o.vals[key] = v
}

func (o *orderedMap) remove(key string) bool {
	_, ok := o.vals[key]
	delete(o.vals, key)
	o.keys = slices.DeleteFunc(o.keys, func(k string) bool { return k == key })
	return ok
}

func (o *orderedMap) copy() *orderedMap {
	c := &orderedMap{keys: slices.Clone(o.keys), vals: map[string]int64{}}
	for k, v := range o.vals {
		c.vals[k] = v
	}
	return c
}

func (o *orderedMap) check(t *testing.T, m *Map) {
	t.Helper()
	if m.Len() != len(o.keys) {
		t.Fatalf("the map has %d entries, want %d", m.Len(), len(o.keys))
	}
	var all []string
	for k, v := range m.All {
		all = append(all, k.Str())
		if v.Int64() != o.vals[k.Str()] {
			t.Fatalf("%s is %d, want %d", k.Str(), v.Int64(), o.vals[k.Str()])
		}
	}
	if !slices.Equal(all, o.keys) {
		t.Fatalf("the keys are %v, want %v", all, o.keys)
	}
	// Going on from any place gives the rest.
	rest := len(o.keys)
	for i := len(m.entries); i >= 0; i-- {
		if i < len(m.entries) && m.entries[i].keyP != nil {
			rest--
		}
		n, k, v := m.Next(i)
		if rest == len(o.keys) {
			if n != -1 {
				t.Fatalf("after the last entry comes %s", k.Str())
			}
			continue
		}
		if k.Str() != o.keys[rest] || v.Int64() != o.vals[o.keys[rest]] || n < i {
			t.Fatalf("from place %d on comes %s at %d, want %s", i, k.Str(), n, o.keys[rest])
		}
	}
	checkShape(t, m.Value())
}

func TestMapModel(t *testing.T) {
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 2))
		m := NewMap(roomy(1<<40), r.IntN(20))
		o := &orderedMap{vals: map[string]int64{}}
		keys := 1 + r.IntN(60)
		for i := range 400 {
			key := fmt.Sprint("k", r.IntN(keys))
			switch r.IntN(10) {
			case 0, 1, 2, 3, 4:
				m.Set(nil, Text(key), Int(int64(i)))
				o.set(key, int64(i))
			case 5, 6, 7, 8:
				if got, want := m.Remove(nil, key), o.remove(key); got != want {
					t.Fatalf("seed %d: removing %s says %t", seed, key, got)
				}
			case 9:
				c, oc := m.Clone(nil), o.copy()
				if r.IntN(2) == 0 { // go on with the copy, and look at the original again
					m, c, o, oc = c, m, oc, o
				}
				m.Set(nil, Text(key), Int(-1))
				o.set(key, -1)
				oc.check(t, c)
			}
			if v, ok := m.Get(key); ok != m.Has(key) || ok && v.Int64() != o.vals[key] {
				t.Fatalf("seed %d: %s is %v", seed, key, plain(v))
			}
			if i%9 == 0 {
				o.check(t, m)
			}
		}
		o.check(t, m)
	}
}

// limitOf returns the limit that f runs into, or "".
func limitOf(f func()) (name string) {
	defer func() {
		if e := recover(); e != nil {
			var l *LimitError
			if err, ok := e.(error); !ok || !errors.As(err, &l) {
				panic(e)
			}
			name = l.Name
		}
	}()
	f()
	return ""
}

// TestMapElements checks that no way of filling a map makes it larger than it
// may be.
func TestMapElements(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 3))
		meter := roomy(1 << 40)
		meter.Elements = 40
		m := NewMap(meter, r.IntN(40))
		reached := false
		for i := range 600 {
			key := fmt.Sprint("k", i)
			old := m.Value()
			if r.IntN(3) == 0 && m.Len() > 0 {
				_, k, _ := m.Next(r.IntN(len(m.entries) + 1))
				if !k.IsNull() {
					m.Remove(meter, k.Str())
				}
				continue
			}
			if r.IntN(20) == 0 {
				m = m.Clone(meter)
			}
			switch limitOf(func() { m.Set(meter, Text(key), Int(1)) }) {
			case "elements":
				if m.Len() < meter.Elements {
					t.Fatalf("seed %d: a map of %d may not take one more of %d", seed, m.Len(), meter.Elements)
				}
				reached = true
				m = old.Map().Clone(meter)
				for k := range old.Map().All {
					if r.IntN(2) == 0 {
						m.Remove(meter, k.Str())
					}
				}
			case "":
			default:
				t.Fatal("another limit")
			}
			if m.Len() > meter.Elements {
				t.Fatalf("seed %d: the map has %d entries, its limit is %d", seed, m.Len(), meter.Elements)
			}
		}
		if !reached {
			t.Errorf("seed %d: the limit is never reached", seed)
		}
	}
}

// TestSetNew checks that it does what Set does, with and without an index.
func TestSetNew(t *testing.T) {
	for _, room := range []int{0, 3, 50} {
		set, add := NewMap(nil, room), NewMap(nil, room)
		for i := range 40 {
			key, v := Text(fmt.Sprint("k", i)), Int(int64(i))
			if i == 20 {
				v = ListOf(ListOf())
			}
			set.Set(nil, key, v)
			add.SetNew(nil, key, v)
		}
		if !Equal(nil, set.Value(), add.Value()) || set.Value().Height() != add.Value().Height() {
			t.Errorf("with room for %d: %s, want %s", room, AppendJSON(nil, add.Value()), AppendJSON(nil, set.Value()))
		}
	}
}

// smallBudget is a meter with limits that small values do not come near.
func smallBudget() *Meter {
	m := &Meter{Bounds: Bounds{Text: 1 << 20, Elements: 20, Nesting: 3}, Fuel: 1 << 20, TotalFuel: 1 << 20, BytesLeft: 1 << 20, Memory: 1 << 20}
	m.End()
	return m
}

// TestRecords: NewRecord gives the map that SetNew makes entry by entry, at the same price, and ends at the same
// limits.
func TestRecords(t *testing.T) {
	ended := func(do func()) (name string) {
		defer func() {
			if l, ok := recover().(*LimitError); ok {
				name = l.Name
			}
		}()
		do()
		return ""
	}
	deep := ListOf(ListOf(ListOf()))
	for n := range 22 {
		for _, last := range []Value{Int(1), Text("a text"), ListOf(Int(1)), deep} {
			var keys, vals []Value
			for i := range n {
				keys = append(keys, Text(fmt.Sprintf("key %d", i)))
				vals = append(vals, Int(int64(i)))
			}
			if n > 0 {
				vals[n-1] = last
			}
			var one, other *Map
			m, by := smallBudget(), smallBudget()
			got := ended(func() { one = NewRecord(m, keys, vals) })
			want := ended(func() {
				other = NewMap(by, n)
				for i := range keys {
					other.SetNew(by, keys[i], vals[i])
				}
			})
			if got != want {
				t.Errorf("%d keys: ended by %q, not %q", n, got, want)
			}
			if got != "" || want != "" {
				continue
			}
			if m.Used() != by.Used() || m.BytesLeft != by.BytesLeft {
				t.Errorf("%d keys: %d units and %d bytes left, not %d and %d", n, m.Used(), m.BytesLeft, by.Used(), by.BytesLeft)
			}
			if a, b := string(AppendJSON(nil, one.Value())), string(AppendJSON(nil, other.Value())); a != b || SizeOf(one.Value()) != SizeOf(other.Value()) || one.height != other.height {
				t.Errorf("%d keys: %s of %d bytes, not %s of %d", n, a, SizeOf(one.Value()), b, SizeOf(other.Value()))
			}
			if n == m.Elements {
				continue
			}
			// What is there is written in place, and what is new has whoever holds it hold another one, where its entries are in
			// one piece with it; the price is the same.
			v, w, piece := one.Value(), other.Value(), one.piece
			if piece != (n > 0 && n <= smallMap) || other.piece {
				t.Errorf("%d keys: in one piece %v", n, piece)
			}
			write := func(key string, x int64) {
				t.Helper()
				for _, c := range []struct {
					m *Meter
					v *Value
				}{{m, &v}, {by, &w}} {
					if err := SetIndex(c.m, c.v, Text(key), Int(x)); err != nil {
						t.Fatal(err)
					}
				}
				a, b := string(AppendJSON(nil, v)), string(AppendJSON(nil, w))
				if a != b || SizeOf(v) != SizeOf(w) || m.Used() != by.Used() || m.BytesLeft != by.BytesLeft {
					t.Errorf("%d keys: %s of %d bytes, %d left, not %s of %d, %d left", n, a, SizeOf(v), m.BytesLeft, b, SizeOf(w), by.BytesLeft)
				}
			}
			if n > 0 {
				write("key 0", 7)
				if v.Map() != one {
					t.Errorf("%d keys: not written in place", n)
				}
			}
			write("more", 2)
			if (v.Map() != one) != piece || v.Map().piece {
				t.Errorf("%d keys: with one more it is the same piece", n)
			}
			write("key 0", 8)
			one, other = v.Map(), w.Map()
			one.Remove(m, "more")
			other.Remove(by, "more")
			write("again", 3)
		}
	}
}

// TestPiecesAreLeft: each way to add an entry to a map that is one piece with its entries has another one made.
func TestPiecesAreLeft(t *testing.T) {
	for name, add := range map[string]func(m *Meter, v *Value) *Error{
		"SetIndex": func(m *Meter, v *Value) *Error { return SetIndex(m, v, Text("new"), Int(1)) },
		"SetPath":  func(m *Meter, v *Value) *Error { return SetPath(m, v, []Value{Text("new"), Text("inner")}, Int(1)) },
		"AppendAt": func(m *Meter, v *Value) *Error { return AppendAt(m, v, []Value{Text("new")}, Int(1)) },
		"SetMissing": func(m *Meter, v *Value) *Error {
			key := Text("new")
			if place, hash, ok := OwnEntry(v, &key); ok && place == nil {
				SetMissing(m, v, key, hash, Int(1))
			}
			return nil
		},
	} {
		keys, vals := []Value{Text("old"), Text("other")}, []Value{Text("a text"), Int(2)}
		m, by := smallBudget(), smallBudget()
		one, other := NewRecord(m, keys, vals), NewMap(by, 2)
		for i := range keys {
			other.SetNew(by, keys[i], vals[i])
		}
		v, w := one.Value(), other.Value()
		if err, other := add(m, &v), add(by, &w); err != nil || other != nil {
			t.Errorf("%s: %v, %v", name, err, other)
			continue
		}
		if made, ok := v.Map().Get("new"); v.Map() == one || v.Map().piece || !ok || made.IsNull() || v.Map().Len() != 3 || one.Len() != 2 {
			t.Errorf("%s: %s, and before %s", name, AppendJSON(nil, v), AppendJSON(nil, one.Value()))
		}
		if SizeOf(v) != SizeOf(w) || m.BytesLeft != by.BytesLeft || m.Used() != by.Used() {
			t.Errorf("%s: %d bytes, %d left and %d units, where it is no piece %d, %d and %d", name, SizeOf(v), m.BytesLeft, m.Used(), SizeOf(w), by.BytesLeft, by.Used())
		}
	}
}

// TestListsOfValues: NewListFrom gives the list that Append makes, at the same price, and is copied by who writes to it where
// it is one piece.
func TestListsOfValues(t *testing.T) {
	for n := range 12 {
		for _, first := range []Value{Int(1), Text("a text"), Null, ListOf(Int(1))} {
			vals := make([]Value, n)
			for i := range vals {
				vals[i] = []Value{first, Text("another"), ListOf()}[i%3]
			}
			m, by := smallBudget(), smallBudget()
			one, other := NewListFrom(m, vals), NewList(by, n)
			for _, v := range vals {
				other.Append(by, v)
			}
			if a, b := string(AppendJSON(nil, one.Value())), string(AppendJSON(nil, other.Value())); a != b || m.BytesLeft != by.BytesLeft ||
				SizeOf(one.Value()) != SizeOf(other.Value()) || one.height != other.height || one.tag != other.tag {
				t.Errorf("%s of %d bytes, %d charged, not %s of %d, %d charged", a, SizeOf(one.Value()), 1<<20-m.BytesLeft, b, SizeOf(other.Value()), 1<<20-by.BytesLeft)
			}
			if n == 0 {
				continue
			}
			v, before := one.Value(), string(AppendJSON(nil, one.Value()))
			if err := SetIndex(m, &v, Int(0), Text("new")); err != nil {
				t.Fatal(err)
			}
			if small := n <= mostInPiece && !scalar(first.p); (v.List() != one) != small || small && string(AppendJSON(nil, one.Value())) != before {
				t.Errorf("%d elements: written in place, or not: %s, before %s", n, AppendJSON(nil, one.Value()), before)
			}
		}
	}
}
