package worker

import (
	"context"
	"errors"
	"time"

	"ql/internal/account"
	"ql/internal/job"
	"ql/internal/member"
)

// The jobs under way here are this process's as long as it is a member of those that
// share the store: it renews that, and none of its leases by itself.

// join makes this process a member.
func (w *Worker) join(ctx context.Context) (err error) {
	w.session, err = member.Join(ctx, member.Options{Store: w.o.Members, Node: w.o.Node, Lease: w.o.Lease})
	return err
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
	ticker := time.NewTicker(w.o.Lease / 3)
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
// under way, this process need not write.
func (w *Worker) renew(ctx context.Context) error {
	others, isMember, err := w.session.Others(ctx)
	if err != nil {
		return err
	}
	held := w.heldLeases()
	if len(others) > 0 || len(held) > 0 || !isMember {
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
	buried, err := w.session.BuryDead(ctx, others)
	if err != nil || buried == 0 {
		return err
	}
	w.o.Log.Warn("nodes are dead: their jobs are taken over", "nodes", buried)
	return w.recover(ctx)
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
	for _, incarnation := range dead {
		for _, s := range []job.State{job.Accepted, job.Running} {
			if err := w.enqueueHeld(ctx, incarnation, s); err != nil {
				return err
			}
		}
	}
	w.dispatch()
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
			if err := w.enqueue(ctx, d, map[account.ID]bool{}); err != nil {
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

// cutAll ends all attempts early.
func (w *Worker) cutAll(why error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.live {
		l.cancel(why)
	}
}
