package worker

import (
	"context"

	"ql/internal/account"
	"ql/internal/execution"
	"ql/internal/job"
)

// Called is a job that a script starts.
type Called struct {
	Submission
	// Awaited says that the script does nothing before it has ended.
	Awaited bool
	// Checkpoint returns the context under which it is stored at once.
	Checkpoint func() context.Context
	// Ended takes it where it is over, to be stored with what comes next of the script; nil where it is to be
	// stored at once.
	Ended func(job.EndedCall)
}

// CalledResult is how many bytes the result of a job has that need not be stored at once.
const CalledResult = 16 << 10

// SubmitCalled accepts a job that a script has started. It runs when it is its turn: whoever waits for it
// holds no slot then. One that is awaited runs ahead of that where it can, and where it comes to its end
// so, that is returned: it is stored with its end, and nobody waits for it.
func (w *Worker) SubmitCalled(s Called) (ended *job.End, err error) {
	defer func() {
		if s.Opened != nil {
			s.Opened.Close()
		}
	}()
	if w.draining.Load() {
		return nil, ErrStopping
	}
	s.elsewhere = w.runsElsewhere(w.ctx, s.Account.ID, s.Program)
	if s.Awaited && s.Concurrency.Key == "" && !s.elsewhere.is { // else whether it may run now, and here, is known once it is stored
		if ended, err = w.runCalled(&s); ended != nil || err != nil {
			return ended, err
		}
	}
	lease, _, err := w.store(s.Checkpoint(), &s.Submission, job.Accepted)
	if err != nil {
		return nil, err
	}
	if s.elsewhere.is {
		w.hint(s.elsewhere.hint)
		return nil, nil
	}
	w.mu.Lock()
	w.scheduler.enqueue(w.scheduler.queue(s.Account.ID, s.Limits.Concurrent), lease.ID, &entry{})
	w.mu.Unlock()
	w.dispatch()
	return nil, nil
}

// calledMemory is how much memory a job has that runs ahead of its acceptance where another one waits for it.
const calledMemory = 1 << 20

// runCalled runs a job ahead of its acceptance, in the slot and at the pace of who waits for it, and stores it
// where it comes to its end. Who waits has its memory meanwhile: so this one gets little of its own, and waits for none.
// It returns nil where the job is to be accepted first; it has left nothing then.
func (w *Worker) runCalled(s *Called) (end *job.End, err error) {
	summary := s.Summary
	summary.State = job.Running
	a := &attempt{
		w:      w,
		claim:  claim{lease: job.Lease{ID: summary.ID, Account: summary.Account}, from: job.Accepted},
		header: header{job: &summary, account: s.Account, limits: s.Limits},
		task:   task{spec: s.Spec, program: s.Program},
	}
	a.memory = w.holder(a.lease)
	defer a.close()
	pace := s.Opened.Pace
	a.x, s.Opened = s.Opened, nil
	// What it emits is held twice, until that is stored.
	if !a.memory.TryGrow(3*calledMemory) || pace.Turn(w.ctx) != nil {
		a.enter(phaseReleased)
		return nil, nil
	}
	if err := w.o.Guard.DoErr("job", func() (err error) {
		end, err = a.runAhead(pace, calledMemory)
		return err
	}); err != nil {
		// Whatever it was, it is the child's: it meets it again as a job of its own.
		a.enter(phaseReleased)
		return nil, nil
	}
	end.Call = s.Call
	if s.Ended != nil && len(end.Result) <= CalledResult && len(end.Error) <= job.AlwaysShownBytes {
		s.Ended(job.EndedCall{Parent: s.Called.Parent, End: end})
		a.enter(phaseFinished)
		execution.LogFailure(w.ctx, w.o.Log, &end.Record, a.failure)
		return end, nil
	}
	ctx, cancel := detached(s.Checkpoint())
	defer cancel()
	if _, err := w.o.Queue.AcceptEnded(ctx, &job.Task{Called: s.Called}, end); err != nil {
		a.enter(phaseReleased)
		return nil, err
	}
	a.enter(phaseFinished)
	a.notifyEnd(end)
	return end, nil
}

// ChildEnd returns how a job stands that another one has started; see job.Calls.
func (w *Worker) ChildEnd(ctx context.Context, a account.ID, parent, child job.ID, most int64) (*job.ChildEnd, error) {
	return w.o.Queue.ChildEnd(ctx, a, parent, child, most)
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
