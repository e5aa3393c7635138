package storetest

import (
	"fmt"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/job"
	"ql/internal/webhook"
)

// held is a job that a test has brought somewhere.
type held struct {
	task  *job.Task
	lease job.Lease // of the last attempt that had it, as that one knows it
	due   job.Due   // as it was listed last
}

// The moments of a job's life beside its states.
const (
	released  job.State = "released"
	takenOver job.State = "taken over"
	orphaned  job.State = "orphaned"
	answered  job.State = "answered"
	stopping  job.State = "stopping"
)

// bring stores the job with a number and brings it to a moment of its life.
func bring(t *testing.T, s Stores, a account.ID, n int, to job.State) held {
	t.Helper()
	h := held{task: task(a, n)}
	h.lease = accept(t, s, h.task)
	h.due = due(t, s, h.lease.Seq)
	if to == job.Accepted {
		return h
	}
	h.lease = claimJob(t, s, h.due)
	h.due = due(t, s, h.lease.Seq)
	ctx := t.Context()
	switch to {
	case job.Running:
	case stopping:
		_, _, err := s.Queue.Cancel(ctx, h.task.ID, noon, nil, "")
		must(t, err)
	case released:
		must(t, s.Queue.Release(ctx, h.lease, seconds(60), 1, time.Second))
		h.due = due(t, s, h.lease.Seq)
	case takenOver:
		claimJob(t, s, h.due)
	case orphaned:
		restart(t, s)
	case job.Paused, answered:
		must(t, s.Queue.Suspend(ctx, h.lease, pausedAt(n)))
		h.due = due(t, s, h.lease.Seq)
		if to == answered {
			_, err := s.Queue.Answer(ctx, h.task.ID, answer(n), node(t, s), claimTime)
			must(t, err)
		}
	case job.Waiting:
		must(t, s.Queue.Suspend(ctx, h.lease, waitingUntil(seconds(70))))
		h.due = due(t, s, h.lease.Seq)
	default:
		must(t, s.Queue.Finish(ctx, h.lease, end(h.task, to)))
	}
	return h
}

// all is everything that can be seen of a job.
type all struct {
	View       *job.View
	Stored     *job.Stored
	LoadError  error
	Deliveries []webhook.Delivery
	Reply      [32]byte
	Token      job.ID
}

func lookAt(t *testing.T, s Stores, h held, n int) (a all) {
	t.Helper()
	a.View = view(t, s, h.task.ID)
	a.Stored, a.LoadError = s.Queue.Load(t.Context(), h.lease.Seq)
	var err error
	a.Deliveries, err = s.Deliveries.ByJob(t.Context(), h.task.ID)
	must(t, err)
	a.Reply, _, err = s.Queue.FindAnswer(t.Context(), h.task.ID, prompt(n).ID)
	must(t, err)
	a.Token, err = openedBy(t, s, prompt(n).Token)
	if err != nil {
		wantError(t, "ByToken", err, job.ErrNotFound)
	}
	return a
}

// operations are all changes that somebody can try at a job, with what he knows
// of it.
func operations(t *testing.T, s Stores, n int) map[string]func(held) error {
	ctx, q := t.Context(), s.Queue
	return map[string]func(held) error{
		"Claim": func(h held) error {
			_, err := q.ClaimListed(ctx, node(t, s), h.due, claimTime)
			return err
		},
		"AppendJournal": func(h held) error {
			return q.AppendJournal(ctx, h.lease, job.JournalEntry{Step: 50, Entries: []byte("kept")})
		},
		"SaveSnapshot":   func(h held) error { return q.SaveSnapshot(ctx, h.lease, []byte("saved"), shown()) },
		"Pause":          func(h held) error { return q.Suspend(ctx, h.lease, pausedAt(n)) },
		"Wait":           func(h held) error { return q.Suspend(ctx, h.lease, waitingUntil(seconds(80))) },
		"Release":        func(h held) error { return q.Release(ctx, h.lease, seconds(90), 2, time.Second) },
		"Finish":         func(h held) error { return q.Finish(ctx, h.lease, end(h.task, job.Complete)) },
		"FinishAsStored": func(h held) error { return q.FinishAsStored(ctx, h.lease, job.Failed, seconds(96), nil, "") },
		"MarkStarted":    func(h held) error { return q.MarkStarted(ctx, h.lease) },
		"ResetCrashes":   func(h held) error { return q.ResetCrashes(ctx, h.lease) },
		"Answer": func(h held) error {
			_, err := q.Answer(ctx, h.task.ID, answer(n), node(t, s), claimTime)
			return err
		},
		"another answer": func(h held) error {
			a := answer(n)
			a.Prompt = "another question"
			_, err := q.Answer(ctx, h.task.ID, a, node(t, s), claimTime)
			return err
		},
		"Cancel": func(h held) error {
			before := view(t, s, h.task.ID).State
			state, did, err := q.Cancel(ctx, h.task.ID, seconds(95), []byte(`{"code":"cancelled"}`), "msg-cancel-"+h.task.ID.String())
			if err != nil {
				return err
			}
			if after := view(t, s, h.task.ID).State; state != after || did != (before != after) {
				return fmt.Errorf("from %s to %s, it says %s, %t", before, after, state, did)
			}
			return nil
		},
		"restart": func(held) error { restart(t, s); return nil },
	}
}

