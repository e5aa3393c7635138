package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"ql/internal/batch"
)

// maxBatch is how many writes share one commit at most.
const maxBatch = 512

// writer owns the one connection that writes. Writes that come at the same time
// share a commit, and a failing one undoes nothing but itself.
type writer struct {
	conn   *conn
	recent *recent
	group  *batch.Group[*write]

	writes, commits atomic.Int64
}

// write is a change, and what became of it.
type write struct {
	do   func(tx) error
	err  error
	over bool // err is its outcome
}

func (w *write) finish(err error) { w.err, w.over = err, true }

func newWriter(c *conn, r *recent) *writer {
	w := &writer{conn: c, recent: r}
	w.group = batch.New(maxBatch, w.guarded)
	return w
}

// write makes a change and returns when it is on the disk. Where ctx ends
// first, nothing was changed. The change may be run more than once, each time
// as if it had not been before.
func (w *writer) write(ctx context.Context, do func(tx) error) error {
	change := &write{do: do}
	switch err := w.group.Do(ctx, change); {
	case errors.Is(err, batch.ErrClosed):
		return ErrClosed
	case err != nil:
		return err
	}
	return change.err
}

// guarded is perform; after a panic all that are not over have failed, and others
// can write.
func (w *writer) guarded(writes []*write) {
	all := slices.Clone(writes) // perform changes its own
	defer func() {
		if p := recover(); p != nil {
			for _, c := range all {
				if !c.over {
					c.finish(fmt.Errorf("writing to the store panicked: %v", p))
				}
			}
		}
	}()
	w.perform(writes)
}

// waiting returns how many writes wait.
func (w *writer) waiting() int { return w.group.Waiting() }

// close waits for all writes that were accepted, and closes the connection.
func (w *writer) close() error {
	if !w.group.Close() {
		return nil
	}
	return w.conn.close()
}

// perform runs writes in as few commits as can be.
func (w *writer) perform(batch []*write) {
	savepoints := false
	for len(batch) > 0 {
		r := w.attempt(batch, savepoints)
		switch {
		case r.halfway:
			savepoints = true
		case r.culprit != nil:
			batch = slices.DeleteFunc(batch, func(c *write) bool { return c == r.culprit })
			r.culprit.finish(explain(w.conn.path, r.err))
		case r.uncommitted && len(batch) > 1:
			// One may be too large for the disk while the others are not.
			for _, c := range batch {
				r := w.attempt([]*write{c}, false)
				c.finish(explain(w.conn.path, cmp.Or(r.err, c.err)))
			}
			return
		default:
			for _, c := range batch {
				c.finish(explain(w.conn.path, cmp.Or(r.err, c.err)))
			}
			return
		}
	}
}

// result is what became of an attempt. With an error, nothing of it is left.
type result struct {
	err         error
	halfway     bool   // a write failed after it had changed something
	culprit     *write // it took the whole transaction with it
	uncommitted bool   // all writes were run, and the commit failed
}

// attempt runs writes in one transaction and leaves what became of each in its
// err. Most that fail do so before they change anything, and there is nothing
// to undo; savepoints, which cost as much as a small write, undo the others.
func (w *writer) attempt(batch []*write, savepoints bool) (r result) {
	// Never a submitter's context: an interrupt would undo the others' writes.
	t := tx{context.Background(), w.conn}
	if t.conn.db.InTransaction() { // that a panic has left
		if _, err := t.exec("ROLLBACK"); err != nil {
			return result{err: err}
		}
	}
	if _, err := t.exec("BEGIN IMMEDIATE"); err != nil {
		return result{err: err}
	}
	defer func() {
		if w.conn.db.InTransaction() {
			if _, err := t.exec("ROLLBACK"); err != nil {
				r.err = errors.Join(r.err, err)
			}
		}
	}()
	began := w.recent.here() // nobody else can commit now
	w.conn.accounts = false
	run := runPlain
	if savepoints {
		run = runInSavepoint
	}
	for _, c := range batch {
		halfway, err := run(t, c)
		switch {
		case !w.conn.db.InTransaction():
			return result{culprit: c, err: cmp.Or(c.err, err, errEnded)}
		case err != nil, halfway && len(batch) == 1:
			return result{culprit: c, err: cmp.Or(err, c.err)}
		case halfway:
			return result{halfway: true}
		}
	}
	if _, err := t.exec("COMMIT"); err != nil {
		return result{uncommitted: true, err: err}
	}
	if !w.conn.accounts {
		w.recent.pass(began)
	}
	w.commits.Add(1)
	w.writes.Add(int64(len(batch)))
	return result{}
}

var errEnded = errors.New("a write to the store ended its transaction")

// runPlain runs a write, and reports whether it failed with changes to undo.
func runPlain(t tx, c *write) (halfway bool, err error) {
	before := t.conn.db.TotalChanges()
	c.err = guard(t, c.do)
	return c.err != nil && t.conn.db.TotalChanges() != before, nil
}

// runInSavepoint runs a write, and undoes it where it fails.
func runInSavepoint(t tx, c *write) (halfway bool, err error) {
	if _, err := t.exec("SAVEPOINT change"); err != nil {
		return false, err
	}
	if c.err = guard(t, c.do); c.err != nil {
		if _, err := t.exec("ROLLBACK TO change"); err != nil {
			return false, err
		}
	}
	_, err = t.exec("RELEASE change")
	return false, err
}

// guard keeps a panic of one change from the others.
func guard(t tx, do func(tx) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("a write to the store panicked: %v", p)
		}
	}()
	return do(t)
}
