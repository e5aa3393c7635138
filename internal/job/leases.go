package job

import (
	"context"
	"time"

	"ql/internal/account"
	"ql/internal/member"
)

// Lease is a job in the hands of one attempt. Every change that it makes is
// guarded by its number: a later attempt shuts out all earlier ones. It has no end of
// its own: it holds as long as the member lives whose process made the attempt, and
// after that until another claims the job.
type Lease struct {
	Seq     int64 // the job's number in the store
	ID      ID
	Account account.ID
	Attempt int64
}

// Due is a job that may be claimed: to begin, to resume, to expire, or to be taken
// over from a member that is dead.
type Due struct {
	Lease
	State    State
	At       time.Time // since when it is due; of a job that somebody holds, when it was claimed
	Stopping bool      // somebody asked to stop it
	Crashes  int       // see Head
}

// DueQuery says which jobs that are due are listed.
type DueQuery struct {
	State State // "" for all that can be due, each up to the limit
	Now   time.Time
	After Due // of the state; the zero Due for the first
	Limit int
	// Incarnation is of the member that asks, where the databases of an account are at one member: a job that uses
	// them is left out while another one has them that lives. 0 leaves out none.
	Incarnation int64
}

// DueStates are the states in which a job can be due.
var DueStates = []State{Accepted, Running, Waiting, Paused}

// ClaimQuery says which jobs a member claims.
type ClaimQuery struct {
	Member member.Member
	// Dead are incarnations whose jobs may be claimed too. One that is a member after all
	// keeps them.
	Dead []int64
	// Free has the accounts that have places, each once, in the order of their turns.
	Free []Places
	// Formats is the newest format of snapshots that the member reads. A job with a newer
	// one is left to others.
	Formats int
	// Suspects says that jobs are claimed whose crashes weigh SuspectCrashes or more, and
	// no others; without it none of them is.
	Suspects bool
	// Homes says that the databases of an account are at one member. A job that uses them is left to
	// that, where it is another one that lives.
	Homes bool
	Limit int // of all accounts together
	Now   time.Time
}

// Places is how many jobs of an account may begin.
type Places struct {
	Account account.ID
	N       int
	// Due says that jobs are claimed too that belong to nobody and whose time has come.
	// Who knows of none saves the look.
	Due bool
	// NoneAccepted says that no job is claimed that the member itself has accepted, and not begun: who knows of none saves
	// the look.
	NoneAccepted bool
	// Stopping says that none is claimed but those that somebody asked to stop.
	Stopping bool
}

// Claimed is a job that was claimed, as it is then.
type Claimed struct {
	Head
	From State // that it was in before
	// Brought is what it was accepted with, where it was never begun and that is little; nil where it is to be loaded.
	Brought *Stored
}

// Leases is what the worker's loop calls: it finds jobs to run, and claims them. A job
// that is accepted or running belongs to an incarnation of a member; who renews that
// renews all its leases.
type Leases interface {
	// ListDue lists jobs that belong to nobody and whose time has come, those of a state
	// together: the longest due first, and of those due at the same moment the one stored first.
	ListDue(ctx context.Context, q DueQuery) ([]Due, error)
	// NextDue returns when, after a moment, a job becomes due that belongs to nobody;
	// zero for never.
	NextDue(ctx context.Context, after time.Time) (time.Time, error)
	// ListHeld lists the jobs, Accepted or Running, that belong to an incarnation, by
	// account, and those of one in the order in which they were stored: those that come
	// after one; the zero Due for the first.
	ListHeld(ctx context.Context, incarnation int64, s State, after Due, limit int) ([]Due, error)
	// ListStopping lists the jobs of a member that somebody asked to stop.
	ListStopping(ctx context.Context, m member.Member) ([]Lease, error)
	// DeadHolders returns the incarnations that jobs belong to and that are no members.
	DeadHolders(ctx context.Context) ([]int64, error)
	// Claim makes jobs a member's, each for a new attempt, and returns them with what is
	// known of them: of each account that has places the longest due first, of those that
	// the member accepted, that the dead had, and that belong to nobody. Fewer than there
	// are places for says that no more could be claimed: those of nobody that another changes at
	// the moment are left out. It is an error of package member
	// where the claimant is none.
	Claim(ctx context.Context, c *ClaimQuery) ([]Claimed, error)
	// ClaimListed makes one job a member's, for a new attempt: one that is due, is the
	// member's own, or belongs to an incarnation that is no member. It is ErrLeaseLost
	// where the job is not as it was listed, or its member lives, and an error of package
	// member where the claimant is none.
	ClaimListed(ctx context.Context, m member.Member, d Due, now time.Time) (Lease, error)
	// Postpone makes the jobs of an account that belong to nobody and are due, due at a
	// later moment. One that somebody asked to stop stays due.
	Postpone(ctx context.Context, a account.ID, now, until time.Time) error
	// RecordCrashes counts, for each job that an attempt had in its hands whose process
	// is dead, that it ended with it: as CrashWeightEarly where it was claimed after a
	// moment. Each end is counted once.
	RecordCrashes(ctx context.Context, early time.Time) error
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

// SuspectCrashes is from what weight of crashes on a job is claimed apart from others, so
// that the next crash tells whether it is the reason.
const SuspectCrashes = 3 * CrashWeight
