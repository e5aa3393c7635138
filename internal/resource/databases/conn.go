package databases

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"ql/internal/engine"
	"ql/internal/sqlite"
	"ql/lang/bytecode"
	"ql/lang/value"

	lib "modernc.org/sqlite/lib"
)

const (
	pageSize = 4096
	// keptStatements is how many prepared statements a connection keeps.
	keptStatements = 32
)

var switches = map[int]bool{
	lib.SQLITE_DBCONFIG_DEFENSIVE:             true,
	lib.SQLITE_DBCONFIG_TRUSTED_SCHEMA:        false,
	lib.SQLITE_DBCONFIG_DQS_DML:               false,
	lib.SQLITE_DBCONFIG_DQS_DDL:               false,
	lib.SQLITE_DBCONFIG_ENABLE_FKEY:           true,
	lib.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION: false,
	lib.SQLITE_DBCONFIG_ENABLE_ATTACH_CREATE:  false,
	lib.SQLITE_DBCONFIG_ENABLE_ATTACH_WRITE:   false,
}

// pragmas are the settings of every connection, in the order in which they
// are made.
func pragmas(maxBytes int64) []string {
	return []string{
		fmt.Sprintf("page_size=%d", pageSize),
		"journal_mode=WAL",
		"synchronous=FULL",
		fmt.Sprintf("max_page_count=%d", min(max(maxBytes/pageSize, 1), math.MaxInt32)),
		"journal_size_limit=1048576",
		"cache_size=-4000",
		"cell_size_check=ON",
		"mmap_size=0",
		"temp_store=FILE", // in memory, one ORDER BY takes hundreds of megabytes
	}
}

// conn is a connection with its policy and its prepared statements.
type conn struct {
	db      *sqlite.Conn
	name    string
	path    string
	options Options
	policy  *policy
	budget  *budget // of the statement under way
	tally   *tally  // nil without a room
	bounds  Bounds  // as the transaction under way found them
	// maxPages is the bound that was set last, 0 for the first one.
	maxPages int64
	// statements holds those prepared, the last used last.
	statements []*statement
	// ours holds prepared statements of our own, by their SQL.
	ours     map[string]*sqlite.Stmt
	receipts bool // their table is known to be there
	views    views
	of       *database
	// defined grows with each change of the definitions, known is as the kept
	// statements know it, and changed says that this connection made one.
	defined *atomic.Int64
	known   int64
	changed bool
}

// statement is a prepared statement.
type statement struct {
	*sqlite.Stmt
	sql    string
	source *bytecode.Statement // that it was last made of
	alters bool                // a table's definition
	// defines says that it changes what other statements may come to.
	defines bool
	// windows says that it has groups whose values are asked for again and again.
	windows bool

	columns  []string // their names, as of the last preparation
	prepared int      // its number
}

// names returns the names of the columns of a statement that has made a step.
func (s *statement) names() []string {
	if n := s.Prepared(); s.columns == nil || n != s.prepared {
		s.columns, s.prepared = make([]string, s.Columns()), n
		for i := range s.columns {
			s.columns[i] = s.ColumnName(i)
		}
	}
	return s.columns
}

func connect(ctx context.Context, path string, of *database, writer bool) (*conn, error) {
	p, b, o, name := &policy{}, &budget{}, of.options, of.name
	var growLog func(int64) bool
	if of.tally != nil && writer {
		growLog = func(bytes int64) bool { return of.tally.growLog(name, bytes) }
	}
	db, err := sqlite.Open(path, sqlite.Config{
		Create:        writer,
		Authorize:     p.allow,
		Functions:     functions(b),
		DropModules:   true,
		Limits:        limits,
		Switches:      switches,
		Progress:      b.progress,
		Busy:          o.Busy,
		Temporary:     o.Temporary,
		GrowTemporary: of.scratch.grow,
		GrowLog:       growLog,
	})
	if err != nil {
		return nil, unavailable(fmt.Errorf("database %s: %w", name, err))
	}
	c := &conn{db: db, name: name, path: path, options: o, policy: p, budget: b, tally: of.tally, of: of, defined: &of.defined}
	settings := pragmas(o.MaxBytes)
	switch {
	case !writer:
		settings = append(settings, "query_only=ON")
	case isEmpty(path):
		// Free pages can be given back. It must come before the first page.
		settings = append([]string{"auto_vacuum=INCREMENTAL"}, settings...)
	}
	for _, setting := range settings {
		if err := c.trusted(ctx, "PRAGMA "+setting); err != nil {
			return nil, errors.Join(err, c.close())
		}
	}
	return c, nil
}

