package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ql/internal/sqlite"
	"ql/internal/store/relational"

	lib "modernc.org/sqlite/lib"
)

// temporaryBytes is what the temporary files of one connection may hold
// together, such as those that sort a new index.
const temporaryBytes = 4 << 30

var switches = map[int]bool{
	lib.SQLITE_DBCONFIG_DEFENSIVE:             true,
	lib.SQLITE_DBCONFIG_TRUSTED_SCHEMA:        false,
	lib.SQLITE_DBCONFIG_DQS_DML:               false,
	lib.SQLITE_DBCONFIG_DQS_DDL:               false,
	lib.SQLITE_DBCONFIG_ENABLE_FKEY:           true,
	lib.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION: false,
	// Plans do not depend on what is bound: else a statement beside a partial
	// index is prepared again each time.
	lib.SQLITE_DBCONFIG_ENABLE_QPSG: true,
}

// settings are those of every connection. The busy handler stands before
// them: even the change to WAL may have to wait for another process.
var settings = []string{
	"journal_mode=WAL",
	"synchronous=FULL", // what was answered survives a power cut
	"foreign_keys=ON",
	"wal_autocheckpoint=4000",
	"journal_size_limit=67108864",
	"cell_size_check=ON",
	"mmap_size=0", // a damaged disk gives an error, not a signal
	"cache_size=-8000",
	"temp_store=MEMORY", // where savepoints keep what they may have to restore
}

// conn is a connection with its prepared statements. All statements are texts
// of this package, so their number is bounded.
type conn struct {
	db         *sqlite.Conn
	path       string // of the store's file
	session    relational.Session
	statements map[string]prepared
	preparing  kinds // what the statement changes that is being prepared

	// changes is what statements change that were prepared or used since it was last emptied.
	changes changed
	// knowsFiles says that it was told whose files are changed.
	knowsFiles bool
}

// prepared is a statement, and what it changes.
type prepared struct {
	*sqlite.Stmt
	kinds
}

// kinds are what a statement may change that is remembered elsewhere.
type kinds struct {
	accounts bool // accounts, or what says who may do what with them
	files    bool // files, or which release of a site is the current one
}

// watch lets all be done and sees what it changes, also by a trigger or when rows go with others.
func (k *kinds) watch(a sqlite.Action) bool {
	switch a.Code {
	case lib.SQLITE_INSERT, lib.SQLITE_UPDATE, lib.SQLITE_DELETE:
		switch a.Arg1 {
		case "accounts", "aliases", "named_keys", "domains", "site_domains", "published_scripts":
			k.accounts = true
		case "files", "file_chunks", "site_releases":
			k.files = true
		}
	}
	return true
}

func connect(ctx context.Context, path string, busy time.Duration, writer bool) (*conn, error) {
	c := &conn{path: path, statements: map[string]prepared{}}
	config := sqlite.Config{Create: writer, Switches: switches, Busy: busy, Temporary: temporaryBytes}
	if writer {
		config.Authorize = c.preparing.watch
	}
	db, err := sqlite.Open(path, config)
	if err != nil {
		return nil, explain(path, err)
	}
	c.db, c.session.Conn = db, c
	all := append(settings[:len(settings):len(settings)], "query_only=ON")
	if writer {
		// Of a new file only: removed rows give their room back, see Vacuum.
		all = append([]string{"auto_vacuum=INCREMENTAL"}, settings...)
	}
	for _, setting := range all {
		if err := db.Exec(ctx, "PRAGMA "+setting); err != nil {
			return nil, errors.Join(explain(path, err), c.close())
		}
	}
	return c, nil
}

func (c *conn) close() error {
	for _, s := range c.statements {
		s.Close()
	}
	return c.db.Close()
}

// statement returns the prepared form of sql.
func (c *conn) statement(ctx context.Context, sql string) (*sqlite.Stmt, error) {
	if s, found := c.statements[sql]; found {
		c.note(s.kinds)
		return s.Stmt, nil
	}
	c.preparing = kinds{}
	s, rest, err := c.db.Prepare(ctx, sql)
	does := c.preparing
	c.note(does)
	if err != nil {
		return nil, fmt.Errorf("prepare %q: %w", sql, err)
	}
	if s == nil || rest != "" {
		return nil, fmt.Errorf("prepare %q: not one statement", sql)
	}
	c.statements[sql] = prepared{s, does}
	return s, nil
}

