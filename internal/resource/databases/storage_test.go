package databases

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ql/lang/bytecode"
	"ql/lang/value"
)

// sharedStorage is storage for so many bytes and databases.
type sharedStorage struct {
	logs, mostLog int64
	besideReaders int64
	bytes         int64
	most          int

	mu   sync.Mutex
	held int64
}

func (r *sharedStorage) Bounds(context.Context) (Bounds, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Bounds{Bytes: r.bytes, Left: r.bytes - r.held, Databases: r.most, WAL: r.besideReaders}, nil
}

func (r *sharedStorage) Reserve(_ context.Context, bytes, reserve int64) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.bytes > 0 && r.held+bytes > r.bytes+reserve {
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

func (r *sharedStorage) ReserveWAL(bytes int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mostLog > 0 && bytes > 0 && r.logs+bytes > r.mostLog {
		return false
	}
	r.logs += bytes
	return true
}

func (r *sharedStorage) AdjustWAL(bytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.logs += bytes
}

func (r *sharedStorage) used() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.held
}

// on runs SQL on a database and returns its result, or the code of its error.
func on(t testing.TB, d *Databases, name, sql string) string {
	t.Helper()
	return outcome(t)(d.Query(t.Context(), name, query(bytecode.SQLRows, sql)))
}

// TestReadingWithoutRoom reads a database that is not there and that there is no
// room for.
func TestReadingWithoutRoom(t *testing.T) {
	full := &sharedStorage{bytes: 10 * pageSize, held: 10 * pageSize}
	d := open(t, Options{Storage: full})
	for sql, want := range map[string]string{
		"SELECT 1 AS x":   `[{"x":1}]`,
		"SELECT * FROM t": "no_such_table",
		"WITH a(x) AS (VALUES (1)) INSERT INTO t SELECT x FROM a": "no_such_table",
		"SELECT name FROM sqlite_schema":                          "[]",
		"CREATE TABLE t(a)":                                       quotaExceeded,
		"EXPLAIN ATTACH 'x' AS y":                                 sqlDenied,
	} {
		if got := rows(t, d, sql); got != want {
			t.Errorf("%s: got %s, want %s", sql, got, want)
		}
	}
	if entries, err := os.ReadDir(d.options.Folder); len(entries) != 0 || err != nil {
		t.Errorf("%v was made, %v", entries, err)
	}
	if full.used() != 10*pageSize {
		t.Errorf("%d bytes count", full.used())
	}
	full.Adjust(-5 * pageSize)
	must(t, d, "CREATE TABLE t(a)")
}

// fill is SQL that adds so many rows of about 4 KiB.
func fill(rows int) string {
	return fmt.Sprintf("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT %d) INSERT INTO t SELECT hex(zeroblob(2000)) FROM c", rows)
}

