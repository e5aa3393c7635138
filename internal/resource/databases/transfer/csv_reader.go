package transfer

import (
	"errors"
	"io"
	"strings"

	"ql/internal/resource/databases"
	"ql/lang/rows"
	"ql/lang/value"
)

// csvReader reads CSV row by row, as READ AS CSV of the language takes it.
type csvReader struct {
	rows       *rows.Reader
	header     []string // the names of the columns, as they are written
	headerLine int      // that they are on
}

// maxCSVRow is what a row of CSV may have that fits into a table, in which a row has as many
// bytes as a value: all of it may be quotes, which are doubled.
const maxCSVRow = 2*databases.MaxValue + 4*databases.MaxColumns

// newCSVReader reads the first row, which names the columns.
func newCSVReader(r io.Reader) (*csvReader, error) {
	in, err := textReader(r)
	if err != nil {
		return nil, err
	}
	c := &csvReader{}
	if c.rows, err = rows.New(nil, in, rows.Options{Format: rows.CSV, MaxRow: maxCSVRow}); err != nil {
		return nil, c.explain(err)
	}
	c.header, c.headerLine = c.rows.Head().Columns, int(c.rows.Line())
	switch n := len(c.header); {
	case n == 0:
		return nil, value.Errorf(value.BadCSV, "the file is empty: its first row names the columns")
	case n > databases.MaxColumns:
		return nil, value.Exceeded("sql_columns", databases.MaxColumns, "a table has at most %d columns, and the first row names %d", databases.MaxColumns, n)
	}
	seen := map[string]bool{}
	for _, name := range c.header {
		// The database would take the one for the other.
		folded := strings.ToLower(name)
		if seen[folded] {
			return nil, value.Errorf(value.BadCSV, "this is not CSV: line %d names two columns %s", c.headerLine, value.Quote(name))
		}
		seen[folded] = true
	}
	return c, nil
}

// read reads the next row into fields, one for each column, and returns the line
// that it starts on; io.EOF after the last one.
func (c *csvReader) read(fields []string) (line int, err error) {
	bad, err := c.rows.Next(nil)
	if bad != nil {
		err = bad
	}
	if err != nil {
		return 0, c.explain(err)
	}
	line = int(c.rows.Line())
	for i := range fields {
		if fields[i] = c.rows.Cell(i); len(fields[i]) > databases.MaxValue {
			return 0, value.Exceeded("sql_value", databases.MaxValue, "line %d: a value in a database has at most %d bytes, and this field has more", line, databases.MaxValue)
		}
	}
	return line, nil
}

// explain says of what is no text what can be done about a file.
func (c *csvReader) explain(err error) error {
	var known *value.Error
	if errors.As(err, &known) && known.Code == rows.NotText && c.rows != nil {
		return value.Errorf(notText, "line %d is not UTF-8 text: save the file as UTF-8", c.rows.Line())
	}
	return err
}
