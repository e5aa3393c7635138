package worker

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"
	"unicode/utf8"

	"ql/internal/account"
	"ql/internal/engine"
	"ql/internal/execution"
	"ql/internal/guard"
	"ql/internal/job"
	"ql/internal/mail"
	"ql/internal/member"
	"ql/internal/principal"
	"ql/internal/resource/files"
	"ql/internal/resource/mails"
	"ql/internal/schedule"
	"ql/lang"
	"ql/lang/value"
)

// chaoticCalls makes writes fail that start jobs, and that signal them.
type chaoticCalls struct {
	job.Submissions
	job.Calls
	c *chaos
}

func (q chaoticCalls) Accept(ctx context.Context, t *job.Task, m member.Member, now time.Time) (l job.Lease, earlier job.ID, err error) {
	err = q.c.around(func() (err error) { l, earlier, err = q.Submissions.Accept(ctx, t, m, now); return err })
	return l, earlier, err
}

func (q chaoticCalls) AcceptEnded(ctx context.Context, t *job.Task, e *job.End) (earlier job.ID, err error) {
	err = q.c.around(func() (err error) { earlier, err = q.Submissions.AcceptEnded(ctx, t, e); return err })
	return earlier, err
}

func (q chaoticCalls) Signal(ctx context.Context, a account.ID, id job.ID, s *job.Signal) (left bool, err error) {
	err = q.c.around(func() (err error) { left, err = q.Calls.Signal(ctx, a, id, s); return err })
	return left, err
}

func (q chaoticCalls) ConsumeSignal(ctx context.Context, a account.ID, id job.ID, number int64) error {
	return q.c.around(func() error { return q.Calls.ConsumeSignal(ctx, a, id, number) })
}

type chaoticMails struct {
	mail.Store
	c *chaos
}

func (m chaoticMails) Create(ctx context.Context, n mail.CreateParams) error {
	return m.c.around(func() error { return m.Store.Create(ctx, n) })
}

type chaoticSchedules struct {
	schedule.Store
	c *chaos
}

func (s chaoticSchedules) Settle(ctx context.Context, one *schedule.Settlement) (settled schedule.Settled, err error) {
	err = s.c.around(func() (err error) { settled, err = s.Store.Settle(ctx, one); return err })
	return settled, err
}

// worldCalls are the scripts of a world as one job runs them.
type worldCalls struct {
	e       *world
	scripts map[string]string
	x       *execution.Execution
	last    job.ID
	lastEnd *job.ChildEnd
}

func (k *worldCalls) NewJob() string { return job.NewID().String() }

func (k *worldCalls) Start(ctx context.Context, id string, c engine.ScriptCall, checkpoint func() context.Context) error {
	s := k.e.submission(k.scripts[c.Name])
	child, _ := job.ParseID(id)
	s.Summary.ID, s.Summary.Convention, s.Summary.ProgramName = child, job.Script, c.Name
	s.Spec.Input = c.Input
	s.Called = &job.Called{Parent: k.x.ID}
	var err error
	if s.Opened, err = k.x.Open(ctx, child, s.Account, s.Limits, s.Spec, k.x.Pace); err != nil {
		return err
	}
	k.lastEnd = nil
	end, err := k.e.w.SubmitCalled(Called{Submission: s, Awaited: c.Wait, Checkpoint: checkpoint, Ended: k.x.EndedCall})
	if end != nil {
		k.last, k.lastEnd = child, &job.ChildEnd{State: end.State, Encoding: end.Encoding, Result: end.Result}
	}
	return err
}

