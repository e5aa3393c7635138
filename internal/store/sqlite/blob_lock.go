package sqlite

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// blobLockName is the file in the data folder by which processes agree on when
// blobs may go. Who relies on blobs that no row may refer to, such as a command
// that stores files, or a backup, shares it. The server takes it alone while it
// removes some. What the server itself relies on it knows.
const blobLockName = "blobs.lock"

// BlobLock is that file, in the hands of a server.
type BlobLock struct {
	mu   sync.Mutex // to the system it is one lock, whoever takes it in this process
	file *os.File
}

// OpenBlobLock opens the lock of a data folder.
func OpenBlobLock(folder string) (*BlobLock, error) {
	f, err := openBlobLock(folder)
	if err != nil {
		return nil, err
	}
	return &BlobLock{file: f}, nil
}

func openBlobLock(folder string) (*os.File, error) {
	return os.OpenFile(filepath.Join(folder, blobLockName), os.O_RDWR|os.O_CREATE, 0o600)
}

// TryExclusive takes the lock from all other processes, until it is released. It
// reports false where one shares it.
func (l *BlobLock) TryExclusive() (release func(), ok bool) {
	l.mu.Lock()
	if taken, err := lockFile(l.file); err != nil || !taken {
		l.mu.Unlock()
		return nil, false
	}
	return func() {
		_ = unlockFile(l.file) // closing it would do as well
		l.mu.Unlock()
	}, true
}

// Close lets go of the file.
func (l *BlobLock) Close() error { return l.file.Close() }

// LockBlobsShared keeps the blobs of a data folder as they are until what it returns
// is closed.
func LockBlobsShared(folder string) (io.Closer, error) {
	f, err := openBlobLock(folder)
	if err != nil {
		return nil, err
	}
	if err := shareFile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
