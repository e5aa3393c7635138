package s3

import (
	"sync"
	"time"
)

const (
	// maxFailures is how many requests in a row may fail before no more are sent.
	maxFailures = 3
	// openFor is how long none are sent then, until one tries.
	openFor = 2 * time.Second
)

// breaker keeps callers from waiting, each on its own, for a bucket that does not answer.
type breaker struct {
	mu       sync.Mutex
	failures int
	until    time.Time // no request before, where too many failed
}

// admit reports whether a request may be sent.
func (b *breaker) admit(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failures < maxFailures {
		return true
	}
	if now.Before(b.until) {
		return false
	}
	b.until = now.Add(openFor) // this one tries
	return true
}

// note notes the end of a request.
func (b *breaker) note(now time.Time, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if ok {
		b.failures = 0
		return
	}
	if b.failures++; b.failures >= maxFailures {
		b.until = now.Add(openFor)
	}
}
