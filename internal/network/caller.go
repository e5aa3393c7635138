package network

import (
	"context"
	"time"
)

// Caller makes calls in one context, one after the other: they share the timer and the context that end each of them
// in time. It is for one goroutine.
type Caller struct {
	ctx     context.Context
	limited context.Context
	cancel  context.CancelCauseFunc
	timer   *time.Timer
}

// NewCaller returns a caller in a context, which is to be closed.
func NewCaller(ctx context.Context) *Caller { return &Caller{ctx: ctx} }

// Do is Call.Do.
func (l *Caller) Do(a Call, r Request) (Answer, error) {
	bounds := a.client.bounds(r)
	if l.limited == nil {
		limited, cancel := context.WithCancelCause(l.ctx)
		l.limited, l.cancel = limited, cancel
		l.timer = time.AfterFunc(bounds.total, func() { cancel(errTooSlow) })
	} else {
		l.timer.Reset(bounds.total)
	}
	defer func() {
		if !l.timer.Stop() { // the next one has a time of its own
			l.Close()
		}
	}()
	return a.do(l.ctx, l.limited, bounds, r)
}

// Close lets go of what calls share.
func (l *Caller) Close() {
	if l.limited == nil {
		return
	}
	l.timer.Stop()
	l.cancel(nil)
	l.limited = nil
}
