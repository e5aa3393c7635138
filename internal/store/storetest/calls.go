package storetest

import (
	"errors"
	"math"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/job"
)

// called is what a job was called with whose source has a number.
func called(n int) job.Call {
	return job.Call{Name: numbered("name", n), Request: []byte(numbered("request", n)), Source: source(n)}
}

func source(n int) *job.Source {
	return &job.Source{Hash: [32]byte{byte(n)}, Text: numbered("EMIT", n), Files: []job.SourceFile{{Path: "/lib.ql", Text: numbered("-- lib", n)}}}
}

// refOf returns the number of a job.
func refOf(t *testing.T, s Stores, a account.ID, id job.ID) int64 {
	t.Helper()
	list, err := s.Jobs.List(t.Context(), a, job.Query{Limit: 10_000})
	must(t, err)
	for _, j := range list {
		if j.ID == id {
			return j.Ref
		}
	}
	t.Fatalf("the job %s is not listed", id)
	return 0
}

// testCalls shows that jobs have what they were called with, however they came to be stored, and
// that nobody else finds it.
func testCalls(t *testing.T, s Stores) {
	a, b := create(t, s.Accounts, person("ada")), create(t, s.Accounts, person("bob"))
	ctx := t.Context()
	sync := record(a.ID, 1)
	sync.Call, sync.Cost, sync.Error = called(1), job.Cost{Fuel: 7, Memory: 8, Fetches: 9}, []byte(`{"code":"io","message":"no"}`)
	bare := record(a.ID, 2)
	must(t, s.Jobs.Record(ctx, []job.Record{sync, bare}))
	accepted := task(a.ID, 3)
	accepted.Call = called(3)
	accepted.Call.Origin = refOf(t, s, a.ID, sync.ID)
	accept(t, s, accepted)
	ended := end(task(a.ID, 4), job.Failed)
	ended.Call, ended.Cost = called(1), job.Cost{Fuel: 1}
	_, err := s.Queue.AcceptEnded(ctx, &job.Task{}, ended)
	must(t, err)
	for _, test := range []struct {
		id   job.ID
		call job.Call
		cost job.Cost
		code string
	}{
		{sync.ID, sync.Call, sync.Cost, "io"},
		{bare.ID, job.Call{}, job.Cost{}, ""},
		{accepted.ID, accepted.Call, job.Cost{}, ""},
		{ended.ID, ended.Call, ended.Cost, "x"},
	} {
		ref := refOf(t, s, a.ID, test.id)
		call, cost, err := s.Jobs.Called(ctx, a.ID, ref)
		must(t, err)
		same(t, "what a job was called with", call, test.call)
		same(t, "what it used", cost, test.cost)
		listed, err := s.Jobs.ByRef(ctx, a.ID, ref)
		must(t, err)
		if listed.Ref != ref || listed.ID != test.id || listed.Name != test.call.Name || listed.ErrorCode != test.code {
			t.Errorf("the job %d is %+v", ref, listed)
		}
		bytes, err := s.Jobs.CalledBytes(ctx, a.ID, ref)
		must(t, err)
		if want := int64(len(call.Request)) + sourceBytes(call.Source); bytes != want {
			t.Errorf("%d bytes, want %d", bytes, want)
		}
		_, _, err = s.Jobs.Called(ctx, b.ID, ref)
		wantError(t, "what another's job was called with", err, job.ErrNotFound)
		_, err = s.Jobs.ByRef(ctx, b.ID, ref)
		wantError(t, "another's job", err, job.ErrNotFound)
		_, err = s.Jobs.CalledBytes(ctx, b.ID, ref)
		wantError(t, "another's bytes", err, job.ErrNotFound)
	}
	for _, ref := range []int64{0, -1, math.MaxInt64} {
		_, err := s.Jobs.ByRef(ctx, a.ID, ref)
		wantError(t, "no job", err, job.ErrNotFound)
	}
	record, err := s.Jobs.ByID(ctx, sync.ID)
	must(t, err)
	sync.Call, sync.Cost = job.Call{}, job.Cost{}
	same(t, "the record", record, sync)
}

