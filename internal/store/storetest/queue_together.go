package storetest

import (
	"errors"
	"sync"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/account/usage"
	"ql/internal/job"
)

// testQueueAcceptCrowd: jobs that are accepted at the same time, to run or with their ends, are each stored and counted as if it
// were alone: one of an account that is gone, one whose program is, and one that was stored before keep nothing from the others.
func testQueueAcceptCrowd(t *testing.T, s Stores) {
	ada, bob, gone := create(t, s.Accounts, person("ada")), create(t, s.Accounts, person("bob")), create(t, s.Accounts, person("gone"))
	m := node(t, s)
	first := task(ada.ID, 0)
	accept(t, s, first) // with the program of all
	must(t, s.Accounts.Delete(t.Context(), gone.ID))
	const each = 30
	before := task(bob.ID, 4*each)
	stored := end(before, job.Complete)
	must(t, s.Jobs.Record(t.Context(), []job.Record{stored.Record}))

	owner := func(i int) account.ID { return []account.ID{ada.ID, bob.ID}[i%2] }
	build := func(i int) *job.Task {
		one := task(owner(i), i+1)
		one.Code, one.Program, one.Webhook, one.Call = nil, first.Program, "", called(i%3)
		return one
	}
	var mu sync.Mutex
	leases := map[job.ID]job.Lease{}
	for i, err := range atOnce(2*each+3, func(i int) (err error) {
		one := build(i)
		switch {
		case i == 2*each:
			one.Account = gone.ID
			e := end(one, job.Complete)
			_, err = s.Queue.AcceptEnded(t.Context(), one, e)
		case i == 2*each+1:
			one.Program = [32]byte{1}
			_, _, err = s.Queue.Accept(t.Context(), one, m, claimTime)
		case i == 2*each+2:
			_, err = s.Queue.AcceptEnded(t.Context(), &job.Task{}, stored)
		case i < each:
			e := end(one, []job.State{job.Complete, job.Failed}[i%2])
			e.Call = one.Call
			_, err = s.Queue.AcceptEnded(t.Context(), one, e)
		default:
			var l job.Lease
			l, _, err = s.Queue.Accept(t.Context(), one, m, claimTime)
			mu.Lock()
			leases[one.ID] = l
			mu.Unlock()
		}
		return err
	}) {
		switch want := map[int]error{2 * each: account.ErrNotFound, 2*each + 1: job.ErrNoProgram}[i]; {
		case want != nil:
			wantError(t, "one that cannot be stored", err, want)
		default:
			must(t, err)
		}
	}
	for i := range 2 * each {
		one := build(i)
		v := view(t, s, one.ID)
		called, _, err := s.Jobs.Called(t.Context(), one.Account, v.Seq)
		must(t, err)
		same(t, "what it was called with", called, one.Call)
		if i >= each {
			same(t, "its state", v.State, job.Accepted)
			same(t, "its lease", leases[one.ID], job.Lease{Seq: v.Seq, ID: one.ID, Account: one.Account})
			same(t, "what it was accepted with", string(load(t, s, v.Seq).Spec), string(one.Spec))
			continue
		}
		e := end(one, []job.State{job.Complete, job.Failed}[i%2])
		e.Call = one.Call
		e.Call.Source, e.Call.Request, e.Call.Name = nil, nil, ""
		wantFinished(t, s, v.Seq, e.Record)
	}
	for a, want := range map[account.ID]usage.Used{
		ada.ID: {Calls: each + 1, Running: each / 2 * time.Minute},
		bob.ID: {Calls: each + 1, Running: (each/2 + 1) * time.Minute},
	} {
		used, err := s.Usage.Used(t.Context(), a, usage.MonthOf(noon))
		must(t, err)
		same(t, "what is counted", used, want)
	}
	_, err := s.Queue.View(t.Context(), build(2*each).ID)
	if !errors.Is(err, job.ErrNotFound) {
		t.Errorf("the job of an account that is gone: %v", err)
	}
	fit := 0
	for _, err := range atOnce(each, func(i int) error {
		one := build(4*each + 2*i + 2) // of one account
		one.Created, one.Elsewhere, one.MostBlocked = seconds(500), true, 7
		_, _, err := s.Queue.Accept(t.Context(), one, m, claimTime)
		return err
	}) {
		if err == nil {
			fit++
			continue
		}
		wantError(t, "one too many for another member", err, job.ErrBlockedLimit)
	}
	same(t, "how many wait for another member", fit, 7)
	same(t, "how many jobs are the member's", len(heldBy(t, s, m.Incarnation, job.Accepted)), each+1)
}
