package app

import (
	"context"
	"errors"
	"time"

	"ql/internal/account"
	"ql/internal/job"
	"ql/internal/platform"
)

const (
	upkeepEvery = time.Hour
	// blobGrace is how long a blob that nothing refers to is kept where there is
	// room for it.
	blobGrace = 24 * time.Hour
	// roomEvery is how often the disk is looked at.
	roomEvery = time.Minute
	// forgetAtOnce bounds one change of the store.
	forgetAtOnce = 1000
	accountsPage = 500
)

// startUpkeep removes now and then what is kept no longer.
func (a *App) startUpkeep() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	a.parts.guard.Go("upkeep", func() {
		defer close(done)
		ticker, room := time.NewTicker(upkeepEvery), time.NewTicker(roomEvery)
		defer ticker.Stop()
		defer room.Stop()
		failed := func(err error) {
			if err != nil && ctx.Err() == nil {
				a.o.Log.Error("the upkeep failed and will be tried again", "error", err)
			}
		}
		failed(a.upkeep(ctx, time.Now()))
		for {
			select {
			case <-ticker.C:
				failed(a.upkeep(ctx, time.Now()))
			case <-room.C:
				failed(a.makeRoom(ctx, a.settings.Data))
			case <-ctx.Done():
				return
			}
		}
	})
	a.closes("upkeep", func(context.Context) error {
		cancel()
		<-done
		return nil
	})
}

// makeRoom removes all dead content at once where the disk under a folder becomes
// short, some time before it is so short that the service is not ready.
func (a *App) makeRoom(ctx context.Context, folder string) error {
	free, total, err := platform.DiskSpace(folder)
	if err != nil || free >= min(4*leastFree, total/10) {
		return err
	}
	n, err := a.parts.blobs.SweepDead(ctx, a.parts.store.Files, time.Time{}, 0)
	if n > 0 {
		a.o.Log.Warn("the disk is short: what files held before was removed at once", "free", free, "blobs", n)
	}
	return err
}

func (a *App) upkeep(ctx context.Context, now time.Time) error {
	var errs []error
	for _, do := range []func(context.Context, time.Time) error{
		a.sweepBlobs, a.finishDeletes, a.emptyDevelopment, a.forgetJobs, a.prune, a.pruneShares, a.forgetReceipts, a.parts.certificates.Remind, a.parts.inventory.Update, a.checkLock,
	} {
		// One that panics every time must not keep the others from their work.
		errs = append(errs, a.parts.guard.DoErr("upkeep", func() error { return do(ctx, now) }))
	}
	return errors.Join(errs...)
}

// checkLock tells where somebody removed the file that keeps other servers away.
func (a *App) checkLock(context.Context, time.Time) error {
	if a.parts.store.Locked() {
		return nil
	}
	return errors.New("the file ql.lock was removed from the data folder under the running server, which keeps others away by a lock of the folder alone: leave it where it is; the next start makes it again")
}

// sweepBlobs removes blobs that nothing refers to.
func (a *App) sweepBlobs(ctx context.Context, now time.Time) error {
	_, err := a.parts.blobs.Sweep(ctx, a.parts.store.Files, now, blobGrace)
	return err
}

// deliveriesKept is how long the log of a webhook is kept after its end.
const deliveriesKept = 7 * 24 * time.Hour

// prune removes idempotency keys that have ended, programs that no job needs,
// and the logs of webhooks.
func (a *App) prune(ctx context.Context, now time.Time) error {
	for n := forgetAtOnce; n >= forgetAtOnce; {
		var err error
		if n, err = a.parts.store.Queue.Prune(ctx, now, forgetAtOnce); err != nil {
			return err
		}
	}
	for n := forgetAtOnce; n >= forgetAtOnce; {
		var err error
		if n, err = a.parts.store.Deliveries.Forget(ctx, now.Add(-deliveriesKept), forgetAtOnce); err != nil {
			return err
		}
	}
	for more := true; more; {
		var err error
		if more, err = a.parts.store.Shrink(ctx); err != nil {
			return err
		}
	}
	return nil
}

// finishDeletes removes what is left of accounts that were deleted: by a command
// that was interrupted, or beside scripts of them that ran.
func (a *App) finishDeletes(ctx context.Context, now time.Time) error {
	return a.parts.accounts.FinishDeletes(ctx, now, func(id account.ID) error {
		if err := a.parts.resources.ClearDatabases(ctx, id); err != nil {
			return err
		}
		return a.parts.resources.RemoveFolder(id)
	})
}

// emptyDevelopment empties the development account once a day, where more than
// one person may use it.
func (a *App) emptyDevelopment(ctx context.Context, now time.Time) error {
	if a.settings.Dev || a.settings.DevUsername == "" {
		return nil
	}
	return a.parts.accounts.EmptyDevelopment(ctx, now, func(id account.ID) error { return a.parts.resources.ClearDatabases(ctx, id) })
}

// forgetJobs removes the jobs that were finished longer ago than their
// account's plan keeps them, and has those go that are more than it keeps.
func (a *App) forgetJobs(ctx context.Context, now time.Time) error {
	a.growth.forget()
	return a.eachAccount(ctx, func(one account.Account) error {
		before := now.Add(-a.settings.Limits(one.LimitPlan()).JobsKept)
		for n := forgetAtOnce; n == forgetAtOnce; {
			var err error
			if n, err = a.parts.store.Jobs.Forget(ctx, one.ID, before, forgetAtOnce); err != nil {
				return err
			}
		}
		return a.askTrim(ctx, one)
	})
}

func (a *App) eachAccount(ctx context.Context, do func(account.Account) error) error {
	for after := ""; ; {
		page, err := a.parts.accounts.List(ctx, after, accountsPage)
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

// receiptsEvery is how often receipts of ended jobs are looked for, and how long
// after a job's end its own are left alone.
const receiptsEvery = 24 * time.Hour

// forgetReceipts removes what jobs left in databases where they did not do so
// themselves: receipts, where a crash came between their end and that, and marks
// against attempts that could still be under way. It opens all databases, so it
// is done at the start and then once a day.
func (a *App) forgetReceipts(ctx context.Context, now time.Time) error {
	last := a.sweptReceipts.Load()
	if now.Sub(time.Unix(last, 0)) < receiptsEvery || !a.sweptReceipts.CompareAndSwap(last, now.Unix()) {
		return nil
	}
	// No attempt is older than the process.
	latest := now.Add(-receiptsEvery)
	if a.began.After(latest) {
		latest = a.began
	}
	ended := func(ctx context.Context, id [16]byte) (bool, error) {
		j, err := a.parts.store.Jobs.Summary(ctx, id)
		if errors.Is(err, job.ErrNotFound) {
			return true, nil
		}
		return j.State.Finished() && j.Finished.Before(latest), err
	}
	return a.eachAccount(ctx, func(one account.Account) error {
		if err := a.parts.resources.DeleteReceipts(ctx, one.ID, ended); err != nil {
			a.o.Log.Warn("receipts of ended jobs may stay in an account's databases", "account", one.ID, "error", err)
		}
		return ctx.Err()
	})
}

// askTrim has an account trimmed that keeps more than its plan has. It may write
// as fast as it is trimmed: this is not waited for.
func (a *App) askTrim(ctx context.Context, one account.Account) error {
	bound := a.settings.Limits(one.LimitPlan()).RecordsBytes
	if bound == 0 {
		return nil
	}
	kept, err := a.parts.store.Jobs.Kept(ctx, one.ID)
	if err == nil && kept > bound {
		a.growth.ask(one.ID)
	}
	return err
}
