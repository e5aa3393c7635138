package engine

import (
	"context"
	"crypto/rand"
	"io"
	"time"

	"ql/internal/password"
	"ql/lang/form"
	"ql/lang/value"
	"ql/lang/vm"
)

// Resources are what a run may reach of an account. One that is nil is not there: the
// statements that need it fail with not_available.
type Resources struct {
	Files     Files
	Databases Databases
	Sessions  Sessions
	Secrets   Secrets
	Shares    Shares
	Network   Network
	Machines  Machines
	Mails     Mails
	// Quota returns what !QUOTA holds: a map made anew for each call. Nil means an empty
	// map.
	Quota func(context.Context) (value.Value, error)
	// Calls are the other jobs that the run starts and hears of.
	Calls Calls
	// Release, where there is one, is for whoever opened them to call after the run.
	Release func()
}

// Options are what a run is made of.
type Options struct {
	Resources

	// RequestFiles are those that came with the request, which the run finds among Files.
	RequestFiles []*RequestFile

	// Account and Job return what !ACCOUNT and !JOB hold, as Quota does. Job is given how
	// many questions were answered or expired before.
	Account func(context.Context) (value.Value, error)
	Job     func(ctx context.Context, asked int) (value.Value, error)

	// Journal records the results of effects; nil for a run that is never replayed.
	Journal Journal
	// Observe is called with each result before the machine gets it, be it performed, recorded
	// or answered; may be nil. The effect's arguments are the machine's.
	Observe func(e *vm.Effect, t Result)
	// MachineOutput is called with what a command on a machine puts out, as it comes; may be nil.
	// It is called by one goroutine at a time, and does not keep the piece.
	MachineOutput func(o MachineOutput)
	// Pace says when the run may compute; nil lets it always.
	Pace Pace

	Clock func() time.Time // time.Now where left out
	Rand  io.Reader        // of cryptographic quality; crypto/rand's where left out

	// Passwords gives turns to hash passwords, to all runs that share it, and
	// Holder is for whom this one does.
	Passwords *password.Gate
	Holder    password.Holder
	// MaxPause is how long a question may wait for its answer at most, and does
	// where the script sets no time; 0: for ever.
	MaxPause time.Duration
	// MaxWait is how long one WAIT may last at most; 0: as long as it likes.
	MaxWait time.Duration
}

func (o Options) withDefaults() Options {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	return o
}

// MachineOutput is a piece of what a command puts out.
type MachineOutput struct {
	Machine string
	Line    int // of the RUN in the script
	Stderr  bool
	Piece   []byte
}

// Secrets are an account's secrets by name.
type Secrets interface {
	Secret(ctx context.Context, name string) (secret string, found bool, err error)
}

// Status says how far a run has come.
type Status uint8

// The states.
const (
	Done        Status = iota // ended well
	Declined                  // ended at a declined CONFIRM
	Failed                    // ended with an error
	Paused                    // at a question, see Prompt
	Waiting                   // at a WAIT, see Until
	Interrupted               // before an effect, which another attempt does
)

var statusNames = [...]string{"done", "declined", "failed", "paused", "waiting", "interrupted"}

// String returns the state's name.
func (s Status) String() string { return statusNames[s] }

// Outcome is why a run came back.
type Outcome struct {
	Status Status
	Err    *vm.Error // Failed: secrets are masked in its message
	Prompt *Prompt   // Paused
	Until  time.Time // Waiting; zero where that is for what it awaits alone
	Awaits Awaits    // Waiting
}

// Awaits is what a run waits for beside a moment: a job's end, a signal, or nothing.
type Awaits struct {
	Job    string // the id
	Signal string // the name
}

// IsZero tells whether it waits for a moment alone.
func (a Awaits) IsZero() bool { return a == Awaits{} }

// The kinds of questions.
const (
	KindConfirm = "confirm"
	KindGather  = "gather"
)

// Prompt is a question to a person.
type Prompt struct {
	ID      string
	Kind    string
	Message string
	To      string     // whom it is for, "" where the script does not say
	Form    *form.Form // of KindGather
	Expires time.Time  // zero: never
	Asked   int        // how many were asked before it
	// Sent says that the script has read the address of its page: to send it to whoever
	// shall answer.
	Sent bool
	Line int
}

// State is what is stored of a run beside its machine's snapshot when it is
// stored at a pause or a wait.
type State struct {
	Session bool      `json:"session,omitempty"` // it has started one, to be taken again
	Prompt  string    `json:"prompt,omitempty"`  // the id of the question that is open
	Expires time.Time `json:"expires,omitzero"`
	Until   time.Time `json:"until,omitzero"`
	Asked   int       `json:"asked,omitempty"`   // how many questions it has asked before that
	Fetches int       `json:"fetches,omitempty"` // how often it has called others
	// Sent is 1 + the number of questions before the one whose page's address the script
	// has read last.
	Sent int `json:"sent,omitempty"`
	// Answered is the last answer that it got; nil before any.
	Answered *Answered `json:"answered,omitempty"`
	// Secrets are those that the script has read, to be masked. So a State is
	// stored sealed.
	Secrets []string `json:"secrets,omitempty"`
	// Held are the files that loops have begun to go through, by the hashes of their references.
	// Some of the loops may have ended: see Run.HeldFiles.
	Held []string `json:"held,omitempty"`
	// Taken are the paths of the files of its request that it has moved or removed.
	Taken []string `json:"taken,omitempty"`

	// Day is the day on which it was suspended, counted from 1970 in UTC; 0 where it is not. What it
	// used of fuel and of time before the day on which it was last resumed is counted no more against its
	// limits.
	Day        int64         `json:"day,omitempty"`
	FuelBefore int64         `json:"fuel_before,omitempty"`
	RanBefore  time.Duration `json:"ran_before,omitempty"`
	// Refueled says that its machine got all of its fuel again at the effect that it is at. Who observes the run is
	// told with the result of that: without it, it cannot be replayed.
	Refueled bool `json:"refueled,omitempty"`
}
