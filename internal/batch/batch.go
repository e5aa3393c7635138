// Package batch lets calls that come at the same time share one piece of work, such
// as a commit. What the work is, and how it fails, is its owner's business.
package batch

import (
	"context"
	"errors"
	"sync"
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
	state state         // guarded by the group's mu until it has begun
	woken chan struct{} // gets a value when its run is over, or it is to lead
}

type state uint8

const (
	isWaiting state = iota
	isBegun
	isLeader
	isAbandoned
)

// Do returns when the item was run. Where ctx ends before that has begun, or the
// group is closed, it returns an error, and the item is not run.
func (g *Group[T]) Do(ctx context.Context, item T) error {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return ErrClosed
	}
	if err := ctx.Err(); err != nil {
		g.mu.Unlock()
		return err
	}
	if !g.led {
		g.led = true
		g.mu.Unlock()
		g.lead(item)
		return nil
	}
	m := &member[T]{item: item, woken: make(chan struct{}, 1)}
	g.queue = append(g.queue, m)
	g.mu.Unlock()

	select {
	case <-m.woken:
	case <-ctx.Done():
		g.mu.Lock()
		if m.state == isWaiting {
			m.state = isAbandoned
			g.mu.Unlock()
			return ctx.Err()
		}
		g.mu.Unlock()
		<-m.woken // what has begun is waited for
	}
	if m.state == isLeader {
		g.lead(item)
	}
	return nil
}

// lead runs an item, with those that wait by then, and lets the next lead.
func (g *Group[T]) lead(item T) {
	items := []T{item}
	var others []*member[T]
	g.mu.Lock()
	for len(items) < g.most {
		m := g.next(isBegun)
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
	if m := g.next(isLeader); m != nil {
		m.woken <- struct{}{}
		return
	}
	g.led = false
	if g.free != nil {
		close(g.free)
	}
}

// next takes out the item that waited longest, for what it is to be; nil where
// there is none.
func (g *Group[T]) next(s state) *member[T] {
	for len(g.queue) > 0 {
		m := g.queue[0]
		g.queue[0] = nil
		g.queue = g.queue[1:]
		if m.state == isWaiting {
			m.state = s
			return m
		}
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
