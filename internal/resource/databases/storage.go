package databases

import (
	"context"
	"fmt"
	"math"
	"sync"

	"ql/lang/value"
)

// Room is the storage that databases share with whatever else their account
// keeps. Its methods may be called by any number of goroutines.
type Room interface {
	// Bounds returns what the databases are held to at the moment.
	Bounds(ctx context.Context) (Bounds, error)
	// Take takes bytes that the databases are about to grow by. Where more than
	// the reserve would be kept too much, it takes nothing and reports false.
	Take(ctx context.Context, bytes, reserve int64) (bool, error)
	// Note adds bytes that the databases hold already, or have given back where
	// it is negative.
	Note(bytes int64)
	// GrowLog takes bytes that a log is about to grow by, or gives some back, which
	// are negative. Where there is no room it takes nothing and reports false. It is
	// called while SQLite is at work, and waits for nobody.
	GrowLog(bytes int64) bool
	// NoteLog is Note for logs.
	NoteLog(bytes int64)
}

// Bounds are what databases are held to. Zero means no bound, but for Left.
type Bounds struct {
	Bytes     int64 // of all that the account keeps
	Left      int64 // of Bytes; negative where too much is kept already
	Databases int   // their number
	Log       int64 // of one database, beside those who read
}

// reserve is how much a statement that removes something may take where nothing
// is left: on the way it may need a few pages more than before. It is also all
// by which an account may pass its bound.
const reserve = 16 * pageSize

// tally counts what the databases of a folder hold, for their room. A database
// holds its pages. Its log is counted apart: it comes and goes.
type tally struct {
	folder string
	room   Room

	mu    sync.Mutex
	sizes map[string]int64 // by database; nil until they are measured
	logs  map[string]int64 // likewise, where there is any
	// freed is by how much files are larger than their databases: what those gave
	// back goes from them when the log is taken over. It counts with the logs.
	freed map[string]int64
}

// measure finds out what the databases hold that nobody has opened yet. t.mu is
// held.
func (t *tally) measure() error {
	if t.sizes != nil {
		return nil
	}
	sizes, logs, err := heldIn(t.folder)
	if err != nil {
		return err
	}
	total, log := int64(0), int64(0)
	for name, size := range sizes {
		total += size
		log += logs[name]
	}
	t.sizes, t.logs, t.freed = sizes, logs, map[string]int64{}
	t.room.Note(total)
	t.room.NoteLog(log)
	return nil
}

// admit lets a database be opened, and made where it is new.
func (t *tally) admit(ctx context.Context, name string) error {
	t.mu.Lock()
	err := t.measure()
	_, known := t.sizes[name]
	t.mu.Unlock()
	if err != nil || known {
		return err
	}
	// Without the lock: where there is no room, logs are emptied to make some.
	b, err := t.room.Bounds(ctx)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	_, known = t.sizes[name]
	switch {
	case known:
		return nil
	case b.Databases > 0 && len(t.sizes) >= b.Databases:
		return value.Errorf(quotaExceeded, "there is no database %s yet, and no other can be made: the account has %d, and may have %d", value.Quote(name), len(t.sizes), b.Databases).AtLimit("databases", int64(b.Databases))
	case b.Bytes > 0 && b.Left < pageSize:
		return &noRoomError{noRoom(name, b)}
	}
	t.sizes[name] = 0
	return nil
}

// noRoomError is the error of a database that is not there and that there is no
// room for.
type noRoomError struct{ error }

// Unwrap returns what a script is told.
func (e *noRoomError) Unwrap() error { return e.error }

// set notes how much a database holds now, and returns by how much that is more
// than before. The room is told by the caller.
func (t *tally) set(name string, bytes int64) (grown int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	grown = bytes - t.sizes[name]
	t.sizes[name] = bytes
	return grown
}

// forget notes that a database is gone, and returns what it held.
func (t *tally) forget(name string) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	held := t.sizes[name]
	delete(t.sizes, name)
	return held
}

func (t *tally) size(name string) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sizes[name]
}

// Measure makes the room know of the databases that were there before.
func (d *Databases) Measure() error {
	if d.tally == nil {
		return nil
	}
	d.tally.mu.Lock()
	defer d.tally.mu.Unlock()
	return d.tally.measure()
}

