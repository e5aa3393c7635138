package upkeep

import (
	"context"
	"errors"
	"time"

	"ql/internal/platform"
	"ql/internal/resource/files"
)

const (
	// blobGrace is how long a blob that nothing refers to stays where there is
	// space for it.
	blobGrace = 24 * time.Hour
	// deliveryRetention is how long the log of a webhook stays after its end.
	deliveryRetention = 7 * 24 * time.Hour
	// mailRetention is how long what became of a mail stays after its end.
	mailRetention = 30 * 24 * time.Hour
	// shareRetention is how long a link and its receipts stay after its time.
	shareRetention = 30 * 24 * time.Hour
	// sweptJobs is how many jobs are looked at in an hour for sources that none has.
	sweptJobs = 500_000
)

// freeDisk removes all dead content at once where the disk becomes short, some time
// before it is so short that the service is not ready.
func (u *Upkeep) freeDisk(ctx context.Context) error {
	free, total, err := platform.DiskSpace(u.o.Data)
	if err != nil || free >= min(4*u.o.MinFreeDisk, total/10) {
		return err
	}
	n, err := u.o.Blobs.SweepDead(ctx, u.o.Files, time.Time{}, 0)
	err = errors.Join(err, u.o.Resources.MakeRoom())
	if n > 0 {
		u.o.Log.Warn("disk space is low: dead blobs were removed before their grace period was over", "free", free, "blobs", n)
	}
	return err
}

// sweepBlobs removes blobs that nothing refers to.
func (u *Upkeep) sweepBlobs(ctx context.Context, now time.Time) error {
	_, err := u.o.Blobs.Sweep(ctx, u.o.Files, now, blobGrace)
	return err
}

// prune removes idempotency keys that have expired, programs that no job needs,
// and the logs of webhooks.
func (u *Upkeep) prune(ctx context.Context, now time.Time) error {
	if err := inBatches(func() (int, error) { return u.o.Queue.Prune(ctx, now, batchSize) }); err != nil {
		return err
	}
	if err := inBatches(func() (int, error) { return u.o.Deliveries.Forget(ctx, now.Add(-deliveryRetention), batchSize) }); err != nil {
		return err
	}
	if err := inBatches(func() (int, error) { return u.o.Mails.Forget(ctx, now.Add(-mailRetention), batchSize) }); err != nil {
		return err
	}
	for more := true; more; {
		var err error
		if more, err = u.o.Store.Vacuum(ctx); err != nil {
			return err
		}
	}
	return nil
}

// pruneShares removes what links lead to no more.
func (u *Upkeep) pruneShares(ctx context.Context, now time.Time) error {
	return inBatches(func() (int, error) { return u.o.Shares.Prune(ctx, now, now.Add(-shareRetention), batchSize) })
}

// pruneSites removes content that was sent for a deploy that never came.
func (u *Upkeep) pruneSites(ctx context.Context, now time.Time) error {
	return inBatches(func() (int, error) { return u.o.Files.DropStaged(ctx, now.Add(-files.StagedTime), batchSize) })
}

// sweepScripts removes versions of published scripts that have ended.
func (u *Upkeep) sweepScripts(ctx context.Context, now time.Time) error {
	return inBatches(func() (int, error) { return u.o.AccountStore.SweepPublished(ctx, now, batchSize) })
}

// sweepSources goes on to look for sources that no job has, as a node leaves them that dies. One alone leaves none.
func (u *Upkeep) sweepSources(ctx context.Context, now time.Time) error {
	if u.o.Duties == nil {
		return nil
	}
	_, err := u.o.Jobs.SweepSources(ctx, &u.sources, now, sweptJobs)
	return err
}
