package sqlite

import (
	"bytes"
	"path/filepath"
	"testing"

	lib "modernc.org/sqlite/lib"
)

// TestCells compares what a row holds, looked at where it is, with what the library's own functions say of it.
func TestCells(t *testing.T) {
	columns := []string{
		"NULL", "0", "-1", "9223372036854775807", "1.5", "-0.0", "9e999", "''", "'text'", "'with' || char(0) || 'zero'", "x''", "x'00ff'",
		"zeroblob(3)", "zeroblob(2) || 'x'", "CAST(12 AS TEXT)", "CAST('12' AS INTEGER)", "CAST(3 AS REAL)", "CAST(x'c328' AS TEXT)", "upper('grüße')",
		"id", "name", "total", "data", "total + 1", "name || name", "length(name)", "max(id, 2.5)",
	}
	for _, encoding := range []string{"UTF-8", "UTF-16le"} {
		c, err := Open(filepath.Join(t.TempDir(), "cells"), Config{Create: true, Temporary: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		for _, sql := range []string{
			"PRAGMA encoding='" + encoding + "'",
			"CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, total REAL, data BLOB)",
			"INSERT INTO t VALUES (7, 'a näme', 3, x'0102'), (8, NULL, NULL, 'text as it is'), (9, 12, 4.5, 13)",
		} {
			if err := c.Exec(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
		}
		for _, column := range columns {
			s, _, err := c.Prepare(t.Context(), "SELECT "+column+", "+column+" FROM t")
			if err != nil {
				t.Fatal(column, err)
			}
			for {
				more, err := s.Step(t.Context())
				if err != nil {
					t.Fatal(column, err)
				}
				if !more {
					break
				}
				got := s.Cell(0) // before the others, which may turn the value into another form
				same := got.Kind == s.Kind(1)
				switch got.Kind {
				case lib.SQLITE_INTEGER:
					same = same && got.Int == s.Int(1)
				case lib.SQLITE_FLOAT:
					same = same && got.Float == s.Float(1)
				case lib.SQLITE_TEXT:
					same = same && bytes.Equal(got.Bytes, s.Text(1))
				case lib.SQLITE_BLOB:
					same = same && bytes.Equal(got.Bytes, s.Blob(1))
				}
				if !same {
					t.Errorf("%s, %s: the cell is %+v, and the library says kind %d, %d, %v, %q", encoding, column, got, s.Kind(1), s.Int(1), s.Float(1), s.Text(1))
				}
			}
			s.Close()
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}
