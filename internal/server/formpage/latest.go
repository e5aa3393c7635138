package formpage

import (
	"context"
	"crypto/sha256"
	"sync"
)

// latest remembers the latest answers that people gave on the page, so that
// whoever clicks twice, or goes back to the page, reads that the answer was
// taken. Answers that are not remembered are found in the store alone, by whoever
// knows their job.
type latest struct {
	mu     sync.Mutex
	ring   [remembered]answered
	next   int
	places map[string]int   // in ring, by token
	turns  map[string]*turn // by token
}

// remembered is how many answers are.
const remembered = 1000

// answered is an answer that was taken.
type answered struct {
	token string
	sum   [sha256.Size]byte // of what was sent
	next  string            // where the next question is, "" for none
	most  int               // bytes that were taken
}

// turn lets one request at a time answer a question.
type turn struct {
	free    chan struct{}
	waiters int // with the one whose turn it is
}

func newLatest() *latest {
	return &latest{places: map[string]int{}, turns: map[string]*turn{}}
}

func (l *latest) find(token string) (answered, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i, found := l.places[token]
	return l.ring[i], found
}

func (l *latest) keep(a answered) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i, found := l.places[a.token]; found {
		l.ring[i] = a
		return
	}
	delete(l.places, l.ring[l.next].token)
	l.ring[l.next], l.places[a.token] = a, l.next
	l.next = (l.next + 1) % remembered
}

// turn waits until nobody else answers the question of a token. done must be
// called once.
func (l *latest) turn(ctx context.Context, token string) (done func(), err error) {
	l.mu.Lock()
	t := l.turns[token]
	if t == nil {
		t = &turn{free: make(chan struct{}, 1)}
		t.free <- struct{}{}
		l.turns[token] = t
	}
	t.waiters++
	l.mu.Unlock()
	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if t.waiters--; t.waiters == 0 {
			delete(l.turns, token)
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
