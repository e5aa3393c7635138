package storetest

import (
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/job"
	"ql/internal/member"
)

// testQueueDue lists jobs as their time comes.
func testQueueDue(t *testing.T, s Stores) {
	ada := create(t, s.Accounts, person("ada"))
	bob := create(t, s.Accounts, person("bob"))
	next := func(want time.Time) {
		t.Helper()
		got, err := s.Queue.NextDue(t.Context(), time.Time{})
		must(t, err)
		same(t, "the next", got, want)
	}
	list := func(what string, state job.State, now time.Time, limit int, want ...job.Due) {
		t.Helper()
		got, err := s.Queue.ListDue(t.Context(), job.DueQuery{State: state, Now: now, Limit: limit})
		must(t, err)
		same(t, what, got, want)
	}
	next(time.Time{})
	list("of nothing", job.Waiting, claimTime, 10)
	accepted := bring(t, s, ada.ID, 1, job.Accepted)
	next(time.Time{}) // what is merely accepted is begun when there is room
	list("accepted", job.Accepted, claimTime, 10)
	same(t, "what is held", heldBy(t, s, node(t, s).Incarnation, job.Accepted), []job.Due{accepted.due})

	// Three wait, stored in another order than they become due, and two until
	// the same moment.
	var waiting []job.Due
	for n, until := range []int{500, 300, 400, 300} {
		account := ada
		if n%2 == 1 {
			account = bob
		}
		l := running(t, s, account.ID, 10+n)
		must(t, s.Queue.Suspend(t.Context(), l, waitingUntil(seconds(until))))
		waiting = append(waiting, job.Due{Lease: l, State: job.Waiting, At: seconds(until)})
	}
	list("before all", job.Waiting, seconds(300).Add(-time.Microsecond), 10)
	list("at the moment", job.Waiting, seconds(300), 10, waiting[1], waiting[3])
	list("all", job.Waiting, claimTime, 10, waiting[1], waiting[3], waiting[2], waiting[0])
	list("some", job.Waiting, claimTime, 3, waiting[1], waiting[3], waiting[2])
	list("none", job.Waiting, claimTime, 0)
	list("less than none", job.Waiting, claimTime, -1)
	list("in another state", job.Paused, claimTime, 10)
	next(seconds(300))

	paused := bring(t, s, ada.ID, 20, job.Paused)
	list("questions", job.Paused, paused.due.At, 10, paused.due)
	next(seconds(300))
	begun := bring(t, s, ada.ID, 21, job.Running)
	next(seconds(300)) // whatever the time is, it is its member's
	list("what a member has", job.Running, claimTime.AddDate(1, 0, 0), 10)
	must(t, s.Queue.Release(t.Context(), begun.lease, seconds(200), 0, 0))
	next(seconds(200))
	begun.due = due(t, s, begun.lease.Seq)
	list("what was released", job.Running, seconds(200), 10, begun.due)
	must(t, s.Queue.Finish(t.Context(), claimJob(t, s, begun.due), end(begun.task, job.Complete)))
	next(seconds(300))
	for _, d := range waiting {
		_, _, err := s.Queue.Cancel(t.Context(), d.ID, noon, nil, "")
		must(t, err)
	}
	next(paused.due.At)
	list("when they are cancelled", job.Waiting, claimTime, 10)

	// A moment that is over, and another's number or time, take nothing.
	for what, d := range map[string]job.Due{
		"another time":    {Lease: paused.due.Lease, State: job.Paused, At: paused.due.At.Add(time.Microsecond)},
		"no time":         {Lease: paused.due.Lease, State: job.Paused},
		"another state":   {Lease: paused.due.Lease, State: job.Waiting, At: paused.due.At},
		"another attempt": {Lease: job.Lease{Seq: paused.due.Seq, Attempt: paused.due.Attempt + 1}, State: job.Paused, At: paused.due.At},
		"another number":  {Lease: job.Lease{Seq: 12345, Attempt: 1}, State: job.Paused, At: paused.due.At},
	} {
		_, err := s.Queue.ClaimListed(t.Context(), node(t, s), d, claimTime)
		wantError(t, what, err, job.ErrLeaseLost)
	}
	claimJob(t, s, paused.due)
	_, err := openedBy(t, s, prompt(20).Token)
	wantError(t, "a question that expired", err, job.ErrNotFound)
}

