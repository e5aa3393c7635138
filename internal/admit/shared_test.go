package admit

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/netip"
	"sync"
	"testing"
	"time"
)

// sharedBuckets are buckets of several nodes in memory, by a clock of the test's.
type sharedBuckets struct {
	Buckets
	nodes int
	now   func() time.Time

	mu     sync.Mutex
	fullAt map[[sha256.Size]byte]time.Time
	asked  int
	fail   error
}

func (b *sharedBuckets) Nodes() int { return b.nodes }

func (b *sharedBuckets) Draw(_ context.Context, d Draw) (Drawn, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked++
	if b.fail != nil {
		return Drawn{}, b.fail
	}
	now := b.now()
	full := b.fullAt[d.Key].Add(-d.Back)
	if full.Before(now) {
		full = now
	}
	n := min(d.Tokens, int((d.Depth-full.Sub(now))/d.Each))
	full = full.Add(time.Duration(n) * d.Each)
	b.fullAt[d.Key] = full
	return Drawn{Tokens: n, Debt: full.Sub(now)}, nil
}

// nodes are limiters of several nodes by one clock.
func newNodes(n int) (nodes []*Limiter, shared *sharedBuckets, pass func(time.Duration)) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	shared = &sharedBuckets{nodes: n, now: clock, fullAt: map[[sha256.Size]byte]time.Time{}}
	for range n {
		nodes = append(nodes, NewLimiter(LimiterOptions{Clock: clock, Shared: shared}))
	}
	return nodes, shared, func(d time.Duration) { now = now.Add(d) }
}

// TestRateOfAllNodes: who calls all nodes gets what the rate gives, and no more, and the store is asked for few of
// the calls.
func TestRateOfAllNodes(t *testing.T) {
	nodes, shared, pass := newNodes(3)
	rate := Rate{Name: "calls", Count: 600, Per: time.Minute, Burst: 120}
	taken := 0
	const seconds = 30
	for step := range seconds * 100 {
		for range 2 {
			for _, l := range nodes {
				if v := l.Allow(ByAccount("calls", 1), rate); v.OK {
					taken++
				} else if v.RetryAfter <= 0 || v.Err() == nil {
					t.Fatalf("step %d: refused with %+v", step, v)
				}
			}
		}
		pass(10 * time.Millisecond)
	}
	if want := rate.Burst + seconds*10; taken > want || taken < want*9/10 {
		t.Errorf("%d calls were taken, and not %d", taken, want)
	}
	if shared.asked > seconds*100/2 {
		t.Errorf("the store was asked %d times about %d calls", shared.asked, seconds*600)
	}
	if v := nodes[0].Allow(ByAccount("calls", 2), rate); !v.OK || v.Remaining != rate.Burst-1 {
		t.Errorf("another account: %+v", v)
	}
}

// TestSteadyCallsAreTaken: who calls as often as the rate allows, at whichever node, is never refused: what one
// node draws and does not need is there for the others.
func TestSteadyCallsAreTaken(t *testing.T) {
	rate := Rate{Name: "calls", Count: 600, Per: time.Minute, Burst: 60}
	for _, each := range []time.Duration{100 * time.Millisecond, 130 * time.Millisecond, 1100 * time.Millisecond} {
		nodes, _, pass := newNodes(3)
		for i := range 1000 {
			if v := nodes[i%3].Allow(ByAccount("calls", 1), rate); !v.OK {
				t.Fatalf("one call each %v: number %d is refused: %+v", each, i, v)
			}
			pass(each)
		}
	}
}

// TestOneNodeAsksNobody: alone, and while the store does not answer, a node counts for itself.
func TestOneNodeAsksNobody(t *testing.T) {
	rate := Rate{Name: "calls", Count: 60, Per: time.Minute, Burst: 5}
	count := func(l *Limiter) (taken int) {
		for range 20 {
			if v := l.Allow(ByAccount("calls", 1), rate); v.OK {
				taken++
			}
		}
		return taken
	}
	nodes, shared, _ := newNodes(1)
	if n := count(nodes[0]); n != 5 || shared.asked != 0 {
		t.Errorf("alone it took %d calls, and asked %d times", n, shared.asked)
	}
	nodes, shared, pass := newNodes(2)
	shared.fail = errors.New("the store is away")
	if n := count(nodes[0]); n != 5 || shared.asked != 1 {
		t.Errorf("without the store it took %d calls, and asked %d times", n, shared.asked)
	}
	if s := nodes[0].Stats(); s.Draws != 1 || s.DrawFailures != 1 {
		t.Errorf("%+v", s)
	}
	shared.fail = nil
	pass(awayFor)
	if n := count(nodes[0]) + count(nodes[1]); n != 5 {
		t.Errorf("with the store again both took %d calls", n)
	}
}

// TestRefusedAskRarely: who is refused makes no work for the store.
func TestRefusedAskRarely(t *testing.T) {
	nodes, shared, _ := newNodes(2)
	rate := Rate{Name: "misses", Count: 6, Per: time.Minute}
	key := BySource("misses", netip.MustParseAddr("192.0.2.1"))
	for range 1000 {
		nodes[0].Allow(key, rate)
	}
	if shared.asked > 8 {
		t.Errorf("the store was asked %d times", shared.asked)
	}
}

// TestBlocksAreBounded: callers that never come again are forgotten.
func TestBlocksAreBounded(t *testing.T) {
	_, shared, _ := newNodes(2)
	l := NewLimiter(LimiterOptions{Clock: shared.now, Shared: shared, MaxKeys: 160})
	rate := Rate{Name: "visits", Count: 60, Per: time.Minute}
	for i := range 10_000 {
		l.Allow(BySource("visits", netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})), rate)
	}
	if s := l.Stats(); s.Keys > 160 || s.Allowed != 10_000 {
		t.Errorf("%+v", s)
	}
}

// TestKeysOfAllNodes: keys that differ have buckets that do.
func TestKeysOfAllNodes(t *testing.T) {
	a := netip.MustParseAddr("192.0.2.1")
	seen := map[[sha256.Size]byte]int{}
	for i, k := range []Key{
		ByAccount("a", 1), ByAccount("a", 2), ByAccount("ab", 1), BySource("a", a), BySourceOf("a", 1, a), ByOrigin("a", 1, "b", a),
		{Rate: "a", Account: 1, Origin: "b"}, {Rate: "a", Origin: "b"}, {Rate: "", Origin: "ab"},
	} {
		if other, found := seen[k.hash()]; found {
			t.Errorf("keys %d and %d are one", other, i)
		}
		seen[k.hash()] = i
	}
}
