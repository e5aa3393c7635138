package databases

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ql/internal/fault"
	"ql/lang/bytecode"
	"ql/lang/value"
)

// codeOf returns the code of an error for scripts.
func codeOf(err error) string {
	var e *value.Error
	var f *fault.Error
	switch {
	case errors.As(err, &e):
		return e.Code
	case errors.As(err, &f):
		return string(f.Code)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

func TestListSizeAndDrop(t *testing.T) {
	t.Parallel()
	shared := &sharedStorage{bytes: 64 << 20}
	d := open(t, Options{Storage: shared})
	if list, err := d.List(t.Context()); len(list) != 0 || err != nil {
		t.Errorf("at first there are %v, %v", list, err)
	}
	must(t, d, "CREATE TABLE parents(a INTEGER PRIMARY KEY)")
	must(t, d, "CREATE TABLE children(a REFERENCES parents(a), b)")
	must(t, d, "CREATE VIEW v AS SELECT * FROM children")
	must(t, d, "CREATE TRIGGER tr AFTER DELETE ON parents BEGIN SELECT raise(FAIL, 'never'); END")
	must(t, d, "INSERT INTO parents VALUES (1)")
	must(t, d, "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 5000) INSERT INTO children SELECT 1, hex(zeroblob(2000)) FROM c")
	hide(t, d, "CREATE TABLE _ql_receipts(a)")
	if _, err := d.Query(t.Context(), "Other", query(bytecode.SQLRows, "CREATE TABLE t(a)")); err != nil {
		t.Fatal(err)
	}
	list, err := d.List(t.Context())
	if err != nil || len(list) != 2 || list[0].Name != "main" || list[1].Name != "other" || list[0].Bytes < 19<<20 {
		t.Fatalf("there are %v, %v", list, err)
	}
	if n, err := d.Size(t.Context(), "MAIN"); n != list[0].Bytes || err != nil {
		t.Errorf("the size is %d, %v", n, err)
	}
	if err := d.Empty(t.Context(), "main"); err != nil {
		t.Fatal(err)
	}
	if got := must(t, d, "SELECT name FROM sqlite_schema WHERE name NOT LIKE '\\_ql%' ESCAPE '\\'"); got != "[]" {
		t.Errorf("there is still %s", got)
	}
	if n, err := d.Size(t.Context(), "main"); n > 8*pageSize || err != nil {
		t.Errorf("emptied it has %d bytes, %v", n, err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = open(t, Options{Folder: d.options.Folder, Storage: shared})
	must(t, d, "CREATE TABLE parents(a)") // and can be used
	if err := d.Drop(t.Context(), "main"); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(filepath.Join(d.options.Folder, "main*")); len(left) != 0 || err != nil {
		t.Errorf("%v is left, %v", left, err)
	}
	for _, err := range []error{
		d.Drop(t.Context(), "main"), d.Empty(t.Context(), "main"), d.Snapshot(t.Context(), "main", nil),
		func() error { _, err := d.Size(t.Context(), "main"); return err }(),
		d.Batch(t.Context(), "main", BatchOptions{}, nil),
	} {
		if codeOf(err) != string(fault.NotFound) {
			t.Errorf("of one that is gone: %v", err)
		}
	}
	if _, err := os.Stat(filepath.Join(d.options.Folder, "main.db")); !os.IsNotExist(err) {
		t.Errorf("it was made again: %v", err)
	}
}

// TestSizeIsWhatCounts asks for sizes beside a server, whose journal is there.
func TestSizeIsWhatCounts(t *testing.T) {
	shared := &sharedStorage{bytes: 64 << 20}
	server := open(t, Options{Storage: shared})
	must(t, server, "CREATE TABLE t(a)")
	for range 100 {
		must(t, server, "INSERT INTO t VALUES (1)")
	}
	beside := open(t, Options{Folder: server.options.Folder})
	list, err := beside.List(t.Context())
	if err != nil || len(list) != 1 || list[0].Bytes != shared.used() {
		t.Errorf("the list is %v, %v, and %d bytes count", list, err, shared.used())
	}
	if err := beside.Empty(t.Context(), "main"); err != nil {
		t.Fatal(err)
	}
	if n, err := beside.Size(t.Context(), "main"); n >= shared.used() || err != nil {
		t.Errorf("emptied it has %d bytes of %d, %v", n, shared.used(), err)
	}
	broken := filepath.Join(server.options.Folder, "broken"+fileSuffix)
	if err := os.WriteFile(broken, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if list, err := beside.List(t.Context()); len(list) != 2 || list[0] != (Info{"broken", 12000}) || err != nil {
		t.Errorf("with one that is broken the list is %v, %v", list, err)
	}
}

func TestCreate(t *testing.T) {
	d := open(t, Options{Storage: &sharedStorage{most: 1}})
	for _, c := range []struct{ name, code string }{
		{"Shop", ""},
		{"shop", string(fault.InvalidRequest)},
		{"a b", "invalid_database"},
		{"other", quotaExceeded},
	} {
		if err := d.Create(t.Context(), c.name); codeOf(err) != c.code {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if list, err := d.List(t.Context()); len(list) != 1 || list[0].Name != "shop" || err != nil {
		t.Errorf("there are %v, %v", list, err)
	}
}

// TestSnapshotHasTheOwnersObjects asks for the schema beside what is hidden.
func TestSnapshotHasTheOwnersObjects(t *testing.T) {
	d := open(t, Options{})
	must(t, d, "CREATE TABLE t(a PRIMARY KEY, b AS (a))")
	hide(t, d, "CREATE TABLE _ql_receipts(a)")
	hide(t, d, "CREATE INDEX _ql_index ON _ql_receipts(a)")
	must(t, d, "CREATE INDEX i ON t(a)")
	err := d.Snapshot(t.Context(), "", func(_ context.Context, s *Snapshot) error {
		objects, err := s.Objects(t.Context())
		if want := []Object{{Kind: "table", Name: "t", SQL: "CREATE TABLE t(a PRIMARY KEY, b AS (a))"}, {Kind: "index", Name: "i", SQL: "CREATE INDEX i ON t(a)"}}; !slices.Equal(objects, want) {
			t.Errorf("there are %v", objects)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestBatchLeavesSettings runs long statements in a batch, and asks afterwards.
func TestBatchLeavesSettings(t *testing.T) {
	d := open(t, Options{})
	must(t, d, "CREATE TABLE t(a)")
	long := "INSERT INTO t VALUES (length('" + strings.Repeat("x", 2*MaxSQL) + "'))"
	for _, o := range []BatchOptions{{}, {MaxSQL: 3 * MaxSQL}} {
		err := d.Batch(t.Context(), "", o, func(b *Batch) error { return b.Exec(t.Context(), long, nil) })
		if want := map[bool]string{false: limitExceeded}[o.MaxSQL > 0]; codeOf(err) != want {
			t.Errorf("with %+v: %v", o, err)
		}
		checkSettings(t, d)
	}
	if got := must(t, d, "SELECT a FROM t"); got != `[{"a":200000}]` {
		t.Errorf("there is %s", got)
	}
}
