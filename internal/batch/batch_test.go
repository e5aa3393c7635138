package batch

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// held is a group whose runs wait to be let go. Its items are numbers.
type held struct {
	*Group[int]
	let  chan struct{}
	runs [][]int
}

func newHeld(most int) *held {
	h := &held{let: make(chan struct{})}
	h.Group = New(most, func(items []int) {
		h.runs = append(h.runs, slices.Clone(items))
		<-h.let
	})
	return h
}

// submit begins to do items, each once the one before is in its place, and returns
// their outcomes.
func (h *held) submit(ctx context.Context, items ...int) []chan error {
	var list []chan error
	for _, item := range items {
		outcome := make(chan error, 1)
		go func() { outcome <- h.Do(ctx, item) }()
		synctest.Wait()
		list = append(list, outcome)
	}
	return list
}

func wantRuns(t *testing.T, h *held, want ...[]int) {
	t.Helper()
	if !slices.EqualFunc(h.runs, want, slices.Equal) {
		t.Errorf("the runs had %v, want %v", h.runs, want)
	}
}

// TestShares checks that what comes during a run shares the next ones, in the order
// in which it came.
func TestShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHeld(3)
		outcomes := h.submit(t.Context(), 1, 2, 3, 4, 5)
		if n := h.Waiting(); n != 4 {
			t.Errorf("%d items wait, want 4", n)
		}
		for range 3 {
			h.let <- struct{}{}
			synctest.Wait()
		}
		for i, o := range outcomes {
			if err := <-o; err != nil {
				t.Errorf("item %d: %v", i+1, err)
			}
		}
		wantRuns(t, h, []int{1}, []int{2, 3, 4}, []int{5})
		outcomes = h.submit(t.Context(), 6)
		h.let <- struct{}{}
		if err := <-outcomes[0]; err != nil {
			t.Errorf("alone again: %v", err)
		}
		wantRuns(t, h, []int{1}, []int{2, 3, 4}, []int{5}, []int{6})
	})
}

// TestWithin checks that an item is not run whose caller has waited long enough before
// its run begins, and that who leads waits for its own run.
func TestWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHeld(10)
		var outcomes [3]chan error
		for i, wait := range []time.Duration{time.Second, time.Second, time.Minute} {
			outcomes[i] = make(chan error, 1)
			go func() { outcomes[i] <- h.DoWithin(wait, i+1) }()
			synctest.Wait()
		}
		if err := <-outcomes[1]; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("an item whose time was over: %v, want %v", err, context.DeadlineExceeded)
		}
		h.let <- struct{}{}
		h.let <- struct{}{}
		for _, i := range []int{0, 2} {
			if err := <-outcomes[i]; err != nil {
				t.Errorf("item %d: %v", i+1, err)
			}
		}
		wantRuns(t, h, []int{1}, []int{3})
	})
}

// TestAbandons checks that an item whose caller left is not run, unless its run has
// begun: that is waited for.
func TestAbandons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHeld(10)
		first := h.submit(t.Context(), 1)[0]
		ctx, leave := context.WithCancel(t.Context())
		gone := h.submit(ctx, 2)[0]
		stays := h.submit(t.Context(), 3)[0]
		begun, hangUp := context.WithCancel(t.Context())
		late := h.submit(begun, 4)[0]
		leave()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("an item that was abandoned: %v, want %v", err, context.Canceled)
		}
		if n := h.Waiting(); n != 2 { // a run that hangs holds nothing that nobody waits for
			t.Errorf("%d items wait, want 2", n)
		}
		h.let <- struct{}{}
		synctest.Wait()
		hangUp()
		synctest.Wait()
		select {
		case err := <-late:
			t.Errorf("an item whose run had begun was left: %v", err)
		default:
		}
		h.let <- struct{}{}
		for _, o := range []chan error{first, stays, late} {
			if err := <-o; err != nil {
				t.Error(err)
			}
		}
		if err := h.Do(ctx, 5); !errors.Is(err, context.Canceled) {
			t.Errorf("an item of a caller who had left: %v, want %v", err, context.Canceled)
		}
		wantRuns(t, h, []int{1}, []int{3, 4})
	})
}

// TestCloses checks that closing waits for what was taken, and takes no more.
func TestCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHeld(10)
		outcomes := h.submit(t.Context(), 1, 2)
		var firsts sync.Map
		var closing sync.WaitGroup
		for i := range 2 {
			closing.Go(func() { firsts.Store(i, h.Close()) })
		}
		synctest.Wait()
		if err := h.Do(t.Context(), 3); !errors.Is(err, ErrClosed) {
			t.Errorf("an item after closing: %v, want %v", err, ErrClosed)
		}
		h.let <- struct{}{}
		synctest.Wait()
		if _, over := firsts.Load(0); over {
			t.Error("closing did not wait for the second run")
		}
		h.let <- struct{}{}
		closing.Wait()
		for i, o := range outcomes {
			if err := <-o; err != nil {
				t.Errorf("item %d: %v", i+1, err)
			}
		}
		wantRuns(t, h, []int{1}, []int{2})
		a, _ := firsts.Load(0)
		b, _ := firsts.Load(1)
		if a == b {
			t.Errorf("both closed it first, or none: %v, %v", a, b)
		}
		if New(1, func([]int) {}).Close() != true {
			t.Error("an idle group was not closed")
		}
	})
}

// TestMany runs items of many callers: each once, never two runs at a time.
func TestMany(t *testing.T) {
	const callers, each = 16, 500
	seen := make([]int, callers*each)
	running := false
	g := New(7, func(items []int) {
		if running {
			t.Error("two runs at a time")
		}
		running = true
		for _, item := range items {
			seen[item]++
		}
		running = false
	})
	var wait sync.WaitGroup
	for c := range callers {
		wait.Go(func() {
			for i := range each {
				if err := g.Do(t.Context(), c*each+i); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	for item, n := range seen {
		if n != 1 {
			t.Fatalf("item %d was run %d times", item, n)
		}
	}
}
