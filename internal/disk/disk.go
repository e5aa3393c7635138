// Package disk makes what was done to a folder last, on the systems that can: the
// standard library has that for the bytes of files only.
package disk

import (
	"errors"
	"os"
	"runtime"
)

// SyncFolder returns when the names in a folder are on the disk, as they are now.
func SyncFolder(path string) error {
	if runtime.GOOS == "windows" { // folders cannot be flushed there
		return nil
	}
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
