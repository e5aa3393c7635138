package account

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ql/lang/value"
	"ql/lang/vm"
)

// Plan names a set of limits.
type Plan string

// The plans.
const (
	Free      Plan = "free"
	Standard  Plan = "standard"
	Unlimited Plan = "unlimited"
)

var plans = []Plan{Free, Standard, Unlimited}

// OfDevelopment stands for the plan in limitPlan of the development account. No
// account has it, and where nobody says what it allows, that is what free does.
const OfDevelopment Plan = "development"

// limitPlan is whose limits hold for an account that has none of its own: those of
// its plan, but that settings may say otherwise for the development account.
func (a Account) limitPlan() Plan {
	if a.Username == Development && a.Plan == Free {
		return OfDevelopment
	}
	return a.Plan
}

// Plans returns the plans that are there without settings.
func Plans() []Plan { return slices.Clone(plans) }

// ParsePlan takes the name of one of some plans.
func ParsePlan(name string, among []Plan) (Plan, error) {
	if p := Plan(name); slices.Contains(among, p) {
		return p, nil
	}
	names := make([]string, len(among))
	for i, p := range among {
		names[i] = string(p)
	}
	last := len(names) - 1
	return "", fmt.Errorf("there is no plan %q: plans are %s and %s", name, strings.Join(names[:last], ", "), names[last])
}

const (
	kib = 1 << 10
	mib = 1 << 20
	gib = 1 << 30
	day = 24 * time.Hour
)

// fuelPerSecond is how many instructions stand for a second of CPU time.
const fuelPerSecond = 100_000_000

// Limits are all limits of a plan. The tag of those that may be 0 says what that
// means; everything else is always bounded.
type Limits struct {
	// What a call may bring.
	ScriptBytes int
	SourceBytes int // the script and what it includes together
	BodyBytes   int
	FieldBytes  int // get, post and cookie together
	FieldKeys   int
	JSONDepth   int
	JSONNodes   int
	JSONKeys    int // of one object

	// How long a script may run. CPU time is counted in instructions.
	SyncTime  time.Duration
	SyncCPU   time.Duration
	AsyncTime time.Duration // while running
	AsyncCPU  time.Duration
	Pause     time.Duration

	// What a script may hold and make.
	Memory        int64
	TextBytes     int // one text or binary value
	Elements      int // of one list or map
	CallDepth     int
	Nesting       int // of expressions, statements and values
	PatternBytes  int
	PatternCost   int64 // instructions × bytes
	SyncOutput    int
	AsyncOutput   int
	TraceFirst    int `zero:"no steps"` // steps
	TraceLast     int `zero:"no steps"`
	SnapshotBytes int
	SessionBytes  int
	SessionKeys   int

	// What a script may fetch.
	Fetches       int           `zero:"no FETCH"`
	FetchesAtOnce int           `zero:"no FETCH"`
	FetchTime     time.Duration `zero:"no FETCH"`
	FetchBytes    int           `zero:"no FETCH"` // as sent, and decompressed
	FetchRatio    int           `zero:"no FETCH"` // decompressed to sent

	// What a script may run on machines.
	RunTime    time.Duration `zero:"no RUN"` // of one command, or one copy
	RunsAtOnce int           `zero:"no RUN"`

	// What a script may send by mail.
	MailsPerDay    int   `zero:"no MAIL"` // addresses that mails go to, in 24 hours
	MailsPerMinute int   `zero:"no limit"`
	MailBytes      int64 `zero:"no MAIL"` // of one mail, as it is sent

	// What an account may do at a time.
	Concurrent     int
	Queued         int
	Rate           int   `zero:"no limit"` // calls a minute
	RateBurst      int   `zero:"as rate"`
	RatePerAddress bool  // each calling address has a rate of its own
	OriginRate     int   `zero:"no limit"` // calls a minute for each origin and calling network
	SiteRate       int   `zero:"no limit"` // pages of its site that run a script, a minute for each visitor's network
	SiteBodyBytes  int64 `zero:"no limit"` // of a form with files, to its site or a published script
	Listeners      int   `zero:"no limit"` // that wait at once for changes of its jobs

	// What an account may keep.
	StorageBytes int64         `zero:"no limit"` // files and databases together
	FileBytes    int64         `zero:"no limit"`
	Files        int           `zero:"no limit"`
	Databases    int           `zero:"no limit"`
	JobRetention time.Duration `key:"jobs_kept"`
	RecordsBytes int64         `zero:"no limit"`   // of finished jobs; those that finished first go before their time is over
	HistoryBytes int           `zero:"no history"` // of the results that a job got, in its record, to replay it
	// Jobs that are suspended, or were and have not ended.
	Suspended      int           `zero:"no limit" key:"standing"`
	SuspendedBytes int64         `zero:"no limit" key:"standing_bytes"` // that they hold together
	NamedKeys      int           // that have not expired
	Domains        int           // listed by the owner, and likewise of its site; the operator may list more
	Secrets        int           // of scripts, each of at most 64 KiB
	Machines       int           `zero:"no machines"`
	Sessions       int           // where another begins, the one unused for longest ends
	Published      int           `zero:"no limit"` // scripts, each with its versions
	PublishedBytes int64         `zero:"no limit"` // of all versions together
	Schedules      int           `zero:"no schedules"`
	ScheduleEvery  time.Duration // how often a schedule may come at most
	LogBytes       int64         // of the log of who did what; the oldest entries go first

	// What an account may use in a calendar month.
	CallsPerMonth   int64         `zero:"no limit"`
	RunningPerMonth time.Duration `zero:"no limit"`
	EgressPerMonth  int64         `zero:"no limit"` // bytes
	MachinePerMonth time.Duration `zero:"no limit"` // that commands run on machines
}

