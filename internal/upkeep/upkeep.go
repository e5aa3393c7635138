// Package upkeep removes what is stored no longer: records beyond their retention, what
// deleted accounts left, dead content, expired keys and links, earlier versions of
// published scripts. It says when; how
// each is removed is the business of the stores and the resources.
package upkeep

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"ql/internal/account"
	"ql/internal/admit"
	"ql/internal/guard"
	"ql/internal/job"
	"ql/internal/mail"
	"ql/internal/member"
	"ql/internal/resource"
	"ql/internal/resource/files"
	"ql/internal/resource/shares"
	"ql/internal/webhook"
)

const (
	runEvery = time.Hour
	// diskEvery is how often the disk is looked at.
	diskEvery = time.Minute
	// observeEvery is how often what metrics show of the store is counted anew.
	observeEvery = 15 * time.Second
	// dutyEvery is how often one of several nodes looks whether the upkeep is to be done by it: that who did it is dead
	// costs no more than this.
	dutyEvery = 5 * time.Second
	// batchSize bounds one change of the store.
	batchSize    = 1000
	accountsPage = 500
)

// Task is a piece of the upkeep.
type Task func(ctx context.Context, now time.Time) error

// Options are what an upkeep works on. All are needed but Tasks and Observe.
type Options struct {
	Accounts     *account.Service
	AccountStore account.Store
	Jobs         job.Store
	Queue        Queue
	Deliveries   webhook.History
	Mails        mail.History
	Shares       shares.Store
	Files        files.Store
	Blobs        *files.Blobs
	Resources    *resource.Pool
	Store        Store
	Buckets      admit.Buckets // of all nodes; may be left out

	Data string // the folder whose disk is looked at
	// MinFreeDisk is how many free bytes the service needs to be ready.
	MinFreeDisk uint64
	Growth      *Growth
	Limits      func(account.Plan) account.Limits
	// PurgeDevelopment says that more than one person may use the development account.
	PurgeDevelopment bool
	// Duties say which of several nodes does what is done once for all; nil where there is one. Member is this one, where
	// that is certain.
	Duties member.Duties
	Member func() (member.Member, error)
	Began  time.Time // when the process did; no attempt at a job is older
	Tasks  []Task    // others that are run each time, once for all
	Own    []Task    // those that each node runs for itself
	// Observe counts what metrics show. It is called often, also while tasks run.
	Observe Task

	Guard *guard.Guard
	Log   *slog.Logger
}

// Queue is what is asked of the queue of jobs.
type Queue interface {
	// Prune removes up to limit keys that have ended, and up to limit programs that no
	// job needs, and returns how many it removed.
	Prune(ctx context.Context, now time.Time, limit int) (int, error)
}

// Store is what is asked of the file in which all is stored.
type Store interface {
	// Vacuum gives some of what the file does not use back to the disk, and reports
	// whether there is more.
	Vacuum(ctx context.Context) (more bool, err error)
	// FinishUpgrade removes what no node's program needs any more.
	FinishUpgrade(ctx context.Context) error
	// Locked reports whether other servers are kept away.
	Locked() bool
}

// Upkeep runs its tasks every hour, and trims accounts whenever they are due.
type Upkeep struct {
	o Options

	trimming sync.Mutex // held while accounts are trimmed
	// sweptReceipts is when receipts of ended jobs were looked for last, in
	// seconds of Unix.
	sweptReceipts atomic.Int64
	succeeded     atomic.Int64 // when all tasks last did, in seconds of Unix
	failures      atomic.Uint64
	hasDuty       atomic.Bool // as of when it was last looked
	sources       job.SourceSweep

	deletions chan struct{} // holds a request

	cancel context.CancelFunc
	done   sync.WaitGroup
}

// New returns an upkeep that is not started.
func New(o Options) *Upkeep {
	if o.Duties != nil {
		o.Blobs.CheckRemovals(func() error { _, err := o.Member(); return err })
	}
	return &Upkeep{o: o, deletions: make(chan struct{}, 1)}
}

// RequestDeletions has what accounts leave that were just deleted removed now, and not only with the
// next run.
func (u *Upkeep) RequestDeletions() {
	select {
	case u.deletions <- struct{}{}:
	default: // somebody has asked already
	}
}

// Start runs the tasks now, and from now on. It is called once.
func (u *Upkeep) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	u.cancel = cancel
	u.background("trim", func() { u.trimLoop(ctx) })
	u.background("upkeep", func() { u.loop(ctx) })
	if u.o.Observe != nil {
		u.background("observation", func() { u.o.Guard.Loop(ctx, "observation", u.observeLoop) })
	}
}

// Stats are how the hourly runs went.
type Stats struct {
	Succeeded time.Time // when one last did; when the process began where none has
	Failures  uint64    // runs in which a task failed
}

// Stats returns how they went so far.
func (u *Upkeep) Stats() Stats {
	s := Stats{Succeeded: u.o.Began, Failures: u.failures.Load()}
	if at := u.succeeded.Load(); at > 0 {
		s.Succeeded = time.Unix(at, 0)
	}
	return s
}

