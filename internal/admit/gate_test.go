package admit

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// callers calls a gate from goroutines of a synctest bubble and notes in which
// order they get in.
type callers struct {
	t       *testing.T
	gate    *Gate
	mu      sync.Mutex
	order   []string
	tickets []*Ticket
	names   []string // of tickets
	settled int      // how many of order were there before the last event
	errs    map[string]error
}

func newCallers(t *testing.T, o GateOptions) *callers {
	return &callers{t: t, gate: NewGate(o), errs: map[string]error{}}
}

// come lets a call arrive and go as far as it gets.
func (c *callers) come(ctx context.Context, name string, ask Request) {
	go func() {
		ticket, err := c.gate.Acquire(ctx, ask)
		c.mu.Lock()
		defer c.mu.Unlock()
		if err != nil {
			c.errs[name] = err
			return
		}
		c.order = append(c.order, name)
		c.tickets = append(c.tickets, ticket)
		c.names = append(c.names, name)
	}()
	synctest.Wait()
	c.check()
}

// leave ends the oldest call inside.
func (c *callers) leave() {
	c.mu.Lock()
	ticket := c.tickets[0]
	c.tickets, c.names = c.tickets[1:], c.names[1:]
	c.mu.Unlock()
	ticket.Release()
	synctest.Wait()
	c.check()
}

func (c *callers) end() {
	for len(c.tickets) > 0 {
		c.leave()
	}
	if s := c.gate.Stats(); s.Running != 0 || s.Waiting != 0 || s.Memory != 0 || s.Accounts != 0 {
		c.t.Errorf("something is left: %+v", s)
	}
}

func (c *callers) wantOrder(want string) {
	c.t.Helper()
	if got := strings.Join(c.order, " "); got != want {
		c.t.Errorf("order:\n got  %s\n want %s", got, want)
	}
}

// check holds the gate against what must always be true.
func (c *callers) check() {
	c.t.Helper()
	// Those whom one event let in woke up in any order.
	slices.Sort(c.order[c.settled:])
	c.settled = len(c.order)
	g := c.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	inside, running, entering, returning, memory := 0, 0, 0, 0, int64(0)
	ring := map[*account]bool{}
	for a := g.ring; a != nil && !ring[a]; a = a.next {
		ring[a] = true
		if a.next.prev != a || a.prev.next != a {
			c.t.Fatal("the ring is broken")
		}
	}
	for id, a := range g.accounts {
		for _, q := range []*queue{&a.entering[owning], &a.entering[visiting], &a.returning} {
			n := 0
			for w := q.first; w != nil; w = w.next {
				n++
			}
			if n != q.length {
				c.t.Fatalf("account %d has %d waiting, says %d", id, n, q.length)
			}
		}
		if belongs := a.returning.length > 0 || g.mayEnter(a); id != a.id || ring[a] != belongs {
			c.t.Fatalf("account %d (%d) is in the ring: %t", id, a.id, ring[a])
		}
		if a.running+a.returning.length > a.inside {
			c.t.Fatalf("account %d: %+v", id, a)
		}
		inside, running, memory = inside+a.inside, running+a.running, memory+a.memory
		entering, returning = entering+a.waiting(), returning+a.returning.length
	}
	if inside != g.inside || running != g.running || entering != g.entering || returning != g.returning || memory != g.memory {
		c.t.Fatalf("counted %d, %d, %d, %d; the gate has %d, %d, %d, %d", running, entering, returning, memory, g.running, g.entering, g.returning, g.memory)
	}
	if g.running > g.o.Slots+g.o.SpareSlots || g.o.Memory > 0 && g.memory > g.o.Memory {
		c.t.Fatalf("%d of %d slots, %d of %d bytes", g.running, g.o.Slots, g.memory, g.o.Memory)
	}
	if g.ring != nil {
		if a, w := g.next(); w != nil {
			c.t.Fatalf("account %d waits though there is room", a.id)
		}
	}
	if g.contended.Load() != (g.ring != nil || g.running > g.o.Slots) {
		c.t.Fatal("contended is wrong")
	}
}

