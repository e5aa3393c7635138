package worker

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"ql/internal/account"
	"ql/internal/admit"
	"ql/internal/engine"
	"ql/internal/execution"
	"ql/internal/job"
	"ql/internal/journal"
	"ql/internal/member"
	"ql/internal/wire"
	"ql/lang/bytecode"
	"ql/lang/value"
)

// Submission is a job to be accepted.
type Submission struct {
	Summary job.Summary // its state is set here
	Account account.Account
	Limits  account.Limits
	Spec    execution.Spec
	Program *bytecode.Program
	// Opened is what the script reaches, where it is open already: it is the
	// worker's from the submission on, whatever becomes of that. May be nil.
	Opened  *execution.Execution
	Webhook string
	// WebhookTrace says that the trace is sent there.
	WebhookTrace bool
	// WebhookEvents is what is told there.
	WebhookEvents job.WebhookEvents
	Key           *job.Key
	Call          job.Call
	Concurrency   job.Concurrency
	// Called is who has started it, where a script did; nil otherwise.
	Called *job.Called
	// Collected is what Adopt stores of the results that the script got; nil for none.
	Collected *journal.Collector

	elsewhere elsewhere
}

// SealRequest seals what a job was called with.
func (w *Worker) SealRequest(a account.ID, id job.ID, plain []byte) ([]byte, error) {
	return w.o.Sealer.Seal(a, sealName(sealRequest, id), plain)
}

// OpenRequest opens what SealRequest has sealed.
func (w *Worker) OpenRequest(a account.ID, id job.ID, sealed []byte) ([]byte, error) {
	return w.o.Sealer.Open(a, sealName(sealRequest, id), sealed)
}

// task makes what is stored of a submission.
func (w *Worker) task(s *Submission, now time.Time) (*job.Task, error) {
	if s.Concurrency.Key != "" {
		s.Spec.Keys = append(slices.Clip(s.Spec.Keys), s.Concurrency.Key)
	}
	spec, err := json.Marshal(&s.Spec)
	if err != nil {
		return nil, err
	}
	t := &job.Task{Summary: s.Summary, Program: s.Program.Hash, Webhook: s.Webhook, WebhookTrace: s.WebhookTrace, WebhookEvents: s.WebhookEvents, Key: s.Key, Call: s.Call, Called: s.Called, Untraced: s.Spec.Trace != wire.TraceFull, Concurrency: s.Concurrency, UsesDatabases: s.Program.UsesDatabases()}
	if !w.o.Unlimited {
		t.MostPrograms, t.MostBlocked = s.Limits.SuspendedBytes, s.Limits.Queued
		if !s.Spec.Owner { // visitors leave a quarter
			t.MostBlocked -= t.MostBlocked / 4
		}
	}
	if t.Spec, err = w.o.Sealer.Seal(s.Account.ID, sealName(sealTask, s.Summary.ID), spec); err != nil {
		return nil, err
	}
	if !w.programs.find(s.Program.Hash).isStored(now) {
		t.Code = bytecode.Encode(s.Program)
	}
	return t, nil
}

// store puts a submission into the queue, Accepted or Running.
func (w *Worker) store(ctx context.Context, s *Submission, state job.State) (job.Lease, job.ID, error) {
	now := w.o.Clock()
	task, err := w.task(s, now)
	if err != nil {
		return job.Lease{}, job.ID{}, err
	}
	task.State, task.Elsewhere = state, state == job.Accepted && s.elsewhere.is
	ctx, cancel := detached(ctx)
	defer cancel()
	lease, earlier, err := w.o.Queue.Accept(ctx, task, w.session.Member(), now)
	if errors.Is(err, job.ErrNoProgram) { // it made way for others
		task.Code = bytecode.Encode(s.Program)
		lease, earlier, err = w.o.Queue.Accept(ctx, task, w.session.Member(), now)
	}
	if err == nil && task.Code != nil && earlier == (job.ID{}) {
		w.programs.put(s.Program.Hash, cachedProgram{s.Program, now})
	}
	w.recallUnlessRefused(err)
	return lease, earlier, err
}

