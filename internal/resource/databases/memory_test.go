package databases

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"ql/lang/bytecode"
	"ql/lang/value"
)

// largeConstants is n terms of 20 constants each, no two of which are the same.
// SQLite computes a constant once and holds it to the end of the statement.
func largeConstants(n int) (terms []string) {
	for i := range n {
		var all []string
		for j := range 20 {
			all = append(all, fmt.Sprintf("printf('%%0%dd', 1)", 900_000+20*i+j))
		}
		terms = append(terms, "length(max("+strings.Join(all, ", ")+"))")
	}
	return terms
}

// memoryBombs are statements that would make the library itself hold hundreds of
// megabytes.
var memoryBombs = []struct{ name, sql string }{
	{"2,000 constants", "SELECT " + strings.Join(largeConstants(100), ", ")},
	{"a row", "SELECT " + columns(100, "hex(zeroblob(490000 + %d)) AS c%[1]d")},
	{"a row of chance", "SELECT " + columns(100, "randomblob(900000) AS c%d")},
	{"zeros", "SELECT " + columns(100, "zeroblob(900000) || %d AS c%[1]d")},
	{"a list", "SELECT 1 AS n WHERE 'x' IN (" + columns(500, "printf('%%0900000d', %d)") + ")"},
	{"rows of VALUES", "SELECT count(*) AS n FROM (VALUES " + columns(500, "(printf('%%0900000d', %d), 1)") + ")"},
	{"sets", numbers(600) + "SELECT " + columns(90, "count(DISTINCT printf('%%03000d', x + %d)) AS c%[1]d") + " FROM c"},
	{"sorted groups", numbers(600) + "SELECT " + columns(60, "group_concat('', '' ORDER BY printf('%%03000d', x + %d)) AS c%[1]d") + " FROM c"},
	{"large groups", numbers(2) + "SELECT " + columns(95, "max(printf('%%0900000d', x + %d)) AS c%[1]d") + " FROM c"},
	{"a recursion", "WITH RECURSIVE c(" + columns(90, "a%d") + ") AS (SELECT " + columns(90, "printf('%%0900000d', %d)") + " UNION ALL SELECT " + columns(90, "a%d || 1") + " FROM c LIMIT 2) SELECT count(*) AS n FROM c"},
	{"JSON", numbers(2) + "SELECT " + columns(95, "json_array(printf('%%0900000d', x + %d)) AS c%[1]d") + " FROM c ORDER BY 1"},
	{"a view again and again", "SELECT " + columns(90, "("+strings.Repeat("(SELECT n FROM wide) + ", 9)+"%d) AS c%[1]d")},
	{"a change", "INSERT INTO t SELECT " + strings.Join(largeConstants(80), " + ")},
	{"a trigger", "INSERT INTO sets VALUES (1)"},
}

// openBombed returns databases with what memoryBombs are about.
func openBombed(t *testing.T) *Databases {
	t.Helper()
	d := open(t, Options{})
	must(t, d, "CREATE TABLE t(a)")
	must(t, d, "CREATE TABLE sets(a)")
	must(t, d, "CREATE TRIGGER large AFTER INSERT ON sets BEGIN INSERT INTO t SELECT "+strings.Join(largeConstants(80), " + ")+"; END")
	must(t, d, "CREATE VIEW wide AS SELECT 1 IN ("+strings.TrimSuffix(strings.Repeat("1,", 49_000), ",")+") AS n")
	return d
}

// libraryHolds returns what the library holds for all connections of main.
func libraryHolds(t *testing.T, d *Databases) (n int64) {
	t.Helper()
	db, err := d.acquire("main")
	if err != nil {
		t.Fatal(err)
	}
	defer d.release(db)
	db.mu.Lock()
	defer db.mu.Unlock()
	for _, c := range append(db.idleReaders[:len(db.idleReaders):len(db.idleReaders)], db.idleWriter) {
		if c != nil {
			n += c.db.Memory()
		}
	}
	return n
}

