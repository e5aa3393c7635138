package storetest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"sync"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/job"
	"ql/internal/principal"
	recording "ql/internal/record"
)

// record returns the record with a number.
func record(a account.ID, n int) job.Record {
	r := job.Record{
		Summary: job.Summary{
			Account:    a,
			State:      job.Complete,
			Mode:       job.Sync,
			Convention: job.JSON,
			Credential: principal.ByPassword,
			Created:    noon.Add(time.Duration(n) * time.Second),
			Finished:   noon.Add(time.Duration(n)*time.Second + time.Millisecond),
			Steps:      int64(n),
		},
		Result: []byte(numbered("result", n)),
		Trace:  []byte(`[{"step":"EMIT"}]`),
		Ran:    time.Duration(n) * time.Microsecond,
	}
	r.ID[6], r.ID[8] = 0x40, 0x80
	binary.BigEndian.PutUint32(r.ID[:], uint32(n))
	return r
}

// summaries returns the summaries of a listing.
func summaries(list []job.Listed) (s []job.Summary) {
	for i := range list {
		s = append(s, list[i].Summary)
	}
	return s
}

// records returns those with the numbers from 1.
func records(a account.ID, n int) []job.Record {
	list := make([]job.Record, n)
	for i := range list {
		list[i] = record(a, i+1)
	}
	return list
}

func testJobs(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	full := record(a.ID, 1)
	full.Result, full.Encoding = []byte{0, 0xff, 0xfe}, job.Base64
	full.Error, full.Response, full.TraceDropped = []byte(`{"code":"x"}`), []byte(`{"status":404}`), 7
	full.State, full.Convention, full.Credential = job.Failed, job.Form, principal.ByNamedKey
	full.KeyID, full.ProgramName = 7, "greet"
	bare := record(a.ID, 2)
	bare.Result, bare.Trace, bare.Finished = []byte{}, nil, time.Time{}
	bare.State, bare.Mode = job.Accepted, job.Async
	large := record(a.ID, 3)
	large.Result = make([]byte, 3<<20)
	large.Result[len(large.Result)-1] = 1

	must(t, s.Jobs.Record(t.Context(), nil))
	must(t, s.Jobs.Record(t.Context(), []job.Record{full, bare, large}))
	for _, want := range []job.Record{full, bare, large} {
		got, err := s.Jobs.ByID(t.Context(), want.ID)
		must(t, err)
		same(t, want.ID.String(), got, want)
		summary, err := s.Jobs.Summary(t.Context(), want.ID)
		must(t, err)
		same(t, want.ID.String(), summary, want.Summary)
	}
	_, err := s.Jobs.Summary(t.Context(), job.NewID())
	wantError(t, "another id", err, job.ErrNotFound)
	_, err = s.Jobs.ByID(t.Context(), job.NewID())
	wantError(t, "another id", err, job.ErrNotFound)
	_, err = s.Jobs.ByID(t.Context(), job.ID{})
	wantError(t, "the zero id", err, job.ErrNotFound)
}

// testJobsAtOnce stores many records at once, of all kinds, some of which are there already.
func testJobsAtOnce(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	for _, n := range []int{1, 2, 31, 33, 128, 129, 300} {
		t.Run(numbered("records", n), func(t *testing.T) {
			list := make([]job.Record, n)
			want := map[job.ID]string{}
			for i := range list {
				r := record(a.ID, 1000*n+i)
				switch i % 7 {
				case 1:
					r.Result, r.Trace = []byte{}, nil
				case 2:
					r.Result, r.Encoding = []byte{0, 0xff, 0xfe, '"', '{', ',', '\\'}, job.Base64
				case 3:
					r.Error, r.State, r.KeyID, r.ProgramName = []byte(`{"code":"x"}`), job.Failed, 7, `{NULL,"a"}`
				case 4:
					r.Call.Name = "a \x00 name \xff"
				case 5:
					r.Result = bytes.Repeat([]byte("large "), 60_000)
				}
				if i == n/2 && n > 2 {
					r.ID = list[i-1].ID // which is stored once, as it was first
				} else {
					want[r.ID] = string(r.Result)
				}
				list[i] = r
			}
			must(t, s.Jobs.Record(t.Context(), list[:n/3]))
			must(t, s.Jobs.Record(t.Context(), list))
			for id, result := range want {
				got, err := s.Jobs.ByID(t.Context(), id)
				must(t, err)
				if string(got.Result) != result {
					t.Errorf("%s has another result", id)
				}
			}
			first, err := s.Jobs.ByID(t.Context(), list[0].ID)
			must(t, err)
			same(t, "the first", first, list[0])
			if n > 3 {
				failed, err := s.Jobs.ByID(t.Context(), list[3].ID)
				must(t, err)
				same(t, "one that failed", failed, list[3])
			}
		})
	}
}

