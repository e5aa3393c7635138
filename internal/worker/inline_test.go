package worker

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/admit"
	"ql/internal/engine"
	"ql/internal/job"
	"ql/internal/member"
	"ql/internal/principal"
	"ql/internal/record"
)

// watchedQueue notes how jobs are stored, and may refuse to.
type watchedQueue struct {
	job.Queue
	mu   sync.Mutex
	seen []string
	fail error
}

func (q *watchedQueue) note(what string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.seen = append(q.seen, what)
	return q.fail
}

// take returns what was noted since the last time.
func (q *watchedQueue) take() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	seen := strings.Join(q.seen, " ")
	q.seen = nil
	return seen
}

func (q *watchedQueue) Accept(ctx context.Context, t *job.Task, m member.Member, now time.Time) (job.Lease, job.ID, error) {
	if err := q.note("accept:" + string(t.State)); err != nil {
		return job.Lease{}, job.ID{}, err
	}
	return q.Queue.Accept(ctx, t, m, now)
}

func (q *watchedQueue) AcceptEnded(ctx context.Context, t *job.Task, e *job.End) (job.ID, error) {
	if err := q.note("ended:" + string(e.State)); err != nil {
		return job.ID{}, err
	}
	return q.Queue.AcceptEnded(ctx, t, e)
}

func (q *watchedQueue) Finish(ctx context.Context, l job.Lease, e *job.End) error {
	if err := q.note("finish:" + string(e.State)); err != nil {
		return err
	}
	return q.Queue.Finish(ctx, l, e)
}

func (q *watchedQueue) Suspend(ctx context.Context, l job.Lease, s *job.Suspension) error {
	if err := q.note("stand:" + string(s.State)); err != nil {
		return err
	}
	return q.Queue.Suspend(ctx, l, s)
}

func newWatchedWorld(t *testing.T, change ...func(*Options)) (*world, *watchedQueue) {
	q := &watchedQueue{}
	e := newWorld(t, faults{queue: func(inner job.Queue) job.Queue {
		q.Queue = inner
		inner.Submissions, inner.Attempts = q, q
		return inner
	}}, change...)
	return e, q
}

// TestRunsInline holds jobs to be stored as seldom as can be, and before anything
// that they leave behind.
func TestRunsInline(t *testing.T) {
	e, q := newWatchedWorld(t, func(o *Options) { o.InlineTime, o.InlineWait = time.Hour, time.Hour })
	for script, want := range map[string]struct {
		stored string
		state  job.State
		result string
	}{
		`EMIT "a"`:                          {"ended:complete", job.Complete, "a"},
		`FOR ?i FROM 1 TO 3 DO EMIT ?i END`: {"ended:complete", job.Complete, "123"},
		`SET ?x AS [NOW(), UUID(), RANDOM(1, 6)]` + "\nEMIT COUNT(?x)": {"ended:complete", job.Complete, "3"},
		`EMIT !JOB.id != ""`:                          {"ended:complete", job.Complete, "true"},
		`EMIT "a"` + "\n" + `FAIL "no"`:               {"ended:failed", job.Failed, "a"},
		`WRITE "x" TO "/x.txt"` + "\n" + `EMIT "b"`:   {"accept:running finish:complete", job.Complete, "b"},
		`EMIT NOW() != ""` + "\n" + `LIST "/" SET ?l`: {"accept:running finish:complete", job.Complete, "true"},
		`CREATE TABLE IF NOT EXISTS t (n)`:            {"accept:running finish:complete", job.Complete, ""},
		`CONFIRM "go on?"`:                            {"accept:running stand:paused", job.Paused, ""},
	} {
		id := e.submit(script)
		v := e.await(id, want.state)
		if got := q.take(); got != want.stored || string(v.Result) != want.result {
			t.Errorf("%s: stored by %q with %q", script, got, v.Result)
		}
	}
}

