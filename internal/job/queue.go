package job

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"ql/internal/account"
)

// Errors of a Queue.
var (
	// ErrLost says that a job is no longer in the hands of who had it: another
	// attempt has it, or it is finished. Nothing was changed.
	ErrLost = errors.New("the job is in other hands")
	// ErrStopping says that a job was asked to stop, and so may not stand.
	ErrStopping = errors.New("the job was asked to stop")
	// ErrNotPaused says that a job stands at no question, or at another one.
	ErrNotPaused = errors.New("the job does not stand at this question")
	// ErrTooMany says that as many jobs of an account stand as may.
	ErrTooMany = errors.New("as many jobs of the account stand as may")
	// ErrTooMuch says that the jobs of an account that stand would hold more than
	// they may.
	ErrTooMuch = errors.New("the jobs of the account that stand hold as much as they may")
	// ErrNoProgram says that a program is not stored that a task comes without.
	ErrNoProgram = errors.New("the program of the job is not stored")
	// ErrOtherBody says that an idempotency key was used with another request.
	ErrOtherBody = errors.New("the idempotency key was used for another request")
)

// Lease is a job in the hands of one attempt. Every change that it makes is
// guarded by its number: a later attempt shuts out all earlier ones. A lease
// whose time is over holds until the job is taken by another.
type Lease struct {
	Seq     int64 // the job's number in the store
	ID      ID
	Account account.ID
	Attempt int64
}

// ProgramsKept is how long a program stays at least, from when it was last given
// as the Code of a task.
const ProgramsKept = 24 * time.Hour

// Task is what a job was accepted with. It never changes.
type Task struct {
	Summary
	Program [32]byte // the hash of its program
	Code    []byte   // the program; nil where it was given well within ProgramsKept, and may still be there
	// MostPrograms is how many bytes of programs may be stored that the account gave,
	// this one with them; 0 for any number. Those that no job needs make way.
	MostPrograms int64
	Spec         []byte // what to run it with, sealed
	Webhook      string // where to tell its end, "" for nowhere
	// Key makes a repeat of the call find this job; nil without one.
	Key *Key
}

// Key is an idempotency key. It belongs to who calls: the account's owner, by
// whatever credentials, or the pages of one entry of its list.
type Key struct {
	Hash [32]byte // of the key and, but for the owner, of who calls
	// Legacy is the hash of the key alone, of a caller who is not the owner.
	// Earlier versions stored all keys by it: one that leads to the job of a page
	// is the pages', and not the owner's. It is zero for the owner.
	Legacy [32]byte
	Body   [32]byte // of the request
	Until  time.Time
}

// IsOwners tells whether the owner called.
func (k Key) IsOwners() bool { return k.Legacy == [32]byte{} }

// Prompt is the question at which a job stands.
type Prompt struct {
	ID      string
	Kind    string
	Token   [32]byte // the hash of what opens its page
	Sealed  []byte   // that token, for those who may see the job
	Message string
	Schema  []byte // JSON; nil for a CONFIRM
	Expires time.Time
}

// Standing is a job that stands: at a question, or until a moment.
type Standing struct {
	State    State     // Paused or Waiting
	Until    time.Time // zero for a question that never expires
	Prompt   *Prompt   // of Paused
	Snapshot []byte    // sealed
	Progress

	// How many jobs of the account may stand, this one with them, and how many
	// bytes they may hold together; 0 for any number. One that goes on counts
	// until it ends: its snapshot is still there.
	Most      int
	MostBytes int64
}

// Held is how many bytes a job holds that stands so, beside its task.
func (s *Standing) Held() int64 {
	n := int64(len(s.Snapshot)+len(s.Trace)+len(s.Response)+len(s.Output)) + s.From
	if s.Prompt != nil {
		n += int64(len(s.Prompt.Message) + len(s.Prompt.Schema))
	}
	return n
}

// Progress is what a job has to show that is not finished.
type Progress struct {
	From         int64  // where Output begins in the whole output
	Output       []byte // what came since; it takes the place of all that is stored from there on
	Trace        []byte // JSON, whole
	TraceDropped int64
	Response     []byte // JSON, whole
	Steps        int64
	Ran          time.Duration // how long it ran, all attempts together
}

// Answer is a reply to a question, accepted.
type Answer struct {
	Prompt  string
	Reply   [32]byte // a hash over it: the same reply again is no second one
	By      Credential
	Address string
	At      time.Time
	Step    int64  // of the journal
	Entries []byte // the reply as the journal keeps it, sealed
}

// Stored is all that a job needs to go on.
type Stored struct {
	Summary
	Lease    Lease
	Program  [32]byte
	Spec     []byte
	Snapshot []byte   // nil where it starts from the beginning
	Output   []byte   // up to the snapshot, or more
	Journal  [][]byte // since the snapshot, in the order of the steps
	Prompt   *Prompt  // of a paused one
	Until    time.Time
	Ran      time.Duration
	Failures int // attempts in a row that were cut off by faults of the service
	Stopping bool
	Webhook  string
}

