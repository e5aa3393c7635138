package databases

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"testing"

	"ql/internal/sqlite"
	"ql/lang/bytecode"

	lib "modernc.org/sqlite/lib"
)

// ask runs SQL as the service itself and returns its first column, joined.
func ask(t testing.TB, c *conn, sql string) string {
	t.Helper()
	c.authorizer.trusted = true
	defer func() { c.authorizer.trusted = false }()
	s, _, err := c.db.Prepare(context.Background(), sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	defer s.Close()
	var all []string
	for {
		row, err := s.Step(context.Background())
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		if !row {
			return strings.Join(all, ",")
		}
		all = append(all, string(s.Text(0)))
	}
}

// checkSettings asks every connection of main for its settings.
func checkSettings(t testing.TB, d *Databases) {
	t.Helper()
	db := d.open["main"]
	conns := map[string]*conn{}
	if db.idleWriter != nil {
		conns["the writer"] = db.idleWriter
	}
	for i, c := range db.idleReaders {
		conns[fmt.Sprintf("reader %d", i)] = c
	}
	if len(conns) == 0 {
		t.Fatal("there is no connection")
	}
	for name, c := range conns {
		queryOnly := "1"
		if c == db.idleWriter {
			queryOnly = "0"
		}
		for pragma, want := range map[string]string{
			"journal_mode":       "wal",
			"synchronous":        "2",
			"foreign_keys":       "1",
			"trusted_schema":     "0",
			"cell_size_check":    "1",
			"mmap_size":          "0",
			"temp_store":         "1",
			"cache_size":         "-4000",
			"page_size":          "4096",
			"max_page_count":     fmt.Sprint(d.options.MaxBytes / pageSize),
			"journal_size_limit": "1048576",
			"query_only":         queryOnly,
			"writable_schema":    "0",
		} {
			if got := ask(t, c, "PRAGMA "+pragma); got != want {
				t.Errorf("%s: %s is %s, not %s", name, pragma, got, want)
			}
		}
		for id, want := range limits {
			if got := c.db.Limit(id); got != want {
				t.Errorf("%s: limit %d is %d, not %d", name, id, got, want)
			}
		}
		for id, want := range dbConfig {
			if got, err := c.db.Switch(id); err != nil || got != want {
				t.Errorf("%s: setting %d is %t, %v", name, id, got, err)
			}
		}
		if c.db.InTransaction() != c.kept.open {
			t.Errorf("%s: a transaction is open", name)
		}
	}
}

func TestEveryConnectionIsSet(t *testing.T) {
	d := open(t, Options{Readers: 3, MaxBytes: 5 << 20})
	must(t, d, "CREATE TABLE t(a)")
	// Three readers at once, each held while the next is taken.
	db, err := d.acquire("")
	if err != nil {
		t.Fatal(err)
	}
	var held []*conn
	for range 3 {
		c, err := db.acquireReader(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, c)
	}
	for _, c := range held {
		db.releaseReader(c, false)
	}
	d.release(db)
	if n := len(d.open["main"].idleReaders); n != 3 {
		t.Fatalf("%d readers", n)
	}
	checkSettings(t, d)

	// A statement that was cut off leaves nothing behind.
	ctx, cancel := context.WithCancel(t.Context())
	started := &signalled{Context: ctx, asked: make(chan struct{})}
	go func() { <-started.asked; cancel() }()
	_, err = d.Query(started, "", query(bytecode.SQLRows, "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) INSERT INTO t SELECT x FROM c RETURNING a"))
	if err == nil {
		t.Fatal("it ended by itself")
	}
	checkSettings(t, d)
}

// TestFunctionsAreKnown fails when the engine has functions that nobody has
// thought about, and when the list holds some that the engine has not.
func TestFunctionsAreKnown(t *testing.T) {
	d := open(t, Options{})
	must(t, d, "SELECT 1")
	names := map[string]bool{}
	for _, name := range strings.Split(ask(t, d.open["main"].idleWriter, "SELECT DISTINCT name FROM pragma_function_list"), ",") {
		names[name] = true
		if allowed[name] == refused[name] {
			t.Errorf("the function %s: allowed %t, refused %t", name, allowed[name], refused[name])
		}
	}
	var unknown []string
	for name := range allowed {
		if !names[name] && !strings.HasPrefix(name, "sqlite_") {
			unknown = append(unknown, name)
		}
	}
	for name := range refused {
		if !names[name] {
			unknown = append(unknown, name)
		}
	}
	sort.Strings(unknown)
	if len(unknown) > 0 {
		t.Errorf("the engine has no functions %s", strings.Join(unknown, ", "))
	}
}

// TestModulesAreGone lists what virtual tables a connection has.
func TestModulesAreGone(t *testing.T) {
	d := open(t, Options{})
	must(t, d, "SELECT value FROM json_each('[]')")
	for _, name := range strings.Split(ask(t, d.open["main"].idleReaders[0], "SELECT name FROM pragma_module_list"), ",") {
		if !strings.HasPrefix(name, "pragma_") && name != "json_each" && name != "fts5" {
			t.Errorf("the module %s is there", name)
		}
	}
}

// TestUnknownActionsAreRefused shows that the authorizer lists what it allows.
func TestUnknownActionsAreRefused(t *testing.T) {
	p := &authorizer{}
	for code := -1; code < 100; code++ {
		ok := p.authorize(sqlite.Action{Code: code, Arg1: "x", Arg2: "x"})
		if code > lib.SQLITE_RECURSIVE && ok {
			t.Errorf("action %d is allowed", code)
		}
	}
}