// TestGateFairness is one noisy account against two quiet ones: they take turns,
// and each account's calls keep their order.
func TestGateFairness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCallers(t, GateOptions{Slots: 4, RecentWindow: 1})
		ctx := t.Context()
		for i := range 12 {
			c.come(ctx, fmt.Sprintf("a%d", i), Request{Account: 1})
		}
		for i := range 3 {
			c.come(ctx, fmt.Sprintf("b%d", i), Request{Account: 2})
			c.come(ctx, fmt.Sprintf("c%d", i), Request{Account: 3})
		}
		// a is in with four, as nobody else was there. Then all three take turns,
		// but for a while it has more than its half.
		c.wantOrder("a0 a1 a2 a3")
		time.Sleep(c.gate.o.RecentWindow) // b and c count by their waiting alone
		for range 14 {
			c.leave()
		}
		c.wantOrder("a0 a1 a2 a3 b0 c0 a4 b1 c1 a5 b2 c2 a6 a7 a8 a9 a10 a11")
		c.end()
		if s := c.gate.Stats(); s.Admitted != 18 || s.Waited != 14 || s.MostRunning != 4 || s.Overloaded != 0 {
			t.Errorf("got %+v", s)
		}
	})
}

// TestGateCrowded checks that an account leaves half of the slots free as long as
// another is around, though that one asks for none at the moment.
func TestGateCrowded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(GateOptions{Slots: 4})
		enter := func(account int64) *Ticket {
			t.Helper()
			ticket, err := g.Acquire(t.Context(), Request{Account: account})
			if err != nil {
				t.Fatal(err)
			}
			return ticket
		}
		enter(2).Release()
		inside := make(chan *Ticket, 4)
		for range 4 {
			go func() {
				if ticket, err := g.Acquire(t.Context(), Request{Account: 1}); err == nil {
					inside <- ticket
				}
			}()
		}
		synctest.Wait()
		if s := g.Stats(); s.Running != 2 || s.Waiting != 2 {
			t.Errorf("beside another: %+v", s)
		}
		time.Sleep(g.o.RecentWindow)
		first := <-inside
		if err := first.Turn(t.Context()); err != nil { // as one that computes does often
			t.Fatal(err)
		}
		time.Sleep(g.o.Slice)
		if err := first.Turn(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if s := g.Stats(); s.Running != 4 || s.Waiting != 0 {
			t.Errorf("when the other was gone: %+v", s)
		}
		first.Release()
		for range 3 {
			(<-inside).Release()
		}
	})
}

// TestGateShare checks that an account has at most half of the slots while
// another waits, whatever the order of arrival.
func TestGateShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCallers(t, GateOptions{Slots: 6})
		for i := range 40 {
			c.come(t.Context(), fmt.Sprintf("a%d", i), Request{Account: 1})
		}
		for i := range 40 {
			c.come(t.Context(), fmt.Sprintf("b%d", i), Request{Account: 2})
		}
		for range 6 { // those that came in while nobody else was there
			c.leave()
		}
		for range 50 {
			c.leave()
			a := 0
			for _, name := range c.names {
				if name[0] == 'a' {
					a++
				}
			}
			if a != 3 {
				t.Fatalf("a has %d of 6 slots while b waits", a)
			}
		}
		c.end()
	})
}

// TestGateShareOfTheNode tells an account that has no bound of its own what it waits for.
func TestGateShareOfTheNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCallers(t, GateOptions{Slots: 10, MaxSharing: 2})
		c.come(t.Context(), "a0", Request{Account: 1})
		c.come(t.Context(), "a1", Request{Account: 1})
		c.wantOrder("a0 a1")
		_, err := c.gate.Acquire(t.Context(), Request{Account: 1})
		var refused *Refused
		if !errors.As(err, &refused) || refused.Reason != AccountBusy || refused.Limit != 0 {
			t.Errorf("got %v", err)
		}
		if want := "the account has 2 scripts running already, as many as this node runs of one account: try again when one has ended"; err.Error() != want {
			t.Errorf("got %q", err)
		}
		c.leave()
		c.leave()
	})
}

// TestGateAccountBound checks that an account waits for its own bound without
// keeping others out, and is told so when it waits in vain.
func TestGateAccountBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCallers(t, GateOptions{Slots: 10})
		for i := range 4 {
			c.come(t.Context(), fmt.Sprintf("a%d", i), Request{Account: 1, Max: 2})
		}
		c.come(t.Context(), "b0", Request{Account: 2, Max: 2})
		c.wantOrder("a0 a1 b0")
		c.leave()
		c.wantOrder("a0 a1 b0 a2")

		start := time.Now()
		_, err := c.gate.Acquire(t.Context(), Request{Account: 1, Max: 2})
		var refused *Refused
		if !errors.As(err, &refused) || refused.Reason != AccountBusy || refused.Code() != "rate_limited" || refused.RetryAfter != time.Second || refused.Limit != 2 {
			t.Errorf("got %v", err)
		}
		if want := "the account has 2 scripts running already, which is its limit: try again when one has ended"; err.Error() != want {
			t.Errorf("got %q", err)
		}
		if waited := time.Since(start); waited != 5*time.Second {
			t.Errorf("waited %v", waited)
		}
		synctest.Wait()
		if c.errs["a3"] == nil {
			t.Error("a3 still waits")
		}
		c.end()
		if s := c.gate.Stats(); s.Busy != 2 || s.Overloaded != 0 {
			t.Errorf("got %+v", s)
		}
	})
}

