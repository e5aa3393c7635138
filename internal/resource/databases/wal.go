package databases

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"ql/internal/engine"
	"ql/internal/sqlite"
	"ql/lang/value"
)

// A database in use has a write-ahead log: changes are there until a checkpoint copies
// them into its file, and as long as somebody reads what was before them. The log is
// on the disk like anything else of the account, and counts.

const (
	// checkpointFrom is from what size on a log is truncated as soon as nobody reads.
	// SQLite makes a checkpoint by itself before it is as large.
	checkpointFrom = 6 << 20
	// checkpointTimeout is how long a reader of another process is waited for then.
	checkpointTimeout = 50 * time.Millisecond
	// readerPatience is how long readers may go on when the log is as large as it may
	// become beside them.
	readerPatience = time.Second
)

// reserveWAL counts what a database's log grows by, or shrinks, and reports whether
// there is storage left for it.
func (u *usage) reserveWAL(name string, bytes int64) bool {
	if !u.storage.ReserveWAL(bytes) {
		return false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.wals[name] += bytes
	return true
}

// setWAL records how large a log is.
func (u *usage) setWAL(name string, bytes int64) {
	u.mu.Lock()
	grown := bytes - u.wals[name]
	if bytes == 0 {
		delete(u.wals, name)
	} else {
		u.wals[name] = bytes
	}
	u.mu.Unlock()
	u.storage.AdjustWAL(grown)
}

// setSlack records by how much a database's file is larger than the database.
func (u *usage) setSlack(name, path string) {
	info, err := os.Lstat(path)
	u.mu.Lock()
	slack := int64(0)
	if err == nil {
		slack = max(info.Size()-u.sizes[name], 0)
	}
	grown := slack - u.slack[name]
	if slack == 0 {
		delete(u.slack, name)
	} else {
		u.slack[name] = slack
	}
	u.mu.Unlock()
	u.storage.AdjustWAL(grown)
}

func (u *usage) walBytes(name string) int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.wals[name]
}

// canCheckpoint reports whether a checkpoint would free anything: a log of so many
// bytes, or the end of a file.
func (u *usage) canCheckpoint(name string, from int64) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.wals[name] >= from || u.slack[name] > 0
}

// walSize returns how large the log of a database file is.
func walSize(path string) int64 {
	info, err := os.Lstat(path + walSuffix)
	if err != nil {
		return 0
	}
	return info.Size()
}

// checkpointIfLarge truncates the log where it has so many bytes and nobody reads. The
// caller has the connection that writes.
func (db *database) checkpointIfLarge(c *conn, from int64) {
	if db.usage == nil || !db.usage.canCheckpoint(db.name, from) {
		return
	}
	for range cap(db.readerTokens) {
		select {
		case db.readerTokens <- struct{}{}:
			defer func() { <-db.readerTokens }()
		default:
			return
		}
	}
	db.checkpoint(c)
}

// checkpoint copies the log into the file and truncates it. Readers of this process
// are kept out by the caller.
func (db *database) checkpoint(c *conn) {
	ctx, cancel := context.WithTimeout(context.Background(), checkpointTimeout)
	defer cancel()
	// Where another process reads, the next one tries again.
	_ = c.execTrusted(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	db.usage.setSlack(db.name, c.path)
}

// checkpointIdle is checkpointIfLarge where nobody writes.
func (db *database) checkpointIdle(from int64) {
	if db.usage == nil || !db.usage.canCheckpoint(db.name, from) {
		return
	}
	select {
	case db.writerToken <- struct{}{}:
	default:
		return
	}
	db.beginWrite()
	db.mu.Lock()
	c := db.idleWriter
	db.idleWriter = nil
	db.mu.Unlock()
	if c != nil {
		db.checkpointIfLarge(c, from)
		db.mu.Lock()
		db.idleWriter = c
		db.mu.Unlock()
	}
	db.endWrite()
	<-db.writerToken
}

// CheckpointIdle truncates the logs of databases that nobody uses at the moment, and ends what their
// connections keep: another process may have to.
func (d *Databases) CheckpointIdle() {
	d.mu.Lock()
	var open []*database
	for _, db := range d.open {
		db.users++
		open = append(open, db)
	}
	d.mu.Unlock()
	for _, db := range open {
		db.mu.Lock()
		db.dropIdle()
		db.mu.Unlock()
		db.checkpointIdle(1)
		d.release(db)
	}
}

// checkpointBeforeWrite truncates the log before a change where it is as large as it
// may become beside readers: they are waited for, and those that still read then are
// ended. Who comes meanwhile waits. The caller has the connection that writes.
func (db *database) checkpointBeforeWrite(ctx context.Context, c *conn, most int64) error {
	if db.usage == nil || most == 0 || db.usage.walBytes(db.name) < most {
		return nil
	}
	engine.Yield(ctx)
	patience := time.NewTicker(readerPatience)
	defer patience.Stop()
	giveUp := time.NewTimer(db.options.Busy)
	defer giveUp.Stop()
	for range cap(db.readerTokens) {
		for acquired := false; !acquired; {
			select {
			case db.readerTokens <- struct{}{}:
				defer func() { <-db.readerTokens }()
				acquired = true
			case <-patience.C:
				db.cancelReaders(most)
			case <-giveUp.C:
				return nil // it makes no progress at all: the storage is the bound
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	db.checkpoint(c)
	return nil
}

// cancelReaders ends the statements of those who read.
func (db *database) cancelReaders(most int64) {
	db.mu.Lock()
	defer db.mu.Unlock()
	for _, r := range db.activeReads {
		r.end(value.Errorf("database_busy", "this statement read the database %s for so long that the log of the changes meanwhile came to %s, and was ended: read less at once, or when less is changed", value.Quote(db.name), value.FormatSize(most)))
	}
}

// activeRead is a context under which a statement reads, until somebody ends it.
type activeRead struct {
	context.Context
	ended atomic.Pointer[value.Error]
}

func (r *activeRead) end(why *value.Error) { r.ended.Store(why) }

// Err implements context.Context. What is waited for outside the library does not
// end by it.
func (r *activeRead) Err() error {
	if why := r.ended.Load(); why != nil {
		return why
	}
	return r.Context.Err()
}

// beginRead records that a statement reads under the context that it returns, until endRead is called. The
// context is a new one each time: somebody may still look at one that has ended.
func (db *database) beginRead(ctx context.Context) *activeRead {
	r := &activeRead{Context: ctx}
	db.mu.Lock()
	db.activeReads = append(db.activeReads, r)
	db.mu.Unlock()
	return r
}

func (db *database) endRead(r *activeRead) {
	db.mu.Lock()
	if i := slices.Index(db.activeReads, r); i >= 0 {
		db.activeReads = slices.Delete(db.activeReads, i, i+1)
	}
	db.mu.Unlock()
}

// Fold puts what the log of a database that nobody uses has into its file.
func Fold(ctx context.Context, path string) error {
	c, err := sqlite.Open(path, sqlite.Config{})
	if err != nil {
		return err
	}
	return errors.Join(c.Exec(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"), c.Close())
}
