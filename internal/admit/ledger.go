package admit

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Holder is whom memory is charged to: an account, or, as long as it is not known
// whose a request is, the network that it came from.
type Holder struct {
	account int64
	network netip.Prefix
}

// AccountHolder charges an account.
func AccountHolder(account int64) Holder { return Holder{account: account} }

// NetworkHolder charges the network of an address.
func NetworkHolder(source netip.Addr) Holder { return Holder{network: network(source)} }

// LedgerOptions say how much a Ledger grants.
type LedgerOptions struct {
	Budget int64 // bytes reserved at once; 0 for no bound
	// Share is how much of it one holder gets; an eighth where it is 0.
	Share int64
	// Wait is how long a reservation waits for room; 1 second where it is 0.
	Wait time.Duration
	// MaxWaiting bounds the reservations that wait, 1,024 where it is 0, and
	// MaxWaitingEach those of one holder, 64 where it is 0.
	MaxWaiting, MaxWaitingEach int
	// Unlimited lets one holder have all of the budget, as in development. The budget
	// itself holds: it is what keeps the process alive.
	Unlimited bool
}

func (o LedgerOptions) withDefaults() LedgerOptions {
	o.Share = cmp.Or(o.Share, o.Budget/8)
	o.Wait = cmp.Or(o.Wait, time.Second)
	o.MaxWaiting = cmp.Or(o.MaxWaiting, 1024)
	o.MaxWaitingEach = cmp.Or(o.MaxWaitingEach, 64)
	return o
}

// Ledger counts the memory that the service holds for its callers outside of
// running scripts, whose own the Gate grants: bodies, answers until they are
// written, programs, journals, states that are stored or restored. Whoever is going
// to hold such bytes reserves them first, and releases them afterwards. It is safe
// for concurrent use.
type Ledger struct {
	o LedgerOptions

	mu      sync.Mutex
	held    int64
	holders map[Holder]*holding
	waiting []*grower // in the order of arrival
	stats   LedgerStats
}

// holding is what one holder has. It lasts while that is not nothing.
type holding struct {
	bytes   int64
	waiting int
}

// grower is a reservation that waits to grow.
type grower struct {
	r       *Reservation
	bytes   int64
	granted bool
	ready   chan struct{} // closed when granted
}

// NewLedger returns a ledger in which nothing is reserved.
func NewLedger(o LedgerOptions) *Ledger {
	return &Ledger{o: o.withDefaults(), holders: map[Holder]*holding{}}
}

// Reservation is bytes that somebody may hold. It begins with none. Its methods
// may be called on nil, and of a nil Ledger: nothing is counted then. It is not to be
// copied once it has grown, and one goroutine at a time may use it.
type Reservation struct {
	ledger *Ledger
	holder Holder
	bytes  int64
}

// Budget returns how many bytes may be reserved at once; 0 for no bound.
func (l *Ledger) Budget() int64 {
	if l == nil {
		return 0
	}
	return l.o.Budget
}

// Open returns an empty reservation of a holder.
func (l *Ledger) Open(h Holder) Reservation { return Reservation{ledger: l, holder: h} }

// Reserve opens a reservation of so many bytes. The error is that of Grow.
func (l *Ledger) Reserve(ctx context.Context, h Holder, bytes int64) (*Reservation, error) {
	r := l.Open(h)
	if err := r.Grow(ctx, bytes); err != nil {
		return nil, err
	}
	return &r, nil
}

// Bytes returns how much is reserved.
func (r *Reservation) Bytes() int64 {
	if r == nil {
		return 0
	}
	return r.bytes
}

// Account returns the account that it is charged to, 0 where that is a network.
func (r *Reservation) Account() int64 {
	if r == nil {
		return 0
	}
	return r.holder.account
}

// TryGrow reserves so many bytes more if nobody has to wait for them.
func (r *Reservation) TryGrow(bytes int64) bool {
	if r == nil || r.ledger == nil || bytes <= 0 {
		return true
	}
	l := r.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) > 0 || !l.fitsShare(r, bytes) || !l.fitsBudget(bytes) {
		return false
	}
	l.grant(r, bytes)
	return true
}

// Grow reserves so many bytes more, and waits for them a moment where they are not
// free. The error is a *Refused, or that of ctx; what was reserved before stays.
func (r *Reservation) Grow(ctx context.Context, bytes int64) error {
	if r.TryGrow(bytes) {
		return nil
	}
	return r.await(ctx, bytes, false)
}

// GrowBlocking is Grow that waits as long as ctx allows. Whoever reserved something
// before may keep others waiting meanwhile: so it is for the first bytes.
func (r *Reservation) GrowBlocking(ctx context.Context, bytes int64) error {
	if r.TryGrow(bytes) {
		return ctx.Err()
	}
	return r.await(ctx, bytes, true)
}