// TestKeepsRecords hands the record of a job to whoever keeps records, where nobody
// else is to be told of it, and stores it otherwise.
func TestKeepsRecords(t *testing.T) {
	var refuse error
	var kept []job.Record
	e, q := newWatchedWorld(t, func(o *Options) {
		o.InlineTime, o.InlineWait = time.Hour, time.Hour
		o.RecordDurably = func(r job.Record, _ time.Duration) error {
			if refuse == nil {
				kept = append(kept, r)
			}
			return refuse
		}
	})
	submit := func(change func(*Submission)) job.ID {
		t.Helper()
		s := e.submission(`EMIT "a"`)
		change(&s)
		earlier, err := e.w.Submit(t.Context(), s)
		check(t, err)
		if earlier != (job.ID{}) {
			t.Error("it was submitted before")
		}
		return s.Summary.ID
	}
	id := submit(func(*Submission) {})
	if len(kept) != 1 || kept[0].ID != id || kept[0].State != job.Complete || string(kept[0].Result) != "a" || kept[0].Finished.IsZero() {
		t.Errorf("the records kept: %v", kept)
	}
	if got := q.take(); got != "" {
		t.Errorf("what was kept is stored by %q", got)
	}
	for name, change := range map[string]func(*Submission){
		"a webhook": func(s *Submission) { s.Webhook = "https://example.com/" },
		"a key":     func(s *Submission) { s.Key = &job.Key{Until: time.Now().Add(time.Hour)} },
		"no room":   func(*Submission) { refuse = record.ErrNoRoom },
	} {
		refuse = nil
		e.wantResult(submit(change), "a")
		if got := q.take(); got != "ended:complete" || len(kept) != 1 {
			t.Errorf("with %s: stored by %q, and %d were kept", name, got, len(kept))
		}
	}
	refuse = nil
	e.wantResult(e.submit(`WRITE "x" TO "/x.txt"`+"\n"+`EMIT "b"`), "b")
	if got := q.take(); got != "accept:running finish:complete" || len(kept) != 1 {
		t.Errorf("with an effect: stored by %q, and %d were kept", got, len(kept))
	}
}

// TestWaitsForAPlace has a submission that finds all places of its account taken by
// short jobs wait for one, and are queued where none comes.
func TestWaitsForAPlace(t *testing.T) {
	e, q := newWatchedWorld(t, func(o *Options) { o.InlineTime, o.InlineWait = time.Hour, time.Hour })
	let := make(chan struct{})
	open := e.host.Resources
	e.host.Resources = func(ctx context.Context, a account.Account, l account.Limits, session string) (engine.Resources, error) {
		<-let // which holds the slot
		return open(ctx, a, l, session)
	}
	submit := func() (job.ID, chan error) {
		s := e.submission(`EMIT "a"`)
		s.Limits.Concurrent = 1
		outcome := make(chan error, 1)
		go func() {
			_, err := e.w.Submit(context.Background(), s)
			outcome <- err
		}()
		return s.Summary.ID, outcome
	}
	running, waiting, queued := func(q *accountQueue) int { return q.running }, func(q *accountQueue) int { return len(q.waiters) }, func(q *accountQueue) int { return len(q.accepted) }

	// Those who have the places keep them: there is nothing to hope for.
	_, first := submit()
	e.awaitQueue(running, 1)
	e.w.mu.Lock()
	e.w.scheduler.accounts[e.ada.ID].turned = time.Now().Add(-time.Hour)
	e.w.mu.Unlock()
	second, accepted := submit()
	check(t, <-accepted)
	if got := q.take(); got != "accept:accepted" {
		t.Errorf("with nothing to hope for: stored by %q", got)
	}
	e.awaitQueue(queued, 1)
	let <- struct{}{}
	check(t, <-first)

	// Others come and go: a slot is waited for, also behind one in the queue.
	_, third := submit()
	e.awaitQueue(waiting, 1)
	let <- struct{}{}
	e.await(second, job.Complete)
	let <- struct{}{}
	check(t, <-third)
	if got := q.take(); got != "ended:complete finish:complete ended:complete" {
		t.Errorf("with hope: stored by %q", got)
	}

	// A stop ends it.
	_, fourth := submit()
	e.awaitQueue(running, 1)
	_, fifth := submit()
	e.awaitQueue(waiting, 1)
	stopped := make(chan error, 1)
	go func() { stopped <- e.w.Stop(context.Background()) }()
	for !e.w.draining.Load() {
		runtime.Gosched()
	}
	close(let)
	check(t, <-fourth)
	if err := <-fifth; !errors.Is(err, ErrStopping) {
		t.Errorf("hoping while it stops: %v", err)
	}
	check(t, <-stopped)
}

