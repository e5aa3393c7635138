// Package engine binds a machine's effects to the resources of one account. It
// declares what it needs of each resource as a small interface; adapters in
// internal/resource implement them. It runs a machine until the script ends or
// must wait for a person or a moment, which is its caller's business.
package engine

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"

	"ql/lang/bytecode"
	"ql/lang/value"
)

// Files is an account's tree of files. Paths are canonical: absolute, checked
// by the adapter. Errors that the script may see are *value.Error
// (file_not_found, invalid_path, quota_exceeded, …).
type Files interface {
	// Read returns the content; a missing file is file_not_found. Limit is the
	// most bytes that may be returned.
	Read(ctx context.Context, path string, limit int) ([]byte, error)
	Write(ctx context.Context, path string, content []byte) error
	// WriteStream is Write of what write writes, of which no more than a small piece is held in
	// memory. The change is made under what commit returns, once all is written; after an error
	// of write there is none.
	WriteStream(ctx context.Context, path string, write func(io.Writer) error, commit func() context.Context) error
	// Append adds to the end, making the file where it is missing.
	Append(ctx context.Context, path string, content []byte) error
	// List yields what is in a folder, one level deep, by name, from behind a name
	// on; "" for all. It reads piece by piece and holds one piece at a time: of a
	// large folder that is changed meanwhile, a change may be in it or not. An
	// error is the last that it yields.
	List(ctx context.Context, path, after string) iter.Seq2[FileInfo, error]
	Copy(ctx context.Context, from, to string) error
	Move(ctx context.Context, from, to string) error
	Remove(ctx context.Context, path string) error
	// Hold opens the content that a file has now, to be read piece by piece, whatever
	// becomes of the file meanwhile. The caller closes it.
	Hold(ctx context.Context, path string) (FileContent, error)
	// Held opens content that was opened before, by its reference. What is no longer there
	// is file_changed, here or where it is read.
	Held(ctx context.Context, ref []byte) (FileContent, error)
}

// FileContent is the content of a file as it was at one moment.
type FileContent interface {
	io.ReadSeekCloser
	// Ref names the content, for a script to keep where it is stored.
	Ref() []byte
}

// FileInfo is one entry of a folder.
type FileInfo struct {
	Path     string
	Name     string
	Size     int64
	Modified time.Time
	Folder   bool
}

// Databases are an account's databases, by name, made on first use.
type Databases interface {
	// Query runs one statement. Rows are made under the meter. The result
	// follows the statement's mode: a list of maps, a map or null, a value or
	// null; a statement without rows gives {changes, last_id}.
	Query(ctx context.Context, database string, q Query) (value.Value, error)
	// Import adds rows to a table, all or none.
	Import(ctx context.Context, database string, im Import) (value.Value, error)
	// Begin starts a transaction that holds until Commit or Rollback.
	Begin(ctx context.Context, database string) (Tx, error)
	// Receipts returns those of a job in the order of their steps, and shuts out
	// all attempts before this one.
	Receipts(ctx context.Context, database string, job [16]byte, attempt int64) ([]StoredReceipt, error)
	// DeleteReceipts deletes those of a job up to a step; with a step below 0 all,
	// and the job's mark too, which shuts out earlier attempts.
	DeleteReceipts(ctx context.Context, database string, job [16]byte, upTo int64) error
}

// Query is one SQL statement with its parameters' values.
type Query struct {
	Statement *bytecode.Statement
	Params    []value.Value
	Meter     *value.Meter
	// Savepoint asks that a failure undo this statement alone.
	Savepoint bool
	// Receipt, where there is one, is left by a statement that does more than
	// read. In a transaction it is the commit that takes one.
	Receipt *Receipt
	// Rows, where there is one, takes the rows of a statement that only reads, any number of
	// them. The result is null then.
	Rows RowSink
}

// Import are rows for a table, which is made where it is missing.
type Import struct {
	Table string
	Rows  RowSource
	Meter *value.Meter
	// Savepoint and Receipt are those of a Query.
	Savepoint bool
	Receipt   *Receipt
}

