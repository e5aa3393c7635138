package backup

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"
)

// The names in a backup that are no files of the data folder.
const (
	headerName   = "backup.json"   // stands first
	manifestName = "manifest.json" // stands last
)

// The files of a data folder that a backup may hold.
const (
	storeName     = "ql.db"
	keyName       = "master.key"
	blobFolder    = "blobs"
	accountFolder = "accounts"
)

// format is the version of the layout.
const format = 1

// header is what must be known before anything is restored.
type header struct {
	Format  int       `json:"format"`
	Program string    `json:"program"` // the version that made it
	Made    time.Time `json:"made_at"`
	Key     bool      `json:"master_key"` // it is in the backup
	// Check proves the master key that the store is sealed under; null where it
	// is sealed under none yet.
	Check []byte `json:"master_key_check"`
}

// Counts say what a backup holds.
type Counts struct {
	Accounts  int   `json:"accounts"` // that have databases
	Databases int   `json:"databases"`
	Blobs     int   `json:"blobs"`
	Files     int   `json:"files"` // of the backup
	Bytes     int64 `json:"bytes"` // of them
	// Interrupted is how many jobs ran while the databases of their account were
	// copied, and are ended in the backup.
	Interrupted int `json:"jobs_interrupted"`
}

// manifest proves that a backup is whole, or tells what it lacks.
type manifest struct {
	Counts   Counts    `json:"counts"`
	Files    []entry   `json:"files"`
	Problems []Problem `json:"problems,omitempty"`
}

type entry struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
	Hash string `json:"sha256"`
}

// maxHeader and maxManifest bound what is read of something that is no backup.
const (
	maxHeader   = 64 << 10
	maxManifest = 1 << 30
)

func encode(v any) ([]byte, error) {
	text, err := json.MarshalIndent(v, "", " ")
	return append(text, '\n'), err
}

// decode reads JSON of this package.
func decode(name string, r io.Reader, most int64, v any) error {
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return err
	}
	if int64(len(text)) > most {
		return fmt.Errorf("%s of the backup is longer than any that is made", name)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return &notBackupError{"the backup is damaged: it was changed since it was made, or not copied whole: " + name + " cannot be read", err}
	}
	return nil
}

// readHeader reads the header and refuses a layout of another version.
func readHeader(r io.Reader) (h header, err error) {
	if err := decode(headerName, r, maxHeader, &h); err != nil {
		return h, err
	}
	if h.Format != format {
		return h, fmt.Errorf("the backup has format %d, and this program reads %d", h.Format, format)
	}
	return h, nil
}

// isBackedUp reports whether a backup may hold a file of this name.
func isBackedUp(name string) bool {
	if !fs.ValidPath(name) || strings.Contains(name, `\`) {
		return false
	}
	top, below, nested := strings.Cut(name, "/")
	switch top {
	case storeName, keyName, headerName:
		return !nested
	case blobFolder, accountFolder:
		return nested && below != ""
	}
	return false
}
