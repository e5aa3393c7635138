package service

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"ql/internal/account"
	"ql/internal/fault"
	"ql/internal/job"
	"ql/internal/principal"
	"ql/lang/bytecode"
)

// PromptPage is a prompt as a person sees it, on a page of its own: asked, not asked yet, or over.
type PromptPage struct {
	Account string // whose job it is
	Look    PageLook
	State   job.QuestionState
	// Of an open one:
	Prompt    job.Prompt
	MaxBytes  int   // bytes of a reply, without the files that come with it
	FileBytes int64 // bytes of a file, 0 for any number
	// Follows is what the job may do after it is answered; nil where that is not said.
	Follows *Prospect
	owner   account.Account
	// Of one that is over:
	Ended time.Time
	By    principal.Credential // who answered; "" where nobody did
}

// Prospect is what a job may do to the world from where it stands on.
type Prospect = bytecode.Prospect

// PageHost is the host of the pages for people, as they read it in an address.
func (s *Service) PageHost() string {
	_, host, _ := strings.Cut(s.o.URLs.Base, "://")
	host, _, _ = strings.Cut(host, "/")
	return host
}

// errNoPrompt is the answer to a link that opens nothing, and never did.
func errNoPrompt() error {
	return fault.New(fault.NotFound, "there is no such question: the link is not complete, or what it belonged to is no longer kept")
}

// findQuestion finds the question that a token opens, whatever became of it, and whose it is.
func (s *Service) findQuestion(ctx context.Context, c Caller, token string) (job.Question, account.Account, error) {
	q, err := s.o.Jobs.QuestionByToken(ctx, token)
	if errors.Is(err, job.ErrNotFound) {
		err = errNoPrompt()
	}
	if err != nil {
		return q, account.Account{}, err
	}
	owner, err := s.o.Accounts.ByID(ctx, q.Job.Account)
	if errors.Is(err, account.ErrNotFound) || err == nil && owner.Disabled {
		err = errNoPrompt()
	}
	if err == nil {
		err = c.Memory.Assign(int64(owner.ID))
	}
	return q, owner, err
}

// errNotOpen says that a question is not open.
var errNotOpen = errors.New("the question is not open")

// findPrompt finds the job whose prompt a token opens. Whoever has the token may
// answer, wherever they come from. The error of one that is not open is errNotOpen.
func (s *Service) findPrompt(ctx context.Context, c Caller, token string) (foundJob, job.Question, error) {
	q, owner, err := s.findQuestion(ctx, c, token)
	if err != nil || q.State != job.QuestionOpen {
		return foundJob{owner: owner}, q, cmp.Or(err, errNotOpen)
	}
	v, err := s.o.Jobs.ViewWithin(ctx, q.Job.ID, 0)
	if err == nil && v.Prompt != nil && v.Prompt.Sealed == nil {
		v, err = s.jobView(ctx, c.Memory, q.Job.ID) // its words are many
	}
	switch {
	case errors.Is(err, job.ErrNotFound):
		err = errNoPrompt()
	case err == nil && (v.Prompt == nil || v.Prompt.ID != q.Prompt): // answered this moment
		if q, err = s.o.Jobs.QuestionByToken(ctx, token); err == nil {
			err = errNotOpen
		}
	}
	return foundJob{View: v, owner: owner, by: principal.ByNobody, answers: true}, q, err
}

// Prompt returns the prompt of a token's page.
func (s *Service) Prompt(ctx context.Context, c Caller, token string) (PromptPage, error) {
	o, q, err := s.findPrompt(ctx, c, token)
	p := PromptPage{Account: o.owner.Username, Look: pageLook(&o.owner), State: q.State, Ended: q.Ended, By: q.By}
	switch {
	case errors.Is(err, errNotOpen):
		return p, nil
	case err != nil:
		return PromptPage{}, err
	}
	limits := o.owner.Limits(s.o.Limits)
	p.Prompt, p.MaxBytes, p.FileBytes, p.owner = *o.Prompt, limits.BodyBytes, limits.FileBytes, o.owner
	if o.owner.ShowEffects && o.Prompt.Follows != nil {
		p.Follows = new(Prospect)
		err = json.Unmarshal(o.Prompt.Follows, p.Follows)
	}
	return p, err
}

// ErrQuestionOver is the error of an answer to a question that is not open any more.
var ErrQuestionOver = errors.New("the question is over")

// AnswerPrompt answers the prompt of a token's page, and tells where whoever answered goes on. The
// same answer again, known by Reply.Sum, is no error. ErrQuestionOver says that the question is not
// open: Prompt tells why.
func (s *Service) AnswerPrompt(ctx context.Context, c Caller, token string, r Reply) (Following, error) {
	o, q, err := s.findPrompt(ctx, c, token)
	if errors.Is(err, errNotOpen) {
		err = ErrQuestionOver
	}
	if err != nil {
		return Following{}, err
	}
	r.Prompt = q.Prompt
	answered, _, err := s.reply(ctx, c, &o, r)
	switch {
	case fault.Is(err, fault.NotPaused):
		return Following{}, ErrQuestionOver
	case err != nil:
		return Following{}, err
	}
	return s.follow(ctx, c, &o.owner, &answered, answerWait, false)
}
