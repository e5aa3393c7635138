package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ql/internal/account"
	"ql/internal/account/seal"
	"ql/internal/admit"
	"ql/internal/engine"
	"ql/internal/execution"
	"ql/internal/job"
	"ql/internal/member"
	"ql/internal/principal"
	"ql/internal/record"
	"ql/internal/store/sqlite"
	"ql/internal/worker"
	"ql/lang"
	"ql/lang/bytecode"
)

// inside is a worker on a store of its own, in this process.
type inside struct {
	folder  string
	store   *sqlite.Store
	records *record.Recorder
	owner   account.Account
	worker  *worker.Worker
	program *bytecode.Program
	jobs    sync.Map // of *moments, by their id as a text
}

// moments are what is known of one job.
type moments struct {
	accepted time.Time // it is on the disk
	running  time.Time // what its script reaches is asked for, right before it begins
	complete time.Time // its end is on the disk
	done     chan struct{}
}

// watched notes when jobs are accepted and complete.
type watched struct {
	job.Queue
	in *inside
}

// Accept implements job.Submissions.
func (q watched) Accept(ctx context.Context, t *job.Task, m member.Member, now time.Time) (job.Lease, job.ID, error) {
	l, earlier, err := q.Queue.Accept(ctx, t, m, now)
	if m := q.in.find(t.ID.String()); m != nil {
		m.accepted = time.Now()
	}
	return l, earlier, err
}

// AcceptEnded implements job.Submissions.
func (q watched) AcceptEnded(ctx context.Context, t *job.Task, e *job.End) (job.ID, error) {
	earlier, err := q.Queue.AcceptEnded(ctx, t, e)
	if err == nil {
		q.in.endedAtOnce(e.ID)
	}
	return earlier, err
}

// recordDurably is worker.Options.RecordDurably.
func (in *inside) recordDurably(r job.Record, wait time.Duration) error {
	err := in.records.RecordDurably(r, wait)
	if err == nil {
		in.endedAtOnce(r.ID)
	}
	return err
}

// endedAtOnce notes that a job is on the disk with its end.
func (in *inside) endedAtOnce(id job.ID) {
	if m := in.find(id.String()); m != nil {
		m.accepted = time.Now()
		m.complete = m.accepted
		close(m.done)
	}
}

// Finish implements job.Attempts.
func (q watched) Finish(ctx context.Context, l job.Lease, e *job.End) error {
	err := q.Queue.Finish(ctx, l, e)
	if m := q.in.find(l.ID.String()); m != nil && err == nil {
		m.complete = time.Now()
		close(m.done)
	}
	return err
}

func (in *inside) find(id string) *moments {
	m, _ := in.jobs.Load(id)
	found, _ := m.(*moments)
	return found
}

// openInside opens a store with so many rows, and a worker on it.
func openInside(ctx context.Context, rows int) (*inside, error) {
	folder, err := os.MkdirTemp("", "ql-bench-")
	if err != nil {
		return nil, err
	}
	in := &inside{folder: folder}
	if err := in.open(ctx, rows); err != nil {
		return nil, errors.Join(err, in.close(ctx))
	}
	return in, nil
}

func (in *inside) open(ctx context.Context, rows int) (err error) {
	if in.store, err = sqlite.Open(ctx, sqlite.Options{Folder: in.folder, Own: true}); err != nil {
		return err
	}
	vault, err := seal.OpenVault(ctx, in.store.Accounts(), filepath.Join(in.folder, "master.key"), false)
	if err != nil {
		return err
	}
	accounts := account.NewService(in.store.Accounts(), vault, account.Options{})
	if in.owner, _, err = accounts.Create(ctx, account.New{
		Username: "bench", Email: "bench@example.com", Password: "correct horse battery staple", Plan: account.Unlimited, Verified: true,
	}); err != nil {
		return err
	}
	programs := lang.NewCache(1 << 20)
	if in.program, err = programs.Compile(trivial, lang.Options{}); err != nil {
		return err
	}
	if err := in.fill(ctx, rows); err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	in.records = record.NewRecorder(in.store.Jobs(), record.Options{
		Log: in.store.Intake(), Failed: func(err error) { log.Error("jobs could not be recorded", "error", err) },
	})
	cores := runtime.GOMAXPROCS(0)
	queue := in.store.Queue().Parts()
	queue.Submissions, queue.Attempts = watched{queue, in}, watched{queue, in}
	w := worker.New(worker.Options{
		Queue: queue, Members: in.store.Members(), Accounts: in.store.Accounts(), Gate: admit.NewGate(admit.GateOptions{Slots: cores, SpareSlots: cores}),
		Sealer: accounts.Sealer(), Limits: account.Plan.Limits, Log: log, Clock: time.Now, RecordDurably: in.recordDurably,
		Host: &execution.Host{Programs: programs, Clock: time.Now, Log: log, Resources: in.resources},
	})
	if err := w.Start(ctx); err != nil {
		return err
	}
	in.worker = w
	return nil
}

// resources implements execution.Host.Resources. A job comes with its own id as
// that of its session, by which it is known here.
func (in *inside) resources(_ context.Context, _ account.Account, _ account.Limits, session string) (engine.Resources, error) {
	if m := in.find(session); m != nil {
		m.running = time.Now()
	}
	return engine.Resources{}, nil
}

