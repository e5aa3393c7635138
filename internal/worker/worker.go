// Package worker runs the jobs that outlive a process: it claims those that are
// due from the queue, in turns between accounts, drives each until it ends,
// is suspended or cut off, and writes a journal by which another attempt resumes
// where one stopped.
//
// What a script does is the engine's business, how rows are stored the store's,
// and who may ask for what internal/service's.
package worker

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"ql/internal/account"
	"ql/internal/admit"
	"ql/internal/execution"
	"ql/internal/fault"
	"ql/internal/guard"
	"ql/internal/job"
	"ql/internal/member"
	"ql/lang/vm"
)

// Accounts is what the worker asks about accounts.
type Accounts interface {
	ByID(ctx context.Context, id account.ID) (account.Account, error)
}

// Sealer encrypts what is kept of an account's jobs.
type Sealer interface {
	Seal(a account.ID, name string, plain []byte) ([]byte, error)
	Open(a account.ID, name string, sealed []byte) ([]byte, error)
}

// Options are what a Worker is made of. All fields but those that say otherwise
// are needed.
type Options struct {
	Queue    job.Queue
	Members  member.Store
	Accounts Accounts
	Host     *execution.Host
	Gate     *admit.Gate
	Ledger   *admit.Ledger // what is held beside scripts is not counted where left out
	Guard    *guard.Guard  // may be left out
	Sealer   Sealer
	Limits   func(account.Plan) account.Limits
	Limiter  *admit.Limiter // of replies; none are refused where left out
	Log      *slog.Logger
	Clock    func() time.Time

	// Node is what this process says of itself to the others that share the store; node
	// 1 where left out.
	Node    member.Node
	Version string // of the program, for the others
	// Lease is how long this process is certain to be a member after a renewal, and its
	// jobs are its own; 30 seconds where left out.
	Lease time.Duration
	// RenewAlone has a process renew also where it is alone and has no job under way: by its
	// renewals the store knows how long what was read of it counts.
	RenewAlone bool
	// Prepare is done as a member, before any job is run; nil for nothing.
	Prepare func(context.Context) error
	// Allotments are how the processes that share the store share out limits of accounts; each counts for itself
	// where left out.
	Allotments admit.Allotments
	// Hints go to and come from the other processes that share the store; nil where there are none.
	Hints member.Hints
	// MaxRunning is how many jobs are under way at once; 256 where left out. How many
	// of them compute is the gate's business.
	MaxRunning int
	// Unlimited puts no bound on the jobs of an account, as in development.
	Unlimited bool
	// Retry is how long a job is left alone after a fault of the service, at first; 1
	// second where left out.
	Retry time.Duration
	// InlineTime is how long a job runs inline, before it is accepted, 1 ms where left out, and
	// InlineWait how long it waits for its turn to, 5 ms where left out: its caller
	// waits meanwhile.
	InlineTime, InlineWait time.Duration
	// RecordDurably takes the record of an ended job that has no webhook and no key, and
	// returns when it is on the disk, for which others are waited for so long at most;
	// after an error it is stored by the queue. May be left out.
	RecordDurably func(r job.Record, wait time.Duration) error
	// OnEnded is told of each job that finished; may be left out.
	OnEnded func(s job.State, took time.Duration)
	// OnDelivery is called when the end of a job is to be told to somebody; may be left
	// out.
	OnDelivery func()
}

// Errors of submissions.
var (
	// ErrQueueFull says that an account has as many jobs queued as it may.
	ErrQueueFull = errors.New("the account has too many jobs in line")
	// ErrStopping says that the node takes no more jobs.
	ErrStopping = errors.New("the service is stopping")
)

// Why an attempt is interrupted.
var (
	errDrain           = errors.New("the node is stopping")
	errStopped         = errors.New("the job was cancelled")
	errLeaseLost       = errors.New("another attempt has the job")
	errAccountDisabled = errors.New("the account is disabled")
	errElsewhere       = errors.New("the job needs what another node has")
)

