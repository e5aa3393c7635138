package backup

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"ql/internal/sqlite"
)

// Problem is a file of the data folder that is missing or damaged.
type Problem struct {
	Name string `json:"name"`
	What string `json:"problem"`
}

// Incomplete is the error of a data folder, or of a backup, that lacks something.
type Incomplete struct {
	Problems []Problem
	Made     bool // a backup was made all the same
	Copy     bool // it is a backup that lacks it
}

// maxShown is how many files a message names.
const maxShown = 10

// Error names what is missing or damaged, and says what can be done.
func (e *Incomplete) Error() string {
	var text strings.Builder
	switch {
	case e.Copy:
		text.WriteString("the backup was made of a data folder that was not whole, and is not whole itself:")
	case e.Made:
		text.WriteString("the backup is not whole:")
	default:
		text.WriteString("the data folder is not whole, and no backup was made:")
	}
	for i, p := range e.Problems {
		if i == maxShown {
			fmt.Fprintf(&text, " and %d more;", len(e.Problems)-i)
			break
		}
		fmt.Fprintf(&text, " %s: %s;", p.Name, p.What)
	}
	switch {
	case e.Copy:
		text.WriteString(" --accept-damage restores what is in it")
	case e.Made:
		text.WriteString(" its manifest.json lists all of this")
	default:
		text.WriteString(" take these from an earlier backup, or add --keep-going to back up the rest")
	}
	return text.String()
}

var errMissing = errors.New("it is missing")

// problem notes something that is missing or damaged.
func (m *creator) problem(name string, err error) {
	m.to.manifest.Problems = append(m.to.manifest.Problems, Problem{Name: name, What: err.Error()})
}

// damagedError is a database that is damaged; what could be copied may be in the backup.
type damagedError struct {
	cause error
	added bool
}

func (e *damagedError) Error() string { return e.cause.Error() }
func (e *damagedError) Unwrap() error { return e.cause }

// asDamage tells the errors of a damaged database from all others.
func asDamage(name string, err error) error {
	var e *sqlite.Error
	if errors.As(err, &e) && e.IsUnreadable() {
		return &damagedError{cause: err}
	}
	return fmt.Errorf("backup of %s: %w", name, err)
}

// checkFile looks for damage in the whole file of a database.
func checkFile(ctx context.Context, at string) (err error) {
	c, err := sqlite.Open(at, sqlite.Config{Busy: busy, Temporary: 1 << 30})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	s, _, err := c.Prepare(ctx, "PRAGMA quick_check(1)")
	if err != nil {
		return err
	}
	defer s.Close()
	row, err := s.Step(ctx)
	if err != nil {
		return err
	}
	if row {
		if found := string(s.Text(0)); found != "ok" {
			return errors.New("it is damaged: " + strings.Join(strings.Fields(found), " "))
		}
	}
	return nil
}

// checkLog looks for damage in the log of a database. Somebody may write to it
// meanwhile: what is no damage is not found a second time.
func checkLog(at string) error {
	err := sqlite.CheckWAL(at)
	var damage *sqlite.WALDamageError
	if !errors.As(err, &damage) {
		return nil // of what cannot be read SQLite tells
	}
	if again := sqlite.CheckWAL(at); again == nil || again.Error() != err.Error() {
		return nil
	}
	return err
}
