package lib

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"ql/lang/value"
)

// CSVDecode reads CSV text as RFC 4180 has it, separated by commas: its first
// line names the columns, each further one becomes a map of texts. Lines may
// end with CR LF, LF or CR; empty ones do not count.
func CSVDecode(m *value.Meter, text string) (value.Value, *value.Error) {
	r := csvReader{c: &Call{Meter: m}, s: strings.TrimPrefix(text, "\ufeff"), sep: ",", line: 1}
	return r.rows()
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
	r := csvReader{c: c, s: strings.TrimPrefix(s, "\ufeff"), sep: sep, line: 1}
	v, err := r.rows()
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

type csvReader struct {
	c    *Call
	s    string // what is still to be read
	sep  string
	line int
}

func (r *csvReader) fail(line int, format string, args ...any) *value.Error {
	return value.Errorf(value.BadCSV, "this is not CSV: line %d %s", line, fmt.Sprintf(format, args...))
}

func (r *csvReader) rows() (value.Value, *value.Error) {
	rows := value.NewList(r.c.Meter, 0)
	header, err := r.header()
	if err != nil {
		return value.Null, err
	}
	for r.skipEmpty() {
		r.c.Meter.Work(mapWork)
		line := r.line
		row := value.NewMap(r.c.Meter, len(header))
		n := 0
		for more := true; more; n++ {
			var cell value.Value
			if cell, more, err = r.cell(); err != nil {
				return value.Null, err
			}
			if n < len(header) {
				row.Set(r.c.Meter, header[n], cell)
			}
		}
		if n != len(header) {
			return value.Null, r.fail(line, "has %s, the header line has %d", cells(n), len(header))
		}
		rows.Append(r.c.Meter, row.Value())
	}
	return rows.Value(), nil
}

func cells(n int) string {
	if n == 1 {
		return "1 cell"
	}
	return fmt.Sprintf("%d cells", n)
}

// header reads the names of the columns, all different.
func (r *csvReader) header() ([]value.Value, *value.Error) {
	if !r.skipEmpty() {
		return nil, nil
	}
	line := r.line
	seen := value.NewMap(r.c.Meter, 0)
	for more := true; more; {
		var name value.Value
		var err *value.Error
		if name, more, err = r.cell(); err != nil {
			return nil, err
		}
		if _, has := seen.Lookup(r.c.Meter, name.Str()); has {
			return nil, r.fail(line, "names two columns %s", value.Quote(name.Str()))
		}
		seen.Set(r.c.Meter, name, value.Null)
	}
	r.c.Meter.Alloc(seen.Len() * 16)
	names := make([]value.Value, 0, seen.Len())
	for k := range seen.All {
		names = append(names, k)
	}
	return names, nil
}

// skipEmpty passes empty lines and reports whether a row follows.
func (r *csvReader) skipEmpty() bool {
	for r.lineEnd() {
		r.c.Meter.Work(1)
	}
	return r.s != ""
}

// lineEnd passes a line end, if one is next.
func (r *csvReader) lineEnd() bool {
	var n int
	switch {
	case strings.HasPrefix(r.s, "\r\n"):
		n = 2
	case r.s != "" && (r.s[0] == '\n' || r.s[0] == '\r'):
		n = 1
	default:
		return false
	}
	r.s = r.s[n:]
	r.line++
	return true
}

// cell reads one cell and what ends it, and reports whether another follows on
// the line.
func (r *csvReader) cell() (v value.Value, more bool, err *value.Error) {
	if strings.HasPrefix(r.s, `"`) {
		v, err = r.quoted()
	} else {
		v, err = r.bare()
	}
	if err != nil {
		return value.Null, false, err
	}
	if rest, ok := strings.CutPrefix(r.s, r.sep); ok {
		r.s = rest
		return v, true, nil
	}
	if r.s != "" && !r.lineEnd() {
		return value.Null, false, r.fail(r.line, "goes on after a closing quote: inside quotes, a quote is written twice")
	}
	return v, false, nil
}

// bare reads a cell without quotes.
func (r *csvReader) bare() (value.Value, *value.Error) {
	n := 0
	for ; n < len(r.s); n++ {
		b := r.s[n]
		if b == '\n' || b == '\r' || b == r.sep[0] && strings.HasPrefix(r.s[n:], r.sep) {
			break
		}
		if b == '"' {
			return value.Null, r.fail(r.line, "has a quote in a cell that does not start with one: write the cell in quotes, and quotes inside twice")
		}
		if n%part == part-1 {
			r.c.Meter.Work(part / 4)
		}
	}
	r.c.Meter.Work(n%part/4 + 4)
	v := r.c.text(r.s[:n])
	r.s = r.s[n:]
	return v, nil
}

// quoted reads a cell in quotes.
func (r *csvReader) quoted() (value.Value, *value.Error) {
	start, body := r.line, r.s[1:]
	end, twice := 0, 0
	for {
		i := r.c.index(body[end:], `"`)
		if i < 0 {
			return value.Null, r.fail(start, "opens a quote that is never closed")
		}
		end += i
		if !strings.HasPrefix(body[end+1:], `"`) {
			break
		}
		end += 2
		twice++
		r.c.Meter.Work(1)
	}
	r.c.Meter.Work(end/8 + 4)
	r.line += strings.Count(body[:end], "\n")
	r.s = body[end+1:]
	if end == 0 {
		return value.Text(""), nil
	}
	b := value.NewBuilder(r.c.Meter, value.KindText, end-twice)
	rest := body[:end]
	for range twice {
		i := strings.IndexByte(rest, '"')
		b.Add(rest[:i+1])
		rest = rest[i+2:]
	}
	b.Add(rest)
	return b.Value(), nil
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