// Head is what is known of a job before anything is read that it brought or made.
type Head struct {
	Summary
	Lease    Lease
	Ran      time.Duration
	Failures int
	// Crashes weighs the attempts in a row that ended with their process, none of which
	// got on: see Crash.
	Crashes  int
	Stopping bool
	Webhook  string
	// Question and Kind are of the question at which it stands, "" where it does not.
	Question, Kind string
	Sizes          Sizes
}

// What the end of a process says about a job that an attempt had in its hands then:
// something where there were others too, more where there were none, and little where
// it had only just been taken, since a server that is killed from outside again and
// again has no time to get on.
const (
	CrashEarly = 3
	Crash      = 5
	CrashAlone = 10
)

// Sizes are how many bytes the parts of a job take in the store.
type Sizes struct {
	Task, Program, Snapshot, Journal, Output int64
}

// Entry is a part of a journal: the results of some steps, sealed.
type Entry struct {
	Step    int64 // of the first of them; a job's journal has no two of the same
	Entries []byte
}

// Checkpoint is a part of a journal that is kept in the same transaction as the
// change that it tells of.
type Checkpoint struct {
	Lease Lease
	Entry Entry
	// Kept is set by the store when both are committed: not every effect comes to
	// change something.
	Kept bool
}

type checkpointKey struct{}

// WithCheckpoint returns a context under which one change of an account's rows
// keeps a checkpoint too. Where the lease is lost, nothing is changed, and the
// error is ErrLost.
func WithCheckpoint(ctx context.Context, c *Checkpoint) context.Context {
	return context.WithValue(ctx, checkpointKey{}, c)
}

// CheckpointOf returns the checkpoint of a context, nil where there is none.
func CheckpointOf(ctx context.Context) *Checkpoint {
	c, _ := ctx.Value(checkpointKey{}).(*Checkpoint)
	return c
}

// Due is a job for which the time has come: to begin, to go on, to expire, or
// to be taken over from an attempt whose lease has ended.
type Due struct {
	Lease
	State    State
	At       time.Time
	Stopping bool // somebody asked to stop it
	Crashes  int  // see Head
}

// End is how a job finished.
type End struct {
	Record
	// Delivery is the id under which its end is told; "" where nobody is told.
	Delivery string
	// Rest says that there may be rows of its way to remove.
	Rest bool
}

// DeliveryID returns the id under which the end of a job is told. It is the same
// whenever the job ends: also where it goes on from a backup, and has ended
// before. A job's id cannot be told from it.
func DeliveryID(id ID) string {
	sum := sha256.Sum256(append([]byte("webhook of job "), id[:]...))
	var text ID
	copy(text[:], sum[:])
	text[6] = text[6]&0x0f | 0x80 // a UUID of version 8, which is nobody's job
	text[8] = text[8]&0x3f | 0x80
	return "msg_" + text.String()
}

