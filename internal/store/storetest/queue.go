package storetest

import (
	"context"
	"crypto/sha256"
	"errors"
	"strings"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/job"
	"ql/internal/principal"
)

// seconds is a moment after noon.
func seconds(n int) time.Time { return noon.Add(time.Duration(n) * time.Second) }

// task returns the task with a number, one each second: accepted, not begun.
func task(a account.ID, n int) *job.Task {
	code := []byte(numbered("program", n))
	return &job.Task{
		Summary: job.Summary{
			ID: record(a, n).ID, Account: a, State: job.Accepted, Mode: job.Async,
			Convention: job.Form, Credential: principal.ByKey, Created: seconds(n), KeyID: 5, ProgramName: numbered("program", n),
		},
		Program: sha256.Sum256(code), Code: code, Spec: []byte(numbered("spec", n)), Webhook: "https://example.com/" + numbered("hook", n),
	}
}

// claimTime is when tests claim a job.
var claimTime = noon.Add(time.Hour)

// accept stores a task.
func accept(t *testing.T, s Stores, task *job.Task) job.Lease {
	t.Helper()
	l, earlier, err := s.Queue.Accept(t.Context(), task, node(t, s), claimTime)
	must(t, err)
	want := job.Lease{Seq: l.Seq, ID: task.ID, Account: task.Account}
	if task.State == job.Running {
		want.Attempt = 1
	}
	same(t, "the lease", l, want)
	same(t, "the earlier job", earlier, job.ID{})
	return l
}

// running stores the job with a number, in the hands of a first attempt.
func running(t *testing.T, s Stores, a account.ID, n int) job.Lease {
	t.Helper()
	task := task(a, n)
	task.State = job.Running
	return accept(t, s, task)
}

// prompt returns the question with a number, which expires at the end of the
// hour after.
func prompt(n int) *job.Prompt {
	return &job.Prompt{
		ID: numbered("prompt", n), Kind: "gather", Token: sha256.Sum256([]byte(numbered("token", n))), Sealed: []byte(numbered("sealed", n)),
		To: "Käufer", Sent: n%2 == 1, Message: "Wie heißt du?", Schema: []byte(`{"type":"object"}`), Follows: []byte(`{"asks":true}`), Expires: claimTime.Add(time.Hour),
	}
}

// shown is what a job has to show at its first stop.
func shown() job.Progress {
	return job.Progress{
		Output: []byte("output"), Trace: []byte(`[{"step":"EMIT"}]`), TraceDropped: 3, Response: []byte(`{"status":201}`),
		Steps: 17, Ran: 1234567 * time.Microsecond,
	}
}

func pausedAt(n int) *job.Suspension {
	p := prompt(n)
	return &job.Suspension{State: job.Paused, Until: p.Expires, Prompt: p, Snapshot: []byte(numbered("snapshot", n)), Progress: shown()}
}

func waitingUntil(until time.Time) *job.Suspension {
	return &job.Suspension{State: job.Waiting, Until: until, Snapshot: []byte("snapshot"), Progress: shown()}
}

func answer(n int) job.Answer {
	return job.Answer{
		Prompt: prompt(n).ID, Reply: sha256.Sum256([]byte(numbered("reply", n))), By: principal.ByToken, Address: "192.0.2.7",
		At: seconds(100), Step: 18, Entries: []byte(numbered("answer", n)),
	}
}

// end returns how a job of a task finishes.
func end(task *job.Task, state job.State) *job.End {
	e := &job.End{Record: job.Record{Summary: task.Summary, Ran: time.Minute}, Leftovers: true, Delivery: "msg-" + task.ID.String()}
	e.State, e.Finished, e.Steps = state, seconds(200), 21
	e.Result, e.Trace, e.TraceDropped = []byte("the result"), []byte(`[{"step":"EMIT"},{"step":"SET"}]`), 4
	e.Error, e.Response = []byte(`{"code":"x"}`), []byte(`{"status":404}`)
	return e
}

func view(t *testing.T, s Stores, id job.ID) *job.View {
	t.Helper()
	v, err := s.Queue.View(t.Context(), id)
	must(t, err)
	return v
}

