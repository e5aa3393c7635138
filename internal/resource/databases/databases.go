// Package databases has an account's databases: one SQLite file each, in one
// folder, made on first use. Statements are written by strangers, so each runs
// on a connection that allows only what is listed, holds every value and every
// statement to a size, and ends with its context. Results are values of the
// language, made under the script's meter. A change may leave a receipt of
// itself, in its own transaction, by which a job that is repeated knows what it
// has done already.
//
// Which account may use which folder, and how much storage it has, is decided by
// the caller; files in other formats are the business of transfer.
package databases

import (
	"context"
	"math"
	"sync"
	"time"

	"ql/internal/engine"
	"ql/lang/value"
)

// Options are how databases are opened. A zero field means its default.
type Options struct {
	Folder   string        // made where it is missing
	Origin   Origin        // where the databases last; nil where that is in the folder
	MaxBytes int64         // the most that one database may hold, without Storage; 1 GiB
	Storage  Storage       // what the databases may hold together; nil for no bound
	MaxOpen  int           // idle databases that stay open; 64
	Readers  int           // connections of one database that only read; 2
	Busy     time.Duration // the longest wait for another writer; 5 s
	// Temporary is the most that statements which run at once may hold in temporary
	// files; 256 MiB.
	Temporary int64
}

func (o Options) withDefaults() Options {
	switch {
	case o.Storage != nil:
		o.MaxBytes = math.MaxInt64
	case o.MaxBytes <= 0:
		o.MaxBytes = 1 << 30
	}
	if o.MaxOpen <= 0 {
		o.MaxOpen = 64
	}
	if o.Readers <= 0 {
		o.Readers = 2
	}
	if o.Busy <= 0 {
		o.Busy = 5 * time.Second
	}
	if o.Temporary <= 0 {
		o.Temporary = 256 << 20
	}
	return o
}

// Databases are the databases of one folder. It may be used by any number of
// goroutines.
type Databases struct {
	options Options
	usage   *usage // nil without shared storage
	temp    tempSpace

	mu     sync.Mutex
	open   map[string]*database
	clock  int64 // grows with each use, to know the least recently used
	closed bool
}

var _ engine.Databases = (*Databases)(nil)

// New returns the databases of a folder. Nothing is opened yet.
func New(o Options) *Databases {
	d := &Databases{options: o.withDefaults(), open: map[string]*database{}}
	d.temp.limit = d.options.Temporary
	if o.Storage != nil {
		d.usage = &usage{find: d.options.find, storage: o.Storage}
	}
	return d
}

// defaultName is the database of scripts that name none.
const defaultName = "main"

// canonicalName checks a database's name and folds it to lower case. No name is
// that of the default one.
func canonicalName(name string) (string, error) {
	if name == "" {
		return defaultName, nil
	}
	folded, err := engine.DatabaseName(name)
	if err != nil {
		return "", err
	}
	return folded, nil
}

// Query runs one statement. It is committed when Query returns without an error,
// and rolled back otherwise.
func (d *Databases) Query(ctx context.Context, name string, q engine.Query) (value.Value, error) {
	call, err := newCall(&q)
	if err != nil {
		return value.Null, err
	}
	defer call.free()
	db, err := d.acquire(name)
	if err != nil {
		return value.Null, err
	}
	defer d.release(db)

	if call.mayRead {
		v, done, err := db.read(ctx, call)
		if done || err != nil {
			return v, err
		}
	}
	c, err := db.acquireWriter(ctx)
	if err != nil {
		return value.Null, err
	}
	defer db.releaseWriter(c)
	return c.runAlone(ctx, call)
}

// Begin starts a transaction, which is the only writer of its database until
// it ends.
func (d *Databases) Begin(ctx context.Context, name string) (engine.Tx, error) {
	db, err := d.acquire(name)
	if err != nil {
		return nil, err
	}
	c, err := db.acquireWriter(ctx)
	if err != nil {
		d.release(db)
		return nil, err
	}
	if err := c.begin(ctx); err != nil {
		db.releaseWriter(c)
		d.release(db)
		return nil, err
	}
	return &tx{conn: c, end: func() {
		db.releaseWriter(c)
		d.release(db)
	}}, nil
}

// Close closes the databases that nobody uses; the others are closed when
// their users let go. Nothing can be opened any more.
func (d *Databases) Close() error {
	d.mu.Lock()
	d.closed = true
	idle := d.evictIdle()
	d.mu.Unlock()
	return closeAll(idle)
}
