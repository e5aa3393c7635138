package usage

import (
	"context"
	"errors"
	"sync"

	"ql/internal/account"
)

// aheadBytes is how much more than it needs an account that sends again and again reserves at a time:
// each reservation is a commit of the store.
const aheadBytes = 64 << 10

// ahead is what accounts have reserved and not sent yet. It is given back with the views, a second or
// two after it was last used. A process that dies counts it as sent.
type ahead struct {
	mu sync.Mutex
	of map[viewed]*reserved
}

// reserved is what an account has reserved ahead on a day.
type reserved struct {
	reserving sync.Mutex // held while the store is asked, so that the others find what it gave

	// under ahead.mu
	left    int64
	used    bool // since views were stored
	refused bool // as the month has too little left
}

// enter returns what an account has reserved on a day, and whether it sent something a moment ago; nil
// where there are too many accounts.
func (h *ahead) enter(key viewed) (r *reserved, recent bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r, recent = h.of[key]
	if !recent {
		if len(h.of) >= mostViews {
			return nil, false
		}
		r = &reserved{}
		h.of[key] = r
	}
	r.used = true
	return r, recent
}

// take takes of what is reserved already.
func (h *ahead) take(r *reserved, bytes int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r.left < bytes {
		return false
	}
	r.left -= bytes
	return true
}

// add adds to what is reserved, and reports whether it did: it was given back meanwhile, or there are
// too many accounts.
func (h *ahead) add(key viewed, bytes int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.of[key]
	if r == nil {
		return false
	}
	r.left += bytes
	return true
}

func (h *ahead) isRefused(r *reserved) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return r.refused
}

func (h *ahead) refuse(r *reserved) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r.refused = true
}

// leave takes out what is left of some accounts; where idle is set, only of those that have sent nothing
// since the last time. More says that there are others.
func (h *ahead) leave(which func(viewed) bool, idle bool) (left map[viewed]int64, more bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	left = map[viewed]int64{}
	for key, r := range h.of {
		if !which(key) {
			continue
		}
		if idle && r.used {
			r.used, r.refused, more = false, false, true
			continue
		}
		left[key], r.left = r.left, 0
		if idle || !r.refused { // else it is remembered that there is none ahead
			delete(h.of, key)
		}
	}
	return left, more
}

// Send reserves bytes that are about to leave, unless they would come to more
// than most in the month (0 is no bound): then the error is an *Exceeded. More says that others follow
// at once. Unsent gives back those that did not leave after all.
func (t *Tally) Send(ctx context.Context, a account.ID, bytes, most int64, more bool) (unsent func(bytes int64), err error) {
	if t == nil {
		return func(int64) {}, nil
	}
	key := viewed{a, DayOf(t.clock())}
	if err := t.reserveOf(ctx, key, bytes, most, more); err != nil {
		return nil, err
	}
	return func(bytes int64) { t.giveBack(key, bytes) }, nil
}

// reserveOf takes of what is reserved, or reserves it.
func (t *Tally) reserveOf(ctx context.Context, key viewed, bytes, most int64, more bool) error {
	r, recent := t.ahead.enter(key)
	if r == nil {
		return t.reserve(ctx, key, bytes, most)
	}
	if !recent {
		t.views.wake() // so that it is forgotten again
	}
	if t.ahead.take(r, bytes) {
		return nil
	}
	r.reserving.Lock()
	defer r.reserving.Unlock()
	if t.ahead.take(r, bytes) {
		return nil
	}
	if (more || recent) && !t.ahead.isRefused(r) {
		err := t.reserve(ctx, key, bytes+aheadBytes, most)
		var over *Exceeded
		if !errors.As(err, &over) {
			if err == nil {
				t.giveBack(key, aheadBytes)
			}
			return err
		}
		t.ahead.refuse(r) // the month may have room for this one
		if err := t.storeViews(ctx, key.account); err != nil {
			return err
		}
	}
	return t.reserve(ctx, key, bytes, most)
}

func (t *Tally) reserve(ctx context.Context, key viewed, bytes, most int64) error {
	if most > 0 { // what has left is to be in the sum
		if err := t.storeWhich(ctx, key.ofAccount); err != nil {
			return err
		}
	}
	done, err := t.store.Reserve(ctx, key.account, key.day, bytes, most)
	if err == nil && !done {
		err = &Exceeded{What: Egress, Most: most, Until: key.day.Month().End()}
	}
	return err
}

// giveBack gives back what was reserved and has not left: to those that send next, or with the views.
func (t *Tally) giveBack(key viewed, bytes int64) {
	if bytes == 0 || t.ahead.add(key, bytes) {
		return
	}
	t.views.add(key, Used{Egress: -bytes}, 2*mostViews) // beyond, a little too much is counted
}

// returnAhead gives back what some accounts have reserved, with the views that are stored next.
func (t *Tally) returnAhead(which func(viewed) bool, idle bool) {
	left, more := t.ahead.leave(which, idle)
	for key, bytes := range left {
		if bytes > 0 {
			t.views.add(key, Used{Egress: -bytes}, 2*mostViews)
		}
	}
	if more {
		t.views.wake()
	}
}
