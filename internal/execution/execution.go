// Package execution is one script of an account on its way through the
// service: what it is run with, what it reaches, and how what it did is written
// down. A synchronous call and a durable job are executions alike; who drives
// one, and where its record goes, is the business of internal/service and
// internal/worker.
package execution

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"time"

	"ql/internal/account"
	"ql/internal/admit"
	"ql/internal/engine"
	"ql/internal/fault"
	"ql/internal/job"
	"ql/internal/password"
	"ql/internal/wire"
	"ql/lang"
	"ql/lang/bytecode"
	"ql/lang/value"
	"ql/lang/vm"
)

// Programs compiles scripts, or finds them compiled.
type Programs interface {
	// Lookup finds what needs no files and no work; nil where that is not enough.
	Lookup(text string) *bytecode.Program
	Compile(text string, o lang.Options) (*bytecode.Program, error)
}

// Host is what all executions of a node share. All fields but those that say
// otherwise are needed.
type Host struct {
	Programs Programs
	// Resources opens what belongs to an account, for one run. Session is the
	// id of the session that the caller brought, "" where it brought none.
	Resources func(ctx context.Context, a account.Account, l account.Limits, session string) (engine.Resources, error)
	// Token makes a token that nobody can guess, the same for the same account and
	// name.
	Token func(a account.ID, name string) string
	// Forms and Confirms are the addresses to which a token and a job's id are added,
	// for people and programs to answer at; "" where there are none.
	Forms, Confirms string
	// Ledger counts what is held for accounts; nil counts nothing.
	Ledger *admit.Ledger
	// Passwords gives accounts turns to hash passwords; nil for no bound.
	Passwords *password.Gate
	Clock     func() time.Time
	Log       *slog.Logger
	// DatabasesElsewhere returns the error of scripts of an account that use its databases, where another node
	// has them; nil where this one has them from then on, for a while. It is nil where there is one node.
	DatabasesElsewhere func(ctx context.Context, a account.ID) error
	// SignalURL is where programs tell a job something; nil where they cannot.
	SignalURL func(a account.ID, id job.ID) string
	// Calls returns the other jobs as a script reaches them; nil where there are none.
	Calls func(x *Execution) engine.Calls
}

// FormToken returns the token of the page where people answer a job's question: the
// one after so many others. It is known before the question is asked, so that a
// script can send it to whoever shall answer.
func (h *Host) FormToken(a account.ID, id job.ID, asked int) string {
	return h.Token(a, fmt.Sprintf("form:%s:%d", id, asked))
}

// Spec is what a script is run with. It is stored with a job.
type Spec struct {
	Request wire.Request `json:"request"`
	// Input is what the caller gives the program: JSON of a map, nil for nothing. After
	// CheckInput it is what the program's INPUT FIELDS make of that.
	Input   json.RawMessage `json:"input,omitempty"`
	Session string          `json:"session,omitempty"` // the id that the caller brought
	// Owner says that the call was made with the account's credentials, not by a web
	// page or a stranger alone, or that its script was published to have the owner's
	// rights for those too.
	Owner bool `json:"owner,omitempty"`
	// NoMachines says that no credentials were brought, whatever rights its script has: it runs no
	// commands on machines.
	NoMachines bool `json:"no_machines,omitempty"`
	// Client is the address that the call came from, also where it is resumed later.
	// Jobs of earlier versions have none.
	Client  netip.Addr `json:"client,omitzero"`
	Started time.Time  `json:"started"`
	// Depth is how many scripts have run each other before this one.
	Depth int `json:"depth,omitempty"`
	// Keys are the concurrency keys that it, and those that have run it, have while it is under way.
	Keys []string `json:"keys,omitempty"`
	// Trace is how much of the trace is shown.
	Trace wire.TraceMode `json:"trace,omitempty"`
	// Limits are those of the machine: the same each time the run is repeated.
	Limits vm.Limits `json:"limits"`
	// Files are what it finds in place of the account's files as they are; nil for those. A page
	// reads the site as of one release by them. They are not stored: a job that goes on later finds
	// the files as they are then.
	Files engine.Files `json:"-"`
	// Uploads are the files that came with the request.
	Uploads []*engine.RequestFile `json:"uploads,omitempty"`
}

