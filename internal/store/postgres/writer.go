package postgres

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"ql/internal/account"
	"ql/internal/batch"
	"ql/internal/fault"
	"ql/internal/store/relational"
)

const (
	// maxBatch is how many writes share one transaction at most.
	maxBatch = 128
	// conflictTime is for how long a transaction that stands in the way of others is run again.
	conflictTime = 10 * time.Second
	// askTime is for how long one whose commit was not answered is asked for.
	askTime = 10 * time.Second
)

// writer owns a connection that writes. Writes that come at the same time share a
// transaction, and a failing one undoes nothing but itself.
type writer struct {
	store     *Store
	conn      *conn  // which is replaced where it was lost
	isolation string // of its transactions
	group     *batch.Group[*write]
	attempt   func(batch []*write, how attemptMode) result // runs writes in one transaction

	id     int64 // of its row in writers
	number int64 // of the last transaction that was committed, in that row

	writes, commits atomic.Int64
	breaker         breaker
	failing         *atomic.Pointer[error] // what the storage last did to a change of any writer; nil after a commit
}

// What transactions see of others.
const (
	// serializable transactions are as if they ran one after the other: where the server cannot say so, it has one run again.
	serializable = "ISOLATION LEVEL SERIALIZABLE"
	// readCommitted ones see in each statement what was committed before. What they go by, they lock.
	readCommitted = "ISOLATION LEVEL READ COMMITTED"
)

// write is a change, and what became of it.
type write struct {
	ctx  context.Context
	do   func(relational.Tx) error
	part *part // of a database, to be appended: in place of do
	err  error
	done bool // err is its outcome

	shared bool  // it changed what all members must see
	change int64 // the number of that; 0 for none
}

func (w *write) finish(err error) { w.err, w.done = err, true }

func newWriter(ctx context.Context, c *conn, s *Store, isolation string) (*writer, error) {
	w := &writer{store: s, conn: c, isolation: isolation, failing: &s.failing}
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	w.id = int64(binary.BigEndian.Uint64(b[:]) >> 1)
	w.startGroup(maxBatch, w.transact)
	if err := c.willWrite(ctx); err != nil {
		return w, err
	}
	return w, w.register(ctx)
}

// attemptMode is how writes are run in a transaction.
type attemptMode struct {
	savepoints bool // one that fails undoes nothing but itself
	atOnce     bool // nothing is queued
}

// startGroup has up to so many writes share an attempt.
func (w *writer) startGroup(most int, attempt func(batch []*write, how attemptMode) result) {
	w.attempt = attempt
	w.group = batch.New(most, w.performRecovering)
	w.group.TurnAway(w.turnsAway)
}

// register makes the row of the writer.
func (w *writer) register(ctx context.Context) error {
	return w.conn.run(ctx, fmt.Sprintf("INSERT INTO writers (id, number) VALUES (%d, 0)", w.id))
}

func (w *writer) write(ctx context.Context, do func(relational.Tx) error) error {
	return w.submit(&write{ctx: ctx, do: do})
}

// submit has a change be made with those that come at the same time, and returns what became of it.
func (w *writer) submit(change *write) error {
	ctx := change.ctx
	if w.breaker.refuses(ctx) {
		return unavailable
	}
	// One that stands behind others which hang is not begun.
	waiting, cancel := context.WithTimeout(ctx, patienceFor(ctx))
	defer cancel()
	switch err := w.group.Do(waiting, change); {
	case errors.Is(err, batch.ErrClosed):
		return ErrClosed
	case err != nil && ctx.Err() == nil:
		w.breaker.note(err) // what stands before it in the line has had no answer either
		return unavailable.WithCause(err)
	case err != nil:
		return err
	}
	if change.change > 0 {
		w.store.settle(change.change)
	}
	return change.err
}

