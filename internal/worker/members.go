package worker

import (
	"context"
	"errors"
	"sync"
	"time"

	"ql/internal/account"
	"ql/internal/job"
	"ql/internal/member"
)

// The jobs under way here are this process's as long as it is a member of those that
// share the store: it renews that, and none of its leases by itself.

// join makes this process a member.
func (w *Worker) join(ctx context.Context) (err error) {
	if w.session, err = member.Join(ctx, member.Options{Store: w.o.Members, Node: w.o.Node, Lease: w.o.Lease}); err != nil {
		return err
	}
	others, _, err := w.session.Others(ctx)
	w.noteOthers(others)
	return err
}

// prepare does what comes before all jobs, as a member.
func (w *Worker) prepare(ctx context.Context) error {
	if w.o.Prepare == nil {
		return nil
	}
	renewing, stop := context.WithCancel(ctx)
	var done sync.WaitGroup
	defer done.Wait()
	defer stop()
	done.Add(1)
	w.o.Guard.Go("leases", func() {
		defer done.Done()
		ticker := time.NewTicker(w.o.Lease / 5)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				if err := w.session.Renew(renewing); err != nil {
					w.logRetry("the membership could not be renewed and will be tried again", err)
				}
			case <-renewing.Done():
				return
			}
		}
	})
	return w.o.Prepare(ctx)
}

// leave ends the membership of a process that has nothing under way.
func (w *Worker) leave() {
	if w.session == nil {
		return
	}
	ctx, cancel := detached(context.Background())
	defer cancel()
	if err := w.session.Leave(ctx); err != nil {
		w.o.Log.Warn("this process could not leave the members: its place is taken by the next one", "error", err)
	}
}

// renewLoop renews the membership, and looks after what is held by it.
func (w *Worker) renewLoop(ctx context.Context) {
	every := w.o.Lease / 3
	if w.o.RenewAlone { // a change waits for it
		every = w.o.Lease / 5
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-w.renewSoon:
		case <-ctx.Done():
			return
		}
		if err := w.renew(ctx); err != nil {
			w.logRetry("the leases of jobs could not be renewed and will be tried again", err)
		}
	}
}

// checkMembership has the membership renewed soon where an error says that it is lost.
func (w *Worker) checkMembership(err error) {
	if !errors.Is(err, member.ErrBuried) && !errors.Is(err, member.ErrReplaced) {
		return
	}
	select {
	case w.renewSoon <- struct{}{}:
	default:
	}
}

// renew renews the membership, unless nobody could miss it: alone, and with no job
// under way, this process need not write, but where the store goes by renewals.
func (w *Worker) renew(ctx context.Context) error {
	others, isMember, err := w.session.Others(ctx)
	if err != nil {
		return err
	}
	held := w.heldLeases()
	if len(others) > 0 || len(held) > 0 || !isMember || w.o.RenewAlone {
		err = w.session.Renew(ctx)
	}
	switch {
	case errors.Is(err, member.ErrReplaced):
		w.o.Log.Error("another process of this node runs its jobs now: this one runs no more")
		w.mu.Lock()
		w.draining.Store(true)
		w.mu.Unlock()
		w.cutAll(errLeaseLost)
		return nil
	case errors.Is(err, member.ErrBuried):
		w.lost.Add(1)
		w.o.Log.Error("this process was taken for dead by others: its jobs are begun again, here or there")
		w.cutAll(errLeaseLost)
		if err := w.session.Rejoin(ctx); err != nil {
			return err
		}
		return w.adoptOrphans(ctx)
	case err != nil:
		return err
	}
	if err := w.reconcile(ctx, held); err != nil {
		return err
	}
	w.cutDisabled(held)
	if err := w.refreshDead(ctx); err != nil {
		return err
	}
	buried, err := w.session.BuryDead(ctx, others)
	if err != nil {
		return err
	}
	if buried > 0 {
		w.buried.Add(uint64(buried))
		w.o.Log.Warn("nodes are dead: their jobs are taken over", "nodes", buried)
	}
	if w.noteOthers(others) || buried > 0 {
		return w.recover(ctx)
	}
	return nil
}

// noteOthers remembers the other members, and reports whether one is none any more that was one when it was last
// looked: it has left, or was buried by another. What it leaves is for all.
func (w *Worker) noteOthers(others []member.Info) (left bool) {
	now := make(map[int64]bool, len(others))
	for _, i := range others {
		now[i.Incarnation] = true
	}
	for incarnation := range w.others {
		left = left || !now[incarnation]
	}
	w.others = now
	w.companions.Store(int64(len(now)))
	w.mu.Lock()
	defer w.mu.Unlock()
	if shared := len(now) > 0 && w.o.Allotments != nil; shared != w.scheduler.shared {
		w.scheduler.shared = shared
		for _, q := range w.scheduler.accounts {
			w.scheduler.markUnsettled(q)
		}
	}
	return left
}

