package transfer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ql/internal/engine"
	"ql/internal/fault"
	"ql/internal/resource/databases"
	"ql/lang/bytecode"
	"ql/lang/value"
)

// Codes of errors that only tests tell apart.
const (
	limitExceeded = "limit_exceeded"
	quotaExceeded = "quota_exceeded"
)

// open returns databases in a scratch folder.
func open(t testing.TB, o databases.Options) *databases.Databases {
	t.Helper()
	if o.Folder == "" {
		o.Folder = t.TempDir()
	}
	d := databases.New(o)
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return d
}

// on runs SQL that shall succeed on a database and returns its result as JSON.
func on(t testing.TB, d *databases.Databases, name, sql string) string {
	t.Helper()
	head, _, _ := strings.Cut(sql, " ")
	v, err := d.Query(t.Context(), name, engine.Query{Statement: &bytecode.Statement{Mode: bytecode.SQLRows, Head: head, Texts: []string{sql}}})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return string(value.AppendJSON(nil, v))
}

// must is on for the database main.
func must(t testing.TB, d *databases.Databases, sql string) string {
	t.Helper()
	return on(t, d, "", sql)
}

// hide has the service make its hidden tables.
func hide(t testing.TB, d *databases.Databases) {
	t.Helper()
	if _, err := d.Receipts(t.Context(), "", [16]byte{1}, 1); err != nil {
		t.Fatal(err)
	}
}

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

// numbered is a first row of so many columns.
func numbered(columns int) string {
	var names []string
	for i := range columns {
		names = append(names, fmt.Sprintf("c%d", i))
	}
	return strings.Join(names, ",")
}

// fill adds rows of 4,000 bytes each to a table t.
func fill(rows int) string {
	return fmt.Sprintf("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT %d) INSERT INTO t SELECT hex(zeroblob(2000)) FROM c", rows)
}

// stored returns what the databases of a folder hold on the disk.
func stored(t testing.TB, folder string) (bytes int64) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.db"))
	for _, file := range files {
		info, failed := os.Stat(file)
		if err = errors.Join(err, failed); failed == nil {
			bytes += info.Size()
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

// meter returns a meter with this much memory.
func meter(memory int64) *value.Meter {
	m := &value.Meter{
		Bounds:    value.Bounds{Text: 8 << 20, Elements: 1_000_000, Nesting: 100},
		Fuel:      1 << 40,
		TotalFuel: 1 << 40,
		BytesLeft: memory,
		Memory:    memory,
		Measure:   func() int64 { return 0 },
	}
	m.End()
	return m
}

// sharedStorage is storage for so many bytes and databases.
type sharedStorage struct {
	bytes int64
	most  int

	mu   sync.Mutex
	held int64
}

func (r *sharedStorage) Bounds(context.Context) (databases.Bounds, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return databases.Bounds{Bytes: r.bytes, Left: r.bytes - r.held, Databases: r.most}, nil
}

func (r *sharedStorage) Reserve(_ context.Context, bytes, reserve int64) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held+bytes > r.bytes+reserve {
		return false, nil
	}
	r.held += bytes
	return true, nil
}

func (r *sharedStorage) Adjust(bytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held += bytes
}

func (r *sharedStorage) ReserveWAL(int64) bool { return true }
func (r *sharedStorage) AdjustWAL(int64)       {}

func (r *sharedStorage) used() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.held
}
