// Package rows reads the rows of a text one by one, whatever its length: of CSV, of
// lines, of lines of JSON. It holds one row and a block around it, and can go on from the
// place behind any row. Where the text comes from, and what becomes of rows that are
// wrong, is its caller's business.
package rows

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"ql/lang/value"
)

// Format says what a row is.
type Format string

// The formats.
const (
	CSV       Format = "csv"        // a map of texts by the names in the first row
	Lines     Format = "lines"      // a text
	JSONLines Format = "json_lines" // any value; blank lines do not count
)

// NotText is the code of what cannot be read as text.
const NotText = "not_text"

// Options say how a text is read.
type Options struct {
	Format Format
	// Encoding is a name that the WHATWG knows; "" means UTF-8. A mark of the byte order
	// at the start of the text counts more.
	Encoding string
	// MaxRow is how many bytes of text a row may have; 0 for any number.
	MaxRow int
	// Separator stands between the cells of CSV; "" means a comma.
	Separator string
}

// Head is what the beginning of a text says of all the rest: to go on in the middle, a
// reader has to know it.
type Head struct {
	Encoding string   // as this package names it
	Columns  []string // of CSV, as the first row names them
}

// Place is the place behind a row.
type Place struct {
	Offset int64 // in bytes of the source, whatever its encoding
	Line   int64 // that begins there, from 1
}

// Reader reads rows.
type Reader struct {
	o    Options
	head Head
	keys []value.Value // the columns, as values

	src  io.Reader
	end  bool   // src has no more: text is all that is left
	text string // that was read, decoded
	at   int    // where the next row begins in it
	base int64  // where text begins in the source
	raw  *decoder
	buf  []byte

	line  int64  // that the next row begins on
	start int    // where the last row begins in text
	taken int64  // bytes of rows that were taken
	row   string // the last row, without the end of its line
	begin int64  // the line that it begins on
	cells []cell // of it
}

// cell is where a cell stands in a row; twice is how many quotes in it are doubled.
type cell struct{ from, to, twice int }

// block is how much of a source is read at once.
const block = 64 << 10

// New reads the beginning of a text: the mark of its byte order, and of CSV the row that
// names the columns. The meter pays for what it reads, here and below.
func New(m *value.Meter, src io.Reader, o Options) (*Reader, error) {
	name, err := encodingName(o.Encoding)
	if err != nil {
		return nil, err
	}
	start := make([]byte, 3)
	n, err := io.ReadFull(src, start)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	mark := 0
	for _, k := range marks {
		if strings.HasPrefix(string(start[:n]), k.mark) {
			name, mark = k.encoding, len(k.mark)
		}
	}
	r := newReader(io.MultiReader(strings.NewReader(string(start[mark:n])), src), o, name)
	r.base, r.line = int64(mark), 1
	return r, r.readHead(m)
}

// OfText reads a text that is at hand, which is known to be UTF-8.
func OfText(m *value.Meter, text string, o Options) (*Reader, error) {
	r := newReader(nil, o, utf8Name)
	r.text, r.end, r.line = strings.TrimPrefix(text, utf8Mark), true, 1
	r.base = int64(len(text) - len(r.text))
	return r, r.readHead(m)
}

// Resume goes on at a place that a reader of the same text came to, with its head; src is
// what the text has from there on.
func Resume(m *value.Meter, src io.Reader, o Options, head Head, at Place) (*Reader, error) {
	if _, err := encodingName(head.Encoding); err != nil {
		return nil, err
	}
	r := newReader(src, o, head.Encoding)
	r.base, r.line = at.Offset, at.Line
	r.setColumns(m, head.Columns)
	return r, nil
}

func newReader(src io.Reader, o Options, encoding string) *Reader {
	if o.Separator == "" {
		o.Separator = ","
	}
	return &Reader{o: o, src: src, head: Head{Encoding: encoding}, raw: newDecoder(encoding)}
}

