package disk

import (
	"crypto/rand"
	"os"
	"path/filepath"
)

// NewMark returns a name for a folder that no other has, by which what is elsewhere knows it again.
func NewMark() string { return rand.Text() }

// WriteMark writes a mark into a file, so that it lasts.
func WriteMark(path, mark string) error {
	if err := os.WriteFile(path, []byte(mark+"\n"), 0o600); err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(path))
}