func load(t *testing.T, s Stores, seq int64) *job.Stored {
	t.Helper()
	stored, err := s.Queue.Load(t.Context(), seq)
	must(t, err)
	return stored
}

// due returns a job as it would be listed when its time has come.
func due(t *testing.T, s Stores, seq int64) job.Due {
	t.Helper()
	stored := load(t, s, seq)
	return job.Due{Lease: stored.Lease, State: stored.State, At: stored.Until}
}

func claimJob(t *testing.T, s Stores, d job.Due) job.Lease {
	t.Helper()
	l, err := s.Queue.ClaimListed(t.Context(), node(t, s), d, claimTime)
	must(t, err)
	d.Attempt++
	same(t, "the lease", l, d.Lease)
	return l
}

func isLost(err error) bool { return errors.Is(err, job.ErrLeaseLost) }

// testQueueUntraced looks at jobs whose callers want no trace, and one that sends it with its
// end: they have none from the start, at a stop, and where they end as they are stored.
func testQueueUntraced(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada")).ID
	isUntraced := func(when string, id job.ID, want bool) {
		t.Helper()
		v := view(t, s, id)
		if v.Untraced() != want || v.WebhookTrace == want {
			t.Errorf("%s: the trace is %q, and is sent: %t", when, v.Trace, v.WebhookTrace)
		}
	}
	quiet, begun, traced := task(a, 51), task(a, 52), task(a, 53)
	quiet.Untraced, begun.Untraced = true, true
	begun.State = job.Running
	traced.WebhookTrace = true
	accept(t, s, quiet)
	l := accept(t, s, begun)
	accept(t, s, traced)
	isUntraced("accepted", quiet.ID, true)
	isUntraced("begun", begun.ID, true)
	isUntraced("accepted with a trace", traced.ID, false)
	stop := waitingUntil(claimTime.Add(time.Hour))
	stop.Trace, stop.TraceDropped = job.NoTrace(), 0
	must(t, s.Queue.Suspend(t.Context(), l, stop))
	isUntraced("suspended", begun.ID, true)
	for _, one := range []struct {
		id   job.ID
		want bool
	}{{quiet.ID, true}, {begun.ID, true}, {traced.ID, false}} {
		_, did, err := s.Queue.Cancel(t.Context(), one.id, claimTime, nil, "")
		must(t, err)
		if !did {
			t.Error("a job was not cancelled")
		}
		isUntraced("cancelled", one.id, one.want)
	}
	over := task(a, 54)
	over.WebhookTrace = true
	e := end(over, job.Complete)
	_, err := s.Queue.AcceptEnded(t.Context(), over, e)
	must(t, err)
	isUntraced("ended", over.ID, false)
	e = end(quiet, job.Complete)
	e.ID, e.Trace = record(a, 55).ID, job.NoTrace()
	must(t, s.Jobs.Record(t.Context(), []job.Record{e.Record}))
	isUntraced("recorded", e.ID, true)
}

