package sqlite

import (
	"context"
	"errors"
	"sync"
)

// readers are the connections that only read, each used by one read at a time
// and opened when it is first needed.
type readers struct {
	open   func(context.Context) (*conn, error)
	idle   chan *conn // nil stands for one that is not open yet
	closed chan struct{}
	once   sync.Once
}

func newReaders(n int, open func(context.Context) (*conn, error)) *readers {
	r := &readers{open: open, idle: make(chan *conn, n), closed: make(chan struct{})}
	for range n {
		r.idle <- nil
	}
	return r
}

// read runs f on a connection. It sees all that was committed before.
func (r *readers) read(ctx context.Context, f func(tx) error) error {
	c, err := r.acquire(ctx)
	if err != nil {
		return err
	}
	defer func() { r.idle <- c }()
	if c == nil {
		if c, err = r.open(ctx); err != nil {
			return err
		}
	}
	return explain(c.path, f(tx{ctx, c}))
}

func (r *readers) acquire(ctx context.Context) (*conn, error) {
	select {
	case c := <-r.idle:
		return c, nil
	case <-r.closed:
		return nil, ErrClosed
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
