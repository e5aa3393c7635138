package databases

import (
	"context"
	"testing"

	"ql/internal/engine"
	"ql/lang/bytecode"
)

// pace tells a test when a run rests, and counts its turns.
type pace struct {
	rests chan struct{}
	turns int
}

func (p *pace) Yield() { p.rests <- struct{}{} }

func (p *pace) Turn(ctx context.Context) error {
	p.turns++
	return ctx.Err()
}

// TestWaitingRests checks that a run that waits for another's transaction rests
// before it waits.
func TestWaitingRests(t *testing.T) {
	d := open(t, Options{})
	must(t, d, "CREATE TABLE t(a)")
	tx := begin(t, d)
	p := &pace{rests: make(chan struct{}, 100)}
	done := make(chan error, 1)
	go func() {
		_, err := d.Query(engine.WithPace(t.Context(), p), "", query(bytecode.SQLRows, "INSERT INTO t VALUES (1)"))
		done <- err
	}()
	<-p.rests
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestComputingTakesTurns checks that a statement that computes for long asks for
// its turn meanwhile, and ends where it gets none.
func TestComputingTakesTurns(t *testing.T) {
	d := open(t, Options{})
	p := &pace{rests: make(chan struct{}, 100)}
	ctx, cancel := context.WithCancel(engine.WithPace(t.Context(), p))
	long := query(bytecode.SQLRows, "WITH RECURSIVE c(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM c LIMIT 10000) SELECT count(*) AS n FROM c")
	if got := outcome(t)(d.Query(ctx, "", long)); got != `[{"n":10000}]` {
		t.Fatalf("got %s", got)
	}
	if p.turns < 100 {
		t.Errorf("it asked for %d turns", p.turns)
	}
	cancel()
	if got := outcome(t)(d.Query(ctx, "", long)); got != "context" {
		t.Errorf("got %s", got)
	}
}
