package password

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// queue is callers at a gate, in a bubble of synctest.
type queue struct {
	*testing.T
	gate   *Gate
	mu     sync.Mutex
	served []string // names, in the order of their turns
	errs   map[string]error
	leaves map[string]func()
}

func newQueue(t *testing.T, o GateOptions) *queue {
	return &queue{T: t, gate: NewGate(o), errs: map[string]error{}, leaves: map[string]func(){}}
}

// enter has somebody ask, and returns when it has a turn, waits, or is refused.
func (q *queue) enter(ctx context.Context, name string, a Request) {
	go func() {
		leave, err := q.gate.Acquire(ctx, a)
		q.mu.Lock()
		defer q.mu.Unlock()
		q.errs[name] = err
		if err == nil {
			q.served = append(q.served, name)
			q.leaves[name] = leave
		}
	}()
	synctest.Wait()
}

// err is what became of somebody.
func (q *queue) err(name string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.errs[name]
}

func (q *queue) ask(name string, a Request) { q.enter(q.Context(), name, a) }

// drain ends one turn after the other, until there are none.
func (q *queue) drain() []string {
	for done := 0; done < len(q.served); done++ {
		q.leaves[q.served[done]]()
		synctest.Wait()
	}
	return q.served
}

// wantIdle checks that nothing is left.
func (q *queue) wantIdle() {
	q.Helper()
	if s := q.gate.Stats(); s.Running+s.Waiting+s.Holders != 0 {
		q.Errorf("left behind: %+v", s)
	}
}

func of(account int64) Request { return Request{Holder: Holder{Account: account}} }

func network(n byte) Holder {
	return Holder{Network: netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 0, n, 0}), 24)}
}

func TestGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, GateOptions{})
		q.ask("first", of(1))
		ctx, cancel := context.WithCancel(t.Context())
		q.enter(ctx, "gone", of(2))
		q.ask("second", of(1))
		if s := q.gate.Stats(); s.Running != 1 || s.Waiting != 2 || s.Holders != 2 {
			t.Errorf("%+v", s)
		}
		cancel()
		synctest.Wait()
		if !errors.Is(q.err("gone"), context.Canceled) {
			t.Errorf("one that was cancelled: %v", q.err("gone"))
		}
		q.enter(ctx, "never", of(1))
		if !errors.Is(q.err("never"), context.Canceled) {
			t.Errorf("one that was cancelled before: %v", q.err("never"))
		}
		if got := q.drain(); !slices.Equal(got, []string{"first", "second"}) {
			t.Errorf("served %v", got)
		}
		q.wantIdle()
		if s := q.gate.Stats(); s.Admitted != 2 || s.Waited != 2 || s.Cancelled != 1 || s.Refused != 0 {
			t.Errorf("%+v", s)
		}

		var open *Gate
		leave, err := open.Acquire(t.Context(), of(1))
		if err != nil {
			t.Fatalf("a nil gate: %v", err)
		}
		leave()
		if open.Stats() != (GateStats{}) {
			t.Error("a nil gate counts")
		}
	})
}

// TestHashesTakeTurns: one that asks for many hashes waits for its own, also where
// it asks again and again.
func TestHashesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, GateOptions{Slots: 1})
		for i := range 10 {
			q.ask(fmt.Sprint("a", i), of(1))
		}
		q.ask("b0", of(2))
		q.ask("b1", of(2))
		q.ask("c0", of(3))
		want := strings.Fields("a0 b0 c0 a1 b1 a2 a3 a4 a5 a6 a7 a8 a9")
		if got := q.drain(); !slices.Equal(got, want) {
			t.Errorf("served %v, want %v", got, want)
		}
		q.wantIdle()

		// Scripts that hash in a loop ask anew after each.
		q = newQueue(t, GateOptions{Slots: 1})
		accounts := map[string]int64{"a": 1, "b": 1, "c": 1, "d": 2}
		names := []string{"a", "b", "c", "d"}
		for _, name := range names {
			q.ask(name, of(accounts[name]))
		}
		turns := map[int64]int{}
		for done := range 100 {
			name := q.served[done]
			turns[accounts[name]]++
			q.leaves[name]()
			synctest.Wait()
			q.ask(name, of(accounts[name]))
		}
		if turns[2] < 49 {
			t.Errorf("of 100 turns account 1 has %d with three scripts, account 2 %d with one", turns[1], turns[2])
		}
		q.served = q.served[100:]
		q.drain()
		q.wantIdle()
	})
}

