package postgres

import (
	"context"
	"sync/atomic"
	"time"
)

// restTime is for how long callers are told at once that the server says nothing, after it said nothing to one of
// them: what a call asks one after the other would add up.
const restTime = 500 * time.Millisecond

// breaker remembers when a server last said nothing for too long.
type breaker struct{ until atomic.Int64 } // in nanoseconds of Unix

// refuses reports whether who waits for an answer should not ask. What the service does for itself always may.
func (b *breaker) refuses(ctx context.Context) bool {
	until := b.until.Load()
	return until != 0 && patienceFor(ctx) == callerPatience && time.Now().UnixNano() < until
}

// note takes what became of a request.
func (b *breaker) note(err error) {
	switch {
	case err == nil && b.until.Load() != 0:
		b.until.Store(0)
	case err != nil && isLate(err):
		b.until.Store(time.Now().Add(restTime).UnixNano())
	}
}