// Head returns what the beginning of the text said.
func (r *Reader) Head() Head { return r.head }

// Place returns the place behind the row that was read last.
func (r *Reader) Place() Place { return r.place(r.at, r.line) }

// place returns the place of a byte of text.
func (r *Reader) place(at int, line int64) Place {
	if r.raw != nil {
		at = r.raw.length(at, r.end)
	}
	return Place{Offset: r.base + int64(at), Line: line}
}

// Before returns the place before the row that was read last, or that was wrong.
func (r *Reader) Before() Place { return r.place(r.start, r.begin) }

// Taken returns how many bytes of text the rows had that were read, about.
func (r *Reader) Taken() int64 { return r.taken }

// Line returns the line on which the row that was read last begins.
func (r *Reader) Line() int64 { return r.begin }

// readHead reads the row that names the columns. An empty text has none.
func (r *Reader) readHead(m *value.Meter) error {
	if r.o.Format != CSV {
		return nil
	}
	bad, err := r.Next(m)
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	case bad != nil:
		return bad
	}
	seen := make(map[string]bool, len(r.cells))
	m.Alloc(len(r.cells) * 48)
	columns := make([]string, len(r.cells))
	for i := range columns {
		columns[i] = r.Cell(i)
		m.Work(mapWork)
		m.Alloc(len(columns[i]))
		if seen[columns[i]] {
			return badCSV(r.begin, "names two columns %s", value.Quote(columns[i]))
		}
		seen[columns[i]] = true
	}
	r.setColumns(m, columns)
	return nil
}

func (r *Reader) setColumns(m *value.Meter, columns []string) {
	if r.o.Format != CSV {
		return
	}
	m.CheckElements(len(columns))
	r.head.Columns = columns
	r.keys = make([]value.Value, len(columns))
	for i, c := range columns {
		r.keys[i] = text(m, c).Freeze()
	}
}

// badWork is the fuel of saying what is wrong with a row.
const badWork = 100

// Next reads the next row; io.EOF after the last one. bad says what is wrong with it: it
// has been passed, and the next call reads the row behind it.
func (r *Reader) Next(m *value.Meter) (bad *value.Error, err error) {
	for {
		found, bad, err := r.scan(m)
		switch {
		case err != nil:
			return nil, err
		case bad == nil && found:
			bad = r.check(m)
		}
		switch {
		case bad != nil:
			m.Work(badWork)
			return bad, nil
		case found:
			return nil, nil
		case r.end && r.at == len(r.text):
			return nil, io.EOF
		}
		if err := r.more(m); err != nil {
			return nil, err
		}
	}
}

// scan looks for a row in what was read. Where it finds neither one nor what is wrong with
// it, more has to be read.
func (r *Reader) scan(m *value.Meter) (found bool, bad *value.Error, err error) {
	if r.o.Format == CSV {
		return r.scanCSV(m)
	}
	for {
		s := r.text[r.at:]
		if s == "" {
			return false, nil, nil
		}
		n := strings.IndexByte(s, '\n')
		next := n + 1
		if n < 0 {
			if !r.end {
				m.WorkBytes(len(s))
				return false, nil, r.tooLong(len(s), r.line)
			}
			n, next = len(s), len(s)
		}
		m.Work(n/32 + 1)
		if err := r.tooLong(n, r.line); err != nil {
			return false, nil, err
		}
		r.take(s, n, next, r.line+1)
		r.row = strings.TrimSuffix(r.row, "\r")
		if r.o.Format == Lines || strings.TrimSpace(r.row) != "" {
			return true, nil, nil
		}
	}
}

// tooLong is the error of a row that has n bytes at least.
func (r *Reader) tooLong(n int, line int64) error {
	if r.o.MaxRow == 0 || n <= r.o.MaxRow {
		return nil
	}
	return value.Exceeded("value_size", int64(r.o.MaxRow), "line %d: a row has at most %s, and this one has more", line, value.FormatByteCount(int64(r.o.MaxRow)))
}

