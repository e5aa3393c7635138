package observe

import (
	"fmt"
	"strings"

	"ql/internal/admit"
	"ql/internal/password"
)

// Leftovers tells what is still held of slots, tickets and memory, or was asked for too
// late; nil where nothing is. After a stop there is nothing, or somebody did not give
// back what it took.
func Leftovers(g *admit.Gate, l *admit.Ledger, forLogins, forScripts *password.Gate) error {
	gate, ledger, logins, hashing := g.Stats(), l.Stats(), forLogins.Stats(), forScripts.Stats()
	var left []string
	for _, one := range []struct {
		what string
		n    int64
	}{
		{"scripts under way", int64(gate.Inside)},
		{"work beside scripts", int64(gate.Auxiliary)},
		{"slots", int64(gate.Running)},
		{"calls that wait for a slot", int64(gate.Waiting + gate.Returning)},
		{"bytes granted to scripts", gate.Memory},
		{"turns after the end of a script", int64(gate.UsedAfterRelease)},
		{"bytes held for callers", ledger.Held},
		{"holders of those", int64(ledger.Holders)},
		{"calls that wait for memory", int64(ledger.Waiting)},
		{"passwords being hashed", int64(logins.Running + hashing.Running)},
		{"passwords that wait to be hashed", int64(logins.Waiting + hashing.Waiting)},
	} {
		if one.n != 0 {
			left = append(left, fmt.Sprintf("%d %s", one.n, one.what))
		}
	}
	if left == nil {
		return nil
	}
	return fmt.Errorf("left behind: %s", strings.Join(left, ", "))
}
