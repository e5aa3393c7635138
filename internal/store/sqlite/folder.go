package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"syscall"
)

// MakeFolder makes the data folder where it is missing, and closes one that is
// open to other users. It returns the permissions that it had, 0 where there was
// nothing to close, and whether they are the same still: a volume that belongs to
// another user cannot be closed, and what is in it is closed by itself. A folder
// that holds other people's things is not touched: who names one by mistake is
// told.
func MakeFolder(folder string) (was fs.FileMode, stays bool, err error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return 0, false, unusable(folder, err)
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
	if !isOurs(entries) {
		return 0, false, fmt.Errorf("the data folder %s is open to others (mode %04o) and holds other things: make it 0700, or name a folder of its own by --data", folder, mode)
	}
	return mode, os.Chmod(folder, 0o700) != nil, nil
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

// isOurs tells whether a folder is a data folder, or is there to become one.
func isOurs(entries []fs.DirEntry) bool {
	is := func(names ...string) func(fs.DirEntry) bool {
		return func(e fs.DirEntry) bool { return slices.Contains(names, e.Name()) }
	}
	// A disk of its own comes with lost+found.
	known := is("master.key", "lost+found")
	return slices.ContainsFunc(entries, is(fileName)) || !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !known(e) })
}
