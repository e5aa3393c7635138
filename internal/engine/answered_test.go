package engine

import (
	"testing"
	"time"

	"ql/lang/value"
)

// TestAnswered: a script reads how its last question was answered, also where it was stored in
// between, and where it is repeated from a journal.
func TestAnswered(t *testing.T) {
	const script = `EMIT LINE TO_JSON(!JOB('answer'))
		CONFIRM "a" TO "finance" SET ?x EMIT LINE TO_JSON(!JOB('answer'))
		GATHER "b" FIELDS n INTEGER SET ?f EMIT LINE TO_JSON(!JOB.answer)
		TRY CONFIRM "c" CATCH ?e EMIT LINE ?e.code, " ", !JOB('answer').decision END
		EMIT !JOB('answer').nothing IS NULL`
	const want = `null
{"decision":"declined","note":"not now","by":"key ci","at":"2026-11-16T08:30:00Z","receipt":"0001-0002-0003","audience":"finance"}
{"decision":"answered","note":null,"by":"link","at":"2026-11-16T09:30:00Z","receipt":null,"audience":null}
expired answered
true`
	w := newWorld(t)
	at := time.Date(2026, 11, 16, 8, 30, 0, 0, time.UTC)
	for _, way := range []string{"run", "stored"} {
		r := w.start(script)
		next := func() {
			t.Helper()
			if out, err := r.Continue(w.ctx); err != nil || out.Status != Paused {
				t.Fatalf("%s: %v, %v", way, out, err)
			}
			if way != "stored" {
				return
			}
			stored, err := EncodeState(r.State(), nil)
			if err != nil {
				t.Fatal(err)
			}
			state, _, err := DecodeState(stored)
			if err != nil {
				t.Fatal(err)
			}
			r = New(r.Machine(), w.o, state)
		}
		next()
		r.SetAnswerer(Answered{By: "key ci", Note: "not now", Receipt: "0001-0002-0003", At: at})
		result, err := r.Approve(false)
		if err != nil || result.Answered == nil || result.Answered.Decision != DecisionDeclined {
			t.Fatalf("%s: %+v, %v", way, result, err)
		}
		next()
		r.SetAnswerer(Answered{By: "link", At: at.Add(time.Hour)})
		fields := value.NewMap(nil, 1)
		fields.SetText("n", value.Int(5))
		if _, err := r.Answer(w.ctx, fields.Value()); err != nil {
			t.Fatal(err)
		}
		next()
		if result, err := r.Expire(); err != nil || result.Answered != nil {
			t.Fatalf("%s: %+v, %v", way, result, err)
		}
		if got := w.result(r); got != want {
			t.Errorf("%s: it put out\n%s\nwant\n%s", way, got, want)
		}
	}
	// From a journal that has the answers, and nothing of what came of them.
	replies := map[int64]Result{}
	r := w.start(`CONFIRM "a" SET ?x EMIT TO_JSON(!JOB('answer'))`)
	out, err := r.Continue(w.ctx)
	if err != nil || out.Status != Paused {
		t.Fatalf("%v, %v", out, err)
	}
	r.SetAnswerer(Answered{By: "owner", Note: "fine", At: at})
	result, err := r.Approve(true)
	if err != nil {
		t.Fatal(err)
	}
	replies[result.Seq] = result
	w.o.Journal = &recordingJournal{fakeJournal: fakeJournal{results: replies}, changed: map[int64]Result{}}
	if got, want := w.result(w.start(`CONFIRM "a" SET ?x EMIT TO_JSON(!JOB('answer'))`)), `{"decision":"approved","note":"fine","by":"owner","at":"2026-11-16T08:30:00Z","receipt":null,"audience":null}`; got != want {
		t.Errorf("repeated: %s, want %s", got, want)
	}
}
