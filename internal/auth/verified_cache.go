package auth

import (
	"sync"
	"time"
)

const (
	verifiedFor = 5 * time.Minute // from the verification on, however often it is used
	maxVerified = 10_000
)

// verifiedCache remembers which passwords were verified, by their digests. What was
// verified against an earlier hash is never asked for again and goes with its
// time.
type verifiedCache struct {
	mu    sync.Mutex
	until *lru[digest, time.Time] // until when
}

func newVerifiedCache() *verifiedCache {
	return &verifiedCache{until: newLRU[digest, time.Time](maxVerified)}
}

func (m *verifiedCache) has(p digest, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	until, ok := m.until.Get(p)
	if ok && !now.Before(until) {
		m.until.Remove(p)
		return false
	}
	return ok
}

func (m *verifiedCache) add(p digest, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.until.Add(p, now.Add(verifiedFor))
}
