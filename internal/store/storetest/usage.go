package storetest

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/account/usage"
	"ql/internal/job"
)

func wantUsed(t *testing.T, what string, s Stores, a account.ID, m usage.Month, want usage.Used) {
	t.Helper()
	got, err := s.Usage.Used(t.Context(), a, m)
	must(t, err)
	same(t, what, got, want)
}

// spent returns the record with a number of a call that ended at a moment, after
// some time.
func spent(a account.ID, n int, ended time.Time, ran time.Duration) job.Record {
	r := record(a, n)
	r.Created, r.Finished, r.Ran = ended.Add(-time.Hour), ended, ran
	return r
}

// testUsage: calls and jobs are counted when they are stored, and what they use with
// their end, once, in the month of that.
func testUsage(t *testing.T, s Stores) {
	a, b := create(t, s.Accounts, person("ada")), create(t, s.Accounts, person("bob"))
	november, december := usage.MonthOf(noon), usage.MonthOf(noon)+1
	wantUsed(t, "nothing", s, a.ID, november, usage.Used{})
	var records []job.Record
	for n := range 20 {
		records = append(records, spent(a.ID, n, noon, 2*time.Millisecond))
	}
	records = append(records, spent(b.ID, 20, noon, 3*time.Microsecond), spent(a.ID, 21, november.End().Add(time.Second), 5*time.Second))
	must(t, s.Jobs.Record(t.Context(), records))
	wantUsed(t, "of november", s, a.ID, november, usage.Used{Calls: 20, Running: 40 * time.Millisecond})
	wantUsed(t, "of december", s, a.ID, december, usage.Used{Calls: 1, Running: 5 * time.Second})
	wantUsed(t, "of another", s, b.ID, november, usage.Used{Calls: 1, Running: 3 * time.Microsecond})

	// Those that are stored already are not counted again.
	must(t, s.Jobs.Record(t.Context(), append(records[:18:18], spent(a.ID, 22, noon, time.Second))))
	wantUsed(t, "with one more", s, a.ID, november, usage.Used{Calls: 21, Running: time.Second + 40*time.Millisecond})

	l := running(t, s, a.ID, 30)
	wantUsed(t, "with a job that runs", s, a.ID, november, usage.Used{Calls: 22, Running: time.Second + 40*time.Millisecond})
	e := &job.End{Record: record(a.ID, 30)}
	e.State, e.Finished, e.Ran = job.Complete, noon, time.Minute
	must(t, s.Queue.Finish(t.Context(), l, e))
	wantError(t, "finished twice", s.Queue.Finish(t.Context(), l, e), job.ErrLeaseLost)
	wantUsed(t, "with a job", s, a.ID, november, usage.Used{Calls: 22, Running: time.Minute + time.Second + 40*time.Millisecond})

	accept(t, s, task(b.ID, 31))
	wantUsed(t, "with one that waits", s, b.ID, november, usage.Used{Calls: 2, Running: 3 * time.Microsecond})
	for range 2 {
		_, _, err := s.Queue.Cancel(t.Context(), record(b.ID, 31).ID, noon, nil, "")
		must(t, err)
	}
	wantUsed(t, "with one that never began", s, b.ID, november, usage.Used{Calls: 2, Running: 3 * time.Microsecond})

	_, err := s.Queue.Adopt(t.Context(), task(b.ID, 32), pausedAt(4))
	must(t, err)
	key := &job.Key{Hash: [32]byte{7}, Until: november.End()}
	for n := range 3 {
		one := task(b.ID, 33+n)
		one.Key = key
		_, _, err := s.Queue.Accept(t.Context(), one, node(t, s), claimTime)
		must(t, err)
	}
	wantUsed(t, "with one that stands, and one that was sent three times", s, b.ID, november, usage.Used{Calls: 4, Running: 3 * time.Microsecond})

	// What was used stays used, whatever is forgotten of it.
	_, err = s.Accounts.Purge(t.Context(), b.ID, 1000)
	must(t, err)
	wantUsed(t, "of an account that was emptied", s, b.ID, november, usage.Used{Calls: 4, Running: 3 * time.Microsecond})
	must(t, s.Accounts.Delete(t.Context(), b.ID))
	wantUsed(t, "of nobody", s, b.ID, november, usage.Used{})
}

