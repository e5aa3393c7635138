package service

import (
	"context"
	"testing"

	"ql/internal/account"
	"ql/internal/engine"
	"ql/internal/execution"
	"ql/internal/job"
	"ql/lang"
)

// TestScriptsThatReachNothing has nothing opened for a script that is known to ask for nothing, and leaves the
// session of its caller.
func TestScriptsThatReachNothing(t *testing.T) {
	opened, released := 0, 0
	host := &execution.Host{Programs: lang.NewCache(1 << 20)}
	host.Resources = func(context.Context, account.Account, account.Limits, string) (engine.Resources, error) {
		opened++
		return engine.Resources{Release: func() { released++ }}, nil
	}
	const plain, reads = `EMIT "hello"`, `SELECT 1 AS n SET ?rows EMIT ?rows[1].n`
	for _, c := range []struct {
		script string
		opened int
	}{
		{plain, 1}, {plain, 1}, {plain, 1}, // only before it is known
		{reads, 2}, {reads, 3},
	} {
		x, err := host.OpenScript(t.Context(), job.NewID(), account.Account{ID: 1}, account.Limits{SourceBytes: 1 << 20, SyncTime: 1 << 40}, execution.Spec{Session: "mine"}, nil, c.script)
		if err != nil {
			t.Fatal(err)
		}
		if program, failure, err := x.Compile(t.Context(), c.script); program == nil || failure != nil || err != nil {
			t.Fatalf("%q: %v, %v, %v", c.script, program, failure, err)
		}
		if opened != c.opened {
			t.Errorf("%q: %d times opened, not %d", c.script, opened, c.opened)
		}
		if c.script == plain && opened == released && x.SessionID() != "mine" {
			t.Errorf("the session is now %q", x.SessionID())
		}
		x.Close()
		if released != opened {
			t.Errorf("%q: %d opened and %d released", c.script, opened, released)
		}
	}
}
