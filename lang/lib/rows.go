package lib

import (
	"fmt"
	"path"
	"strings"

	"ql/lang/value"
)

// The formats that rows are written in.
const (
	RowsCSV       = "csv"
	RowsJSON      = "json"
	RowsJSONLines = "json_lines"
)

// RowsFormat returns the format of a file of rows, by the ending of its name; "" where rows are
// not written to such a file.
func RowsFormat(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".csv":
		return RowsCSV
	case ".json":
		return RowsJSON
	case ".jsonl", ".ndjson":
		return RowsJSONLines
	}
	return ""
}

// RowsFormatHelp says which files RowsFormat takes.
func RowsFormatHelp(name string) string {
	return fmt.Sprintf("SET FILE writes CSV, JSON or JSON lines, by the ending of the path: .csv, .json, .jsonl or .ndjson, which %s has none of", value.Quote(name))
}

// RowWriter writes rows whose columns all have the same names, for a host that holds no more
// than a piece of them: it takes what is written from time to time.
type RowWriter struct {
	out    csvWriter
	format string
	keys   []string // of JSON, quoted and with their colons
	rows   int64
}

// NewRowWriter returns a writer of one of the formats, with names for the columns.
func NewRowWriter(m *value.Meter, format string, columns []string) (*RowWriter, *value.Error) {
	w := &RowWriter{format: format, out: csvWriter{buffer: buffer{c: &Call{Meter: m}}, sep: ","}}
	w.out.scratch.c = w.out.c
	if format != RowsCSV {
		for _, name := range columns {
			m.Alloc(2 * len(name))
			m.Work(len(name))
			w.keys = append(w.keys, string(value.AppendQuoted(nil, name))+":")
		}
		return w, nil
	}
	for i, name := range columns {
		if err := w.out.cell(i, len(columns), value.Text(name)); err != nil {
			return nil, err
		}
	}
	w.out.addByte('\n')
	return w, nil
}

// Row writes a row.
func (w *RowWriter) Row(cells []value.Value) *value.Error {
	w.rows++
	out := &w.out
	if w.format == RowsCSV {
		for i, v := range cells {
			if err := out.cell(i, len(cells), v); err != nil {
				return err
			}
		}
		out.addByte('\n')
		return nil
	}
	switch {
	case w.format == RowsJSONLines:
	case w.rows == 1:
		out.add("[\n")
	default:
		out.add(",\n")
	}
	for i, v := range cells {
		if i == 0 {
			out.addByte('{')
		} else {
			out.addByte(',')
		}
		out.c.Meter.Work(4)
		out.add(w.keys[i])
		out.room(value.JSONSize(out.c.Meter, v))
		out.b = value.AppendJSON(out.b, v)
	}
	out.addByte('}')
	if w.format == RowsJSONLines {
		out.addByte('\n')
	}
	return nil
}

// End writes what stands behind the last row.
func (w *RowWriter) End() {
	switch {
	case w.format != RowsJSON:
	case w.rows == 0:
		w.out.add("[]\n")
	default:
		w.out.add("\n]\n")
	}
}

// Rows returns how many rows were written.
func (w *RowWriter) Rows() int64 { return w.rows }

// Len returns how many bytes wait to be drained.
func (w *RowWriter) Len() int { return len(w.out.b) }

// Drain returns what was written since the last time. It is good until more is.
func (w *RowWriter) Drain() []byte {
	b := w.out.b
	w.out.b = b[:0]
	return b
}