// recallUnlessRefused has a job looked for that may be stored although the store failed: it stands in no queue here, and
// whoever waits for it would wait until the next process.
func (w *Worker) recallUnlessRefused(err error) {
	if err == nil {
		return
	}
	for _, refusal := range []error{
		job.ErrLeaseLost, job.ErrCallLimit, job.ErrBlockedLimit, job.ErrStorageLimit, job.ErrNoProgram, job.ErrOtherBody, account.ErrNotFound,
	} {
		if errors.Is(err, refusal) {
			return
		}
	}
	w.recallIn(w.o.Retry)
}

// Submit accepts a job, also of a caller who has hung up: when it returns, the job
// is on the disk, and is run sooner or later, or has run. Where the submission's key
// was used before, nothing is accepted and the job of then is returned.
func (w *Worker) Submit(ctx context.Context, s Submission) (earlier job.ID, err error) {
	defer func() {
		if s.Opened != nil {
			s.Opened.Close()
		}
	}()
	s.elsewhere = w.runsElsewhere(ctx, s.Account.ID, s.Program)
	if s.Concurrency.Key != "" || s.elsewhere.is { // whether it may run now, and here, is known once it is stored
		err = w.submitStored(ctx, s, func(ctx context.Context, t *job.Task, m member.Member) (l job.Lease, stored bool, err error) {
			l, earlier, err = w.o.Queue.Accept(ctx, t, m, w.o.Clock())
			return l, err == nil && earlier == (job.ID{}), err
		})
		s.Opened = nil
		return earlier, err
	}
	queue, acquired, err := w.acquireSlot(s.Account.ID, s.Limits)
	if err != nil {
		return job.ID{}, err
	}
	summary := s.Summary
	summary.State = job.Running
	a := &attempt{
		w:      w,
		claim:  claim{lease: job.Lease{ID: summary.ID, Account: summary.Account}, from: job.Accepted},
		header: header{job: &summary, account: s.Account, limits: s.Limits, webhook: s.Webhook != ""},
		task:   task{spec: s.Spec, program: s.Program},
	}
	a.memory = w.holder(a.lease)
	if acquired {
		a.x, s.Opened = s.Opened, nil
		return w.submitInline(ctx, &s, a)
	}
	lease, earlier, err := w.store(ctx, &s, job.Accepted)
	w.mu.Lock()
	queue.incoming--
	if err == nil && earlier == (job.ID{}) {
		w.scheduler.enqueue(queue, lease.ID, &entry{cached: a, bytes: toRun(&s.Spec, s.Program)})
	}
	w.scheduler.dropIdle(queue)
	w.mu.Unlock()
	w.dispatch()
	return earlier, err
}

// acquireSlot gives a submission a slot, and counts its attempt, or lets it come into
// its account's queue.
func (w *Worker) acquireSlot(a account.ID, l account.Limits) (queue *accountQueue, acquired bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.draining.Load() {
		return nil, false, ErrStopping
	}
	queue = w.scheduler.queue(a, l.Concurrent)
	queue.maxQueued = l.Queued
	if !w.o.Unlimited && queue.queued() >= l.Queued {
		w.scheduler.dropIdle(queue)
		return nil, false, ErrQueueFull
	}
	acquired = w.scheduler.tryAcquire(queue) || w.acquireShare(queue) || w.awaitSlot(queue)
	if !acquired && w.isFull(queue, l.Queued) {
		w.scheduler.dropIdle(queue)
		return nil, false, ErrQueueFull
	}
	switch {
	case w.draining.Load(): // since it waited
		if acquired {
			w.scheduler.release(a)
		}
		w.scheduler.dropIdle(queue)
		return nil, false, ErrStopping
	case acquired:
		w.attempts.Add(1)
	default:
		queue.incoming++
	}
	return queue, acquired, nil
}

// acquireShare asks for a greater share of what all nodes may run of an account, where that keeps a submission from a
// slot. It is called under mu, which is free meanwhile.
func (w *Worker) acquireShare(queue *accountQueue) bool {
	if !w.scheduler.mayAsk(queue) {
		return false
	}
	// Without an answer it is queued.
	err := w.askShare(queue, admit.SharedRunning, func() bool { return w.scheduler.mayBegin(queue) })
	return err == nil && w.scheduler.tryAcquire(queue)
}

