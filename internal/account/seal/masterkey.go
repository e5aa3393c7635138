package seal

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"ql/internal/disk"
	"ql/internal/redacted"
)

// MasterKey wraps everything that is sealed: 32 bytes.
type MasterKey struct{ redacted.Text }

const masterKeyLen = 32

// masterPrefix starts the one line of a key file, so that nobody takes another
// file for it.
const masterPrefix = "qlmaster_"

var errNoMasterKey = errors.New("there is no such master key file")

// maxMasterFile bounds what is read of a file that somebody named by mistake.
const maxMasterFile = 4 << 10

func readMasterKey(name string) (MasterKey, error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return MasterKey{}, fmt.Errorf("%s: %w", name, errNoMasterKey)
	}
	if err != nil {
		return MasterKey{}, fmt.Errorf("reading the master key: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	info, err := f.Stat()
	if err != nil {
		return MasterKey{}, fmt.Errorf("reading the master key: %w", err)
	}
	if !info.Mode().IsRegular() {
		return MasterKey{}, fmt.Errorf("the master key %s is no regular file", name)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" {
		return MasterKey{}, fmt.Errorf("the master key %s is open to others (mode %04o): make it 0600", name, mode)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxMasterFile))
	if err != nil {
		return MasterKey{}, fmt.Errorf("reading the master key: %w", err)
	}
	return parseMasterKey(name, string(text))
}

func parseMasterKey(name, text string) (MasterKey, error) {
	encoded, ok := strings.CutPrefix(strings.TrimSpace(text), masterPrefix)
	raw, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
	if !ok || err != nil || len(raw) != masterKeyLen {
		return MasterKey{}, fmt.Errorf("%s is no master key: it has one line that starts with %s", name, masterPrefix)
	}
	return MasterKey{redacted.Text(raw)}, nil
}

// makeMasterKey writes a new key, on disk before anything is sealed under it.
// Where another process was faster, its key is returned.
func makeMasterKey(name string) (MasterKey, error) {
	raw := make([]byte, masterKeyLen)
	rand.Read(raw) // never fails
	err := writeMasterKey(name, masterPrefix+base64.RawURLEncoding.EncodeToString(raw)+"\n")
	if errors.Is(err, fs.ErrExist) {
		return readMasterKey(name)
	}
	if err != nil {
		return MasterKey{}, fmt.Errorf("making the master key: %w", err)
	}
	return MasterKey{redacted.Text(raw)}, nil
}

// writeMasterKey puts the whole file in place at once and never replaces one.
func writeMasterKey(name, text string) error {
	folder := filepath.Dir(name)
	temporary, err := os.CreateTemp(folder, ".master-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temporary.Name()) }()
	_, err = temporary.WriteString(text)
	if err == nil {
		err = temporary.Sync()
	}
	if closeErr := temporary.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	if err := os.Link(temporary.Name(), name); err != nil {
		return err
	}
	return disk.SyncFolder(folder)
}
