package transfer

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"ql/internal/resource/databases"
	"ql/lang/value"
)

// csvReader reads CSV row by row, as READ AS CSV of the language takes it: lines
// end with CR LF, LF or CR, empty ones do not count, and what stands in quotes is
// kept to the byte. It holds one row at a time.
type csvReader struct {
	in     *bufio.Reader
	line   int      // that is read
	header []string // the names of the columns, as they are written
	cell   []byte

	headerLine int // that the names are on
}

// newCSVReader reads the first row, which names the columns.
func newCSVReader(r io.Reader) (*csvReader, error) {
	in, err := textReader(r)
	if err != nil {
		return nil, err
	}
	c := &csvReader{in: in, line: 1}
	more, err := c.toRow()
	if err != nil {
		return nil, err
	}
	if !more {
		return nil, value.Errorf(value.BadCSV, "the file is empty: its first row names the columns")
	}
	c.headerLine = c.line
	seen := map[string]bool{}
	for more {
		var name string
		if name, more, err = c.next(); err != nil {
			return nil, err
		}
		// The database would take the one for the other.
		folded := strings.ToLower(name)
		switch {
		case !utf8.ValidString(name):
			return nil, value.Errorf(notText, "line %d: the name of column %d is not UTF-8 text", c.headerLine, len(c.header)+1)
		case seen[folded]:
			return nil, badCSV(c.headerLine, "names two columns %s", value.Quote(name))
		case len(c.header) == databases.MaxColumns:
			return nil, value.Exceeded("sql_columns", databases.MaxColumns, "a table has at most %d columns, and the first row names more", databases.MaxColumns)
		}
		seen[folded] = true
		c.header = append(c.header, name)
	}
	return c, nil
}

// read reads the next row into fields, one for each column, and returns the line
// that it starts on; io.EOF after the last one.
func (c *csvReader) read(fields []string) (line int, err error) {
	more, err := c.toRow()
	if err != nil {
		return 0, err
	}
	if !more {
		return 0, io.EOF
	}
	line = c.line
	n := 0
	for ; more; n++ {
		var field string
		if field, more, err = c.next(); err != nil {
			return 0, err
		}
		if n >= len(fields) {
			continue
		}
		if !utf8.ValidString(field) {
			return 0, value.Errorf(notText, "line %d: column %s is not UTF-8 text: save the file as UTF-8", line, value.Quote(c.header[n]))
		}
		fields[n] = field
	}
	if n != len(fields) {
		return 0, badCSV(line, "has %s, the first row has %d", count(int64(n), "field"), len(fields))
	}
	return line, nil
}

func badCSV(line int, format string, args ...any) error {
	return value.Errorf(value.BadCSV, "this is not CSV: line %d %s", line, fmt.Sprintf(format, args...))
}

// count writes a number with its noun.
func count(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// toRow passes empty lines and reports whether a row follows.
func (c *csvReader) toRow() (bool, error) {
	for {
		b, err := c.peek()
		if err != nil || b != '\n' && b != '\r' {
			return err == nil, notEnd(err)
		}
		c.lineEnd(b)
	}
}

func notEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func (c *csvReader) peek() (byte, error) {
	next, err := c.in.Peek(1)
	if err != nil {
		return 0, err
	}
	return next[0], nil
}

// lineEnd passes the line end that starts with b, which was seen.
func (c *csvReader) lineEnd(b byte) {
	_, _ = c.in.Discard(1)
	if next, err := c.peek(); b == '\r' && err == nil && next == '\n' {
		_, _ = c.in.Discard(1)
	}
	c.line++
}

// next reads one field and what ends it, and reports whether another follows on
// the line.
func (c *csvReader) next() (field string, more bool, err error) {
	c.cell = c.cell[:0]
	b, err := c.peek()
	if err == nil && b == '"' {
		err = c.quoted()
	} else if err == nil {
		err = c.bare()
	}
	if notEnd(err) != nil {
		return "", false, err
	}
	field = string(c.cell)
	switch b, err = c.peek(); {
	case err != nil:
		return field, false, notEnd(err)
	case b == ',':
		_, _ = c.in.Discard(1)
		return field, true, nil
	case b == '\n' || b == '\r':
		c.lineEnd(b)
		return field, false, nil
	}
	return "", false, badCSV(c.line, "goes on after a closing quote: inside quotes, a quote is written twice")
}

// bare reads a field without quotes around it; one inside it is a quote.
func (c *csvReader) bare() error {
	for {
		b, err := c.peek()
		switch {
		case err != nil, b == ',' || b == '\n' || b == '\r':
			return err
		}
		if err := c.take(); err != nil {
			return err
		}
	}
}

// quoted reads a field in quotes.
func (c *csvReader) quoted() error {
	start := c.line
	_, _ = c.in.Discard(1) // the quote was seen
	for {
		b, err := c.peek()
		if errors.Is(err, io.EOF) {
			return badCSV(start, "opens a quote that is never closed")
		}
		if err != nil {
			return err
		}
		if b == '"' {
			_, _ = c.in.Discard(1)
			if after, err := c.peek(); err != nil || after != '"' {
				return notEnd(err)
			}
		}
		if b == '\n' {
			c.line++
		}
		if err := c.take(); err != nil {
			return err
		}
	}
}

// take adds the next byte, which was seen, to the field.
func (c *csvReader) take() error {
	if len(c.cell) == databases.MaxValue {
		return value.Exceeded("sql_value", databases.MaxValue, "line %d: a value in a database has at most %d bytes, and this field has more", c.line, databases.MaxValue)
	}
	b, err := c.in.ReadByte()
	c.cell = append(c.cell, b)
	return err
}
