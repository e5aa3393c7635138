package databases

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"ql/internal/engine"
	"ql/lang/bytecode"
	"ql/lang/value"
)

// mapRows are maps to be imported, as the engine hands them on; types are those of the columns
// of the first.
type mapRows struct {
	list  []value.Value
	types []string
	at    int
	fail  error // after the last row
}

func jsonRows(t testing.TB, text string, types ...string) *mapRows {
	t.Helper()
	v, err := value.ParseJSON(nil, text)
	if err != nil {
		t.Fatal(err)
	}
	r := &mapRows{types: types}
	for i := range v.List().Len() {
		r.list = append(r.list, v.List().At(i))
	}
	return r
}

func (r *mapRows) Columns() (columns []engine.Column, _ error) {
	if len(r.list) == 0 {
		return nil, nil
	}
	for k := range r.list[0].Map().All {
		c := engine.Column{Name: k.Str()}
		if len(r.types) > len(columns) {
			c.Type = r.types[len(columns)]
		}
		columns = append(columns, c)
	}
	return columns, nil
}

func (r *mapRows) Next() (names []string, cells []value.Value, err error) {
	if r.at == len(r.list) {
		if r.fail != nil {
			return nil, nil, r.fail
		}
		return nil, nil, io.EOF
	}
	for k, v := range r.list[r.at].Map().All {
		names, cells = append(names, k.Str()), append(cells, v)
	}
	r.at++
	return names, cells, nil
}

func (r *mapRows) Place() string { return fmt.Sprintf("index %d", r.at-1) }

func (r *mapRows) Result(rows int64) value.Value { return value.Int(rows) }

func imports(t testing.TB, d *Databases, table string, rows *mapRows) string {
	t.Helper()
	v, err := d.Import(t.Context(), "", engine.Import{Table: table, Rows: rows, Meter: meter(1 << 20)})
	var e *value.Error
	if errors.As(err, &e) {
		return e.Code + ": " + e.Message
	}
	return outcome(t)(v, err)
}

func TestImport(t *testing.T) {
	d := open(t, Options{})
	for _, c := range []struct{ table, rows, want, then string }{
		{"t", `[{"a": 1, "b": "x"}, {"b": "y", "A": 2}]`, "2", `[{"a":1,"b":"x"},{"a":2,"b":"y"}]`},
		{"t", `[{"a": 3}, {"b": null, "a": [1, true]}]`, "2", `[{"a":1,"b":"x"},{"a":2,"b":"y"},{"a":3,"b":null},{"a":"[1,true]","b":null}]`},
		{"t", `[{"a": 4}, {"a": 5, "c": 1}]`, `no_such_column: index 1: the table "t" has no column "c": it has a, b`, ""},
		{"t", `[{"a": 4, "A": 5}]`, `duplicate_column: index 0: a row has "A" twice, in capital and small letters, which is one column for the database`, ""},
		{"t", `[]`, "0", ""},
		{"t", `[{}]`, "1", ""},
		{"my \"table\"", `[{"a b": 1}]`, "1", `[{"a b":1}]`},
		{"none", `[]`, "0", "no_such_table"},
		{"none", `[{}]`, `no_such_table: index 0: there is no table "none", and the row has no columns that one could be made of`, "no_such_table"},
		{"_ql_receipts", `[{"job": 1}]`, "sql_denied: names that start with _ql_ are kept for the service", ""},
		{"_QL_x", `[{"job": 1}]`, "sql_denied: names that start with _ql_ are kept for the service", ""},
		{"sqlite_schema", `[{"name": "x"}]`, "sql_error: index 0: table sqlite_master may not be modified", ""},
		{"sqlite_x", `[{"name": "x"}]`, `sql_error: object name reserved for internal use: sqlite_x`, ""},
		{"x", `[{"_ql_a": 1}]`, "sql_denied: names that start with _ql_ are kept for the service", "no_such_table"},
	} {
		if got := imports(t, d, c.table, jsonRows(t, c.rows)); got != c.want {
			t.Errorf("%s into %s: %s, want %s", c.rows, c.table, got, c.want)
		}
		if c.then != "" {
			if got := rows(t, d, "SELECT * FROM "+QuoteIdentifier(c.table)); got != c.then {
				t.Errorf("%s into %s: it has %s then", c.rows, c.table, got)
			}
		}
	}
}