// stored returns what the databases of a folder hold on the disk.
func stored(t *testing.T, folder string) (bytes int64) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == fileSuffix {
			var info fs.FileInfo
			if info, err = e.Info(); err == nil {
				bytes += info.Size()
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

// fillUp adds so many rows at a time until there is no room for them.
func fillUp(t *testing.T, d *Databases, r *sharedStorage, name string, rows int) {
	t.Helper()
	for range r.bytes / pageSize {
		if on(t, d, name, fill(rows)) == quotaExceeded {
			return
		}
		if r.used() > r.bytes {
			break
		}
	}
	t.Fatalf("%d bytes are kept", r.used())
}

// TestRoomIsShared: all databases together stay within their room, and what is
// removed from one makes room in another.
func TestRoomIsShared(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	r := &sharedStorage{bytes: 4 << 20}
	d := open(t, Options{Folder: folder, Storage: r})
	for _, name := range []string{"a", "b"} {
		on(t, d, name, "CREATE TABLE t(x)")
	}
	if got := on(t, d, "a", fill(700)); !strings.HasPrefix(got, `{"changes":700`) {
		t.Fatalf("what fits: %s", got)
	}
	for name, sql := range map[string]string{
		"at once":          fill(700),
		"with rows":        fill(700) + " RETURNING 1 AS one",
		"into a new table": "CREATE TABLE u AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 700) SELECT hex(zeroblob(2000)) AS x FROM c",
	} {
		if got := on(t, d, "b", sql); got != quotaExceeded {
			t.Errorf("%s: %s", name, got)
		}
	}
	fillUp(t, d, r, "b", 10)
	if got := on(t, d, "c", "CREATE TABLE t(x)"); got != quotaExceeded {
		fillUp(t, d, r, "c", 1)
	}
	if used := r.used(); used > r.bytes {
		t.Errorf("%d bytes are kept", used)
	}
	// What is there can be read, changed in place and removed.
	if got := on(t, d, "a", "SELECT count(*) AS n FROM t"); got != `[{"n":700}]` {
		t.Errorf("reading: %s", got)
	}
	if got := on(t, d, "a", "UPDATE t SET x = 1 WHERE rowid = 1"); got != `{"changes":1,"last_id":null}` {
		t.Errorf("changing: %s", got)
	}
	full := r.used()
	if got := on(t, d, "a", "DELETE FROM t WHERE rowid > 10"); got != `{"changes":690,"last_id":null}` {
		t.Errorf("removing: %s", got)
	}
	if used := r.used(); used > full-600*pageSize {
		t.Errorf("after removing, %d of %d bytes are kept", used, full)
	}
	if got := on(t, d, "b", fill(500)); !strings.HasPrefix(got, `{"changes":500`) {
		t.Errorf("in the room of what was removed: %s", got)
	}
	if got := on(t, d, "b", "DROP TABLE t"); got != `{"changes":0,"last_id":null}` {
		t.Errorf("dropping: %s", got)
	}
	used := r.used()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if onDisk := stored(t, folder); onDisk != used {
		t.Errorf("%d bytes are counted, and %d are on the disk", used, onDisk)
	}
	// Who opens them again counts the same.
	again := &sharedStorage{bytes: 4 << 20}
	d = open(t, Options{Folder: folder, Storage: again})
	if err := d.Measure(t.Context()); err != nil {
		t.Fatal(err)
	}
	if again.used() != used {
		t.Errorf("measured: %d, want %d", again.used(), used)
	}
	on(t, d, "a", "SELECT 1")
	if again.used() != used {
		t.Errorf("opened: %d, want %d", again.used(), used)
	}
}

// TestRoomOfTransactions: a transaction that does not fit is undone as a whole,
// and its room given back.
func TestRoomOfTransactions(t *testing.T) {
	r := &sharedStorage{bytes: 1 << 20}
	d := open(t, Options{Storage: r})
	must(t, d, "CREATE TABLE t(x)")
	before := r.used()

	tx := begin(t, d)
	in(t, tx, false, fill(100))
	if r.used() != before {
		t.Error("it is counted before its end")
	}
	if err := tx.Commit(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if grown := r.used() - before; grown < 100*pageSize || grown > 110*pageSize {
		t.Errorf("100 rows took %d bytes", grown)
	}
	before = r.used()
	tx = begin(t, d)
	in(t, tx, false, fill(100))
	r.Adjust(900 << 10) // of another database, meanwhile
	if got := outcome(t)(value.Null, tx.Commit(t.Context(), nil)); got != quotaExceeded {
		t.Errorf("the commit: %s", got)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	r.Adjust(-900 << 10)
	if r.used() != before {
		t.Errorf("%d bytes are counted for what was undone", r.used()-before)
	}
	if got := must(t, d, "SELECT count(*) AS n FROM t"); got != `[{"n":100}]` {
		t.Errorf("after it: %s", got)
	}
	// A transaction that removes works with nothing left.
	r.Adjust(r.bytes - r.used())
	tx = begin(t, d)
	if got := in(t, tx, false, "DELETE FROM t WHERE rowid % 2"); got != `{"changes":50,"last_id":null}` {
		t.Errorf("removing: %s", got)
	}
	if err := tx.Commit(t.Context(), nil); err != nil {
		t.Errorf("removing: %v", err)
	}
}

// TestRemovingIsNoWayIn: the reserve for what removes is no more than itself,
// though a trigger adds rows.
func TestRemovingIsNoWayIn(t *testing.T) {
	r := &sharedStorage{bytes: 1 << 20}
	d := open(t, Options{Storage: r})
	must(t, d, "CREATE TABLE t(x)")
	must(t, d, "CREATE TABLE log(x)")
	must(t, d, "CREATE TRIGGER more AFTER DELETE ON t BEGIN INSERT INTO log SELECT hex(zeroblob(2000)) FROM t, t AS u LIMIT 20; END")
	must(t, d, "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 300) INSERT INTO t SELECT x FROM c")
	refused := 0
	for range 200 {
		if rows(t, d, "DELETE FROM t WHERE rowid = (SELECT min(rowid) FROM t)") == quotaExceeded {
			refused++
		}
		if r.used() > r.bytes+reserve {
			t.Fatalf("%d bytes are kept", r.used())
		}
	}
	if refused == 0 {
		t.Error("nothing was refused")
	}
}

// TestGrowingAtOnce: databases that grow at the same time do not pass the room
// together by more than the reserve.
func TestGrowingAtOnce(t *testing.T) {
	r := &sharedStorage{bytes: 4 << 20}
	d := open(t, Options{Storage: r})
	var names []string
	for i := range 8 {
		names = append(names, fmt.Sprint("db", i))
		on(t, d, names[i], "CREATE TABLE t(x)")
	}
	var all sync.WaitGroup
	for _, name := range names {
		all.Go(func() {
			for range 20 {
				switch got := on(t, d, name, fill(60)); {
				case got == quotaExceeded:
					return
				case !strings.HasPrefix(got, `{"changes":60`):
					t.Errorf("%s: %s", name, got)
				}
			}
			t.Errorf("%s grew for ever", name)
		})
	}
	all.Wait()
	if used := r.used(); used > r.bytes+reserve || used < r.bytes/2 {
		t.Errorf("%d bytes are kept", used)
	}
}

func TestNumberOfDatabases(t *testing.T) {
	folder := t.TempDir()
	d := open(t, Options{Folder: folder, MaxOpen: 1, Storage: &sharedStorage{most: 2}})
	for _, name := range []string{"a", "b", "a", "b"} {
		if got := on(t, d, name, "SELECT 1 AS one"); got != `[{"one":1}]` {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := on(t, d, "c", "SELECT 1"); got != quotaExceeded {
		t.Errorf("a third: %s", got)
	}
	if _, err := os.Stat(filepath.Join(folder, "c.db")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it was made: %v", err)
	}
	// Also by who finds them there.
	d = open(t, Options{Folder: folder, Storage: &sharedStorage{most: 2}})
	if got := on(t, d, "c", "SELECT 1"); got != quotaExceeded {
		t.Errorf("a third, opened again: %s", got)
	}
	if err := d.DropAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := on(t, d, "c", "SELECT 1 AS one"); got != `[{"one":1}]` {
		t.Errorf("after DropAll: %s", got)
	}
}

// TestDropAll: cleared databases are empty, those who use one meanwhile are waited
// for, and nothing of them stays on the disk.
func TestDropAll(t *testing.T) {
	folder := t.TempDir()
	r := &sharedStorage{bytes: 1 << 30}
	d := open(t, Options{Folder: folder, Storage: r})
	must(t, d, "CREATE TABLE t(x)")
	on(t, d, "other", "CREATE TABLE t(x)")
	held := begin(t, d)
	in(t, held, false, "INSERT INTO t VALUES (1)")
	done := make(chan error)
	go func() { done <- d.DropAll(context.WithoutCancel(t.Context())) }()
	in(t, held, false, "INSERT INTO t VALUES (2)")
	if err := held.Commit(t.Context(), nil); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if r.used() != 0 {
		t.Errorf("%d bytes are counted", r.used())
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	if got := rows(t, d, "SELECT x FROM t"); got != "no_such_table" {
		t.Errorf("after it: %s", got)
	}
	must(t, d, "CREATE TABLE t(x)")
}

// TestFilesAreOurs: nobody else may read the files.
func TestFilesAreOurs(t *testing.T) {
	folder := t.TempDir()
	d := open(t, Options{Folder: folder})
	must(t, d, "CREATE TABLE t(x)")
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) < 2 {
		t.Fatalf("%v, %v", entries, err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", e.Name(), info.Mode(), err)
		}
	}
}

// emptying is a room that empties logs whenever it is asked, as one that is full does.
type emptying struct {
	*sharedStorage
	of *Databases
}

func (e *emptying) Bounds(ctx context.Context) (Bounds, error) {
	e.of.CheckpointIdle()
	return e.sharedStorage.Bounds(ctx)
}

// TestRoomIsMadeForADatabase makes a database where logs of others are emptied for it.
func TestRoomIsMadeForADatabase(t *testing.T) {
	r := &emptying{sharedStorage: &sharedStorage{bytes: 1 << 20}}
	d := open(t, Options{Storage: r})
	r.of = d
	for _, name := range []string{"one", "two", "three"} {
		if got := on(t, d, name, "CREATE TABLE t(a)"); strings.Contains(got, "error") {
			t.Errorf("%s: %s", name, got)
		}
	}
}
