package databases

import (
	"context"

	"ql/internal/sqlite"
	"ql/lang/bytecode"
	"ql/lang/value"
)

// statement is a prepared statement.
type statement struct {
	*sqlite.Stmt
	sql    string
	source *bytecode.Statement // that it was last made of
	alters bool                // a table's definition
	// defines says that it changes what other statements may come to.
	defines bool
	// inserts says that it inserts rows by itself, and not only by triggers or for an index.
	inserts bool
	// windows says that it has groups whose values are asked for again and again.
	windows bool

	columns  []string // their names, as of the last preparation
	prepared int      // its number
}

// names returns the names of the columns of a statement that has made a step.
func (s *statement) names() []string {
	if n := s.Reprepared(); s.columns == nil || n != s.prepared {
		s.columns, s.prepared = make([]string, s.Columns()), n
		for i := range s.columns {
			s.columns[i] = s.ColumnName(i)
		}
	}
	return s.columns
}

// prepare returns the statement of a call, checked: one statement, with our
// parameters and no others, that the authorizer allows.
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
	c.dropStaleStatements()
	if s := c.cached(func(s *statement) bool { return call.source != nil && s.source == call.source }); s != nil {
		return s, nil
	}
	if call.source != nil && call.sql == "" {
		if err := call.write(call.source, call.args); err != nil {
			return nil, err
		}
	}
	if s := c.cached(func(s *statement) bool { return s.sql == call.sql }); s != nil && call.text == nil {
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
	c.authorizer.reset(false)
	stmt, rest, err := c.db.Prepare(ctx, call.sql)
	if err != nil {
		return nil, c.explain(err)
	}
	if stmt == nil {
		return nil, errNoStatement
	}
	if call.text != nil {
		if err := call.cutOff(rest, stmt.Params()); err != nil {
			stmt.Close()
			return nil, err
		}
		rest = ""
	}
	collects := c.authorizer.collects
	s := &statement{Stmt: stmt, sql: call.sql, source: call.source, alters: c.authorizer.altering, inserts: c.authorizer.inserts, defines: isDefinition(call.sql)}
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
	if len(c.statements) == maxCachedStatements {
		c.statements[0].Close()
		c.statements = append(c.statements[:0], c.statements[1:]...)
	}
	c.statements = append(c.statements, s)
	return s, nil
}

// dropStaleStatements closes the cached statements where the schema has changed: SQLite
// would prepare them again when they run, and ask nobody how large they become.
func (c *conn) dropStaleStatements() {
	now := c.pool.schemaChanges.Load()
	if now == c.schemaSeen {
		return
	}
	c.schemaSeen = now
	for _, s := range c.statements {
		s.Close()
	}
	c.statements = nil
}

// cached finds a prepared statement, the last used ones first.
func (c *conn) cached(is func(*statement) bool) *statement {
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
	if c.authorizer.defining && mentionsHidden(call.sql) {
		// The authorizer is not shown every name: a new one, a table that is referred
		// to, what a view or a trigger will use.
		return value.Errorf(sqlDenied, hiddenReason)
	}
	if c.authorizer.virtual {
		if err := checkFullText(call.sql); err != nil {
			return err
		}
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
	switch {
	case call.text != nil:
		fits = "write ? alone for each of the values in params"
	case call.literal:
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