// awaitQueue waits until so many of the account's jobs are somewhere in its queue.
func (e *world) awaitQueue(in func(*accountQueue) int, want int) {
	e.t.Helper()
	for got := -1; got != want; runtime.Gosched() {
		e.w.mu.Lock()
		if l := e.w.scheduler.accounts[e.ada.ID]; l != nil {
			got = in(l)
		}
		e.w.mu.Unlock()
	}
}

// TestGoesOnWhereItStood has a job that ran ahead go on with what it was told, and
// one that computed for too long begin again.
func TestGoesOnWhereItStood(t *testing.T) {
	e, q := newWatchedWorld(t, func(o *Options) { o.InlineTime, o.InlineWait = time.Hour, time.Hour })
	told := `
		SET ?id AS UUID()
		EMIT "a"
		WRITE ?id TO "/id.txt"
		READ "/id.txt" AS TEXT SET ?same
		EMIT ?id = ?same`
	e.wantResult(e.submit(told), "atrue")
	if got := q.take(); got != "accept:running finish:complete" {
		t.Errorf("stored by %q", got)
	}
	e.w.o.InlineTime = 0
	long := `
		EMIT "b"
		SET ?n AS 0
		FOR ?i FROM 1 TO 100000 DO SET ?n AS ?n + 1 END
		EMIT ?n`
	e.wantResult(e.submit(long), "b100000")
	if got := q.take(); got != "accept:running finish:complete" {
		t.Errorf("what computes is stored by %q", got)
	}
}

// TestClosesWhatWasOpened gives submissions what their scripts reach, and counts
// how often that is let go of.
func TestClosesWhatWasOpened(t *testing.T) {
	e, q := newWatchedWorld(t)
	open := e.host.Resources
	var opened, released atomic.Int64
	e.host.Resources = func(ctx context.Context, a account.Account, l account.Limits, session string) (engine.Resources, error) {
		r, err := open(ctx, a, l, session)
		opened.Add(1)
		r.Release = func() { released.Add(1) }
		return r, err
	}
	submit := func(script string, queued int) error {
		s := e.submission(script)
		s.Limits.Queued = queued
		x, err := e.host.Open(t.Context(), s.Summary.ID, s.Account, s.Limits, s.Spec, nil)
		check(t, err)
		s.Opened = x
		if _, err := e.w.Submit(t.Context(), s); err != nil {
			return err
		}
		e.await(s.Summary.ID, job.Complete)
		return nil
	}
	check(t, submit(`EMIT "a"`, 10))
	check(t, submit(`WRITE "a" TO "/a.txt"`, 10))
	if n := opened.Load(); n != 2 {
		t.Errorf("two submissions opened %d times", n)
	}
	if err := submit(`EMIT "a"`, 0); !errors.Is(err, ErrQueueFull) {
		t.Errorf("no room in line: %v", err)
	}
	broken := errors.New("the disk is gone")
	q.fail = broken
	if err := submit(`EMIT "a"`, 10); !errors.Is(err, broken) {
		t.Errorf("no store: %v", err)
	}
	q.fail = nil
	check(t, e.w.Stop(context.Background()))
	if err := submit(`EMIT "a"`, 10); !errors.Is(err, ErrStopping) {
		t.Errorf("after a stop: %v", err)
	}
	if opened.Load() != released.Load() {
		t.Errorf("%d were opened, %d released", opened.Load(), released.Load())
	}
}

// TestAcceptsWhatComputes submits a script that computes without end: it is
// accepted meanwhile, can be seen and be stopped.
func TestAcceptsWhatComputes(t *testing.T) {
	e, q := newWatchedWorld(t)
	id := e.submit(`WHILE TRUE DO SET ?x AS 1 END`)
	if got := q.take(); got != "accept:running" {
		t.Errorf("stored by %q", got)
	}
	e.await(id, job.Running)
	_, err := e.w.Cancel(context.Background(), id)
	check(t, err)
	e.await(id, job.Cancelled)
}

