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

// claim claims jobs for the slots of a reservation: of a disabled account none but those
// that somebody asked to stop.
func (w *Worker) claim(ctx context.Context, r reservation) ([]job.Claimed, error) {
	q := job.ClaimQuery{
		Member: w.session.Member(), Dead: w.deadHolders(), Formats: w.o.Node.Formats, Suspects: r.suspects, Homes: w.o.Host.DatabasesElsewhere != nil, Now: w.o.Clock(),
		Free: make([]job.Places, 0, len(r.places)),
	}
	for _, p := range r.places {
		a, err := w.o.Accounts.ByID(ctx, p.Account)
		switch {
		case errors.Is(err, account.ErrNotFound):
			continue // its rows go with it
		case err != nil:
			return nil, err
		case a.Disabled:
			if err := w.postpone(ctx, a.ID); err != nil {
				return nil, err
			}
			p.Stopping = true
		}
		q.Free = append(q.Free, p)
		q.Limit += p.N
	}
	if len(q.Free) == 0 {
		return nil, nil
	}
	return w.o.Queue.Claim(ctx, &q)
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
	var found backlogs
	err := w.listHeld(ctx, &found, w.session.Member().Incarnation, job.Accepted)
	if err := errors.Join(err, w.enqueue(ctx, &found), w.adoptOrphans(ctx)); err != nil {
		w.recallIn(w.o.Retry)
		return err
	}
	return nil
}
