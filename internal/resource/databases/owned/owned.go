// Package owned has an account's databases as its owner reaches them past scripts: in the words of
// requests and answers, and within the limits of a script. What SQL may do is the business of
// package databases, what files hold that of package transfer, and who may ask that of the service.
package owned

import (
	"context"
	"encoding/base64"
	"io"
	"strconv"

	"ql/internal/fault"
	"ql/internal/resource/databases"
	"ql/internal/resource/databases/transfer"
	"ql/internal/wire"
	"ql/lang/value"
)

// Databases are an account's databases.
type Databases struct {
	All *databases.Databases
	// Removed is told when the file of one is gone; may be left out.
	Removed func(context.Context) error
}

// List returns the databases behind a name, in the order of their names, up to limit.
func (d Databases) List(ctx context.Context, after string, limit int) ([]wire.DatabaseEntry, error) {
	found, err := d.All.ListPage(ctx, after, limit)
	list := make([]wire.DatabaseEntry, len(found))
	for i, one := range found {
		list[i] = wire.DatabaseEntry{Name: one.Name, Bytes: one.Bytes}
	}
	return list, err
}

// Schema returns tables and views of a database behind a name, by name, and whether there are more.
func (d Databases) Schema(ctx context.Context, name, after string, limit int) (list []wire.TableEntry, more bool, err error) {
	tables, more, err := d.All.Schema(ctx, name, databases.TablePage{After: after, Limit: limit})
	for i := range tables {
		list = append(list, tableEntry(&tables[i]))
	}
	return list, more, err
}

func tableEntry(t *databases.Table) wire.TableEntry {
	e := wire.TableEntry{Name: t.Name, Kind: t.Kind, SQL: t.SQL, Rows: t.Rows, RowsExact: t.Exact}
	for _, c := range t.Columns {
		e.Columns = append(e.Columns, wire.ColumnEntry(c))
	}
	for _, i := range t.Indexes {
		e.Indexes = append(e.Indexes, wire.IndexEntry(i))
	}
	return e
}

// Query runs SQL, under a meter, and returns a JSON list of results. Fits is asked about its size as
// far as it is known, after each statement, and room for it before it is written.
func (d Databases) Query(ctx context.Context, name string, q *wire.SQLQuery, m *value.Meter, fits, room func(bytes int) error) (wire.Raw, error) {
	params, err := parameters(m, q.Params)
	if err != nil {
		return nil, err
	}
	size := len("[]")
	results, err := d.All.RunText(ctx, name, databases.Text{
		SQL: q.SQL, Params: params, Write: q.Write, MaxRows: q.Limit, Meter: m,
		Accept: func(r *databases.Result) error {
			n, err := jsonSize(m, r)
			if err != nil {
				return err
			}
			size += n
			return fits(size)
		},
	})
	if err != nil {
		return nil, err
	}
	if err := room(size); err != nil {
		return nil, err
	}
	return encode(results, size), nil
}

// jsonSize returns how long a result is as JSON, at most.
func jsonSize(m *value.Meter, r *databases.Result) (size int, err error) {
	defer recoverLimit(&err)
	size = 64
	for _, c := range r.Columns {
		size += 3 + 6*len(c)
	}
	if r.Columns != nil {
		size += value.JSONSize(m, r.Rows) + len(`{"base64":}`)*bytesIn(r.Rows.List())
	}
	return size, nil
}

// parameters reads the values for a text: a list of JSON. A map with nothing but base64 stands for
// bytes.
func parameters(m *value.Meter, text wire.Raw) (params []value.Value, err error) {
	defer recoverLimit(&err)
	if len(text) == 0 {
		return nil, nil
	}
	v, bad := value.ParseJSON(m, string(text))
	if bad != nil {
		return nil, bad
	}
	for i := range v.List().Len() {
		one := v.List().At(i)
		if one.IsMap() && one.Map().Len() == 1 {
			if text, ok := one.Map().Get("base64"); ok && text.IsText() {
				bytes, err := base64.StdEncoding.DecodeString(text.Str())
				if err != nil {
					return nil, fault.Invalid("params["+strconv.Itoa(i)+"].base64", "is no base64")
				}
				one = value.Bytes(bytes)
			}
		}
		params = append(params, one)
	}
	return params, nil
}

