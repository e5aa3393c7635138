// Package api is what the service can be asked to do: run a script as an
// account, show a job. Each operation takes and gives values of the domain, so
// that both calling conventions are mere codecs over the same operations. How
// bytes come and go is theirs; what a script does is the engine's; who somebody
// is, the authenticator's.
package api

import (
	"context"
	"log/slog"
	"time"

	"ql/internal/account"
	"ql/internal/admit"
	"ql/internal/engine"
	"ql/internal/job"
	"ql/internal/password"
	"ql/lang"
	"ql/lang/bytecode"
	"ql/lang/value"
)

// Accounts is what the operations ask about accounts.
type Accounts interface {
	ByID(ctx context.Context, id account.ID) (account.Account, error)
}

// Programs compiles scripts, or finds them compiled.
type Programs interface {
	Compile(text string, o lang.Options) (*bytecode.Program, error)
}

// Jobs keeps the records of synchronous runs.
type Jobs interface {
	// Record takes a record that can be read at once, and waits for room.
	Record(ctx context.Context, r job.Record) error
	// Get finds a job; job.ErrNotFound where there is none.
	Get(ctx context.Context, id job.ID) (job.Record, error)
}

// Session is a caller's session of an account.
type Session interface {
	engine.Sessions
	// ID returns the id for the caller to bring again: that of the session
	// found or made by Start, "" after its end.
	ID() string
}

// Resources are what a run of an account reaches. What is nil is not there.
type Resources struct {
	Files     engine.Files
	Databases engine.Databases
	Session   Session
	Secrets   engine.Secrets
	// Quota returns what !QUOTA holds.
	Quota func(context.Context) (value.Value, error)
	// Release, where there is one, lets go of them after the run.
	Release func()
}

// Options are what a Service is made of. All fields but those that say
// otherwise are needed.
type Options struct {
	Auth     Authenticator
	Accounts Accounts
	Limiter  *admit.Limiter
	Gate     *admit.Gate
	Programs Programs
	Jobs     Jobs
	// Resources opens what belongs to an account, for one run. Session is the
	// id of the session that the caller brought, "" where it brought none.
	Resources func(ctx context.Context, a account.Account, l account.Limits, session string) (Resources, error)

	// Limits returns the limits of a plan; Plan.Limits where left out.
	Limits func(account.Plan) account.Limits
	// Passwords bounds the hashes that scripts make at once; nil for no bound.
	Passwords *password.Gate
	Clock     func() time.Time // time.Now where left out
	NewID     func() job.ID    // job.NewID where left out
	Log       *slog.Logger     // slog.Default() where left out
	// Ran is told how long each run took and how it ended; may be left out.
	Ran func(state job.State, took time.Duration)
}

// Service does the operations. It is safe for concurrent use.
type Service struct{ o Options }

// New returns a service.
func New(o Options) *Service {
	if o.Limits == nil {
		o.Limits = account.Plan.Limits
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.NewID == nil {
		o.NewID = job.NewID
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Ran == nil {
		o.Ran = func(job.State, time.Duration) {}
	}
	return &Service{o: o}
}