func (c *conn) close() error {
	for _, s := range c.statements {
		s.Close()
	}
	for _, s := range c.ours {
		s.Close()
	}
	return c.db.Close()
}

// trusted runs a statement of our own, which the policy does not bind.
func (c *conn) trusted(ctx context.Context, sql string) error {
	c.policy.reset(false)
	c.policy.trusted = true
	defer func() { c.policy.trusted = false }()
	return c.explain(c.db.Exec(ctx, sql))
}

// restore ends what a call may have left open and reports whether the
// connection can be used again. Otherwise it is closed.
func (c *conn) restore() bool {
	if c.db.InTransaction() && c.trusted(context.Background(), "ROLLBACK") != nil {
		_ = c.close() // it is given up either way
		return false
	}
	return true
}

// prepare returns the statement of a call, checked: one statement, with our
// parameters and no others, that the policy allows.
func (c *conn) prepare(ctx context.Context, call *call) (*statement, error) {
	s, err := c.statement(ctx, call)
	if err != nil {
		if broken := charge(call.meter, prepareFuel+textFuel*int64(len(call.sql))); broken != nil {
			err = broken
		}
		return nil, err
	}
	return s, charge(call.meter, prepareFuel+lengthFuel*int64(s.Length()))
}

// statement returns the statement of a call, as prepare does.
func (c *conn) statement(ctx context.Context, call *call) (*statement, error) {
	c.forgetOld()
	if s := c.kept(func(s *statement) bool { return call.source != nil && s.source == call.source }); s != nil {
		return s, nil
	}
	if call.source != nil && call.sql == "" {
		if err := call.write(call.source, call.args); err != nil {
			return nil, err
		}
	}
	if s := c.kept(func(s *statement) bool { return s.sql == call.sql }); s != nil {
		s.source = call.source
		return s, nil
	}
	if err := c.checkViews(ctx, call.sql); err != nil {
		return nil, err
	}
	if vacuums(call.sql) {
		return nil, value.Errorf(sqlDenied, attachReason)
	}
	// Views may grow to many times their text.
	c.openBudget(call.meter, false)
	defer c.closeBudget()
	c.policy.reset(false)
	stmt, rest, err := c.db.Prepare(ctx, call.sql)
	if err != nil {
		return nil, c.explain(err)
	}
	if stmt == nil {
		return nil, value.Errorf(sqlError, "there is no SQL statement here")
	}
	collects := c.policy.collects
	s := &statement{Stmt: stmt, sql: call.sql, source: call.source, alters: c.policy.altering, defines: isDefinition(call.sql)}
	if err := c.check(ctx, s, rest, call); err != nil {
		s.Close()
		return nil, err
	}
	if collects {
		if s.windows, err = c.hasWindows(ctx, s.sql); err != nil {
			s.Close()
			return nil, err
		}
	}
	if len(c.statements) == keptStatements {
		c.statements[0].Close()
		c.statements = append(c.statements[:0], c.statements[1:]...)
	}
	c.statements = append(c.statements, s)
	return s, nil
}

// openBudget starts the use of memory by a statement of a script with this meter:
// by what it collects, which comes out of the script's memory, and by the library,
// which may hold as much beside it and a little more.
func (c *conn) openBudget(m *value.Meter, windows bool) {
	c.budget.begin(m, windows)
	c.db.BoundMemory(c.budget.memory() + libraryMemory)
}

