package storetest

import (
	"errors"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/job"
)

// calledBy is the task with a number that a script has started, of which an account may have so many.
func calledBy(parent job.ID, a account.ID, n, most int) *job.Task {
	c := task(a, n)
	c.Convention, c.Called = job.Script, &job.Called{Parent: parent, Most: most}
	return c
}

// finishCalled ends the job of a task, which is claimed for it.
func finishCalled(t *testing.T, s Stores, k *job.Task, seq int64, state job.State) {
	t.Helper()
	must(t, s.Queue.Finish(t.Context(), claimJob(t, s, due(t, s, seq)), end(k, state)))
}

// awaits suspends a job until something comes, or a moment; zero for never.
func awaits(t *testing.T, s Stores, l job.Lease, until time.Time, child job.ID, signal string) {
	t.Helper()
	w := waitingUntil(until)
	w.At, w.AwaitsJob, w.AwaitsSignal = seconds(60), child, signal
	must(t, s.Queue.Suspend(t.Context(), l, w))
}

// dueAt compares when a job is due.
func dueAt(t *testing.T, s Stores, what string, seq int64, want time.Time) {
	t.Helper()
	same(t, what, load(t, s, seq).Until, want)
}

// testScriptCalls shows who has started whom, and that an account has no more such jobs than it may.
func testScriptCalls(t *testing.T, s Stores) {
	ctx := t.Context()
	ada, bob := create(t, s.Accounts, person("ada")).ID, create(t, s.Accounts, person("bob")).ID
	parent := running(t, s, ada, 1)
	other := running(t, s, ada, 2)
	first, second := calledBy(parent.ID, ada, 3, 2), calledBy(parent.ID, ada, 4, 2)
	l := accept(t, s, first)
	l2 := accept(t, s, second)

	third := calledBy(other.ID, ada, 5, 2)
	_, _, err := s.Queue.Accept(ctx, third, node(t, s), claimTime)
	wantError(t, "one more than the account may have", err, job.ErrCallLimit)
	_, err = s.Queue.View(ctx, third.ID)
	wantError(t, "what was not accepted", err, job.ErrNotFound)
	accept(t, s, calledBy(record(bob, 6).ID, bob, 7, 2))

	for what, c := range map[string]struct {
		a             account.ID
		parent, child job.ID
		want          bool
	}{
		"a child":            {ada, parent.ID, first.ID, true},
		"of another parent":  {ada, other.ID, first.ID, false},
		"of another account": {bob, parent.ID, first.ID, false},
		"the other way":      {ada, first.ID, parent.ID, false},
		"no job":             {ada, parent.ID, third.ID, false},
	} {
		is, err := s.Queue.IsChild(ctx, c.a, c.parent, c.child)
		must(t, err)
		same(t, what, is, c.want)
	}
	shown := func(what string, a account.ID, parent job.ID, after int64, limit int, want ...job.Child) {
		t.Helper()
		list, err := s.Queue.Children(ctx, a, parent, after, limit)
		must(t, err)
		same(t, what, list, want)
	}
	one := job.Child{Ref: l.Seq, ID: first.ID, State: job.Accepted, ProgramName: first.ProgramName, Created: first.Created}
	two := job.Child{Ref: l2.Seq, ID: second.ID, State: job.Accepted, ProgramName: second.ProgramName, Created: second.Created}
	shown("all", ada, parent.ID, 0, 10, one, two)
	shown("the first", ada, parent.ID, 0, 1, one)
	shown("those after it", ada, parent.ID, l.Seq, 10, two)
	shown("of another account", bob, parent.ID, 0, 10)
	shown("of who has started none", ada, other.ID, 0, 10)
	parentOf := func(what string, a account.ID, id job.ID, want int64) {
		t.Helper()
		ref, err := s.Queue.Parent(ctx, a, id)
		must(t, err)
		same(t, what, ref, want)
	}
	parentOf("the parent", ada, first.ID, parent.Seq)
	parentOf("that of a job that nobody has started", ada, parent.ID, 0)
	parentOf("that of another account", bob, first.ID, 0)

	// One that has ended makes room, and is still a child.
	finishCalled(t, s, first, l.Seq, job.Complete)
	one.State, one.Finished = job.Complete, seconds(200)
	shown("with one that has ended", ada, parent.ID, 0, 10, one, two)
	accept(t, s, third)
}

