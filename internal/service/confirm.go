package service

import (
	"context"
	"errors"
	"time"

	"ql/internal/account/scope"
	"ql/internal/engine"
	"ql/internal/fault"
	"ql/internal/job"
	"ql/internal/principal"
	"ql/internal/wire"
	"ql/internal/worker"
	"ql/lang/form"
	"ql/lang/value"
)

// Reply is an answer to the prompt at which a job is paused.
type Reply struct {
	Approved *bool
	Fields   string // a JSON object; "" where Approved is there
	Nodes    int    // values in Fields, at most
	Prompt   string // the id of the prompt that is meant, "" for the one that is open
	Note     string // beside Approved
	// Files are those that came beside Fields, by field.
	Files map[string]form.Attached
	// Sum is what the same reply is known by when it comes again; zero for what it says.
	Sum    [32]byte
	Within func(wire.Limits) error
}

// valueBytes is what a value of JSON takes at most besides its text, while it is read.
const valueBytes = 160

// weight is how many bytes the fields take once decoded; 0 for what need not be
// reserved.
func (r *Reply) weight() int64 {
	if len(r.Fields) < UnreservedBytes {
		return 0
	}
	return int64(len(r.Fields)) + valueBytes*int64(r.Nodes)
}

// Confirm answers the prompt at which a job is paused, and waits for what comes
// of it so long.
func (s *Service) Confirm(ctx context.Context, c Caller, text string, p *Credentials, r Reply, wait time.Duration) (Answer, error) {
	o, a, err := s.findJob(ctx, c, text, p, scope.Answer)
	if err != nil {
		return a, err
	}
	return s.confirm(ctx, c, &o, r, wait, a)
}

// confirm is Confirm of a job that was found.
func (s *Service) confirm(ctx context.Context, c Caller, o *foundJob, r Reply, wait time.Duration, a Answer) (Answer, error) {
	answered, v, err := s.reply(ctx, c, o, r)
	if err != nil {
		return a, err
	}
	// Its answer was accepted: where too many wait, it is merely not waited for.
	leave, full := s.enterListeners(ctx, c, o.owner)
	if full == nil {
		err = s.awaitJob(ctx, v, wait, func(v *job.View) bool { return v.State != job.Running && v.State != job.Accepted })
		leave()
	}
	if err != nil {
		return a, err
	}
	if v, a, err = s.poll(ctx, c, o, a); err == nil && v.State == job.Running {
		a.Status = 202
	}
	receipt := answerReceipt(&answered)
	a.Job.Answer = &receipt
	return a, err
}

// reply gives a reply to the prompt of a job that was found. It returns the question that was answered
// by it, and the job without what it holds.
func (s *Service) reply(ctx context.Context, c Caller, o *foundJob, r Reply) (answered job.Question, v *job.View, err error) {
	if err := r.Within(wireLimits(o.owner.Limits(s.o.Limits))); err != nil {
		return answered, nil, err
	}
	reply := worker.Reply{Prompt: r.Prompt, Approved: r.Approved, Note: r.Note, Files: r.Files, Sum: r.Sum, By: o.by, ByName: o.byName, Address: c.Addr.String()}
	if r.Approved == nil {
		if err := c.Memory.Grow(ctx, r.weight()); err != nil {
			return answered, nil, err
		}
		fields, bad := value.ParseJSON(nil, r.Fields)
		if bad != nil {
			return answered, nil, fault.Invalid("fields", "%s", bad.Message)
		}
		reply.Fields = fields
	}
	ctx, logged := s.answering(ctx, c, &principal.Principal{Account: o.owner, By: o.by, Key: o.key})
	// Whoever answered and hung up has answered.
	prompt, err := s.o.Jobs.Reply(context.WithoutCancel(ctx), o.ID, reply)
	var unfit *value.Error // of a file that the account has no room for
	switch {
	case errors.Is(err, job.ErrNotPaused), errors.Is(err, job.ErrNotFound): // of a call that is not stored yet, nothing is open
		return answered, nil, s.notPaused(ctx, o, r.Prompt)
	case errors.Is(err, worker.ErrAccountDisabled):
		return answered, nil, fault.New(fault.NotPaused, "the job rests and takes no answer for now: try again later, or ask whoever it belongs to")
	case errors.Is(err, worker.ErrStopping):
		return answered, nil, errStopping()
	case errors.Is(err, engine.ErrWrongReply) && r.Approved != nil:
		return answered, nil, fault.New(fault.WrongReply, `the job asks for a form: "fields" with an object fits, not "approved"`)
	case errors.Is(err, engine.ErrWrongReply):
		return answered, nil, fault.New(fault.WrongReply, `the job asks for a decision: "approved" with true or false fits, not "fields"`)
	case errors.As(err, &unfit):
		return answered, nil, fileFault(unfit)
	case err != nil:
		return answered, nil, err
	}
	logged()
	if answered, err = s.o.Jobs.Question(ctx, o.ID, prompt); err != nil {
		return answered, nil, s.gone(err)
	}
	v, err = s.jobHead(ctx, o.ID)
	return answered, v, err
}

// notPaused is the error of an answer to a question that is not open. It says what became of that.
func (s *Service) notPaused(ctx context.Context, o *foundJob, prompt string) error {
	meant := prompt
	if meant == "" && o.Prompt != nil {
		meant = o.Prompt.ID // at which it was paused when it was found
	}
	q, err := s.o.Jobs.Question(ctx, o.ID, meant)
	if err != nil && !errors.Is(err, job.ErrNotFound) {
		return err
	}
	state := o.State
	if err == nil {
		state = q.Job.State
	}
	text := "the job asks nothing at the moment: poll it for its state"
	switch {
	case err == nil && q.State.IsEnd() && meant != "":
		text = s.became(&q, o.isTrusted()) + ": poll the job for its state"
	case state.Finished():
		text = "the job is finished: its state is " + string(state)
		if err == nil {
			text += ", and " + s.became(&q, o.isTrusted())
		}
	case state == job.Paused && prompt != "":
		text = "the job has moved on and asks something else: poll it for its prompt"
	case err == nil && q.State.IsEnd():
		text = "the job asks nothing at the moment: " + s.became(&q, o.isTrusted()) + ". Poll it for its state"
	}
	return fault.New(fault.NotPaused, "%s", text)
}

// isTrusted tells whether who found a job acts for its owner, and may know by whom it was answered.
func (o *foundJob) isTrusted() bool { return o.by != principal.ByNobody && o.by != principal.ByOrigin }

// became says what became of a question that is over: when, and by whom it was answered, in no more
// words than whoever does not act for the owner may know.
func (*Service) became(q *job.Question, trusted bool) string {
	at := q.Ended.UTC().Format(time.RFC3339)
	switch q.State {
	case job.QuestionAnswered:
		return "the question was answered at " + at + " by " + answerer(q, trusted)
	case job.QuestionExpired:
		return "the question expired at " + at + ", since nobody had answered it in time"
	}
	return "the question was withdrawn at " + at + ", when its job ended"
}

// answerer says by whom a question was answered.
func answerer(q *job.Question, trusted bool) string {
	switch q.By {
	case principal.ByKey, principal.ByPassword, principal.ByToken:
		return "the owner of the account"
	case principal.ByNamedKey:
		if trusted && q.ByName != "" {
			return "the key " + q.ByName
		}
		return "a key of the account"
	case principal.ByOrigin:
		if trusted && q.ByName != "" {
			return "the page " + q.ByName
		}
		return "a page"
	}
	return "somebody who had its link or its job's id"
}