// Execution is one script with what it reaches.
type Execution struct {
	*Host
	ID      job.ID
	Account account.Account
	Limits  account.Limits
	Spec    Spec
	Pace    engine.Pace
	Job     *job.Summary // as which it runs; nil before that is known
	// InCalls is how long it has waited for scripts that it runs, and that ran in its slot: that time is
	// counted as theirs.
	InCalls time.Duration
	// EndedCall takes a job that it has run and that is over, to be stored with the result of that; nil where
	// it is to be stored at once.
	EndedCall func(c job.EndedCall)
	// Observe is called with the results of effects, see engine.Options; may be nil.
	Observe func(m *vm.Machine, e *vm.Effect, t engine.Result)
	// MachineOutput is called with what commands put out, see engine.Options; may be nil.
	MachineOutput func(o engine.MachineOutput)

	resources engine.Resources
	known     *bytecode.Program // that the script was compiled to before, for Compile; nil where that is not known
	source    *job.Source
	fault     *fault.Error // of the service, that the script met
	memory    admit.Reservation
}

// CheckDatabases returns an error where a program of an account uses its databases, and another node has them.
func (h *Host) CheckDatabases(ctx context.Context, a account.ID, p *bytecode.Program) error {
	if h.DatabasesElsewhere == nil || !p.UsesDatabases() {
		return nil
	}
	return h.DatabasesElsewhere(ctx, a)
}

// Open opens what a script of an account reaches. Close is to be called.
func (h *Host) Open(ctx context.Context, id job.ID, a account.Account, l account.Limits, s Spec, p engine.Pace) (*Execution, error) {
	return (&Execution{Host: h, ID: id, Account: a, Limits: l, Spec: s, Pace: p}).open(ctx)
}

// OpenScript is Open for the one script that is compiled next: where it is known to ask for nothing, nothing is opened.
func (h *Host) OpenScript(ctx context.Context, id job.ID, a account.Account, l account.Limits, s Spec, p engine.Pace, script string) (*Execution, error) {
	x := &Execution{Host: h, ID: id, Account: a, Limits: l, Spec: s, Pace: p}
	if x.known = h.Programs.Lookup(script); x.known != nil && !x.known.HasEffects() {
		x.memory = h.Ledger.Open(admit.AccountHolder(int64(a.ID)))
		return x, nil
	}
	return x.open(ctx)
}

func (x *Execution) open(ctx context.Context) (*Execution, error) {
	var err error
	if x.resources, err = x.Resources(ctx, x.Account, x.Limits, x.Spec.Session); err != nil {
		return nil, err
	}
	if x.Spec.Files != nil {
		x.resources.Files = x.Spec.Files
	}
	x.memory = x.Ledger.Open(admit.AccountHolder(int64(x.Account.ID)))
	return x, nil
}

// Close lets go of what the script reached, and of its program.
func (x *Execution) Close() {
	x.memory.Release()
	if x.resources.Release != nil {
		x.resources.Release()
	}
}

// SessionID returns the id of the caller's session, "" where there is none.
func (x *Execution) SessionID() string {
	if x.resources.Sessions != nil {
		return x.resources.Sessions.ID()
	}
	if x.known != nil { // it reaches nothing, and leaves the session that there is
		return x.Spec.Session
	}
	return ""
}

// EnsureSession gives the caller a session that the script starts later.
func (x *Execution) EnsureSession(ctx context.Context) (err error) {
	if x.resources.Sessions != nil {
		x.Spec.Session, err = x.resources.Sessions.Ensure(ctx)
	}
	return err
}

