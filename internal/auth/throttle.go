package auth

import (
	"context"
	"crypto/sha256"
	"net/netip"
	"sync"
	"time"

	"ql/internal/admit"
)

// allowance is a bucket of tokens: count at once, and as many again in every
// span of time.
type allowance struct {
	count int
	per   time.Duration
}

var (
	// pairAllowance is of failures for one name from one network.
	pairAllowance = allowance{10, 15 * time.Minute}
	// knownAllowance is what a pair has instead for a day after a success, on
	// its own: strangers cannot use up what the owner's network has.
	knownAllowance = allowance{20, 15 * time.Minute}
	// sourceAllowance is of failures from one address, over all names, and
	// nearAllowance of those from the network around it: who has one address often
	// has its neighbours too.
	sourceAllowance = allowance{30, 15 * time.Minute}
	nearAllowance   = allowance{120, 15 * time.Minute}
	// wideAllowance is of those from a provider's whole network. Nothing is refused
	// beyond it; it says who goes first where many wait.
	wideAllowance = allowance{480, 15 * time.Minute}
	// nameAllowance is of failures for one name from everywhere. Beyond it
	// nothing is refused, since that would lock out the owner; it takes longer.
	nameAllowance = allowance{100, time.Hour}
)

const (
	nameDelay = time.Second
	knownFor  = 24 * time.Hour
	// maxNameBuckets and maxSourceBuckets bound the memory for buckets. They are kept apart:
	// who makes up names does not make us forget where from.
	maxNameBuckets   = 50_000
	maxSourceBuckets = 50_000
)

// class tells buckets of one kind from those of another.
type class uint8

const (
	pairClass class = iota + 1
	knownClass
	nameClass
	sourceClass
	nearClass
	wideClass
	keyClass
	keyNearClass
)

func (c class) allowance() allowance {
	switch c {
	case pairClass:
		return pairAllowance
	case knownClass:
		return knownAllowance
	case nameClass:
		return nameAllowance
	case nearClass, keyNearClass:
		return nearAllowance
	case wideClass:
		return wideAllowance
	default:
		return sourceAllowance
	}
}

// isOfName tells whether buckets of the class belong to a name.
func (c class) isOfName() bool { return c == pairClass || c == knownClass || c == nameClass }

// bucket names a bucket. Names are those that callers gave, whether accounts
// have them or not: a bucket tells nobody which do.
type bucket struct {
	class  class
	name   [sha256.Size]byte
	prefix netip.Prefix
}

// throttle counts failed log-ins. A nil throttle counts none.
type throttle struct {
	mu sync.Mutex
	// names and sources have when a bucket will have all its tokens again; one
	// that is not there has them.
	names, sources *lru[bucket, time.Time]
	known          *knownNetworks

	// shared has what failed at all nodes; nil where there is one. What is read there is kept in the buckets
	// here: who has used up what he has is refused without a look.
	shared admit.Buckets
}

func newThrottle(shared admit.Buckets) *throttle {
	return &throttle{shared: shared, names: newLRU[bucket, time.Time](maxNameBuckets), sources: newLRU[bucket, time.Time](maxSourceBuckets), known: newKnownNetworks()}
}

// attempt is a log-in under way: it holds tokens as if it had failed already, so
// that many at once count like as many in a row.
type attempt struct {
	from  source
	spent []bucket
	known bool          // the name logged in from this network before
	debt  time.Duration // what was tried of late from where it comes
	delay time.Duration
}

// source is where an attempt comes from, and for whom.
type source struct {
	name              [sha256.Size]byte
	exact, near, wide netip.Prefix
}

func sourceOfName(name string, addr netip.Addr) source {
	o := sourceOf(addr)
	o.name = sha256.Sum256([]byte(name))
	return o
}

func sourceOf(addr netip.Addr) source {
	return source{exact: network(addr, 32, 64), near: network(addr, 24, 48), wide: network(addr, 16, 32)}
}

func (o source) pair() bucket      { return bucket{pairClass, o.name, o.near} }
func (o source) knownPair() bucket { return bucket{knownClass, o.name, o.near} }
func (o source) byName() bucket    { return bucket{class: nameClass, name: o.name} }

