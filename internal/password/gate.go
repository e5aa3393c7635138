package password

import (
	"cmp"
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// ErrBusy says that too many wait at a Gate, or that a turn did not come in time.
var ErrBusy = errors.New("too many passwords are being checked")

// Holder is for whom a hash is computed: an account, or the network of somebody
// who is not known yet. Turns go round between holders.
type Holder struct {
	Account int64
	Network netip.Prefix
}

// Request is what a Gate is asked for a turn with.
type Request struct {
	Holder Holder
	// Debt is what the holder has used lately, as its caller counts it: who has the
	// least goes first. Without any, holders are equal.
	Debt time.Duration
	// Known asks in the line of those who are known from before. Where both lines
	// wait, every second turn is theirs, so that no number of strangers keeps them
	// out, nor they the strangers.
	Known bool
	// Work is what the hash costs, in the unit of Work; DefaultWork where it is 0.
	Work uint64
}

// GateOptions say how a Gate works.
type GateOptions struct {
	Slots int // hashes at once, at least one
	// Wait is how long somebody waits for a turn; 0 is as long as its context lasts.
	Wait time.Duration
	// MaxWaiting bounds those who wait in each of both lines, 10,000 where it is 0, and
	// MaxWaitingEach those of one holder, 1,000 where it is 0. In a full line whoever
	// would go first takes the place of who would go last.
	MaxWaiting, MaxWaitingEach int
	// BothEnds lets the newest of equals go first at every second turn. Where more
	// come at once than can be served within Wait, nobody is served in time who comes
	// after them otherwise. Those in the middle give up their places first.
	BothEnds bool
}

// Gate bounds how many hashes are computed at once: each holds its memory and a
// core while it lasts. Who finds no slot waits, in turns between holders: one that
// asks for many hashes waits for its own. A nil Gate lets everybody through. It is
// safe for concurrent use.
type Gate struct {
	o GateOptions

	mu      sync.Mutex
	running int
	lines   [2]line // of strangers, and of those who are known
	last    int     // the line that had the last turn
	stats   GateStats
}

// line is those who wait, with what their holders have had so far. Time is
// virtual: the work that each holder would have been given by now if all took
// turns (start-time fair queueing).
type line struct {
	now     uint64
	holders map[Holder]*holder
	waiting []*waiter // in the order of arrival
	newest  bool      // the next turn is that of the newest
}

type holder struct {
	next    uint64 // when its next turn begins
	waiting int
}

type waiter struct {
	Request
	holder  *holder
	ready   chan struct{} // closed when its turn has come, or its place is taken
	granted bool
}

// AtOnce is how many passwords are hashed at once, of which each takes so many bytes: on half of the
// cores, the others being left to all else, and in no more memory than an eighth of what scripts have,
// where that is bounded.
func AtOnce(cores int, memory, each int64) int {
	n := cores / 2
	if memory > 0 {
		n = min(n, int(memory/8/each))
	}
	return max(1, n)
}

// NewGate returns a gate.
func NewGate(o GateOptions) *Gate {
	o.Slots = max(1, o.Slots)
	if o.MaxWaiting <= 0 {
		o.MaxWaiting = 10_000
	}
	if o.MaxWaitingEach <= 0 {
		o.MaxWaitingEach = 1000
	}
	g := &Gate{o: o}
	for i := range g.lines {
		g.lines[i].holders = map[Holder]*holder{}
	}
	return g
}

// Acquire waits for a turn. The error is ErrBusy, or that of ctx. After success leave
// is to be called once.
func (g *Gate) Acquire(ctx context.Context, ask Request) (leave func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if g == nil {
		return func() {}, nil
	}
	if ask.Work == 0 {
		ask.Work = DefaultWork
	}
	w, err := g.ask(ask)
	if err != nil {
		return nil, err
	}
	if w != nil {
		if err := g.await(ctx, w); err != nil {
			return nil, err
		}
	}
	return g.leave, nil
}

// ask takes a slot, or returns who waits for one.
func (g *Gate) ask(ask Request) (*waiter, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.line(ask)
	h := l.holder(ask.Holder, g.mostHolders())
	if g.running < g.o.Slots { // then nobody waits
		g.run(ask, h)
		return nil, nil
	}
	w := &waiter{Request: ask, holder: h, ready: make(chan struct{})}
	if h.waiting >= g.o.MaxWaitingEach {
		g.stats.Refused++
		return nil, ErrBusy
	}
	if len(l.waiting) >= g.o.MaxWaiting {
		g.stats.Refused++
		last := l.last(w, g.o.BothEnds)
		if last == w {
			return nil, ErrBusy
		}
		l.remove(last)
		close(last.ready)
	}
	h.waiting++
	l.waiting = append(l.waiting, w)
	g.stats.Waited++
	return w, nil
}

// await returns when the turn of a waiter has come.
func (g *Gate) await(ctx context.Context, w *waiter) error {
	var over <-chan time.Time
	if g.o.Wait > 0 {
		timer := time.NewTimer(g.o.Wait)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-w.ready:
	case <-over:
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case w.granted: // in the last moment, too
		return nil
	case !g.line(w.Request).remove(w): // another has its place
		return ErrBusy
	case ctx.Err() != nil:
		g.stats.Cancelled++
		return ctx.Err()
	}
	g.stats.Refused++
	return ErrBusy
}

func (g *Gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running--
	for g.running < g.o.Slots {
		l := &g.lines[1-g.last]
		if len(l.waiting) == 0 {
			l = &g.lines[g.last]
		}
		if len(l.waiting) == 0 {
			break
		}
		w := l.first(g.o.BothEnds)
		l.remove(w)
		g.run(w.Request, w.holder)
		w.granted = true
		close(w.ready)
	}
	if g.running == 0 { // there is nobody to be fair to
		for i := range g.lines {
			clear(g.lines[i].holders)
		}
	}
}

// The rest is done under the lock.

func (g *Gate) line(a Request) *line {
	if a.Known {
		return &g.lines[1]
	}
	return &g.lines[0]
}

// run gives a holder a slot.
func (g *Gate) run(a Request, h *holder) {
	l := g.line(a)
	g.last = 0
	if a.Known {
		g.last = 1
	}
	g.running++
	g.stats.Admitted++
	l.now = max(l.now, h.next)
	h.next = l.now + a.Work
}

// mostHolders bounds the holders that a line remembers. Those who do not wait are
// forgotten beyond it, and are like new then.
func (g *Gate) mostHolders() int { return g.o.MaxWaiting + 1000 }

func (l *line) holder(of Holder, most int) *holder {
	h := l.holders[of]
	if h != nil {
		if h.waiting == 0 {
			h.next = max(h.next, l.now) // what it left unused is not saved up
		}
		return h
	}
	if len(l.holders) >= most {
		for k, h := range l.holders {
			if h.waiting == 0 {
				delete(l.holders, k)
			}
		}
	}
	h = &holder{next: l.now}
	l.holders[of] = h
	return h
}

// remove takes out a waiter, if it is there.
func (l *line) remove(w *waiter) bool {
	at := slices.Index(l.waiting, w)
	if at < 0 {
		return false
	}
	l.waiting = slices.Delete(l.waiting, at, at+1)
	w.holder.waiting--
	return true
}

// compare tells which of two goes first, by a negative number for a: the one that
// has tried least, and of those the one whose holder has had least.
func compare(a, b *waiter) int {
	return cmp.Or(cmp.Compare(a.Debt, b.Debt), cmp.Compare(a.holder.next, b.holder.next))
}

// first returns whose turn it is. Lines are short beside what a hash takes.
func (l *line) first(bothEnds bool) *waiter {
	newest := l.newest
	l.newest = bothEnds && !newest
	first := l.waiting[0]
	for _, w := range l.waiting[1:] {
		if c := compare(w, first); c < 0 || c == 0 && newest {
			first = w
		}
	}
	return first
}

// last returns who of those in line, and one that comes, would go last.
func (l *line) last(comes *waiter, bothEnds bool) *waiter {
	last := []*waiter{comes} // and its equals
	for _, w := range slices.Backward(l.waiting) {
		switch c := compare(w, last[0]); {
		case c > 0:
			last = append(last[:0], w)
		case c == 0:
			last = append(last, w)
		}
	}
	if bothEnds {
		return last[len(last)/2]
	}
	return last[0]
}

// GateStats counts what a Gate did, and shows what it holds.
type GateStats struct {
	Admitted  uint64
	Waited    uint64 // before they were admitted or refused
	Refused   uint64 // for the length of the line, or of the wait
	Cancelled uint64 // gave up waiting

	Running int
	Waiting int
	Holders int // remembered
}

// Stats returns the counts so far; zero for a nil Gate.
func (g *Gate) Stats() GateStats {
	if g == nil {
		return GateStats{}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.stats
	s.Running = g.running
	for i := range g.lines {
		s.Waiting += len(g.lines[i].waiting)
		s.Holders += len(g.lines[i].holders)
	}
	return s
}