// recover counts the ends of dead processes, and takes over their jobs.
func (w *Worker) recover(ctx context.Context) error {
	if err := w.o.Queue.RecordCrashes(ctx, w.o.Clock().Add(-earlyCrash)); err != nil {
		return err
	}
	return w.adoptOrphans(ctx)
}

// adoptOrphans puts the jobs of dead members into their queues, and begins what it can.
func (w *Worker) adoptOrphans(ctx context.Context) error {
	dead, err := w.o.Queue.DeadHolders(ctx)
	if err != nil {
		return err
	}
	w.mu.Lock()
	w.dead = dead
	w.mu.Unlock()
	var found backlogs
	for _, incarnation := range dead {
		for _, s := range []job.State{job.Accepted, job.Running} {
			if err := w.listHeld(ctx, &found, incarnation, s); err != nil {
				return err
			}
		}
	}
	return w.enqueue(ctx, &found)
}

// deadHolders returns the incarnations whose jobs are to be taken over.
func (w *Worker) deadHolders() []int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dead
}

// refreshDead looks whether there is still something to be taken over from the dead.
func (w *Worker) refreshDead(ctx context.Context) error {
	if len(w.deadHolders()) == 0 {
		return nil
	}
	dead, err := w.o.Queue.DeadHolders(ctx)
	if err != nil {
		return err
	}
	w.mu.Lock()
	w.dead = dead
	w.mu.Unlock()
	return nil
}

// heldLeases returns those of the jobs under way.
func (w *Worker) heldLeases() []job.Lease {
	w.mu.Lock()
	defer w.mu.Unlock()
	held := make([]job.Lease, 0, len(w.live))
	for _, l := range w.live {
		held = append(held, l.lease)
	}
	return held
}

// reconcile compares the jobs that this process has under way with those that the
// store says it has. What it has no more, or is to stop, is cut off. What it has and
// does not know of, twice in a row, is begun again: that a claim failed need not mean
// that it was not made.
func (w *Worker) reconcile(ctx context.Context, held []job.Lease) error {
	m := w.session.Member()
	stored := map[job.ID]job.Due{}
	for after := (job.Due{}); ; {
		page, err := w.o.Queue.ListHeld(ctx, m.Incarnation, job.Running, after, collectPage)
		if err != nil {
			return err
		}
		for _, d := range page {
			stored[d.ID] = d
			after = d
		}
		if len(page) < collectPage {
			break
		}
	}
	for _, l := range held {
		if d, ok := stored[l.ID]; !ok || d.Attempt != l.Attempt {
			w.cut(l.ID, l.Attempt, errLeaseLost)
		}
	}
	stopping, err := w.o.Queue.ListStopping(ctx, m)
	if err != nil {
		return err
	}
	for _, l := range stopping {
		w.cut(l.ID, l.Attempt, errStopped)
	}
	strays := map[int64]int64{}
	for id, d := range stored {
		switch {
		case w.isLive(id):
		case w.strays[d.Seq] == d.Attempt:
			if err := w.resumeStray(ctx, d); err != nil {
				return err
			}
		default:
			strays[d.Seq] = d.Attempt
		}
	}
	w.strays = strays
	w.dispatch()
	return nil
}

// resumeStray begins a job again that is this process's and that it does not run, beside
// those in the queue.
func (w *Worker) resumeStray(ctx context.Context, d job.Due) error {
	a, err := w.o.Accounts.ByID(ctx, d.Account)
	switch {
	case errors.Is(err, account.ErrNotFound):
		return nil // its rows go with it
	case err != nil:
		return err
	case a.Disabled && !d.Stopping:
		return nil
	}
	w.mu.Lock()
	if w.draining.Load() {
		w.mu.Unlock()
		return nil
	}
	w.attempts.Add(1)
	w.scheduler.acquire(w.scheduler.queue(a.ID, a.Limits(w.o.Limits).Concurrent))
	w.mu.Unlock()
	releaseSlot := w.releaser(a.ID)
	w.begin(releaseSlot, func() {
		var lease job.Lease
		err := w.o.Guard.DoErr("job", func() (err error) {
			lease, err = w.o.Queue.ClaimListed(w.ctx, w.session.Member(), d, w.o.Clock())
			return err
		})
		switch {
		case errors.Is(err, job.ErrLeaseLost): // another has it by now, or it was cancelled
		case err != nil:
			w.checkMembership(err)
			w.logRetry("a job could not be claimed again and will be tried again", err)
		default:
			w.run(&attempt{w: w, claim: claim{lease: lease, from: d.State}}, releaseSlot)
		}
	})
	return nil
}

// cutAll ends all attempts early.
func (w *Worker) cutAll(why error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.live {
		l.cancel(why)
	}
}
