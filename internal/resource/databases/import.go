package databases

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"ql/lang/bytecode"
	"ql/lang/value"

	lib "modernc.org/sqlite/lib"
)

const (
	// maxImportSQL bounds one statement of an import. It is more than a script's
	// may have: a row stands in it with its values, bytes in two digits each.
	maxImportSQL = 16 << 20
	// importTime is how long one statement of an import may take.
	importTime = 30 * time.Second
)

func tooLong(most int) error {
	return value.Errorf(limitExceeded, "a statement of an import has at most %s", size(int64(most)))
}

// Import runs a text of SQL, such as Export writes, on a database, which is made
// where it is missing: statement by statement, each allowed as a script's would
// be, and all in one transaction. It returns how many there were,
// without those that only surround the others.
func (d *Databases) Import(ctx context.Context, name string, r io.Reader) (n int64, err error) {
	err = d.changeMany(ctx, name, func(c *conn) error {
		c.db.SetLimit(lib.SQLITE_LIMIT_SQL_LENGTH, maxImportSQL)
		defer c.db.SetLimit(lib.SQLITE_LIMIT_SQL_LENGTH, maxSQL)
		all := newStatements(r, maxImportSQL)
		for {
			sql, err := all.next()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err == nil && isFrame(sql) {
				continue
			}
			if err == nil {
				err = c.importOne(ctx, sql, nil)
			}
			if err != nil {
				return place("statement", n+1, err)
			}
			n++
		}
	})
	return n, err
}

// isFrame reports whether a statement only surrounds those of a whole database:
// the import has a transaction of its own, and looks at references at its end.
func isFrame(sql string) bool {
	switch strings.ToUpper(strings.Join(strings.Fields(strings.TrimRight(sql, "; \t\r\n")), " ")) {
	case "PRAGMA FOREIGN_KEYS=OFF", "BEGIN", "BEGIN TRANSACTION", "COMMIT", "END", "END TRANSACTION", "COMMIT TRANSACTION":
		return true
	}
	return false
}

// place says where in an import an error is.
func place(what string, n int64, err error) error {
	var known *value.Error
	if !errors.As(err, &known) {
		return err
	}
	return &value.Error{Code: known.Code, Message: fmt.Sprintf("%s %d: %s", what, n, known.Message), Data: known.Data}
}

// ImportTable adds the rows of a CSV file to a table, all in one transaction. Its
// first row names the columns. An empty field is null; the others are texts, of
// which a column of numbers makes numbers. It returns how many there were.
func (d *Databases) ImportTable(ctx context.Context, name, table string, r io.Reader) (rows int64, err error) {
	if name, err = d.existing(name); err != nil {
		return 0, err
	}
	in := csv.NewReader(r)
	in.ReuseRecord = true
	header, err := in.Read()
	switch {
	case errors.Is(err, io.EOF):
		return 0, value.Errorf("bad_csv", "the file is empty: its first row names the columns")
	case err != nil:
		return 0, badCSV(err)
	case len(header) > limits[lib.SQLITE_LIMIT_COLUMN]:
		return 0, value.Errorf(limitExceeded, "a table has at most %d columns, and the first row names %d", limits[lib.SQLITE_LIMIT_COLUMN], len(header))
	}
	var columns []string
	for i, column := range header {
		if i == 0 {
			column = strings.TrimPrefix(column, "\uFEFF")
		}
		columns = append(columns, identifier(column))
	}
	places := strings.TrimSuffix(strings.Repeat("?,", len(columns)), ",")
	sql := fmt.Sprintf("INSERT INTO %s(%s) VALUES(%s)", identifier(table), strings.Join(columns, ","), places)
	err = d.changeMany(ctx, name, func(c *conn) error {
		args := make([]value.Value, len(columns))
		for {
			fields, err := in.Read()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return badCSV(err)
			}
			for i, field := range fields {
				args[i] = value.Null
				if field != "" {
					args[i] = value.Text(strings.ToValidUTF8(field, "\uFFFD"))
				}
			}
			if err := c.importOne(ctx, sql, args); err != nil {
				return place("row", rows+1, err)
			}
			rows++
		}
	})
	return rows, err
}

func badCSV(err error) error {
	var e *csv.ParseError
	if !errors.As(err, &e) {
		return err
	}
	return value.Errorf("bad_csv", "line %d: %s", e.Line, e.Err)
}

// changeMany is change for an import, which looks at references at its end.
func (d *Databases) changeMany(ctx context.Context, name string, do func(*conn) error) error {
	return d.change(ctx, name, func(c *conn) error {
		if err := c.trusted(ctx, "PRAGMA defer_foreign_keys=ON"); err != nil {
			return err
		}
		return do(c)
	})
}

// importOne runs one statement as a script's, within a time.
func (c *conn) importOne(ctx context.Context, sql string, args []value.Value) error {
	within, cancel := context.WithTimeout(ctx, importTime)
	defer cancel()
	// Rows that it may give are of no use; of one that writes all are made.
	call := &call{sql: sql, args: args, mode: bytecode.SQLValue}
	s, err := c.prepare(within, call)
	if err == nil {
		_, err = c.run(within, s, call)
	}
	switch {
	case err != nil && within.Err() != nil && ctx.Err() == nil:
		return value.Errorf(limitExceeded, "a statement of an import takes at most %s", importTime)
	case err == nil && !c.db.InTransaction():
		return value.Errorf("transaction_ended", "the statement rolled the whole import back")
	}
	return err
}
