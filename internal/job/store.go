package job

import (
	"context"
	"errors"
	"time"

	"ql/internal/account"
	"ql/internal/principal"
)

// ErrNotFound says that there is no such job.
var ErrNotFound = errors.New("job not found")

// Store keeps records of jobs. Each method is one whole change, committed when
// it returns nil, and safe for concurrent use.
type Store interface {
	// Record stores records, in their order, all or none. Those whose account
	// is gone, and those whose ID is stored already, are left out. What the
	// others used is counted with them; see account/usage.
	Record(ctx context.Context, records []Record) error
	// ByID finds a job; ErrNotFound where there is none.
	ByID(ctx context.Context, id ID) (Record, error)
	// Summary is ByID without what the job made.
	Summary(ctx context.Context, id ID) (Summary, error)
	// List returns an account's jobs, those stored last first.
	List(ctx context.Context, a account.ID, q Query) ([]Listed, error)
	// ByRef finds a job of an account by its number; ErrNotFound where it has none.
	ByRef(ctx context.Context, a account.ID, ref int64) (Listed, error)
	// Called returns what a job was called with, and what it has used so far; ErrNotFound
	// for one that is gone. Of jobs of earlier versions there is neither.
	Called(ctx context.Context, a account.ID, ref int64) (Call, Cost, error)
	// CalledBytes is how many bytes Called returns.
	CalledBytes(ctx context.Context, a account.ID, ref int64) (int64, error)
	// History returns what a finished job is replayed from: what it was run with, and the parts
	// of its history, all sealed; none where it has none.
	History(ctx context.Context, a account.ID, ref int64) (spec []byte, parts [][]byte, err error)
	// Forget removes up to limit jobs of an account that were finished before a
	// moment, the oldest first, and returns how many.
	Forget(ctx context.Context, a account.ID, before time.Time, limit int) (int, error)
	// RecordBytes returns how many bytes the records of an account's finished jobs count
	// together, see Record.Bytes, and the sources of all its jobs, each once.
	RecordBytes(ctx context.Context, a account.ID) (int64, error)
	// Trim removes finished jobs of an account as long as it keeps more than most
	// bytes: up to limit, or fewer where they are large, about those first that
	// finished first. It returns how many; none where there is nothing to remove.
	Trim(ctx context.Context, a account.ID, most int64, limit int) (int, error)
	// SweepSources goes on with a sweep for sources that no job has: it looks at up to limit jobs. Done says that all have been looked
	// at, and that the next call begins anew. A source that no job had goes with the first sweep that begins a day later.
	SweepSources(ctx context.Context, sweep *SourceSweep, now time.Time, limit int) (done bool, err error)
}

// SourceSweep is how far one has come who looks for sources that no job has. Its zero value is the beginning.
type SourceSweep struct {
	Account account.ID     // whose are looked for
	Source  int64          // the last of its sources that are
	Unseen  map[int64]bool // those of which no job was seen
	Job     int64          // the last that was looked at
	Began   time.Time      // when the first was
}

// Changes is what who follows an account's jobs asks a store for.
type Changes interface {
	// After returns jobs of an account with numbers after one, in their order.
	After(ctx context.Context, a account.ID, ref int64, limit int) ([]Listed, error)
	// LastRef returns the number of an account's job that was stored last; 0 for none.
	LastRef(ctx context.Context, a account.ID) (int64, error)
	// Unfinished returns the marks of the jobs of an account that are not finished, by their
	// numbers: up to limit.
	Unfinished(ctx context.Context, a account.ID, limit int) (map[int64]Mark, error)
	// ByRef is that of the Store.
	ByRef(ctx context.Context, a account.ID, ref int64) (Listed, error)
}

// Mark is by which a change of a job that is not finished is known: it is another with each, also where
// the state is the same again.
type Mark struct {
	State   State
	Attempt int64
}

// Query is what a listing asks for.
type Query struct {
	State      State                // "" for all
	Credential principal.Credential // "" for all
	KeyID      account.NamedKeyID   // 0 for all
	Programs   []string             // names of published programs; none for all jobs
	Schedule   string               // that started them; "" for all
	Text       string               // in their names, in whatever case of a to z; "" for all
	ErrorCode  string               // of their errors; "" for all
	Convention Convention           // "" for all
	Since      time.Time            // created then or later; zero for all
	Until      time.Time            // created earlier; zero for all
	Limit      int                  // the most that are returned; below 1 nothing is
	// Before asks for those that follow this job of the account in the listing;
	// the zero ID for the first. After a job that is not there follows nothing.
	Before ID
}