// testQueuePostpone puts off what is due of one account, and nothing else.
func testQueuePostpone(t *testing.T, s Stores) {
	ada := create(t, s.Accounts, person("ada"))
	bob := create(t, s.Accounts, person("bob"))
	now, later := seconds(1000), seconds(1060)
	stand := func(a account.Account, n, until int) job.Due {
		l := running(t, s, a.ID, n)
		must(t, s.Queue.Suspend(t.Context(), l, waitingUntil(seconds(until))))
		return job.Due{Lease: l, State: job.Waiting, At: seconds(until)}
	}
	due, early, others := stand(ada, 1, 900), stand(ada, 2, 1001), stand(bob, 3, 900)
	accepted := bring(t, s, ada.ID, 4, job.Accepted)
	over, stopped := running(t, s, ada.ID, 5), running(t, s, ada.ID, 6)
	_, _, err := s.Queue.Cancel(t.Context(), stopped.ID, noon, nil, "")
	must(t, err)
	for _, l := range []job.Lease{over, stopped} {
		must(t, s.Queue.Release(t.Context(), l, seconds(950), 0, 0))
	}
	asked := bring(t, s, ada.ID, 7, job.Paused)

	must(t, s.Queue.Postpone(t.Context(), ada.ID, now, later))
	list := func(what string, state job.State, at time.Time, want ...job.Due) {
		t.Helper()
		got, err := s.Queue.ListDue(t.Context(), job.DueQuery{State: state, Now: at, Limit: 10})
		must(t, err)
		same(t, what, got, want)
	}
	next := func(l job.Lease) job.Lease { l.Attempt++; return l }
	list("waiting ones", job.Waiting, now, others)
	list("leases that ended", job.Running, now, job.Due{Lease: next(stopped), State: job.Running, At: seconds(950), Stopping: true})
	same(t, "accepted ones", heldBy(t, s, node(t, s).Incarnation, job.Accepted), []job.Due{accepted.due})
	due.At = later
	list("waiting ones, later", job.Waiting, later, others, early, due)
	list("leases that ended, later", job.Running, later,
		job.Due{Lease: next(stopped), State: job.Running, At: seconds(950), Stopping: true}, job.Due{Lease: next(over), State: job.Running, At: later})
	list("questions whose time is not over", job.Paused, asked.due.At, asked.due)

	claimJob(t, s, due)

	at := asked.due.At
	must(t, s.Queue.Postpone(t.Context(), ada.ID, at, at.Add(time.Minute)))
	list("questions whose time is over", job.Paused, at)
	v, err := s.Queue.View(t.Context(), asked.task.ID)
	must(t, err)
	if v.Prompt == nil || !v.Prompt.Expires.Equal(prompt(7).Expires) {
		t.Errorf("the question is %+v", v.Prompt)
	}
	_, err = s.Queue.ClaimListed(t.Context(), node(t, s), asked.due, claimTime)
	wantError(t, "by the time before", err, job.ErrLeaseLost)
}

