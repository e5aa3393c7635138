package databases

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ql/lang/value"
)

// ran writes what a text gives, or the code and message of its error.
func ran(t *testing.T, d *Databases, text Text) string {
	t.Helper()
	if text.MaxRows == 0 {
		text.MaxRows = 100
	}
	if text.Meter == nil {
		text.Meter = meter(1 << 20)
	}
	results, err := d.RunText(t.Context(), "", text)
	if err != nil {
		return outcome(t)(value.Null, err)
	}
	var parts []string
	for _, r := range results {
		if r.Columns == nil {
			parts = append(parts, fmt.Sprintf("%d changed, last %s", r.Changes, value.AppendJSON(nil, r.LastID)))
			continue
		}
		part := fmt.Sprintf("%v %s", r.Columns, value.AppendJSON(nil, r.Rows))
		if r.More {
			part += " and more"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}

func TestRunText(t *testing.T) {
	d := open(t, Options{})
	if _, err := d.RunText(t.Context(), "", Text{SQL: "SELECT 1", MaxRows: 1}); !isNotFound(err) {
		t.Errorf("a database that is not there: %v", err)
	}
	for _, test := range []struct {
		sql    string
		params []value.Value
		write  bool
		rows   int
		want   string
	}{
		{sql: "CREATE TABLE t(a, b); INSERT INTO t VALUES (1, 'x;y'), (2, NULL); -- all", write: true, want: "0 changed, last null; 2 changed, last 2"},
		{sql: "SELECT a, a FROM t; SELECT count(*) AS n FROM t;", want: "[a a] [[1,1],[2,2]]; [n] [[2]]"},
		{sql: "SELECT a FROM t WHERE 0", want: "[a] []"},
		{sql: "SELECT a FROM t ORDER BY a", rows: 1, want: "[a] [[1]] and more"},
		{sql: "INSERT INTO t VALUES (3, 3), (4, 4) RETURNING a", rows: 1, write: true, want: "[a] [[3]] and more"},
		{sql: "SELECT ? + 1; SELECT ?, ?", params: []value.Value{value.Int(1), value.Text("x"), value.Null}, want: `[? + 1] [[2]]; [? ?] [["x",null]]`},
		{sql: "DELETE FROM t", want: sqlDenied},
		{sql: "SELECT 1; DELETE FROM t", want: sqlDenied},
		{sql: "DELETE FROM t; SELECT * FROM gone", write: true, want: "no_such_table"},
		{sql: "DELETE FROM t; INSERT OR ROLLBACK INTO u VALUES (1)", write: true, want: "no_such_table"},
		{sql: "SELECT count(*) AS n FROM t", want: "[n] [[4]]"}, // nothing of those was kept
		{sql: "", want: sqlError},
		{sql: " -- nothing", want: sqlError},
		{sql: "SELECT ?", want: sqlError},
		{sql: "SELECT ?1", params: []value.Value{value.Int(1)}, want: sqlError},
		{sql: "SELECT 1", params: []value.Value{value.Int(1)}, want: sqlError},
		{sql: "CREATE TABLE _ql_x(a)", write: true, want: sqlDenied},
		{sql: "ATTACH 'x' AS y", write: true, want: sqlDenied},
		{sql: "SELECT 1; VACUUM", write: true, want: sqlDenied},
		{sql: "SELECT 1; COMMIT", write: true, want: sqlDenied},
		{sql: "SELECT 1;" + strings.Repeat(" ", MaxSQL), want: limitExceeded},
		{sql: "WITH RECURSIVE c(x) AS (VALUES(1) UNION ALL SELECT x+1 FROM c) SELECT x FROM c", rows: 1 << 30, want: "limit memory"},
	} {
		if got := ran(t, d, Text{SQL: test.sql, Params: test.params, Write: test.write, MaxRows: test.rows}); got != test.want {
			t.Errorf("%.60s: got %s, want %s", test.sql, got, test.want)
		}
	}
	m := meter(1 << 20)
	m.Fuel, m.Reserve, m.TotalFuel = 0, 1_000_000, 1_000_000
	if got := ran(t, d, Text{SQL: "SELECT 1; WITH RECURSIVE c(x) AS (VALUES(1) UNION ALL SELECT x+1 FROM c) SELECT count(*) FROM c", Meter: m}); got != "limit fuel" {
		t.Errorf("an endless statement: %s", got)
	}
}

// TestRunTextCountsNames checks that the names of columns count in memory: they are no values, and
// a text may ask for a table that has many bytes of them again and again.
func TestRunTextCountsNames(t *testing.T) {
	d := open(t, Options{})
	columns := make([]string, 90)
	for i := range columns {
		columns[i] = fmt.Sprintf("c%d%s", i, strings.Repeat("x", 1000))
	}
	if got := ran(t, d, Text{Write: true, SQL: "CREATE TABLE w(" + strings.Join(columns, ",") + ")"}); strings.Contains(got, "error") {
		t.Fatal(got)
	}
	if got := ran(t, d, Text{SQL: strings.Repeat("SELECT*FROM w;", 8)}); strings.Count(got, "[]") != 8 {
		t.Errorf("names that fit: %.100s", got)
	}
	for _, count := range []int{12, 100} {
		if got := ran(t, d, Text{SQL: strings.Repeat("SELECT*FROM w;", count)}); got != "limit memory" {
			t.Errorf("%d times 90 KB of names in 1 MiB: %.100s", count, got)
		}
	}
	if got := ran(t, d, Text{SQL: strings.Repeat("SELECT 1;", 6000)}); got != "limit memory" {
		t.Errorf("6000 results in 1 MiB: %.100s", got)
	}
}

// TestRunTextAccept checks that a result which is not wanted ends a text there, with nothing kept.
func TestRunTextAccept(t *testing.T) {
	d := open(t, Options{})
	ran(t, d, Text{SQL: "CREATE TABLE t(a)", Write: true})
	shown := 0
	got := ran(t, d, Text{Write: true, SQL: "INSERT INTO t VALUES (1); SELECT a FROM t; SELECT 2", Accept: func(r *Result) error {
		if shown++; r.Columns != nil {
			return value.Exceeded("output", 1, "too long")
		}
		return nil
	}})
	if got != limitExceeded || shown != 2 {
		t.Errorf("%s, after %d results", got, shown)
	}
	if got := ran(t, d, Text{SQL: "SELECT count(*) AS n FROM t"}); got != "[n] [[0]]" {
		t.Errorf("afterwards: %s", got)
	}
}

func TestSchema(t *testing.T) {
	d := open(t, Options{})
	if got := ran(t, d, Text{Write: true, SQL: `
		CREATE TABLE people(id INTEGER PRIMARY KEY, name TEXT NOT NULL DEFAULT 'x', twice AS (id * 2));
		CREATE UNIQUE INDEX by_name ON people(name, id);
		CREATE VIEW names AS SELECT name AS n FROM people;
		CREATE VIEW broken AS SELECT * FROM gone;
		CREATE TABLE big(a);
		WITH RECURSIVE c(x) AS (VALUES(1) UNION ALL SELECT x+1 FROM c LIMIT 2000) INSERT INTO big SELECT x FROM c;
		INSERT INTO people(name) VALUES ('a'), ('b')`}); strings.Contains(got, "error") {
		t.Fatal(got)
	}
	list, more, err := d.Schema(t.Context(), "main", TablePage{Limit: 10})
	if err != nil || more || len(list) != 4 {
		t.Fatalf("%v %v %+v", err, more, list)
	}
	want := "[{big table false 2000 [{a  false  0 false}] []} {broken view false -1 [] []} {names view false -1 [{n  false  0 false}] []} " +
		"{people table true 2 [{id INTEGER false  1 false} {name TEXT true 'x' 0 false} {twice  false  0 true}] [{by_name true [name id]}]}]"
	var got []string
	for _, table := range list {
		got = append(got, fmt.Sprintf("{%s %s %t %d %v %v}", table.Name, table.Kind, table.Exact, table.Rows, table.Columns, table.Indexes))
	}
	if text := fmt.Sprint(got); text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	list, more, err = d.Schema(t.Context(), "main", TablePage{After: "broken", Limit: 1})
	if err != nil || !more || len(list) != 1 || list[0].Name != "names" {
		t.Errorf("a page: %v %v %+v", err, more, list)
	}
	if _, _, err := d.Schema(t.Context(), "nothing", TablePage{Limit: 1}); !isNotFound(err) {
		t.Errorf("of none: %v", err)
	}
}

func TestRemoveKeepsReceiptsOfJobs(t *testing.T) {
	folder := t.TempDir()
	d := open(t, Options{Folder: folder})
	ran(t, d, Text{SQL: "CREATE TABLE t(a)", Write: true})
	gone, err := d.Remove(t.Context(), "main")
	if _, missing := os.Stat(filepath.Join(folder, "main.db")); err != nil || !gone || !os.IsNotExist(missing) {
		t.Fatalf("%t %v %v", gone, err, missing)
	}
	ran(t, d, Text{SQL: "CREATE TABLE t(a)", Write: true})
	if _, err := d.Receipts(t.Context(), "main", [16]byte{1}, 1); err != nil { // which records the attempt
		t.Fatal(err)
	}
	gone, err = d.Remove(t.Context(), "main")
	if err != nil || gone {
		t.Fatalf("with a job under way: %t %v", gone, err)
	}
	if jobs, err := d.jobsWithReceipts(t.Context(), "main", [16]byte{}); err != nil || len(jobs) != 1 {
		t.Errorf("the job's mark: %v %v", jobs, err)
	}
	if list, _, err := d.Schema(t.Context(), "main", TablePage{Limit: 9}); err != nil || len(list) != 0 {
		t.Errorf("what is left: %v %v", list, err)
	}
	if _, err := d.Remove(t.Context(), "nothing"); !isNotFound(err) {
		t.Errorf("of none: %v", err)
	}
}

// TestSpoolCounts checks that what waits to be imported counts as stored until it is gone.
func TestSpoolCounts(t *testing.T) {
	storage := &sharedStorage{bytes: 1 << 20}
	folder := t.TempDir()
	d := open(t, Options{Folder: folder, Storage: storage})
	if _, err := d.Spool(t.Context(), strings.NewReader(strings.Repeat("x", 2<<20))); outcome(t)(value.Null, err) != quotaExceeded {
		t.Errorf("more than fits: %v", err)
	}
	s, err := d.Spool(t.Context(), strings.NewReader(strings.Repeat("x", 600_000)))
	if err != nil {
		t.Fatal(err)
	}
	if storage.held != 600_000 {
		t.Errorf("it counts as %d", storage.held)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	left, err := os.ReadDir(folder)
	if storage.held != 0 || err != nil || len(left) != 0 {
		t.Errorf("after it: %d bytes, %v %v", storage.held, left, err)
	}
}
