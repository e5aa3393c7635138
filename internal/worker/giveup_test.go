package worker

import (
	"context"
	"errors"
	"strings"
	"testing"

	"ql/internal/job"
)

// noStanding is a queue that takes no job which stands, as that on a full disk.
type noStanding struct{ job.Queue }

func (noStanding) Stand(context.Context, job.Lease, *job.Standing) error {
	return errors.New("no room")
}

// TestGivenUp: a job that can never be stored where it stands has failed there, as its
// trace shows.
func TestGivenUp(t *testing.T) {
	e := newWorld(t, faults{queue: func(q job.Queue) job.Queue { return noStanding{q} }})
	v := e.await(e.submit(`EMIT "a" CONFIRM "Sure?"`), job.Failed)
	if !strings.Contains(string(v.Error), `"internal"`) || string(v.Result) != "a" {
		t.Errorf("it failed with %s and gave %q", v.Error, v.Result)
	}
	if !strings.Contains(string(v.Trace), `"step":"CONFIRM","status":"Error"`) {
		t.Errorf("its trace is %s", v.Trace)
	}
}
