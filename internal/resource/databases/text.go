package databases

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"ql/internal/engine"
	"ql/lang/value"
)

// Text is SQL that the owner of the databases sends past scripts: any number of
// statements, each allowed and held to what a script's would be.
type Text struct {
	SQL     string
	Params  []value.Value // one for each ?, in their order over all statements
	Write   bool          // it may change something; otherwise one that would is refused
	MaxRows int           // that each result has at most
	Meter   *value.Meter  // whose Measure is set
	// Accept is shown each result before the next statement runs, and its error ends the text; nil
	// for all that fit the meter.
	Accept func(*Result) error
}

// Result is what one statement of a text gives: rows, or what it has changed.
type Result struct {
	Columns []string    // nil for a statement without rows
	Rows    value.Value // a list with a list of values for each row
	More    bool        // there are rows that were not asked for
	Changes int64
	LastID  value.Value
}

// textCall is a call that is the first statement of what is left of a text.
type textCall struct {
	rest    string        // behind the statement
	params  []value.Value // for it and for what is behind it
	maxRows int
	result  Result
}

// RunText runs a text. One that writes is one transaction: all of it is kept, or nothing, nor the
// database where it was to be made.
// One that reads sees the database as it is at one moment, and it must be there. Results that
// came before an error are not returned.
func (d *Databases) RunText(ctx context.Context, name string, t Text) (list []Result, err error) {
	if len(t.SQL) > MaxSQL {
		return nil, value.Exceeded("sql_bytes", MaxSQL, "the SQL is longer than %d bytes, the limit", MaxSQL)
	}
	run := func(ctx context.Context, c *conn) (err error) {
		list, err = c.runText(ctx, t)
		return err
	}
	if !t.Write {
		return list, d.viewLong(ctx, name, run)
	}
	if name, err = canonicalName(name); err != nil {
		return nil, err
	}
	change := func(d *Databases) error {
		return d.change(ctx, name, func(c *conn) error {
			if err := run(ctx, c); err != nil {
				return err
			}
			if !c.db.InTransaction() {
				return value.Errorf("transaction_ended", "a statement rolled all of it back")
			}
			return charge(t.Meter, commitFuel)
		})
	}
	there, err := d.has(ctx, name)
	if err != nil {
		return nil, err
	}
	if there {
		err = change(d)
	} else {
		err = d.createStaged(ctx, name, change)
	}
	return list, err
}

// viewLong is view for what may read for long: where changes wait for it, it is ended.
func (d *Databases) viewLong(ctx context.Context, name string, f func(context.Context, *conn) error) error {
	name, err := d.existing(ctx, name)
	if err != nil {
		return err
	}
	return d.view(ctx, name, func(c *conn) error {
		read := c.pool.beginRead(ctx)
		defer c.pool.endRead(read)
		return f(read, c)
	})
}

func (c *conn) runText(ctx context.Context, t Text) (list []Result, err error) {
	at := &textCall{rest: t.SQL, params: t.Params, maxRows: t.MaxRows}
	var held int64 // by the results so far
	t.Meter.Measure = func() int64 { return held }
	for {
		// A statement is prepared when those before it have run: it may be about what they made.
		call := &call{sql: at.rest, text: at, meter: t.Meter, mayRead: true}
		s, err := c.prepare(ctx, call)
		if errors.Is(err, errNoStatement) && len(list) > 0 {
			break
		}
		if err == nil && !t.Write && !s.ReadOnly() {
			err = value.Errorf(sqlDenied, `this changes the database: send "write": true with it`)
		}
		if err == nil {
			call.removes = removes(call.sql)
			at.result = Result{}
			_, err = c.run(ctx, s, call)
		}
		if err == nil && t.Accept != nil {
			err = t.Accept(&at.result)
		}
		if err != nil {
			return nil, inStatement(len(list)+1, err)
		}
		list = append(list, at.result)
		held += at.result.size()
	}
	if n := len(at.params); n > 0 {
		return nil, value.Errorf(sqlError, "there are %d values more than there are ? in the SQL", n)
	}
	return list, nil
}

