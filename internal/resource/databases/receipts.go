package databases

import (
	"context"
	"errors"
	"math"
	"path/filepath"

	"ql/internal/engine"
	"ql/internal/sqlite"
	"ql/lang/value"
)

// The receipts of a job are rows of a hidden table, in the database that the job
// changed: a change and its receipt are committed together or not at all. Another
// holds the newest attempt of each job, which fences off the others. Receipts are
// appended and have no index, so that each costs one page beside its change; they are
// looked for only after a crash and at a job's end, when there are few. What a receipt
// holds may be larger than a row, and is cut into parts.
const (
	selectReceiptsTable = "SELECT 1 FROM sqlite_schema WHERE name = '_ql_receipts'"
	createReceipts      = "CREATE TABLE _ql_receipts(" +
		"job BLOB NOT NULL, step INTEGER NOT NULL, part INTEGER NOT NULL, attempt INTEGER NOT NULL, kept BLOB NOT NULL)"
	createAttempts = "CREATE TABLE _ql_marks(job BLOB NOT NULL PRIMARY KEY, attempt INTEGER NOT NULL) WITHOUT ROWID"
	selectAttempt  = "SELECT attempt FROM _ql_marks WHERE job = ?"
	upsertAttempt  = "INSERT OR REPLACE INTO _ql_marks VALUES (?, ?)"
	deleteAttempt  = "DELETE FROM _ql_marks WHERE job = ?"
	selectReceipts = "SELECT step, kept FROM _ql_receipts WHERE job = ? ORDER BY step, part"
	insertReceipt  = "INSERT INTO _ql_receipts VALUES (?, ?, ?, ?, ?)"
	deleteReceipts = "DELETE FROM _ql_receipts WHERE job = ? AND step <= ?"
)

// partBytes is the most that one row holds.
const partBytes = MaxValue / 2

