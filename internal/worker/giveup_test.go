package worker

import (
	"context"
	"errors"
	"strings"
	"testing"

	"ql/internal/job"
)

// noSuspend is a queue in which no job can be suspended, as on a full disk.
type noSuspend struct{ job.Queue }

func (noSuspend) Suspend(context.Context, job.Lease, *job.Suspension) error {
	return errors.New("no room")
}

// TestGivenUp: a job that can never be stored where it stands has failed there, as its
// trace shows.
func TestGivenUp(t *testing.T) {
	e := newWorld(t, faults{queue: func(q job.Queue) job.Queue { q.Attempts = noSuspend{q}; return q }})
	v := e.await(e.submit(`EMIT "a" CONFIRM "Sure?"`), job.Failed)
	if !strings.Contains(string(v.Error), `"internal"`) || string(v.Result) != "a" {
		t.Errorf("it failed with %s and gave %q", v.Error, v.Result)
	}
	if !strings.Contains(string(v.Trace), `"step":"CONFIRM","status":"Error"`) {
		t.Errorf("its trace is %s", v.Trace)
	}
}
