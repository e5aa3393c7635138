package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"ql/lang/value"
)

// TestAudience: TO is one line of text that is not too long.
func TestAudience(t *testing.T) {
	long := strings.Repeat("ä", maxAudience)
	for script, want := range map[string]string{
		`CONFIRM "x" TO "finance"`:                                        "finance",
		`GATHER "x" TO ' Käufer 1, Raum 2 ' SET ?f`:                       " Käufer 1, Raum 2 ",
		`CONFIRM "x" TO "` + long + `"`:                                   long,
		`CONFIRM "x"`:                                                     "",
		`TRY CONFIRM "x" TO "" CATCH ?e EMIT ?e.code END`:                 "bad_argument",
		`TRY CONFIRM "x" TO " " CATCH ?e EMIT ?e.code END`:                "bad_argument",
		`TRY CONFIRM "x" TO "a\nb" CATCH ?e EMIT ?e.code END`:             "bad_argument",
		`TRY CONFIRM "x" TO "a\u2028b" CATCH ?e EMIT ?e.code END`:         "bad_argument",
		`TRY CONFIRM "x" TO "` + long + `x" CATCH ?e EMIT ?e.code END`:    "bad_argument",
		`TRY CONFIRM "x" TO REPEAT("x", 99999) CATCH ?e EMIT ?e.code END`: "bad_argument",
		`TRY CONFIRM "x" TO NULL CATCH ?e EMIT ?e.code END`:               "wrong_kind",
		`TRY GATHER "x" TO ["a"] SET ?f CATCH ?e EMIT ?e.code END`:        "wrong_kind",
		`TRY GATHER "x" TO 7 SET ?f CATCH ?e EMIT ?e.message END`:         `TO takes whom GATHER is for, such as "finance", and not the number 7`,
	} {
		w := newWorld(t)
		out, err := w.start(script).Continue(w.ctx)
		if err != nil {
			t.Fatal(err)
		}
		var got string
		if out.Status == Paused {
			got = out.Prompt.To
		} else {
			got = w.result(w.start(script))
		}
		if got != want {
			t.Errorf("%.80s: %q, want %q", script, got, want)
		}
	}
}

// TestSent: a run knows whether its script has read the address of the page of its question,
// also where it is repeated from a journal.
func TestSent(t *testing.T) {
	const script = `CONFIRM "a" SET ?x SET ?url AS !JOB('form_url') CONFIRM "b" SET ?x SET ?id AS !JOB.id CONFIRM "c" SET ?x SET ?all AS !JOB CONFIRM "d" SET ?x`
	w := newWorld(t)
	j := &recordingJournal{fakeJournal: fakeJournal{results: map[int64]Result{}}, changed: map[int64]Result{}}
	w.o.Journal = j
	w.o.Job = func(_ context.Context, asked int) (value.Value, error) {
		m := value.NewMap(nil, 1)
		m.SetText(FormURL, value.Text(fmt.Sprint("page ", asked)))
		return m.Value(), nil
	}
	for _, way := range []string{"run", "repeated"} {
		r := w.start(script)
		for _, want := range []bool{false, true, false, true} {
			out, err := r.Continue(w.ctx)
			if err != nil || out.Status != Paused {
				t.Fatalf("%s: %v, %v", way, out.Status, err)
			}
			if out.Prompt.Sent != want {
				t.Errorf("%s, at %s: its address was read: %t", way, out.Prompt.Message, out.Prompt.Sent)
			}
			if _, err := r.Approve(true); err != nil {
				t.Fatal(err)
			}
		}
		if got := w.result(r); got != "" {
			t.Errorf("%s: it ends with %s", way, got)
		}
	}
}
