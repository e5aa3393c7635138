// Package relational keeps what the service stores as rows of tables: the statements, and
// what their rows mean. How statements are run, and when changes last, is left to an
// engine, such as store/sqlite or store/postgres. What the tables are is in the
// migrations of each engine; what the stores promise is written down by the interfaces
// that they implement and proved by storetest.
//
// A statement is written once, in the SQL that all engines have. Parameters are ? or ?1.
// Truth is 1 or 0, moments are microseconds since 1970 in UTC, and what is missing is null.
//
// Transactions never leave the package and its engine: each method is one whole change.
package relational

import (
	"context"
	"errors"
	"sync/atomic"

	"ql/internal/account"
	"ql/internal/audit"
	"ql/internal/store"
)

// Engine runs reads and writes of a store. Its methods are safe for concurrent use.
type Engine interface {
	// Read runs f, which only reads. It sees all that was committed before.
	Read(ctx context.Context, f func(Tx) error) error
	// Write makes a change and returns when it lasts. Where ctx ends first, nothing was
	// changed. The change may be run more than once, each time as if it had not been
	// before, and sees what others changed wholly or not at all.
	Write(ctx context.Context, f func(Tx) error) error
	// WriteLocking is Write for a change that locks each row before it goes by what that says, and keeps
	// others waiting only by that: what its statements see may be of several moments.
	WriteLocking(ctx context.Context, f func(Tx) error) error
	// WriteFreeing is Write for a change that makes room, and needs some itself.
	WriteFreeing(ctx context.Context, f func(Tx) error) error
	// Freed says that what a change let go of is removed.
	Freed()
}

// Store has the stores of an engine.
type Store struct {
	engine   Engine
	ids      *IDs
	together *together // nil where each job is stored by itself
}

// New returns the stores of an engine, whose jobs have ids of a kind.
func New(e Engine, ids *IDs) *Store { return &Store{engine: e, ids: ids} }

// Aggregate returns the stores by the interfaces that they implement. What is the engine's
// own is left out.
func (s *Store) Aggregate() store.Store {
	return store.Store{
		Accounts:   s.Accounts(),
		Audit:      s.Audit(),
		Jobs:       s.Jobs(),
		Changes:    s.Jobs(),
		Queue:      s.Queue().Parts(),
		Members:    s.Members(),
		Duties:     s.Members(),
		Schedules:  s.Schedules(),
		Deliveries: s.Deliveries(),
		Mails:      s.Mails(),
		Files:      s.Files(),
		Shares:     s.Shares(),
		Machines:   s.Machines(),
		Sessions:   s.Sessions(),
		Buckets:    s.Buckets(),
		Allotments: s.Allotments(),
		SignIns:    s.SignIns(),
		Usage:      s.Usage(),
		Databases:  s,
		Shipped:    s.Shipped(),
	}
}

func (s *Store) read(ctx context.Context, f func(tx) error) error { return s.engine.Read(ctx, f) }

func (s *Store) write(ctx context.Context, f func(tx) error) error { return s.engine.Write(ctx, f) }

func (s *Store) writeFreeing(ctx context.Context, f func(tx) error) error {
	return s.engine.WriteFreeing(ctx, f)
}

// Conn is a connection of an engine in the hands of one read or write.
type Conn interface {
	// Exec runs a statement and returns how many rows it changed.
	Exec(ctx context.Context, sql string, args []any) (changed int64, err error)
	// ExecLast is Exec for a statement whose outcome is not needed as long as it changes a row. It may be queued, and is run
	// before any other then, at the latest with the end of the change: where it comes to change none, all is undone and run
	// again, and nothing is queued.
	ExecLast(ctx context.Context, sql string, args []any) (changed int64, queued bool, err error)
	// ExecRows runs a statement that inserts rows, and returns how many it did. The values of a row follow those of the
	// one before; there are as many rows as RowsAtOnce has returned.
	ExecRows(ctx context.Context, in *Inserts, values []Value) (stored int64, err error)
	// RowsAtOnce is how many of so many rows are inserted at once.
	RowsAtOnce(rows int) int
	// Insert runs a statement that inserts one row, and returns the number that the
	// column key was given.
	Insert(ctx context.Context, sql, key string, args []any) (number int64, err error)
	// Query calls f with rows that a statement gives, until it returns false. A row is
	// valid during the call.
	Query(ctx context.Context, sql string, args []any, f func(Row) (more bool)) error
	// Snapshot has all that f reads be as it is at one moment.
	Snapshot(ctx context.Context, f func() error) error
	// ChangesAccount says whose account, and what belongs to it, the statements change that follow, until it is taken
	// back; 0 is one that is new. Of others it is not known whose they are.
	ChangesAccount(a account.ID) (takeBack func())
	// ChangesFiles says whose files the statements change that follow, until it is taken
	// back, and whether those of the site are among them. Of others it is not known
	// whose they are.
	ChangesFiles(a account.ID, site bool) (takeBack func())
}

