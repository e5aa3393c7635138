package engine

import (
	"fmt"
	"strings"
	"testing"

	"ql/lang"
	"ql/lang/vm"
)

// heldNow returns what a run holds, as texts.
func heldNow(r *Run) (list []string) {
	for _, ref := range r.HeldFiles() {
		list = append(list, string(ref))
	}
	return list
}

// TestHeldFiles: at each question a run holds what the loops go through that it is in, also once
// it was stored and restored, and nothing that a script made up.
func TestHeldFiles(t *testing.T) {
	w := newWorld(t)
	w.files["/a"], w.files["/b"] = "a1\na2\n", "b1\n"
	const script = `
		SET ?made AS {path: "/c", ref: BYTES("c1"), format: "lines"}
		CONFIRM "before"
		FOR ?a IN FILE "/a" DO
			FOR ?b IN FILE "/b" DO CONFIRM "both" END
			CONFIRM "one"
			BREAK
		END
		CONFIRM "after"
		EMIT ?made.path`
	p, err := lang.Compile(script, lang.Options{})
	if err != nil {
		t.Fatal(err)
	}
	run := New(vm.New(p, w.limits, vm.Input{}), w.o, State{})
	for _, want := range []string{"[]", "[a1\na2\n b1\n]", "[a1\na2\n]", "[]"} {
		out, err := run.Continue(w.ctx)
		if err != nil || out.Status != Paused {
			t.Fatalf("%+v, %v", out, err)
		}
		if got := fmt.Sprint(heldNow(run)); got != want {
			t.Errorf("at %q it holds %s, not %s", out.Prompt.Message, got, want)
		}
		stored, err := run.Machine().Snapshot(w.ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		all, err := EncodeState(run.State(), stored)
		if err != nil {
			t.Fatal(err)
		}
		state, snapshot, err := DecodeState(all)
		if err != nil {
			t.Fatal(err)
		}
		m, err := vm.Restore(w.ctx, nil, p, snapshot, run.Machine().Output())
		if err != nil {
			t.Fatal(err)
		}
		run = New(m, w.o, state)
		if got := fmt.Sprint(heldNow(run)); got != want {
			t.Errorf("at %q it holds %s once restored, not %s", out.Prompt.Message, got, want)
		}
		if _, err := run.Approve(true); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.result(run); got != "/c" {
		t.Error(got)
	}
}

// TestManyHeldFiles: a script is in loops through so many files, and through any number one
// after the other.
func TestManyHeldFiles(t *testing.T) {
	w := newWorld(t)
	var inside strings.Builder
	for i := range maxHeld + 1 {
		path := fmt.Sprintf("/%d", i)
		w.files[path] = fmt.Sprintf("%d\n", i)
		fmt.Fprintf(&inside, "FOR ?x IN FILE %q DO EMIT ?x, \" \"\n", path)
	}
	after := `FOR ?i IN RANGE(0, 16) DO FOR ?x IN FILE "/{?i}" DO EMIT ?x, " " END END`
	all := "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 "
	script := after + " " + after + "\nTRY\n" + inside.String() + strings.Repeat("END ", maxHeld+1) + "CATCH ?e EMIT ?e.code, \" \", ?e.message END"
	want := all + "16 " + all + "16 " + all + "limit_exceeded a script is in loops through 16 files at most: end one before another begins"
	if got := w.result(w.start(script)); got != want {
		t.Errorf("got %s", got)
	}
}
