package postgres

import (
	"context"
	"errors"
	"sync"
	"time"

	"ql/internal/store/relational"
)

// readers are the connections that only read, each used by one read at a time and opened when it
// is first needed.
type readers struct {
	open   func(context.Context) (*conn, error)
	idle   chan *conn // nil stands for one that is not open yet
	closed chan struct{}
	once   sync.Once

	breaker breaker
}

func newReaders(n int, open func(context.Context) (*conn, error)) *readers {
	r := &readers{open: open, idle: make(chan *conn, n), closed: make(chan struct{})}
	for range n {
		r.idle <- nil
	}
	return r
}

// read runs f on a connection. One that was lost while nobody used it is replaced.
func (r *readers) read(ctx context.Context, f func(relational.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if r.breaker.refuses(ctx) {
		return unavailable
	}
	c, err := r.acquire(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if c != nil && (c.pg.IsClosed() || c.pg.TxStatus() != 'I') {
			_ = c.close() // it is of no use any more
			c = nil
		}
		r.idle <- c
	}()
	if r.breaker.refuses(ctx) { // since it waited for the connection
		return unavailable
	}
	for again := c != nil; ; again = false {
		if c == nil {
			if c, err = r.open(ctx); err != nil {
				r.breaker.note(err)
				return err
			}
		}
		c.line.patience = patienceFor(ctx)
		err = f(relational.NewTx(ctx, &c.session))
		r.breaker.note(err)
		if again && ctx.Err() == nil && c.pg.IsClosed() && isLost(err) && !isLate(err) {
			c = nil
			continue
		}
		if ctx.Err() != nil && err != nil {
			return errors.Join(ctx.Err(), err)
		}
		return explain(err)
	}
}

func (r *readers) acquire(ctx context.Context) (*conn, error) {
	select {
	case c := <-r.idle:
		return c, nil
	case <-r.closed:
		return nil, ErrClosed
	default:
	}
	timer := time.NewTimer(patienceFor(ctx))
	defer timer.Stop()
	select {
	case c := <-r.idle:
		return c, nil
	case <-r.closed:
		return nil, ErrClosed
	case <-timer.C:
		return nil, unavailable
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// close waits for the reads under way and closes the connections.
func (r *readers) close() error {
	var all error
	r.once.Do(func() {
		close(r.closed)
		for range cap(r.idle) {
			if c := <-r.idle; c != nil {
				all = errors.Join(all, c.close())
			}
		}
	})
	return all
}
