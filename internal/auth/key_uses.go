package auth

import (
	"context"
	"errors"
	"sync"
	"time"

	"ql/internal/account"
	"ql/internal/guard"
)

const (
	// useInterval is how often the use of a key is stored at most.
	useInterval = time.Minute
	// mostUses bounds the keys of which is known when they were last stored, and those
	// that wait to be stored.
	mostUses = 10_000
	// useTime is how long storing some may take.
	useTime = 10 * time.Second
)

// keyUses stores when named keys were last used, beside the calls: no call waits for it, and where
// it fails, a later use is stored.
type keyUses struct {
	store Store
	guard *guard.Guard

	mu     sync.Mutex
	stored *lru[account.NamedKeyID, time.Time] // when it last was, or began to be
	waits  map[account.NamedKeyID]time.Time
	idle   chan struct{} // closed when all is stored; nil where nothing is being stored
}

func newKeyUses(store Store, g *guard.Guard) *keyUses {
	return &keyUses{store: store, guard: g, stored: newLRU[account.NamedKeyID, time.Time](mostUses), waits: map[account.NamedKeyID]time.Time{}}
}

// note notes a use of a key.
func (u *keyUses) note(id account.NamedKeyID, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if last, ok := u.stored.Get(id); ok && now.Sub(last) < useInterval || len(u.waits) >= mostUses {
		return
	}
	u.stored.Add(id, now)
	u.waits[id] = now
	if u.idle == nil {
		u.idle = make(chan struct{})
		u.guard.Go("key uses", u.drain)
	}
}

// drain stores all that waits.
func (u *keyUses) drain() {
	ended := false
	defer func() {
		if !ended { // by a panic: what waits is stored with the next use
			u.mu.Lock()
			defer u.mu.Unlock()
			u.end()
		}
	}()
	for {
		uses := u.take()
		if uses == nil {
			ended = true
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), useTime)
		_ = u.store.RecordUses(ctx, uses) // a later use is
		cancel()
	}
}

// end says that nothing is being stored.
func (u *keyUses) end() {
	close(u.idle)
	u.idle = nil
}

// take returns what waits; where there is nothing, storing ends in the same moment.
func (u *keyUses) take() map[account.NamedKeyID]time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.waits) == 0 {
		u.end()
		return nil
	}
	uses := u.waits
	u.waits = map[account.NamedKeyID]time.Time{}
	return uses
}

// flush returns when nothing waits to be stored.
func (u *keyUses) flush(ctx context.Context) error {
	for {
		u.mu.Lock()
		idle := u.idle
		u.mu.Unlock()
		if idle == nil {
			return nil
		}
		select {
		case <-idle:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// FlushUses returns when the uses of named keys so far, and the log-ins, are stored.
func (a *Authenticator) FlushUses(ctx context.Context) error {
	return errors.Join(a.uses.flush(ctx), a.logins.flush(ctx))
}