// TestTurnsGoByWork: a holder of large hashes has fewer of them.
func TestTurnsGoByWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, GateOptions{Slots: 1})
		q.ask("begins", of(3))
		for i := range 3 {
			large := of(1)
			large.Work = 4 * DefaultWork
			q.ask(fmt.Sprint("large", i), large)
		}
		for i := range 8 {
			q.ask(fmt.Sprint("small", i), of(2))
		}
		want := strings.Fields("begins large0 small0 small1 small2 small3 large1 small4 small5 small6 small7 large2")
		if got := q.drain(); !slices.Equal(got, want) {
			t.Errorf("served %v, want %v", got, want)
		}
		q.wantIdle()
	})
}

// TestLeastDebtFirst: who has tried least goes first, and in a full line takes the
// place of who has tried most.
func TestLeastDebtFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, GateOptions{Slots: 1, Wait: time.Second, MaxWaiting: 3, BothEnds: true})
		ask := func(name string, n byte, debt time.Duration) { q.ask(name, Request{Holder: network(n), Debt: debt}) }
		ask("begins", 0, 0)
		ask("tried much", 1, 9)
		ask("tried some", 2, 5)
		ask("tried more", 3, 7)
		ask("worse than all", 4, 10)
		if !errors.Is(q.err("worse than all"), ErrBusy) {
			t.Errorf("who would go last finds a place in a full line: %v", q.err("worse than all"))
		}
		ask("new", 5, 0)
		if !errors.Is(q.err("tried much"), ErrBusy) {
			t.Errorf("who would go last keeps its place: %v", q.err("tried much"))
		}
		ask("newer", 6, 0)
		if got, want := q.drain(), []string{"begins", "new", "newer", "tried some"}; !slices.Equal(got, want) {
			t.Errorf("served %v, want %v", got, want)
		}
		q.wantIdle()
		if s := q.gate.Stats(); s.Refused != 3 || s.Admitted != 4 {
			t.Errorf("%+v", s)
		}
	})
}

// TestBothEnds: of many equals at once neither who came before them nor who comes
// after them is kept out; those in the middle give up their places.
func TestBothEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, GateOptions{Slots: 1, MaxWaiting: 6, BothEnds: true})
		q.ask("begins", Request{Holder: network(0)})
		q.ask("before", Request{Holder: network(1)})
		for i := range 50 {
			q.ask(fmt.Sprint(i), Request{Holder: network(byte(10 + i))})
		}
		q.ask("after", Request{Holder: network(2)})
		got := q.drain()
		if len(got) != 7 || !slices.Equal(got[:3], []string{"begins", "before", "after"}) {
			t.Errorf("served %v", got)
		}
		q.wantIdle()
	})
}

// TestLinesTakeTurns: strangers and those who are known have every second turn.
func TestLinesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, GateOptions{Slots: 1, MaxWaiting: 4})
		q.ask("begins", of(1))
		for i := range 5 {
			q.ask(fmt.Sprint("s", i), Request{Holder: network(byte(i))})
		}
		for i := range 3 {
			q.ask(fmt.Sprint("k", i), Request{Holder: Holder{Account: int64(i)}, Known: true, Debt: time.Hour})
		}
		if !errors.Is(q.err("s4"), ErrBusy) {
			t.Errorf("the line of strangers is not bounded: %v", q.err("s4"))
		}
		if got, want := q.drain(), strings.Fields("begins k0 s0 k1 s1 k2 s2 s3"); !slices.Equal(got, want) {
			t.Errorf("served %v, want %v", got, want)
		}
		q.wantIdle()
	})
}

func TestGateIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, GateOptions{Slots: 1, Wait: time.Second, MaxWaiting: 10, MaxWaitingEach: 2})
		q.ask("begins", of(1))
		start := time.Now()
		for i := range 3 {
			q.ask(fmt.Sprint("each", i), of(2))
		}
		if !errors.Is(q.err("each2"), ErrBusy) {
			t.Errorf("a third one of a holder: %v", q.err("each2"))
		}
		<-time.After(time.Second)
		synctest.Wait()
		if !errors.Is(q.err("each0"), ErrBusy) || time.Since(start) != time.Second {
			t.Errorf("after %s: %v", time.Since(start), q.err("each0"))
		}
		q.drain()
		q.wantIdle()

		// Holders are remembered while they matter, and no more than so many.
		q = newQueue(t, GateOptions{Slots: 1, MaxWaiting: 10})
		q.ask("0", of(0))
		for i := range 3000 {
			q.ask(fmt.Sprint(i+1), of(int64(i+1)))
			q.leaves[fmt.Sprint(i)]()
			synctest.Wait()
		}
		if s := q.gate.Stats(); s.Holders > q.gate.mostHolders() {
			t.Errorf("%d holders are remembered", s.Holders)
		}
		q.served = q.served[3000:]
		q.drain()
		q.wantIdle()
	})
}

// TestGateUnderLoad has many come and go at once, with as many at a time as may.
func TestGateUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, GateOptions{Slots: 3, Wait: 50 * time.Millisecond, MaxWaiting: 40, MaxWaitingEach: 9})
		ended := make(chan error)
		const callers = 500
		for i := range callers {
			go func() {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				<-time.After(time.Duration(i%97) * time.Millisecond)
				if i%7 == 0 {
					time.AfterFunc(time.Millisecond, cancel)
				}
				leave, err := q.gate.Acquire(ctx, Request{Holder: Holder{Account: int64(i % 13)}, Known: i%3 == 0, Debt: time.Duration(i % 5)})
				if err == nil {
					if s := q.gate.Stats(); s.Running > 3 || s.Waiting > 80 {
						t.Errorf("%+v", s)
					}
					<-time.After(2 * time.Millisecond)
					leave()
				}
				ended <- err
			}()
		}
		count := map[error]uint64{}
		for range callers {
			count[<-ended]++
		}
		s := q.gate.Stats()
		if s.Admitted != count[nil] || s.Refused != count[ErrBusy] || s.Cancelled > count[context.Canceled] || count[nil] < 100 {
			t.Errorf("%v and %+v", count, s)
		}
		q.wantIdle()
	})
}

// TestAtOnce: hashes take no more than half of the cores, nor more than an
// eighth of the memory, but there is always one.
func TestAtOnce(t *testing.T) {
	const mib = 1 << 20
	for _, test := range []struct {
		cores             int
		memory            int64
		log, handedScript int
	}{
		{1, 0, 1, 1},
		{2, 768 * mib, 1, 1},
		{16, 0, 8, 8},
		{16, 768 * mib, 5, 1},
		{16, 4096 * mib, 8, 8},
		{64, 4096 * mib, 26, 8},
		{16, 1, 1, 1},
	} {
		if n := AtOnce(test.cores, test.memory, DefaultMemory); n != test.log {
			t.Errorf("%d cores, %d bytes: %d log-ins at once, want %d", test.cores, test.memory, n, test.log)
		}
		if n := AtOnce(test.cores, test.memory, MaxMemory); n != test.handedScript {
			t.Errorf("%d cores, %d bytes: %d hashes of scripts at once, want %d", test.cores, test.memory, n, test.handedScript)
		}
	}
}
