package worker

import (
	"context"
	"errors"
)

// mostCrashes is how many attempts in a row may end with their process before the
// job is taken for the reason.
const mostCrashes = 5

// errPoison says that a job is not tried again.
var errPoison = errors.New("each attempt at the job ended with its process")

// afterCrash looks at a job that another attempt has left running. One that may be
// what ends the process is not tried for ever.
func (a *attempt) afterCrash(ctx context.Context) error {
	recovered := int64(a.recovered)
	if recovered > a.found {
		a.crashes = 0 // it got on since
	}
	if a.crashes >= mostCrashes {
		return errPoison
	}
	if a.crashes > 0 {
		a.w.o.Log.Warn("a job goes on whose last attempts ended with their process", "job", a.lease.ID, "attempts", a.crashes)
	}
	return a.w.o.Queue.Begin(ctx, a.lease, a.crashes+1, recovered)
}
