package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/job"
	"ql/internal/schedule"
)

// hourly returns a schedule that is due an hour after noon.
func hourly(a account.ID, name string) schedule.Schedule {
	at := noon.Add(time.Hour)
	return schedule.Schedule{
		Account: a, Name: name, Script: "import@3", Input: []byte("sealed"), Timing: schedule.Timing{Every: time.Hour, Jitter: time.Minute},
		Overlap: schedule.OverlapSkip, CatchUp: 2 * time.Hour, PauseAfter: 3, Concurrency: job.Concurrency{Key: "imports", Most: 2},
		Set: noon, Anchor: noon, Tick: at, Due: at.Add(time.Second),
	}
}

func putSchedule(t *testing.T, s Stores, one schedule.Schedule) schedule.Schedule {
	t.Helper()
	stored, _, err := s.Schedules.Put(t.Context(), one, 0)
	must(t, err)
	return stored
}

func readSchedule(t *testing.T, s Stores, a account.ID, name string) schedule.Schedule {
	t.Helper()
	one, err := s.Schedules.Schedule(t.Context(), a, name)
	must(t, err)
	return one
}

func testSchedules(t *testing.T, s Stores) {
	ctx := t.Context()
	ada, bob := create(t, s.Accounts, person("ada")).ID, create(t, s.Accounts, person("bob")).ID
	want := hourly(ada, "night")
	stored, created, err := s.Schedules.Put(ctx, want, 2)
	must(t, err)
	want.Revision = 1
	same(t, "what was stored", stored, want)
	same(t, "what is read", readSchedule(t, s, ada, "night"), want)
	if !created {
		t.Error("it was not created")
	}
	weekly := hourly(ada, "week")
	weekly.Timing, weekly.Concurrency, weekly.Input = schedule.Timing{Cron: "0 4 * * sun", Zone: "Europe/Berlin"}, job.Concurrency{}, nil
	weekly = putSchedule(t, s, weekly)
	_, _, err = s.Schedules.Put(ctx, hourly(ada, "more"), 2)
	wantError(t, "one too many", err, schedule.ErrTooMany)
	_, _, err = s.Schedules.Put(ctx, hourly(4711, "night"), 0)
	wantError(t, "of a stranger", err, account.ErrNotFound)
	other := hourly(bob, "night")
	other.Tick = other.Tick.Add(-time.Minute)
	other.Due = other.Tick
	putSchedule(t, s, other)

	list, err := s.Schedules.Schedules(ctx, ada, "", 10)
	must(t, err)
	same(t, "the list", list, []schedule.Schedule{want, weekly})
	list, err = s.Schedules.Schedules(ctx, ada, "night", 1)
	must(t, err)
	same(t, "the rest of it", list, []schedule.Schedule{weekly})
	for now, due := range map[time.Time]time.Time{other.Due.Add(-time.Microsecond): other.Due, other.Due: want.Due, want.Due: {}} {
		next, err := s.Schedules.NextDue(ctx, now)
		must(t, err)
		same(t, "the next that is due", next, due)
	}
	list, err = s.Schedules.Due(ctx, want.Due, []account.ID{ada, 1 << 40}, 10)
	if err != nil || len(list) != 1 || list[0].Account != bob {
		t.Errorf("without one account there are %v, %v", list, err)
	}
	list, err = s.Schedules.Due(ctx, want.Due, nil, 10)
	must(t, err)
	names := ""
	for _, one := range list {
		names += fmt.Sprint(one.Account == ada, one.Name, " ")
	}
	if names != "falsenight truenight trueweek " && names != "falsenight trueweek truenight " {
		t.Errorf("due are %s", names)
	}
	list, err = s.Schedules.Due(ctx, other.Due, nil, 10)
	if err != nil || len(list) != 1 || list[0].Account != bob {
		t.Errorf("a minute earlier there are %v, %v", list, err)
	}

	// One that is set again keeps its tick, unless that is at other times.
	again := hourly(ada, "night")
	again.Script, again.Tick, again.Due, again.Anchor, again.Set = "other", noon.Add(5*time.Hour), noon.Add(6*time.Hour), noon.Add(time.Hour), noon.Add(time.Minute)
	stored = putSchedule(t, s, again)
	if stored.Revision != 2 || !stored.Tick.Equal(want.Tick) || !stored.Due.Equal(want.Due) || !stored.Anchor.Equal(noon) || stored.Script != "other" {
		t.Errorf("set again it is %+v", stored)
	}
	again.Every = 2 * time.Hour
	stored = putSchedule(t, s, again)
	if !stored.Tick.Equal(again.Tick) || !stored.Anchor.Equal(again.Anchor) || stored.Revision != 3 {
		t.Errorf("at other times it is %+v", stored)
	}

	// Paused it is not due, also where it is set.
	must(t, s.Schedules.Pause(ctx, ada, "night", seconds(7)))
	must(t, s.Schedules.Pause(ctx, ada, "night", seconds(8)))
	wantError(t, "no schedule", s.Schedules.Pause(ctx, ada, "none", noon), account.ErrNotFound)
	again.Every = time.Hour
	stored = putSchedule(t, s, again)
	if !stored.Tick.IsZero() || !stored.Due.IsZero() || !stored.Paused.Equal(seconds(7)) || stored.PausedBy != schedule.PausedByOwner {
		t.Errorf("paused it is %+v", stored)
	}
	moved := stored
	moved.Revision--
	wantError(t, "as it was before", s.Schedules.Resume(ctx, moved), schedule.ErrMoved)
	stored.Tick, stored.Due = noon.Add(9*time.Hour), noon.Add(10*time.Hour)
	must(t, s.Schedules.Resume(ctx, stored))
	must(t, s.Schedules.Resume(ctx, stored))
	stored.Paused, stored.PausedBy = time.Time{}, ""
	same(t, "resumed", readSchedule(t, s, ada, "night"), stored)

	must(t, s.Schedules.Postpone(ctx, stored, noon.Add(11*time.Hour)))
	if got := readSchedule(t, s, ada, "night"); !got.Due.Equal(noon.Add(11*time.Hour)) || !got.Tick.Equal(stored.Tick) {
		t.Errorf("postponed it is %+v", got)
	}
	wantError(t, "of another tick", s.Schedules.Postpone(ctx, moved, noon), schedule.ErrMoved)

	must(t, s.Schedules.Remove(ctx, ada, "night"))
	wantError(t, "a second Remove", s.Schedules.Remove(ctx, ada, "night"), account.ErrNotFound)
	_, err = s.Schedules.Schedule(ctx, ada, "night")
	wantError(t, "one that is gone", err, account.ErrNotFound)
	wantActs(t, "the log", auditLog(t, s, ada)[1:], "service schedule_set night", "service schedule_set week", "service schedule_set night", "service schedule_set night",
		"service schedule_paused night", "service schedule_set night", "service schedule_resumed night", "service schedule_removed night")
}

