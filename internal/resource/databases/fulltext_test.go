package databases

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"ql/lang/bytecode"
	"ql/lang/value"
)

func TestFullText(t *testing.T) {
	d := open(t, Options{})
	must(t, d, "CREATE VIRTUAL TABLE notes USING fts5(title, body, tokenize = 'porter unicode61 remove_diacritics 2', prefix='2 3')")
	if got := must(t, d, "INSERT INTO notes(rowid, title, body) VALUES (3, 'Crème brûlée', 'Burning sugar with a torch'), (7, 'Sugar', 'sweet sugar, more sugar')"); got != `{"changes":2,"last_id":7}` {
		t.Error(got)
	}
	for sql, want := range map[string]string{
		"SELECT rowid FROM notes WHERE notes MATCH 'creme'":                                    `[{"rowid":3}]`,
		"SELECT rowid FROM notes('burn*')":                                                     `[{"rowid":3}]`,
		"SELECT rowid FROM notes WHERE notes MATCH 'sugar' ORDER BY rank":                      `[{"rowid":7},{"rowid":3}]`,
		"SELECT rowid FROM notes WHERE notes MATCH 'sugar' ORDER BY bm25(notes, 1.0, 10.0)":    `[{"rowid":7},{"rowid":3}]`,
		"SELECT rowid FROM notes WHERE title MATCH 'sugar'":                                    `[{"rowid":7}]`,
		"SELECT rowid FROM notes WHERE notes MATCH '\"more sugar\" OR NEAR(burning torch, 5)'": `[{"rowid":3},{"rowid":7}]`,
		"SELECT highlight(notes, 0, '<b>', '</b>') AS h FROM notes WHERE notes MATCH 'brulee'": `[{"h":"Crème <b>brûlée</b>"}]`,
		"SELECT snippet(notes, 1, '[', ']', '…', 3) AS s FROM notes WHERE notes MATCH 'torch'": `[{"s":"…with a [torch]"}]`,
		"SELECT count(*) AS n FROM notes":                                                      `[{"n":2}]`,
		"INSERT INTO notes(notes) VALUES ('integrity-check')":                                  "ok",
		"INSERT INTO notes(notes) VALUES ('rebuild')":                                          "ok",
		"INSERT INTO notes(notes) VALUES ('optimize')":                                         "ok",
		"INSERT INTO notes(notes, rank) VALUES ('rank', 'bm25(10.0, 5.0)')":                    "ok",
		"INSERT INTO notes(notes) VALUES ('nonsense')":                                         "sql_error",
		"SELECT rowid FROM notes WHERE notes MATCH '\"'":                                       "sql_error",
		"SELECT rowid FROM notes WHERE notes MATCH 'nocolumn : x'":                             "no_such_column",
		"SELECT 'a' MATCH 'b'": "sql_error",
	} {
		got := rows(t, d, sql)
		if want == "ok" && strings.HasPrefix(got, "{") {
			continue
		}
		if got != want {
			t.Errorf("%s: %s", sql, got)
		}
	}
	for _, c := range []struct{ sql, want string }{
		{"UPDATE notes SET body = 'salt' WHERE rowid = 7", `{"changes":1,"last_id":null}`},
		{"DELETE FROM notes WHERE rowid = 3", `{"changes":1,"last_id":null}`},
		{"ALTER TABLE notes RENAME TO texts", `{"changes":0,"last_id":null}`},
		{"SELECT rowid FROM texts WHERE texts MATCH 'salt'", `[{"rowid":7}]`},
		{"DROP TABLE texts", `{"changes":0,"last_id":null}`},
		{"SELECT name FROM sqlite_schema", `[]`},
	} {
		if got := rows(t, d, c.sql); got != c.want {
			t.Errorf("%s: %s", c.sql, got)
		}
	}
}