// TestPromiseLibraryMemory runs statements that would make the library hold many
// times what the script may. They end by the script's memory, again and again, and
// nothing stays.
func TestPromiseLibraryMemory(t *testing.T) {
	const memory = 16 << 20
	rounds := 3
	if testing.Short() {
		rounds = 2
	}
	d := openBombed(t)
	for _, c := range memoryBombs {
		t.Run(c.name, func(t *testing.T) {
			var held int64
			for i := range rounds {
				q := query(bytecode.SQLRows, c.sql)
				q.Meter = meter(memory)
				var got string
				grown := growth(t, func() { got = outcome(t)(d.Query(t.Context(), "", q)) })
				if got != "limit memory" {
					t.Fatalf("got %.200s", got)
				}
				// The heap gives out blocks of up to twice the size.
				if grown > 2*(memory+libraryMemory)+memory {
					t.Errorf("the process grew by %d MiB", grown>>20)
				}
				switch now := libraryHolds(t, d); {
				case i == 0:
					held = now // with the prepared statement
				case now != held:
					t.Errorf("%d bytes stayed", now-held)
				}
			}
		})
	}
	if got := must(t, d, "SELECT count(*) AS n FROM t"); got != `[{"n":0}]` {
		t.Errorf("after them: %s", got)
	}
}

// TestLibraryMemoryForMuch runs statements that look at many times what the script
// may hold, and hold little of it at one time: with rows of 100 KB under the
// smallest plan, and with the largest that there are under the next one.
func TestLibraryMemoryForMuch(t *testing.T) {
	t.Parallel()
	for _, size := range []struct{ rows, bytes, memory int }{{400, 100_000, 16 << 20}, {50, 900_000, 64 << 20}} {
		d := open(t, Options{})
		must(t, d, "CREATE TABLE t(id INTEGER PRIMARY KEY, a)")
		must(t, d, numbers(size.rows)+fmt.Sprintf("INSERT INTO t(a) SELECT printf('%%0%dd', x) FROM c", size.bytes))
		count := fmt.Sprintf(`[{"n":%d}]`, size.rows)
		for _, c := range []struct{ sql, want string }{
			{"SELECT sum(length(a)) AS n FROM (SELECT a FROM t ORDER BY a DESC)", fmt.Sprintf(`[{"n":%d}]`, size.rows*size.bytes)},
			{"SELECT count(DISTINCT a) AS n FROM t", count},
			{"SELECT count(*) AS n FROM (SELECT a, count(*) FROM t GROUP BY a)", count},
			{"SELECT max(n) AS n FROM (SELECT length(first_value(a) OVER (ORDER BY id)) AS n FROM t)", fmt.Sprintf(`[{"n":%d}]`, size.bytes)},
			{"WITH x AS MATERIALIZED (SELECT a FROM t) SELECT count(*) AS n FROM x, x AS y WHERE x.a = y.a", count},
			{"SELECT sum(length(l)) AS n FROM (SELECT json_group_array(a) AS l FROM t GROUP BY id)", fmt.Sprintf(`[{"n":%d}]`, size.rows*(size.bytes+4))},
			{"UPDATE t SET a = a || 'x'", fmt.Sprintf(`{"changes":%d,"last_id":null}`, size.rows)},
			{"CREATE INDEX i ON t(a)", `{"changes":0,"last_id":null}`},
		} {
			q := query(bytecode.SQLRows, c.sql)
			q.Meter = meter(int64(size.memory))
			if got := outcome(t)(d.Query(t.Context(), "", q)); got != c.want {
				t.Errorf("rows of %d bytes: %s: got %s, want %s", size.bytes, c.sql, got, c.want)
			}
		}
	}
}

// TestLibraryMemoryIsTheScripts runs statements right below the bound and right
// above it, which is as much as the script may hold and libraryMemory.
func TestLibraryMemoryIsTheScripts(t *testing.T) {
	t.Parallel()
	d := open(t, Options{})
	for _, c := range []struct {
		memory, constants int
		limit             bool
	}{{16 << 20, 32, false}, {16 << 20, 34, true}, {64 << 20, 82, false}, {64 << 20, 84, true}, {16 << 20, 32, false}, {16 << 20, 84, true}} {
		// Each takes 990,000 bytes and a few, and twice that until it is complete.
		q := query(bytecode.SQLRows, "SELECT "+columns(c.constants, "length(printf('%%099%04dd', 1)) AS c%[1]d"))
		q.Meter = meter(int64(c.memory))
		if got := outcome(t)(d.Query(t.Context(), "", q)); (got == "limit memory") != c.limit {
			t.Errorf("%d constants with %d MiB: got %.200s", c.constants, c.memory>>20, got)
		}
	}
}