// Worker runs jobs. It is safe for concurrent use.
type Worker struct {
	o        Options
	programs programCache

	ctx      context.Context // of all attempts
	cancel   context.CancelCauseFunc
	draining atomic.Bool
	resting  atomic.Bool   // it leaves to others what it has not begun
	wake     chan struct{} // something may be due

	session    *member.Session
	renewSoon  chan struct{}   // the membership may be lost
	companions atomic.Int64    // how many the others are
	others     map[int64]bool  // the other members when they were last looked at; the renewal's own
	strays     map[int64]int64 // jobs that the store says are here and that are not, and their attempts; the renewal's own

	ended   [phaseCount]atomic.Uint64 // attempts, by the phase that they ended in
	crashes atomic.Uint64
	buried  atomic.Uint64 // members, by this one
	lost    atomic.Uint64 // memberships of this process

	loops    sync.WaitGroup
	attempts sync.WaitGroup // counted under mu while not draining, so that Stop misses none

	mu        sync.Mutex
	live      map[job.ID]*liveJob
	topics    map[job.ID]map[chan struct{}]bool
	listeners map[job.ID][]*machineListener
	scheduler scheduler
	// claiming says that jobs are being claimed, and that slots which come free meanwhile wait for that: where the store is
	// another process, it costs less to claim many jobs at once than to claim each at once. Never where nobody shares the store.
	claiming bool
	dead     []int64   // incarnations that are no members and had jobs when it was last looked
	recall   time.Time // when accepted jobs that left the queues are looked for; zero for never
}

// New returns a worker that does nothing before Start.
func New(o Options) *Worker {
	if o.Lease <= 0 {
		o.Lease = 30 * time.Second
	}
	o.Node.Formats, o.Node.Version = vm.SnapshotFormat, o.Version
	if o.Node.ID == 0 {
		o.Node.ID = 1
	}
	if o.MaxRunning <= 0 {
		o.MaxRunning = 256
	}
	if o.Retry <= 0 {
		o.Retry = time.Second
	}
	if o.InlineTime <= 0 {
		o.InlineTime = time.Millisecond
	}
	if o.InlineWait <= 0 {
		o.InlineWait = 5 * time.Millisecond
	}
	if o.OnEnded == nil {
		o.OnEnded = func(job.State, time.Duration) {}
	}
	if o.OnDelivery == nil {
		o.OnDelivery = func() {}
	}
	w := &Worker{
		o: o, wake: make(chan struct{}, 1), renewSoon: make(chan struct{}, 1),
		live: map[job.ID]*liveJob{}, topics: map[job.ID]map[chan struct{}]bool{}, listeners: map[job.ID][]*machineListener{},
		scheduler: scheduler{maxRunning: o.MaxRunning, lifted: o.Unlimited, accounts: map[account.ID]*accountQueue{}, unsettle: make(chan struct{}, 1)},
	}
	w.ctx, w.cancel = context.WithCancelCause(context.Background())
	return w
}

// Start takes up what an earlier process left, and runs what comes.
func (w *Worker) Start(ctx context.Context) error {
	if err := w.join(ctx); err != nil {
		return err
	}
	if err := w.prepare(ctx); err != nil {
		return err
	}
	if err := w.recover(ctx); err != nil {
		return err
	}
	w.loop("due jobs", w.watchDue)
	w.loop("leases", w.renewLoop)
	if w.o.Allotments != nil {
		w.loop("shares of limits", w.settleLoop)
	}
	if w.o.Hints != nil {
		w.loop("hints of others", func(ctx context.Context) { w.o.Hints.Listen(ctx, w.onHint) })
		w.loop("hints to others", w.o.Hints.Deliver)
		w.loop("jobs elsewhere", w.watchElsewhere)
	}
	return nil
}

// loop runs f until the worker stops.
func (w *Worker) loop(part string, f func(context.Context)) {
	w.loops.Add(1)
	w.o.Guard.Go(part, func() {
		defer w.loops.Done()
		w.o.Guard.Loop(w.ctx, part, f)
	})
}

// Member returns which member of the service this process is, once it is started.
func (w *Worker) Member() member.Member { return w.session.Member() }

// ValidMember is Member where that is certain at the moment.
func (w *Worker) ValidMember() (member.Member, error) {
	if w.session != nil {
		if m, ok := w.session.Valid(); ok {
			return m, nil
		}
	}
	return member.Member{}, fault.Retryable(fault.StorageUnavailable, time.Second, "the store does not answer at the moment")
}

// StopClaims leaves the jobs that this process has not begun to other members, where there are any. What is submitted here
// is still taken, and what is under way goes on.
func (w *Worker) StopClaims() { w.resting.Store(true) }

// Stop takes no more jobs, lets those under way come to a place where they can
// be stored, and waits for them, at most until ctx ends: what still computes
// then is interrupted, and repeated by its journal.
func (w *Worker) Stop(ctx context.Context) error {
	w.mu.Lock()
	w.draining.Store(true)
	w.mu.Unlock()
	done := make(chan struct{})
	w.o.Guard.Go("jobs", func() {
		w.attempts.Wait()
		close(done)
	})
	select {
	case <-done:
	case <-ctx.Done():
	}
	w.cancel(errDrain)
	<-done
	w.loops.Wait()
	w.leave()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.scheduler.evictAll()
	return nil
}

