package databases

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ql/internal/fault"
	"ql/lang/value"

	lib "modernc.org/sqlite/lib"
)

// TestBatchKeepsSchemaReadable checks that a batch with long statements defines nothing that other
// connections could not read: by its own text, or by one that SQLite makes of it.
func TestBatchKeepsSchemaReadable(t *testing.T) {
	long := func(letter string) string { return strings.Repeat(letter, 60_000) }
	for name, test := range map[string]struct {
		before []string
		sql    string
	}{
		"its text":        {nil, "CREATE VIEW big AS SELECT 1 AS a /*" + strings.Repeat("x", 150_000) + "*/"},
		"after a comment": {nil, "/* " + strings.Repeat("x", 150_000) + " */ CREATE TABLE big(a)"},
		"of a result": {
			[]string{"CREATE TABLE a(" + long("a") + ")", "CREATE TABLE b(" + long("b") + ")"},
			"CREATE TABLE big AS SELECT * FROM a, b",
		},
		"a column more": {[]string{"CREATE TABLE a(" + long("a") + ")"}, "ALTER TABLE a ADD COLUMN " + long("b")},
	} {
		folder := t.TempDir()
		d := open(t, Options{Folder: folder})
		must(t, d, "CREATE TABLE t(a)")
		err := d.Batch(t.Context(), "main", BatchOptions{MaxSQL: 1 << 20}, func(b *Batch) error {
			for _, sql := range test.before {
				if err := b.Exec(t.Context(), sql, nil); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
			// A row may be longer, before and after what defines something.
			if err := b.Exec(t.Context(), "INSERT INTO t VALUES ('"+strings.Repeat("x", 200_000)+"')", nil); err != nil {
				t.Errorf("%s: a long row: %v", name, err)
			}
			if err := b.Exec(t.Context(), "CREATE TABLE u(a)", nil); err != nil {
				t.Errorf("%s: a short definition: %v", name, err)
			}
			if err := b.Exec(t.Context(), "INSERT INTO u VALUES ('"+strings.Repeat("x", 200_000)+"')", nil); err != nil {
				t.Errorf("%s: a long row: %v", name, err)
			}
			return b.Exec(t.Context(), test.sql, nil)
		})
		var known *value.Error
		if !errors.As(err, &known) || len(test.sql) > MaxSQL && (known.Limit == nil || known.Limit.Name != "sql_bytes") {
			t.Errorf("%s: %v", name, err)
		}
		if got := rows(t, open(t, Options{Folder: folder}), "SELECT count(*) AS n FROM t"); got != `[{"n":0}]` {
			t.Errorf("%s: afterwards %s", name, got)
		}
	}
}

// makeUnreadable makes a database that no connection can read the schema of.
func makeUnreadable(t *testing.T, folder string) {
	t.Helper()
	d := New(Options{Folder: folder})
	err := d.change(t.Context(), "main", func(c *conn) error {
		c.db.SetLimit(lib.SQLITE_LIMIT_SQL_LENGTH, 1<<20)
		return c.execTrusted(t.Context(), "CREATE VIEW big AS SELECT 1 AS a /*"+strings.Repeat("x", 150_000)+"*/")
	})
	if err := errors.Join(err, d.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestRemoveUnreadable checks that a database which nobody can read can be removed.
func TestRemoveUnreadable(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, folder string){
		"a schema too long": makeUnreadable,
		"no database": func(t *testing.T, folder string) {
			if err := os.WriteFile(filepath.Join(folder, "main.db"), []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
				t.Fatal(err)
			}
		},
	} {
		for how, remove := range map[string]func(*Databases) (bool, error){
			"remove": func(d *Databases) (bool, error) { return d.Remove(t.Context(), "main") },
			"drop":   func(d *Databases) (bool, error) { return true, d.Drop(t.Context(), "main") },
		} {
			folder := t.TempDir()
			damage(t, folder)
			d := open(t, Options{Folder: folder, Storage: &sharedStorage{bytes: 1 << 30}})
			if _, err := d.Query(t.Context(), "", query(0, "SELECT 1")); err == nil {
				t.Fatalf("%s: it can be read", name)
			}
			if gone, err := remove(d); err != nil || !gone {
				t.Errorf("%s, %s: %t %v", name, how, gone, err)
			}
			must(t, d, "CREATE TABLE t(a)")
		}
	}
}

// TestSpoolRefusesPart checks that a text which is cut off is none, wherever that is.
func TestSpoolRefusesPart(t *testing.T) {
	cut := fault.Invalid("body", "was cut off").WithCause(io.ErrUnexpectedEOF)
	for _, size := range []int{0, 1, spoolPiece - 1, spoolPiece, spoolPiece + 1, 2 * spoolPiece} {
		for _, end := range []error{cut, io.ErrUnexpectedEOF} {
			folder := t.TempDir()
			d := open(t, Options{Folder: folder})
			s, err := d.Spool(t.Context(), io.MultiReader(strings.NewReader(strings.Repeat("x", size)), failing{end}))
			if !errors.Is(err, end) || s != nil {
				t.Errorf("%d bytes, then %v: %v", size, end, err)
			}
			if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
				t.Errorf("%d bytes: %v %v", size, left, err)
			}
		}
		s, err := open(t, Options{}).Spool(t.Context(), strings.NewReader(strings.Repeat("x", size)))
		if err != nil {
			t.Fatal(err)
		}
		if all, err := io.ReadAll(s); err != nil || len(all) != size {
			t.Errorf("%d bytes: %d, %v", size, len(all), err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// TestRunTextMakesNothingInVain checks that a text which fails leaves no database that it would have made.
func TestRunTextMakesNothingInVain(t *testing.T) {
	folder, storage := t.TempDir(), &sharedStorage{bytes: 1 << 30}
	d := open(t, Options{Folder: folder, Storage: storage})
	for _, sql := range []string{"nonsense", "CREATE TABLE t(a); SELECT * FROM gone", "SELECT ?"} {
		got := ran(t, d, Text{SQL: sql, Write: true})
		left, err := os.ReadDir(folder)
		if err != nil || len(left) > 0 || storage.held != 0 {
			t.Errorf("%s: %s, and there is %v, %d bytes: %v", sql, got, left, storage.held, err)
		}
	}
	if got := ran(t, d, Text{SQL: "CREATE TABLE t(a); INSERT INTO t VALUES (1)", Write: true}); got != "0 changed, last null; 1 changed, last 1" {
		t.Error(got)
	}
	if got, want := ran(t, d, Text{SQL: "SELECT a FROM t"}), "[a] [[1]]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
