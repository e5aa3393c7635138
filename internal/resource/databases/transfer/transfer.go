// Package transfer brings databases in and out as files: whole ones as SQL, tables
// as CSV. It knows the formats and says on which line of a file something is wrong.
// What a statement may do, and that all of a file is committed or nothing, is the
// business of internal/resource/databases.
package transfer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"ql/internal/resource/databases"
	"ql/lang/value"
)

// Codes that stand in more than one place.
const (
	sqlError     = "sql_error"
	sqlDenied    = "sql_denied"
	notText      = "not_text"
	noSuchColumn = "no_such_column"
)

// statementTime is how long one statement of an import may take.
const statementTime = 30 * time.Second

// exec runs one statement of an import, within a time.
func exec(ctx context.Context, b *databases.Batch, sql string, args []value.Value) error {
	within, cancel := context.WithTimeout(ctx, statementTime)
	defer cancel()
	err := b.Exec(within, sql, args)
	switch {
	case errors.Is(err, databases.ErrRolledBack):
		return value.Errorf("transaction_ended", "the statement rolled the whole import back")
	case err != nil && within.Err() != nil && ctx.Err() == nil:
		return value.Exceeded("import_time", statementTime.Milliseconds(), "a statement of an import takes at most %s", statementTime)
	}
	return err
}

// atLine says on which line of an import an error is.
func atLine(line int, err error) error {
	var known *value.Error
	if !errors.As(err, &known) {
		return err
	}
	return &value.Error{Code: known.Code, Message: fmt.Sprintf("line %d: %s", line, known.Message), Data: known.Data, Limit: known.Limit}
}

// textReader reads the text of an import, without the mark of its byte order
// that some programs write.
func textReader(r io.Reader) (*bufio.Reader, error) {
	in := bufio.NewReader(r)
	const file = "SQLite format 3\x00"
	if start, err := in.Peek(len(file)); err == nil && string(start) == file {
		return nil, value.Errorf(notText, "this is a SQLite file: dump it first (sqlite3 FILE .dump > x.sql)")
	}
	const mark = "\uFEFF"
	if start, err := in.Peek(len(mark)); err == nil && string(start) == mark {
		_, _ = in.Discard(len(mark)) // it was seen
	}
	return in, nil
}
