package job

import (
	"context"
	"errors"
	"time"

	"ql/internal/account"
)

// Errors of calls and signals.
var (
	// ErrCallLimit says that an account has as many jobs that scripts have started, and that have
	// not ended, as it may.
	ErrCallLimit = errors.New("scripts of the account have started too many jobs")
	// ErrEnded says that a job has ended, and takes no signals.
	ErrEnded = errors.New("job has ended")
	// ErrSignalLimit says that as many signals wait for a job, or for the jobs of its account, as
	// may.
	ErrSignalLimit = errors.New("too many signals wait")
)

// Called is who has started a job, where a script did.
type Called struct {
	Parent ID
	Most   int // jobs of the account that scripts have started and that have not ended, this one with them; 0 for any number
}

// EndedCall is a job that a script has run, and that is over, having changed nothing on its way. It is stored
// together with what tells of it, and is then as if AcceptEnded had stored it.
type EndedCall struct {
	Parent ID
	End    *End
}

// Child is a job that a script has started.
type Child struct {
	Ref         int64
	ID          ID
	State       State
	ProgramName string
	Created     time.Time
	Finished    time.Time // zero while it is not
}

// ChildEnd is how a job came out, as who has started it sees that.
type ChildEnd struct {
	State    State
	Error    []byte // JSON; nil where it has more than AlwaysShownBytes
	Encoding Encoding
	Output   int64  // bytes of the result
	Result   []byte // nil where it has more than was asked for
}

// Signal is what a job is told while it runs.
type Signal struct {
	Number int64
	Name   string
	Data   []byte    // sealed
	Key    *[32]byte // the same for a repeat; nil where nothing tells one
	At     time.Time
	// How many signals may wait for the job, and how many bytes for all jobs of the account; 0 for any
	// number.
	Most      int
	MostBytes int64
}

const (
	// MaxSignalKeys is how many of a job's last signals are remembered, so that their repeats are known,
	// and MaxSignalKeysEnded how many of them when it has ended.
	MaxSignalKeys, MaxSignalKeysEnded = 1000, 100
	// SignalRow is how many bytes a signal that waits counts for besides its data.
	SignalRow = 1 << 10
)

// Calls is what is stored of jobs that start, await and signal others.
type Calls interface {
	// IsChild tells whether a job was started by another one.
	IsChild(ctx context.Context, a account.ID, parent, child ID) (bool, error)
	// ChildEnd returns how a job stands that was started by another one, with its result where that has
	// so many bytes at most. Nothing else that it brought is read. One that was not started so is ErrNotFound.
	ChildEnd(ctx context.Context, a account.ID, parent, child ID, most int64) (*ChildEnd, error)
	// Children lists the jobs that one has started, in their order, those after one; 0 for the
	// first.
	Children(ctx context.Context, a account.ID, parent ID, after int64, limit int) ([]Child, error)
	// Parent returns the number of the job that has started one; 0 where a script did not, or that
	// job is not stored.
	Parent(ctx context.Context, a account.ID, child ID) (ref int64, err error)
	// Signal leaves a signal for a job of an account, which is due then where it waits for it. It
	// reports false for a repeat, also where the job has ended since. The error is ErrNotFound, ErrEnded or ErrSignalLimit.
	Signal(ctx context.Context, a account.ID, id ID, s *Signal) (bool, error)
	// NextSignal returns the oldest signal of a name that waits for a job; nil for none.
	NextSignal(ctx context.Context, a account.ID, id ID, name string) (*Signal, error)
	// ConsumeSignal takes a signal away.
	ConsumeSignal(ctx context.Context, a account.ID, id ID, number int64) error
}
