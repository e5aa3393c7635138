package databases

import (
	"context"
	"errors"
	"fmt"
	"math"

	"ql/internal/engine"
	"ql/lang/value"
)

var _ engine.Tx = (*tx)(nil)

// tx is an open transaction. It is used by one run at a time.
type tx struct {
	conn      *conn
	end       func() // gives the connection back; nil when the transaction has ended
	changed   bool   // a statement was more than a read
	committed bool
}

// Query runs one statement inside the transaction.
func (t *tx) Query(ctx context.Context, q engine.Query) (value.Value, error) {
	if err := t.open(); err != nil {
		return value.Null, err
	}
	if q.Receipt != nil {
		return value.Null, errors.New("databases: the commit of a transaction takes a receipt, not a statement in it")
	}
	call, err := newCall(&q)
	if err != nil {
		return value.Null, err
	}
	defer call.free()
	s, err := t.conn.prepare(ctx, call)
	if err != nil {
		return value.Null, err
	}
	if !q.Savepoint {
		return t.run(ctx, s, call)
	}
	return t.undoing(ctx, q.Savepoint, func() (value.Value, error) { return t.run(ctx, s, call) })
}

// Import adds rows inside the transaction.
func (t *tx) Import(ctx context.Context, im engine.Import) (value.Value, error) {
	if err := t.open(); err != nil {
		return value.Null, err
	}
	return t.undoing(ctx, im.Savepoint, func() (value.Value, error) {
		t.changed = true
		return t.conn.importRows(ctx, im)
	})
}

// undoing runs do, and where a savepoint is asked for undoes what it did if it fails.
func (t *tx) undoing(ctx context.Context, savepoint bool, do func() (value.Value, error)) (value.Value, error) {
	if !savepoint {
		return do()
	}
	if err := t.conn.execTrusted(ctx, "SAVEPOINT ql"); err != nil {
		return value.Null, err
	}
	v, err := do()
	if t.conn.db.InTransaction() {
		// Also when ctx has ended: the savepoint must not stay.
		back := context.WithoutCancel(ctx)
		if err != nil {
			if failed := t.conn.execTrusted(back, "ROLLBACK TO ql"); failed != nil {
				return value.Null, failed
			}
		}
		if failed := t.conn.execTrusted(back, "RELEASE ql"); failed != nil {
			return value.Null, failed
		}
	}
	return v, err
}

func (t *tx) run(ctx context.Context, s *statement, call *call) (value.Value, error) {
	v, err := t.conn.run(ctx, s, call)
	t.changed = t.changed || !s.ReadOnly()
	return v, err
}

// open returns an error where the transaction has ended. SQLite ends one by
// itself where a statement says OR ROLLBACK, was cut off while it wrote, or
// found the disk full; what came after would otherwise run outside of it.
func (t *tx) open() error {
	if t.end != nil && t.conn.db.InTransaction() {
		return nil
	}
	return value.Errorf("transaction_ended", "the transaction has ended: an earlier statement rolled it back")
}

// Commit commits all that the transaction did, and the receipt with it, if it did
// anything. A second one does nothing.
func (t *tx) Commit(ctx context.Context, receipt *engine.Receipt) error {
	if t.committed {
		return nil
	}
	if err := t.open(); err != nil {
		return err
	}
	var err error
	if receipt != nil && t.changed {
		err = t.conn.commitWithReceipt(ctx, receipt)
	} else {
		err = t.conn.commit(ctx)
	}
	if err != nil {
		return err
	}
	t.committed = true
	t.finish()
	return nil
}

// Rollback undoes all that the transaction did, unless it has ended already.
func (t *tx) Rollback() error {
	if t.end == nil {
		return nil
	}
	var err error
	if t.conn.db.InTransaction() {
		err = t.conn.execTrusted(context.Background(), "ROLLBACK")
	}
	t.finish()
	return err
}

func (t *tx) finish() {
	t.end()
	t.end = nil
}

// change runs do in a transaction of its own.
func (d *Databases) change(ctx context.Context, name string, do func(*conn) error) error {
	db, err := d.acquire(name)
	if err != nil {
		return err
	}
	defer d.release(db)
	c, err := db.acquireWriter(ctx)
	if err != nil {
		return err
	}
	// What is not committed is rolled back here.
	defer db.releaseWriter(c)
	if err := c.begin(ctx); err != nil {
		return err
	}
	if err := do(c); err != nil {
		return err
	}
	engine.Yield(ctx)
	return c.commit(ctx)
}

// begin starts a transaction, in which the database may grow by what is left of
// the storage.
func (c *conn) begin(ctx context.Context) error {
	if c.usage != nil {
		var err error
		if c.bounds, err = c.usage.storage.Bounds(ctx); err != nil {
			return err
		}
		if err := c.pool.checkpointBeforeWrite(ctx, c, c.bounds.WAL); err != nil {
			return err
		}
	}
	return c.execTrusted(ctx, "BEGIN IMMEDIATE")
}

// commit commits the transaction, if there is storage for it: another database may
// have grown as well meanwhile.
func (c *conn) commit(ctx context.Context) error {
	if c.usage == nil {
		return c.execTrusted(ctx, "COMMIT")
	}
	if err := c.vacuumFreePages(ctx); err != nil {
		return err
	}
	pages, err := c.queryInt(ctx, "PRAGMA page_count")
	if err != nil {
		return err
	}
	// Only who writes to the database changes its size.
	growth := pages*pageSize - c.usage.size(c.name)
	if growth > 0 {
		ok, err := c.usage.storage.Reserve(ctx, growth, reserve)
		if err != nil {
			return err
		}
		if !ok {
			return storageFull(c.name, c.bounds)
		}
	}
	err = c.execTrusted(ctx, "COMMIT")
	switch {
	case err != nil && growth > 0:
		c.usage.storage.Adjust(-growth)
	case err == nil:
		c.usage.storage.Adjust(min(growth, 0))
		c.usage.setSize(c.name, pages*pageSize)
		if growth < 0 {
			c.usage.setSlack(c.name, c.path)
		}
	}
	return err
}

const (
	// minFreePages is how many pages must be free before any are given back: a
	// database that shrinks and grows all the time keeps them.
	minFreePages = 64
	// maxVacuumPages bounds what one transaction does to give pages back.
	maxVacuumPages = 8192
)

// vacuumFreePages takes free pages out of the file where they are many, so that what
// was removed frees storage for something else of the account.
func (c *conn) vacuumFreePages(ctx context.Context) error {
	free, err := c.queryInt(ctx, "PRAGMA freelist_count")
	if err != nil || free < minFreePages {
		return err
	}
	pages, err := c.queryInt(ctx, "PRAGMA page_count")
	if err != nil || free < pages/4 {
		return err
	}
	return c.execTrusted(ctx, fmt.Sprintf("PRAGMA incremental_vacuum(%d)", maxVacuumPages))
}

// setMaxPages sets how many pages a statement of the transaction may come to.
func (c *conn) setMaxPages(ctx context.Context, removes bool) error {
	if c.usage == nil {
		return nil
	}
	most := int64(math.MaxInt32)
	if c.bounds.Bytes > 0 {
		left := c.bounds.Left
		if removes {
			left += reserve
		}
		// Never less than it has: SQLite sees to that.
		most = min(most, max(1, (c.usage.size(c.name)+left)/pageSize))
	}
	if most == c.maxPages {
		return nil
	}
	if err := c.execTrusted(ctx, fmt.Sprintf("PRAGMA max_page_count=%d", most)); err != nil {
		return err
	}
	c.maxPages = most
	return nil
}