// begin takes the tokens of an attempt. Where there are none it says after
// which time there will be, and takes nothing.
func (t *throttle) begin(name string, addr netip.Addr, now time.Time) (attempt, time.Duration) {
	if t == nil {
		return attempt{from: sourceOf(addr)}, 0
	}
	from := sourceOfName(name, addr)
	t.mu.Lock()
	defer t.mu.Unlock()
	a := attempt{from: from, known: t.known.has(from.name, from.near, now)}
	needed, wait := t.needed(from, a.known, now)
	if wait > 0 {
		return attempt{}, wait
	}
	a.spent = needed
	if !a.known {
		a.spent = append(a.spent, bucket{class: wideClass, prefix: from.wide})
	}
	for _, b := range a.spent {
		if b.class != pairClass {
			a.debt += t.debt(b, now)
		}
	}
	if t.wait(from.byName(), now) > 0 {
		a.delay = nameDelay
	} else {
		a.spent = append(a.spent, from.byName())
	}
	for _, b := range a.spent {
		t.spend(b, now)
	}
	return a, 0
}

// needed returns the buckets that an attempt must have tokens in, and how long
// it is until they all have.
func (t *throttle) needed(from source, known bool, now time.Time) ([]bucket, time.Duration) {
	needed := []bucket{from.pair(), {class: sourceClass, prefix: from.exact}, {class: nearClass, prefix: from.near}}
	if known {
		needed = []bucket{from.knownPair()}
	}
	return needed, t.longest(needed, now)
}

func (t *throttle) longest(of []bucket, now time.Time) (wait time.Duration) {
	for _, b := range of {
		wait = max(wait, t.wait(b, now))
	}
	return wait
}

// checkVerified decides about a password that is remembered as right. An address that
// logged in before is never kept waiting; any other is while it has failed too
// often, or guesses would be free for as long as the owner's password is
// remembered.
func (t *throttle) checkVerified(name string, addr netip.Addr, now time.Time) time.Duration {
	if t == nil {
		return 0
	}
	from := sourceOfName(name, addr)
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.known.has(from.name, from.exact, now) {
		if _, wait := t.needed(from, t.known.has(from.name, from.near, now), now); wait > 0 {
			return wait
		}
	}
	t.known.add(from, now)
	return 0
}

// sharedTimeout is for how long an attempt waits for what other nodes know; without that, a node goes by what it knows
// itself.
const sharedTimeout = time.Second

// amongOthers tells whether other nodes count failures too.
func (t *throttle) amongOthers() bool { return t != nil && t.shared != nil && t.shared.Nodes() > 1 }

// checkOthers reads what failed at all nodes, before an attempt is hashed. Where there is nothing left for it, its
// tokens are given back, and it says after which time there will be.
func (t *throttle) checkOthers(ctx context.Context, a *attempt, now time.Time) time.Duration {
	if !t.amongOthers() || len(a.spent) == 0 {
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, sharedTimeout)
	defer cancel()
	keys := make([][sha256.Size]byte, len(a.spent))
	for i := range a.spent {
		keys[i] = a.spent[i].hash()
	}
	debts, err := t.shared.Debts(ctx, keys)
	if err != nil {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refund(a.spent)
	var wait time.Duration
	for i, b := range a.spent {
		if debts[i] > t.debt(b, now) && debts[i] <= b.class.allowance().per+admit.ClockJump {
			t.buckets(b.class).Add(b, now.Add(debts[i]))
		}
		switch b.class {
		case wideClass:
		case nameClass:
			if t.wait(b, now) > 0 {
				a.delay = nameDelay
			}
		default:
			wait = max(wait, t.wait(b, now))
		}
	}
	if wait > 0 {
		a.spent = nil
		return wait
	}
	for _, b := range a.spent {
		t.spend(b, now)
	}
	return 0
}

// tellOthers has other nodes count what an attempt, or a wrong key, has spent.
func (t *throttle) tellOthers(ctx context.Context, spent []bucket) {
	if !t.amongOthers() || len(spent) == 0 {
		return
	}
	list := make([]admit.Spent, len(spent))
	for i, b := range spent {
		a := b.class.allowance()
		list[i] = admit.Spent{Key: b.hash(), Each: a.token(), Depth: a.per}
	}
	// A caller who goes away has failed no less.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sharedTimeout)
	defer cancel()
	_ = t.shared.Spend(ctx, list) // this node counts it anyway
}

// hash is the bucket as all nodes have it.
func (b bucket) hash() [sha256.Size]byte {
	prefix, _ := b.prefix.MarshalBinary() // never fails
	text := append([]byte{'l', 'o', 'g', '-', 'i', 'n', ' ', byte(b.class)}, b.name[:]...)
	return sha256.Sum256(append(text, prefix...))
}

// withdraw gives back the tokens of an attempt that was neither right nor
// wrong, through no doing of its caller's.
func (t *throttle) withdraw(a attempt) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refund(a.spent)
}

