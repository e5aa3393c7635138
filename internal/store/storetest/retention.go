package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/account/usage"
	"ql/internal/job"
)

// wantBytes compares what an account keeps with what the records of its finished
// jobs hold, and with what is expected.
func wantBytes(t *testing.T, what string, s Stores, a account.ID, want ...job.Record) {
	t.Helper()
	var sum int64
	for _, r := range want {
		sum += r.Bytes()
	}
	got, err := s.Jobs.RecordBytes(t.Context(), a)
	must(t, err)
	if there := bytesThere(t, s, a); got != sum || there != sum {
		t.Errorf("%s: %d bytes are kept, and %d are there, want %d", what, got, there, sum)
	}
}

func bytesThere(t *testing.T, s Stores, a account.ID) (sum int64) {
	t.Helper()
	list, err := s.Jobs.List(t.Context(), a, job.Query{Limit: 10_000})
	must(t, err)
	for _, one := range list {
		if one.State.Finished() {
			r, err := s.Jobs.ByID(t.Context(), one.ID)
			must(t, err)
			sum += r.Bytes()
		}
	}
	return sum
}

// testKept follows what an account keeps through all that finishes and removes
// its jobs.
func testKept(t *testing.T, s Stores) {
	a, b := create(t, s.Accounts, person("ada")), create(t, s.Accounts, person("bob"))
	ctx := t.Context()
	wantBytes(t, "at first", s, a.ID)
	unfinished := record(a.ID, 3)
	unfinished.State, unfinished.Finished = job.Paused, time.Time{}
	later := spent(a.ID, 2, usage.MonthOf(noon).End(), time.Second)
	later.Error, later.Response, later.Result = []byte("12"), []byte("345"), make([]byte, 100_000)
	must(t, s.Jobs.Record(ctx, []job.Record{record(a.ID, 1), later, unfinished, record(b.ID, 4)}))
	wantBytes(t, "with records", s, a.ID, record(a.ID, 1), later)
	must(t, s.Jobs.Record(ctx, []job.Record{record(a.ID, 1), record(a.ID, 5), record(a.ID, 5)}))
	wantBytes(t, "with one that came twice", s, a.ID, record(a.ID, 1), later, record(a.ID, 5))

	done := end(task(a.ID, 10), job.Complete)
	l := running(t, s, a.ID, 10)
	wantBytes(t, "with one that runs", s, a.ID, record(a.ID, 1), later, record(a.ID, 5))
	must(t, s.Queue.Finish(ctx, l, done))
	wantError(t, "finished twice", s.Queue.Finish(ctx, l, done), job.ErrLeaseLost)
	atOnce := end(task(a.ID, 11), job.Failed)
	_, err := s.Queue.AcceptEnded(ctx, task(a.ID, 11), atOnce)
	must(t, err)
	bring(t, s, a.ID, 12, job.Waiting)
	for range 2 {
		_, _, err = s.Queue.Cancel(ctx, record(a.ID, 12).ID, noon, []byte("why"), "")
		must(t, err)
	}
	cancelled := view(t, s, record(a.ID, 12).ID).Record
	all := []job.Record{record(a.ID, 1), later, record(a.ID, 5), done.Record, atOnce.Record, cancelled}
	wantBytes(t, "with jobs", s, a.ID, all...)

	n, err := s.Jobs.Forget(ctx, a.ID, record(a.ID, 2).Finished, 10)
	must(t, err)
	same(t, "forgotten", n, 1)
	wantBytes(t, "when some are forgotten", s, a.ID, all[1:]...)
	for {
		n, err := s.Accounts.Purge(ctx, a.ID, 2)
		must(t, err)
		wantBytes(t, "while it is emptied", s, a.ID, kept(t, s, a.ID)...)
		if n == 0 {
			break
		}
	}
	wantBytes(t, "when it is emptied", s, a.ID)
	wantBytes(t, "of another", s, b.ID, record(b.ID, 4))
	must(t, s.Accounts.Delete(ctx, b.ID))
	wantBytes(t, "of nobody", s, b.ID)
}

// kept returns the records of an account's finished jobs.
func kept(t *testing.T, s Stores, a account.ID) (list []job.Record) {
	t.Helper()
	all, err := s.Jobs.List(t.Context(), a, job.Query{Limit: 10_000})
	must(t, err)
	for _, one := range all {
		if one.State.Finished() {
			r, err := s.Jobs.ByID(t.Context(), one.ID)
			must(t, err)
			list = append(list, r)
		}
	}
	return list
}

// numbers are those of records, in order.
func numbers(list []job.Record) (of []int64) {
	for _, r := range list {
		of = append(of, r.Steps)
	}
	slices.Sort(of)
	return of
}