// Databases returns the account's databases.
func (x *Execution) Databases() engine.Databases { return x.resources.Databases }

// Fault returns the fault of the service that ended the script, or nil.
func (x *Execution) Fault() *fault.Error { return x.fault }

// Compile compiles the script, in turns of the execution's pace and within the time of a
// call. What it takes is reserved for the account, and so is the program until Close. The
// failure is one of the script, to answer; the error says that the node has no room for it
// now.
func (x *Execution) Compile(ctx context.Context, script string) (program *bytecode.Program, failure *wire.Error, err error) {
	x.source = &job.Source{Text: script}
	if program = x.known; program == nil {
		program = x.Programs.Lookup(script)
	}
	if program != nil {
		x.source.Hash = program.Hash
		return program, nil, x.reserveProgram(ctx, program)
	}
	// Not earlier: a timer costs a call whose program is there more than all else here.
	ctx, cancel := context.WithTimeout(ctx, x.Limits.SyncTime)
	defer cancel()
	program, err = x.Programs.Compile(script, lang.Options{
		Include:  x.include(ctx),
		MaxBytes: x.Limits.SourceBytes,
		Reserve:  func(bytes int64) error { return x.reserve(ctx, bytes) },
		Yield:    func() error { return x.Pace.Turn(ctx) },
	})
	var refused *admit.Refused
	switch {
	case errors.As(err, &refused):
		return nil, nil, err
	case err != nil:
		x.source.Hash = hashOf(x.source)
		return nil, x.compileError(err), nil
	}
	x.source.Hash = program.Hash
	return program, nil, x.reserveProgram(ctx, program)
}

// Source returns the text that was compiled, with what it includes; nil before.
func (x *Execution) Source() *job.Source { return x.source }

