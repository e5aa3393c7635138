package files

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"ql/internal/fault"
)

// Blobs keeps immutable pieces of content in a folder, named by their hash. A
// blob is written before the row that refers to it, and removed after the last
// such row: rows never point to nothing, and a blob without a row does no harm.
type Blobs struct {
	root  *os.Root
	alone func() (release func(), ok bool)

	mu   sync.Mutex
	held map[Hash]*hold
}

// OpenBlobs opens a folder of blobs, which is made where it is missing.
func OpenBlobs(folder string) (*Blobs, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	b := &Blobs{root: root, held: map[Hash]*hold{}, alone: func() (func(), bool) { return func() {}, true }}
	if err := b.makeFolders(); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return b, nil
}

// RemoveAlone says how other processes are kept from relying on blobs that no row
// refers to, while some are removed: alone reports false where one does already.
// Without it no other process does. It is called before the blobs are used.
func (b *Blobs) RemoveAlone(alone func() (release func(), ok bool)) { b.alone = alone }

// makeFolders makes all folders that blobs may be in, so that no write has to.
func (b *Blobs) makeFolders() error {
	for i := range 256 {
		if err := b.root.Mkdir(hex.EncodeToString([]byte{byte(i)}), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return b.sync(".")
}

// Close lets go of the folder.
func (b *Blobs) Close() error { return b.root.Close() }

// blobName returns where a blob is: in one of 256 folders.
func blobName(hash Hash) string {
	name := hex.EncodeToString(hash[:])
	return path.Join(name[:2], name[2:])
}

// put writes a blob that a pin holds from then on, and returns when it is on the
// disk. Where the disk is full nothing is left behind.
func (b *Blobs) put(content []byte, p *pin) (Chunk, error) {
	chunk := Chunk{Hash: sha256.Sum256(content), Size: int64(len(content))}
	p.add(chunk.Hash)
	made, err := b.write(content, chunk)
	if made {
		p.made = append(p.made, chunk)
	}
	return chunk, storageFault(err)
}

// storageFault tells a disk that is full from an account that is: the account
// has room, and it is ours that has none.
func storageFault(err error) error {
	if err != nil && systemCode(err) == quotaExceeded {
		return fault.Busy(fault.StorageUnavailable, retryAfter, "the storage cannot be used at the moment").Because(err)
	}
	return err
}

// retryAfter is when one may try again to use a disk that is full.
const retryAfter = 5 * time.Second

// write writes a blob unless it is there, and reports whether it was not.
func (b *Blobs) write(content []byte, chunk Chunk) (made bool, err error) {
	name := blobName(chunk.Hash)
	folder := path.Dir(name)
	if _, err := b.read(chunk, nil); err == nil {
		return false, b.sync(folder) // who made it may not have come so far
	}
	temporary := path.Join(folder, temporaryPrefix+rand.Text())
	f, err := b.root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return false, err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = b.root.Rename(temporary, name)
	}
	if err != nil {
		return false, errors.Join(err, b.root.Remove(temporary))
	}
	return true, b.sync(folder)
}

// sync makes changes of a folder's entries last.
func (b *Blobs) sync(folder string) error {
	f, err := b.root.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// read appends a blob's bytes to content, checked against its name.
func (b *Blobs) read(chunk Chunk, content []byte) ([]byte, error) {
	f, err := b.root.Open(blobName(chunk.Hash))
	if err != nil {
		return nil, err
	}
	defer closeRead(f)
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

// sweepAtOnce is how many blobs are removed with one change of the rows.
const sweepAtOnce = 256

// Sweep removes the blobs that were dead for at least grace, and what unfinished
// writes left as long ago. Those that no row tells of count from now on. It
// returns how many it removed.
func (b *Blobs) Sweep(ctx context.Context, rows Rows, now time.Time, grace time.Duration) (removed int, err error) {
	if err := b.findDead(ctx, rows, now); err != nil {
		return 0, err
	}
	if err := rows.SeeDead(ctx, now); err != nil {
		return 0, err
	}
	removed, err = b.RemoveUnfinished(now.Add(-grace))
	if err != nil {
		return removed, err
	}
	n, err := b.SweepDead(ctx, rows, now.Add(-grace), 0)
	return removed + n, err
}

// SweepDead removes dead blobs that were seen at a moment or before it, zero for
// all of them, until so many bytes are gone, 0 for all of them too.
func (b *Blobs) SweepDead(ctx context.Context, rows Rows, before time.Time, bytes int64) (removed int, err error) {
	q, freed := DeadQuery{Before: before}, int64(0)
	for {
		list, err := rows.Dead(ctx, q, sweepAtOnce)
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
// they were.
func (b *Blobs) remove(ctx context.Context, rows Rows, list []DeadBlob) (removed int, freed int64, err error) {
	release, ok := b.alone()
	if !ok {
		return 0, 0, nil
	}
	defer release()
	var gone []Hash
	for _, d := range list {
		if err = ctx.Err(); err != nil {
			break
		}
		if !b.seize(d.Hash) {
			continue
		}
		defer b.yield(d.Hash) // when the rows know of it
		used, found := rows.HasBlob(ctx, d.Hash)
		if err = found; err != nil {
			break
		}
		if !used {
			if err = ignoreGone(b.root.Remove(blobName(d.Hash))); err != nil {
				break
			}
			removed++
			freed += d.Size
		}
		gone = append(gone, d.Hash)
	}
	return removed, freed, errors.Join(err, rows.DropDead(context.WithoutCancel(ctx), gone))
}

// findDead adds the blobs to the dead ones that no row tells of: a process ended
// between making one and storing its row, or between the removal of both.
func (b *Blobs) findDead(ctx context.Context, rows Rows, now time.Time) error {
	var found []DeadBlob
	err := b.walk(ctx, func(name string, e fs.DirEntry) error {
		hash, ok := BlobHash(name)
		if !ok || b.isHeld(hash) {
			return nil
		}
		used, err := rows.HasBlob(ctx, hash)
		if err != nil || used {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return ignoreGone(err)
		}
		if found = append(found, DeadBlob{Chunk: Chunk{hash, info.Size()}, Since: now}); len(found) < sweepAtOnce {
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

// RemoveUnfinished removes what unfinished writes left before a moment, and
// returns how many files those were. At the start of the one process that removes
// any, all are unfinished.
func (b *Blobs) RemoveUnfinished(before time.Time) (removed int, err error) {
	release, ok := b.alone()
	if !ok {
		return 0, nil
	}
	defer release()
	err = b.walk(context.Background(), func(name string, e fs.DirEntry) error {
		if !strings.HasPrefix(path.Base(name), temporaryPrefix) {
			return nil
		}
		info, err := e.Info()
		if err != nil || info.ModTime().After(before) {
			return ignoreGone(err)
		}
		removed++
		return ignoreGone(b.root.Remove(name))
	})
	return removed, err
}

// walk calls f with every file of the folder.
func (b *Blobs) walk(ctx context.Context, f func(name string, e fs.DirEntry) error) error {
	return fs.WalkDir(b.root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return ignoreGone(err)
		case e.IsDir():
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		}
		return f(name, e)
	})
}

func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// BlobName returns the name in the folder of the blob with this hash.
func BlobName(hash Hash) string {
	name := hex.EncodeToString(hash[:])
	return name[:2] + "/" + name[2:]
}

// BlobHash returns the hash of the blob with this name in the folder; false for
// what is none.
func BlobHash(name string) (hash Hash, ok bool) {
	folder, rest := path.Split(name)
	if len(folder) != 3 || len(rest) != 2*len(hash)-2 {
		return hash, false
	}
	_, err := hex.Decode(hash[:], []byte(folder[:2]+rest))
	return hash, err == nil
}