// closeBudget is the other end of openBudget.
func (c *conn) closeBudget() {
	c.db.BoundMemory(0)
	c.budget.end()
}

// forgetOld closes the kept statements where the definitions have changed: SQLite
// would prepare them again when they run, and ask nobody how large they become.
func (c *conn) forgetOld() {
	now := c.defined.Load()
	if now == c.known {
		return
	}
	c.known = now
	for _, s := range c.statements {
		s.Close()
	}
	c.statements = nil
}

// kept finds a prepared statement, the last used ones first.
func (c *conn) kept(is func(*statement) bool) *statement {
	for i := len(c.statements) - 1; i >= 0; i-- {
		if s := c.statements[i]; is(s) {
			copy(c.statements[i:], c.statements[i+1:])
			c.statements[len(c.statements)-1] = s
			return s
		}
	}
	return nil
}

func (c *conn) check(ctx context.Context, s *statement, rest string, call *call) error {
	if c.policy.defining && mentionsHidden(call.sql) {
		// The policy is not shown every name: a new one, a table that is referred
		// to, what a view or a trigger will use.
		return value.Errorf(sqlDenied, hiddenReason)
	}
	for rest != "" {
		second, after, err := c.db.Prepare(ctx, rest)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if second != nil {
			second.Close()
		}
		if err != nil || second != nil || len(after) == len(rest) {
			return value.Errorf(sqlError, "there is more than one SQL statement here: end each with ; and write it as a statement of its own")
		}
		rest = after
	}
	fits := "write ?name for the value of a variable"
	if call.literal {
		fits = "write the value itself, for there are no variables"
	}
	for i := 1; i <= s.Params(); i++ {
		if name := s.ParamName(i); name != "" {
			return value.Errorf(sqlError, "%s is no parameter here: %s", name, fits)
		}
	}
	if s.Params() != len(call.args) {
		return value.Errorf(sqlError, "a ? without a name is no parameter here: %s", fits)
	}
	return nil
}

// hasWindows reports whether a statement that can be prepared asks groups for
// their values before their end. SQLite shows it where it explains what it does,
// with what views and triggers bring.
func (c *conn) hasWindows(ctx context.Context, sql string) (bool, error) {
	s, _, err := c.db.Prepare(ctx, "EXPLAIN "+sql)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err != nil {
		return true, nil // it may be too long by that word, or explain another already
	}
	defer s.Close()
	for {
		row, err := s.Step(ctx)
		if err != nil || !row {
			return false, c.explain(err)
		}
		if op := string(s.Text(1)); op == "AggValue" || op == "AggInverse" {
			return true, nil
		}
	}
}

// runAlone runs a call outside any transaction: it is kept when it succeeds
// and undone when it fails, even where it fails while its rows are read.
func (c *conn) runAlone(ctx context.Context, call *call) (v value.Value, err error) {
	s, err := c.prepare(ctx, call)
	if err != nil {
		return value.Null, err
	}
	if !s.ReadOnly() {
		if err := charge(call.meter, commitFuel); err != nil {
			return value.Null, err
		}
	}
	if call.receipt != nil && !(call.mayRead && s.ReadOnly()) {
		return c.runWithReceipt(ctx, s, call)
	}
	// Without rows SQLite itself keeps or undoes a statement, and without a room
	// nothing else has to be looked at.
	if s.ReadOnly() || s.Columns() == 0 && c.tally == nil {
		if !s.ReadOnly() {
			// It waits for the disk at its end. Where it computes before, it takes
			// its turn.
			engine.Rest(ctx)
		}
		return c.run(ctx, s, call)
	}
	if err := c.begin(ctx); err != nil {
		return value.Null, err
	}
	// What is not committed is rolled back when the connection is given back.
	v, err = c.run(ctx, s, call)
	if err != nil {
		return value.Null, err
	}
	engine.Rest(ctx)
	if err := c.commit(ctx); err != nil {
		return value.Null, err
	}
	return v, nil
}
