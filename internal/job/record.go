package job

import (
	"time"
	"unicode/utf8"

	"ql/internal/account"
	"ql/internal/principal"
)

// Mode is how a caller waits for a job.
type Mode string

// The modes.
const (
	Sync  Mode = "sync"
	Async Mode = "async"
)

// Convention is how a job was called for.
type Convention string

// The conventions.
const (
	Form Convention = "form"
	JSON Convention = "json"
	Site Convention = "site"
	Run  Convention = "run" // a published script at an address of its own
	// Script is a published script that another one has started.
	Script Convention = "script"
	// Scheduled is that of a schedule.
	Scheduled Convention = "schedule"
)

// ConventionsText names all conventions, for messages.
const ConventionsText = "form, json, site, run, script and schedule"

// Valid reports whether c is one of the conventions.
func (c Convention) Valid() bool {
	return c == Form || c == JSON || c == Site || c == Run || c == Script || c == Scheduled
}

// Summary is what listings show of a job.
type Summary struct {
	ID         ID
	Account    account.ID
	State      State
	Mode       Mode
	Convention Convention
	Credential principal.Credential // by which the job was started
	Created    time.Time            // to the microsecond, as all times
	Finished   time.Time            // zero while it is not
	Steps      int64
	// KeyID is the named key by which the job was started, 0 for none. The key may be
	// gone: what was started by it stays.
	KeyID account.NamedKeyID
	// ProgramName is the published program that the job runs, "" for a script that its
	// caller sent.
	ProgramName string
}

// Record is what is kept of a job. What it holds as JSON is kept as it was
// answered, so that every later answer is the same to the byte; nil where
// there is none.
type Record struct {
	Summary
	Result       []byte // the output's bytes as they are
	Encoding     Encoding
	Trace        []byte // JSON; see NoTrace
	TraceDropped int64
	Error        []byte        // JSON
	Response     []byte        // JSON: what the script set on its response
	Ran          time.Duration // all attempts together
	// Call and Cost are written with the record, and read by Store.Called alone.
	Call Call
	Cost Cost
	// History is written with the record likewise, and read by Store.History alone.
	History History
}

// NewRecord makes the record of a job that ended in a state, at a moment, with all that it
// has to show. Failure is its error as JSON, nil for none.
func NewRecord(s Summary, state State, finished time.Time, p Progress, failure []byte) Record {
	s.State, s.Finished, s.Steps = state, finished, p.Steps
	r := Record{
		Summary: s, Result: p.Output, Encoding: p.Encoding(), Trace: p.Trace, TraceDropped: p.TraceDropped,
		Error: failure, Response: p.Response, Ran: p.Ran,
	}
	if r.Trace == nil {
		r.Trace = []byte("[]")
	}
	return r
}

// NoTrace is the trace of a job whose caller asked for none: empty, and not nil, which is
// that of one that has not begun.
func NoTrace() []byte { return []byte{} }

// Untraced tells whether the trace is not to be shown.
func (r *Record) Untraced() bool { return r.Trace != nil && len(r.Trace) == 0 }

// RowBytes is what a record counts besides what it holds. Its row takes less; but
// small ones are removed so slowly, by the byte, that they would else hold up the
// removal of large ones that come after them.
const RowBytes = 4 << 10

// Bytes is how much room the record of a finished job counts in a store.
func (r *Record) Bytes() int64 {
	return RowBytes + int64(len(r.Result)+len(r.Trace)+len(r.Error)+len(r.Response)) + r.Call.Bytes() + r.History.Bytes()
}

// Encoding is how a result stands in a JSON answer.
type Encoding string

// The encodings.
const (
	Text   Encoding = ""
	Base64 Encoding = "base64" // the result is not UTF-8
	// JSONText says that the result is one value as JSON: it stands as a text, and as
	// that value beside it.
	JSONText Encoding = "json"
)

// EncodingOf returns how an output stands in a JSON answer.
func EncodingOf(output []byte) Encoding {
	if utf8.Valid(output) {
		return Text
	}
	return Base64
}
