package sqlite

import (
	"errors"
	"fmt"
	"time"

	"ql/internal/fault"
	"ql/internal/sqlite"
	"ql/internal/store/relational"

	lib "modernc.org/sqlite/lib"
)

// retryAfter is when one may try again to use a store that cannot be used.
const retryAfter = 5 * time.Second

// ErrClosed is the error of a store that was closed.
var ErrClosed error = fault.Retryable(fault.StorageUnavailable, retryAfter, "the service is stopping")

// explain gives the errors of SQLite that are none of the program's a code: the
// disk is full or broken, or another process holds the store for too long. A
// write that got one of these left nothing behind. The store's file at path is named to
// whoever reads the cause.
func explain(path string, err error) error {
	var e *sqlite.Error
	var told *fault.Error
	if !errors.As(err, &e) || errors.As(err, &told) {
		return err
	}
	switch e.Primary() {
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		return unavailable.WithCause(damaged(path, err))
	case lib.SQLITE_BUSY, lib.SQLITE_FULL, lib.SQLITE_IOERR, lib.SQLITE_READONLY, lib.SQLITE_CANTOPEN,
		lib.SQLITE_NOMEM, lib.SQLITE_PROTOCOL:
		return unavailable.WithCause(fmt.Errorf("%s: %w", path, err))
	}
	return err
}

var unavailable = fault.Retryable(fault.StorageUnavailable, retryAfter, "the storage cannot be used at the moment")

// unknown is the error of a write that may be found done after a crash, and is not
// done before one.
var unknown = fault.New(fault.OutcomeUnknown, "the storage failed while a change was on its way to the disk: whether it is done is not known; look again once the storage works, before you repeat it")

// damaged is the error of a store that is no longer whole.
func damaged(path string, err error) error {
	return fmt.Errorf("the store %s is damaged (%w): restore it from a backup", path, err)
}

// expected says of an error what changes may expect of it.
func expected(err error) error {
	var e *sqlite.Error
	if err == nil || !errors.As(err, &e) {
		return err
	}
	switch {
	case e.Code == lib.SQLITE_CONSTRAINT_UNIQUE, e.Code == lib.SQLITE_CONSTRAINT_PRIMARYKEY:
		return &relational.Error{Kind: relational.Duplicate, Err: err}
	case e.Code == lib.SQLITE_CONSTRAINT_FOREIGNKEY:
		return &relational.Error{Kind: relational.Orphan, Err: err}
	case e.Primary() == lib.SQLITE_CORRUPT:
		return &relational.Error{Kind: relational.Damaged, Err: err}
	}
	return err
}

// isFull reports whether the disk had no room for all that was to be written.
func isFull(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Primary() == lib.SQLITE_FULL
}