func sourceBytes(s *job.Source) int64 {
	if s == nil {
		return 0
	}
	return s.Bytes()
}

// testSourcesKept follows how sources are counted: each once for an account, from the first job
// that has it to the last.
func testSourcesKept(t *testing.T, s Stores) {
	a, b := create(t, s.Accounts, person("ada")), create(t, s.Accounts, person("bob"))
	ctx := t.Context()
	want := func(what string, id account.ID, want int64) {
		t.Helper()
		got, err := s.Jobs.RecordBytes(ctx, id)
		must(t, err)
		if got != want {
			t.Errorf("%s: %d bytes are counted, want %d", what, got, want)
		}
	}
	with := func(r job.Record, n int) job.Record {
		r.Call = called(n)
		return r
	}
	one, two, three := with(record(a.ID, 1), 1), with(record(a.ID, 2), 1), with(record(a.ID, 3), 2)
	must(t, s.Jobs.Record(ctx, []job.Record{one, two, three, with(record(b.ID, 4), 1)}))
	rows := one.Bytes() + two.Bytes() + three.Bytes()
	want("with two sources", a.ID, rows+source(1).Bytes()+source(2).Bytes())
	want("of another", b.ID, one.Bytes()+source(1).Bytes())
	must(t, s.Jobs.Record(ctx, []job.Record{one, with(record(a.ID, 5), 3), two}))
	rows += one.Bytes()
	want("with records that came twice", a.ID, rows+source(1).Bytes()+source(2).Bytes()+source(3).Bytes())

	// A job that is under way has its source too, and its request counts from its end on.
	running := task(a.ID, 10)
	running.Call, running.State = called(4), job.Running
	lease := accept(t, s, running)
	sources := source(1).Bytes() + source(2).Bytes() + source(3).Bytes() + source(4).Bytes()
	want("with one that runs", a.ID, rows+sources)
	done := end(running, job.Complete)
	must(t, s.Queue.Finish(ctx, lease, done))
	rows += done.Bytes() + int64(len(running.Call.Request))
	want("with its end", a.ID, rows+sources)
	cancelled := task(a.ID, 11)
	cancelled.Call = called(4)
	accept(t, s, cancelled)
	_, _, err := s.Queue.Cancel(ctx, cancelled.ID, seconds(300), nil, "")
	must(t, err)
	rows += job.RowBytes + int64(len("[]")+len(cancelled.Call.Request))
	want("with one that was cancelled", a.ID, rows+sources)

	forget := func(before time.Time) {
		t.Helper()
		_, err := s.Jobs.Forget(ctx, a.ID, before, 1)
		must(t, err)
	}
	forget(noon.Add(time.Hour))
	want("without the first", a.ID, rows-one.Bytes()+sources)
	forget(noon.Add(time.Hour))
	rows -= one.Bytes() + two.Bytes()
	sources -= source(1).Bytes()
	want("without the first source", a.ID, rows+sources)
	for {
		n, err := s.Jobs.Trim(ctx, a.ID, 0, 10)
		must(t, err)
		if n == 0 {
			break
		}
	}
	want("without any", a.ID, 0)
	want("of another, still", b.ID, one.Bytes()+source(1).Bytes())
	ref := refOf(t, s, b.ID, record(b.ID, 4).ID)
	call, _, err := s.Jobs.Called(ctx, b.ID, ref)
	must(t, err)
	same(t, "what is left", call, called(1))

	paused := task(b.ID, 20)
	paused.Call = called(9)
	accept(t, s, paused)
	for {
		n, err := s.Accounts.Purge(ctx, b.ID, 1)
		must(t, err)
		if n == 0 {
			break
		}
	}
	want("of one that was emptied", b.ID, 0)
	if _, _, err := s.Jobs.Called(ctx, b.ID, ref); !errors.Is(err, job.ErrNotFound) {
		t.Errorf("of one that was emptied: %v", err)
	}
}

