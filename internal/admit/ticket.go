package admit

import (
	"context"
	"errors"
	"time"
)

// ErrReleased is the error of a Turn on a ticket that was released. It is a mistake of
// who holds the ticket: a slot taken then would never be given back. The gate counts it.
var ErrReleased = errors.New("admit: turn on a released ticket")

// Ticket admits a script, or other work of an account. It holds memory until Release, and a slot while
// it computes. One goroutine at a time may use it.
type Ticket struct {
	gate      *Gate
	account   *account // nil before the first Turn of one that Auxiliary gave
	id        int64    // of the account, where it is auxiliary
	auxiliary bool
	memory    int64
	slot      bool      // held: not after Yield, or while it waits in Turn
	since     time.Time // when the slice began; zero where it begins with the next Turn
	released  bool
}

// Auxiliary returns a ticket for work of an account that is none of its scripts, such as
// compiling one or checking a reply to one. It is not counted as a script and is granted no
// memory (see Ledger), but computes in the account's turns. It begins without a slot, which
// the first Turn waits for; whoever never asks for one pays nothing.
func (g *Gate) Auxiliary(account int64) *Ticket {
	return &Ticket{gate: g, id: account, auxiliary: true}
}

// Memory returns the bytes granted: those asked for, or all that the gate has
// where those are more.
func (t *Ticket) Memory() int64 { return t.memory }

// Yield gives the slot back until the next Turn, while the run waits for something.
// A run may hold what others wait for while it waits for its slot itself; so
// nobody may wait for such a thing and keep a slot.
func (t *Ticket) Yield() {
	if !t.slot {
		return
	}
	g := t.gate
	g.mu.Lock()
	defer g.unlock()
	t.slot = false
	g.stop(t.account)
	g.updateRing(t.account)
	g.dispatch()
}

// Turn returns when the run may compute on. It is to be called often: it takes
// the slot again after a Yield, and where the slice is over, it lets others have
// the core, and the slot where any wait for it. It waits as long as ctx allows;
// after an error nothing may be computed on the ticket any more, and Release is
// still to be called.
func (t *Ticket) Turn(ctx context.Context) error {
	if t.released {
		return t.gate.usedAfterRelease()
	}
	if !t.slot {
		return t.acquireSlot(ctx)
	}
	now := time.Now()
	if t.since.IsZero() {
		t.since = now
	}
	if now.Sub(t.since) < t.gate.o.Slice {
		return ctx.Err()
	}
	t.gate.o.SchedYield()
	if t.gate.contended.Load() {
		return t.acquireSlot(ctx)
	}
	t.since = time.Time{}
	return ctx.Err()
}

// acquireSlot waits for a slot, having given back the one that it holds, if any.
func (t *Ticket) acquireSlot(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	g := t.gate
	g.mu.Lock()
	if t.account == nil {
		t.account = g.account(t.id)
		t.account.auxiliary++
		g.auxiliary++
	}
	a := t.account
	if t.slot && !g.contended.Load() {
		g.unlock()
		return nil
	}
	if !t.slot && g.ring == nil && g.hasSlot(a, true) {
		g.run(a)
		g.unlock()
		t.slot, t.since = true, time.Time{}
		return nil
	}
	if t.slot {
		g.stop(a)
		g.stats.Yielded++
	}
	w := &waiter{returning: true, ready: make(chan struct{})}
	g.enqueue(a, w)
	g.dispatch()
	g.unlock()
	select {
	case <-w.ready:
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.unlock()
	t.slot = w.granted
	if !w.granted {
		g.dequeue(a, w)
		g.dispatch()
		return ctx.Err()
	}
	t.since = time.Now()
	return nil
}

// Release gives everything back. Only the first call counts.
func (t *Ticket) Release() {
	if t.released {
		return
	}
	t.released = true
	g, a := t.gate, t.account
	if a == nil {
		return
	}
	g.mu.Lock()
	defer g.unlock()
	if t.slot {
		t.slot = false
		g.stop(a)
	}
	if t.auxiliary {
		a.auxiliary--
		g.auxiliary--
	} else {
		a.inside--
		g.inside--
	}
	a.memory -= t.memory
	g.memory -= t.memory
	g.updateRing(a)
	g.drop(a)
	g.dispatch()
}
