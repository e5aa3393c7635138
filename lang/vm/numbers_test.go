package vm_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ql/lang/langtest"
	"ql/lang/value"
	"ql/lang/vm"
)

// numbers writes a trace with the order in which its steps ended.
func numbers(m *vm.Machine) string {
	steps, _ := m.Trace()
	var list []string
	for _, s := range steps {
		text := fmt.Sprintf("%d:%s#%d", s.Line, s.Step, s.Number)
		if s.Open {
			text += " open"
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

// TestStepNumbers checks the order in which steps end, at each effect and in the
// end.
func TestStepNumbers(t *testing.T) {
	tests := []struct {
		name, script string
		first, last  int
		want         []string
	}{
		{"one after the other", "EMIT 1\nWAIT 1 SECOND\nEMIT 2", 10, 10, []string{
			"1:EMIT#1, 2:WAIT#2 open",
			"1:EMIT#1, 2:WAIT#2, 3:EMIT#3",
		}},
		{"in a function", "DEFINE f()\nEMIT 1\nWAIT 1 SECOND\nRETURN 2\nEND\nSET ?x AS f()\nEMIT ?x", 10, 10, []string{
			"6:SET#3 open, 2:EMIT#1, 3:WAIT#2 open",
			"6:SET#4, 2:EMIT#1, 3:WAIT#2, 4:RETURN#3, 7:EMIT#5",
		}},
		{"past the trace", "FOR ?i FROM 1 TO 4 DO\nWAIT 1 SECOND\nEND", 2, 2, []string{
			"1:FOR#1, 2:WAIT#2 open",
			"1:FOR#1, 2:WAIT#2, 2:WAIT#3 open",
			"1:FOR#1, 2:WAIT#2, 2:WAIT#3, 2:WAIT#4 open",
			"1:FOR#1, 2:WAIT#2, 2:WAIT#4, 2:WAIT#5 open",
			"1:FOR#1, 2:WAIT#2, 2:WAIT#4, 2:WAIT#5",
		}},
	}
	for _, tt := range tests {
		limits := langtest.Limits()
		limits.TraceFirst, limits.TraceLast = tt.first, tt.last
		prog := compile(t, tt.script)
		m := vm.New(prog, limits, vm.Input{})
		var got []string
		for m.Run(context.Background()) == vm.Pending {
			got = append(got, numbers(m))
			m = restored(t, prog, m)
			m.Resume(value.Null)
		}
		if got = append(got, numbers(m)); !slices.Equal(got, tt.want) {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
		}
		m.Release()
	}
}

// TestStepNumbersStay runs random programs: a step that is over keeps its
// number, and in the end each number was given once.
func TestStepNumbersStay(t *testing.T) {
	for seed := range count(60, 300) {
		s := newSubject(t, seed)
		s.limits.TraceFirst = 1 << 30
		told := map[int64]string{}
		look := func(m *vm.Machine) {
			steps, _ := m.Trace()
			for _, x := range steps {
				if x.Open {
					continue
				}
				is := fmt.Sprint(x.Step, x.Status, x.Line, x.Duration)
				if was, ok := told[x.Number]; ok && was != is {
					t.Fatalf("seed %d: step %d was %s, and is %s\n%s", seed, x.Number, was, is, numbered(s.text))
				}
				told[x.Number] = is
			}
		}
		m, _ := s.drive(s.start(), func(m *vm.Machine) *vm.Machine { look(m); return m }, s.asked)
		look(m)
		if steps, _ := m.Trace(); len(steps) != len(told) && m.Status() != vm.Pending {
			t.Fatalf("seed %d: %d steps have %d numbers\n%s", seed, len(steps), len(told), numbered(s.text))
		}
		m.Release()
	}
}

// TestEarlierFormats restores snapshots as they were written before they had !FILES, before they had !BODY
// and !INPUT and said whether their output is one value, before they said what their
// values weigh, and before steps had numbers.
func TestEarlierFormats(t *testing.T) {
	prog := compile(t, "EMIT 1\nEMIT 2\nSET ?l AS [1, 2.5, 'x']\nWAIT 1 SECOND\nEMIT ?l")
	stored := func(in vm.Input) (*vm.Machine, []byte) {
		m := vm.New(prog, langtest.Limits(), in)
		m.Run(context.Background())
		b, err := m.Snapshot(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return m, b
	}
	m, b := stored(vm.Input{})
	// Null and false take a byte each: where they differ is the global.
	without := func(b []byte, in vm.Input) []byte {
		_, other := stored(in)
		at := 0
		for b[at] == other[at] {
			at++
		}
		return slices.Delete(bytes.Clone(b), at, at+1)
	}
	withInput := without(b, vm.Input{Files: value.False})
	b = without(without(withInput, vm.Input{Input: value.False}), vm.Input{Body: value.False})
	const weight, checksum = 8, 16
	for _, test := range []struct {
		format byte
		cut    int
	}{{4, 0}, {3, 0}, {2, weight}, {1, weight + 1}} { // the number of steps that have ended is one byte
		b := append(bytes.Clone(b[:len(b)-checksum-test.cut]), make([]byte, checksum)...)
		if test.format == 4 {
			b = bytes.Clone(withInput)
		} else {
			flag := vm.JSONFlag(b)
			b = slices.Delete(b, flag, flag+1)
		}
		b[3] = test.format
		vm.Seal(b)
		if got, err := vm.Weight(b); err != nil || test.format < 3 && got < langtest.Limits().Memory {
			t.Errorf("format %d: it weighs %d: %v", test.format, got, err)
		}
		old, err := vm.Restore(context.Background(), nil, prog, b, m.Output())
		if err != nil {
			t.Fatalf("format %d: %v", test.format, err)
		}
		old.Resume(value.Null)
		old.Run(context.Background())
		if got, want := numbers(old), "1:EMIT#1, 2:EMIT#2, 3:SET#3, 4:WAIT#4, 5:EMIT#5"; got != want || string(old.Output()) != `12[1,2.5,"x"]` {
			t.Errorf("format %d: %s, want %s; it has emitted %s", test.format, got, want, old.Output())
		}
	}
}

// TestRepeatedSteps: a step that was begun before says so, also when it was stored, among the first
// steps and the last.
func TestRepeatedSteps(t *testing.T) {
	l := langtest.Limits()
	l.TraceFirst, l.TraceLast = 2, 2
	const script = `RUN "a" ON "m" SET ?x AS 1 RUN "b" ON "m"`
	m, p := waiting(t, l, script, vm.Input{}), compile(t, script)
	m.MarkRepeated()
	resumes(t, p, m)
	m.Resume(value.Null)
	if m.Run(t.Context()) != vm.Pending {
		t.Fatal("it does not come to its second effect")
	}
	m.MarkRepeated()
	resumes(t, p, m)
	steps, _ := m.Trace()
	for i, want := range []bool{true, false, true} {
		if steps[i].Repeated != want {
			t.Errorf("step %d: %+v", i+1, steps[i])
		}
	}
}
