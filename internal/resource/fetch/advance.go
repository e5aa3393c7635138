package fetch

import (
	"context"
	"sync"
)

const (
	// aheadCalls is for how many calls like one is reserved where others are made at the same time, and
	// aheadBytes how much at most: each reservation is a commit of the store.
	aheadCalls = 256
	aheadBytes = 64 << 10
)

// advance reserves what calls send. Calls that are made side by side share reservations, and the last
// of them gives back what was too much. A crash meanwhile counts that as sent.
type advance struct {
	reserving sync.Mutex // held while the store is asked, so that the others find what it gave

	mu       sync.Mutex
	under    int   // calls under way
	left     int64 // that is reserved for none of them
	giveBack func(bytes int64)
}

// take reserves so many bytes for a call. refund gives them back, of a call that did not leave; done is
// to be called when the call is over, and last.
func (v *advance) take(ctx context.Context, a Allowance, bytes int64) (refund, done func(), err error) {
	v.mu.Lock()
	v.under++
	v.mu.Unlock()
	if !v.takeLeft(bytes) {
		if err := v.reserve(ctx, a, bytes); err != nil {
			v.done()
			return nil, nil, err
		}
	}
	return func() { v.add(bytes) }, v.done, nil
}

// takeLeft takes what is reserved already.
func (v *advance) takeLeft(bytes int64) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.left < bytes {
		return false
	}
	v.left -= bytes
	return true
}

func (v *advance) add(bytes int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.left += bytes
}

// reserve asks for so many bytes, and for more where others are under way.
func (v *advance) reserve(ctx context.Context, a Allowance, bytes int64) error {
	v.reserving.Lock()
	defer v.reserving.Unlock()
	if v.takeLeft(bytes) {
		return nil
	}
	v.mu.Lock()
	ask := bytes
	if v.under > 1 {
		ask = max(bytes, min(aheadCalls*bytes, aheadBytes))
	}
	v.mu.Unlock()
	giveBack, err := a.Reserve(ctx, ask)
	if err != nil && ask > bytes { // the month may have room for this one
		ask = bytes
		giveBack, err = a.Reserve(ctx, ask)
	}
	if err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.left += ask - bytes
	v.giveBack = giveBack
	return nil
}

// done ends a call.
func (v *advance) done() {
	v.mu.Lock()
	v.under--
	left, giveBack := v.left, v.giveBack
	if v.under > 0 || left == 0 {
		v.mu.Unlock()
		return
	}
	v.left = 0
	v.mu.Unlock()
	giveBack(left)
}
