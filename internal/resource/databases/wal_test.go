package databases

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ql/internal/engine"
	"ql/lang/bytecode"
	"ql/lang/value"
)

// logs returns what is counted of logs.
func (r *sharedStorage) logBytes() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.logs
}

// logsOnDisk returns how large the logs of databases are.
func logsOnDisk(d *Databases, names ...string) (bytes int64) {
	for _, name := range names {
		bytes += walSize(filepath.Join(d.options.Folder, name+fileSuffix))
	}
	return bytes
}

// begun is a pace that tells when a run first computes.
type begun struct {
	once sync.Once
	ch   chan struct{}
}

func (b *begun) Yield() {}

func (b *begun) Turn(ctx context.Context) error {
	b.once.Do(func() { close(b.ch) })
	return ctx.Err()
}

// forever is SQL that reads a table and goes on.
const forever = "SELECT count(*) FROM t, (WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c)"

// readOn starts a statement that reads on until its context ends, and returns
// what became of it.
func readOn(ctx context.Context, t *testing.T, d *Databases) <-chan error {
	t.Helper()
	b, done := &begun{ch: make(chan struct{})}, make(chan error, 1)
	go func() {
		_, err := d.Query(engine.WithPace(ctx, b), "", query(bytecode.SQLRows, forever))
		done <- err
	}()
	<-b.ch
	return done
}

// TestLogsCount: what is counted of logs is what is there, whatever is done.
func TestLogsCount(t *testing.T) {
	r := &sharedStorage{bytes: 100 << 20}
	d := open(t, Options{Storage: r})
	same := func(what string) {
		t.Helper()
		if got, want := r.logBytes(), logsOnDisk(d, "main", "other"); got != want {
			t.Errorf("%s: %d bytes of logs count, and %d are there", what, got, want)
		}
	}
	must(t, d, "CREATE TABLE t(x)")
	same("a table")
	on(t, d, "other", "CREATE TABLE t(x)")
	for range 20 {
		must(t, d, fill(200))
		on(t, d, "other", fill(20))
		same("rows")
	}
	if r.logBytes() == 0 {
		t.Error("there is no log")
	}
	must(t, d, "DELETE FROM t")
	same("rows removed")
	if err := d.DropAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	same("all removed")
	must(t, d, "CREATE TABLE t(x)")
	must(t, d, fill(2000)) // larger than stays
	if got := logsOnDisk(d, "main"); got != 0 {
		t.Errorf("a log of %d bytes stays", got)
	}
	must(t, d, fill(10))
	d.CheckpointIdle()
	same("trimmed")
	if got := r.logBytes(); got != 0 {
		t.Errorf("%d bytes are left", got)
	}
	must(t, d, fill(10))
	again := New(Options{Folder: d.options.Folder, Storage: &sharedStorage{bytes: 100 << 20}})
	if err := again.Measure(t.Context()); err != nil || again.usage.storage.(*sharedStorage).logBytes() != r.logBytes() {
		t.Errorf("%d bytes are found, %v", again.usage.storage.(*sharedStorage).logBytes(), err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	same("closed")
}

// TestLogHasItsRoom: a change whose log finds no room is undone, and others go on.
func TestLogHasItsRoom(t *testing.T) {
	r := &sharedStorage{bytes: 100 << 20, mostLog: 4 << 20}
	d := open(t, Options{Storage: r})
	must(t, d, "CREATE TABLE t(x)")
	must(t, d, fill(500))
	for range 3 {
		if got := rows(t, d, fill(2000)); got != quotaExceeded {
			t.Errorf("8 MB at once: %s", got)
		}
		if got := must(t, d, "SELECT count(*) AS n FROM t"); got != `[{"n":500}]` {
			t.Errorf("after it was undone: %s", got)
		}
	}
	tx := begin(t, d)
	_, err := tx.Query(t.Context(), query(bytecode.SQLRows, fill(900)))
	if err == nil {
		_, err = tx.Query(t.Context(), query(bytecode.SQLRows, fill(900)))
	}
	if err == nil {
		err = tx.Commit(t.Context(), nil)
	}
	var e *value.Error
	if !errors.As(err, &e) || e.Code != quotaExceeded || !strings.Contains(e.Message, "the log of this change") {
		t.Errorf("in a transaction: %v", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	must(t, d, "UPDATE t SET x = 'less'")
	if got := r.logBytes(); got > 4<<20 {
		t.Errorf("%d bytes of logs", got)
	}
}

// TestReadersMakeWay: who reads for long beside changes is ended when the log has
// come to its bound, and the changes go on.
func TestReadersMakeWay(t *testing.T) {
	const most = 8 << 20
	r := &sharedStorage{bytes: 100 << 20, besideReaders: most}
	d := open(t, Options{Storage: r})
	must(t, d, "CREATE TABLE t(x)")
	must(t, d, fill(250))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := readOn(ctx, t, d)
	for ended := false; !ended; {
		must(t, d, "UPDATE t SET x = x || '-'")
		if got := logsOnDisk(d, "main"); got > most+4<<20 {
			t.Fatalf("the log has %d bytes", got)
		}
		select {
		case err := <-done:
			var e *value.Error
			if !errors.As(err, &e) || e.Code != "database_busy" || !strings.Contains(e.Message, "8 MiB") {
				t.Errorf("who read: %v", err)
			}
			ended = true
		default:
		}
	}
	if got := logsOnDisk(d, "main"); got > 4<<20 {
		t.Errorf("the log has %d bytes when nobody reads", got)
	}
	must(t, d, "SELECT count(*) FROM t")
}

// TestLogIsEmptiedWhenReadersLeave: a log that grew beside a reader goes when that
// one does.
func TestLogIsEmptiedWhenReadersLeave(t *testing.T) {
	r := &sharedStorage{bytes: 100 << 20}
	d := open(t, Options{Storage: r})
	must(t, d, "CREATE TABLE t(x)")
	must(t, d, fill(250))
	ctx, cancel := context.WithCancel(t.Context())
	done := readOn(ctx, t, d)
	for range 12 {
		must(t, d, "UPDATE t SET x = x || '-'")
	}
	if got := logsOnDisk(d, "main"); got < checkpointFrom {
		t.Fatalf("the log has only %d bytes", got)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("who read: %v", err)
	}
	if got := logsOnDisk(d, "main"); got != 0 {
		t.Errorf("the log has %d bytes when nobody reads", got)
	}
}

// TestTemporaryFilesAreShared: statements that run at once have one bound.
func TestTemporaryFilesAreShared(t *testing.T) {
	d := open(t, Options{Temporary: 16 << 20})
	must(t, d, "CREATE TABLE t(x)")
	must(t, d, fill(2500))
	const sort = "SELECT count(*) AS n FROM (SELECT x FROM t ORDER BY x || random() LIMIT 100000)"
	if got := must(t, d, sort); got != `[{"n":2500}]` {
		t.Fatalf("alone: %s", got)
	}
	if left := d.temp.used.Load(); left != 0 {
		t.Fatalf("%d bytes are held by nobody", left)
	}
	d.temp.used.Add(12 << 20) // by others
	if got := rows(t, d, sort); got != "limit_exceeded" {
		t.Errorf("beside others: %s", got)
	}
	if left := d.temp.used.Load(); left != 12<<20 {
		t.Errorf("%d bytes are held", left)
	}
}
