package worker

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/account/seal"
	"ql/internal/admit"
	"ql/internal/admit/admittest"
	"ql/internal/engine"
	"ql/internal/execution"
	"ql/internal/guard"
	"ql/internal/job"
	"ql/internal/principal"
	"ql/internal/resource/databases"
	"ql/internal/resource/files"
	"ql/internal/resource/sessions"
	"ql/internal/store/blob/dir"
	"ql/internal/store/sqlite"
	"ql/internal/store/sqlite/sqlitetest"
	"ql/lang"

	"go.uber.org/goleak"
)

// world is a worker on a real store, with real files, databases and sessions.
type world struct {
	t        testing.TB
	folder   string
	store    *sqlite.Store
	accounts *account.Service
	blobs    *files.Blobs
	dbs      *databases.Databases
	sessions *sessions.Manager
	programs *lang.Cache
	ada      account.Account
	queue    job.Queue // as the worker sees it
	host     *execution.Host
	w        *Worker

	mu    sync.Mutex
	shift time.Duration // of the clock
}

func (e *world) now() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	return time.Now().Add(e.shift)
}

// jump moves the clock.
func (e *world) jump(d time.Duration) {
	e.mu.Lock()
	e.shift += d
	e.mu.Unlock()
	e.w.nudge()
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// faults stand between the worker and what it writes to; nil fields for none.
type faults struct {
	queue     func(job.Queue) job.Queue
	files     func(files.Store) files.Store
	sessions  func(sessions.Store) sessions.Store
	databases func(engine.Databases) engine.Databases
}

func wrapped[T any](wrap func(T) T, v T) T {
	if wrap == nil {
		return v
	}
	return wrap(v)
}

// newWorld opens everything and starts a worker.
func newWorld(t testing.TB, f faults, change ...func(*Options)) *world {
	t.Helper()
	ctx := context.Background()
	e := &world{t: t, folder: sqlitetest.Folder(t), programs: lang.NewCache(1 << 20)}
	var err error
	e.store, err = sqlite.Open(ctx, sqlite.Options{Folder: e.folder, Own: true})
	check(t, err)
	t.Cleanup(func() { check(t, e.store.Close()) })
	vault, err := seal.OpenVault(ctx, e.store.Accounts(), filepath.Join(e.folder, "master.key"), false)
	check(t, err)
	e.accounts = account.NewService(e.store.Accounts(), vault, account.Options{})
	e.ada, _, err = e.accounts.Create(ctx, account.New{Username: "ada", Email: "ada@example.com", Password: "a rather long sentence", Plan: account.Unlimited, Verified: true})
	check(t, err)
	e.blobs, err = dir.OpenBlobs(filepath.Join(e.folder, "blobs"))
	check(t, err)
	t.Cleanup(func() { check(t, e.blobs.Close()) })
	e.dbs = databases.New(databases.Options{Folder: filepath.Join(e.folder, "databases")})
	t.Cleanup(func() { check(t, e.dbs.Close()) })
	e.sessions = sessions.New(wrapped[sessions.Store](f.sessions, e.store.Sessions()), sessions.Options{})
	e.queue = wrapped(f.queue, e.store.Queue().Parts())
	trees := files.NewTrees(wrapped[files.Store](f.files, e.store.Files()), e.blobs, time.Now)
	dbs := wrapped[engine.Databases](f.databases, e.dbs)
	e.host = &execution.Host{
		Programs: e.programs, Token: e.accounts.Sealer().Token, Clock: e.now, Log: slog.New(slog.NewTextHandler(testLog{t}, &slog.HandlerOptions{Level: slog.LevelError})),
		Resources: func(_ context.Context, a account.Account, l account.Limits, session string) (engine.Resources, error) {
			return engine.Resources{
				Files: trees.For(a.ID, files.Quota{}), Databases: dbs,
				Sessions: e.sessions.For(a.ID, session).WithBounds(sessions.Bounds{Bytes: l.SessionBytes, Keys: l.SessionKeys, Sessions: l.Sessions}),
			}, nil
		},
	}
	e.start(change...)
	return e
}

// start starts a worker, after an earlier one was stopped or left.
func (e *world) start(change ...func(*Options)) {
	e.t.Helper()
	o := Options{
		Queue: e.queue, Members: e.store.Members(), Accounts: e.store.Accounts(), Host: e.host, Gate: admit.NewGate(admit.GateOptions{Slots: 2, SpareSlots: 2}),
		Ledger: admit.NewLedger(admit.LedgerOptions{Budget: 512 << 20}), Guard: guard.New(e.host.Log, nil),
		Sealer: e.accounts.Sealer(), Limits: account.Plan.Limits, Log: e.host.Log, Clock: e.now, Retry: time.Millisecond,
	}
	for _, c := range change {
		c(&o)
	}
	w := New(o)
	e.w = w
	check(e.t, w.Start(context.Background()))
	e.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		check(e.t, w.Stop(ctx))
		w.checkIdle(e.t)
	})
}