// awaitSlot waits a moment for a slot of an account whose short jobs come and go. It is
// called under mu, which is free meanwhile.
func (w *Worker) awaitSlot(queue *accountQueue) bool {
	turn := w.scheduler.addWaiter(queue, time.Now().Add(-w.o.InlineWait))
	if turn == nil {
		return false
	}
	w.mu.Unlock()
	timer := time.NewTimer(w.o.InlineWait)
	defer timer.Stop()
	select {
	case <-turn:
	case <-timer.C:
	case <-w.ctx.Done():
	}
	w.mu.Lock()
	return !w.scheduler.removeWaiter(queue, turn) || w.scheduler.tryAcquire(queue)
}

// Adopt stores a script that ran for a caller and is suspended now. When it returns,
// the job is on the disk. The outcome is Paused or Waiting.
func (w *Worker) Adopt(ctx context.Context, s Submission, run *engine.Run, out engine.Outcome, ran time.Duration) (*job.View, error) {
	a := &attempt{w: w, claim: claim{lease: job.Lease{ID: s.Summary.ID, Account: s.Account.ID}}, header: header{account: s.Account, limits: s.Limits, ran: ran}, task: task{spec: s.Spec}}
	a.memory, a.history = w.holder(a.lease), s.Collected
	defer a.memory.Release()
	suspension, err := a.suspension(ctx, run, out)
	if err != nil {
		return nil, err
	}
	now := w.o.Clock()
	task, err := w.task(&s, now)
	if err != nil {
		return nil, err
	}
	task.State = suspension.State
	lease, err := w.o.Queue.Adopt(ctx, task, suspension)
	if errors.Is(err, job.ErrNoProgram) {
		task.Code = bytecode.Encode(s.Program)
		lease, err = w.o.Queue.Adopt(ctx, task, suspension)
	}
	if err != nil {
		return nil, err
	}
	if task.Code != nil {
		w.programs.put(s.Program.Hash, cachedProgram{s.Program, now})
	}
	w.nudge()
	if suspension.Prompt != nil && s.Webhook != "" {
		w.o.OnDelivery()
	}
	v := &job.View{Seq: lease.Seq, Prompt: suspension.Prompt, Until: suspension.Until}
	v.Summary = task.Summary
	p := &suspension.Progress
	v.Result, v.Encoding, v.Trace, v.TraceDropped, v.Response, v.Steps = p.Output, p.Encoding(), p.Trace, p.TraceDropped, p.Response, p.Steps
	return v, nil
}

// ReserveKey makes an idempotency key lead to a synchronous call, before that is
// run. It returns the job of an earlier call with the key.
func (w *Worker) ReserveKey(ctx context.Context, a account.ID, k job.Key, id job.ID) (earlier job.ID, err error) {
	k.Member = w.session.Member().Incarnation
	return w.o.Queue.ReserveKey(ctx, a, k, id, w.o.Clock())
}

// FindKey returns the job of an earlier call with an idempotency key, and leaves
// the key as it is.
func (w *Worker) FindKey(ctx context.Context, a account.ID, k job.Key) (earlier job.ID, err error) {
	return w.o.Queue.FindKey(ctx, a, k, w.o.Clock())
}

// RunsElsewhere tells whether the call that a key was reserved for is in the hands of another process, which lives.
func (w *Worker) RunsElsewhere(ctx context.Context, a account.ID, k job.Key) (bool, error) {
	if w.o.Hints == nil {
		return false, nil
	}
	return w.o.Queue.HasLivingKey(ctx, a, k, w.session.Member())
}

// prompt makes what is stored of a question, with a token for its page.
func (w *Worker) prompt(l job.Lease, p *engine.Prompt) (*job.Prompt, error) {
	token := w.o.Host.FormToken(l.Account, l.ID, p.Asked)
	stored := &job.Prompt{ID: p.ID, Kind: p.Kind, To: p.To, Sent: p.Sent, Token: sha256.Sum256([]byte(token)), Message: p.Message, Expires: p.Expires.Truncate(time.Microsecond)}
	if p.Form != nil {
		stored.Schema = value.AppendJSON(nil, p.Form.Schema())
	}
	var err error
	stored.Sealed, err = w.o.Sealer.Seal(l.Account, sealName(sealForm, l.ID), []byte(token))
	return stored, err
}