func TestImportMakesColumns(t *testing.T) {
	d := open(t, Options{})
	imports(t, d, "t", jsonRows(t, `[{"a": "007", "b": 2, "c": 1}]`, "TEXT", "INTEGER"))
	if got := must(t, d, "SELECT sql FROM sqlite_schema"); got != `[{"sql":"CREATE TABLE \"t\"(\"a\" TEXT, \"b\" INTEGER, \"c\")"}]` {
		t.Error(got)
	}
}

// TestImportIsWhole fails in the middle in every way: nothing is there then.
func TestImportIsWhole(t *testing.T) {
	d := open(t, Options{})
	must(t, d, "CREATE TABLE u(a INTEGER PRIMARY KEY, b REFERENCES u)")
	for _, c := range []struct {
		table, rows, want string
		fail              error
	}{
		{"u", `[{"a": 1}, {"a": 2}, {"a": 1}]`, "unique: index 2: a must be unique: another row of u has the same value", nil},
		{"u", `[{"a": 1}, {"a": "x"}]`, "wrong_kind: index 1: this value does not fit: LIMIT, OFFSET and the number of a row, an INTEGER PRIMARY KEY, take whole numbers", nil},
		{"u", `[{"a": 1, "b": 5}]`, "foreign_key: a row refers to another that is not there: add that one first, or remove the ones that refer to it first", nil},
		{"u", `[{"a": 1}]`, "bad_csv: broken", value.Errorf(value.BadCSV, "broken")},
		{"new", `[{"a": 1}]`, "bad_csv: broken", value.Errorf(value.BadCSV, "broken")},
		{"new", `[{"a": 1}, {"b": 1}]`, `no_such_column: index 1: the table "new" has no column "b": it has a`, nil},
	} {
		r := jsonRows(t, c.rows)
		r.fail = c.fail
		if got := imports(t, d, c.table, r); got != c.want {
			t.Errorf("%s: %s, want %s", c.rows, got, c.want)
		}
		if got := rows(t, d, "SELECT * FROM u"); got != "[]" {
			t.Errorf("%s: it has %s then", c.rows, got)
		}
		if got := rows(t, d, "SELECT * FROM new"); got != "no_such_table" {
			t.Errorf("%s: there is a table then: %s", c.rows, got)
		}
	}
	// References are looked at when all rows are there.
	if got := imports(t, d, "u", jsonRows(t, `[{"a": 1, "b": 2}, {"a": 2, "b": 1}]`)); got != "2" {
		t.Error(got)
	}
}

