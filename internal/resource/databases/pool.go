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
	tally   *tally // nil without a room
	scratch *scratch

	users   int   // guarded by Databases.mu
	lastUse int64 // guarded by Databases.mu

	// A token in hand is the right to a connection.
	writing chan struct{}
	reading chan struct{}

	defined atomic.Int64 // grows with each change of the definitions

	mu      sync.Mutex
	writer  *conn   // while nobody has it
	readers []*conn // likewise
	made    bool    // the file is there and in its final mode
	holds   []*conn // that writes, while somebody has it
	reads   []*conn // that read, likewise
	current map[*reading]bool
}

func newDatabase(name string, o Options, t *tally, s *scratch) *database {
	return &database{
		name:    name,
		options: o,
		tally:   t,
		scratch: s,
		current: map[*reading]bool{},
		writing: make(chan struct{}, 1),
		reading: make(chan struct{}, o.Readers),
	}
}

// take takes a token of a channel, waiting for the others that have one.
func (db *database) take(ctx context.Context, tokens chan struct{}) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case tokens <- struct{}{}:
		return nil
	default:
	}
	engine.Rest(ctx)
	return db.await(ctx, tokens)
}

func (db *database) busy() error {
	return value.Errorf("database_busy", "another script holds the database %s: it was waited for %s", value.Quote(db.name), db.options.Busy)
}

// takeWriter returns the connection that writes.
func (db *database) takeWriter(ctx context.Context) (*conn, error) {
	if err := db.take(ctx, db.writing); err != nil {
		return nil, err
	}
	db.mu.Lock()
	c := db.writer
	db.writer = nil
	db.mu.Unlock()
	if c == nil {
		var err error
		if c, err = db.connect(ctx, true); err != nil {
			<-db.writing
			return nil, err
		}
	}
	db.mu.Lock()
	db.made = true
	db.holds = append(db.holds, c)
	db.mu.Unlock()
	return c, nil
}

// giveWriter takes the connection back.
func (db *database) giveWriter(c *conn) {
	if c.changed {
		// Again: what was prepared before the change was committed is old as well.
		c.changed = false
		db.defined.Add(1)
	}
	usable := c.restore()
	if usable {
		db.trim(c, trimFrom)
	}
	db.mu.Lock()
	db.holds = db.holds[:0]
	if usable {
		db.writer = c
	}
	db.mu.Unlock()
	<-db.writing
}

// takeReader returns a connection that only reads.
func (db *database) takeReader(ctx context.Context) (*conn, error) {
	db.mu.Lock()
	made := db.made
	db.mu.Unlock()
	if !made {
		// Only the writer makes a file and brings it into its mode.
		c, err := db.takeWriter(ctx)
		if err != nil {
			return nil, err
		}
		db.giveWriter(c)
	}
	if err := db.take(ctx, db.reading); err != nil {
		return nil, err
	}
	db.mu.Lock()
	var c *conn
	if n := len(db.readers); n > 0 {
		c = db.readers[n-1]
		db.readers = db.readers[:n-1]
		db.reads = append(db.reads, c)
	}
	db.mu.Unlock()
	if c != nil {
		return c, nil
	}
	c, err := db.connect(ctx, false)
	if err != nil {
		<-db.reading
		return nil, err
	}
	db.mu.Lock()
	db.reads = append(db.reads, c)
	db.mu.Unlock()
	return c, nil
}

func (db *database) giveReader(c *conn) {
	usable := c.restore()
	db.mu.Lock()
	db.reads = slices.DeleteFunc(db.reads, func(held *conn) bool { return held == c })
	if usable {
		db.readers = append(db.readers, c)
	}
	db.mu.Unlock()
	<-db.reading
	db.trimIdle(trimFrom)
}

// read runs a call on a reading connection. It reports false where the call
// would write: then nothing was done.
func (db *database) read(ctx context.Context, call *call) (v value.Value, done bool, err error) {
	c, err := db.takeReader(ctx)
	var full *noRoomError
	switch {
	case errors.As(err, &full):
		// It cannot be made, so there is nothing in it. That can be read.
		if c, err = connect(ctx, nowhere, db, false); err != nil {
			return value.Null, false, err
		}
		defer func() { err = errors.Join(err, c.close()) }()
	case err != nil:
		return value.Null, false, err
	default:
		defer db.giveReader(c)
	}
	ctx, end := db.beginRead(ctx)
	defer end()
	s, err := c.prepare(ctx, call)
	if err != nil {
		return value.Null, false, err
	}
	if !s.ReadOnly() {
		return value.Null, false, nil
	}
	v, err = c.run(ctx, s, call)
	return v, true, err
}

// close closes all connections. Nobody uses the database.
func (db *database) close() error {
	var all error
	for _, c := range db.readers {
		all = errors.Join(all, c.close())
	}
	// Last, so that it brings the whole database into its one file.
	if db.writer != nil {
		all = errors.Join(all, db.writer.close())
	}
	if db.tally != nil && db.made {
		path := filepath.Join(db.options.Folder, db.name+fileEnding)
		db.tally.setLog(db.name, logOf(path))
		db.tally.lookAt(db.name, path)
	}
	return all
}

var errClosed = errors.New("the databases are closed")

// acquire returns a database that stays open until it is released.
func (d *Databases) acquire(name string) (*database, error) {
	name, err := canonicalName(name)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, errClosed
	}
	db := d.open[name]
	if db == nil {
		db = newDatabase(name, d.options, d.tally, &d.scratch)
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
	idle := d.takeIdle()
	d.mu.Unlock()
	// The files are sound whether or not closing them succeeds.
	_ = closeAll(idle)
}

// takeIdle takes out the databases that are to be closed: of those that nobody
// uses the longest unused, down to what may stay open. d.mu is held.
func (d *Databases) takeIdle() []*database {
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
