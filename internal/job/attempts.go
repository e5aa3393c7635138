package job

import (
	"context"
	"crypto/sha256"
	"time"
)

// Attempts is what an attempt at a job calls, with its lease. Changes are
// ErrLeaseLost where that does not hold.
type Attempts interface {
	// Head returns what is known of a job, also of one that is finished; ErrNotFound
	// where there is none. None of what has a size in it is read.
	Head(ctx context.Context, id ID) (*Head, error)
	// Load returns what a job needs to resume; ErrLeaseLost for one that is finished
	// or gone.
	Load(ctx context.Context, seq int64) (*Stored, error)
	// Program returns a program by its hash; an error where it is not stored.
	Program(ctx context.Context, hash [32]byte) ([]byte, error)

	// MarkStarted says that an attempt now does what may end its process. Claim says so
	// by itself for a job without crashes.
	MarkStarted(ctx context.Context, l Lease) error
	// ResetCrashes forgets the crashes of a job that has made progress since which the
	// store does not see. AppendJournal of a result, SaveSnapshot, Suspend and Release
	// forget them too.
	ResetCrashes(ctx context.Context, l Lease) error
	// AppendJournal stores a part of a journal alone.
	AppendJournal(ctx context.Context, l Lease, e JournalEntry) error
	// SaveSnapshot stores a snapshot in place of the journal before it. Files for which there
	// is no room are not held.
	SaveSnapshot(ctx context.Context, l Lease, snapshot []byte, p Progress) error
	// Suspend ends a lease: the job is paused or waits. One that somebody asked to stop
	// meanwhile is left as it is, with ErrStopping: nobody would ask again. So is one for
	// which the account has no room, with ErrSuspendLimit, ErrStorageLimit or ErrHeldLimit.
	Suspend(ctx context.Context, l Lease, s *Suspension) error
	// Release ends a lease: the job is due at a moment, for another attempt. A
	// change that still comes with the lease is lost.
	Release(ctx context.Context, l Lease, at time.Time, failures int, ran time.Duration) error
	// Finish ends a job. What job.Store returns of it then is the end's record, to
	// the byte. What it used is counted with it, as by Cancel.
	Finish(ctx context.Context, l Lease, e *End) error
	// FinishAsStored ends a job, in a state, without reading anything that it brought:
	// its result is the output so far, where that can be read.
	FinishAsStored(ctx context.Context, l Lease, s State, now time.Time, e []byte, delivery string) error
}

// Suspension is how a job is suspended: at a prompt, or until a moment.
type Suspension struct {
	State  State     // Paused or Waiting
	Until  time.Time // zero for a prompt that never expires
	Prompt *Prompt   // of Paused
	At     time.Time // when that was asked, or it began to await something
	// AwaitsJob and AwaitsSignal are what a Waiting one waits for beside the moment, which is zero
	// for never: the end of a job, or a signal of a name. Where that has come already, it is due at once.
	AwaitsJob    ID
	AwaitsSignal string
	// Announced is the hash of the token of the next prompt's page, where the script waits and
	// has read that page's address before; nil for none.
	Announced *[32]byte
	Snapshot  []byte // sealed
	Progress

	// How many jobs of the account may be suspended, this one with them, and how many
	// bytes they may hold together; 0 for any number. One that is resumed counts
	// until it ends: its snapshot is still there.
	Most      int
	MostBytes int64
}

// Held is how many bytes a job holds that is suspended so, beside its task and the questions
// before.
func (s *Suspension) Held() int64 {
	n := int64(len(s.Snapshot)+len(s.Trace)+len(s.Response)+len(s.Output)) + s.From + s.QuestionBytes()
	if s.Prompt != nil {
		n += int64(len(s.Prompt.To) + len(s.Prompt.Message) + len(s.Prompt.Schema) + len(s.Prompt.Follows))
	}
	return n
}