// testTrim removes what finished first: no more than must go, no more at once
// than is asked for, and nothing that is not finished.
func testTrim(t *testing.T, s Stores) {
	a, b := create(t, s.Accounts, person("ada")), create(t, s.Accounts, person("bob"))
	list := records(a.ID, 10)
	for i := range list {
		list[i].Result = make([]byte, 1000)
	}
	each := list[0].Bytes()
	list[0].State, list[0].Finished = job.Waiting, time.Time{} // however old
	list[1].Finished = list[7].Finished.Add(time.Microsecond)  // stored early, and finished late
	must(t, s.Jobs.Record(t.Context(), append(list, record(b.ID, 100))))
	trim := func(most int64, limit, want int, left ...int64) {
		t.Helper()
		n, err := s.Jobs.Trim(t.Context(), a.ID, most, limit)
		must(t, err)
		if n != want {
			t.Errorf("%d jobs were removed", n)
		}
		same(t, fmt.Sprintf("what is left within %d bytes", most), numbers(kept(t, s, a.ID)), left)
		wantBytes(t, "then", s, a.ID, kept(t, s, a.ID)...)
	}
	trim(9*each, 10, 0, 2, 3, 4, 5, 6, 7, 8, 9, 10)
	trim(9*each-1, 10, 1, 2, 4, 5, 6, 7, 8, 9, 10)
	trim(0, 2, 2, 2, 6, 7, 8, 9, 10)
	trim(4*each+1, 10, 2, 2, 8, 9, 10)
	trim(3*each, 10, 1, 2, 9, 10)
	trim(2*each, 10, 1, 9, 10)
	trim(each/2, 0, 0, 9, 10)
	trim(each/2, 10, 2)
	trim(0, 10, 0)
	same(t, "the one that is not finished", list[0], mustByID(t, s, list[0].ID))
	wantBytes(t, "of another", s, b.ID, record(b.ID, 100))
	n, err := s.Jobs.Trim(t.Context(), b.ID+100, 0, 10)
	must(t, err)
	same(t, "of nobody", n, 0)
}

func mustByID(t *testing.T, s Stores, id job.ID) job.Record {
	t.Helper()
	r, err := s.Jobs.ByID(t.Context(), id)
	must(t, err)
	return r
}

// testTrimMany: the order holds over many jobs, where most that were stored first
// stood for long.
func testTrimMany(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	const many, stood = 950, 400
	list := records(a.ID, many)
	for i := range stood {
		list[i].Finished = list[many-1].Finished.Add(time.Duration(i+1) * time.Microsecond)
	}
	must(t, s.Jobs.Record(t.Context(), list))
	each := list[0].Bytes()
	for left := int64(many); left > stood; {
		n, err := s.Jobs.Trim(t.Context(), a.ID, (left-10)*each, 20)
		must(t, err)
		left -= 10
		same(t, "how many went", n, 10)
		kept, err := s.Jobs.RecordBytes(t.Context(), a.ID)
		must(t, err)
		same(t, "what is kept", kept, left*each)
		_, err = s.Jobs.ByID(t.Context(), list[many-(left-stood)-1].ID)
		wantError(t, "the last that went", err, job.ErrNotFound)
	}
	left := numbers(kept(t, s, a.ID))
	same(t, "what is left", []int64{left[0], left[stood-1]}, []int64{1, stood})
}

// testTrimRace has many trim an account at once: together they remove what one
// would.
func testTrimRace(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	list := records(a.ID, 400)
	must(t, s.Jobs.Record(t.Context(), list))
	most := 100 * list[0].Bytes()
	winners(t, atOnce(16, func(int) error {
		for {
			if n, err := s.Jobs.Trim(t.Context(), a.ID, most, 30); err != nil || n == 0 {
				return err
			}
		}
	}), func(error) bool { return false })
	wantBytes(t, "what is left", s, a.ID, list[300:]...)
}

// testTrimLeaves: a job that is removed early leaves what one leaves that was kept
// for its time: its key, which leads to it, and what is told of it.
func testTrimLeaves(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	ctx := t.Context()
	first := task(a.ID, 1)
	first.Key = &job.Key{Hash: [32]byte{1}, Until: seconds(1000)}
	_, err := s.Queue.AcceptEnded(ctx, first, end(first, job.Complete))
	must(t, err)
	n, err := s.Jobs.Trim(ctx, a.ID, 0, 10)
	must(t, err)
	same(t, "how many went", n, 1)
	_, err = s.Queue.View(ctx, first.ID)
	wantError(t, "the job", err, job.ErrNotFound)
	again := task(a.ID, 2)
	again.Key = first.Key
	earlier, err := s.Queue.AcceptEnded(ctx, again, end(again, job.Complete))
	must(t, err)
	same(t, "the job of the key", earlier, first.ID)
	told, err := s.Deliveries.ByJob(ctx, first.ID)
	must(t, err)
	same(t, "what is told of it", len(told), 1)
}
