package engine

import (
	"testing"

	"ql/lang"
	"ql/lang/langtest"
	"ql/lang/value"
	"ql/lang/vm"
)

// TestRules runs what scripts may set of an answer and which databases they may
// use, in all the ways in which the language's own cases are run.
func TestRules(t *testing.T) { langtest.RunAll(t, "testdata/*.qlt", Rules()) }

// TestAnswersAreBounded: a script that sets headers or cookies without end holds
// no more of them than an answer has, until its fuel ends.
func TestAnswersAreBounded(t *testing.T) {
	for what, script := range map[string]string{
		"headers": `SET ?i AS 0 WHILE TRUE DO SET ?i AS ?i + 1 TRY SET "header:X-{?i}" AS 'v' OF !RESPONSE CATCH ?e END END`,
		"cookies": `SET ?i AS 0 WHILE TRUE DO SET ?i AS ?i + 1 TRY SET "c{?i}" AS 'v' OF !COOKIE CATCH ?e END END`,
	} {
		w := newWorld(t)
		w.limits = langtest.SmallLimits()
		w.limits.Fuel = 8e6
		r := w.start(script)
		out, err := r.Continue(w.ctx)
		if err != nil || out.Err == nil || out.Err.Limit == nil || out.Err.Limit.Name != "fuel" {
			t.Errorf("%s: got %+v, %v, want the end of the fuel", what, out, err)
		}
		for _, set := range []value.Value{r.Machine().Response(), r.Machine().Cookies()} {
			if set.IsMap() && set.Map().Len() > maxEntries {
				t.Errorf("%s: %d entries are held", what, set.Map().Len())
			}
		}
	}
}

// TestRulesOfRestoredRuns: a machine that is restored is held to them too.
func TestRulesOfRestoredRuns(t *testing.T) {
	w := newWorld(t)
	p, err := lang.Compile(`CONFIRM "x" SET "status" AS 42 OF !RESPONSE`, lang.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := New(vm.New(p, w.limits, vm.Input{}), w.o, State{})
	if got := w.result(r); got != "|paused: confirm x" {
		t.Fatal(got)
	}
	snapshot, err := r.Machine().Snapshot(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := vm.Restore(t.Context(), nil, p, snapshot, nil)
	if err != nil {
		t.Fatal(err)
	}
	r = New(m, w.o, r.State())
	if _, err := r.Approve(true); err != nil {
		t.Fatal(err)
	}
	if got, want := w.result(r), "|bad_argument: the status of an answer is a number from 100 to 599, not the number 42"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