// abort keeps what an attempt cost that nothing was checked of: it was one too
// many, or its caller went away. It has told nothing of the name's password, and
// so costs the name nothing.
func (t *throttle) abort(a attempt) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, b := range a.spent {
		if b.class == pairClass || b.class == nameClass {
			t.refund([]bucket{b})
		}
	}
}

// succeed gives back the tokens of a right attempt and notes its network.
func (t *throttle) succeed(a attempt, now time.Time) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refund(a.spent)
	t.known.add(a.from, now)
}

// countWrongKey counts a wrong API key and returns how long its address has to wait
// where there were too many. Keys have buckets of their own: a server with an
// old key does not keep its people from logging in.
func (t *throttle) countWrongKey(ctx context.Context, addr netip.Addr, now time.Time) time.Duration {
	if t == nil {
		return 0
	}
	from := sourceOf(addr)
	a := attempt{from: from, spent: []bucket{{class: keyClass, prefix: from.exact}, {class: keyNearClass, prefix: from.near}}}
	if wait := t.spendAll(a.spent, now); wait > 0 {
		return wait
	}
	if wait := t.checkOthers(ctx, &a, now); wait > 0 {
		return wait
	}
	t.tellOthers(ctx, a.spent)
	return 0
}

// spendAll takes a token out of each bucket. Where one has none it says after which time it will, and takes nothing.
func (t *throttle) spendAll(list []bucket, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	wait := t.longest(list, now)
	if wait == 0 {
		for _, b := range list {
			t.spend(b, now)
		}
	}
	return wait
}

func (t *throttle) buckets(c class) *lru[bucket, time.Time] {
	if c.isOfName() {
		return t.names
	}
	return t.sources
}

// wait returns how long it is until the bucket has a token.
func (t *throttle) wait(b bucket, now time.Time) time.Duration {
	a := b.class.allowance()
	return max(0, t.debt(b, now)+a.token()-a.per)
}

// debt returns how long it is until the bucket has all its tokens.
func (t *throttle) debt(b bucket, now time.Time) time.Duration {
	full, ok := t.buckets(b.class).Get(b)
	if !ok {
		return 0
	}
	return max(0, full.Sub(now))
}

func (t *throttle) spend(b bucket, now time.Time) {
	a := b.class.allowance()
	debt := t.debt(b, now) + a.token()
	if b.class == wideClass {
		debt = min(debt, a.per)
	}
	t.buckets(b.class).Add(b, now.Add(debt))
}

func (t *throttle) refund(spent []bucket) {
	for _, b := range spent {
		if full, ok := t.buckets(b.class).Get(b); ok {
			t.buckets(b.class).Add(b, full.Add(-b.class.allowance().token()))
		}
	}
}

// token is the time in which one token comes back.
func (a allowance) token() time.Duration { return a.per / time.Duration(a.count) }

// Network returns the network around an address, which is what logs show of a caller.
func Network(addr netip.Addr) netip.Prefix { return sourceOf(addr).near }

// network returns the address up to a number of bits. Addresses that are not
// known share one.
func network(addr netip.Addr, bits4, bits6 int) netip.Prefix {
	addr = addr.Unmap().WithZone("")
	bits := bits6
	if addr.Is4() {
		bits = bits4
	}
	p, err := addr.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}
