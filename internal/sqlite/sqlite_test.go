package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	lib "modernc.org/sqlite/lib"
)

func openTest(t *testing.T, config Config) *Conn {
	t.Helper()
	config.Create = true
	if config.Temporary == 0 {
		config.Temporary = 1 << 30
	}
	c, err := Open(filepath.Join(t.TempDir(), "test.db"), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// one returns the first column of the first row as text.
func one(t *testing.T, c *Conn, ctx context.Context, sql string) (string, error) {
	t.Helper()
	s, _, err := c.Prepare(ctx, sql)
	if err != nil {
		return "", err
	}
	defer s.Close()
	row, err := s.Step(ctx)
	if err != nil || !row {
		return "", err
	}
	return string(s.Text(0)), nil
}

// counted ends after it was asked so many times.
type counted struct {
	context.Context
	left int
}

func (c *counted) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

func TestContextEndsInsideARow(t *testing.T) {
	c := openTest(t, Config{})
	// One row, no jump: SQLite itself would not look at the context.
	calls := strings.Repeat(" || hex(zeroblob(10))", 50)
	if _, err := one(t, c, t.Context(), "SELECT ''"+calls); err != nil {
		t.Fatal(err)
	}
	ctx := &counted{t.Context(), 20}
	if _, err := one(t, c, ctx, "SELECT ''"+calls); !errors.Is(err, context.Canceled) {
		t.Errorf("it went on: %v", err)
	}
	if ctx.left < -10 {
		t.Errorf("%d functions ran after the end", -ctx.left)
	}
}

func TestEveryFunctionIsGuarded(t *testing.T) {
	c := openTest(t, Config{})
	functions, err := c.scalarFunctions()
	if err != nil || len(functions) < 100 {
		t.Fatalf("%d functions, %v", len(functions), err)
	}
	// These become part of the statement, or read what is in it.
	inline := " coalesce ifnull iif if likely unlikely likelihood sqlite_offset subtype "
	for _, f := range functions {
		defs := c.definitions(f.name, f.args)
		if len(defs) == 0 && !strings.Contains(inline, " "+f.name+" ") {
			t.Errorf("%s/%d was not found", f.name, f.args)
		}
		for _, def := range defs {
			if definitionAt(def).FxSFunc != functionPointer(onGuarded) {
				t.Errorf("%s/%d has no guard", f.name, f.args)
			}
		}
	}
}

func TestLikeStillUsesAnIndex(t *testing.T) {
	c := openTest(t, Config{})
	for _, sql := range []string{"CREATE TABLE t(a TEXT COLLATE NOCASE)", "CREATE INDEX i ON t(a)"} {
		if err := c.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	s, _, err := c.Prepare(t.Context(), "EXPLAIN QUERY PLAN SELECT * FROM t WHERE a LIKE 'x%'")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	if plan := string(s.Text(3)); !strings.Contains(plan, "USING COVERING INDEX i") || !strings.Contains(plan, "SEARCH") {
		t.Error(plan)
	}
}

func TestPrepare(t *testing.T) {
	c := openTest(t, Config{})
	for _, q := range []struct {
		sql, rest string
		none      bool
	}{
		{"SELECT 1", "", false},
		{"SELECT 1; SELECT 2", " SELECT 2", false},
		{"  -- nothing", "", true},
		{";", "", true},
		{"", "", true},
		{"SELECT 1\x00SELECT 2", "\x00SELECT 2", false},
	} {
		s, rest, err := c.Prepare(t.Context(), q.sql)
		if err != nil || rest != q.rest || (s == nil) != q.none {
			t.Errorf("%q: %v, rest %q, %v", q.sql, s, rest, err)
		}
		if s != nil {
			s.Close()
		}
	}
	var e *Error
	if _, _, err := c.Prepare(t.Context(), "SELEC"); !errors.As(err, &e) || e.Primary() != lib.SQLITE_ERROR || e.Message != `near "SELEC": syntax error` {
		t.Errorf("%v", err)
	}
}

func TestParameters(t *testing.T) {
	c := openTest(t, Config{})
	s, _, err := c.Prepare(t.Context(), "SELECT ?, :b, ?5, typeof(?)")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if s.Params() != 6 || s.ParamName(1) != "" || s.ParamName(2) != ":b" || s.ParamName(5) != "?5" {
		t.Errorf("%d parameters, %q %q %q", s.Params(), s.ParamName(1), s.ParamName(2), s.ParamName(5))
	}
	if err := s.BindInt(7, 1); err == nil {
		t.Error("a parameter that is not there was set")
	}
}

// TestRoomForParameters has texts and blobs in a block that was made for them, and past its end.
func TestRoomForParameters(t *testing.T) {
	c := openTest(t, Config{})
	s, _, err := c.Prepare(t.Context(), "SELECT ?1 || '|' || ?2 || '|' || length(?3) || '|' || typeof(?3) || '|' || ?4")
	if err != nil {
		t.Fatal(err)
	}
	before := c.Memory()
	for _, room := range []int{0, 1, 5, 8, 9, 100} {
		for _, word := range []string{"one", "two"} { // what was there before is not seen again
			err := errors.Join(s.MakeRoom(room), s.BindText(1, word), s.BindText(2, ""), s.BindBlob(3, []byte{0, 1}), s.BindText(4, "last"))
			if err != nil {
				t.Fatal(err)
			}
			if row, err := s.Step(t.Context()); err != nil || !row || string(s.Text(0)) != word+"||2|blob|last" {
				t.Errorf("with room for %d: %v, %q, %v", room, row, s.Text(0), err)
			}
			s.Reset()
		}
	}
	if err := errors.Join(s.MakeRoom(1<<20), s.MakeRoom(1<<20)); err != nil {
		t.Error(err)
	}
	if held := c.Memory() - before; held < 1<<20 || held > 1<<20+4096 {
		t.Errorf("a block that was made twice holds %d bytes", held)
	}
	s.Close()
	if held := c.Memory(); held > before {
		t.Errorf("%d bytes are held in the end, %d before", held, before)
	}
}

func TestAggregatesAndFailures(t *testing.T) {
	c := openTest(t, Config{Functions: []Function{
		{Name: "joined", Args: 1, Aggregate: func() Aggregate { return &joined{} }},
		{Name: "panics", Args: 0, Scalar: func(*Call) { panic("no") }},
		{Name: "fails", Args: 0, Scalar: func(c *Call) { c.Fail("not today") }},
		{Name: "grows", Args: 0, Scalar: func(c *Call) { c.FailTooBig() }},
	}})
	for sql, want := range map[string]string{
		"SELECT joined(column1) FROM (VALUES ('a'), ('b'), ('c'))":             "abc",
		"SELECT joined(1) WHERE 0":                                             "",
		"SELECT joined(column1) || joined(column1) FROM (VALUES ('a'), ('b'))": "abab",
		"SELECT panics()": "error: a function of the database failed",
		"SELECT fails()":  "error: not today",
		"SELECT grows()":  "error: string or blob too big",
		"SELECT group_concat(w, ';') FROM (SELECT joined(column1) OVER (ORDER BY column1 ROWS 1 PRECEDING) AS w FROM (VALUES ('a'), ('b'), ('c')))": "a;ab;bc",
	} {
		got, err := one(t, c, t.Context(), sql)
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", sql, got, want)
		}
	}
	if len(c.aggregates) != 0 {
		t.Errorf("%d evaluations are left", len(c.aggregates))
	}
}

type joined struct{ s []string }

func (j *joined) Step(c *Call)  { j.s = append(j.s, string(c.Text(0))) }
func (j *joined) Inverse(*Call) { j.s = j.s[1:] }
func (j *joined) Value(c *Call) { c.ReturnText([]byte(strings.Join(j.s, ""))) }

func TestTemporaryFilesAreCounted(t *testing.T) {
	c := openTest(t, Config{Temporary: 100 << 10})
	if err := c.Exec(t.Context(), "PRAGMA temp_store=FILE"); err != nil {
		t.Fatal(err)
	}
	if err := c.Exec(t.Context(), "PRAGMA cache_size=10"); err != nil {
		t.Fatal(err)
	}
	const rows = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 5000) SELECT count(DISTINCT x || hex(zeroblob(500))) FROM c"
	if _, err := one(t, c, t.Context(), rows); !errors.Is(err, ErrTemporaryFull) {
		t.Errorf("too much: %v", err)
	}
	if c.temporarySize != 0 || len(c.counted) != 0 {
		t.Errorf("%d bytes in %d files are left", c.temporarySize, len(c.counted))
	}
	c.config.Temporary = 100 << 20
	if got, err := one(t, c, t.Context(), rows); err != nil || got != "5000" {
		t.Errorf("with more room: %s, %v", got, err)
	}
}

func TestBusy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	var conns [2]*Conn
	for i := range conns {
		c, err := Open(path, Config{Create: true, Busy: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		conns[i] = c
	}
	if err := conns[0].Exec(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	var e *Error
	if err := conns[1].Exec(t.Context(), "BEGIN IMMEDIATE"); !errors.As(err, &e) || e.Primary() != lib.SQLITE_BUSY {
		t.Errorf("%v", err)
	}
	conns[1].config.Busy = time.Hour
	ctx := &counted{t.Context(), 2}
	done, cancel := context.WithCancel(ctx)
	cancel()
	if err := conns[1].Exec(withDone{ctx, done.Done()}, "BEGIN IMMEDIATE"); !errors.Is(err, context.Canceled) {
		t.Errorf("an ended context: %v", err)
	}
}

// withDone is a context that has ended for those who wait for it, and not yet
// for those who ask.
type withDone struct {
	context.Context
	done <-chan struct{}
}

func (w withDone) Done() <-chan struct{} { return w.done }

func TestOpenFails(t *testing.T) {
	folder := t.TempDir()
	for _, path := range []string{
		filepath.Join(folder, "missing", "x.db"),
		filepath.Join(folder, "absent.db"),
		folder,
		"a\x00b",
	} {
		if c, err := Open(path, Config{}); err == nil {
			_ = c.Close()
			t.Errorf("%q was opened", path)
		}
	}
	count := 0
	conns.Range(func(_, _ any) bool { count++; return true })
	if count != 0 {
		t.Errorf("%d connections are left", count)
	}
}
