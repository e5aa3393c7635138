package worker

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"ql/internal/engine"
	"ql/internal/job"
	"ql/internal/journal"
	"ql/lang/value"
)

// parts looks at the parts of journals that are kept by themselves.
type parts struct {
	job.Queue
	n, largest, saves atomic.Int64
}

func (q *parts) AppendJournal(ctx context.Context, l job.Lease, e job.JournalEntry) error {
	q.n.Add(1)
	q.largest.Store(max(q.largest.Load(), int64(len(e.Entries))))
	return q.Queue.AppendJournal(ctx, l, e)
}

func (q *parts) SaveSnapshot(ctx context.Context, l job.Lease, s []byte, p job.Progress) error {
	q.saves.Add(1)
	return q.Queue.SaveSnapshot(ctx, l, s, p)
}

const makeBig = "CREATE TABLE big (t TEXT);\nSET ?t AS REPEAT(\"x\", 100000)\nINSERT INTO big VALUES (?t);\nCREATE TABLE seen (n INTEGER);\nINSERT INTO seen VALUES (1);\nEMIT 1"

// TestReadsInsideATransaction reads much inside one: it does not wait in memory, and
// has an end.
func TestReadsInsideATransaction(t *testing.T) {
	q := &parts{}
	e := newWorld(t, faults{queue: func(real job.Queue) job.Queue { q.Queue = real; real.Attempts = q; return real }})
	e.wantResult(e.submit(makeBig), "1")
	read := func(times string) job.ID {
		s := e.submission("SET ?sum AS 0\nTRANSACTION\nFOR ?i FROM 1 TO " + times + " DO\nSELECT t FROM big LIMIT 1 SET VALUE ?v\nSET ?sum AS ?sum + LENGTH(?v)\nEND\nEND\nEMIT ?sum")
		s.Limits.SnapshotBytes = 1 << 20
		_, err := e.w.Submit(context.Background(), s)
		check(t, err)
		return s.Summary.ID
	}
	e.wantResult(read("100"), "10000000")
	if n, largest := q.n.Load(), q.largest.Load(); n < 20 || largest > journal.MaxPending+150_000 {
		t.Errorf("%d parts of at most %d bytes were kept", n, largest)
	}
	v := e.await(read("800"), job.Failed)
	if !strings.Contains(string(v.Error), `"code":"limit_exceeded","message":"what a job reads inside a TRANSACTION`) {
		t.Errorf("it failed with %s", v.Error)
	}
}

// scenes holds the query that comes after so many.
func scenes(t *testing.T, after int) (*world, *heldQueries) {
	held := &heldQueries{after: math.MaxInt, held: make(chan struct{}), until: make(chan struct{})}
	e := newWorld(t, faults{databases: func(d engine.Databases) engine.Databases { held.Databases = heldTx{d, held}; return held }})
	e.wantResult(e.submit(makeBig), "1")
	held.after = after
	return e, held
}

// heldTx counts the queries inside transactions too.
type heldTx struct {
	engine.Databases
	held *heldQueries
}

func (d heldTx) Begin(ctx context.Context, name string) (engine.Tx, error) {
	tx, err := d.Databases.Begin(ctx, name)
	return countedTx{tx, d.held}, err
}

type countedTx struct {
	engine.Tx
	held *heldQueries
}

func (x countedTx) Query(ctx context.Context, q engine.Query) (value.Value, error) {
	if err := x.held.count(ctx); err != nil {
		return value.Null, err
	}
	return x.Tx.Query(ctx, q)
}

const readInside = "SELECT n FROM seen SET VALUE ?n\nFOR ?i FROM 1 TO 20 DO\nSELECT t FROM big LIMIT 1 SET VALUE ?v\nEND\n"

// TestCrashInsideATransaction ends the process in one, after some of what was read in it
// was kept: another attempt begins it again, and reads what is there then.
func TestCrashInsideATransaction(t *testing.T) {
	e, held := scenes(t, 15)
	id := e.submit("TRANSACTION\n" + readInside + "INSERT INTO seen VALUES (5);\nEND\nSELECT count(*) FROM seen SET VALUE ?c\nEMIT \"{?n} {?c}\"")
	<-held.held
	if n := e.number("ql.db", "SELECT count(*) FROM job_journal WHERE step < -1000"); n == 0 {
		t.Error("nothing was kept apart")
	}
	held.after = math.MaxInt
	close(held.until) // its transaction ends with it
	check(t, e.w.Stop(context.Background()))
	e.exec(filepath.Join("databases", "main.db"), "UPDATE seen SET n = 7")
	e.start()
	e.wantResult(id, "7 2")
}

