package ring

import (
	"errors"
	"os"
	"syscall"
)

// file is one whose writes go past the system's memory where the file system
// can do that: they would be written to the disk at once anyway.
type file struct{ *os.File }

func openFile(path string) (*file, error) {
	f, err := os.OpenFile(path, os.O_RDWR|syscall.O_DIRECT, 0)
	if errors.Is(err, syscall.EINVAL) {
		f, err = os.OpenFile(path, os.O_RDWR, 0)
	}
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
	for {
		if err := syscall.Fdatasync(int(d.Fd())); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// alignedBuffer returns memory that starts at a page, as writes past the system's
// memory need it.
func alignedBuffer(n int) ([]byte, error) {
	return syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
}

func releaseBuffer(b []byte) error { return syscall.Munmap(b) }
