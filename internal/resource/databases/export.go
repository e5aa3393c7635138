package databases

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"ql/internal/sqlite"
	"ql/lang/value"

	lib "modernc.org/sqlite/lib"
)

// Export writes a database as SQL that makes it anew: tables and their rows, then
// indexes, triggers and views. It is as it is at one moment.
func (d *Databases) Export(ctx context.Context, name string, w io.Writer) error {
	out := bufio.NewWriter(w)
	err := d.view(ctx, name, func(c *conn) error {
		objects, err := c.objects(ctx)
		if err != nil {
			return err
		}
		fmt.Fprint(out, "PRAGMA foreign_keys=OFF;\nBEGIN;\n")
		for _, o := range objects {
			if o.kind != "table" {
				continue
			}
			fmt.Fprintf(out, "%s;\n", o.sql)
			if err := c.exportRows(ctx, out, o.name); err != nil {
				return err
			}
		}
		if err := c.exportSequences(ctx, out); err != nil {
			return err
		}
		for _, o := range objects {
			if o.kind != "table" && o.sql != "" {
				fmt.Fprintf(out, "%s;\n", o.sql)
			}
		}
		_, err = fmt.Fprint(out, "COMMIT;\n")
		return err
	})
	if err != nil {
		return err
	}
	return out.Flush()
}

// ExportTable writes the rows of a table or view as CSV, below a row with the
// names of the columns. Null is an empty field, and bytes are hexadecimal.
func (d *Databases) ExportTable(ctx context.Context, name, table string, w io.Writer) (rows int64, err error) {
	out := csv.NewWriter(w)
	err = d.view(ctx, name, func(c *conn) error {
		// Through the policy: a view may say anything.
		s, err := c.prepare(ctx, &call{sql: "SELECT * FROM " + identifier(table)})
		if err != nil {
			return err
		}
		c.openBudget(nil, s.windows)
		defer c.closeBudget()
		defer s.Reset()
		fields := make([]string, s.Columns())
		for i := range fields {
			fields[i] = s.ColumnName(i)
		}
		for {
			if err := writeRow(out, w, fields); err != nil {
				return err
			}
			more, err := s.Step(ctx)
			if err != nil || !more {
				return c.explain(err)
			}
			rows++
			for i := range fields {
				fields[i] = field(s.Stmt, i)
			}
			if err := s.Err(); err != nil {
				return c.explain(err)
			}
		}
	})
	out.Flush()
	if err == nil {
		err = out.Error()
	}
	return rows, err
}

// writeRow writes a row of CSV. A lone empty field is quoted: else its row would
// be an empty line, which is none.
func writeRow(out *csv.Writer, w io.Writer, fields []string) error {
	if len(fields) != 1 || fields[0] != "" {
		return out.Write(fields)
	}
	out.Flush()
	_, err := io.WriteString(w, "\"\"\n")
	return err
}

// view runs f on a connection that only reads, at one moment of a database that
// is there.
func (d *Databases) view(ctx context.Context, name string, f func(*conn) error) error {
	name, err := d.existing(name)
	if err != nil {
		return err
	}
	db, err := d.acquire(name)
	if err != nil {
		return err
	}
	defer d.release(db)
	c, err := db.takeReader(ctx)
	if err != nil {
		return err
	}
	// The transaction ends here.
	defer db.giveReader(c)
	if err := c.trusted(ctx, "BEGIN"); err != nil {
		return err
	}
	return f(c)
}

// columns returns the columns of a table that rows are written with.
func (c *conn) columns(ctx context.Context, table string) (names []string, err error) {
	c.policy.reset(false)
	c.policy.trusted = true
	defer func() { c.policy.trusted = false }()
	s, _, err := c.db.Prepare(ctx, "PRAGMA table_xinfo("+identifier(table)+")")
	if err != nil {
		return nil, c.explain(err)
	}
	defer s.Close()
	for {
		more, err := s.Step(ctx)
		if err != nil || !more {
			return names, c.explain(err)
		}
		const computed = 6
		if s.Int(computed) == 0 {
			names = append(names, identifier(string(s.Text(1))))
		}
	}
}

// exportRows writes one INSERT for each row.
func (c *conn) exportRows(ctx context.Context, out *bufio.Writer, table string) error {
	names, err := c.columns(ctx, table)
	if err != nil {
		return err
	}
	columns := strings.Join(names, ",")
	s, err := c.prepare(ctx, &call{sql: "SELECT " + columns + " FROM " + identifier(table)})
	if err != nil {
		return err
	}
	defer s.Reset()
	for {
		more, err := s.Step(ctx)
		if err != nil || !more {
			return c.explain(err)
		}
		values := make([]string, s.Columns())
		for i := range values {
			values[i] = literal(s.Stmt, i)
		}
		if _, err := fmt.Fprintf(out, "INSERT INTO %s(%s) VALUES(%s);\n", identifier(table), columns, strings.Join(values, ",")); err != nil {
			return err
		}
	}
}

// exportSequences writes how far AUTOINCREMENT has come.
func (c *conn) exportSequences(ctx context.Context, out *bufio.Writer) error {
	there := false
	if err := c.own(ctx, "SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_sequence'", func(*sqlite.Stmt) { there = true }); err != nil || !there {
		return err
	}
	fmt.Fprint(out, "DELETE FROM sqlite_sequence;\n")
	return c.own(ctx, "SELECT name, seq FROM sqlite_sequence ORDER BY name", func(s *sqlite.Stmt) {
		fmt.Fprintf(out, "INSERT INTO sqlite_sequence(name,seq) VALUES(%s,%s);\n", literal(s, 0), literal(s, 1))
	})
}

// literal writes a value as SQL has it, exactly.
func literal(s *sqlite.Stmt, i int) string {
	switch s.Kind(i) {
	case lib.SQLITE_INTEGER:
		n := s.Int(i)
		if n == math.MinInt64 {
			return "-9223372036854775807-1" // its digits alone are no integer
		}
		return strconv.FormatInt(n, 10)
	case lib.SQLITE_FLOAT:
		return real(s.Float(i))
	case lib.SQLITE_TEXT:
		text := s.Text(i)
		if !utf8.Valid(text) || strings.IndexByte(string(text), 0) >= 0 {
			return "CAST(X'" + hex.EncodeToString(text) + "' AS TEXT)"
		}
		return "'" + strings.ReplaceAll(string(text), "'", "''") + "'"
	case lib.SQLITE_BLOB:
		return "X'" + hex.EncodeToString(s.Blob(i)) + "'"
	}
	return "NULL"
}

// real writes a number so that it is read as the same one, and not as an integer.
func real(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "9e999"
	case math.IsInf(f, -1):
		return "-9e999"
	}
	text := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text
}

// field writes a value for CSV.
func field(s *sqlite.Stmt, i int) string {
	switch s.Kind(i) {
	case lib.SQLITE_INTEGER:
		return strconv.FormatInt(s.Int(i), 10)
	case lib.SQLITE_FLOAT:
		if n, ok := value.Number(s.Float(i)); ok {
			return string(value.AppendNumber(nil, n))
		}
		return real(s.Float(i))
	case lib.SQLITE_TEXT:
		return string(s.Text(i))
	case lib.SQLITE_BLOB:
		return hex.EncodeToString(s.Blob(i))
	}
	return ""
}
