package worker

import (
	"context"
	"errors"
	"time"

	"ql/internal/account"
	"ql/internal/job"
)

// The jobs of a disabled account are held back: none is begun, none resumes, and no reply
// is accepted. They lose nothing by it, and continue once the account is enabled. Only
// one that somebody asked to stop is claimed, to be stopped.

// ErrAccountDisabled says that a job takes no reply, since its account is disabled.
var ErrAccountDisabled = errors.New("the account of the job is disabled")

// disabledRecheck is how long a disabled account's jobs are left alone before they are
// looked at again.
const disabledRecheck = time.Minute

func isHeldBack(a account.Account, d job.Due) bool { return a.Disabled && !d.Stopping }

// claim claims a job that is due; errAccountDisabled where it is not to be begun now.
func (w *Worker) claim(ctx context.Context, d job.Due) (job.Lease, error) {
	a, err := w.o.Accounts.ByID(ctx, d.Account)
	switch {
	case errors.Is(err, account.ErrNotFound):
		return job.Lease{}, job.ErrLeaseLost // its rows go with it
	case err != nil:
		return job.Lease{}, err
	case isHeldBack(a, d):
		if err := w.postpone(ctx, a.ID); err != nil {
			return job.Lease{}, err
		}
		return job.Lease{}, errAccountDisabled
	}
	return w.o.Queue.Claim(ctx, w.session.Member(), d, w.o.Clock())
}

// postpone leaves the jobs of a disabled account alone for a while. The store lists
// none of them as due meanwhile, so that many of them keep nobody else waiting.
func (w *Worker) postpone(ctx context.Context, a account.ID) error {
	w.mu.Lock()
	w.scheduler.clear(a)
	w.mu.Unlock()
	w.recallIn(disabledRecheck)
	now := w.o.Clock()
	return w.o.Queue.Postpone(ctx, a, now, now.Add(disabledRecheck))
}

// cutDisabled ends the attempts at jobs whose account was disabled meanwhile.
func (w *Worker) cutDisabled(held []job.Lease) {
	disabled := map[account.ID]bool{}
	for _, l := range held {
		off, known := disabled[l.Account]
		if !known {
			a, err := w.o.Accounts.ByID(w.ctx, l.Account)
			if err != nil && !errors.Is(err, account.ErrNotFound) {
				w.logRetry("whether an account is disabled could not be read and will be looked at again", err)
				return
			}
			off = a.Disabled
			disabled[l.Account] = off
		}
		if off {
			w.cut(l.ID, l.Attempt, errAccountDisabled)
		}
	}
}

// recallIn has the accepted jobs that left the queues looked for after a while.
func (w *Worker) recallIn(d time.Duration) {
	at := w.o.Clock().Add(d)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.recall.IsZero() || at.Before(w.recall) {
		w.recall = at
	}
}

// recallAccepted looks for accepted jobs that left the queues, when it is time to.
func (w *Worker) recallAccepted(ctx context.Context) error {
	w.mu.Lock()
	left := w.recall.Sub(w.o.Clock())
	// The clock may have been set back.
	due := !w.recall.IsZero() && (left <= 0 || left > disabledRecheck)
	if due {
		w.recall = time.Time{}
	}
	w.mu.Unlock()
	if !due {
		return nil
	}
	if err := errors.Join(w.enqueueHeld(ctx, w.session.Member().Incarnation, job.Accepted), w.adoptOrphans(ctx)); err != nil {
		w.recallIn(w.o.Retry)
		return err
	}
	w.dispatch()
	return nil
}
