package vm_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"ql/lang"
	"ql/lang/bytecode"
	"ql/lang/langtest"
	"ql/lang/langtest/gen"
	"ql/lang/langtest/refeval"
	"ql/lang/source"
	"ql/lang/syntax"
	"ql/lang/vm"
)

// compile compiles a script that must be right.
func compile(t testing.TB, text string) *bytecode.Program {
	t.Helper()
	p, err := lang.Compile(text, lang.Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, numbered(text))
	}
	return p
}

// numbered returns a script with line numbers, for reports.
func numbered(text string) string {
	var b strings.Builder
	for i, l := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		fmt.Fprintf(&b, "%4d  %s\n", i+1, l)
	}
	return b.String()
}

// generous returns limits that programs of package gen do not reach, save for
// the fuel.
func generous(first int) vm.Limits {
	l := langtest.Limits()
	l.Fuel = 20e6
	l.TraceFirst, l.TraceLast = first, 50
	return l
}

// TestPromiseDifferential compares the machine with an evaluator that walks the tree.
func TestPromiseDifferential(t *testing.T) {
	n := count(300, 2000)
	runs, failed, limited := 0, 0, 0
	for seed := range n {
		text := gen.Program(seed, gen.Options{Pure: true, Statements: 20 + int(seed%40)})
		want := reference(t, text)
		p := compile(t, text)
		for _, first := range []int{1 << 30, int(seed % 60), 0} {
			runs++
			got, ok := pureRun(p, first)
			if !ok || want.Exhausted {
				limited++
				continue
			}
			if got.Code != "" {
				failed++
			}
			if got != want {
				text = gen.Shrink(text, func(text string) bool {
					p, err := lang.Compile(text, lang.Options{})
					if err != nil {
						return false
					}
					want = reference(t, text)
					got, ok = pureRun(p, first)
					return ok && !want.Exhausted && got != want
				})
				want = reference(t, text)
				got, _ = pureRun(compile(t, text), first)
				t.Fatalf("seed %d, %d steps traced: %s\n%s", seed, first, difference(got, want), numbered(text))
			}
		}
	}
	t.Logf("of %d runs %d failed and %d were given up", runs, failed, limited)
	if limited*20 > runs || failed*2 > runs {
		t.Errorf("of %d runs %d failed and %d were given up: too many", runs, failed, limited)
	}
}

// reference returns what a script does in the tree walker.
func reference(t testing.TB, text string) refeval.Result {
	script, errs := syntax.Parse(source.NewFile("", text))
	if len(errs) > 0 {
		t.Fatalf("%v\n%s", errs, numbered(text))
	}
	return refeval.Run(script)
}

// pureRun returns what a program without effects does, unless it comes to a
// limit.
func pureRun(p *bytecode.Program, first int) (refeval.Result, bool) {
	m := vm.New(p, generous(first), vm.Input{})
	defer m.Release()
	return pureResult(m)
}

func pureResult(m *vm.Machine) (refeval.Result, bool) {
	m.Run(context.Background())
	got := refeval.Result{Output: string(m.Output()), Steps: m.Steps()}
	if e := m.Err(); e != nil {
		got.Code, got.Line, got.Step = e.Code, e.Line, e.Step
	}
	return got, got.Code != "limit_exceeded"
}

// TestMeasuring checks that nothing that is still needed stands in a register
// that is taken for unused when memory is measured.
func TestMeasuring(t *testing.T) {
	limited, n := 0, count(60, 250)
	for seed := range n {
		text := gen.Program(seed, gen.Options{Pure: true})
		want := reference(t, text)
		m := vm.New(compile(t, text), generous(int(seed%30)), vm.Input{})
		m.Poison(poison)
		m.MeasureOften(2000, poison)
		got, ok := pureResult(m)
		if !ok || want.Exhausted {
			limited++
		} else if got != want {
			t.Fatalf("seed %d: %s\n%s", seed, difference(got, want), numbered(text))
		}
	}
	if limited*3 > int(n) {
		t.Errorf("%d of %d runs were given up: too many", limited, n)
	}
}

// difference says where two results part.
func difference(got, want refeval.Result) string {
	if got.Output != want.Output {
		g, w := strings.SplitAfter(got.Output, "\n"), strings.SplitAfter(want.Output, "\n")
		for i := range g {
			if i >= len(w) || g[i] != w[i] {
				rest := ""
				if i < len(w) {
					rest = w[i]
				}
				return fmt.Sprintf("line %d of the output is\n%q\nwant\n%q", i+1, g[i], rest)
			}
		}
		return fmt.Sprintf("the output ends after %q, want %q", got.Output, want.Output)
	}
	got.Output, want.Output = "", ""
	return fmt.Sprintf("got %+v, want %+v", got, want)
}
