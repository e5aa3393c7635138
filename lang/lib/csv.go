package lib

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"

	"ql/lang/rows"
	"ql/lang/value"
)

// CSVDecode reads CSV text as package rows has it, separated by commas: its first
// row names the columns, each further one becomes a map of texts.
func CSVDecode(m *value.Meter, text string) (value.Value, *value.Error) {
	return csvRows(m, text, ",")
}

// csvRows reads all rows of a text.
func csvRows(m *value.Meter, text, sep string) (value.Value, *value.Error) {
	list := value.NewList(m, 0)
	r, err := rows.OfText(m, text, rows.Options{Format: rows.CSV, Separator: sep})
	for err == nil {
		var bad *value.Error
		if bad, err = r.Next(m); bad != nil {
			return value.Null, bad
		}
		if err == nil {
			row, _ := r.Value(m) // a row that was read as CSV is one
			list.Append(m, row)
		}
	}
	var bad *value.Error
	if errors.As(err, &bad) {
		return value.Null, bad
	}
	return list.Value(), nil // a text at hand has no other error than its end
}

// CSVEncode writes a list of maps, with a header line of all their keys, or a
// list of lists, without one.
func CSVEncode(m *value.Meter, v value.Value) ([]byte, *value.Error) {
	w := csvWriter{buffer: buffer{c: &Call{Meter: m}}, sep: ","}
	if err := w.rows(v); err != nil {
		return nil, err
	}
	return w.b, nil
}

func fromCSV(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "FROM_CSV", args)
	s, sep := in.text(0, "the text"), in.separator(1)
	if in.err != nil {
		return value.Null, in.err
	}
	v, err := csvRows(c.Meter, s, sep)
	if err != nil {
		return value.Null, err
	}
	return v, nil
}

func toCSV(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "TO_CSV", args)
	sep := in.separator(1)
	if in.err != nil {
		return value.Null, in.err
	}
	w := csvWriter{buffer: buffer{c: c}, sep: sep}
	if err := w.rows(args[0]); err != nil {
		return value.Null, err
	}
	return w.value(), nil
}

// separator reads the optional separator of CSV.
func (in *input) separator(i int) string {
	if !in.given(i) {
		return ","
	}
	s := in.text(i, "the separator")
	if in.err == nil && (utf8.RuneCountInString(s[:min(len(s), 8)]) != 1 || strings.ContainsAny(s, "\"\r\n")) {
		in.fail(value.BadArgument, "takes one character for argument %d, the separator, other than a quote or a line end, not %s", i+1, value.Quote(s))
	}
	return s
}

type csvWriter struct {
	buffer
	sep     string
	scratch buffer
}

func (w *csvWriter) rows(v value.Value) *value.Error {
	if v.IsNull() {
		return nil
	}
	if !v.IsList() {
		return value.Errorf(value.WrongKind, "CSV is made of a list of maps or of lists, not of %s", value.Describe(v))
	}
	l := v.List()
	if l.Len() == 0 {
		return nil
	}
	w.scratch.c = w.c
	if l.At(0).IsMap() {
		return w.maps(l)
	}
	for i := range l.Len() {
		row := l.At(i)
		if !row.IsList() {
			return notARow(i, row, l.At(0))
		}
		n := row.List().Len()
		for j := range n {
			if err := w.cell(j, n, row.List().At(j)); err != nil {
				return err
			}
		}
		w.addByte('\n')
	}
	return nil
}

func notARow(i int, row, first value.Value) *value.Error {
	if first.IsContainer() {
		return value.Errorf(value.WrongKind, "CSV is made of a list of maps or of a list of lists: at index 0 is %s, at index %d %s", value.Describe(first), i, value.Describe(row))
	}
	return value.Errorf(value.WrongKind, "CSV is made of a list of maps or of lists; at index %d is %s", i, value.Describe(row))
}

func (w *csvWriter) maps(l *value.List) *value.Error {
	header := value.NewMap(w.c.Meter, 0)
	for i := range l.Len() {
		row := l.At(i)
		if !row.IsMap() {
			return notARow(i, row, l.At(0))
		}
		w.c.Meter.Work(4 * row.Map().Len())
		for k := range row.Map().All {
			if _, has := header.Lookup(w.c.Meter, k.Str()); !has {
				header.Set(w.c.Meter, k, value.Null)
			}
		}
	}
	if header.Len() == 0 {
		return nil
	}
	j := 0
	for k := range header.All {
		if err := w.cell(j, header.Len(), k); err != nil {
			return err
		}
		j++
	}
	w.addByte('\n')
	for i := range l.Len() {
		row, j := l.At(i).Map(), 0
		for k := range header.All {
			v, _ := row.Lookup(w.c.Meter, k.Str())
			if err := w.cell(j, header.Len(), v); err != nil {
				return err
			}
			j++
		}
		w.addByte('\n')
	}
	return nil
}

// cell adds cell j of n. A lone empty one is quoted: else its row would be an
// empty line.
func (w *csvWriter) cell(j, n int, v value.Value) *value.Error {
	w.c.Meter.Work(4)
	if j > 0 {
		w.add(w.sep)
	}
	w.scratch.b = w.scratch.b[:0]
	if err := w.scratch.addValue(v); err != nil {
		return err
	}
	content := w.scratch.b
	w.c.Meter.Work(len(content) / 2)
	if !(n == 1 && len(content) == 0) && !w.needsQuotes(content) {
		w.room(len(content))
		w.b = append(w.b, content...)
		return nil
	}
	w.room(len(content) + bytes.Count(content, []byte{'"'}) + 2)
	w.b = append(w.b, '"')
	for len(content) > 0 {
		i := bytes.IndexByte(content, '"') + 1
		if i == 0 {
			w.b = append(w.b, content...)
			break
		}
		w.b = append(w.b, content[:i]...)
		w.b = append(w.b, '"')
		content = content[i:]
	}
	w.b = append(w.b, '"')
	return nil
}

// needsQuotes reports whether content would be read otherwise without quotes.
// A byte order mark would be dropped at the start of a text.
func (w *csvWriter) needsQuotes(content []byte) bool {
	return bytes.ContainsAny(content, "\"\r\n") || bytes.Contains(content, []byte(w.sep)) ||
		len(w.b) == 0 && bytes.HasPrefix(content, []byte("\ufeff"))
}
