package worker

import (
	"context"
	"errors"
	"time"

	"ql/internal/admit"
	"ql/internal/engine"
	"ql/internal/fault"
	"ql/internal/job"
	"ql/internal/record"
	"ql/lang/vm"
)

// A job that can begin at once runs inline, in its submitter's goroutine and before it is
// accepted, up to where it would do something that outlasts it: so a short one is stored
// once, with its end, and nobody has to be woken for it. Until then nobody knows of it,
// and a crash leaves nothing of it.

// errNotAccepted says that an inline run came to where the job is to be accepted first.
var errNotAccepted = errors.New("the job continues once it is accepted")

// submitInline runs a job that has its slot and is counted, and accepts it.
func (w *Worker) submitInline(ctx context.Context, s *Submission, a *attempt) (earlier job.ID, err error) {
	releaseSlot := w.releaser(s.Account.ID)
	handedOver := false
	defer func() {
		if handedOver {
			return
		}
		if !a.phase.isOver() {
			a.enter(phaseReleased)
		}
		releaseSlot()
		a.close()
		w.attempts.Done()
	}()
	end, err := a.runInline(releaseSlot)
	switch {
	case err == nil:
		earlier, err = w.storeEnded(ctx, s, end)
		if err == nil && earlier == (job.ID{}) {
			a.enter(phaseFinished)
			a.notifyEnd(end)
		}
		return earlier, err
	case context.Cause(w.ctx) != nil:
		return job.ID{}, ErrStopping
	case !errors.Is(err, errNotAccepted):
		return job.ID{}, err
	}
	if !a.memory.TryGrow(counted(toRun(&a.spec, a.program))) {
		return w.submitQueued(ctx, s)
	}
	lease, earlier, err := w.store(ctx, s, job.Running)
	if err != nil || earlier != (job.ID{}) {
		return earlier, err
	}
	a.lease, handedOver = lease, true
	w.begin(releaseSlot, func() { w.run(a, releaseSlot) })
	return job.ID{}, nil
}

// submitQueued accepts a job that ran inline, and for which the node has no memory now: it
// is begun again from what is stored.
func (w *Worker) submitQueued(ctx context.Context, s *Submission) (earlier job.ID, err error) {
	lease, earlier, err := w.store(ctx, s, job.Accepted)
	if err != nil || earlier != (job.ID{}) {
		return earlier, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.scheduler.enqueue(w.scheduler.queue(s.Account.ID, s.Limits.Concurrent), lease.ID, &entry{})
	return job.ID{}, nil
}

// storeEnded stores a job that has come to its end, whether or not its caller still
// waits.
func (w *Worker) storeEnded(ctx context.Context, s *Submission, e *job.End) (earlier job.ID, err error) {
	var failed error
	e.Call = s.Call
	if w.o.RecordDurably != nil && s.Webhook == "" && s.Key == nil {
		if failed = w.o.RecordDurably(e.Record, commitTime); failed == nil {
			return job.ID{}, nil
		}
	}
	ctx, cancel := detached(ctx)
	defer cancel()
	earlier, err = w.o.Queue.AcceptEnded(ctx, &job.Task{Webhook: s.Webhook, WebhookTrace: s.WebhookTrace, WebhookEvents: s.WebhookEvents, Key: s.Key}, e)
	if err != nil && errors.Is(failed, record.ErrOutcomeUnknown) {
		err = fault.New(fault.OutcomeUnknown, "the storage failed while the job was stored").WithCause(errors.Join(failed, err))
	}
	return earlier, err
}

// runInline runs a job, to its end or to errNotAccepted. A panic is an error.
func (a *attempt) runInline(releaseSlot func()) (end *job.End, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = a.w.o.Guard.Report("job", p)
		}
	}()
	ticket := a.w.admitInline(a.w.ctx, a.ask())
	if ticket == nil {
		return nil, errNotAccepted
	}
	defer ticket.Release()
	end, err = a.runAhead(ticket, 0)
	ticket.Release()
	if err == nil {
		releaseSlot() // nothing is left to do but to wait for the disk
	}
	return end, err
}

// runAhead runs a job, to its end or to errNotAccepted. It has so many bytes to do that with; 0 for all that
// its limits allow.
func (a *attempt) runAhead(p engine.Pace, bytes int64) (end *job.End, err error) {
	w := a.w
	ctx := w.ctx
	a.enter(phaseInline)
	began := time.Now()
	a.began = began
	if a.x == nil {
		if a.x, err = w.o.Host.Open(ctx, a.lease.ID, a.account, a.limits, a.spec, p); err != nil {
			return nil, err
		}
	}
	pace := &inlinePace{Pace: p, until: began.Add(w.o.InlineTime)}
	a.x.Pace = pace
	a.machine = a.x.Machine(ctx, a.program)
	if bytes > 0 {
		a.machine.Confine(bytes)
	}
	a.journal = newAttemptJournal(a)
	run := a.newRun(a.journal)
	out, err := run.Continue(ctx)
	a.fetches = run.State().Fetches
	p.Yield()
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case pace.over || isConfined(out): // the computation is begun again: it has left nothing
		a.machine.Release()
		a.journal.Release()
		a.machine, a.journal = nil, nil
		a.releaseHistory()
		return nil, errNotAccepted
	case out.Status == engine.Interrupted && errors.Is(err, errNotAccepted):
		a.engineState, a.ran = run.State(), time.Since(began)
		return nil, errNotAccepted
	}
	a.machine.Unconfine()
	state, failure := a.outcome(out, err)
	return a.newEnd(state, failure), nil
}

// isConfined tells whether a run needed more memory than was at hand.
func isConfined(out engine.Outcome) bool {
	return out.Status == engine.Failed && out.Err.Limit != nil && out.Err.Limit.Name == vm.Confined
}

// admitInline returns a ticket that can be had soon; nil where none can.
func (w *Worker) admitInline(ctx context.Context, ask admit.Request) *admit.Ticket {
	if t := w.o.Gate.TryAcquire(ask); t != nil {
		return t
	}
	ctx, cancel := context.WithTimeout(ctx, w.o.InlineWait)
	defer cancel()
	t, _ := w.o.Gate.Acquire(ctx, ask)
	return t
}

// inlinePace is that of an inline run, which is over after a while.
type inlinePace struct {
	engine.Pace
	until time.Time
	over  bool
}

// Turn implements engine.Pace.
func (p *inlinePace) Turn(ctx context.Context) error {
	if time.Now().After(p.until) {
		p.over = true
		return errNotAccepted
	}
	return p.Pace.Turn(ctx)
}