// FormToken returns the token that opens the page of a job's question.
func (w *Worker) FormToken(v *job.View) (string, error) {
	if v.Prompt == nil {
		return "", errors.New("the job asks nothing")
	}
	token, err := w.o.Sealer.Open(v.Account, sealName(sealForm, v.ID), v.Prompt.Sealed)
	return string(token), err
}

// QuestionByToken finds the question whose page a token opens, whatever became of it.
func (w *Worker) QuestionByToken(ctx context.Context, token string) (job.Question, error) {
	return w.o.Queue.QuestionByToken(ctx, sha256.Sum256([]byte(token)))
}

// QuestionToken returns the token that opens the page of an open question, of a listing.
func (w *Worker) QuestionToken(q *job.Question) (string, error) {
	token, err := w.o.Sealer.Open(q.Job.Account, sealName(sealForm, q.Job.ID), q.Sealed)
	return string(token), err
}

// Question finds a question of a job; "" is the one that was asked last.
func (w *Worker) Question(ctx context.Context, id job.ID, prompt string) (job.Question, error) {
	return w.o.Queue.Question(ctx, id, prompt)
}

// NextQuestion finds the first question of a job after one that is for the same.
func (w *Worker) NextQuestion(ctx context.Context, after *job.Question) (job.Question, error) {
	return w.o.Queue.NextQuestion(ctx, after)
}

// Questions lists questions of an account, those asked last first.
func (w *Worker) Questions(ctx context.Context, a account.ID, q job.QuestionQuery) ([]job.Question, error) {
	return w.o.Queue.ListQuestions(ctx, a, q)
}

// StoreTask puts a job into the queue together with something else, and tells whether it did.
type StoreTask func(ctx context.Context, t *job.Task, m member.Member) (l job.Lease, stored bool, err error)

// SubmitStored accepts a job that store puts into the queue, in a change of its own that may come to
// nothing. It is not run before that.
func (w *Worker) SubmitStored(ctx context.Context, s Submission, store StoreTask) error {
	s.elsewhere = w.runsElsewhere(ctx, s.Account.ID, s.Program)
	return w.submitStored(ctx, s, store)
}

// submitStored is SubmitStored for a job of which is known where it is to run.
func (w *Worker) submitStored(ctx context.Context, s Submission, store StoreTask) error {
	defer func() {
		if s.Opened != nil {
			s.Opened.Close()
		}
	}()
	w.mu.Lock()
	if w.draining.Load() {
		w.mu.Unlock()
		return ErrStopping
	}
	queue := w.scheduler.queue(s.Account.ID, s.Limits.Concurrent)
	if w.isFull(queue, s.Limits.Queued) {
		w.scheduler.dropIdle(queue)
		w.mu.Unlock()
		return ErrQueueFull
	}
	queue.incoming++
	w.mu.Unlock()
	lease, stored, err := w.storeBy(ctx, &s, store)
	w.mu.Lock()
	queue.incoming--
	switch {
	case err != nil || !stored:
	case s.elsewhere.is:
		w.hint(s.elsewhere.hint)
	default:
		w.scheduler.enqueue(queue, lease.ID, &entry{})
	}
	w.scheduler.dropIdle(queue)
	w.mu.Unlock()
	w.dispatch()
	return err
}

func (w *Worker) storeBy(ctx context.Context, s *Submission, store StoreTask) (job.Lease, bool, error) {
	now := w.o.Clock()
	task, err := w.task(s, now)
	if err != nil {
		return job.Lease{}, false, err
	}
	task.State, task.Elsewhere = job.Accepted, s.elsewhere.is
	ctx, cancel := detached(ctx)
	defer cancel()
	lease, stored, err := store(ctx, task, w.session.Member())
	if errors.Is(err, job.ErrNoProgram) { // it made way for others
		task.Code = bytecode.Encode(s.Program)
		lease, stored, err = store(ctx, task, w.session.Member())
	}
	if err == nil && task.Code != nil && stored {
		w.programs.put(s.Program.Hash, cachedProgram{s.Program, now})
	}
	w.recallUnlessRefused(err)
	return lease, stored, err
}