// testQueueHeld pages through the jobs that are accepted, some of them at the same
// moment.
func testQueueHeld(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	var want []job.Due
	for n := range 23 {
		task := task(a.ID, n)
		task.Created = seconds(n / 5)
		l := accept(t, s, task)
		want = append(want, job.Due{Lease: l, State: job.Accepted, At: task.Created})
	}
	// The clock was set back.
	early := task(a.ID, 100)
	early.Created = noon.Add(-time.Hour)
	want = append(want, job.Due{Lease: accept(t, s, early), State: job.Accepted, At: early.Created})
	bring(t, s, a.ID, 101, job.Running)
	bring(t, s, a.ID, 102, job.Waiting)
	gone := bring(t, s, a.ID, 103, job.Accepted)
	_, _, err := s.Queue.Cancel(t.Context(), gone.task.ID, noon, nil, "")
	must(t, err)

	for _, limit := range []int{1, 2, 5, 7, 24, 100} {
		var got []job.Due
		for after := (job.Due{}); ; {
			page, err := s.Queue.ListHeld(t.Context(), node(t, s).Incarnation, job.Accepted, after, limit)
			must(t, err)
			if len(page) > limit {
				t.Fatalf("%d in a page of %d", len(page), limit)
			}
			if len(page) == 0 {
				break
			}
			got = append(got, page...)
			after = page[len(page)-1]
		}
		same(t, "in pages", got, want)
	}
	// One that was taken since is no end of the listing.
	claimJob(t, s, want[3])
	page, err := s.Queue.ListHeld(t.Context(), node(t, s).Incarnation, job.Accepted, want[3], 2)
	must(t, err)
	same(t, "after one that was taken", page, want[4:6])
	page, err = s.Queue.ListHeld(t.Context(), node(t, s).Incarnation, job.Accepted, job.Due{}, 0)
	must(t, err)
	same(t, "without a limit", page, []job.Due(nil))
}

// testQueueRestart ends the leases of a process with the next one of its node.
func testQueueRestart(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	n := 0
	before := map[int64]all{}
	var jobs []held
	for from := range transitions {
		n++
		h := bring(t, s, a.ID, n, from)
		jobs = append(jobs, h)
	}
	for i, h := range jobs {
		before[h.lease.Seq] = lookAt(t, s, h, i+1)
	}
	restart(t, s)
	found := map[int64]job.Due{}
	for _, d := range orphans(t, s) {
		found[d.Seq] = d
	}
	for i, h := range jobs {
		was, is := before[h.lease.Seq], lookAt(t, s, h, i+1)
		same(t, "a job that is "+string(was.View.State), is, was)
		d, orphan := found[h.lease.Seq]
		released := was.View.State == job.Running && !orphan
		if !orphan && !released {
			if was.View.State == job.Accepted {
				t.Error("an accepted job is stranded")
			}
			continue
		}
		if released {
			d = due(t, s, h.lease.Seq)
		}
		claimJob(t, s, d)
		wantError(t, "a change of before", s.Queue.AppendJournal(t.Context(), was.Stored.Lease, job.JournalEntry{Step: 90, Entries: []byte("x")}), job.ErrLeaseLost)
		delete(found, h.lease.Seq)
	}
	same(t, "what else is orphaned", found, map[int64]job.Due{})
	same(t, "what is left", len(orphans(t, s)), 0)
}

// testQueueStopping lists what somebody asked to stop, to who is to stop it.
func testQueueStopping(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	list := func(what string, m member.Member, want ...job.Lease) {
		t.Helper()
		got, err := s.Queue.ListStopping(t.Context(), m)
		must(t, err)
		same(t, what, got, want)
	}
	other, _, err := s.Members.Join(t.Context(), member.Node{ID: 2})
	must(t, err)
	bring(t, s, a.ID, 1, job.Running)
	asked := bring(t, s, a.ID, 2, stopping)
	bring(t, s, a.ID, 3, job.Waiting)
	list("one of two", node(t, s), asked.lease)
	list("of another member", other)
	must(t, s.Queue.Release(t.Context(), asked.lease, noon, 0, 0))
	list("when it was released", node(t, s))
	l := claimJob(t, s, due(t, s, asked.lease.Seq))
	list("when it was claimed again", node(t, s), l)
	must(t, s.Queue.Finish(t.Context(), l, end(asked.task, job.Cancelled)))
	list("when it has ended", node(t, s))
}

