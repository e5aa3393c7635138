package databases

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ql/internal/engine"
	"ql/lang/bytecode"
	"ql/lang/value"
)

var theJob = [16]byte{1, 2, 3, 15: 9}

// receipt keeps a statement's result as JSON.
func receipt(attempt, step int64) *engine.Receipt {
	return &engine.Receipt{Job: theJob, Attempt: attempt, Step: step, Write: func(v value.Value) ([]byte, error) {
		return value.AppendJSON(nil, v), nil
	}}
}

// withReceipt runs SQL on main with a receipt.
func withReceipt(t testing.TB, d *Databases, r *engine.Receipt, sql string, params ...value.Value) (value.Value, error) {
	t.Helper()
	q := query(bytecode.SQLRows, sql, params...)
	q.Receipt = r
	return d.Query(t.Context(), "", q)
}

// found returns the receipts that an attempt finds, as "step: kept".
func found(t testing.TB, d *Databases, attempt int64) string {
	t.Helper()
	all, err := d.Receipts(t.Context(), "", theJob, attempt)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, k := range all {
		lines = append(lines, fmt.Sprintf("%d: %s", k.Step, k.Bytes))
	}
	return strings.Join(lines, "\n")
}

// TestReceipts runs every kind of statement with a receipt, beside the same
// without one: the results are the same, and those that change something are
// kept.
func TestReceipts(t *testing.T) {
	plain, d := open(t, Options{}), open(t, Options{})
	var want []string
	for i, c := range []struct {
		sql  string
		kept bool
	}{
		{"CREATE TABLE t(id INTEGER PRIMARY KEY, a UNIQUE)", true},
		{"CREATE TABLE IF NOT EXISTS t(a)", true},
		{"INSERT INTO t(a) VALUES ('x'), ('y'), ('z')", true},
		{"INSERT INTO t(a) VALUES ('u') RETURNING id, a", true},
		{"UPDATE t SET a = a || '!' WHERE id > 2", true},
		{"UPDATE t SET a = 1 WHERE id = 1000", true},
		{"DELETE FROM t WHERE id = 1", true},
		{"WITH w(a) AS (SELECT 'w') INSERT INTO t(a) SELECT a FROM w RETURNING a", true},
		{"SELECT a FROM t", false},
		{"WITH w AS (SELECT a FROM t) SELECT count(*) AS n FROM w", false},
		{"VALUES (1)", false},
		{"EXPLAIN QUERY PLAN DELETE FROM t", true},
		{"CREATE INDEX i ON t(a)", true},
		{"CREATE VIEW v AS SELECT a FROM t", true},
		{"CREATE TABLE log(n, id)", true},
		{"CREATE TRIGGER r AFTER DELETE ON t BEGIN INSERT INTO log VALUES (old.a, 0); UPDATE log SET id = last_insert_rowid(); END", true},
		{"DELETE FROM t WHERE id = 2", true},
		{"SELECT n, id FROM log", false},
		{"ALTER TABLE t ADD COLUMN b", true},
		{"ALTER TABLE t RENAME COLUMN b TO c", true},
		{"ALTER TABLE t DROP COLUMN c", true},
		{"ALTER TABLE log RENAME TO logs", true},
		{"ANALYZE", true},
		{"REINDEX", true},
		{"CREATE TABLE copy AS SELECT * FROM t", true},
		{"DROP TRIGGER r", true},
		{"DROP VIEW v", true},
		{"DROP INDEX i", true},
		{"DROP TABLE copy", true},
		{"DROP TABLE IF EXISTS copy", true},
		{"INSERT OR IGNORE INTO t(a) VALUES ('z!')", true},
		{"INSERT INTO t(a) VALUES ('z!')", false},
		{"INSERT OR ROLLBACK INTO t(a) VALUES ('z!')", false},
		{"INSERT OR FAIL INTO t(a) VALUES ('q'), ('z!') RETURNING a", false},
		{"NONSENSE", false},
		{"SELECT count(*) AS n FROM t", false},
	} {
		a := rows(t, plain, c.sql)
		b := outcome(t)(withReceipt(t, d, receipt(1, int64(i)), c.sql))
		if a != b {
			t.Errorf("%s: %s, and with a receipt %s", c.sql, a, b)
		}
		if c.kept {
			want = append(want, fmt.Sprintf("%d: %s", i, b))
		}
	}
	if got := found(t, d, 1); got != strings.Join(want, "\n") {
		t.Errorf("kept are\n%s\nand not\n%s", got, strings.Join(want, "\n"))
	}
	db := d.open["main"]
	if got := ask(t, db.idleWriter, "PRAGMA integrity_check"); got != "ok" {
		t.Error(got)
	}
	checkSettings(t, d)
}

