package vm_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"ql/lang/langtest"
	"ql/lang/langtest/gen"
	"ql/lang/value"
	"ql/lang/vm"
)

// What a script holds weighs the same while it runs, stored and restored. The tests
// here fill machines up to a share of their memory, store and restore them.

// holder does with what its host gives it what the host says.
const holder = `
	SET ?all AS [] SET ?m AS {} SET ?t AS "" SET ?held AS [] SET ?copy AS NULL SET ?fill AS NULL
	WHILE TRUE DO
		SET ?x AS NULL
		SET ?x AS NOW()
		IF ?x.op = 0 THEN
			APPEND ?x.v TO ?all
		ELSE IF ?x.op = 1 THEN
			SET ?m[?x.k] AS ?x.v
		ELSE IF ?x.op = 2 THEN
			SET ?t AS ?t + ?x.k
		ELSE IF ?x.op = 3 THEN
			APPEND ?x.v TO ?all
			APPEND ?x.v TO ?held
			SET ?m[?x.k] AS ?x.v
		ELSE IF ?x.op = 4 THEN
			SET ?copy AS ?all
		ELSE IF ?x.op = 5 THEN
			UNSET ?m[?x.k]
		ELSE IF ?x.op = 6 THEN
			APPEND ?t TO ?held
		ELSE IF ?x.op = 7 THEN
			SET ?copy AS ?m
		ELSE IF ?x.op = 8 THEN
			SET ?held AS []
		ELSE
			SET ?fill AS ?x
		END
	END`

// filler makes values of all sorts.
type filler struct {
	r      *rand.Rand
	shared []value.Value
}

// value makes a value that weighs about size bytes, seldom much more.
func (f *filler) value(size int64) value.Value {
	n := int(max(size, 0))
	switch f.r.IntN(13) {
	case 0:
		return f.list(n/8, func(int) value.Value { return value.Int(int64(f.r.Uint64() >> f.r.IntN(64))) })
	case 1:
		return f.list(n/8, func(int) value.Value { return value.Int(0) })
	case 2:
		return f.list(n/8, func(i int) value.Value { return value.Bool(i%3 == 0) })
	case 3:
		return f.list(n/8, func(int) value.Value { v, _ := value.Number(f.r.Float64() + 0.5); return v })
	case 4:
		return value.Text(strings.Repeat([]string{"x", "é", "€", "𝄞"}[f.r.IntN(4)], n/4))
	case 5:
		return value.Bytes(make([]byte, n))
	case 6: // short texts
		return f.list(n/40, func(i int) value.Value { return value.Text(fmt.Sprint(i)) })
	case 7: // maps of few entries
		return f.list(n/200, func(i int) value.Value {
			m := value.NewMap(nil, f.r.IntN(3))
			for k := range f.r.IntN(4) {
				m.SetText([]string{"a", "bé", "longer key"}[k%3], value.Int(int64(i)))
			}
			return m.Value()
		})
	case 8: // a map of many
		m := value.NewMap(nil, f.r.IntN(20))
		for i := range n / 80 {
			m.SetText(fmt.Sprint("key ", i), value.Int(int64(i)))
		}
		for i := range n / 80 {
			if f.r.IntN(3) == 0 {
				m.Remove(nil, fmt.Sprint("key ", i))
			}
		}
		return m.Value()
	case 9: // many references to one thing
		one := f.value(size / 4).Share()
		return f.list(n/32, func(int) value.Value { return one })
	case 10: // nested, each in two places
		v := f.value(size / 8)
		for range f.r.IntN(40) {
			v = f.list(2, func(int) value.Value { return v.Share() })
		}
		return v
	case 11: // one that was given before
		if len(f.shared) == 0 {
			return value.Null
		}
		return f.shared[f.r.IntN(len(f.shared))].Share()
	default: // mixed
		return f.list(n/64, func(i int) value.Value {
			switch i % 5 {
			case 0:
				return value.Null
			case 1:
				return value.Text("text")
			case 2:
				return value.Bytes([]byte{0, 255})
			case 3:
				return value.ListOf()
			}
			return value.Int(int64(i))
		})
	}
}

