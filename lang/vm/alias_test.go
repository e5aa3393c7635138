package vm_test

import (
	"testing"

	"ql/lang/lib"
	"ql/lang/value"
)

// samples returns new values of all kinds, none of them shared.
func samples() []value.Value {
	m := value.NewMap(nil, 0)
	m.SetText("key", value.Text("k"))
	m.SetText("value", value.ListOf(value.Int(1)))
	m.SetText("a", value.ListOf(value.ListOf(value.Int(2))))
	single := value.NewMap(nil, 0)
	single.SetText("a", value.ListOf(value.Text("x")))
	return []value.Value{
		value.Null, value.True, value.Int(0), value.Int(1), value.Int(2), value.Text(""), value.Text("a"), value.Text("[1]"), value.Bytes([]byte("b")),
		value.ListOf(), value.ListOf(value.ListOf(value.Int(1)), value.ListOf(value.Int(2))), value.ListOf(value.Text("a"), value.Text("b")),
		value.ListOf(m.Value(), single.Value()), value.ListOf(single.Value()), m.Value(), single.Value(), value.ListOf(value.Int(3), value.Int(1)),
		value.ListOf(value.ListOf(value.Text("k"), value.ListOf(value.Int(5)))),
	}
}

// containers collects v and all below it that is a container. below, where not
// nil, tells whether to look below a container.
func containers(v value.Value, into map[value.Value]bool, below func(value.Value) bool) {
	if !v.IsContainer() {
		return
	}
	into[v] = true
	if below != nil && !below(v) {
		return
	}
	switch v.Kind() {
	case value.KindList:
		for i := range v.List().Len() {
			containers(v.List().At(i), into, below)
		}
	case value.KindMap:
		for _, e := range v.Map().All {
			containers(e, into, below)
		}
	}
}

// TestBuiltinsShare checks that every container that a function's result has in
// common with its arguments is marked as shared. The arguments are borrowed, so
// the machine would write into both.
func TestBuiltinsShare(t *testing.T) {
	common := 0
	n := len(samples())
	for i := range lib.Len() {
		b := lib.At(i)
		if b.Fn == nil {
			continue
		}
		try := func(picks ...int) {
			var args []value.Value
			for _, p := range picks {
				args = append(args, samples()[p])
			}
			mine := map[value.Value]bool{}
			for _, a := range args {
				containers(a, mine, nil)
			}
			m := &value.Meter{Bounds: value.Bounds{Text: 1 << 16, Elements: 1000, Nesting: 50, Pattern: 100, PatternCost: 1 << 20}, Fuel: 1 << 40, BytesLeft: 1 << 30, Memory: 1 << 30}
			m.Measure = func() int64 { return 0 }
			result, err := b.Fn(&lib.Call{Meter: m, Patterns: lib.NewPatterns(4)}, args)
			if err != nil {
				return
			}
			theirs := map[value.Value]bool{}
			// What is below a shared container becomes shared when that is copied.
			containers(result, theirs, func(c value.Value) bool { return !c.Shared() })
			for c := range theirs {
				if !mine[c] {
					continue
				}
				common++
				if !c.Shared() {
					t.Errorf("%s%s gives back %s, not marked as shared", b.Name, value.AppendJSON(nil, value.ListOf(args...)), value.AppendJSON(nil, c))
				}
			}
		}
		for x := range n {
			if b.Min <= 1 {
				try(x)
			}
			for y := range n {
				if b.Min <= 2 && (b.Max < 0 || b.Max >= 2) {
					try(x, y)
				}
				if b.Min <= 3 && (b.Max < 0 || b.Max >= 3) && !testing.Short() {
					for z := range n {
						try(x, y, z)
					}
				}
			}
		}
	}
	if common < 100 {
		t.Errorf("only %d times did a result hold a part of an argument", common)
	}
}