func testJobList(t *testing.T, s Stores) {
	ada := create(t, s.Accounts, person("ada"))
	bob := create(t, s.Accounts, person("bob"))
	list := records(ada.ID, 6)
	list[1].State, list[4].State = job.Failed, job.Failed
	list[0].KeyID, list[1].KeyID, list[4].KeyID = 7, 8, 7
	list[2].ProgramName, list[3].ProgramName, list[4].ProgramName = "greet", "other", "greet"
	must(t, s.Jobs.Record(t.Context(), list[:2]))
	bobs := record(bob.ID, 100)
	bobs.KeyID, bobs.ProgramName = 9, "greet"
	must(t, s.Jobs.Record(t.Context(), []job.Record{bobs}))
	must(t, s.Jobs.Record(t.Context(), list[2:]))

	for _, test := range []struct {
		name  string
		query job.Query
		want  []int
	}{
		{"all", job.Query{Limit: 10}, []int{6, 5, 4, 3, 2, 1}},
		{"some", job.Query{Limit: 2}, []int{6, 5}},
		{"the next", job.Query{Limit: 2, Before: list[4].ID}, []int{4, 3}},
		{"the last", job.Query{Limit: 10, Before: list[1].ID}, []int{1}},
		{"none left", job.Query{Limit: 10, Before: list[0].ID}, nil},
		{"by state", job.Query{Limit: 10, State: job.Failed}, []int{5, 2}},
		{"by state, the next", job.Query{Limit: 10, State: job.Failed, Before: list[4].ID}, []int{2}},
		{"by state, none", job.Query{Limit: 10, State: job.Expired}, nil},
		{"after another's", job.Query{Limit: 10, Before: record(bob.ID, 100).ID}, nil},
		{"after an unknown one", job.Query{Limit: 10, Before: job.NewID()}, nil},
		{"without a limit", job.Query{}, nil},
		{"by key", job.Query{Limit: 10, KeyID: 7}, []int{5, 1}},
		{"by key, the next", job.Query{Limit: 1, KeyID: 7, Before: list[4].ID}, []int{1}},
		{"by another's key", job.Query{Limit: 10, KeyID: 9}, nil},
		{"by program", job.Query{Limit: 10, Programs: []string{"greet"}}, []int{5, 3}},
		{"by programs", job.Query{Limit: 10, Programs: []string{"greet", "other", "none"}}, []int{5, 4, 3}},
		{"by programs, some", job.Query{Limit: 2, Programs: []string{"other", "greet"}}, []int{5, 4}},
		{"by programs, the next", job.Query{Limit: 2, Programs: []string{"other", "greet"}, Before: list[3].ID}, []int{3}},
		{"by program, without a limit", job.Query{Programs: []string{"greet"}}, nil},
		{"by key and program", job.Query{Limit: 10, KeyID: 7, Programs: []string{"greet"}}, []int{5}},
		{"by state and program", job.Query{Limit: 10, State: job.Failed, Programs: []string{"greet", "other"}}, []int{5}},
	} {
		got, err := s.Jobs.List(t.Context(), ada.ID, test.query)
		must(t, err)
		var want []job.Summary
		for _, n := range test.want {
			want = append(want, list[n-1].Summary)
		}
		same(t, test.name, summaries(got), want)
	}
}