func testEgress(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	month := usage.MonthOf(noon)
	reserve := func(bytes, most int64, want bool) {
		t.Helper()
		got, err := s.Usage.Reserve(t.Context(), a.ID, usage.DayOf(noon), bytes, most)
		must(t, err)
		if got != want {
			t.Errorf("%d of %d bytes: %v", bytes, most, got)
		}
	}
	reserve(60, 100, true)
	reserve(41, 100, false)
	reserve(40, 100, true)
	reserve(1, 100, false)
	reserve(-30, 0, true)
	reserve(30, 100, true)
	reserve(1000, 0, true)
	reserve(0, 100, false)
	wantUsed(t, "all", s, a.ID, month, usage.Used{Egress: 1100})
	wantUsed(t, "of another month", s, a.ID, month+1, usage.Used{})
	reserve(-2000, 0, true)
	wantUsed(t, "given back too much", s, a.ID, month, usage.Used{})
	_, err := s.Usage.Reserve(t.Context(), a.ID+100, usage.DayOf(noon), 1, 0)
	wantError(t, "of nobody", err, account.ErrNotFound)
}

// testEgressRace: of many who want the same bytes as many get some as there are.
func testEgressRace(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	const wanted, most = 200, 100
	var got atomic.Int64
	var group sync.WaitGroup
	for range wanted {
		group.Go(func() {
			done, err := s.Usage.Reserve(t.Context(), a.ID, usage.DayOf(noon), 1, most)
			if err != nil {
				t.Error(err)
			}
			if done {
				got.Add(1)
			}
		})
	}
	group.Wait()
	if got.Load() != most {
		t.Errorf("%d of %d got one of %d", got.Load(), wanted, most)
	}
	wantUsed(t, "all", s, a.ID, usage.MonthOf(noon), usage.Used{Egress: most})
}

// testUsageOfTwo: what two members count is one sum, also that which the one counted
// and the other takes back, and the bound of what leaves is one for both.
func testUsageOfTwo(t *testing.T, first, second *process) {
	a := create(t, first.Accounts, person("ada"))
	month := usage.MonthOf(noon)
	ctx := t.Context()
	must(t, first.Jobs.Record(ctx, []job.Record{spent(a.ID, 1, noon, time.Second)}))
	must(t, second.Jobs.Record(ctx, []job.Record{spent(a.ID, 2, noon, time.Second), spent(a.ID, 3, noon, time.Second)}))
	for _, p := range []*process{first, second} {
		wantUsed(t, "both", p.Stores, a.ID, month, usage.Used{Calls: 3, Running: 3 * time.Second})
	}

	const most = 1000
	var granted atomic.Int64
	errs := atOnce(40, func(i int) error {
		ok, err := []*process{first, second}[i%2].Usage.Reserve(ctx, a.ID, usage.DayOf(noon), 60, most)
		if ok {
			granted.Add(60)
		}
		return err
	})
	for _, err := range errs {
		must(t, err)
	}
	if granted.Load() != 960 {
		t.Errorf("%d of %d bytes were granted", granted.Load(), most)
	}
	// One may give back what the other took, and no more than there is.
	for _, back := range []int64{-900, -900} {
		ok, err := second.Usage.Reserve(ctx, a.ID, usage.DayOf(noon), back, most)
		if !ok || err != nil {
			t.Errorf("%d: %t, %v", back, ok, err)
		}
	}
	wantUsed(t, "after all", first.Stores, a.ID, month, usage.Used{Calls: 3, Running: 3 * time.Second})

	// One removes what the other stored.
	kept, err := first.Jobs.RecordBytes(ctx, a.ID)
	must(t, err)
	n, err := second.Jobs.Forget(ctx, a.ID, noon.Add(time.Hour), 10)
	must(t, err)
	left, err := first.Jobs.RecordBytes(ctx, a.ID)
	must(t, err)
	if kept == 0 || n != 3 || left != 0 {
		t.Errorf("of %d bytes %d records went, and %d bytes are left", kept, n, left)
	}
}

