package ring

import (
	"errors"
	"os"
	"syscall"
)

// file is one whose writes go past the system's memory where the file system can do
// that: they would be written to the disk at once anyway.
type file struct {
	*os.File
	direct bool
}

func openFile(path string) (*file, error) {
	f, err := os.OpenFile(path, os.O_RDWR|syscall.O_DIRECT, 0)
	direct := !errors.Is(err, syscall.EINVAL)
	if !direct {
		f, err = os.OpenFile(path, os.O_RDWR, 0)
	}
	if err != nil {
		return nil, err
	}
	return &file{f, direct}, nil
}

// write returns when the bytes are on the disk. Some file systems let a file be
// opened so, and refuse the write.
func (f *file) write(b []byte, at int64) error {
	_, err := f.WriteAt(b, at)
	if errors.Is(err, syscall.EINVAL) && f.direct {
		if err := f.reopen(); err != nil {
			return err
		}
		_, err = f.WriteAt(b, at)
	}
	if err != nil {
		return err
	}
	for {
		if err := syscall.Fdatasync(int(f.Fd())); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// reopen opens the file for writes through the system's memory.
func (f *file) reopen() error {
	again, err := os.OpenFile(f.Name(), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	before := f.File
	f.File, f.direct = again, false
	return before.Close()
}

// alignedBuffer returns memory that starts at a page, as writes past the system's
// memory need it.
func alignedBuffer(n int) ([]byte, error) {
	return syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
}

func releaseBuffer(b []byte) error { return syscall.Munmap(b) }
