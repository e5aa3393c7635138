package relational

import (
	"context"
	"fmt"
	"time"

	"ql/internal/job"
)

// Tx is a session in the hands of one read or write.
type Tx struct {
	ctx  context.Context
	conn *Session
}

// tx is short, since every statement has one.
type tx = Tx

// NewTx returns a session for one read or write.
func NewTx(ctx context.Context, s *Session) Tx { return Tx{ctx, s} }

// exec runs a statement and returns how many rows it changed.
func (t tx) exec(sql string, args ...any) (int64, error) { return t.conn.Conn.Exec(t.ctx, sql, args) }

// execLast is exec for a statement that is to change a row, and may be queued until the change ends.
func (t tx) execLast(sql string, args ...any) (changed int64, queued bool, err error) {
	return t.conn.Conn.ExecLast(t.ctx, sql, args)
}

// insert runs a statement that inserts one row, and returns the number that it got in
// the column key.
func (t tx) insert(key, sql string, args ...any) (int64, error) {
	return t.conn.Conn.Insert(t.ctx, sql, key, args)
}

// each calls f with every row that a statement gives. A row is valid during
// the call.
func (t tx) each(sql string, f func(row), args ...any) error {
	return t.conn.Conn.Query(t.ctx, sql, args, func(r Row) bool {
		f(row{r, t.conn.IDs})
		return true
	})
}

// one calls f with the first row that a statement gives, and reports whether
// there is one.
func (t tx) one(sql string, f func(row), args ...any) (found bool, err error) {
	err = t.conn.Conn.Query(t.ctx, sql, args, func(r Row) bool {
		found = true
		if f != nil {
			f(row{r, t.conn.IDs})
		}
		return false
	})
	return found, err
}

// has reports whether a statement gives a row.
func (t tx) has(sql string, args ...any) (bool, error) { return t.one(sql, nil, args...) }

// number returns the integer that a statement gives.
func (t tx) number(sql string, args ...any) (n int64, err error) {
	_, err = t.one(sql, func(r row) { n = r.int(0) }, args...)
	return n, err
}

// snapshot has all that f reads be as it is at one moment.
func (t tx) snapshot(f func() error) error { return t.conn.Conn.Snapshot(t.ctx, f) }

// row is the current row of a statement.
type row struct {
	s   Row
	ids *IDs
}

// id returns the id of a job from its place.
func (r row) id(i int) job.ID { return r.ids.id(r.s.Blob(i)) }

func (r row) int(i int) int64   { return r.s.Int(i) }
func (r row) bool(i int) bool   { return r.s.Int(i) != 0 }
func (r row) text(i int) string { return string(r.s.Text(i)) }
func (r row) null(i int) bool   { return r.s.Null(i) }

// bytes returns a copy; nil for null alone.
func (r row) bytes(i int) []byte {
	if r.null(i) {
		return nil
	}
	return append([]byte{}, r.s.Blob(i)...)
}

// time returns the zero time for null.
func (r row) time(i int) time.Time {
	if r.null(i) {
		return time.Time{}
	}
	return time.UnixMicro(r.s.Int(i)).UTC()
}

// Value is a parameter: an integer, a text, bytes, or null.
type Value struct {
	Kind ValueKind
	Int  int64
	Text string
	Blob []byte
}

// ValueKind says which field of a Value counts.
type ValueKind uint8

// The kinds of values.
const (
	NullValue ValueKind = iota
	IntValue
	TextValue
	BlobValue
)

// valuesOf collects values.
type valuesOf []Value

func (v *valuesOf) int(n int64)   { *v = append(*v, Value{Kind: IntValue, Int: n}) }
func (v *valuesOf) text(s string) { *v = append(*v, Value{Kind: TextValue, Text: s}) }
func (v *valuesOf) blob(b []byte) { *v = append(*v, Value{Kind: BlobValue, Blob: b}) }

// optionalInt is null for 0.
func (v *valuesOf) optionalInt(n int64) {
	if n == 0 {
		*v = append(*v, Value{})
		return
	}
	v.int(n)
}

// optionalText is null for an empty text.
func (v *valuesOf) optionalText(s string) {
	if s == "" {
		*v = append(*v, Value{})
		return
	}
	v.text(s)
}

// optionalBlob is null for nil.
func (v *valuesOf) optionalBlob(b []byte) {
	if b == nil {
		*v = append(*v, Value{})
		return
	}
	v.blob(b)
}

// time is null for the zero time.
func (v *valuesOf) time(t time.Time) {
	if t.IsZero() {
		*v = append(*v, Value{})
		return
	}
	v.int(t.UnixMicro())
}

// add adds parameters of a statement: nil bytes and the zero time are null.
func (v *valuesOf) add(args []any) {
	for i, arg := range args {
		switch arg := arg.(type) {
		case nil:
			*v = append(*v, Value{})
		case int64:
			v.int(arg)
		case int:
			v.int(int64(arg))
		case bool:
			v.bool(arg)
		case string:
			v.text(arg)
		case []byte:
			v.optionalBlob(arg)
		case time.Time:
			v.time(arg)
		default:
			panic(fmt.Sprintf("parameter %d of type %T", i+1, arg))
		}
	}
}

func (v *valuesOf) bool(b bool) {
	n := int64(0)
	if b {
		n = 1
	}
	v.int(n)
}
