package admit

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestGateRest checks that a script that waits for something holds no slot, and
// has one again after its Turn.
func TestGateRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCallers(t, GateOptions{Slots: 1, Wait: time.Hour})
		first, err := c.gate.Acquire(t.Context(), Request{Account: 1})
		if err != nil {
			t.Fatal(err)
		}
		first.Yield()
		first.Yield()
		if s := c.gate.Stats(); s.Running != 0 || s.Inside != 1 {
			t.Errorf("at rest: %+v", s)
		}
		if err := first.Turn(t.Context()); err != nil || c.gate.Stats().Running != 1 {
			t.Errorf("after it: %v, %+v", err, c.gate.Stats())
		}
		first.Yield()
		c.come(t.Context(), "b0", Request{Account: 2})
		c.wantOrder("b0")
		done := make(chan error, 1)
		go func() { done <- first.Turn(t.Context()) }()
		synctest.Wait()
		c.check()
		if s := c.gate.Stats(); s.Running != 1 || s.Returning != 1 {
			t.Errorf("while b has the slot: %+v", s)
		}
		c.leave()
		if err := <-done; err != nil {
			t.Error(err)
		}
		first.Yield()
		first.Release()
		c.check()
		c.end()
	})
}

// TestGateSlice checks that nobody gives way before its slice is over.
func TestGateSlice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gaveWay := 0
		c := newCallers(t, GateOptions{Slots: 1, Slice: time.Millisecond, Wait: time.Hour, SchedYield: func() { gaveWay++ }})
		first, err := c.gate.Acquire(t.Context(), Request{Account: 1})
		if err != nil {
			t.Fatal(err)
		}
		c.come(t.Context(), "b0", Request{Account: 2})
		for range 3 {
			if err := first.Turn(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(300 * time.Microsecond)
		}
		c.wantOrder("")
		if gaveWay != 0 {
			t.Error("it gave way before its slice was over")
		}
		time.Sleep(100 * time.Microsecond)
		go func() { _ = first.Turn(t.Context()); first.Release() }()
		synctest.Wait()
		c.wantOrder("b0")
		if gaveWay != 1 {
			t.Errorf("it gave way %d times", gaveWay)
		}
		c.end()
	})
}

// yield is a Turn at the end of a slice.
func yield(ctx context.Context, t *Ticket) error {
	t.since = time.Now().Add(-t.gate.o.Slice)
	return t.Turn(ctx)
}

func TestGateYield(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCallers(t, GateOptions{Slots: 1, Memory: 100, Wait: time.Hour})
		first, err := c.gate.Acquire(t.Context(), Request{Account: 1, Memory: 10})
		if err != nil {
			t.Fatal(err)
		}
		if err := yield(t.Context(), first); err != nil || c.gate.Stats().Yielded != 0 {
			t.Errorf("nobody waits: %v", err)
		}
		c.come(t.Context(), "b0", Request{Account: 2})
		done := make(chan error, 1)
		go func() { done <- yield(t.Context(), first) }()
		synctest.Wait()
		c.wantOrder("b0")
		if s := c.gate.Stats(); s.Memory != 10 || s.Running != 1 || s.Returning != 1 {
			t.Errorf("while it waits: %+v", s)
		}
		c.leave()
		if err := <-done; err != nil {
			t.Error(err)
		}
		c.check()

		// One whose context ends while it waits holds no slot any more.
		ctx, cancel := context.WithCancel(t.Context())
		c.come(t.Context(), "b1", Request{Account: 2})
		go func() { done <- yield(ctx, first) }()
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		c.check()
		first.Release()
		first.Release()
		c.wantOrder("b0 b1")
		c.end()
	})
}

// TestGateYieldKeepsMemory checks that one that waits for memory does not hold
// back those who would give it back if only they could go on.
func TestGateYieldKeepsMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCallers(t, GateOptions{Slots: 1, Memory: 100, Wait: time.Hour})
		first, err := c.gate.Acquire(t.Context(), Request{Account: 1, Memory: 60})
		if err != nil {
			t.Fatal(err)
		}
		c.come(t.Context(), "a1", Request{Account: 1, Memory: 60})
		c.come(t.Context(), "b0", Request{Account: 2, Memory: 60})
		if err := yield(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		c.check()
		first.Release()
		synctest.Wait()
		c.check()
		c.wantOrder("b0")
		c.leave()
		c.wantOrder("b0 a1")
		c.end()
	})
}

