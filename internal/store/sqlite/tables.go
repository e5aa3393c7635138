package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"ql/internal/sqlite"
	"ql/internal/store/tables"

	lib "modernc.org/sqlite/lib"
)

// lockWait is how long commands beside are waited for by who wants all tables for itself.
const lockWait = 10 * time.Second

// Tables returns a connection to all that is stored, as the tables that it is in. The store is not used meanwhile.
func (s *Store) Tables(ctx context.Context) (tables.Access, error) {
	if s.replayErr != nil {
		return nil, fmt.Errorf("jobs that were accepted last cannot be stored: %w", s.replayErr)
	}
	c, err := connect(ctx, s.writer.conn.path, lockWait, true)
	if err != nil {
		return nil, err
	}
	a := &access{conn: c}
	if err := a.load(ctx); err != nil {
		return nil, errors.Join(explain(c.path, err), c.close())
	}
	return a, nil
}

// access implements tables.Access.
type access struct {
	conn   *conn
	tables []tables.Table
}

var kindsByType = map[string]tables.Kind{"INTEGER": tables.Int, "TEXT": tables.Text, "BLOB": tables.Bytes}

func (a *access) load(ctx context.Context) error {
	t := tx{ctx, a.conn}
	var list []tables.Table
	if err := t.each("SELECT name, sql LIKE '%AUTOINCREMENT%' FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'", func(r row) {
		list = append(list, tables.Table{Name: r.text(0), Remembers: r.int(1) != 0})
	}); err != nil {
		return err
	}
	for i := range list {
		one := &list[i]
		var unknown error
		if err := t.each("SELECT name, type, hidden FROM pragma_table_xinfo(?)", func(r row) {
			c := tables.Column{Name: r.text(0), Kind: kindsByType[r.text(1)], Computed: r.int(2) != 0}
			if c.Kind == 0 {
				unknown = fmt.Errorf("column %s of table %s has the type %s", c.Name, one.Name, r.text(1))
			}
			one.Columns = append(one.Columns, c)
		}, one.Name); err != nil || unknown != nil {
			return errors.Join(err, unknown)
		}
		if err := t.each("SELECT name FROM pragma_table_xinfo(?) WHERE pk > 0 ORDER BY pk", func(r row) { one.Key = append(one.Key, r.text(0)) }, one.Name); err != nil {
			return err
		}
		if err := t.each(`SELECT DISTINCT "table" FROM pragma_foreign_key_list(?)`, func(r row) { one.RefersTo = append(one.RefersTo, r.text(0)) }, one.Name); err != nil {
			return err
		}
		if one.Remembers {
			one.Number = one.Key[0]
		}
	}
	var err error
	a.tables, err = tables.Sort(list)
	return err
}

// Tables implements tables.Access.
func (a *access) Tables() []tables.Table { return a.tables }

func (a *access) explain(err error) error { return explain(a.conn.path, err) }

// Rows implements tables.Access.
func (a *access) Rows(ctx context.Context, t *tables.Table, columns []tables.Column, f func([]tables.Value) error) error {
	kinds := make([]tables.Kind, len(columns))
	for i, c := range columns {
		kinds[i] = c.Kind
	}
	return a.Select(ctx, tables.SelectAll(t, columns), nil, kinds, f)
}

// Select implements tables.Access.
func (a *access) Select(ctx context.Context, sql string, args []any, kinds []tables.Kind, f func([]tables.Value) error) error {
	s, err := tx{ctx, a.conn}.bind(sql, args)
	if err != nil {
		return a.explain(err)
	}
	defer s.Reset()
	row := make([]tables.Value, len(kinds))
	for {
		more, err := s.Step(ctx)
		if err != nil || !more {
			return a.explain(err)
		}
		for i, kind := range kinds {
			switch {
			case s.Kind(i) == lib.SQLITE_NULL:
				row[i] = tables.Value{Null: true}
			case kind == tables.Int:
				row[i] = tables.Value{Int: s.Int(i)}
			case kind == tables.Text:
				row[i] = tables.Value{Bytes: s.Text(i)}
			default:
				row[i] = tables.Value{Bytes: s.Blob(i)}
			}
		}
		if err := f(row); err != nil {
			return err
		}
	}
}

// Insert implements tables.Access.
func (a *access) Insert(ctx context.Context, t *tables.Table, columns []tables.Column, rows [][]tables.Value) error {
	sql := "INSERT INTO " + tables.Quote(t.Name) + " (" + tables.Names(columns) + ") VALUES (" + strings.TrimSuffix(strings.Repeat("?, ", len(columns)), ", ") + ")"
	s, err := a.conn.statement(ctx, sql)
	if err != nil {
		return a.explain(err)
	}
	for _, row := range rows {
		for i := range row {
			if err := bindColumn(s, i+1, columns[i].Kind, &row[i]); err != nil {
				s.Reset()
				return a.explain(err)
			}
		}
		err := drain(ctx, s)
		s.Reset()
		if err != nil {
			return a.explain(fmt.Errorf("a row of table %s: %w", t.Name, err))
		}
	}
	return nil
}

func bindColumn(s *sqlite.Stmt, i int, kind tables.Kind, v *tables.Value) error {
	switch {
	case v.Null:
		return s.BindNull(i)
	case kind == tables.Int:
		return s.BindInt(i, v.Int)
	case kind == tables.Text:
		return s.BindText(i, string(v.Bytes))
	}
	return s.BindBlob(i, v.Bytes)
}

// Exec implements tables.Access.
func (a *access) Exec(ctx context.Context, sql string, args ...any) (int64, error) {
	n, err := tx{ctx, a.conn}.exec(sql, args...)
	return n, a.explain(err)
}

// Lock implements tables.Access.
func (a *access) Lock(ctx context.Context, _ []tables.Table) error {
	return a.explain(a.conn.db.Exec(ctx, "BEGIN IMMEDIATE"))
}

// Commit implements tables.Access.
func (a *access) Commit(ctx context.Context) error { return a.explain(a.conn.db.Exec(ctx, "COMMIT")) }

// Do implements tables.Access.
func (a *access) Do(ctx context.Context, f func() error) (err error) {
	if err := a.Lock(ctx, nil); err != nil {
		return err
	}
	defer func() {
		if err != nil && a.conn.db.InTransaction() {
			err = errors.Join(err, a.conn.db.Exec(context.WithoutCancel(ctx), "ROLLBACK"))
		}
	}()
	if err := f(); err != nil {
		return err
	}
	return a.Commit(ctx)
}

// Next implements tables.Access.
func (a *access) Next(ctx context.Context, t *tables.Table) (next int64, err error) {
	_, err = tx{ctx, a.conn}.one("SELECT seq FROM sqlite_sequence WHERE name = ?", func(r row) { next = r.int(0) }, t.Name)
	return next + 1, a.explain(err)
}

// SetNext implements tables.Access.
func (a *access) SetNext(ctx context.Context, t *tables.Table, next int64) error {
	one := tx{ctx, a.conn}
	changed, err := one.exec("UPDATE sqlite_sequence SET seq = ? WHERE name = ?", next-1, t.Name)
	if err == nil && changed == 0 {
		_, err = one.exec("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", t.Name, next-1)
	}
	return a.explain(err)
}

// Size implements tables.Access.
func (a *access) Size(context.Context) (int64, error) {
	info, err := os.Stat(a.conn.path)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Close implements tables.Access. What Lock began and nobody committed is undone.
func (a *access) Close() error { return a.conn.close() }