// scheduled returns the task of a schedule's job with a number.
func scheduled(one *schedule.Schedule, n int) *job.Task {
	task := task(one.Account, n)
	task.Call.Schedule, task.Concurrency = one.Name, one.Key(job.Concurrency{})
	return task
}

// started settles the tick of a schedule by the job with a number.
func started(t *testing.T, s Stores, one schedule.Schedule, n int) *schedule.Settlement {
	t.Helper()
	next := one.Tick.Add(time.Hour)
	return &schedule.Settlement{Schedule: one, Now: one.Tick.Add(time.Second), Next: next, NextDue: next, Task: scheduled(&one, n), Member: node(t, s)}
}

// skipped settles ticks of a schedule by a skip.
func skipped(one schedule.Schedule, count int64, reason schedule.Reason) *schedule.Settlement {
	last := one.Tick.Add(time.Duration(count-1) * time.Hour)
	return &schedule.Settlement{Schedule: one, Now: last.Add(time.Minute), Next: last.Add(time.Hour), NextDue: last.Add(time.Hour), Last: last, Count: count, Reason: reason, Message: "why"}
}

func history(t *testing.T, s Stores, a account.ID, name string) []schedule.Tick {
	t.Helper()
	list, err := s.Schedules.History(t.Context(), a, name, 0, 100)
	must(t, err)
	return list
}

