package worker

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"ql/internal/account"
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

func (d *stuckDatabases) wrap(real engine.Databases) engine.Databases {
	d.Databases = real
	return d
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
	return newWorld(t, faults{databases: stuck.wrap}), stuck
}

// TestGivesUpWhatEndsTheProcess has a job end one process after the other: it is
// not tried for ever.
func TestGivesUpWhatEndsTheProcess(t *testing.T) {
	e, stuck := crashing(t)
	defer close(stuck.until)
	id := e.submit(`SELECT 1 AS one SET VALUE ?x`)
	for range maxCrashes / job.CrashWeightAlone {
		<-stuck.held
		e.crash()
	}
	e.wantCrashed(id)
	if s := e.w.Stats(); s.Crashes != 1 || s.Finished != 1 {
		t.Errorf("the last process counted %+v", s)
	}
}

// crash starts the next process some time after the last one took its jobs.
func (e *world) crash(change ...func(*Options)) {
	e.t.Helper()
	e.jump(2 * earlyCrash)
	e.start(change...)
}

func (e *world) wantCrashed(id job.ID) {
	e.t.Helper()
	if v := e.await(id, job.Failed); !strings.Contains(string(v.Error), `"code":"crashed"`) {
		e.t.Errorf("it failed with %s", v.Error)
	}
}

// stuckSealer holds whoever opens something of a kind, as if that ended the process.
type stuckSealer struct {
	Sealer
	kind  string
	held  chan struct{}
	until chan struct{}
}

func (s *stuckSealer) Open(a account.ID, name string, sealed []byte) ([]byte, error) {
	if strings.HasPrefix(name, s.kind) {
		s.held <- struct{}{}
		<-s.until
		return nil, context.Canceled
	}
	return s.Sealer.Open(a, name, sealed)
}

// TestGivesUpWhatCannotBeLoaded has the process end while a job is loaded, whatever
// it was taken from: it is counted before anything of it is read, and can be stopped.
func TestGivesUpWhatCannotBeLoaded(t *testing.T) {
	for kind, script := range map[string]string{
		sealTask:     "WAIT 1 SECOND\nEMIT 1",
		sealSnapshot: "CONFIRM \"go on\" WITHIN 1 SECOND\nEMIT 1",
	} {
		for _, stops := range []bool{false, true} {
			s := &stuckSealer{kind: kind, held: make(chan struct{}), until: make(chan struct{})}
			sealing := func(o *Options) { s.Sealer, o.Sealer = o.Sealer, s }
			e := newWorld(t, faults{}, sealing)
			id := e.submit(script)
			for range maxCrashes/job.CrashWeightAlone - 1 {
				<-s.held
				e.crash(sealing)
			}
			<-s.held
			if stops {
				state, err := e.w.Cancel(context.Background(), id)
				check(t, err)
				if state != job.Running {
					t.Errorf("it is %s", state)
				}
				e.crash(sealing)
				e.await(id, job.Cancelled)
			} else {
				e.crash(sealing)
				e.wantCrashed(id)
			}
			close(s.until)
		}
	}
}

// namedDatabases holds queries of one database for ever, and those of another for a
// while.
type namedDatabases struct {
	engine.Databases
	began chan string
	until chan struct{}
	free  atomic.Bool
}

func (d *namedDatabases) Query(ctx context.Context, name string, q engine.Query) (value.Value, error) {
	engine.Yield(ctx)
	d.began <- name
	if name == "poison" || !d.free.Load() {
		<-d.until
		return value.Null, context.Canceled
	}
	return d.Databases.Query(ctx, name, q)
}

// TestNeighbourOfPoisonGoesOn has a job end its process beside others that compute:
// they are suspected together, tried one by one, and the right one is given up.
func TestNeighbourOfPoisonGoesOn(t *testing.T) {
	dbs := &namedDatabases{began: make(chan string, 16), until: make(chan struct{})}
	e := newWorld(t, faults{databases: func(d engine.Databases) engine.Databases { dbs.Databases = d; return dbs }})
	defer close(dbs.until)
	poison := e.submit("USE DATABASE \"poison\"\nSELECT 1 AS one SET VALUE ?x")
	var neighbours []job.ID
	for range 3 {
		neighbours = append(neighbours, e.submit("USE DATABASE \"other\"\nSELECT 1 AS one SET VALUE ?x\nEMIT ?x"))
	}
	for range job.SuspectCrashes / job.CrashWeight {
		for range 1 + len(neighbours) {
			<-dbs.began
		}
		e.crash()
	}
	dbs.free.Store(true)
	for range 2 { // that meet it alone
		for name := range dbs.began {
			if name == "poison" {
				break
			}
		}
		for len(dbs.began) > 0 {
			t.Errorf("%s was tried beside it", <-dbs.began)
		}
		e.crash()
	}
	e.wantCrashed(poison)
	for _, id := range neighbours {
		e.wantResult(id, "1")
	}
}

// TestGoesOnAfterCrashes has a job get on a little before each crash: then it is
// not given up, however many there are.
func TestGoesOnAfterCrashes(t *testing.T) {
	e, stuck := crashing(t)
	defer close(stuck.until)
	const crashes = 15
	id := e.submit("FOR ?i FROM 1 TO 20 DO\nAPPEND \"x\" TO FILE \"/x.txt\"\nSELECT 1 AS one SET VALUE ?x\nEND\nREAD \"/x.txt\" AS TEXT SET ?t\nEMIT ?t")
	for n := range crashes {
		<-stuck.held
		if stuck.free = 1; n == crashes-1 {
			stuck.free = 100
		}
		e.crash()
	}
	e.wantResult(id, strings.Repeat("x", 20))
}
