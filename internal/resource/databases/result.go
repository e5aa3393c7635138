package databases

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"ql/internal/engine"
	"ql/lang/value"

	lib "modernc.org/sqlite/lib"
)

// reader makes values of a statement's rows.
type reader struct {
	ctx   context.Context
	conn  *conn
	stmt  *statement
	meter *value.Meter
	keys  []value.Value // the columns' names, shared by all rows
	cells []value.Value // of the current row
}

// next goes to the next row.
func (r *reader) next() (bool, error) {
	ok, err := r.stmt.Step(r.ctx)
	return ok, r.conn.explain(err)
}

// changes runs a statement without rows. Nothing is made of what it changed where the script does not take it.
func (r *reader) changes(taken bool) (value.Value, error) {
	changed, id, err := r.countChanges()
	if err != nil || !taken {
		return value.Null, err
	}
	m := value.NewMap(r.meter, 2)
	m.Set(r.meter, text(r.meter, "changes"), value.Int(changed))
	m.Set(r.meter, text(r.meter, "last_id"), id)
	return m.Value(), nil
}

// countChanges runs a statement without rows, and counts those that it changed.
func (r *reader) countChanges() (changed int64, id value.Value, err error) {
	db := r.conn.db
	before := db.TotalChanges()
	if _, err := r.next(); err != nil {
		return 0, value.Null, err
	}
	// SQLite keeps both numbers until the next INSERT, UPDATE or DELETE; they
	// belong to this statement only where it was one.
	id = value.Null
	if db.TotalChanges() != before {
		changed = db.Changes()
	}
	if last := db.LastInsertID(); last != noRowInserted && r.stmt.inserts {
		id = value.Int(last)
	}
	return changed, id, nil
}

// value returns the first column of the first row.
func (r *reader) value() (value.Value, error) {
	ok, err := r.next()
	if err != nil || !ok {
		return value.Null, err
	}
	v, err := r.column(0)
	if err != nil {
		return value.Null, err
	}
	return v, r.finish()
}

// row returns the first row.
func (r *reader) row() (value.Value, error) {
	ok, err := r.next()
	if err != nil || !ok {
		return value.Null, err
	}
	v, err := r.current()
	if err != nil {
		return value.Null, err
	}
	return v, r.finish()
}

// finish runs a statement that writes to its end, though its other rows are
// not wanted.
func (r *reader) finish() error {
	if r.stmt.ReadOnly() {
		return nil
	}
	for {
		ok, err := r.next()
		if err != nil || !ok {
			return err
		}
	}
}

// rows returns all rows.
func (r *reader) rows() (value.Value, error) {
	list := value.NewList(r.meter, 0)
	var tally value.Tally
	for {
		ok, err := r.next()
		if err != nil {
			return value.Null, err
		}
		if !ok {
			tally.Complete(r.meter, list)
			return list.Value(), nil
		}
		if list.Len() == maxRows {
			return value.Null, value.Exceeded("sql_rows", maxRows, "this SQL statement gives more than %d rows: add LIMIT, or let SQL count and sum them", maxRows)
		}
		row, err := r.current()
		if err != nil {
			return value.Null, err
		}
		if list.Len() == 0 {
			for _, key := range r.keys {
				tally.Add(key)
			}
		}
		tally.Add(row)
		for _, cell := range r.cells {
			tally.Add(cell)
		}
		list.Append(r.meter, row)
	}
}

// name reads the columns' names. A cached statement learns that its tables have
// changed when it makes its first step, so they are not known before.
func (r *reader) name() error {
	names := r.stmt.names()
	if err := r.checkNames(names); err != nil {
		return err
	}
	r.keys = r.conn.keys[:0]
	for _, name := range names {
		// Of the script alone, never shared with others: what a result weighs is
		// the same when it comes from a job's journal.
		r.keys = append(r.keys, text(r.meter, name))
	}
	r.conn.keys = r.keys
	if cap(r.conn.cells) < len(r.keys) {
		r.conn.cells = make([]value.Value, len(r.keys))
	}
	r.cells = r.conn.cells[:len(r.keys)]
	return nil
}

// checkNames refuses columns of one name.
func (r *reader) checkNames(names []string) error {
	for i, name := range names {
		if first := slices.Index(names[:i], name); first >= 0 { // there are a hundred at most
			return r.duplicate(first, i)
		}
	}
	return nil
}