// testQueueAccept looks at a job that is accepted, and at one that is begun at
// once.
func testQueueAccept(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	waits, begun := task(a.ID, 1), task(a.ID, 2)
	begun.State, begun.Webhook, begun.Spec = job.Running, "", []byte{0, 0xff}
	first, second := accept(t, s, waits), accept(t, s, begun)
	if second.Seq <= first.Seq {
		t.Errorf("the numbers are %d and %d", first.Seq, second.Seq)
	}
	for _, test := range []struct {
		lease job.Lease
		task  *job.Task
		until time.Time
	}{{first, waits, waits.Created}, {second, begun, claimTime}} {
		same(t, "what is loaded", load(t, s, test.lease.Seq), &job.Stored{
			Summary: test.task.Summary, Lease: test.lease, Program: test.task.Program, Spec: test.task.Spec, Until: test.until,
			Webhook: test.task.Webhook,
		})
		v := view(t, s, test.task.ID)
		if len(v.Result) > 0 {
			t.Errorf("it shows %q", v.Result)
		}
		v.Result = nil
		same(t, "the view", v, &job.View{Record: job.Record{Summary: test.task.Summary}, Seq: test.lease.Seq, Webhook: test.task.Webhook})
		code, err := s.Queue.Program(t.Context(), test.task.Program)
		must(t, err)
		same(t, "the program", code, test.task.Code)
	}
	list, err := s.Jobs.List(t.Context(), a.ID, job.Query{Limit: 10})
	must(t, err)
	same(t, "the listing", summaries(list), []job.Summary{begun.Summary, waits.Summary})

	// The program is there already.
	again := task(a.ID, 3)
	again.Program, again.Code = waits.Program, nil
	same(t, "the program of the third", load(t, s, accept(t, s, again).Seq).Program, waits.Program)
	if code, err := s.Queue.Program(t.Context(), [32]byte{1}); err == nil {
		t.Errorf("an unknown program is %q", code)
	}

	stranger := task(12345, 4)
	_, _, err = s.Queue.Accept(t.Context(), stranger, node(t, s), claimTime)
	wantError(t, "a job of nobody", err, account.ErrNotFound)
	stranger.Key = &job.Key{Hash: [32]byte{1}, Until: claimTime}
	_, _, err = s.Queue.Accept(t.Context(), stranger, node(t, s), claimTime)
	wantError(t, "a job of nobody, with a key", err, account.ErrNotFound)
	_, err = s.Queue.Adopt(t.Context(), stranger, pausedAt(4))
	wantError(t, "a standing job of nobody", err, account.ErrNotFound)
	_, err = s.Queue.ReserveKey(t.Context(), 12345, *stranger.Key, stranger.ID, noon)
	wantError(t, "a key of nobody", err, account.ErrNotFound)
	if _, err := s.Queue.Program(t.Context(), stranger.Program); err == nil {
		t.Error("the program of a job of nobody was stored")
	}

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	late := task(a.ID, 5)
	_, _, err = s.Queue.Accept(ended, late, node(t, s), claimTime)
	wantError(t, "under a context that has ended", err, context.Canceled)
	_, err = s.Queue.View(t.Context(), late.ID)
	wantError(t, "what was not accepted", err, job.ErrNotFound)
	_, err = s.Queue.Load(t.Context(), 12345)
	wantError(t, "an unknown number", err, job.ErrLeaseLost)
}

// testQueueAdopt looks at jobs that ran for a caller and stand.
func testQueueAdopt(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	for n, standing := range []*job.Suspension{pausedAt(0), waitingUntil(seconds(500))} {
		task := task(a.ID, n)
		task.State, task.Mode = standing.State, job.Sync
		l, err := s.Queue.Adopt(t.Context(), task, standing)
		must(t, err)
		want := task.Summary
		want.Steps = standing.Steps
		same(t, "what is loaded", load(t, s, l.Seq), &job.Stored{
			Summary: want, Lease: l, Program: task.Program, Spec: task.Spec, Snapshot: standing.Snapshot, Output: standing.Output,
			Prompt: standing.Prompt, Until: standing.Until, Ran: standing.Ran, Webhook: task.Webhook,
		})
		wantError(t, "a change of what stands", s.Queue.AppendJournal(t.Context(), l, job.JournalEntry{Step: 1, Entries: []byte("x")}), job.ErrLeaseLost)
		l = claimJob(t, s, due(t, s, l.Seq))
		must(t, s.Queue.Finish(t.Context(), l, end(task, job.Complete)))
	}
}