// Stats are numbers since the worker was made.
type Stats struct {
	// Attempts that are over, by how: the job's end was stored, the job was suspended, or
	// another attempt continues.
	Finished, Suspended, Released uint64
	// Crashes counts the jobs that were taken up after attempts that ended with their
	// process.
	Crashes uint64
	// Quarantined is how many accounts have jobs in quarantine now.
	Quarantined int
	// Buried counts the members that this one took for dead, and Lost how often it was taken for dead itself.
	Buried, Lost uint64
	// Valid says that this process certainly is a member; where it need not renew, always.
	Valid bool
}

// Stats returns the numbers of now.
func (w *Worker) Stats() Stats {
	s := Stats{
		Finished: w.ended[phaseFinished].Load(), Suspended: w.ended[phaseSuspended].Load(), Released: w.ended[phaseReleased].Load(),
		Crashes: w.crashes.Load(), Buried: w.buried.Load(), Lost: w.lost.Load(), Valid: !w.o.RenewAlone,
	}
	if _, err := w.ValidMember(); err == nil {
		s.Valid = true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	s.Quarantined = len(w.scheduler.quarantine)
	return s
}

// watchDue finds the jobs whose time has come.
func (w *Worker) watchDue(ctx context.Context) {
	// The clock may jump: it is looked at this often at least.
	seldom := 2 * time.Second
	if w.o.Hints != nil { // others make jobs due
		seldom = time.Second
	}
	const often = 10 * time.Millisecond
	for {
		wait, began := seldom, time.Now()
		if err := w.collect(ctx); err != nil {
			w.logRetry("jobs that are due could not be read and will be looked for again", err)
		} else if err := w.recallAccepted(ctx); err != nil {
			w.logRetry("jobs that are accepted could not be read and will be looked for again", err)
		} else if next, err := w.o.Queue.NextDue(ctx, w.o.Clock()); err != nil {
			w.logRetry("when a job is due could not be read", err)
		} else if !next.IsZero() {
			wait = min(max(next.Sub(w.o.Clock()), often), seldom)
		}
		if w.o.Hints != nil && !rest(ctx, min(lookRest*time.Since(began), often)) {
			return
		}
		timer := time.NewTimer(wait)
		select {
		case <-w.wake:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

// lookRest is for how many times as long as a look at the due jobs took the next one is put off, however many hints come: all
// members look, and the store has more to do.
const lookRest = 3

// rest waits; false where the context has ended.
func rest(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// logRetry logs what will be tried again.
func (w *Worker) logRetry(what string, err error) {
	if w.ctx.Err() == nil {
		w.o.Log.Error(what, "error", err)
	}
}

// nudge has the due jobs looked at soon.
func (w *Worker) nudge() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

const (
	// waitingPage is how many jobs that belong to a member are read at once.
	waitingPage = 1000
	// collectPage is how many due jobs are read at once.
	collectPage = 256
	// mostWaiting bounds the due jobs of a state that are listed, to know whose there are.
	mostWaiting = 10_000
)

// backlog is what the store lists of the jobs of an account that may be claimed.
type backlog struct {
	account  account.ID
	accepted []job.ID
	due      int
	orphans  int  // that a dead member had begun
	suspects bool // some are in quarantine
	stopping bool // somebody asked to stop some
}

// backlogs are those of accounts, in the order in which they were listed.
type backlogs struct {
	list []*backlog
	of   map[account.ID]*backlog
}

// add adds a job that was listed.
func (b *backlogs) add(d job.Due, orphan bool) {
	one := b.of[d.Account]
	if one == nil {
		if b.of == nil {
			b.of = map[account.ID]*backlog{}
		}
		one = &backlog{account: d.Account}
		b.of[d.Account], b.list = one, append(b.list, one)
	}
	one.stopping = one.stopping || d.Stopping
	switch {
	case d.Crashes >= job.SuspectCrashes:
		one.suspects = true
	case d.State == job.Accepted && orphan:
		one.accepted = append(one.accepted, d.ID)
	case orphan:
		one.orphans++
	default:
		one.due++
	}
}

// collect looks for the jobs whose time has come.
func (w *Worker) collect(ctx context.Context) error {
	now := w.o.Clock()
	var found backlogs
	q := job.DueQuery{Now: now, Limit: collectPage}
	if w.o.Host.DatabasesElsewhere != nil {
		q.Incarnation = w.session.Member().Incarnation
	}
	list, err := w.o.Queue.ListDue(ctx, q)
	if err != nil {
		return err
	}
	counts, last := map[job.State]int{}, map[job.State]job.Due{}
	for _, d := range list {
		counts[d.State]++
		last[d.State] = d
		found.add(d, false)
	}
	for _, s := range job.DueStates {
		q.State, q.After = s, last[s]
		for n, full := counts[s], counts[s] == collectPage; full && n < mostWaiting; n += collectPage {
			if list, err = w.o.Queue.ListDue(ctx, q); err != nil {
				return err
			}
			for _, d := range list {
				q.After = d
				found.add(d, false)
			}
			full = len(list) == collectPage
		}
	}
	return w.enqueue(ctx, &found)
}

// listHeld lists the jobs of a state that belong to an incarnation.
func (w *Worker) listHeld(ctx context.Context, found *backlogs, incarnation int64, s job.State) error {
	for after := (job.Due{}); ; {
		page, err := w.o.Queue.ListHeld(ctx, incarnation, s, after, waitingPage)
		if err != nil {
			return err
		}
		for _, d := range page {
			found.add(d, true)
			after = d
		}
		if len(page) < waitingPage {
			return nil
		}
	}
}

// enqueue takes note of jobs that may be claimed, but of disabled accounts, and begins what
// it can.
func (w *Worker) enqueue(ctx context.Context, found *backlogs) error {
	for _, b := range found.list {
		w.mu.Lock()
		known := w.scheduler.accounts[b.account] != nil
		w.mu.Unlock()
		most := 0
		if !known {
			a, err := w.o.Accounts.ByID(ctx, b.account)
			switch {
			case errors.Is(err, account.ErrNotFound):
				continue // its rows go with it
			case err != nil:
				return err
			case a.Disabled && !b.stopping:
				if err := w.postpone(ctx, b.account); err != nil {
					return err
				}
				continue
			}
			most = a.Limits(w.o.Limits).Concurrent
		}
		w.mu.Lock()
		w.scheduler.add(w.scheduler.queue(b.account, most), b)
		w.mu.Unlock()
	}
	w.dispatch()
	return nil
}

// dispatch has jobs claimed and begun as long as there are slots for them.
func (w *Worker) dispatch() {
	for {
		r, ok := w.reserve()
		if !ok {
			return
		}
		w.o.Guard.Go("job", func() {
			defer w.attempts.Done()
			w.beginReserved(r)
		})
	}
}

// reserve acquires slots, and counts who claims jobs for them as an attempt.
func (w *Worker) reserve() (reservation, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.draining.Load() || w.resting.Load() && w.companions.Load() > 0 || w.claiming {
		return reservation{}, false
	}
	r, ok := w.scheduler.reserve()
	if ok {
		w.attempts.Add(1)
		w.claiming = w.o.Hints != nil
	}
	return r, ok
}

// beginReserved claims jobs for the slots of a reservation, and runs them.
func (w *Worker) beginReserved(r reservation) {
	var claimed []job.Claimed
	err := w.o.Guard.DoErr("job", func() (err error) {
		claimed, err = w.claim(w.ctx, r)
		return err
	})
	if err != nil {
		claimed = nil
		w.checkMembership(err)
		w.logRetry("jobs could not be claimed and will be tried again", err)
		w.recallIn(w.o.Retry) // nothing else finds those that are merely accepted
	}
	w.mu.Lock()
	cached := w.scheduler.settle(r, claimed)
	w.claiming = false
	w.attempts.Add(len(claimed))
	w.mu.Unlock()
	w.dispatch() // in slots that are left
	for i := range claimed {
		a := cached[i]
		if a == nil {
			a = &attempt{w: w, claim: claim{head: &claimed[i].Head, brought: claimed[i].Brought}}
		}
		a.lease, a.from, a.probe = claimed[i].Lease, claimed[i].From, r.suspects
		releaseSlot := w.releaser(claimed[i].Account)
		run := func() {
			w.run(a, releaseSlot)
			w.endProbe(a.probe)
		}
		if i < len(claimed)-1 {
			w.begin(releaseSlot, run)
			continue
		}
		func() { // the last one, here
			defer w.attempts.Done()
			defer releaseSlot()
			run()
		}()
	}
}

// releaser returns what releases a slot of an account, once.
func (w *Worker) releaser(a account.ID) func() {
	return sync.OnceFunc(func() {
		w.mu.Lock()
		w.scheduler.release(a)
		w.mu.Unlock()
		w.dispatch()
	})
}

// begin runs f in a slot that its account has acquired, as an attempt that
// is counted, and leaves it then, unless f has before.
func (w *Worker) begin(leave, f func()) {
	w.o.Guard.Go("job", func() {
		defer w.attempts.Done()
		defer leave()
		f()
	})
}

// cut ends an attempt early.
func (w *Worker) cut(id job.ID, attempt int64, why error) {
	w.mu.Lock()
	l := w.live[id]
	w.mu.Unlock()
	if l != nil && l.lease.Attempt == attempt {
		l.cancel(why)
	}
}