// recoverLimit makes an error of a limit that ends a run.
func recoverLimit(err *error) {
	switch r := recover().(type) {
	case nil:
	case *value.LimitError:
		*err = r
	default:
		panic(r)
	}
}

// encode writes results as JSON of at most so many bytes.
func encode(results []databases.Result, size int) wire.Raw {
	text := append(make(wire.Raw, 0, size), '[')
	for i, r := range results {
		if i > 0 {
			text = append(text, ',')
		}
		text = appendResult(text, &r)
	}
	return append(text, ']')
}

// bytesIn counts the values of rows that are bytes.
func bytesIn(rows *value.List) (n int) {
	for i := range rows.Len() {
		row := rows.At(i).List()
		for j := range row.Len() {
			if row.At(j).Kind() == value.KindBytes {
				n++
			}
		}
	}
	return n
}

func appendResult(dst []byte, r *databases.Result) []byte {
	if r.Columns == nil {
		dst = append(dst, `{"changes":`...)
		dst = strconv.AppendInt(dst, r.Changes, 10)
		dst = append(dst, `,"last_id":`...)
		return append(value.AppendJSON(dst, r.LastID), '}')
	}
	dst = append(dst, `{"columns":[`...)
	for i, c := range r.Columns {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = value.AppendJSON(dst, value.Text(c))
	}
	dst = append(dst, `],"rows":[`...)
	rows := r.Rows.List()
	for i := range rows.Len() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '[')
		row := rows.At(i).List()
		for j := range row.Len() {
			if j > 0 {
				dst = append(dst, ',')
			}
			dst = appendValue(dst, row.At(j))
		}
		dst = append(dst, ']')
	}
	dst = append(dst, `],"more":`...)
	return append(strconv.AppendBool(dst, r.More), '}')
}

// appendValue appends a value of a row. Bytes say that they are no text.
func appendValue(dst []byte, v value.Value) []byte {
	if v.Kind() != value.KindBytes {
		return value.AppendJSON(dst, v)
	}
	dst = append(dst, `{"base64":`...)
	return append(value.AppendJSON(dst, v), '}')
}

// Export checks that there is what is to be written, and returns what writes it: a database as SQL, or
// the rows of a table as CSV.
func (d Databases) Export(ctx context.Context, name, table string) (func(context.Context, io.Writer) error, error) {
	err := d.All.Snapshot(ctx, name, func(ctx context.Context, s *databases.Snapshot) error {
		if table == "" {
			return nil
		}
		found, err := s.HasTable(ctx, table)
		if err == nil && !found {
			err = fault.New(fault.NotFound, "there is no table %s in the database %s", value.Quote(table), value.Quote(name))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, w io.Writer) error {
		if table == "" {
			return transfer.ExportSQL(ctx, d.All, name, w)
		}
		_, err := transfer.ExportCSV(ctx, d.All, name, table, w)
		return err
	}, nil
}

// Spool takes what is to be imported, all of it, before the database is touched.
func (d Databases) Spool(ctx context.Context, from io.Reader) (io.ReadCloser, error) {
	s, err := d.All.Spool(ctx, from)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Import runs SQL on a database, or adds the rows of CSV to a table: all of it, or nothing. It returns
// how many statements or rows there were.
func (d Databases) Import(ctx context.Context, name, table string, from io.Reader) (int64, error) {
	if table == "" {
		return transfer.ImportSQL(ctx, d.All, name, from)
	}
	return transfer.ImportCSV(ctx, d.All, name, table, from)
}

// Remove removes a database, and reports whether anything stays of it for jobs under way.
func (d Databases) Remove(ctx context.Context, name string) (emptied bool, err error) {
	gone, err := d.All.Remove(ctx, name)
	if err == nil && gone && d.Removed != nil {
		err = d.Removed(ctx)
	}
	return !gone, err
}
