package databases

import (
	"context"
	"errors"

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
	call, err := newCall(q)
	if err != nil {
		return value.Null, err
	}
	s, err := t.conn.prepare(ctx, call)
	if err != nil {
		return value.Null, err
	}
	if !q.Savepoint {
		return t.run(ctx, s, call)
	}
	if err := t.conn.trusted(ctx, "SAVEPOINT ql"); err != nil {
		return value.Null, err
	}
	v, err := t.run(ctx, s, call)
	if t.conn.db.InTransaction() {
		// Also when ctx has ended: the savepoint must not stay.
		back := context.WithoutCancel(ctx)
		if err != nil {
			if failed := t.conn.trusted(back, "ROLLBACK TO ql"); failed != nil {
				return value.Null, failed
			}
		}
		if failed := t.conn.trusted(back, "RELEASE ql"); failed != nil {
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

// Commit keeps all that the transaction did, and the receipt with it, if it did
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
		err = t.conn.trusted(context.Background(), "ROLLBACK")
	}
	t.finish()
	return err
}

func (t *tx) finish() {
	t.end()
	t.end = nil
}
