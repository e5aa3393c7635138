package sqlite

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	lib "modernc.org/sqlite/lib"
)

// openMeasured opens a connection with a function held(x), which returns what the
// connection holds when it is called.
func openMeasured(t *testing.T) *Conn {
	t.Helper()
	var c *Conn
	c = openTest(t, Config{Create: true, Functions: []Function{
		{Name: "held", Args: 1, Scalar: func(call *Call) { call.ReturnInt(c.Memory()) }},
		{Name: "same", Args: 1, Scalar: func(call *Call) { call.ReturnText(call.Text(0)) }},
	}})
	// What it keeps from its first statement on is there before anything is
	// measured.
	if _, err := number(t, c, "SELECT count(*) FROM sqlite_schema"); err != nil {
		t.Fatal(err)
	}
	return c
}

// number runs a statement to its first row and returns the number there.
func number(t *testing.T, c *Conn, sql string) (n int64, err error) {
	t.Helper()
	s, _, err := c.Prepare(t.Context(), sql)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	if _, err = s.Step(t.Context()); err == nil {
		n = s.Int(0)
	}
	return n, err
}

// TestBoundMemory finds out what a statement holds, and bounds it just above and
// below that, again and again.
func TestBoundMemory(t *testing.T) {
	c := openMeasured(t)
	const sql = "SELECT held(printf('%0900000d', 1) || printf('%0800000d', 2))"
	before := c.Memory()
	held, err := number(t, c, sql)
	if err != nil {
		t.Fatal(err)
	}
	if held -= before; held < 3_400_000 || held > 3_600_000 {
		t.Fatalf("two texts, and both together, held %d bytes", held)
	}
	for range 50 {
		for _, bound := range []struct {
			bytes int64
			want  error
		}{{held - 200_000, ErrMemoryFull}, {held + 20_000, nil}, {1, ErrMemoryFull}, {0, nil}} {
			c.LimitMemory(bound.bytes)
			if _, err := number(t, c, sql); !errors.Is(err, bound.want) {
				t.Fatalf("with %d of %d bytes: %v", bound.bytes, held, err)
			}
			if stayed := c.Memory() - before; stayed != 0 {
				t.Fatalf("with %d of %d bytes: %d stayed", bound.bytes, held, stayed)
			}
		}
	}
}

// TestMemoryIsRefusedEverywhere gives each way into the library too little memory:
// none may make another value of the one that did not fit.
func TestMemoryIsRefusedEverywhere(t *testing.T) {
	c := openMeasured(t)
	if err := c.Exec(t.Context(), "CREATE TABLE t AS SELECT printf('%0900000d', 1) AS a, zeroblob(900000) AS b"); err != nil {
		t.Fatal(err)
	}
	const little = 500_000
	large := make([]byte, 900_000)
	s, _, err := c.Prepare(t.Context(), "SELECT ?")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, w := range []struct {
		name string
		do   func() error
	}{
		{"a statement", func() error {
			_, _, err := c.Prepare(t.Context(), "SELECT 1 -- "+string(large))
			return err
		}},
		{"a text", func() error { return s.BindText(1, string(large)) }},
		{"bytes", func() error { return s.BindBlob(1, large) }},
		{"a function of SQLite", func() error { _, err := number(t, c, "SELECT upper(a) FROM t"); return err }},
		{"a function of ours", func() error { _, err := number(t, c, "SELECT length(same(b)) FROM t"); return err }},
		{"a change", func() error { return c.Exec(t.Context(), "INSERT INTO t SELECT a || 1, 2 FROM t") }},
		{"a text that is read", func() error {
			s, _, err := c.Prepare(t.Context(), "SELECT CAST(x'"+strings.Repeat("61", 3000)+"' AS TEXT)")
			if err != nil {
				return err
			}
			defer s.Close()
			if _, err := s.Step(t.Context()); err != nil {
				return err
			}
			c.LimitMemory(1)
			if got := s.Text(0); len(got) != 0 {
				return fmt.Errorf("%d bytes came", len(got))
			}
			return s.Err()
		}},
	} {
		c.LimitMemory(little)
		if err := w.do(); !errors.Is(err, ErrMemoryFull) {
			t.Errorf("%s: %v", w.name, err)
		}
		c.LimitMemory(0)
		if got, err := one(t, c, t.Context(), "SELECT count(*) FROM t"); got != "1" || err != nil {
			t.Errorf("after %s: %s %v", w.name, got, err)
		}
	}
}