func testSettle(t *testing.T, s Stores) {
	ctx := t.Context()
	ada := create(t, s.Accounts, person("ada")).ID
	one := hourly(ada, "night")
	one.Overlap = schedule.OverlapAll
	one = putSchedule(t, s, one)
	first := started(t, s, one, 1)
	settled, err := s.Schedules.Settle(ctx, first)
	must(t, err)
	v := view(t, s, first.Task.ID)
	if settled.Reason != "" || settled.Lease.ID != first.Task.ID || v.State != job.Accepted {
		t.Errorf("it is settled by %+v, and its job is %s", settled, v.State)
	}
	_, err = s.Schedules.Settle(ctx, first)
	wantError(t, "a second time", err, schedule.ErrMoved)
	one = readSchedule(t, s, ada, "night")
	if !one.Tick.Equal(first.Next) || one.Ticks != 1 {
		t.Errorf("it is %+v then", one)
	}
	listed, err := s.Jobs.ByRef(ctx, ada, settled.Lease.Seq)
	must(t, err)
	if listed.Schedule != "night" {
		t.Errorf("the job names %q", listed.Schedule)
	}

	// Skips for one reason are one entry, until there is another.
	for _, count := range []int64{3, 2} {
		_, err = s.Schedules.Settle(ctx, skipped(one, count, schedule.ReasonMissed))
		must(t, err)
		one = readSchedule(t, s, ada, "night")
	}
	_, err = s.Schedules.Settle(ctx, skipped(one, 1, "script_not_found"))
	must(t, err)
	one = readSchedule(t, s, ada, "night")
	manual := started(t, s, one, 2)
	manual.Manual = true
	settled, err = s.Schedules.Settle(ctx, manual)
	must(t, err)
	if after := readSchedule(t, s, ada, "night"); !after.Tick.Equal(one.Tick) || after.Ticks != 4 {
		t.Errorf("started out of turn it is %+v", after)
	}
	at := func(hours int) time.Time { return noon.Add(time.Duration(hours) * time.Hour) }
	want := []schedule.Tick{
		{Number: 4, First: manual.Now, Last: manual.Now, Count: 1, At: manual.Now, Manual: true, Job: settled.Lease.Seq, JobState: job.Accepted},
		{Number: 3, First: at(7), Last: at(7), Count: 1, At: at(7).Add(time.Minute), Reason: "script_not_found", Message: "why"},
		{Number: 2, First: at(2), Last: at(6), Count: 5, At: at(6).Add(time.Minute), Reason: schedule.ReasonMissed, Message: "why"},
		{Number: 1, First: at(1), Last: at(1), Count: 1, At: first.Now, Job: listed.Ref, JobState: job.Accepted},
	}
	same(t, "the history", history(t, s, ada, "night"), want)
	page, err := s.Schedules.History(ctx, ada, "night", 3, 1)
	must(t, err)
	same(t, "a page of it", page, want[2:3])

	// What is not accepted changes nothing.
	one = readSchedule(t, s, ada, "night")
	missing := started(t, s, one, 3)
	missing.Task.Code = nil
	_, err = s.Schedules.Settle(ctx, missing)
	wantError(t, "without its program", err, job.ErrNoProgram)
	same(t, "the schedule after that", readSchedule(t, s, ada, "night"), one)
	old := one
	old.Revision--
	_, err = s.Schedules.Settle(ctx, started(t, s, old, 4))
	wantError(t, "as it was before", err, schedule.ErrMoved)
	must(t, s.Schedules.Pause(ctx, ada, "night", noon))
	_, err = s.Schedules.Settle(ctx, started(t, s, one, 4))
	wantError(t, "paused", err, schedule.ErrMoved)
	must(t, s.Schedules.Remove(ctx, ada, "night"))
	manual.Schedule = one
	_, err = s.Schedules.Settle(ctx, manual)
	wantError(t, "out of turn, of none", err, account.ErrNotFound)
	if left := history(t, s, ada, "night"); len(left) > 0 {
		t.Errorf("of one that is gone there is %v", left)
	}
	if _, err := s.Queue.View(ctx, first.Task.ID); err != nil {
		t.Errorf("its job: %v", err)
	}
	list, err := s.Jobs.List(ctx, ada, job.Query{Schedule: "night", Limit: 10})
	if err != nil || len(list) != 2 {
		t.Errorf("of its jobs there are %d, %v", len(list), err)
	}
}

