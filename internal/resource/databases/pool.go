package databases

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"ql/internal/engine"
	"ql/lang/value"
)

// database is one open database: a connection that writes and a few that only
// read, each opened when it is first needed and used by one call at a time.
type database struct {
	name    string
	options Options
	usage   *usage // nil without shared storage
	temp    *tempSpace

	users   int   // guarded by Databases.mu
	lastUse int64 // guarded by Databases.mu

	// Whoever has put a token into one of these has the right to a connection.
	writerToken  chan struct{}
	readerTokens chan struct{}

	schemaChanges atomic.Int64 // how often the schema was changed
	inDoubt       atomic.Bool  // the origin may have a change that the copy has not

	// writing says that idle connections keep nothing. It is set, and looked at by who becomes idle, with mu held.
	writing atomic.Bool

	mu          sync.Mutex
	created     bool // the file is there and in its final mode
	idleWriter  *conn
	idleReaders []*conn
	busyWriters []*conn // one at most
	busyReaders []*conn
	activeReads []*activeRead
}

func newDatabase(name string, o Options, u *usage, t *tempSpace) *database {
	return &database{
		name:         name,
		options:      o,
		usage:        u,
		temp:         t,
		writerToken:  make(chan struct{}, 1),
		readerTokens: make(chan struct{}, o.Readers),
	}
}

// acquireToken puts a token into a channel, waiting for those who have one there.
func (db *database) acquireToken(ctx context.Context, tokens chan struct{}) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case tokens <- struct{}{}:
		return nil
	default:
	}
	engine.Yield(ctx)
	return db.waitForToken(ctx, tokens)
}

func (db *database) busy() error {
	return value.Errorf("database_busy", "another script holds the database %s: it was waited for %s", value.Quote(db.name), db.options.Busy)
}

// acquireWriter returns the connection that writes.
func (db *database) acquireWriter(ctx context.Context) (*conn, error) {
	if err := db.acquireToken(ctx, db.writerToken); err != nil {
		return nil, err
	}
	if err := db.settle(ctx); err != nil {
		<-db.writerToken
		return nil, err
	}
	db.beginWrite()
	db.mu.Lock()
	c := db.idleWriter
	db.idleWriter = nil
	db.mu.Unlock()
	if c == nil {
		var err error
		if c, err = db.connect(ctx, true); err != nil {
			db.endWrite()
			<-db.writerToken
			return nil, err
		}
	}
	db.mu.Lock()
	db.created = true
	db.busyWriters = append(db.busyWriters, c)
	db.mu.Unlock()
	return c, nil
}

// releaseWriter gives the connection back to the pool.
func (db *database) releaseWriter(c *conn) {
	if c.schemaChanged {
		// Again: what was prepared before the change was committed is old as well.
		c.schemaChanged = false
		db.schemaChanges.Add(1)
	}
	usable := c.rollback()
	if usable {
		db.checkpointIfLarge(c, checkpointFrom)
	}
	db.mu.Lock()
	db.busyWriters = db.busyWriters[:0]
	db.endWrite()
	if usable {
		db.idleWriter = c
	}
	db.mu.Unlock()
	<-db.writerToken
}