// observeLoop counts what metrics show, at its own pace: whoever reads them makes no work.
func (u *Upkeep) observeLoop(ctx context.Context) {
	ticker := time.NewTicker(observeEvery)
	defer ticker.Stop()
	for {
		select {
		case now := <-ticker.C:
			if err := u.o.Observe(ctx, now); err != nil && ctx.Err() == nil {
				u.o.Log.Error("what metrics show of the store could not be counted and will be tried again", "error", err)
			}
		case <-ctx.Done():
			return
		}
	}
}

func (u *Upkeep) background(name string, do func()) {
	u.done.Add(1)
	u.o.Guard.Go(name, func() {
		defer u.done.Done()
		do()
	})
}

// Stop ends what Start began, and waits for it.
func (u *Upkeep) Stop(context.Context) error {
	u.cancel()
	u.done.Wait()
	return nil
}

func (u *Upkeep) loop(ctx context.Context) {
	hourly, disk := time.NewTicker(runEvery), time.NewTicker(diskEvery)
	defer hourly.Stop()
	defer disk.Stop()
	failed := func(err error) {
		if err != nil && ctx.Err() == nil {
			u.o.Log.Error("the upkeep failed and will be retried", "error", err)
		}
	}
	failed(errors.Join(u.Run(ctx, time.Now()), u.finishUpgrade(ctx)))
	var duty <-chan time.Time
	if u.o.Duties != nil {
		ticker := time.NewTicker(dutyEvery)
		defer ticker.Stop()
		duty = ticker.C
	}
	for {
		select {
		case <-duty:
			had := u.hasDuty.Load()
			switch has, err := u.assumeDuty(ctx); {
			case err != nil:
				failed(err)
			case has && !had: // who had it may have left it undone
				failed(u.Run(ctx, time.Now()))
			}
		case <-hourly.C:
			failed(u.Run(ctx, time.Now()))
		case <-disk.C:
			failed(errors.Join(u.freeDisk(ctx), u.sweepBuckets(ctx), u.finishUpgrade(ctx)))
		case <-u.deletions:
			failed(u.o.Guard.DoErr("upkeep", func() error { return u.finishDeletions(ctx, time.Now()) }))
		case <-ctx.Done():
			return
		}
	}
}

// Duty is what the upkeep is called among several nodes.
const Duty = "upkeep"

// assumeDuty reports whether this node is to do what is done once for all.
func (u *Upkeep) assumeDuty(ctx context.Context) (has bool, err error) {
	if u.o.Duties == nil {
		return true, nil
	}
	m, err := u.o.Member()
	if err == nil {
		has, err = u.o.Duties.Assume(ctx, Duty, m)
	}
	u.hasDuty.Store(has && err == nil)
	return has, err
}

// Run runs all tasks once that are this node's, as of a moment.
func (u *Upkeep) Run(ctx context.Context, now time.Time) error {
	var tasks []Task
	has, err := u.assumeDuty(ctx)
	if has {
		tasks = append([]Task{u.sweepBlobs, u.finishDeletions, u.purgeDevelopment, u.expireJobs, u.prune, u.pruneShares, u.pruneSites, u.sweepScripts, u.sweepSources}, u.o.Tasks...)
	}
	tasks = append(tasks, u.deleteReceipts, u.o.Resources.SweepCopies, u.checkLock)
	errs := []error{err}
	for _, do := range append(tasks, u.o.Own...) {
		// One that panics every time must not keep the others from their work.
		errs = append(errs, u.o.Guard.DoErr("upkeep", func() error { return do(ctx, now) }))
	}
	err = errors.Join(errs...)
	switch {
	case err == nil:
		u.succeeded.Store(now.Unix())
	case ctx.Err() == nil:
		u.failures.Add(1)
	}
	return err
}

// sweepBuckets removes buckets that are full. One node alone has none in the store.
func (u *Upkeep) sweepBuckets(ctx context.Context) error {
	if u.o.Duties == nil || !u.hasDuty.Load() || u.o.Buckets == nil || u.o.Buckets.Nodes() < 2 {
		return nil
	}
	return u.o.Buckets.Sweep(ctx)
}

// finishUpgrade does what waits for the last node to be upgraded.
func (u *Upkeep) finishUpgrade(ctx context.Context) error {
	if u.o.Duties == nil || !u.hasDuty.Load() {
		return nil
	}
	return u.o.Guard.DoErr("upkeep", func() error { return u.o.Store.FinishUpgrade(ctx) })
}

// checkLock fails where somebody removed the file that keeps other servers away.
func (u *Upkeep) checkLock(context.Context, time.Time) error {
	if u.o.Store.Locked() {
		return nil
	}
	return errors.New("the file ql.lock was removed from the data folder under the running server, which keeps others away by a lock of the folder alone: leave it where it is; the next start makes it again")
}

// inBatches removes by the batch until less than a whole one is left.
func inBatches(remove func() (int, error)) error {
	for {
		if n, err := remove(); err != nil || n < batchSize {
			return err
		}
	}
}

func (u *Upkeep) eachAccount(ctx context.Context, do func(account.Account) error) error {
	for after := ""; ; {
		page, err := u.o.Accounts.List(ctx, after, accountsPage)
		if err != nil {
			return err
		}
		for _, one := range page {
			after = one.Username
			if err := do(one); err != nil {
				return err
			}
		}
		if len(page) < accountsPage {
			return nil
		}
	}
}
