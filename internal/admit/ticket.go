package admit

import (
	"context"
	"errors"
	"time"
)

// ErrLeft is the error of a turn on a ticket that has left. It is a mistake of who
// holds the ticket: a slot taken then would never be given back. The gate counts it.
var ErrLeft = errors.New("admit: a turn was asked for on a ticket that has left")

// Ticket is leave to be under way. It holds memory until Leave, and a slot while
// it computes. One goroutine at a time may use it.
type Ticket struct {
	gate    *Gate
	account *account // nil before the first Turn of one that Aside gave
	id      int64    // of the account, where aside
	aside   bool
	memory  int64
	slot    bool      // held: not while it rests, or waits in Turn
	since   time.Time // when the slice began; zero where it begins with the next Turn
	left    bool
}

// Aside returns a ticket for work of an account that is none of its scripts, such as
// compiling one or checking a reply to one. It is not counted as a script and is granted no
// memory (see Ledger), but computes in the account's turns. It begins without a slot, which
// the first Turn waits for; whoever never asks for one pays nothing.
func (g *Gate) Aside(account int64) *Ticket { return &Ticket{gate: g, id: account, aside: true} }

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
	g.pause(t.account)
	g.place(t.account)
	g.dispatch()
}

// Turn returns when the run may compute on. It is to be called often: it takes
// the slot again after a Yield, and where the slice is over, it lets others have
// the core, and the slot where any wait for it. It waits as long as ctx allows;
// after an error nothing may be computed on the ticket any more, and Leave is
// still to be called.
func (t *Ticket) Turn(ctx context.Context) error {
	if t.left {
		return t.gate.misused()
	}
	if !t.slot {
		return t.turn(ctx)
	}
	now := time.Now()
	if t.since.IsZero() {
		t.since = now
	}
	if now.Sub(t.since) < t.gate.o.Slice {
		return ctx.Err()
	}
	t.gate.o.GiveWay()
	if t.gate.contended.Load() {
		return t.turn(ctx)
	}
	t.since = time.Time{}
	return ctx.Err()
}

// turn waits for a slot, having given back the one that it holds, if any.
func (t *Ticket) turn(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	g := t.gate
	g.mu.Lock()
	if t.account == nil {
		t.account = g.account(t.id)
		t.account.aside++
		g.aside++
	}
	a := t.account
	if t.slot && !g.contended.Load() {
		g.unlock()
		return nil
	}
	if !t.slot && g.turn == nil && g.hasSlot(a, true) {
		g.run(a)
		g.unlock()
		t.slot, t.since = true, time.Time{}
		return nil
	}
	if t.slot {
		g.pause(a)
		g.stats.Yielded++
	}
	w := &waiter{returning: true, ready: make(chan struct{})}
	g.wait(a, w)
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
		g.unwait(a, w)
		g.dispatch()
		return ctx.Err()
	}
	t.since = time.Now()
	return nil
}

// Leave gives everything back. Only the first call counts.
func (t *Ticket) Leave() {
	if t.left {
		return
	}
	t.left = true
	g, a := t.gate, t.account
	if a == nil {
		return
	}
	g.mu.Lock()
	defer g.unlock()
	if t.slot {
		t.slot = false
		g.pause(a)
	}
	if t.aside {
		a.aside--
		g.aside--
	} else {
		a.inside--
		g.inside--
	}
	a.memory -= t.memory
	g.memory -= t.memory
	g.place(a)
	g.drop(a)
	g.dispatch()
}
