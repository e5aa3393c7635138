package api

import (
	"context"

	"ql/internal/admit"
)

// Uncounted is how many bytes a call may hold of something without reserving them.
const Uncounted = 16 << 10

// Held is the memory that a call holds until its answer is written: its body, what
// was made of that, what it answers with. Methods may be called on nil, which counts
// nothing. One goroutine at a time may use it.
type Held struct {
	admit.Reservation
	then []func()
}

// Grow is that of the reservation.
func (h *Held) Grow(ctx context.Context, bytes int64) error {
	if h == nil {
		return nil
	}
	return h.Reservation.Grow(ctx, bytes)
}

// Assign charges all of it to an account from now on. The error is a
// *admit.Refused.
func (h *Held) Assign(account int64) error {
	if h == nil {
		return nil
	}
	return h.Reservation.Assign(admit.AccountHolder(account))
}

// Until has something let go of that is held elsewhere for the answer.
func (h *Held) Until(release func()) {
	if h == nil {
		release()
		return
	}
	h.then = append(h.then, release)
}

// Release gives back all of it, after the answer was written.
func (h *Held) Release() {
	h.Reservation.Release()
	for _, release := range h.then {
		release()
	}
	h.then = nil
}
