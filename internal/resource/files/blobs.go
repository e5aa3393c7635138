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
	"sync"
	"time"

	"ql/internal/fault"
)

// Blobs keeps immutable pieces of content in a folder, named by their hash. A
// blob is written before the row that refers to it, and removed after the last
// such row: rows never point to nothing, and a blob without a row does no harm.
type Blobs struct {
	root *os.Root

	// sweeping keeps a blob from being removed between the moment that a write
	// finds it there and the moment that its row is stored.
	sweeping sync.RWMutex
	mu       sync.Mutex
	idle     map[Hash]time.Time // when a sweep first saw no row refer to it
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
	b := &Blobs{root: root, idle: map[Hash]time.Time{}}
	if err := b.makeFolders(); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return b, nil
}

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

// put writes a blob, and returns when it is on the disk. Where the disk is full
// nothing is left behind. b.sweeping is held for reading.
func (b *Blobs) put(content []byte) (Chunk, error) {
	chunk, err := b.write(content)
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

func (b *Blobs) write(content []byte) (Chunk, error) {
	chunk := Chunk{Hash: sha256.Sum256(content), Size: int64(len(content))}
	name := blobName(chunk.Hash)
	folder := path.Dir(name)
	if _, err := b.read(chunk, nil); err == nil {
		// It is as good as new, also to the sweep of another process; and who made
		// it may not have come so far as to sync.
		now := time.Now()
		return chunk, errors.Join(b.root.Chtimes(name, now, now), b.sync(folder))
	}
	temporary := path.Join(folder, temporaryPrefix+rand.Text())
	f, err := b.root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return chunk, err
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
		return chunk, errors.Join(err, b.root.Remove(temporary))
	}
	return chunk, b.sync(folder)
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

// Sweep removes the blobs that no row has referred to for at least grace, and
// what unfinished writes left as long ago. It returns how many it removed.
func (b *Blobs) Sweep(ctx context.Context, rows Rows, now time.Time, grace time.Duration) (removed int, err error) {
	err = fs.WalkDir(b.root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		gone, err := b.sweep(ctx, rows, name, e, now.Add(-grace), now)
		if gone {
			removed++
		}
		return err
	})
	return removed, err
}

// sweep removes one file where its time has come.
func (b *Blobs) sweep(ctx context.Context, rows Rows, name string, e fs.DirEntry, before, now time.Time) (bool, error) {
	hash, ok := BlobHash(name)
	if !ok { // an unfinished write
		info, err := e.Info()
		if err != nil || info.ModTime().After(before) {
			return false, ignoreGone(err)
		}
		return true, b.root.Remove(name)
	}
	if !b.sweeping.TryLock() {
		return false, nil // never in the way of a write: the next sweep comes by
	}
	defer b.sweeping.Unlock()
	used, err := rows.HasBlob(ctx, hash)
	if err != nil {
		return false, err
	}
	// Another process may be about to refer to one that is new.
	info, err := e.Info()
	if err != nil {
		return false, ignoreGone(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	since, seen := b.idle[hash]
	switch {
	case used:
		delete(b.idle, hash)
		return false, nil
	case !seen:
		since = now
		b.idle[hash] = now
	}
	if since.After(before) || info.ModTime().After(before) {
		return false, nil
	}
	delete(b.idle, hash)
	return true, b.root.Remove(name)
}

func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
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
