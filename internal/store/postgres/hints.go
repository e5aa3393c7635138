package postgres

import (
	"context"
	"fmt"
	"sync"
	"time"

	"ql/internal/member"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
)

const (
	// hintChannel is where hints are told.
	hintChannel = "ql_hints"
	// hintEvery is how often hints are sent at most: those of the same kind that come meanwhile are one.
	hintEvery = 5 * time.Millisecond
	// hintRetry is how long a connection for hints is left alone that failed.
	hintRetry = time.Second
	// silence is how long a listener hears nothing before it connects anew: nothing else tells it that its
	// connection is of no use any more.
	silence = time.Minute
)

// hints sends and gets hints, each on a connection of its own: a transaction with NOTIFY takes a lock of the whole
// server when it commits, so none of those that change something has one.
type hints struct {
	store *Store
	wake  chan struct{}

	mu      sync.Mutex
	pending map[member.Hint]bool
}

func newHints(s *Store) *hints {
	return &hints{store: s, pending: map[member.Hint]bool{}, wake: make(chan struct{}, 1)}
}

// Send implements member.Hints.
func (h *hints) Send(what member.Hint) {
	h.mu.Lock()
	h.pending[what] = true
	h.mu.Unlock()
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// notifications returns the statements that tell what is pending, and forgets it.
func (h *hints) notifications() (list []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for what := range h.pending {
		list = append(list, fmt.Sprintf("NOTIFY %s, '%s'", hintChannel, what))
	}
	clear(h.pending)
	return list
}

// Deliver implements member.Hints. What cannot be sent is dropped: it is found without it.
func (h *hints) Deliver(ctx context.Context) {
	var c *conn
	defer func() {
		if c != nil {
			_ = c.close() // nothing is on its way
		}
	}()
	for {
		select {
		case <-h.wake:
		case <-ctx.Done():
			return
		}
		var err error
		if c == nil || c.pg.IsClosed() {
			if c, err = connect(ctx, h.store.direct); err != nil {
				c = nil
			} else {
				err = c.run(ctx, "SET synchronous_commit = off")
			}
		}
		for _, sql := range h.notifications() {
			if err == nil {
				c.line.patience = callerPatience
				err = c.run(ctx, sql)
			}
		}
		wait := hintEvery
		if err != nil {
			wait = hintRetry
		}
		if !sleep(ctx, wait) {
			return
		}
	}
}

// sleep waits; false where the context has ended.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Listen implements member.Hints.
func (h *hints) Listen(ctx context.Context, f func(member.Hint)) {
	for ctx.Err() == nil {
		if !h.listen(ctx, f) {
			sleep(ctx, hintRetry)
		}
	}
}

// listen calls f with what comes by one connection, until that fails. It reports whether it worked before.
func (h *hints) listen(ctx context.Context, f func(member.Hint)) (worked bool) {
	config := h.store.direct.Copy()
	config.OnNotification = func(_ *pgconn.PgConn, n *pgconn.Notification) {
		if what := member.Hint(n.Payload); n.Channel == hintChannel && what.IsKnown() {
			f(what)
		}
	}
	config.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.DeadlineContextWatcherHandler{Conn: c.Conn()}
	}
	c, err := connect(ctx, config)
	if err != nil {
		return false
	}
	defer func() { _ = c.close() }() // nothing is on its way
	if c.run(ctx, "LISTEN "+hintChannel) != nil {
		return false
	}
	// Nobody told what came before.
	f(member.HintChange)
	f(member.HintDue)
	c.line.patience = silence
	for err = c.line.wait(0); err == nil && ctx.Err() == nil; {
		err = c.pg.WaitForNotification(ctx)
	}
	return true
}
