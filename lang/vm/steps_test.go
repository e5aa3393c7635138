package vm_test

import (
	"slices"
	"strings"
	"testing"

	"ql/lang"
	"ql/lang/langtest"
	"ql/lang/langtest/gen"
	"ql/lang/vm"
)

// TestStepsCounted checks that the two versions of a program's code do and
// count the same: the one that traces each statement, and the one that counts
// statements by the block. Only fuel may differ, since the code has other
// lengths; for one set of limits it is always the same.
func TestStepsCounted(t *testing.T) {
	otherFuel := 0
	n := count(100, 500)
	for seed := range n {
		s := newSubject(t, seed)
		s.limits.Memory = langtest.Limits().Memory
		run := func(first int) (record, []int64) {
			s.limits.TraceFirst = first
			var steps []int64
			r := straight(t, s, func(m *vm.Machine) { steps = append(steps, m.Steps()) })
			return r, steps
		}
		traced, steps := run(1 << 30)
		for _, first := range []int{0, int(seed % 50)} {
			counted, others := run(first)
			if at := firstDifference(steps, others); at >= 0 {
				t.Fatalf("seed %d, the first %d steps traced: at effect %d are %d steps, want %d\n%s", seed, first, at+1, others[at], steps[at], numbered(s.text))
			}
			if counted.Steps != traced.Steps || counted.Output != traced.Output || counted.Error != traced.Error || counted.Status != traced.Status {
				t.Fatalf("seed %d, the first %d steps traced: %d steps, %s, output\n%s\nwant %d steps, %s, output\n%s\n%s", seed, first,
					counted.Steps, counted.Error, counted.Output, traced.Steps, traced.Error, traced.Output, numbered(s.text))
			}
			if counted.Fuel != traced.Fuel {
				otherFuel++
			}
			again, _ := run(first)
			if again.Fuel != counted.Fuel || !slices.Equal(again.Hashes, counted.Hashes) {
				t.Fatalf("seed %d, the first %d steps traced: a second run uses %d fuel, the first one %d\n%s", seed, first, again.Fuel, counted.Fuel, numbered(s.text))
			}
		}
	}
	t.Logf("fuel differs from that of the traced code in %d of %d runs", otherFuel, 2*n)
}

// firstDifference returns where two lists part, or -1.
func firstDifference(a, b []int64) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	if len(a) != len(b) {
		return min(len(a), len(b)) - 1
	}
	return -1
}

// TestTraceComplete checks that a trace with room for all shows every step, and
// nothing twice. Only a commit that fails has an entry of its own, beside that
// of its TRANSACTION.
func TestTraceComplete(t *testing.T) {
	for seed := range count(60, 300) {
		s := newSubject(t, seed)
		if strings.Contains(s.text, "TRANSACTION") {
			continue
		}
		s.limits.TraceFirst = 1 << 30
		s.limits.Memory = langtest.Limits().Memory
		if r := straight(t, s, nothing); int64(len(r.Trace)) != r.Steps || r.Dropped != 0 {
			s.text = gen.Shrink(s.text, func(text string) bool {
				p, err := lang.Compile(text, lang.Options{})
				if err != nil {
					return false
				}
				s.prog = p
				r := straight(t, s, nothing)
				return int64(len(r.Trace)) != r.Steps || r.Dropped != 0
			})
			s.prog = compile(t, s.text)
			r := straight(t, s, nothing)
			t.Fatalf("seed %d: %d steps, of which the trace leaves out %d and shows\n%s\n%s", seed, r.Steps, r.Dropped, strings.Join(r.Trace, "\n"), numbered(s.text))
		}
	}
}