func testScheduleOverlap(t *testing.T, s Stores) {
	ctx := t.Context()
	ada := create(t, s.Accounts, person("ada")).ID
	for i, test := range []struct {
		overlap schedule.Overlap
		started int // of three ticks before a job has finished
	}{{schedule.OverlapSkip, 1}, {schedule.OverlapQueue, 2}, {schedule.OverlapAll, 3}} {
		one := hourly(ada, string(test.overlap))
		one.Overlap, one.Concurrency = test.overlap, job.Concurrency{}
		putSchedule(t, s, one)
		var leases []job.Lease
		var tasks []*job.Task
		settle := func(n int) schedule.Reason {
			tick := started(t, s, readSchedule(t, s, ada, one.Name), 100*i+n)
			settled, err := s.Schedules.Settle(ctx, tick)
			must(t, err)
			if settled.Reason == "" {
				leases, tasks = append(leases, settled.Lease), append(tasks, tick.Task)
			}
			return settled.Reason
		}
		for n := range 3 {
			reason := settle(n)
			if isStarted := reason == ""; isStarted != (n < test.started) || !isStarted && reason != schedule.ReasonOverlap {
				t.Errorf("%s: tick %d is %q", test.overlap, n, reason)
			}
		}
		if test.overlap != schedule.OverlapAll {
			manual := started(t, s, readSchedule(t, s, ada, one.Name), 100*i+50)
			manual.Manual = true
			_, err := s.Schedules.Settle(ctx, manual)
			wantError(t, "out of turn", err, schedule.ErrBusy)
		}
		d := job.Due{Lease: leases[0], State: job.Accepted, At: tasks[0].Created}
		l := claimJob(t, s, d)
		must(t, s.Queue.Finish(ctx, l, end(tasks[0], job.Complete)))
		if reason := settle(9); reason != "" {
			t.Errorf("%s: after the end it is %q", test.overlap, reason)
		}
	}
}

func testScheduleFailures(t *testing.T, s Stores) {
	ctx := t.Context()
	ada := create(t, s.Accounts, person("ada")).ID
	putSchedule(t, s, hourly(ada, "night"))
	n := 0
	run := func(state job.State) {
		t.Helper()
		n++
		one := readSchedule(t, s, ada, "night")
		settled, err := s.Schedules.Settle(ctx, started(t, s, one, n))
		must(t, err)
		l := claimJob(t, s, job.Due{Lease: settled.Lease, State: job.Accepted, At: seconds(n)})
		if state == job.Cancelled {
			must(t, s.Queue.FinishAsStored(ctx, l, state, seconds(n), nil, ""))
			return
		}
		must(t, s.Queue.Finish(ctx, l, end(scheduled(&one, n), state)))
	}
	wantFailures := func(want int) {
		t.Helper()
		if got := readSchedule(t, s, ada, "night").Failures; got != want {
			t.Errorf("after %d jobs there are %d failures, want %d", n, got, want)
		}
	}
	run(job.Failed)
	run(job.Cancelled)
	wantFailures(1)
	run(job.Expired)
	wantFailures(2)
	run(job.Complete)
	wantFailures(0)
	run(job.Failed)
	skip := skipped(readSchedule(t, s, ada, "night"), 1, "script_not_found")
	skip.Failed = true
	_, err := s.Schedules.Settle(ctx, skip)
	must(t, err)
	wantFailures(2)
	run(job.Failed)
	paused := readSchedule(t, s, ada, "night")
	if paused.PausedBy != schedule.PausedByFailures || !paused.Tick.IsZero() || paused.Failures != 3 {
		t.Errorf("after three failures it is %+v", paused)
	}
	paused.Tick, paused.Due = noon.Add(48*time.Hour), noon.Add(48*time.Hour)
	must(t, s.Schedules.Resume(ctx, paused))
	wantFailures(0)
	for range 3 {
		skip = skipped(readSchedule(t, s, ada, "night"), 1, "script_not_found")
		skip.Failed = true
		settled, err := s.Schedules.Settle(ctx, skip)
		must(t, err)
		paused.Failures++
		_ = settled
	}
	if one := readSchedule(t, s, ada, "night"); one.PausedBy != schedule.PausedByFailures {
		t.Errorf("after three skips it is %+v", one)
	}
}

