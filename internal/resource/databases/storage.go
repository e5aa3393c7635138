package databases

import (
	"context"
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
