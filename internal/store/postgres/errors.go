package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"ql/internal/fault"
	"ql/internal/store/relational"

	"github.com/jackc/pgx/v5/pgconn"
)

// retryAfter is when one may try again to use a database that cannot be used.
const retryAfter = 5 * time.Second

// ErrClosed is the error of a store that was closed.
var ErrClosed error = fault.Retryable(fault.StorageUnavailable, retryAfter, "the service is stopping")

var unavailable = fault.Retryable(fault.StorageUnavailable, retryAfter, "the storage cannot be used at the moment")

// unknown is the error of a write whose commit was not answered, and that could not be asked for.
var unknown = fault.New(fault.OutcomeUnknown, "the storage failed while a change was on its way: whether it is done is not known; look again once the storage works, before you repeat it")

// codeOf is the SQLSTATE of an error, "" for one that is none of the server's.
func codeOf(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// isConflict reports whether a transaction stood in the way of another, and is to be run again.
func isConflict(err error) bool {
	code := codeOf(err)
	return code == "40001" || code == "40P01"
}

// isRefusal reports whether the server may have refused what was queued to the end of a change: a row that was to be changed
// is not there, or may not be as it is to be. Where the statement is run by itself, the change is told so.
func isRefusal(err error) bool {
	code := codeOf(err)
	return code == notAll || strings.HasPrefix(code, "23")
}

// isExpired reports whether the server has ended a transaction, and its connection, that stood still for too long.
func isExpired(err error) bool { return codeOf(err) == "25P03" }

// isLost reports whether the connection is, or the server is stopping.
func isLost(err error) bool {
	var network interface{ Timeout() bool }
	var connecting *pgconn.ConnectError
	code := codeOf(err)
	if code != "" {
		return strings.HasPrefix(code, "57P") || strings.HasPrefix(code, "08") || isExpired(err)
	}
	return errors.As(err, &connecting) || errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || pgconn.SafeToRetry(err)
}

// isLate reports whether the server has said nothing for too long.
func isLate(err error) bool {
	var network net.Error
	return errors.As(err, &network) && network.Timeout()
}

// expected says of an error what changes may expect of it.
func expected(err error) error {
	switch codeOf(err) {
	case "23505":
		return &relational.Error{Kind: relational.Duplicate, Err: err}
	case "23503":
		return &relational.Error{Kind: relational.Orphan, Err: err}
	}
	return err
}

// explain gives the errors that are none of the program's a code: the database is not there, is
// full, or is too slow.
func explain(err error) error {
	var told *fault.Error
	if err == nil || errors.As(err, &told) {
		return err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	code := codeOf(err)
	for _, class := range []string{"08", "53", "57", "58", "40", "55P03", "25006", "XX"} {
		if strings.HasPrefix(code, class) {
			return unavailable.WithCause(err)
		}
	}
	if code == "26000" || code == "42P05" { // a statement that is not there, or there twice
		return unavailable.WithCause(fmt.Errorf("--database leads to a pooler that gives connections away after each transaction: name the database itself by --database-direct: %w", err))
	}
	if isLost(err) {
		return unavailable.WithCause(err)
	}
	return err
}
