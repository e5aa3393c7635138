package databases

import (
	"bufio"
	"context"
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
	return value.Exceeded("import_bytes", int64(most), "a statement of an import has at most %s", value.Size(int64(most)))
}

// Import runs a text of SQL, such as Export writes, on a database, which is made
// where it is missing: statement by statement, each allowed as a script's would
// be, and all in one transaction. It returns how many there were,
// without those that only surround the others. A database that it would have
// made is not there after an error.
func (d *Databases) Import(ctx context.Context, name string, r io.Reader) (n int64, err error) {
	text, err := textReader(r)
	if err != nil {
		return 0, err
	}
	if name, err = canonicalName(name); err != nil {
		return 0, err
	}
	if d.has(name) {
		return d.importSQL(ctx, name, text)
	}
	err = d.makeFrom(ctx, name, func(staged *Databases) error {
		n, err = staged.importSQL(ctx, name, text)
		return err
	})
	return n, err
}

func (d *Databases) importSQL(ctx context.Context, name string, text *bufio.Reader) (n int64, err error) {
	err = d.changeMany(ctx, name, func(c *conn) error {
		c.db.SetLimit(lib.SQLITE_LIMIT_SQL_LENGTH, maxImportSQL)
		defer c.db.SetLimit(lib.SQLITE_LIMIT_SQL_LENGTH, maxSQL)
		all := newStatements(text, maxImportSQL)
		begun := 0 // the line of the BEGIN that nothing has ended yet
		for {
			sql, err := all.next()
			if errors.Is(err, io.EOF) && begun > 0 {
				return place(begun, value.Errorf(sqlError, "BEGIN starts a transaction that nothing ends: the file is cut off, or COMMIT is missing; nothing of it is kept"))
			}
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err == nil && isFrame(all.words) {
				switch all.words[0] {
				case "BEGIN":
					begun = all.start
				case "COMMIT", "END":
					begun = 0
				}
				continue
			}
			if err == nil {
				err = refuseInImport(all.words)
			}
			if err == nil {
				err = c.importOne(ctx, sql, nil)
			}
			if err != nil {
				return place(all.start, err)
			}
			n++
		}
	})
	return n, err
}

// isFrame reports whether a statement only surrounds those of a whole database:
// the import has a transaction of its own, and looks at references at its end.
func isFrame(words []string) bool {
	switch words[0] {
	case "BEGIN", "COMMIT", "END":
		return true
	case "PRAGMA":
		return len(words) == 4 && words[1] == "FOREIGN_KEYS" && (words[3] == "OFF" || words[3] == "ON")
	}
	return false
}

func refuseInImport(words []string) error {
	switch words[0] {
	case "ROLLBACK", "SAVEPOINT", "RELEASE":
		return value.Errorf(sqlDenied, "%s is not allowed in an import, which is one transaction: all of it is kept, or nothing", words[0])
	}
	return nil
}

// place says on which line of an import an error is.
func place(line int, err error) error {
	var known *value.Error
	if !errors.As(err, &known) {
		return err
	}
	return &value.Error{Code: known.Code, Message: fmt.Sprintf("line %d: %s", line, known.Message), Data: known.Data, Limit: known.Limit}
}

// placeColumn is place for what is wrong with the first row of a CSV file: the
// table is named elsewhere.
func placeColumn(line int, err error) error {
	var known *value.Error
	if errors.As(err, &known) && known.Code == noSuchColumn {
		return place(line, err)
	}
	return err
}

// ImportTable adds the rows of a CSV file to a table, all in one transaction. Its
// first row names the columns. An empty field is null; the others are texts, of
// which a column of numbers makes numbers. It returns how many there were.
func (d *Databases) ImportTable(ctx context.Context, name, table string, r io.Reader) (rows int64, err error) {
	if name, err = d.existing(name); err != nil {
		return 0, err
	}
	in, err := newCSVReader(r)
	if err != nil {
		return 0, err
	}
	var columns []string
	for _, column := range in.header {
		columns = append(columns, identifier(column))
	}
	places := strings.TrimSuffix(strings.Repeat("?,", len(columns)), ",")
	sql := fmt.Sprintf("INSERT INTO %s(%s) VALUES(%s)", identifier(table), strings.Join(columns, ","), places)
	err = d.changeMany(ctx, name, func(c *conn) error {
		fields, args := make([]string, len(columns)), make([]value.Value, len(columns))
		// A file without rows names a table and columns too.
		if _, err := c.prepare(ctx, &call{sql: sql, args: args}); err != nil {
			return placeColumn(in.headerLine, err)
		}
		for {
			line, err := in.read(fields)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			for i, field := range fields {
				args[i] = value.Null
				if field != "" {
					args[i] = value.Text(field)
				}
			}
			if err := c.importOne(ctx, sql, args); err != nil {
				return place(line, err)
			}
			rows++
		}
	})
	return rows, err
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
	call := &call{sql: sql, args: args, mode: bytecode.SQLValue, literal: args == nil}
	s, err := c.prepare(within, call)
	if err == nil {
		_, err = c.run(within, s, call)
	}
	switch {
	case err != nil && within.Err() != nil && ctx.Err() == nil:
		return value.Exceeded("import_time", importTime.Milliseconds(), "a statement of an import takes at most %s", importTime)
	case err == nil && !c.db.InTransaction():
		return value.Errorf("transaction_ended", "the statement rolled the whole import back")
	}
	return err
}
