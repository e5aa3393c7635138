package worker

import (
	"context"

	"ql/internal/account"
	"ql/internal/job"
)

// SubmitCalled accepts a job that a script has started. It runs when it is its turn: whoever waits for it
// holds no slot then.
func (w *Worker) SubmitCalled(ctx context.Context, s Submission) error {
	if w.draining.Load() {
		return ErrStopping
	}
	lease, _, err := w.store(ctx, &s, job.Accepted)
	if err != nil {
		return err
	}
	w.mu.Lock()
	w.scheduler.enqueue(w.scheduler.queue(s.Account.ID, s.Limits.Concurrent), lease.ID, &entry{})
	w.mu.Unlock()
	w.dispatch()
	return nil
}

// IsChild tells whether a job was started by another one.
func (w *Worker) IsChild(ctx context.Context, a account.ID, parent, child job.ID) (bool, error) {
	return w.o.Queue.IsChild(ctx, a, parent, child)
}

// Children lists the jobs that one has started.
func (w *Worker) Children(ctx context.Context, a account.ID, parent job.ID, after int64, limit int) ([]job.Child, error) {
	return w.o.Queue.Children(ctx, a, parent, after, limit)
}

// Parent returns the number of the job that has started one; 0 for none.
func (w *Worker) Parent(ctx context.Context, a account.ID, child job.ID) (int64, error) {
	return w.o.Queue.Parent(ctx, a, child)
}

// Signal leaves a signal for a job; its data is sealed here.
func (w *Worker) Signal(ctx context.Context, a account.ID, id job.ID, s job.Signal) (left bool, err error) {
	if s.Data, err = w.o.Sealer.Seal(a, sealName(sealSignal, id), s.Data); err != nil {
		return false, err
	}
	s.At = w.o.Clock()
	left, err = w.o.Queue.Signal(ctx, a, id, &s)
	if left {
		w.nudge()
	}
	return left, err
}

// NextSignal returns the oldest signal of a name that waits for a job, opened; nil for none.
func (w *Worker) NextSignal(ctx context.Context, a account.ID, id job.ID, name string) (*job.Signal, error) {
	s, err := w.o.Queue.NextSignal(ctx, a, id, name)
	if err != nil || s == nil {
		return nil, err
	}
	s.Data, err = w.o.Sealer.Open(a, sealName(sealSignal, id), s.Data)
	return s, err
}

// ConsumeSignal takes a signal away.
func (w *Worker) ConsumeSignal(ctx context.Context, a account.ID, id job.ID, number int64) error {
	return w.o.Queue.ConsumeSignal(ctx, a, id, number)
}

// stopAsked ends the attempts here at jobs that somebody asked to stop, and begins those at others.
func (w *Worker) stopAsked(ctx context.Context) {
	w.nudge()
	stopping, err := w.o.Queue.ListStopping(ctx, w.session.Member())
	if err != nil {
		w.logRetry("jobs that are to stop could not be listed and will be looked for again", err)
		return
	}
	for _, l := range stopping {
		w.cut(l.ID, l.Attempt, errStopped)
	}
}
