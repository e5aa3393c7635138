package databases

import (
	"errors"
	"testing"

	"ql/lang/bytecode"
	"ql/lang/value"
)

// fueled is a meter with so much fuel.
func fueled(fuel int64) *value.Meter {
	m := meter(64 << 20)
	m.Fuel, m.Reserve, m.TotalFuel = 0, fuel, fuel
	return m
}

// TestFuelEndsSQL: a statement ends when its script's fuel does, whatever it spends
// its time with.
func TestFuelEndsSQL(t *testing.T) {
	t.Parallel()
	d := open(t, Options{})
	const numbers = "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c) "
	for _, sql := range []string{
		numbers + "SELECT count(*) FROM c",
		numbers + "SELECT i FROM c WHERE i < 0",
		numbers + "SELECT sum(length(printf('%.900000c', 'a') || i)) FROM c",
		numbers + "SELECT sum(printf('%.900000c', 'a') || i LIKE '%aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab%') FROM c",
		numbers + "SELECT count(replace(printf('%.900000c', 'a'), 'a', i % 10)) FROM c",
		numbers + "SELECT length(group_concat(i, '')) FROM c",
		numbers + "SELECT max((printf('%.900000c', 'a') || i) > (printf('%.900000c', 'a') || 'b')) FROM c",
	} {
		m := fueled(10_000_000)
		q := query(bytecode.SQLRows, sql)
		q.Meter = m
		_, err := d.Query(t.Context(), "", q)
		var limit *value.LimitError
		if !errors.As(err, &limit) || limit.Name != "fuel" || limit.Max != 10_000_000 {
			t.Errorf("%s\nended with %v", sql, err)
		}
	}
	// The connection is as good as before.
	if got := must(t, d, "SELECT 1 AS one"); got != `[{"one":1}]` {
		t.Errorf("afterwards: %s", got)
	}
}

// TestFuelEndsTransaction: what a statement did whose fuel ended is undone with the
// rest of its transaction.
func TestFuelEndsTransaction(t *testing.T) {
	d := open(t, Options{})
	must(t, d, "CREATE TABLE t (n)")
	tx, err := d.Begin(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	q := query(bytecode.SQLRows, "INSERT INTO t WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c) SELECT i FROM c")
	q.Meter = fueled(1_000_000)
	_, err = tx.Query(t.Context(), q)
	var limit *value.LimitError
	if !errors.As(err, &limit) || limit.Name != "fuel" {
		t.Errorf("it ended with %v", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Error(err)
	}
	if got := must(t, d, "SELECT count(*) AS n FROM t"); got != `[{"n":0}]` {
		t.Errorf("afterwards: %s", got)
	}
}

// TestFuelOfSQLIsTheSame: a statement costs the same when it is prepared and when it
// was, with pages in memory and without, in this process and after it.
func TestFuelOfSQLIsTheSame(t *testing.T) {
	folder := t.TempDir()
	first := open(t, Options{Folder: folder})
	must(t, first, "CREATE TABLE t (id INTEGER PRIMARY KEY, n, x)")
	must(t, first, "INSERT INTO t (n, x) WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c LIMIT 3000) SELECT i * 7919 % 3001, printf('%.500c', 'a') FROM c")
	statements := []string{
		"SELECT * FROM t WHERE id = 77",
		"SELECT n FROM t ORDER BY n DESC, x",
		"SELECT count(*), sum(n), max(length(x)) FROM t",
		"SELECT a.n FROM t a JOIN t b ON a.n = b.id WHERE b.x LIKE '%b%'",
		"SELECT group_concat(n), json_group_array(x) FROM t WHERE id < 100",
		"SELECT 1 FROM nosuch",
	}
	cost := func(d *Databases) (all []int64) {
		for _, sql := range statements {
			m := fueled(1 << 40)
			q := query(bytecode.SQLRows, sql)
			q.Meter = m
			_, err := d.Query(t.Context(), "", q)
			var known *value.Error
			if err != nil && !errors.As(err, &known) {
				t.Fatal(err)
			}
			all = append(all, m.Used())
		}
		return all
	}
	want := cost(first)
	warm := cost(first)
	cold := cost(open(t, Options{Folder: folder}))
	for i, sql := range statements {
		if want[i] == 0 || want[i] != warm[i] || want[i] != cold[i] {
			t.Errorf("%s\ncosts %d, then %d, and %d elsewhere", sql, want[i], warm[i], cold[i])
		}
	}
}
