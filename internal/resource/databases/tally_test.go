package databases

import (
	"testing"

	"ql/lang/bytecode"
	"ql/lang/value"
)

// TestRowsAreWeighedAsTheyAreMade checks that what is counted while rows are made is what a walk finds in them, at
// the same price: a job that is replayed walks through what comes from its journal.
func TestRowsAreWeighedAsTheyAreMade(t *testing.T) {
	d := open(t, Options{})
	must(t, d, "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, total REAL, data BLOB)")
	must(t, d, "INSERT INTO t VALUES (1, 'a name', 1.5, x'0102'), (2, '', NULL, x''), (3, 'ä long one that takes more than a word or two', 2, zeroblob(100))")
	must(t, d, "WITH RECURSIVE c(x) AS (SELECT 10 UNION ALL SELECT x + 1 FROM c LIMIT 2000) INSERT INTO t SELECT x, 'name ' || x, x * 1.5, NULL FROM c")
	for _, sql := range []string{
		"SELECT * FROM t", "SELECT * FROM t WHERE id < 4", "SELECT * FROM t WHERE id = 0", "SELECT NULL AS a", "SELECT name FROM t LIMIT 5",
		"SELECT id AS a, id AS b, name AS c, name AS d, total AS e, total AS f, data AS g, data AS h, id AS i, id AS j FROM t LIMIT 20",
		"UPDATE t SET total = 1 WHERE id < 30 RETURNING id, name",
	} {
		q := query(bytecode.SQLRows, sql)
		q.Meter = meter(1 << 30)
		v, err := d.Query(t.Context(), "", q)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		walked := meter(1 << 30)
		w := value.NewWalker(walked)
		w.Visit(v)
		before := w.Bytes()
		var counted, again value.Walker
		tallied, second := meter(1<<30), meter(1<<30)
		if got := q.Meter.Weigh(v, &counted, tallied); got != before {
			t.Errorf("%s: %d bytes are counted, and there are %d", sql, got, before)
		}
		if got := q.Meter.Weigh(v, &again, second); got != before {
			t.Errorf("%s: %d bytes are found the second time, and there are %d", sql, got, before)
		}
		if tallied.Fuel != walked.Fuel || second.Fuel != walked.Fuel {
			t.Errorf("%s: weighing leaves %d and %d fuel, a walk %d", sql, tallied.Fuel, second.Fuel, walked.Fuel)
		}
	}
}
