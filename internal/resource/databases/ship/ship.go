// Package ship keeps the databases of accounts elsewhere than on this machine, whose files are copies:
// each change is added to a log before anybody sees it, what the log has gathered is merged into
// blobs, and a copy is made of both. One member of those that share the log is the home of an account,
// and changes its databases; others take that over when it is dead.
package ship

import (
	"context"
	"errors"
	"fmt"

	"ql/internal/account"
	"ql/internal/member"
	"ql/internal/resource/files"
)

// Home says that a member has the databases of an account.
type Home struct {
	Account account.ID
	Member  member.Member
	Epoch   int64 // grows each time that another member has them
}

// Part is what one or more changes of a database, one after the other, have made of it: pages as they
// are after the last of them.
type Part struct {
	First, Last int64 // the numbers of the changes, from 1 on
	Size        int64 // how many pages the database has after it
	// Content has the pages, sealed; nil where they are in Chunks, by their number.
	Content []byte
	Chunks  []files.Chunk
}

// Database is one that the log has.
type Database struct {
	Name string
	Last int64 // the number of its last change
	Size int64 // in pages
}

// Bytes is how large it is.
func (d Database) Bytes() int64 { return d.Size * pageSize }

// Errors of a Log.
var (
	// ErrNotHome says that a member has the databases of an account no longer: another has them, or it
	// was buried.
	ErrNotHome = errors.New("the member has the databases no longer")
	// ErrNotNext says that a change does not follow the last one that the log has.
	ErrNotNext = errors.New("the change does not follow the last one")
)

// ElsewhereError says that another member has the databases of an account.
type ElsewhereError struct {
	Account account.ID
	Member  member.Info
}

// Error names the node.
func (e *ElsewhereError) Error() string {
	return fmt.Sprintf("node %d has the databases of the account", e.Member.ID)
}

// Owner is whose databases they are.
func (e *ElsewhereError) Owner() int64 { return int64(e.Account) }

// NodeAddress is where that node takes the calls of others, "" for nowhere.
func (e *ElsewhereError) NodeAddress() string { return e.Member.Address }

// Incarnation is that node's.
func (e *ElsewhereError) Incarnation() int64 { return e.Member.Incarnation }

// Held is what a member has as a home.
type Held struct {
	Accounts int   // whose databases are there
	Unmerged int64 // bytes of their changes that are in the log and not yet in the bucket
}

// Log is the log of changes, with what they were merged into. Each method is one whole change, committed
// when it returns nil. Methods are safe for concurrent use.
type Log interface {
	// Claim makes a member the home of an account, unless another is that still lives: an
	// *ElsewhereError names that.
	Claim(ctx context.Context, id account.ID, m member.Member) (Home, error)
	// Leave ends a home, if it is one.
	Leave(ctx context.Context, h Home) error
	// Homes returns what each incarnation of a member has, of those that are a home.
	Homes(ctx context.Context) (map[int64]Held, error)
	// Databases returns those of an account, by name.
	Databases(ctx context.Context, id account.ID) ([]Database, error)
	// Database returns one of them, with a Last of 0 where there is none.
	Database(ctx context.Context, id account.ID, name string) (Database, error)
	// Append adds changes to those of a database; the first one makes it. ErrNotHome, ErrNotNext.
	Append(ctx context.Context, h Home, name string, p Part) error
	// Parts returns up to limit parts of a database behind a change, in their order.
	Parts(ctx context.Context, id account.ID, name string, after int64, limit int) ([]Part, error)
	// Merge puts a part in place of those that it is made of. ErrNotHome; ErrNotNext where there are
	// none from its first to its last change.
	Merge(ctx context.Context, h Home, name string, p Part) error
	// Drop removes a database. ErrNotHome.
	Drop(ctx context.Context, h Home, name string) error
}