// TestCrashAfterATransaction ends the process after one, and after one that was rolled
// back: what was read in it is told again, though it has changed since.
func TestCrashAfterATransaction(t *testing.T) {
	for name, end := range map[string]string{
		"commit":   "INSERT INTO seen VALUES (5);\nEND\n",
		"rollback": "INSERT INTO nowhere VALUES (5);\nEND\n",
	} {
		e, held := scenes(t, 23)
		before, after := "TRANSACTION\n", ""
		if name == "rollback" {
			before, after = "TRY\nTRANSACTION\n", "CATCH ?e\nAPPEND \"x\" TO FILE \"/x\"\nEND\n"
		}
		id := e.submit(before + readInside + end + after + "SELECT count(*) FROM big SET VALUE ?c\nEMIT \"{?n} {=LENGTH(?v)}\"")
		<-held.held
		held.after = math.MaxInt
		e.wantResult(e.submit("UPDATE seen SET n = 9;\nUPDATE big SET t = '';\nEMIT 1"), "1")
		e.start()
		e.wantResult(id, "1 100000")
		close(held.until)
	}
}

// TestLargeStateIsNotTriedAgain runs a job whose state is too large to be stored: its
// journal is kept all the same, and the state is not encoded at each effect.
func TestLargeStateIsNotTriedAgain(t *testing.T) {
	q := &parts{}
	e := newWorld(t, faults{queue: func(real job.Queue) job.Queue { q.Queue = real; real.Attempts = q; return real }})
	effects := 100_000
	parts := int64(10)
	if testing.Short() { // as under the race detector, where they take half a minute
		effects, parts = 10_000, 3
	}
	s := e.submission(fmt.Sprintf("SET ?all AS REPEAT(\"x\", 3000000)\nFOR ?i FROM 1 TO %d DO\nSET ?u AS UUID()\nEND\nEMIT LENGTH(?all)", effects))
	s.Limits.SnapshotBytes = 1 << 20
	_, err := e.w.Submit(context.Background(), s)
	check(t, err)
	e.wantResult(s.Summary.ID, "3000000")
	if n, largest := q.n.Load(), q.largest.Load(); n < parts || largest > 2*journal.MaxPending || q.saves.Load() != 0 {
		t.Errorf("%d parts of at most %d bytes were kept, %d snapshots", n, largest, q.saves.Load())
	}
}

// stages lets each query wait for a word.
type stages struct {
	engine.Databases
	at chan chan bool // gets what says whether it is done; else it never ends
}

func (d *stages) Query(ctx context.Context, name string, q engine.Query) (value.Value, error) {
	engine.Yield(ctx)
	on := make(chan bool)
	d.at <- on
	if !<-on {
		return value.Null, context.Canceled
	}
	return d.Databases.Query(ctx, name, q)
}

// TestWhatWasShownIsKept looks at a job whose process ends then: another attempt comes
// to what was shown.
func TestWhatWasShownIsKept(t *testing.T) {
	d := &stages{at: make(chan chan bool)}
	e := newWorld(t, faults{databases: func(real engine.Databases) engine.Databases { d.Databases = real; return d }})
	id := e.submit("EMIT UUID()\nSELECT 1 AS one SET VALUE ?x\nSET ?u AS UUID()\nEMIT ?u\nSELECT 2 AS two SET VALUE ?x\nEMIT \" end\"")
	first := <-d.at
	look := func() string {
		v, err := e.w.View(context.Background(), id)
		check(t, err)
		return string(v.Result)
	}
	look() // it is shown by the next effect at the latest
	first <- true
	second := <-d.at
	shown := look()
	if len(shown) < 36 {
		t.Errorf("%q is shown", shown)
	}
	e.start()
	again := <-d.at // the first was kept: this is the second
	again <- true
	if got := e.await(id, job.Complete); !strings.HasPrefix(string(got.Result), shown) {
		t.Errorf("%q was shown, and it gave %q", shown, got.Result)
	}
	second <- false
}
