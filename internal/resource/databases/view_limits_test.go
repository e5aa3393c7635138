package databases

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ql/lang/bytecode"
)

func TestViewsOfViews(t *testing.T) {
	d := open(t, Options{})
	must(t, d, "CREATE TABLE t(a)")
	must(t, d, "INSERT INTO t VALUES (1)")
	// In the order in which none knows yet what it will be made of.
	for i := 20; i > 0; i-- {
		must(t, d, fmt.Sprintf(`CREATE VIEW v%d AS SELECT x.a FROM "V%d" x /* ' */, [v%d] y -- '`, i, i-1, i-1))
	}
	must(t, d, "CREATE VIEW v0 AS SELECT a FROM t")
	for sql, want := range map[string]string{
		"SELECT count(*) AS n FROM v3":                                    `[{"n":1}]`,
		"SELECT count(*) AS n FROM v20":                                   limitExceeded,
		"SELECT count(*) AS n FROM V12 -- '":                              limitExceeded,
		"SELECT /* ' */ count(*) FROM 'v15' /* ' */":                      limitExceeded,
		"SELECT count(*) AS n FROM `v15`":                                 limitExceeded,
		"SELECT 1 AS n" + strings.Repeat(" + (SELECT a FROM v5)", 90):     limitExceeded,
		"INSERT INTO t SELECT a FROM v20":                                 limitExceeded,
		"WITH x AS (SELECT a FROM v20) SELECT * FROM x":                   limitExceeded,
		"DELETE FROM t WHERE a IN (SELECT a FROM v1) AND a > 1":           `{"changes":0,"last_id":null}`,
		"CREATE TRIGGER tr AFTER UPDATE ON t BEGIN SELECT a FROM v2; END": `{"changes":0,"last_id":null}`,
	} {
		if got := rows(t, d, sql); got != want {
			t.Errorf("%.80s: got %s, want %s", sql, got, want)
		}
	}
	if got := rows(t, d, "UPDATE t SET a = 1 WHERE a = 7"); got != `{"changes":0,"last_id":null}` {
		t.Errorf("a small trigger: %s", got)
	}
	for i := 20; i > 5; i-- {
		must(t, d, fmt.Sprintf("DROP VIEW v%d", i))
	}
}

// TestCachedStatementsOfNewViews: a cached statement is looked at again where a
// table has become a view.
func TestCachedStatementsOfNewViews(t *testing.T) {
	d := open(t, Options{})
	must(t, d, "CREATE TABLE v0(a)")
	const sql = "SELECT count(*) AS n FROM v0"
	for range 3 {
		must(t, d, sql)
	}
	must(t, d, "DROP TABLE v0")
	for i := range 15 {
		must(t, d, fmt.Sprintf("CREATE VIEW v%d AS SELECT x.a FROM v%d x, v%d y", i, i+1, i+1))
	}
	must(t, d, "CREATE VIEW v15 AS SELECT 1 AS a")
	if got := rows(t, d, sql); got != limitExceeded {
		t.Errorf("it was taken: %s", got)
	}
}

// TestViewsOfUnions: a view counts with each of its SELECTs.
func TestViewsOfUnions(t *testing.T) {
	d := open(t, Options{})
	must(t, d, "CREATE TABLE t(a)")
	must(t, d, "CREATE VIEW u AS "+unionOf("t"))
	for views, want := range map[int]string{1: "[]", maxViews/maxSelects + 1: limitExceeded} {
		_, err := d.Query(t.Context(), "", query(bytecode.SQLRows, "SELECT 1 FROM t WHERE "+all(views, "a IN (SELECT a FROM u)")))
		if want == "[]" && err != nil || want == limitExceeded && (err == nil || !strings.Contains(err.Error(), "views")) {
			t.Errorf("%d views: %v, want %s", views, err, want)
		}
	}
}

// TestTriggersOfViews: what all triggers come to counts for each change.
func TestTriggersOfViews(t *testing.T) {
	d := open(t, Options{})
	must(t, d, "CREATE TABLE t(a)")
	const many = "CREATE TRIGGER tr%d AFTER UPDATE ON t BEGIN SELECT %s; END"
	for i := range 12 {
		must(t, d, fmt.Sprintf(many, i, strings.TrimSuffix(strings.Repeat("(SELECT a FROM v),", 90), ",")))
	}
	must(t, d, "CREATE VIEW v AS SELECT 1 AS a")
	for sql, want := range map[string]string{
		"UPDATE t SET a = 2": limitExceeded,
		"DELETE FROM t":      limitExceeded,
		"SELECT a FROM v":    `[{"a":1}]`,
	} {
		if got := rows(t, d, sql); got != want {
			t.Errorf("%s: got %s, want %s", sql, got, want)
		}
	}
	must(t, d, "DROP TRIGGER tr3")
	must(t, d, "UPDATE t SET a = 2")
}

func TestNamesInSQL(t *testing.T) {
	for sql, want := range map[string]string{
		"SELECT a.B, 'it''s' FROM \"x\"\"y\" -- not this": "select|a|b|it's|from|x\"y",
		"/* no */a/b-c[ d]`e`":                            "a|b|c| d|e",
		"'open":                                           "open", "[open": "open", "/* open": "", "-- open": "", "é1$": "é1$", "": "",
	} {
		var got []string
		for name := range names(sql) {
			got = append(got, name)
		}
		if !slices.Equal(got, strings.FieldsFunc(want, func(r rune) bool { return r == '|' })) {
			t.Errorf("%s: %q, want %s", sql, got, want)
		}
	}
}

// TestDefinitionsAreBounded fills a database with definitions: those there are
// stay of use, and room is made by taking some away.
func TestDefinitionsAreBounded(t *testing.T) {
	t.Parallel()
	d := open(t, Options{})
	must(t, d, "CREATE TABLE t(a)")
	long := strings.Repeat("-", 99_000)
	for i := range maxDefinitions / 99_100 {
		must(t, d, fmt.Sprintf("CREATE VIEW v%d AS SELECT a /* %s */ FROM t", i, long))
	}
	for _, sql := range []string{"CREATE VIEW more AS SELECT a /* " + long + " */ FROM t", "CREATE TABLE more(a /* " + long + " */)"} {
		if got := rows(t, d, sql); got != limitExceeded {
			t.Errorf("%.20s: %s", sql, got)
		}
	}
	must(t, d, "CREATE TABLE small(a)")
	must(t, d, "INSERT INTO t VALUES (1)")
	if got := must(t, d, "SELECT count(*) AS n FROM v3"); got != `[{"n":1}]` {
		t.Errorf("a view gives %s", got)
	}
	must(t, d, "DROP VIEW v0")
	must(t, d, "CREATE VIEW more AS SELECT a /* "+long+" */ FROM t")
}
