package worker

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"ql/internal/account"
	"ql/internal/job"
	"ql/internal/member"
)

// heldClaims lets claims go on one by one, and counts them and what is loaded.
type heldClaims struct {
	job.Queue
	begun, goOn          chan struct{}
	underWay, most, made atomic.Int64
	loads                atomic.Int64
}

func (q *heldClaims) Claim(ctx context.Context, c *job.ClaimQuery) ([]job.Claimed, error) {
	q.made.Add(1)
	q.most.Store(max(q.most.Load(), q.underWay.Add(1)))
	defer q.underWay.Add(-1)
	tell(q.begun)
	<-q.goOn
	return q.Queue.Claim(ctx, c)
}

func (q *heldClaims) Load(ctx context.Context, seq int64) (*job.Stored, error) {
	q.loads.Add(1)
	return q.Queue.Load(ctx, seq)
}

// TestClaimsTogether: where others share the store, jobs that come while some are claimed are claimed together, and what
// they were accepted with is not read once more.
func TestClaimsTogether(t *testing.T) {
	const jobs = 20
	q := &heldClaims{begun: make(chan struct{}, 1), goOn: make(chan struct{})}
	hints := &hintsOfTwo{[2]chan member.Hint{make(chan member.Hint, 100), make(chan member.Hint, 100)}}
	e := newWorld(t, faults{queue: func(inner job.Queue) job.Queue {
		q.Queue = inner
		inner.Leases, inner.Attempts = q, q
		return inner
	}}, func(o *Options) { o.Hints = hintsOfNode{hints, 1} })
	var ids []job.ID
	for i := range jobs {
		s := e.submission(`EMIT "done"`)
		s.Concurrency = job.Concurrency{Key: fmt.Sprint(i), Most: 1}
		if _, err := e.w.Submit(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if ids = append(ids, s.Summary.ID); i == 0 {
			<-q.begun
		}
	}
	close(q.goOn)
	for _, id := range ids {
		e.await(id, job.Complete)
	}
	if n, most := q.made.Load(), q.most.Load(); n > jobs/2 || most != 1 {
		t.Errorf("%d jobs were claimed by %d claims, %d at a time", jobs, n, most)
	}
	if n := q.loads.Load(); n > 0 {
		t.Errorf("%d jobs were loaded that claims had brought", n)
	}
}

// away is the error of who reaches for what one incarnation has.
type away int64

func (away) Error() string        { return "it is elsewhere" }
func (a away) Incarnation() int64 { return int64(a) }

// TestHintsForOne: a job that only one incarnation can run is told of to that one, and no other looks for it.
func TestHintsForOne(t *testing.T) {
	const home = 77
	hints := &hintsOfTwo{[2]chan member.Hint{make(chan member.Hint, 100), make(chan member.Hint, 100)}}
	e := newWorld(t, faults{}, func(o *Options) {
		o.Hints = hintsOfNode{hints, 1}
		o.Host.DatabasesElsewhere = func(context.Context, account.ID) error { return fmt.Errorf("not here: %w", away(home)) }
	})
	s := e.submission(slowScript)
	if _, err := e.w.Submit(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if got := <-hints.to[1]; got != member.HintDueFor(home) {
		t.Errorf("the hint is %q", got)
	}
	own := e.w.session.Member().Incarnation
	check(t, e.w.Stop(t.Context())) // from now on nobody takes what wakes it
	forget(e.w.wake)
	for _, c := range []struct {
		hint  member.Hint
		wakes bool
	}{{member.HintDueFor(home), false}, {member.HintDueFor(own), true}, {member.HintDue, true}} {
		e.w.onHint(c.hint)
		if woken := len(e.w.wake) > 0; woken != c.wakes {
			t.Errorf("%q wakes %d: %v", c.hint, own, woken)
		}
		forget(e.w.wake)
	}
}
