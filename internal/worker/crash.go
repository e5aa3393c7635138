package worker

import (
	"context"
	"errors"
	"fmt"

	"ql/internal/wire"
)

const (
	// mostCrashes is how many attempts in a row may end with their process before the
	// job is taken for the reason.
	mostCrashes = 3
	// suspectCrashes is after how many it is tried apart from others of the kind: the
	// next crash then tells which of them it is.
	suspectCrashes = 2
)

// errPoison says that a job is not tried again.
var errPoison = errors.New("each attempt at the job ended with its process")

// crashed is the error of such a job.
func crashed() *wire.Error {
	return &wire.Error{Code: "crashed", Message: fmt.Sprintf(
		"the service ended %d times in a row while it ran this job, which got no further in between: it may be the reason, and is not tried again. What it did stays done", mostCrashes)}
}

// gotOn notes that a job whose last attempts ended with their process has done
// something since.
func (a *attempt) gotOn(ctx context.Context) error {
	a.x.Pace.Rest()
	if err := a.w.o.Queue.GotOn(ctx, a.lease); err != nil {
		return err
	}
	a.crashes = 0
	a.w.acquit(a.suspect)
	a.suspect = false
	return nil
}

// acquit lets the next suspect be tried, after one that was.
func (w *Worker) acquit(suspect bool) {
	if !suspect {
		return
	}
	w.mu.Lock()
	w.lines.trying = false
	w.mu.Unlock()
	w.dispatch()
}