// outcome is what comes of an operation, and the state of the job then. Where
// that is "", nothing changes.
type outcome struct {
	err   error
	state job.State
}

// leaseOperations are what an attempt does.
var leaseOperations = []string{"AppendJournal", "SaveSnapshot", "Pause", "Wait", "Release", "Finish", "FinishAsStored", "MarkStarted", "ResetCrashes"}

// byLease are the outcomes of what an attempt does.
func byLease(each map[string]outcome, other outcome) map[string]outcome {
	for _, name := range leaseOperations {
		if _, ok := each[name]; !ok {
			each[name] = other
		}
	}
	return each
}

var (
	lost      = outcome{err: job.ErrLeaseLost}
	notPaused = outcome{err: job.ErrNotPaused}
	nothing   = outcome{}
)

// transitions has a row for every moment of a job's life and in it what comes
// of every operation.
var transitions = map[job.State]map[string]outcome{
	job.Accepted: byLease(map[string]outcome{
		"Claim": {state: job.Running}, "Answer": notPaused, "Cancel": {state: job.Cancelled}, "restart": nothing,
	}, lost),
	job.Running: {
		"Claim": {state: job.Running}, "AppendJournal": {state: job.Running}, "SaveSnapshot": {state: job.Running},
		"Pause": {state: job.Paused}, "Wait": {state: job.Waiting}, "Release": {state: job.Running}, "Finish": {state: job.Complete},
		"FinishAsStored": {state: job.Failed}, "MarkStarted": {state: job.Running}, "ResetCrashes": {state: job.Running}, "Answer": notPaused, "Cancel": {state: job.Running}, "restart": {state: job.Running},
	},
	stopping: {
		"Claim": {state: job.Running}, "AppendJournal": {state: job.Running}, "SaveSnapshot": {state: job.Running},
		"Pause": {err: job.ErrStopping}, "Wait": {err: job.ErrStopping}, "Release": {state: job.Running}, "Finish": {state: job.Complete},
		"FinishAsStored": {state: job.Failed}, "MarkStarted": {state: job.Running}, "ResetCrashes": {state: job.Running}, "Answer": notPaused, "Cancel": nothing, "restart": {state: job.Running},
	},
	released: byLease(map[string]outcome{
		"Claim": {state: job.Running}, "Answer": notPaused, "Cancel": {state: job.Cancelled}, "restart": {state: job.Running},
	}, lost),
	takenOver: byLease(map[string]outcome{
		"Claim": lost, "Answer": notPaused, "Cancel": {state: job.Running}, "restart": {state: job.Running},
	}, lost),
	// Nobody has claimed it since its member died.
	orphaned: {
		"Claim": {state: job.Running}, "AppendJournal": {state: job.Running}, "SaveSnapshot": {state: job.Running},
		"Pause": {state: job.Paused}, "Wait": {state: job.Waiting}, "Release": {state: job.Running}, "Finish": {state: job.Complete},
		"FinishAsStored": {state: job.Failed}, "MarkStarted": {state: job.Running}, "ResetCrashes": {state: job.Running}, "Answer": notPaused, "Cancel": {state: job.Cancelled}, "restart": {state: job.Running},
	},
	job.Paused: byLease(map[string]outcome{
		"Claim": {state: job.Running}, "Answer": {state: job.Running}, "Cancel": {state: job.Cancelled}, "restart": nothing,
	}, lost),
	answered: byLease(map[string]outcome{
		"Claim": lost, "Answer": notPaused, "Cancel": {state: job.Running}, "restart": {state: job.Running},
	}, lost),
	job.Waiting: byLease(map[string]outcome{
		"Claim": {state: job.Running}, "Answer": notPaused, "Cancel": {state: job.Cancelled}, "restart": nothing,
	}, lost),
	job.Complete:  finished(),
	job.Failed:    finished(),
	job.Declined:  finished(),
	job.Cancelled: finished(),
	job.Expired:   finished(),
}

