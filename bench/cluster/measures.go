package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"ql/bench/load"
)

// trivial is the script that jobs run unless something else is said.
const trivial = `EMIT "hello"`

// atHome is a script that runs where the account's databases are.
const atHome = "SELECT name FROM items WHERE id = 1 SET VALUE ?name\nEMIT \"hello\""

// How many of them a script makes.
const (
	readsEach   = 1_000
	changesEach = 50
)

// wantResult checks an answer, whose script was to give a text.
func wantResult(body []byte, status, result string) error {
	var a struct{ Status, Result string }
	if err := json.Unmarshal(body, &a); err != nil {
		return fmt.Errorf("the answer is no JSON: %w", err)
	}
	if a.Status != status || a.Result != result {
		return fmt.Errorf("the answer is %s, and was to be %s with %q", body, status, result)
	}
	return nil
}

// measure measures a part once: the service and what it is compared with, in turn, another first in each round.
func (in *instances) measure(ctx context.Context, o *options, part string, round int, all figures) error {
	var own, other float64
	both := map[string][2]func() (float64, error){
		partSync: {
			func() (float64, error) { return syncRate(ctx, o, in.single) },
			func() (float64, error) { return syncRate(ctx, o, in.sqlite) },
		},
		partAccepted: {
			func() (float64, error) {
				rate, _, err := submitted(ctx, o, trivial, []*load.Service{in.single}, in.single)
				return rate, err
			},
			func() (float64, error) { return in.bare.jobs(ctx, o, false) },
		},
		partClaims: {
			func() (float64, error) { return in.claimed(ctx, o) },
			func() (float64, error) { return in.bare.jobs(ctx, o, true) },
		},
		partRead: {
			func() (float64, error) { return reads(ctx, o, in.single) },
			func() (float64, error) { return reads(ctx, o, in.sqlite) },
		},
		partTransaction: {
			func() (float64, error) { return transactions(ctx, o, in.single) },
			func() (float64, error) { return transactions(ctx, o, in.sqlite) },
		},
		partWrite: {
			func() (float64, error) { return changes(ctx, o, in.single) },
			func() (float64, error) {
				if round == 0 { // the log has none yet
					if _, err := changes(ctx, o, in.single); err != nil {
						return 0, err
					}
				}
				bytes, err := in.changeBytes(ctx)
				if err != nil {
					return 0, err
				}
				return in.bare.one(ctx, o.repeat*changesEach, bytes)
			},
		},
		partStatements: {
			func() (float64, error) { return in.statementsByJob(ctx, o, nodesDatabase, in.nodes) },
			func() (float64, error) {
				return in.statementsByJob(ctx, o, singleDatabase, []*load.Service{in.single})
			},
		},
		partRotation: {
			func() (float64, error) { return rotation(ctx, o, in.nodes[0]) },
			func() (float64, error) { return rotation(ctx, o, in.sqlite) },
		},
		partBeside: {
			func() (float64, error) { return jobCost(ctx, o, in.beside) },
			func() (float64, error) { return jobCost(ctx, o, in.single) },
		},
	}[part]
	into := [2]*float64{&own, &other}
	for i := range both {
		turn := (i + round) % len(both)
		var err error
		if *into[turn], err = both[turn](); err != nil {
			return err
		}
	}
	all.add(part, own, other)
	called := map[string]string{partAccepted: partAcceptedCalled, partClaims: partClaimsCalled}[part]
	if called == "" {
		return nil
	}
	other, err := in.calledJobs(ctx, o, part == partClaims)
	if err == nil {
		all.add(called, own, other)
	}
	return err
}

func syncRate(ctx context.Context, o *options, s *load.Service) (float64, error) {
	m, err := (&load.Target{
		Name: "sync", Address: s.Address, Request: s.Query(trivial, "sync"),
		Check: func(body []byte) error { return wantResult(body, "ok", "hello") },
	}).Load(ctx, o.clients, load.Plan{Lasting: o.each})
	if err != nil {
		return 0, err
	}
	return m.Rate(), nil
}

// lasting calls a script again and again, one call after the other, and returns how many of its parts were done in a second. The
// first call does not count.
func lasting(ctx context.Context, o *options, s *load.Service, script, want string, parts int) (float64, error) {
	c, err := load.Dial(ctx, s.Address)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	request := s.Query(script, "sync")
	began, calls := time.Now(), 0
	for first := true; calls == 0 || time.Since(began) < o.each; first = false {
		body, err := c.Ask(request)
		if err == nil {
			err = wantResult(body, "ok", want)
		}
		if err != nil {
			return 0, err
		}
		if first {
			began = time.Now()
			continue
		}
		calls++
	}
	return float64(calls*parts) / time.Since(began).Seconds(), nil
}

// repeated calls a script so often, one call after the other, and returns how many of its parts were done in a second.
func repeated(ctx context.Context, o *options, s *load.Service, script, want string, parts int) (float64, error) {
	c, err := load.Dial(ctx, s.Address)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	request := s.Query(script, "sync")
	began := time.Now()
	for range o.repeat {
		body, err := c.Ask(request)
		if err == nil {
			err = wantResult(body, "ok", want)
		}
		if err != nil {
			return 0, err
		}
	}
	return float64(o.repeat*parts) / time.Since(began).Seconds(), nil
}

// reads calls a script for as long as other parts load a service, and not just so often: that would be some 30 ms, with the first call
// after others in it.
func reads(ctx context.Context, o *options, s *load.Service) (float64, error) {
	return lasting(ctx, o, s, fmt.Sprintf(`
		SET ?sum AS 0
		FOR ?i FROM 1 TO %d DO
			SELECT id, name, total FROM items WHERE id = ?i SET ROW ?row
			SET ?sum AS ?sum + ?row.id
		END
		EMIT ?sum`, readsEach), fmt.Sprint(readsEach*(readsEach+1)/2), readsEach)
}

