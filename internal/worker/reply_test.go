package worker

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ql/internal/admit"
	"ql/internal/engine"
	"ql/internal/job"
	"ql/internal/member"
	"ql/internal/wire"
	"ql/lang/value"
)

// loads counts the jobs that are loaded.
type loads struct {
	job.Queue
	n atomic.Int64
}

func (q *loads) Load(ctx context.Context, seq int64) (*job.Stored, error) {
	q.n.Add(1)
	return q.Queue.Load(ctx, seq)
}

// TestWrongRepliesCostLittle sends replies that cannot fit: those of another kind load
// nothing, and the others come to an end.
func TestWrongRepliesCostLittle(t *testing.T) {
	q := &loads{}
	e := newWorld(t, faults{queue: func(real job.Queue) job.Queue { q.Queue = real; real.Attempts = q; return real }}, func(o *Options) {
		o.Limiter = admit.NewLimiter(admit.LimiterOptions{})
	})
	id := e.submit("CONFIRM \"go on\"\nEMIT 1")
	e.await(id, job.Paused)
	fields := Reply{Fields: value.NewMap(nil, 0).Value()}
	for range 100 {
		if err := e.reply(context.Background(), id, fields); !errors.Is(err, engine.ErrWrongReply) {
			t.Fatal(err)
		}
	}
	if n := q.n.Load(); n != 0 {
		t.Errorf("the job was loaded %d times", n)
	}
	yes := true
	check(t, e.reply(context.Background(), id, Reply{Approved: &yes}))
	e.wantResult(id, "1")

	id = e.submit("GATHER \"name\" SET ?x\nEMIT 1")
	e.await(id, job.Paused)
	var refused *admit.Refused
	for n := range 100 {
		err := e.reply(context.Background(), id, fields)
		if errors.As(err, &refused) {
			if n < maxReplies.Burst {
				t.Errorf("the %d. was refused", n+1)
			}
			break
		}
	}
	if refused == nil || refused.Reason != admit.RateExceeded {
		t.Errorf("no end of wrong replies: %v", refused)
	}
}

// TestReplyToALargeJob answers a job that takes more than is kept uncounted: it is
// loaded again for its attempt.
func TestReplyToALargeJob(t *testing.T) {
	e := newWorld(t, faults{})
	s := e.submission("CONFIRM \"go on\"\nEMIT LENGTH(!POST('text'))")
	s.Spec.Request.Post = []wire.Field{{Name: "text", Value: strings.Repeat("x", 100_000)}}
	_, err := e.w.Submit(context.Background(), s)
	check(t, err)
	e.await(s.Summary.ID, job.Paused)
	yes := true
	check(t, e.reply(context.Background(), s.Summary.ID, Reply{Approved: &yes}))
	e.wantResult(s.Summary.ID, "100000")
}

// unsureQueue stores answers, or not, and says that it failed.
type unsureQueue struct {
	job.Queue
	stores atomic.Bool
	fails  atomic.Bool
}

func (q *unsureQueue) Answer(ctx context.Context, id job.ID, a job.Answer, m member.Member, now time.Time) (job.Lease, error) {
	if q.fails.Load() && !q.stores.Load() {
		return job.Lease{}, errChaos
	}
	l, err := q.Queue.Answer(ctx, id, a, m, now)
	if err == nil && q.fails.Load() {
		return job.Lease{}, errChaos
	}
	return l, err
}

// TestUploadsOfAnUnsureAnswer: the files that came with an answer go where that was
// certainly not stored, and stay where it was, whatever the store said. The job goes on
// then.
func TestUploadsOfAnUnsureAnswer(t *testing.T) {
	q := &unsureQueue{}
	e := newWorld(t, faults{queue: func(real job.Queue) job.Queue { q.Queue = real; real.Prompts = q; return real }}, quickRenewal)
	id := e.submit(`GATHER "Ship" FIELDS photo FILE REQUIRED SET ?f READ ?f.photo.path AS TEXT SET ?t EMIT ?t`)
	e.await(id, job.Paused)
	fields, bad := value.ParseJSON(nil, `{"photo":{"name":"cat.txt","type":"text/plain","base64":"bWVvdw=="}}`)
	if bad != nil {
		t.Fatal(bad)
	}
	answer := Reply{Fields: fields}
	uploads := func() int64 {
		t.Helper()
		u, err := e.store.Files().Usage(context.Background(), e.ada.ID)
		check(t, err)
		return u.Bytes
	}
	q.fails.Store(true)
	if err := e.reply(context.Background(), id, answer); !errors.Is(err, errChaos) {
		t.Fatalf("a reply that was not stored: %v", err)
	}
	if n := uploads(); n != 0 {
		t.Errorf("%d bytes of an answer that was not stored are left", n)
	}
	e.wantState(id, job.Paused)
	q.stores.Store(true)
	if err := e.reply(context.Background(), id, answer); !errors.Is(err, errChaos) {
		t.Fatalf("a reply that was stored: %v", err)
	}
	e.wantResult(id, "meow")
}
