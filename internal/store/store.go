// Package store is what the service stores as one value: the stores that its packages
// declare, and what the process asks of whatever keeps them. A backend, such as
// store/sqlite, makes one; what each must do is in storetest.
//
// What a row means is left to the packages that declare the interfaces.
package store

import (
	"context"
	"time"

	"ql/internal/account"
	"ql/internal/account/usage"
	"ql/internal/admit"
	"ql/internal/audit"
	"ql/internal/job"
	"ql/internal/mail"
	"ql/internal/member"
	"ql/internal/record"
	"ql/internal/resource/databases/ship"
	"ql/internal/resource/files"
	"ql/internal/resource/machines"
	"ql/internal/resource/sessions"
	"ql/internal/resource/shares"
	"ql/internal/schedule"
	"ql/internal/signin"
	"ql/internal/webhook"
)

// Store is all that the service stores. Its parts share their transactions where
// their interfaces say that something is one change.
type Store struct {
	Backend

	Accounts     account.Store
	Audit        audit.Store // of who did what
	Versions     AccountVersions
	SiteVersions SiteVersions
	Jobs         job.Store
	Changes      job.Changes // of jobs, for who follows them
	Queue        job.Queue
	Members      member.Store
	Duties       member.Duties
	Log          record.Log // of jobs that ended, until they are stored
	Schedules    schedule.Store
	Deliveries   webhook.Store
	Mails        mail.Store
	Files        files.Store
	Shares       shares.Store
	Machines     machines.Store
	Sessions     sessions.Store
	Turns        sessions.Turns // of nodes at sessions; nil where there is one
	Hints        member.Hints   // to other nodes; nil likewise
	Buckets      admit.Buckets  // of all nodes
	Allotments   admit.Allotments
	SignIns      signin.Store // to the dashboard
	Usage        usage.Store
	Databases    Databases
	Shipped      ship.Log // changes of accounts' databases
}

// Backend is what keeps the stores, as the process that uses them sees it.
type Backend interface {
	// NewID returns the id of a new job.
	NewID() job.ID
	// MadeAt returns when an id was made, by the clock of the process that made it; false where that cannot be told.
	MadeAt(id job.ID) (time.Time, bool)
	// Writable returns why the last change could not be stored, nil where it could.
	// After a while it tries again, by a change that means nothing.
	Writable(ctx context.Context) error
	// Locked reports whether other processes find that this one owns the store.
	Locked() bool
	// Vacuum gives some of the room that removed rows left back to the disk, and
	// reports whether there is more to give.
	Vacuum(ctx context.Context) (more bool, err error)
	// FinishUpgrade removes what no member's program needs any more, as far as it is time.
	FinishUpgrade(ctx context.Context) error
	Stats() Stats
	// Close waits for what is under way. A second time it does nothing.
	Close() error
}

// Stats tells how well writes share commits, and how it stands with what they need. It waits
// for nothing.
type Stats struct {
	Writes  int64 // that were committed, failed ones among them
	Commits int64 // that they took
	Waiting int   // writes that wait for their turn
	Failing bool  // the last change could not be stored

	// Of the Log: how many bytes wait in it to be stored, and how many it has at all; 0
	// where it takes none.
	IntakeUsed, IntakeSize int64
}

// Elsewhere is the file in a data folder that says that its store is in a database elsewhere.
const Elsewhere = "ql.database"

// Databases is the list of accounts' databases, which are files beside the store: by
// it a missing one is found out.
type Databases interface {
	// ListDatabases returns the names that were noted last, in their order.
	ListDatabases(ctx context.Context) (map[account.ID][]string, error)
	// SaveDatabaseList notes those that are there, of accounts that are.
	SaveDatabaseList(ctx context.Context, found map[account.ID][]string) error
	// CountUsers returns how many jobs have not ended whose programs use databases.
	CountUsers(ctx context.Context) (int, error)
}

// lateFor is how long after its id was made the record of a call may come: as long as a call may take.
const lateFor = 2 * time.Minute

// MayCome tells whether a job that is not there may be one that another node is about to record: it was made lately.
// Ids that somebody makes up were made at any time.
func (s Store) MayCome(id job.ID) bool {
	if s.Buckets.Nodes() < 2 {
		return false
	}
	made, ok := s.MadeAt(id)
	return ok && time.Since(made).Abs() < lateFor // clocks differ
}
