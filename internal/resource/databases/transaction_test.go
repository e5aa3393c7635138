package databases

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"ql/internal/engine"
	"ql/lang/bytecode"
	"ql/lang/value"
)

func begin(t *testing.T, d *Databases) engine.Tx {
	t.Helper()
	tx, err := d.Begin(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	return tx
}

func in(t *testing.T, tx engine.Tx, savepoint bool, sql string, params ...value.Value) string {
	t.Helper()
	q := query(bytecode.SQLRows, sql, params...)
	q.Savepoint = savepoint
	return outcome(t)(tx.Query(t.Context(), q))
}

func TestTransaction(t *testing.T) {
	d := open(t, Options{})
	must(t, d, "CREATE TABLE t(a UNIQUE)")
	count := func() string { return must(t, d, "SELECT count(*) AS n FROM t") }

	tx := begin(t, d)
	in(t, tx, false, "INSERT INTO t VALUES (1)")
	if got := in(t, tx, false, "SELECT a FROM t"); got != `[{"a":1}]` {
		t.Errorf("inside: %s", got)
	}
	if got := count(); got != `[{"n":0}]` {
		t.Errorf("outside, before the end: %s", got)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if got := count(); got != `[{"n":0}]` {
		t.Errorf("after Rollback: %s", got)
	}

	tx = begin(t, d)
	in(t, tx, false, "INSERT INTO t VALUES (1)")
	if err := tx.Commit(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if got := count(); got != `[{"n":1}]` {
		t.Errorf("after Commit: %s", got)
	}
	for range 2 {
		if err := tx.Commit(t.Context(), nil); err != nil {
			t.Errorf("again: %v", err)
		}
		if err := tx.Rollback(); err != nil {
			t.Errorf("Rollback after Commit: %v", err)
		}
	}
	if got := in(t, tx, false, "INSERT INTO t VALUES (2)"); got != "transaction_ended" {
		t.Errorf("after the end: %s", got)
	}

	tx = begin(t, d)
	for range 2 {
		if err := tx.Rollback(); err != nil {
			t.Error(err)
		}
	}
	if got := outcome(t)(value.Null, tx.Commit(t.Context(), nil)); got != "transaction_ended" {
		t.Errorf("Commit after Rollback: %s", got)
	}
}

func TestSavepoint(t *testing.T) {
	d := open(t, Options{})
	must(t, d, "CREATE TABLE t(a UNIQUE)")
	tx := begin(t, d)
	for _, step := range []struct {
		savepoint bool
		sql, want string
	}{
		{false, "INSERT INTO t VALUES (1)", `{"changes":1,"last_id":1}`},
		{true, "INSERT INTO t VALUES (2)", `{"changes":1,"last_id":2}`},
		// FAIL keeps the rows before the one that breaks the rule.
		{true, "INSERT OR FAIL INTO t VALUES (3), (1)", "unique"},
		{true, "INSERT INTO t VALUES (4), (1)", "unique"},
		{true, "INSERT INTO t VALUES (5) RETURNING a, a", "duplicate_column"},
		{true, "SELECT nonsense", "no_such_column"},
		{false, "SELECT group_concat(a) AS all_of_them FROM t", `[{"all_of_them":"1,2"}]`},
		{true, "COMMIT", "sql_denied"},
		{true, "ROLLBACK TO ql", "sql_denied"},
	} {
		if got := in(t, tx, step.savepoint, step.sql); got != step.want {
			t.Errorf("%s: got %s, want %s", step.sql, got, step.want)
		}
	}
	q := query(bytecode.SQLRows, "INSERT INTO t VALUES (6) RETURNING hex(zeroblob(100000))")
	q.Savepoint, q.Meter = true, meter(1000)
	if got := outcome(t)(tx.Query(t.Context(), q)); got != "limit memory" {
		t.Errorf("a limit: %s", got)
	}
	if err := tx.Commit(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if got := must(t, d, "SELECT group_concat(a) AS all_of_them FROM t"); got != `[{"all_of_them":"1,2"}]` {
		t.Errorf("in the end: %s", got)
	}
}

// TestTransactionThatEndsItself shows that nothing runs outside a transaction
// that its script believes to be open.
func TestTransactionThatEndsItself(t *testing.T) {
	d := open(t, Options{})
	must(t, d, "CREATE TABLE t(a UNIQUE)")
	for _, savepoint := range []bool{false, true} {
		tx := begin(t, d)
		in(t, tx, savepoint, "INSERT INTO t VALUES (1)")
		if got := in(t, tx, savepoint, "INSERT OR ROLLBACK INTO t VALUES (1)"); got != "unique" {
			t.Errorf("OR ROLLBACK: %s", got)
		}
		if got := in(t, tx, savepoint, "INSERT INTO t VALUES (2)"); got != "transaction_ended" {
			t.Errorf("after it: %s", got)
		}
		if got := outcome(t)(value.Null, tx.Commit(t.Context(), nil)); got != "transaction_ended" {
			t.Errorf("Commit: %s", got)
		}
		if err := tx.Rollback(); err != nil {
			t.Error(err)
		}

		tx = begin(t, d)
		in(t, tx, savepoint, "INSERT INTO t VALUES (1)")
		ctx, cancel := context.WithCancel(t.Context())
		started := &signalled{Context: ctx, asked: make(chan struct{})}
		go func() { <-started.asked; cancel() }()
		q := query(bytecode.SQLRows, "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) INSERT INTO t SELECT x FROM c WHERE x > 1")
		q.Savepoint = savepoint
		if got := outcome(t)(tx.Query(started, q)); got != "context" {
			t.Errorf("an ended context: %s", got)
		}
		if err := tx.Rollback(); err != nil {
			t.Error(err)
		}
		if got := must(t, d, "SELECT count(*) AS n FROM t"); got != `[{"n":0}]` {
			t.Errorf("something stayed: %s", got)
		}
	}
}

func TestCommitThatFails(t *testing.T) {
	d := open(t, Options{})
	must(t, d, "CREATE TABLE parent(id INTEGER PRIMARY KEY)")
	must(t, d, "CREATE TABLE child(p REFERENCES parent(id) DEFERRABLE INITIALLY DEFERRED)")
	tx := begin(t, d)
	in(t, tx, false, "INSERT INTO child VALUES (7)")
	if got := outcome(t)(value.Null, tx.Commit(t.Context(), nil)); got != "foreign_key" {
		t.Errorf("Commit: %s", got)
	}
	// It is still open, and can be put right.
	in(t, tx, false, "INSERT INTO parent VALUES (7)")
	if err := tx.Commit(t.Context(), nil); err != nil {
		t.Error(err)
	}
	if got := must(t, d, "SELECT count(*) AS n FROM child"); got != `[{"n":1}]` {
		t.Error(got)
	}
}

func TestWritersWait(t *testing.T) {
	folder := t.TempDir()
	d := open(t, Options{Folder: folder, Busy: time.Millisecond})
	must(t, d, "CREATE TABLE t(a)")
	tx := begin(t, d)
	if got := rows(t, d, "INSERT INTO t VALUES (1)"); got != "database_busy" {
		t.Errorf("a second writer: %s", got)
	}
	if got := rows(t, d, "SELECT count(*) AS n FROM t"); got != `[{"n":0}]` {
		t.Errorf("a reader: %s", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Begin(ctx, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("a second writer that may not wait: %v", err)
	}
	// The same from another process, or what looks like one.
	other := open(t, Options{Folder: folder, Busy: time.Millisecond})
	if got := rows(t, other, "INSERT INTO t VALUES (1)"); got != "database_busy" {
		t.Errorf("a writer elsewhere: %s", got)
	}
	if _, err := other.Begin(t.Context(), ""); outcome(t)(value.Null, err) != "database_busy" {
		t.Errorf("a transaction elsewhere: %v", err)
	}
	if err := tx.Commit(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	must(t, d, "INSERT INTO t VALUES (1)")
	must(t, other, "INSERT INTO t VALUES (1)")
}

// TestEndedCallersHoldNothing calls a free database for callers that have gone.
func TestEndedCallersHoldNothing(t *testing.T) {
	d := open(t, Options{Readers: 1, Busy: time.Millisecond})
	must(t, d, "CREATE TABLE t(a)")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, sql := range []string{"INSERT INTO t VALUES (1)", "SELECT a FROM t"} {
		if got := outcome(t)(d.Query(ctx, "", query(bytecode.SQLRows, sql))); got != "context" {
			t.Errorf("%s: %s", sql, got)
		}
	}
	if _, err := d.Begin(ctx, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("Begin: %v", err)
	}
	if _, err := d.Receipts(ctx, "main", [16]byte{1}, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("Receipts: %v", err)
	}
	must(t, d, "INSERT INTO t VALUES (1)")
	must(t, d, "SELECT a FROM t")
}

func TestManyWriters(t *testing.T) {
	t.Parallel()
	d := open(t, Options{Busy: time.Minute})
	must(t, d, "CREATE TABLE t(id INTEGER PRIMARY KEY, n INTEGER)")
	must(t, d, "INSERT INTO t VALUES (1, 0)")
	const workers, rounds = 16, 20
	var group sync.WaitGroup
	errs := make(chan error, workers)
	for w := range workers {
		group.Go(func() {
			for i := range rounds {
				if err := step(t.Context(), d, w, i); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	group.Wait()
	close(errs)
	for err := range errs {
		t.Error(err)
	}
	want := fmt.Sprintf(`[{"n":%d}]`, workers*rounds)
	if got := must(t, d, "SELECT n FROM t"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// step adds one: by one statement or by a transaction that reads first.
func step(ctx context.Context, d *Databases, worker, round int) error {
	if (worker+round)%2 == 0 {
		_, err := d.Query(ctx, "", query(bytecode.SQLRows, "UPDATE t SET n = n + 1"))
		return err
	}
	tx, err := d.Begin(ctx, "")
	if err != nil {
		return err
	}
	defer tx.Rollback()
	v, err := tx.Query(ctx, query(bytecode.SQLValue, "SELECT n FROM t"))
	if err != nil {
		return err
	}
	if _, err := tx.Query(ctx, query(bytecode.SQLRows, "UPDATE t SET n = ¿", value.Int(v.Int64()+1))); err != nil {
		return err
	}
	return tx.Commit(ctx, nil)
}
