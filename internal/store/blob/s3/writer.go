package s3

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"io/fs"
	"os"

	"github.com/minio/minio-go/v7"

	"ql/internal/resource/files"
)

// Create implements files.BlobStore.
func (s *Store) Create() (files.BlobWriter, error) {
	f, err := os.CreateTemp(s.o.Spool, "write-*")
	if err != nil {
		return nil, err
	}
	// Without a name it is gone with the process.
	if err := os.Remove(f.Name()); err != nil {
		_ = f.Close()
		return nil, err
	}
	return &writer{store: s, spool: f, sum: sha256.New(), name: s.o.Prefix + temporaryPrefix + rand.Text()}, nil
}

// writer is a blob on its way: in a file of this machine while it is written, then an object under a name
// of its own, and a copy of that when it is published. So a visitor who sends slowly holds neither memory
// nor a request to the bucket, and little is left to do when the file changes.
type writer struct {
	store *Store
	spool *os.File // nil when it is sent
	sum   hash.Hash
	size  int64
	name  string // of the object
	sent  bool   // there may be such an object
}

// Write implements io.Writer.
func (w *writer) Write(p []byte) (int, error) {
	n, err := w.spool.Write(p)
	w.sum.Write(p[:n])
	w.size += int64(n)
	return n, err
}

// Finish implements files.BlobWriter.
func (w *writer) Finish() error {
	defer w.closeSpool()
	w.sent = true
	return w.store.send(w.name, io.NewSectionReader(w.spool, 0, w.size), w.size, files.Hash(w.sum.Sum(nil)), minio.PutObjectOptions{})
}

func (w *writer) closeSpool() {
	if w.spool != nil {
		_ = w.spool.Close() // what is in it was sent, or is given up
		w.spool = nil
	}
}

// Publish implements files.BlobWriter.
func (w *writer) Publish(hash files.Hash) error {
	s := w.store
	if !w.sent {
		return nil // it was
	}
	if err := s.do(context.Background(), transferTime, func(ctx context.Context) error {
		_, err := s.core.CopyObject(ctx, s.o.Bucket, w.name, s.o.Bucket, s.name(hash), nil, minio.CopySrcOptions{Bucket: s.o.Bucket, Object: w.name}, minio.PutObjectOptions{})
		return err
	}); err != nil {
		if errors.Is(err, fs.ErrNotExist) { // it was held for too long: the blob is not what is missing
			return unavailable(err)
		}
		return err
	}
	w.Discard()
	return nil
}

// Discard implements files.BlobWriter.
func (w *writer) Discard() {
	w.closeSpool()
	if w.sent {
		w.sent = false
		_ = w.store.remove(w.name) // where it stays, a sweep takes it
	}
}
