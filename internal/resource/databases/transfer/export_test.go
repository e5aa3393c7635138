package transfer

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"

	"ql/internal/resource/databases"
)

// dump returns a database as SQL.
func dump(t testing.TB, d *databases.Databases, name string) string {
	t.Helper()
	var b bytes.Buffer
	if err := ExportSQL(t.Context(), d, name, &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestExportAndImport(t *testing.T) {
	d := open(t, databases.Options{})
	for _, sql := range []string{
		`CREATE TABLE parents(id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL)`,
		`CREATE TABLE children(parent INTEGER REFERENCES parents(id), "odd "" name", doubled AS (parent * 2), kept AS (parent + 1) STORED)`,
		`CREATE TABLE plain(k TEXT PRIMARY KEY, v) WITHOUT ROWID`,
		`CREATE INDEX by_name ON parents(lower(name))`,
		`CREATE VIEW both AS SELECT name, "odd "" name" AS odd FROM parents JOIN children ON parent = id`,
		`CREATE TRIGGER counts AFTER INSERT ON plain WHEN new.k <> ';' BEGIN UPDATE parents SET name = name; DELETE FROM plain WHERE k = 'gone; END'; END`,
		`INSERT INTO parents(name) VALUES ('it''s; --'), ('/* x'), ('line` + "\n" + `two'), ('ü')`,
		`DELETE FROM parents WHERE id = 4`,
		`INSERT INTO plain VALUES ('int', -9223372036854775807 - 1), ('real', 0.1), ('whole', 3.0), ('huge', 9e999), ('null', NULL), ('blob', x'00ff'), ('zero', CAST(x'610062' AS TEXT)), ('bad', CAST(x'ff' AS TEXT)), ('large', hex(zeroblob(490000)))`,
	} {
		must(t, d, sql)
	}
	must(t, d, "INSERT INTO children(parent, \"odd \"\" name\") VALUES (1, x'01')")
	hide(t, d)

	text := dump(t, d, "main")
	if strings.Contains(text, "_ql_") {
		t.Errorf("the hidden table is in it: %s", text)
	}
	n, err := ImportSQL(t.Context(), d, "copy", iotest.OneByteReader(strings.NewReader(text)))
	if err != nil {
		t.Fatal(err)
	}
	if want := int64(3 + 13 + 2 + 3); n != want { // tables, rows, numbers, the rest
		t.Errorf("%d statements, want %d", n, want)
	}
	if again := dump(t, d, "copy"); again != text {
		t.Errorf("the copy is\n%.5000s\nand was\n%.5000s", again, text)
	}
	got := on(t, d, "copy", "INSERT INTO parents(name) VALUES ('next') RETURNING id")
	if got != `[{"id":5}]` {
		t.Errorf("the next number is %s", got)
	}
}

func TestExportTable(t *testing.T) {
	d := open(t, databases.Options{})
	must(t, d, "CREATE TABLE t(a INTEGER, b TEXT, c)")
	must(t, d, "INSERT INTO t VALUES (1, 'x, \"y\"', x'00ff'), (NULL, '', 0.5), (3, 'two\nlines', 2.0)")
	var b bytes.Buffer
	rows, err := ExportCSV(t.Context(), d, "", "t", &b)
	const want = "a,b,c\n1,\"x, \"\"y\"\"\",00ff\n,,0.5\n3,\"two\nlines\",2\n"
	if err != nil || rows != 3 || b.String() != want {
		t.Errorf("%d rows, %v: %q", rows, err, b.String())
	}
	must(t, d, "CREATE TABLE u(b TEXT NOT NULL DEFAULT 'none', a INTEGER)")
	n, err := ImportCSV(t.Context(), d, "", "u", strings.NewReader("\uFEFFa,b\n1,x\n,y\n"))
	if err != nil || n != 2 {
		t.Errorf("%d rows, %v", n, err)
	}
	if got := must(t, d, "SELECT a, b, typeof(a) AS kind FROM u"); got != `[{"a":1,"b":"x","kind":"integer"},{"a":null,"b":"y","kind":"null"}]` {
		t.Error(got)
	}
	for text, code := range map[string]string{
		"":                   "bad_csv",
		"a\n1,2\n":           "bad_csv",
		"a,b\n1,\"x\n":       "bad_csv",
		"a,nothing\n1,2\n":   "no_such_column",
		"a,b\n5,kept?\n6,\n": "not_null",
		numbered(101):        limitExceeded,
	} {
		if _, err := ImportCSV(t.Context(), d, "", "u", strings.NewReader(text)); codeOf(err) != code {
			t.Errorf("%q: %v, want %s", text, err, code)
		}
	}
	if got := must(t, d, "SELECT count(*) AS n FROM u"); got != `[{"n":2}]` {
		t.Errorf("half of a file stayed: %s", got)
	}
	for table, code := range map[string]string{"missing": "no_such_table", "_ql_receipts": sqlDenied} {
		hide(t, d)
		if _, err := ExportCSV(t.Context(), d, "", table, io.Discard); codeOf(err) != code {
			t.Errorf("export of %s: %v", table, err)
		}
		if _, err := ImportCSV(t.Context(), d, "", table, strings.NewReader("a\n1\n")); codeOf(err) != code {
			t.Errorf("import of %s: %v", table, err)
		}
	}
}

func TestImportIsAScripts(t *testing.T) {
	d := open(t, databases.Options{MaxBytes: 1 << 20})
	must(t, d, "CREATE TABLE t(a INTEGER PRIMARY KEY, b REFERENCES t(a))")
	for sql, code := range map[string]string{
		"INSERT INTO t VALUES (1, NULL); ATTACH 'x' AS y;":                                                                sqlDenied,
		"INSERT INTO t VALUES (1, NULL); PRAGMA writable_schema=ON;":                                                      sqlDenied,
		"INSERT INTO t VALUES (1, NULL); ROLLBACK;":                                                                       sqlDenied,
		"INSERT INTO t VALUES (1, NULL); CREATE TABLE _ql_receipts(a);":                                                   sqlDenied,
		"INSERT INTO t VALUES (1, NULL); SELECT load_extension('x');":                                                     sqlDenied,
		"INSERT INTO t VALUES (1, NULL); INSERT OR ROLLBACK INTO t VALUES (1,1);":                                         "unique",
		"INSERT INTO t VALUES (1, 2);":                                                                                    "foreign_key",
		"INSERT INTO t VALUES (1, ?);":                                                                                    sqlError,
		"INSERT INTO t VALUES (1, NULL); nonsense":                                                                        sqlError,
		"INSERT INTO t VALUES (1, 'not ended":                                                                             sqlError,
		"INSERT INTO t(b) SELECT 1 FROM (WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT x FROM c);": "database_full",
		"SELECT '" + strings.Repeat("x", maxSQL) + "';":                                                                   limitExceeded,
	} {
		if _, err := ImportSQL(t.Context(), d, "", strings.NewReader(sql)); codeOf(err) != code {
			t.Errorf("%.100s: %v, want %s", sql, err, code)
		}
	}
	if got := must(t, d, "SELECT count(*) AS n FROM t"); got != `[{"n":0}]` {
		t.Errorf("something stayed: %s", got)
	}
	// What a script may not be long, an import may, and a script still not.
	if _, err := ImportSQL(t.Context(), d, "", strings.NewReader("-- a comment\n;;INSERT INTO t VALUES (2, 1);\n/* ; */ INSERT INTO t VALUES (1, length('"+strings.Repeat("x", 2*databases.MaxSQL)+"') - 199999)")); err != nil {
		t.Error(err)
	}
	if got := must(t, d, "SELECT a, b FROM t ORDER BY a"); got != `[{"a":1,"b":1},{"a":2,"b":1}]` {
		t.Error(got)
	}
}

func TestStatements(t *testing.T) {
	tests := map[string][]string{
		"": nil, " ;; \n;": nil, "-- nothing\n": nil,
		"a;b": {"a;", "b"},
		"SELECT ';' ; SELECT \";\";SELECT [;]; SELECT `;`;":                            {"SELECT ';' ;", "SELECT \";\";", "SELECT [;];", "SELECT `;`;"},
		"SELECT 'it''s;'; SELECT 1":                                                    {"SELECT 'it''s;';", "SELECT 1"},
		"SELECT 1 -- ; x\n;/* ; **/SELECT 2;":                                          {"SELECT 1 -- ; x\n;", "/* ; **/SELECT 2;"},
		"create temp trigger x begin select 1; select case when 1 then 2 end; end; b;": {"create temp trigger x begin select 1; select case when 1 then 2 end; end;", "b;"},
		"CREATE TRIGGER x BEGIN SELECT 1; END /* c */ ; b":                             {"CREATE TRIGGER x BEGIN SELECT 1; END /* c */ ;", "b"},
		"CREATE TABLE trigger_(a); EXPLAIN CREATE TRIGGER x BEGIN a; END; b":           {"CREATE TABLE trigger_(a);", "EXPLAIN CREATE TRIGGER x BEGIN a; END;", "b"},
		"CREATE TRIGGER x BEGIN a; END":                                                {"CREATE TRIGGER x BEGIN a; END"},
		"SELECT 'open":                                                                 {"SELECT 'open"}, "SELECT /* open": {"SELECT /* open"}, "1/2;1-2;": {"1/2;", "1-2;"},
	}
	for text, want := range tests {
		all := newStatements(bufio.NewReader(strings.NewReader(text)), 1000)
		var got []string
		for {
			s, err := all.next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, s)
		}
		if strings.Join(got, "¦") != strings.Join(want, "¦") {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestReal(t *testing.T) {
	for f, want := range map[float64]string{0: "0.0", 1: "1.0", -0.5: "-0.5", 1e21: "1e+21", math.Inf(1): "9e999", math.Inf(-1): "-9e999", math.MaxFloat64: "1.7976931348623157e+308"} {
		if got := real(f); got != want {
			t.Errorf("%g is %s, want %s", f, got, want)
		}
	}
}

// FuzzStatements takes any text apart: together the statements are the text, but
// for what stands between them.
func FuzzStatements(f *testing.F) {
	for _, s := range []string{"a;b", "CREATE TRIGGER x BEGIN a; END;", "'", "/*", "--", "\uFEFF;", "[;"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all := newStatements(bufio.NewReader(strings.NewReader(text)), 10_000)
		rest := text
		for {
			s, err := all.next()
			if err != nil {
				return
			}
			_, after, found := strings.Cut(rest, s)
			if s == "" || !found {
				t.Fatalf("%q gave %q", text, s)
			}
			rest = after
		}
	})
}
