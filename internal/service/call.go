package service

import (
	"cmp"
	"context"

	"ql/internal/execution"
	"ql/internal/job"
)

// reserveCall reserves what it takes to keep what a job is called with: it is held twice until it
// is stored, and once as it was sent.
func (s *Service) reserveCall(ctx context.Context, c Caller, q *Query) error {
	if bytes := 3 * execution.CalledBytes(&q.Request, q.Input); bytes > UnreservedBytes {
		return c.Memory.Grow(ctx, bytes)
	}
	return nil
}

// call is what the history of a job shows of its call. A request that cannot be kept is no reason
// for a job to fail.
func (s *Service) call(x *execution.Execution, q *Query) job.Call {
	c := job.Call{Name: cmp.Or(q.calledName(), job.NameOf(q.Script)), Source: x.Source(), Origin: q.origin}
	plain, err := execution.EncodeCalled(&q.Request, q.Input)
	if err == nil && plain != nil {
		c.Request, err = s.o.Jobs.SealRequest(x.Account.ID, x.ID, plain)
	}
	if err != nil {
		s.o.Log.Error("the request of a job is not kept with it", "job", x.ID, "error", err)
	}
	return c
}
