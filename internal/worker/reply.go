package worker

import (
	"context"
	"crypto/sha256"
	"errors"

	"ql/internal/engine"
	"ql/internal/job"
	"ql/lang/value"
)

// Reply is what somebody answers to a job's question.
type Reply struct {
	// Prompt is the question that is meant; "" for the one that is open.
	Prompt string
	// Approved answers a CONFIRM; nil where Fields answers a GATHER.
	Approved *bool
	Fields   value.Value
	By       job.Credential
	Address  string
}

// sum is the same for the same reply.
func (r *Reply) sum() [32]byte {
	e := value.NewEncoder(nil)
	if r.Approved != nil {
		e.Value(value.Bool(*r.Approved))
	} else {
		e.Value(r.Fields)
	}
	return sha256.Sum256(e.Bytes())
}

// Reply answers the question at which a job stands, and lets it go on. Of
// several replies one wins; the others, and those to a job that has moved on,
// get job.ErrNotPaused. The same reply to the same question again is no error.
// engine.ErrWrongReply, form.FieldErrors, ErrResting and a *value.Error of a file
// that cannot be stored leave the question open.
func (w *Worker) Reply(ctx context.Context, id job.ID, r Reply) error {
	sum := r.sum()
	v, err := w.o.Queue.View(ctx, id)
	if err != nil {
		return err
	}
	if v.State != job.Paused || v.Prompt == nil || r.Prompt != "" && r.Prompt != v.Prompt.ID {
		return w.repeated(ctx, id, r.Prompt, sum)
	}
	err = w.answer(ctx, v, r, sum)
	if errors.Is(err, job.ErrNotPaused) || errors.Is(err, job.ErrLost) {
		return w.repeated(ctx, id, r.Prompt, sum)
	}
	return err
}

// repeated is the error of a reply to a question that is not open, unless it
// repeats the reply that the question got.
func (w *Worker) repeated(ctx context.Context, id job.ID, prompt string, sum [32]byte) error {
	if prompt == "" {
		return job.ErrNotPaused
	}
	earlier, found, err := w.o.Queue.Answered(ctx, id, prompt)
	if err != nil {
		return err
	}
	if found && earlier == sum {
		return nil
	}
	return job.ErrNotPaused
}

func (w *Worker) answer(ctx context.Context, v *job.View, r Reply, sum [32]byte) error {
	w.mu.Lock()
	if w.draining.Load() {
		w.mu.Unlock()
		return ErrStopping
	}
	w.attempts.Add(1)
	w.mu.Unlock()
	a := &attempt{w: w, lease: job.Lease{Seq: v.Seq, ID: v.ID, Account: v.Account}, from: job.Running}
	begun := false
	defer func() {
		if !begun {
			a.close()
			w.attempts.Done()
		}
	}()
	s, err := w.o.Queue.Load(ctx, v.Seq)
	if err != nil {
		return err
	}
	if s.State != job.Paused || s.Prompt == nil || s.Prompt.ID != v.Prompt.ID {
		return job.ErrNotPaused
	}
	if a.account, err = w.o.Accounts.ByID(ctx, v.Account); err != nil {
		return err
	}
	if a.account.Disabled {
		return ErrResting
	}
	a.limits = w.o.Limits(a.account.Plan)
	if err := a.take(ctx, s); err != nil {
		return err
	}
	if a.x, err = w.o.Host.Open(ctx, v.ID, a.account, a.limits, a.spec, nil); err != nil {
		return err
	}
	run := a.x.Run(a.machine, a.state, nil)
	told, err := r.tell(ctx, run)
	if err != nil {
		return err
	}
	sealed, err := a.seal(sealJournal, appendTold(nil, told))
	if err != nil {
		return err
	}
	a.lease, err = w.o.Queue.Answer(ctx, v.ID, job.Answer{
		Prompt: v.Prompt.ID, Reply: sum, By: r.By, Address: r.Address, At: w.o.Clock(), Step: told.Seq, Entries: sealed,
	}, w.leaseEnd())
	if err != nil {
		return errors.Join(err, run.Unanswer(context.WithoutCancel(ctx)))
	}
	begun = true
	a.job.State, a.state, a.rest, a.parts = job.Running, run.State(), true, nil
	// Who was answered goes on at once, beside those who stand in line.
	w.mu.Lock()
	w.lines.enter(w.lines.line(a.account.ID, a.limits.Concurrent))
	w.mu.Unlock()
	leave := w.leaver(a.account.ID)
	w.begin(leave, func() { w.run(a, leave) })
	return nil
}

// tell gives the reply to the script.
func (r *Reply) tell(ctx context.Context, run *engine.Run) (engine.Told, error) {
	if r.Approved != nil {
		return run.Approve(*r.Approved)
	}
	return run.Answer(ctx, r.Fields)
}