// Receipts returns those of a job in the order of their steps. From then on all
// attempts before this one are refused.
func (d *Databases) Receipts(ctx context.Context, name string, job [16]byte, attempt int64) (found []engine.StoredReceipt, err error) {
	err = d.change(ctx, name, func(c *conn) error {
		newest, err := c.newestAttempt(ctx, job, attempt)
		if err != nil {
			return err
		}
		if err := c.setMaxPages(ctx, true); err != nil {
			return err
		}
		if err := c.recordAttempt(ctx, job, attempt, newest); err != nil {
			return err
		}
		return c.execInternal(ctx, selectReceipts, func(s *sqlite.Stmt) {
			step := s.Int(0)
			if n := len(found); n == 0 || found[n-1].Step != step {
				found = append(found, engine.StoredReceipt{Step: step})
			}
			last := &found[len(found)-1]
			last.Bytes = append(last.Bytes, s.Blob(1)...)
		}, job[:])
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// DeleteReceipts deletes those of a job up to a step; all, and the job's
// attempt too, where the step is below 0.
func (d *Databases) DeleteReceipts(ctx context.Context, name string, job [16]byte, upTo int64) error {
	name, err := canonicalName(name)
	if err != nil {
		return err
	}
	if isMissing(filepath.Join(d.options.Folder, name+fileSuffix)) {
		return nil // it must not be made for this
	}
	return d.change(ctx, name, func(c *conn) error {
		there, err := c.hasReceipts(ctx)
		if err != nil || !there {
			return err
		}
		if err := c.setMaxPages(ctx, true); err != nil {
			return err
		}
		if upTo < 0 {
			return c.deleteJob(ctx, job)
		}
		return c.execInternal(ctx, deleteReceipts, nil, job[:], upTo)
	})
}

// runWithReceipt runs a call that may change something outside any transaction,
// and writes its receipt if it does. What is not committed is rolled back when
// the connection is given back.
func (c *conn) runWithReceipt(ctx context.Context, s *statement, call *call) (value.Value, error) {
	r := call.receipt
	if err := c.begin(ctx); err != nil {
		return value.Null, err
	}
	newest, err := c.newestAttempt(ctx, r.Job, r.Attempt)
	if err != nil {
		return value.Null, err
	}
	v, err := c.run(ctx, s, call)
	if err != nil {
		return value.Null, err
	}
	// A cached statement learns when it runs what has become of its tables, and
	// whether it writes.
	if !s.ReadOnly() {
		if err := c.writeReceipt(ctx, r, newest, v); err != nil {
			return value.Null, err
		}
	}
	engine.Yield(ctx)
	if err := c.commit(ctx); err != nil {
		return value.Null, err
	}
	return v, nil
}

// commitWithReceipt writes a receipt in the transaction under way and commits
// it. Where that fails, the transaction is as it was before, if it is still open.
func (c *conn) commitWithReceipt(ctx context.Context, r *engine.Receipt) error {
	newest, err := c.newestAttempt(ctx, r.Job, r.Attempt)
	if err != nil {
		return err
	}
	if err := c.execInternal(ctx, "SAVEPOINT ql_receipt", nil); err != nil {
		return err
	}
	if err = c.writeReceipt(ctx, r, newest, value.Null); err == nil {
		err = c.commit(ctx)
	}
	if err == nil || !c.db.InTransaction() {
		return err
	}
	back := context.WithoutCancel(ctx)
	if failed := c.execInternal(back, "ROLLBACK TO ql_receipt", nil); failed != nil {
		return errors.Join(err, failed)
	}
	if failed := c.execInternal(back, "RELEASE ql_receipt", nil); failed != nil {
		return errors.Join(err, failed)
	}
	return err
}

// noAttempt is less than every attempt.
const noAttempt = math.MinInt64

// newestAttempt returns the newest attempt of a job that was seen here, or noAttempt. An
// attempt that is older is refused.
func (c *conn) newestAttempt(ctx context.Context, job [16]byte, attempt int64) (int64, error) {
	newest := int64(noAttempt)
	there, err := c.hasReceipts(ctx)
	if err != nil || !there {
		return newest, err
	}
	if err := c.execInternal(ctx, selectAttempt, func(s *sqlite.Stmt) { newest = s.Int(0) }, job[:]); err != nil {
		return newest, err
	}
	if newest > attempt {
		return newest, engine.ErrSuperseded
	}
	return newest, nil
}

// hasReceipts reports whether the hidden tables are there.
func (c *conn) hasReceipts(ctx context.Context) (_ bool, err error) {
	if c.receiptTables {
		return true, nil
	}
	// They are made at the end of a transaction, so that what is found here stays.
	err = c.execInternal(ctx, selectReceiptsTable, func(*sqlite.Stmt) { c.receiptTables = true })
	return c.receiptTables, err
}

// recordAttempt records a newer attempt of a job, making the hidden tables where they
// are missing.
func (c *conn) recordAttempt(ctx context.Context, job [16]byte, attempt, newest int64) error {
	if newest == attempt {
		return nil
	}
	there, err := c.hasReceipts(ctx)
	if err != nil {
		return err
	}
	if !there {
		for _, table := range []string{createAttempts, createReceipts} {
			if err := c.execTrusted(ctx, table); err != nil {
				return err
			}
		}
	}
	return c.execInternal(ctx, upsertAttempt, nil, job[:], attempt)
}

// writeReceipt writes a receipt with what it holds of a result.
func (c *conn) writeReceipt(ctx context.Context, r *engine.Receipt, newest int64, result value.Value) error {
	content, err := r.Write(result)
	if err != nil {
		return err
	}
	// It may use the reserve, lest a change that frees storage find none.
	if err := c.setMaxPages(ctx, true); err != nil {
		return err
	}
	if err := c.recordAttempt(ctx, r.Job, r.Attempt, newest); err != nil {
		return err
	}
	// What a script inserted last is its own.
	defer c.db.SetLastInsertID(c.db.LastInsertID())
	for part := int64(0); part == 0 || len(content) > 0; part++ {
		n := min(len(content), partBytes)
		if err := c.execInternal(ctx, insertReceipt, nil, r.Job[:], r.Step, part, r.Attempt, content[:n]); err != nil {
			return err
		}
		content = content[n:]
	}
	return nil
}
