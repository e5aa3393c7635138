// Package batch lets calls that come at the same time share one piece of work, such
// as a commit. What the work is, and how it fails, is its owner's business.
package batch

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// ErrClosed is the error of a group that was closed.
var ErrClosed = errors.New("the group is closed")

// Group is a line of items for one piece of work, which is run by one caller at a
// time. Who finds it free runs its item at once; items that come meanwhile share
// the next run, which one of them leads. Nobody has to be woken to run alone. It
// may be used by any number of goroutines.
type Group[T any] struct {
	run       func([]T)
	most      int
	turnsAway func(T) bool // nil for nobody

	mu     sync.Mutex
	led    bool         // somebody runs
	queue  []*member[T] // that wait for it
	closed bool
	free   chan struct{} // made by Close, closed when nobody runs

	gather *gathering // nil where a run begins with those that are there
}

// New returns a group. Run is called with up to most items, leaves in each what
// became of it, and does not panic.
func New[T any](most int, run func([]T)) *Group[T] { return &Group[T]{run: run, most: most} }

// TurnAway has f be asked about each item that waited, when the run that it would lead or share begins. One for which it returns
// true is not run: f has left in it why, and its caller goes on at once, however long that run takes. TurnAway is to be called
// before the first item comes.
func (g *Group[T]) TurnAway(f func(item T) bool) { g.turnsAway = f }

// NewGathering is New for work that costs much for itself and little for each item. Where many come again and again, as
// callers do that wait for an answer before they ask once more, half of them would share each run: the others are in the one
// before. So a run waits a moment for those who shared the last one or waited at its end.
func NewGathering[T any](most int, run func([]T)) *Group[T] {
	g := New(most, run)
	g.gather = &gathering{full: make(chan struct{}, 1)}
	return g
}

const (
	// crowd is how many items make a run wait for others: few save little.
	crowd = 8
	// mostGathered is how long a run waits for others at most, and otherwise half as long as the last one took.
	mostGathered = 2 * time.Millisecond
)

// gathering is what a group knows of those who may come again. The group's lock guards it.
type gathering struct {
	came  int           // how many shared the last run, or waited at its end
	took  time.Duration // the last run
	ended time.Time     // when it did
	until int           // how many items are to wait before the run under way begins; 0 where none waits for others
	full  chan struct{} // gets a value when they do
}

// ran notes a run that has just ended.
func (a *gathering) ran(came int, began time.Time) {
	a.came, a.ended = came, time.Now()
	a.took = a.ended.Sub(began)
}

// patience is how long a run waits until so many items are there; 0 where it begins at once.
func (a *gathering) patience(there, most int) time.Duration {
	if a == nil || a.came < crowd || there >= min(a.came, most) || time.Since(a.ended) > a.took {
		return 0
	}
	return min(a.took/2, mostGathered)
}

// member is an item that waits.
type member[T any] struct {
	item  T
	leads bool
	woken chan struct{} // gets a value when its run is over, or it is to lead
}

// Do returns when the item was run. Where ctx ends before that has begun, or the
// group is closed, it returns an error, and the item is not run.
func (g *Group[T]) Do(ctx context.Context, item T) error {
	m, err := g.enter(item, ctx.Err())
	if m == nil {
		return err
	}
	if g.wait(m, ctx.Done(), nil) {
		return nil
	}
	return ctx.Err()
}

