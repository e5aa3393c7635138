package sqlite

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/windows"
)

// shareFile takes a file with others that share it, and waits for one that has it
// alone.
func shareFile(f *os.File) error {
	at := windows.Overlapped{OffsetHigh: 1}
	return windows.LockFileEx(windows.Handle(f.Fd()), 0, 0, 1, 0, &at)
}

// unlockFile is the other end of lockFile and shareFile.
func unlockFile(f *os.File) error {
	at := windows.Overlapped{OffsetHigh: 1}
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &at)
}

// lockFile takes a file for this open of it alone, and reports false where
// another has it. The system lets go of it when the process ends.
func lockFile(f *os.File) (bool, error) {
	// A byte far behind the end: what the file says stays readable.
	at := windows.Overlapped{OffsetHigh: 1}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}

// lockFolder locks nothing: here nobody removes a file that is open.
func lockFolder(string) (taken bool, held io.Closer, err error) { return true, nil, nil }
