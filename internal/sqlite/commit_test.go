package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// replica is a copy of a database that is made of its changes alone.
type replica struct {
	pages   [][]byte
	commits int
	refuse  error
	during  func()
}

func (r *replica) commit(_ context.Context, ch *Change) error {
	if r.during != nil {
		r.during()
	}
	if r.refuse != nil {
		return r.refuse
	}
	for len(r.pages) < int(ch.Size) {
		r.pages = append(r.pages, nil)
	}
	r.pages = r.pages[:ch.Size]
	r.commits++
	return ch.Each(func(number uint32, content []byte) error {
		r.pages[number-1] = bytes.Clone(content)
		return nil
	})
}

// openReplicated opens a new database in WAL mode whose changes go to a replica.
func openReplicated(t *testing.T, r *replica) (c *Conn, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "a.db")
	c, err := Open(path, Config{Create: true, Commit: r.commit})
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{"PRAGMA page_size = 1024", "PRAGMA auto_vacuum = INCREMENTAL", "PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "PRAGMA cache_size = 10"} {
		if err := c.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	return c, path
}

// readInt returns the first column of the first row of a statement.
func readInt(t *testing.T, c *Conn, sql string) int64 {
	t.Helper()
	s, _, err := c.Prepare(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s.Int(0)
}

// TestChangesMakeTheDatabase: what Commit is given, one change after the other, is the database, byte
// for byte, also where changes are larger than the cache, undone, cut the file off, or begin the log
// anew.
func TestChangesMakeTheDatabase(t *testing.T) {
	r := &replica{}
	c, path := openReplicated(t, r)
	run := func(format string, args ...any) {
		t.Helper()
		for sql := range strings.SplitSeq(fmt.Sprintf(format, args...), "; ") {
			if err := c.Exec(t.Context(), sql); err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
		}
	}
	compare := func(step int) {
		t.Helper()
		run("PRAGMA wal_checkpoint(TRUNCATE)")
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(file, bytes.Join(r.pages, nil)) {
			t.Fatalf("step %d: the replica has %d pages and differs from the file of %d bytes", step, len(r.pages), len(file))
		}
	}
	// What is there before the log is no change of it.
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(file); at += 1024 {
		r.pages = append(r.pages, file[at:at+1024])
	}
	run("CREATE TABLE t (a INTEGER PRIMARY KEY, b)")
	random := rand.New(rand.NewPCG(1, 2))
	for step := range 300 {
		switch n := random.IntN(100); {
		case n < 40:
			run("INSERT INTO t (b) VALUES (hex(randomblob(%d)))", random.IntN(3000))
		case n < 60: // larger than the cache: pages are in the log before it ends, some of them twice
			run("BEGIN; INSERT INTO t (b) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 200) SELECT hex(randomblob(100)) FROM n; UPDATE t SET b = b || 'x' WHERE a %% 7 = %d; COMMIT", random.IntN(7))
		case n < 75:
			run("BEGIN; INSERT INTO t (b) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 300) SELECT hex(randomblob(100)) FROM n; ROLLBACK")
		case n < 85:
			run("DELETE FROM t WHERE a %% 3 = %d", random.IntN(3))
		case n < 92:
			run("PRAGMA incremental_vacuum")
		case n < 96:
			run("PRAGMA wal_checkpoint(RESTART)")
		default:
			compare(step)
		}
	}
	compare(-1)
	if r.commits < 100 {
		t.Errorf("%d commits", r.commits)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestCommitComesBeforeTheIndex: nobody sees a change before Commit has returned, and where it fails
// nobody ever does. Shipping databases rests on this order of the library.
func TestCommitComesBeforeTheIndex(t *testing.T) {
	r := &replica{}
	c, path := openReplicated(t, r)
	other, err := Open(path, Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Exec(t.Context(), "CREATE TABLE t (a)"); err != nil {
		t.Fatal(err)
	}
	want, called := int64(0), 0
	r.during = func() {
		called++
		if n := readInt(t, other, "SELECT count(*) FROM t"); n != want {
			t.Errorf("another connection sees %d rows of a change that is not committed, want %d", n, want)
		}
	}
	refused := errors.New("the store is away")
	for i := range 40 {
		if i%20 == 19 {
			if err := c.Exec(t.Context(), "PRAGMA wal_checkpoint(RESTART)"); err != nil {
				t.Fatal(err)
			}
		}
		r.refuse = nil
		if i%3 == 0 {
			r.refuse = refused
		}
		insert := "INSERT INTO t VALUES (1)"
		if i%2 == 0 { // longer than its cache
			insert = "INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 50) SELECT hex(randomblob(1000)) FROM n"
		}
		err := c.Exec(t.Context(), insert)
		if !errors.Is(err, r.refuse) {
			t.Fatalf("change %d: got %v, want %v", i, err, r.refuse)
		}
		if err == nil {
			want += 1 + int64((i+1)%2)*49
		}
		if c.InTransaction() {
			t.Fatal("a transaction is left open")
		}
		for name, conn := range map[string]*Conn{"its own": c, "another": other} {
			if n := readInt(t, conn, "SELECT count(*) FROM t"); n != want {
				t.Fatalf("change %d, refused %t: %s connection sees %d rows, want %d", i, err != nil, name, n, want)
			}
		}
	}
	if called < 40 {
		t.Errorf("called %d times", called)
	}
	// The last change of all is refused, and closing in order takes it out of the log.
	r.refuse, r.during = refused, nil
	if err := c.Exec(t.Context(), "DELETE FROM t"); !errors.Is(err, refused) {
		t.Fatal(err)
	}
	if err := errors.Join(other.Close(), c.Close()); err != nil {
		t.Fatal(err)
	}
	c, err = Open(path, Config{})
	if err != nil {
		t.Fatal(err)
	}
	if n := readInt(t, c, "SELECT count(*) FROM t"); n != want {
		t.Errorf("opened again: %d rows, want %d", n, want)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}
