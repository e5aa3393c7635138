package worker

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"ql/internal/job"
)

// TestInputStays: a job finds what it was given after a pause, and where it is begun again
// by the next process.
func TestInputStays(t *testing.T) {
	e := newWorld(t, faults{})
	s := e.submission("INPUT FIELDS name TEXT REQUIRED, tags CHOICES [\"a\", \"b\"]\nCONFIRM \"go on\"\nEMIT !INPUT")
	s.Spec.Input = json.RawMessage(`{"name":"Ada <3","tags":["a"]}`)
	_, err := e.w.Submit(context.Background(), s)
	check(t, err)
	e.await(s.Summary.ID, job.Paused)
	e.start()
	yes := true
	check(t, e.reply(context.Background(), s.Summary.ID, Reply{Approved: &yes}))
	e.wantResult(s.Summary.ID, `{"name":"Ada <3","tags":["a"]}`)
}

// TestInputIsCounted: what a job was given counts as what it takes while it runs.
func TestInputIsCounted(t *testing.T) {
	e := newWorld(t, faults{})
	s := e.submission("EMIT LENGTH(!INPUT.text)")
	before := toRun(&s.Spec, s.Program)
	s.Spec.Input = json.RawMessage(`{"text":"` + strings.Repeat("x", 100_000) + `"}`)
	if grown := toRun(&s.Spec, s.Program) - before; grown != int64(len(s.Spec.Input)) {
		t.Errorf("an input of %d bytes counts as %d", len(s.Spec.Input), grown)
	}
	_, err := e.w.Submit(context.Background(), s)
	check(t, err)
	e.wantResult(s.Summary.ID, "100000")
}