// checkIdle fails a test where a worker that has stopped still holds something.
func (w *Worker) checkIdle(t testing.TB) {
	t.Helper()
	admittest.CheckIdle(t, w.o.Gate, w.o.Ledger)
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.live) != 0 || len(w.topics) != 0 || len(w.listeners) != 0 || w.scheduler.running != 0 {
		t.Errorf("the worker is not idle: %d jobs live, %d watched, %d under way", len(w.live), len(w.topics), w.scheduler.running)
	}
	for a, q := range w.scheduler.accounts {
		if q.running != 0 || q.incoming != 0 || len(q.waiters) != 0 {
			t.Errorf("the queue of account %d is not idle: %d running, %d incoming, %d waiting for a slot", a, q.running, q.incoming, len(q.waiters))
		}
	}
}

// TestMain checks that no goroutine is left behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type testLog struct{ t testing.TB }

func (l testLog) Write(b []byte) (int, error) {
	l.t.Log(strings.TrimSpace(string(b)))
	return len(b), nil
}

// submission is one of a script, ready to be accepted.
func (e *world) submission(script string) Submission {
	e.t.Helper()
	program, err := e.programs.Compile(script, lang.Options{})
	check(e.t, err)
	limits := account.Unlimited.Limits()
	now := e.now()
	s := Submission{
		Summary: job.Summary{ID: job.NewID(), Account: e.ada.ID, Mode: job.Async, Convention: job.JSON, Credential: principal.ByPassword, Created: now},
		Account: e.ada, Limits: limits, Program: program,
		Spec: execution.Spec{Owner: true, Started: now, Limits: limits.AsyncMachine()},
	}
	if program.UsesSession {
		s.Spec.Session, err = e.sessions.For(e.ada.ID, "").Ensure(context.Background())
		check(e.t, err)
	}
	return s
}

func (e *world) submit(script string) job.ID {
	e.t.Helper()
	s := e.submission(script)
	_, err := e.w.Submit(context.Background(), s)
	check(e.t, err)
	return s.Summary.ID
}

// await waits until a job is in one of some states.
func (e *world) await(id job.ID, states ...job.State) *job.View {
	e.t.Helper()
	changed, stop := e.w.Watch(id)
	defer stop()
	deadline := time.After(30 * time.Second)
	for {
		v, err := e.w.View(context.Background(), id)
		check(e.t, err)
		for _, s := range states {
			if v.State == s {
				return v
			}
		}
		if v.State.Finished() {
			e.t.Fatalf("the job is %s: %s, waiting for %v", v.State, v.Error, states)
		}
		select {
		case <-changed:
		case <-deadline:
			e.t.Fatalf("the job is still %s, not %v", v.State, states)
		}
	}
}

// wantResult waits for the end of a job and checks its output.
func (e *world) wantResult(id job.ID, want string) {
	e.t.Helper()
	if v := e.await(id, job.Complete); string(v.Result) != want {
		e.t.Errorf("the job gave %q, want %q", v.Result, want)
	}
}

// reply answers a question.
func (e *world) reply(ctx context.Context, id job.ID, r Reply) error {
	_, err := e.w.Reply(ctx, id, r)
	return err
}