func TestGateOverloaded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCallers(t, GateOptions{Slots: 1, Wait: 2 * time.Second})
		c.come(t.Context(), "a0", Request{Account: 1, Max: 5})
		start := time.Now()
		_, err := c.gate.Acquire(t.Context(), Request{Account: 2, Max: 5})
		var refused *Refused
		if !errors.As(err, &refused) || refused.Reason != Overloaded || refused.Code() != "overloaded" || err.Error() != "the service is busy: try again in a moment" {
			t.Errorf("got %v", err)
		}
		if waited := time.Since(start); waited != 2*time.Second {
			t.Errorf("waited %v", waited)
		}
		c.end()
	})
}

func TestGateLinesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCallers(t, GateOptions{Slots: 1, MaxWaiting: 5, MaxWaitingEach: 3})
		for i := range 5 {
			c.come(t.Context(), fmt.Sprintf("a%d", i), Request{Account: 1})
		}
		for i := range 3 {
			c.come(t.Context(), fmt.Sprintf("b%d", i), Request{Account: 2})
		}
		var busy, over *Refused
		if !errors.As(c.errs["a4"], &busy) || busy.Reason != AccountBusy ||
			busy.Error() != "the account has too many calls waiting already: try again when some have ended" {
			t.Errorf("a4: %v", c.errs["a4"])
		}
		if !errors.As(c.errs["b2"], &over) || over.Reason != Overloaded {
			t.Errorf("b2: %v", c.errs["b2"])
		}
		c.come(t.Context(), "c0", Request{Account: 3})
		if c.gate.Stats().Accounts != 2 {
			t.Error("an account that was turned away is remembered")
		}
		c.end()
	})
}

func TestGateCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCallers(t, GateOptions{Slots: 1})
		ctx, cancel := context.WithCancel(t.Context())
		c.come(t.Context(), "a0", Request{Account: 1})
		c.come(t.Context(), "b0", Request{Account: 2})
		c.come(ctx, "b1", Request{Account: 2})
		c.come(t.Context(), "b2", Request{Account: 2})
		cancel()
		synctest.Wait()
		c.check()
		if !errors.Is(c.errs["b1"], context.Canceled) {
			t.Errorf("b1: %v", c.errs["b1"])
		}
		if _, err := c.gate.Acquire(ctx, Request{Account: 9}); !errors.Is(err, context.Canceled) {
			t.Errorf("a call that was over before it came: %v", err)
		}
		c.leave()
		c.leave()
		c.wantOrder("a0 b0 b2")
		c.end()
		if s := c.gate.Stats(); s.Cancelled != 1 {
			t.Errorf("got %+v", s)
		}
	})
}

func TestGateMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCallers(t, GateOptions{Slots: 100, Memory: 100})
		c.come(t.Context(), "a0", Request{Account: 1, Memory: 30})
		c.come(t.Context(), "d0", Request{Account: 4, Memory: 30})
		c.come(t.Context(), "b0", Request{Account: 2, Memory: 60}) // does not fit
		c.come(t.Context(), "c0", Request{Account: 3, Memory: 10}) // would, but b is first
		c.wantOrder("a0 d0")
		c.leave()
		c.wantOrder("a0 d0 b0 c0")
		c.come(t.Context(), "e0", Request{Account: 5, Memory: 1000}) // all that there is
		c.leave()
		c.leave()
		c.wantOrder("a0 d0 b0 c0")
		c.leave()
		c.wantOrder("a0 d0 b0 c0 e0")
		if got := c.tickets[0].Memory(); got != 100 {
			t.Errorf("granted %d bytes", got)
		}
		c.end()
	})
}

// TestGateMemoryShare checks that an account leaves as much memory free as it
// has, so that whoever comes next need not wait for its scripts to end.
func TestGateMemoryShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCallers(t, GateOptions{Slots: 100, Memory: 100})
		for i := range 8 {
			c.come(t.Context(), fmt.Sprintf("a%d", i), Request{Account: 1, Memory: 10})
		}
		c.wantOrder("a0 a1 a2 a3 a4")
		for i := range 4 {
			c.come(t.Context(), fmt.Sprintf("b%d", i), Request{Account: 2, Memory: 10})
		}
		c.wantOrder("a0 a1 a2 a3 a4 b0 b1")
		c.come(t.Context(), "c0", Request{Account: 3, Memory: 20})
		c.wantOrder("a0 a1 a2 a3 a4 b0 b1 c0")
		c.leave()
		c.leave()
		c.wantOrder("a0 a1 a2 a3 a4 b0 b1 c0") // a, b and c have 30, 20 and 20
		c.leave()
		c.wantOrder("a0 a1 a2 a3 a4 b0 b1 c0 a5")
		c.end()
	})
}

