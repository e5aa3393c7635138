package upkeep

import (
	"context"
	"errors"
	"time"

	"ql/internal/account"
	"ql/internal/job"
)

// finishDeletions removes what is left of accounts that were deleted: by a command
// that was interrupted, or beside scripts of them that ran.
func (u *Upkeep) finishDeletions(ctx context.Context, now time.Time) error {
	return u.o.Accounts.FinishDeletions(ctx, now, func(id account.ID) error {
		if err := u.o.Resources.ClearDatabases(ctx, id); err != nil {
			return err
		}
		return u.o.Resources.RemoveFolder(id)
	})
}

// purgeDevelopment empties the development account once a day, where more than
// one person may use it.
func (u *Upkeep) purgeDevelopment(ctx context.Context, now time.Time) error {
	if !u.o.PurgeDevelopment {
		return nil
	}
	return u.o.Accounts.PurgeDevelopment(ctx, now, func(id account.ID) error { return u.o.Resources.ClearDatabases(ctx, id) })
}

// receiptsEvery is how often receipts of ended jobs are looked for, and how long
// after a job's end its own are left alone.
const receiptsEvery = 24 * time.Hour

// deleteReceipts removes what jobs left in databases where they did not do so
// themselves: receipts, where a crash came between their end and that, and marks
// against attempts that could still be under way. It opens all databases, so it
// is done at the start and then once a day.
func (u *Upkeep) deleteReceipts(ctx context.Context, now time.Time) error {
	last := u.sweptReceipts.Load()
	if now.Sub(time.Unix(last, 0)) < receiptsEvery || !u.sweptReceipts.CompareAndSwap(last, now.Unix()) {
		return nil
	}
	latest := now.Add(-receiptsEvery)
	if u.o.Duties == nil && u.o.Began.After(latest) {
		latest = u.o.Began
	}
	ended := func(ctx context.Context, id [16]byte) (bool, error) {
		j, err := u.o.Jobs.Summary(ctx, id)
		if errors.Is(err, job.ErrNotFound) {
			return true, nil
		}
		return j.State.Finished() && j.Finished.Before(latest), err
	}
	return u.eachAccount(ctx, func(one account.Account) error {
		if err := u.o.Resources.DeleteReceipts(ctx, one.ID, ended); err != nil {
			u.o.Log.Warn("receipts of ended jobs could not be swept from an account's databases", "account", one.ID, "error", err)
		}
		return ctx.Err()
	})
}