// TestGateYieldStaysInside checks that an account's bound counts scripts that
// let others go first.
func TestGateYieldStaysInside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCallers(t, GateOptions{Slots: 1, Wait: time.Hour})
		first, err := c.gate.Acquire(t.Context(), Request{Account: 1, Max: 1})
		if err != nil {
			t.Fatal(err)
		}
		c.come(t.Context(), "a1", Request{Account: 1, Max: 1})
		c.come(t.Context(), "b0", Request{Account: 2})
		done := make(chan error, 1)
		go func() { done <- yield(t.Context(), first) }()
		synctest.Wait()
		c.wantOrder("b0")
		c.leave()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		c.wantOrder("b0")
		first.Release()
		synctest.Wait()
		c.check()
		c.wantOrder("b0 a1")
		c.end()
	})
}

// TestGateYieldNoisy checks that endless scripts of one account that yield let
// another in at once.
func TestGateYieldNoisy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCallers(t, GateOptions{Slots: 2})
		ctx, cancel := context.WithCancel(t.Context())
		const slice = 5 * time.Millisecond
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				ticket, err := c.gate.Acquire(ctx, Request{Account: 1, Max: 20})
				if err != nil {
					return
				}
				defer ticket.Release()
				for yield(ctx, ticket) == nil {
					select {
					case <-time.After(slice): // of computing
					case <-ctx.Done():
					}
				}
			})
		}
		synctest.Wait()
		for i := range 100 {
			start := time.Now()
			ticket, err := c.gate.Acquire(ctx, Request{Account: 2, Max: 2})
			if err != nil {
				t.Fatal(err)
			}
			if waited := time.Since(start); waited > slice {
				t.Errorf("call %d waited %v", i, waited)
			}
			<-time.After(time.Millisecond)
			ticket.Release()
		}
		cancel()
		wg.Wait()
		c.end()
	})
}

// TestTurnAfterLeave is refused and counted: the slot would never be given back.
func TestTurnAfterLeave(t *testing.T) {
	g := NewGate(GateOptions{Slots: 1})
	ticket, err := g.Acquire(t.Context(), Request{Account: 1})
	if err != nil {
		t.Fatal(err)
	}
	ticket.Release()
	if err := ticket.Turn(t.Context()); !errors.Is(err, ErrReleased) {
		t.Error(err)
	}
	if s := g.Stats(); s.Running != 0 || s.UsedAfterRelease != 1 {
		t.Errorf("%+v", s)
	}
}

// TestAside computes in the turns of an account that has as many scripts as it may,
// and leaves nothing behind.
func TestAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(GateOptions{Slots: 1, Memory: 100})
		script, err := g.Acquire(t.Context(), Request{Account: 1, Max: 1, Memory: 100})
		if err != nil {
			t.Fatal(err)
		}
		idle := g.Auxiliary(2)
		idle.Release()
		work := g.Auxiliary(1)
		turned := make(chan error)
		go func() { turned <- work.Turn(t.Context()) }()
		synctest.Wait()
		if s := g.Stats(); s.Inside != 1 || s.Auxiliary != 1 || s.Returning != 1 {
			t.Errorf("%+v", s)
		}
		script.Yield()
		if err := <-turned; err != nil {
			t.Fatal(err)
		}
		script.Release()
		if s := g.Stats(); s.Running != 1 || s.Accounts != 1 {
			t.Errorf("%+v", s)
		}
		ctx, cancel := context.WithCancel(t.Context())
		other := g.Auxiliary(3)
		go func() { turned <- other.Turn(ctx) }()
		synctest.Wait()
		cancel()
		if err := <-turned; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		other.Release()
		work.Release()
		if s := g.Stats(); s.Inside+s.Auxiliary+s.Running+s.Returning+s.Accounts != 0 || s.UsedAfterRelease != 0 {
			t.Errorf("%+v", s)
		}
	})
}