func (k *worldCalls) Ended(ctx context.Context, text string, m *value.Meter) (value.Value, bool, error) {
	id, _ := job.ParseID(text)
	end, err := k.lastEnd, error(nil)
	if end == nil || k.last != id {
		end, err = k.e.w.ChildEnd(ctx, k.x.Account.ID, k.x.ID, id, CalledResult)
	}
	if err != nil || !end.State.Finished() {
		return value.Null, false, err
	}
	if end.State != job.Complete || !utf8.Valid(end.Result) {
		return value.Null, true, value.Errorf("job_failed", "it is %s: %s", end.State, end.Error)
	}
	v, broken := value.ParseJSON(m, string(end.Result))
	if broken != nil {
		return value.Null, true, broken
	}
	return v, true, nil
}

func (k *worldCalls) Cancel(ctx context.Context, text string) error {
	id, _ := job.ParseID(text)
	_, err := k.e.w.Cancel(ctx, id)
	return err
}

func (k *worldCalls) Signal(ctx context.Context, text string, s engine.Signal) error {
	id, _ := job.ParseID(text)
	_, err := k.e.w.Signal(ctx, k.x.Account.ID, id, job.Signal{Name: s.Name, Data: s.Data})
	return err
}

func (k *worldCalls) NextSignal(ctx context.Context, name string) (*engine.Signal, error) {
	s, err := k.e.w.NextSignal(ctx, k.x.Account.ID, k.x.ID, name)
	if err != nil || s == nil {
		return nil, err
	}
	return &engine.Signal{Number: s.Number, Name: s.Name, Data: s.Data}, nil
}

func (k *worldCalls) ConsumeSignal(ctx context.Context, s *engine.Signal) error {
	return k.e.w.ConsumeSignal(ctx, k.x.Account.ID, k.x.ID, s.Number)
}

// onTick is a script that runs others and is signalled by them, and what one of it comes to.
const (
	onTick = `
		SET ?sum AS 0
		FOR ?i FROM 1 TO 4 DO
			RUN SCRIPT "pure" USING {n: ?i} SET ?n SET ?sum AS ?sum + ?n
			START SCRIPT "tells" USING {to: !JOB('id'), n: ?i} SET ?job APPEND ?job TO ?jobs
			RUN SCRIPT "pure" USING {n: ?i} SET ?n SET ?sum AS ?sum + ?n
			RUN SCRIPT "pure" USING {n: ?i} SET ?n SET ?sum AS ?sum + ?n
		END
		MAIL TO "zoe@example.org" SUBJECT "begun" TEXT "x"
		FOR ?i FROM 1 TO 4 DO WAIT FOR SIGNAL "up" SET ?n SET ?sum AS ?sum + ?n END
		RUN SCRIPT "pure" USING {n: 1000} SET ?n SET ?sum AS ?sum + ?n
		FOR ?job IN ?jobs DO WAIT FOR ?job SET ?n SET ?sum AS ?sum + ?n END
		RUN SCRIPT "tells" USING {to: !JOB('id'), n: 100} SET ?n
		WAIT FOR SIGNAL "up" SET ?m
		TRY WAIT FOR SIGNAL "up" WITHIN 0.001 SECONDS CATCH ?e END
		EMIT ?sum + ?n + ?m, " ", ?e.code`
	onTickResult = "1250 expired"
	onTickPure   = 13
	onTickTells  = 5
	onTickMails  = 1 + onTickTells
)

