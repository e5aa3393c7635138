// Package admittest checks, at the end of tests, that what was admitted was released.
package admittest

import (
	"testing"

	"ql/internal/admit"
)

// CheckIdle fails a test where somebody still holds, or waits for, a slot or memory,
// or took a turn after its release. It is called when all work has ended. Gate
// and ledger may be nil.
func CheckIdle(t testing.TB, g *admit.Gate, l *admit.Ledger) {
	t.Helper()
	if g != nil {
		s := g.Stats()
		if s.Inside != 0 || s.Auxiliary != 0 || s.Running != 0 || s.Waiting != 0 || s.Returning != 0 || s.Memory != 0 || s.Accounts != 0 || s.UsedAfterRelease != 0 {
			t.Errorf("the gate is not idle: %d inside, %d auxiliary, %d running, %d waiting, %d returning, %d bytes, %d accounts, %d turns after their release",
				s.Inside, s.Auxiliary, s.Running, s.Waiting, s.Returning, s.Memory, s.Accounts, s.UsedAfterRelease)
		}
	}
	if l != nil {
		if s := l.Stats(); s.Held != 0 || s.Holders != 0 || s.Waiting != 0 {
			t.Errorf("the ledger is not idle: %d bytes held by %d holders, %d waiting", s.Held, s.Holders, s.Waiting)
		}
	}
}
