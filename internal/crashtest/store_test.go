package crashtest

import (
	"path/filepath"
	"testing"

	"ql/internal/sqlite"
)

// store is the file of the server's store. The tests look into it, and change
// it, only while no server runs.
func (s *server) store() string { return filepath.Join(s.data, "ql.db") }

// execute runs statements on a database.
func execute(t testing.TB, path string, statements ...string) {
	t.Helper()
	c, err := sqlite.Open(path, sqlite.Config{Temporary: 4 << 30})
	check(t, err)
	for _, sql := range statements {
		if err := c.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	check(t, c.Close())
}

// number runs a query that gives one number.
func number(t testing.TB, path, sql string) int64 {
	t.Helper()
	c, err := sqlite.Open(path, sqlite.Config{Temporary: 4 << 30})
	check(t, err)
	s, _, err := c.Prepare(t.Context(), sql)
	check(t, err)
	if more, err := s.Step(t.Context()); err != nil || !more {
		t.Fatalf("%s: %v", sql, err)
	}
	n := s.Int(0)
	s.Close()
	check(t, c.Close())
	return n
}
