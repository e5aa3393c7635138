package transfer

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"ql/internal/resource/databases"
	"ql/lang/lib"
	"ql/lang/value"
)

func TestImportTableKeepsBytes(t *testing.T) {
	d := open(t, databases.Options{})
	must(t, d, "CREATE TABLE t(a, b)")
	text := "a,b\r\n\"one\r\ntwo\rthree\nfour\",\"say \"\"hi\"\"\"\r\n\r\nü,\" x \"\n\"\",end"
	n, err := ImportCSV(t.Context(), d, "", "t", iotest.OneByteReader(strings.NewReader(text)))
	if err != nil || n != 3 {
		t.Fatalf("%d rows, %v", n, err)
	}
	const want = `[{"a":"one\r\ntwo\rthree\nfour","b":"say \"hi\""},{"a":"ü","b":" x "},{"a":null,"b":"end"}]`
	if got := must(t, d, "SELECT a, b FROM t"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestImportTableOfOtherPrograms takes what a mark says to be UTF-16, and a row of as many quotes
// as a value may have.
func TestImportTableOfOtherPrograms(t *testing.T) {
	d := open(t, databases.Options{})
	must(t, d, "CREATE TABLE t(a, b)")
	const quotes = databases.MaxValue - 100
	for _, text := range []string{
		"\xff\xfea\x00,\x00b\x00\n\x00\xfc\x00,\x002\x00",
		"a,b\n\"" + strings.Repeat(`""`, quotes) + "\",1\n",
	} {
		if n, err := ImportCSV(t.Context(), d, "", "t", strings.NewReader(text)); err != nil || n != 1 {
			t.Errorf("%.20q: %d rows, %v", text, n, err)
		}
	}
	want := fmt.Sprintf(`[{"n":1,"b":"2"},{"n":%d,"b":"1"}]`, quotes)
	if got := must(t, d, "SELECT length(a) AS n, b FROM t ORDER BY rowid"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestImportTableErrors(t *testing.T) {
	d := open(t, databases.Options{})
	must(t, d, "CREATE TABLE t(a UNIQUE, b)")
	for _, c := range []struct{ text, code, message string }{
		{"", "bad_csv", "the file is empty: its first row names the columns"},
		{"\n\r\n", "bad_csv", "the file is empty: its first row names the columns"},
		{"a,b\n1,2\nx,\xff\n", "not_text", "line 3 is not UTF-8 text: save the file as UTF-8"},
		{"a,b\n\"\n\",\"\xe9\"\n", "not_text", "line 2 is not UTF-8 text: save the file as UTF-8"},
		{"a,b\xff\n", "not_text", "line 1 is not UTF-8 text: save the file as UTF-8"},
		{"a,a\n1,2\n", "bad_csv", `this is not CSV: line 1 names two columns "a"`},
		{"a,A\n1,2\n", "bad_csv", `this is not CSV: line 1 names two columns "A"`},
		{"a,b\n1\n", "bad_csv", "this is not CSV: line 2 has 1 cell, the header line has 2"},
		{"a,b\n\n1,2,3\n", "bad_csv", "this is not CSV: line 3 has 3 cells, the header line has 2"},
		{"a,b\n1,\"x\n\n", "bad_csv", "this is not CSV: line 2 opens a quote that is never closed"},
		{"a,b\n1,\"x\"y\n", "bad_csv", "this is not CSV: line 2 goes on after a closing quote: inside quotes, a quote is written twice"},
		{"a,b\n1,\"\n\"\n1,2\n", "unique", "line 4: a must be unique: another row of t has the same value"},
		{"a,b\n1," + strings.Repeat("x", databases.MaxValue+1), limitExceeded, "line 2: a value in a database has at most 1000000 bytes, and this field has more"},
		{"a,b\n1,\"" + strings.Repeat("x", 3*databases.MaxValue), limitExceeded, "line 2: a row has at most 2000400 bytes, and this one has more"},
		{"a,b\n" + strings.Repeat("x", 3*databases.MaxValue), limitExceeded, "line 2: a row has at most 2000400 bytes, and this one has more"},
		{numbered(101), limitExceeded, "a table has at most 100 columns, and the first row names 101"},
		{"SQLite format 3\x00 and so on", "not_text", "this is a SQLite file: dump it first (sqlite3 FILE .dump > x.sql)"},
		{"a,c\n1,2\n", noSuchColumn, `line 1: the table "t" has no column "c"`},
		{"\n\nc\n", noSuchColumn, `line 3: the table "t" has no column "c"`},
	} {
		_, err := ImportCSV(t.Context(), d, "", "t", strings.NewReader(c.text))
		if codeOf(err) != c.code || err.Error() != c.message {
			t.Errorf("%.60q:\n got %s: %v\nwant %s: %s", c.text, codeOf(err), err, c.code, c.message)
		}
	}
	if got := must(t, d, "SELECT count(*) AS n FROM t"); got != `[{"n":0}]` {
		t.Errorf("something stayed: %s", got)
	}
	for _, text := range []string{"a", "a\n1\n"} {
		if _, err := ImportCSV(t.Context(), d, "", "nope", strings.NewReader(text)); codeOf(err) != "no_such_table" || err.Error() != `there is no table "nope"` {
			t.Errorf("%q, to a table that is not there: %v", text, err)
		}
	}
	if n, err := ImportCSV(t.Context(), d, "", "t", strings.NewReader("b,a\n")); n != 0 || err != nil {
		t.Errorf("no rows: %d, %v", n, err)
	}
	broken := errors.New("broken")
	if _, err := ImportCSV(t.Context(), d, "", "t", io.MultiReader(strings.NewReader("a,b\n1,2"), iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Errorf("a file that cannot be read: %v", err)
	}
}

// FuzzCSV takes and refuses what READ AS CSV does, with the same fields.
func FuzzCSV(f *testing.F) {
	for _, s := range []string{"a,b\n1,2\n", "a\r\"x\r\ny\"\r\n\n", "\uFEFFa\n\"\"", "a,a", "a\n\"", "a\n\"x\"y", "a\nx\"", "a,b\n1", "\"a\",\"\"\n,"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ToValidUTF8(text, "") != text || strings.ToLower(text) != text || strings.Count(text, ",") > databases.MaxColumns {
			return // the language is given text, and tells names by their case
		}
		want, failed := lib.CSVDecode(meter(1<<20), text)
		in, err := newCSVReader(strings.NewReader(text))
		var got []string
		for err == nil {
			fields := make([]string, len(in.header))
			if _, err = in.read(fields); err == nil {
				row := value.NewMap(nil, len(fields))
				for i, name := range in.header {
					row.SetText(name, value.Text(fields[i]))
				}
				got = append(got, string(value.AppendJSON(nil, row.Value())))
			}
		}
		if in == nil && failed == nil && want.List().Len() == 0 {
			return // nothing at all
		}
		if (failed == nil) != errors.Is(err, io.EOF) {
			t.Fatalf("%q: %v, and the language says %v", text, err, failed)
		}
		if failed == nil {
			if all := "[" + strings.Join(got, ",") + "]"; all != string(value.AppendJSON(nil, want)) {
				t.Errorf("%q: %s, and the language reads %s", text, all, value.AppendJSON(nil, want))
			}
		}
	})
}

func TestExportedTableComesBack(t *testing.T) {
	d := open(t, databases.Options{})
	must(t, d, "CREATE TABLE t(a)")
	must(t, d, "INSERT INTO t VALUES ('x'), (NULL), ('two\r\nlines'), (NULL)")
	var b strings.Builder
	if _, err := ExportCSV(t.Context(), d, "", "t", &b); err != nil {
		t.Fatal(err)
	}
	must(t, d, "CREATE TABLE u(a)")
	if _, err := ImportCSV(t.Context(), d, "", "u", strings.NewReader(b.String())); err != nil {
		t.Fatal(err)
	}
	if got, want := must(t, d, "SELECT a FROM u"), must(t, d, "SELECT a FROM t"); got != want {
		t.Errorf("got %s, want %s by %q", got, want, b.String())
	}
}

func TestImportSaysWhere(t *testing.T) {
	d := open(t, databases.Options{})
	must(t, d, "CREATE TABLE t(a UNIQUE)")
	const unended = "BEGIN starts a transaction that nothing ends: the file is cut off, or COMMIT is missing; nothing of it is kept"
	for _, c := range []struct{ sql, code, message string }{
		{"BEGIN;\nINSERT INTO t VALUES (1);\n\n-- a comment; with this\nROLLBACK;\n", sqlDenied, "line 5: ROLLBACK is not allowed in an import, which is one transaction: all of it is kept, or nothing"},
		{"savepoint x;", sqlDenied, "line 1: SAVEPOINT is not allowed in an import, which is one transaction: all of it is kept, or nothing"},
		{"/* two\nlines */ INSERT INTO t VALUES (1);\n\n  INSERT INTO t\n  VALUES (1);", "unique", "line 4: a must be unique: another row of t has the same value"},
		{"INSERT INTO t VALUES ('\n\n');\nVACUUM;", sqlDenied, "line 4: ATTACH, DETACH and VACUUM are not allowed: a statement works on the one database that USE DATABASE names, and the service keeps it tidy"},
		{"PRAGMA foreign_keys=5;", sqlDenied, "line 1: PRAGMA is not allowed: the settings of a database are fixed"},
		{"SELECT 1 FORM t;", sqlError, `line 1: a syntax error in the SQL near "t"`},
		{"INSERT INTO t VALUES (?);", sqlError, "line 1: a ? without a name is no parameter here: write the value itself, for there are no variables"},
		{"INSERT INTO t VALUES (:a);", sqlError, "line 1: :a is no parameter here: write the value itself, for there are no variables"},
		{"\nBEGIN;\nINSERT INTO t VALUES (1);\nINSERT INTO t VALUES (2);\n", sqlError, "line 2: " + unended},
		{"BEGIN TRANSACTION;\nINSERT INTO t VALUES (1);\nINSERT INTO t VALUES (2)", sqlError, "line 1: " + unended},
		{"BEGIN;COMMIT;\nBEGIN;\nINSERT INTO t VALUES (1);", sqlError, "line 2: " + unended},
		{"BEGIN", sqlError, "line 1: " + unended},
		{"SQLite format 3\x00 and so on", notText, "this is a SQLite file: dump it first (sqlite3 FILE .dump > x.sql)"},
	} {
		_, err := ImportSQL(t.Context(), d, "", strings.NewReader(c.sql))
		if codeOf(err) != c.code || err.Error() != c.message {
			t.Errorf("%q:\n got %s: %v\nwant %s: %s", c.sql, codeOf(err), err, c.code, c.message)
		}
	}
	if got := must(t, d, "SELECT count(*) AS n FROM t"); got != `[{"n":0}]` {
		t.Errorf("something stayed: %s", got)
	}
	n, err := ImportSQL(t.Context(), d, "", strings.NewReader("\uFEFF-- what sqlite3 .dump writes, and others do\nPRAGMA foreign_keys = off;\nBEGIN IMMEDIATE TRANSACTION;\nINSERT INTO t VALUES (1);\nEND TRANSACTION;\n/* x */ commit;\nPRAGMA foreign_keys=ON;"))
	if n != 1 || err != nil {
		t.Errorf("%d statements, %v", n, err)
	}
}

// TestImportMakesAllOrNothing makes databases by imports that fail and that do
// not.
func TestImportMakesAllOrNothing(t *testing.T) {
	folder, shared := t.TempDir(), &sharedStorage{bytes: 40 * 4096, most: 2}
	d := open(t, databases.Options{Folder: folder, Storage: shared})
	for name, c := range map[string]struct{ sql, code string }{
		"bad":     {"CREATE TABLE t(a); nonsense", sqlError},
		"cut_off": {"BEGIN; CREATE TABLE t(a); INSERT INTO t VALUES (1);", sqlError},
		"full":    {"CREATE TABLE t(a); " + fill(1000), quotaExceeded},
		"no name": {"CREATE TABLE t(a)", "invalid_database"},
	} {
		if _, err := ImportSQL(t.Context(), d, name, strings.NewReader(c.sql)); codeOf(err) != c.code {
			t.Errorf("%s: %v", name, err)
		}
	}
	if entries, err := os.ReadDir(folder); len(entries) != 0 || err != nil {
		t.Errorf("%v is left, %v", entries, err)
	}
	if shared.used() != 0 {
		t.Errorf("%d bytes count", shared.used())
	}
	for name, sql := range map[string]string{
		"one": "BEGIN; CREATE TABLE t(a); INSERT INTO t VALUES (1); COMMIT",
		"Two": "CREATE TABLE t(a); INSERT INTO t VALUES (1)", // whole, though its end is not marked
	} {
		if n, err := ImportSQL(t.Context(), d, name, strings.NewReader(sql)); n != 2 || err != nil {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}
	if _, err := ImportSQL(t.Context(), d, "three", strings.NewReader("CREATE TABLE t(a)")); codeOf(err) != quotaExceeded {
		t.Errorf("one too many: %v", err)
	}
	if got := on(t, d, "two", "SELECT a FROM t"); got != `[{"a":1}]` {
		t.Errorf("it holds %s", got)
	}
	if on := stored(t, folder); shared.used() != on {
		t.Errorf("%d bytes count, and %d are there", shared.used(), on)
	}
}

func TestImportWhileAScriptMakesIt(t *testing.T) {
	shared := &sharedStorage{bytes: 1 << 20}
	d := open(t, databases.Options{Storage: shared})
	text := io.MultiReader(strings.NewReader("CREATE TABLE t(a); "), readerFunc(func([]byte) (int, error) {
		on(t, d, "new", "CREATE TABLE mine(a)")
		return 0, io.EOF
	}))
	if _, err := ImportSQL(t.Context(), d, "new", text); codeOf(err) != "database_busy" {
		t.Errorf("the import ended with %v", err)
	}
	if got := on(t, d, "new", "SELECT name FROM sqlite_schema"); got != `[{"name":"mine"}]` {
		t.Errorf("there is %s", got)
	}
	if n, err := d.Size(t.Context(), "new"); n != shared.used() || err != nil {
		t.Errorf("it has %d bytes, %v, and %d count", n, err, shared.used())
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

func TestImportRemovesWhatACrashLeft(t *testing.T) {
	folder := t.TempDir()
	d := open(t, databases.Options{Folder: folder})
	old, young := filepath.Join(folder, ".import-old"), filepath.Join(folder, ".import-young")
	for _, stage := range []string{old, young} {
		if err := os.Mkdir(stage, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	long := time.Now().Add(-48 * time.Hour)
	if err := os.Chtimes(old, long, long); err != nil {
		t.Fatal(err)
	}
	if _, err := ImportSQL(t.Context(), d, "new", strings.NewReader("CREATE TABLE t(a)")); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(folder, ".import-*"))
	if err != nil || !slices.Equal(left, []string{young}) {
		t.Errorf("%v is left, %v", left, err)
	}
}