// TestAcceptsWhatHasNoTurn submits a job while the node has no slot for it.
func TestAcceptsWhatHasNoTurn(t *testing.T) {
	gate := admit.NewGate(admit.GateOptions{Slots: 1})
	e, q := newWatchedWorld(t, func(o *Options) { o.Gate = gate })
	ticket, err := gate.Acquire(t.Context(), admit.Request{Account: int64(e.ada.ID)})
	check(t, err)
	id := e.submit(`EMIT "a"`)
	if got := q.take(); got != "accept:running" {
		t.Errorf("stored by %q", got)
	}
	ticket.Release()
	e.wantResult(id, "a")
}

// TestVisitorsLeaveRoom: jobs of pages and strangers wait where the account has three quarters of what
// it may have, and those of its owner go on.
func TestVisitorsLeaveRoom(t *testing.T) {
	for _, by := range []principal.Credential{principal.ByOrigin, principal.ByNobody} {
		gate := admit.NewGate(admit.GateOptions{Slots: 8})
		e, q := newWatchedWorld(t, func(o *Options) { o.Gate = gate })
		var tickets []*admit.Ticket
		for range 3 {
			ticket, err := gate.Acquire(t.Context(), admit.Request{Account: int64(e.ada.ID), Max: 4})
			check(t, err)
			tickets = append(tickets, ticket)
		}
		submit := func(script string, by principal.Credential) job.ID {
			s := e.submission(script)
			s.Limits.Concurrent, s.Summary.Credential = 4, by
			_, err := e.w.Submit(context.Background(), s)
			check(t, err)
			return s.Summary.ID
		}
		theirs := submit(`EMIT "a"`, by)
		if got := q.take(); got != "accept:running" {
			t.Errorf("stored by %q", got)
		}
		e.wantResult(submit(`EMIT "b"`, principal.ByNamedKey), "b")
		if v := e.await(theirs, job.Running, job.Complete); v.State != job.Running {
			t.Errorf("the job of a visitor is %s", v.State)
		}
		for _, ticket := range tickets {
			ticket.Release()
		}
		e.wantResult(theirs, "a")
	}
}

// TestNotAccepted has the store fail: the submitter learns of it, and nothing is
// left of the job, however far it ran.
func TestNotAccepted(t *testing.T) {
	e, q := newWatchedWorld(t)
	broken := errors.New("the disk is gone")
	for _, script := range []string{`EMIT "a"`, `WRITE "x" TO "/not.txt"`, `WHILE TRUE DO SET ?x AS 1 END`} {
		q.fail = broken
		s := e.submission(script)
		if _, err := e.w.Submit(context.Background(), s); !errors.Is(err, broken) {
			t.Errorf("%s: %v", script, err)
		}
		q.fail = nil
		if _, err := e.w.View(context.Background(), s.Summary.ID); !errors.Is(err, job.ErrNotFound) {
			t.Errorf("%s: the job is there: %v", script, err)
		}
	}
	e.wantResult(e.submit("LIST \"/\" SET ?l\nEMIT COUNT(?l)"), "0")
}

// TestRepeatsInline submits one call twice: the second gets the job of the first,
// and nothing of its own run.
func TestRepeatsInline(t *testing.T) {
	e, _ := newWatchedWorld(t)
	for n, script := range []string{`EMIT UUID()`, "LIST \"/\" SET ?l\nEMIT UUID()", "WHILE NOW() != \"\" DO SET ?x AS 1 END"} {
		first, again := e.submission(script), e.submission(script)
		key := job.Key{Hash: [32]byte{byte(n)}, Until: e.now().Add(time.Hour)}
		first.Key, again.Key = &key, &key
		_, err := e.w.Submit(context.Background(), first)
		check(t, err)
		earlier, err := e.w.Submit(context.Background(), again)
		check(t, err)
		if earlier != first.Summary.ID {
			t.Errorf("%s: the second call got %v", script, earlier)
		}
		if _, err := e.w.View(context.Background(), again.Summary.ID); !errors.Is(err, job.ErrNotFound) {
			t.Errorf("%s: the second job is there: %v", script, err)
		}
		if n == 2 {
			_, err := e.w.Cancel(context.Background(), first.Summary.ID)
			check(t, err)
			e.await(first.Summary.ID, job.Cancelled)
		}
	}
}