// TestMemoryOfEach runs connections at the same time: each is held to its own
// bound, and one has none.
func TestMemoryOfEach(t *testing.T) {
	const sql = "SELECT held(printf('%0900000d', 1))"
	var all sync.WaitGroup
	for i := range 4 {
		c := openMeasured(t)
		bound, want := int64(0), error(nil)
		switch i {
		case 1:
			bound = 3_000_000
		case 2, 3:
			bound, want = 500_000, ErrMemoryFull
		}
		before := c.Memory()
		all.Go(func() {
			for range 200 {
				c.LimitMemory(bound)
				if _, err := number(t, c, sql); !errors.Is(err, want) {
					t.Errorf("with %d bytes: %v", bound, err)
					return
				}
			}
			if stayed := c.Memory() - before; stayed != 0 {
				t.Errorf("with %d bytes: %d stayed", bound, stayed)
			}
		})
	}
	all.Wait()
}

// TestMemoryOfAnother hands blocks from one connection to another, as connections
// to one file do.
func TestMemoryOfAnother(t *testing.T) {
	a, b := openTest(t, Config{Create: true}), openTest(t, Config{Create: true})
	heldA, heldB := a.Memory(), b.Memory()
	check := func(what string, wantA, wantB int64) {
		t.Helper()
		if gotA, gotB := a.Memory()-heldA, b.Memory()-heldB; gotA != wantA || gotB != wantB {
			t.Fatalf("%s: they hold %d and %d, want %d and %d", what, gotA, gotB, wantA, wantB)
		}
	}
	p := lib.Xsqlite3_malloc64(a.tls, 1000)
	check("allocated by the first", 1000, 0)
	b.LimitMemory(500)
	if lib.Xsqlite3_realloc64(b.tls, p, 2000) != 0 {
		t.Fatal("the second has no memory for it")
	}
	check("refused to the second", 1000, 0)
	b.LimitMemory(0)
	p = lib.Xsqlite3_realloc64(b.tls, p, 2000)
	check("taken by the second", 0, 2000)
	lib.Xsqlite3_free(a.tls, p)
	check("freed by the first", 0, 0)
}

// TestMemoryOfAClosedConnection lets a block live longer than its connection: the
// next one must not answer for it.
func TestMemoryOfAClosedConnection(t *testing.T) {
	folder := t.TempDir()
	other := openTest(t, Config{Create: true})
	open := func() *Conn {
		c, err := Open(filepath.Join(folder, "db"), Config{Create: true})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := open()
	left := first.allocation
	p := lib.Xsqlite3_malloc64(first.tls, 1000)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if held := left.held.Load(); held != 1000 {
		t.Errorf("a closed connection holds %d bytes beside the block", held-1000)
	}
	second := open()
	if second.allocation == left {
		t.Error("a connection took over the block of another")
	}
	before := second.Memory()
	lib.Xsqlite3_free(other.tls, p)
	if got := second.Memory() - before; got != 0 {
		t.Errorf("the block of another changed it by %d", got)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	// Connections come and go, and the table of them does not grow.
	size := len(*memoryOwners.all.Load())
	for range 20 {
		if err := open().Close(); err != nil {
			t.Fatal(err)
		}
	}
	if got := len(*memoryOwners.all.Load()); got != size {
		t.Errorf("20 connections more took %d places", got-size)
	}
}

// TestCachesAreApart reads with two connections in turns: the one that reads all
// must not take the pages of the one that reads the same few.
func TestCachesAreApart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	var conns []*Conn
	for i := range 2 {
		c, err := Open(path, Config{Create: true, Temporary: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}()
		settings := []string{"PRAGMA cache_size=-1000"}
		if i == 0 {
			settings = append(settings, "CREATE TABLE few(a)", "CREATE TABLE t(a)",
				"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 200) INSERT INTO few SELECT zeroblob(3000) FROM c",
				"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 2000) INSERT INTO t SELECT zeroblob(3000) FROM c")
		}
		for _, sql := range settings {
			if err := c.Exec(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
		}
		conns = append(conns, c)
	}
	few, all := conns[0], conns[1]
	read := func(c *Conn, table string) {
		if _, err := one(t, c, t.Context(), "SELECT sum(length(hex(a))) FROM "+table); err != nil {
			t.Fatal(err)
		}
	}
	read(few, "few")
	read(all, "t")
	heldFew, heldAll := few.Memory(), all.Memory()
	for range 5 {
		read(few, "few")
		read(all, "t")
	}
	if few.Memory() != heldFew || all.Memory() != heldAll {
		t.Errorf("the one holds %d after %d bytes, the other %d after %d", few.Memory(), heldFew, all.Memory(), heldAll)
	}
	if heldAll > 1_500_000 {
		t.Errorf("a cache of a million bytes holds %d", heldAll)
	}
}