// note notes what a statement changes.
func (c *conn) note(does kinds) {
	c.changes.accounts = c.changes.accounts || does.accounts
	c.changes.sites = c.changes.sites || does.files && !c.knowsFiles
}

// hasTable tells whether a store has a table: one that was opened by the steps of
// an earlier version has fewer.
func (c *conn) hasTable(ctx context.Context, name string) (bool, error) {
	s, _, err := c.db.Prepare(ctx, "SELECT 1 FROM sqlite_schema WHERE name = ?") // once: it need not stay prepared
	if err != nil {
		return false, err
	}
	defer s.Close()
	if err := s.BindText(1, name); err != nil {
		return false, err
	}
	return s.Step(ctx)
}

// script runs several statements, none of which has parameters.
func (c *conn) script(ctx context.Context, sql string) error {
	for sql != "" {
		s, rest, err := c.db.Prepare(ctx, sql)
		if err != nil {
			return err
		}
		if s != nil {
			err = drain(ctx, s)
			s.Close()
			if err != nil {
				return err
			}
		}
		sql = rest
	}
	return nil
}

func drain(ctx context.Context, s *sqlite.Stmt) error {
	for {
		more, err := s.Step(ctx)
		if err != nil || !more {
			return err
		}
	}
}

// number returns the integer that a statement without parameters gives.
func (c *conn) number(ctx context.Context, sql string) (n int64, err error) {
	_, err = tx{ctx, c}.one(sql, func(r row) { n = r.int(0) })
	return n, err
}

// tx is a connection in the hands of one read or write.
type tx struct {
	ctx  context.Context
	conn *conn
}

// exec runs a statement and returns how many rows it changed.
func (t tx) exec(sql string, args ...any) (int64, error) {
	s, err := t.bind(sql, args)
	if err != nil {
		return 0, err
	}
	defer s.Reset()
	if err := drain(t.ctx, s); err != nil {
		return 0, err
	}
	return t.conn.db.Changes(), nil
}

// each calls f with every row that a statement gives. A row is valid during
// the call.
func (t tx) each(sql string, f func(row), args ...any) error {
	s, err := t.bind(sql, args)
	if err != nil {
		return err
	}
	defer s.Reset()
	for {
		more, err := s.Step(t.ctx)
		if err != nil || !more {
			return err
		}
		f(row{s})
	}
}

// one calls f with the first row that a statement gives, and reports whether
// there is one.
func (t tx) one(sql string, f func(row), args ...any) (bool, error) {
	s, err := t.bind(sql, args)
	if err != nil {
		return false, err
	}
	defer s.Reset()
	found, err := s.Step(t.ctx)
	if found && f != nil {
		f(row{s})
	}
	return found, err
}

// has reports whether a statement gives a row.
func (t tx) has(sql string, args ...any) (bool, error) { return t.one(sql, nil, args...) }

func (t tx) bind(sql string, args []any) (*sqlite.Stmt, error) {
	s, err := t.conn.statement(t.ctx, sql)
	if err != nil {
		return nil, err
	}
	for i, arg := range args {
		if err := bind(s, i+1, arg); err != nil {
			s.Reset()
			return nil, err
		}
	}
	return s, nil
}

// bind sets a parameter. Nil bytes and the zero time are null.
func bind(s *sqlite.Stmt, i int, arg any) error {
	switch v := arg.(type) {
	case nil:
		return s.BindNull(i)
	case int64:
		return s.BindInt(i, v)
	case int:
		return s.BindInt(i, int64(v))
	case bool:
		if v {
			return s.BindInt(i, 1)
		}
		return s.BindInt(i, 0)
	case string:
		return s.BindText(i, v)
	case []byte:
		if v == nil {
			return s.BindNull(i)
		}
		return s.BindBlob(i, v)
	case time.Time:
		if v.IsZero() {
			return s.BindNull(i)
		}
		return s.BindInt(i, v.UnixMicro())
	}
	return fmt.Errorf("a parameter of type %T", arg)
}

