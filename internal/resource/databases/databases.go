// Package databases keeps an account's databases: one SQLite file each, in one
// folder, made on first use. Statements are written by strangers, so each runs
// on a connection that allows only what is listed, holds every value and every
// statement to a size, and ends with its context. Results are values of the
// language, made under the script's meter. A change may leave a receipt of
// itself, in its own transaction, by which a job that is repeated knows what it
// has done already.
//
// Which account may use which folder, and how much room it has, is decided by
// the caller.
package databases

import (
	"context"
	"math"
	"sync"
	"time"

	"ql/internal/engine"
	"ql/lang/value"
	"ql/lang/vm"
)

// Options are how New keeps the databases. A zero field means its default.
type Options struct {
	Folder   string        // made where it is missing
	MaxBytes int64         // the most that one database may hold, without a room; 1 GiB
	Room     Room          // what the databases may hold together; nil for no bound
	MaxOpen  int           // databases kept open while nobody uses them; 64
	Readers  int           // connections of one database that only read; 2
	Busy     time.Duration // the longest wait for another writer; 5 s
	// Temporary is the most that statements which run at once may hold in temporary
	// files; 256 MiB.
	Temporary int64
}

func (o Options) withDefaults() Options {
	switch {
	case o.Room != nil:
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
	tally   *tally // nil without a room
	scratch scratch

	mu     sync.Mutex
	open   map[string]*database
	clock  int64 // grows with each use, to know the longest unused
	closed bool
}

var _ engine.Databases = (*Databases)(nil)

// New returns the databases of a folder. Nothing is opened yet.
func New(o Options) *Databases {
	d := &Databases{options: o.withDefaults(), open: map[string]*database{}}
	d.scratch.most = d.options.Temporary
	if o.Room != nil {
		d.tally = &tally{folder: o.Folder, room: o.Room}
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
	folded, err := vm.DatabaseName(name)
	if err != nil {
		return "", err
	}
	return folded, nil
}

// Query runs one statement. It is kept when Query returns without an error,
// and undone otherwise.
func (d *Databases) Query(ctx context.Context, name string, q engine.Query) (value.Value, error) {
	call, err := newCall(q)
	if err != nil {
		return value.Null, err
	}
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
	c, err := db.takeWriter(ctx)
	if err != nil {
		return value.Null, err
	}
	defer db.giveWriter(c)
	return c.runAlone(ctx, call)
}

// Begin starts a transaction, which is the only writer of its database until
// it ends.
func (d *Databases) Begin(ctx context.Context, name string) (engine.Tx, error) {
	db, err := d.acquire(name)
	if err != nil {
		return nil, err
	}
	c, err := db.takeWriter(ctx)
	if err != nil {
		d.release(db)
		return nil, err
	}
	if err := c.begin(ctx); err != nil {
		db.giveWriter(c)
		d.release(db)
		return nil, err
	}
	return &tx{conn: c, end: func() {
		db.giveWriter(c)
		d.release(db)
	}}, nil
}

// Close closes the databases that nobody uses; the others are closed when
// their users let go. Nothing can be opened any more.
func (d *Databases) Close() error {
	d.mu.Lock()
	d.closed = true
	idle := d.takeIdle()
	d.mu.Unlock()
	return closeAll(idle)
}