// TestGateVisitors: those who are not the owner leave it a quarter of whatever bounds the account
// first, and it does not wait behind them.
func TestGateVisitors(t *testing.T) {
	for _, test := range []struct {
		name     string
		o        GateOptions
		ask      Request
		visitors int // that get in
		owner    int // calls that do beside them
	}{
		{"by their number", GateOptions{Slots: 40, MaxSharing: 40}, Request{Account: 1, Max: 8}, 6, 2},
		{"by their memory", GateOptions{Slots: 40, MaxSharing: 40, Memory: 768}, Request{Account: 1, Max: 10, Memory: 64}, 4, 2},
		{"by their turns", GateOptions{Slots: 40, MaxSharing: 8}, Request{Account: 1}, 6, 2},
		{"the only one", GateOptions{Slots: 40}, Request{Account: 1, Max: 1}, 1, 0},
		{"in line", GateOptions{Slots: 40, MaxSharing: 4, MaxWaitingEach: 8}, Request{Account: 1}, 3, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				test.o.Wait = time.Minute
				c := newCallers(t, test.o)
				visitor := test.ask
				visitor.Visitor = true
				for i := range 14 {
					c.come(t.Context(), fmt.Sprintf("v%02d", i), visitor)
				}
				if len(c.order) != test.visitors {
					t.Errorf("%d visitors are in, want %d", len(c.order), test.visitors)
				}
				for i := range test.owner {
					c.come(t.Context(), fmt.Sprintf("o%d", i), test.ask)
				}
				if got := len(c.order) - test.visitors; got != test.owner {
					t.Errorf("%d calls of the owner are in, want %d: %v", got, test.owner, c.errs)
				}
				c.come(t.Context(), "one more", test.ask)
				if slices.Contains(c.order, "one more") || c.errs["one more"] != nil {
					t.Errorf("more than the account may have: %v, or none in line: %v", c.order, c.errs["one more"])
				}
				for len(c.tickets) > 0 {
					c.leave()
				}
				c.end()
				if want := 15 + test.owner - len(c.errs); len(c.order) != want {
					t.Errorf("%d came in, want %d", len(c.order), want)
				}
			})
		})
	}
}

// TestGateSpare checks that an account that has nothing computing begins at
// once, beside those that have all slots, and has no privilege beyond that.
func TestGateSpare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCallers(t, GateOptions{Slots: 2, SpareSlots: 1, Wait: time.Hour})
		for i := range 4 {
			c.come(t.Context(), fmt.Sprintf("a%d", i), Request{Account: 1})
		}
		b, err := c.gate.Acquire(t.Context(), Request{Account: 2})
		if err != nil {
			t.Fatal(err)
		}
		c.come(t.Context(), "c0", Request{Account: 3})
		c.wantOrder("a0 a1")

		// What b gives back when its slice is over is c's to begin with.
		done := make(chan error, 1)
		go func() { done <- yield(t.Context(), b) }()
		synctest.Wait()
		c.check()
		c.wantOrder("a0 a1 c0")
		c.leave() // a0: there are two still
		c.wantOrder("a0 a1 c0")
		c.leave() // a1: it is a's turn
		c.wantOrder("a0 a1 c0 a2")
		c.leave() // c0
		if err := <-done; err != nil {
			t.Error(err)
		}
		c.check()
		b.Release()
		c.end()
	})
}

// TestGateSharing checks that an account lets no more in than can take turns.
func TestGateSharing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCallers(t, GateOptions{Slots: 4, MaxSharing: 2})
		for i := range 3 {
			c.come(t.Context(), fmt.Sprintf("a%d", i), Request{Account: 1})
		}
		c.wantOrder("a0 a1")
		c.tickets[0].Yield() // what does not compute takes no turns
		synctest.Wait()
		c.check()
		c.wantOrder("a0 a1 a2")
		_, err := c.gate.Acquire(t.Context(), Request{Account: 1, Max: 9})
		var refused *Refused
		if !errors.As(err, &refused) || refused.Reason != AccountBusy || refused.Limit != 0 { // it is not the account's bound
			t.Errorf("got %v", err)
		}
		c.end()
	})
}

