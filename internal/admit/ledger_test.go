package admit

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func reserve(t *testing.T, l *Ledger, h Holder, bytes int64) *Reservation {
	t.Helper()
	r, err := l.Reserve(t.Context(), h, bytes)
	if err != nil {
		t.Fatalf("%d bytes: %v", bytes, err)
	}
	return r
}

func refusal(t *testing.T, err error) Reason {
	t.Helper()
	var r *Refused
	if !errors.As(err, &r) {
		t.Fatalf("%v is not a refusal", err)
	}
	return r.Reason
}

func isEmpty(t *testing.T, l *Ledger) {
	t.Helper()
	if s := l.Stats(); s.Held != 0 || s.Holders != 0 || s.Waiting != 0 {
		t.Errorf("left in the ledger: %+v", s)
	}
}

// TestLedgerShares holds each account and each network to an eighth.
func TestLedgerShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLedger(LedgerOptions{Budget: 800})
		near := NetworkHolder(netip.MustParseAddr("2001:db8::1"))
		a := reserve(t, l, AccountHolder(1), 100)
		n := reserve(t, l, near, 100)
		_, err := l.Reserve(t.Context(), AccountHolder(1), 1)
		if refusal(t, err) != AccountMemory {
			t.Error(err)
		}
		_, err = l.Reserve(t.Context(), NetworkHolder(netip.MustParseAddr("2001:db8::2")), 1)
		if refusal(t, err) != NetworkMemory {
			t.Error(err)
		}
		b := reserve(t, l, AccountHolder(2), 100)
		for _, r := range []*Reservation{a, n, b} {
			r.Release()
			r.Release()
		}
		isEmpty(t, l)
	})
}

// TestLedgerFirstOfAccount lets one reservation of an account have more than its
// share, up to half of the budget, where the others are small; and a network never.
func TestLedgerFirstOfAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLedger(LedgerOptions{Budget: 800})
		r := reserve(t, l, AccountHolder(1), 90)
		if err := r.Grow(t.Context(), 310); err != nil {
			t.Error(err)
		}
		if err := r.Grow(t.Context(), 1); refusal(t, err) != TooLarge {
			t.Error(err)
		}
		if _, err := l.Reserve(t.Context(), AccountHolder(1), 1); refusal(t, err) != AccountMemory {
			t.Error(err)
		}
		small := reserve(t, l, AccountHolder(2), 50)
		large := reserve(t, l, AccountHolder(2), 340)
		if err := small.Grow(t.Context(), 1); refusal(t, err) != AccountMemory {
			t.Error(err)
		}
		small.Release()
		large.Release()
		if _, err := l.Reserve(t.Context(), NetworkHolder(netip.MustParseAddr("192.0.2.1")), 101); refusal(t, err) != TooLarge {
			t.Error(err)
		}
		r.Release()
		isEmpty(t, l)
	})
}

// TestLedgerWaits has those who find no room wait a moment for it, in their order, and
// small ones do not pass a large one for ever.
func TestLedgerWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLedger(LedgerOptions{Budget: 100, Share: 100, Wait: time.Second})
		full := reserve(t, l, AccountHolder(1), 80)
		var order []int
		var mu sync.Mutex
		var all sync.WaitGroup
		for i, bytes := range []int64{60, 10, 20} {
			all.Go(func() {
				r, err := l.Reserve(t.Context(), AccountHolder(int64(i+2)), bytes)
				if err != nil {
					t.Errorf("%d: %v", i, err)
					return
				}
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				r.Release()
			})
			synctest.Wait()
		}
		if s := l.Stats(); s.Waiting != 3 {
			t.Errorf("%d wait", s.Waiting)
		}
		full.Release()
		all.Wait()
		if len(order) != 3 || order[0] != 0 && l.Stats().MostHeld > 100 {
			t.Error(order)
		}
		isEmpty(t, l)

		full = reserve(t, l, AccountHolder(1), 100)
		began := time.Now()
		if _, err := l.Reserve(t.Context(), AccountHolder(2), 1); refusal(t, err) != Overloaded {
			t.Error(err)
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("waited %s", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		patient := l.Open(AccountHolder(2))
		if err := patient.GrowBlocking(ctx, 1); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second+time.Minute {
			t.Error(err, time.Since(began))
		}
		full.Release()
		isEmpty(t, l)
	})
}

// TestLedgerAssign moves what a request holds to the account that it turns out to be.
func TestLedgerAssign(t *testing.T) {
	l := NewLedger(LedgerOptions{Budget: 800, Wait: time.Nanosecond})
	stranger := NetworkHolder(netip.MustParseAddr("192.0.2.1"))
	r := reserve(t, l, stranger, 100)
	if err := r.Assign(AccountHolder(1)); err != nil {
		t.Fatal(err)
	}
	again := reserve(t, l, stranger, 100)
	if err := again.Assign(AccountHolder(1)); refusal(t, err) != AccountMemory {
		t.Error(err)
	}
	r.Release()
	if err := again.Assign(AccountHolder(1)); err != nil {
		t.Error(err)
	}
	again.Release()
	isEmpty(t, l)

	var none *Reservation
	if err := errors.Join(none.Grow(t.Context(), 1<<40), none.Assign(stranger)); err != nil {
		t.Error(err)
	}
	none.Release()
}

// TestLedgerRandom holds the ledger to its bounds whatever holders do.
func TestLedgerRandom(t *testing.T) {
	l := NewLedger(LedgerOptions{Budget: 1000, Wait: time.Millisecond, MaxWaiting: 20, MaxWaitingEach: 4})
	var all sync.WaitGroup
	for g := range uint64(16) {
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, g))
			h := AccountHolder(int64(g % 5))
			if g%5 == 0 {
				h = NetworkHolder(netip.AddrFrom4([4]byte{192, 0, 2, byte(g)}))
			}
			for range 300 {
				r := l.Open(h)
				for range random.IntN(4) {
					_ = r.Grow(t.Context(), random.Int64N(200)) // refused or not
					r.Shrink(random.Int64N(50))
				}
				if random.IntN(3) == 0 {
					_ = r.Assign(AccountHolder(9)) // likewise
				}
				r.Release()
			}
		})
	}
	all.Wait()
	if s := l.Stats(); s.MostHeld > 1000 {
		t.Errorf("held %d of 1000", s.MostHeld)
	}
	isEmpty(t, l)
}