// testQueueView looks at a job in each of its states.
func testQueueView(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	task := task(a.ID, 1)
	l := accept(t, s, task)
	so := shown()
	want := &job.View{Record: job.Record{Summary: task.Summary}, Seq: l.Seq, Webhook: task.Webhook}
	look := func(what string) {
		t.Helper()
		got := view(t, s, task.ID)
		if len(got.Result) == 0 {
			got.Result = nil
		}
		same(t, what, got, want)
		sizes(t, s, what, got)
	}
	look("accepted")
	l = claimJob(t, s, due(t, s, l.Seq))
	want.State = job.Running
	look("running")

	must(t, s.Queue.SaveSnapshot(t.Context(), l, []byte("s"), so))
	want.Steps, want.Trace, want.TraceDropped, want.Response = so.Steps, so.Trace, so.TraceDropped, so.Response
	want.Result, want.Ran = so.Output, so.Ran
	look("after a snapshot")
	must(t, s.Queue.SaveSnapshot(t.Context(), l, []byte("s"), job.Progress{Output: []byte("[1]"), JSON: true, Steps: 17, Ran: so.Ran}))
	told := want.Record
	want.Result, want.Encoding, want.Trace, want.TraceDropped, want.Response = []byte("[1]"), job.JSONText, nil, 0, nil
	look("with output that is one value")
	want.Record = told

	must(t, s.Queue.Suspend(t.Context(), l, pausedAt(1)))
	want.State, want.Prompt = job.Paused, prompt(1)
	look("paused")
	_, err := s.Queue.Answer(t.Context(), task.ID, answer(1), node(t, s), claimTime)
	must(t, err)
	want.State, want.Prompt = job.Running, nil
	look("answered")
	l.Attempt++

	must(t, s.Queue.Suspend(t.Context(), l, waitingUntil(seconds(300))))
	want.State, want.Until = job.Waiting, seconds(300)
	look("waiting")
	l = claimJob(t, s, due(t, s, l.Seq))
	want.State, want.Until = job.Running, time.Time{}
	more := job.Progress{From: 6, Output: []byte{0xff}, Steps: 18}
	must(t, s.Queue.SaveSnapshot(t.Context(), l, []byte("s"), more))
	want.Result, want.Encoding, want.Trace, want.TraceDropped, want.Response, want.Steps = []byte("output\xff"), job.Base64, nil, 0, nil, 18
	want.Ran = 0
	look("with output that is not text")
	_, _, err = s.Queue.Cancel(t.Context(), task.ID, noon, nil, "")
	must(t, err)
	want.Stopping = true
	look("asked to stop")

	e := end(task, job.Declined)
	must(t, s.Queue.Finish(t.Context(), l, e))
	want.Record = e.Record
	look("finished")
	_, err = s.Queue.View(t.Context(), job.NewID())
	wantError(t, "another id", err, job.ErrNotFound)
	_, err = s.Queue.ViewWithin(t.Context(), job.NewID(), 0)
	wantError(t, "a look at another id", err, job.ErrNotFound)

	// One that ran for its caller alone.
	must(t, s.Jobs.Record(t.Context(), []job.Record{record(a.ID, 9)}))
	same(t, "a recorded one", view(t, s, record(a.ID, 9).ID).Record, record(a.ID, 9))
}

// sizes looks at a job that was viewed: with room for all that it holds, and without.
func sizes(t *testing.T, s Stores, what string, viewed *job.View) {
	t.Helper()
	bytes := int64(len(viewed.Result) + len(viewed.Trace) + len(viewed.Error) + len(viewed.Response))
	if p := viewed.Prompt; p != nil {
		bytes += 2 * int64(len(p.Message)+len(p.Schema)+len(p.Follows))
	}
	whole := *viewed
	whole.Bytes, whole.Output, whole.TraceBytes = bytes, int64(len(viewed.Result)), int64(len(viewed.Trace))
	got, err := s.Queue.ViewWithin(t.Context(), viewed.ID, bytes)
	must(t, err)
	if len(got.Result) == 0 {
		got.Result = nil
	}
	same(t, what+", with room", got, &whole)
	if bytes == 0 {
		return
	}
	left := whole
	left.Omitted = true
	left.Result, left.Encoding, left.Trace, left.Response = nil, "", nil, nil
	got, err = s.Queue.ViewWithin(t.Context(), viewed.ID, bytes-1)
	must(t, err)
	left.Ran, left.TraceDropped, got.Ran, got.TraceDropped = 0, 0, 0, 0 // are none of a look's business
	same(t, what+", without room", got, &left)
}

// testQueueLookManyWords looks at a question whose words are many: there is its id alone.
func testQueueLookManyWords(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	l := running(t, s, a.ID, 1)
	standing := pausedAt(1)
	standing.Prompt.Message = strings.Repeat("ä", job.AlwaysShownBytes)
	must(t, s.Queue.Suspend(t.Context(), l, standing))
	v, err := s.Queue.ViewWithin(t.Context(), l.ID, 0)
	must(t, err)
	words := int64(2*job.AlwaysShownBytes + len(standing.Prompt.Schema) + len(standing.Prompt.Follows))
	same(t, "the question", v.Prompt, &job.Prompt{ID: standing.Prompt.ID})
	if want := 2*words + int64(len(standing.Output)+len(standing.Trace)+len(standing.Response)); v.Bytes != want || !v.Omitted {
		t.Errorf("%d bytes, %t, want %d", v.Bytes, v.Omitted, want)
	}
	if v, err = s.Queue.ViewWithin(t.Context(), l.ID, v.Bytes); err != nil || v.Omitted || v.Prompt.Message != standing.Prompt.Message {
		t.Errorf("with room: %v, %t", err, v.Omitted)
	}
}

