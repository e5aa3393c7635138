package databases

import (
	"context"

	"ql/internal/sqlite"
)

// A read begins with a lock of the file and ends by giving it back, which takes longer than to look for a
// row. So a connection that has read the same version of the database twice keeps what it sees open after
// the second, as long as nobody writes: the next read goes on there if the version is still that one, and
// sees what it would see otherwise. Whoever writes, or makes a checkpoint, first ends what idle
// connections keep, so that no log grows because of it.

// kept is what a connection that reads sees, and keeps.
type kept struct {
	versions func() sqlite.WALVersion // nil until there was a read
	refused  bool                     // there is no version to be asked for
	version  sqlite.WALVersion        // when the last read began
	open     bool
}

// prepareRead is called before a read: what was kept stays, where it is what a read would see now.
func (c *conn) prepareRead(ctx context.Context) error {
	k := &c.kept
	if k.versions == nil {
		return nil
	}
	// It is asked for before the read begins: where somebody commits in between, the read sees more
	// than this version, and the next one begins anew.
	now := k.versions()
	same := now == k.version
	k.version = now
	switch {
	case k.open && !same:
		return c.dropKept(ctx)
	case !k.open && same && !c.pool.writing.Load(): // beside a writer it would have to end at once
		if err := c.execInternal(ctx, "BEGIN", nil); err != nil {
			return err
		}
		k.open = true
		c.db.CountFirstPage(true)
	}
	return nil
}

// afterRead is called after a read that had no error.
func (c *conn) afterRead() {
	k := &c.kept
	if k.versions != nil || k.refused {
		return
	}
	var err error
	if k.versions, err = c.db.WALVersions(); err != nil {
		k.versions, k.refused = nil, true // such as where the database is in memory
	}
}

// dropKept ends what the connection keeps.
func (c *conn) dropKept(ctx context.Context) error {
	if !c.kept.open {
		return nil
	}
	c.kept.open = false
	c.db.CountFirstPage(false)
	if !c.db.InTransaction() {
		return nil // some errors end it
	}
	return c.execInternal(ctx, "COMMIT", nil)
}

// beginWrite is called by who has the right to write, before it does: no idle connection keeps anything
// from then on, until endWrite.
func (db *database) beginWrite() {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.writing.Store(true)
	db.dropIdle()
}

func (db *database) endWrite() { db.writing.Store(false) }

// dropIdle ends what idle connections keep. db.mu is held.
func (db *database) dropIdle() {
	usable := db.idleReaders[:0]
	for _, c := range db.idleReaders {
		if c.rollback() {
			usable = append(usable, c)
		}
	}
	clear(db.idleReaders[len(usable):])
	db.idleReaders = usable
}
