//go:build !linux

package ring

import (
	"os"
)

// file is one whose writes are flushed.
type file struct{ *os.File }

func openFile(path string) (*file, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	return &file{f}, nil
}

// write returns when the bytes are on the disk.
func (d *file) write(b []byte, at int64) error {
	if _, err := d.WriteAt(b, at); err != nil {
		return err
	}
	return d.Sync()
}

func alignedBuffer(n int) ([]byte, error) { return make([]byte, n), nil }

func releaseBuffer([]byte) error { return nil }
