// Package sqlite is a thin binding to the SQLite library for statements that
// strangers wrote. It does what the library's database/sql driver does not: a
// context ends a statement at any row, values come as they are stored (the
// driver makes times of them), functions may be declared harmless and handle
// JSON, a statement's parameters, rest and access are known before it runs, and
// its temporary files and its memory have bounds. It holds no policy: what may be
// done on a connection is its user's to say. It is the only package of the service
// that uses unsafe.
//
// A connection and its statements are used by one goroutine at a time.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// Config is how a connection is opened.
type Config struct {
	// Create makes the file where it is missing.
	Create bool
	// Authorize decides over each action of a statement when it is prepared.
	Authorize func(Action) bool
	// Functions are added to SQLite's own, or replace them.
	Functions []Function
	// DropModules takes all virtual tables away, but for those of JSON and of
	// the settings, which are made when they are used, and for those that FullText bounds.
	DropModules bool
	// FullText keeps full-text search, within these bounds; nil for none.
	FullText *FullText
	// Limits are bounds by their SQLITE_LIMIT_ number.
	Limits map[int]int
	// Switches are settings by their SQLITE_DBCONFIG_ number.
	Switches map[int]bool
	// Progress, where there is one, is called every few instructions of a
	// statement, with its context and what it has done since the last time; an
	// error ends it, as the context's end does. What comes after the last call is
	// returned by Stmt.DrainWork.
	Progress func(context.Context, Work) error
	// Busy is how long a statement waits for another process.
	Busy time.Duration
	// Temporary is the most bytes that temporary files may hold together.
	Temporary int64
	// GrowTemporary, where there is one, is asked before they grow, and told where
	// they shrink, which is negative. Where it reports false they are full.
	GrowTemporary func(bytes int64) bool
	// GrowWAL is the same for the write-ahead log, as far as this connection makes
	// it grow or shrink. Both are called while the library is at work.
	GrowWAL func(bytes int64) bool
	// Commit, where there is one, makes each change of a database in WAL mode last, in place of a
	// flush of its log: it is called before anybody sees the change, while the library is at work,
	// and an error undoes the change. The log on the disk may hold it then, until the connection is
	// closed in order. It needs synchronous=FULL.
	Commit func(context.Context, *Change) error
}

// Action is something that a statement would do; the fields are those of
// SQLite's authorizer callback.
type Action struct {
	Code     int // one of the library's action numbers
	Arg1     string
	Arg2     string
	Database string
	Inside   string // the trigger or view that holds the action, if any
	// Nested says that another statement is under way, which does this by one of its own: full-text
	// tables keep their index so.
	Nested bool
}

// Conn is a connection to one database file.
type Conn struct {
	tls        *libc.TLS
	db         uintptr
	config     Config
	ctx        context.Context // of the call under way
	activity   atomic.Uint64
	busyFor    time.Duration
	aggregates map[uintptr]Aggregate // of the statement under way
	lastID     uintptr

	running     *Stmt // in the call under way
	searched    int64 // about how many terms its full-text queries have
	work        Work  // that was not reported yet
	pagesBefore int64
	countFirst  bool
	stopped     error // what Progress said in the call under way

	allocation    *allocation
	vfs           *countingVFS
	counted       map[uintptr]*countedFile
	temporarySize int64
	temporaryFull bool  // since the call under way began
	walFull       bool  // likewise
	refused       error // what Commit said in the call under way
}

// conns finds the connection of a callback, which the library tells no more
// than the handle or the thread state.
var conns sync.Map // uintptr or *libc.TLS → *Conn

// progressOps is how many of its instructions SQLite runs between two looks at
// the context: some microseconds, or up to a millisecond each where they move
// values of the largest size.
const progressOps = 50

// Open opens the database file at path.
func Open(path string, config Config) (*Conn, error) {
	if errMemory != nil {
		return nil, errMemory
	}
	if err := errors.Join(guardFunctions(), guardFullText()); err != nil {
		return nil, err
	}
	return open(path, config)
}

