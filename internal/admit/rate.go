package admit

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Rate is how often somebody may call.
type Rate struct {
	Name  string // as the RateLimit headers show it: lower-case letters, digits and -
	Count int    // calls in each Per; none at all means no limit
	Per   time.Duration
	Burst int // calls at once after a quiet time; Count where it is 0
}

// Key is whose calls are counted: those of an account, of an account from the
// pages of an entry of its list in a network, or of a source.
type Key struct {
	Rate    string // a Rate's name, so that several rates for one caller stay apart
	Account int64
	Origin  string
	Network netip.Prefix
}

// ByAccount counts all calls of an account.
func ByAccount(rate string, account int64) Key { return Key{Rate: rate, Account: account} }

// ByOrigin counts the calls that pages make as an account, from the network of a
// visitor. Origin is the entry of the account's list that the page's falls under:
// what a caller sends is spelled in many ways, and below a wildcard are as many
// hosts as it likes.
func ByOrigin(rate string, account int64, origin string, source netip.Addr) Key {
	return Key{Rate: rate, Account: account, Origin: origin, Network: network(source)}
}

// BySource counts the calls from an address.
func BySource(rate string, source netip.Addr) Key { return Key{Rate: rate, Network: network(source)} }

// BySourceOf counts the calls of an account from an address.
func BySourceOf(rate string, account int64, source netip.Addr) Key {
	return Key{Rate: rate, Account: account, Network: network(source)}
}

// NetworkOf returns the addresses that count as those of one caller.
func NetworkOf(source netip.Addr) netip.Prefix { return network(source) }

// network is what one caller can choose its addresses from: one of IPv4, a /64
// of IPv6.
func network(source netip.Addr) netip.Prefix {
	source = source.Unmap().WithZone("")
	length := 32
	if source.Is6() {
		length = 64
	}
	p, _ := source.Prefix(length) // the zero Prefix for the zero Addr
	return p
}

// LimiterOptions say how a Limiter works. The zero value is for production.
type LimiterOptions struct {
	Clock     func() time.Time // time.Now where it is nil
	MaxKeys   int              // callers remembered at once; 100,000 where it is 0
	Unlimited bool             // let everybody through, as in development
	// Shared has the buckets of all nodes, and is asked where there are several; nil where there is one.
	Shared Buckets
}

// Limiter counts calls by their keys. It is safe for concurrent use.
//
// Each key has the time at which its allowance would be full again, which is
// all that the leaky bucket needs (as GCRA does it). A key whose time has passed
// is like one never seen, so forgetting it loses nothing.
//
// Among several nodes it has blocks of tokens, which it draws from buckets of all. While it cannot, it counts
// for itself.
type Limiter struct {
	clock     func() time.Time
	start     time.Time
	unlimited bool
	seed      uint64
	shards    [shardCount]shard

	shared              Buckets      // nil where there is one node
	awayUntil           atomic.Int64 // when they are asked again, since the start
	draws, drawFailures atomic.Uint64
}

const shardCount = 16

type shard struct {
	mu      sync.Mutex
	buckets map[Key]*bucket
	blocks  map[Key]*block
	most    int // of each
	allowed uint64
	refused uint64
	evicted uint64
}

type bucket struct {
	fullAt time.Duration // when it is, since the limiter's start
}

// NewLimiter returns a limiter.
func NewLimiter(o LimiterOptions) *Limiter {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.MaxKeys <= 0 {
		o.MaxKeys = 100_000
	}
	l := &Limiter{clock: o.Clock, start: o.Clock(), unlimited: o.Unlimited, shared: o.Shared, seed: maphash.Bytes(maphash.MakeSeed(), nil)}
	for i := range l.shards {
		l.shards[i].most = max(1, o.MaxKeys/shardCount)
		l.shards[i].buckets, l.shards[i].blocks = map[Key]*bucket{}, map[Key]*block{}
	}
	return l
}

// Verdict is what a Limiter says to a call.
type Verdict struct {
	OK         bool
	Rate       Rate
	Remaining  int           // calls that would be taken at once now
	Reset      time.Duration // until the burst is full again
	RetryAfter time.Duration // until the next call is taken, where this one was not
}

// Err returns nil, or the *Refused of a call that was not taken.
func (v *Verdict) Err() error {
	if v.OK {
		return nil
	}
	return &Refused{Reason: RateExceeded, RetryAfter: v.RetryAfter, Rate: v.Rate.Name, Limit: v.Rate.Count}
}

