package engine

import (
	"context"
	"slices"
	"testing"
)

// slot is a Pace of which tests see whether the run holds its slot.
type slot struct{ held bool }

func (s *slot) Yield() { s.held = false }

func (s *slot) Turn(ctx context.Context) error {
	s.held = true
	return ctx.Err()
}

// watched are resources that note who comes to them with a slot in hand.
type watched struct {
	memoryFiles
	*memorySessions
	*slot
	greedy []string
}

func (w *watched) note(what string) {
	if w.held {
		w.greedy = append(w.greedy, what)
	}
}

func (w *watched) Read(ctx context.Context, path string, limit int) ([]byte, error) {
	w.note("read")
	return w.memoryFiles.Read(ctx, path, limit)
}

func (w *watched) Write(ctx context.Context, path string, content []byte) error {
	w.note("write")
	return w.memoryFiles.Write(ctx, path, content)
}

func (w *watched) Start(ctx context.Context) (Session, error) {
	w.note("session")
	return w.memorySessions.Start(ctx)
}

// TestWaitsWithoutSlot checks that effects that wait for others or for the disk
// do so without a slot, and that what is computed after them has one.
func TestWaitsWithoutSlot(t *testing.T) {
	w := newWorld(t)
	pace := &slot{held: true}
	seen := &watched{memoryFiles: w.files, memorySessions: w.sessions, slot: pace}
	w.o.Files, w.o.Sessions, w.o.Pace = seen, seen, pace
	r := w.start(`WRITE [1, 2] TO "/a.json"
READ "/a.json" SET ?a
START SESSION
SET "k" AS SUM(?a) OF !SESSION
EMIT SUM(?a)`)
	if got := w.result(r); got != "3" {
		t.Fatalf("got %s", got)
	}
	if len(seen.greedy) > 0 {
		t.Errorf("came with a slot in hand: %v", slices.Compact(seen.greedy))
	}
	if !pace.held {
		t.Error("the script computed without a slot at its end")
	}
}

// TestPaceOfContext checks what resources find where a run has no pace.
func TestPaceOfContext(t *testing.T) {
	ctx, cancel := context.WithCancel(WithPace(t.Context(), nil))
	Yield(ctx)
	if err := Turn(ctx); err != nil {
		t.Error(err)
	}
	cancel()
	if err := Turn(ctx); err == nil {
		t.Error("a run goes on after its end")
	}
}
