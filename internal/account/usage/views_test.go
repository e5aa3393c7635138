package usage

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ql/internal/account"
)

func (w *world) served(a account.ID, used Used) {
	w.Helper()
	if err := w.Served(w.Context(), a, used); err != nil {
		w.Error(err)
	}
}

func (w *world) wantUsed(what string, want Used, counts int) {
	w.Helper()
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	if got := w.store.used[MonthOf(w.now)]; got != want || w.store.counts != counts {
		w.Errorf("%s: the store has %+v of %d writes", what, got, w.store.counts)
	}
}

// TestViews: what is served is added up, and stored a moment later, or when somebody asks.
func TestViews(t *testing.T) {
	w := newWorld(t)
	view := Used{Calls: 1, Running: time.Millisecond, Egress: 10}
	for range 100 {
		w.served(ada, view)
	}
	w.served(ada, Used{})
	w.wantUsed("at first", Used{}, 0)
	if used, err := w.Used(t.Context(), ada); err != nil || used != (Used{Calls: 100, Running: 100 * time.Millisecond, Egress: 1000}) {
		t.Errorf("who asks is told of %+v, %v", used, err)
	}
	w.wantUsed("then", Used{Calls: 100, Running: 100 * time.Millisecond, Egress: 1000}, 1)
	w.served(ada, view)
	if _, err := w.Days(t.Context(), ada); err != nil || w.store.counts != 2 {
		t.Errorf("days: %v, %d writes", err, w.store.counts)
	}
	w.served(ada, view)
	_, err := w.Send(t.Context(), ada, 10, 1029, false)
	w.want("what has left counts", err, "the account has used up the 1029 bytes that may leave for it in a month: more from 1 December 2026 on")
	w.served(ada+1, view)
	if _, err := w.Used(t.Context(), ada); err != nil || w.store.counts != 3 {
		t.Errorf("another's views: %v, %d writes", err, w.store.counts)
	}
	if err := w.StoreViews(t.Context()); err != nil || w.store.counts != 4 {
		t.Errorf("in the end: %v, %d writes", err, w.store.counts)
	}
}

// TestViewsByTheSecond: a thousand views of a second are one write; after a failure all are stored.
func TestViewsByTheSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var mu sync.Mutex
		failures := 0
		stop := w.StartViews(background{}, func(error) {
			mu.Lock()
			defer mu.Unlock()
			failures++
		})
		for range 1000 {
			w.served(ada, Used{Calls: 1})
		}
		synctest.Wait()
		w.wantUsed("at once", Used{}, 0)
		after(viewsEvery)
		w.wantUsed("after a moment", Used{Calls: 1000}, 1)
		w.store.setFailed(errors.New("the disk is full"))
		w.served(ada, Used{Calls: 1})
		after(3 * viewsEvery)
		w.store.setFailed(nil)
		w.served(ada, Used{Calls: 1})
		after(viewsEvery)
		w.wantUsed("after a failure", Used{Calls: 1002}, 2)
		w.served(ada, Used{Calls: 1})
		if err := stop(t.Context()); err != nil {
			t.Error(err)
		}
		w.wantUsed("in the end", Used{Calls: 1003}, 3)
		mu.Lock()
		defer mu.Unlock()
		if failures != 3 {
			t.Errorf("%d failures were told of", failures)
		}
	})
}

type background struct{}

func (background) Go(_ string, f func()) { go f() }

func (background) Loop(ctx context.Context, _ string, f func(context.Context)) { f(ctx) }

// after lets the clock of a bubble go on.
func after(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func (s *fakeStore) setFailed(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = err
}

// TestViewsOfTooMany: of more accounts than are added up each view is stored by itself.
func TestViewsOfTooMany(t *testing.T) {
	w := newWorld(t)
	for i := range account.ID(mostViews) {
		w.served(i+1, Used{Calls: 1})
	}
	w.wantUsed("those that fit", Used{}, 0)
	w.served(mostViews+1, Used{Calls: 1})
	w.served(1, Used{Calls: 1})
	w.wantUsed("one more", Used{Calls: 1}, 1)
	if err := w.StoreViews(t.Context()); err != nil {
		t.Error(err)
	}
	w.wantUsed("all", Used{Calls: mostViews + 2}, mostViews+1)
}

// TestViewsAtOnce: none is lost between those who serve and those who store.
func TestViewsAtOnce(t *testing.T) {
	w := newWorld(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 500 {
				w.served(ada, Used{Calls: 1})
				if i%50 == 0 {
					if err := w.StoreViews(t.Context()); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	if used, err := w.Used(t.Context(), ada); err != nil || used.Calls != 4000 {
		t.Errorf("%d of 4000 are counted, %v", used.Calls, err)
	}
}
