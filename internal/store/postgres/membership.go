package postgres

import (
	"context"
	"errors"
	"sync"

	"ql/internal/member"
	"ql/internal/store/relational"
)

// membership is the connection by which a member renews, and looks at the others: neither those who read nor those
// who write keep it waiting. It is opened when it is first needed.
type membership struct {
	store *Store

	mu     sync.Mutex
	conn   *conn // nil where it is not open
	closed bool
}

// do runs statements one by one, in no transaction, on another connection where the one of before is lost.
func (m *membership) do(ctx context.Context, f func(relational.Tx) error) error {
	return m.use(ctx, func(c *conn) error { return f(relational.NewTx(ctx, &relational.Session{Conn: c})) })
}

// run runs a statement that gives nothing.
func (m *membership) run(ctx context.Context, sql string) error {
	return m.use(ctx, func(c *conn) error { return c.run(ctx, sql) })
}

func (m *membership) use(ctx context.Context, do func(*conn) error) (err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	if m.conn != nil && m.conn.pg.IsClosed() {
		m.conn = nil
	}
	if m.conn == nil {
		if m.conn, err = connect(ctx, m.store.direct); err != nil {
			m.conn = nil
			return err
		}
	}
	m.conn.line.patience = callerPatience
	err = do(m.conn)
	for _, answer := range []error{member.ErrBehind, member.ErrBuried, member.ErrReplaced} {
		if errors.Is(err, answer) {
			return err // it was well asked
		}
	}
	if err != nil && !m.conn.pg.IsClosed() {
		_ = m.conn.close() // whatever it was, the next try begins anew
	}
	return explain(err)
}

func (m *membership) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	if m.conn == nil || m.conn.pg.IsClosed() {
		return nil
	}
	return m.conn.close()
}