func testJobForget(t *testing.T, s Stores) {
	ada := create(t, s.Accounts, person("ada"))
	bob := create(t, s.Accounts, person("bob"))
	list := records(ada.ID, 5)
	list[0].Finished, list[0].State = time.Time{}, job.Paused // not finished, however old
	must(t, s.Jobs.Record(t.Context(), append(list, record(bob.ID, 100))))
	forget := func(before time.Time, limit, want int) {
		t.Helper()
		n, err := s.Jobs.Forget(t.Context(), ada.ID, before, limit)
		must(t, err)
		if n != want {
			t.Errorf("%d jobs were removed", n)
		}
	}
	forget(list[3].Finished, 1, 1)
	if _, err := s.Jobs.ByID(t.Context(), list[1].ID); !errors.Is(err, job.ErrNotFound) {
		t.Errorf("the oldest: %v", err)
	}
	forget(list[3].Finished, 10, 1)
	forget(list[3].Finished, 10, 0)
	forget(noon.Add(time.Hour), 0, 0)
	forget(noon.Add(time.Hour), 10, 2)
	left, err := s.Jobs.List(t.Context(), ada.ID, job.Query{Limit: 10})
	must(t, err)
	same(t, "what is left", summaries(left), []job.Summary{list[0].Summary})
	if _, err := s.Jobs.ByID(t.Context(), record(bob.ID, 100).ID); err != nil {
		t.Errorf("another's job: %v", err)
	}
}

// testJobsLeftOut stores records beside such as cannot be stored: of an account
// that is gone, and one twice.
func testJobsLeftOut(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	gone := create(t, s.Accounts, person("bob"))
	must(t, s.Accounts.Delete(t.Context(), gone.ID))
	twin := record(a.ID, 1)
	twin.Result = []byte("another")
	must(t, s.Jobs.Record(t.Context(), []job.Record{record(a.ID, 1), record(gone.ID, 2), twin, record(a.ID, 3)}))
	must(t, s.Jobs.Record(t.Context(), []job.Record{twin}))
	got, err := s.Jobs.ByID(t.Context(), twin.ID)
	must(t, err)
	same(t, "the first of two", got, record(a.ID, 1))
	_, err = s.Jobs.ByID(t.Context(), record(gone.ID, 2).ID)
	wantError(t, "the one of nobody", err, job.ErrNotFound)
	_, err = s.Jobs.ByID(t.Context(), record(a.ID, 3).ID)
	must(t, err)
}

// testRecorder records from many goroutines through a small buffer: all can be
// read at once, and are stored in the order in which each came.
func testRecorder(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	r := recording.NewRecorder(s.Jobs, recording.Options{MaxRecords: 8, MaxBatch: 3, Linger: time.Microsecond})
	const runs, rounds = 8, 25
	var group sync.WaitGroup
	for run := range runs {
		group.Go(func() {
			for round := range rounds {
				want := record(a.ID, run*rounds+round)
				if err := r.Record(t.Context(), want); err != nil {
					t.Error(err)
					return
				}
				if _, pending := r.Pending(want.ID); !pending { // then it is stored
					if _, err := s.Jobs.ByID(t.Context(), want.ID); err != nil {
						t.Errorf("it cannot be read: %v", err)
					}
				}
			}
		})
	}
	group.Wait()
	must(t, r.Close(t.Context()))
	list, err := s.Jobs.List(t.Context(), a.ID, job.Query{Limit: 1000})
	must(t, err)
	if len(list) != runs*rounds {
		t.Errorf("%d jobs were stored", len(list))
	}
	last := map[int64]int64{}
	for _, j := range list { // from the last to the first
		run := j.Steps / rounds
		if before, ok := last[run]; ok && before != j.Steps+1 {
			t.Errorf("job %d stands before job %d", j.Steps, before)
		}
		last[run] = j.Steps
	}
}
