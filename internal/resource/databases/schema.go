package databases

import (
	"context"
	"errors"
	"strings"

	"ql/internal/sqlite"
	"ql/lang/value"
)

// Table is a table or a view as its owner sees it.
type Table struct {
	Name    string
	Kind    string // table or view
	SQL     string
	Columns []Column
	Indexes []Index
	// Rows is how many there are: exactly, or about; -1 where that is not known, as of a view.
	Rows  int64
	Exact bool
}

// Column is a column of a table or a view.
type Column struct {
	Name       string
	Type       string // as it was written, "" for none
	NotNull    bool
	Default    string // as it was written, "" for none
	PrimaryKey int    // its place in that, from 1; 0 where it is not in it
	Computed   bool
}

// Index is an index of a table.
type Index struct {
	Name    string
	Unique  bool
	Columns []string // "" for an expression
}

// TablePage is a part of a schema.
type TablePage struct {
	After string // the name that it begins behind, "" for the first one
	Limit int
}

const (
	// schemaBytes is how much of a schema is read at once, about.
	schemaBytes = 1 << 20
	// mostIndexes is how many indexes of a table are shown.
	mostIndexes = 100
	// countedRows is up to how many rows are counted one by one.
	countedRows = 1000
)

// Schema returns tables and views of a database, by name, and whether there are more.
func (d *Databases) Schema(ctx context.Context, name string, p TablePage) (list []Table, more bool, err error) {
	err = d.viewLong(ctx, name, func(ctx context.Context, c *conn) error {
		objects, err := c.tables(ctx, p)
		if err != nil {
			return err
		}
		bytes := 0
		for i, o := range objects {
			if i == p.Limit || bytes > schemaBytes {
				more = true
				return nil
			}
			t, err := c.table(ctx, o)
			if err != nil {
				return err
			}
			bytes += t.bytes()
			list = append(list, t)
		}
		return nil
	})
	return list, more, err
}

// tables returns the tables and views of a page, and one more. The definitions of all of them
// together are bounded as those of one are: SQL is read for those that are shown.
func (c *conn) tables(ctx context.Context, p TablePage) (list []Object, err error) {
	const names = "SELECT type, name FROM sqlite_schema WHERE type IN ('table', 'view') AND name > CAST(? AS TEXT)" +
		" AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND lower(substr(name, 1, 4)) <> '" + hiddenPrefix + "'" +
		" AND lower(name) NOT IN (SELECT value FROM json_each(CAST(? AS TEXT))) ORDER BY name LIMIT ?"
	shadow, err := c.shadowList(ctx)
	if err != nil {
		return nil, err
	}
	err = c.execInternal(ctx, names, func(s *sqlite.Stmt) {
		list = append(list, Object{Kind: string(s.Text(0)), Name: string(s.Text(1))})
	}, []byte(p.After), shadow, int64(p.Limit)+1)
	return list, err
}

// table describes a table or a view.
func (c *conn) table(ctx context.Context, o Object) (Table, error) {
	t := Table{Name: o.Name, Kind: o.Kind, Rows: -1}
	err := c.execInternal(ctx, "SELECT sql FROM sqlite_schema WHERE name = CAST(? AS TEXT)", func(s *sqlite.Stmt) { t.SQL = string(s.Text(0)) }, []byte(o.Name))
	if err != nil {
		return t, err
	}
	if t.Kind != "table" {
		return t, c.viewColumns(ctx, &t)
	}
	err = c.eachRow(ctx, "PRAGMA table_xinfo("+QuoteIdentifier(o.Name)+")", func(s *sqlite.Stmt) {
		if s.Int(6) == hiddenColumn {
			return
		}
		t.Columns = append(t.Columns, Column{
			Name: string(s.Text(1)), Type: string(s.Text(2)), NotNull: s.Int(3) != 0, Default: string(s.Text(4)), PrimaryKey: int(s.Int(5)), Computed: s.Int(6) > 1,
		})
	})
	if err != nil {
		return t, err
	}
	if err := c.indexes(ctx, &t); err != nil {
		return t, err
	}
	return t, c.countRows(ctx, &t)
}

// hiddenColumn is how SQLite marks a column that a virtual table has for its own sake.
const hiddenColumn = 1

// unlessMistake is an error that is none of the owner's SQL.
func (c *conn) unlessMistake(ctx context.Context, err error) error {
	var known *value.Error
	if ctx.Err() == nil && errors.As(err, &known) {
		return nil
	}
	return err
}

// viewColumns names the columns of a view. They are asked for as a script would: what it says may
// come to more than can be looked at, or be about what is gone.
func (c *conn) viewColumns(ctx context.Context, t *Table) error {
	s, err := c.prepare(ctx, &call{sql: "SELECT * FROM " + QuoteIdentifier(t.Name)})
	if err != nil {
		return c.unlessMistake(ctx, err)
	}
	for i := range s.Columns() {
		t.Columns = append(t.Columns, Column{Name: s.ColumnName(i)})
	}
	return nil
}

func (c *conn) indexes(ctx context.Context, t *Table) error {
	err := c.eachRow(ctx, "PRAGMA index_list("+QuoteIdentifier(t.Name)+")", func(s *sqlite.Stmt) {
		if len(t.Indexes) < mostIndexes {
			t.Indexes = append(t.Indexes, Index{Name: string(s.Text(1)), Unique: s.Int(2) != 0})
		}
	})
	for i := range t.Indexes {
		if err != nil {
			return err
		}
		index := &t.Indexes[i]
		err = c.eachRow(ctx, "PRAGMA index_info("+QuoteIdentifier(index.Name)+")", func(s *sqlite.Stmt) {
			index.Columns = append(index.Columns, string(s.Text(2)))
		})
	}
	return err
}

// countRows counts the rows of a table where they are few. Of many it says how far their numbers
// have come, which costs nothing however many they are.
func (c *conn) countRows(ctx context.Context, t *Table) (err error) {
	quoted := QuoteIdentifier(t.Name)
	counted := "SELECT count(*) FROM (SELECT 1 FROM " + quoted + " LIMIT 1001)"
	if t.Rows, err = c.queryInt(ctx, counted); err != nil || t.Rows <= countedRows {
		t.Exact = err == nil
		return err
	}
	// A table without numbers of its rows has no such column, or another of that name.
	for _, column := range t.Columns {
		if isRowID(column.Name) {
			return nil
		}
	}
	last, err := c.queryInt(ctx, "SELECT max(rowid) FROM "+quoted)
	if err != nil {
		return c.unlessMistake(ctx, err)
	}
	t.Rows = max(t.Rows, last)
	return nil
}

func isRowID(column string) bool { return strings.EqualFold(column, "rowid") }

// bytes is about what a table takes.
func (t *Table) bytes() int {
	n := 128 + len(t.Name) + len(t.SQL)
	for _, c := range t.Columns {
		n += 64 + len(c.Name) + len(c.Type) + len(c.Default)
	}
	for _, i := range t.Indexes {
		n += 64 + len(i.Name)
		for _, c := range i.Columns {
			n += len(c)
		}
	}
	return n
}

// eachRow runs a statement of our own, which is not cached.
func (c *conn) eachRow(ctx context.Context, sql string, row func(*sqlite.Stmt)) error {
	c.authorizer.reset(false)
	c.authorizer.trusted = true
	defer func() { c.authorizer.trusted = false }()
	s, _, err := c.db.Prepare(ctx, sql)
	if err != nil {
		return c.explain(err)
	}
	defer s.Close()
	for {
		more, err := s.Step(ctx)
		if err != nil || !more {
			return c.explain(err)
		}
		row(s)
	}
}
