package auth

import (
	"crypto/sha256"
	"net/netip"
	"sync"
	"time"
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
	// goodAllowance is what a pair has instead for a day after a success, on
	// its own: strangers cannot use up what the owner's network has.
	goodAllowance = allowance{20, 15 * time.Minute}
	// sourceAllowance is of failures from one address, over all names.
	sourceAllowance = allowance{30, 15 * time.Minute}
	// nameAllowance is of failures for one name from everywhere. Beyond it
	// nothing is refused, since that would lock out the owner; it takes longer.
	nameAllowance = allowance{100, time.Hour}
)

const (
	nameDelay = time.Second
	goodFor   = 24 * time.Hour
	// throttleMost bounds the memory for buckets, and for good networks.
	throttleMost = 100_000
)

// class tells buckets of one kind from those of another.
type class uint8

const (
	pairClass class = iota + 1
	goodClass
	sourceClass
	nameClass
	keyClass
	addressClass // one name from one address; never a bucket, only noted as good
)

func (c class) allowance() allowance {
	switch c {
	case pairClass:
		return pairAllowance
	case goodClass:
		return goodAllowance
	case nameClass:
		return nameAllowance
	default:
		return sourceAllowance
	}
}

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
	// full is when a bucket will have all its tokens again; one that is not
	// there has them.
	full *lru[bucket, time.Time]
	// good has the last success of a name from a network, and from an address.
	good *lru[bucket, time.Time]
}

func newThrottle() *throttle {
	return &throttle{full: newLRU[bucket, time.Time](throttleMost), good: newLRU[bucket, time.Time](throttleMost)}
}

// try is an attempt under way: it holds tokens as if it had failed already, so
// that many at once count like as many in a row.
type try struct {
	from  buckets
	taken []bucket
	delay time.Duration
}

// buckets are those that an attempt belongs to.
type buckets struct {
	pair, source, byName, address bucket
}

func bucketsOf(name string, addr netip.Addr) buckets {
	hash := sha256.Sum256([]byte(name))
	near, exact := network(addr, 24, 48), network(addr, 32, 64)
	return buckets{
		pair:    bucket{pairClass, hash, near},
		source:  bucket{class: sourceClass, prefix: exact},
		byName:  bucket{class: nameClass, name: hash},
		address: bucket{addressClass, hash, exact},
	}
}

// begin takes the tokens of an attempt. Where there are none it says after
// which time there will be, and takes nothing.
func (t *throttle) begin(name string, addr netip.Addr, now time.Time) (try, time.Duration) {
	if t == nil {
		return try{}, 0
	}
	from := bucketsOf(name, addr)
	t.mu.Lock()
	defer t.mu.Unlock()
	needed, wait := t.needed(from, now)
	if wait > 0 {
		return try{}, wait
	}
	a := try{from: from, taken: needed}
	if t.wait(from.byName, now) > 0 {
		a.delay = nameDelay
	} else {
		a.taken = append(a.taken, from.byName)
	}
	for _, b := range a.taken {
		t.take(b, now)
	}
	return a, 0
}

// needed returns the buckets that an attempt must have tokens in, and how long
// it is until they all have.
func (t *throttle) needed(from buckets, now time.Time) ([]bucket, time.Duration) {
	needed := []bucket{from.pair, from.source}
	if t.isGood(from.pair, now) {
		needed = []bucket{{goodClass, from.pair.name, from.pair.prefix}}
	}
	var wait time.Duration
	for _, b := range needed {
		wait = max(wait, t.wait(b, now))
	}
	return needed, wait
}

// recall decides about a password that is remembered as right. An address that
// logged in before is never kept waiting; any other is while it has failed too
// often, or guesses would be free for as long as the owner's password is
// remembered.
func (t *throttle) recall(name string, addr netip.Addr, now time.Time) time.Duration {
	if t == nil {
		return 0
	}
	from := bucketsOf(name, addr)
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.isGood(from.address, now) {
		if _, wait := t.needed(from, now); wait > 0 {
			return wait
		}
	}
	t.note(from, now)
	return 0
}

func (t *throttle) isGood(b bucket, now time.Time) bool {
	last, ok := t.good.get(b)
	return ok && now.Sub(last) < goodFor
}

func (t *throttle) note(from buckets, now time.Time) {
	t.good.put(from.pair, now)
	t.good.put(from.address, now)
}

// withdraw gives back the tokens of an attempt that was neither right nor
// wrong.
func (t *throttle) withdraw(a try) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.giveBack(a)
}

// succeed gives back the tokens of a right attempt and notes its network.
func (t *throttle) succeed(a try, now time.Time) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.giveBack(a)
	t.note(a.from, now)
}

// noise counts a wrong API key and returns how long its address has to wait
// where there were too many. Keys have buckets of their own: a server with an
// old key does not keep its people from logging in.
func (t *throttle) noise(addr netip.Addr, now time.Time) time.Duration {
	if t == nil {
		return 0
	}
	b := bucket{class: keyClass, prefix: network(addr, 32, 64)}
	t.mu.Lock()
	defer t.mu.Unlock()
	wait := t.wait(b, now)
	if wait == 0 {
		t.take(b, now)
	}
	return wait
}

// wait returns how long it is until the bucket has a token.
func (t *throttle) wait(b bucket, now time.Time) time.Duration {
	full, ok := t.full.get(b)
	if !ok {
		return 0
	}
	a := b.class.allowance()
	return max(0, full.Add(a.token()).Sub(now)-a.per)
}

func (t *throttle) take(b bucket, now time.Time) {
	full, ok := t.full.get(b)
	if !ok || full.Before(now) {
		full = now
	}
	t.full.put(b, full.Add(b.class.allowance().token()))
}

func (t *throttle) giveBack(a try) {
	for _, b := range a.taken {
		if full, ok := t.full.get(b); ok {
			t.full.put(b, full.Add(-b.class.allowance().token()))
		}
	}
}

// token is the time in which one token comes back.
func (a allowance) token() time.Duration { return a.per / time.Duration(a.count) }

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
