package auth

import (
	"context"
	"sync/atomic"
	"time"

	"ql/internal/fault"
	"ql/internal/password"
)

const (
	queueMost = 32
	queueTime = time.Second
)

// queue bounds how many wait for the gate, and how long: hashes are slow by
// design, and a line that only grows helps nobody.
type queue struct {
	gate      *password.Gate
	unbounded bool
	waiting   atomic.Int64
}

func (q *queue) enter(ctx context.Context) error {
	if q.unbounded {
		return q.gate.Enter(ctx)
	}
	defer q.waiting.Add(-1)
	if q.waiting.Add(1) > queueMost {
		return errBusy
	}
	patient, cancel := context.WithTimeout(ctx, queueTime)
	defer cancel()
	if err := q.gate.Enter(patient); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return errBusy
	}
	return nil
}

func (q *queue) leave() { q.gate.Leave() }

var errBusy = fault.Busy(fault.Overloaded, time.Second, "too many log-ins at once: try again in a moment")
