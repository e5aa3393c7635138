package app

import (
	"context"
	"errors"
	"time"
)

const (
	upkeepEvery = time.Hour
	// blobGrace is how long a blob that nothing refers to is kept.
	blobGrace = 24 * time.Hour
	// forgetAtOnce bounds one change of the store.
	forgetAtOnce = 1000
	accountsPage = 500
)

// startUpkeep removes now and then what is kept no longer.
func (a *App) startUpkeep() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(upkeepEvery)
		defer ticker.Stop()
		for {
			if err := a.upkeep(ctx, time.Now()); err != nil && ctx.Err() == nil {
				a.o.Log.Error("the upkeep failed and will be tried again", "error", err)
			}
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	a.closes("upkeep", func(context.Context) error {
		cancel()
		<-done
		return nil
	})
}

func (a *App) upkeep(ctx context.Context, now time.Time) error {
	_, err := a.parts.blobs.Sweep(ctx, a.parts.store.Files(), now, blobGrace)
	return errors.Join(err, a.forgetJobs(ctx, now))
}

// forgetJobs removes the jobs that were finished longer ago than their
// account's plan keeps them.
func (a *App) forgetJobs(ctx context.Context, now time.Time) error {
	for after := ""; ; {
		page, err := a.parts.accounts.List(ctx, after, accountsPage)
		if err != nil {
			return err
		}
		for _, one := range page {
			after = one.Username
			before := now.Add(-a.limits(one.Plan).JobsKept)
			for n := forgetAtOnce; n == forgetAtOnce; {
				if n, err = a.parts.store.Jobs().Forget(ctx, one.ID, before, forgetAtOnce); err != nil {
					return err
				}
			}
		}
		if len(page) < accountsPage {
			return nil
		}
	}
}