// TestPromiseCallsExactlyOnce has ticks start jobs that run others, signal each other and send mails, under
// faults of every kind of write and forced losses of leases: each tick has one job, each statement one job or mail, and each
// signal is taken once.
func TestPromiseCallsExactlyOnce(t *testing.T) {
	points, ticks := int64(40), 6
	if full() {
		points = 10_000
	}
	c := &chaos{often: 3, progress: make(chan struct{}, 1), every: 150, random: rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))}
	c.off.Store(true)
	quiet := slog.New(slog.DiscardHandler)
	e := newWorld(t, faults{queue: func(q job.Queue) job.Queue {
		chaotic, calls := chaoticQueue{q, c}, chaoticCalls{q.Submissions, q.Calls, c}
		q.Leases, q.Attempts, q.Submissions, q.Calls = chaotic, chaotic, calls, calls
		return q
	}}, func(o *Options) { o.Log, o.Lease = quiet, time.Second })
	e.host.Log = quiet
	ctx := t.Context()
	scripts := map[string]string{
		"pure":  `EMIT JSON !INPUT('n')`,
		"tells": `SIGNAL "up" TO !INPUT('to') USING !INPUT('n') MAIL TO "zoe@example.org" SUBJECT "told" TEXT "x" EMIT JSON !INPUT('n')`,
		"tick":  onTick,
	}
	for _, text := range scripts {
		_, err := e.programs.Compile(text, lang.Options{})
		check(t, err)
	}
	all := mails.New(mails.Options{
		Store: chaoticMails{e.store.Mails(), c}, Sealer: e.accounts.Sealer(), Sender: mail.Address{Local: "ql", Domain: "service.example"}, Canonical: files.Canonical, Clock: e.now, Wake: func() {},
		Domains: func(context.Context, account.Account) ([]string, error) { return nil, nil },
	})
	open := e.host.Resources
	e.host.Resources = func(ctx context.Context, a account.Account, l account.Limits, session string) (engine.Resources, error) {
		r, err := open(ctx, a, l, session)
		r.Mails = all.For(a, mails.Limits{PerDay: 1 << 30, Bytes: 1 << 20})
		return r, err
	}
	e.host.Calls = func(x *execution.Execution) engine.Calls { return &worldCalls{e: e, scripts: scripts, x: x} }

	const every = 20 * time.Second
	store := e.store.Schedules()
	started := e.now().UTC().Truncate(time.Microsecond)
	_, _, err := store.Put(ctx, schedule.Schedule{
		Account: e.ada.ID, Name: "often", Script: "tick", Timing: schedule.Timing{Every: every}, Overlap: schedule.OverlapAll, CatchUp: 24 * time.Hour,
		Set: started, Anchor: started, Tick: started.Add(every), Due: started.Add(every),
	}, 0)
	check(t, err)
	runner := schedule.NewRunner(schedule.Options{
		Store: chaoticSchedules{store, c}, Guard: guard.New(quiet, nil), Log: quiet, Clock: e.now,
		Start: func(ctx context.Context, one schedule.Schedule, settle schedule.Settle) error {
			s := e.submission(scripts[one.Script])
			s.Call.Schedule, s.Summary.Credential = one.Name, principal.BySchedule
			return e.w.SubmitStored(ctx, s, StoreTask(settle))
		},
	})
	stop, lost := make(chan struct{}), make(chan int64)
	go func() {
		for n := int64(0); ; n++ {
			select {
			case <-c.progress:
				e.bury()
			case <-stop:
				lost <- n
				return
			}
		}
	}()

	c.off.Store(false)
	done := 0
	defer func() {
		if t.Failed() {
			logUnfinished(t, e)
			t.Logf("after %d ticks, %d writes that failed, and %d that were told to have", done, c.before.Load(), c.behind.Load())
		}
	}()
	for c.before.Load()+c.behind.Load() < points {
		e.jump(time.Duration(ticks) * every)
		var one schedule.Schedule
		for !one.Tick.After(e.now()) {
			_, err := runner.Round(ctx)
			check(t, err)
			one, err = store.Schedule(ctx, e.ada.ID, "often")
			check(t, err)
			if now := e.now(); one.Due.After(now) && !one.Tick.After(now) { // it is tried again later
				e.jump(one.Due.Sub(now))
			}
		}
		if next := started.Add(time.Duration(one.Ticks+1) * every); !one.Tick.Equal(next) {
			t.Fatalf("after %d ticks the next is at %v, not %v", one.Ticks, one.Tick, next)
		}
		history, err := store.History(ctx, e.ada.ID, "often", 0, int(one.Ticks)-done)
		check(t, err)
		for _, tick := range history {
			if tick.Reason != "" || tick.Job == 0 || tick.Count != 1 {
				t.Fatalf("a tick is %+v", tick)
			}
			listed, err := e.store.Jobs().ByRef(ctx, e.ada.ID, tick.Job)
			check(t, err)
			e.wantResult(listed.ID, onTickResult)
			wantChildren(t, e, listed.ID)
		}
		done = int(one.Ticks)
	}
	close(stop)
	losses := <-lost
	c.off.Store(true)

	jobs := 0
	for q := (job.Query{Schedule: "often", Limit: 500}); ; {
		list, err := e.store.Jobs().List(ctx, e.ada.ID, q)
		check(t, err)
		if jobs += len(list); len(list) < q.Limit {
			break
		}
		q.Before = list[len(list)-1].ID
	}
	if jobs != done {
		t.Errorf("%d jobs of %d ticks", jobs, done)
	}
	sent := 0
	for q := (mail.Query{Limit: 500}); ; {
		list, err := e.store.Mails().List(ctx, e.ada.ID, q)
		check(t, err)
		if sent += len(list); len(list) < q.Limit {
			break
		}
		q.Before = list[len(list)-1].ID
	}
	if sent != done*onTickMails {
		t.Errorf("%d mails of %d ticks, and not %d", sent, done, done*onTickMails)
	}
	t.Logf("%d ticks: exact under %d writes that failed, %d that were done but told to have failed, and %d losses of all leases", done, c.before.Load(), c.behind.Load(), losses)
}