// each hands all rows on, one at a time.
func (r *reader) each(to engine.RowSink) error {
	var cells []value.Value
	for {
		ok, err := r.next()
		if err != nil {
			return err
		}
		if cells == nil {
			names := r.stmt.names()
			if len(names) == 0 {
				return value.Errorf(sqlError, "this SQL statement gives no rows that SET FILE could write")
			}
			if err := r.checkNames(names); err != nil {
				return err
			}
			if err := to.Columns(names); err != nil {
				return err
			}
			cells = make([]value.Value, len(names))
		}
		if !ok {
			return nil
		}
		before := r.meter.Allocated()
		for i := range cells {
			if cells[i], err = r.column(i); err != nil {
				return err
			}
		}
		held := r.meter.Allocated() - before
		if err := to.Row(cells); err != nil {
			return err
		}
		r.meter.ReleaseTo(r.meter.Allocated() - held) // the sink may have kept some
	}
}

// duplicate is the error of two columns of one name. It says which they are, and how the second
// could be called.
func (r *reader) duplicate(first, second int) error {
	name := r.stmt.ColumnName(second)
	table, column := r.stmt.ColumnOrigin(second)
	other, otherColumn := r.stmt.ColumnOrigin(first)
	describe := func(i int, table, column string) string {
		if table == "" {
			return strconv.Itoa(i + 1)
		}
		return fmt.Sprintf("%d (%s.%s)", i+1, table, column)
	}
	alias := "… AS " + plainOrQuoted(name+"_2")
	if table != "" && table != other {
		alias = plainOrQuoted(table) + "." + plainOrQuoted(column) + " AS " + plainOrQuoted(table+"_"+name)
	}
	return value.Errorf("duplicate_column", "the columns %s and %s of the result are both called %s: give one another name, as in %s",
		describe(first, other, otherColumn), describe(second, table, column), value.Quote(name), alias)
}

// plainOrQuoted writes a name in SQL as people do.
func plainOrQuoted(name string) string {
	for i := range len(name) {
		if !isWord(name[i]) || i == 0 && name[i] >= '0' && name[i] <= '9' {
			return QuoteIdentifier(name)
		}
	}
	return name
}

// current returns the current row as a map.
func (r *reader) current() (value.Value, error) {
	if r.keys == nil {
		if err := r.name(); err != nil {
			return value.Null, err
		}
	}
	for i := range r.cells {
		v, err := r.column(i)
		if err != nil {
			return value.Null, err
		}
		r.cells[i] = v
	}
	return value.NewRecord(r.meter, r.keys, r.cells).Value(), nil
}

// column returns the value in column i of the current row.
func (r *reader) column(i int) (value.Value, error) {
	switch cell := r.stmt.Cell(i); cell.Kind {
	case lib.SQLITE_INTEGER:
		return value.Int(cell.Int), nil
	case lib.SQLITE_FLOAT:
		v, ok := value.Number(cell.Float)
		if !ok {
			return value.Null, value.Errorf(value.NumberRange, "the column %s holds an infinite number, which no variable can hold", value.Quote(r.stmt.ColumnName(i)))
		}
		return v, nil
	case lib.SQLITE_TEXT:
		if err := r.stmt.Err(); err != nil {
			return value.Null, r.conn.explain(err)
		}
		if utf8.Valid(cell.Bytes) {
			return copied(r.meter, value.KindText, cell.Bytes), nil
		}
		return copied(r.meter, value.KindBytes, cell.Bytes), nil
	case lib.SQLITE_BLOB:
		if err := r.stmt.Err(); err != nil {
			return value.Null, r.conn.explain(err)
		}
		return copied(r.meter, value.KindBytes, cell.Bytes), nil
	}
	return value.Null, nil
}

// copied returns a text or bytes with a copy of content.
func copied(m *value.Meter, k value.Kind, content []byte) value.Value {
	b := value.NewBuilder(m, k, len(content))
	copy(b.Reserve(len(content)), content)
	return b.Value()
}

func text(m *value.Meter, s string) value.Value {
	b := value.NewBuilder(m, value.KindText, len(s))
	copy(b.Reserve(len(s)), s)
	return b.Value()
}
