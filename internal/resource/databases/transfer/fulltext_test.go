package transfer

import (
	"bytes"
	"strings"
	"testing"

	"ql/internal/resource/databases"
)

// TestExportFullText: a database with full-text tables comes back whole, with the numbers of their rows, how
// they rank, and an index that finds the same.
func TestExportFullText(t *testing.T) {
	d := open(t, databases.Options{})
	for _, sql := range []string{
		`CREATE TABLE docs(id INTEGER PRIMARY KEY, body)`,
		`CREATE VIRTUAL TABLE found USING fts5(body, content='shown', content_rowid='id')`,
		`CREATE VIEW shown AS SELECT id, body FROM docs`,
		`CREATE TRIGGER docs_ai AFTER INSERT ON docs BEGIN INSERT INTO found(rowid, body) VALUES (new.id, new.body); END`,
		`CREATE VIRTUAL TABLE "my notes" USING fts5(title, "it's", tokenize = 'porter', prefix='2')`,
		`INSERT INTO docs VALUES (5, 'red fish'), (9, 'blue fish')`,
		`INSERT INTO "my notes"(rowid, title, "it's") VALUES (42, 'burning', 'it''s; a torch'), (43, 'cold', NULL)`,
		`INSERT INTO "my notes"("my notes", rank) VALUES ('rank', 'bm25(10.0, 5.0)')`,
	} {
		must(t, d, sql)
	}
	text := dump(t, d, "main")
	if strings.Contains(text, "_data") || strings.Contains(text, "_config") {
		t.Errorf("what an index is kept in is exported: %s", text)
	}
	if _, err := ImportSQL(t.Context(), d, "copy", strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	if again := dump(t, d, "copy"); again != text {
		t.Errorf("the copy is\n%s\nand was\n%s", again, text)
	}
	for sql, want := range map[string]string{
		`SELECT rowid, body FROM found WHERE found MATCH 'fish' ORDER BY rowid`:   `[{"rowid":5,"body":"red fish"},{"rowid":9,"body":"blue fish"}]`,
		`SELECT rowid FROM "my notes" WHERE "my notes" MATCH 'burn'`:              `[{"rowid":42}]`,
		`SELECT k, v FROM "my notes_config" WHERE k = 'rank'`:                     `[{"k":"rank","v":"bm25(10.0, 5.0)"}]`,
		`SELECT count(*) AS n FROM sqlite_schema WHERE name = 'my notes_docsize'`: `[{"n":1}]`,
	} {
		if got := on(t, d, "copy", sql); got != want {
			t.Errorf("%s: %s", sql, got)
		}
	}
	on(t, d, "copy", `INSERT INTO found(found, rank) VALUES ('integrity-check', 1)`)
	on(t, d, "copy", `INSERT INTO "my notes"("my notes") VALUES ('integrity-check')`)

	var b bytes.Buffer
	if rows, err := ExportCSV(t.Context(), d, "copy", "my notes", &b); err != nil || rows != 2 || b.String() != "title,it's\nburning,it's; a torch\ncold,\n" {
		t.Errorf("%d rows, %v: %q", rows, err, b.String())
	}
	if n, err := ImportCSV(t.Context(), d, "copy", "my notes", strings.NewReader("title\nhot\n")); err != nil || n != 1 {
		t.Errorf("%d rows, %v", n, err)
	}
	tables, _, err := d.Schema(t.Context(), "copy", databases.TablePage{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, table := range tables {
		names = append(names, table.Name)
		if table.Name == "my notes" && (len(table.Columns) != 2 || table.Rows != 3) {
			t.Errorf("it has %d columns and %d rows", len(table.Columns), table.Rows)
		}
	}
	if got := strings.Join(names, ","); got != "docs,found,my notes,shown" {
		t.Errorf("there are %s", got)
	}
	if err := d.Empty(t.Context(), "copy"); err != nil {
		t.Fatal(err)
	}
	if got := on(t, d, "copy", "SELECT name FROM sqlite_schema WHERE name NOT LIKE 'sqlite%'"); got != "[]" {
		t.Errorf("left are %s", got)
	}
}
