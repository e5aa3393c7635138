package operator

import (
	"context"

	"ql/internal/fault"
	"ql/internal/job"
	"ql/internal/replay"
)

// ReplayJob runs a finished job again from its history, and tells whether it does what it did. It
// reads only.
func (o *Operator) ReplayJob(ctx context.Context, id job.ID) (replay.Report, error) {
	v, err := o.Views.View(ctx, id)
	if err != nil {
		return replay.Report{}, err
	}
	if !v.State.Finished() {
		return replay.Report{}, fault.New(fault.PreconditionFailed, "the job is %s: it can be replayed when it has ended", v.State)
	}
	call, _, err := o.Jobs.Called(ctx, v.Account, v.Seq)
	if err != nil {
		return replay.Report{}, err
	}
	j := replay.Job{ID: id, Account: v.Account, Source: call.Source}
	if j.Spec, j.Parts, err = o.Jobs.History(ctx, v.Account, v.Seq); err != nil {
		return replay.Report{}, err
	}
	return j.Check(ctx, o.Accounts.Sealer())
}
