// Package keyedlock has one lock for each key, such as an account or a session. What a
// lock guards, and what is said to whoever waited in vain, is its users' business.
package keyedlock

import (
	"context"
	"sync"
)

// Locks are locks by key. Whoever waits for one gets it in the order of arrival. A key
// takes memory only while somebody holds its lock or waits for it. The zero value is
// ready; it may be used by any number of goroutines.
type Locks[K comparable] struct {
	mu   sync.Mutex
	held map[K]*lock
}

type lock struct {
	token chan struct{} // full while the lock is held
	users int           // the holder and those who wait; guarded by Locks.mu
}

// Lock waits for the lock of a key. The error is that of ctx; the lock is not held then.
func (l *Locks[K]) Lock(ctx context.Context, key K) error {
	l.mu.Lock()
	own := l.held[key]
	if own == nil {
		if l.held == nil {
			l.held = map[K]*lock{}
		}
		own = &lock{token: make(chan struct{}, 1)}
		l.held[key] = own
	}
	own.users++
	l.mu.Unlock()
	select {
	case own.token <- struct{}{}:
		return nil
	case <-ctx.Done():
		l.drop(key, own)
		return ctx.Err()
	}
}

// TryLock takes the lock of a key where nobody holds it or waits for it, and reports whether it did.
func (l *Locks[K]) TryLock(key K) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[key] != nil {
		return false
	}
	if l.held == nil {
		l.held = map[K]*lock{}
	}
	own := &lock{token: make(chan struct{}, 1), users: 1}
	own.token <- struct{}{}
	l.held[key] = own
	return true
}

// Unlock lets the next one have the lock of a key. It panics where nobody holds it, as
// that of a sync.Mutex does.
func (l *Locks[K]) Unlock(key K) {
	l.mu.Lock()
	own := l.held[key]
	l.mu.Unlock()
	if own == nil {
		panic("keyedlock: unlock of a key that is not locked")
	}
	<-own.token
	l.drop(key, own)
}

// Len returns of how many keys the lock is held.
func (l *Locks[K]) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.held)
}

func (l *Locks[K]) drop(key K, own *lock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if own.users--; own.users == 0 {
		delete(l.held, key)
	}
}