// testCacheOfTwo: what one process changes of an account, the other sees at once.
func testCacheOfTwo(t *testing.T, first, second *process) {
	a := create(t, first.Accounts, person("ada"))
	key := a.KeyHash
	for n := range 20 {
		for _, p := range []*process{first, second} {
			for range 2 { // read, and found
				if _, err := p.Accounts.ByKeyHash(t.Context(), key); err != nil {
					t.Fatalf("key %d: %v", n, err)
				}
			}
		}
		old := key
		key = account.KeyHash{byte(n + 1), 1}
		must(t, []*process{first, second}[n%2].Accounts.RotateKey(t.Context(), a.ID, key, nil))
		for _, p := range []*process{first, second} {
			_, err := p.Accounts.ByKeyHash(t.Context(), old)
			wantError(t, "a key that was rotated away", err, account.ErrNotFound)
			must(t, p.session.Renew(t.Context())) // having seen it
		}
	}
}

// testUsageDays: what is used is counted on its day too, and the days of a month come to it.
func testUsageDays(t *testing.T, s Stores) {
	a, b := create(t, s.Accounts, person("ada")), create(t, s.Accounts, person("bob"))
	first := usage.DayOf(noon)
	next := noon.Add(24 * time.Hour)
	must(t, s.Jobs.Record(t.Context(), []job.Record{spent(a.ID, 1, noon, time.Second), spent(a.ID, 2, noon, time.Second), spent(b.ID, 3, noon, time.Second)}))
	_, err := s.Usage.Reserve(t.Context(), a.ID, first, 100, 0)
	must(t, err)
	must(t, s.Jobs.Record(t.Context(), []job.Record{spent(a.ID, 4, next, time.Minute)}))
	must(t, s.Usage.Count(t.Context(), a.ID, first+1, usage.Used{Calls: 1, Running: time.Microsecond}))
	_, err = s.Usage.Reserve(t.Context(), a.ID, first+1, 7, 0)
	must(t, err)
	wantError(t, "of nobody", s.Usage.Count(t.Context(), a.ID+100, first, usage.Used{Calls: 1}), account.ErrNotFound)
	want := []usage.UsedDay{
		{Day: first, Used: usage.Used{Calls: 2, Running: 2 * time.Second, Egress: 100}},
		{Day: first + 1, Used: usage.Used{Calls: 2, Running: time.Minute + time.Microsecond, Egress: 7}},
	}
	days, err := s.Usage.Days(t.Context(), a.ID, first)
	must(t, err)
	same(t, "days", days, want)
	days, err = s.Usage.Days(t.Context(), a.ID, first+1)
	must(t, err)
	same(t, "days from the second on", days, want[1:])
	wantUsed(t, "the month", s, a.ID, first.Month(), usage.Used{Calls: 4, Running: time.Minute + 2*time.Second + time.Microsecond, Egress: 107})

	// What comes late counts, on whichever day.
	must(t, s.Jobs.Record(t.Context(), []job.Record{spent(a.ID, 5, noon, time.Second)}))
	// A day of the next month, and one so late that the first ones are told apart no longer.
	for _, d := range []usage.Day{usage.DayOf(first.Month().End()), first + 200, first + 201} {
		must(t, s.Usage.Count(t.Context(), a.ID, d, usage.Used{Calls: 1}))
	}
	sum := func(from, to usage.Day) (n int64) {
		days, err := s.Usage.Days(t.Context(), a.ID, from)
		must(t, err)
		for _, d := range days {
			if d.Day < to {
				n += d.Calls
			}
		}
		return n
	}
	if n := sum(first+200-usage.RetentionDays, first+300); n != 2 {
		t.Errorf("the last days have %d calls", n)
	}
	wantUsed(t, "the month after all", s, a.ID, first.Month(), usage.Used{Calls: 5, Running: time.Minute + 3*time.Second + time.Microsecond, Egress: 107})
	must(t, s.Accounts.Delete(t.Context(), a.ID))
	if days, err := s.Usage.Days(t.Context(), a.ID, 0); err != nil || len(days) != 0 {
		t.Errorf("of nobody: %v %v", days, err)
	}
}