// row is the current row of a statement.
type row struct{ s *sqlite.Stmt }

func (r row) int(i int) int64   { return r.s.Int(i) }
func (r row) text(i int) string { return string(r.s.Text(i)) }

// bytes returns a copy; nil for null alone.
func (r row) bytes(i int) []byte {
	if r.null(i) {
		return nil
	}
	return append([]byte{}, r.s.Blob(i)...)
}

func (r row) null(i int) bool { return r.s.Kind(i) == lib.SQLITE_NULL }

// relational returns the connection for what the store keeps.
func (t tx) relational() relational.Tx { return relational.NewTx(t.ctx, &t.conn.session) }

// Exec implements relational.Conn.
func (c *conn) Exec(ctx context.Context, sql string, args []any) (int64, error) {
	n, err := tx{ctx, c}.exec(sql, args...)
	return n, expected(err)
}

// ExecLast implements relational.Conn: there is no way to save.
func (c *conn) ExecLast(ctx context.Context, sql string, args []any) (changed int64, queued bool, err error) {
	changed, err = c.Exec(ctx, sql, args)
	return changed, false, err
}

// Insert implements relational.Conn. The key is the number of the row.
func (c *conn) Insert(ctx context.Context, sql, _ string, args []any) (int64, error) {
	if _, err := (tx{ctx, c}).exec(sql, args...); err != nil {
		return 0, expected(err)
	}
	return c.db.LastInsertID(), nil
}

// RowsAtOnce implements relational.Conn.
func (c *conn) RowsAtOnce(rows int) int { return relational.ParameterRows(rows) }

// ExecRows implements relational.Conn.
func (c *conn) ExecRows(ctx context.Context, in *relational.Inserts, values []relational.Value) (int64, error) {
	s, err := c.statement(ctx, in.Parameters(len(values)/in.Width()))
	if err != nil {
		return 0, err
	}
	defer s.Reset()
	if room := bytesOf(values); room <= mostRoom {
		if err := s.MakeRoom(room); err != nil {
			return 0, err
		}
	}
	for i := range values {
		if err := bindValue(s, i+1, &values[i]); err != nil {
			return 0, err
		}
	}
	if err := drain(ctx, s); err != nil {
		return 0, expected(err)
	}
	return c.db.Changes(), nil
}

// mostRoom is how many bytes of values are held in one block: of larger ones each has its own.
const mostRoom = 64 << 10

// bytesOf is how many bytes the texts and blobs of values have.
func bytesOf(values []relational.Value) (n int) {
	for i := range values {
		n += len(values[i].Text) + len(values[i].Blob)
	}
	return n
}

func bindValue(s *sqlite.Stmt, i int, v *relational.Value) error {
	switch v.Kind {
	case relational.IntValue:
		return s.BindInt(i, v.Int)
	case relational.TextValue:
		return s.BindText(i, v.Text)
	case relational.BlobValue:
		return s.BindBlob(i, v.Blob)
	}
	return s.BindNull(i)
}

// stored is a row as the store's tables see it.
type stored struct{ *sqlite.Stmt }

// Null implements relational.Row.
func (r stored) Null(i int) bool { return r.Kind(i) == lib.SQLITE_NULL }

// Query implements relational.Conn.
func (c *conn) Query(ctx context.Context, sql string, args []any, f func(relational.Row) bool) error {
	s, err := tx{ctx, c}.bind(sql, args)
	if err != nil {
		return err
	}
	defer s.Reset()
	for {
		more, err := s.Step(ctx)
		if err != nil || !more {
			return expected(err)
		}
		if !f(stored{s}) {
			return nil
		}
	}
}

// Snapshot implements relational.Conn.
func (c *conn) Snapshot(ctx context.Context, f func() error) (err error) {
	// Not by the context, nor the end by it: the library looks at that behind the last step of a statement too, and one that
	// has begun a transaction would say that it has not. The connection is used again.
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, err := (tx{context.Background(), c}).exec("BEGIN"); err != nil {
		return err
	}
	defer func() {
		if _, end := (tx{context.Background(), c}).exec("ROLLBACK"); end != nil {
			err = errors.Join(err, end)
		}
	}()
	return f()
}
