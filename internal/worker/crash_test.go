package worker

import (
	"context"
	"strings"
	"testing"

	"ql/internal/engine"
	"ql/internal/job"
	"ql/lang/value"
)

// stuckDatabases answers so many queries, and holds the next one for ever, as far
// as its process is concerned.
type stuckDatabases struct {
	engine.Databases
	free  int
	held  chan struct{}
	until chan struct{}
}

func (d *stuckDatabases) Query(ctx context.Context, name string, q engine.Query) (value.Value, error) {
	if d.free > 0 {
		d.free--
		return d.Databases.Query(ctx, name, q)
	}
	d.held <- struct{}{}
	<-d.until
	return value.Null, context.Canceled
}

// crashing is a world whose processes end at a query, one after the other: each
// that follows finds the job as the one before has left it.
func crashing(t *testing.T) (*world, *stuckDatabases) {
	stuck := &stuckDatabases{held: make(chan struct{}), until: make(chan struct{})}
	return newWorld(t, faults{databases: func(d engine.Databases) engine.Databases {
		stuck.Databases = d
		return stuck
	}}), stuck
}

// TestGivesUpWhatEndsTheProcess has a job end one process after the other: it is
// not tried for ever.
func TestGivesUpWhatEndsTheProcess(t *testing.T) {
	e, stuck := crashing(t)
	defer close(stuck.until)
	id := e.submit(`SELECT 1 AS one SET VALUE ?x`)
	for range mostCrashes + 1 {
		<-stuck.held
		e.start()
	}
	if v := e.await(id, job.Failed); !strings.Contains(string(v.Error), `"code":"internal"`) {
		t.Errorf("it failed with %s", v.Error)
	}
}

// TestGoesOnAfterCrashes has a job get on a little before each crash: then it is
// not given up, however many there are.
func TestGoesOnAfterCrashes(t *testing.T) {
	e, stuck := crashing(t)
	defer close(stuck.until)
	const crashes = 3 * mostCrashes
	id := e.submit("FOR ?i FROM 1 TO 20 DO\nAPPEND \"x\" TO FILE \"/x.txt\"\nSELECT 1 AS one SET VALUE ?x\nEND\nREAD \"/x.txt\" AS TEXT SET ?t\nEMIT ?t")
	for n := range crashes {
		<-stuck.held
		if stuck.free = 1; n == crashes-1 {
			stuck.free = 100
		}
		e.start()
	}
	e.wantResult(id, strings.Repeat("x", 20))
}