// testQueueLoad follows what a job needs to go on, with all of its parts.
func testQueueLoad(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	other := running(t, s, a.ID, 2)
	must(t, s.Queue.AppendJournal(t.Context(), other, job.JournalEntry{Step: 1, Entries: []byte("another's")}))
	must(t, s.Queue.SaveSnapshot(t.Context(), other, []byte("another's"), shown()))
	l := running(t, s, a.ID, 1)
	keep := func(step int64, entries string) {
		t.Helper()
		must(t, s.Queue.AppendJournal(t.Context(), l, job.JournalEntry{Step: step, Entries: []byte(entries)}))
	}
	parts := func(what, snapshot, output string, journal ...string) {
		t.Helper()
		stored := load(t, s, l.Seq)
		var got []string
		for _, entries := range stored.Journal {
			got = append(got, string(entries))
		}
		same(t, what+": the journal", got, journal)
		same(t, what+": the output", string(stored.Output), output)
		same(t, what+": the snapshot", string(stored.Snapshot), snapshot)
		if snapshot == "" && stored.Snapshot != nil {
			t.Errorf("%s: a snapshot that was never made", what)
		}
	}
	save := func(snapshot string, from int64, output string) {
		t.Helper()
		must(t, s.Queue.SaveSnapshot(t.Context(), l, []byte(snapshot), job.Progress{From: from, Output: []byte(output)}))
	}
	parts("at the start", "", "")
	keep(12, "twelve")
	keep(-1, "minus one")
	keep(1<<40, "far")
	keep(3, "three")
	keep(-2, "minus two")
	parts("with a journal", "", "", "minus two", "minus one", "three", "twelve", "far")
	if err := s.Queue.AppendJournal(t.Context(), l, job.JournalEntry{Step: 3, Entries: []byte("three again")}); err == nil || isLost(err) {
		t.Errorf("a step that is there already: %v", err)
	}
	parts("after a step twice", "", "", "minus two", "minus one", "three", "twelve", "far")

	save("first", 0, "0123456789")
	parts("a first snapshot", "first", "0123456789")
	keep(13, "thirteen")
	keep(-1, "minus one")
	parts("and on", "first", "0123456789", "minus one", "thirteen")
	save("second", 10, "abcdef")
	save("nothing new", 16, "")
	save("third", 16, "ghi")
	parts("more output", "third", "0123456789abcdefghi")
	save("from the middle", 12, "CDEFGHI")
	parts("output from the middle of a piece", "from the middle", "0123456789abCDEFGHI")
	save("shorter", 5, "fg")
	parts("output that is shorter than before", "shorter", "01234fg")
	save("whole", 0, "new")
	parts("all output again", "whole", "new")
	others := load(t, s, other.Seq)
	same(t, "another's", []any{string(others.Snapshot), string(others.Output), len(others.Journal)}, []any{"another's", "output", 0})

	// Counts of the way.
	must(t, s.Queue.Release(t.Context(), l, seconds(50), 3, 90*time.Second))
	stored := load(t, s, l.Seq)
	same(t, "after a fault", []any{stored.Failures, stored.Ran, stored.Until}, []any{3, 90 * time.Second, seconds(50)})
	l = claimJob(t, s, due(t, s, l.Seq))
	_, _, err := s.Queue.Cancel(t.Context(), l.ID, noon, nil, "")
	must(t, err)
	must(t, s.Queue.SaveSnapshot(t.Context(), l, []byte("s"), job.Progress{Ran: 91 * time.Second, Steps: 5}))
	stored = load(t, s, l.Seq)
	same(t, "after a snapshot", []any{stored.Failures, stored.Ran, stored.Steps, stored.Stopping}, []any{0, 91 * time.Second, int64(5), true})
}

