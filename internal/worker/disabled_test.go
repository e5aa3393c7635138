package worker

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/job"
)

// restingQueue tells when jobs are put off.
type restingQueue struct {
	job.Queue
	postponed, released chan struct{}
	takes               atomic.Int64 // that are to fail
}

func (q *restingQueue) Postpone(ctx context.Context, a account.ID, now, until time.Time) error {
	err := q.Queue.Postpone(ctx, a, now, until)
	tell(q.postponed)
	return err
}

func (q *restingQueue) Release(ctx context.Context, l job.Lease, at time.Time, failures int, ran time.Duration) error {
	err := q.Queue.Release(ctx, l, at, failures, ran)
	tell(q.released)
	return err
}

func (q *restingQueue) Claim(ctx context.Context, c *job.ClaimQuery) ([]job.Claimed, error) {
	if q.takes.Add(-1) >= 0 {
		return nil, errChaos
	}
	return q.Queue.Claim(ctx, c)
}

func tell(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func forget(c chan struct{}) {
	select {
	case <-c:
	default:
	}
}

func newResting(t *testing.T, change ...func(*Options)) (*world, *restingQueue) {
	t.Helper()
	q := &restingQueue{postponed: make(chan struct{}, 1), released: make(chan struct{}, 1)}
	e := newWorld(t, faults{queue: func(inner job.Queue) job.Queue {
		q.Queue = inner
		inner.Leases, inner.Attempts = q, q
		return inner
	}}, change...)
	return e, q
}

func (e *world) disable(on bool) {
	e.t.Helper()
	check(e.t, e.store.Accounts().SetFlag(context.Background(), e.ada.ID, account.FlagDisabled, on))
}

// next waits until something was put off.
func next(t *testing.T, c chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(30 * time.Second):
		t.Fatal("nothing was put off")
	}
}

func (e *world) wantState(id job.ID, want job.State) *job.View {
	e.t.Helper()
	v, err := e.w.View(context.Background(), id)
	check(e.t, err)
	if v.State != want {
		e.t.Fatalf("the job is %s, want %s", v.State, want)
	}
	return v
}

// What stands is not taken up while its account is disabled, however often its
// time comes, and goes on afterwards.
func TestDisabledStandsStill(t *testing.T) {
	e, q := newResting(t)
	waiting := e.submit(`EMIT "a" WAIT 2 HOURS APPEND "x" TO FILE "/log.txt" EMIT "b"`)
	asking := e.submit(`TRY CONFIRM "sure?" WITHIN 1 HOUR CATCH ?e APPEND "x" TO FILE "/log.txt" EMIT ?e.code END`)
	e.await(waiting, job.Waiting)
	e.await(asking, job.Paused)
	e.disable(true)
	e.jump(3 * time.Hour)
	for range 3 {
		next(t, q.postponed)
		e.wantState(waiting, job.Waiting)
		if v := e.wantState(asking, job.Paused); v.Prompt == nil {
			t.Error("the question is gone")
		}
		due, err := q.ListDue(t.Context(), job.DueQuery{State: job.Waiting, Now: e.now(), Limit: 10})
		check(t, err)
		if len(due) != 0 {
			t.Errorf("%d jobs of a disabled account are due", len(due))
		}
		forget(q.postponed)
		e.jump(disabledRecheck + time.Second)
	}
	next(t, q.postponed) // or they could be put off beyond the last jump
	e.disable(false)
	e.jump(disabledRecheck + time.Second)
	e.wantResult(waiting, "ab")
	e.wantResult(asking, "expired")
	e.wantResult(e.submit(`READ "/log.txt" AS TEXT SET ?log EMIT ?log`), "xx")
}

func TestDisabledTakesNoReply(t *testing.T) {
	e, _ := newResting(t)
	ctx := context.Background()
	id := e.submit(`CONFIRM "sure?" EMIT "yes"`)
	e.await(id, job.Paused)
	e.disable(true)
	if err := e.reply(ctx, id, reply(true)); !errors.Is(err, ErrAccountDisabled) {
		t.Fatalf("a reply to a job of a disabled account: %v", err)
	}
	e.wantState(id, job.Paused)
	e.disable(false)
	check(t, e.reply(ctx, id, reply(true)))
	e.wantResult(id, "yes")
}

