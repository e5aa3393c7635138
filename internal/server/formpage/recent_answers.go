package formpage

import (
	"context"
	"crypto/sha256"
	"sync"
)

// recentAnswers remembers the latest answers that people gave on the page, so that
// whoever clicks twice, or goes back to the page, reads that the answer was
// accepted. Answers that are not remembered are found in the store alone, by whoever
// knows their job.
type recentAnswers struct {
	mu    sync.Mutex
	ring  [remembered]answered
	next  int
	index map[string]int         // in ring, by token
	locks map[string]*promptLock // by token
}

// remembered is how many answers are.
const remembered = 1000

// answered is an answer that was accepted.
type answered struct {
	token    string
	sum      [sha256.Size]byte // of what was sent
	next     string            // where the next prompt is, "" for none
	maxBytes int               // of a repeat
}

// promptLock lets one request at a time answer a prompt.
type promptLock struct {
	free    chan struct{}
	waiters int // with the one whose turn it is
}

func newRecentAnswers() *recentAnswers {
	return &recentAnswers{index: map[string]int{}, locks: map[string]*promptLock{}}
}

func (l *recentAnswers) find(token string) (answered, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i, found := l.index[token]
	return l.ring[i], found
}

func (l *recentAnswers) remember(a answered) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i, found := l.index[a.token]; found {
		l.ring[i] = a
		return
	}
	delete(l.index, l.ring[l.next].token)
	l.ring[l.next], l.index[a.token] = a, l.next
	l.next = (l.next + 1) % remembered
}

// lock waits until nobody else answers the prompt of a token. done must be
// called once.
func (l *recentAnswers) lock(ctx context.Context, token string) (done func(), err error) {
	l.mu.Lock()
	t := l.locks[token]
	if t == nil {
		t = &promptLock{free: make(chan struct{}, 1)}
		t.free <- struct{}{}
		l.locks[token] = t
	}
	t.waiters++
	l.mu.Unlock()
	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if t.waiters--; t.waiters == 0 {
			delete(l.locks, token)
		}
	}
	select {
	case <-t.free:
		return func() {
			t.free <- struct{}{}
			leave()
		}, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}
