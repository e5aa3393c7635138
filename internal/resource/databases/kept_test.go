package databases

import (
	"context"
	"errors"
	"testing"

	"ql/lang/bytecode"
)

// keeping returns how many idle connections of main keep what they see.
func keeping(t testing.TB, d *Databases) (n int) {
	t.Helper()
	db, err := d.acquire("main")
	if err != nil {
		t.Fatal(err)
	}
	defer d.release(db)
	db.mu.Lock()
	defer db.mu.Unlock()
	for _, c := range db.idleReaders {
		if c.db.InTransaction() != c.kept.open {
			t.Error("a connection does not know what it keeps")
		}
		if c.kept.open {
			n++
		}
	}
	return n
}

// keep reads until a connection keeps what it sees.
func keep(t testing.TB, d *Databases) {
	t.Helper()
	for range 3 {
		must(t, d, "SELECT count(*) AS n FROM t")
	}
	if keeping(t, d) != 1 {
		t.Error("no connection keeps what it sees")
	}
}

// TestKeptReadsSeeChanges: a connection that keeps what it sees shows what others have committed, here and elsewhere.
func TestKeptReadsSeeChanges(t *testing.T) {
	d := open(t, Options{})
	must(t, d, "CREATE TABLE t(x)")
	sees := func(what, want string) {
		t.Helper()
		if got := must(t, d, "SELECT count(*) AS n FROM t"); got != want {
			t.Errorf("%s: %s, not %s", what, got, want)
		}
	}
	keep(t, d)
	must(t, d, "INSERT INTO t VALUES (1)")
	sees("after a change", `[{"n":1}]`)
	keep(t, d)
	elsewhere := open(t, Options{Folder: d.options.Folder})
	must(t, elsewhere, "INSERT INTO t VALUES (2)")
	if keeping(t, d) != 1 {
		t.Error("nobody here has written")
	}
	sees("after a change elsewhere", `[{"n":2}]`)
	keep(t, d)
	must(t, elsewhere, "DROP TABLE t")
	if got := rows(t, d, "SELECT count(*) AS n FROM t"); got != "no_such_table" {
		t.Errorf("without its table: %s", got)
	}
	must(t, elsewhere, "CREATE TABLE t(x, y)")
	sees("another table", `[{"n":0}]`)
	keep(t, d)
	must(t, elsewhere, "INSERT INTO t VALUES (1, 2)")
	if got := must(t, d, "SELECT * FROM t"); got != `[{"x":1,"y":2}]` {
		t.Errorf("the row: %s", got)
	}
}

// TestNothingIsKeptBesideWriters: who writes or makes a checkpoint finds no idle connection that reads, nor does one
// become so meanwhile.
func TestNothingIsKeptBesideWriters(t *testing.T) {
	r := &sharedStorage{bytes: 100 << 20}
	d := open(t, Options{Storage: r})
	must(t, d, "CREATE TABLE t(x)")
	keep(t, d)
	tx, err := d.Begin(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if keeping(t, d) != 0 {
		t.Error("something is kept beside a transaction")
	}
	if _, err := tx.Query(t.Context(), query(bytecode.SQLRows, "INSERT INTO t VALUES (1)")); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		if got := must(t, d, "SELECT count(*) AS n FROM t"); got != `[{"n":0}]` {
			t.Errorf("before the commit: %s", got)
		}
		if keeping(t, d) != 0 {
			t.Error("something is kept beside a transaction that is under way")
		}
	}
	if err := tx.Commit(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	keep(t, d)
	if logsOnDisk(d, "main") == 0 {
		t.Error("there is no log")
	}
	d.CheckpointIdle()
	if keeping(t, d) != 0 || logsOnDisk(d, "main") != 0 {
		t.Errorf("%d connections keep something after a checkpoint, and %d bytes of the log are left", keeping(t, d), logsOnDisk(d, "main"))
	}
	keep(t, d)
	must(t, d, fill(2000)) // larger than stays
	if got := logsOnDisk(d, "main"); got != 0 {
		t.Errorf("a log of %d bytes stays", got)
	}
}

// TestNothingIsKeptAfterErrors: a read that fails, or whose context ends, keeps nothing.
func TestNothingIsKeptAfterErrors(t *testing.T) {
	d := open(t, Options{})
	must(t, d, "CREATE TABLE t(x)")
	keep(t, d)
	if got := rows(t, d, "SELECT abs(-9223372036854775808) FROM (SELECT count(*) FROM t)"); got != sqlError {
		t.Errorf("it gave %s", got)
	}
	if keeping(t, d) != 0 {
		t.Error("something is kept after an error")
	}
	keep(t, d)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Query(ctx, "", query(bytecode.SQLRows, "SELECT * FROM t")); !errors.Is(err, context.Canceled) {
		t.Errorf("it gave %v", err)
	}
	if got := must(t, d, "SELECT count(*) AS n FROM t"); got != `[{"n":0}]` {
		t.Errorf("afterwards: %s", got)
	}
}

// TestKeptReadsCostTheSame: a read costs as much fuel where its connection keeps what it sees as where it begins anew.
func TestKeptReadsCostTheSame(t *testing.T) {
	d := open(t, Options{})
	must(t, d, "CREATE TABLE t(id INTEGER PRIMARY KEY, n, x)")
	must(t, d, "CREATE INDEX i ON t(n)")
	must(t, d, "CREATE TABLE other(y)")
	must(t, d, "CREATE VIEW v AS SELECT n, x FROM t WHERE id < 50")
	must(t, d, "INSERT INTO t (n, x) WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c LIMIT 300) SELECT i * 7919 % 3001, printf('%.500c', 'a') FROM c")
	for _, sql := range []string{
		"SELECT * FROM t WHERE id = 77",
		"SELECT * FROM t WHERE id = 7777",
		"SELECT count(*), sum(n) FROM t",
		"SELECT a.n FROM t a JOIN t b ON a.n = b.id",
		"SELECT n FROM v ORDER BY x, n DESC",
		"SELECT x FROM t WHERE n IN (SELECT n FROM t WHERE n > 2000)",
		"SELECT name FROM sqlite_schema",
		"SELECT 1",
		"WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c LIMIT 300) SELECT sum(i) FROM c",
		"VALUES (1), (2)",
		"EXPLAIN SELECT * FROM t WHERE id = 77",
		"EXPLAIN QUERY PLAN SELECT * FROM t WHERE id = 77",
	} {
		q := query(bytecode.SQLRows, sql)
		cost := func() int64 {
			q.Meter = fueled(1 << 40)
			if _, err := d.Query(t.Context(), "", q); err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
			return q.Meter.Used()
		}
		cost() // it is prepared
		must(t, d, "INSERT INTO other VALUES (1)")
		var costs []int64
		for range 4 {
			costs = append(costs, cost())
		}
		if keeping(t, d) != 1 {
			t.Errorf("%s: nothing is kept", sql)
		}
		for _, c := range costs {
			if c != costs[0] {
				t.Errorf("%s\ncosts %d", sql, costs)
				break
			}
		}
	}
}
