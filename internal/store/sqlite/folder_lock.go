package sqlite

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// lockName is the file in the data folder that the one server process locks.
const lockName = "ql.lock"

// InUse is the error of a data folder that another server process has.
type InUse struct {
	Folder  string
	Process int // its number, 0 where it is not known
}

// Error names the folder and the process.
func (e *InUse) Error() string {
	who := "another server process"
	if e.Process != 0 {
		who = fmt.Sprintf("the server process %d", e.Process)
	}
	return fmt.Sprintf("the data folder %s is in use by %s", e.Folder, who)
}

// ownership is a data folder that this process has: its lock file, and the folder
// itself, since a file may be removed by who thinks that it was left behind.
type ownership struct {
	file   *os.File
	folder io.Closer // nil where folders cannot be locked
}

// Close gives the folder back.
func (o *ownership) Close() error {
	err := o.file.Close()
	if o.folder != nil {
		err = errors.Join(err, o.folder.Close())
	}
	return err
}

// isThere tells whether the lock file is still where others look for it.
func (o *ownership) isThere() bool {
	own, err := o.file.Stat()
	if err != nil {
		return true // nothing can be said of it
	}
	there, err := os.Stat(o.file.Name())
	return err == nil && os.SameFile(own, there)
}

// lock takes the data folder for this process, until it is closed.
func lock(folder string) (_ *ownership, err error) {
	f, err := os.OpenFile(filepath.Join(folder, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	o := &ownership{file: f}
	defer func() {
		if err != nil {
			err = errors.Join(err, o.Close())
		}
	}()
	taken, err := lockFile(f)
	if err == nil && taken {
		taken, o.folder, err = lockFolder(folder)
	}
	if err != nil {
		return nil, err
	}
	if !taken {
		return nil, &InUse{Folder: folder, Process: processIn(f)}
	}
	return o, writeProcess(f)
}

func processIn(f *os.File) int {
	text := make([]byte, 20)
	n, _ := f.ReadAt(text, 0) // it only serves the message
	process, err := strconv.Atoi(strings.TrimSpace(string(text[:n])))
	if err != nil {
		return 0
	}
	return process
}

func writeProcess(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// Own takes the data folder as a server does, until what it returns is closed.
// Where a server has it, the error is an *InUse.
func Own(folder string) (io.Closer, error) {
	folder, err := prepareFolder(folder)
	if err != nil {
		return nil, err
	}
	return lock(folder)
}

// TryLock takes a file for this open of it alone, until it is closed, and reports
// false where another has it.
func TryLock(f *os.File) (bool, error) { return lockFile(f) }
