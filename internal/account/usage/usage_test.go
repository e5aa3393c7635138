package usage

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"ql/internal/account"
)

func TestMonths(t *testing.T) {
	for _, test := range []struct{ at, month, end string }{
		{"2026-11-15T12:00:00Z", "2026-11", "2026-12-01T00:00:00Z"},
		{"2026-12-31T23:59:59Z", "2026-12", "2027-01-01T00:00:00Z"},
		{"2027-01-01T00:00:00Z", "2027-01", "2027-02-01T00:00:00Z"},
		{"2027-01-01T01:00:00+02:00", "2026-12", "2027-01-01T00:00:00Z"},
	} {
		at, err := time.Parse(time.RFC3339, test.at)
		if err != nil {
			t.Fatal(err)
		}
		m := MonthOf(at)
		if m.String() != test.month || m.End().Format(time.RFC3339) != test.end || MonthOf(m.End()) != m+1 {
			t.Errorf("%s: got %s until %s", test.at, m, m.End())
		}
	}
}

// fakeStore counts how often it is asked.
type fakeStore struct {
	mu       sync.Mutex
	used     map[Month]Used
	days     []UsedDay
	asked    int
	counts   int
	failed   error
	reserved int // how often it was asked
}

func (s *fakeStore) Used(_ context.Context, _ account.ID, m Month) (Used, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	return s.used[m], s.failed
}

func (s *fakeStore) Reserve(_ context.Context, _ account.ID, d Day, bytes, most int64) (bool, error) {
	m := d.Month()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reserved++
	u := s.used[m]
	if most > 0 && u.Egress+bytes > most {
		return false, s.failed
	}
	u.Egress += bytes
	s.used[m] = u
	return true, s.failed
}

func (s *fakeStore) Days(context.Context, account.ID, Day) ([]UsedDay, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.days, s.failed
}

func (s *fakeStore) Count(_ context.Context, _ account.ID, d Day, used Used) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		u := s.used[d.Month()]
		u.add(used)
		s.used[d.Month()] = u
		s.counts++
	}
	return s.failed
}

// add is what another node or the recorder does.
func (s *fakeStore) add(m Month, calls int64, running time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.used[m]
	u.Calls, u.Running = u.Calls+calls, u.Running+running
	s.used[m] = u
}

type world struct {
	*testing.T
	*Tally
	store *fakeStore
	now   time.Time
}

func newWorld(t *testing.T) *world {
	w := &world{T: t, store: &fakeStore{used: map[Month]Used{}}, now: time.Date(2026, 11, 30, 23, 0, 0, 0, time.UTC)}
	w.Tally = NewTally(w.store, func() time.Time { return w.now })
	return w
}

const ada = account.ID(7)

func (w *world) call(l account.Limits, ran time.Duration) error {
	w.Helper()
	c, err := w.Begin(w.Context(), ada, l)
	if err == nil {
		c.Count(ran)
	}
	c.Done()
	return err
}

func (w *world) want(what string, err error, exceeded string) {
	w.Helper()
	var e *Exceeded
	switch {
	case exceeded == "" && err == nil:
	case !errors.As(err, &e) || e.Error() != exceeded || !e.Until.Equal(MonthOf(w.now).End()):
		w.Errorf("%s: got %v, want %q", what, err, exceeded)
	}
}

func TestCalls(t *testing.T) {
	w := newWorld(t)
	limits := account.Limits{CallsPerMonth: 3}
	const over = "the account has used up its 3 calls in a month: more from 1 December 2026 on"
	w.store.add(MonthOf(w.now), 1, 0)
	w.want("the second", w.call(limits, 0), "")
	w.want("the third", w.call(limits, 0), "")
	w.want("the fourth", w.call(limits, 0), over)
	if w.store.asked != 1 {
		t.Errorf("the store was asked %d times", w.store.asked)
	}
	if used, err := w.Used(t.Context(), ada); err != nil || used.Calls != 3 {
		t.Errorf("used are %+v, %v", used, err)
	}
	w.want("with a wider plan", w.call(account.Limits{CallsPerMonth: 10}, 0), "")
	w.want("without a bound", w.call(account.Limits{}, 0), "")
	w.now = MonthOf(w.now).End()
	w.want("in another month", w.call(limits, 0), "")
}

func TestCallsThatCameToNothing(t *testing.T) {
	w := newWorld(t)
	limits := account.Limits{CallsPerMonth: 1}
	c, err := w.Begin(t.Context(), ada, limits)
	w.want("the first", err, "")
	if err := w.call(limits, 0); err == nil {
		t.Error("a second is let in beside it")
	}
	c.Done()
	c.Done()
	w.want("in its place", w.call(limits, 0), "")
	if err := w.call(limits, 0); err == nil {
		t.Error("it was given back twice")
	}
}

func TestRunning(t *testing.T) {
	w := newWorld(t)
	limits := account.Limits{RunningPerMonth: time.Hour}
	w.want("the first", w.call(limits, 59*time.Minute), "")
	w.want("one that goes over", w.call(limits, time.Hour), "")
	w.want("the next", w.call(limits, 0), "the account has used up the 1h0m0s that its scripts may run in a month: more from 1 December 2026 on")
}

