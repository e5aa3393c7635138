package record

import (
	"context"
	"errors"

	"ql/internal/job"
)

// Place is where a Log goes on.
type Place int64

// ErrNoRoom says that a log takes no record, or not so many.
var ErrNoRoom = errors.New("the log has no room for a record")

// ErrMayBeKept says that a log failed, and that a record may be found in it by the next
// process, unless it is stored before.
var ErrMayBeKept = errors.New("the log may hold a record that could not be kept")

// Log keeps records of finished jobs on the disk for the short while until they are
// stored: that takes less than storing each. Should the process end, the next one
// stores what it finds. Methods are safe for concurrent use.
type Log interface {
	// Append returns when records are on the disk, and where the log goes on after
	// them. With ErrNoRoom none is. After any other error nobody knows, until the log
	// is stored up to the place, which is 0 where it is certain that none is; those that
	// are stored already stay as they are.
	Append(records []*job.Record) (Place, error)
	// Store is Store.Record of all records up to a place, which are given in the order
	// in which they were appended, perhaps with others: the log needs them no longer,
	// nor those whose append failed.
	Store(ctx context.Context, records []job.Record, to Place) error
}
