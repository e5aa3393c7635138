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

// TestTurnAway checks that those who are turned away, whether they would have led or shared a run, wait for none, and that the
// others are run.
func TestTurnAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHeld(9)
		h.TurnAway(func(item int) bool { return item%2 == 0 })
		outcomes := h.submit(t.Context(), 1, 2, 4, 3, 6, 5) // the first finds the group free
		h.let <- struct{}{}
		synctest.Wait()
		for i, o := range outcomes[:5] {
			if i != 3 {
				if err := <-o; err != nil {
					t.Errorf("outcome %d: %v", i, err)
				}
			}
		}
		wantRuns(t, h, []int{1}, []int{3, 5})
		outcomes = append(outcomes, h.submit(t.Context(), 8)...)
		h.let <- struct{}{} // after which only such are left
		for _, o := range outcomes[5:] {
			if err := <-o; err != nil {
				t.Error(err)
			}
		}
		wantRuns(t, h, []int{1}, []int{3, 5})
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

// newTimed returns a gathering group whose runs take a while, and the sizes of its runs.
func newTimed(most int, takes time.Duration) (g *Group[int], sizes *[]int) {
	sizes = new([]int)
	g = NewGathering(most, func(items []int) {
		*sizes = append(*sizes, len(items))
		time.Sleep(takes)
	})
	return g, sizes
}

// comeAgain has callers do items, each rounds times, with a pause between.
func comeAgain(g *Group[int], callers, rounds int, pause time.Duration) {
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			for range rounds {
				if err := g.Do(context.Background(), i); err != nil {
					panic(err)
				}
				time.Sleep(pause)
			}
		})
	}
	all.Wait()
}

// TestGathers: callers who come again and again soon share each run, all of them, and few of them do not wait for each other.
func TestGathers(t *testing.T) {
	for _, c := range []struct {
		callers, most int
		pause         time.Duration
		want          bool
	}{
		{callers: 20, most: 100, pause: 100 * time.Microsecond, want: true},
		{callers: 20, most: 12, pause: 100 * time.Microsecond, want: true},
		{callers: crowd - 1, most: 100, pause: 100 * time.Microsecond},
		{callers: 20, most: 100, pause: 0, want: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			g, sizes := newTimed(c.most, time.Millisecond)
			comeAgain(g, c.callers, 50, c.pause)
			if all := *sizes; (slices.Max(all[len(all)/2:]) == min(c.callers, c.most)) != c.want {
				t.Errorf("%d callers, at most %d, a pause of %v: runs of %v", c.callers, c.most, c.pause, all)
			}
			if g.gather.until != 0 || len(g.gather.full) != 0 {
				t.Error("somebody is still waited for")
			}
		})
	}
}

// TestGathersForAMoment: where those who came do not come again, a run waits for half as long as the last one took and two
// milliseconds at most, and not at all when that has been over for a while.
func TestGathersForAMoment(t *testing.T) {
	for _, c := range []struct{ takes, idle, want time.Duration }{
		{time.Millisecond, 0, 500 * time.Microsecond},
		{time.Second, 0, mostGathered},
		{time.Millisecond, 2 * time.Millisecond, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			g, sizes := newTimed(100, c.takes)
			comeAgain(g, 20, 1, 0) // one alone, and the others together
			time.Sleep(c.idle)
			*sizes = nil
			began := time.Now()
			comeAgain(g, 1, 1, 0)
			if took := time.Since(began) - c.takes; took != c.want || len(*sizes) != 1 {
				t.Errorf("runs of %v, %v later: it waits for %v, want %v", c.takes, c.idle, took, c.want)
			}
			began = time.Now()
			comeAgain(g, 1, 1, 0)
			if took := time.Since(began) - c.takes; took != 0 {
				t.Errorf("the one behind it waits for %v", took)
			}
		})
	}
}
