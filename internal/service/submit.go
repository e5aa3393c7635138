package service

import (
	"context"
	"errors"
	"time"

	"ql/internal/account"
	"ql/internal/account/usage"
	"ql/internal/execution"
	"ql/internal/fault"
	"ql/internal/job"
	"ql/internal/wire"
	"ql/internal/worker"
)

// submit accepts a script as a job that nobody waits for. When it answers, the
// job is on the disk.
func (s *Service) submit(ctx context.Context, who caller, c Caller, q Query, l account.Limits, spent *usage.Call, a Answer) (Answer, error) {
	if err := s.checkWebhook(who, q.Webhook); err != nil {
		return a, err
	}
	id := s.o.NewID()
	ticket := s.o.Gate.Auxiliary(int64(who.Account.ID))
	defer ticket.Release()
	x, err := s.o.Host.Open(ctx, id, who.Account, l, s.spec(who, c, q, l.AsyncMachine()), ticket)
	if err != nil {
		return a, err
	}
	taken := false
	defer func() {
		if !taken {
			x.Close()
		}
	}()
	program, failure, err := x.Compile(ctx, q.Script)
	if err == nil && failure == nil {
		err = noteInput(x.CheckInput(ctx, program), q.NoInput)
	}
	ticket.Release() // what is left to do before the job begins waits for the disk
	if err != nil {
		return a, err
	}
	if failure != nil {
		if key := s.idempotencyKey(who, c, q); key != nil {
			earlier, err := s.reserveKey(ctx, who.Account.ID, *key, id, false)
			if err != nil {
				return a, submitError(err, l)
			}
			if earlier != (job.ID{}) {
				return s.repeatAnswer(ctx, c, earlier, q, nil, a)
			}
		}
		spent.Count(0)
		return s.compileFailed(ctx, x, who, q, failure, a)
	}
	if err := s.reserveCall(ctx, c, &q); err != nil {
		return a, err
	}
	if program.UsesSession {
		if err := x.EnsureSession(ctx); err != nil {
			return a, err
		}
		if x.Spec.Session != who.Session {
			a.Session = x.Spec.Session
		}
	}
	taken = true
	earlier, err := s.o.Jobs.Submit(ctx, worker.Submission{
		Summary: job.Summary{
			ID: id, Account: who.Account.ID, Mode: job.Async, Convention: q.Convention, Credential: who.By, KeyID: who.Key.ID, ProgramName: q.programName(), Created: x.Spec.Started,
		},
		Account: who.Account, Limits: l, Spec: x.Spec, Program: program, Opened: x, Webhook: q.Webhook, WebhookTrace: q.WebhookTrace, WebhookEvents: q.WebhookEvents, Key: s.idempotencyKey(who, c, q), Call: s.call(x, &q), Concurrency: q.concurrency(),
	})
	if err != nil {
		return a, unknownOutcome(submitError(err, l), id, q.Key != nil)
	}
	if earlier != (job.ID{}) {
		return s.repeatAnswer(ctx, c, earlier, q, nil, a)
	}
	spent.Count(0) // how long it runs is counted with its end
	a.Job, a.Status = s.acceptedAnswer(id), 202
	return a, nil
}

// compileFailed answers a script that does not compile at once: there is nothing to
// wait for.
func (s *Service) compileFailed(ctx context.Context, x *execution.Execution, who caller, q Query, failure *wire.Error, a Answer) (Answer, error) {
	now := s.o.Clock()
	summary := job.Summary{ID: x.ID, Account: who.Account.ID, Mode: job.Async, Convention: q.Convention, Credential: who.By, KeyID: who.Key.ID, ProgramName: q.programName(), Created: x.Spec.Started}
	r := execution.NewRecord(q.Trace, summary, job.Failed, now, max(now.Sub(x.Spec.Started), 0), nil, failure)
	r.Call = s.call(x, &q)
	s.record(ctx, r)
	execution.LogFailure(ctx, s.o.Log, &r, failure)
	a.Job, a.Err = execution.WireJob(&r), failure
	a.Status = a.Job.HTTPStatus()
	if f := x.Fault(); f != nil {
		a.Status, a.RetryAfter = f.Status(), f.RetryAfter
	}
	return a, nil
}

// checkWebhook checks the address that is called at the end of a job.
func (s *Service) checkWebhook(who caller, webhook string) error {
	if webhook == "" {
		return nil
	}
	if who.Development && !s.o.DevelopmentWebhooks {
		return fault.Invalid("options.webhook", "is not for the development account: leave it out, or use an account of your own")
	}
	if err := s.o.CheckWebhook(webhook); err != nil {
		return fault.Invalid("options.webhook", "%s", err)
	}
	return nil
}

// submitError gives a code to the errors of the queue.
func submitError(err error, l account.Limits) error {
	switch {
	case errors.Is(err, worker.ErrQueueFull), errors.Is(err, job.ErrBlockedLimit):
		f := fault.Retryable(fault.QuotaExceeded, 5*time.Second, "the account has %d jobs in line, which is as many as it may have: let some begin first", l.Queued)
		f.Limit, f.Value = "queued", int64(l.Queued)
		return f
	case errors.Is(err, job.ErrStorageLimit):
		f := fault.Retryable(fault.QuotaExceeded, time.Minute, "the programs of the account's jobs that are not finished may have %d bytes together, and with this one they would have more: let some finish, answer or cancel some", l.SuspendedBytes)
		f.Limit, f.Value = "standing_bytes", l.SuspendedBytes
		return f
	case errors.Is(err, worker.ErrStopping):
		return errStopping()
	case errors.Is(err, job.ErrOtherBody):
		return fault.New(fault.IdempotencyMismatch, "this Idempotency-Key was used for another request within the last 24 hours: use another key")
	}
	return err
}

// unknownOutcome explains how to find out whether a job was accepted, where the store
// failed meanwhile.
func unknownOutcome(err error, id job.ID, keyed bool) error {
	if !fault.Is(err, fault.OutcomeUnknown) {
		return err
	}
	again := "then send it again, or send an Idempotency-Key with each job from now on, so that a repeat is accepted once at most"
	if keyed {
		again = "or send it again with the same Idempotency-Key: it is accepted once at most"
	}
	return fault.New(fault.OutcomeUnknown, "the storage failed while the job %s was stored: whether it was accepted is not known. "+
		"Once the storage works again, GET /v1/job/%s tells: job_not_found says that it was not; %s", id, id, again).WithCause(err)
}

func errStopping() error {
	return fault.Retryable(fault.Overloaded, time.Second, "the service is stopping: try again in a moment")
}