// TestFullTextOfAnotherTable: the usual triggers keep an index of a table's texts.
func TestFullTextOfAnotherTable(t *testing.T) {
	d := open(t, Options{})
	for _, sql := range []string{
		"CREATE TABLE docs(id INTEGER PRIMARY KEY, title, body)",
		"CREATE VIRTUAL TABLE docs_fts USING fts5(title, body, content='docs', content_rowid='id')",
		"CREATE TRIGGER docs_ai AFTER INSERT ON docs BEGIN INSERT INTO docs_fts(rowid, title, body) VALUES (new.id, new.title, new.body); END",
		"CREATE TRIGGER docs_ad AFTER DELETE ON docs BEGIN INSERT INTO docs_fts(docs_fts, rowid, title, body) VALUES ('delete', old.id, old.title, old.body); END",
		"INSERT INTO docs(title, body) VALUES ('one', 'red fish'), ('two', 'blue fish')",
		"DELETE FROM docs WHERE id = 1",
	} {
		must(t, d, sql)
	}
	if got := must(t, d, "SELECT d.title FROM docs_fts f JOIN docs d ON d.id = f.rowid WHERE docs_fts MATCH 'fish'"); got != `[{"title":"two"}]` {
		t.Error(got)
	}
	if got := must(t, d, "INSERT INTO docs(title, body) VALUES ('three', 'x')"); got != `{"changes":1,"last_id":3}` {
		t.Error(got)
	}
	// The index is told to forget what was never in it.
	must(t, d, "INSERT INTO docs_fts(docs_fts, rowid, title, body) VALUES ('delete', 2, 'other', 'words')")
	if got := rows(t, d, "INSERT INTO docs_fts(docs_fts, rank) VALUES ('integrity-check', 1)"); got != sqlError {
		t.Errorf("an index that does not fit: %s", got)
	}
	must(t, d, "INSERT INTO docs_fts(docs_fts) VALUES ('rebuild')")
	must(t, d, "INSERT INTO docs_fts(docs_fts, rank) VALUES ('integrity-check', 1)")
}

// TestShadowTablesAreProtected: nothing that a script may say writes to what a full-text index is kept in,
// and an index reaches nothing that its script may not read.
func TestShadowTablesAreProtected(t *testing.T) {
	d := open(t, Options{})
	// A trigger that would write there, fired by what the module does. Where there is a table f, SQLite
	// refuses to make it.
	must(t, d, "CREATE TABLE child(id REFERENCES f_content(id) ON DELETE CASCADE)")
	must(t, d, "CREATE TRIGGER evil AFTER DELETE ON child BEGIN UPDATE f_data SET block = x'ffffffff'; END")
	must(t, d, "CREATE VIRTUAL TABLE f USING fts5(a)")
	must(t, d, "INSERT INTO f(rowid, a) VALUES (1, 'one'), (2, 'two')")
	must(t, d, "INSERT INTO child VALUES (1)")
	before := must(t, d, "SELECT id, hex(block) AS b FROM f_data ORDER BY id")
	for _, sql := range []string{
		"UPDATE f_data SET block = x'00'", "DELETE FROM f_data", "INSERT INTO f_data VALUES (99, x'00')", "REPLACE INTO f_content VALUES (1, 'x')",
		"DROP TABLE f_data", "ALTER TABLE f_data RENAME TO g", "ALTER TABLE f_data ADD COLUMN x", "CREATE TABLE f_data(a)",
		"UPDATE f_config SET v = 9", "DELETE FROM f_idx", "UPDATE f_docsize SET sz = x'00'",
		"CREATE TRIGGER x AFTER INSERT ON f_content BEGIN SELECT 1; END",
	} {
		if got := rows(t, d, sql); got != sqlError {
			t.Errorf("%s: %s", sql, got)
		}
	}
	if got := rows(t, d, "DELETE FROM f WHERE rowid = 1"); got != sqlDenied {
		t.Errorf("a trigger on what the module does: %s", got)
	}
	if after := must(t, d, "SELECT id, hex(block) AS b FROM f_data ORDER BY id"); after != before {
		t.Errorf("the index was changed: %s", after)
	}
	must(t, d, "DROP TABLE child")
	must(t, d, "DELETE FROM f WHERE rowid = 1")
	// Tables of those names that are there first.
	must(t, d, "CREATE TABLE g_data(id INTEGER PRIMARY KEY, block BLOB)")
	if got := rows(t, d, "CREATE VIRTUAL TABLE g USING fts5(a)"); got != sqlError {
		t.Errorf("over another table: %s", got)
	}

	hide(t, d, "CREATE TABLE _ql_hidden(a)")
	hide(t, d, "INSERT INTO _ql_hidden VALUES ('secret')")
	hide(t, d, "CREATE VIRTUAL TABLE h USING fts5(a, content='_ql_hidden')")
	hide(t, d, "CREATE VIEW door AS SELECT rowid, a FROM _ql_hidden")
	must(t, d, "CREATE VIRTUAL TABLE v USING fts5(a, content='door', content_rowid='rowid')")
	for _, sql := range []string{"SELECT a FROM h", "INSERT INTO h(h) VALUES ('rebuild')", "SELECT a FROM v", "INSERT INTO v(v) VALUES ('rebuild')"} {
		if got := rows(t, d, sql); got != sqlDenied {
			t.Errorf("%s: %s", sql, got)
		}
	}
}

