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

// lock takes the data folder for this process, until the file is closed.
func lock(folder string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(folder, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	taken, err := lockFile(f)
	if err == nil && !taken {
		err = &InUse{Folder: folder, Process: processIn(f)}
	}
	if err == nil {
		err = writeProcess(f)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
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
