package storetest

import (
	"errors"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/account/usage"
	"ql/internal/job"
)

// testQueueFinishCrowd: jobs that end at the same time are each stored and counted as if it were alone: what others wait for is told, an
// attempt that has lost its job ends nothing, of two ends one counts, and no signal stays that comes meanwhile.
func testQueueFinishCrowd(t *testing.T, s Stores) {
	ctx := t.Context()
	ada, bob := create(t, s.Accounts, person("ada")).ID, create(t, s.Accounts, person("bob")).ID
	const jobs = 30
	owner := func(i int) account.ID { return []account.ID{ada, bob}[i%2] }
	plain := func(one *job.Task, state job.State) *job.End {
		e := end(one, state)
		e.Leftovers, e.Delivery = false, ""
		if state != job.Failed {
			e.Error = nil
		}
		return e
	}
	type held struct {
		task  *job.Task
		lease job.Lease
		end   *job.End
	}
	list := make([]held, jobs)
	for i := range list {
		one := task(owner(i), i)
		one.State = job.Running
		if i%5 == 0 {
			one.Call.Request = []byte("a request")
		}
		list[i] = held{one, accept(t, s, one), plain(one, []job.State{job.Complete, job.Failed, job.Declined}[i%3])}
		list[i].end.Call = one.Call
	}
	for n := range 2 { // of which one waits for the other
		accept(t, s, keyed(ada, jobs+n, "imports", 1))
	}
	imports := claimAll(t, s, ada)
	same(t, "what is claimed of those with a key", len(imports), 1)
	first := task(ada, jobs)
	first.Summary = imports[0].Summary
	lost := running(t, s, bob, jobs+2)
	must(t, s.Queue.Release(ctx, lost, claimTime, 0, 0))
	again := claimJob(t, s, due(t, s, lost.Seq))
	told(t, s, ada, list[0].lease.ID, "paid", "before", "")

	twice := 0
	ends := func(i int) error {
		switch {
		case i < jobs:
			return s.Queue.Finish(ctx, list[i].lease, list[i].end)
		case i < 2*jobs: // to the same jobs
			_, err := s.Queue.Signal(ctx, owner(i-jobs), list[i-jobs].lease.ID, &job.Signal{Name: "sent", Data: []byte("meanwhile"), At: seconds(80)})
			if errors.Is(err, job.ErrEnded) {
				err = nil
			}
			return err
		case i == 2*jobs:
			return s.Queue.Finish(ctx, imports[0].Lease, plain(first, job.Complete))
		case i == 2*jobs+1:
			return s.Queue.Finish(ctx, lost, plain(task(bob, jobs+2), job.Failed))
		default: // the first one, once more
			return s.Queue.Finish(ctx, list[0].lease, list[0].end)
		}
	}
	for i, err := range atOnce(2*jobs+3, ends) {
		switch {
		case i == 2*jobs+1:
			wantError(t, "the end of an attempt that has lost its job", err, job.ErrLeaseLost)
		case i == 0 || i == 2*jobs+2:
			if isLost(err) {
				twice++
				continue
			}
			must(t, err)
		default:
			must(t, err)
		}
	}
	same(t, "how many of two ends came too late", twice, 1)
	for i := range list {
		e := list[i].end
		e.Call = job.Call{}
		wantFinished(t, s, list[i].lease.Seq, e.Record)
	}
	same(t, "what was lost", load(t, s, lost.Seq).Lease, again)
	same(t, "who waited for the key", len(claimAll(t, s, ada)), 1)
	listed, err := s.Jobs.List(ctx, ada, job.Query{Limit: 2 * jobs})
	must(t, err)
	codes := 0
	for _, one := range listed {
		if one.ErrorCode == "x" {
			codes++
		}
	}
	same(t, "how many of one account have the code of an error", codes, jobs/6)
	for _, a := range []account.ID{ada, bob} {
		calls := int64(jobs/2 + 1)
		ran := jobs / 2 * time.Minute
		if a == ada {
			calls++
			ran += time.Minute
		}
		used, err := s.Usage.Used(ctx, a, usage.MonthOf(noon))
		must(t, err)
		same(t, "what is counted", used, usage.Used{Calls: calls, Running: ran})
	}
	// Nothing is left of the signals: the bytes of one are all that there may be.
	for i, a := range []account.ID{ada, bob} {
		other := running(t, s, a, jobs+10+i)
		_, err := s.Queue.Signal(ctx, a, other.ID, &job.Signal{Name: "paid", Data: []byte("x"), At: seconds(80), MostBytes: 1 + job.SignalRow})
		must(t, err)
	}
}

// testQueueBrought: a claim brings what a job was accepted with, where it was never begun and that is little, and as it would be loaded.
func testQueueBrought(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada")).ID
	large := task(a, 1)
	large.Spec = make([]byte, 4097)
	most := task(a, 2)
	most.Spec = make([]byte, 4096)
	elsewhere := task(a, 3)
	elsewhere.Elsewhere = true
	for _, one := range []*job.Task{large, most, elsewhere} {
		accept(t, s, one)
	}
	begun := running(t, s, a, 4)
	must(t, s.Queue.Release(t.Context(), begun, claimTime, 0, 0))
	brought := map[job.ID]bool{}
	for _, one := range claimAll(t, s, a) {
		if brought[one.ID] = one.Brought != nil; !brought[one.ID] {
			continue
		}
		want := load(t, s, one.Lease.Seq)
		want.Until = time.Time{}
		same(t, "what it was accepted with", one.Brought, want)
	}
	same(t, "what was brought", brought, map[job.ID]bool{large.ID: false, most.ID: true, elsewhere.ID: true, begun.ID: false})
}
