package postgres

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"ql/internal/store/relational"
)

const (
	// mostRows is how many rows are inserted at once.
	mostRows = 128
	// copiedRows is from how many rows on they are copied where they may be: for fewer that takes longer.
	copiedRows = 8
)

// RowsAtOnce implements relational.Conn.
func (c *conn) RowsAtOnce(rows int) int { return min(rows, mostRows) }

// ExecRows implements relational.Conn. Each column is one parameter, an array: to take a parameter for each value costs the
// server more than to take the rows from arrays, and any number of rows is the same statement. To take copied ones costs it
// less still; but then none may be there already.
func (c *conn) ExecRows(ctx context.Context, in *relational.Inserts, values []relational.Value) (int64, error) {
	one, err := c.prepare(ctx, in.Parameters(1), func(i int) uint32 { return typeOfValue(&values[i]) }, in.Width())
	if err != nil {
		return 0, expected(err)
	}
	if c.copies && len(values) >= copiedRows*in.Width() {
		return c.copyRows(ctx, in.Into(), values, one.ParamOIDs)
	}
	all, err := c.prepare(ctx, in.Arrays(), func(i int) uint32 { return arrayOf[one.ParamOIDs[i]] }, in.Width())
	if err != nil {
		return 0, expected(err)
	}
	p, err := arrays(values, one.ParamOIDs)
	if err != nil {
		return 0, err
	}
	r, err := c.execute(ctx, queued{all, p})
	if err != nil {
		return 0, expected(err)
	}
	return c.finish(r)
}

// QueryRows implements relational.RowsConn.
func (c *conn) QueryRows(ctx context.Context, sql string, values []relational.Value, columns int, f func(relational.Row) bool) error {
	s, err := c.prepare(ctx, sql, func(int) uint32 { return 0 }, columns)
	if err != nil {
		return expected(err)
	}
	types := make([]uint32, columns)
	for i, oid := range s.ParamOIDs {
		types[i] = elementOf[oid]
	}
	p, err := arrays(values, types)
	if err != nil {
		return err
	}
	r, err := c.execute(ctx, queued{s, p})
	if err != nil {
		return expected(err)
	}
	return c.readRows(r, f)
}

func typeOfValue(v *relational.Value) uint32 {
	switch v.Kind {
	case relational.IntValue:
		return int8OID
	case relational.BlobValue:
		return byteaOID
	}
	return 0
}

// arrayOf are the types of arrays by those of their elements.
var arrayOf = map[uint32]uint32{byteaOID: 1001, int8OID: 1016, textOID: 1009}

// elementOf is the other way round.
var elementOf = func() map[uint32]uint32 {
	of := map[uint32]uint32{}
	for element, array := range arrayOf {
		of[array] = element
	}
	return of
}()

// arrays are the columns of rows, whose elements are of these types.
func arrays(values []relational.Value, types []uint32) (*params, error) {
	const head, length = 20, 4 // bytes of an array, and of an element
	width := len(types)
	rows := len(values) / width
	size := width*(head+rows*length) + bytesOf(values)
	p := &params{values: make([][]byte, width), formats: make([]int16, width)}
	all := make([]byte, 0, size)
	for column, oid := range types {
		begin := len(all)
		hasNull := uint32(0)
		for i := column; i < len(values); i += width {
			if values[i].Kind == relational.NullValue {
				hasNull = 1
			}
		}
		for _, n := range [...]uint32{1, hasNull, oid, uint32(rows), 1} { // one dimension, from 1
			all = binary.BigEndian.AppendUint32(all, n)
		}
		for i := column; i < len(values); i += width {
			var err error
			if all, err = appendElement(all, &values[i], oid); err != nil {
				return nil, fmt.Errorf("column %d: %w", column+1, err)
			}
		}
		p.values[column], p.formats[column] = all[begin:len(all):len(all)], 1
	}
	return p, nil
}

// copyRows copies rows into the columns of a table, which have these types.
func (c *conn) copyRows(ctx context.Context, into string, values []relational.Value, types []uint32) (int64, error) {
	rows, err := copied(values, types)
	if err != nil {
		return 0, err
	}
	begin := ""
	if len(c.queue) == 1 && c.pg.TxStatus() == 'I' { // the transaction begins with it
		begin = c.queue[0].SQL + "; "
		c.queue = c.queue[:0]
	} else if err := c.flush(ctx); err != nil {
		return 0, err
	}
	tag, err := c.pg.CopyFrom(ctx, bytes.NewReader(rows), begin+"COPY "+into+" FROM STDIN (FORMAT binary)")
	if err != nil {
		return 0, expected(err)
	}
	c.written += tag.RowsAffected()
	return tag.RowsAffected(), nil
}

// copied are rows in the binary format of COPY.
func copied(values []relational.Value, types []uint32) ([]byte, error) {
	const head, end, count, length = 19, 2, 2, 4 // bytes of the whole, of a row, and of a value
	size := head + end + len(values)/len(types)*count + len(values)*length + bytesOf(values)
	all := append(make([]byte, 0, size), "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"...)
	for i := range values {
		column := i % len(types)
		if column == 0 {
			all = binary.BigEndian.AppendUint16(all, uint16(len(types)))
		}
		var err error
		if all, err = appendElement(all, &values[i], types[column]); err != nil {
			return nil, fmt.Errorf("column %d: %w", column+1, err)
		}
	}
	return binary.BigEndian.AppendUint16(all, ^uint16(0)), nil
}

// bytesOf is how many bytes values have, about.
func bytesOf(values []relational.Value) (size int) {
	for i := range values {
		switch v := &values[i]; v.Kind {
		case relational.IntValue:
			size += 8
		case relational.TextValue:
			size += len(v.Text)
		case relational.BlobValue:
			size += len(v.Blob)
		}
	}
	return size
}

// appendElement appends an element of an array, or a value of a row: its length, and its bytes.
func appendElement(to []byte, v *relational.Value, oid uint32) ([]byte, error) {
	switch v.Kind {
	case relational.NullValue:
		return binary.BigEndian.AppendUint32(to, ^uint32(0)), nil
	case relational.IntValue:
		if oid != int8OID {
			return nil, fmt.Errorf("a number for type %d", oid)
		}
		return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(to, 8), uint64(v.Int)), nil
	case relational.TextValue:
		text := storable(oid, v.Text)
		return append(binary.BigEndian.AppendUint32(to, uint32(len(text))), text...), nil
	}
	return append(binary.BigEndian.AppendUint32(to, uint32(len(v.Blob))), v.Blob...), nil
}
