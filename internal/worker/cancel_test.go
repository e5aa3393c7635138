package worker

import (
	"context"
	"errors"
	"testing"

	"ql/internal/job"
)

// TestCancelQueued cancels a job that is queued: it leaves the queue at once.
func TestCancelQueued(t *testing.T) {
	e, _ := newWatchedWorld(t)
	submit := func(script string) (job.ID, error) {
		s := e.submission(script)
		s.Limits.Concurrent, s.Limits.Queued = 1, 2
		_, err := e.w.Submit(context.Background(), s)
		return s.Summary.ID, err
	}
	first, err := submit(`WHILE TRUE DO SET ?x AS 1 END`)
	check(t, err)
	var inLine []job.ID
	for range 2 {
		id, err := submit(`EMIT "a"`)
		check(t, err)
		inLine = append(inLine, id)
	}
	if _, err := submit(`EMIT "b"`); !errors.Is(err, ErrQueueFull) {
		t.Errorf("one too many: %v", err)
	}
	_, err = e.w.Cancel(context.Background(), inLine[0])
	check(t, err)
	last, err := submit(`EMIT "c"`)
	check(t, err)
	_, err = e.w.Cancel(context.Background(), first)
	check(t, err)
	e.wantResult(inLine[1], "a")
	e.wantResult(last, "c")
	e.await(inLine[0], job.Cancelled)
}
