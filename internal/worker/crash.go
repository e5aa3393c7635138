package worker

import (
	"context"
	"errors"
	"time"

	"ql/internal/job"
	"ql/internal/wire"
)

const (
	// maxCrashes is at what weight of crashes a job is taken for their reason: three
	// that met it alone, or six that met others too, which may be the reason as well.
	maxCrashes = 3 * job.CrashWeightAlone
	// earlyCrash is how soon after it was claimed a crash says little about a job.
	earlyCrash = time.Second
)

// errPoison says that a job is not tried again.
var errPoison = errors.New("each attempt at the job ended with its process")

// crashed is the error of such a job.
func crashed() *wire.Error {
	return &wire.Error{Code: "crashed", Message: "the service ended again and again while it ran this job, " +
		"which got no further in between: it may be the reason, and is not tried again. What it did stays done"}
}

// resetCrashes notes that a job whose last attempts ended with their process has done
// something since.
func (a *attempt) resetCrashes(ctx context.Context) error {
	a.x.Pace.Yield()
	if err := a.w.o.Queue.ResetCrashes(ctx, a.lease); err != nil {
		return err
	}
	a.crashes = 0
	a.w.endProbe(a.probe)
	a.probe = false
	return nil
}

// endProbe lets the next job in quarantine run, after one that was probed.
func (w *Worker) endProbe(probe bool) {
	if !probe {
		return
	}
	w.mu.Lock()
	w.scheduler.probing = false
	w.mu.Unlock()
	w.dispatch()
}