func (f *filler) list(n int, at func(i int) value.Value) value.Value {
	l := value.NewList(nil, 0)
	for i := range max(n, 1) {
		l.Append(nil, at(i))
	}
	return l.Value()
}

// told makes what the host answers.
func (f *filler) told(op int, k string, v value.Value) value.Value {
	m := value.NewMap(nil, 3)
	m.SetText("op", value.Int(int64(op)))
	m.SetText("k", value.Text(k))
	m.SetText("v", v)
	return m.Value()
}

// resultSize is the register of a result, which is in use while it is given.
const resultSize = 16

// fill has a machine of the holder do things until it holds nearly a share of its
// memory, and then just that. It reports false where a limit came first.
func (f *filler) fill(m *vm.Machine, memory int64, percent int64) bool {
	target := min(memory/100*percent, memory-resultSize)
	if percent == 100 {
		target = memory - resultSize
	}
	give := func(op int, v value.Value) bool {
		m.Resume(f.told(op, fmt.Sprintf("k%d", f.r.IntN(40)), v))
		return m.Run(context.Background()) == vm.Pending
	}
	for range 5 + f.r.IntN(40) {
		left := target - m.Holds()
		if left < target/4 {
			break
		}
		op := f.r.IntN(9)
		v := value.Null
		switch op {
		case 0, 1, 3:
			// Lists and maps that grow are there twice for a moment.
			v = f.value(left / int64(8+f.r.IntN(40)))
			if value.SizeOf(v) > left/4 {
				v = value.Null
			}
			if len(f.shared) < 8 && f.r.IntN(3) == 0 {
				f.shared = append(f.shared, v)
			}
		}
		if !give(op, v) {
			return false
		}
	}
	v := value.Null
	if at := (target - m.Holds()) / 2; f.r.IntN(2) == 0 {
		f.shared = nil // what it gives is charged, were it there already
		if v = f.value(at); value.SizeOf(v) > at {
			v = value.Null
		}
	}
	// Bytes fill what is left, in the place of a text that weighs nothing.
	x := f.told(9, "", v)
	pad := target - m.Holds() - value.SizeOf(x)
	if pad < int64(value.BlockSize(0)) {
		return false
	}
	x.Map().SetText("k", value.Bytes(make([]byte, pad-16)))
	m.Resume(x)
	return m.Run(context.Background()) == vm.Pending
}

// sizes are limits of several sizes.
var sizes = []struct {
	name   string
	limits vm.Limits
}{{"small", langtest.SmallLimits()}, {"medium", langtest.Limits()}, {"large", langtest.LargeLimits()}}

// TestPromiseSizes fills machines of all sizes to 50, 95 and 100 % of their memory
// with values of all sorts. Most have a small part of the memory, so that
// there may be many: together with those of TestPromiseSizesOfPrograms 100,000.
func TestPromiseSizes(t *testing.T) {
	cases := 300
	switch {
	case promised:
		cases = 25_000
	case testing.Short():
		cases = 60
	}
	prog := compile(t, holder)
	filled := map[int64]int{}
	for seed := range cases {
		size := sizes[seed%3]
		l := size.limits
		l.Fuel = 1 << 50
		switch {
		case seed%4000 == 0: // all of it, of the largest a part
			l.Memory = min(l.Memory, 128<<20)
		case seed%100 == 0:
			l.Memory /= 64
		default:
			l.Memory = min(l.Memory/1024, 64<<10)
		}
		for _, percent := range []int64{50, 95, 100} {
			m := vm.New(prog, l, vm.Input{})
			if m.Run(t.Context()) != vm.Pending {
				t.Fatal(m.Err())
			}
			f := &filler{r: rand.New(rand.NewPCG(uint64(seed), uint64(percent)))}
			if !f.fill(m, l.Memory, percent) {
				m.Release()
				continue
			}
			if least := l.Memory/100*percent - 16; percent == 100 && m.Holds() != l.Memory-resultSize || m.Holds() < least || m.Holds() > l.Memory {
				t.Fatalf("%s, seed %d: %d of %d bytes are held at %d %%", size.name, seed, m.Holds(), l.Memory, percent)
			}
			filled[percent]++
			if resumes(t, prog, m); t.Failed() {
				t.Fatalf("%s, seed %d, at %d %% of %d bytes", size.name, seed, percent, l.Memory)
			}
			m.Release()
		}
	}
	t.Logf("machines filled: %v", filled)
	if filled[50] < cases/2 || filled[95] < cases/2 || filled[100] < cases/2 {
		t.Errorf("of %d machines each only these were filled: %v", cases, filled)
	}
}

