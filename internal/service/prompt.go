package service

import (
	"context"
	"errors"
	"time"

	"ql/internal/account"
	"ql/internal/engine"
	"ql/internal/fault"
	"ql/internal/job"
	"ql/internal/principal"
)

// PromptPage is a prompt as a person sees it, on a page of its own.
type PromptPage struct {
	Account  string // whose job it is
	Prompt   job.Prompt
	MaxBytes int // bytes of a reply
}

// errNoPrompt is the answer to a link that opens nothing: a wrong one looks like
// one that was used.
func errNoPrompt() error {
	return fault.New(fault.NotFound, "nothing is asked here now: the question has been answered, its time is over, it has not been asked yet, or the link is not complete")
}

// findPrompt finds the job whose prompt a token opens. Whoever has the token may
// answer, wherever they come from.
func (s *Service) findPrompt(ctx context.Context, c Caller, token string) (foundJob, error) {
	id, err := s.o.Jobs.ByPromptToken(ctx, token)
	if err == nil {
		var v *job.View
		if v, err = s.o.Jobs.ViewWithin(ctx, id, 0); err == nil && v.Prompt != nil && v.Prompt.Sealed == nil {
			v, err = s.jobView(ctx, c.Memory, id) // its words are many
		}
		if err == nil {
			owner, err := s.o.Accounts.ByID(ctx, v.Account)
			if err == nil && v.Prompt != nil && !owner.Disabled {
				if err := c.Memory.Assign(int64(owner.ID)); err != nil {
					return foundJob{}, err
				}
				return foundJob{View: v, owner: owner, by: principal.ByNobody}, nil
			}
			if err != nil && !errors.Is(err, account.ErrNotFound) {
				return foundJob{}, err
			}
			return foundJob{}, errNoPrompt()
		}
	}
	if errors.Is(err, job.ErrNotFound) {
		err = errNoPrompt()
	}
	return foundJob{}, err
}

// Prompt returns the prompt of a token's page.
func (s *Service) Prompt(ctx context.Context, c Caller, token string) (PromptPage, error) {
	o, err := s.findPrompt(ctx, c, token)
	if err != nil {
		return PromptPage{}, err
	}
	return PromptPage{Account: o.owner.Username, Prompt: *o.Prompt, MaxBytes: o.owner.Limits(s.o.Limits).BodyBytes}, nil
}

// answerWait is how long somebody who answered on a page waits for the next
// prompt.
const answerWait = 5 * time.Second

// AnswerPrompt answers the prompt of a token's page. It returns the address of the next
// prompt of the job, "" where there is none for now, or none for whoever answered.
func (s *Service) AnswerPrompt(ctx context.Context, c Caller, token string, r Reply) (next string, err error) {
	o, err := s.findPrompt(ctx, c, token)
	if err != nil {
		return "", err
	}
	r.Prompt = o.Prompt.ID
	v, a, err := s.confirm(ctx, c, o, r, answerWait, Answer{})
	switch {
	case fault.Is(err, fault.NotPaused):
		return "", errNoPrompt()
	case err != nil || v.Prompt == nil || !follows(o.Prompt, v.Prompt):
		return "", err
	}
	return a.Job.FormURL, nil
}

// follows tells whether who has answered a prompt on its page goes on to another: where both
// are for the same, and the script has not taken the address of the other, to send it to
// somebody. A GATHER that does not say whom it is for is for the person at the page, a CONFIRM
// for nobody there: it may be a decision about that person.
func follows(answered, next *job.Prompt) bool {
	switch {
	case next.Sent:
		return false
	case next.To != "" || answered.To != "":
		return next.To == answered.To
	}
	return answered.Kind == engine.KindGather && next.Kind == engine.KindGather
}