func (r *Reservation) await(ctx context.Context, bytes int64, blocking bool) error {
	l := r.ledger
	l.mu.Lock()
	if err := l.mayWait(r, bytes, blocking); err != nil {
		l.mu.Unlock()
		return err
	}
	c := &grower{r: r, bytes: bytes, ready: make(chan struct{})}
	l.waiting = append(l.waiting, c)
	l.holding(r.holder).waiting++
	l.stats.Waited++
	l.dispatch()
	l.mu.Unlock()

	var over <-chan time.Time
	if !blocking {
		timeout := time.NewTimer(l.o.Wait)
		defer timeout.Stop()
		over = timeout.C
	}
	select {
	case <-c.ready:
		return nil
	case <-ctx.Done():
	case <-over:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.granted {
		return nil
	}
	l.waiting = slices.DeleteFunc(l.waiting, func(o *grower) bool { return o == c })
	l.holding(r.holder).waiting--
	l.drop(r.holder)
	err := ctx.Err()
	if err == nil {
		err = l.refuse(r, bytes)
	}
	l.dispatch() // what fits behind it need not wait for it any more
	return err
}

// Shrink gives so many bytes back.
func (r *Reservation) Shrink(bytes int64) {
	if r == nil || r.ledger == nil || bytes <= 0 {
		return
	}
	l := r.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	bytes = min(bytes, r.bytes)
	r.bytes -= bytes
	l.held -= bytes
	l.holding(r.holder).bytes -= bytes
	l.drop(r.holder)
	l.dispatch()
}

// Release gives everything back. The reservation may grow again.
func (r *Reservation) Release() {
	if r != nil && r.bytes > 0 {
		r.Shrink(r.bytes)
	}
}

// Assign charges what is reserved, and what will be, to another holder: the account
// as which a request turned out to run. Where that has no room for it, the error is a
// *Refused and nothing changes.
func (r *Reservation) Assign(h Holder) error {
	if r == nil || r.ledger == nil || r.holder == h {
		return nil
	}
	l := r.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.bytes == 0 {
		r.holder = h
		return nil
	}
	as := Reservation{ledger: l, holder: h}
	if !l.fitsShare(&as, r.bytes) {
		return l.refuse(&as, r.bytes)
	}
	l.holding(r.holder).bytes -= r.bytes
	l.drop(r.holder)
	l.holding(h).bytes += r.bytes
	r.holder = h
	l.dispatch()
	return nil
}

// The rest is done under the lock.

func (l *Ledger) holding(h Holder) *holding {
	one := l.holders[h]
	if one == nil {
		one = &holding{}
		l.holders[h] = one
	}
	return one
}

// drop forgets a holder of which nothing is left.
func (l *Ledger) drop(h Holder) {
	if one := l.holders[h]; one != nil && *one == (holding{}) {
		delete(l.holders, h)
	}
}

func (l *Ledger) fitsBudget(bytes int64) bool {
	return l.o.Budget <= 0 || bytes <= l.o.Budget-l.held
}

// fitsShare tells whether the holder's share has room for so much more. What one
// reservation of an account needs is never too much as long as the others of it are small,
// up to half of the budget: else a small node could not compile, or show, what a large plan
// may bring and make. A call has one for its body and its answer, and one for its script.
func (l *Ledger) fitsShare(r *Reservation, bytes int64) bool {
	if l.o.Budget <= 0 || l.o.Unlimited {
		return true
	}
	var has int64
	if one := l.holders[r.holder]; one != nil {
		has = one.bytes
	}
	others := has - r.bytes
	return bytes <= l.o.Share-has || r.holder.account != 0 && others <= l.o.Share/2 && bytes <= l.most(r)-r.bytes
}

// most is what one reservation can come to.
func (l *Ledger) most(r *Reservation) int64 {
	switch {
	case l.o.Unlimited:
		return l.o.Budget
	case r.holder.account == 0:
		return l.o.Share
	}
	return max(l.o.Share, l.o.Budget/2)
}

// mayWait returns why a reservation is not to wait for more: it would be in vain, or
// too many do. Those that block are few, and bounded by who they are.
func (l *Ledger) mayWait(r *Reservation, bytes int64, blocking bool) error {
	if bytes > l.most(r)-r.bytes {
		l.stats.Refused++
		return &Refused{Reason: TooLarge, bytes: r.bytes + bytes}
	}
	if one := l.holders[r.holder]; !blocking && (one != nil && one.waiting >= l.o.MaxWaitingEach || len(l.waiting) >= l.o.MaxWaiting) {
		return l.refuse(r, bytes)
	}
	return nil
}

// refuse counts and makes the error of a reservation that found no room.
func (l *Ledger) refuse(r *Reservation, bytes int64) error {
	l.stats.Refused++
	if l.fitsShare(r, bytes) {
		return &Refused{Reason: Overloaded, RetryAfter: time.Second}
	}
	reason := AccountMemory
	if r.holder.account == 0 {
		reason = NetworkMemory
	}
	return &Refused{Reason: reason, RetryAfter: time.Second, bytes: l.o.Share}
}

func (l *Ledger) grant(r *Reservation, bytes int64) {
	r.bytes += bytes
	l.held += bytes
	l.holding(r.holder).bytes += bytes
	l.stats.MostHeld = max(l.stats.MostHeld, l.held)
}

// dispatch grants what fits, in the order of arrival. The first that finds its share
// free and the budget not has a claim on what is released next: smaller ones behind
// it that went first could do so for ever.
func (l *Ledger) dispatch() {
	for i := 0; i < len(l.waiting); {
		c := l.waiting[i]
		if !l.fitsShare(c.r, c.bytes) {
			i++
			continue
		}
		if !l.fitsBudget(c.bytes) {
			return
		}
		l.waiting = slices.Delete(l.waiting, i, i+1)
		l.holding(c.r.holder).waiting--
		l.grant(c.r, c.bytes)
		c.granted = true
		close(c.ready)
	}
}

// LedgerStats counts what a Ledger did, and shows what it holds.
type LedgerStats struct {
	Waited   uint64
	Refused  uint64
	MostHeld int64 // so far

	Held    int64
	Holders int
	Waiting int
}

// Stats returns the counts so far.
func (l *Ledger) Stats() LedgerStats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.stats
	s.Held, s.Holders, s.Waiting = l.held, len(l.holders), len(l.waiting)
	return s
}
