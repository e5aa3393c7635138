package sessions

import (
	"context"
	"sync"
	"time"

	"ql/internal/keyedlock"
)

// Runs of one node wait for each other in memory, in the order in which they came. The first of them takes the
// session from the other nodes: by its row, which they look at until it is free.

const (
	// A session that another node has is looked at after so long, at first and at last.
	firstLook, lastLook = 5 * time.Millisecond, 100 * time.Millisecond
	// returnTime is how long it may take to give a session back.
	returnTime = 2 * time.Second
	// mostOwed bounds the sessions that could not be given back and are remembered for it.
	mostOwed = 4096
)

// owed are sessions that could not be given back, since the store failed. A run of this node that takes one of them
// gives it back itself: so who gives back what is owed has the lock of that session, as a run has.
type owed struct {
	mu   sync.Mutex
	list map[Key]int64 // to their holders
}

func (o *owed) add(k Key, holder int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.list == nil {
		o.list = map[Key]int64{}
	}
	if len(o.list) < mostOwed {
		o.list[k] = holder
	}
}

// drop has a session owed no more.
func (o *owed) drop(k Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.list, k)
}

// takeOne returns one of them that no run has, for another try, with its lock.
func (o *owed) takeOne(locks *keyedlock.Locks[Key]) (k Key, holder int64, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for k, holder = range o.list {
		if locks.TryLock(k) {
			delete(o.list, k)
			return k, holder, true
		}
	}
	return k, 0, false
}

// take waits for a session that a run of another node has, and returns the holder that this one is to it: 0 where
// there are no other nodes. It is not known where there is no such session any more.
func (s *Manager) take(ctx context.Context, k Key) (holder int64, known bool, err error) {
	if s.options.Turns == nil {
		return 0, true, nil
	}
	s.owed.drop(k)
	holder = s.options.Holder()
	for wait := firstLook; ; wait = min(2*wait, lastLook) {
		taken, err := s.options.Turns.Claim(ctx, k, holder)
		if err != nil && wait > firstLook {
			err = busy(err)
		}
		if err != nil || taken {
			return holder, taken, err
		}
		if _, found, err := s.rows.Load(ctx, k); err != nil || !found {
			return 0, false, busy(err)
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return 0, false, busy(ctx.Err())
		}
	}
}

// giveBack lets other nodes have a session whose lock is held. The call that had it may be over.
func (s *Manager) giveBack(k Key, holder int64) {
	if holder == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), returnTime)
	defer cancel()
	for returned := s.returnOne(ctx, k, holder); returned; {
		owed, to, more := s.owed.takeOne(&s.locks)
		if !more {
			return
		}
		returned = s.returnOne(ctx, owed, to)
		s.locks.Unlock(owed)
	}
}

// returnOne gives a session back, now or later, and reports whether it is now.
func (s *Manager) returnOne(ctx context.Context, k Key, holder int64) bool {
	err := s.options.Turns.Return(ctx, k, holder)
	if err != nil {
		s.owed.add(k, holder)
	}
	return err == nil
}
