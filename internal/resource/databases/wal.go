package databases

import (
	"context"
	"os"
	"sync/atomic"
	"time"

	"ql/internal/engine"
	"ql/lang/value"
)

// A database in use has a write-ahead log: changes stand there until they are
// taken over into its file, and as long as somebody reads what was before them.
// The log is on the disk like anything else of the account, and counts.

const (
	// trimFrom is from what size on a log is emptied as soon as nobody reads. SQLite
	// takes changes over by itself before it is as large.
	trimFrom = 6 << 20
	// trimTime is how long a reader of another process is waited for then.
	trimTime = 50 * time.Millisecond
	// readersTime is how long readers may go on when the log is as large as it may
	// become beside them.
	readersTime = time.Second
)

// growLog counts what a database's log grows by, or shrinks, and reports whether
// there is room.
func (t *tally) growLog(name string, bytes int64) bool {
	if !t.room.GrowLog(bytes) {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.logs[name] += bytes
	return true
}

// setLog notes how large a log is.
func (t *tally) setLog(name string, bytes int64) {
	t.mu.Lock()
	grown := bytes - t.logs[name]
	if bytes == 0 {
		delete(t.logs, name)
	} else {
		t.logs[name] = bytes
	}
	t.mu.Unlock()
	t.room.NoteLog(grown)
}

// lookAt notes by how much a database's file is larger than the database.
func (t *tally) lookAt(name, path string) {
	info, err := os.Lstat(path)
	t.mu.Lock()
	freed := int64(0)
	if err == nil {
		freed = max(info.Size()-t.sizes[name], 0)
	}
	grown := freed - t.freed[name]
	if freed == 0 {
		delete(t.freed, name)
	} else {
		t.freed[name] = freed
	}
	t.mu.Unlock()
	t.room.NoteLog(grown)
}

func (t *tally) logSize(name string) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.logs[name]
}

// canTrim reports whether there is something to take over: a log of so many bytes,
// or a file that would become smaller.
func (t *tally) canTrim(name string, from int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.logs[name] >= from || t.freed[name] > 0
}

// logOf returns how large the log of a database file is.
func logOf(path string) int64 {
	info, err := os.Lstat(path + journalEnding)
	if err != nil {
		return 0
	}
	return info.Size()
}

// trim empties the log where it has so many bytes and nobody reads. The caller has
// the connection that writes.
func (db *database) trim(c *conn, from int64) {
	if db.tally == nil || !db.tally.canTrim(db.name, from) {
		return
	}
	for range cap(db.reading) {
		select {
		case db.reading <- struct{}{}:
			defer func() { <-db.reading }()
		default:
			return
		}
	}
	db.emptyLog(c)
}

// emptyLog takes over what the log has. Readers of this process are kept out by
// the caller.
func (db *database) emptyLog(c *conn) {
	ctx, cancel := context.WithTimeout(context.Background(), trimTime)
	defer cancel()
	// Where another process reads, the next one tries again.
	_ = c.trusted(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	db.tally.lookAt(db.name, c.path)
}

// trimIdle is trim where nobody writes.
func (db *database) trimIdle(from int64) {
	if db.tally == nil || !db.tally.canTrim(db.name, from) {
		return
	}
	select {
	case db.writing <- struct{}{}:
	default:
		return
	}
	db.mu.Lock()
	c := db.writer
	db.writer = nil
	db.mu.Unlock()
	if c != nil {
		db.trim(c, from)
		db.mu.Lock()
		db.writer = c
		db.mu.Unlock()
	}
	<-db.writing
}

// TrimLogs empties logs of databases that nobody uses at the moment.
func (d *Databases) TrimLogs() {
	d.mu.Lock()
	var open []*database
	for _, db := range d.open {
		db.users++
		open = append(open, db)
	}
	d.mu.Unlock()
	for _, db := range open {
		db.trimIdle(1)
		d.release(db)
	}
}

// makeWay empties the log before a change where it is as large as it may become
// beside readers: they are waited for, and those that still read then are ended.
// Who comes meanwhile waits. The caller has the connection that writes.
func (db *database) makeWay(ctx context.Context, c *conn, most int64) error {
	if db.tally == nil || most == 0 || db.tally.logSize(db.name) < most {
		return nil
	}
	engine.Rest(ctx)
	patience := time.NewTicker(readersTime)
	defer patience.Stop()
	giveUp := time.NewTimer(db.options.Busy)
	defer giveUp.Stop()
	for range cap(db.reading) {
		for taken := false; !taken; {
			select {
			case db.reading <- struct{}{}:
				defer func() { <-db.reading }()
				taken = true
			case <-patience.C:
				db.endReaders(most)
			case <-giveUp.C:
				return nil // it does not get on at all: the room is the bound
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	db.emptyLog(c)
	return nil
}

// endReaders ends the statements of those who read.
func (db *database) endReaders(most int64) {
	db.mu.Lock()
	defer db.mu.Unlock()
	for r := range db.current {
		r.end(value.Errorf("database_busy", "this statement read the database %s for so long that the log of the changes meanwhile came to %s, and was ended: read less at once, or when less is changed", value.Quote(db.name), value.Size(most)))
	}
}

// reading is a context under which a statement reads, until somebody ends it.
type reading struct {
	context.Context
	ended atomic.Pointer[value.Error]
}

func (r *reading) end(why *value.Error) { r.ended.Store(why) }

// Err implements context.Context. What is waited for outside the library does not
// end by it.
func (r *reading) Err() error {
	if why := r.ended.Load(); why != nil {
		return why
	}
	return r.Context.Err()
}

// beginRead notes that a statement reads, until end is called.
func (db *database) beginRead(ctx context.Context) (_ context.Context, end func()) {
	r := &reading{Context: ctx}
	db.mu.Lock()
	db.current[r] = true
	db.mu.Unlock()
	return r, func() {
		db.mu.Lock()
		delete(db.current, r)
		db.mu.Unlock()
	}
}