func finished() map[string]outcome {
	return byLease(map[string]outcome{"Claim": lost, "Answer": notPaused, "Cancel": nothing, "restart": nothing}, lost)
}

// testQueueTransitions tries every operation at every moment.
func testQueueTransitions(t *testing.T, s Stores) {
	n := 0
	for from, row := range transitions {
		for name, want := range row {
			n++
			a := create(t, s.Accounts, person(numbered("user", n)))
			what := fmt.Sprintf("%s of a job that is %s", name, from)
			operation := operations(t, s, n)[name]
			h := bring(t, s, a.ID, n, from)
			bystander := bring(t, s, a.ID, 10_000+n, job.Waiting)
			before, others := lookAt(t, s, h, n), lookAt(t, s, bystander, n)
			wantError(t, what, operation(h), want.err)
			after := lookAt(t, s, h, n)
			if want.state == "" {
				same(t, what, after, before)
			} else if after.View.State != want.state {
				t.Errorf("%s: it is %s then, want %s", what, after.View.State, want.state)
			}
			wantError(t, what+", and load it", after.LoadError, map[bool]error{true: job.ErrLeaseLost}[after.View.State.Finished()])
			same(t, what+": another job", lookAt(t, s, bystander, n).View, others.View)
			must(t, s.Accounts.Delete(t.Context(), a.ID)) // nothing of it is due then
		}
	}
}

// testQueueEveryTransition holds the table to have every operation.
func testQueueEveryTransition(t *testing.T, s Stores) {
	for name := range operations(t, s, 0) {
		for from, row := range transitions {
			if _, ok := row[name]; !ok && name != "another answer" {
				t.Errorf("%s of a job that is %s is not tested", name, from)
			}
		}
	}
	a := create(t, s.Accounts, person("ada"))
	n := 0
	for from := range transitions {
		n++
		h := bring(t, s, a.ID, n, from)
		before := lookAt(t, s, h, n)
		wantError(t, "another question's answer to one that is "+string(from), operations(t, s, n)["another answer"](h), job.ErrNotPaused)
		same(t, "after another question's answer", lookAt(t, s, h, n), before)
	}
	_, err := s.Queue.Answer(t.Context(), job.NewID(), answer(1), node(t, s), claimTime)
	wantError(t, "an answer to no job", err, job.ErrNotPaused)
	_, _, err = s.Queue.Cancel(t.Context(), job.NewID(), noon, nil, "msg")
	wantError(t, "the end of no job", err, job.ErrNotFound)
}

// testQueueRounds takes one job through many attempts: the lease of none but the
// last holds.
func testQueueRounds(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	task := task(a.ID, 1)
	l := accept(t, s, task)
	var earlier []job.Lease
	for round := range 6 {
		earlier = append(earlier, l)
		l = claimJob(t, s, due(t, s, l.Seq))
		must(t, s.Queue.AppendJournal(t.Context(), l, job.JournalEntry{Step: int64(round), Entries: []byte{byte(round)}}))
		for _, old := range earlier {
			for name, operation := range operations(t, s, 1) {
				switch name {
				case "Claim", "Answer", "another answer", "Cancel", "restart":
					continue
				}
				wantError(t, fmt.Sprintf("%s by attempt %d in round %d", name, old.Attempt, round), operation(held{task: task, lease: old}), job.ErrLeaseLost)
			}
		}
		switch round % 3 {
		case 0:
			must(t, s.Queue.Release(t.Context(), l, seconds(round), 0, 0))
		case 1:
			restart(t, s)
		}
	}
	same(t, "the journal", load(t, s, l.Seq).Journal, [][]byte{{0}, {1}, {2}, {3}, {4}, {5}})
}
