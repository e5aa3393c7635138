package worker

import (
	"context"
	"math"
	"path/filepath"
	"testing"
	"time"

	"ql/internal/engine"
	"ql/internal/job"
	"ql/internal/sqlite"
	"ql/lang/value"
)

// TestReceiptsAreForgottenOnATicketOfTheirOwn ends jobs that leave much to remove in a
// database, which takes turns: the slots that those take are given back.
func TestReceiptsAreForgottenOnATicketOfTheirOwn(t *testing.T) {
	e := newWorld(t, faults{})
	e.wantResult(e.submit(`CREATE TABLE t (n INTEGER); EMIT "made"`), "made")
	for range 2 {
		e.await(e.submit("TRANSACTION\nFOR ?i FROM 1 TO 30000 DO\nINSERT INTO t VALUES (?i);\nEND\nEND"), job.Complete)
	}
	e.wantResult(e.submit("SELECT count(*) FROM t SET VALUE ?n\nEMIT ?n"), "60000")
	check(t, e.w.Stop(context.Background()))
	e.w.checkIdle(t)
	for _, table := range []string{"_ql_receipts", "_ql_marks"} {
		if n := e.hidden(table); n != 0 {
			t.Errorf("%d rows stay in %s", n, table)
		}
	}
}

// hidden counts the rows of a table that scripts do not see.
func (e *world) hidden(table string) (n int64) {
	e.t.Helper()
	return e.number(filepath.Join("databases", "main.db"), "SELECT count(*) FROM "+table)
}

// number asks a file of the world's folder for one.
func (e *world) number(file, sql string) (n int64) {
	e.t.Helper()
	ctx := context.Background()
	c, err := sqlite.Open(filepath.Join(e.folder, file), sqlite.Config{Busy: time.Second})
	check(e.t, err)
	defer c.Close()
	s, _, err := c.Prepare(ctx, sql)
	check(e.t, err)
	defer s.Close()
	_, err = s.Step(ctx)
	check(e.t, err)
	return s.Int(0)
}

// exec changes a file of the world's folder from outside.
func (e *world) exec(file, sql string) {
	e.t.Helper()
	c, err := sqlite.Open(filepath.Join(e.folder, file), sqlite.Config{Busy: 5 * time.Second})
	check(e.t, err)
	check(e.t, c.Exec(context.Background(), sql))
	check(e.t, c.Close())
}

// lateForgets holds back the removal of receipts.
type lateForgets struct {
	engine.Databases
	asked chan int64
	begin chan struct{}
	done  chan struct{}
}

func (d lateForgets) DeleteReceipts(ctx context.Context, name string, id [16]byte, upTo int64) error {
	d.asked <- upTo
	<-d.begin
	defer func() { d.done <- struct{}{} }()
	return d.Databases.DeleteReceipts(ctx, name, id, upTo)
}

// TestLateForgetLeavesWhatCameSince removes the receipts of an attempt that stands
// only when the next one has left its own: those stay, and a change that was made is
// not made again.
func TestLateForgetLeavesWhatCameSince(t *testing.T) {
	late := lateForgets{asked: make(chan int64, 8), begin: make(chan struct{}), done: make(chan struct{}, 8)}
	held := &heldQueries{after: 3, held: make(chan struct{}), until: make(chan struct{})}
	e := newWorld(t, faults{databases: func(d engine.Databases) engine.Databases {
		late.Databases = d
		held.Databases = late
		return held
	}})
	defer close(held.until)
	id := e.submit("CREATE TABLE t (n INTEGER);\nCONFIRM \"go on\"\nINSERT INTO t VALUES (1);\nSELECT count(*) FROM t SET VALUE ?n\nEMIT ?n")
	e.await(id, job.Paused)
	<-late.asked // of the attempt that stands
	yes := true
	check(t, e.reply(context.Background(), id, Reply{Approved: &yes}))
	<-held.held // the next one has inserted its row
	close(late.begin)
	<-late.done
	held.after = math.MaxInt
	e.start() // the one before has ended with its process
	e.wantResult(id, "1")
}

// heldQueries answers so many queries, and holds one.
type heldQueries struct {
	engine.Databases
	after int
	held  chan struct{}
	until chan struct{}
}

func (d *heldQueries) count(ctx context.Context) error {
	if d.after--; d.after == 0 {
		engine.Yield(ctx)
		d.held <- struct{}{}
		<-d.until
		return context.Canceled
	}
	return nil
}

func (d *heldQueries) Query(ctx context.Context, name string, q engine.Query) (value.Value, error) {
	if err := d.count(ctx); err != nil {
		return value.Null, err
	}
	return d.Databases.Query(ctx, name, q)
}