// testSettleRace has many settle each tick: one does.
func testSettleRace(t *testing.T, s Stores) {
	ada := create(t, s.Accounts, person("ada")).ID
	one := hourly(ada, "night")
	one.Overlap, one.Concurrency = schedule.OverlapAll, job.Concurrency{}
	putSchedule(t, s, one)
	for round := range 5 {
		one := readSchedule(t, s, ada, "night")
		errs := atOnce(8, func(i int) error {
			settlement := started(t, s, one, 10*round+i)
			if i%4 == 3 {
				settlement = skipped(one, 1, schedule.ReasonMissed)
			}
			_, err := s.Schedules.Settle(t.Context(), settlement)
			return err
		})
		if won := winners(t, errs, func(err error) bool { return errors.Is(err, schedule.ErrMoved) }); len(won) != 1 {
			t.Errorf("round %d was won by %v", round, won)
		}
	}
	count := int64(0)
	for _, tick := range history(t, s, ada, "night") {
		count += tick.Count
	}
	if count != 5 {
		t.Errorf("there are %d ticks", count)
	}
}

func testSchedulePurge(t *testing.T, s Stores) {
	ctx := t.Context()
	ada, bob := create(t, s.Accounts, person("ada")).ID, create(t, s.Accounts, person("bob")).ID
	for _, a := range []account.ID{ada, bob} {
		one := putSchedule(t, s, hourly(a, "night"))
		_, err := s.Schedules.Settle(ctx, skipped(one, 1, schedule.ReasonMissed))
		must(t, err)
	}
	must(t, s.Accounts.Delete(ctx, ada))
	_, err := s.Schedules.Schedule(ctx, ada, "night")
	wantError(t, "of an account that is gone", err, account.ErrNotFound)
	if left := history(t, s, ada, "night"); len(left) > 0 {
		t.Errorf("its history is %v", left)
	}
	if left := history(t, s, bob, "night"); len(left) != 1 {
		t.Errorf("another account's is %v", left)
	}
}

func keyed(a account.ID, n int, key string, most int) *job.Task {
	task := task(a, n)
	task.Concurrency = job.Concurrency{Key: key, Most: most}
	return task
}

// claimAll claims what can be claimed of an account.
func claimAll(t *testing.T, s Stores, a account.ID) []job.Claimed {
	t.Helper()
	claimed, err := s.Queue.Claim(t.Context(), &job.ClaimQuery{Member: node(t, s), Free: []job.Places{{Account: a, N: 50, Due: true}}, Formats: 1 << 20, Limit: 50, Now: claimTime.Add(time.Hour)})
	must(t, err)
	return claimed
}

