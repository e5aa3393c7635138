package worker

import (
	"context"
	"time"

	"ql/internal/admit"
	"ql/internal/engine"
	"ql/internal/job"
)

// maxStacks is how often it is shown where one job stands: each time costs what it takes to restore the script.
var maxStacks = admit.Rate{Name: "stacks", Count: 60, Per: time.Minute, Burst: 20}

// Stack shows where a job stands that is suspended; of any other the error is job.ErrNotPaused. The script is restored in
// memory that is reserved for its account, and in the account's turns, and does nothing.
func (w *Worker) Stack(ctx context.Context, id job.ID) (list []engine.StackFrame, more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, replyTime)
	defer cancel()
	h, err := w.o.Queue.Head(ctx, id)
	switch {
	case err != nil:
		return nil, false, err
	case !isSuspended(h.State):
		return nil, false, job.ErrNotPaused
	}
	if w.o.Limiter != nil {
		if v := w.o.Limiter.Allow(admit.Key{Rate: maxStacks.Name, Origin: string(id[:])}, maxStacks); !v.OK {
			return nil, false, v.Err()
		}
	}
	w.mu.Lock()
	if w.draining.Load() {
		w.mu.Unlock()
		return nil, false, ErrStopping
	}
	w.attempts.Add(1)
	w.mu.Unlock()
	defer w.attempts.Done()
	a := &attempt{w: w, claim: claim{lease: h.Lease, from: job.Running}, header: header{sizes: h.Sizes}}
	defer a.close()
	if a.account, err = w.o.Accounts.ByID(ctx, h.Account); err != nil {
		return nil, false, err
	}
	a.limits = a.account.Limits(w.o.Limits)
	a.memory = w.holder(a.lease)
	if err := a.memory.Grow(ctx, counted(toLoad(a.sizes)+engine.MaxStackBytes)); err != nil {
		return nil, false, err
	}
	ticket := w.o.Gate.Auxiliary(int64(a.lease.Account))
	defer ticket.Release()
	s, err := w.o.Queue.Load(ctx, a.lease.Seq)
	if err != nil {
		return nil, false, err
	}
	if !isSuspended(s.State) || s.Snapshot == nil {
		return nil, false, job.ErrNotPaused
	}
	if err := a.decode(ctx, s, ticket, true); err != nil {
		return nil, false, err
	}
	if err := ticket.Turn(ctx); err != nil {
		return nil, false, err
	}
	list, more = engine.Stack(a.machine, a.engineState)
	return list, more, nil
}

// isSuspended tells whether a job waits for somebody or for something: what is stored of it is all that there is.
func isSuspended(s job.State) bool { return s == job.Paused || s == job.Waiting }
