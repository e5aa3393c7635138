// Package dir keeps blobs in a folder, each a file that is named by its hash. Which
// blobs there should be, and when one may go, is left to resource/files.
package dir

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"ql/internal/resource/files"
)

// Store is a folder of blobs. It may be used by any number of goroutines.
type Store struct{ root *os.Root }

var _ files.BlobStore = (*Store)(nil)

// temporaryPrefix starts the names of files that are being written.
const temporaryPrefix = ".ql-write-"

// Open opens a folder of blobs, which is made where it is missing.
func Open(folder string) (*Store, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	s := &Store{root: root}
	if err := s.makeFolders(); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return s, nil
}

// OpenBlobs opens a folder as the blobs of files.
func OpenBlobs(folder string) (*files.Blobs, error) {
	s, err := Open(folder)
	if err != nil {
		return nil, err
	}
	return files.NewBlobs(s), nil
}

// makeFolders makes all folders that blobs may be in, so that no write has to.
func (s *Store) makeFolders() error {
	for i := range 256 {
		if err := s.root.Mkdir(hex.EncodeToString([]byte{byte(i)}), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return s.sync(".")
}

// Close lets go of the folder.
func (s *Store) Close() error { return s.root.Close() }

// Put implements files.BlobStore. Where the disk is full nothing is left behind.
func (s *Store) Put(hash files.Hash, content []byte) (made bool, err error) {
	name := Name(hash)
	if s.holds(name, content) {
		return false, s.sync(path.Dir(name)) // who made it may not have come so far
	}
	w, err := s.create(path.Dir(name))
	if err != nil {
		return false, err
	}
	_, err = w.Write(content)
	if err = errors.Join(err, w.Finish()); err == nil {
		err = w.Publish(hash)
	}
	if err != nil {
		w.Discard()
		return w.name == "", err
	}
	return true, nil
}

// holds reports whether a file has this content.
func (s *Store) holds(name string, content []byte) bool {
	f, err := s.root.Open(name)
	if err != nil {
		return false
	}
	defer closeRead(f)
	there := make([]byte, len(content))
	_, err = io.ReadFull(f, there)
	return err == nil && bytes.Equal(there, content)
}

// closeRead closes what was only read: nothing can be lost.
func closeRead(f *os.File) { _ = f.Close() }

// Open implements files.BlobStore.
func (s *Store) Open(hash files.Hash) (io.ReadCloser, error) {
	f, err := s.root.Open(Name(hash))
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Create implements files.BlobStore.
func (s *Store) Create() (files.BlobWriter, error) {
	w, err := s.create(".")
	if err != nil {
		return nil, err
	}
	return w, nil
}

func (s *Store) create(folder string) (*writer, error) {
	name := path.Join(folder, temporaryPrefix+rand.Text())
	f, err := s.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return &writer{store: s, File: f, name: name}, nil
}

// writer is a blob under a name of its own, until it is published.
type writer struct {
	*os.File
	store *Store
	name  string // "" when it is published
}

// Finish implements files.BlobWriter.
func (w *writer) Finish() error { return errors.Join(w.Sync(), w.Close()) }

// Publish implements files.BlobWriter.
func (w *writer) Publish(hash files.Hash) error {
	name := Name(hash)
	if w.name != "" { // else it was, and may not last yet
		// One that is there already has the same bytes, if it is sound.
		if err := w.store.root.Rename(w.name, name); err != nil {
			return err
		}
		w.name = ""
	}
	return w.store.sync(path.Dir(name))
}

// Discard implements files.BlobWriter.
func (w *writer) Discard() {
	_ = w.Close() // it is given up, or finished
	if w.name != "" {
		_ = w.store.root.Remove(w.name) // where it stays, a sweep takes it
	}
}

// sync makes changes of a folder's entries last.
func (s *Store) sync(folder string) error {
	f, err := s.root.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Remove implements files.BlobStore.
func (s *Store) Remove(hash files.Hash) error { return ignoreMissing(s.root.Remove(Name(hash))) }

// Walk implements files.BlobStore.
func (s *Store) Walk(ctx context.Context, f func(hash files.Hash, size func() (int64, error)) error) error {
	return s.walk(ctx, func(name string, e fs.DirEntry) error {
		hash, ok := Hash(name)
		if !ok {
			return nil
		}
		return f(hash, func() (int64, error) {
			info, err := e.Info()
			if err != nil {
				return 0, err
			}
			return info.Size(), nil
		})
	})
}

// RemoveUnfinished implements files.BlobStore.
func (s *Store) RemoveUnfinished(before time.Time) (removed int, err error) {
	err = s.walk(context.Background(), func(name string, e fs.DirEntry) error {
		if !strings.HasPrefix(path.Base(name), temporaryPrefix) {
			return nil
		}
		info, err := e.Info()
		if err != nil || info.ModTime().After(before) {
			return ignoreMissing(err)
		}
		removed++
		return ignoreMissing(s.root.Remove(name))
	})
	return removed, err
}

// walk calls f with every file of the folder.
func (s *Store) walk(ctx context.Context, f func(name string, e fs.DirEntry) error) error {
	return fs.WalkDir(s.root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return ignoreMissing(err)
		case e.IsDir():
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		}
		return f(name, e)
	})
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Name returns the name in the folder of the blob with this hash: in one of 256
// folders.
func Name(hash files.Hash) string {
	name := hex.EncodeToString(hash[:])
	return name[:2] + "/" + name[2:]
}

// Hash returns the hash of the blob with this name in the folder; false for what is
// none.
func Hash(name string) (hash files.Hash, ok bool) {
	folder, rest := path.Split(name)
	if len(folder) != 3 || len(rest) != 2*len(hash)-2 {
		return hash, false
	}
	_, err := hex.Decode(hash[:], []byte(folder[:2]+rest))
	return hash, err == nil
}
