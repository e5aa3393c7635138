package postgres

import (
	"context"
	"net"
	"time"
)

// How long the server's answer is waited for, beside what the server itself bounds: a server that was
// stopped, and one whose cable is cut, say nothing at all.
const (
	statementPatience = statementTimeout + cancelDelay
	// callerPatience is for statements that somebody waits for.
	callerPatience = 1500 * time.Millisecond
	// migrationPatience is for one statement of a migration, which has as many rows as there are.
	migrationPatience = 24 * time.Hour
	// lineSpeed is how many bytes a second a line passes on at least.
	lineSpeed = 1 << 20
)

// patienceFor is how long one with this context waits: whoever waits for an answer has a deadline, and
// what the service does for itself has none.
func patienceFor(ctx context.Context) time.Duration {
	if _, waits := ctx.Deadline(); waits {
		return callerPatience
	}
	return statementPatience
}

// line is a connection to the server that fails where the server says nothing for too long. A context
// would do the same with a goroutine for each statement.
type line struct {
	net.Conn
	patience time.Duration
}

// Write implements net.Conn.
func (l *line) Write(b []byte) (int, error) {
	if err := l.wait(time.Duration(len(b)) * time.Second / lineSpeed); err != nil {
		return 0, err
	}
	return l.Conn.Write(b)
}

// Read implements net.Conn.
func (l *line) Read(b []byte) (int, error) {
	n, err := l.Conn.Read(b)
	if err == nil {
		err = l.wait(0) // for what follows
	}
	return n, err
}

func (l *line) wait(longer time.Duration) error {
	return l.SetDeadline(time.Now().Add(l.patience + longer))
}