func TestImportInTransaction(t *testing.T) {
	d := open(t, Options{})
	tx := begin(t, d)
	run := func(savepoint bool, rows string) string {
		return outcome(t)(tx.Import(t.Context(), engine.Import{Table: "t", Rows: jsonRows(t, rows), Meter: meter(1 << 20), Savepoint: savepoint}))
	}
	if got := run(false, `[{"a": 1}]`); got != "1" {
		t.Fatal(got)
	}
	if got := run(true, `[{"a": 2}, {"b": 1}]`); got != noSuchColumn {
		t.Error(got)
	}
	if got := in(t, tx, false, "SELECT a FROM t"); got != `[{"a":1}]` {
		t.Error(got)
	}
	if err := tx.Commit(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if got := must(t, d, "SELECT a FROM t"); got != `[{"a":1}]` {
		t.Error(got)
	}
}

// TestImportLeavesAReceipt repeats an import as a job does that was killed: an attempt that is
// not the newest adds nothing.
func TestImportLeavesAReceipt(t *testing.T) {
	d := open(t, Options{})
	job := [16]byte{1}
	receipt := func(attempt int64) *engine.Receipt {
		return &engine.Receipt{Job: job, Attempt: attempt, Step: 7, Write: func(v value.Value) ([]byte, error) { return value.AppendJSON(nil, v), nil }}
	}
	im := engine.Import{Table: "t", Rows: jsonRows(t, `[{"a": 1}]`), Meter: meter(1 << 20), Receipt: receipt(2)}
	if got := outcome(t)(d.Import(t.Context(), "", im)); got != "1" {
		t.Fatal(got)
	}
	found, err := d.Receipts(t.Context(), "", job, 3)
	if err != nil || len(found) != 1 || found[0].Step != 7 || string(found[0].Bytes) != "1" {
		t.Errorf("receipts %v, %v", found, err)
	}
	im.Rows = jsonRows(t, `[{"a": 1}]`)
	if _, err := d.Import(t.Context(), "", im); !errors.Is(err, engine.ErrSuperseded) {
		t.Errorf("an old attempt: %v", err)
	}
	if got := must(t, d, "SELECT COUNT(*) AS n FROM t"); got != `[{"n":1}]` {
		t.Error(got)
	}
}

// endless are rows that never end.
type endless struct {
	mapRows
	cell value.Value
}

func (r *endless) Columns() ([]engine.Column, error) { return []engine.Column{{Name: "a"}}, nil }

func (r *endless) Next() ([]string, []value.Value, error) {
	r.at++
	return []string{"a"}, []value.Value{r.cell}, nil
}

// TestImportIsBounded imports without end: fuel and the size of the database end it.
func TestImportIsBounded(t *testing.T) {
	d := open(t, Options{MaxBytes: 1 << 20})
	im := engine.Import{Table: "t", Rows: &endless{cell: value.Text(strings.Repeat("x", 1000))}, Meter: meter(1 << 20)}
	if got := outcome(t)(d.Import(t.Context(), "", im)); got != "database_full" {
		t.Error(got)
	}
	im.Rows, im.Meter = &endless{cell: value.Int(1)}, meter(1<<20)
	im.Meter.Fuel, im.Meter.TotalFuel = 1_000_000, 1_000_000
	if got := outcome(t)(d.Import(t.Context(), "", im)); got != "limit fuel" {
		t.Error(got)
	}
	if got := rows(t, d, "SELECT * FROM t"); got != "no_such_table" {
		t.Error(got)
	}
}

// sink writes rows down, up to a number.
type sink struct {
	log  []string
	most int
}

var errEnough = errors.New("enough")

func (s *sink) Columns(names []string) error {
	s.log = append(s.log, strings.Join(names, "|"))
	return nil
}

func (s *sink) Row(cells []value.Value) error {
	if len(s.log) > s.most {
		return errEnough
	}
	s.log = append(s.log, string(value.AppendJSON(nil, value.ListOf(cells...))))
	return nil
}

func TestRowsOneByOne(t *testing.T) {
	d := open(t, Options{})
	must(t, d, "CREATE TABLE t(a, b)")
	must(t, d, "INSERT INTO t VALUES (1, 'x'), (2.5, NULL)")
	for sql, want := range map[string]string{
		"SELECT * FROM t ORDER BY a":                     `a|b [1,"x"] [2.5,null]`,
		"SELECT a FROM t WHERE 0":                        `a`,
		"WITH x AS (SELECT 1) VALUES (1, 2)":             `column1|column2 [1,2]`,
		"SELECT a, a FROM t":                             "duplicate_column",
		"INSERT INTO t VALUES (3, 4) RETURNING a":        sqlDenied,
		"WITH x AS (SELECT 3) INSERT INTO t SELECT 1, 2": sqlDenied,
		"SELECT * FROM nowhere":                          "no_such_table",
	} {
		s := &sink{most: 100}
		q := query(bytecode.SQLRows, sql)
		q.Rows, q.Meter = s, meter(1<<20)
		got := outcome(t)(d.Query(t.Context(), "", q))
		if got == "null" {
			got = strings.Join(s.log, " ")
		}
		if got != want {
			t.Errorf("%s: %s, want %s", sql, got, want)
		}
	}
	if got := must(t, d, "SELECT COUNT(*) AS n FROM t"); got != `[{"n":2}]` {
		t.Error(got)
	}
}

// TestRowsAreReleased reads many times what a script may hold, one row at a time.
func TestRowsAreReleased(t *testing.T) {
	d := open(t, Options{})
	q := query(bytecode.SQLRows, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 2000) SELECT i, printf('%.*c', 10000, 'x') AS x FROM n")
	s := &sink{most: 0}
	q.Rows, q.Meter = s, meter(1<<20)
	if _, err := d.Query(t.Context(), "", q); !errors.Is(err, errEnough) {
		t.Fatalf("an error of the sink: %v", err)
	}
	q.Rows, q.Meter = discard{}, meter(1<<20)
	if got := outcome(t)(d.Query(t.Context(), "", q)); got != "null" {
		t.Error(got)
	}
}

type discard struct{}

func (discard) Columns([]string) error  { return nil }
func (discard) Row([]value.Value) error { return nil }
