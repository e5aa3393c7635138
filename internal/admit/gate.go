package admit

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// GateOptions say how much a Gate lets in.
type GateOptions struct {
	// Slots is how many scripts compute at once, at least 1: the cores.
	Slots int
	// SpareSlots is how many more may begin beside them: the first slice of an account
	// that has nothing computing is not to wait for those of others to end.
	SpareSlots int
	Memory     int64 // bytes granted at once; 0 for no bound
	// Slice is how long a script computes before it lets others go first; 500 µs
	// where it is 0.
	Slice time.Duration
	// SchedYield lets threads that wait for a core have it; called at the end of each
	// slice. It may be left out.
	SchedYield func()
	// RecentWindow is how long after its last call an account counts as present:
	// as long as another is, none computes on more than half of the slots, so
	// that the next call finds a core free; 100 ms where it is 0.
	RecentWindow time.Duration
	// MaxSharing is how many scripts of one account take turns, 8 for each slot
	// where it is 0. More would all be slow, and end by their time.
	MaxSharing int
	// Wait is how long a call waits to be let in; 5 seconds where it is 0.
	Wait time.Duration
	// MaxWaiting bounds the calls that wait, 10,000 where it is 0, and
	// MaxWaitingEach those of one account, 1,000 where it is 0.
	MaxWaiting, MaxWaitingEach int
	// Unlimited lets one account have all that there is, as in development, and who waits
	// wait for a minute. Slots and memory are the node's, and stay: what would stop a
	// node in production is to be seen.
	Unlimited bool
}

func (o GateOptions) withDefaults() GateOptions {
	o.Slots = max(1, o.Slots)
	o.Slice = cmp.Or(o.Slice, 500*time.Microsecond)
	o.RecentWindow = cmp.Or(o.RecentWindow, 100*time.Millisecond)
	o.MaxSharing = cmp.Or(o.MaxSharing, 8*o.Slots)
	wait := 5 * time.Second
	if o.Unlimited {
		wait = time.Minute
	}
	o.Wait = cmp.Or(o.Wait, wait)
	o.MaxWaiting = cmp.Or(o.MaxWaiting, 10_000)
	o.MaxWaitingEach = cmp.Or(o.MaxWaitingEach, 1000)
	if o.SchedYield == nil {
		o.SchedYield = func() {}
	}
	return o
}

// Request is what a call asks a Gate for.
type Request struct {
	Account int64
	Max     int   // scripts of this account at once; 0 for no bound of its own
	Memory  int64 // bytes that its script may use
	// Visitor says that somebody else than the account's owner calls. Visitors leave a quarter
	// to the owner of all that the account may have.
	Visitor bool
}

// callKind is whose a call is, which waits to be let in.
type callKind uint8

const (
	owning callKind = iota
	visiting
)

func (ask *Request) kind() callKind {
	if ask.Visitor {
		return visiting
	}
	return owning
}

// bound returns how much of what an account may have the call may bring it to.
func (k callKind) bound(most int) int {
	if k == visiting {
		return max(1, most*3/4)
	}
	return most
}

// Gate bounds how many scripts are under way on a node, by the memory that they
// may use, and how many compute at once: those that hold a slot. Who finds none
// waits. Accounts take turns, the calls of one account go in the order they came.
//
// While others wait, or called a moment ago, no account gets more than half of the
// slots. Of the memory,
// which is not given back before a script ends, an account gets no more than it
// leaves free, whether others wait or not: so there is some for whoever comes
// next. It is safe for concurrent use.
type Gate struct {
	o GateOptions

	mu        sync.Mutex
	accounts  map[int64]*account
	idle      []*account // to use again
	inside    int
	auxiliary int
	running   int
	memory    int64
	entering  int // waiting for the first time
	returning int // waiting again
	arrivals  uint64
	stats     GateStats
	granted   *waiter // those to wake, by their next

	// recent are the two accounts that called last, the last one first.
	recent [2]call
	// ring is the account whose turn it is, in a ring of those that wait for the
	// node. One that waits for its own bound alone is not in it.
	ring *account
	// contended says that somebody is in the ring, or that spare slots are in use.
	// It is read without the lock.
	contended atomic.Bool
}

type call struct {
	account int64
	at      time.Time
}

