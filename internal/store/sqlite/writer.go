package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"ql/internal/batch"
	"ql/internal/fault"
)

// maxBatch is how many writes share one commit at most.
const maxBatch = 512

// writer owns the one connection that writes. Writes that come at the same time
// share a commit, and a failing one undoes nothing but itself.
type writer struct {
	conn     *conn
	versions *versions
	group    *batch.Group[*write]
	// numbers says that changes of accounts are numbered, for the members: the steps of
	// some earlier versions have no numbers.
	numbers bool

	writes, commits atomic.Int64

	// unsealed is why the log may hold a commit that has failed, nil where it does not.
	// Only who performs uses it.
	unsealed error
	// failing is what the storage last did to a change; nil after a commit.
	failing atomic.Pointer[error]
}

// write is a change, and what became of it.
type write struct {
	do   func(tx) error
	err  error
	done bool // err is its outcome
}

func (w *write) finish(err error) { w.err, w.done = err, true }

func newWriter(c *conn, v *versions, numbers bool) *writer {
	w := &writer{conn: c, versions: v, numbers: numbers}
	w.group = batch.New(maxBatch, w.performRecovering)
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

// performRecovering is perform; after a panic all that are not over have failed, and others
// can write.
func (w *writer) performRecovering(writes []*write) {
	all := slices.Clone(writes) // perform changes its own
	defer func() {
		if p := recover(); p != nil {
			for _, c := range all {
				if !c.done {
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
	if err := w.seal(); err != nil { // nothing of these was tried
		w.finish(batch, err)
		return
	}
	savepoints := false
	for len(batch) > 0 {
		r := w.attempt(batch, savepoints)
		switch {
		case r.halfway:
			savepoints = true
		case r.culprit != nil:
			batch = slices.DeleteFunc(batch, func(c *write) bool { return c == r.culprit })
			r.culprit.finish(w.classify(r.err))
		case r.uncommitted && w.seal() != nil:
			w.finish(batch, unknown.WithCause(r.err))
			return
		case r.uncommitted && len(batch) > 1:
			w.commitEach(batch)
			return
		default:
			w.finish(batch, r.err)
			return
		}
	}
}

// commitEach runs writes each in a commit of its own: one may be too large for the disk
// while the others are not.
func (w *writer) commitEach(batch []*write) {
	for i, c := range batch {
		r := w.attempt([]*write{c}, false)
		if r.uncommitted && w.seal() != nil {
			w.finish([]*write{c}, unknown.WithCause(r.err))
			w.finish(batch[i+1:], unavailable.WithCause(w.unsealed)) // not tried again
			return
		}
		w.finish([]*write{c}, r.err)
	}
}

// finish ends writes by an error, or each by what became of it.
func (w *writer) finish(batch []*write, err error) {
	err = w.classify(err)
	for _, c := range batch {
		c.finish(cmp.Or(err, explain(w.conn.path, c.err)))
	}
}

// classify explains an error, and notes that the storage fails where it does.
func (w *writer) classify(err error) error {
	err = explain(w.conn.path, err)
	if fault.Is(err, fault.StorageUnavailable) || fault.Is(err, fault.OutcomeUnknown) {
		w.failing.Store(&err)
	}
	return err
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
	w.conn.changes, w.conn.knowsFiles = changed{}, false
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
	if w.conn.changes.accounts && w.numbers {
		if _, err := t.exec("UPDATE head SET last = last + 1 WHERE one = 1"); err != nil {
			return result{uncommitted: true, err: err}
		}
	}
	if err := w.commit(t); err != nil {
		return result{uncommitted: true, err: err}
	}
	w.commits.Add(1)
	w.writes.Add(int64(len(batch)))
	return result{}
}

// commit ends a transaction. Where it fails, the log may hold all of it all the same,
// and whoever opens the store after a crash would find it done, until something else
// was written there. On a full disk the end of it is missing.
func (w *writer) commit(t tx) error {
	changes := w.conn.changes // readers may apply it while the statement below is noted
	w.versions.commits(&changes)
	_, err := t.exec("COMMIT")
	w.versions.committed()
	if err == nil {
		w.unsealed = nil
		if w.failing.Load() != nil {
			w.failing.Store(nil)
		}
		return nil
	}
	if !isFull(err) {
		w.unsealed = err
	}
	return err
}

// seal writes over what a failed commit has left in the log. Until it can, nothing
// else is written: of that it is certain then that it was not done.
func (w *writer) seal() error {
	if w.unsealed == nil {
		return nil
	}
	r := w.attempt([]*write{{do: probe}}, false)
	if r.err == nil {
		return nil
	}
	return unavailable.WithCause(errors.Join(w.unsealed, r.err))
}

// probe changes something that means nothing. It must be a change: a row that stays
// as it is is not written.
func probe(t tx) error {
	_, err := t.exec("UPDATE seal SET number = number + 1 WHERE one = 1")
	return err
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
