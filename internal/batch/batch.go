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
	run  func([]T)
	most int

	mu     sync.Mutex
	led    bool         // somebody runs
	queue  []*member[T] // that wait for it
	closed bool
	free   chan struct{} // made by Close, closed when nobody runs
}

// New returns a group. Run is called with up to most items, leaves in each what
// became of it, and does not panic.
func New[T any](most int, run func([]T)) *Group[T] { return &Group[T]{run: run, most: most} }

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
	for len(items) < g.most {
		m := g.next()
		if m == nil {
			break
		}
		items, others = append(items, m.item), append(others, m)
	}
	g.mu.Unlock()
	g.run(items)
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

// next takes out the item that waited longest; nil where there is none.
func (g *Group[T]) next() *member[T] {
	if len(g.queue) == 0 {
		g.queue = nil
		return nil
	}
	m := g.queue[0]
	g.queue[0] = nil
	g.queue = g.queue[1:]
	return m
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
