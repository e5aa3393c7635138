package databases

import (
	"context"
	"errors"
	"fmt"

	"ql/internal/sqlite"
	"ql/lang/value"

	lib "modernc.org/sqlite/lib"
)

const (
	pageSize = 4096
	// maxCachedStatements is how many prepared statements a connection caches.
	maxCachedStatements = 32
)

// conn is a connection with its authorizer and its prepared statements.
type conn struct {
	db         *sqlite.Conn
	name       string
	path       string
	options    Options
	pool       *database
	authorizer *authorizer
	budget     *budget // of the statement under way
	running    *statement
	keys       []value.Value // reused: the columns' names of the statement under way
	cells      []value.Value // reused: those of its current row
	usage      *usage        // nil without shared storage
	bounds     Bounds        // as the transaction under way found them
	// maxPages is the bound that was set last, 0 for the first one.
	maxPages int64
	// statements caches those prepared, the last used last.
	statements []*statement
	// internalStmts caches prepared statements of our own, by their SQL.
	internalStmts map[string]*sqlite.Stmt
	receiptTables bool // known to be there
	views         views
	// schemaSeen is how often the schema had been changed when the cached statements
	// were prepared; schemaChanged says that this connection has changed it.
	schemaSeen    int64
	schemaChanged bool
	kept          kept // of a connection that reads
}

func (c *conn) close() error {
	for _, s := range c.statements {
		s.Close()
	}
	for _, s := range c.internalStmts {
		s.Close()
	}
	return c.db.Close()
}

// execTrusted runs a statement of our own, which the authorizer does not bind.
func (c *conn) execTrusted(ctx context.Context, sql string) error {
	c.authorizer.reset(false)
	c.authorizer.trusted = true
	defer func() { c.authorizer.trusted = false }()
	return c.explain(c.db.Exec(ctx, sql))
}

// rollback ends what a call may have left open and reports whether the
// connection can be used again. Otherwise it is closed.
func (c *conn) rollback() bool {
	_ = c.dropKept(context.Background()) // where that fails, so does this
	if c.db.InTransaction() && c.execTrusted(context.Background(), "ROLLBACK") != nil {
		_ = c.close() // it is given up either way
		return false
	}
	return true
}

// openBudget starts the use of memory by a statement of a script with this meter:
// by what it collects, which comes out of the script's memory, and by the library,
// which may hold as much beside it and a little more.
func (c *conn) openBudget(m *value.Meter, windows bool) {
	c.budget.begin(m, windows)
	c.db.LimitMemory(c.budget.memory() + libraryMemory)
}

// closeBudget is the other end of openBudget.
func (c *conn) closeBudget() {
	c.db.LimitMemory(0)
	c.budget.end()
}

// execInternal runs a statement of our own to its end and caches it; row sees each
// row. Its arguments are int64 and []byte.
func (c *conn) execInternal(ctx context.Context, sql string, row func(*sqlite.Stmt), args ...any) error {
	c.authorizer.reset(false)
	c.authorizer.trusted = true
	defer func() { c.authorizer.trusted = false }()
	s := c.internalStmts[sql]
	if s == nil {
		var err error
		if s, _, err = c.db.Prepare(ctx, sql); err != nil {
			return c.internal(err)
		}
		if c.internalStmts == nil {
			c.internalStmts = map[string]*sqlite.Stmt{}
		}
		c.internalStmts[sql] = s
	}
	defer s.Reset()
	for i, arg := range args {
		var err error
		switch arg := arg.(type) {
		case int64:
			err = s.BindInt(i+1, arg)
		case []byte:
			err = s.BindBlob(i+1, arg)
		}
		if err != nil {
			return c.internal(err)
		}
	}
	for {
		more, err := s.Step(ctx)
		if err != nil || !more {
			return c.internal(err)
		}
		row(s)
	}
}

// internal is explain for our own statements: what is wrong with them is none of
// the script's mistakes.
func (c *conn) internal(err error) error {
	var e *sqlite.Error
	if errors.As(err, &e) {
		switch e.Primary() {
		case lib.SQLITE_ERROR, lib.SQLITE_CONSTRAINT:
			return fmt.Errorf("database %s: the receipts: %w", c.name, err)
		}
	}
	return c.explain(err)
}

// queryInt returns the number that a statement of our own gives.
func (c *conn) queryInt(ctx context.Context, sql string) (n int64, err error) {
	c.authorizer.trusted = true
	defer func() { c.authorizer.trusted = false }()
	s, _, err := c.db.Prepare(ctx, sql)
	if err != nil {
		return 0, c.explain(err)
	}
	defer s.Close()
	if _, err := s.Step(ctx); err != nil {
		return 0, c.explain(err)
	}
	return s.Int(0), nil
}
