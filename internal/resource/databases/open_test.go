package databases

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"ql/lang/bytecode"
)

func TestOpenDatabasesAreBounded(t *testing.T) {
	t.Parallel()
	d := open(t, Options{MaxOpen: 3})
	use := func(name, sql string) {
		t.Helper()
		if _, err := d.Query(t.Context(), name, query(bytecode.SQLRows, sql)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	held, err := d.Begin(t.Context(), "held")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		use(fmt.Sprint("db", i), "CREATE TABLE t(a)")
		use(fmt.Sprint("db", i), "INSERT INTO t VALUES (1)")
		if n := len(d.open); n > 3 {
			t.Fatalf("%d are open", n)
		}
	}
	if d.open["held"] == nil {
		t.Fatal("one in use was closed")
	}
	if d.open["db9"] == nil || d.open["db8"] == nil {
		t.Error("the last used ones were closed")
	}
	if err := held.Commit(t.Context(), nil); err != nil {
		t.Error(err)
	}
	for i := range 10 {
		use(fmt.Sprint("db", i), "SELECT a FROM t")
	}
}

func TestClose(t *testing.T) {
	folder := t.TempDir()
	d := New(Options{Folder: folder})
	must(t, d, "CREATE TABLE t(a)")
	held, err := d.Begin(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := held.Query(t.Context(), query(bytecode.SQLRows, "INSERT INTO t VALUES (1)")); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Query(t.Context(), "", query(bytecode.SQLRows, "SELECT 1")); !errors.Is(err, errClosed) {
		t.Errorf("after Close: %v", err)
	}
	if err := held.Commit(t.Context(), nil); err != nil {
		t.Errorf("what was in use: %v", err)
	}
	if n := len(d.open); n != 0 {
		t.Errorf("%d are open", n)
	}
	// All is in the one file.
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 1 || entries[0].Name() != "main.db" {
		t.Errorf("%v, %v", entries, err)
	}
	again := open(t, Options{Folder: folder})
	if got := must(t, again, "SELECT a FROM t"); got != `[{"a":1}]` {
		t.Error(got)
	}
}

func TestReadersShareADatabase(t *testing.T) {
	d := open(t, Options{Readers: 2, MaxOpen: 1})
	must(t, d, "CREATE TABLE t(a)")
	must(t, d, "INSERT INTO t VALUES (1)")
	var group sync.WaitGroup
	errs := make(chan error, 8)
	for range 8 {
		group.Go(func() {
			for range 50 {
				if _, err := d.Query(t.Context(), "", query(bytecode.SQLRows, "SELECT a FROM t")); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	group.Wait()
	close(errs)
	for err := range errs {
		t.Error(err)
	}
}

func TestFilesThatAreNoDatabases(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "main.db"), make([]byte, 5000), 0o600); err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(t.TempDir(), "target.db")
	if err := os.Symlink(target, filepath.Join(folder, "link.db")); err != nil {
		t.Fatal(err)
	}
	d := open(t, Options{Folder: folder})
	for _, name := range []string{"main", "link"} {
		if _, err := d.Query(t.Context(), name, query(bytecode.SQLRows, "CREATE TABLE t(a)")); err == nil {
			t.Errorf("%s was opened", name)
		}
	}
	if _, err := os.Stat(target); !os.IsNotExist(err) {
		t.Errorf("a link was followed: %v", err)
	}
}