// TestFullTextLimits: the sizes that decide how long a call of the module may take are bounded.
func TestFullTextLimits(t *testing.T) {
	d := open(t, Options{MaxBytes: 64 << 20})
	must(t, d, "CREATE VIRTUAL TABLE f USING fts5(a, b)")
	long := value.Text(strings.Repeat("a ", 300_000) + "rare x")
	must(t, d, "INSERT INTO f VALUES (¿, '')", long)
	phrases := value.Text(strings.TrimSuffix(strings.Repeat("a OR ", 39), " OR "))
	for _, c := range []struct {
		sql    string
		params []value.Value
		want   string
	}{
		{"SELECT rowid FROM f WHERE f MATCH ¿", []value.Value{value.Text(strings.Repeat("a", maxPattern))}, "[]"},
		{"SELECT rowid FROM f WHERE f MATCH ¿", []value.Value{value.Text(strings.Repeat("a", maxPattern+1))}, "limit_exceeded"},
		{"INSERT INTO f VALUES (¿, ¿)", []value.Value{long, long}, "limit_exceeded"},
		{"SELECT rowid FROM f WHERE f MATCH ¿ ORDER BY rank", []value.Value{phrases}, "limit_exceeded"},
		{"SELECT highlight(f, 0, '', '') FROM f WHERE f MATCH ¿", []value.Value{phrases}, "limit_exceeded"},
		{"SELECT snippet(f, 0, '', '', '', 3) FROM f WHERE f MATCH 'a'", nil, "limit_exceeded"},
		{"SELECT highlight(f, 0, '<', '>') FROM f WHERE f MATCH 'a'", nil, "limit_exceeded"},
		{"SELECT length(highlight(f, 0, '<', '>')) AS n FROM f WHERE f MATCH 'rare'", nil, `[{"n":600008}]`},
		{"SELECT highlight(f, 0, hex(zeroblob(400000)), '') FROM f WHERE f MATCH 'rare'", nil, `limit_exceeded`},
		{"SELECT bm25(f) < 0 AS r FROM f WHERE f MATCH 'a'", nil, `[{"r":1}]`},
	} {
		if got := rows(t, d, c.sql, c.params...); got != c.want {
			t.Errorf("%s: %.100s", c.sql, got)
		}
	}
	for i := 1; i < maxFullText; i++ {
		must(t, d, fmt.Sprintf("CREATE VIRTUAL TABLE f%d USING fts5(a)", i))
	}
	if got := rows(t, d, "CREATE VIRTUAL TABLE one_more USING fts5(a)"); got != "limit_exceeded" {
		t.Errorf("one table more: %s", got)
	}
}