// close waits for all writes that were accepted, and closes the connection.
func (w *writer) close() error {
	if !w.group.Close() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
	defer cancel()
	_ = w.conn.run(ctx, fmt.Sprintf("DELETE FROM writers WHERE id = %d", w.id)) // a row that stays does no harm
	return w.conn.close()
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

// perform runs writes in as few transactions as can be.
func (w *writer) perform(batch []*write) {
	how, lost := attemptMode{}, false
	until := time.Now().Add(conflictTime)
	for tries := 0; len(batch) > 0; tries++ {
		if batch = w.admit(batch); len(batch) == 0 {
			return
		}
		err := w.connected()
		w.breaker.note(err)
		if err != nil {
			w.finish(batch, err)
			return
		}
		r := w.attempt(batch, how)
		w.breaker.note(r.err)
		switch {
		case r.err == nil:
			w.finish(batch, nil)
			return
		case r.halfway:
			how.savepoints = true
		case r.queued && isRefusal(r.err):
			how.atOnce = true
		case isConflict(r.err) && time.Now().Before(until):
			pause(tries)
		case r.committing && !isConflict(r.err) && codeOf(r.err) == "":
			done, err := w.ask()
			w.breaker.note(err)
			if err != nil {
				w.finish(batch, unknown.WithCause(errors.Join(r.err, err)))
				return
			}
			if done {
				w.finish(batch, nil)
				return
			}
			if lost || !isLost(r.err) || isLate(r.err) {
				w.finish(batch, unavailable.WithCause(r.err))
				return
			}
			lost = true // such as that of a process which stood still: it was not made, and cannot be any more
		case (!r.committing || isExpired(r.err)) && !lost && isLost(r.err) && !isLate(r.err): // nothing of it was done
			lost = true
		case len(batch) > 1 && !isLate(r.err):
			// One may be refused for what it is while the others are not.
			for _, c := range batch {
				w.perform([]*write{c})
			}
			return
		default:
			w.finish(batch, r.err)
			return
		}
	}
}

// admit ends the writes that came while the server said nothing, and returns the others.
func (w *writer) admit(batch []*write) []*write { return slices.DeleteFunc(batch, w.turnsAway) }

// turnsAway ends a write that came while the server said nothing.
func (w *writer) turnsAway(c *write) bool {
	if !w.breaker.refuses(c.ctx) {
		return false
	}
	c.finish(unavailable)
	return true
}

// pause waits a little before a transaction is run again, the longer the more often it was.
func pause(tries int) {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	most := min(time.Millisecond<<min(tries, 6), 50*time.Millisecond)
	time.Sleep(time.Duration(binary.BigEndian.Uint64(b[:]) % uint64(most)))
}

// connected makes sure that there is a connection outside of any transaction.
func (w *writer) connected() error {
	ctx, cancel := context.WithTimeout(context.Background(), statementTimeout)
	defer cancel()
	w.conn.queue = nil
	if !w.conn.pg.IsClosed() && w.conn.pg.TxStatus() != 'I' { // that a panic has left
		if err := w.conn.run(ctx, "ROLLBACK"); err != nil {
			_ = w.conn.close() // it is of no use any more
		}
	}
	if !w.conn.pg.IsClosed() {
		return nil
	}
	c, err := connect(ctx, w.store.config)
	if err != nil {
		return err
	}
	if err := c.willWrite(ctx); err != nil {
		return errors.Join(err, c.close())
	}
	session := w.conn.session
	session.Conn = c
	c.session = session
	w.conn = c
	return nil
}

// ask finds out whether the transaction was committed whose commit was not answered. A server that
// has not come to it yet is kept from it: the row of the writer is changed, which a transaction that
// began before cannot change any more.
func (w *writer) ask() (done bool, err error) {
	until := time.Now().Add(askTime)
	for tries := 0; ; tries++ {
		if done, err = w.askOnce(); err == nil || time.Now().After(until) {
			return done, err
		}
		pause(tries + 3)
	}
}

func (w *writer) askOnce() (done bool, err error) {
	if !w.conn.pg.IsClosed() {
		_ = w.conn.close() // its answer may still be on its way
	}
	if err := w.connected(); err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), statementTimeout)
	defer cancel()
	var number int64
	found := false
	err = w.conn.Query(ctx, "UPDATE writers SET number = number + 1 WHERE id = ? RETURNING number", []any{w.id}, func(r relational.Row) bool {
		number, found = r.Int(0), true
		return false
	})
	if err != nil || !found {
		return false, cmp.Or(err, errors.New("the row of the writer is not there"))
	}
	before := w.number
	w.number = number
	return number == before+2, nil
}

// finish ends writes by an error, or each by what became of it.
func (w *writer) finish(batch []*write, err error) {
	err = explain(err)
	if fault.Is(err, fault.StorageUnavailable) || fault.Is(err, fault.OutcomeUnknown) {
		w.failing.Store(&err)
	}
	for _, c := range batch {
		c.finish(cmp.Or(err, explain(c.err)))
	}
}

// result is what became of an attempt. With an error, nothing of it is left, unless it was
// committing.
type result struct {
	err        error
	halfway    bool // a write failed after it had changed something
	committing bool // all writes were run, and the commit failed
	queued     bool // a statement may have been queued that is what failed
}

var errHalfway = errors.New("a write failed after it had changed something")