// testAwaitedJobs has jobs wait for others, which end before that or after.
func testAwaitedJobs(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada")).ID
	for n, c := range []struct {
		what  string
		until time.Time
		end   job.State
	}{
		{"without an end", time.Time{}, job.Complete},
		{"with one", seconds(9000), job.Failed},
		{"for one that is cancelled", seconds(9000), job.Cancelled},
	} {
		n *= 10
		parent := running(t, s, a, n+1)
		child, sibling := calledBy(parent.ID, a, n+2, 0), calledBy(parent.ID, a, n+3, 0)
		l, other := accept(t, s, child), accept(t, s, sibling)
		awaits(t, s, parent, c.until, child.ID, "")
		dueAt(t, s, c.what, parent.Seq, c.until)
		finishCalled(t, s, sibling, other.Seq, job.Complete)
		dueAt(t, s, c.what+", when another ends", parent.Seq, c.until)
		finishCalled(t, s, child, l.Seq, c.end)
		dueAt(t, s, c.what+", when it ends", parent.Seq, seconds(200))
		list, err := s.Queue.ListDue(t.Context(), job.DueQuery{State: job.Waiting, Now: seconds(200), Limit: 10})
		must(t, err)
		same(t, c.what+", what is due", len(list), 1)

		parent = claimJob(t, s, due(t, s, parent.Seq))
		awaits(t, s, parent, c.until, child.ID, "")
		dueAt(t, s, c.what+", when it has ended before", parent.Seq, seconds(60))
		parent = claimJob(t, s, due(t, s, parent.Seq))
		must(t, s.Queue.Finish(t.Context(), parent, end(task(a, n+1), job.Complete)))
	}

	// Cancelled where it stands: its parent is due then too. Who waits for a moment is not.
	parent := running(t, s, a, 91)
	child, sibling := calledBy(parent.ID, a, 92, 0), calledBy(parent.ID, a, 93, 0)
	accept(t, s, child)
	other := accept(t, s, sibling)
	awaits(t, s, parent, time.Time{}, child.ID, "")
	_, did, err := s.Queue.Cancel(t.Context(), child.ID, seconds(300), nil, "")
	must(t, err)
	same(t, "cancelled", did, true)
	dueAt(t, s, "who waits for one that was cancelled", parent.Seq, seconds(300))
	parent = claimJob(t, s, due(t, s, parent.Seq))
	awaits(t, s, parent, seconds(9000), sibling.ID, "")
	parent = claimJob(t, s, due(t, s, parent.Seq))
	must(t, s.Queue.Suspend(t.Context(), parent, waitingUntil(seconds(9999))))
	finishCalled(t, s, sibling, other.Seq, job.Complete)
	dueAt(t, s, "who waits for a moment now", parent.Seq, seconds(9999))
}

// testStoppedTree: who is cancelled takes all along that it has started, and nobody else.
func testStoppedTree(t *testing.T, s Stores) {
	ctx := t.Context()
	a := create(t, s.Accounts, person("ada")).ID
	root := running(t, s, a, 1)
	n := 1
	start := func(parent job.ID) (*job.Task, job.Lease) {
		n++
		k := calledBy(parent, a, n, 0)
		return k, accept(t, s, k)
	}
	begin := func(parent job.ID) (*job.Task, job.Lease) {
		k, l := start(parent)
		return k, claimJob(t, s, due(t, s, l.Seq))
	}
	branch, bl := begin(root.ID)
	accepted, al := start(branch.ID)
	ran, rl := begin(branch.ID)
	asks, ql := begin(ran.ID)
	must(t, s.Queue.Suspend(ctx, ql, pausedAt(n)))
	over, ol := start(ran.ID)
	finishCalled(t, s, over, ol.Seq, job.Complete)
	awaits(t, s, bl, time.Time{}, ran.ID, "")
	waiting, wl := begin(root.ID)
	must(t, s.Queue.Suspend(ctx, wl, waitingUntil(seconds(9000))))
	stranger, sl := begin(record(a, 90).ID)
	must(t, s.Queue.Suspend(ctx, sl, waitingUntil(seconds(9000))))

	_, _, err := s.Queue.Cancel(ctx, root.ID, seconds(300), nil, "")
	must(t, err)
	stopped, err := s.Queue.ListStopping(ctx, node(t, s))
	must(t, err)
	ids := map[job.ID]bool{}
	for _, l := range stopped {
		ids[l.ID] = true
	}
	same(t, "those in the hands of somebody", ids, map[job.ID]bool{root.ID: true, accepted.ID: true, ran.ID: true})

	// A disabled account has places for those that are to stop, and for no others.
	claimed, err := s.Queue.Claim(ctx, &job.ClaimQuery{Member: node(t, s), Now: seconds(300), Limit: 10, Formats: 1 << 30, Free: []job.Places{{Account: a, N: 10, Due: true, Stopping: true}}})
	must(t, err)
	ids = map[job.ID]bool{}
	for _, c := range claimed {
		ids[c.ID] = true
		same(t, "asked to stop", c.Stopping, true)
	}
	same(t, "those that are to be ended", ids, map[job.ID]bool{branch.ID: true, accepted.ID: true, asks.ID: true, waiting.ID: true})
	same(t, "one that had ended", view(t, s, over.ID).State, job.Complete)
	dueAt(t, s, "a stranger", sl.Seq, seconds(9000))
	same(t, "a stranger", view(t, s, stranger.ID).State, job.Waiting)

	// One that was started meanwhile is asked when the end of its parent is stored.
	late, ll := start(root.ID)
	must(t, s.Queue.Finish(ctx, root, end(task(a, 1), job.Cancelled)))
	stopped, err = s.Queue.ListStopping(ctx, node(t, s))
	must(t, err)
	found := false
	for _, l := range stopped {
		found = found || l.ID == late.ID
	}
	if !found {
		t.Errorf("%d is not asked to stop", ll.Seq)
	}
	_, _ = al, rl
}

// testCallRace starts more at once than an account may have.
func testCallRace(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada")).ID
	m := node(t, s)
	errs := atOnce(8, func(i int) error {
		_, _, err := s.Queue.Accept(t.Context(), calledBy(record(a, 99).ID, a, i+1, 3), m, claimTime)
		return err
	})
	started := 0
	for _, err := range errs {
		if err == nil {
			started++
		} else if !errors.Is(err, job.ErrCallLimit) {
			t.Error(err)
		}
	}
	same(t, "those that were started", started, 3)
}
