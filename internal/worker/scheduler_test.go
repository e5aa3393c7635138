package worker

import (
	"slices"
	"testing"

	"ql/internal/account"
	"ql/internal/job"
)

func newScheduler(maxRunning int) *scheduler {
	return &scheduler{maxRunning: maxRunning, accounts: map[account.ID]*accountQueue{}}
}

// accept has so many jobs of an account accepted, and returns them.
func (s *scheduler) accept(a account.ID, maxRunning, n int) (list []job.ID) {
	for range n {
		list = append(list, job.NewID())
		s.enqueue(s.queue(a, maxRunning), list[len(list)-1], &entry{})
	}
	return list
}

func (s *scheduler) wantReserved(t *testing.T, what string, want ...job.Places) reservation {
	t.Helper()
	r, _ := s.reserve()
	if !slices.Equal(r.places, want) {
		t.Errorf("%s: reserved %+v, want %+v", what, r.places, want)
	}
	return r
}

// claimedFrom is jobs that were claimed in a state.
func claimedFrom(from job.State, a account.ID, ids ...job.ID) (list []job.Claimed) {
	for _, id := range ids {
		c := job.Claimed{From: from}
		c.ID, c.Account = id, a
		list = append(list, c)
	}
	return list
}

func (s *scheduler) wantIdle(t *testing.T) {
	t.Helper()
	if s.running != 0 || len(s.accounts) != 0 || s.accepted != 0 || len(s.ready) != 0 || len(s.quarantine) != 0 || s.probing {
		t.Errorf("the scheduler is not idle: %+v", s)
	}
}

// TestReservesInTurns gives slots to accounts in turns, within their bounds, for no more
// jobs than there are.
func TestReservesInTurns(t *testing.T) {
	s := newScheduler(6)
	ada, bob := s.accept(1, 4, 9), s.accept(2, 2, 9)
	one := s.accept(3, 4, 1)
	r := s.wantReserved(t, "at first", job.Places{Account: 1, N: 3}, job.Places{Account: 2, N: 2}, job.Places{Account: 3, N: 1})
	s.wantReserved(t, "while all are taken")
	s.settle(r, slices.Concat(claimedFrom(job.Accepted, 1, ada[:3]...), claimedFrom(job.Accepted, 2, bob[:2]...), claimedFrom(job.Accepted, 3, one...)))
	s.wantReserved(t, "while all run")
	s.release(3)
	s.release(2)
	r = s.wantReserved(t, "when two have ended", job.Places{Account: 1, N: 1}, job.Places{Account: 2, N: 1})
	if q := s.accounts[1]; q.backlog() != 5 || q.queued() != 6 {
		t.Errorf("%d of %d are to be claimed", q.backlog(), q.queued())
	}
	s.settle(r, slices.Concat(claimedFrom(job.Accepted, 1, ada[3]), claimedFrom(job.Accepted, 2, bob[2])))
	for range 4 {
		s.release(1)
	}
	s.release(2)
	s.release(2)
	s.clear(1)
	s.clear(2)
	s.wantReserved(t, "of nothing")
	s.wantIdle(t)
}

// TestForgetsWhatIsNotThere has the store claim fewer jobs than were known: those are gone,
// but what became known since is not.
func TestForgetsWhatIsNotThere(t *testing.T) {
	s := newScheduler(4)
	ids := s.accept(1, 0, 2)
	s.add(s.queue(1, 0), &backlog{account: 1, due: 3, orphans: 1})
	r := s.wantReserved(t, "of all kinds", job.Places{Account: 1, N: 4, Due: true})
	s.add(s.queue(1, 0), &backlog{account: 1, due: 1}) // listed again, and known since
	late := s.accept(1, 0, 1)
	s.settle(r, slices.Concat(claimedFrom(job.Accepted, 1, ids[0]), claimedFrom(job.Waiting, 1, job.NewID())))
	q := s.accounts[1]
	if q.accepted[ids[1]] != nil || q.accepted[late[0]] == nil || q.running != 2 || q.claiming != 0 {
		t.Errorf("after a claim of fewer: %+v", q)
	}
	r = s.wantReserved(t, "what is known since", job.Places{Account: 1, N: 2, Due: true})
	s.settle(r, nil) // it failed
	s.wantReserved(t, "after a failure: it is looked for again first")
	s.release(1)
	s.release(1)
	s.wantIdle(t)
}

// TestLooksForAccepted: accepted jobs are looked for where some are known.
func TestLooksForAccepted(t *testing.T) {
	s := newScheduler(4)
	s.add(s.queue(1, 0), &backlog{account: 1, due: 1})
	s.settle(s.wantReserved(t, "due alone", job.Places{Account: 1, N: 1, Due: true, NoneAccepted: true}), nil)
	s.accept(1, 0, 1)
	s.settle(s.wantReserved(t, "accepted", job.Places{Account: 1, N: 1}), nil)
	s.wantIdle(t)
}

// TestProbesOneAtATime claims jobs in quarantine one by one, of one account after the
// other.
func TestProbesOneAtATime(t *testing.T) {
	s := newScheduler(4)
	for _, a := range []account.ID{1, 2} {
		s.add(s.queue(a, 0), &backlog{account: a, suspects: true})
	}
	for _, a := range []account.ID{1, 2, 1} {
		r := s.wantReserved(t, "a probe", job.Places{Account: a, N: 1, Due: true})
		if !r.suspects {
			t.Error("it is for others")
		}
		s.wantReserved(t, "beside it")
		s.settle(r, claimedFrom(job.Running, a, job.NewID()))
		s.wantReserved(t, "beside one that runs")
		s.release(a)
		s.probing = false
	}
	for _, a := range []account.ID{2, 1} {
		s.settle(s.wantReserved(t, "one that is not there", job.Places{Account: a, N: 1, Due: true}), nil)
	}
	s.wantReserved(t, "when there is none")
	s.wantIdle(t)
}
