package service

import (
	"context"

	"ql/internal/admit"
	"ql/internal/execution"
	"ql/internal/job"
	"ql/internal/wire"
)

// WebhookBody is what is sent at the end of a job, or, where a prompt is named, at the pause at
// that: what a poll shows, without the trace unless the caller asked for it, and without its output
// where that is too long. Of a pause the addresses at which to answer are left out: whoever is told
// of a question need not be who answers it. A pause that is over is ErrQuestionOver.
func (s *Service) WebhookBody(ctx context.Context, id job.ID, prompt string, most int) ([]byte, error) {
	v, err := s.o.Jobs.ViewWithin(ctx, id, 0)
	if err == nil && v.Omitted && sentBytes(v) <= int64(most) {
		// Few are sent at once, and none is in a hurry. In the body a result may be twice.
		memory := s.o.Ledger.Open(admit.AccountHolder(int64(v.Account)))
		if err := memory.GrowBlocking(ctx, 4*v.Bytes); err != nil {
			return nil, err
		}
		defer memory.Release()
		v, err = s.o.Jobs.ViewWithin(ctx, id, v.Bytes)
	}
	if err != nil {
		return nil, err
	}
	if v.Bytes > UnreservedBytes {
		ticket := s.o.Gate.Auxiliary(int64(v.Account))
		defer ticket.Release()
		if err := ticket.Turn(ctx); err != nil {
			return nil, err
		}
	}
	j := execution.WireJob(&v.Record)
	if prompt != "" {
		if v.State != job.Paused || v.Prompt == nil || v.Prompt.ID != prompt {
			return nil, ErrQuestionOver
		}
		j.Prompt = wirePrompt(v.Prompt)
	}
	if j.LastAnswer, err = s.lastAnswer(ctx, v); err != nil {
		return nil, err
	}
	if !v.WebhookTrace {
		j.Output.Untraced = true
	}
	if !v.Omitted {
		if pieces := j.Pieces(); pieces.Len() <= int64(most) {
			return j.AppendJSON(make([]byte, 0, pieces.Len())), nil
		}
	}
	j.Output, j.Truncated = nil, true
	if j.Prompt != nil && v.Prompt.Sealed == nil { // its words are too many, too
		q, err := s.o.Jobs.Question(ctx, id, prompt)
		if err != nil {
			return nil, err
		}
		j.Prompt = &wire.Prompt{ID: q.Prompt, Kind: q.Kind, To: q.Audience, Message: q.Title, ExpiresAt: q.Expires}
	}
	return j.AppendJSON(nil), nil
}

// lastAnswer is the answer that a job got last, nil for none. Whoever is told of a job need not act for
// its owner: it does not learn which key or page answered.
func (s *Service) lastAnswer(ctx context.Context, v *job.View) (*wire.JobAnswered, error) {
	list, err := s.o.Jobs.Questions(ctx, v.Account, job.QuestionQuery{Job: v.Seq, State: job.QuestionAnswered, Limit: 1})
	if err != nil || len(list) == 0 {
		return nil, err
	}
	a := jobAnswered(&list[0])
	a.By = job.AnsweredBy(list[0].By, "")
	return &a, nil
}

// sentBytes is how many of a job's bytes are sent at its end.
func sentBytes(v *job.View) int64 {
	if v.WebhookTrace {
		return v.Bytes
	}
	return v.Bytes - v.TraceBytes
}