// DoWithin is Do for a caller that waits so long at most, and then has
// context.DeadlineExceeded. Who leads, which is whoever finds the group free, has no
// timer to pay for.
func (g *Group[T]) DoWithin(wait time.Duration, item T) error {
	m, err := g.enter(item, nil)
	if m == nil {
		return err
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	if g.wait(m, nil, timer.C) {
		return nil
	}
	return context.DeadlineExceeded
}

// enter runs an item where the group is free; else it is the member returned, which
// waits. Where its caller has left already, why says so; that the group is closed is told
// first.
func (g *Group[T]) enter(item T, why error) (*member[T], error) {
	g.mu.Lock()
	if g.closed {
		why = ErrClosed
	}
	if why != nil {
		g.mu.Unlock()
		return nil, why
	}
	if !g.led {
		g.led = true
		g.mu.Unlock()
		g.lead(item)
		return nil, nil
	}
	m := &member[T]{item: item, woken: make(chan struct{}, 1)}
	g.queue = append(g.queue, m)
	if a := g.gather; a != nil && a.until > 0 && len(g.queue) >= a.until {
		a.until = 0
		a.full <- struct{}{}
	}
	g.mu.Unlock()
	return m, nil
}

// wait returns when a member was run; or false where its caller left, or had waited long
// enough, before that had begun.
func (g *Group[T]) wait(m *member[T], left <-chan struct{}, late <-chan time.Time) (ran bool) {
	woken := false
	select {
	case <-m.woken:
		woken = true
	case <-left:
	case <-late:
	}
	if !woken {
		if g.leave(m) {
			return false
		}
		<-m.woken // what has begun is waited for
	}
	if m.leads {
		g.lead(m.item)
	}
	return true
}

// leave takes an item out that still waits. Else a run that hangs would hold those
// of all who came meanwhile, though nobody waits for them any more.
func (g *Group[T]) leave(m *member[T]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.queue, m)
	if i < 0 {
		return false
	}
	g.queue = slices.Delete(g.queue, i, i+1)
	return true
}

// lead runs an item, with those that wait by then, and lets the next lead.
func (g *Group[T]) lead(item T) {
	items := []T{item}
	var others []*member[T]
	g.mu.Lock()
	g.awaitOthers()
	for len(items) < g.most {
		m := g.next()
		if m == nil {
			break
		}
		items, others = append(items, m.item), append(others, m)
	}
	g.mu.Unlock()
	began := time.Time{}
	if g.gather != nil {
		began = time.Now()
	}
	g.run(items)
	if g.gather != nil { // before any of these comes again
		g.mu.Lock()
		g.gather.ran(len(items)+len(g.queue), began)
		g.mu.Unlock()
	}
	for _, m := range others {
		m.woken <- struct{}{}
	}

	g.mu.Lock()
	defer g.mu.Unlock()
	if m := g.next(); m != nil {
		m.leads = true
		m.woken <- struct{}{}
		return
	}
	g.led = false
	if g.free != nil {
		close(g.free)
	}
}

// awaitOthers has the run that begins wait for those who are likely to come. The lock is held, and is not meanwhile.
func (g *Group[T]) awaitOthers() {
	a := g.gather
	wait := a.patience(len(g.queue)+1, g.most)
	if wait == 0 {
		return
	}
	a.until = min(a.came, g.most) - 1
	g.mu.Unlock()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-a.full:
		g.mu.Lock()
	case <-timer.C:
		g.mu.Lock()
		if a.until == 0 {
			<-a.full // it has just been told
		}
		a.until = 0
	}
}

// next takes out the item that waited longest and is not turned away; nil where there is none.
func (g *Group[T]) next() *member[T] {
	for len(g.queue) > 0 {
		m := g.queue[0]
		g.queue[0] = nil
		g.queue = g.queue[1:]
		if g.turnsAway == nil || !g.turnsAway(m.item) {
			return m
		}
		m.woken <- struct{}{}
	}
	g.queue = nil
	return nil
}

// Waiting returns how many items wait.
func (g *Group[T]) Waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.queue)
}

// Close takes no more items and waits until those taken were run. It reports
// whether it is the first to close the group.
func (g *Group[T]) Close() (first bool) {
	g.mu.Lock()
	if first = !g.closed; first {
		g.closed, g.free = true, make(chan struct{})
		if !g.led {
			close(g.free)
		}
	}
	g.mu.Unlock()
	<-g.free
	return first
}
