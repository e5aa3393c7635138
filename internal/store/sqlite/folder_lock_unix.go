//go:build unix

package sqlite

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// shareFile takes a file with others that share it, and waits for one that has it
// alone.
func shareFile(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_SH) }

// unlockFile is the other end of lockFile and shareFile.
func unlockFile(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

// lockFile takes a file for this open of it alone, and reports false where
// another has it. The system lets go of it when the process ends.
func lockFile(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// lockFolder is lockFile for a folder. Some file systems lock none: those have nothing
// to close.
func lockFolder(path string) (taken bool, held io.Closer, err error) {
	f, err := os.Open(path)
	if err != nil {
		return false, nil, err
	}
	switch taken, err := lockFile(f); {
	case taken:
		return true, f, nil
	case err != nil: // as on file systems of other machines
		return true, nil, f.Close()
	}
	return false, nil, f.Close()
}
