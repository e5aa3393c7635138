package files

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"time"

	"ql/internal/fault"
)

// BlobStore keeps immutable pieces of content by their hashes: in a folder, or as
// objects elsewhere. What it has put lasts. Methods are safe for concurrent use.
type BlobStore interface {
	// Put stores a blob, unless it is there and sound, and reports whether it did.
	Put(hash Hash, content []byte) (made bool, err error)
	// Create begins a blob that is written before its hash is known.
	Create() (BlobWriter, error)
	// Open opens a blob to be read from its start; fs.ErrNotExist where there is none.
	Open(hash Hash) (io.ReadCloser, error)
	// Remove removes a blob. One that is not there is none to remove.
	Remove(hash Hash) error
	// Walk calls f with every blob. Size is asked for where it is needed; a blob that
	// went meanwhile has none, by fs.ErrNotExist.
	Walk(ctx context.Context, f func(hash Hash, size func() (int64, error)) error) error
	// RemoveUnfinished removes what writers left before a moment that were neither
	// published nor discarded, and returns how many those were.
	RemoveUnfinished(before time.Time) (int, error)
	Close() error
}

// LateRemover is a BlobStore whose removals may take effect late, and that others may reach: for so long
// after one nothing refers to the blob that was removed.
type LateRemover interface{ RemovalDelay() time.Duration }

// BlobWriter is a blob that is being written, by one goroutine at a time.
type BlobWriter interface {
	io.Writer
	// Finish makes what was written last.
	Finish() error
	// Publish makes what is finished the blob of a hash, in place of one that may be
	// there. Where it fails it may be called again.
	Publish(hash Hash) error
	// Discard ends a writer: what is not published is gone. It may be called at any
	// time, and after the others.
	Discard()
}

// Blobs are the blobs of files: a store of them, and which of them somebody in this
// process relies on. A blob is written before the row that refers to it, and removed
// after the last such row: rows never point to nothing, and a blob without a row does
// no harm. Which blobs are dead, and since when, is in the rows.
type Blobs struct {
	store       BlobStore
	delay       time.Duration // of removals; 0 where they take effect at once
	lockRemoval func() (release func(), ok bool)
	mayRemove   func() error // nil where nobody else could

	mu   sync.Mutex
	held map[Hash]*hold
}

// NewBlobs returns the blobs in a store, which they close.
func NewBlobs(store BlobStore) *Blobs {
	b := &Blobs{store: store, held: map[Hash]*hold{}, lockRemoval: func() (func(), bool) { return func() {}, true }}
	if late, ok := store.(LateRemover); ok {
		b.delay = late.RemovalDelay()
	}
	return b
}

// SetRemovalLock says how other processes are kept from relying on blobs that no row
// refers to, while some are removed: lock reports false where one does already.
// Without it no other process does. It is called before the blobs are used.
func (b *Blobs) SetRemovalLock(lock func() (release func(), ok bool)) { b.lockRemoval = lock }

// CheckRemovals says how a process finds out, before each removal, that it is still the one that removes: one that stood still
// for long would remove what was written again meanwhile. It is called before blobs are removed.
func (b *Blobs) CheckRemovals(mayRemove func() error) { b.mayRemove = mayRemove }

// Close closes the store.
func (b *Blobs) Close() error { return b.store.Close() }

// put writes a blob that a pin holds from then on, and returns when it lasts.
func (b *Blobs) put(content []byte, p *pin) (Chunk, error) {
	chunk := Chunk{Hash: sha256.Sum256(content), Size: int64(len(content))}
	p.add(chunk.Hash)
	made, err := b.store.Put(chunk.Hash, content)
	if made {
		p.made = append(p.made, chunk)
	}
	return chunk, storageFault(err)
}

// storageFault tells a disk that is full from an account that is: the account
// has room, and it is ours that has none.
func storageFault(err error) error {
	if err != nil && systemCode(err) == quotaExceeded {
		return fault.Retryable(fault.StorageUnavailable, retryAfter, "the storage cannot be used at the moment").WithCause(err)
	}
	return err
}

// retryAfter is when one may try again to use a disk that is full.
const retryAfter = 5 * time.Second

// read appends a blob's bytes to content, checked against its name.
func (b *Blobs) read(chunk Chunk, content []byte) ([]byte, error) {
	f, err := b.store.Open(chunk.Hash)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it is only read
	from := len(content)
	content = append(content, make([]byte, chunk.Size)...)
	if _, err := io.ReadFull(f, content[from:]); err != nil {
		return nil, fmt.Errorf("blob %x: %w", chunk.Hash[:4], err)
	}
	if sha256.Sum256(content[from:]) != chunk.Hash {
		return nil, fmt.Errorf("blob %x is damaged", chunk.Hash[:4])
	}
	return content, nil
}

// sweepBatch is how many blobs are removed with one change of the rows.
const sweepBatch = 256

