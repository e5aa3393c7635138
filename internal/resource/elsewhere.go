package resource

import (
	"context"
	"errors"
	"time"

	"ql/internal/account"
	"ql/internal/fault"
	"ql/internal/member"
	"ql/internal/resource/databases/ship"
)

// errElsewhere is the error of who reaches for databases of an account that another node has, which cannot be asked.
var errElsewhere = fault.New(fault.NotAvailable, "another node has the databases of this account at the moment: call that one, or start a job, which runs there")

// Elsewhere returns what says that another node has the databases of an account: an error then. Otherwise this one
// has them for as long as they are used, and a while longer. It is nil where there is one node.
func (p *Pool) Elsewhere() func(context.Context, account.ID) error {
	if p.shipper == nil {
		return nil
	}
	return p.ClaimDatabases
}

// ClaimDatabases has this node have the databases of an account; an error says that another one has them.
func (p *Pool) ClaimDatabases(ctx context.Context, id account.ID) error {
	if p.shipper == nil {
		return nil
	}
	h := p.acquire(id)
	defer p.release(h)
	var elsewhere *ship.ElsewhereError
	if errors.As(h.origin.Claim(ctx), &elsewhere) {
		return errElsewhere.WithCause(elsewhere)
	}
	return nil // any other error meets who uses them
}

// ShipAs says which member ships databases, before any are used.
func (p *Pool) ShipAs(m func() (member.Member, error)) {
	if p.shipper != nil {
		p.shipper.SetMember(m)
	}
}

const (
	// homeIdle is how long a node keeps the databases of an account that nobody uses: then another one may
	// have them.
	homeIdle  = 10 * time.Second
	homeSweep = 2 * time.Second
	// drainIdle is homeIdle for a node that is about to stop. Who has asked for databases, and been told that they are
	// here, is about to use them.
	drainIdle  = 200 * time.Millisecond
	drainSweep = 100 * time.Millisecond
	// leaveTime is how long it may take to let others have them.
	leaveTime = 2 * time.Second
)

// LeaveHomes lets others have the databases of accounts at once that nobody uses, and those in use when their last user
// ends: this node is about to stop. It may be called once.
func (p *Pool) LeaveHomes() { close(p.leaving) }

// leaveHomes lets others have the databases of accounts that nobody has used for a while, until the context ends.
func (p *Pool) leaveHomes(ctx context.Context) {
	idle, leaving := homeIdle, p.leaving
	ticker := time.NewTicker(homeSweep)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-leaving:
			idle, leaving = drainIdle, nil
			ticker.Reset(drainSweep)
		case <-ctx.Done():
			return
		}
		since := time.Now().Add(-idle)
		// One at a time: who wants those of an account waits for nobody else's, however long the store takes.
		for h := p.takeIdle(since); h != nil; h = p.takeIdle(since) {
			p.closeHandle(h)
			if ctx.Err() != nil {
				return
			}
		}
	}
}

// takeIdle takes out one that nobody has used since a moment; nil where there is none.
func (p *Pool) takeIdle(since time.Time) *handle {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, h := range p.handles {
		if h.users == 0 && h.used.Before(since) {
			p.takeOut(h)
			return h
		}
	}
	return nil
}