// RowsConn is a Conn that takes the rows of a statement as arrays.
type RowsConn interface {
	Conn
	// QueryRows is Query for a statement with a parameter for each column of rows, whose type it says: an array. The values of
	// a row follow those of the one before; there are as many rows as RowsAtOnce has returned.
	QueryRows(ctx context.Context, sql string, values []Value, columns int, f func(Row) (more bool)) error
}

// What a statement locks until the end of its transaction, where others could change that meanwhile. An engine with
// one writer takes it for a comment.
const (
	LockBegin, LockEnd = "/* FOR ", " */"

	lockKey      = " /* FOR KEY SHARE */"                  // others may change the row, but not remove it
	lockShare    = " /* FOR SHARE */"                      // others may not change the row
	lockJobs     = " /* FOR UPDATE OF jobs */"             // waits for who has locked one
	lockFreeJobs = " /* FOR UPDATE OF jobs SKIP LOCKED */" // leaves out what another has locked
)

// Row is the current row of a query. What is null is 0, or no bytes.
type Row interface {
	Int(i int) int64
	Text(i int) []byte
	Blob(i int) []byte
	Null(i int) bool
}

// Session is a connection, and what changes by it must know.
type Session struct {
	Conn  Conn
	IDs   *IDs
	Actor audit.Actor                     // who makes changes whose context names nobody
	Grown func(a account.ID, bytes int64) // told by how many bytes an account's records grow; nil for nobody

	// SetsErrorCodes says that the codes of jobs' errors are set by who stores the errors: the table
	// does not find them itself.
	SetsErrorCodes bool

	// Elsewhere are counts of jobs for other members; nil where each is counted.
	Elsewhere *ElsewhereCounts

	// MinReader selects the change of the schema that a program must know to join; "" where all members have the
	// same program.
	MinReader string

	// Old says what a store of an earlier version does not have.
	Old struct{ NoAudit, NoRequests bool }

	// Node is shared by the connections of a store that change it beside each other; may be nil where there is one.
	Node *Node
	// Beside says that another connection of the same process counts what accounts use, too: each has rows of its own, or one
	// would wait for the other.
	Beside bool

	member int64 // the node that the process has joined as; 0 before that
}

// Node is the node that a process has joined as.
type Node struct{ id atomic.Int64 }

// joined notes which node the process is.
func (s *Session) joined(id int64) {
	if s.member = id; s.Node != nil {
		s.Node.id.Store(id)
	}
}

// countsAs is in whose rows the session counts what accounts use.
func (s *Session) countsAs() int64 {
	id := s.member
	if s.Node != nil {
		id = s.Node.id.Load()
	}
	if s.Beside {
		return -1 - id
	}
	return id
}

// Kind is why an engine refused a statement.
type Kind int

// The kinds of errors that changes expect.
const (
	Duplicate Kind = iota + 1 // a row with the same unique value is there already
	Orphan                    // what a row belongs to is not there
	Damaged                   // the store is not whole where it was read
)

// Error is an error of an engine that changes may expect.
type Error struct {
	Kind Kind
	Err  error // the engine's
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the engine's error.
func (e *Error) Unwrap() error { return e.Err }

func isKind(err error, k Kind) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == k
}

// isDuplicate reports whether a row with the same unique value is there already.
func isDuplicate(err error) bool { return isKind(err, Duplicate) }

// isOrphan reports whether a row was refused since what it belongs to is not
// there.
func isOrphan(err error) bool { return isKind(err, Orphan) }

// isDamaged reports whether the store is not whole where it was read.
func isDamaged(err error) bool { return isKind(err, Damaged) }