// RowSource gives the rows of an import one by one. It may end the run at its limits.
type RowSource interface {
	// Columns returns all columns of the rows, to make a table with. It is called before Next,
	// if at all.
	Columns() ([]Column, error)
	// Next returns the next row by the names of its columns, and io.EOF behind the last one.
	// Both are good until the next call.
	Next() (names []string, cells []value.Value, err error)
	// Place says where the row is that was returned last: "line 3".
	Place() string
	// Result returns what the import gives, when so many rows were added.
	Result(rows int64) value.Value
}

// Column is a column of a table to be made.
type Column struct {
	Name string
	Type string // one of SQL, "" for any
}

// RowSink takes rows one by one.
type RowSink interface {
	// Columns is called once, before the first row and also where there is none, with names
	// that all differ.
	Columns(names []string) error
	// Row takes a row, which is good until it returns.
	Row(cells []value.Value) error
}

// Tx is an open transaction on one database.
type Tx interface {
	Query(ctx context.Context, q Query) (value.Value, error)
	Import(ctx context.Context, im Import) (value.Value, error)
	// Commit leaves the receipt, where there is one, if a statement of the
	// transaction was more than a read. Where it fails, the transaction is open.
	Commit(ctx context.Context, receipt *Receipt) error
	Rollback() error
}

// Sessions hands out the caller's session of this account.
type Sessions interface {
	// Start attaches to the caller's session, or to a new one, and holds it
	// until the Session is let go.
	Start(ctx context.Context) (Session, error)
	// ID returns the id for the caller to bring again: that of the session found or made
	// by Start, "" after its end.
	ID() string
	// Ensure makes sure that there is one to be started later, and returns its id.
	Ensure(ctx context.Context) (string, error)
}

// Session is a session held by one run.
type Session interface {
	Get(ctx context.Context, key string) (value.Value, error)
	All(ctx context.Context) (value.Value, error)
	Set(ctx context.Context, key string, v value.Value) error
	Unset(ctx context.Context, key string) error
	// End removes the session and lets go of it.
	End(ctx context.Context) error
	// Release lets go of it: at a pause and at the script's end.
	Release() error
}

// Network calls other servers.
type Network interface {
	// Fetch makes a call. Errors that the script may see are *value.Error
	// (invalid_url, address_not_allowed, fetch_failed, limit_exceeded, …), and
	// name no address of the node's own network.
	Fetch(ctx context.Context, r Request) (Reply, error)
	// Serve makes calls beside whatever its caller does meanwhile, one after the other, until there
	// are no more. It calls done once for each, from another goroutine. Whoever takes a reply releases it.
	Serve(ctx context.Context, calls <-chan Request, done func(Request, Reply, error))
}

// Request is a call to another server.
type Request struct {
	Number  int // which one of the run it is, from 1
	Method  string
	URL     string
	Header  map[string][]string // by canonical names
	Body    []byte
	Timeout time.Duration // 0: as long as calls may take
	Most    int           // bytes that the reply's body may have
}

// Reply is what a server answered.
type Reply struct {
	Status int
	Header map[string][]string // by canonical names
	Body   []byte
	// Release, where there is one, gives back the memory that is reserved for it.
	Release func()
}

// Calls are the jobs that a run starts, and the signals that jobs of an account send each other.
// Errors that the script may see are *value.Error (script_not_found, invalid_fields, limit_exceeded,
// job_not_found, …).
type Calls interface {
	// NewJob makes up the id of a job, which is nowhere yet.
	NewJob() string
	// Start has a published script of the account run as a job with that id. Wait says that the
	// run waits for it at once: then it may have ended when Start returns. What is stored of it at once is
	// stored under the context of checkpoint; of one that has ended it may be stored with the next results of
	// the run.
	Start(ctx context.Context, id string, c ScriptCall, checkpoint func() context.Context) error
	// Ended returns how a job came out that the run has started, made under the meter; ok is false
	// while it has not ended. An error of the job is a *value.Error.
	Ended(ctx context.Context, id string, m *value.Meter) (result value.Value, ok bool, err error)
	// Cancel ends a job that the run has started.
	Cancel(ctx context.Context, id string) error
	// Signal leaves a signal for a job of the account.
	Signal(ctx context.Context, id string, s Signal) error
	// NextSignal returns the oldest signal of a name that was left for the run's own job; nil for
	// none.
	NextSignal(ctx context.Context, name string) (*Signal, error)
	// ConsumeSignal takes it away.
	ConsumeSignal(ctx context.Context, s *Signal) error
}

