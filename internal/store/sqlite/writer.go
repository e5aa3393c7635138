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

// writer owns the one connection that writes. Writes that come while a commit
// is on its way to the disk share the next one, and a failing one undoes nothing
// but itself.
type writer struct {
	conn    *conn
	queue   chan *write
	stopped chan struct{}

	mu      sync.RWMutex
	closed  bool           // guarded by mu
	senders sync.WaitGroup // those between mu and queue

	writes, commits atomic.Int64
}

// write is a change that waits for its commit.
type write struct {
	do    func(tx) error
	state atomic.Int32
	err   error
	done  chan struct{}
}

// The states of a write. Only one of its submitter and the writer takes it out
// of the first: what the writer has begun is waited for.
const (
	isWaiting = iota
	isBegun
	isAbandoned
)

func (w *write) finish(err error) {
	w.err = err
	close(w.done)
}

func newWriter(c *conn, queue int) *writer {
	w := &writer{conn: c, queue: make(chan *write, queue), stopped: make(chan struct{})}
	go w.run()
	return w
}

// write makes a change and returns when it is on the disk. Where ctx ends
// first, nothing was changed. The change may be run more than once, each time
// as if it had not been before.
func (w *writer) write(ctx context.Context, do func(tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w.mu.RLock()
	if w.closed {
		w.mu.RUnlock()
		return ErrClosed
	}
	w.senders.Add(1)
	w.mu.RUnlock()

	change := &write{do: do, done: make(chan struct{})}
	select {
	case w.queue <- change:
		w.senders.Done()
	case <-ctx.Done():
		w.senders.Done()
		return ctx.Err()
	}
	select {
	case <-change.done:
	case <-ctx.Done():
		if change.state.CompareAndSwap(isWaiting, isAbandoned) {
			return ctx.Err()
		}
		<-change.done
	}
	return change.err
}

// close waits for all writes that were accepted, and closes the connection.
func (w *writer) close() error {
	w.mu.Lock()
	first := !w.closed
	w.closed = true
	w.mu.Unlock()
	if !first {
		<-w.stopped
		return nil
	}
	w.senders.Wait()
	close(w.queue)
	<-w.stopped
	return w.conn.close()
}

func (w *writer) run() {
	defer close(w.stopped)
	var batch []*write
	for first := range w.queue {
		batch = w.collect(append(batch[:0], first))
		w.perform(batch)
		clear(batch)
	}
}

// collect adds the writes that wait already.
func (w *writer) collect(batch []*write) []*write {
	for len(batch) < maxBatch {
		select {
		case next, ok := <-w.queue:
			if !ok {
				return batch
			}
			batch = append(batch, next)
		default:
			return batch
		}
	}
	return batch
}

// perform runs writes in as few commits as can be.
func (w *writer) perform(batch []*write) {
	batch = slices.DeleteFunc(batch, func(c *write) bool { return !c.state.CompareAndSwap(isWaiting, isBegun) })
	savepoints := false
	for len(batch) > 0 {
		r := w.attempt(batch, savepoints)
		switch {
		case r.halfway:
			savepoints = true
		case r.culprit != nil:
			batch = slices.DeleteFunc(batch, func(c *write) bool { return c == r.culprit })
			r.culprit.finish(explain(r.err))
		case r.uncommitted && len(batch) > 1:
			// One may be too large for the disk while the others are not.
			for _, c := range batch {
				r := w.attempt([]*write{c}, false)
				c.finish(explain(cmp.Or(r.err, c.err)))
			}
			return
		default:
			for _, c := range batch {
				c.finish(explain(cmp.Or(r.err, c.err)))
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
