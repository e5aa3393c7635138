// Package service is what the service can be asked to do: run a script as an account, submit a
// job, show it, answer its prompt, store a file. Each operation takes and gives values of the
// domain and speaks no HTTP, so that the calling conventions below package server are mere codecs
// over the same operations. What a script does is the engine's; who somebody is, the
// authenticator's.
package service

import (
	"context"
	"log/slog"
	"time"

	"ql/internal/account"
	"ql/internal/account/names"
	"ql/internal/account/usage"
	"ql/internal/admit"
	"ql/internal/engine"
	"ql/internal/execution"
	"ql/internal/job"
	"ql/internal/journal"
	"ql/internal/schedule"
	"ql/internal/wire"
	"ql/internal/worker"
	"ql/lang/vm"
)

// Accounts is what the operations ask about accounts.
type Accounts interface {
	ByID(ctx context.Context, id account.ID) (account.Account, error)
	ByAlias(ctx context.Context, alias names.Alias) (account.Account, error)
	BySiteDomain(ctx context.Context, domain string) (account.Account, account.SiteDomain, error)
}

// Scripts are the published scripts of accounts.
type Scripts interface {
	// CalledScript finds the version that a text such as cart or cart@3 names;
	// account.ErrNotFound where none is answered.
	CalledScript(ctx context.Context, id account.ID, text string) (account.Published, error)
	// PublishScript publishes a script that compiles. Its errors are coded, as are
	// RemoveScript's.
	PublishScript(ctx context.Context, a account.Account, p account.Publication) (stored account.Published, created bool, err error)
	RemoveScript(ctx context.Context, id account.ID, script string) error
	Scripts(ctx context.Context, id account.ID, after string, limit int) ([]account.Published, error)
	ScriptVersions(ctx context.Context, id account.ID, script string) ([]account.Published, error)
	ScriptUsage(ctx context.Context, id account.ID) (scripts int, bytes int64, err error)
}

// Records stores the records of synchronous calls.
type Records interface {
	// Record queues a record, which can be read at once, and waits for room.
	Record(ctx context.Context, r job.Record) error
	// Pending returns a record that is not stored yet.
	Pending(id job.ID) (job.Record, bool)
	// Flush waits until all records taken so far are stored.
	Flush(ctx context.Context) error
	// List returns an account's jobs, those recorded last first.
	List(ctx context.Context, a account.ID, q job.Query) ([]job.Listed, error)
}

// Jobs runs what outlives a call; see internal/worker.
type Jobs interface {
	Submit(ctx context.Context, s worker.Submission) (earlier job.ID, err error)
	SubmitStored(ctx context.Context, s worker.Submission, store worker.StoreTask) error
	Adopt(ctx context.Context, s worker.Submission, run *engine.Run, out engine.Outcome, ran time.Duration) (*job.View, error)
	ReserveKey(ctx context.Context, a account.ID, k job.Key, id job.ID) (earlier job.ID, err error)
	FindKey(ctx context.Context, a account.ID, k job.Key) (earlier job.ID, err error)
	RunsElsewhere(ctx context.Context, a account.ID, k job.Key) (bool, error)
	SubmitCalled(s worker.Called) (*job.End, error)
	ChildEnd(ctx context.Context, a account.ID, parent, child job.ID, most int64) (*job.ChildEnd, error)
	IsChild(ctx context.Context, a account.ID, parent, child job.ID) (bool, error)
	Children(ctx context.Context, a account.ID, parent job.ID, after int64, limit int) ([]job.Child, error)
	Parent(ctx context.Context, a account.ID, child job.ID) (ref int64, err error)
	Stack(ctx context.Context, id job.ID) (list []engine.StackFrame, more bool, err error)
	Signal(ctx context.Context, a account.ID, id job.ID, s job.Signal) (left bool, err error)
	NextSignal(ctx context.Context, a account.ID, id job.ID, name string) (*job.Signal, error)
	ConsumeSignal(ctx context.Context, a account.ID, id job.ID, number int64) error
	Reply(ctx context.Context, id job.ID, r worker.Reply) (prompt string, err error)
	Cancel(ctx context.Context, id job.ID) (job.State, error)
	ViewWithin(ctx context.Context, id job.ID, most int64) (*job.View, error)
	Watch(id job.ID) (changed <-chan struct{}, stop func())
	WatchMachines(id job.ID, take func(engine.MachineOutput)) (stop func())
	FormToken(v *job.View) (string, error)
	SealRequest(a account.ID, id job.ID, plain []byte) ([]byte, error)
	SealHistory(a account.ID, id job.ID, spec *execution.Spec, c *journal.Collector, ended *vm.Machine) (job.History, error)
	OpenRequest(a account.ID, id job.ID, sealed []byte) ([]byte, error)
	QuestionByToken(ctx context.Context, token string) (job.Question, error)
	Question(ctx context.Context, id job.ID, prompt string) (job.Question, error)
	NextQuestion(ctx context.Context, after *job.Question) (job.Question, error)
	Questions(ctx context.Context, a account.ID, q job.QuestionQuery) ([]job.Question, error)
	QuestionToken(q *job.Question) (string, error)
}

