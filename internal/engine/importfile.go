package engine

import (
	"context"
	"errors"
	"fmt"
	"io"

	"ql/lang/rows"
	"ql/lang/value"
)

// importFile adds the rows of a file to a table.
func importFile(c *call) (value.Value, error) {
	path, err := c.path(1)
	if err != nil {
		return value.Null, err
	}
	if c.o.Files == nil {
		return value.Null, missing("files")
	}
	f := &fileSource{call: c, path: path, options: rows.Options{MaxRow: c.meter.Text}, skips: c.args[4].Truthy()}
	if f.options.Format, err = importFormat(path, c.args[2]); err != nil {
		return value.Null, err
	}
	if !c.args[3].IsNull() {
		if f.options.Encoding, err = c.text(3, "the name that ENCODING takes"); err != nil {
			return value.Null, err
		}
	}
	Yield(c.ctx)
	if f.content, err = c.o.Files.Hold(c.ctx, path); err != nil {
		return value.Null, err
	}
	defer func() { _ = f.content.Close() }() // it is only read
	if f.skips {
		f.bad = value.NewList(c.meter, 0)
	}
	if err := f.rewind(); err != nil {
		return value.Null, inFile(path, err)
	}
	return c.importRows(f)
}

// importFormat returns the format of a file whose rows have columns.
func importFormat(name string, given value.Value) (rows.Format, error) {
	f, err := rowFormatOf(name, given)
	if err == nil && f == rows.Lines {
		err = value.Errorf(value.BadArgument, "%s does not end in .csv, .jsonl or .ndjson: write AS CSV or AS JSON LINES", value.Quote(name))
	}
	return f, err
}

// fileSource are the rows of a file. It holds one, and a block of the file around it.
type fileSource struct {
	*call
	path    string
	options rows.Options
	content FileContent
	reader  *rows.Reader
	skips   bool // rows that are wrong

	names   []string
	cells   []value.Value
	block   int64 // bytes that the block is counted with
	row     int64 // bytes that the row is counted with
	skipped int64
	bad     *value.List
}

// rewind goes to the beginning.
func (f *fileSource) rewind() error {
	if _, err := f.content.Seek(0, io.SeekStart); err != nil {
		return err
	}
	before := f.meter.Allocated()
	var err error
	if f.reader, err = rows.New(f.meter, yielding{f.ctx, f.content}, f.options); err != nil {
		return err
	}
	f.names = f.reader.Head().Columns
	f.block, f.row, f.skipped = f.meter.Allocated()-before, 0, 0
	return nil
}

// yielding lets others compute while a file is read.
type yielding struct {
	ctx context.Context
	r   io.Reader
}

func (y yielding) Read(p []byte) (int, error) {
	Yield(y.ctx)
	return y.r.Read(p)
}

// Columns implements RowSource. Those of CSV are texts; for those of JSON the file is read
// twice.
func (f *fileSource) Columns() ([]Column, error) {
	if f.options.Format == rows.CSV {
		columns := make([]Column, len(f.names))
		for i, name := range f.names {
			columns[i] = Column{Name: name, Type: "TEXT"}
		}
		return columns, nil
	}
	kinds := columnKinds{meter: f.meter, clone: true}
	for {
		v, err := f.next()
		switch {
		case errors.Is(err, io.EOF):
			if f.bad != nil {
				f.bad = value.NewList(f.meter, 0)
			}
			return kinds.columns(), f.rewind()
		case err != nil:
			return nil, err
		}
		kinds.add(v.Map())
	}
}

// Next implements RowSource.
func (f *fileSource) Next() ([]string, []value.Value, error) {
	v, err := f.next()
	if err != nil {
		return nil, nil, err
	}
	f.cells = f.cells[:0]
	if f.options.Format == rows.CSV {
		f.meter.Work(rowWork + cellWork*len(f.names))
		for i := range f.names {
			cell := value.Null // where there is nothing in it
			if s := f.reader.Cell(i); s != "" {
				f.alloc(value.BlockSize(len(s)))
				cell = value.Text(s)
			}
			f.cells = append(f.cells, cell)
		}
		return f.names, f.cells, nil
	}
	f.meter.Work(rowWork + cellWork*v.Map().Len())
	f.names = f.names[:0]
	for k, v := range v.Map().All {
		f.names, f.cells = append(f.names, k.Str()), append(f.cells, v)
	}
	return f.names, f.cells, nil
}

// alloc counts memory of the row.
func (f *fileSource) alloc(n int) {
	before := f.meter.Allocated()
	f.meter.Alloc(n)
	f.row += f.meter.Allocated() - before
}

// next reads a row, and returns it where it is JSON. What was counted for the row before is
// given back, and for the block that was read before, where another one was.
func (f *fileSource) next() (value.Value, error) {
	m := f.meter
	for {
		m.ReleaseTo(m.Allocated() - f.row)
		before := m.Allocated()
		f.row = 0
		bad, err := f.reader.Next(m)
		if errors.Is(err, io.EOF) {
			return value.Null, io.EOF
		}
		if err != nil {
			return value.Null, inFile(f.path, err)
		}
		if block := m.Allocated() - before; block > 0 {
			m.ReleaseTo(m.Allocated() - f.block)
			f.block = block
		}
		var v value.Value
		if bad == nil && f.options.Format != rows.CSV {
			before = m.Allocated()
			if v, bad = f.reader.Value(m); bad == nil && !v.IsMap() {
				bad = value.Errorf(value.WrongKind, "line %d: IMPORT takes a map on each line, not %s", f.reader.Line(), value.Describe(v))
			}
			f.row = m.Allocated() - before
		}
		switch {
		case bad == nil:
			return v, nil
		case !f.skips:
			return value.Null, inFile(f.path, bad)
		}
		f.skipped++
		if f.skipped <= maxBad {
			f.bad.Append(m, badRow(m, f.reader.Line(), bad))
		}
	}
}

// Place implements RowSource.
func (f *fileSource) Place() string { return fmt.Sprintf("%s: line %d", f.path, f.reader.Line()) }

// Result implements RowSource.
func (f *fileSource) Result(n int64) value.Value {
	r := imported(f.meter, n, f.skipped)
	if !f.skips {
		return r
	}
	endBad(f.meter, f.bad, f.skipped)
	return value.ListOf(r, f.bad.Value())
}