// TestReceiptOfAStatementThatComesToWrite has a kept statement that read only
// when it was prepared.
func TestReceiptOfAStatementThatComesToWrite(t *testing.T) {
	d := open(t, Options{})
	must(t, d, "CREATE TABLE t(a)")
	const trigger = "CREATE TRIGGER IF NOT EXISTS r AFTER INSERT ON t BEGIN SELECT 1; END"
	must(t, d, trigger)
	must(t, d, trigger)
	must(t, d, "DROP TRIGGER r")
	if _, err := withReceipt(t, d, receipt(1, 0), trigger); err != nil {
		t.Fatal(err)
	}
	if got := found(t, d, 1); got != `0: {"changes":0,"last_id":null}` {
		t.Errorf("kept is %q", got)
	}
}

// TestReceiptFails has all that can go wrong leave nothing.
func TestReceiptFails(t *testing.T) {
	d := open(t, Options{})
	must(t, d, "CREATE TABLE t(a UNIQUE)")
	must(t, d, "CREATE TABLE child(a REFERENCES t(a) DEFERRABLE INITIALLY DEFERRED)")
	broken := errors.New("broken")
	refuses := receipt(1, 2)
	refuses.Write = func(value.Value) ([]byte, error) { return nil, broken }
	if _, err := withReceipt(t, d, refuses, "INSERT INTO t VALUES (1)"); !errors.Is(err, broken) {
		t.Errorf("Write's error: %v", err)
	}
	if _, err := withReceipt(t, d, refuses, "INSERT INTO t VALUES (1) RETURNING a"); !errors.Is(err, broken) {
		t.Errorf("Write's error: %v", err)
	}
	if got := outcome(t)(withReceipt(t, d, receipt(1, 3), "INSERT INTO child VALUES (7)")); got != "foreign_key" {
		t.Errorf("at the commit: %s", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	q := query(bytecode.SQLRows, "INSERT INTO t VALUES (2)")
	q.Receipt = receipt(1, 4)
	q.Receipt.Write = func(value.Value) ([]byte, error) { cancel(); return nil, nil }
	if _, err := d.Query(ctx, "", q); !errors.Is(err, context.Canceled) {
		t.Errorf("a run that ends meanwhile: %v", err)
	}
	if got := must(t, d, "SELECT (SELECT count(*) FROM t) + (SELECT count(*) FROM child) AS n"); got != `[{"n":0}]` {
		t.Errorf("something stayed: %s", got)
	}
	if got := must(t, d, "SELECT name FROM sqlite_schema WHERE name LIKE '\\_ql\\_%' ESCAPE '\\'"); got != `[]` {
		t.Errorf("a table stayed: %s", got)
	}
}

// TestReceiptsAreBoundByNoRow keeps more than a row may hold, and nothing.
func TestReceiptsAreBoundByNoRow(t *testing.T) {
	d := open(t, Options{})
	must(t, d, "CREATE TABLE t(a)")
	large := bytes.Repeat([]byte("0123456789"), 300_001)
	for i, kept := range [][]byte{nil, large, large[:partBytes], large[:partBytes+1], []byte("x")} {
		r := receipt(1, int64(i))
		r.Write = func(value.Value) ([]byte, error) { return kept, nil }
		if _, err := withReceipt(t, d, r, "INSERT INTO t VALUES (1)"); err != nil {
			t.Fatal(err)
		}
	}
	all, err := d.Receipts(t.Context(), "", theJob, 1)
	if err != nil || len(all) != 5 {
		t.Fatalf("%d are found, %v", len(all), err)
	}
	for i, size := range []int{0, len(large), partBytes, partBytes + 1, 1} {
		if k := all[i]; k.Step != int64(i) || len(k.Bytes) != size || size > 1 && !bytes.HasPrefix(large, k.Bytes) {
			t.Errorf("%d: step %d with %d bytes", i, k.Step, len(k.Bytes))
		}
	}
}

func TestReceiptOfATransaction(t *testing.T) {
	d := open(t, Options{})
	must(t, d, "CREATE TABLE t(a UNIQUE)")
	must(t, d, "CREATE TABLE child(a REFERENCES t(a) DEFERRABLE INITIALLY DEFERRED)")

	tx := begin(t, d)
	in(t, tx, false, "SELECT a FROM t")
	if err := tx.Commit(t.Context(), receipt(1, 0)); err != nil {
		t.Fatal(err)
	}
	tx = begin(t, d)
	in(t, tx, false, "INSERT INTO t VALUES (1)")
	in(t, tx, true, "INSERT INTO t VALUES (1)")
	if err := tx.Commit(t.Context(), receipt(1, 4)); err != nil {
		t.Fatal(err)
	}
	tx = begin(t, d)
	in(t, tx, false, "INSERT INTO t VALUES (2)")
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	// A commit that fails leaves the transaction open, and no receipt in it.
	tx = begin(t, d)
	in(t, tx, false, "INSERT INTO child VALUES (3)")
	for range 2 {
		if got := outcome(t)(value.Null, tx.Commit(t.Context(), receipt(1, 6))); got != "foreign_key" {
			t.Fatalf("the commit: %s", got)
		}
	}
	broken := errors.New("broken")
	refuses := receipt(1, 6)
	refuses.Write = func(value.Value) ([]byte, error) { return nil, broken }
	if err := tx.Commit(t.Context(), refuses); !errors.Is(err, broken) {
		t.Fatalf("Write's error: %v", err)
	}
	in(t, tx, false, "INSERT INTO t VALUES (3)")
	if err := tx.Commit(t.Context(), receipt(1, 7)); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(t.Context(), receipt(1, 7)); err != nil {
		t.Fatalf("once more: %v", err)
	}
	if got := found(t, d, 1); got != "4: null\n7: null" {
		t.Errorf("kept is %q", got)
	}
	if got := must(t, d, "SELECT a FROM t ORDER BY a"); got != `[{"a":1},{"a":3}]` {
		t.Errorf("the table holds %s", got)
	}

	tx = begin(t, d)
	q := query(bytecode.SQLRows, "INSERT INTO t VALUES (4)")
	q.Receipt = receipt(1, 8)
	if _, err := tx.Query(t.Context(), q); err == nil {
		t.Error("a statement in a transaction took a receipt")
	}
}

// TestOlderAttemptsAreShutOut has an attempt change nothing once a later one has
// looked for receipts, or left one.
func TestOlderAttemptsAreShutOut(t *testing.T) {
	d := open(t, Options{})
	must(t, d, "CREATE TABLE t(a)")
	insert := func(attempt, number int64) error {
		_, err := withReceipt(t, d, receipt(attempt, number), "INSERT INTO t VALUES (¿)", value.Int(number))
		return err
	}
	inTransaction := func(attempt, number int64) error {
		tx := begin(t, d)
		in(t, tx, false, "INSERT INTO t VALUES (¿)", value.Int(number))
		if err := tx.Commit(t.Context(), receipt(attempt, number)); err != nil {
			return errors.Join(err, tx.Rollback())
		}
		return nil
	}
	refused := func(attempt int64) {
		t.Helper()
		for _, change := range []func(int64, int64) error{insert, inTransaction} {
			if err := change(attempt, 99); !errors.Is(err, engine.ErrSuperseded) {
				t.Errorf("attempt %d: %v", attempt, err)
			}
		}
		if _, err := d.Receipts(t.Context(), "", theJob, attempt); !errors.Is(err, engine.ErrSuperseded) {
			t.Errorf("attempt %d asks: %v", attempt, err)
		}
	}
	allowed := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	allowed(insert(1, 1))
	if got := found(t, d, 3); got != `1: {"changes":1,"last_id":1}` {
		t.Errorf("kept is %q", got)
	}
	refused(1)
	refused(2)
	allowed(insert(3, 2))
	allowed(insert(4, 3)) // which nobody announced
	refused(3)
	allowed(inTransaction(5, 4))
	refused(4)

	// Reads and other jobs are none of its business.
	if _, err := withReceipt(t, d, receipt(1, 99), "SELECT a FROM t"); err != nil {
		t.Error(err)
	}
	other := receipt(1, 1)
	other.Job[0]++
	_, err := withReceipt(t, d, other, "INSERT INTO t VALUES (5)")
	allowed(err)

	if got := must(t, d, "SELECT count(*) AS n, max(a) AS a FROM t"); got != `[{"n":5,"a":5}]` {
		t.Errorf("the table holds %s", got)
	}
}

func TestForgetReceipts(t *testing.T) {
	d := open(t, Options{})
	forget := func(upTo int64) {
		t.Helper()
		if err := d.DeleteReceipts(t.Context(), "", theJob, upTo); err != nil {
			t.Fatal(err)
		}
	}
	forget(5)
	if _, err := os.Stat(filepath.Join(d.options.Folder, "main.db")); !os.IsNotExist(err) {
		t.Errorf("a database was made: %v", err)
	}
	must(t, d, "CREATE TABLE t(a)")
	forget(-1)
	if got := must(t, d, "SELECT count(*) AS n FROM sqlite_schema"); got != `[{"n":1}]` {
		t.Errorf("a table was made: %s", got)
	}
	for i := range int64(5) {
		r := receipt(2, i)
		r.Write = func(value.Value) ([]byte, error) { return []byte("kept"), nil }
		if _, err := withReceipt(t, d, r, "INSERT INTO t VALUES (1)"); err != nil {
			t.Fatal(err)
		}
		r.Job[0]++
		if _, err := withReceipt(t, d, r, "INSERT INTO t VALUES (1)"); err != nil {
			t.Fatal(err)
		}
	}
	forget(2)
	if got := found(t, d, 2); got != "3: kept\n4: kept" {
		t.Errorf("kept is %q", got)
	}
	forget(4)
	if got := found(t, d, 2); got != "" {
		t.Errorf("kept is %q", got)
	}
	if _, err := d.Receipts(t.Context(), "", theJob, 1); !errors.Is(err, engine.ErrSuperseded) {
		t.Errorf("the mark is gone: %v", err)
	}
	forget(-1)
	if got := found(t, d, 1); got != "" {
		t.Errorf("kept is %q", got)
	}
	other := theJob
	other[0]++
	if all, err := d.Receipts(t.Context(), "", other, 2); err != nil || len(all) != 5 {
		t.Errorf("the other job has %d, %v", len(all), err)
	}
}

// TestReceiptsAreHidden lets SQL try to see and to touch them.
func TestReceiptsAreHidden(t *testing.T) {
	d := open(t, Options{})
	must(t, d, "CREATE TABLE t(job, step, part, a)")
	if _, err := withReceipt(t, d, receipt(1, 1), "INSERT INTO t(a) VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	before := ask(t, d.open["main"].idleWriter, "SELECT job || step || kept FROM _ql_receipts")
	for _, sql := range []string{
		"SELECT * FROM _ql_receipts",
		"SELECT 1 FROM _ql_receipts",
		"SELECT count(*) FROM main._ql_receipts",
		`SELECT * FROM "_QL_RECEIPTS"`,
		"SELECT * FROM [_ql_receipts]",
		"SELECT * FROM `_ql_receipts` AS mine",
		"SELECT * FROM t, _ql_receipts",
		"SELECT EXISTS (SELECT 1 FROM _ql_receipts)",
		"SELECT a FROM t WHERE a IN _ql_receipts",
		"SELECT a FROM t WHERE a = (SELECT max(step) FROM _ql_receipts)",
		"SELECT a FROM t ORDER BY (SELECT kept FROM _ql_receipts)",
		"WITH x AS (SELECT * FROM _ql_receipts) SELECT * FROM x",
		"SELECT 1 UNION SELECT step FROM _ql_receipts",
		"EXPLAIN SELECT * FROM _ql_receipts",
		"EXPLAIN QUERY PLAN SELECT * FROM _ql_receipts",
		"INSERT INTO _ql_receipts VALUES (x'01', 1, 0, 1, x'')",
		"INSERT OR REPLACE INTO _ql_receipts VALUES (x'01', 1, 0, 1, x'')",
		"REPLACE INTO _ql_receipts SELECT * FROM t",
		"INSERT INTO t SELECT job, step, part, kept FROM _ql_receipts",
		"INSERT INTO t(a) VALUES ((SELECT attempt FROM _ql_receipts))",
		"UPDATE _ql_receipts SET attempt = 9",
		"UPDATE t SET a = r.kept FROM _ql_receipts AS r",
		"DELETE FROM _ql_receipts",
		"DELETE FROM t WHERE a IN (SELECT step FROM _ql_receipts)",
		"DELETE FROM t RETURNING (SELECT kept FROM _ql_receipts)",
		"DROP TABLE _ql_receipts",
		"DROP TABLE IF EXISTS _ql_receipts",
		"ALTER TABLE _ql_receipts RENAME TO mine",
		"ALTER TABLE _ql_receipts RENAME COLUMN kept TO mine",
		"ALTER TABLE _ql_receipts ADD COLUMN mine",
		"ALTER TABLE _ql_receipts DROP COLUMN kept",
		"ALTER TABLE t ADD COLUMN j REFERENCES _ql_receipts",
		"CREATE TABLE _ql_receipts(a)",
		"CREATE TABLE IF NOT EXISTS _ql_receipts(a)",
		"CREATE TABLE mine AS SELECT * FROM _ql_receipts",
		"CREATE TABLE mine(a REFERENCES _ql_receipts)",
		`CREATE TABLE mine(a, FOREIGN KEY (a) REFERENCES "_ql_Receipts"(job) ON DELETE CASCADE)`,
		"CREATE INDEX mine ON _ql_receipts(step)",
		"CREATE UNIQUE INDEX mine ON _ql_receipts(job)",
		"CREATE INDEX _ql_mine ON t(a)",
		"CREATE VIEW mine AS SELECT * FROM _ql_receipts",
		"CREATE VIEW _ql_mine AS SELECT 1",
		"CREATE TRIGGER mine AFTER INSERT ON _ql_receipts BEGIN SELECT 1; END",
		"CREATE TRIGGER mine AFTER INSERT ON t BEGIN DELETE FROM _ql_receipts; END",
		"CREATE TRIGGER mine AFTER INSERT ON t WHEN (SELECT 1 FROM _ql_receipts) BEGIN SELECT 1; END",
		"CREATE TRIGGER _ql_mine AFTER INSERT ON t BEGIN SELECT 1; END",
		"CREATE TEMP TRIGGER mine AFTER INSERT ON main._ql_receipts BEGIN SELECT 1; END",
		"ANALYZE _ql_receipts",
		"ANALYZE main._ql_receipts",
		"ANALYZE sqlite_autoindex__ql_marks_1",
		"REINDEX _ql_marks",
		"SELECT * FROM _ql_marks",
		"DELETE FROM _ql_marks",
		"REINDEX main.sqlite_autoindex__ql_marks_1",
		"PRAGMA table_info(_ql_receipts)",
		"PRAGMA table_list",
		"SELECT * FROM pragma_table_xinfo('_ql_receipts')",
		"SELECT name FROM pragma_table_list",
	} {
		if got := rows(t, d, sql); got != "sql_denied" {
			t.Errorf("%s: %s", sql, got)
		}
		if got := outcome(t)(withReceipt(t, d, receipt(1, 2), sql)); got != "sql_denied" {
			t.Errorf("%s: %s with a receipt", sql, got)
		}
	}
	for _, sql := range []string{
		"ALTER TABLE t RENAME TO _ql_receipts",
		"CREATE TABLE mine(a, CHECK (a IN (SELECT step FROM _ql_receipts)))",
		"DROP INDEX sqlite_autoindex__ql_marks_1",
		"UPDATE sqlite_schema SET name = 'mine' WHERE name = '_ql_receipts'",
		"DELETE FROM sqlite_schema WHERE name = '_ql_receipts'",
		"SELECT * FROM sqlite_autoindex__ql_marks_1",
	} {
		switch got := rows(t, d, sql); got {
		case "sql_denied", "sql_error", "no_such_table":
		default:
			t.Errorf("%s: %s", sql, got)
		}
	}
	if after := ask(t, d.open["main"].idleWriter, "SELECT job || step || kept FROM _ql_receipts"); after != before {
		t.Errorf("the receipts were %s and are %s", before, after)
	}
	if got := found(t, d, 1); got != `1: {"changes":1,"last_id":1}` {
		t.Errorf("kept is %q", got)
	}
}

// TestReceiptsGoIntoAFullDatabase has a change that makes room leave its receipt
// where there is no room.
func TestReceiptsGoIntoAFullDatabase(t *testing.T) {
	t.Parallel()
	d := open(t, Options{Storage: &sharedStorage{bytes: 40 * pageSize}})
	must(t, d, "CREATE TABLE t(a)")
	for got := ""; got != "quota_exceeded"; {
		got = rows(t, d, "INSERT INTO t VALUES (zeroblob(1000))")
	}
	r := receipt(1, 1)
	r.Write = func(value.Value) ([]byte, error) { return make([]byte, 3000), nil }
	if _, err := withReceipt(t, d, r, "DELETE FROM t WHERE rowid = 1"); err != nil {
		t.Error(err)
	}
}
