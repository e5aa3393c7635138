package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestBackup(t *testing.T) {
	c := openTest(t, Config{})
	for _, sql := range []string{
		"PRAGMA auto_vacuum=INCREMENTAL", "PRAGMA journal_mode=WAL", "CREATE TABLE t(a)",
		"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 20000) INSERT INTO t SELECT hex(randomblob(100)) || x FROM c",
		"DELETE FROM t WHERE rowid < 10000", // what is left keeps its row numbers
	} {
		if err := c.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	path := filepath.Join(t.TempDir(), "copy.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.Backup(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	if c.InTransaction() {
		t.Error("a transaction is left open")
	}
	// The copy is on its own from here on.
	if err := c.Exec(t.Context(), "DELETE FROM t"); err != nil {
		t.Fatal(err)
	}
	copied, err := Open(path, Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer copied.Close()
	for sql, want := range map[string]string{
		"SELECT count(*) || ' ' || min(rowid) FROM t": "10001 10000",
		"PRAGMA integrity_check":                      "ok",
		"PRAGMA auto_vacuum":                          "2",
		"PRAGMA journal_mode":                         "wal",
	} {
		if got, err := one(t, copied, t.Context(), sql); err != nil || got != want {
			t.Errorf("%s: %s, %v", sql, got, err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the copy is %v, %v", info, err)
	}
}

func TestBackupEndsWithItsContext(t *testing.T) {
	c := openTest(t, Config{})
	if err := c.Exec(t.Context(), "CREATE TABLE t(a)"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Backup(ctx, filepath.Join(t.TempDir(), "copy.db")); !errors.Is(err, context.Canceled) {
		t.Errorf("it went on: %v", err)
	}
	if err := c.Backup(t.Context(), filepath.Join(t.TempDir(), "missing", "copy.db")); err == nil {
		t.Error("a copy was made nowhere")
	}
	if c.InTransaction() {
		t.Error("a transaction is left open")
	}
}
