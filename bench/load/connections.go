package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Target is one request that is sent again and again.
type Target struct {
	Name    string
	Address string
	Request []byte
	Check   func(body []byte) error // of an answer
}

// Plan is how a target is loaded.
type Plan struct {
	Lasting time.Duration
	Rate    float64 // calls a second, all connections together; 0 for as many as go
}

// Connections is some connections to a target.
type Connections struct {
	target  *Target
	callers []*Caller
}

// Gather opens connections to a target and calls once on each.
func Gather(ctx context.Context, t *Target, connections int) (*Connections, error) {
	c := &Connections{target: t}
	for range connections {
		caller, err := Dial(ctx, t.Address)
		if err != nil {
			c.Close()
			return nil, err
		}
		c.callers = append(c.callers, caller)
	}
	if err := c.Check(); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Close closes all connections.
func (c *Connections) Close() {
	for _, caller := range c.callers {
		caller.Close()
	}
}

// Check calls once on each connection and looks at the answers.
func (c *Connections) Check() error {
	for _, caller := range c.callers {
		body, err := caller.Ask(c.target.Request)
		if err == nil {
			err = c.target.Check(body)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.target.Name, err)
		}
	}
	return nil
}

// Load calls on all connections at once, each waiting for an answer before it
// asks again. Of the answers the status and the length are read.
func (c *Connections) Load(ctx context.Context, p Plan) (*Measured, error) {
	var wg sync.WaitGroup
	began := time.Now()
	end := began.Add(p.Lasting)
	n := len(c.callers)
	for i, caller := range c.callers {
		caller.times = nil
		wg.Go(func() {
			if p.Rate == 0 {
				caller.err = caller.callUntil(ctx, c.target.Request, end)
				return
			}
			every := time.Duration(float64(n) / p.Rate * float64(time.Second))
			caller.err = caller.callEvery(ctx, c.target.Request, began.Add(every*time.Duration(i)/time.Duration(n)), every, end)
		})
	}
	wg.Wait()
	m := &Measured{Began: began, Took: time.Since(began)}
	for _, caller := range c.callers {
		if caller.err != nil {
			return nil, fmt.Errorf("%s: %w", c.target.Name, caller.err)
		}
		m.Times = append(m.Times, caller.times...)
	}
	slices.Sort(m.Times)
	if len(m.Times) == 0 {
		return nil, fmt.Errorf("%s: no call was answered in time", c.target.Name)
	}
	return m, nil
}

// callUntil calls without a pause.
func (c *Caller) callUntil(ctx context.Context, request []byte, end time.Time) error {
	for sent := time.Now(); sent.Before(end); {
		if err := errors.Join(ctx.Err(), c.Call(request)); err != nil {
			return err
		}
		now := time.Now()
		c.times = append(c.times, now.Sub(sent))
		sent = now
	}
	return nil
}

// callEvery calls at fixed moments; one whose moment has passed calls at once.
func (c *Caller) callEvery(ctx context.Context, request []byte, next time.Time, every time.Duration, end time.Time) error {
	for ; next.Before(end); next = next.Add(every) {
		if err := Pause(ctx, time.Until(next)); err != nil {
			return err
		}
		sent := time.Now()
		if err := c.Call(request); err != nil {
			return err
		}
		c.times = append(c.times, time.Since(sent))
	}
	return nil
}

// Pause waits so long, or until ctx ends.
func Pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
