package databases

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"ql/internal/engine"
	"ql/internal/sqlite"
	"ql/lang/bytecode"
	"ql/lang/value"
)

// Import adds rows to a table, in a transaction of its own that looks at references between rows
// at its end.
func (d *Databases) Import(ctx context.Context, name string, im engine.Import) (v value.Value, err error) {
	err = d.change(ctx, name, func(c *conn) error {
		if err := charge(im.Meter, commitFuel); err != nil {
			return err
		}
		newest := int64(noAttempt)
		if r := im.Receipt; r != nil {
			if newest, err = c.newestAttempt(ctx, r.Job, r.Attempt); err != nil {
				return err
			}
		}
		if err := c.execTrusted(ctx, "PRAGMA defer_foreign_keys=ON"); err != nil {
			return err
		}
		if v, err = c.importRows(ctx, im); err != nil || im.Receipt == nil {
			return err
		}
		return c.writeReceipt(ctx, im.Receipt, newest, v)
	})
	if err != nil {
		return value.Null, err
	}
	return v, nil
}

const selectIndexes = "SELECT 1 FROM sqlite_schema WHERE type IN ('index', 'trigger') AND tbl_name = CAST(? AS TEXT) COLLATE NOCASE LIMIT 1"

// importer adds rows to a table in the transaction under way.
type importer struct {
	engine.Import
	conn    *conn
	columns []string // of the table
	// plain says that the table has neither indexes nor triggers: its rows are added at its end.
	plain bool
	// known are the statements of the latest shapes of rows, by the names of their columns.
	known map[string]*statement
}

// importRows adds the rows of an import in the transaction under way.
func (c *conn) importRows(ctx context.Context, im engine.Import) (v value.Value, err error) {
	defer recoverLimit(&v, &err)
	if isHidden(im.Table) {
		return value.Null, value.Errorf(sqlDenied, hiddenReason)
	}
	i := &importer{Import: im, conn: c}
	i.begin()
	if i.columns, err = c.columns(ctx, im.Table); err != nil {
		return value.Null, err
	}
	if len(i.columns) == 0 {
		if err := i.createTable(ctx); err != nil {
			return value.Null, err
		}
		i.begin() // it was the end of an operation
	}
	if im.Meter != nil {
		defer im.Meter.End()
	}
	i.plain = true
	if err := c.execInternal(ctx, selectIndexes, func(*sqlite.Stmt) { i.plain = false }, []byte(im.Table)); err != nil {
		return value.Null, err
	}
	if err := c.setMaxPages(ctx, false); err != nil {
		return value.Null, err
	}
	defer c.closeBudget()
	rows, err := i.addAll(ctx)
	if err != nil {
		return value.Null, err
	}
	return im.Rows.Result(rows), nil
}

func (i *importer) begin() {
	if i.Meter != nil {
		i.Meter.Begin()
	}
}

// createTable makes the table of the columns that the rows have; nothing where there are none.
func (i *importer) createTable(ctx context.Context) error {
	columns, err := i.Rows.Columns()
	if err != nil || len(columns) == 0 {
		return err
	}
	defs := make([]string, len(columns))
	for n, column := range columns {
		defs[n] = strings.TrimSpace(QuoteIdentifier(column.Name) + " " + column.Type)
		i.columns = append(i.columns, column.Name)
	}
	call := &call{sql: fmt.Sprintf("CREATE TABLE %s(%s)", QuoteIdentifier(i.Table), strings.Join(defs, ", ")), meter: i.Meter, mode: bytecode.SQLValue}
	s, err := i.conn.prepare(ctx, call)
	if err != nil {
		return err
	}
	_, err = i.conn.run(ctx, s, call)
	return err
}

// addAll adds all rows, and returns how many there were.
func (i *importer) addAll(ctx context.Context) (rows int64, err error) {
	call := &call{meter: i.Meter}
	var s *statement
	var shape []string
	for {
		names, cells, err := i.Rows.Next()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		if s == nil || !slices.Equal(names, shape) {
			if s, err = i.statement(ctx, names); err != nil {
				return rows, i.atPlace(err)
			}
			shape = slices.Clone(names)
		}
		call.args = cells
		if err := i.add(ctx, s, call); err != nil {
			return rows, i.atPlace(err)
		}
		rows++
	}
}

// add adds a row.
func (i *importer) add(ctx context.Context, s *statement, call *call) error {
	defer s.Reset()
	if err := call.bind(s.Stmt); err != nil {
		return i.conn.explain(err)
	}
	_, err := s.Step(ctx)
	work := s.DrainWork()
	fuel := price(work)
	if i.plain {
		fuel -= (pageFuel - appendFuel) * work.Pages
	}
	if broken := charge(i.Meter, fuel); broken != nil {
		return broken
	}
	return i.conn.explain(err)
}

// maxShapes is how many statements are known at once: fewer than a connection caches.
const maxShapes = maxCachedStatements / 2

// statement returns the one that adds a row with these columns, ready to be run.
func (i *importer) statement(ctx context.Context, names []string) (*statement, error) {
	sql, err := i.insert(names)
	if err != nil {
		return nil, err
	}
	s := i.known[sql]
	if s == nil {
		if s, err = i.conn.prepare(ctx, &call{sql: sql, args: make([]value.Value, len(names)), meter: i.Meter}); err != nil {
			return nil, err
		}
		if len(i.known) == maxShapes || i.known == nil {
			i.known = map[string]*statement{}
		}
		i.known[sql] = s
	}
	i.conn.authorizer.reset(s.alters)
	i.conn.openBudget(i.Meter, s.windows)
	return s, nil
}

// insert writes the statement that adds a row with these columns. Those that the row leaves out
// have their default.
func (i *importer) insert(names []string) (string, error) {
	if len(i.columns) == 0 {
		return "", value.Errorf("no_such_table", "there is no table %s, and the row has no columns that one could be made of", value.Quote(i.Table))
	}
	for n, name := range names {
		same := func(other string) bool { return strings.EqualFold(other, name) }
		switch {
		case !slices.ContainsFunc(i.columns, same):
			return "", value.Errorf(noSuchColumn, "the table %s has no column %s: it has %s", value.Quote(i.Table), value.Quote(name), strings.Join(i.columns, ", "))
		case slices.ContainsFunc(names[:n], same):
			return "", value.Errorf("duplicate_column", "a row has %s twice, in capital and small letters, which is one column for the database", value.Quote(name))
		}
	}
	return InsertInto(i.Table, names), nil
}

// InsertInto writes the statement that adds a row with these columns to a table.
func InsertInto(table string, columns []string) string {
	if len(columns) == 0 {
		return fmt.Sprintf("INSERT INTO %s DEFAULT VALUES", QuoteIdentifier(table))
	}
	quoted := make([]string, len(columns))
	for i, column := range columns {
		quoted[i] = QuoteIdentifier(column)
	}
	params := strings.TrimSuffix(strings.Repeat("?,", len(columns)), ",")
	return fmt.Sprintf("INSERT INTO %s(%s) VALUES(%s)", QuoteIdentifier(table), strings.Join(quoted, ","), params)
}

// atPlace says at which row an error is.
func (i *importer) atPlace(err error) error {
	var known *value.Error
	if !errors.As(err, &known) {
		return err
	}
	return &value.Error{Code: known.Code, Message: i.Rows.Place() + ": " + known.Message, Data: known.Data, Limit: known.Limit}
}