// acquireReader returns a connection that only reads, and keeps nothing of an earlier read.
func (db *database) acquireReader(ctx context.Context) (*conn, error) {
	c, err := db.acquireKept(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.dropKept(ctx); err != nil {
		db.releaseReader(c, false)
		return nil, err
	}
	return c, nil
}

// acquireKept returns a connection that only reads, with what it may keep.
func (db *database) acquireKept(ctx context.Context) (*conn, error) {
	db.checkCopy()
	db.mu.Lock()
	made := db.created && !db.inDoubt.Load()
	db.mu.Unlock()
	if !made {
		// Only the writer makes a file and brings it into its mode.
		c, err := db.acquireWriter(ctx)
		if err != nil {
			return nil, err
		}
		db.releaseWriter(c)
	}
	if err := db.acquireToken(ctx, db.readerTokens); err != nil {
		return nil, err
	}
	db.mu.Lock()
	var c *conn
	if n := len(db.idleReaders); n > 0 {
		c = db.idleReaders[n-1]
		db.idleReaders = db.idleReaders[:n-1]
		db.busyReaders = append(db.busyReaders, c)
	}
	db.mu.Unlock()
	if c != nil {
		return c, nil
	}
	c, err := db.connect(ctx, false)
	if err != nil {
		<-db.readerTokens
		return nil, err
	}
	db.mu.Lock()
	db.busyReaders = append(db.busyReaders, c)
	db.mu.Unlock()
	return c, nil
}

// releaseReader gives a connection back; keep says that it may keep what it sees.
func (db *database) releaseReader(c *conn, keep bool) {
	usable := keep || c.rollback()
	db.mu.Lock()
	if keep && db.writing.Load() {
		usable = c.rollback()
	}
	db.busyReaders = slices.DeleteFunc(db.busyReaders, func(held *conn) bool { return held == c })
	if usable {
		db.idleReaders = append(db.idleReaders, c)
	}
	db.mu.Unlock()
	<-db.readerTokens
	db.checkpointIdle(checkpointFrom)
}

// read runs a call on a reading connection. It reports false where the call
// would write: then nothing was done.
func (db *database) read(ctx context.Context, call *call) (v value.Value, done bool, err error) {
	c, err := db.acquireKept(ctx)
	if err != nil {
		return db.readMissing(ctx, call, err)
	}
	keep := false // not after an error, nor a panic
	defer func() { db.releaseReader(c, keep) }()
	if err := c.prepareRead(ctx); err != nil {
		return value.Null, false, err
	}
	v, done, err = c.read(ctx, call)
	if keep = err == nil && done; keep {
		c.afterRead()
	}
	return v, done, err
}

// readMissing is read of a database for which there is no connection, and says why not.
func (db *database) readMissing(ctx context.Context, call *call, why error) (v value.Value, done bool, err error) {
	var full *storageFullError
	if !errors.As(why, &full) {
		return value.Null, false, why
	}
	// It cannot be made, so there is nothing in it. That can be read.
	c, err := connect(ctx, inMemory, db, false)
	if err != nil {
		return value.Null, false, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	return c.read(ctx, call)
}

func (c *conn) read(ctx context.Context, call *call) (v value.Value, done bool, err error) {
	reading := c.pool.beginRead(ctx)
	defer c.pool.endRead(reading)
	s, err := c.prepare(reading, call)
	if err != nil || !s.ReadOnly() {
		return value.Null, false, err
	}
	v, err = c.run(reading, s, call)
	return v, true, err
}

// close closes all connections. Nobody uses the database.
func (db *database) close() error {
	var all error
	for _, c := range db.idleReaders {
		all = errors.Join(all, c.close())
	}
	// Last, so that it brings the whole database into its one file.
	if db.idleWriter != nil {
		all = errors.Join(all, db.idleWriter.close())
	}
	path := filepath.Join(db.options.Folder, db.name+fileSuffix)
	if db.options.Origin != nil && all == nil && db.idleWriter != nil {
		db.options.Origin.Closed(db.name, path)
	}
	if db.usage != nil && db.created {
		db.usage.setWAL(db.name, walSize(path))
		db.usage.setSlack(db.name, path)
	}
	return all
}

var errClosed = errors.New("the databases are closed")

// acquire returns a database that stays open until it is released.
func (d *Databases) acquire(name string) (*database, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	db := d.open[name] // most often; its name is canonical then
	if db == nil {
		var err error
		if name, err = canonicalName(name); err != nil {
			return nil, err
		}
		db = d.open[name]
	}
	if d.closed {
		return nil, errClosed
	}
	if db == nil {
		db = newDatabase(name, d.options, d.usage, &d.temp)
		d.open[name] = db
	}
	db.users++
	return db, nil
}

func (d *Databases) release(db *database) {
	d.mu.Lock()
	db.users--
	d.clock++
	db.lastUse = d.clock
	idle := d.evictIdle()
	d.mu.Unlock()
	// The files are sound whether or not closing them succeeds.
	_ = closeAll(idle)
}

// evictIdle removes from the pool the databases that are to be closed: of those that
// nobody uses the least recently used, down to what may stay open. d.mu is held.
func (d *Databases) evictIdle() []*database {
	most := d.options.MaxOpen
	if d.closed {
		most = 0
	}
	var idle []*database
	for len(d.open) > most {
		var oldest *database
		for _, db := range d.open {
			if db.users == 0 && (oldest == nil || db.lastUse < oldest.lastUse) {
				oldest = db
			}
		}
		if oldest == nil {
			break
		}
		delete(d.open, oldest.name)
		idle = append(idle, oldest)
	}
	return idle
}

func closeAll(dbs []*database) error {
	var all error
	for _, db := range dbs {
		all = errors.Join(all, db.close())
	}
	return all
}
