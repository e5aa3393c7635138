package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	store "ql/internal/store/sqlite"
)

// The names of folders that hold what is not finished begin so.
const (
	makingPrefix    = ".ql-backup-"
	restoringPrefix = ".restoring-"
)

// lockName is the file in such a folder that the run which made it keeps locked. The
// system lets go of it when the process ends, however that comes about.
const lockName = "lock"

// newStaging makes a folder for what is not finished. End removes it.
func newStaging(parent, prefix string) (work string, end func() error, err error) {
	work, err = os.MkdirTemp(parent, prefix)
	if err != nil {
		return "", nil, err
	}
	lock, err := os.OpenFile(filepath.Join(work, lockName), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(work))
	}
	end = func() error { return errors.Join(lock.Close(), os.RemoveAll(work)) }
	taken, err := store.TryLock(lock)
	if err == nil && !taken {
		err = fmt.Errorf("the folder %s was just taken by another run: try again", work)
	}
	if err != nil {
		return "", nil, errors.Join(err, end())
	}
	return work, end, nil
}

// removeStale removes the folders that runs left which ended before they were
// through, as by a power cut. Those of runs under way are locked, and stay; so does
// one of which it cannot be told. Before is called with each that is to go.
func removeStale(parent, prefix string, before func(work *os.Root) error) error {
	entries, err := os.ReadDir(parent)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), prefix) {
			err = errors.Join(err, removeIfStale(filepath.Join(parent, e.Name()), before))
		}
	}
	return err
}

func removeIfStale(work string, before func(*os.Root) error) error {
	root, err := os.OpenRoot(work)
	if err != nil {
		return nil // it is somebody else's, or gone
	}
	defer func() { _ = root.Close() }() // only read
	lock, err := root.OpenFile(lockName, os.O_RDWR, 0)
	if err != nil {
		return nil // likewise, or its run has just begun
	}
	defer func() { _ = lock.Close() }() // nothing was written
	if dead, err := store.TryLock(lock); err != nil || !dead {
		return err
	}
	if err := before(root); err != nil {
		return err
	}
	return os.RemoveAll(work)
}
