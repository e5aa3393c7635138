package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"ql/bench/load"
)

// called is what it costs to have a script run as a job of its own, and by another script.
type called struct {
	clients int
	script  *calledScript
	job     spent // as a job
	child   spent // by RUN SCRIPT
}

// spent is that of one job or call, by rounds.
type spent struct {
	took []time.Duration
	used []float64 // processor seconds of the service
}

// calledScript is a script that is run both ways.
type calledScript struct {
	name, shown, text string
}

// callScripts are those that are run: one that is stored once, with its end, and one that leaves something.
var callScripts = []*calledScript{
	{"trivial", "ends at once", trivial},
	{"writes", "writes a file", "WRITE \"hello\" TO \"/bench.txt\"\nEMIT \"hello\""},
}

// callsEach is how many scripts a parent runs, one after the other.
const callsEach = 100

// measureCalls compares scripts that others run with the same scripts as jobs, in turn, in rounds.
func measureCalls(ctx context.Context, o *options, s *load.Service, all *figures) error {
	for _, script := range callScripts {
		if err := publish(ctx, s, script); err != nil {
			return err
		}
		for _, n := range o.clients {
			all.called = append(all.called, &called{clients: n, script: script})
		}
	}
	for round := range o.rounds {
		for _, c := range all.called {
			each := []func() error{
				func() error { return c.job.measure(ctx, o, s, c.clients, 1, c.script.text) },
				func() error {
					return c.child.measure(ctx, o, s, c.clients, callsEach, fmt.Sprintf("FOR ?i FROM 1 TO %d DO RUN SCRIPT %q SET ?r END\nEMIT ?r", callsEach, c.script.name))
				},
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

// measure has clients run a script that counts for so many, and wait for each.
func (p *spent) measure(ctx context.Context, o *options, s *load.Service, clients, counts int, script string) error {
	before, err := s.Usage(ctx)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var took time.Duration
	n := 0
	if err := together(clients, func() error {
		return until(ctx, s, o.each, func(c *load.Caller) error {
			sent := time.Now()
			if err := runToEnd(c, s, script); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			took, n = took+time.Since(sent), n+counts
			return nil
		})
	}); err != nil {
		return err
	}
	after, err := s.Usage(ctx)
	p.took = append(p.took, took/time.Duration(n))
	p.used = append(p.used, after.Since(before).Per(n).Seconds)
	return err
}

// runToEnd runs a script as a job, and waits for its end.
func runToEnd(c *load.Caller, s *load.Service, script string) error {
	body, err := c.Ask(s.Query(script, "async"))
	if err != nil {
		return err
	}
	a, err := parseAnswer(body, "accepted")
	if err != nil {
		return err
	}
	if body, err = c.Ask(poll(s, a.ID)); err != nil {
		return err
	}
	return wantResult(body, "complete", "hello")
}

// publish publishes a script of the account.
func publish(ctx context.Context, s *load.Service, script *calledScript) error {
	body, _ := json.Marshal(map[string]string{"text": script.text}) // of texts alone, which never fails
	c, err := load.Dial(ctx, s.Address)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Ask(load.Put(s.Address, "/v1/scripts/"+script.name, "application/json", string(body), s.Password))
	return err
}
