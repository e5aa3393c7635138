package record

import (
	"context"
	"errors"

	"ql/internal/job"
)

// Position is an offset in a Log, behind the records that were appended before it.
type Position int64

// ErrNoRoom says that a log has no room for a record, or not for so many.
var ErrNoRoom = errors.New("the log has no room for a record")

// ErrOutcomeUnknown says that a log failed, and that the next process may find a record in
// it, unless that is stored before.
var ErrOutcomeUnknown = errors.New("the log failed and may hold the record")

// Log is a write-ahead log: it holds records of finished jobs on the disk until they are
// stored, since to append to it takes less than to store each. Should the process end,
// the next one stores what it finds. Methods are safe for concurrent use.
type Log interface {
	// Append returns when records are on the disk, and the position after them. With
	// ErrNoRoom none is. After any other error nobody knows, until the log is stored up
	// to the position, which is 0 where it is certain that none is; those that are stored
	// already stay as they are.
	Append(records []*job.Record) (Position, error)
	// Store is Store.Record of all records up to a position, which are given in the order
	// in which they were appended, perhaps with others. The log may drop them then, and
	// those whose append failed.
	Store(ctx context.Context, records []job.Record, to Position) error
}
