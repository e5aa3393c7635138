package engine

import (
	"fmt"
	"io"
	"strings"

	"ql/lang/value"
)

// importEffect adds rows to a table: the maps of a list, or those of a file.
func importEffect(c *call) (value.Value, error) {
	if len(c.args) > 2 {
		return importFile(c)
	}
	rows := c.args[1]
	switch {
	case rows.IsNull():
		rows = value.ListOf()
	case !rows.IsList():
		return value.Null, value.Errorf(value.WrongKind, "IMPORT takes a list of maps, not %s", value.Describe(rows))
	}
	return c.importRows(&listRows{meter: c.meter, list: rows.List()})
}

// importRows has the current database take rows.
func (c *call) importRows(rows RowSource) (value.Value, error) {
	table, err := c.text(0, "the table that IMPORT takes")
	if err != nil {
		return value.Null, err
	}
	im := Import{Table: table, Rows: rows, Meter: c.meter, Savepoint: c.effect.Savepoint}
	switch {
	case c.o.Databases == nil:
		return value.Null, missing("databases")
	case c.tx != nil: // the machine sees to it that the database is the same
		return c.tx.Import(c.ctx, im)
	}
	im.Receipt = c.receipt(c.database())
	return c.o.Databases.Import(c.ctx, c.database(), im)
}

// imported is what an import gives.
func imported(m *value.Meter, rows, skipped int64) value.Value {
	r := value.NewMap(m, 2)
	r.SetText("rows", value.Int(rows))
	r.SetText("skipped", value.Int(skipped))
	return r.Value()
}

// listRows are the maps of a list.
type listRows struct {
	meter *value.Meter
	list  *value.List
	at    int // how many were returned
	names []string
	cells []value.Value
}

const (
	// rowWork is the fuel that a row costs on its way into a table, beside what the database
	// does with it, and cellWork what each of its cells does.
	rowWork  = 20
	cellWork = 4
)

// Columns implements RowSource.
func (r *listRows) Columns() ([]Column, error) {
	kinds := columnKinds{meter: r.meter}
	for i := range r.list.Len() {
		row := r.list.At(i)
		if !row.IsMap() {
			return nil, notAMap(i, row)
		}
		kinds.add(row.Map())
	}
	return kinds.columns(), nil
}

func notAMap(i int, row value.Value) error {
	return value.Errorf(value.WrongKind, "IMPORT takes a list of maps: at index %d is %s", i, value.Describe(row))
}

// Next implements RowSource.
func (r *listRows) Next() ([]string, []value.Value, error) {
	if r.at == r.list.Len() {
		return nil, nil, io.EOF
	}
	row := r.list.At(r.at)
	r.at++
	if !row.IsMap() {
		return nil, nil, notAMap(r.at-1, row)
	}
	r.meter.Work(rowWork + cellWork*row.Map().Len())
	r.names, r.cells = r.names[:0], r.cells[:0]
	for k, v := range row.Map().All {
		r.names, r.cells = append(r.names, k.Str()), append(r.cells, v)
	}
	return r.names, r.cells, nil
}

// Place implements RowSource.
func (r *listRows) Place() string { return fmt.Sprintf("index %d", r.at-1) }

// Result implements RowSource.
func (r *listRows) Result(rows int64) value.Value { return imported(r.meter, rows, 0) }

// columnKinds finds out of which kinds the values of columns are.
type columnKinds struct {
	meter *value.Meter
	clone bool // rows are gone when the next one comes
	list  []Column
	kinds []kindSet
	index map[string]int
}

// kindSet are the kinds that a column has values of.
type kindSet uint8

const (
	kindInt kindSet = 1 << iota
	kindFloat
	kindBool
	kindText // and what becomes JSON
	kindBytes
)

// add takes a row.
func (c *columnKinds) add(row *value.Map) {
	c.meter.Work(rowWork + cellWork*row.Len())
	for k, v := range row.All {
		i, known := c.index[k.Str()]
		if !known {
			const columnBytes = 128
			c.meter.Alloc(columnBytes)
			if c.index == nil {
				c.index = map[string]int{}
			}
			i = len(c.list)
			name := k.Str()
			if c.clone {
				c.meter.Alloc(len(name))
				name = strings.Clone(name)
			}
			c.index[name] = i
			c.list, c.kinds = append(c.list, Column{Name: name}), append(c.kinds, 0)
		}
		c.kinds[i] |= kindOf(v)
	}
}

func kindOf(v value.Value) kindSet {
	switch v.Kind() {
	case value.KindNull:
		return 0
	case value.KindInt:
		return kindInt
	case value.KindFloat:
		return kindFloat
	case value.KindBool:
		return kindBool
	case value.KindBytes:
		return kindBytes
	}
	return kindText
}

// columns returns the columns with the types that fit all values of each. A column without a
// type takes any value as it is.
func (c *columnKinds) columns() []Column {
	for i, kinds := range c.kinds {
		c.list[i].Type = map[kindSet]string{
			kindInt: "INTEGER", kindFloat: "REAL", kindInt | kindFloat: "REAL", kindBool: "BOOLEAN", kindText: "TEXT", kindBytes: "BLOB",
		}[kinds]
	}
	return c.list
}
