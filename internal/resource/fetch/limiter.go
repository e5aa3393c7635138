package fetch

import (
	"context"
	"slices"
	"sync"
)

// Limiter holds an account to a number of calls at once. Further ones wait, first come
// first served. The zero Limiter is ready.
type Limiter struct {
	mu      sync.Mutex
	active  int
	waiting []chan struct{}
}

// acquire waits until fewer than limit calls are under way; release ends one. The
// error is that of ctx.
func (l *Limiter) acquire(ctx context.Context, limit int) error {
	l.mu.Lock()
	if l.active < max(limit, 1) {
		l.active++
		l.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	l.waiting = append(l.waiting, turn)
	l.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.waiting, turn); i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	} else {
		l.handOver() // it was given the slot meanwhile
	}
	return ctx.Err()
}

func (l *Limiter) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.handOver()
}

// handOver gives a slot to the next who waits. l.mu is held.
func (l *Limiter) handOver() {
	if len(l.waiting) == 0 {
		l.active--
		return
	}
	close(l.waiting[0])
	l.waiting = slices.Delete(l.waiting, 0, 1)
}
