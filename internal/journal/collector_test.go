package journal

import (
	"testing"

	"ql/internal/admit"
	"ql/internal/engine"
	"ql/lang"
	"ql/lang/bytecode"
	"ql/lang/value"
	"ql/lang/vm"
)

// atEffect returns a machine that is at the first effect of a script.
func atEffect(t testing.TB, script string) *vm.Machine {
	t.Helper()
	p, err := lang.Compile(script, lang.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := vm.New(p, vm.Limits{Bounds: value.Bounds{Text: 1 << 20, Elements: 1 << 16, Nesting: 100}, Fuel: 1 << 30, Memory: 1 << 20, Output: 1 << 20, CallDepth: 100}, vm.Input{})
	if m.Run(t.Context()) != vm.Pending {
		t.Fatalf("%q is at no effect: %v", script, m.Err())
	}
	return m
}

func newCollector(t testing.TB, max int) *Collector {
	t.Helper()
	c := &Collector{}
	c.Init(admit.NewLedger(admit.LedgerOptions{Budget: 1 << 20}).Open(admit.AccountHolder(1)), max, 0)
	t.Cleanup(c.Release)
	return c
}

// TestCollector collects results, in parts, and finds them again; of other arguments, or in
// another state, they are told apart.
func TestCollector(t *testing.T) {
	m := atEffect(t, "READ '/a.txt' SET ?a")
	c := newCollector(t, 1<<10)
	result := engine.Result{Seq: 1, Kind: bytecode.EffectFileRead, Value: value.Text("x"), Fuel: 5}
	c.Observe(m, m.Effect(), result)
	step, first := c.Part(nil)
	if step != 1 || first == nil {
		t.Fatalf("the part of step %d: %x", step, first)
	}
	c.Stored()
	if _, part := c.Part(nil); part != nil {
		t.Errorf("after it was stored: %x", part)
	}
	read, err := ReadCollected([][]byte{first}, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if asks, same := read.Matches(m, m.Effect()); !asks || !same || read.Len() != 1 || read.IsCut {
		t.Errorf("the same: %t, %t", asks, same)
	}
	if other := atEffect(t, "READ '/b.txt' SET ?a"); true {
		if asks, _ := read.Matches(other, other.Effect()); asks {
			t.Error("another file is taken for the same")
		}
	}
	if other := atEffect(t, "SET ?b AS 1\nREAD '/a.txt' SET ?a"); true {
		if asks, same := read.Matches(other, other.Effect()); !asks || same {
			t.Errorf("another state: %t, %t", asks, same)
		}
	}
	if got, ok := read.Recorded(1); !ok || got.Fuel != 5 || got.Value.Str() != "x" {
		t.Errorf("%+v", got)
	}
}

// TestDecimalsAreToldApart digests arguments that differ in a decimal alone.
func TestDecimalsAreToldApart(t *testing.T) {
	digested := func(amount string) string {
		return string(digest(atEffect(t, "WRITE [DECIMAL('"+amount+"')] TO '/a.json'").Effect()))
	}
	first := digested("12.30")
	if first == digested("12.31") {
		t.Error("another amount is taken for the same")
	}
	if first != digested("12.30") {
		t.Error("the same amount is taken for another")
	}
}

// TestCollectorIsBounded leaves out what is too much, and says so; without a bound nothing is
// collected.
func TestCollectorIsBounded(t *testing.T) {
	m := atEffect(t, "READ '/a.txt' SET ?a")
	c := newCollector(t, 200)
	for seq := range int64(10) {
		c.Observe(m, m.Effect(), engine.Result{Seq: seq + 1, Kind: bytecode.EffectFileRead, Value: value.Text("some text")})
	}
	_, part := c.Part(nil)
	read, err := ReadCollected([][]byte{part}, 1<<20)
	if err != nil || !read.IsCut || read.Len() == 0 || read.Len() == 10 || len(part) > 200 {
		t.Errorf("%v, %d results in %d bytes, cut: %t", err, read.Len(), len(part), read.IsCut)
	}
	none := &Collector{}
	none.Observe(m, m.Effect(), engine.Result{Seq: 1, Kind: bytecode.EffectFileRead})
	if _, part := none.Part(nil); part != nil {
		t.Errorf("without a bound: %x", part)
	}
	none.Stored()
	none.Release()
}

// FuzzReadCollected reads parts that anybody may have written.
func FuzzReadCollected(f *testing.F) {
	m := atEffect(f, "READ '/a.txt' SET ?a")
	c := newCollector(f, 1<<10)
	c.Observe(m, m.Effect(), engine.Result{Seq: 1, Kind: bytecode.EffectFileRead, Value: value.Text("x")})
	_, part := c.Part(nil)
	f.Add(part)
	f.Add([]byte{partVersion, flagEnd})
	f.Add([]byte{partVersion, flagCut, 0, 0, 0, 16})
	f.Fuzz(func(t *testing.T, b []byte) {
		read, err := ReadCollected([][]byte{b}, 1<<16)
		if err != nil {
			return
		}
		if read.Len() > len(b)/(4+entryDigests) {
			t.Errorf("%d results in %d bytes", read.Len(), len(b))
		}
		for seq := range int64(4) {
			_, _ = read.Recorded(seq)
		}
	})
}

// TestCollectorGoesOn: what was collected and not stored is collected by another as well, who goes on
// from there.
func TestCollectorGoesOn(t *testing.T) {
	m := atEffect(t, "READ '/a.txt' SET ?a")
	c := newCollector(t, 1<<10)
	c.Observe(m, m.Effect(), engine.Result{Seq: 1, Kind: bytecode.EffectFileRead, Value: value.Text("x")})
	step, part := c.Part(nil)
	next := newCollector(t, 1<<10)
	next.Restore(step, part)
	next.Observe(m, m.Effect(), engine.Result{Seq: 2, Kind: bytecode.EffectFileRead, Value: value.Text("y")})
	step, part = next.Part(nil)
	read, err := ReadCollected([][]byte{part}, 1<<20)
	if err != nil || step != 1 || read.Len() != 2 || read.IsCut {
		t.Errorf("from step %d: %+v, %v", step, read, err)
	}
	for what, part := range map[string][]byte{"none": nil, "of another version": {9, 0}, "too long": make([]byte, 2<<10)} {
		cut := newCollector(t, 1<<10)
		cut.Restore(1, part)
		if cut.Observe(m, m.Effect(), engine.Result{Seq: 2, Kind: bytecode.EffectFileRead}); !cut.isCut {
			t.Errorf("%s: what follows looks like the start", what)
		}
	}
	empty := newCollector(t, 1<<10)
	if empty.Restore(0, nil); empty.isCut {
		t.Error("nothing was collected before, and nothing after")
	}
}