func changes(ctx context.Context, o *options, s *load.Service) (float64, error) {
	rate, err := repeated(ctx, o, s, fmt.Sprintf(`
		FOR ?i FROM 1 TO %d DO
			INSERT INTO added (name, total) VALUES ('a name of some length', ?i);
		END
		EMIT "made"`, changesEach), "made", changesEach)
	return rate, errors.Join(err, emptied(ctx, s))
}

func transactions(ctx context.Context, o *options, s *load.Service) (float64, error) {
	rate, err := repeated(ctx, o, s, `
		TRANSACTION
			FOR ?i FROM 1 TO 1000 DO
				INSERT INTO added (name, total) VALUES ('a name of some length', ?i);
			END
		END
		EMIT "made"`, "made", 1)
	return rate, errors.Join(err, emptied(ctx, s))
}

// emptied empties the table that changes go to, so that each measurement finds the same.
func emptied(ctx context.Context, s *load.Service) error {
	return ask(ctx, s, `DELETE FROM added; EMIT "gone"`, "gone")
}

// claimed returns how many jobs a second were submitted at one node, and claimed and done by another, which has
// the databases of their account.
func (in *instances) claimed(ctx context.Context, o *options) (float64, error) {
	home, elsewhere := in.nodes[0], in.nodes[1]
	if err := ask(ctx, home, atHome, "hello"); err != nil {
		return 0, err
	}
	before, err := completed(ctx, home)
	if err != nil {
		return 0, err
	}
	rate, n, err := submitted(ctx, o, atHome, []*load.Service{elsewhere}, in.nodes...)
	if err != nil {
		return 0, err
	}
	after, err := completed(ctx, home)
	if err == nil && after-before < n {
		err = fmt.Errorf("%d of %d jobs ran elsewhere than where the databases are", n-after+before, n)
	}
	return rate, err
}

// statementsByJob returns how many statements PostgreSQL got for each job, with as many clients at each node.
func (in *instances) statementsByJob(ctx context.Context, o *options, database string, nodes []*load.Service) (float64, error) {
	before, err := in.statements(ctx, database)
	if err != nil {
		return 0, err
	}
	_, n, err := submitted(ctx, o, trivial, nodes, nodes...)
	if err != nil {
		return 0, err
	}
	after, err := in.statements(ctx, database)
	return (after - before) / float64(n), err
}

// submitted has clients submit jobs at nodes, and returns how many were completed in a second, from the first call to
// the last end, and how many that were with those that opened the connections.
func submitted(ctx context.Context, o *options, script string, at []*load.Service, runs ...*load.Service) (rate float64, n int, err error) {
	before, err := completed(ctx, runs...)
	if err != nil {
		return 0, 0, err
	}
	var crowds []*load.Connections
	defer func() {
		for _, c := range crowds {
			c.Close()
		}
	}()
	for _, s := range at {
		c, err := load.Gather(ctx, &load.Target{
			Name: "async", Address: s.Address, Request: s.Query(script, "async"),
			Check: func(body []byte) error { return wantResult(body, "accepted", "") },
		}, o.clients)
		if err != nil {
			return 0, 0, err
		}
		crowds = append(crowds, c)
		n += o.clients
	}
	if err := awaitCompleted(ctx, before+n, runs...); err != nil {
		return 0, 0, err
	}
	loads, errs := make([]*load.Measured, len(crowds)), make([]error, len(crowds))
	began := time.Now()
	var group sync.WaitGroup
	for i, c := range crowds {
		group.Go(func() { loads[i], errs[i] = c.Load(ctx, load.Plan{Lasting: o.each}) })
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		return 0, 0, err
	}
	calls := 0
	for _, m := range loads {
		calls += m.Calls()
	}
	n += calls
	err = awaitCompleted(ctx, before+n, runs...)
	return float64(calls) / time.Since(began).Seconds(), n, err
}

// completed returns how many scripts nodes have run to their end.
func completed(ctx context.Context, nodes ...*load.Service) (n int, err error) {
	for _, s := range nodes {
		v, err := s.Metrics(ctx, `ql_run_duration_seconds_count{state="complete"}`)
		if err != nil {
			return 0, err
		}
		n += int(v[0])
	}
	return n, nil
}

// awaitCompleted returns when so many scripts have run to their end.
func awaitCompleted(ctx context.Context, n int, nodes ...*load.Service) error {
	// Asking is work of the service, too: the more jobs are left, the later it is asked again.
	const least, perJob, patience = time.Millisecond, 10 * time.Microsecond, 2 * time.Minute
	for end := time.Now().Add(patience); ; {
		got, err := completed(ctx, nodes...)
		switch {
		case err != nil:
			return err
		case got >= n:
			return nil
		case time.Now().After(end):
			return fmt.Errorf("of %d jobs %d were not completed in time", n, n-got)
		}
		if err := load.Pause(ctx, max(least, perJob*time.Duration(n-got))); err != nil {
			return err
		}
	}
}

// rotation returns within how many milliseconds half of the rotations of the account's key are answered.
func rotation(ctx context.Context, o *options, s *load.Service) (float64, error) {
	c, err := load.Dial(ctx, s.Address)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	request := load.PostBy(s.Address, "/v1/account/key", "application/json", "", s.Password)
	var took []float64
	for range o.rotations {
		began := time.Now()
		if err := c.Call(request); err != nil {
			return 0, err
		}
		took = append(took, time.Since(began).Seconds()*1e3)
	}
	return load.Median(took), nil
}