// Allow counts a call, and tells whether it is taken.
func (l *Limiter) Allow(k Key, r Rate) Verdict {
	if r.Burst <= 0 {
		r.Burst = r.Count
	}
	if l.unlimited || r.Count <= 0 || r.Per <= 0 {
		return Verdict{OK: true, Rate: r, Remaining: r.Burst}
	}
	if l.shared != nil {
		if nodes := l.shared.Nodes(); nodes > 1 {
			if v, ok := l.allowShared(&k, &r, nodes); ok {
				return v
			}
		}
	}
	// The clock's monotonic reading, where it has one, makes the limiter deaf to
	// changes of the time of day.
	now := l.clock().Sub(l.start)
	each := max(1, r.Per/time.Duration(r.Count))
	depth := each * time.Duration(r.Burst)
	s := l.shard(&k)
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.buckets[k]
	fullAt := now + each
	if b != nil {
		fullAt = max(b.fullAt, now) + each
	}
	if over := fullAt - now - depth; over > 0 {
		s.refused++
		return Verdict{Rate: r, Reset: fullAt - each - now, RetryAfter: over}
	}
	s.allowed++
	if b == nil {
		s.evict(now)
		b = new(bucket)
		s.buckets[k] = b
	}
	b.fullAt = fullAt
	return Verdict{OK: true, Rate: r, Remaining: int((depth - (fullAt - now)) / each), Reset: fullAt - now}
}

// shard returns where a key is kept. It need only spread keys, not hide where
// they go: a shard is a bounded map that hashes them with care.
func (l *Limiter) shard(k *Key) *shard {
	address := k.Network.Addr().As16()
	h := uint64(k.Account) + binary.LittleEndian.Uint64(address[:8]) + bits.RotateLeft64(binary.LittleEndian.Uint64(address[8:]), 29)
	high, low := bits.Mul64(h^l.seed, 0x9e3779b97f4a7c15)
	return &l.shards[(high^low)%shardCount]
}

// probes is how many keys a new one probes at for one to evict. Two would keep
// the idle ones few; more find a better one to give up when all are in use.
const probes = 8

// evict forgets idle keys before a new one is added, and where the shard is
// full gives up the one with the least to forget of those it probes at.
func (s *shard) evict(now time.Duration) {
	var least Key
	var when time.Duration
	seen := 0
	for k, b := range s.buckets {
		if b.fullAt <= now {
			delete(s.buckets, k)
			s.evicted++
		} else if when == 0 || b.fullAt < when {
			least, when = k, b.fullAt
		}
		if seen++; seen == probes {
			break
		}
	}
	if len(s.buckets) >= s.most {
		delete(s.buckets, least)
		s.evicted++
	}
}

// LimiterStats counts what a Limiter did.
type LimiterStats struct {
	Allowed uint64
	Refused uint64
	Evicted uint64 // keys forgotten
	Keys    int    // remembered now

	// Of the buckets of all nodes: how often they were asked, and how often in vain.
	Draws, DrawFailures uint64
}

// Stats returns the counts so far.
func (l *Limiter) Stats() LimiterStats {
	t := LimiterStats{Draws: l.draws.Load(), DrawFailures: l.drawFailures.Load()}
	for i := range l.shards {
		s := &l.shards[i]
		s.mu.Lock()
		t.Allowed += s.allowed
		t.Refused += s.refused
		t.Evicted += s.evicted
		t.Keys += len(s.buckets) + len(s.blocks)
		s.mu.Unlock()
	}
	return t
}

// Policy returns the value of the RateLimit-Policy header, which stays the same
// from answer to answer: the quota and its window in seconds.
func (v *Verdict) Policy() string {
	b := append([]byte{'"'}, v.Rate.Name...)
	b = append(b, `";q=`...)
	b = strconv.AppendInt(b, int64(v.Rate.Count), 10)
	b = append(b, ";w="...)
	return string(strconv.AppendInt(b, seconds(v.Rate.Per), 10))
}

// Limit returns the value of the RateLimit header: what remains now, and in how
// many seconds it is full again, or, where nothing remains, in how many the
// next call is taken.
func (v *Verdict) Limit() string {
	b := append([]byte{'"'}, v.Rate.Name...)
	b = append(b, `";r=`...)
	b = strconv.AppendInt(b, int64(v.Remaining), 10)
	b = append(b, ";t="...)
	wait := v.Reset
	if !v.OK {
		wait = v.RetryAfter
	}
	return string(strconv.AppendInt(b, seconds(wait), 10))
}