// testHistories follows the history of jobs: in parts, with the task, and counted with the record.
func testHistories(t *testing.T, s Stores) {
	a, b := create(t, s.Accounts, person("ada")), create(t, s.Accounts, person("bob"))
	ctx := t.Context()
	want := func(what string, want int64) {
		t.Helper()
		got, err := s.Jobs.RecordBytes(ctx, a.ID)
		must(t, err)
		if got != want {
			t.Errorf("%s: %d bytes are counted, want %d", what, got, want)
		}
	}
	history := func(id job.ID) (spec []byte, parts [][]byte) {
		t.Helper()
		spec, parts, err := s.Jobs.History(ctx, a.ID, refOf(t, s, a.ID, id))
		must(t, err)
		return spec, parts
	}
	once := record(a.ID, 1)
	once.History = job.History{Spec: []byte("spec"), Part: []byte("part")}
	must(t, s.Jobs.Record(ctx, []job.Record{once, record(a.ID, 2)}))
	bytes := once.Bytes() + (&job.Record{Result: record(a.ID, 2).Result, Trace: record(a.ID, 2).Trace}).Bytes()
	want("with one that has a history", bytes)
	spec, parts := history(once.ID)
	same(t, "what it was run with", spec, []byte("spec"))
	same(t, "its history", parts, [][]byte{[]byte("part")})
	if spec, parts := history(record(a.ID, 2).ID); spec != nil || parts != nil {
		t.Errorf("of one without: %q, %q", spec, parts)
	}
	_, _, err := s.Jobs.History(ctx, b.ID, refOf(t, s, a.ID, once.ID))
	wantError(t, "another's history", err, job.ErrNotFound)

	// In parts, of which each comes with a snapshot.
	paused := task(a.ID, 10)
	paused.State = job.Running
	l := accept(t, s, paused)
	so := job.Progress{Steps: 1, History: job.HistoryPart{Step: 1, Entries: []byte("first")}}
	must(t, s.Queue.SaveSnapshot(ctx, l, []byte("s"), so))
	stopped := pausedAt(1)
	stopped.History = job.HistoryPart{Step: 5, Entries: []byte("second")}
	must(t, s.Queue.Suspend(ctx, l, stopped))
	if stored := load(t, s, l.Seq); stored.HistoryBytes != int64(len("first"+"second")) {
		t.Errorf("%d bytes of history", stored.HistoryBytes)
	}
	_, _, err = s.Jobs.History(ctx, a.ID, l.Seq)
	wantError(t, "the history of one that goes on", err, job.ErrNotFound)
	_, _, err = s.Queue.Cancel(ctx, paused.ID, seconds(300), nil, "")
	must(t, err)
	spec, parts = history(paused.ID)
	same(t, "what a cancelled one was run with", spec, paused.Spec)
	same(t, "its history", parts, [][]byte{[]byte("first"), []byte("second")})

	done := task(a.ID, 11)
	done.State = job.Running
	l = accept(t, s, done)
	must(t, s.Queue.SaveSnapshot(ctx, l, []byte("s"), so))
	e := end(done, job.Complete)
	e.History.Part = []byte("last")
	must(t, s.Queue.Finish(ctx, l, e))
	spec, parts = history(done.ID)
	same(t, "what a finished one was run with", spec, done.Spec)
	same(t, "its history", parts, [][]byte{[]byte("first"), []byte("last")})

	// All of it goes with the records, and is counted no more.
	for {
		n, err := s.Jobs.Trim(ctx, a.ID, 0, 10)
		must(t, err)
		if n == 0 {
			break
		}
	}
	want("without any", 0)
}
