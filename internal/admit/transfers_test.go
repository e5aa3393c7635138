package admit

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestTransfers(t *testing.T) {
	c := NewTransferLimiter(TransferOptions{Max: 3})
	enter := func(account int64, most int, want Reason) func() {
		t.Helper()
		leave, err := c.Acquire(t.Context(), account, most)
		wantReason(t, err, want)
		return leave
	}
	first := enter(1, 2, 0)
	second := enter(1, 2, 0)
	enter(1, 2, TooManyTransfers)
	third := enter(2, 0, 0)
	enter(2, 0, Overloaded)
	enter(3, 5, Overloaded)
	first()
	enter(2, 1, TooManyTransfers)
	again := enter(1, 2, 0)
	for _, leave := range []func(){second, third, again} {
		leave()
	}
	c.wantEmpty(t)
	c.o.Unlimited = true
	for range 10 {
		enter(1, 2, 0)
	}
}

func wantReason(t *testing.T, err error, want Reason) {
	t.Helper()
	var refused *Refused
	if want == 0 && err != nil || want != 0 && (!errors.As(err, &refused) || refused.Reason != want) {
		t.Fatalf("got %v, want reason %d", err, want)
	}
}

func (l *TransferLimiter) wantEmpty(t *testing.T) {
	t.Helper()
	if l.all != 0 || len(l.holders) != 0 {
		t.Errorf("when all have left, there are %d and %v", l.all, l.holders)
	}
}

// TestTransfersWait: a place that is free in a moment goes to who came first; who
// waits too long, has hung up, or is one too many in line gets none.
func TestTransfersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const wait = time.Second
		c := NewTransferLimiter(TransferOptions{Max: 3, Wait: wait})
		type entered struct {
			who   string
			leave func()
			err   error
		}
		got := make(chan entered)
		enter := func(ctx context.Context, who string) {
			go func() {
				leave, err := c.Acquire(ctx, 1, 2)
				got <- entered{who, leave, err}
			}()
			synctest.Wait()
		}
		want := func(who string, reason Reason) func() {
			t.Helper()
			e := <-got
			if e.who != who {
				t.Fatalf("it was the turn of %s, not %s", who, e.who)
			}
			wantReason(t, e.err, reason)
			return e.leave
		}
		enter(t.Context(), "a")
		a := want("a", 0)
		enter(t.Context(), "b")
		b := want("b", 0)

		gone, hangUp := context.WithCancel(t.Context())
		enter(gone, "c")
		enter(t.Context(), "d")
		enter(t.Context(), "one too many in line")
		want("one too many in line", TooManyTransfers)
		hangUp()
		want("c", TooManyTransfers)
		time.Sleep(wait / 2)
		a()
		d := want("d", 0)

		began := time.Now()
		enter(t.Context(), "e")
		want("e", TooManyTransfers)
		if took := time.Since(began); took != wait {
			t.Errorf("it was waited %s for a place", took)
		}
		other, err := c.Acquire(t.Context(), 2, 2)
		wantReason(t, err, 0)
		_, err = c.Acquire(t.Context(), 3, 2)
		wantReason(t, err, Overloaded) // at once: it is not the account's
		for _, leave := range []func(){b, d, other} {
			leave()
		}
		c.wantEmpty(t)
	})
}

// TestTransfersOfVisitors: who may enter while there are few does not take a place that is left for
// others, and is passed by in line.
func TestTransfersOfVisitors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewTransferLimiter(TransferOptions{Max: 10, Wait: time.Second})
		leaves := []func(){}
		for range 4 {
			leave, err := c.Acquire(t.Context(), 1, 4)
			wantReason(t, err, 0)
			leaves = append(leaves, leave)
		}
		enter := func(most int) (result chan error, leave *func()) {
			result, leave = make(chan error, 1), new(func())
			go func() {
				var err error
				*leave, err = c.Acquire(t.Context(), 1, most)
				result <- err
			}()
			synctest.Wait()
			return result, leave
		}
		visitor, visitorLeaves := enter(3)
		owner, ownerLeaves := enter(4)
		leaves[0]()
		wantReason(t, <-owner, 0)
		leaves[1]()
		synctest.Wait()
		if len(visitor) != 0 {
			t.Fatal("a visitor has the place of an owner")
		}
		leaves[2]()
		wantReason(t, <-visitor, 0)
		for _, leave := range []func(){*visitorLeaves, *ownerLeaves, leaves[3]} {
			leave()
		}
		c.wantEmpty(t)
	})
}