// hashOf tells sources from each other that do not compile.
func hashOf(s *job.Source) [sha256.Size]byte {
	h := sha256.New()
	write := func(text string) { fmt.Fprintf(h, "%d:%s", len(text), text) }
	write(s.Text)
	for i := range s.Files {
		write(s.Files[i].Path)
		write(s.Files[i].Text)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// included notes a file that the script includes: one that is read again, as it is then.
func (x *Execution) included(path, text string) {
	files := x.source.Files
	for i := range files {
		if files[i].Path == path {
			files[i].Text = text
			return
		}
	}
	x.source.Files = append(files, job.SourceFile{Path: path, Text: text})
}

// reserveProgram reserves what a program takes, in place of what it took to compile it.
func (x *Execution) reserveProgram(ctx context.Context, p *bytecode.Program) error {
	bytes := int64(p.Bytes)
	if len(x.source.Files) > 0 { // its own text its caller holds
		bytes += x.source.Bytes()
	}
	if bytes < smallProgram {
		bytes = 0
	}
	if over := x.memory.Bytes() - bytes; over >= 0 {
		x.memory.Shrink(over)
		return nil
	}
	return x.reserve(ctx, bytes-x.memory.Bytes())
}

// reserve reserves memory. Whoever waits for it holds no slot.
func (x *Execution) reserve(ctx context.Context, bytes int64) error {
	if x.memory.TryGrow(bytes) {
		return nil
	}
	x.Pace.Yield()
	if err := x.memory.Grow(ctx, bytes); err != nil {
		return err
	}
	return x.Pace.Turn(ctx)
}

// smallProgram is what a program may take without being counted by the ledger.
const smallProgram = 256 << 10

// include reads the files that the script includes.
func (x *Execution) include(ctx context.Context) func(string) (string, error) {
	if x.resources.Files == nil {
		return nil
	}
	return func(path string) (string, error) {
		x.Pace.Yield()
		text, err := x.resources.Files.Read(ctx, path, x.Limits.ScriptBytes)
		var known *value.Error
		// A file that cannot be read may be asked for twice.
		if err != nil && !errors.As(err, &known) && x.fault == nil {
			x.ReportFault(err)
		}
		_ = x.Pace.Turn(ctx) // where ctx has ended, the machine tells
		if err == nil {
			x.included(path, string(text))
		}
		return string(text), err
	}
}

// Machine returns a machine at the start of a program.
func (x *Execution) Machine(ctx context.Context, p *bytecode.Program) *vm.Machine {
	turn := func() { _ = x.Pace.Turn(ctx) } // where ctx has ended, the machine tells
	return x.Spec.Machine(p, turn)
}

// Machine returns a machine at the start of a program that is run with s. Turn is called now and
// then on the way.
func (s *Spec) Machine(p *bytecode.Program, turn func()) *vm.Machine {
	in := s.input(p, turn)
	if vm.Reads(p, bytecode.GlobalInput) {
		s.given(&in, s.Limits, turn)
	}
	return vm.New(p, s.Limits, in)
}

// Run binds a machine to what the script reaches. Journal may be nil.
func (x *Execution) Run(m *vm.Machine, s engine.State, j engine.Journal) *engine.Run {
	o := engine.Options{
		Resources: x.resources, RequestFiles: x.Spec.Uploads,
		Account:   x.accountEntries,
		Job:       x.jobEntries,
		Pace:      x.Pace,
		Journal:   j,
		Clock:     x.Clock,
		Passwords: x.Passwords,
		Holder:    password.Holder{Account: int64(x.Account.ID)},
		MaxPause:  x.Limits.Pause,

		MachineOutput: x.MachineOutput,
	}
	if x.Calls != nil && x.Job != nil {
		o.Calls = x.Calls(x)
	}
	if x.Observe != nil {
		o.Observe = func(e *vm.Effect, t engine.Result) { x.Observe(m, e, t) }
	}
	if !x.Spec.Owner {
		o.Secrets = noSecrets{}
	}
	if o.Machines != nil && (!x.Spec.Owner || x.Spec.NoMachines) {
		o.Machines = noMachines{}
	}
	return engine.New(m, o, s)
}

// noSecrets is what pages and strangers find: anybody can write an Origin header.
type noSecrets struct{}

func (noSecrets) Secret(context.Context, string) (string, bool, error) {
	return "", false, value.Errorf("not_available", "secrets are read for calls with credentials, and for others by scripts that were published to: this call has none")
}

// noMachines is what pages and strangers find.
type noMachines struct{}

func (noMachines) refuse() error {
	return value.Errorf("not_available", "machines run commands for calls with credentials only: this call has none")
}

func (n noMachines) Run(context.Context, string, engine.MachineRun) (engine.MachineResult, error) {
	return engine.MachineResult{}, n.refuse()
}

func (n noMachines) CopyTo(context.Context, string, string, io.Reader) error { return n.refuse() }

func (n noMachines) CopyFrom(context.Context, string, string, io.Writer) error { return n.refuse() }

// accountEntries are what !ACCOUNT holds.
func (x *Execution) accountEntries(context.Context) (value.Value, error) {
	m := value.NewMap(nil, 2)
	m.SetText("username", value.Text(x.Account.Username))
	m.SetText("plan", value.Text(string(x.Account.Plan)))
	return m.Value(), nil
}

// jobEntries are what !JOB holds.
func (x *Execution) jobEntries(_ context.Context, asked int) (value.Value, error) {
	m := value.NewMap(nil, 4)
	m.SetText("id", value.Text(x.ID.String()))
	m.SetText("started", value.Text(x.Spec.Started.UTC().Format(time.RFC3339)))
	if x.Forms != "" {
		m.SetText(engine.FormURL, value.Text(x.Forms+x.FormToken(x.Account.ID, x.ID, asked)))
		m.SetText("confirm_url", value.Text(x.Confirms+x.ID.String()))
	}
	if x.SignalURL != nil {
		m.SetText("signal_url", value.Text(x.SignalURL(x.Account.ID, x.ID)))
	}
	return m.Value(), nil
}
