package worker

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"ql/internal/admit"
	"ql/internal/engine"
	"ql/internal/fault"
	"ql/internal/job"
	"ql/internal/journal"
	"ql/internal/principal"
	"ql/lang/form"
	"ql/lang/value"
)

// Reply is what somebody answers to a job's question.
type Reply struct {
	// Prompt is the question that is meant; "" for the one that is open.
	Prompt string
	// Approved answers a CONFIRM; nil where Fields answers a GATHER.
	Approved *bool
	Fields   value.Value
	Note     string // beside Approved
	// Files are those that came beside Fields.
	Files map[string]form.Attached
	// Sum is what the same reply is known by when it comes again; zero for what it says.
	Sum     [32]byte
	By      principal.Credential
	ByName  string // of the key, or the origin of the page
	Address string
}

// sum is the same for the same reply.
func (r *Reply) sum() [32]byte {
	if r.Sum != ([32]byte{}) {
		return r.Sum
	}
	e := value.NewEncoder(nil)
	if r.Approved != nil {
		e.Value(value.Bool(*r.Approved))
		if r.Note != "" {
			e.Text(r.Note)
		}
	} else {
		e.Value(r.Fields)
	}
	return sha256.Sum256(e.Bytes())
}

// Reply answers the question at which a job is paused, and resumes it. Of
// several replies one wins; the others, and those to a job that has moved on,
// get job.ErrNotPaused. The same reply to the same question again is no error.
// engine.ErrWrongReply, form.FieldErrors, ErrAccountDisabled and a *value.Error of a file
// that cannot be stored leave the question open. It returns the id of the question that was
// answered.
func (w *Worker) Reply(ctx context.Context, id job.ID, r Reply) (prompt string, err error) {
	ctx, cancel := context.WithTimeout(ctx, replyTime)
	defer cancel()
	sum := r.sum()
	h, err := w.o.Queue.Head(ctx, id)
	if err != nil {
		return "", err
	}
	switch {
	case h.State != job.Paused || h.Question == "" || r.Prompt != "" && r.Prompt != h.Question:
		return r.Prompt, w.repeated(ctx, id, r.Prompt, sum)
	case (r.Approved != nil) != (h.Kind == engine.KindConfirm):
		return "", engine.ErrWrongReply
	}
	if err := w.mayReply(id); err != nil {
		return "", err
	}
	err = w.answer(ctx, h, r, sum)
	if errors.Is(err, job.ErrNotPaused) || errors.Is(err, job.ErrLeaseLost) {
		return r.Prompt, w.repeated(ctx, id, r.Prompt, sum)
	}
	return h.Question, err
}

// replyTime is how long it may take to check a reply, and to wait for the turns to.
const replyTime = 30 * time.Second

// maxReplies is how often the replies to one job are checked: nobody who answers it
// needs more, and each costs what it takes to restore the script.
var maxReplies = admit.Rate{Name: "replies", Count: 60, Per: time.Minute, Burst: 20}

// mayReply returns the error of a reply to a job that has had too many.
func (w *Worker) mayReply(id job.ID) error {
	if w.o.Limiter == nil {
		return nil
	}
	v := w.o.Limiter.Allow(admit.Key{Rate: maxReplies.Name, Origin: string(id[:])}, maxReplies)
	return v.Err()
}

// repeated is the error of a reply to a question that is not open, unless it
// repeats the reply that the question got.
func (w *Worker) repeated(ctx context.Context, id job.ID, prompt string, sum [32]byte) error {
	if prompt == "" {
		return job.ErrNotPaused
	}
	earlier, found, err := w.o.Queue.FindAnswer(ctx, id, prompt)
	if err != nil {
		return err
	}
	if found && earlier == sum {
		return nil
	}
	return job.ErrNotPaused
}