// TestLibraryMemoryOfEach lets one database run bombs while another works.
func TestLibraryMemoryOfEach(t *testing.T) {
	t.Parallel()
	d := open(t, Options{})
	var all sync.WaitGroup
	for i, c := range []struct{ sql, want string }{
		{"SELECT " + strings.Join(largeConstants(100), ", "), "limit memory"},
		{numbers(3) + "SELECT length(group_concat(printf('%0300000d', x))) AS n FROM c", `[{"n":900002}]`},
		{numbers(600) + "SELECT " + columns(90, "count(DISTINCT printf('%%03000d', x + %d)) AS c%[1]d") + " FROM c", "limit memory"},
		{"SELECT " + columns(20, "length(printf('%%0900000d', %d)) AS c%[1]d"), ""},
	} {
		all.Go(func() {
			for range 5 {
				q := query(bytecode.SQLRows, c.sql)
				q.Meter = meter(16 << 20)
				v, err := d.Query(t.Context(), fmt.Sprintf("d%d", i), q)
				switch got := outcome(t)(v, err); {
				case c.want == "" && err != nil, c.want != "" && got != c.want:
					t.Errorf("%d: got %.200s", i, got)
				}
			}
		})
	}
	all.Wait()
}

// TestLibraryMemoryInATransaction ends a transaction by the script's memory, while
// it reads and while it writes.
func TestLibraryMemoryInATransaction(t *testing.T) {
	t.Parallel()
	for _, savepoint := range []bool{false, true} {
		for _, sql := range []string{
			"SELECT " + strings.Join(largeConstants(100), ", "),
			"INSERT INTO t SELECT " + strings.Join(largeConstants(80), " + "),
			"SELECT " + columns(90, "("+strings.Repeat("(SELECT n FROM wide) + ", 9)+"%d) AS c%[1]d"),
		} {
			d := openBombed(t)
			tx, err := d.Begin(t.Context(), "main")
			if err != nil {
				t.Fatal(err)
			}
			if got := outcome(t)(tx.Query(t.Context(), query(bytecode.SQLRows, "INSERT INTO t VALUES (1)"))); got != `{"changes":1,"last_id":1}` {
				t.Fatal(got)
			}
			q := query(bytecode.SQLRows, sql)
			q.Meter, q.Savepoint = meter(16<<20), savepoint
			if got := outcome(t)(tx.Query(t.Context(), q)); got != "limit memory" {
				t.Errorf("%.40s: got %.200s", sql, got)
			}
			// SQLite may have rolled back already; nothing may run outside of a
			// transaction then.
			switch got := outcome(t)(tx.Query(t.Context(), query(bytecode.SQLRows, "SELECT a FROM t"))); got {
			case "transaction_ended", `[{"a":1}]`:
			default:
				t.Errorf("%.40s: then %s", sql, got)
			}
			if err := tx.Rollback(); err != nil {
				t.Fatal(err)
			}
			must(t, d, "INSERT INTO t VALUES (2)")
			if got := must(t, d, "SELECT a FROM t"); got != `[{"a":2}]` {
				t.Errorf("%.40s: after it %s", sql, got)
			}
		}
	}
}

// TestLibraryMemoryWithoutScript runs statements for no script.
func TestLibraryMemoryWithoutScript(t *testing.T) {
	t.Parallel()
	d := openBombed(t)
	must(t, d, "CREATE VIEW large AS SELECT "+strings.Join(largeConstants(100), ", "))
	want := func(what string, err error) {
		t.Helper()
		var e *value.Error
		if !errors.As(err, &e) || e.Limit == nil || e.Limit.Name != "memory" || e.Limit.Max != unmetered {
			t.Errorf("%s: %v", what, err)
		}
	}
	want("a snapshot", d.Snapshot(t.Context(), "main", func(_ context.Context, s *Snapshot) error {
		rows, err := s.Select(t.Context(), "SELECT * FROM large")
		if err != nil {
			return err
		}
		defer rows.Close()
		_, err = rows.Next(t.Context())
		return err
	}))
	want("a batch", d.Batch(t.Context(), "main", BatchOptions{MaxSQL: 16 << 20}, func(b *Batch) error {
		if err := b.Exec(t.Context(), "INSERT INTO t VALUES (1)", nil); err != nil {
			return err
		}
		return b.Exec(t.Context(), "INSERT INTO t SELECT "+strings.Join(largeConstants(80), " + "), nil)
	}))
	if got := must(t, d, "SELECT count(*) AS n FROM t"); got != `[{"n":0}]` {
		t.Errorf("after them: %s", got)
	}
}