// untilTold runs until there is a file.
const untilTold = `
	APPEND "begun " TO FILE "/log.txt"
	SET ?told AS false
	WHILE NOT ?told DO
		TRY READ "/go.txt" AS TEXT SET ?go SET ?told AS true CATCH ?e END
	END
	EMIT "done"`

func quickRenewal(o *Options) { o.Lease = 60 * time.Millisecond }

func TestDisabledStopsRunning(t *testing.T) {
	e, q := newResting(t, quickRenewal)
	id := e.submit(untilTold)
	e.await(id, job.Running)
	e.disable(true)
	next(t, q.released)
	e.wantState(id, job.Running) // to whoever looks it has not ended
	s, err := q.Load(t.Context(), e.wantState(id, job.Running).Seq)
	check(t, err)
	if s.Failures != 0 {
		t.Errorf("%d failures are counted", s.Failures)
	}
	e.jump(disabledRecheck + time.Second)
	next(t, q.postponed)
	e.disable(false)
	e.wantResult(e.submit(`WRITE "go" TO "/go.txt" EMIT "told"`), "told")
	e.jump(disabledRecheck + time.Second)
	e.wantResult(id, "done")
	e.wantResult(e.submit(`READ "/log.txt" AS TEXT SET ?log EMIT ?log`), "begun ")
}

func TestDisabledCanBeCancelled(t *testing.T) {
	e, q := newResting(t, quickRenewal)
	id := e.submit(untilTold)
	e.await(id, job.Running)
	e.disable(true)
	next(t, q.released)
	_, err := e.w.Cancel(context.Background(), id)
	check(t, err)
	e.jump(disabledRecheck + time.Second)
	e.await(id, job.Cancelled)
}

// What was accepted is not begun while its account is disabled; whoever is not
// has the place meanwhile.
func TestDisabledBeginsNothing(t *testing.T) {
	e, q := newResting(t, func(o *Options) { o.MaxRunning = 1 })
	ctx := context.Background()
	bob, _, err := e.accounts.Create(ctx, account.New{Username: "bob", Password: "a rather long sentence", Plan: account.Unlimited})
	check(t, err)
	first := e.submit(untilTold)
	e.await(first, job.Running)
	rests := []job.ID{e.submit(`EMIT "one"`), e.submit(`EMIT "two"`)}
	others := e.submission(`EMIT "bob's"`)
	others.Summary.Account, others.Account = bob.ID, bob
	_, err = e.w.Submit(ctx, others)
	check(t, err)
	e.disable(true)
	_, err = e.w.Cancel(ctx, first)
	check(t, err)
	e.await(first, job.Cancelled)
	e.wantResult(others.Summary.ID, "bob's")
	for range 2 {
		next(t, q.postponed)
		for _, id := range rests {
			e.wantState(id, job.Accepted)
		}
		forget(q.postponed)
		e.jump(disabledRecheck + time.Second)
	}
	// Another process finds them too, and leaves them alone.
	stopped, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	check(t, e.w.Stop(stopped))
	e.start()
	for _, id := range rests {
		e.wantState(id, job.Accepted)
	}
	e.disable(false)
	e.jump(disabledRecheck + time.Second)
	e.wantResult(rests[0], "one")
	e.wantResult(rests[1], "two")
}

// An accepted job that could not be taken is found again, since nothing but the
// queues knows of it.
func TestTakesAgain(t *testing.T) {
	e, q := newResting(t, func(o *Options) { o.MaxRunning = 1 })
	first := e.submit(untilTold)
	e.await(first, job.Running)
	second := e.submit(`EMIT "two"`)
	q.takes.Store(2)
	_, err := e.w.Cancel(context.Background(), first)
	check(t, err)
	e.wantResult(second, "two")
}