func open(path string, config Config) (_ *Conn, err error) {
	if strings.ContainsRune(path, 0) {
		return nil, errors.New("sqlite: the path holds a zero byte")
	}
	vfs, err := sharedVFS()
	if err != nil {
		return nil, err
	}
	c := &Conn{
		tls:        libc.NewTLS(),
		config:     config,
		allocation: memoryOwners.add(),
		vfs:        vfs,
		aggregates: map[uintptr]Aggregate{},
		counted:    map[uintptr]*countedFile{},
	}
	conns.Store(c.tls, c)
	flags := int32(lib.SQLITE_OPEN_READWRITE | lib.SQLITE_OPEN_NOMUTEX | lib.SQLITE_OPEN_EXRESCODE | lib.SQLITE_OPEN_NOFOLLOW)
	if config.Create {
		flags |= lib.SQLITE_OPEN_CREATE
	}
	name := c.duplicate(bytesOf(path + "\x00"))
	defer func() {
		if err != nil {
			_ = c.Close() // the first error tells more
		}
	}()
	if name == 0 {
		return nil, errNoMemory
	}
	defer lib.Xsqlite3_free(c.tls, name)
	rc := c.withPointer(func(out uintptr) int32 {
		return lib.Xsqlite3_open_v2(c.tls, name, out, flags, vfs.name)
	}, &c.db)
	if rc != lib.SQLITE_OK {
		return nil, c.failure(rc)
	}
	conns.Store(c.db, c)
	if err := c.configure(); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Conn) configure() error {
	for id, most := range c.config.Limits {
		lib.Xsqlite3_limit(c.tls, c.db, int32(id), int32(most))
	}
	for id, on := range c.config.Switches {
		if rc := c.setSwitch(id, on); rc != lib.SQLITE_OK {
			return fmt.Errorf("sqlite: setting %d: %w", id, c.failure(rc))
		}
	}
	if c.config.DropModules {
		if err := c.dropModules(); err != nil {
			return err
		}
	}
	if c.config.FullText != nil {
		c.guardAuxiliary()
	}
	for i := range c.config.Functions {
		if err := c.addFunction(i); err != nil {
			return err
		}
	}
	lib.Xsqlite3_progress_handler(c.tls, c.db, progressOps, functionPointer(onProgress), c.db)
	lib.Xsqlite3_busy_handler(c.tls, c.db, functionPointer(onBusy), c.db)
	if c.config.Authorize != nil {
		lib.Xsqlite3_set_authorizer(c.tls, c.db, functionPointer(onAction), c.db)
	}
	return nil
}

func (c *Conn) dropModules() error {
	name := c.duplicate([]byte(fullTextModule + "\x00"))
	if name == 0 {
		return errNoMemory
	}
	defer lib.Xsqlite3_free(c.tls, name)
	kept := c.tls.Alloc(2 * wordSize)
	defer c.tls.Free(2 * wordSize)
	list := words(kept, 2)
	list[0], list[1] = 0, 0
	if c.config.FullText != nil {
		list[0] = name
	}
	if rc := lib.Xsqlite3_drop_modules(c.tls, c.db, kept); rc != lib.SQLITE_OK {
		return c.failure(rc)
	}
	return nil
}

func (c *Conn) setSwitch(id int, on bool) int32 {
	const slot = 8 // the stride of libc's argument lists
	args := c.tls.Alloc(2 * slot)
	defer c.tls.Free(2 * slot)
	return lib.Xsqlite3_db_config(c.tls, c.db, int32(id), libc.VaList(args, libc.Bool32(on), uintptr(0)))
}

// Close closes the connection. Its statements must have been closed before.
func (c *Conn) Close() error {
	conns.Delete(c.db) // before another connection may get the same handle
	forget(placeOfHandle(c.db), c)
	rc := lib.Xsqlite3_close_v2(c.tls, c.db)
	conns.Delete(c.tls)
	forget(placeOfTLS(c.tls), c)
	memoryOwners.retire(c.allocation)
	c.tls.Close()
	if rc != lib.SQLITE_OK {
		return fmt.Errorf("sqlite: close gave %d", rc)
	}
	return nil
}

// InTransaction reports whether a transaction is open.
func (c *Conn) InTransaction() bool { return lib.Xsqlite3_get_autocommit(c.tls, c.db) == 0 }

// ReadOnly reports whether the file may only be read, by this process.
func (c *Conn) ReadOnly() bool {
	return lib.Xsqlite3_db_readonly(c.tls, c.db, 0) == 1
}

// Changes returns the rows that the last INSERT, UPDATE or DELETE changed.
func (c *Conn) Changes() int64 { return lib.Xsqlite3_changes64(c.tls, c.db) }

