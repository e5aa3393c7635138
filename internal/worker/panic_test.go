package worker

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"ql/internal/admit"
	"ql/internal/job"
)

// panicky panics once in each of some methods.
type panicky struct {
	job.Queue
	finish, release, take, due, renew atomic.Bool // still to come
}

func (q *panicky) once(b *atomic.Bool) {
	if b.CompareAndSwap(true, false) {
		panic("a bug")
	}
}

func (q *panicky) Finish(ctx context.Context, l job.Lease, e *job.End) error {
	q.once(&q.finish)
	return q.Queue.Finish(ctx, l, e)
}

func (q *panicky) Release(ctx context.Context, l job.Lease, at time.Time, failures int, ran time.Duration) error {
	q.once(&q.release)
	return q.Queue.Release(ctx, l, at, failures, ran)
}

func (q *panicky) Claim(ctx context.Context, c *job.ClaimQuery) ([]job.Claimed, error) {
	q.once(&q.take)
	return q.Queue.Claim(ctx, c)
}

func (q *panicky) ListDue(ctx context.Context, d job.DueQuery) ([]job.Due, error) {
	q.once(&q.due)
	return q.Queue.ListDue(ctx, d)
}

func (q *panicky) ListHeld(ctx context.Context, incarnation int64, s job.State, after job.Due, limit int) ([]job.Due, error) {
	q.once(&q.renew)
	return q.Queue.ListHeld(ctx, incarnation, s, after, limit)
}

// TestPanicsEndOneAttempt has each part of the worker panic: the job goes on, and
// nothing is held by what was cut off.
func TestPanicsEndOneAttempt(t *testing.T) {
	q := &panicky{}
	e := newWorld(t, faults{queue: func(real job.Queue) job.Queue {
		q.Queue = real
		real.Leases, real.Attempts = q, q
		return real
	}}, func(o *Options) {
		o.Log = slog.New(slog.DiscardHandler)
		o.Guard = nil
		o.Lease = 100 * time.Millisecond
		o.Gate = admit.NewGate(admit.GateOptions{Slots: 1})
	})
	const script = `APPEND "x" TO FILE "/x" ` + "\nREAD \"/x\" AS TEXT SET ?t\nEMIT ?t"
	q.finish.Store(true)
	e.wantResult(e.submit(script), "x")
	q.finish.Store(true) // and in what follows it
	q.release.Store(true)
	e.wantResult(e.submit(script), "xx")
	q.take.Store(true)
	q.due.Store(true)
	id := e.submit("WAIT 1 SECOND\nEMIT 1")
	e.wantResult(id, "1")
	q.renew.Store(true)
	id = e.submit("WAIT 1 SECOND\nAPPEND \"x\" TO FILE \"/x\"\nWAIT 1 SECOND\nEMIT 1")
	e.wantResult(id, "1")
	if q.finish.Load() || q.release.Load() || q.take.Load() || q.due.Load() {
		t.Error("not all of it panicked")
	}
}
