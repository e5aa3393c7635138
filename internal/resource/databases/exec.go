package databases

import (
	"context"

	"ql/internal/engine"
	"ql/lang/bytecode"
	"ql/lang/value"
)

// runAlone runs a call outside any transaction: it is committed when it succeeds and
// rolled back when it fails, even where it fails while its rows are read.
func (c *conn) runAlone(ctx context.Context, call *call) (v value.Value, err error) {
	s, err := c.prepare(ctx, call)
	if err != nil {
		return value.Null, err
	}
	if call.rows != nil && !s.ReadOnly() {
		return value.Null, value.Errorf(sqlDenied, "SET FILE takes the rows of a statement that changes nothing, and this one does: take them with SET ?rows, and WRITE them")
	}
	if !s.ReadOnly() {
		if err := charge(call.meter, commitFuel); err != nil {
			return value.Null, err
		}
	}
	if call.receipt != nil && !(call.mayRead && s.ReadOnly()) {
		return c.runWithReceipt(ctx, s, call)
	}
	// Without rows SQLite itself commits or rolls back a statement, and without shared
	// storage nothing else has to be looked at.
	if s.ReadOnly() || s.Columns() == 0 && c.usage == nil {
		if !s.ReadOnly() {
			// It waits for the disk at its end. Where it computes before, it takes
			// its turn.
			engine.Yield(ctx)
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
	engine.Yield(ctx)
	if err := c.commit(ctx); err != nil {
		return value.Null, err
	}
	return v, nil
}

// recoverLimit makes an error of a limit of the script: they end a call as they end everything else of it.
func recoverLimit(v *value.Value, err *error) {
	if r := recover(); r != nil {
		limit, ok := r.(*value.LimitError)
		if !ok {
			panic(r)
		}
		*v, *err = value.Null, limit
	}
}

// run runs a prepared statement and returns what its call asks for. It has one return: with many, Go
// would keep a list of what is deferred.
func (c *conn) run(ctx context.Context, s *statement, call *call) (v value.Value, err error) {
	defer recoverLimit(&v, &err)
	c.openBudget(call.meter, s.windows)
	c.running = s
	c.db.SetLastInsertID(noRowInserted)
	if m := call.meter; m != nil {
		m.Begin()
	}
	defer func() {
		if broken := c.ended(s, call.meter); broken != nil {
			v, err = value.Null, broken
		}
	}()
	v, err = c.execute(ctx, s, call)
	return v, err
}

// ended takes down what run has set up, and has the script pay for what is not paid yet.
func (c *conn) ended(s *statement, m *value.Meter) error {
	if m != nil {
		m.End()
	}
	broken := charge(m, price(s.DrainWork()))
	s.Reset()
	c.running = nil
	// They are the script's, and a limit may have ended it before their number was known.
	clear(c.keys[:cap(c.keys)])
	clear(c.cells)
	c.closeBudget()
	return broken
}

// execute is run between what is set up for it and what is taken down.
func (c *conn) execute(ctx context.Context, s *statement, call *call) (v value.Value, err error) {
	if call.text != nil {
		call.meter.Alloc(resultBytes)
	}
	if !s.ReadOnly() {
		if err := c.setMaxPages(ctx, call.removes); err != nil {
			return value.Null, err
		}
	}
	if s.defines {
		if err := charge(call.meter, defineFuel); err != nil {
			return value.Null, err
		}
		c.schemaChanged = true
		c.pool.schemaChanges.Add(1)
	}
	c.authorizer.reset(s.alters)
	if err := call.bind(s.Stmt); err != nil {
		return value.Null, c.explain(err)
	}
	r := reader{ctx: ctx, conn: c, stmt: s, meter: call.meter}
	switch {
	case call.rows != nil:
		return value.Null, r.each(call.rows)
	case s.Columns() == 0 && call.text == nil:
		return r.changes(call.mode != bytecode.SQLEmit)
	case s.Columns() == 0:
		call.text.result.Changes, call.text.result.LastID, err = r.countChanges()
		return value.Null, err
	case call.text != nil:
		return value.Null, r.fill(call.text)
	}
	switch call.mode {
	case bytecode.SQLValue:
		v, err = r.value()
	case bytecode.SQLRow:
		v, err = r.row()
	default:
		v, err = r.rows()
	}
	if err != nil {
		return value.Null, err
	}
	return v, nil
}
