package operator

import (
	"context"
	"slices"

	"ql/internal/fault"
	"ql/internal/job"
	"ql/internal/member"
	"ql/internal/resource/databases/ship"
	"ql/internal/store/backend"
)

// Node is a node of the service, as the others see it.
type Node struct {
	ID      int64
	Version string
	Lives   bool  // it was seen to renew
	Behind  int64 // how many of the changes that all must see it has not seen yet
	Jobs    int   // that are under way or queued there, up to MostJobs
	Homes   ship.Held
	Address string // where other nodes reach it, "" for nowhere
	Duties  []string
}

// MostJobs is how many jobs of a node are counted.
const MostJobs = 10_000

// Nodes returns the nodes of the service. It waits for one that does not renew for as long as one that lives may
// take for that.
func (o *Operator) Nodes(ctx context.Context) (list []Node, err error) {
	lease, several := backend.Lease(o.settings.Database)
	if !several {
		return nil, fault.New(fault.InvalidRequest, "a service without --database has one node: /readyz tells of it")
	}
	seen, err := member.Look(ctx, o.store.Members, lease)
	if err != nil {
		return nil, err
	}
	last, err := o.store.Members.LastChange(ctx)
	if err != nil {
		return nil, err
	}
	duties, err := o.store.Duties.ListDuties(ctx)
	if err != nil {
		return nil, err
	}
	homes, err := o.store.Shipped.Homes(ctx)
	if err != nil {
		return nil, err
	}
	for _, one := range seen {
		n := Node{ID: one.ID, Version: one.Version, Lives: one.Lives, Behind: max(0, last-one.Seen), Homes: homes[one.Incarnation], Address: one.Address}
		if n.Jobs, err = o.countHeld(ctx, one.Incarnation); err != nil {
			return nil, err
		}
		for duty, incarnation := range duties {
			if incarnation == one.Incarnation {
				n.Duties = append(n.Duties, duty)
			}
		}
		slices.Sort(n.Duties)
		list = append(list, n)
	}
	return list, nil
}

// countHeld counts the jobs that belong to an incarnation.
func (o *Operator) countHeld(ctx context.Context, incarnation int64) (n int, err error) {
	for _, state := range []job.State{job.Accepted, job.Running} {
		list, err := o.store.Queue.ListHeld(ctx, incarnation, state, job.Due{}, MostJobs-n)
		if err != nil {
			return 0, err
		}
		n += len(list)
	}
	return n, nil
}
