package databases

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"testing"

	"ql/lang/bytecode"
	"ql/lang/value"
)

// TestGroupConcatAsSQLite compares group_concat and string_agg with SQLite's own,
// in groups and in windows.
func TestGroupConcatAsSQLite(t *testing.T) {
	t.Parallel()
	const tables = `WITH
		plain(id, g, v, s) AS (VALUES (1,1,'a',';'), (2,1,'bb',';'), (3,2,'c',';'), (4,2,'dd',';'), (5,2,'a',';'), (6,1,'f',';')),
		differ(id, g, v, s) AS (VALUES (1,1,'a','-'), (2,1,'b','--'), (3,1,'c',NULL), (4,2,'d','é'), (5,2,'e',''), (6,2,'f',7), (7,1,'g',1.5), (8,1,'h',x'2b2b')),
		nulls(id, g, v, s) AS (VALUES (1,1,NULL,';'), (2,1,'b',';'), (3,1,NULL,NULL), (4,2,NULL,';'), (5,3,'e',','), (6,3,NULL,'x'), (7,3,'g','yy')),
		kinds(id, g, v, s) AS (VALUES (1,1,1,','), (2,1,2.50,','), (3,1,x'414243',','), (4,1,'ü👋',','), (5,1,1e300,','), (6,1,-7,',')),
		blank(id, g, v, s) AS (VALUES (1,1,'',''), (2,1,'',''), (3,1,'',';'), (4,1,'x',''), (5,1,'',';;'), (6,1,'',''), (7,1,'y',''), (8,1,'',''), (9,1,'','')),
		none(id, g, v, s) AS (SELECT 1, 1, 'a', ';' WHERE 0) `
	var queries []string
	for _, table := range []string{"plain", "differ", "nulls", "kinds", "blank", "none"} {
		for _, call := range []string{"group_concat(v)", "group_concat(v, s)", "string_agg(v, s)", "group_concat(v, NULL)", "group_concat(v, '')", "group_concat(v, '<->')"} {
			name, args, _ := strings.Cut(strings.TrimSuffix(call, ")"), "(")
			queries = append(queries,
				fmt.Sprintf("SELECT %s AS v FROM %s", call, table),
				fmt.Sprintf("SELECT %s AS v FROM %s GROUP BY g ORDER BY g", call, table),
				fmt.Sprintf("SELECT %s(%s ORDER BY v DESC, id) AS v FROM %s", name, args, table),
				fmt.Sprintf("SELECT %s(%s ORDER BY s, id DESC) AS v FROM %s GROUP BY g ORDER BY g", name, args, table),
				fmt.Sprintf("SELECT %s FILTER (WHERE id %% 2 = 1) AS v FROM %s", call, table),
				fmt.Sprintf("SELECT %s FILTER (WHERE id > 100) AS v FROM %s", call, table),
				fmt.Sprintf("SELECT (SELECT %s FROM %s AS i WHERE i.id <= o.id) AS v FROM %s AS o ORDER BY o.id", call, table, table),
			)
			for _, frame := range []string{
				"", "ORDER BY id", "PARTITION BY g", "PARTITION BY g ORDER BY id", "ORDER BY g",
				"ORDER BY id ROWS 1 PRECEDING",
				"ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
				"ORDER BY id ROWS BETWEEN 3 PRECEDING AND 2 PRECEDING",
				"ORDER BY id ROWS BETWEEN 1 FOLLOWING AND 3 FOLLOWING",
				"ORDER BY id ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
				"PARTITION BY g ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW",
				"ORDER BY g RANGE BETWEEN 1 PRECEDING AND CURRENT ROW",
				"ORDER BY g GROUPS BETWEEN CURRENT ROW AND 1 FOLLOWING",
				"ORDER BY id ROWS BETWEEN 2 PRECEDING AND 2 FOLLOWING EXCLUDE CURRENT ROW",
				"ORDER BY g RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE TIES",
			} {
				queries = append(queries,
					fmt.Sprintf("SELECT %s OVER (%s) AS v FROM %s ORDER BY id", call, frame, table),
					fmt.Sprintf("SELECT %s FILTER (WHERE id <> 2) OVER (%s) AS v FROM %s ORDER BY id", call, frame, table),
				)
			}
		}
		queries = append(queries,
			"SELECT group_concat(DISTINCT v) AS v FROM "+table,
			"SELECT group_concat(DISTINCT v ORDER BY v DESC) AS v FROM "+table,
			"SELECT group_concat(DISTINCT g) AS v FROM "+table+" GROUP BY v ORDER BY v",
		)
	}
	d := open(t, Options{})
	original := openOriginal(t)
	for _, q := range queries {
		// quote shows what each value is to the bit.
		q = tables + "SELECT coalesce(quote(v), 'null') || typeof(v) AS v FROM (" + q + ")"
		want := originals(t, original, q)
		if got, wanted := rows(t, d, q), "["+strings.Join(want, ",")+"]"; got != wanted {
			t.Errorf("%s: got %s, want %s", strings.TrimPrefix(q, tables), got, wanted)
		}
	}
	t.Logf("%d queries", len(queries))
}

// originals returns the rows that the library's own functions give.
func originals(t *testing.T, db *sql.DB, q string) (list []string) {
	t.Helper()
	found, err := db.QueryContext(t.Context(), q)
	if err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	defer found.Close()
	for found.Next() {
		var v string
		if err := found.Scan(&v); err != nil {
			t.Fatal(err)
		}
		list = append(list, `{"v":`+quoted(v)+`}`)
	}
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// columns writes a column for each number below n.
func columns(n int, format string) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(format, i))
	}
	return strings.Join(all, ", ")
}

