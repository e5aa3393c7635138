package files

import (
	"context"
	"time"

	"ql/internal/account"
	"ql/internal/fault"
)

// reclaimBatch is how many dead blobs are removed for one who waits for storage.
const reclaimBatch = 1024

// Reclaim removes dead blobs of an account at once, until so many bytes are gone.
// Those that somebody reads stay. It returns how many bytes went.
func (t *Trees) Reclaim(ctx context.Context, a account.ID, bytes int64) (freed int64, err error) {
	list, err := t.rows.Dead(ctx, DeadQuery{Account: a}, reclaimBatch)
	for len(list) > 0 && freed < bytes && err == nil {
		n, planned := 0, freed
		for n < min(len(list), sweepBatch) && planned < bytes {
			planned += list[n].Size
			n++
		}
		var size int64
		_, size, err = t.blobs.remove(ctx, t.rows, list[:n])
		freed += size
		list = list[n:]
	}
	return freed, err
}

// reclaimDiskBytes is how many bytes are swept for one who found the disk full.
const reclaimDiskBytes = 256 << 20

// reclaimDisk removes dead content of all accounts where the disk is full, and
// reports whether there was any.
func (t *Trees) reclaimDisk(ctx context.Context) bool {
	n, _ := t.blobs.SweepDead(ctx, t.rows, time.Time{}, reclaimDiskBytes) // who found it full is told
	return n > 0
}

// MakeRoom removes dead content where something else could not be stored, as far as the disk may be why.
func (b *Blobs) MakeRoom(rows Store, failed error) {
	if b.delay > 0 || !fault.Is(failed, fault.StorageUnavailable) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), discardTime)
	defer cancel()
	_, _ = b.SweepDead(ctx, rows, time.Time{}, reclaimDiskBytes) // it is tried again
}

// discard removes blobs that were made for a change and that nothing refers to:
// it failed, or needed them only on its way. What cannot be removed is the account's until it is swept.
func (t *Trees) discard(ctx context.Context, a account.ID, made []Chunk) {
	if len(made) == 0 {
		return
	}
	dead := t.deadBlobs(a, made)
	ctx, cancel := context.WithTimeout(ctx, discardTime)
	defer cancel()
	// Where the rows fail too, the next sweep finds what is left.
	if t.rows.AddDead(ctx, dead) == nil && t.blobs.delay == 0 { // else who tries again would have to wait
		_, _, _ = t.blobs.remove(ctx, t.rows, dead)
	}
}

// discardTime is how long the store is waited for after a change failed.
const discardTime = 5 * time.Second

// deadBlobs are blobs of an account that nothing refers to.
func (*Trees) deadBlobs(a account.ID, made []Chunk) []DeadBlob {
	dead := make([]DeadBlob, len(made))
	for i, chunk := range made {
		dead[i] = DeadBlob{Chunk: chunk, Account: a}
	}
	return dead
}
