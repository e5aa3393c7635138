package usage

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"ql/internal/account"
)

func (w *world) send(bytes, most int64, more bool) (unsent func(int64), err error) {
	return w.Send(w.Context(), ada, bytes, most, more)
}

func (s *fakeStore) reservations() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reserved
}

// wantEgress checks what the store has, without asking the tally, which would give back.
func (w *world) wantEgress(what string, want int64) {
	w.Helper()
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	if got := w.store.used[MonthOf(w.now)].Egress; got != want {
		w.Errorf("%s: the store has %d bytes, not %d", what, got, want)
	}
}

// TestAhead: an account that sends again and again asks the store a few times, which has always counted what
// has left, and in the end exactly that.
func TestAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		stop := w.StartViews(background{}, func(err error) { t.Error(err) })
		const all, each = 1000, 100
		var group sync.WaitGroup
		var sent atomic.Int64
		for i := range all {
			group.Go(func() {
				unsent, err := w.send(each, 1<<30, true)
				w.want("one of many", err, "")
				w.store.mu.Lock()
				if counted := w.store.used[MonthOf(w.now)].Egress; counted < sent.Add(each) {
					t.Errorf("%d bytes are counted of %d", counted, sent.Load())
				}
				w.store.mu.Unlock()
				if i%2 == 0 {
					sent.Add(-each)
					unsent(each)
				}
			})
		}
		group.Wait()
		if n := w.store.reservations(); n > 1+all*each/aheadBytes {
			t.Errorf("the store was asked %d times", n)
		}
		after(viewsEvery)
		for range 3 {
			_, err := w.send(1, 1<<30, false)
			w.want("one now and then", err, "")
			after(viewsEvery)
		}
		if n := w.store.reservations(); n > 2+all*each/aheadBytes {
			t.Errorf("then the store was asked %d times", n)
		}
		after(2 * viewsEvery)
		w.wantEgress("a moment later", all*each/2+3)
		if len(w.ahead.of) != 0 {
			t.Errorf("%d accounts are remembered", len(w.ahead.of))
		}
		_, err := w.send(1, 0, false)
		w.want("one alone", err, "")
		w.wantEgress("one alone reserves itself", all*each/2+4)
		_, err = w.send(1, 0, false)
		w.want("another", err, "")
		w.wantEgress("another reserves ahead", all*each/2+5+aheadBytes)
		if used, err := w.Used(t.Context(), ada); err != nil || used.Egress != all*each/2+5 {
			t.Errorf("who asks is told of %+v, %v", used, err)
		}
		_, err = w.send(1, 0, true)
		w.want("one before the end", err, "")
		if err := stop(t.Context()); err != nil {
			t.Error(err)
		}
		w.wantEgress("in the end", all*each/2+6)
	})
}

// TestAheadOfTheEnd: near the end of a month each is let through that fits, whatever others have
// reserved ahead.
func TestAheadOfTheEnd(t *testing.T) {
	w := newWorld(t)
	const most = aheadBytes + 1000
	for range 4 { // 400 of it, and the rest of it ahead
		_, err := w.send(100, most, true)
		w.want("at first", err, "")
	}
	fit := 0
	for range most {
		if _, err := w.send(100, most, true); err != nil {
			w.want("at the end", err, "the account has used up the 66536 bytes that may leave for it in a month: more from 1 December 2026 on")
			break
		}
		fit++
	}
	if fit != most/100-4 {
		t.Errorf("%d were sent of %d", fit, most/100-4)
	}
	_, err := w.send(most%100, most, false)
	w.want("what fits still", err, "")
	w.wantEgress("in the end", most)
	w.now = MonthOf(w.now).End()
	_, err = w.send(100, most, true)
	w.want("in another month", err, "")
}

// TestAheadOfTooMany: of more accounts than are remembered each reserves what it sends.
func TestAheadOfTooMany(t *testing.T) {
	w := newWorld(t)
	for i := range account.ID(mostViews + 1) {
		if _, err := w.Send(t.Context(), i+1, 1, 0, true); err != nil {
			t.Fatal(err)
		}
	}
	w.wantEgress("all", mostViews*(1+aheadBytes)+1)
	unsent, err := w.Send(t.Context(), mostViews+1, 1, 0, true)
	w.want("one more", err, "")
	unsent(1)
	if err := w.StoreViews(t.Context()); err != nil {
		t.Error(err)
	}
	w.wantEgress("in the end", mostViews+1)
}

// TestAheadAtOnce: nothing is lost or counted twice between those who send and those who store.
func TestAheadAtOnce(t *testing.T) {
	w := newWorld(t)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for i := range 500 {
				unsent, err := w.send(300, 0, true)
				w.want("one", err, "")
				if i%3 == 0 {
					unsent(100)
				}
				if i%20 == 0 {
					w.returnAhead(every, i%40 == 0)
				}
				if i%50 == 0 {
					if err := w.StoreViews(t.Context()); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	group.Wait()
	if used, err := w.Used(t.Context(), ada); err != nil || used.Egress != 8*(500*300-167*100) {
		t.Errorf("%d bytes are counted of %d, %v", used.Egress, 8*(500*300-167*100), err)
	}
}
