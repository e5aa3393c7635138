package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"ql/bench/load"
)

// trivial is the script that jobs run unless something else is said.
const trivial = `EMIT "hello"`

// answer is what is looked at of the service's.
type answer struct {
	Status string `json:"status"`
	ID     string `json:"job_id"`
	Result string `json:"result"`
}

func parseAnswer(body []byte, status string) (answer, error) {
	var a answer
	if err := json.Unmarshal(body, &a); err != nil {
		return a, fmt.Errorf("the answer is no JSON: %w", err)
	}
	if a.Status != status || a.ID == "" {
		return a, fmt.Errorf("the answer is %s, and its status was to be %s", body, status)
	}
	return a, nil
}

// wantResult checks an answer whose script was to give a text.
func wantResult(body []byte, status, result string) error {
	a, err := parseAnswer(body, status)
	if err == nil && a.Result != result {
		err = fmt.Errorf("the answer is %s, and its result was to be %s", body, result)
	}
	return err
}

// patience is how long anything may take that others do not bound.
const patience = 2 * time.Minute

// rates are what one number of clients reached, by rounds.
type rates struct {
	clients   int
	sync      []float64 // calls a second
	accepted  []float64 // jobs a second, while clients called
	completed []float64 // jobs a second, from the first call to the last end
	bare      []float64 // inserts a second
	used      []float64 // processor seconds of the service by job
}

// measureRates compares durable jobs with synchronous calls and bare inserts, in
// turn, in rounds.
func measureRates(ctx context.Context, o *options, s *load.Service, all *figures, stderr io.Writer) (err error) {
	bare, err := openBare(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bare.close()) }()
	for _, n := range o.clients {
		all.rates = append(all.rates, &rates{clients: n})
	}
	for round := range o.rounds {
		fmt.Fprintf(stderr, "round %d of %d: sync, async, bare\n", round+1, o.rounds)
		for _, r := range all.rates {
			each := []func() error{
				func() error { return r.measureSync(ctx, o, s) },
				func() error { return r.measureAsync(ctx, o, s) },
				func() error { return r.measureBare(ctx, o, bare) },
			}
			for i := range each {
				if err := each[(i+round)%len(each)](); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (r *rates) measureSync(ctx context.Context, o *options, s *load.Service) error {
	crowd, err := load.Gather(ctx, &load.Target{
		Name: "sync", Address: s.Address, Request: s.Query(trivial, "sync"),
		Check: func(body []byte) error { return wantResult(body, "ok", "hello") },
	}, r.clients)
	if err != nil {
		return err
	}
	defer crowd.Close()
	m, err := crowd.Load(ctx, load.Plan{Lasting: o.each})
	if err != nil {
		return err
	}
	r.sync = append(r.sync, m.Rate())
	return crowd.Check()
}

func (r *rates) measureAsync(ctx context.Context, o *options, s *load.Service) error {
	var accepted []string
	before, err := completed(ctx, s)
	if err != nil {
		return err
	}
	crowd, err := load.Gather(ctx, &load.Target{
		Name: "async", Address: s.Address, Request: s.Query(trivial, "async"),
		Check: func(body []byte) error {
			a, err := parseAnswer(body, "accepted")
			accepted = append(accepted, a.ID)
			return err
		},
	}, r.clients)
	if err != nil {
		return err
	}
	defer crowd.Close()
	if _, err := awaitCompleted(ctx, s, before+r.clients); err != nil {
		return err
	}
	used, err := s.Usage(ctx)
	if err != nil {
		return err
	}
	m, err := crowd.Load(ctx, load.Plan{Lasting: o.each})
	if err != nil {
		return err
	}
	end, err := awaitCompleted(ctx, s, before+r.clients+m.Calls())
	if err != nil {
		return err
	}
	after, err := s.Usage(ctx)
	if err != nil {
		return err
	}
	r.accepted = append(r.accepted, m.Rate())
	r.completed = append(r.completed, float64(m.Calls())/end.Sub(m.Began).Seconds())
	r.used = append(r.used, after.Since(used).Per(m.Calls()).Seconds)
	if err := crowd.Check(); err != nil {
		return err
	}
	return checkComplete(ctx, s, accepted)
}

// completed returns how many scripts the service has run to their end.
func completed(ctx context.Context, s *load.Service) (int, error) {
	v, err := s.Metrics(ctx, `ql_run_duration_seconds_count{state="complete"}`)
	if err != nil {
		return 0, err
	}
	return int(v[0]), nil
}

// awaitCompleted returns when so many scripts have run to their end. It is
// counted when that is on the disk.
func awaitCompleted(ctx context.Context, s *load.Service, n int) (time.Time, error) {
	// Asking is work of the service, too: the more jobs are left, the later it is
	// asked again.
	const least, perJob = time.Millisecond, 10 * time.Microsecond
	for end := time.Now().Add(patience); ; {
		got, err := completed(ctx, s)
		now := time.Now()
		switch {
		case err != nil:
			return now, err
		case got >= n:
			return now, nil
		case now.After(end):
			return now, fmt.Errorf("of %d jobs %d were not completed in time", n, n-got)
		}
		if err := load.Pause(ctx, max(least, perJob*time.Duration(n-got))); err != nil {
			return now, err
		}
	}
}

// checkComplete looks at jobs that were accepted.
func checkComplete(ctx context.Context, s *load.Service, ids []string) error {
	c, err := load.Dial(ctx, s.Address)
	if err != nil {
		return err
	}
	defer c.Close()
	for _, id := range ids {
		body, err := c.Ask(poll(s, id))
		if err == nil {
			err = wantResult(body, "complete", "hello")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// poll is a call that waits for a job.
func poll(s *load.Service, id string) []byte {
	return load.Get(s.Address, "/v1/job/"+id+"?wait=60")
}