// Limits returns the limits that a plan has unless settings say otherwise. An
// unknown plan has those of free: a mistake never widens.
func (p Plan) Limits() Limits {
	switch p {
	case Standard:
		return standard()
	case Unlimited:
		return unlimited()
	default:
		return free()
	}
}

func free() Limits {
	return Limits{
		ScriptBytes: 64 * kib, SourceBytes: 256 * kib, BodyBytes: 256 * kib, FieldBytes: 16 * kib, FieldKeys: 256,
		JSONDepth: 16, JSONNodes: 10_000, JSONKeys: 1_000,

		SyncTime: 5 * time.Second, SyncCPU: time.Second,
		AsyncTime: time.Minute, AsyncCPU: 5 * time.Second, Pause: time.Hour,

		Memory: 16 * mib, TextBytes: 1 * mib, Elements: 100_000, CallDepth: 200, Nesting: 64,
		PatternBytes: 256, PatternCost: 1e7,
		SyncOutput: 256 * kib, AsyncOutput: 256 * kib,
		TraceFirst: 100, TraceLast: 100,
		SnapshotBytes: 2 * mib, SessionBytes: 4 * kib, SessionKeys: 256,

		RunTime: 30 * time.Second, RunsAtOnce: 2,

		MailsPerDay: 10, MailsPerMinute: 2, MailBytes: 1 * mib,

		Concurrent: 2, Queued: 20, Rate: 60, RateBurst: 20, RatePerAddress: true, OriginRate: 60, SiteRate: 120, SiteBodyBytes: 10 * mib, Listeners: 64,

		StorageBytes: 100 * mib, FileBytes: 10 * mib, Files: 10_000, Databases: 10, JobRetention: 7 * day, RecordsBytes: 100 * mib, HistoryBytes: 64 * kib,
		Suspended: 100, SuspendedBytes: 32 * mib, NamedKeys: 20, Domains: 10, Secrets: 20, Machines: 2, Sessions: 1_000, Published: 20, PublishedBytes: 4 * mib, Schedules: 10, ScheduleEvery: time.Minute, LogBytes: 256 * kib,

		CallsPerMonth: 100_000, RunningPerMonth: 10 * time.Hour, EgressPerMonth: 10 * gib, MachinePerMonth: time.Hour,
	}
}

