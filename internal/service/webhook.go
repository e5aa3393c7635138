package service

import (
	"context"

	"ql/internal/admit"
	"ql/internal/execution"
	"ql/internal/job"
)

// WebhookBody is what is sent at the end of a job: what a poll shows, without the trace
// unless the caller asked for it, and without its output where that is too long.
func (s *Service) WebhookBody(ctx context.Context, id job.ID, most int) ([]byte, error) {
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
	if !v.WebhookTrace {
		j.Output.Untraced = true
	}
	if !v.Omitted {
		if pieces := j.Pieces(); pieces.Len() <= int64(most) {
			return j.AppendJSON(make([]byte, 0, pieces.Len())), nil
		}
	}
	j.Output, j.Truncated = nil, true
	return j.AppendJSON(nil), nil
}

// sentBytes is how many of a job's bytes are sent at its end.
func sentBytes(v *job.View) int64 {
	if v.WebhookTrace {
		return v.Bytes
	}
	return v.Bytes - v.TraceBytes
}