func noRoom(name string, b Bounds) error {
	return value.Errorf(quotaExceeded, "there is no room for more in the database %s: the account's files and databases hold %s at most together; remove rows or files first", value.Quote(name), value.Size(b.Bytes)).AtLimit("storage", b.Bytes)
}

func noRoomForLog(name string, b Bounds) error {
	return value.Errorf(quotaExceeded, "there is no room for the log of this change of the database %s: the account's files and databases, with what is not yet swept of them, hold %s at most; change fewer rows at once, or remove files first", value.Quote(name), value.Size(b.Bytes)).AtLimit("storage", b.Bytes)
}

// begin starts a transaction, in which the database may grow by what is left of
// its room.
func (c *conn) begin(ctx context.Context) error {
	if c.tally != nil {
		var err error
		if c.bounds, err = c.tally.room.Bounds(ctx); err != nil {
			return err
		}
		if err := c.of.makeWay(ctx, c, c.bounds.Log); err != nil {
			return err
		}
	}
	return c.trusted(ctx, "BEGIN IMMEDIATE")
}

// commit keeps what the transaction did, if there is room for it: another
// database may have grown as well meanwhile.
func (c *conn) commit(ctx context.Context) error {
	if c.tally == nil {
		return c.trusted(ctx, "COMMIT")
	}
	if err := c.giveBack(ctx); err != nil {
		return err
	}
	pages, err := c.number(ctx, "PRAGMA page_count")
	if err != nil {
		return err
	}
	// Only who writes to the database changes its size.
	growth := pages*pageSize - c.tally.size(c.name)
	if growth > 0 {
		ok, err := c.tally.room.Take(ctx, growth, reserve)
		if err != nil {
			return err
		}
		if !ok {
			return noRoom(c.name, c.bounds)
		}
	}
	err = c.trusted(ctx, "COMMIT")
	switch {
	case err != nil && growth > 0:
		c.tally.room.Note(-growth)
	case err == nil:
		c.tally.room.Note(min(growth, 0))
		c.tally.set(c.name, pages*pageSize)
		if growth < 0 {
			c.tally.lookAt(c.name, c.path)
		}
	}
	return err
}

const (
	// leastFree is how many pages must be free before any are given back: a
	// database that shrinks and grows all the time keeps them.
	leastFree = 64
	// mostGivenBack bounds what one transaction does to give pages back.
	mostGivenBack = 8192
)

// giveBack takes free pages out of the file where they are many, so that what
// was removed makes room for something else of the account.
func (c *conn) giveBack(ctx context.Context) error {
	free, err := c.number(ctx, "PRAGMA freelist_count")
	if err != nil || free < leastFree {
		return err
	}
	pages, err := c.number(ctx, "PRAGMA page_count")
	if err != nil || free < pages/4 {
		return err
	}
	return c.trusted(ctx, fmt.Sprintf("PRAGMA incremental_vacuum(%d)", mostGivenBack))
}

// bound sets how many pages a statement of the transaction may come to.
func (c *conn) bound(ctx context.Context, removes bool) error {
	if c.tally == nil {
		return nil
	}
	most := int64(math.MaxInt32)
	if c.bounds.Bytes > 0 {
		left := c.bounds.Left
		if removes {
			left += reserve
		}
		// Never less than it has: SQLite sees to that.
		most = min(most, max(1, (c.tally.size(c.name)+left)/pageSize))
	}
	if most == c.maxPages {
		return nil
	}
	if err := c.trusted(ctx, fmt.Sprintf("PRAGMA max_page_count=%d", most)); err != nil {
		return err
	}
	c.maxPages = most
	return nil
}

// number returns the number that a statement of our own gives.
func (c *conn) number(ctx context.Context, sql string) (n int64, err error) {
	c.policy.trusted = true
	defer func() { c.policy.trusted = false }()
	s, _, err := c.db.Prepare(ctx, sql)
	if err != nil {
		return 0, c.explain(err)
	}
	defer s.Close()
	if _, err := s.Step(ctx); err != nil {
		return 0, c.explain(err)
	}
	return s.Int(0), nil
}
