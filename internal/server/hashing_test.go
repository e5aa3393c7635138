package server_test

import (
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/password"
	"ql/internal/service"
)

// TestHashingTakesTurns: ten scripts of one account that hash passwords keep another's
// hash waiting for one of theirs, and not for ten.
func TestHashingTakesTurns(t *testing.T) {
	gate := password.NewGate(password.GateOptions{Slots: 1})
	w := boot(t, settings{service: func(o *service.Options) { o.Host.Passwords = gate }})
	ada, bob := w.member("ada", account.Standard), w.member("bob", account.Standard)
	const scripts = 10
	done := make(chan response, scripts)
	for range scripts {
		go func() { done <- w.form(ada, `FOR ?i FROM 1 TO 4 DO SET ?h AS PASSWORD_HASH("x") END`, nil) }()
	}
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for gate.Stats().Waiting < scripts-1 {
		<-look.C
	}
	for range 2 {
		before := gate.Stats().Admitted
		if r := w.form(bob, `SET ?h AS PASSWORD_HASH("x") EMIT PASSWORD_MATCHES("x", ?h)`, nil); r.status != 200 || r.body != "true" {
			t.Errorf("%d %s", r.status, r.body)
		}
		// Two of its own, with one of the others before each; and what was begun while
		// the answer was on its way.
		if n := gate.Stats().Admitted - before; n > 12 {
			t.Errorf("%d hashes were made while the other account made two", n)
		}
	}
	for range scripts {
		if r := <-done; r.status != 200 {
			t.Errorf("%d %s", r.status, r.body)
		}
	}
	if s := gate.Stats(); s.Running+s.Waiting+s.Holders != 0 || s.Refused+s.Cancelled != 0 {
		t.Errorf("left behind: %+v", s)
	}
}