func (w *Worker) answer(ctx context.Context, h *job.Head, r Reply, sum [32]byte) (err error) {
	w.mu.Lock()
	if w.draining.Load() {
		w.mu.Unlock()
		return ErrStopping
	}
	w.attempts.Add(1)
	w.mu.Unlock()
	a := &attempt{w: w, claim: claim{lease: h.Lease, from: job.Running}, header: header{sizes: h.Sizes}}
	begun := false
	defer func() {
		if !begun {
			a.close()
			w.attempts.Done()
		}
	}()
	if a.account, err = w.o.Accounts.ByID(ctx, h.Account); err != nil {
		return err
	}
	if a.account.Disabled {
		return ErrAccountDisabled
	}
	a.limits = a.account.Limits(w.o.Limits)
	if err := a.answer(ctx, h.Question, r, sum); err != nil {
		return err
	}
	begun = true
	// A job that was answered is resumed at once, beside those in the queue.
	w.mu.Lock()
	w.scheduler.acquire(w.scheduler.queue(a.account.ID, a.limits.Concurrent))
	w.mu.Unlock()
	releaseSlot := w.releaser(a.account.ID)
	w.begin(releaseSlot, func() { w.run(a, releaseSlot) })
	return nil
}

// wasNotAnswered tells whether it is certain that an answer was not stored. Where it is
// not, the files that came with it stay: the job may go on to read them.
func (a *attempt) wasNotAnswered(ctx context.Context, question string, err error) bool {
	if errors.Is(err, job.ErrNotPaused) {
		return true
	}
	if fault.Is(err, fault.OutcomeUnknown) {
		return false
	}
	ctx, cancel := detached(ctx)
	defer cancel()
	_, answered, err := a.w.o.Queue.FindAnswer(ctx, a.lease.ID, question)
	return err == nil && !answered
}

// answer restores the script, in memory that is reserved and in the account's turns,
// gives it the reply, and stores that.
func (a *attempt) answer(ctx context.Context, question string, r Reply, sum [32]byte) error {
	w := a.w
	a.memory = w.holder(a.lease)
	if err := a.memory.Grow(ctx, counted(toLoad(a.sizes))); err != nil {
		return err
	}
	ticket := w.o.Gate.Auxiliary(int64(a.lease.Account))
	defer ticket.Release()
	s, err := w.o.Queue.Load(ctx, a.lease.Seq)
	if err != nil {
		return err
	}
	if s.State != job.Paused || s.Prompt == nil || s.Prompt.ID != question {
		return job.ErrNotPaused
	}
	if err := a.decode(ctx, s, ticket, true); err != nil {
		return err
	}
	if a.x, err = w.o.Host.Open(ctx, a.lease.ID, a.account, a.limits, a.spec, ticket); err != nil {
		return err
	}
	run := a.newRun(nil)
	now := w.o.Clock()
	run.SetAnswerer(engine.Answered{By: job.AnsweredBy(r.By, r.ByName), Note: r.Note, At: now, Receipt: job.ReceiptNumber(question)})
	result, err := r.apply(engine.WithPace(ctx, ticket), run)
	if err != nil {
		return err
	}
	sealed, err := a.SealPart(journal.AppendResult(nil, result))
	if err != nil {
		return err
	}
	ticket.Yield()
	lease, err := w.o.Queue.Answer(ctx, a.lease.ID, job.Answer{
		Prompt: question, Reply: sum, By: r.By, ByName: r.ByName, Address: r.Address, At: now, Decision: result.Answered.Decision, Note: r.Note,
		Step: result.Seq, Entries: sealed,
	}, w.session.Member(), w.o.Clock())
	if err != nil {
		if a.wasNotAnswered(ctx, question, err) {
			err = errors.Join(err, run.DiscardUploads(context.WithoutCancel(ctx)))
		}
		w.checkMembership(err)
		return err
	}
	a.lease = lease
	if a.memory.Bytes() > 0 {
		// It is large: it is loaded again once it has its ticket, and does not hold all
		// this until then.
		a.close()
		*a = attempt{w: w, claim: claim{lease: a.lease, from: job.Running}, header: header{account: a.account, limits: a.limits, leftovers: true}}
		return nil
	}
	a.job.State, a.engineState, a.leftovers, a.parts = job.Running, run.State(), true, nil
	return nil
}

// apply gives the reply to the script.
func (r *Reply) apply(ctx context.Context, run *engine.Run) (engine.Result, error) {
	if r.Approved != nil {
		return run.Approve(*r.Approved)
	}
	run.Attach(r.Files)
	return run.Answer(ctx, r.Fields)
}