// check looks at a row that was found.
func (r *Reader) check(m *value.Meter) *value.Error {
	m.WorkBytes(len(r.row))
	if r.src != nil && r.raw == nil && !utf8.ValidString(r.row) {
		return value.Errorf(NotText, "line %d is not UTF-8 text: name its ENCODING, such as \"windows-1252\"", r.begin)
	}
	if r.keys != nil && len(r.cells) != len(r.keys) {
		return badCSV(r.begin, "has %s, the header line has %d", count(len(r.cells)), len(r.keys))
	}
	return nil
}

func badCSV(line int64, format string, args ...any) *value.Error {
	return value.Errorf(value.BadCSV, "this is not CSV: line %d %s", line, fmt.Sprintf(format, args...))
}

func count(cells int) string {
	if cells == 1 {
		return "1 cell"
	}
	return fmt.Sprintf("%d cells", cells)
}

// more reads on. A row that does not fit into what is read doubles it, so that looking at
// it again from its start costs no more than twice.
func (r *Reader) more(m *value.Meter) error {
	if r.end {
		return errors.New("rows: a row of a text at hand has no end")
	}
	kept := len(r.text) - r.at
	n := max(block, kept)
	if r.o.MaxRow > 0 {
		n = max(block, min(n, r.o.MaxRow+1-kept))
	}
	m.Alloc(kept + 2*n)
	if r.raw != nil {
		return r.decode(m, n)
	}
	if cap(r.buf) < kept+n || cap(r.buf) > 4*(kept+n) {
		r.buf = make([]byte, 0, kept+n)
	}
	b := append(r.buf[:0], r.text[r.at:]...)
	got, err := io.ReadFull(r.src, b[kept:kept+n])
	r.base += int64(r.at)
	r.text, r.at = string(b[:kept+got]), 0
	return r.ended(err)
}

// ended takes note of the end of the source.
func (r *Reader) ended(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		r.end = true
		return nil
	}
	return err
}

// Cells returns how many cells the row of CSV has that was read last.
func (r *Reader) Cells() int { return len(r.cells) }

// Cell returns one of them.
func (r *Reader) Cell(i int) string {
	c := r.cells[i]
	s := r.row[c.from:c.to]
	if c.twice > 0 {
		return strings.ReplaceAll(s, `""`, `"`)
	}
	return strings.Clone(s)
}

// What making a value costs, whatever its size.
const (
	textWork = 4
	mapWork  = 20
)

// Value returns the row that was read last. A row of JSON may turn out to be wrong.
func (r *Reader) Value(m *value.Meter) (value.Value, *value.Error) {
	switch r.o.Format {
	case CSV:
		m.Work(mapWork)
		row := value.NewMap(m, len(r.keys))
		for i, key := range r.keys {
			row.Set(m, key, r.cellValue(m, r.cells[i]))
		}
		return row.Value(), nil
	case JSONLines:
		v, err := value.ParseJSON(m, r.row)
		if err != nil {
			return value.Null, value.Errorf(err.Code, "line %d: %s", r.begin, err.Message)
		}
		return v, nil
	}
	return text(m, r.row), nil
}

// cellValue makes a value of a cell, with its doubled quotes made single.
func (r *Reader) cellValue(m *value.Meter, c cell) value.Value {
	s := r.row[c.from:c.to]
	if c.twice == 0 {
		return text(m, s)
	}
	b := value.NewBuilder(m, value.KindText, len(s)-c.twice)
	for range c.twice {
		i := strings.IndexByte(s, '"')
		b.Add(s[:i+1])
		s = s[i+2:]
	}
	b.Add(s)
	return b.Value()
}

// text returns a copy of s as a value.
func text(m *value.Meter, s string) value.Value {
	if s == "" {
		return value.Text("")
	}
	m.Work(textWork)
	b := value.NewBuilder(m, value.KindText, len(s))
	b.Add(s)
	return b.Value()
}
