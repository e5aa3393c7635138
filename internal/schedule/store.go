package schedule

import (
	"context"
	"errors"
	"time"

	"ql/internal/account"
	"ql/internal/job"
	"ql/internal/member"
)

// Errors of a Store.
var (
	// ErrTooMany says that an account has as many schedules as it may.
	ErrTooMany = errors.New("the account has too many schedules")
	// ErrMoved says that a schedule is not as it was read: it was set, paused or removed, or another
	// has settled the tick. Nothing was changed.
	ErrMoved = errors.New("schedule is not as it was read")
	// ErrBusy says that a job of the schedule is not finished, and that another may not start.
	ErrBusy = errors.New("a job of the schedule is not finished")
)

// Store keeps schedules. Each method is one whole change, committed when it returns nil, and safe for
// concurrent use. An account, or a schedule, that is not there is account.ErrNotFound. Times are
// stored to the microsecond.
//
// A job that a schedule started counts when it finishes, in the same change: a failure one more in a
// row, anything else but a cancellation ends the row. With as many as it allows, the schedule is
// paused.
type Store interface {
	// Put sets a schedule, one that is new where the account has fewer than most; 0 for any number.
	// One whose timing stays the same keeps its anchor and its tick, and one that is paused stays
	// paused. Failures are counted anew. It returns what is stored.
	Put(ctx context.Context, s Schedule, most int) (stored Schedule, created bool, err error)
	Schedule(ctx context.Context, a account.ID, name string) (Schedule, error)
	// Schedules returns those of an account after a name, by name.
	Schedules(ctx context.Context, a account.ID, after string, limit int) ([]Schedule, error)
	// Remove removes a schedule and its history. Its jobs stay.
	Remove(ctx context.Context, a account.ID, name string) error
	// Pause pauses a schedule; one that is paused stays as it is.
	Pause(ctx context.Context, a account.ID, name string, now time.Time) error
	// Resume has a paused schedule, as it was read, be due at its tick and due again; one that is
	// not paused stays as it is. It is ErrMoved where the schedule was set meanwhile.
	Resume(ctx context.Context, s Schedule) error
	// Due lists schedules of all accounts but some that are due, the longest due first.
	Due(ctx context.Context, now time.Time, but []account.ID, limit int) ([]Schedule, error)
	// NextDue returns when the first schedule is due that is not at a moment; zero for never.
	NextDue(ctx context.Context, now time.Time) (time.Time, error)
	// Settle settles a tick.
	Settle(ctx context.Context, s *Settlement) (Settled, error)
	// Postpone has a schedule, as it was read, looked at again at a moment. Its tick stays. It is
	// ErrMoved where that is settled.
	Postpone(ctx context.Context, s Schedule, until time.Time) error
	// History returns the entries of a schedule's history, the newest first: those before a number;
	// 0 for the newest.
	History(ctx context.Context, a account.ID, name string, before int64, limit int) ([]Tick, error)
}

// Settlement settles the tick of a schedule: by a job, or by a skip. The schedule is due at the next
// one in the same change.
type Settlement struct {
	Schedule Schedule // as it was read: ErrMoved where it is another, or its tick was settled
	Now      time.Time
	// Manual says that the job is started out of turn. The tick stays, and ErrBusy takes the place of
	// a skip.
	Manual bool
	// Next and NextDue are the tick after, and when it is due; zero for never.
	Next, NextDue time.Time

	// Task is the job, which is the member's, within the schedule's overlap; nil for a skip. Errors
	// are as of job.Submissions.Accept.
	Task   *job.Task
	Member member.Member

	// Of a skip: the last of the ticks that are skipped, how many they are, and why. One after
	// another for the same reason are one entry of the history.
	Last    time.Time
	Count   int64
	Reason  Reason
	Message string
	Failed  bool // it counts as a failure
}

// Settled is what became of a tick.
type Settled struct {
	Lease  job.Lease // of its job, where there is one
	Reason Reason    // of its skip, "" where there is a job
	Paused bool      // the schedule is paused now
}