// TestPromiseSizesOfPrograms runs programs with twice, a little more than, and
// just the memory that they need, and stores and restores them at every effect.
func TestPromiseSizesOfPrograms(t *testing.T) {
	seeds := uint64(30)
	switch {
	case promised:
		seeds = 1500
	case testing.Short():
		seeds = 8
	}
	states := 0
	for seed := range seeds {
		s := newSubject(t, 1_000_000+seed)
		s.limits = sizes[seed%3].limits
		s.limits.Fuel = 20e6
		s.host = gen.Host{Seed: seed, Failures: int(seed % 5)}
		need := int64(0)
		m, _ := s.drive(s.start(), func(m *vm.Machine) *vm.Machine {
			need = max(need, m.Holds())
			return m
		}, s.asked)
		m.Release()
		for _, percent := range []int64{50, 95, 100} {
			s.limits.Memory = need * 100 / percent
			m, _ := s.drive(s.start(), func(m *vm.Machine) *vm.Machine {
				states++
				if m.Holds() > s.limits.Memory {
					t.Fatalf("seed %d: a machine with %d bytes holds %d\n%s", seed, s.limits.Memory, m.Holds(), numbered(s.text))
				}
				if resumes(t, s.prog, m); t.Failed() {
					t.Fatalf("seed %d, at %d %% of %d bytes\n%s", seed, percent, s.limits.Memory, numbered(s.text))
				}
				return m
			}, s.asked)
			m.Release()
		}
	}
	t.Logf("%d states", states)
	if states < int(seeds)*3 {
		t.Errorf("%d programs stopped at only %d effects", seeds, states)
	}
}

// TestPromiseSizesLarge fills the memory of the largest limits.
func TestPromiseSizesLarge(t *testing.T) {
	l := langtest.LargeLimits()
	if !promised {
		l.Memory /= 16
	}
	l.Fuel = 1 << 50
	prog := compile(t, holder)
	m := vm.New(prog, l, vm.Input{})
	m.Run(t.Context())
	f := &filler{r: rand.New(rand.NewPCG(1, 1))}
	words := int(l.Memory-m.Holds()-2048) / 8 / 4
	list := f.list(words, func(int) value.Value { return value.Int(0) }).List()
	zeros := make([]value.Value, 4)
	for i := range zeros {
		zeros[i] = list.Slice(nil, 0, words).Value() // without room for more
	}
	x := f.told(9, "", value.ListOf(zeros...))
	m.Resume(x)
	if m.Run(t.Context()) != vm.Pending || m.Holds() < l.Memory-4096 {
		t.Fatalf("%d of %d bytes are held: %v", m.Holds(), l.Memory, m.Err())
	}
	t.Logf("%d of %d bytes are held", m.Holds(), l.Memory)
	resumes(t, prog, m)
	m.Release()
}

// BenchmarkRestore restores machines that hold as much as they may.
func BenchmarkRestore(b *testing.B) {
	prog := compile(b, holder)
	for _, size := range sizes[:2] {
		b.Run(size.name, func(b *testing.B) {
			l := size.limits
			l.Fuel = 1 << 50
			m := vm.New(prog, l, vm.Input{})
			m.Run(b.Context())
			for seed := uint64(0); ; seed++ {
				f := &filler{r: rand.New(rand.NewPCG(seed, 100))}
				if f.fill(m, l.Memory, 100) {
					break
				}
				m.Release()
				m = vm.New(prog, l, vm.Input{})
				m.Run(b.Context())
			}
			snapshot, err := m.Snapshot(b.Context(), nil)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(l.Memory)
			for b.Loop() {
				again, err := vm.Restore(b.Context(), nil, prog, snapshot, nil)
				if err != nil {
					b.Fatal(err)
				}
				again.Release()
			}
		})
	}
}