// TotalChanges returns the rows changed since the connection was opened.
func (c *Conn) TotalChanges() int64 { return lib.Xsqlite3_total_changes64(c.tls, c.db) }

// LastInsertID returns the id of the last inserted row.
func (c *Conn) LastInsertID() int64 { return lib.Xsqlite3_last_insert_rowid(c.tls, c.db) }

// SetLastInsertID makes LastInsertID another until a row is inserted.
func (c *Conn) SetLastInsertID(id int64) { lib.Xsqlite3_set_last_insert_rowid(c.tls, c.db, id) }

// Limit returns the bound with this SQLITE_LIMIT_ number.
func (c *Conn) Limit(id int) int { return int(lib.Xsqlite3_limit(c.tls, c.db, int32(id), -1)) }

// SetLimit changes the bound with this SQLITE_LIMIT_ number.
func (c *Conn) SetLimit(id, most int) { lib.Xsqlite3_limit(c.tls, c.db, int32(id), int32(most)) }

// Switch returns the setting with this SQLITE_DBCONFIG_ number.
func (c *Conn) Switch(id int) (bool, error) {
	const slot = 8
	buf := c.tls.Alloc(3 * slot)
	defer c.tls.Free(3 * slot)
	out := buf + 2*slot
	rc := lib.Xsqlite3_db_config(c.tls, c.db, int32(id), libc.VaList(buf, int32(-1), out))
	if rc != lib.SQLITE_OK {
		return false, c.failure(rc)
	}
	return *(*int32)(at(out)) != 0, nil
}

// Exec runs one statement to its end, without looking at its rows.
func (c *Conn) Exec(ctx context.Context, sql string) error {
	s, _, err := c.Prepare(ctx, sql)
	if err != nil {
		return err
	}
	defer s.Close()
	for {
		row, err := s.Step(ctx)
		if err != nil || !row {
			return err
		}
	}
}

// ErrTemporaryFull is the error of a statement whose temporary files would hold
// more than they may.
var ErrTemporaryFull = errors.New("sqlite: the temporary files are full")

// ErrWALFull is the error of a change for which the write-ahead log would have to
// grow more than it may. It is undone.
var ErrWALFull = errors.New("sqlite: the write-ahead log is full")