func testConcurrency(t *testing.T, s Stores) {
	ctx := t.Context()
	ada, bob := create(t, s.Accounts, person("ada")).ID, create(t, s.Accounts, person("bob")).ID
	tasks := map[job.ID]*job.Task{}
	add := func(task *job.Task) job.ID {
		t.Helper()
		_, _, err := s.Queue.Accept(ctx, task, node(t, s), claimTime)
		must(t, err)
		tasks[task.ID] = task
		return task.ID
	}
	var ids []job.ID
	for n := range 4 {
		ids = append(ids, add(keyed(ada, n, "imports", 2)))
	}
	other := add(keyed(ada, 5, "exports", 1))
	foreign := add(keyed(bob, 6, "imports", 2))
	limited := keyed(ada, 7, "imports", 2)
	limited.MostBlocked = 2
	_, _, err := s.Queue.Accept(ctx, limited, node(t, s), claimTime)
	wantError(t, "one too many", err, job.ErrBlockedLimit)

	first := claimAll(t, s, ada)
	same(t, "what is claimed", idsOf(first), []job.ID{ids[0], ids[1], other})
	if again := claimAll(t, s, ada); len(again) > 0 {
		t.Errorf("then %d more are claimed", len(again))
	}
	if of := claimAll(t, s, bob); len(of) != 1 || of[0].ID != foreign {
		t.Errorf("of another account there is %v", of)
	}
	// One that is suspended, or was released, is under way.
	must(t, s.Queue.Suspend(ctx, first[0].Lease, waitingUntil(claimTime)))
	must(t, s.Queue.Release(ctx, first[1].Lease, claimTime, 0, 0))
	same(t, "what goes on", idsOf(claimAll(t, s, ada)), []job.ID{ids[0], ids[1]})

	// The next goes on in the change that ends another, whatever ends it.
	next, err := s.Queue.NextDue(ctx, noon)
	if err != nil || !next.IsZero() {
		t.Errorf("something is due at %v, %v", next, err)
	}
	head, err := s.Queue.Head(ctx, ids[0])
	must(t, err)
	must(t, s.Queue.Finish(ctx, head.Lease, end(tasks[ids[0]], job.Failed)))
	list, err := s.Queue.ListDue(ctx, job.DueQuery{State: job.Accepted, Now: claimTime.Add(time.Hour), Limit: 10})
	if err != nil || len(list) != 1 || list[0].ID != ids[2] {
		t.Errorf("then are due %v, %v", list, err)
	}
	same(t, "what is claimed then", idsOf(claimAll(t, s, ada)), []job.ID{ids[2]})
	_, did, err := s.Queue.Cancel(ctx, ids[3], claimTime, nil, "")
	if err != nil || !did {
		t.Errorf("a blocked one is cancelled: %t, %v", did, err)
	}
	last := add(keyed(ada, 8, "imports", 2))
	if more := claimAll(t, s, ada); len(more) > 0 {
		t.Errorf("after that %v are claimed", idsOf(more))
	}
	head, err = s.Queue.Head(ctx, ids[1])
	must(t, err)
	must(t, s.Queue.FinishAsStored(ctx, head.Lease, job.Cancelled, seconds(300), nil, ""))
	same(t, "the last", idsOf(claimAll(t, s, ada)), []job.ID{last})
}

func idsOf(claimed []job.Claimed) (ids []job.ID) {
	for i := range claimed {
		ids = append(ids, claimed[i].ID)
	}
	return ids
}

// testConcurrencyRace has jobs of one key accepted, claimed and finished at the same time: never are
// more under way than may be, and all of them end.
func testConcurrencyRace(t *testing.T, s Stores) {
	ctx := t.Context()
	ada := create(t, s.Accounts, person("ada")).ID
	const jobs, most = 24, 3
	ended := 0
	accepted, member := make(chan error, jobs), node(t, s)
	for n := range jobs {
		go func() {
			_, _, err := s.Queue.Accept(ctx, keyed(ada, n, "one", most), member, claimTime)
			accepted <- err
		}()
	}
	var running []job.Claimed
	for ended < jobs {
		running = append(running, claimAll(t, s, ada)...)
		if len(running) > most {
			t.Fatalf("%d are under way", len(running))
		}
		if len(running) == 0 {
			must(t, <-accepted) // there is one more to come
			continue
		}
		one := running[0]
		running = running[1:]
		e := &job.End{Record: job.NewRecord(one.Summary, job.Complete, seconds(400), job.Progress{}, nil)}
		must(t, s.Queue.Finish(ctx, one.Lease, e))
		ended++
	}
}