// TestFullTextBombs: what would take long ends with its context, or by a limit.
func TestFullTextBombs(t *testing.T) {
	d := open(t, Options{MaxBytes: 32 << 20})
	must(t, d, "CREATE VIRTUAL TABLE f USING fts5(a)")
	must(t, d, "CREATE VIRTUAL TABLE tri USING fts5(a, tokenize='trigram')")
	must(t, d, "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 20) INSERT INTO f SELECT replace(hex(zeroblob(50000)), '0', 'a ') FROM c")
	must(t, d, "INSERT INTO tri SELECT hex(zeroblob(200000))")
	const endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
	phrase := `'"` + strings.TrimSpace(strings.Repeat("a ", 95)) + `b"'`
	cases := []string{
		endless + "INSERT INTO f SELECT 'a b c d e ' || x FROM c",
		endless + "INSERT INTO f SELECT hex(randomblob(400000)) FROM c",
		endless + "SELECT count(*) FROM c, f WHERE f MATCH 'a'",
		"SELECT count(*) FROM f WHERE f MATCH " + phrase,
		"SELECT count(*) FROM f x, f y, f z WHERE x.a MATCH " + phrase,
		"SELECT count(*) FROM tri WHERE a LIKE '%" + strings.Repeat("0", 150) + "1%'",
		"SELECT bm25(f) AS r FROM f WHERE f MATCH 'a OR a OR a OR a'",
		"SELECT length(highlight(f, 0, '<', '>')) AS n FROM f WHERE f MATCH 'a'",
		"INSERT INTO f(f, rank) VALUES ('merge', 500000)",
		"INSERT INTO f(f) VALUES ('rebuild')",
		"INSERT INTO f(f, rank) VALUES ('hashsize', 2000000000)",
		"INSERT INTO f(f, rank) VALUES ('crisismerge', 2000000000)",
		endless + "INSERT INTO f SELECT hex(randomblob(100000)) FROM c",
	}
	const deadline = 100 * time.Millisecond
	for _, sql := range cases {
		ctx, cancel := context.WithTimeout(t.Context(), deadline)
		q := query(bytecode.SQLRows, sql)
		q.Meter = meter(16 << 20)
		began := time.Now()
		got := outcome(t)(d.Query(ctx, "", q))
		cancel()
		t.Logf("%s: %.40s %.90s", time.Since(began), got, sql)
		switch {
		case strings.HasPrefix(got, "["), strings.HasPrefix(got, "{"):
		case got == "context", got == "limit_exceeded", got == "limit memory", got == "database_full", got == "sql_error":
		default:
			t.Errorf("%s: %.100s", sql, got)
		}
	}
	must(t, d, "INSERT INTO f(f) VALUES ('integrity-check')")
}

// TestFullTextPays: a search costs more fuel the more it looks at, and as much each time.
func TestFullTextPays(t *testing.T) {
	d := open(t, Options{})
	must(t, d, "CREATE VIRTUAL TABLE f USING fts5(a)")
	must(t, d, "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 2000) INSERT INTO f SELECT 'common words ' || x FROM c")
	cost := func(sql string) int64 {
		m := meter(16 << 20)
		q := query(bytecode.SQLRows, sql)
		q.Meter = m
		if _, err := d.Query(t.Context(), "", q); err != nil {
			t.Fatal(err)
		}
		return m.TotalFuel - m.Fuel
	}
	rare, common := cost("SELECT count(*) AS n FROM f WHERE f MATCH '17'"), cost("SELECT count(*) AS n FROM f WHERE f MATCH 'common AND words'")
	if common < 3*rare {
		t.Errorf("a search for what is everywhere costs %d, for what is rare %d", common, rare)
	}
}
