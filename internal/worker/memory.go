package worker

import (
	"context"
	"errors"

	"ql/internal/admit"
	"ql/internal/execution"
	"ql/internal/job"
	"ql/lang/bytecode"
)

// What an attempt holds beside its script's own memory, which its ticket grants, is
// reserved in the node's ledger: the request, the program, a journal, what is on its
// way from and to the store. Less than uncounted is not: jobs under way are bounded.
const uncounted = 16 << 10

// toLoad is how much it takes at most to load a job: what is stored, that opened, and
// what is made of it.
func toLoad(s job.Sizes) int64 {
	return 4*s.Task + 6*s.Program + 2*s.Snapshot + toRecover(s) + 2*s.Output
}

// toRecover is how much a journal takes until it has been replayed.
func toRecover(s job.Sizes) int64 { return 4 * s.Journal }

// toRun is how much the request and the program take while a script runs.
func toRun(s *execution.Spec, p *bytecode.Program) int64 {
	return s.Request.Bytes() + int64(len(s.Input)) + int64(p.Bytes)
}

// counted is what of so many bytes is reserved.
func counted(bytes int64) int64 {
	if bytes <= uncounted {
		return 0
	}
	return bytes
}

func (w *Worker) holder(l job.Lease) admit.Reservation {
	return w.o.Ledger.Open(admit.AccountHolder(int64(l.Account)))
}

// tooLargeForNode returns the error of a reservation that no amount of waiting
// could grant, or nil.
func tooLargeForNode(err error) *admit.Refused {
	var refused *admit.Refused
	if errors.As(err, &refused) && refused.Reason == admit.TooLarge {
		return refused
	}
	return nil
}

// shrinkMemory gives back what was reserved beyond so many bytes.
func (a *attempt) shrinkMemory(bytes int64) {
	a.memory.Shrink(a.memory.Bytes() - counted(bytes))
}

// reserveToLoad waits until there is memory to load the job.
func (a *attempt) reserveToLoad(ctx context.Context) error {
	a.memory = a.w.holder(a.lease)
	return a.memory.GrowBlocking(ctx, counted(toLoad(a.sizes)))
}
