package auth

import (
	"sync"
	"time"
)

const (
	rememberFor  = 5 * time.Minute // from the verification on, however often it is used
	rememberMost = 10_000
)

// memory remembers which passwords were verified, by their proofs. What was
// verified under an earlier epoch is never asked for again and goes with its
// time.
type memory struct {
	mu     sync.Mutex
	proofs *lru[proof, time.Time] // until when
}

func newMemory() *memory { return &memory{proofs: newLRU[proof, time.Time](rememberMost)} }

func (m *memory) has(p proof, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	until, ok := m.proofs.get(p)
	if ok && !now.Before(until) {
		m.proofs.remove(p)
		return false
	}
	return ok
}

func (m *memory) add(p proof, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.proofs.put(p, now.Add(rememberFor))
}