const (
	// resultBytes is about what a result takes beside its rows and the names of its columns.
	resultBytes = 256
	// nameBytes is what a name takes beside its letters.
	nameBytes = 16
)

// size returns how much a result holds.
func (r *Result) size() int64 {
	n := resultBytes + value.SizeOf(r.Rows)
	for _, name := range r.Columns {
		n += nameBytes + int64(len(name))
	}
	return n
}

func removes(sql string) bool { return slices.Contains([]string{"delete", "drop"}, firstName(sql)) }

// errNoStatement is the end of a text.
var errNoStatement error = value.Errorf(sqlError, "there is no SQL statement here")

// inStatement says in which statement of a text an error is.
func inStatement(number int, err error) error {
	var known *value.Error
	if !errors.As(err, &known) {
		return err
	}
	return &value.Error{Code: known.Code, Message: fmt.Sprintf("statement %d: %s", number, known.Message), Data: known.Data, Limit: known.Limit}
}

// cutOff leaves in a call the one statement that was prepared, with its values, and the others in
// its text.
func (c *call) cutOff(rest string, params int) error {
	c.sql, c.text.rest = c.sql[:len(c.sql)-len(rest)], rest
	if len(c.text.params) < params {
		return value.Errorf(sqlError, "there are %d ? in this statement, and params has %d values left for them", params, len(c.text.params))
	}
	c.args, c.text.params = c.text.params[:params], c.text.params[params:]
	return nil
}

// fill reads the rows that a call of a text asks for.
func (r *reader) fill(t *textCall) error {
	list := value.NewList(r.meter, 0)
	for {
		ok, err := r.next()
		if err != nil {
			return err
		}
		if t.result.Columns == nil {
			t.result.Columns = r.columnNames()
		}
		if !ok {
			break
		}
		if list.Len() == t.maxRows {
			t.result.More = true
			if err := r.finish(); err != nil {
				return err
			}
			break
		}
		row := value.NewList(r.meter, len(t.result.Columns))
		for i := range t.result.Columns {
			v, err := r.column(i)
			if err != nil {
				return err
			}
			row.Append(r.meter, v)
		}
		list.Append(r.meter, row.Value())
	}
	t.result.Rows = list.Value()
	return nil
}

// columnNames copies the names of the columns, each charged for: a table may have a hundred thousand
// bytes of them, and a text may ask for it thousands of times. The statement does not keep them, as
// one of a text is used once.
func (r *reader) columnNames() []string {
	names := make([]string, r.stmt.Columns())
	for i := range names {
		name := r.stmt.ColumnName(i)
		r.meter.Alloc(nameBytes + len(name))
		names[i] = name
	}
	return names
}

// Remove removes a database. Where jobs under way have receipts in it, its file and those stay, and
// all else is removed: a job would do again what it has done. It reports whether the file is gone.
func (d *Databases) Remove(ctx context.Context, name string) (gone bool, err error) {
	if name, err = d.existing(ctx, name); err != nil {
		return false, err
	}
	db, err := d.acquire(name)
	if err != nil {
		return false, err
	}
	defer d.release(db)
	kept := false
	if gone, err = db.removeUnless(ctx, func() (bool, error) {
		kept, err = db.hasAttempts(ctx)
		if isUnreadable(err) {
			return false, nil // no job can go on with it either
		}
		return kept, err
	}); err != nil || !kept {
		return gone, err
	}
	engine.Yield(ctx)
	return false, d.Empty(ctx, name)
}

// hasAttempts is that of a connection, on one of its own.
func (db *database) hasAttempts(ctx context.Context) (bool, error) {
	c, err := db.connect(ctx, true)
	if err != nil {
		return false, err
	}
	kept, err := c.hasAttempts(ctx)
	return kept, errors.Join(err, c.close())
}

// hasAttempts reports whether a job has something recorded of itself.
func (c *conn) hasAttempts(ctx context.Context) (bool, error) {
	there, err := c.hasReceipts(ctx)
	if err != nil || !there {
		return false, err
	}
	n, err := c.queryInt(ctx, "SELECT EXISTS(SELECT 1 FROM _ql_marks) OR EXISTS(SELECT 1 FROM _ql_receipts)")
	return n != 0, err
}
