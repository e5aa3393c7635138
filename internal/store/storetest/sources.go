package storetest

import (
	"testing"
	"time"

	"ql/internal/job"
)

// RunSourceSweep tests that sources go that no job has, though more jobs were counted than are there. Execute changes what is
// stored as nothing but the end of a member in between does.
func RunSourceSweep(t *testing.T, s Stores, execute func(sql string)) {
	t.Helper()
	ctx := t.Context()
	create(t, s.Accounts, person("eve")) // who has none
	a, b := create(t, s.Accounts, person("ada")), create(t, s.Accounts, person("bob"))
	want := func(what string, want int64) {
		t.Helper()
		got, err := s.Jobs.RecordBytes(ctx, a.ID)
		must(t, err)
		if got != want {
			t.Errorf("%s: %d bytes are counted, want %d", what, got, want)
		}
	}
	with := func(id, n int) job.Record {
		r := record(a.ID, id)
		r.Call = called(n)
		return r
	}
	sweep := func(now time.Time) {
		t.Helper()
		var sweep job.SourceSweep
		for range 100 { // so little at a time that it goes on in between
			done, err := s.Jobs.SweepSources(ctx, &sweep, now, 1)
			must(t, err)
			if done {
				return
			}
		}
		t.Fatal("the sweep does not end")
	}
	one, two := with(1, 1), with(2, 2)
	ofAnother := with(3, 1)
	ofAnother.Account = b.ID
	must(t, s.Jobs.Record(ctx, []job.Record{one, two, ofAnother}))
	execute("UPDATE sources SET jobs = jobs + 128 WHERE account = (SELECT min(account) FROM sources)")
	rows, sources := one.Bytes()+two.Bytes(), source(1).Bytes()+source(2).Bytes()
	sweep(noon)
	sweep(noon.Add(48 * time.Hour))
	three := with(4, 1)
	must(t, s.Jobs.Record(ctx, []job.Record{three}))
	want("with jobs that have them", rows+three.Bytes()+sources)

	for {
		n, err := s.Jobs.Trim(ctx, a.ID, sources, 10)
		must(t, err)
		if n == 0 {
			break
		}
	}
	want("without jobs", sources)
	sweep(noon)
	want("with sources that are looked at once", sources)
	four, five := with(5, 1), with(6, 2)
	must(t, s.Jobs.Record(ctx, []job.Record{four, five}))
	rows = four.Bytes() + five.Bytes()
	want("with jobs that come again", rows+2*sources)
	// One was counted before, and is stored after.
	execute("UPDATE jobs SET source = (SELECT min(id) FROM sources WHERE account = jobs.account) WHERE seq = (SELECT max(seq) - 1 FROM jobs)")
	sweep(noon.Add(23 * time.Hour))
	want("before they go", rows+2*sources)
	sweep(noon.Add(25 * time.Hour))
	want("without those that no job has", rows+2*source(1).Bytes()+source(2).Bytes())
	list, err := s.Jobs.List(ctx, a.ID, job.Query{Limit: 10})
	must(t, err)
	if len(list) != 2 {
		t.Fatalf("%d jobs are listed", len(list))
	}
	for i, n := range []int{2, 1} {
		call, _, err := s.Jobs.Called(ctx, a.ID, list[i].Ref)
		must(t, err)
		if call.Source == nil || call.Source.Hash != source(n).Hash || call.Source.Text != source(n).Text {
			t.Errorf("the source of a job is %+v", call.Source)
		}
	}
}
