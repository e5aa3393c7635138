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

func readKeyRing(name string) (keyRing, error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return keyRing{}, fmt.Errorf("%s: %w", name, errNoMasterKey)
	}
	if err != nil {
		return keyRing{}, fmt.Errorf("reading the master key: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	info, err := f.Stat()
	if err != nil {
		return keyRing{}, fmt.Errorf("reading the master key: %w", err)
	}
	if !info.Mode().IsRegular() {
		return keyRing{}, fmt.Errorf("the master key %s is no regular file", name)
	}
	if runtime.GOOS != "windows" {
		switch private, err := disk.Private(name, info.Mode()); {
		case err != nil:
			return keyRing{}, fmt.Errorf("reading the master key: %w", err)
		case !private:
			return keyRing{}, fmt.Errorf("the master key %s is open to others (mode %04o): make it 0600", name, info.Mode().Perm())
		}
	}
	text, err := io.ReadAll(io.LimitReader(f, maxMasterFile))
	if err != nil {
		return keyRing{}, fmt.Errorf("reading the master key: %w", err)
	}
	return parseKeyRing(name, string(text))
}

// keyRing is what a key file holds: the key that seals, and, while it is being rotated, those before
// that still open. After the first rotation it also holds what tokens are made of, which are known to
// others and stay the same.
type keyRing struct {
	keys   []MasterKey // the one that seals first
	tokens []byte      // nil where they are made of the key
}

const (
	// tokenPrefix starts the line of a key file that tokens are made of.
	tokenPrefix = "qltokens_"
	// mostKeys bounds the lines of a file.
	mostKeys = 8
)

func parseKeyRing(name, text string) (keyRing, error) {
	no := fmt.Errorf("%s is no master key: it has a line that starts with %s", name, masterPrefix)
	var r keyRing
	for i, line := range strings.Fields(text) {
		prefix := masterPrefix
		if i > 0 && strings.HasPrefix(line, tokenPrefix) {
			prefix = tokenPrefix
		}
		encoded, ok := strings.CutPrefix(line, prefix)
		raw, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
		switch {
		case !ok || err != nil || len(raw) != masterKeyLen || r.tokens != nil || len(r.keys) == mostKeys:
			return keyRing{}, no
		case prefix == tokenPrefix:
			r.tokens = raw
		default:
			r.keys = append(r.keys, MasterKey{redacted.Text(raw)})
		}
	}
	if len(r.keys) == 0 || len(r.keys) > 1 && r.tokens == nil {
		return keyRing{}, no
	}
	return r, nil
}

// text is what the file holds.
func (r keyRing) text() string {
	var b strings.Builder
	for _, k := range r.keys {
		b.WriteString(masterPrefix + base64.RawURLEncoding.EncodeToString([]byte(k.Text)) + "\n")
	}
	if r.tokens != nil {
		b.WriteString(tokenPrefix + base64.RawURLEncoding.EncodeToString(r.tokens) + "\n")
	}
	return b.String()
}

// newMasterKey makes a key.
func newMasterKey() MasterKey {
	raw := make([]byte, masterKeyLen)
	rand.Read(raw) // never fails
	return MasterKey{redacted.Text(raw)}
}

// makeMasterKey writes a new key, on disk before anything is sealed under it.
// Where another process was faster, its key is returned.
func makeMasterKey(name string) (keyRing, error) {
	r := keyRing{keys: []MasterKey{newMasterKey()}}
	err := writeKeyFile(name, r.text(), os.Link)
	if errors.Is(err, fs.ErrExist) {
		return readKeyRing(name)
	}
	if err != nil {
		return keyRing{}, fmt.Errorf("the master key %s cannot be made: %w: its folder must be there, and writable", name, err)
	}
	return r, nil
}

// writeKeyFile puts the whole file in place at once, on disk when it returns. With os.Link for install
// it never replaces one, and with os.Rename it does.
func writeKeyFile(name, text string, install func(from, to string) error) error {
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
	if err := install(temporary.Name(), name); err != nil {
		return err
	}
	return disk.SyncFolder(folder)
}

// CopyMasterKey copies the master key in a file, under which a store is sealed whose check is record, to another
// file, unless that has it already. Nil means that the store is sealed under none yet: then there may be no key.
func CopyMasterKey(from, to string, record []byte) error {
	err := CheckMasterKey(from, record)
	switch {
	case record == nil && errors.Is(err, errNoMasterKey):
		return nil
	case err != nil || from == to:
		return err
	}
	if _, err := os.Stat(to); err == nil {
		return CheckMasterKey(to, record)
	}
	ring, err := readKeyRing(from)
	if err != nil {
		return err
	}
	return writeKeyFile(to, ring.text(), os.Link)
}
