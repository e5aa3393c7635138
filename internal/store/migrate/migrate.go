// Package migrate reads the numbered steps by which a store's schema grows, and
// says which of them a store still needs. It speaks to no database: each store
// runs the steps in its own way, one transaction each, under the same numbers.
package migrate

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strconv"
)

// Step is one numbered change of the schema.
type Step struct {
	Number int
	Name   string // the file's, without its number and ending
	SQL    string
}

// fileName is the form of a step's file: 00001_accounts.sql.
var fileName = regexp.MustCompile(`^(\d{5})_([a-z0-9_]+)\.sql$`)

// Load reads the steps of a folder, which must be numbered from 1 without gaps.
func Load(files fs.FS, folder string) ([]Step, error) {
	entries, err := fs.ReadDir(files, folder) // sorted by name, so by number
	if err != nil {
		return nil, err
	}
	steps := make([]Step, 0, len(entries))
	for _, e := range entries {
		parts := fileName.FindStringSubmatch(e.Name())
		if parts == nil {
			return nil, fmt.Errorf("migrations: %s is not named like 00001_name.sql", e.Name())
		}
		number, err := strconv.Atoi(parts[1])
		if err != nil {
			return nil, err
		}
		if want := len(steps) + 1; number != want {
			return nil, fmt.Errorf("migrations: %s stands where number %d is due", e.Name(), want)
		}
		text, err := fs.ReadFile(files, path.Join(folder, e.Name()))
		if err != nil {
			return nil, err
		}
		steps = append(steps, Step{Number: number, Name: parts[2], SQL: string(text)})
	}
	return steps, nil
}

// NewerError is the error of a store that a newer program has changed.
type NewerError struct {
	Version int // the store's
	Known   int // the program's newest
}

// Error says what to do.
func (e *NewerError) Error() string {
	return fmt.Sprintf("the store was made by a newer version of this program: its schema is number %d, and this program knows up to %d; start the newer version, or restore the copy that it made before it changed the store", e.Version, e.Known)
}

// Pending returns the steps that a store at a version still needs; 0 is an
// empty store.
func Pending(steps []Step, version int) ([]Step, error) {
	if version < 0 || version > len(steps) {
		return nil, &NewerError{Version: version, Known: len(steps)}
	}
	return steps[version:], nil
}
