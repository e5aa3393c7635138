package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"ql/bench/load"
)

// seen is what so many callers saw at once, in order of length.
type seen struct {
	clients  int
	accepted []time.Duration // from sending a job to its 202
	complete []time.Duration // from there to its end, by a poll that waits for it
}

// asking is a script that stands until it is answered.
const asking = "CONFIRM \"go on?\"\nEMIT \"done\""

// measureCallers measures the times that callers see.
func measureCallers(ctx context.Context, o *options, s *load.Service, all *figures) error {
	lasting := o.each * time.Duration(o.rounds)
	for _, n := range o.clients {
		one := seen{clients: n}
		var mu sync.Mutex
		err := together(n, func() error {
			return until(ctx, s, lasting, func(c *load.Caller) error {
				accepted, complete, err := submitAndWait(c, s)
				mu.Lock()
				defer mu.Unlock()
				one.accepted, one.complete = append(one.accepted, accepted), append(one.complete, complete)
				return err
			})
		})
		if err != nil {
			return err
		}
		slices.Sort(one.accepted)
		slices.Sort(one.complete)
		all.seen = append(all.seen, one)
	}
	err := until(ctx, s, lasting, func(c *load.Caller) error {
		took, err := confirm(c, s)
		all.confirmed = append(all.confirmed, took)
		return err
	})
	slices.Sort(all.confirmed)
	return err
}

// together runs f several times at once.
func together(n int, f func() error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = f() })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// until does something again and again on a connection, at least once.
func until(ctx context.Context, s *load.Service, lasting time.Duration, do func(*load.Caller) error) error {
	c, err := load.Dial(ctx, s.Address)
	if err != nil {
		return err
	}
	defer c.Close()
	for end := time.Now().Add(lasting); ; {
		if err := errors.Join(do(c), ctx.Err()); err != nil {
			return err
		}
		if time.Now().After(end) {
			return nil
		}
	}
}

func submitAndWait(c *load.Caller, s *load.Service) (accepted, complete time.Duration, err error) {
	sent := time.Now()
	body, err := c.Ask(s.Query(trivial, "async"))
	if err != nil {
		return 0, 0, err
	}
	told := time.Now()
	a, err := parseAnswer(body, "accepted")
	if err != nil {
		return 0, 0, err
	}
	if body, err = c.Ask(poll(s, a.ID)); err != nil {
		return 0, 0, err
	}
	return told.Sub(sent), time.Since(told), wantResult(body, "complete", "hello")
}

// confirm has a job ask, and returns how long it takes from sending the answer
// to the job's result.
func confirm(c *load.Caller, s *load.Service) (time.Duration, error) {
	body, err := c.Ask(s.Query(asking, "async"))
	if err != nil {
		return 0, err
	}
	a, err := parseAnswer(body, "accepted")
	if err != nil {
		return 0, err
	}
	if body, err = c.Ask(poll(s, a.ID)); err != nil {
		return 0, err
	}
	if _, err := parseAnswer(body, "paused"); err != nil {
		return 0, err
	}
	sent := time.Now()
	if body, err = c.Ask(load.Post(s.Address, "/v1/confirm/"+a.ID, "application/json", `{"approved":true}`)); err != nil {
		return 0, err
	}
	return time.Since(sent), wantResult(body, "complete", "done")
}
