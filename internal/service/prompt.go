package service

import (
	"context"
	"errors"
	"time"

	"ql/internal/account"
	"ql/internal/fault"
	"ql/internal/job"
	"ql/internal/principal"
)

// Question is what a person is asked on a page of its own.
type Question struct {
	Account string // who asks
	Prompt  job.Prompt
	Largest int // bytes of a reply
}

// noQuestion is the answer to a link that opens nothing: a wrong one looks like
// one that was used.
func noQuestion() error {
	return fault.New(fault.NotFound, "nothing is asked here now: the question has been answered, its time is over, it has not been asked yet, or the link is not complete")
}

// asked finds the job whose question a token opens. Whoever has the token may
// answer, wherever they come from.
func (s *Service) asked(ctx context.Context, c Caller, token string) (opened, error) {
	id, err := s.o.Jobs.ByToken(ctx, token)
	if err == nil {
		var v *job.View
		if v, err = s.o.Jobs.Look(ctx, id, 0); err == nil && v.Prompt != nil && v.Prompt.Sealed == nil {
			v, err = s.view(ctx, c.Memory, id) // its words are many
		}
		if err == nil {
			owner, err := s.o.Accounts.ByID(ctx, v.Account)
			if err == nil && v.Prompt != nil && !owner.Disabled {
				if err := c.Memory.Assign(int64(owner.ID)); err != nil {
					return opened{}, err
				}
				return opened{View: v, owner: owner, by: principal.ByNobody}, nil
			}
			if err != nil && !errors.Is(err, account.ErrNotFound) {
				return opened{}, err
			}
			return opened{}, noQuestion()
		}
	}
	if errors.Is(err, job.ErrNotFound) {
		err = noQuestion()
	}
	return opened{}, err
}

// Question returns what a token's page asks.
func (s *Service) Question(ctx context.Context, c Caller, token string) (Question, error) {
	o, err := s.asked(ctx, c, token)
	if err != nil {
		return Question{}, err
	}
	return Question{Account: o.owner.Username, Prompt: *o.Prompt, Largest: s.o.Limits(o.owner.LimitPlan()).BodyBytes}, nil
}

// answerWait is how long somebody who answered on a page waits for the next
// question.
const answerWait = 5 * time.Second

// Answer answers what a token's page asks. It returns the address of the next
// question of the job, "" where there is none for now.
func (s *Service) Answer(ctx context.Context, c Caller, token string, r Reply) (next string, err error) {
	o, err := s.asked(ctx, c, token)
	if err != nil {
		return "", err
	}
	r.Prompt = o.Prompt.ID
	a, err := s.confirm(ctx, c, o, r, answerWait, Answer{})
	if fault.Is(err, fault.NotPaused) {
		err = noQuestion()
	}
	return a.Job.FormURL, err
}