// testQueuePrune removes keys and programs when nothing needs them.
func testQueuePrune(t *testing.T, s Stores) {
	ada := create(t, s.Accounts, person("ada"))
	bob := create(t, s.Accounts, person("bob"))
	prune := func(what string, now time.Time, limit, want int) {
		t.Helper()
		n, err := s.Queue.Prune(t.Context(), now, limit)
		must(t, err)
		same(t, what, n, want)
	}
	prune("of nothing", noon, 10, 0)
	for n := range 5 {
		for _, a := range []account.ID{ada.ID, bob.ID} {
			_, err := s.Queue.ReserveKey(t.Context(), a, job.Key{Hash: [32]byte{byte(n)}, Until: seconds(n)}, job.NewID(), noon.Add(-time.Hour))
			must(t, err)
		}
	}
	prune("before their end", noon.Add(-time.Microsecond), 100, 0)
	prune("at their end", noon, 100, 2)
	prune("some", seconds(3), 5, 5)
	prune("none", seconds(3), 0, 0)
	prune("the rest", seconds(3), 5, 1)
	for n, want := range map[int]bool{3: false, 4: true} {
		earlier, err := s.Queue.ReserveKey(t.Context(), ada.ID, job.Key{Hash: [32]byte{byte(n)}, Until: seconds(n)}, job.NewID(), noon.Add(-time.Hour))
		must(t, err)
		if found := earlier != (job.ID{}); found != want {
			t.Errorf("key %d leads to a job: %t", n, found)
		}
	}
	prune("all keys", seconds(4), 100, 3)

	// Programs: of jobs at each moment of their lives.
	has := func(what string, task *job.Task, want bool) {
		t.Helper()
		if _, err := s.Queue.Program(t.Context(), task.Program); (err == nil) != want {
			t.Errorf("%s: the program is there: %t", what, err == nil)
		}
	}
	n, finished := 0, 0
	jobs := map[job.State]held{}
	for from := range transitions {
		n++
		jobs[from] = bring(t, s, ada.ID, n, from)
		if from.Finished() {
			finished++
		}
	}
	prune("too early", noon.Add(job.ProgramRetention), 100, 0)
	late := noon.Add(job.ProgramRetention + time.Minute)
	went := 0
	for range 3 * len(jobs) {
		n, err := s.Queue.Prune(t.Context(), late, 2)
		must(t, err)
		if n > 2 {
			t.Errorf("%d went at once", n)
		}
		went += n
	}
	same(t, "how many went", went, finished)
	for from, h := range jobs {
		has(string(from), h.task, !from.Finished())
	}
	cancelled := 0
	for from, h := range jobs {
		if from == job.Running { // its program is used below
			continue
		}
		_, did, err := s.Queue.Cancel(t.Context(), h.task.ID, noon, nil, "")
		must(t, err)
		if did {
			cancelled++
		}
	}
	late = late.Add(job.ProgramRetention + time.Minute)
	prune("when those that nobody runs were cancelled", late, 100, cancelled)

	// One that is given again stays, from then on; a clock that is set back makes
	// it no older.
	again := task(ada.ID, 1000)
	again.Program, again.Code, again.Created = jobs[job.Running].task.Program, jobs[job.Running].task.Code, late
	l := accept(t, s, again)
	back := task(ada.ID, 1001)
	back.Program, back.Code, back.Created = again.Program, again.Code, noon
	accept(t, s, back)
	for _, id := range []job.ID{l.ID, back.ID} {
		_, _, err := s.Queue.Cancel(t.Context(), id, noon, nil, "")
		must(t, err)
	}
	l = claimJob(t, s, due(t, s, jobs[job.Running].lease.Seq)) // its own may have been voided
	must(t, s.Queue.Finish(t.Context(), l, end(jobs[job.Running].task, job.Complete)))
	prune("given again", late, 100, 0)
	prune("a day later", late.Add(job.ProgramRetention+time.Microsecond), 100, 1)
	has("a day later", again, false)
}

