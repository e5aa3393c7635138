package worker

import (
	"context"
	"errors"

	"ql/internal/admit"
	"ql/internal/job"
	"ql/lang/bytecode"
)

// A job that can begin at once runs ahead of its acceptance, up to where it would
// do something that outlasts it: so a short one is stored once, with its end, and
// its caller waits for the disk once. Until then nobody knows of it, and a crash
// leaves nothing of it.

// acceptance is what became of a submission.
type acceptance struct {
	earlier job.ID
	err     error
}

// errRepeated says that the key of a submission was used before.
var errRepeated = errors.New("the call was made before")

// isStored tells whether the attempt's job is.
func (a *attempt) isStored() bool { return a.ahead == nil }

// enterAhead returns a ticket that can be had soon; nil where none can.
func (a *attempt) enterAhead(ctx context.Context, ask admit.Ask) *admit.Ticket {
	if t := a.w.o.Gate.TryEnter(ask); t != nil {
		return t
	}
	ctx, cancel := context.WithTimeout(ctx, a.w.o.AheadWait)
	defer cancel()
	t, _ := a.w.o.Gate.Enter(ctx, ask)
	return t
}

// accept stores the job of an attempt that ran ahead, if it did: with its end,
// where it has come to it, and as running otherwise. The submitter learns of it.
func (a *attempt) accept(ctx context.Context, end *job.End) error {
	s := a.ahead
	if s == nil {
		return nil
	}
	lease, earlier, err := a.w.accept(ctx, s, end)
	if err == nil && earlier != (job.ID{}) {
		err = errRepeated
	}
	if err != nil {
		a.refused = err
		a.told <- acceptance{earlier, err}
		return err
	}
	a.ahead = nil
	if end == nil {
		a.lease = lease
		a.publish()
	}
	a.told <- acceptance{}
	return nil
}

func (w *Worker) accept(ctx context.Context, s *Submission, end *job.End) (l job.Lease, earlier job.ID, err error) {
	if end != nil {
		earlier, err = w.o.Queue.AcceptEnded(ctx, &job.Task{Webhook: s.Webhook, Key: s.Key}, end)
		return l, earlier, err
	}
	return w.store(ctx, s, job.Running)
}

// refuse tells the submitter of a job that was not stored why, unless it knows.
func (a *attempt) refuse(err error) {
	switch {
	case a.refused != nil:
		return
	case errors.Is(err, errDrain):
		err = ErrStopping
	}
	a.told <- acceptance{err: err}
}

// mayRunAhead tells whether an effect leaves nothing behind, and takes no time.
func mayRunAhead(e bytecode.Effect) bool {
	switch e {
	case bytecode.Now, bytecode.Random, bytecode.UUID, bytecode.Token, bytecode.AccountGet, bytecode.JobGet:
		return true
	}
	return false
}