// ScriptCall is what RUN SCRIPT and START SCRIPT say.
type ScriptCall struct {
	Name  string
	Input []byte // JSON of a map; nil for nothing
	Wait  bool
}

// Signal is what a job is told while it runs.
type Signal struct {
	Number int64 // of those that were left for the job
	Name   string
	Data   []byte // JSON
}

// Machines are an account's machines, by name. Errors that the script may see are *value.Error
// (machine_not_found, machine_failed, limit_exceeded, …); they hold neither keys nor addresses of
// the node's own network.
type Machines interface {
	// Run runs a command and returns when it has ended, also where its code is not 0. Where ctx
	// ends before, the command is ended too.
	Run(ctx context.Context, machine string, r MachineRun) (MachineResult, error)
	// CopyTo writes a file of a machine, of what comes from a reader.
	CopyTo(ctx context.Context, machine, path string, from io.Reader) error
	// CopyFrom reads a file of a machine, piece by piece.
	CopyFrom(ctx context.Context, machine, path string, to io.Writer) error
}

// MachineCommand is what RUN runs: either a text or a list.
type MachineCommand struct {
	// Text is ready for a shell: each insertion stands in it as one quoted argument.
	Text string
	// List is a program with its arguments; nil where there is a text.
	List []string
}

// MachineRun is one RUN.
type MachineRun struct {
	Command MachineCommand
	Input   []byte            // for the standard input, which ends behind it
	Timeout time.Duration     // 0: as long as a RUN may take
	Env     map[string]string // of the command, such as QL_STEP_KEY
	Most    int               // bytes of standard output and error together; more is limit_exceeded
	// Output, where there is one, takes the command's output as it comes. It is called by one
	// goroutine at a time, and does not keep the piece.
	Output func(stderr bool, piece []byte)
}

// MachineResult is how a command ended.
type MachineResult struct {
	Code   int
	Stdout []byte
	Stderr []byte
}

// StepKey is the variable of a command's environment that holds the key of its step: the same
// where the step is done again after a crash.
const StepKey = "QL_STEP_KEY"

// Shares hands out an account's files by link.
type Shares interface {
	// Link makes up a link, which leads nowhere yet.
	Link() string
	// Share has a link lead to the content that a file has now. Errors that the
	// script may see are *value.Error, as those of Files.
	Share(ctx context.Context, link string, s Share) error
	// Unshare takes a link back.
	Unshare(ctx context.Context, link string) error
}

// Share is what a script says of a link. What is nil was left out.
type Share struct {
	Path      string
	Times     *int64 // that it may be used
	Unlimited bool   // used any number of times
	For       *time.Duration
	Name      *string // that the file is handed out under
}

// Mails takes mails that are to be sent.
type Mails interface {
	// Send stores a mail that is to be sent, once for an id. Errors that the script may see are
	// *value.Error (bad_argument, quota_exceeded, …).
	Send(ctx context.Context, id string, m Mail) error
}

// Mail is what a script says of a mail. What is nil was left out.
type Mail struct {
	To          []string // addresses as the script has them
	Subject     string
	Body        string
	HTML        bool // the body is a page
	From        *string
	Attachments []MailAttachment
	Question    bool // it tells of a question of the script
}

// MailAttachment is a file that goes with a mail.
type MailAttachment struct {
	Path string
	Name *string // that it goes under
}

// Receipt asks that a change leave a proof of itself in the database that it
// changes, in the same transaction.
type Receipt struct {
	Job     [16]byte
	Attempt int64 // of the job: an older one may change nothing any more
	Step    int64 // the effect's number
	// Write returns what to store, given the statement's result; null for the
	// commit of a transaction.
	Write func(result value.Value) ([]byte, error)
}

// ErrSuperseded is the error of a change, or of a look at the receipts, by an
// attempt of a job that is not the newest. Nothing was changed.
var ErrSuperseded = errors.New("superseded by a later attempt at the job")

// StoredReceipt is a receipt as it was found in a database.
type StoredReceipt struct {
	Step  int64
	Bytes []byte
}