// testQueueCrashes follows what is noted of attempts that end with their process.
func testQueueCrashes(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	ctx := t.Context()
	l := running(t, s, a.ID, 1)
	noted := func(what string, crashes int) {
		t.Helper()
		h, err := s.Queue.Head(ctx, l.ID)
		must(t, err)
		same(t, "the crashes of a job "+what, h.Crashes, crashes)
		for _, d := range orphans(t, s) {
			if d.Seq == l.Seq {
				same(t, "as it is due "+what, d.Crashes, crashes)
			}
		}
	}
	crash := func() {
		t.Helper()
		restart(t, s)
		must(t, s.Queue.RecordCrashes(ctx, claimTime))
	}
	entry := func(step int64) job.JournalEntry { return job.JournalEntry{Step: step, Entries: []byte("entries")} }
	noted("that runs", 0)
	crash()
	noted("after one", job.CrashWeightAlone)
	crash()
	noted("that nobody had taken", job.CrashWeightAlone)
	claimJob(t, s, due(t, s, l.Seq))
	crash()
	noted("that was taken and not begun", job.CrashWeightAlone)
	l = claimJob(t, s, due(t, s, l.Seq))
	must(t, s.Queue.MarkStarted(ctx, l))
	crash()
	noted("after another", 2*job.CrashWeightAlone)
	before := l
	l = claimJob(t, s, due(t, s, l.Seq))
	wantError(t, "to start it with the lease of then", s.Queue.MarkStarted(ctx, before), job.ErrLeaseLost)
	must(t, s.Queue.MarkStarted(ctx, l))
	must(t, s.Queue.AppendJournal(ctx, l, entry(-1)))
	noted("whose way alone was kept", 2*job.CrashWeightAlone)
	must(t, s.Queue.AppendJournal(ctx, l, entry(1)))
	noted("that got on", 0)
	crash()
	noted("that has got on", job.CrashWeightAlone)
	l = claimJob(t, s, due(t, s, l.Seq))
	must(t, s.Queue.MarkStarted(ctx, l))
	must(t, s.Queue.ResetCrashes(ctx, l))
	noted("that got on elsewhere", 0)
	crash()
	before = l
	l = claimJob(t, s, due(t, s, l.Seq))
	wantError(t, "by the attempt of then", s.Queue.ResetCrashes(ctx, before), job.ErrLeaseLost)
	must(t, s.Queue.SaveSnapshot(ctx, l, []byte("snapshot"), shown()))
	noted("that was saved", 0)
	crash()
	l = claimJob(t, s, due(t, s, l.Seq))
	must(t, s.Queue.Release(ctx, l, noon, 0, 0))
	noted("that was released", 0)
	crash()
	noted("that was released before", 0)
	l = claimJob(t, s, due(t, s, l.Seq))
	must(t, s.Queue.Suspend(ctx, l, pausedAt(1)))
	crash()
	noted("that stands", 0)
	_, err := s.Queue.Answer(ctx, l.ID, answer(1), node(t, s), claimTime)
	must(t, err)
	crash()
	noted("that was answered", job.CrashWeightAlone)
	must(t, s.Queue.ResetCrashes(ctx, claimJob(t, s, due(t, s, l.Seq))))
	running(t, s, a.ID, 2)
	running(t, s, a.ID, 3)
	l = running(t, s, a.ID, 4)
	crash()
	noted("beside others", job.CrashWeight)
	l = claimJob(t, s, due(t, s, l.Seq))
	must(t, s.Queue.MarkStarted(ctx, l))
	restart(t, s)
	must(t, s.Queue.RecordCrashes(ctx, claimTime.Add(-time.Microsecond)))
	noted("that was only just taken", job.CrashWeight+job.CrashWeightEarly)
}

