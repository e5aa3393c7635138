package ssh_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/admit"
	"ql/internal/admit/admittest"
	"ql/internal/engine"
	"ql/internal/programtest"
	"ql/internal/resource/machines"
	"ql/internal/resource/machines/ssh"
	"ql/internal/resource/machines/sshtest"
)

// underWay counts the commands of an account that run on the host: each says s when it begins, and e
// when it ends.
type underWay struct {
	mu              sync.Mutex
	now, most, ends int
}

func (u *underWay) note(_ bool, piece []byte) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, c := range piece {
		switch c {
		case 's':
			u.now++
			u.most = max(u.most, u.now)
		case 'e':
			u.now--
			u.ends++
		}
	}
}

// TestPromiseTurns has two accounts run 50 commands at once on two slots of the node. No account has
// more on the host than it may, none keeps a slot while its command runs, and nothing is held after.
func TestPromiseTurns(t *testing.T) {
	each := 6
	if programtest.Promised() {
		each = 25
	}
	const atOnce = 3
	w := newWorld(t, ssh.Options{}, sshtest.Start(t))
	w.add("box")
	w.limits.RunsAtOnce = atOnce
	gate := admit.NewGate(admit.GateOptions{Slots: 2, SpareSlots: 2, Memory: 1 << 40, MaxSharing: 100, Wait: time.Hour})
	bob := account.Account{ID: 8, Username: "bob"}
	var usages [2]machines.Usage
	var counts [2]underWay
	var all sync.WaitGroup
	for i, a := range []account.Account{ada, bob} {
		of := w.registry.For(a, w.limits, nil, &usages[i], nil)
		for range each {
			all.Go(func() {
				ticket, err := gate.Acquire(t.Context(), admit.Request{Account: int64(a.ID), Memory: 1 << 20})
				if err != nil {
					t.Error(err)
					return
				}
				defer ticket.Release()
				ctx := engine.WithPace(t.Context(), ticket)
				if err := ticket.Turn(ctx); err != nil {
					t.Error(err)
				}
				engine.Yield(ctx) // as RUN does
				r, err := of.Run(ctx, "box", engine.MachineRun{Command: engine.MachineCommand{Text: "echo s; sleep 0.02; echo e"}, Most: 100, Output: counts[i].note})
				if err == nil && (r.Code != 0 || string(r.Stdout) != "s\ne\n") {
					err = fmt.Errorf("code %d: %q %q", r.Code, r.Stdout, r.Stderr)
				}
				if err := errors.Join(err, ticket.Turn(ctx)); err != nil {
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
	for i := range counts {
		if c := &counts[i]; c.now != 0 || c.most > atOnce || c.ends != each || !usages[i].Idle() {
			t.Errorf("account %d: %d at once, %d ended, %d are left, idle: %t", i, c.most, c.ends, c.now, usages[i].Idle())
		}
	}
	if _, inUse := w.runner.Stats(); inUse != 0 {
		t.Errorf("%d sessions are left", inUse)
	}
	if s := gate.Stats(); s.MostRunning > 4 || s.MostRunning == 0 {
		t.Errorf("slots were not kept: %+v", s)
	}
	admittest.CheckIdle(t, gate, nil)
}