// Sweep removes the blobs that were dead for at least grace, and what unfinished
// writes left as long ago. Those that no row tells of count from now on. It
// returns how many it removed.
func (b *Blobs) Sweep(ctx context.Context, rows Store, now time.Time, grace time.Duration) (removed int, err error) {
	if err := b.findDead(ctx, rows, now); err != nil {
		return 0, err
	}
	if err := rows.MarkDeadSeen(ctx, now); err != nil {
		return 0, err
	}
	removed, err = b.RemoveUnfinished(now.Add(-grace))
	if err != nil {
		return removed, err
	}
	if err := b.FinishDeletions(ctx, rows); err != nil {
		return removed, err
	}
	if b.delay > 0 {
		if err := rows.DropDeletions(ctx, now.Add(-b.delay)); err != nil {
			return removed, err
		}
	}
	n, err := b.SweepDead(ctx, rows, now.Add(-grace), 0)
	return removed + n, err
}

// SweepDead removes dead blobs that were seen at a moment or before it, zero for
// all of them, until so many bytes are gone, 0 for all of them too. Where removals
// are late, none that died lately are: no disk of this machine is short of space by them.
func (b *Blobs) SweepDead(ctx context.Context, rows Store, before time.Time, bytes int64) (removed int, err error) {
	if b.delay > 0 && before.IsZero() {
		return 0, nil
	}
	q, freed := DeadQuery{Before: before}, int64(0)
	for {
		list, err := rows.Dead(ctx, q, sweepBatch)
		if err != nil || len(list) == 0 {
			return removed, err
		}
		n, size, err := b.remove(ctx, rows, list)
		removed, freed = removed+n, freed+size
		if err != nil || bytes > 0 && freed >= bytes {
			return removed, err
		}
		q.After = list[len(list)-1].Hash
	}
}

// remove removes dead blobs that nobody holds, and returns how many and how large
// they were. That it does is in the rows first: another process that is about to refer
// to one finds it there, also where this one ends before it is done.
func (b *Blobs) remove(ctx context.Context, rows Store, list []DeadBlob) (removed int, freed int64, err error) {
	release, ok := b.lockRemoval()
	if !ok {
		return 0, 0, nil
	}
	defer release()
	sizes := make(map[Hash]int64, len(list))
	free := make([]Hash, 0, len(list))
	for _, d := range list {
		if !b.startRemoval(d.Hash) {
			continue
		}
		defer b.endRemoval(d.Hash) // when the rows know of it
		sizes[d.Hash] = d.Size
		free = append(free, d.Hash)
	}
	started, err := rows.StartDeletion(ctx, free)
	if err != nil {
		return 0, 0, err
	}
	var gone []Hash
	for _, hash := range started {
		if err = ctx.Err(); err == nil && b.mayRemove != nil {
			err = b.mayRemove()
		}
		if err != nil {
			break
		}
		if err = b.store.Remove(hash); err != nil {
			break
		}
		gone = append(gone, hash)
		freed += sizes[hash]
	}
	ctx = context.WithoutCancel(ctx)
	if b.delay > 0 {
		return len(gone), freed, errors.Join(err, rows.EndDeletion(ctx, gone, time.Now()))
	}
	return len(gone), freed, errors.Join(err, rows.DropDead(ctx, gone))
}

// FinishDeletions removes the blobs whose deletion was started and not finished: the
// process ended on the way, or the disk failed.
func (b *Blobs) FinishDeletions(ctx context.Context, rows Store) error {
	for q := (DeadQuery{Deleting: true}); ; {
		list, err := rows.Dead(ctx, q, sweepBatch)
		if err != nil || len(list) == 0 {
			return err
		}
		if _, _, err := b.remove(ctx, rows, list); err != nil {
			return err
		}
		q.After = list[len(list)-1].Hash
	}
}

// findDead adds the blobs to the dead ones that no row tells of: a process ended
// between making one and storing its row, or between the removal of both.
func (b *Blobs) findDead(ctx context.Context, rows Store, now time.Time) error {
	var found []DeadBlob
	err := b.store.Walk(ctx, func(hash Hash, size func() (int64, error)) error {
		if b.isHeld(hash) {
			return nil
		}
		used, err := rows.HasBlob(ctx, hash)
		if err != nil || used {
			return err
		}
		bytes, err := size()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it went meanwhile
		}
		if err != nil {
			return err
		}
		if found = append(found, DeadBlob{Chunk: Chunk{hash, bytes}, Since: now}); len(found) < sweepBatch {
			return nil
		}
		err = rows.AddDead(ctx, found)
		found = found[:0]
		return err
	})
	if err != nil {
		return err
	}
	return rows.AddDead(ctx, found)
}

// othersUnfinished is how long what others began to write is left alone.
const othersUnfinished = 24 * time.Hour

// Recover removes, when a process starts, what earlier ones left: the one that removes any, and where others write
// too, only what is old.
func (b *Blobs) Recover(ctx context.Context, rows Store, removes, shared bool) error {
	if !removes {
		return nil
	}
	before := time.Now()
	if shared && b.delay > 0 {
		before = before.Add(-othersUnfinished)
	}
	if _, err := b.RemoveUnfinished(before); err != nil {
		return err
	}
	return b.FinishDeletions(ctx, rows)
}

// RemoveUnfinished removes what unfinished writes left before a moment, and
// returns how many those were. At the start of the one process that removes any, all
// are unfinished.
func (b *Blobs) RemoveUnfinished(before time.Time) (removed int, err error) {
	release, ok := b.lockRemoval()
	if !ok {
		return 0, nil
	}
	defer release()
	return b.store.RemoveUnfinished(before)
}