// Queue keeps the jobs that outlive a process. Each method is one whole change,
// committed when it returns nil, and guarded: no state is ever left twice. Times
// are kept, and compared, to the microsecond. Methods are safe for concurrent
// use.
type Queue interface {
	// Accept stores a new job, which is Accepted or, where it is taken at once
	// until a moment, Running. A key that was used before returns the job of
	// then as earlier, and ErrOtherBody for another request; nothing is stored
	// then. So it is where its program finds no room, with ErrTooMuch, and where that
	// is neither given nor stored, with ErrNoProgram. An account that is not there is account.ErrNotFound.
	Accept(ctx context.Context, t *Task, until time.Time) (l Lease, earlier ID, err error)
	// AcceptEnded stores a new job that has come to its end already, having changed
	// nothing on its way; of the task only its webhook and key count. It is to the
	// job's record, to what is counted and to who is told as if it had been accepted
	// and finished. One that is stored already stays as it is, and is not counted
	// again: a Log that failed may have brought it there. Keys and errors are as of
	// Accept.
	AcceptEnded(ctx context.Context, t *Task, e *End) (earlier ID, err error)
	// Adopt stores a job that ran synchronously and stands now, within the bounds
	// of Stand. Its key is none of Adopt's business: it was reserved before.
	Adopt(ctx context.Context, t *Task, s *Standing) (Lease, error)
	// Reserve makes a key lead to a job that is not recorded yet.
	Reserve(ctx context.Context, a account.ID, k Key, id ID, now time.Time) (earlier ID, err error)
	// Reserved returns the job that a key leads to, or no ID. Errors are as of Accept.
	Reserved(ctx context.Context, a account.ID, k Key, now time.Time) (earlier ID, err error)

	// Due lists jobs of a state whose time has come, the longest due first, and of
	// those due at the same moment the one stored first: those that come after
	// one; the zero Due for the first.
	Due(ctx context.Context, s State, now time.Time, after Due, limit int) ([]Due, error)
	// Waiting lists the jobs that are accepted and not begun, in the order of
	// their acceptance, those that come after one; the zero Due for the first.
	Waiting(ctx context.Context, after Due, limit int) ([]Due, error)
	// Next returns when, after a moment, a job becomes due that is not merely
	// accepted; zero for never.
	Next(ctx context.Context, after time.Time) (time.Time, error)
	// Take takes a job that is due, until a moment, for a new attempt; ErrLost
	// where another was faster.
	Take(ctx context.Context, d Due, until time.Time) (Lease, error)
	// Postpone makes the jobs of an account that are due, but those that are merely
	// accepted, due at a later moment. One that somebody asked to stop stays due.
	Postpone(ctx context.Context, a account.ID, now, until time.Time) error
	// Crashed counts, for each job that an attempt has in its hands, that this has
	// ended with its process: as CrashEarly where its lease ends after a moment. It is
	// called by the next process, before Void.
	Crashed(ctx context.Context, early time.Time) error
	// Void ends all leases, and makes their jobs due: no process but this one has
	// any.
	Void(ctx context.Context, now time.Time) error
	// Head returns what is known of a job, also of one that is finished; ErrNotFound
	// where there is none. None of what has a size in it is read.
	Head(ctx context.Context, id ID) (*Head, error)
	// Load returns what a job needs to go on; ErrLost for one that is finished or
	// gone.
	Load(ctx context.Context, seq int64) (*Stored, error)
	// Code returns a program by its hash; an error where it is not stored.
	Code(ctx context.Context, hash [32]byte) ([]byte, error)

	// Renew holds leases until a moment. It returns those that were lost and
	// those whose job somebody asked to stop.
	Renew(ctx context.Context, held []Lease, until time.Time) (lost, stopping []Lease, err error)
	// Begin says that an attempt now does what may end its process. Take says so by
	// itself for a job without crashes.
	Begin(ctx context.Context, l Lease) error
	// GotOn forgets the crashes of a job that has done something since which the store
	// does not see. Keep of a result, Save, Stand and Release forget them too.
	GotOn(ctx context.Context, l Lease) error
	// Keep stores a part of a journal alone. This and all that follow up to
	// Release, and Finish, are ErrLost where the lease does not hold.
	Keep(ctx context.Context, l Lease, e Entry) error
	// Save stores a snapshot in place of the journal before it.
	Save(ctx context.Context, l Lease, snapshot []byte, p Progress) error
	// Stand ends a lease: the job stands. One that somebody asked to stop meanwhile
	// is left as it is, with ErrStopping: nobody would ask again. So is one for
	// which the account has no room, with ErrTooMany or ErrTooMuch.
	Stand(ctx context.Context, l Lease, s *Standing) error
	// Release ends a lease: the job is due at a moment, for another attempt. A
	// change that still comes with the lease is lost.
	Release(ctx context.Context, l Lease, at time.Time, failures int, ran time.Duration) error
	// Answer lets a job go on that stands at the answer's question, until a
	// moment; ErrNotPaused where it does not.
	Answer(ctx context.Context, id ID, a Answer, until time.Time) (Lease, error)
	// Answered returns the reply that a question of a job got.
	Answered(ctx context.Context, id ID, prompt string) (reply [32]byte, found bool, err error)
	// Finish ends a job. What job.Store returns of it then is the end's record, to
	// the byte. What it used is counted with it, as by Cancel.
	Finish(ctx context.Context, l Lease, e *End) error
	// GiveUp ends a job, in a state, without reading anything that it brought: its
	// result is the output so far, where that can be read.
	GiveUp(ctx context.Context, l Lease, s State, now time.Time, e []byte, delivery string) error
	// Cancel finishes a job that nobody runs, and asks the attempt that runs it
	// to stop otherwise. It returns the state that the job has then, and whether
	// this call finished it; ErrNotFound for a job that is not there. Its result
	// is the output so far, e its error, and delivery as in End.
	Cancel(ctx context.Context, id ID, now time.Time, e []byte, delivery string) (State, bool, error)

	// View returns a job with all there is to show; unfinished ones too, as of
	// their last snapshot. A job that is not there is ErrNotFound.
	View(ctx context.Context, id ID) (*View, error)
	// Look is View of a job whose bytes are at most so many: of one that holds more it
	// leaves them out, and says how many they are. An error and a question of FewWords
	// stay; of a question that has more there is its id alone.
	Look(ctx context.Context, id ID, most int64) (*View, error)
	// ByToken finds the job whose question's page a token opens, as long as the
	// question is open; ErrNotFound where there is none.
	ByToken(ctx context.Context, token [32]byte) (ID, error)

	// Prune removes up to limit keys that have ended, and up to limit programs
	// that no job needs (see ProgramsKept), and returns how many rows went.
	Prune(ctx context.Context, now time.Time, limit int) (int, error)
}

// FewWords is how many bytes of an error, or of a question's words, Look returns
// whatever it may.
const FewWords = 16 << 10

// View is a job as it can be shown.
type View struct {
	Record
	Seq      int64
	Prompt   *Prompt   // of a paused one
	Until    time.Time // of a waiting one
	Webhook  string
	Stopping bool

	// Bytes are how many the job holds that can be shown: its result, trace, error and
	// response, and the words of its question.
	Bytes  int64
	Output int64 // of the result
	Traced int64 // of the trace
	// Left says that these bytes were left out.
	Left bool
}
