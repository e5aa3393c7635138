package databases

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"ql/internal/engine"
	"ql/internal/sqlite"
	"ql/lang/bytecode"
	"ql/lang/value"
)

// call is a statement as SQLite takes it, with a value for each ? in it.
type call struct {
	sql string // "" until it is needed, where there is a source
	// source has the same SQL whatever its parameters are; nil where a list of
	// values is written out.
	source  *bytecode.Statement
	args    []value.Value
	mode    bytecode.SQLMode
	meter   *value.Meter
	mayRead bool // it is worth trying on a connection that only reads
	removes bool // it frees storage
	literal bool // it has no variables, and so no parameters
	// text is of what else the statement is a part; nil where it stands alone.
	text    *textCall
	receipt *engine.Receipt
	rows    engine.RowSink // takes the rows; nil where they are the result
}

// calls are used again.
var calls = sync.Pool{New: func() any { return new(call) }}

// free takes a call that nobody uses any more.
func (c *call) free() {
	*c = call{}
	calls.Put(c)
}

// newCall returns the call of a query, to be freed after it.
func newCall(q *engine.Query) (*call, error) {
	s := q.Statement
	if len(s.Texts) != len(q.Params)+1 || len(s.Params) != len(q.Params) {
		return nil, fmt.Errorf("databases: %d parameters for %d places", len(q.Params), len(s.Texts)-1)
	}
	c := calls.Get().(*call)
	*c = call{mode: s.Mode, meter: q.Meter, receipt: q.Receipt, rows: q.Rows}
	switch strings.ToUpper(s.Head) {
	case "SELECT", "WITH", "VALUES", "EXPLAIN":
		c.mayRead = true
	case "DELETE", "DROP":
		c.removes = true
	}
	for i, p := range s.Params {
		if p == bytecode.SQLAmong && q.Params[i].IsList() {
			return nil, value.Errorf(value.WrongKind, "a list stands alone in the parentheses of IN, as in IN (?list): put the other values into it first, as in SET ?list AS ?list + [3]")
		}
	}
	if slices.ContainsFunc(s.Params, writtenOut) {
		if err := c.write(s, q.Params); err != nil {
			return nil, err
		}
	} else {
		c.source, c.args = s, q.Params
	}
	if len(c.args) > maxParams {
		return nil, value.Exceeded("sql_params", maxParams, "one SQL statement takes at most %d values, and this one has %d", maxParams, len(c.args))
	}
	return c, nil
}

// writtenOut reports whether the SQL is another with another value of a parameter.
func writtenOut(p bytecode.SQLParam) bool {
	return p == bytecode.SQLMembers || p == bytecode.SQLChoice
}

// write writes the SQL, and collects the values of its places.
func (c *call) write(s *bytecode.Statement, params []value.Value) error {
	var sql strings.Builder
	c.args = nil
	for i := range s.Texts {
		text := s.Text(i)
		switch {
		case i == 0:
		case s.Params[i-1] == bytecode.SQLChoice:
			name, err := chosen(s.Choices(i-1), params[i-1])
			if err != nil {
				return err
			}
			sql.WriteString(" " + name + " ") // whatever it touches
		default:
			if err := c.add(&sql, params[i-1], s.Params[i-1]); err != nil {
				return err
			}
			if text != "" && text[0] >= '0' && text[0] <= '9' {
				sql.WriteByte(' ') // ?1 would be another parameter
			}
		}
		sql.WriteString(text)
	}
	if sql.Len() > MaxSQL {
		return value.Exceeded("sql_bytes", MaxSQL, "this SQL statement is longer than %d bytes, the limit", MaxSQL)
	}
	c.sql = sql.String()
	return nil
}

// chosen returns which of the choices a value is, as the script's author has written it. Case does
// not count, as it does not in SQL.
func chosen(choices []string, v value.Value) (string, error) {
	if v.Kind() == value.KindText {
		for _, choice := range choices {
			if strings.EqualFold(unquoted(choice), v.Str()) {
				return choice, nil
			}
		}
	}
	listed := make([]string, len(choices))
	for i, choice := range choices {
		listed[i] = unquoted(choice)
	}
	return "", value.Errorf("bad_choice", "this SQL takes one of %s here, not %s", strings.Join(listed, ", "), value.Describe(v))
}

// unquoted writes a name, with those before its dots, without quotes.
func unquoted(written string) string {
	var b strings.Builder
	for i := 0; i < len(written); {
		switch c := written[i]; c {
		case '"', '`':
			name, n := quotedName(written[i:], c)
			b.WriteString(name)
			i += n
		case '[':
			n := lengthTo(written[i:], "]")
			b.WriteString(strings.TrimSuffix(written[i+1:i+n], "]"))
			i += n
		default:
			b.WriteByte(c)
			i++
		}
	}
	return b.String()
}

// add writes the place of one parameter. After IN it stands for the members of
// a list, in parentheses that are ours: a statement's texts hold none there.
func (c *call) add(sql *strings.Builder, v value.Value, as bytecode.SQLParam) error {
	if as != bytecode.SQLMembers {
		sql.WriteByte('?')
		c.args = append(c.args, v)
		return nil
	}
	var members []value.Value
	switch {
	case v.IsList():
		list := v.List()
		if list.Len() > maxParams {
			return value.Exceeded("sql_params", maxParams, "IN takes at most %d values, and this list has %d", maxParams, list.Len())
		}
		for i := range list.Len() {
			members = append(members, list.At(i))
		}
	case !v.IsNull():
		return value.Errorf(value.WrongKind, "IN takes a list here, not %s: = compares with one value", value.Describe(v))
	}
	// In SQLite IN () is true for no value, null neither, and NOT IN () for
	// every one.
	sql.WriteByte('(')
	for i := range members {
		if i > 0 {
			sql.WriteByte(',')
		}
		sql.WriteByte('?')
	}
	sql.WriteByte(')')
	c.args = append(c.args, members...)
	return nil
}

// bind gives a statement its values: booleans as 1 and 0, decimals as text, lists
// and maps as JSON text, the others as they are.
func (c *call) bind(s *sqlite.Stmt) error {
	total := 0
	for i, v := range c.args {
		var err error
		switch v.Kind() {
		case value.KindNull:
			err = s.BindNull(i + 1)
		case value.KindBool:
			var n int64
			if v.IsTrue() {
				n = 1
			}
			err = s.BindInt(i+1, n)
		case value.KindInt:
			err = s.BindInt(i+1, v.Int64())
		case value.KindFloat:
			err = s.BindFloat(i+1, v.Float64())
		default:
			size := c.size(v)
			if size > MaxValue {
				return value.Exceeded("sql_value", MaxValue, "a value in a database has at most %d bytes, and this one has %d", MaxValue, size)
			}
			if total += size; total > maxArgBytes {
				return value.Exceeded("sql_values", maxArgBytes, "the values of one SQL statement have at most %d bytes together", maxArgBytes)
			}
			if err := charge(c.meter, int64(size)/lookedBytes); err != nil {
				return err
			}
			err = bindLong(s, i+1, v, size)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// size returns how many bytes a text, bytes, decimal, list or map has in a database.
func (c *call) size(v value.Value) int {
	if v.IsContainer() || v.IsDecimal() {
		return value.TextSize(c.meter, v)
	}
	return len(v.Str())
}

func bindLong(s *sqlite.Stmt, i int, v value.Value, size int) error {
	switch v.Kind() {
	case value.KindText:
		return s.BindText(i, v.Str())
	case value.KindBytes:
		return s.BindBlob(i, v.Raw())
	}
	return s.BindText(i, string(value.AppendText(make([]byte, 0, size), v)))
}