// fill stores records of finished jobs.
func (in *inside) fill(ctx context.Context, rows int) error {
	const batch = 10_000
	for rows > 0 {
		list := make([]job.Record, min(rows, batch))
		rows -= len(list)
		for i := range list {
			now := time.Now()
			list[i] = job.Record{
				Summary: job.Summary{
					ID: in.store.NewID(), Account: in.owner.ID, State: job.Complete, Mode: job.Async, Convention: job.JSON,
					Credential: principal.ByPassword, Created: now, Finished: now, Steps: 1,
				},
				Result: []byte("hello"), Trace: []byte(`[{"step":"EMIT","status":"Ok","duration_ms":0,"exec_class":"Cpu","line":1,"start_ms":0,"duration_us":3}]`),
			}
		}
		if err := in.store.Jobs().Record(ctx, list); err != nil {
			return err
		}
	}
	return nil
}

func (in *inside) close(ctx context.Context) (err error) {
	if in.worker != nil {
		err = in.worker.Stop(ctx)
	}
	if in.records != nil {
		err = errors.Join(err, in.records.Close(ctx))
	}
	if in.store != nil {
		err = errors.Join(err, in.store.Close())
	}
	return errors.Join(err, os.RemoveAll(in.folder))
}

// run has clients submit jobs, each waiting for the end of one before the next,
// as long as more tells them to.
func (in *inside) run(ctx context.Context, clients int, more func() bool) (took time.Duration, list []*moments, err error) {
	var mu sync.Mutex
	began := time.Now()
	err = together(clients, func() error {
		var own []*moments
		for more() {
			m, err := in.submit(ctx)
			if err != nil {
				return err
			}
			own = append(own, m)
		}
		mu.Lock()
		defer mu.Unlock()
		list = append(list, own...)
		return nil
	})
	return time.Since(began), list, err
}

// submit accepts one job and waits for its end.
func (in *inside) submit(ctx context.Context) (*moments, error) {
	id, now, limits := in.store.NewID(), time.Now(), account.Unlimited.Limits()
	m := &moments{done: make(chan struct{})}
	in.jobs.Store(id.String(), m)
	defer in.jobs.Delete(id.String())
	_, err := in.worker.Submit(ctx, worker.Submission{
		Summary: job.Summary{ID: id, Account: in.owner.ID, Mode: job.Async, Convention: job.JSON, Credential: principal.ByPassword, Created: now},
		Account: in.owner, Limits: limits, Program: in.program,
		Spec: execution.Spec{Owner: true, Started: now, Session: id.String(), Limits: limits.AsyncMachine()},
	})
	if err != nil {
		return nil, err
	}
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	select {
	case <-m.done:
		return m, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-timeout.C:
		return nil, errors.New("a job was not completed in time")
	}
}

// progress is how soon jobs were under way and complete, in order of length.
type progress struct {
	clients           int
	running, complete []time.Duration // since they were accepted
}

// measureInside measures what happens between a job's acceptance and its end.
func measureInside(ctx context.Context, o *options, all *figures) (err error) {
	in, err := openInside(ctx, o.few)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.close(ctx)) }()
	for _, n := range o.clients {
		end := time.Now().Add(o.each * time.Duration(o.rounds))
		_, list, err := in.run(ctx, n, func() bool { return time.Now().Before(end) })
		if err != nil {
			return err
		}
		p := progress{clients: n}
		for _, m := range list {
			// What ran before it was accepted did not wait.
			p.running, p.complete = append(p.running, max(m.running.Sub(m.accepted), 0)), append(p.complete, m.complete.Sub(m.accepted))
		}
		slices.Sort(p.running)
		slices.Sort(p.complete)
		all.progress = append(all.progress, p)
	}
	return nil
}

// beside is what a job cost beside few rows and beside many.
type beside struct {
	clients   int
	few, many cost
}

// cost is that of a job, by rounds.
type cost struct {
	took    []time.Duration
	written []float64 // bytes that the process wrote
}

// rowClients are how many submit jobs while the cost of rows is measured.
var rowClients = []int{1, 32}

// measureRows measures what a job costs beside others. The small store is made
// anew each time, so that it stays small.
func measureRows(ctx context.Context, o *options, all *figures) (err error) {
	large, err := openInside(ctx, o.many)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, large.close(ctx)) }()
	if err := large.warmUp(ctx, o); err != nil {
		return err
	}
	for _, n := range rowClients {
		all.beside = append(all.beside, &beside{clients: n})
	}
	for round := range o.rounds {
		for _, b := range all.beside {
			each := []func() error{
				func() (err error) {
					small, err := openInside(ctx, o.few)
					if err != nil {
						return err
					}
					defer func() { err = errors.Join(err, small.close(ctx)) }()
					if err := small.warmUp(ctx, o); err != nil {
						return err
					}
					return b.measure(ctx, o, small, &b.few)
				},
				func() error { return b.measure(ctx, o, large, &b.many) },
			}
			for i := range each {
				if err := each[(i+round)%len(each)](); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (in *inside) warmUp(ctx context.Context, o *options) error {
	_, _, err := in.run(ctx, slices.Max(rowClients), times(o.jobs/10))
	return err
}

// times tells clients to go on so often, all together.
func times(n int) (more func() bool) {
	var begun atomic.Int64
	return func() bool { return begun.Add(1) <= int64(n) }
}

func (b *beside) measure(ctx context.Context, o *options, in *inside, into *cost) error {
	// One client alone makes a commit of each change: less of it says as much.
	n := max(o.jobs*min(b.clients, 8)/8, 1)
	before, err := processWritten(os.Getpid())
	if err != nil {
		return err
	}
	began := time.Now()
	if _, _, err = in.run(ctx, b.clients, times(n)); err != nil {
		return err
	}
	if err := in.records.Flush(ctx); err != nil { // what is stored later is a part of the cost
		return err
	}
	took := time.Since(began)
	after, err := processWritten(os.Getpid())
	into.took = append(into.took, took/time.Duration(n))
	into.written = append(into.written, float64(after-before)/float64(n))
	return err
}
