package formpage

import (
	"crypto/sha256"
	"sync"

	"ql/internal/keyedlock"
	"ql/internal/wire"
)

// recentAnswers remembers the latest answers that people gave on the page, so that
// whoever clicks twice, or goes back to the page, reads that the answer was
// accepted. Answers that are not remembered are found in the store alone, by whoever
// knows their job.
type recentAnswers struct {
	mu    sync.Mutex
	ring  [remembered]answered
	next  int
	index map[string]int // in ring, by token

	// locks let one request at a time answer the prompt of a token.
	locks keyedlock.Locks[string]
}

// remembered is how many answers are.
const remembered = 1000

// answered is an answer that was accepted.
type answered struct {
	token    string
	sum      [sha256.Size]byte // of what was sent
	next     string            // where the next prompt is, "" for none
	receipt  wire.AnswerReceipt
	maxBytes int // of a repeat
}

func newRecentAnswers() *recentAnswers {
	return &recentAnswers{index: map[string]int{}}
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
