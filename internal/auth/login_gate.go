package auth

import (
	"time"

	"ql/internal/fault"
	"ql/internal/password"
)

const (
	maxWaiting = 32
	maxWait    = time.Second
)

// NewGate returns a gate for log-ins: so many hashes at once. How many wait for it,
// and how long, is bounded: hashes are slow by design, and a line that only grows
// helps nobody. As in development, unlimited lifts that.
//
// Who tried least of late goes first. An attack is then behind whoever comes for
// the first time, unless it comes from more new networks in each second than there
// are hashes made.
func NewGate(slots int, unlimited bool) *password.Gate {
	o := password.GateOptions{Slots: slots, Wait: maxWait, MaxWaiting: maxWaiting, MaxWaitingEach: maxWaiting, BothEnds: true}
	if unlimited {
		o.Wait, o.MaxWaiting, o.MaxWaitingEach = 0, 0, 0
	}
	return password.NewGate(o)
}

var errBusy = fault.Retryable(fault.Overloaded, time.Second, "too many log-ins at once: try again in a moment")