type account struct {
	id         int64
	max        int
	inside     int      // tickets given and not released
	auxiliary  int      // likewise, of those that Auxiliary gave
	running    int      // of both, the ones with a slot
	memory     int64    // of all inside
	entering   [2]queue // by their kind: visitors, who wait for longer, do not stand before the owner
	returning  queue    // inside already, and waiting for a slot again
	prev, next *account // in the ring, nil outside of it
}

type waiter struct {
	memory     int64
	kind       callKind
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

// NewGate returns a gate.
func NewGate(o GateOptions) *Gate {
	return &Gate{o: o.withDefaults(), accounts: map[int64]*account{}}
}

// TryAcquire takes a slot and memory where nobody has to wait for them; nil where
// somebody has.
func (g *Gate) TryAcquire(ask Request) *Ticket {
	ask.Memory = g.clamp(ask.Memory)
	g.mu.Lock()
	defer g.unlock()
	a := g.arrive(ask)
	t := g.tryEnter(a, &ask)
	if t == nil {
		g.drop(a)
	}
	return t
}

// clamp returns how much of the memory asked for can be given: no amount of waiting
// could give more.
func (g *Gate) clamp(memory int64) int64 {
	if g.o.Memory > 0 {
		memory = min(memory, g.o.Memory)
	}
	return max(0, memory)
}

// Acquire waits for a slot and memory. The error is a *Refused, or that of ctx.
func (g *Gate) Acquire(ctx context.Context, ask Request) (*Ticket, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ask.Memory = g.clamp(ask.Memory)
	g.mu.Lock()
	a := g.arrive(ask)
	if t := g.tryEnter(a, &ask); t != nil {
		g.unlock()
		return t, nil
	}
	if err := g.queueFull(a, ask.kind()); err != nil {
		g.drop(a)
		g.unlock()
		return nil, err
	}
	w := &waiter{memory: ask.Memory, kind: ask.kind(), ready: make(chan struct{})}
	g.enqueue(a, w)
	g.stats.Waited++
	g.dispatch()
	g.unlock()

	timeout := time.NewTimer(g.o.Wait)
	defer timeout.Stop()
	select {
	case <-w.ready:
	case <-ctx.Done():
	case <-timeout.C:
	}
	g.mu.Lock()
	defer g.unlock()
	if !w.granted {
		return nil, g.abandon(a, w, ctx.Err())
	}
	// A turn that comes in the last moment is a turn, too.
	return &Ticket{gate: g, account: a, memory: ask.Memory, slot: true}, nil
}

// queueFull refuses a call where too many wait already.
func (g *Gate) queueFull(a *account, kind callKind) error {
	switch {
	case !g.o.Unlimited && a.waiting() >= kind.bound(g.o.MaxWaitingEach):
		g.stats.Busy++
		return &Refused{Reason: AccountBusy, RetryAfter: g.o.Wait}
	case g.entering >= g.o.MaxWaiting:
		g.stats.Overloaded++
		return &Refused{Reason: Overloaded, RetryAfter: g.o.Wait}
	}
	return nil
}

// abandon takes out a waiter whose turn did not come, and says why: cancelled is
// the error of its context, nil where it has waited long enough.
func (g *Gate) abandon(a *account, w *waiter, cancelled error) error {
	r := &Refused{Reason: Overloaded, RetryAfter: time.Second}
	if !g.belowLimits(a, w.kind) {
		r.Reason, r.inside = AccountBusy, a.inside
		if most := w.kind.bound(a.max); a.max > 0 && a.inside >= most {
			r.Limit = most
		}
	}
	g.dequeue(a, w)
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

// unlock lets go of the lock and then wakes whose turn has come. Before, those
// could take the core from who holds the lock, and everybody would wait for it.
func (g *Gate) unlock() {
	w := g.granted
	g.granted = nil
	g.mu.Unlock()
	for w != nil {
		next := w.next // a waiter is gone once it is woken
		close(w.ready)
		w = next
	}
}

// The rest is done under the lock.

// arrive returns the account of a call.
func (g *Gate) arrive(ask Request) *account {
	g.noteCall(ask.Account)
	a := g.account(ask.Account)
	if a.max != ask.Max { // the account's plan has changed
		a.max = ask.Max
		g.updateRing(a)
		g.dispatch()
	}
	return a
}

// tryEnter lets a call of an account in where nobody waits, it least of all; nil
// otherwise.
func (g *Gate) tryEnter(a *account, ask *Request) *Ticket {
	memory, kind := ask.Memory, ask.kind()
	if g.ring != nil || !g.hasSlot(a, false) || !g.belowLimits(a, kind) || !g.hasMemory(memory) || !g.leavesMemory(a, memory, kind) {
		return nil
	}
	g.enter(a, memory)
	return &Ticket{gate: g, account: a, memory: memory, slot: true}
}

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

// maxIdle bounds the account states kept for later use.
const maxIdle = 64

// drop forgets an account of which nothing is left.
func (g *Gate) drop(a *account) {
	if a.inside > 0 || a.auxiliary > 0 || a.waiting() > 0 {
		return
	}
	delete(g.accounts, a.id)
	if len(g.idle) < maxIdle {
		*a = account{}
		g.idle = append(g.idle, a)
	}
}

// waiting is how many calls of the account wait to be let in.
func (a *account) waiting() int { return a.entering[owning].length + a.entering[visiting].length }

// belowLimits tells whether the account's own bounds allow one more.
func (g *Gate) belowLimits(a *account, kind callKind) bool {
	return g.o.Unlimited || (a.max <= 0 || a.inside < kind.bound(a.max)) && a.running+a.returning.length < kind.bound(g.o.MaxSharing)
}

// mayEnter tells whether the account's own bounds allow one more of those who wait.
func (g *Gate) mayEnter(a *account) bool {
	return a.entering[owning].first != nil && g.belowLimits(a, owning) || a.entering[visiting].first != nil && g.belowLimits(a, visiting)
}

// noteCall remembers who called.
func (g *Gate) noteCall(account int64) {
	if g.recent[0].account != account {
		g.recent[1] = g.recent[0]
	}
	g.recent[0] = call{account, time.Now()}
}

// isContested tells whether another account called of late.
func (g *Gate) isContested(a *account) bool {
	other := g.recent[0]
	if other.account == a.id {
		other = g.recent[1]
	}
	return !other.at.IsZero() && time.Since(other.at) < g.o.RecentWindow
}

// hasSlot tells whether there is a slot for one more of an account.
func (g *Gate) hasSlot(a *account, returning bool) bool {
	if g.exceedsShare(a) && g.isContested(a) {
		return false
	}
	return g.running < g.o.Slots || !returning && a.running == 0 && g.running < g.o.Slots+g.o.SpareSlots
}

// hasMemory tells whether so much is left.
func (g *Gate) hasMemory(bytes int64) bool {
	return g.o.Memory <= 0 || g.memory+bytes <= g.o.Memory
}

// leavesMemory tells whether the account would leave as much memory free as it
// had, and a quarter of all for accounts that have none. The first is never too much.
// A visitor's call is taken where a third more would do as well, which is the owner's.
func (g *Gate) leavesMemory(a *account, bytes int64, kind callKind) bool {
	if kind == visiting {
		bytes += (a.memory + bytes) / 3
	}
	left := g.o.Memory - g.memory - bytes
	return g.o.Unlimited || g.o.Memory <= 0 || a.memory == 0 || left >= a.memory+bytes && left >= g.o.Memory/4
}

// enter takes memory and a slot.
func (g *Gate) enter(a *account, memory int64) {
	a.inside++
	g.inside++
	a.memory += memory
	g.memory += memory
	g.run(a)
	g.stats.Admitted++
}

// run takes a slot.
func (g *Gate) run(a *account) {
	a.running++
	g.running++
	g.stats.MostRunning = max(g.stats.MostRunning, g.running)
	g.updateContended()
}

// stop gives a slot back.
func (g *Gate) stop(a *account) {
	a.running--
	g.running--
	g.updateContended()
}

// updateContended sets contended by the state as it is now.
func (g *Gate) updateContended() {
	if now := g.ring != nil || g.running > g.o.Slots; now != g.contended.Load() {
		g.contended.Store(now)
	}
}

func (g *Gate) enqueue(a *account, w *waiter) {
	g.arrivals++
	w.number = g.arrivals
	if w.returning {
		a.returning.add(w)
		g.returning++
	} else {
		a.entering[w.kind].add(w)
		g.entering++
	}
	g.updateRing(a)
}

func (g *Gate) dequeue(a *account, w *waiter) {
	if w.returning {
		a.returning.remove(w)
		g.returning--
	} else {
		a.entering[w.kind].remove(w)
		g.entering--
	}
	g.updateRing(a)
}

// updateRing puts the account into the ring or takes it out, as its state is now. A
// new one comes last.
func (g *Gate) updateRing(a *account) {
	in, belongs := a.next != nil, a.returning.first != nil || g.mayEnter(a)
	switch {
	case belongs && !in && g.ring == nil:
		a.prev, a.next = a, a
		g.ring = a
	case belongs && !in:
		a.prev, a.next = g.ring.prev, g.ring
		a.prev.next, a.next.prev = a, a
	case !belongs && in:
		if g.ring == a {
			g.ring = a.next
		}
		if g.ring == a {
			g.ring = nil
		}
		a.prev.next, a.next.prev = a.next, a.prev
		a.prev, a.next = nil, nil
	default:
		return
	}
	g.updateContended()
}

// dispatch gives turns as long as there is room.
func (g *Gate) dispatch() {
	for g.ring != nil && g.running < g.o.Slots+g.o.SpareSlots {
		a, w := g.next()
		if w == nil {
			return
		}
		g.ring = a.next
		if w.returning {
			g.run(a)
		} else {
			g.enter(a, w.memory)
		}
		g.dequeue(a, w)
		w.granted, w.next = true, g.granted
		g.granted = w
	}
}

// next returns whom to give a slot, going round from the account whose turn it
// is: first those who have not got their share yet. It is nobody where all wait
// for memory, or where only spare slots are left and all have their share.
//
// The first that finds too little memory has a claim on what comes free: smaller
// asks behind it that went first could do so for ever. Those inside have their
// memory, and must go on for any to come free.
func (g *Gate) next() (*account, *waiter) {
	claimed := false
	for _, beyondShare := range []bool{false, true} {
		a := g.ring
		for {
			for _, w := range a.heads() {
				switch {
				case w == nil || !g.hasSlot(a, w.returning) || !beyondShare && g.exceedsShare(a):
				case w.returning:
					return a, w
				case claimed || !g.belowLimits(a, w.kind) || !g.leavesMemory(a, w.memory, w.kind):
				case g.hasMemory(w.memory):
					return a, w
				default:
					claimed = true
				}
			}
			if claimed && g.returning == 0 {
				return nil, nil
			}
			if a = a.next; a == g.ring {
				break
			}
		}
	}
	return nil, nil
}

// heads returns the first of each line of an account in the order of arrival, nil for those
// that are empty.
func (a *account) heads() [3]*waiter {
	heads := [3]*waiter{a.returning.first, a.entering[owning].first, a.entering[visiting].first}
	for i := 1; i < len(heads); i++ {
		for k := i; k > 0 && heads[k] != nil && (heads[k-1] == nil || heads[k].number < heads[k-1].number); k-- {
			heads[k-1], heads[k] = heads[k], heads[k-1]
		}
	}
	return heads
}

// exceedsShare tells whether one more would give the account more than half of
// the slots. The first is never too much.
func (g *Gate) exceedsShare(a *account) bool {
	return !g.o.Unlimited && a.running > 0 && 2*(a.running+1) > g.o.Slots
}

// GateStats counts what a Gate did, and shows what it holds.
type GateStats struct {
	Admitted         uint64
	Waited           uint64 // before they were admitted or refused
	Busy             uint64 // refused for their account's bound
	Overloaded       uint64 // refused for the node's
	Cancelled        uint64 // gave up waiting
	Yielded          uint64 // times that a running script let others go first
	UsedAfterRelease uint64 // turns on tickets that were released; none, or there is a bug

	Inside      int // tickets given and not released
	Auxiliary   int // likewise, of work beside scripts that has computed
	Running     int // of both, the ones that compute
	MostRunning int // so far
	Waiting     int
	Returning   int // inside, and waiting to compute again
	Memory      int64
	Accounts    int
}

// usedAfterRelease counts a turn on a ticket that was released.
func (g *Gate) usedAfterRelease() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stats.UsedAfterRelease++
	return ErrReleased
}

// Stats returns the counts so far.
func (g *Gate) Stats() GateStats {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.stats
	s.Inside, s.Running, s.Waiting, s.Returning = g.inside, g.running, g.entering, g.returning
	s.Auxiliary, s.Memory, s.Accounts = g.auxiliary, g.memory, len(g.accounts)
	return s
}
