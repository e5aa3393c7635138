package postgres

import (
	"context"
	"sync"

	"ql/internal/member"
	"ql/internal/store/relational"
)

// renewal counts a renewal of a member that has seen the last change, and returns how many members there are. What
// it looks at is as it was at one moment, after it was sent: a change that it does not know of came later.
const renewal = `UPDATE members SET counter = counter + 1, seen = ?3 WHERE id = ?1 AND incarnation = ?2 AND (SELECT last FROM head WHERE one = 1) = ?3
	RETURNING (SELECT count(*) FROM members)`

// membership is the connection by which a member renews, and looks at the others: neither those who read nor those
// who write keep it waiting. It is opened when it is first needed.
type membership struct {
	store *Store

	mu     sync.Mutex
	conn   *conn // nil where it is not open
	closed bool
}

// query runs a statement, on another connection where the one of before is lost.
func (m *membership) query(ctx context.Context, sql string, args []any, f func(relational.Row) bool) error {
	return m.use(ctx, func(c *conn) error { return c.Query(ctx, sql, args, f) })
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
		if m.conn, err = connect(ctx, m.store.config); err != nil {
			m.conn = nil
			return err
		}
	}
	m.conn.line.patience = callerPatience
	err = do(m.conn)
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

// whyNotRenewed says why a renewal changed nothing.
func (s *Store) whyNotRenewed(ctx context.Context, who member.Member) error {
	incarnation, found := int64(0), false
	err := s.membership.query(ctx, "SELECT incarnation FROM members WHERE id = ?", []any{who.ID}, func(r relational.Row) bool {
		incarnation, found = r.Int(0), true
		return false
	})
	switch {
	case err != nil:
		return err
	case !found:
		return member.ErrBuried
	case incarnation != who.Incarnation:
		return member.ErrReplaced
	}
	return member.ErrBehind
}
