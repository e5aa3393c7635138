package job

import (
	"context"
	"errors"
	"time"

	"ql/internal/account"
	"ql/internal/member"
)

// Errors of a Queue.
var (
	// ErrLeaseLost says that an attempt no longer holds its job: a later attempt has
	// it, or it is finished. Nothing was changed.
	ErrLeaseLost = errors.New("lease lost")
	// ErrStopping says that a job was asked to stop, and so may not be suspended.
	ErrStopping = errors.New("job was asked to stop")
	// ErrNotPaused says that a job is paused at no prompt, or at another one.
	ErrNotPaused = errors.New("job is not paused at this prompt")
	// ErrSuspendLimit says that as many jobs of an account are suspended as may be.
	ErrSuspendLimit = errors.New("too many jobs of the account are suspended")
	// ErrStorageLimit says that the suspended jobs, or the programs, of an account would
	// hold more bytes than they may.
	ErrStorageLimit = errors.New("jobs of the account hold too many bytes")
	// ErrHeldLimit says that what the links and the suspended jobs of an account hold of its
	// files would have more bytes than it may.
	ErrHeldLimit = errors.New("links and jobs of the account hold too many bytes of files")
	// ErrNoProgram says that a program is not stored that a task comes without.
	ErrNoProgram = errors.New("program of the job is not stored")
	// ErrBlockedLimit says that as many jobs of an account wait for their keys, or for another member, as may.
	ErrBlockedLimit = errors.New("too many jobs of the account wait for their concurrency keys, or for another node")
	// ErrOtherBody says that an idempotency key was used with another request.
	ErrOtherBody = errors.New("idempotency key was used for another request")
)

// Queue is the store of jobs that outlive a process, in parts by who calls them.
// Each method is one whole change, committed when it returns nil, and guarded: no
// state is ever left twice. Times are stored, and compared, to the microsecond.
// Methods are safe for concurrent use.
type Queue struct {
	Submissions
	Leases
	Attempts
	Prompts
	Questions
	Views
	Calls
	Maintenance
}

// Submissions is what whoever accepts jobs calls.
type Submissions interface {
	// Accept stores a new job, which is Accepted or, where it is claimed at once,
	// Running. It is the member's. A key that was used before returns the job of
	// then as earlier, and ErrOtherBody for another request; nothing is stored
	// then. So it is where its program finds no room, with ErrStorageLimit, and where that
	// is neither given nor stored, with ErrNoProgram, and where scripts have started too many, with
	// ErrCallLimit. A checkpoint of its context is committed with it. An account that is not there is account.ErrNotFound.
	Accept(ctx context.Context, t *Task, m member.Member, now time.Time) (l Lease, earlier ID, err error)
	// AcceptEnded stores a new job that has come to its end already, having changed
	// nothing on its way; of the task only its webhook, what is sent there, its key and who has
	// started it count. A checkpoint of its context is committed with it. It is to the job's record, to what is counted and to who is notified as if it had been accepted
	// and finished. One that is stored already stays as it is, and is not counted
	// again: a Log that failed may have brought it there. Keys and errors are as of
	// Accept.
	AcceptEnded(ctx context.Context, t *Task, e *End) (earlier ID, err error)
	// Adopt stores a job that ran synchronously and is suspended now, within the bounds
	// of Suspend. Its key is none of Adopt's business: it was reserved before.
	Adopt(ctx context.Context, t *Task, s *Suspension) (Lease, error)
	// ReserveKey makes a key lead to a job that is not recorded yet.
	ReserveKey(ctx context.Context, a account.ID, k Key, id ID, now time.Time) (earlier ID, err error)
	// FindKey returns the job that a key leads to, or no ID. Errors are as of Accept.
	FindKey(ctx context.Context, a account.ID, k Key, now time.Time) (earlier ID, err error)
	// HasLivingKey tells whether the call that a key was reserved for is in the hands of a process that is a
	// member, and another one than this. It may be over.
	HasLivingKey(ctx context.Context, a account.ID, k Key, but member.Member) (bool, error)
}

// ProgramRetention is how long a program stays at least, from when it was last given
// as the Code of a task.
const ProgramRetention = 24 * time.Hour

// Task is what a job was accepted with. It never changes.
type Task struct {
	Summary
	Program [32]byte // the hash of its program
	Code    []byte   // the program; nil where it was given well within ProgramRetention, and may still be there
	// MostPrograms is how many bytes of programs may be stored that the account gave,
	// this one with them; 0 for any number. Those that no job needs make way.
	MostPrograms int64
	Spec         []byte // what to run it with, sealed
	Call         Call   // what its history shows of that
	Untraced     bool   // its trace is NoTrace from the start
	// UsesDatabases says that its program reaches databases of the account: it is claimed where those are.
	UsesDatabases bool
	// Elsewhere says that the member does not run it: it is accepted, belongs to nobody, and is due.
	Elsewhere    bool
	Webhook      string // where to announce its end, "" for nowhere
	WebhookTrace bool   // with its trace
	// WebhookEvents is what is announced there.
	WebhookEvents WebhookEvents
	// Key makes a repeat of the call find this job; nil without one.
	Key *Key
	// Called is who has started it, where a script did; nil otherwise.
	Called *Called
	// Concurrency bounds how many jobs with the same key are under way; the zero one does not.
	Concurrency Concurrency
	// MostBlocked is how many jobs of the account may wait for their keys, and how many for another member, this one
	// with them; 0 for any number.
	MostBlocked int
}

// Concurrency bounds how many jobs of an account that share a key are under way: from when they are
// claimed, or may be, until they finish, pauses with them. One that comes when there are as many as it
// allows is blocked: it is accepted, belongs to nobody, and is due when another has finished. They
// go on in the order in which they were accepted.
type Concurrency = account.Concurrency

// Key is an idempotency key. It belongs to who calls: the account's owner, by
// whatever credentials, one of its named keys, or the pages of one entry of its list.
type Key struct {
	Hash [32]byte // of the key and, but for the owner, of who calls
	// Legacy is the hash of the key alone, where a page calls. Earlier versions stored
	// all keys by it: one that leads to the job of a page is the pages', and not the
	// owner's. It is zero for all others.
	Legacy [32]byte
	Body   [32]byte // of the request
	Until  time.Time
	// Member is the incarnation that runs the call, where nothing else tells of that; 0 otherwise.
	Member int64
}

// IsPages tells whether a page called.
func (k Key) IsPages() bool { return k.Legacy != [32]byte{} }
