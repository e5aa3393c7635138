package databases

import (
	"context"
	"strings"

	"ql/internal/sqlite"
)

// Snapshot is a database as it is at one moment, read for no script, such as by an
// export.
type Snapshot struct{ conn *conn }

// Snapshot runs do with a database that is there, as it is at the moment. Its context ends where
// changes have waited for it too long.
func (d *Databases) Snapshot(ctx context.Context, name string, do func(context.Context, *Snapshot) error) error {
	return d.viewLong(ctx, name, func(ctx context.Context, c *conn) error { return do(ctx, &Snapshot{c}) })
}

// view runs f on a connection that only reads, at one moment of a database that
// is there.
func (d *Databases) view(ctx context.Context, name string, f func(*conn) error) error {
	name, err := d.existing(ctx, name)
	if err != nil {
		return err
	}
	db, err := d.acquire(name)
	if err != nil {
		return err
	}
	defer d.release(db)
	c, err := db.acquireReader(ctx)
	if err != nil {
		return err
	}
	// The transaction ends here.
	defer db.releaseReader(c, false)
	if err := c.execTrusted(ctx, "BEGIN"); err != nil {
		return err
	}
	return f(c)
}

// Object is a part of a database's schema.
type Object struct {
	Kind string // table, index, trigger or view
	Name string
	SQL  string // "" for the index of a constraint
	// FullText says that it is a full-text table, and External that another table has its texts.
	FullText, External bool
}

// Objects returns all of the schema that is the owner's, in the order in which it
// was made.
func (s *Snapshot) Objects(ctx context.Context) ([]Object, error) { return s.conn.objects(ctx) }

func (c *conn) objects(ctx context.Context) (list []Object, err error) {
	virtual, err := c.virtualTables(ctx)
	if err != nil {
		return nil, err
	}
	shadow := shadows(virtual)
	err = c.execInternal(ctx, "SELECT type, name, sql, tbl_name FROM sqlite_schema ORDER BY rowid", func(s *sqlite.Stmt) {
		o := Object{Kind: string(s.Text(0)), Name: string(s.Text(1)), SQL: string(s.Text(2))}
		if isHidden(string(s.Text(3))) || strings.HasPrefix(o.Name, "sqlite_") || o.Kind == "table" && shadow[strings.ToLower(o.Name)] {
			return
		}
		if o.FullText = o.Kind == "table" && strings.HasPrefix(o.SQL, virtualPrefix); o.FullText {
			_, o.External = fullTextContent(o.SQL)
		}
		list = append(list, o)
	})
	return list, err
}

// HasTable reports whether there is a table, which may be one of the library's own.
func (s *Snapshot) HasTable(ctx context.Context, name string) (found bool, err error) {
	err = s.conn.execInternal(ctx, "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = CAST(? AS TEXT)", func(*sqlite.Stmt) { found = true }, []byte(name))
	return found, err
}

// Rows are the rows of a statement. They are closed before the next statement of
// the snapshot.
type Rows struct {
	*sqlite.Stmt
	conn  *conn
	close func()
}

// Table returns the rows of a table, and the names of their columns: those that rows
// are written with, behind some more.
func (s *Snapshot) Table(ctx context.Context, table string, more ...string) (columns []string, rows *Rows, err error) {
	if columns, err = s.conn.columns(ctx, table); err != nil {
		return nil, nil, err
	}
	columns = append(more, columns...)
	quoted := make([]string, len(columns))
	for i, name := range columns {
		quoted[i] = QuoteIdentifier(name)
	}
	stmt, err := s.conn.prepare(ctx, &call{sql: "SELECT " + strings.Join(quoted, ",") + " FROM " + QuoteIdentifier(table)})
	if err != nil {
		return nil, nil, err
	}
	return columns, &Rows{Stmt: stmt.Stmt, conn: s.conn, close: func() {}}, nil
}

// Select returns the rows of a statement that may do what a script's may: a view may
// say anything.
func (s *Snapshot) Select(ctx context.Context, sql string) (*Rows, error) {
	stmt, err := s.conn.prepare(ctx, &call{sql: sql})
	if err != nil {
		return nil, err
	}
	s.conn.openBudget(nil, stmt.windows)
	return &Rows{Stmt: stmt.Stmt, conn: s.conn, close: s.conn.closeBudget}, nil
}

// Next goes to the next row, and reports whether there is one.
func (r *Rows) Next(ctx context.Context) (bool, error) {
	more, err := r.Step(ctx)
	return more, r.conn.explain(err)
}

// Err returns what was wrong with the values that were read of the row.
func (r *Rows) Err() error { return r.conn.explain(r.Stmt.Err()) }

// Close ends the statement.
func (r *Rows) Close() {
	r.Reset()
	r.close()
}

// columns returns the columns of a table that rows are written with.
func (c *conn) columns(ctx context.Context, table string) (names []string, err error) {
	c.authorizer.reset(false)
	c.authorizer.trusted = true
	defer func() { c.authorizer.trusted = false }()
	s, _, err := c.db.Prepare(ctx, "PRAGMA table_xinfo("+QuoteIdentifier(table)+")")
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
			names = append(names, string(s.Text(1)))
		}
	}
}

// QuoteIdentifier writes a name in SQL, whatever is in it.
func QuoteIdentifier(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
