package fetch

import (
	"context"
	"slices"
	"sync"
)

// Line holds an account to a number of calls at once. Who comes when all are
// under way waits, first come first served. The zero Line is ready.
type Line struct {
	mu      sync.Mutex
	busy    int
	waiting []chan struct{}
}

// enter waits for a place among most; leave gives it back. The error is that
// of ctx.
func (l *Line) enter(ctx context.Context, most int) (leave func(), err error) {
	l.mu.Lock()
	if l.busy < max(most, 1) {
		l.busy++
		l.mu.Unlock()
		return l.leave, nil
	}
	turn := make(chan struct{})
	l.waiting = append(l.waiting, turn)
	l.mu.Unlock()
	select {
	case <-turn:
		return l.leave, nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.waiting, turn); i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	} else {
		l.pass() // it was given the place meanwhile
	}
	return nil, ctx.Err()
}

func (l *Line) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pass()
}

// pass hands a place on. l.mu is held.
func (l *Line) pass() {
	if len(l.waiting) == 0 {
		l.busy--
		return
	}
	close(l.waiting[0])
	l.waiting = slices.Delete(l.waiting, 0, 1)
}