// numbers is a table c with a column x that counts to n.
func numbers(n int) string {
	return fmt.Sprintf("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < %d) ", n)
}

// TestAggregatesShareMemory runs statements whose aggregates would each hold what
// a value may, and together many times what the script may. They end by the
// script's memory, and the process stays small.
func TestAggregatesShareMemory(t *testing.T) {
	const most = 6 * 16 << 20 // that the process may grow by
	memory := int64(16 << 20)
	if testing.Short() {
		memory = 4 << 20
	}
	d := open(t, Options{})
	must(t, d, "CREATE TABLE t(a)")
	must(t, d, "CREATE TABLE u(a)")
	must(t, d, "CREATE VIEW hides AS "+numbers(2)+"SELECT length(group_concat(printf('%0400000d', x)) OVER ()) AS n FROM c")
	must(t, d, "CREATE TRIGGER collects AFTER INSERT ON t BEGIN INSERT INTO u SELECT "+
		strings.Repeat("(SELECT n FROM hides LIMIT 1) + ", 30)+"0; END")
	nested := "0"
	for range 4 {
		nested = "(" + numbers(9) + "SELECT max(" + columns(30, "length(group_concat(printf('%%0100000d', %d + x)))") + ", " +
			"length(group_concat(x || " + nested + "))) FROM c)"
	}
	for _, c := range []struct{ name, sql string }{
		{"lists of small numbers", numbers(490_000) + "SELECT " + columns(50, "length(json_group_array((x + %d) %% 7)) AS c%[1]d") + " FROM c"},
		{"objects", numbers(60_000) + "SELECT " + columns(50, "length(json_group_object(x, %d)) AS c%[1]d") + " FROM c"},
		{"texts", numbers(9) + "SELECT " + columns(60, "length(group_concat(printf('%%0100000d', %d + x))) AS c%[1]d") + " FROM c"},
		{"texts with separators", numbers(9) + "SELECT " + columns(60, "length(string_agg(%d, printf('%%0100000d', x))) AS c%[1]d") + " FROM c"},
		{"separators that differ", numbers(400_000) + "SELECT " + columns(60, "length(group_concat('', iif((x + %d) %% 2, ';', ''))) AS c%[1]d") + " FROM c"},
		{"queries in one another", "SELECT " + nested + " AS n"},
		{"windows", numbers(9) + "SELECT " + columns(60, "length(group_concat(printf('%%0100000d', %d + x)) OVER ()) AS c%[1]d") + " FROM c"},
		{"windows that are left open", "SELECT " + columns(30, "("+numbers(9)+"SELECT length(group_concat(printf('%%0100000d', %d + x)) OVER ()) FROM c LIMIT 1) AS c%[1]d")},
		{"windows of a view", "SELECT " + columns(30, "(SELECT n FROM hides LIMIT 1) AS c%d")},
		{"windows in a trigger", "INSERT INTO t VALUES (1)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := query(bytecode.SQLRows, c.sql)
			q.Meter = meter(memory)
			var got string
			grown := growth(t, func() { got = outcome(t)(d.Query(t.Context(), "", q)) })
			if got != "limit memory" {
				t.Errorf("got %.200s", got)
			}
			t.Logf("the process grew by %d MiB", grown>>20)
			if grown > most {
				t.Errorf("the process grew by %d MiB", grown>>20)
			}
		})
	}
	if got := must(t, d, "SELECT count(*) AS n, group_concat(a) AS a FROM t"); got != `[{"n":0,"a":null}]` {
		t.Errorf("after them: %s", got)
	}
}

// growth returns by how much the process grew at most while f ran, 0 where the
// system does not tell.
func growth(t *testing.T, f func()) int64 {
	t.Helper()
	debug.FreeOSMemory()
	if os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) != nil {
		f()
		return 0
	}
	before := peak(t)
	f()
	return peak(t) - before
}

// TestAggregatesGiveBack runs a statement whose groups together hold many times
// what the script may, one after the other.
func TestAggregatesGiveBack(t *testing.T) {
	t.Parallel()
	d := open(t, Options{})
	for _, c := range []struct{ sql, want string }{
		{numbers(100_000) + "SELECT count(*) AS n FROM (SELECT group_concat(x), string_agg(x, x), json_group_array(x), json_group_object(x, x) FROM c GROUP BY x)", `[{"n":100000}]`},
		{numbers(400) + "SELECT sum(length(l)) AS n FROM (SELECT group_concat(printf('%050000d', x)) AS l FROM c GROUP BY x / 4)", `[{"n":20000299}]`},
	} {
		q := query(bytecode.SQLRows, c.sql)
		q.Meter = meter(2 << 20)
		if got := outcome(t)(d.Query(t.Context(), "", q)); got != c.want {
			t.Errorf("%s: got %s, want %s", c.sql, got, c.want)
		}
	}
}

// TestAggregatesWithoutScript runs a statement for no script.
func TestAggregatesWithoutScript(t *testing.T) {
	t.Parallel()
	d := open(t, Options{})
	_, err := d.Query(t.Context(), "", query(bytecode.SQLRows, numbers(9)+"SELECT "+columns(90, "length(group_concat(printf('%%0100000d', %d + x))) AS c%[1]d")+" FROM c"))
	var e *value.Error
	if !errors.As(err, &e) || e.Code != limitExceeded || e.Limit == nil || e.Limit.Name != "memory" || e.Limit.Max != unmetered {
		t.Errorf("got %v", err)
	}
}