// TestOtherNodes: what others count is seen after a while, and a store that is
// away changes nothing meanwhile.
func TestOtherNodes(t *testing.T) {
	w := newWorld(t)
	limits := account.Limits{CallsPerMonth: 100}
	w.want("the first", w.call(limits, 0), "")
	w.store.add(MonthOf(w.now), 100, 0)
	w.want("at once", w.call(limits, 0), "")
	w.now = w.now.Add(fresh)
	w.store.failed = errors.New("away")
	w.want("while the store is away", w.call(limits, 0), "")
	w.store.failed = nil
	w.now = w.now.Add(fresh)
	if err := w.call(limits, 0); err == nil {
		t.Error("it is let in")
	}
	w.store.failed = errors.New("away")
	if _, err := w.Begin(t.Context(), ada+1, limits); !errors.Is(err, w.store.failed) {
		t.Errorf("one that nothing is known of: %v", err)
	}
}

func TestTogether(t *testing.T) {
	w := newWorld(t)
	limits := account.Limits{CallsPerMonth: 100}
	var let int
	var mu sync.Mutex
	var group sync.WaitGroup
	for range 200 {
		group.Go(func() {
			c, err := w.Begin(t.Context(), ada, limits)
			if err != nil {
				return
			}
			c.Count(0)
			mu.Lock()
			defer mu.Unlock()
			let++
		})
	}
	group.Wait()
	if let != 100 {
		t.Errorf("%d of 200 were let in, want 100", let)
	}
}

func TestSend(t *testing.T) {
	w := newWorld(t)
	const limit = 1000
	unsent, err := w.Send(t.Context(), ada, 900, limit, false)
	w.want("the first", err, "")
	_, err = w.Send(t.Context(), ada, 101, limit, false)
	w.want("too much", err, "the account has used up the 1000 bytes that may leave for it in a month: more from 1 December 2026 on")
	unsent(500)
	_, err = w.Send(t.Context(), ada, 101, limit, false)
	w.want("after some was given back", err, "")
	if err := w.Sent(t.Context(), ada, 1<<20); err != nil {
		t.Error(err)
	}
	_, err = w.Send(t.Context(), ada, 1<<40, 0, false)
	w.want("without a bound", err, "")
	if used, err := w.Used(t.Context(), ada); err != nil || used.Egress != 900-500+101+1<<20+1<<40 {
		t.Errorf("used are %+v, %v", used, err)
	}
}

func TestNobodyCounts(t *testing.T) {
	var none *Tally
	c, err := none.Begin(t.Context(), ada, account.Limits{CallsPerMonth: 1})
	c.Count(time.Second)
	c.Done()
	used, err2 := none.Used(t.Context(), ada)
	unsent, err3 := none.Send(t.Context(), ada, 2, 1, false)
	unsent(2)
	if err != nil || err2 != nil || err3 != nil || used != (Used{}) {
		t.Errorf("got %v, %v, %v, %v", err, err2, err3, used)
	}
}

func TestDays(t *testing.T) {
	for _, test := range []struct{ at, day string }{
		{"2026-11-30T23:59:59.999999Z", "2026-11-30"}, {"2026-12-01T00:00:00Z", "2026-12-01"}, {"2024-02-29T12:00:00+13:00", "2024-02-28"},
		{"1970-01-01T00:00:00Z", "1970-01-01"}, {"1969-12-31T23:59:59Z", "1969-12-31"},
	} {
		at, err := time.Parse(time.RFC3339, test.at)
		if err != nil {
			t.Fatal(err)
		}
		if d := DayOf(at); d.String() != test.day || d.Month() != MonthOf(at) {
			t.Errorf("%s: got %s of %s", test.at, d, d.Month())
		}
	}
}

// TestDaysComeToTheMonth: what is counted and not stored yet is of today, and what was given back
// leaves no day with less than nothing.
func TestDaysComeToTheMonth(t *testing.T) {
	w := newWorld(t)
	today := DayOf(w.now)
	w.store.used[today.Month()] = Used{Calls: 10, Running: time.Second, Egress: 60}
	w.store.days = []UsedDay{
		{Day: today - 40, Used: Used{Calls: 99}}, // of another month
		{Day: today - 1, Used: Used{Calls: 7, Running: time.Second, Egress: 100}},
		{Day: today, Used: Used{Calls: 1, Egress: -40}},
	}
	days, err := w.Days(t.Context(), ada)
	if err != nil || len(days) != RetentionDays {
		t.Fatalf("%d days, %v", len(days), err)
	}
	last := days[RetentionDays-2:]
	if last[0] != (UsedDay{today - 1, Used{7, time.Second, 60, 0}}) || last[1] != (UsedDay{today, Used{Calls: 3}}) || days[RetentionDays-41].Calls != 99 {
		t.Errorf("%+v", last)
	}
	var none *Tally
	if days, err := none.Days(t.Context(), ada); err != nil || days != nil {
		t.Errorf("%v %v", days, err)
	}
}
