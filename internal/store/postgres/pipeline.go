package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
)

// What nobody waits for is sent with the statement that follows: that a transaction begins, what is counted at its end, and the
// commit. Each way to the server and back that is saved is worth more than most statements cost.

// mostQueued is how many statements wait for the next one at most: a change may count what many accounts have used.
const mostQueued = 64

// queued is a statement that is sent with the next one.
type queued struct {
	*statement
	*params
}

// enqueue has a statement sent with the one that follows. Where it fails, that one has, and is not done.
func (c *conn) enqueue(ctx context.Context, sql string, args ...any) error {
	q, err := c.bind(ctx, sql, args)
	if err == nil {
		c.queue = append(c.queue, q)
	}
	return err
}

// bind prepares a statement with its parameters.
func (c *conn) bind(ctx context.Context, sql string, args []any) (queued, error) {
	s, err := c.prepare(ctx, sql, func(i int) uint32 { return typeOf(args[i]) }, len(args))
	if err != nil {
		return queued{}, err
	}
	p := newParams(len(args))
	for i, arg := range args {
		if err := p.set(i, s.ParamOIDs[i], arg); err != nil {
			return queued{}, fmt.Errorf("%q: %w", sql, err)
		}
	}
	return queued{s, p}, nil
}

// execute runs a statement that is prepared, or whose types are known from when it was, behind those that are queued. Unless it
// fails, finish is to be called.
func (c *conn) execute(ctx context.Context, q queued) (*pgconn.ResultReader, error) {
	switch {
	case c.pooled:
		return c.pg.ExecParams(ctx, q.SQL, q.values, q.ParamOIDs, q.formats, binaryResults), nil
	case len(c.queue) == 0:
		return c.pg.ExecPrepared(ctx, q.Name, q.values, q.formats, binaryResults), nil
	}
	c.queue = append(c.queue, q)
	return c.sendQueue(ctx)
}

// sendQueue sends what is queued, and returns what the last statement gives.
func (c *conn) sendQueue(ctx context.Context) (last *pgconn.ResultReader, err error) {
	p := c.pg.StartPipeline(ctx)
	n := len(c.queue)
	for _, q := range c.queue {
		p.SendQueryPrepared(q.Name, q.values, q.formats, binaryResults)
	}
	clear(c.queue)
	c.queue = c.queue[:0]
	err = p.Sync()
	for i := 0; i < n && err == nil; i++ {
		var result any
		if result, err = p.GetResults(); err != nil {
			break
		}
		var ok bool
		if last, ok = result.(*pgconn.ResultReader); !ok {
			err = fmt.Errorf("%T came in place of the rows of a statement", result)
		} else if i < n-1 {
			_, err = last.Close()
		}
	}
	if err != nil {
		_ = p.Close() // which says the same
		return nil, err
	}
	c.pipeline = p
	return last, nil
}

// flush sends what is queued.
func (c *conn) flush(ctx context.Context) error {
	if len(c.queue) == 0 {
		return nil
	}
	r, err := c.sendQueue(ctx)
	if err != nil {
		return expected(err)
	}
	_, err = c.closeResult(r)
	return expected(err)
}

// closeResult ends a statement, and with it those that were sent before it.
func (c *conn) closeResult(r *pgconn.ResultReader) (pgconn.CommandTag, error) {
	tag, err := r.Close()
	if p := c.pipeline; p != nil {
		c.pipeline = nil
		if end := p.Close(); err == nil {
			err = end
		}
	}
	return tag, err
}

// What a statement is wrapped in that is to change a row: where it changes none it fails, by a division by zero.
const (
	mustChangeBegin = "WITH changed AS ("
	mustChangeEnd   = " RETURNING 1) SELECT 1 / count(*) FROM changed"
)

// ExecLast implements relational.Conn.
func (c *conn) ExecLast(ctx context.Context, sql string, args []any) (changed int64, queued bool, err error) {
	if !c.defers {
		changed, err = c.Exec(ctx, sql, args)
		return changed, false, err
	}
	if len(c.queue) >= mostQueued {
		if err := c.flush(ctx); err != nil {
			return 0, false, err
		}
	}
	wrapped := c.wrapped[sql]
	if wrapped == "" {
		if c.wrapped == nil {
			c.wrapped = map[string]string{}
		}
		wrapped = mustChangeBegin + sql + mustChangeEnd
		c.wrapped[sql] = wrapped
	}
	c.written++
	return 0, true, expected(c.enqueue(ctx, wrapped, args...))
}