// testQueueTimes has all times be finer than a store keeps them.
func testQueueTimes(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	fine := func(at time.Time) time.Time { return at.Add(789).In(time.FixedZone("east", 3600)) }
	task := task(a.ID, 1)
	created := task.Created
	task.Created = fine(created)
	task.Key = &job.Key{Hash: [32]byte{1}, Until: fine(seconds(60))}
	l, _, err := s.Queue.Accept(t.Context(), task, node(t, s), claimTime)
	must(t, err)
	same(t, "when it was accepted", load(t, s, l.Seq).Created, created)
	same(t, "since when it is due", load(t, s, l.Seq).Until, created)

	// A caller knows its own times, not those stored.
	l, err = s.Queue.ClaimListed(t.Context(), node(t, s), job.Due{Lease: l, State: job.Accepted, At: task.Created}, fine(claimTime))
	must(t, err)
	same(t, "when it was claimed", load(t, s, l.Seq).Until, claimTime)
	must(t, s.Queue.Release(t.Context(), l, fine(seconds(31)), 0, 1500*time.Nanosecond))
	stored := load(t, s, l.Seq)
	same(t, "after its release", []any{stored.Until, stored.Ran}, []any{seconds(31), time.Microsecond})
	for _, now := range []time.Time{fine(seconds(31)), seconds(31)} {
		list, err := s.Queue.ListDue(t.Context(), job.DueQuery{State: job.Running, Now: now, Limit: 10})
		must(t, err)
		same(t, "what is due", list, []job.Due{due(t, s, l.Seq)})
	}
	l = claimJob(t, s, job.Due{Lease: stored.Lease, State: job.Running, At: fine(seconds(31))})
	must(t, s.Queue.Release(t.Context(), l, fine(seconds(32)), 0, 0))
	same(t, "after another release", load(t, s, l.Seq).Until, seconds(32))
	next, err := s.Queue.NextDue(t.Context(), time.Time{})
	must(t, err)
	same(t, "the next", next, seconds(32))

	l = claimJob(t, s, due(t, s, l.Seq))
	standing := pausedAt(1)
	standing.Until, standing.Prompt.Expires = fine(seconds(33)), fine(seconds(34))
	must(t, s.Queue.Suspend(t.Context(), l, standing))
	stored = load(t, s, l.Seq)
	same(t, "a question's end", []time.Time{stored.Until, stored.Prompt.Expires}, []time.Time{seconds(33), seconds(34)})
	l = claimJob(t, s, job.Due{Lease: stored.Lease, State: job.Paused, At: fine(seconds(33))})
	e := end(task, job.Complete)
	e.Finished = fine(seconds(35))
	must(t, s.Queue.Finish(t.Context(), l, e))
	got, err := s.Jobs.ByID(t.Context(), task.ID)
	must(t, err)
	same(t, "when it finished", got.Finished, seconds(35))

	// The key has ended with its last microsecond, and not before.
	for at, want := range map[time.Time]job.ID{seconds(60).Add(-time.Microsecond): task.ID, fine(seconds(60)): {}} {
		earlier, err := s.Queue.ReserveKey(t.Context(), a.ID, *task.Key, task.ID, at)
		must(t, err)
		same(t, "the earlier job", earlier, want)
	}
}

// testQueueNoExpiry has a question wait for ever.
func testQueueNoExpiry(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	l := running(t, s, a.ID, 1)
	standing := pausedAt(1)
	standing.Until, standing.Prompt.Expires = time.Time{}, time.Time{}
	must(t, s.Queue.Suspend(t.Context(), l, standing))
	next, err := s.Queue.NextDue(t.Context(), time.Time{})
	must(t, err)
	same(t, "the next", next, time.Time{})
	list, err := s.Queue.ListDue(t.Context(), job.DueQuery{State: job.Paused, Now: noon.AddDate(1000, 0, 0), Limit: 10})
	must(t, err)
	same(t, "what is due", list, []job.Due(nil))
	same(t, "the question", load(t, s, l.Seq).Prompt, standing.Prompt)
	l, err = s.Queue.Answer(t.Context(), l.ID, answer(1), node(t, s), claimTime)
	must(t, err)
	must(t, s.Queue.Finish(t.Context(), l, end(task(a.ID, 1), job.Complete)))
}