func standard() Limits {
	return Limits{
		ScriptBytes: 256 * kib, SourceBytes: 1 * mib, BodyBytes: 1 * mib, FieldBytes: 64 * kib, FieldKeys: 256,
		JSONDepth: 32, JSONNodes: 100_000, JSONKeys: 1_000,

		SyncTime: 30 * time.Second, SyncCPU: 5 * time.Second,
		AsyncTime: 15 * time.Minute, AsyncCPU: 5 * time.Minute, Pause: 7 * day,

		Memory: 64 * mib, TextBytes: 8 * mib, Elements: 1_000_000, CallDepth: 2_000, Nesting: 200,
		PatternBytes: 1 * kib, PatternCost: 1e8,
		SyncOutput: 8 * mib, AsyncOutput: 32 * mib,
		TraceFirst: 500, TraceLast: 500,
		SnapshotBytes: 16 * mib, SessionBytes: 64 * kib, SessionKeys: 256,

		Fetches: 20, FetchesAtOnce: 6, FetchTime: 10 * time.Second, FetchBytes: 8 * mib, FetchRatio: 100,

		RunTime: 10 * time.Minute, RunsAtOnce: 6,

		MailsPerDay: 1_000, MailsPerMinute: 60, MailBytes: 25 * mib,

		Concurrent: 10, Queued: 1_000, Rate: 600, RateBurst: 100, OriginRate: 60, SiteRate: 600, SiteBodyBytes: 100 * mib, Listeners: 1_000,

		StorageBytes: 10 * gib, FileBytes: 2 * gib, Files: 1_000_000, Databases: 1_000, JobRetention: 30 * day, RecordsBytes: 10 * gib, HistoryBytes: 1 * mib,
		Suspended: 10_000, SuspendedBytes: 1 * gib, NamedKeys: 100, Domains: 100, Secrets: 100, Machines: 20, Sessions: 10_000, Published: 1_000, PublishedBytes: 64 * mib, Schedules: 100, ScheduleEvery: time.Minute, LogBytes: 4 * mib,
	}
}

func unlimited() Limits {
	return Limits{
		ScriptBytes: 1 * mib, SourceBytes: 4 * mib, BodyBytes: 16 * mib, FieldBytes: 1 * mib, FieldKeys: 1_000,
		JSONDepth: 64, JSONNodes: 1_000_000, JSONKeys: 10_000,

		SyncTime: 120 * time.Second, SyncCPU: 60 * time.Second,
		AsyncTime: 24 * time.Hour, AsyncCPU: time.Hour, Pause: 90 * day,

		Memory: 512 * mib, TextBytes: 64 * mib, Elements: 10_000_000, CallDepth: 20_000, Nesting: 1_000,
		PatternBytes: 4 * kib, PatternCost: 1e9,
		SyncOutput: 256 * mib, AsyncOutput: 256 * mib,
		TraceFirst: 5_000, TraceLast: 5_000,
		SnapshotBytes: 128 * mib, SessionBytes: 1 * mib, SessionKeys: 1_000,

		Fetches: 200, FetchesAtOnce: 6, FetchTime: 10 * time.Second, FetchBytes: 64 * mib, FetchRatio: 100,

		RunTime: 24 * time.Hour, RunsAtOnce: 50,

		MailsPerDay: 100_000, MailsPerMinute: 6_000, MailBytes: 50 * mib,

		Concurrent: 200, Queued: 100_000,

		Databases: 10_000, HistoryBytes: 4 * mib, JobRetention: 90 * day, NamedKeys: 1_000, Domains: 1_000, Secrets: 1_000, Machines: 1_000, Sessions: 100_000, Published: 10_000, PublishedBytes: 256 * mib, Schedules: 1_000, ScheduleEvery: time.Minute, LogBytes: 64 * mib,
	}
}

// SyncMachine returns what the machine holds a synchronous run to.
func (l Limits) SyncMachine() vm.Limits { return l.machine(l.SyncCPU, l.SyncOutput) }

// AsyncMachine returns what the machine holds an asynchronous job to.
func (l Limits) AsyncMachine() vm.Limits { return l.machine(l.AsyncCPU, l.AsyncOutput) }

func (l Limits) machine(cpu time.Duration, output int) vm.Limits {
	return vm.Limits{
		Bounds: value.Bounds{
			Text: l.TextBytes, Elements: l.Elements, Nesting: l.Nesting,
			Pattern: l.PatternBytes, PatternCost: l.PatternCost,
		},
		Fuel:       int64(cpu.Seconds() * fuelPerSecond),
		Memory:     l.Memory,
		CallDepth:  l.CallDepth,
		Output:     output,
		TraceFirst: l.TraceFirst,
		TraceLast:  l.TraceLast,
	}
}