// Progress is what a job has to show that is not finished.
type Progress struct {
	From         int64  // where Output begins in the whole output
	Output       []byte // what came since; it replaces all that is stored from there on
	JSON         bool   // the whole output is one value as JSON
	Trace        []byte // JSON, whole
	TraceDropped int64
	Response     []byte // JSON, whole
	Steps        int64
	Ran          time.Duration // how long it ran, all attempts together
	History      HistoryPart   // since the last snapshot; without entries where there is none
	Format       int           // of the snapshot that this is stored with; 0 without one
	Files        HeldFiles     // that the snapshot refers to
	Calls        []EndedCall   // since the last part of the journal
}

// HeldFiles is content of an account's files that a job reads, whatever becomes of the files.
// It is held in place of what the job held before, until its next snapshot or its end. Content
// that is gone already is not held: whoever reads it is told so.
type HeldFiles struct {
	Refs [][]byte // as files.Ref encodes them
	// MostBytes is how many bytes the content that the account's links and jobs hold may have,
	// each counted once; 0 for any number.
	MostBytes int64
	At        time.Time
}

// Encoding returns how the output stands in a JSON answer, where it is whole.
func (p *Progress) Encoding() Encoding {
	if p.JSON {
		return JSONText
	}
	return EncodingOf(p.Output)
}

// Stored is all that a job needs to resume.
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
	// HistoryBytes is how many bytes of its history are stored.
	HistoryBytes int64
}

// Head is what is known of a job before anything is read that it brought or made.
type Head struct {
	Summary
	Lease    Lease
	Ran      time.Duration
	Failures int
	// Crashes weighs the attempts in a row that ended with their process, none of which
	// made progress: see CrashWeight.
	Crashes  int
	Stopping bool
	Webhook  string
	// Question and Kind are of the prompt at which it is paused, "" where it is not.
	Question, Kind string
	Sizes          Sizes
	Keyed          bool // it has a concurrency key: its end may let another begin
}

// Sizes are how many bytes the parts of a job take in the store.
type Sizes struct {
	Task, Program, Snapshot, Journal, Output int64
}

// JournalEntry is a part of a journal: the results of some steps, sealed.
type JournalEntry struct {
	Step    int64 // of the first of them; a job's journal has no two of the same
	Entries []byte
	Calls   []EndedCall // that they tell of
}

// Checkpoint is a part of a journal that is committed in the same transaction as
// the change that it records.
type Checkpoint struct {
	Lease Lease
	Entry JournalEntry
	// Committed is set by the store when both are: not every effect comes to
	// change something.
	Committed bool
}

type checkpointKey struct{}

// WithCheckpoint returns a context under which one change of an account's rows
// commits a checkpoint too. Where the lease is lost, nothing is changed, and the
// error is ErrLeaseLost.
func WithCheckpoint(ctx context.Context, c *Checkpoint) context.Context {
	return context.WithValue(ctx, checkpointKey{}, c)
}

// CheckpointOf returns the checkpoint of a context, nil where there is none.
func CheckpointOf(ctx context.Context) *Checkpoint {
	c, _ := ctx.Value(checkpointKey{}).(*Checkpoint)
	return c
}

// End is how a job finished.
type End struct {
	Record
	// Delivery is the id under which its end is announced; "" where it is not.
	Delivery string
	// Calls are the jobs that it has run since the last part of its journal.
	Calls []EndedCall
	// Leftovers says that there may be rows of its attempts to remove.
	Leftovers bool
}

// DeliveryID returns the id under which the end of a job is announced. It is the same
// whenever the job ends: also where it is resumed from a backup, and has ended
// before. A job's id cannot be told from it.
func DeliveryID(id ID) string {
	return deliveryID(sha256.Sum256(append([]byte("webhook of job "), id[:]...)))
}

func deliveryID(sum [sha256.Size]byte) string {
	var text ID
	copy(text[:], sum[:])
	text[6] = text[6]&0x0f | 0x80 // a UUID of version 8, which is nobody's job
	text[8] = text[8]&0x3f | 0x80
	return "msg_" + text.String()
}