func testQueueHead(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	ctx := t.Context()
	_, err := s.Queue.Head(ctx, job.NewID())
	wantError(t, "the head of no job", err, job.ErrNotFound)
	task := task(a.ID, 1)
	l := accept(t, s, task)
	head := func() *job.Head {
		t.Helper()
		h, err := s.Queue.Head(ctx, task.ID)
		must(t, err)
		return h
	}
	want := &job.Head{Summary: load(t, s, l.Seq).Summary, Lease: l, Webhook: task.Webhook,
		Sizes: job.Sizes{Task: int64(len(task.Spec)), Program: int64(len(task.Code))}}
	same(t, "the head of one that is accepted", head(), want)
	l = claimJob(t, s, due(t, s, l.Seq))
	must(t, s.Queue.AppendJournal(ctx, l, job.JournalEntry{Step: 1, Entries: []byte("123")}))
	must(t, s.Queue.AppendJournal(ctx, l, job.JournalEntry{Step: 2, Entries: []byte("4567")}))
	want.Lease, want.State, want.Sizes.Journal = l, job.Running, 7
	same(t, "the head of one that runs", head(), want)
	p := pausedAt(1)
	must(t, s.Queue.Suspend(ctx, l, p))
	want.State, want.Steps, want.Ran = job.Paused, p.Steps, p.Ran
	want.Question, want.Kind = p.Prompt.ID, p.Prompt.Kind
	want.Sizes.Journal, want.Sizes.Snapshot, want.Sizes.Output = 0, int64(len(p.Snapshot)+len(p.Trace)+len(p.Response)), int64(len(p.Output))
	same(t, "the head of one that stands", head(), want)
	_, _, err = s.Queue.Cancel(ctx, task.ID, noon, nil, "")
	must(t, err)
	if h := head(); h.State != job.Cancelled || h.Sizes != (job.Sizes{Program: 0}) || h.Question != "" {
		t.Errorf("the head of one that is finished: %+v", h)
	}
}

func testQueueGiveUp(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	ctx := t.Context()
	l := running(t, s, a.ID, 1)
	must(t, s.Queue.SaveSnapshot(ctx, l, []byte("snapshot"), shown()))
	must(t, s.Queue.AppendJournal(ctx, l, job.JournalEntry{Step: 1, Entries: []byte("entries")}))
	before := view(t, s, l.ID)
	must(t, s.Queue.FinishAsStored(ctx, l, job.Failed, seconds(9), []byte(`{"code":"crashed"}`), "msg-given-up"))
	after := view(t, s, l.ID)
	same(t, "the state", after.State, job.Failed)
	same(t, "the error", string(after.Error), `{"code":"crashed"}`)
	same(t, "the result", string(after.Result), string(before.Result))
	same(t, "the end", after.Finished, seconds(9))
	wantError(t, "again", s.Queue.FinishAsStored(ctx, l, job.Failed, noon, nil, ""), job.ErrLeaseLost)
	told, err := s.Deliveries.ByJob(ctx, l.ID)
	must(t, err)
	same(t, "who is told", len(told), 1)
}

// testQueueCount counts jobs that are not finished, up to a bound.
func testQueueCount(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	count := func(what string, now time.Time, most int, want job.Counts) {
		t.Helper()
		got, err := s.Queue.Count(t.Context(), now, most)
		must(t, err)
		same(t, what, got, want)
	}
	count("of nothing", claimTime, 100, job.Counts{})
	for n, state := range []job.State{job.Complete, job.Failed, job.Accepted, job.Accepted, job.Running, released, job.Paused, job.Waiting} {
		bring(t, s, a.ID, n+1, state)
	}
	l := running(t, s, a.ID, 20)
	forever := pausedAt(20)
	forever.Until, forever.Prompt.Expires = time.Time{}, time.Time{}
	must(t, s.Queue.Suspend(t.Context(), l, forever))
	want := job.Counts{Accepted: 2, Running: 2, Paused: 2, Waiting: 1, OldestAccepted: task(a.ID, 3).Created}
	count("before anything is due", seconds(60).Add(-time.Microsecond), 100, want)
	want.OldestDue = seconds(60)
	count("when one is due", seconds(60), 100, want)
	count("when all are", claimTime.Add(365*24*time.Hour), 100, want)
	count("of up to two each", claimTime, 2, want)
	count("of up to one each", claimTime, 1, job.Counts{Accepted: 1, Running: 1, Paused: 1, Waiting: 1, OldestAccepted: want.OldestAccepted, OldestDue: want.OldestDue})
	count("of up to none", claimTime, -1, job.Counts{OldestDue: want.OldestDue})
	restart(t, s)
	count("after a restart", claimTime, 100, want)
}
