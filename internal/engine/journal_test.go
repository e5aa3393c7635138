package engine

import (
	"context"
	"testing"
)

// recordingJournal holds all results, those of changes as they were when the
// change was made.
type recordingJournal struct {
	fakeJournal
	changed map[int64]Result
}

func (j *recordingJournal) Append(t Result) {
	if c, ok := j.changed[t.Seq]; ok && t.Err == nil {
		t = c
	}
	j.results[t.Seq] = t
}

func (j *recordingJournal) Checkpoint(ctx context.Context, t Result) context.Context {
	j.changed[t.Seq] = t
	return ctx
}

// TestRepeatedRunCostsTheSame: what an effect computes is the script's to pay,
// whether it is done or told again.
func TestRepeatedRunCostsTheSame(t *testing.T) {
	const script = `
		READ "/a.json" SET ?a
		WRITE MAP(?a, ?x -> {n: ?x}) TO "/a.csv"
		SET ?h AS PASSWORD_HASH("x")
		TRY READ "/bad.json" SET ?b CATCH ?e EMIT ?e.code END
		RENDER "/p.html" USING {list: ?a}
		EMIT COUNT(?a)`
	w := newWorld(t)
	w.files["/a.json"], w.files["/bad.json"], w.files["/p.html"] = "[1, 2, 3, 4, 5]", "[1, 2, 3", "{{range .list}}<i>{{.}}</i>{{end}}"
	plain := w.start(script)
	want := w.result(plain)
	if fuel := plain.Machine().Fuel(); fuel < passwordFuel {
		t.Errorf("a run with a password hash costs %d", fuel)
	}
	j := &recordingJournal{fakeJournal: fakeJournal{results: map[int64]Result{}}, changed: map[int64]Result{}}
	w.o.Journal = j
	first := w.start(script)
	if got := w.result(first); got != want {
		t.Errorf("under a journal: %s, not %s", got, want)
	}
	clear(w.files) // nothing is done again
	second := w.start(script)
	if got := w.result(second); got != want {
		t.Errorf("repeated: %s, not %s", got, want)
	}
	if a, b, c := plain.Machine().Fuel(), first.Machine().Fuel(), second.Machine().Fuel(); a != b || b != c {
		t.Errorf("it costs %d, under a journal %d, and %d when it is repeated", a, b, c)
	}
}
