package service

import (
	"context"
	"crypto/subtle"
	"errors"
	"time"

	"ql/internal/account"
	"ql/internal/engine"
	"ql/internal/job"
	"ql/internal/wire"
)

// Following is where somebody stands who has answered a question on its page: a browser follows the
// job to the next question that is for the same.
type Following struct {
	Account string // whose job it is
	Look    PageLook
	Answer  wire.AnswerReceipt
	// Next is the address of the next question; "" where there is none, or none yet.
	Next string
	// Working says that the job is at work, or goes on in a moment: it may ask more.
	Working bool
	// Resumes is when a job goes on that waits for longer; zero for others.
	Resumes time.Time
}

const (
	// answerWait is how long somebody who answered on a page waits for the next question before the
	// page says that the job is at work.
	answerWait = time.Second
	// soon is how long a job may wait whose page says that it is at work, and does not name the moment.
	soon = 2 * time.Minute
)

// FollowPrompt tells where whoever answered the question of a token goes on. The receipt's number
// shows that it was them: the page hands it to nobody else. It waits so long while the job is at work.
// It reports false where the number is not that of the answer, or there is none.
func (s *Service) FollowPrompt(ctx context.Context, c Caller, token, receipt string, wait time.Duration) (f Following, ok bool, err error) {
	q, owner, err := s.findQuestion(ctx, c, token)
	if err != nil {
		return f, false, err
	}
	if polls := s.countPoll(c, owner); !polls.OK {
		return f, false, polls.Err()
	}
	if q.State != job.QuestionAnswered || subtle.ConstantTimeCompare([]byte(receipt), []byte(job.ReceiptNumber(q.Prompt))) != 1 {
		return f, false, nil
	}
	f, err = s.follow(ctx, c, &owner, &q, wait, true)
	return f, err == nil, err
}

// RepeatsAnswer tells where whoever answered a question goes on, as FollowPrompt does, to who sends the
// same answer again: by a double click, or since the first one's page was lost.
func (s *Service) RepeatsAnswer(ctx context.Context, c Caller, token string, sum [32]byte) (f Following, ok bool, err error) {
	q, owner, err := s.findQuestion(ctx, c, token)
	if err != nil || q.State != job.QuestionAnswered || q.Reply != sum {
		return f, false, err
	}
	f, err = s.follow(ctx, c, &owner, &q, 0, false)
	return f, err == nil, err
}

// follow finds where whoever answered a question goes on, after a wait for a job that is at work. Where
// too many wait it does not, unless it insists, and then that is its error.
func (s *Service) follow(ctx context.Context, c Caller, owner *account.Account, q *job.Question, wait time.Duration, insists bool) (Following, error) {
	f := Following{Account: owner.Username, Look: pageLook(owner), Answer: answerReceipt(q)}
	if !leads(q) {
		return f, nil
	}
	v, err := s.jobHead(ctx, q.Job.ID)
	if err != nil {
		return f, s.gone(err)
	}
	if wait > 0 && s.isAtWork(v) {
		leave, err := s.enterListeners(ctx, c, *owner)
		switch {
		case err == nil:
			err = s.awaitJob(ctx, v, wait, func(v *job.View) bool { return !s.isAtWork(v) })
			leave()
			if err == nil {
				v, err = s.jobHead(ctx, q.Job.ID)
			}
			if err != nil {
				return f, s.gone(err)
			}
		case insists:
			return f, err
		}
	}
	// After the job: what it asks when it pauses is stored with that.
	next, err := s.o.Jobs.NextQuestion(ctx, q)
	switch {
	case errors.Is(err, job.ErrNotFound):
		f.Working = s.isAtWork(v)
		if v.State == job.Waiting && !f.Working {
			f.Resumes = v.Until
		}
		return f, nil
	case err != nil:
		return f, err
	case next.State != job.QuestionOpen || next.Sent || next.Sealed == nil:
		return f, nil
	}
	token, err := s.o.Jobs.QuestionToken(&next)
	f.Next = s.o.URLs.Form() + token
	return f, err
}

// isAtWork tells whether a job may ask something in a moment.
func (s *Service) isAtWork(v *job.View) bool {
	switch v.State {
	case job.Accepted, job.Running:
		return true
	case job.Waiting:
		return v.Until.Sub(s.o.Clock()) <= soon
	}
	return false
}

// leads tells whether who has answered a question on its page may go on to another: to one for the
// same audience, whose address the script has not taken to send it to somebody. A GATHER that does not
// say whom it is for is for the person at the page, a CONFIRM for nobody there: it may be a decision
// about that person.
func leads(answered *job.Question) bool {
	return answered.Audience != "" || answered.Kind == engine.KindGather
}

// answerReceipt is what whoever answered a question is given.
func answerReceipt(q *job.Question) wire.AnswerReceipt {
	return wire.AnswerReceipt{PromptID: q.Prompt, Decision: q.Decision, At: q.Ended, Receipt: job.ReceiptNumber(q.Prompt)}
}
