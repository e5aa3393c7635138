package auth

import (
	"context"
	"crypto/sha256"
	"errors"
	"maps"
	"net/netip"
	"testing"
	"time"

	"ql/internal/admit"
)

// sharedFailures are buckets of two nodes in memory.
type sharedFailures struct {
	admit.Buckets
	debts       map[[sha256.Size]byte]time.Duration
	reads, made int
	fail        error
}

func (*sharedFailures) Nodes() int { return 2 }

func (s *sharedFailures) Debts(_ context.Context, keys [][sha256.Size]byte) ([]time.Duration, error) {
	s.reads++
	list := make([]time.Duration, len(keys))
	for i, k := range keys {
		list[i] = s.debts[k]
	}
	return list, s.fail
}

func (s *sharedFailures) Spend(_ context.Context, list []admit.Spent) error {
	s.made++
	for _, one := range list {
		s.debts[one.Key] = min(s.debts[one.Key]+one.Each, one.Depth)
	}
	return s.fail
}

// TestThrottleOfNodes: guesses at two nodes count as at one.
func TestThrottleOfNodes(t *testing.T) {
	shared := &sharedFailures{debts: map[[sha256.Size]byte]time.Duration{}}
	nodes := []*throttle{newThrottle(shared), newThrottle(shared)}
	now, addr := time.Unix(1e9, 0), netip.MustParseAddr("192.0.2.7")
	guess := func(th *throttle) bool {
		a, wait := th.begin("ada", addr, now)
		if wait == 0 {
			wait = th.checkOthers(t.Context(), &a, now)
		}
		if wait > 0 {
			return false
		}
		th.tellOthers(t.Context(), a.spent)
		return true
	}
	tried := 0
	for i := range 40 {
		if guess(nodes[i%2]) {
			tried++
		}
	}
	if tried != pairAllowance.count {
		t.Errorf("%d guesses were made, and not %d", tried, pairAllowance.count)
	}
	if shared.made != tried || shared.reads > tried+2 {
		t.Errorf("%d guesses took %d reads and %d changes", tried, shared.reads, shared.made)
	}

	// The clock of the store was set back by hours.
	before := maps.Clone(shared.debts)
	for k := range shared.debts {
		shared.debts[k] += 3 * time.Hour
	}
	if other := newThrottle(shared); !guess(other) {
		t.Error("after a jump of the clock nobody may log in for hours")
	}
	shared.debts, shared.made = before, tried

	// What succeeds costs nothing.
	if a, wait := nodes[0].begin("bob", addr, now); wait > 0 || nodes[0].checkOthers(t.Context(), &a, now) > 0 {
		t.Error("another name is refused")
	} else {
		nodes[0].succeed(a, now)
	}
	if shared.made != tried {
		t.Error("a success was counted")
	}

	// Keys have their own, and a store that fails leaves each node to itself.
	wrong := 0
	for i := range 100 {
		if nodes[i%2].countWrongKey(t.Context(), addr, now) == 0 {
			wrong++
		}
	}
	if wrong != sourceAllowance.count {
		t.Errorf("%d wrong keys were looked at", wrong)
	}
	shared.fail = errors.New("the store is away")
	wrong = 0
	for range 100 {
		if nodes[0].countWrongKey(t.Context(), netip.MustParseAddr("198.51.100.1"), now) == 0 {
			wrong++
		}
	}
	if wrong != sourceAllowance.count {
		t.Errorf("without the store %d wrong keys were looked at", wrong)
	}
}
