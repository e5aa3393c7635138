package usage

import (
	"context"
	"errors"
	"sync"
	"time"

	"ql/internal/account"
)

const (
	// viewsEvery is how long views are added up before they are stored: so much is lost with a
	// process that dies.
	viewsEvery = time.Second
	// mostViews is of how many accounts views are added up; who comes then waits for the store.
	mostViews = 4096
	// viewWrites is how many accounts' views are stored at once, in one commit.
	viewWrites = 64
	// viewsTime is how long storing views may take.
	viewsTime = 10 * time.Second
)

// views are what was served to visitors and is not stored yet. There are far more of them than the
// store has room for, one by one.
type views struct {
	come chan struct{} // has an entry once there are some

	storing    sync.Mutex // one stores at a time, so that what was taken is stored when it is let go
	background Background // runs what is stored at once; under storing, nil for nothing
	mu         sync.Mutex
	of         map[viewed]Used
}

// viewed is whose site was looked at, and when.
type viewed struct {
	account account.ID
	day     Day
}

// ofAccount reports whether another is of the same account.
func (v viewed) ofAccount(other viewed) bool { return v.account == other.account }

func newViews() views { return views{come: make(chan struct{}, 1), of: map[viewed]Used{}} }

// Served counts what was served to somebody and is no job. It is stored a moment later, with all that was
// served by then.
func (t *Tally) Served(ctx context.Context, a account.ID, used Used) error {
	if t == nil || used == (Used{}) {
		return nil
	}
	if t.views.add(viewed{a, DayOf(t.clock())}, used, mostViews) {
		return nil
	}
	return t.store.Count(context.WithoutCancel(ctx), a, DayOf(t.clock()), used) // who has hung up was served
}

// add adds to what is not stored yet, unless there are too many accounts.
func (v *views) add(key viewed, used Used, most int) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	sum, found := v.of[key]
	if !found && len(v.of) >= most {
		return false
	}
	sum.add(used)
	v.of[key] = sum
	v.wake()
	return true
}

// wake says that there is something to store.
func (v *views) wake() {
	select {
	case v.come <- struct{}{}:
	default: // it was said
	}
}

const part = "views of sites"

// Background runs what works in the background.
type Background interface {
	Go(part string, f func())
	Loop(ctx context.Context, part string, f func(context.Context))
}

// StartViews has what was served stored now and then, and returns what ends that and stores the rest.
// Failed is told of what will be tried again.
func (t *Tally) StartViews(b Background, failed func(error)) (stop func(context.Context) error) {
	t.views.storing.Lock()
	t.views.background = b
	t.views.storing.Unlock()
	loop, end := context.WithCancel(context.Background())
	b.Go(part, func() {
		b.Loop(loop, part, func(ctx context.Context) { t.runViews(ctx, failed) })
	})
	return func(ctx context.Context) error {
		end()
		return t.StoreViews(ctx)
	}
}

// runViews stores what was served, until ctx ends.
func (t *Tally) runViews(ctx context.Context, failed func(error)) {
	for {
		select {
		case <-t.views.come:
		case <-ctx.Done():
			return
		}
		timer := time.NewTimer(viewsEvery)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		t.returnAhead(every, true)
		if err := t.storeWhich(ctx, every); err != nil && ctx.Err() == nil {
			failed(err)
		}
	}
}

func every(viewed) bool { return true }

// StoreViews stores all that was served until now, and gives back what was reserved and has not left.
func (t *Tally) StoreViews(ctx context.Context) error {
	t.returnAhead(every, false)
	return t.storeWhich(ctx, every)
}

// storeViews is StoreViews of one account.
func (t *Tally) storeViews(ctx context.Context, a account.ID) error {
	which := viewed{account: a}.ofAccount
	t.returnAhead(which, false)
	return t.storeWhich(ctx, which)
}

// storeWhich stores what was served. What cannot be stored is kept for the next time.
func (t *Tally) storeWhich(ctx context.Context, which func(viewed) bool) error {
	t.views.storing.Lock()
	defer t.views.storing.Unlock()
	taken := t.views.take(which)
	if len(taken) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), viewsTime) // who hangs up takes nothing with them
	defer cancel()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var all error
	turns := make(chan struct{}, viewWrites)
	start := func(f func()) { f() } // where nothing runs in the background
	if b := t.views.background; b != nil {
		start = func(f func()) { b.Go(part, f) }
	}
	for key, used := range taken {
		turns <- struct{}{}
		wg.Add(1)
		start(func() {
			defer wg.Done()
			defer func() { <-turns }()
			err := t.store.Count(ctx, key.account, key.day, used)
			if err == nil || errors.Is(err, account.ErrNotFound) { // it was deleted since
				return
			}
			t.views.add(key, used, 2*mostViews)
			mu.Lock()
			defer mu.Unlock()
			all = errors.Join(all, err)
		})
	}
	wg.Wait()
	return all
}

// take takes some of what is not stored yet.
func (v *views) take(which func(viewed) bool) map[viewed]Used {
	v.mu.Lock()
	defer v.mu.Unlock()
	taken := map[viewed]Used{}
	for key, used := range v.of {
		if which(key) {
			taken[key] = used
			delete(v.of, key)
		}
	}
	return taken
}
