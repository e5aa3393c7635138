package job

import (
	"context"
	"time"

	"ql/internal/account"
)

// Lease is a job in the hands of one attempt. Every change that it makes is
// guarded by its number: a later attempt shuts out all earlier ones. A lease
// whose time is over holds until the job is claimed by another.
type Lease struct {
	Seq     int64 // the job's number in the store
	ID      ID
	Account account.ID
	Attempt int64
}

// Due is a job for which the time has come: to begin, to resume, to expire, or
// to be taken over from an attempt whose lease has ended.
type Due struct {
	Lease
	State    State
	At       time.Time
	Stopping bool // somebody asked to stop it
	Crashes  int  // see Head
}

// Leases is what the worker's loop calls: it finds jobs to run, claims them, and
// renews its claims.
type Leases interface {
	// ListDue lists jobs of a state whose time has come, the longest due first, and of
	// those due at the same moment the one stored first: those that come after
	// one; the zero Due for the first.
	ListDue(ctx context.Context, s State, now time.Time, after Due, limit int) ([]Due, error)
	// ListAccepted lists the jobs that are accepted and not begun, in the order of
	// their acceptance, those that come after one; the zero Due for the first.
	ListAccepted(ctx context.Context, after Due, limit int) ([]Due, error)
	// NextDue returns when, after a moment, a job becomes due that is not merely
	// accepted; zero for never.
	NextDue(ctx context.Context, after time.Time) (time.Time, error)
	// Claim takes a job that is due, until a moment, for a new attempt; ErrLeaseLost
	// where another was faster.
	Claim(ctx context.Context, d Due, until time.Time) (Lease, error)
	// Renew extends leases until a moment. It returns those that were lost and
	// those whose job somebody asked to stop.
	Renew(ctx context.Context, held []Lease, until time.Time) (lost, stopping []Lease, err error)
	// Postpone makes the jobs of an account that are due, but those that are merely
	// accepted, due at a later moment. One that somebody asked to stop stays due.
	Postpone(ctx context.Context, a account.ID, now, until time.Time) error
	// RecordCrashes counts, for each job that an attempt has in its hands, that this
	// has ended with its process: as CrashWeightEarly where its lease ends after a
	// moment. It is called by the next process, before ExpireLeases.
	RecordCrashes(ctx context.Context, early time.Time) error
	// ExpireLeases ends all leases, and makes their jobs due: no process but this one
	// has any.
	ExpireLeases(ctx context.Context, now time.Time) error
}

// What the end of a process says about a job that an attempt had in its hands then:
// something where there were others too, more where there were none, and little where
// it had only just been claimed, since a server that is killed from outside again and
// again has no time to make progress.
const (
	CrashWeightEarly = 3
	CrashWeight      = 5
	CrashWeightAlone = 10
)