// Error is an error that SQLite reported.
type Error struct {
	Code    int // extended result code
	Message string
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

var errNoMemory = &Error{Code: lib.SQLITE_NOMEM, Message: "out of memory"}

// Primary returns the result code without its extension.
func (e *Error) Primary() int { return e.Code & 0xff }

// Activity returns a number that is odd while the library is at work on a call, and
// changes when a call begins or ends, and every few instructions of a statement: one
// that is odd and stays as it is stands still, as where the disk does not answer. It
// may be asked for by any goroutine.
func (c *Conn) Activity() uint64 { return c.activity.Load() }

// IsUnreadable reports whether the file could not be read, or holds no whole database.
func (e *Error) IsUnreadable() bool {
	switch e.Primary() {
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB, lib.SQLITE_IOERR, lib.SQLITE_CANTOPEN:
		return true
	}
	return false
}

// begin marks the start of a call into the library under ctx.
func (c *Conn) begin(ctx context.Context) {
	c.activity.Add(1)
	c.ctx, c.temporaryFull, c.walFull, c.allocation.full, c.stopped, c.refused = ctx, false, false, false, nil, nil
}

// end is the other end of begin.
func (c *Conn) end() {
	c.ctx, c.running = nil, nil
	c.activity.Add(1)
}

// ended reports whether the context of the call under way has ended.
func (c *Conn) ended() bool { return c.ctx != nil && c.ctx.Err() != nil }

// failure returns the error of the call that gave rc. Where the context ended
// the call, that is the error.
func (c *Conn) failure(rc int32) error {
	if c.ended() {
		switch rc & 0xff {
		case lib.SQLITE_INTERRUPT, lib.SQLITE_BUSY, lib.SQLITE_AUTH:
			return c.ctx.Err()
		}
	}
	if c.stopped != nil && rc&0xff == lib.SQLITE_INTERRUPT {
		return c.stopped
	}
	if c.refused != nil && rc == lib.SQLITE_IOERR_FSYNC {
		return c.refused
	}
	if c.temporaryFull && rc&0xff == lib.SQLITE_FULL {
		return ErrTemporaryFull
	}
	if c.walFull && rc&0xff == lib.SQLITE_FULL {
		return ErrWALFull
	}
	if c.allocation.full && rc&0xff == lib.SQLITE_NOMEM {
		return ErrMemoryFull
	}
	message := libc.GoString(lib.Xsqlite3_errstr(c.tls, rc))
	if c.db != 0 && lib.Xsqlite3_extended_errcode(c.tls, c.db)&0xff == rc&0xff {
		message = libc.GoString(lib.Xsqlite3_errmsg(c.tls, c.db))
	}
	return &Error{Code: int(rc), Message: strings.ToValidUTF8(message, "\uFFFD")}
}

// found remembers connections by parts of their thread states and handles, for the callbacks that come
// at each block of memory and every few instructions: most are found here without a lookup in conns.
var found struct {
	byTLS, byHandle [256]atomic.Pointer[Conn]
}

func placeOfTLS(tls *libc.TLS) *atomic.Pointer[Conn] {
	return &found.byTLS[uint32(tls.ID)%uint32(len(found.byTLS))]
}

func placeOfHandle(handle uintptr) *atomic.Pointer[Conn] {
	return &found.byHandle[(handle>>6)%uintptr(len(found.byHandle))] // it is one of malloc's, and large
}

// forget is called before a handle or thread state may become another connection's.
func forget(place *atomic.Pointer[Conn], c *Conn) { place.CompareAndSwap(c, nil) }

// findTLS returns the connection of a thread state.
func findTLS(tls *libc.TLS) *Conn {
	place := placeOfTLS(tls)
	if c := place.Load(); c != nil && c.tls == tls {
		return c
	}
	if c, ok := conns.Load(tls); ok {
		place.Store(c.(*Conn))
		return c.(*Conn)
	}
	return nil
}

// findHandle returns the connection of a handle.
func findHandle(handle uintptr) *Conn {
	place := placeOfHandle(handle)
	if c := place.Load(); c != nil && c.db == handle {
		return c
	}
	if c, ok := conns.Load(handle); ok {
		place.Store(c.(*Conn))
		return c.(*Conn)
	}
	return nil
}

// onProgress ends a statement whose context is done, or whose user says so.
func onProgress(_ *libc.TLS, handle uintptr) int32 {
	c := findHandle(handle)
	if c == nil || c.ctx == nil {
		return 0
	}
	c.activity.Add(2)
	if c.running != nil && c.config.Progress != nil {
		c.countSteps(progressOps)
	}
	if c.ctx.Err() != nil || !c.report() {
		return 1
	}
	return 0
}

// onBusy waits a little for another process, at most as long as configured
// and until the context is done. A process that is stopped itself meanwhile has not
// waited: each pause counts as what it was to be, and as much again.
func onBusy(_ *libc.TLS, handle uintptr, count int32) int32 {
	c := findHandle(handle)
	if c == nil || c.ctx == nil {
		return 0
	}
	if count == 0 {
		c.busyFor = 0
	}
	if c.busyFor >= c.config.Busy {
		return 0
	}
	c.activity.Add(2)
	began, length := time.Now(), min(time.Duration(count+1)*time.Millisecond, 50*time.Millisecond)
	pause := time.NewTimer(length)
	defer pause.Stop()
	select {
	case <-c.ctx.Done():
		return 0
	case <-pause.C:
		c.busyFor += min(time.Since(began), 2*length)
		return 1
	}
}

// onAction asks the connection's user whether a statement may be prepared.
func onAction(_ *libc.TLS, handle uintptr, code int32, arg1, arg2, database, inside uintptr) (result int32) {
	defer func() {
		if recover() != nil {
			result = lib.SQLITE_DENY
		}
	}()
	c := findHandle(handle)
	// Views of views may take long to prepare, and nothing else looks at the
	// context meanwhile.
	if c == nil || c.ended() || !c.config.Authorize(Action{
		Code: int(code), Arg1: libc.GoString(arg1), Arg2: libc.GoString(arg2), Database: libc.GoString(database), Inside: libc.GoString(inside),
		Nested: (*lib.Tsqlite3)(at(c.db)).FnVdbeExec > 0,
	}) {
		return lib.SQLITE_DENY
	}
	return lib.SQLITE_OK
}
