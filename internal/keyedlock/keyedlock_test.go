package keyedlock

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

func TestLockOneAtATime(t *testing.T) {
	var l Locks[string]
	var done sync.WaitGroup
	counts := map[string]*int{"a": new(int), "b": new(int)}
	for key, n := range counts {
		for range 50 {
			done.Go(func() {
				if err := l.Lock(t.Context(), key); err != nil {
					t.Error(err)
					return
				}
				*n++ // the race detector tells where two hold the lock
				l.Unlock(key)
			})
		}
	}
	done.Wait()
	if *counts["a"] != 50 || *counts["b"] != 50 {
		t.Errorf("got %d and %d, want 50 each", *counts["a"], *counts["b"])
	}
	if l.Len() != 0 {
		t.Errorf("%d keys are remembered though nobody uses them", l.Len())
	}
}

func TestKeysDoNotWaitForEachOther(t *testing.T) {
	var l Locks[int]
	for key := range 3 {
		if err := l.Lock(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	for key := range 3 {
		l.Unlock(key)
	}
}

func TestLockInOrderOfArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Locks[string]
		if err := l.Lock(t.Context(), "k"); err != nil {
			t.Fatal(err)
		}
		var order []int
		var done sync.WaitGroup
		for i := range 5 {
			done.Go(func() {
				if err := l.Lock(t.Context(), "k"); err != nil {
					t.Error(err)
					return
				}
				order = append(order, i)
				l.Unlock("k")
			})
			synctest.Wait() // it is in line before the next one comes
		}
		l.Unlock("k")
		done.Wait()
		if !slices.Equal(order, []int{0, 1, 2, 3, 4}) {
			t.Errorf("the lock went round as %v", order)
		}
	})
}

func TestLockEndsWithItsContext(t *testing.T) {
	var l Locks[string]
	if err := l.Lock(t.Context(), "k"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Lock(ctx, "k"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that the context has ended", err)
	}
	l.Unlock("k")
	if l.Len() != 0 {
		t.Error("who gave up is still in line")
	}
	if err := l.Lock(t.Context(), "k"); err != nil {
		t.Errorf("the next one: %v", err)
	}
	l.Unlock("k")
}

func TestUnlockOfNobody(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a lock that nobody holds was unlocked")
		}
	}()
	var l Locks[string]
	l.Unlock("k")
}

// TestTryLock: a lock that somebody has is not taken, and one that was taken keeps others away.
func TestTryLock(t *testing.T) {
	var locks Locks[string]
	if !locks.TryLock("a") || locks.TryLock("a") || !locks.TryLock("b") {
		t.Error("locks are taken that are held, or not those that are free")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := locks.Lock(ctx, "a"); err == nil {
		t.Error("a lock that was taken is held by another")
	}
	locks.Unlock("a")
	locks.Unlock("b")
	if err := locks.Lock(t.Context(), "a"); err != nil || locks.TryLock("a") {
		t.Errorf("a lock that is held is taken: %v", err)
	}
	locks.Unlock("a")
	if n := locks.Len(); n != 0 {
		t.Errorf("%d locks are held", n)
	}
}
