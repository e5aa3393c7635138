package admit

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// GateOptions say how much a Gate lets in.
type GateOptions struct {
	Slots  int   // scripts at once; at least 1
	Memory int64 // bytes granted at once; 0 for no bound
	// Wait is how long a call waits for its turn; 5 seconds where it is 0.
	Wait time.Duration
	// MaxWaiting bounds the calls that wait, 10,000 where it is 0, and
	// MaxWaitingEach those of one account, 1,000 where it is 0.
	MaxWaiting, MaxWaitingEach int
	// Lifted lets everybody through, as in development.
	Lifted bool
}

// Ask is what a call asks a Gate for.
type Ask struct {
	Account int64
	Most    int   // scripts of this account at once; 0 for no bound of its own
	Memory  int64 // bytes that its script may use
}

// Gate bounds how many scripts run at once on a node. Who finds it full waits:
// accounts take turns, the calls of one account go in the order they came. While
// others wait, no account gets more than half of the slots, or of the memory. It
// is safe for concurrent use.
type Gate struct {
	o GateOptions

	mu        sync.Mutex
	accounts  map[int64]*account
	idle      []*account // to use again
	running   int
	memory    int64
	entering  int // waiting for the first time
	returning int // waiting again
	arrivals  uint64
	stats     GateStats

	// turn is the account whose turn it is, in a ring of those that wait for the
	// node. One that waits for its own bound alone is not in it.
	turn *account
	// contended says that somebody is in the ring, for those who ask often.
	contended atomic.Bool
}

type account struct {
	id         int64
	most       int
	inside     int   // tickets given and not left
	running    int   // of those, the ones with a slot
	memory     int64 // of all inside
	entering   queue
	returning  queue    // inside already, and waiting for a slot again
	prev, next *account // in the ring, nil outside of it
}

type waiter struct {
	memory     int64
	returning  bool
	number     uint64        // by the order of arrival
	ready      chan struct{} // closed when the turn has come
	granted    bool
	prev, next *waiter
}

// queue is a line of waiters.
type queue struct {
	first, last *waiter
	length      int
}

func (q *queue) add(w *waiter) {
	if q.last == nil {
		q.first = w
	} else {
		q.last.next = w
		w.prev = q.last
	}
	q.last = w
	q.length++
}

