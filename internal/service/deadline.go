package service

import (
	"context"
	"sync"
	"time"
)

// deadline is a context that ends at a moment and starts its timer when somebody waits for
// that: most scripts end before, and a timer costs a short one more than all else around it.
type deadline struct {
	context.Context // never done
	at              time.Time

	mu     sync.Mutex
	timed  context.Context // what has the timer; nil before somebody waits
	cancel context.CancelFunc
}

// withTimeout returns parent without its end, and with one of its own. Cancel is called once.
func withTimeout(parent context.Context, within time.Duration) (ctx *deadline, cancel context.CancelFunc) {
	d := &deadline{Context: context.WithoutCancel(parent), at: time.Now().Add(within)}
	return d, d.end
}

func (d *deadline) Deadline() (time.Time, bool) { return d.at, true }

func (d *deadline) Done() <-chan struct{} { return d.start().Done() }

// Err starts no timer, so that to ask for it often is cheap.
func (d *deadline) Err() error {
	if timed := d.started(); timed != nil {
		return timed.Err()
	}
	if time.Until(d.at) > 0 {
		return nil
	}
	return d.start().Err()
}

// Value lets contexts made of this one find the one with the timer: they then end with it
// without a goroutine of their own.
func (d *deadline) Value(key any) any {
	if timed := d.started(); timed != nil {
		return timed.Value(key)
	}
	return d.Context.Value(key)
}

func (d *deadline) started() context.Context {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.timed
}

func (d *deadline) start() context.Context {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timed == nil {
		d.timed, d.cancel = context.WithDeadline(d.Context, d.at)
	}
	return d.timed
}

// end ends it. What waits for it no more is told as by any context.
func (d *deadline) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timed == nil {
		d.timed = over{d.Context}
		return
	}
	if d.cancel != nil {
		d.cancel()
	}
}

// over is a context that has ended and was never waited for.
type over struct{ context.Context }

var ended = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

func (over) Done() <-chan struct{} { return ended }

func (over) Err() error { return context.Canceled }
