// Package admittest checks, at the end of tests, that what was admitted has left.
package admittest

import (
	"testing"

	"ql/internal/admit"
)

// CheckIdle fails a test where somebody still holds, or waits for, a slot or memory,
// or asked for a turn after it had left. It is called when all work has ended. Gate
// and ledger may be nil.
func CheckIdle(t testing.TB, g *admit.Gate, l *admit.Ledger) {
	t.Helper()
	if g != nil {
		s := g.Stats()
		if s.Inside != 0 || s.Aside != 0 || s.Running != 0 || s.Waiting != 0 || s.Returning != 0 || s.Memory != 0 || s.Accounts != 0 || s.Misused != 0 {
			t.Errorf("the gate is not idle: %d inside, %d aside, %d running, %d waiting, %d returning, %d bytes, %d accounts, %d turns after leaving",
				s.Inside, s.Aside, s.Running, s.Waiting, s.Returning, s.Memory, s.Accounts, s.Misused)
		}
	}
	if l != nil {
		if s := l.Stats(); s.Held != 0 || s.Holders != 0 || s.Waiting != 0 {
			t.Errorf("the ledger is not idle: %d bytes held by %d holders, %d waiting", s.Held, s.Holders, s.Waiting)
		}
	}
}
