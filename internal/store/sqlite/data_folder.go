package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"

	"ql/internal/store"
)

// MakeFolder makes the data folder where it is missing, and closes one that is
// open to other users. It returns the permissions that it had, 0 where there was
// nothing to close, and whether they are the same still: a volume that belongs to
// another user cannot be closed, and what is in it is closed by itself. A folder
// that holds other people's things is not touched: who names one by mistake is
// told. So is who names one that has lost its store.
func MakeFolder(folder string) (was fs.FileMode, stays bool, err error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return 0, false, unusable(folder, err)
	}
	if err := checkNew(folder); err != nil {
		return 0, false, err
	}
	info, err := os.Stat(folder)
	if err != nil {
		return 0, false, unusable(folder, err)
	}
	mode := info.Mode().Perm()
	if mode&0o077 == 0 || runtime.GOOS == "windows" {
		return 0, false, nil
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return 0, false, unusable(folder, err)
	}
	if !isDataFolder(entries) {
		return 0, false, fmt.Errorf("the data folder %s is open to others (mode %04o) and holds other things: make it 0700, or name a folder of its own by --data", folder, mode)
	}
	return mode, os.Chmod(folder, 0o700) != nil, nil
}

// HasStore tells whether a store is in a data folder. Where there is none, and what
// accounts own is there, that is an error.
func HasStore(folder string) (bool, error) {
	if _, err := os.Stat(filepath.Join(folder, store.Elsewhere)); err == nil {
		return true, nil // which is in a database elsewhere
	}
	// What else is wrong with it is found when it is opened.
	if _, err := os.Stat(filepath.Join(folder, FileName)); errors.Is(err, fs.ErrNotExist) {
		return false, checkOrphans(folder)
	}
	return true, nil
}

// checkNew refuses a folder in which a new store would take over what another
// has left.
func checkNew(folder string) error {
	_, err := HasStore(folder)
	return err
}

// The folders in a data folder that hold what the store tells the owners of.
const (
	AccountFolder = "accounts" // databases
	BlobFolder    = "blobs"    // contents of files
	// CopyFolder has copies of databases that last elsewhere: it may go at any time.
	CopyFolder = "copies"
)

var ownedFolders = []struct{ folder, holds string }{{AccountFolder, "databases"}, {BlobFolder, "files"}}

// checkOrphans refuses a folder that holds what accounts own, and no store that says
// whose it is. The accounts of a new store would get the numbers of those before,
// and with them what they own.
func checkOrphans(folder string) error {
	for _, b := range ownedFolders {
		held, err := HoldsFiles(filepath.Join(folder, b.folder))
		if err != nil {
			return unusable(folder, err)
		}
		if held {
			return fmt.Errorf("the data folder %s holds %s of accounts, in %s, and the store that says whose they are is missing: put %s back, or restore a backup to another folder; to begin anew, move %s away first",
				folder, b.holds, b.folder, FileName, folder)
		}
	}
	return nil
}

// HoldsFiles tells whether there is a file in a folder or below it.
func HoldsFiles(folder string) (held bool, err error) {
	err = filepath.WalkDir(folder, func(_ string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case e.IsDir():
			return nil
		}
		held = true
		return fs.SkipAll
	})
	return held, err
}

// unusable says why a folder cannot be the data folder, without the system call
// that found it out.
func unusable(folder string, err error) error {
	var at *fs.PathError
	if !errors.As(err, &at) {
		return fmt.Errorf("the data folder %s cannot be used: %w", folder, err)
	}
	if errors.Is(err, syscall.ENOTDIR) {
		return fmt.Errorf("the data folder %s cannot be made: %s is a file, and no folder: name another by --data", folder, at.Path)
	}
	return fmt.Errorf("the data folder %s cannot be used: %s: %w", folder, at.Path, at.Err)
}

// isDataFolder tells whether a folder is a data folder, or is there to become one.
func isDataFolder(entries []fs.DirEntry) bool {
	is := func(names ...string) func(fs.DirEntry) bool {
		return func(e fs.DirEntry) bool { return slices.Contains(names, e.Name()) }
	}
	// A disk of its own comes with lost+found.
	known := is("master.key", "lost+found")
	return slices.ContainsFunc(entries, is(FileName, store.Elsewhere)) || !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !known(e) })
}