// transact runs writes in one transaction and leaves what became of each in its err.
func (w *writer) transact(batch []*write, how attemptMode) (r result) {
	c := w.conn
	// Never a submitter's context: its end would undo the others' writes.
	ctx := context.Background()
	shortest := statementPatience
	for _, one := range batch {
		shortest = min(shortest, patienceFor(one.ctx))
	}
	c.line.patience = shortest
	if err := c.begin(ctx, w.isolation); err != nil {
		return result{err: err}
	}
	c.copies, c.defers = !how.savepoints, !how.savepoints && !how.atOnce && !c.pooled
	defer func() {
		r.queued = c.defers
		c.copies, c.defers, c.queue = false, false, nil
		if r.err != nil && !c.pg.IsClosed() && c.pg.TxStatus() != 'I' {
			ctx, cancel := context.WithTimeout(ctx, connectTimeout)
			defer cancel()
			if c.run(ctx, "ROLLBACK") != nil {
				_ = c.close() // it is of no use any more
			}
		}
	}()
	var changes changed
	shared, written := false, int64(0)
	for _, one := range batch {
		c.changes, c.knowsFiles, c.accounts = changed{}, false, nil
		if err := w.runOne(ctx, one, how.savepoints); err != nil {
			return result{err: err, halfway: errors.Is(err, errHalfway)}
		}
		one.shared = c.changes.accounts || c.changes.touchesSites() && w.store.versions.outside()
		shared = shared || one.shared
		written += c.written
		changes.add(&c.changes)
	}
	if written == 0 {
		return w.endUnchanged(ctx, batch, shortest)
	}
	number := int64(0)
	if shared {
		if err := c.Query(ctx, "UPDATE head SET last = last + 1 WHERE one = 1 RETURNING last", nil, func(r relational.Row) bool {
			number = r.Int(0)
			return false
		}); err != nil {
			return result{err: err}
		}
	}
	for _, one := range batch {
		if one.change = 0; one.shared {
			one.change = number
		}
	}
	c.line.patience = shortest
	last := ""
	if number > 0 {
		last = noteChange(number, &changes, w.store.versions.outside())
	}
	err := w.commit(ctx, last)
	w.store.versions.apply(&changes) // also where nobody knows
	if err != nil {
		return result{err: err, committing: true}
	}
	w.number++
	w.committed(len(batch))
	return result{}
}

// commit counts a transaction, and ends it, by one way to the server.
func (w *writer) commit(ctx context.Context, last string) error {
	c := w.conn
	if last != "" || c.pooled {
		number := strings.NewReplacer("?1", fmt.Sprint(w.number), "?2", fmt.Sprint(w.id)).Replace(nextNumber)
		return c.run(ctx, last+number+"; COMMIT")
	}
	if err := c.enqueue(ctx, nextNumber, w.number, w.id); err != nil {
		return err
	}
	return c.commit(ctx)
}

// nextNumber counts a transaction. It fails where the number has become another one, since somebody has asked what became
// of this transaction: a commit that comes so late must not pass, also where others' changes are seen.
const nextNumber = "UPDATE writers SET number = number + 1 / CASE WHEN number = ?1 THEN 1 ELSE 0 END WHERE id = ?2"

// endUnchanged ends a transaction that came to change nothing, such as a claim of nothing. It still has to be said that what
// it saw was so; but nothing of it must last, so that nobody waits for the disk.
func (w *writer) endUnchanged(ctx context.Context, batch []*write, patience time.Duration) result {
	for _, one := range batch {
		one.change = 0
	}
	w.conn.line.patience = patience
	// Also where nothing was asked: whoever tries whether the server can be used wants to hear from it.
	if err := w.conn.commit(ctx); err != nil {
		return result{err: err}
	}
	w.committed(len(batch))
	return result{}
}

// committed counts what was.
func (w *writer) committed(writes int) {
	w.commits.Add(1)
	w.writes.Add(int64(writes))
	if w.failing.Load() != nil {
		w.failing.Store(nil)
	}
}

// noteChange returns the statements that say whose accounts a change is of, and forget what is long ago. Sites that a
// process outside of the service has changed are forgotten with all.
func noteChange(number int64, c *changed, outside bool) string {
	of := c.accountOf
	if c.unknown || c.touchesSites() && outside || len(of) == 0 {
		of = map[account.ID]bool{0: true}
	}
	rows := make([]string, 0, len(of))
	for a := range of {
		rows = append(rows, fmt.Sprintf("(%d, %d)", number, a))
	}
	return fmt.Sprintf("INSERT INTO changes (change, account) VALUES %s; DELETE FROM changes WHERE change <= %d; ", strings.Join(rows, ", "), number-keptChanges)
}

// runOne runs a write in a transaction. With an error the whole transaction is to be undone.
func (w *writer) runOne(ctx context.Context, one *write, savepoints bool) error {
	c := w.conn
	if savepoints {
		if err := c.run(ctx, "SAVEPOINT change"); err != nil {
			return err
		}
	}
	c.written, c.line.patience = 0, patienceFor(one.ctx)
	one.err = guard(relational.NewTx(ctx, &c.session), one.do)
	switch {
	case one.err == nil && c.hasBegun():
		return nil
	case c.pg.IsClosed() || isConflict(one.err) || isLost(one.err):
		return cmp.Or(one.err, errors.New("the connection was closed"))
	case savepoints:
		return c.run(ctx, "ROLLBACK TO change")
	case !c.hasBegun() || c.written > 0:
		return errHalfway
	}
	return nil
}

// guard keeps a panic of one change from the others.
func guard(t relational.Tx, do func(relational.Tx) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("a write to the store panicked: %v", p)
		}
	}()
	return do(t)
}