func (q *queue) remove(w *waiter) {
	if w.prev == nil {
		q.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		q.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	q.length--
}

// Ticket is leave to run. It holds a slot and memory until Leave. One goroutine
// at a time may use it.
type Ticket struct {
	gate    *Gate
	account *account
	memory  int64
	slot    bool // held; not while it waits in Yield
	left    bool
}

// NewGate returns a gate.
func NewGate(o GateOptions) *Gate {
	o.Slots = max(1, o.Slots)
	if o.Wait <= 0 {
		o.Wait = 5 * time.Second
	}
	if o.MaxWaiting <= 0 {
		o.MaxWaiting = 10_000
	}
	if o.MaxWaitingEach <= 0 {
		o.MaxWaitingEach = 1000
	}
	return &Gate{o: o, accounts: map[int64]*account{}}
}

// Enter waits for a slot and memory. The error is a *Refused, or that of ctx.
func (g *Gate) Enter(ctx context.Context, ask Ask) (*Ticket, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ask.Memory = max(0, ask.Memory)
	if g.o.Memory > 0 { // no amount of waiting could give more
		ask.Memory = min(ask.Memory, g.o.Memory)
	}
	g.mu.Lock()
	a := g.account(ask.Account)
	if a.most != ask.Most { // the account's plan has changed
		a.most = ask.Most
		g.place(a)
		g.dispatch()
	}
	if g.o.Lifted || g.turn == nil && a.mayEnter() && g.running < g.o.Slots && g.hasMemory(ask.Memory) {
		t := g.enter(a, ask.Memory)
		g.mu.Unlock()
		return t, nil
	}
	if err := g.tooLong(a); err != nil {
		g.drop(a)
		g.mu.Unlock()
		return nil, err
	}
	w := &waiter{memory: ask.Memory, ready: make(chan struct{})}
	g.wait(a, w)
	g.stats.Waited++
	g.dispatch()
	g.mu.Unlock()

	timeout := time.NewTimer(g.o.Wait)
	defer timeout.Stop()
	select {
	case <-w.ready:
	case <-ctx.Done():
	case <-timeout.C:
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !w.granted {
		return nil, g.giveUp(a, w, ctx.Err())
	}
	// A turn that comes in the last moment is a turn, too.
	return &Ticket{gate: g, account: a, memory: ask.Memory, slot: true}, nil
}

// tooLong tells whether the line is too long for one more.
func (g *Gate) tooLong(a *account) error {
	switch {
	case a.entering.length >= g.o.MaxWaitingEach:
		g.stats.Busy++
		return &Refused{Reason: AccountBusy, RetryAfter: g.o.Wait}
	case g.entering >= g.o.MaxWaiting:
		g.stats.Overloaded++
		return &Refused{Reason: Overloaded, RetryAfter: g.o.Wait}
	}
	return nil
}

// giveUp takes out a waiter whose turn did not come, and says why: cancelled is
// the error of its context, nil where it has waited long enough.
func (g *Gate) giveUp(a *account, w *waiter, cancelled error) error {
	r := &Refused{Reason: Overloaded, RetryAfter: time.Second}
	if !a.mayEnter() {
		r.Reason, r.most = AccountBusy, a.most
	}
	g.unwait(a, w)
	g.drop(a)
	// What fits behind it need not wait for it any more.
	g.dispatch()
	switch {
	case cancelled != nil:
		g.stats.Cancelled++
		return cancelled
	case r.Reason == AccountBusy:
		g.stats.Busy++
	default:
		g.stats.Overloaded++
	}
	return r
}

// Memory returns the bytes granted: those asked for, or all that the gate has
// where those are more.
func (t *Ticket) Memory() int64 { return t.memory }

// Leave gives everything back. Only the first call counts.
func (t *Ticket) Leave() {
	g := t.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if t.left {
		return
	}
	t.left = true
	a := t.account
	a.inside--
	a.memory -= t.memory
	g.memory -= t.memory
	if t.slot {
		a.running--
		g.running--
	}
	g.place(a)
	g.drop(a)
	g.dispatch()
}

// Yield lets others have a turn where any wait, and returns when its own has
// come again. It keeps its memory. It waits as long as ctx allows; after an
// error nothing may run on the ticket any more, and Leave is still to be called.
func (t *Ticket) Yield(ctx context.Context) error {
	g := t.gate
	if !g.contended.Load() {
		return ctx.Err()
	}
	g.mu.Lock()
	if g.turn == nil || !t.slot || g.o.Lifted {
		g.mu.Unlock()
		return ctx.Err()
	}
	a := t.account
	w := &waiter{returning: true, ready: make(chan struct{})}
	t.slot = false
	a.running--
	g.running--
	g.wait(a, w)
	g.stats.Yielded++
	g.dispatch()
	g.mu.Unlock()
	select {
	case <-w.ready:
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if w.granted {
		t.slot = true
	} else {
		g.unwait(a, w)
		g.dispatch()
	}
	return ctx.Err()
}

// The rest is done under the lock.

// account returns the account's state, which lasts while anything of it runs,
// waits or holds memory.
func (g *Gate) account(id int64) *account {
	a := g.accounts[id]
	if a != nil {
		return a
	}
	if n := len(g.idle); n > 0 {
		a = g.idle[n-1]
		g.idle = g.idle[:n-1]
	} else {
		a = new(account)
	}
	a.id = id
	g.accounts[id] = a
	return a
}

// mostIdle bounds the account states kept for later use.
const mostIdle = 64

// drop forgets an account of which nothing is left.
func (g *Gate) drop(a *account) {
	if a.inside > 0 || a.entering.length > 0 {
		return
	}
	delete(g.accounts, a.id)
	if len(g.idle) < mostIdle {
		*a = account{}
		g.idle = append(g.idle, a)
	}
}

// mayEnter tells whether the account's own bound allows one more.
func (a *account) mayEnter() bool { return a.most <= 0 || a.inside < a.most }

// hasMemory tells whether so much is left.
func (g *Gate) hasMemory(bytes int64) bool {
	return g.o.Memory <= 0 || g.memory+bytes <= g.o.Memory
}

func (g *Gate) enter(a *account, memory int64) *Ticket {
	a.inside++
	a.memory += memory
	g.memory += memory
	g.run(a)
	g.stats.Admitted++
	return &Ticket{gate: g, account: a, memory: memory, slot: true}
}

// run takes a slot.
func (g *Gate) run(a *account) {
	a.running++
	g.running++
	g.stats.MostRunning = max(g.stats.MostRunning, g.running)
}

func (g *Gate) wait(a *account, w *waiter) {
	g.arrivals++
	w.number = g.arrivals
	if w.returning {
		a.returning.add(w)
		g.returning++
	} else {
		a.entering.add(w)
		g.entering++
	}
	g.place(a)
}

func (g *Gate) unwait(a *account, w *waiter) {
	if w.returning {
		a.returning.remove(w)
		g.returning--
	} else {
		a.entering.remove(w)
		g.entering--
	}
	g.place(a)
}

// place puts the account into the ring or takes it out, as its state is now. A
// new one comes last.
func (g *Gate) place(a *account) {
	in, belongs := a.next != nil, a.returning.first != nil || a.entering.first != nil && a.mayEnter()
	switch {
	case belongs && !in && g.turn == nil:
		a.prev, a.next = a, a
		g.turn = a
	case belongs && !in:
		a.prev, a.next = g.turn.prev, g.turn
		a.prev.next, a.next.prev = a, a
	case !belongs && in:
		if g.turn == a {
			g.turn = a.next
		}
		if g.turn == a {
			g.turn = nil
		}
		a.prev.next, a.next.prev = a.next, a.prev
		a.prev, a.next = nil, nil
	default:
		return
	}
	g.contended.Store(g.turn != nil)
}

// dispatch gives turns as long as there is room.
func (g *Gate) dispatch() {
	for g.turn != nil && g.running < g.o.Slots {
		a, w := g.next()
		if w == nil {
			return
		}
		g.turn = a.next
		if w.returning {
			g.run(a)
		} else {
			g.enter(a, w.memory)
		}
		g.unwait(a, w)
		w.granted = true
		close(w.ready)
	}
}

// next returns whom to give a slot, going round from the account whose turn it
// is: first those who have not got their share yet. It is nobody where all wait
// for memory.
//
// The first that finds too little memory has a claim on what comes free: smaller
// asks behind it that went first could do so for ever. Those inside have their
// memory, and must go on for any to come free.
func (g *Gate) next() (*account, *waiter) {
	claimed := false
	for _, beyondShare := range []bool{false, true} {
		a := g.turn
		for {
			for _, w := range a.heads() {
				switch {
				case w == nil || !beyondShare && g.exceedsShare(a, w):
				case w.returning:
					return a, w
				case claimed || !a.mayEnter():
				case g.hasMemory(w.memory):
					return a, w
				default:
					claimed = true
				}
			}
			if claimed && g.returning == 0 {
				return nil, nil
			}
			if a = a.next; a == g.turn {
				break
			}
		}
	}
	return nil, nil
}

// heads returns the first of both lines of an account in the order of arrival.
func (a *account) heads() [2]*waiter {
	e, r := a.entering.first, a.returning.first
	if e != nil && r != nil && e.number < r.number {
		return [2]*waiter{e, r}
	}
	return [2]*waiter{r, e}
}

// exceedsShare tells whether one more would give the account more than half of
// the slots or of the memory. The first is never too much.
func (g *Gate) exceedsShare(a *account, w *waiter) bool {
	if a.running > 0 && 2*(a.running+1) > g.o.Slots {
		return true
	}
	return !w.returning && g.o.Memory > 0 && a.memory > 0 && 2*(a.memory+w.memory) > g.o.Memory
}

// GateStats counts what a Gate did, and shows what it holds.
type GateStats struct {
	Admitted   uint64
	Waited     uint64 // before they were admitted or refused
	Busy       uint64 // refused for their account's bound
	Overloaded uint64 // refused for the node's
	Cancelled  uint64 // gave up waiting
	Yielded    uint64 // times that a running script let others go first

	Running     int
	MostRunning int // so far
	Waiting     int
	Returning   int // waiting again, after they let others go first
	Memory      int64
	Accounts    int
}

// Stats returns the counts so far.
func (g *Gate) Stats() GateStats {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.stats
	s.Running, s.Waiting, s.Returning, s.Memory, s.Accounts = g.running, g.entering, g.returning, g.memory, len(g.accounts)
	return s
}
