package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// maxBatch is how many writes share one commit at most.
const maxBatch = 512

// writer owns the one connection that writes. Who finds it free makes its change
// itself; writes that come meanwhile share the next commit, which one of them
// leads, and a failing one undoes nothing but itself. Nobody has to be woken to
// write alone.
type writer struct {
	conn   *conn
	recent *recent

	mu     sync.Mutex
	led    bool          // somebody has the connection
	queue  []*write      // that wait for it
	closed bool          // no more are taken
	free   chan struct{} // made by close, closed when nobody has the connection

	writes, commits atomic.Int64
}

// write is a change that waits for its commit.
type write struct {
	do    func(tx) error
	state writeState // guarded by the writer's mu until it has begun
	err   error
	over  bool          // err is its outcome
	woken chan struct{} // gets a value when it is over, or is to lead
}

type writeState uint8

const (
	isWaiting writeState = iota
	isBegun
	isLeader
	isAbandoned
)

func (w *write) finish(err error) {
	w.err, w.over = err, true
	if w.woken != nil && w.state != isLeader {
		w.woken <- struct{}{}
	}
}

func newWriter(c *conn, r *recent) *writer { return &writer{conn: c, recent: r} }

// write makes a change and returns when it is on the disk. Where ctx ends
// first, nothing was changed. The change may be run more than once, each time
// as if it had not been before.
func (w *writer) write(ctx context.Context, do func(tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	change := &write{do: do}
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return ErrClosed
	}
	if !w.led {
		w.led, change.state = true, isLeader
		w.mu.Unlock()
		w.lead(change)
		return change.err
	}
	change.woken = make(chan struct{}, 1)
	w.queue = append(w.queue, change)
	w.mu.Unlock()

	select {
	case <-change.woken:
	case <-ctx.Done():
		w.mu.Lock()
		if change.state == isWaiting {
			change.state = isAbandoned
			w.mu.Unlock()
			return ctx.Err()
		}
		w.mu.Unlock()
		<-change.woken // what has begun is waited for
	}
	if change.state == isLeader {
		w.lead(change)
	}
	return change.err
}

// lead makes a change, with those that wait by then, and lets the next lead.
func (w *writer) lead(change *write) {
	w.mu.Lock()
	batch := []*write{change}
	for len(batch) < maxBatch {
		next := w.next(isBegun)
		if next == nil {
			break
		}
		batch = append(batch, next)
	}
	w.mu.Unlock()
	w.guarded(batch)

	w.mu.Lock()
	defer w.mu.Unlock()
	if next := w.next(isLeader); next != nil {
		next.woken <- struct{}{}
		return
	}
	w.led = false
	if w.free != nil {
		close(w.free)
	}
}

// guarded is perform; after a panic all that are not over have failed, and others
// can write.
func (w *writer) guarded(batch []*write) {
	all := slices.Clone(batch) // perform changes its own
	defer func() {
		if p := recover(); p != nil {
			for _, c := range all {
				if !c.over {
					c.finish(fmt.Errorf("writing to the store panicked: %v", p))
				}
			}
		}
	}()
	w.perform(batch)
}

// next takes out the write that waited longest, for what it is to be; nil where
// there is none.
func (w *writer) next(state writeState) *write {
	for len(w.queue) > 0 {
		c := w.queue[0]
		w.queue[0] = nil
		w.queue = w.queue[1:]
		if c.state == isWaiting {
			c.state = state
			return c
		}
	}
	w.queue = nil
	return nil
}

// waiting returns how many writes wait.
func (w *writer) waiting() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.queue)
}

// close waits for all writes that were accepted, and closes the connection.
func (w *writer) close() error {
	w.mu.Lock()
	first := !w.closed
	if first {
		w.closed, w.free = true, make(chan struct{})
		if !w.led {
			close(w.free)
		}
	}
	w.mu.Unlock()
	<-w.free
	if !first {
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