// TestGateLifted lets one account have all of the node, and no more than that: who finds
// nothing free waits for a minute.
func TestGateLifted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(GateOptions{Slots: 2, Memory: 50, MaxSharing: 1, MaxWaitingEach: 1, Unlimited: true})
		var tickets []*Ticket
		for range 10 {
			ticket, err := g.Acquire(t.Context(), Request{Account: 1, Max: 1, Memory: 5})
			if err != nil {
				t.Fatal(err)
			}
			ticket.Yield()
			tickets = append(tickets, ticket)
		}
		for _, ticket := range tickets[:2] {
			if err := ticket.Turn(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if s := g.Stats(); s.Running != 2 || s.Memory != 50 {
			t.Errorf("got %+v", s)
		}
		began := time.Now()
		if _, err := g.Acquire(t.Context(), Request{Account: 2, Memory: 5}); err == nil || time.Since(began) != time.Minute {
			t.Error(err, time.Since(began))
		}
		for _, ticket := range tickets {
			ticket.Release()
		}
		if s := g.Stats(); s.Running != 0 || s.Memory != 0 || s.Inside != 0 {
			t.Errorf("got %+v", s)
		}
	})
}

// TestGateRandom lets calls come, go and give up at random and checks after each
// event what must always hold.
func TestGateRandom(t *testing.T) {
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			c := newCallers(t, GateOptions{Slots: 1 + random.IntN(6), SpareSlots: random.IntN(3), MaxSharing: 1 + random.IntN(6), Memory: 100, Wait: time.Hour, MaxWaiting: 30})
			var cancels []context.CancelFunc
			for i := range 300 {
				switch n := random.IntN(10); {
				case n < 6:
					ctx, cancel := context.WithCancel(t.Context())
					cancels = append(cancels, cancel)
					c.come(ctx, fmt.Sprint(i), Request{Account: int64(random.IntN(5)), Max: random.IntN(4), Memory: random.Int64N(70), Visitor: random.IntN(2) == 0})
				case n < 9 && len(c.tickets) > 0:
					at := random.IntN(len(c.tickets))
					c.tickets[0], c.tickets[at] = c.tickets[at], c.tickets[0]
					c.leave()
				case len(cancels) > 0:
					at := random.IntN(len(cancels))
					cancels[at]()
					cancels = slices.Delete(cancels, at, at+1)
					synctest.Wait()
					c.check()
				}
				if t.Failed() {
					t.Fatalf("seed %d, event %d", seed, i)
				}
			}
			for _, cancel := range cancels {
				cancel()
			}
			synctest.Wait()
			c.end()
		})
	}
}

func TestGateConcurrent(t *testing.T) {
	g := NewGate(GateOptions{Slots: 3, SpareSlots: 2, Memory: 100, Wait: time.Hour})
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for n := range 300 {
				ticket, err := g.Acquire(t.Context(), Request{Account: int64(i % 5), Max: 2, Memory: int64(n % 50)})
				if err != nil {
					t.Error(err)
					return
				}
				switch n % 3 {
				case 0:
					err = yield(t.Context(), ticket)
				case 1:
					ticket.Yield()
					if n%2 == 0 {
						err = ticket.Turn(t.Context())
					}
				}
				if err != nil {
					t.Error(err)
				}
				ticket.Release()
			}
		})
	}
	wg.Wait()
	if s := g.Stats(); s.Admitted != 16*300 || s.Running != 0 || s.Memory != 0 || s.MostRunning > 5 || s.Accounts != 0 {
		t.Errorf("got %+v", s)
	}
}

func BenchmarkGate(b *testing.B) {
	g := NewGate(GateOptions{Slots: 8, Memory: 1 << 40})
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		ticket, err := g.Acquire(ctx, Request{Account: 7, Max: 10, Memory: 64 << 20})
		if err != nil {
			b.Fatal(err)
		}
		ticket.Release()
	}
}

// BenchmarkAdmit is all that a call in a quiet node passes.
func BenchmarkAdmit(b *testing.B) {
	l, g := NewLimiter(LimiterOptions{}), NewGate(GateOptions{Slots: 8, Memory: 1 << 40})
	rate := Rate{Name: "account", Count: 1e9, Per: time.Second}
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if v := l.Allow(ByAccount("account", 7), rate); !v.OK {
			b.Fatal(v)
		}
		ticket, err := g.Acquire(ctx, Request{Account: 7, Max: 10, Memory: 64 << 20})
		if err != nil {
			b.Fatal(err)
		}
		ticket.Release()
	}
}