// logUnfinished logs the jobs that are not finished.
func logUnfinished(t *testing.T, e *world) {
	for _, state := range []job.State{job.Accepted, job.Running, job.Waiting, job.Paused} {
		list, err := e.store.Jobs().List(context.Background(), e.ada.ID, job.Query{State: state, Limit: 20})
		for _, j := range list {
			h, err := e.store.Queue().Head(context.Background(), j.ID)
			t.Logf("job %d of %q is %s: %+v, %v", j.Ref, j.ProgramName, state, h, err)
		}
		if err != nil {
			t.Log(err)
		}
	}
}

// wantChildren checks the jobs that one of onTick has run.
func wantChildren(t *testing.T, e *world, id job.ID) {
	t.Helper()
	list, err := e.store.Queue().Children(t.Context(), e.ada.ID, id, 0, 100)
	check(t, err)
	got := map[string]int{}
	for _, one := range list {
		e.await(one.ID, job.Complete)
		got[one.ProgramName]++
	}
	if got["pure"] != onTickPure || got["tells"] != onTickTells || len(got) != 2 {
		t.Errorf("the job has run %v", got)
	}
}

// deafQueue does not hear that the first job that a script has started is stored.
type deafQueue struct {
	job.Submissions
	heard bool
}

func (q *deafQueue) Accept(ctx context.Context, t *job.Task, m member.Member, now time.Time) (job.Lease, job.ID, error) {
	l, earlier, err := q.Submissions.Accept(ctx, t, m, now)
	if err == nil && t.Called != nil && !q.heard {
		q.heard = true
		err = errChaos
	}
	return l, earlier, err
}

// TestUnheardChildRuns: a job whose acceptance was stored, and told to have failed, is run all the same: who has started
// it waits for it.
func TestUnheardChildRuns(t *testing.T) {
	deaf := &deafQueue{}
	e := newWorld(t, faults{queue: func(q job.Queue) job.Queue {
		deaf.Submissions = q.Submissions
		q.Submissions = deaf
		return q
	}})
	e.host.Calls = func(x *execution.Execution) engine.Calls {
		return &worldCalls{e: e, scripts: map[string]string{"one": `EMIT JSON 7`}, x: x}
	}
	e.wantResult(e.submit(`START SCRIPT "one" SET ?job WAIT FOR ?job SET ?n EMIT ?n`), "7")
	if !deaf.heard {
		t.Error("nothing failed")
	}
}