// URLs are where callers reach the service, without a slash at the end.
type URLs struct {
	Base string // pages for people
	API  string // the JSON convention
}

// Form is where the page of a prompt is, before its token.
func (u URLs) Form() string { return u.Base + "/form/" }

// Welcome is where somebody makes an account, and Reset where they set a password, before the token
// of a link.
func (u URLs) Welcome() string { return u.Base + "/app/welcome/" }

// Reset is where somebody sets a new password, before the token of a link.
func (u URLs) Reset() string { return u.Base + "/app/reset/" }

// Confirm is where a prompt is answered, before its job's id.
func (u URLs) Confirm() string { return u.API + "/v1/confirm/" }

// Options are what a Service is made of. All fields but those that say
// otherwise are needed.
type Options struct {
	Auth     Authenticator
	Accounts Accounts
	Keys     Keys
	Scripts  Scripts
	// Dashboard tells who is signed in, and SignIns starts and ends that.
	Dashboard Dashboard
	SignIns   SignIns
	// SignUps make accounts; OpenSignUp lets anybody have one, who needs no invitation.
	SignUps    SignUps
	OpenSignUp bool
	// Administration is what administrators do; AdminsInvite lets them invite people. Node is what
	// they are shown of this process.
	Administration Administration
	AdminsInvite   bool
	Node           wire.Node
	// Owners do what owners may do to their accounts.
	Owners Owners
	// Schedules start scripts by the clock, and ScheduleInputs seals what they are given; OnSchedule is
	// called when one may be due sooner.
	Schedules      schedule.Store
	ScheduleInputs ScheduleInputs
	OnSchedule     func()
	// Machines are the machines of accounts.
	Machines OwnedMachines
	Domains  Domains
	// CheckDomain reports whether a value is in a TXT record or a file of a domain.
	CheckDomain func(ctx context.Context, record, url, value string) (bool, error)

	SiteDomains SiteDomains
	CheckRecord account.LooksUp // by domainproof
	// OnDeleted is called after an account was marked as deleted; may be left out.
	OnDeleted func()
	// Audit keeps the logs of who did what; nil logs nothing.
	Audit   Audit
	Limiter *admit.Limiter
	Gate    *admit.Gate
	// Ledger counts the memory that is held for callers; nil counts nothing.
	Ledger  *admit.Ledger
	Host    *execution.Host
	Records Records
	// Changes tells of changes of jobs.
	Changes job.Changes
	History History
	Jobs    Jobs
	// Pages seals what visitors of sites carry for their pages.
	Pages Pages
	URLs  URLs
	// Files opens the tree of an account; release closes it.
	Files  func(ctx context.Context, a account.Account, l account.Limits) (tree FileTree, release func(), err error)
	Shares Shares
	// Mails are what scripts send by mail.
	Mails Mails
	// Webhooks are what is sent of the ends of jobs.
	Webhooks Webhooks
	// Databases opens those of an account; release closes them.
	Databases func(ctx context.Context, a account.Account, l account.Limits) (all OwnedDatabases, release func(), err error)
	// Transfers bounds the files that are on their way at once.
	Transfers *admit.TransferLimiter

	// SiteOwners returns up to limit accounts that have a site.
	SiteOwners func(ctx context.Context, limit int) ([]account.ID, error)
	// SiteVersion returns a number that is greater after every change of what an account's site shows, as
	// store.SiteVersions has it; false where that is not known. Left out, nothing of sites is remembered.
	SiteVersion func(a account.Account) (version uint64, ok bool)
	// Handouts bounds the files that are on their way at once to visitors of sites.
	Handouts *admit.TransferLimiter

	// Listeners bounds those who wait for changes of jobs at once; nil bounds nobody.
	Listeners *admit.TransferLimiter

	// Usage holds accounts to their months; nil holds nobody.
	Usage *usage.Tally
	// StorageUsed returns how many bytes an account stores; nil where that is not known.
	StorageUsed func(ctx context.Context, a account.Account, l account.Limits) (int64, error)
	// RecordsUsed returns how many bytes the records of its finished jobs take, likewise.
	RecordsUsed func(ctx context.Context, a account.ID) (int64, error)

	// CheckWebhook says what is wrong with the address of a webhook; nil lets all pass.
	CheckWebhook func(url string) error
	// DevelopmentWebhooks lets the development account send webhooks.
	DevelopmentWebhooks bool
	// SignsInDevelopers lets whoever is at this machine sign in to the development account without a
	// password, as in development by one person.
	SignsInDevelopers bool
	// SignsInByLink lets who has the link of SignIns sign in to it, from any machine.
	SignsInByLink bool
	// Unlimited says that rates, and what an account has under way and in line, are
	// not bounded, as in development.
	Unlimited bool
	// Limits returns the limits of a plan; Plan.Limits where left out.
	Limits func(account.Plan) account.Limits
	// Plans are all that accounts may have; account.Plans() where left out.
	Plans []account.Plan
	Clock func() time.Time // time.Now where left out
	NewID func() job.ID    // job.NewID where left out
	// MayCome tells whether a job that is not there may be about to be recorded by another node; nil where there is none.
	MayCome func(job.ID) bool
	Log     *slog.Logger // slog.Default() where left out
	// OnRun is called with how each run ended and how long it took; may be left out.
	OnRun func(state job.State, took time.Duration)
}

// Service does the operations. It is safe for concurrent use.
type Service struct {
	o       Options
	largest wire.Limits // under which a request is read before it is known whose it is

	inFlight inFlight
	views    viewCache
	traces   traces
	exports  exports
	feeds    feeds
	// strangers samples the answers of those who prove nothing, for the logs of accounts.
	strangers    strangers
	siteSettings siteSettings
	sites        siteMemory
}

// New returns a service.
func New(o Options) *Service {
	if o.Limits == nil {
		o.Limits = account.Plan.Limits
	}
	if o.Plans == nil {
		o.Plans = account.Plans()
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
	if o.CheckWebhook == nil {
		o.CheckWebhook = func(string) error { return nil }
	}
	if o.SiteVersion == nil {
		o.SiteVersion = func(account.Account) (uint64, bool) { return 0, false }
	}
	if o.OnDeleted == nil {
		o.OnDeleted = func() {}
	}
	if o.OnRun == nil {
		o.OnRun = func(job.State, time.Duration) {}
	}
	return &Service{o: o, largest: largestRequest(o.Plans, o.Limits)}
}
