package transfer

import (
	"context"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"io"
	"strconv"

	"ql/internal/resource/databases"
	"ql/internal/sqlite"
	"ql/lang/value"

	lib "modernc.org/sqlite/lib"
)

// ImportCSV adds the rows of a CSV file to a table, all in one transaction. Its
// first row names the columns. An empty field is null; the others are texts, of
// which a column of numbers makes numbers. It returns how many there were.
func ImportCSV(ctx context.Context, d *databases.Databases, name, table string, r io.Reader) (rows int64, err error) {
	err = d.Batch(ctx, name, databases.BatchOptions{}, func(b *databases.Batch) error {
		in, err := newCSVReader(r)
		if err != nil {
			return err
		}
		sql := databases.InsertInto(table, in.header)
		// A file without rows names a table and columns too.
		if err := b.Check(ctx, sql, len(in.header)); err != nil {
			return atHeader(in.headerLine, err)
		}
		fields, args := make([]string, len(in.header)), make([]value.Value, len(in.header))
		for {
			line, err := in.read(fields)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			for i, field := range fields {
				args[i] = value.Null
				if field != "" {
					args[i] = value.Text(field)
				}
			}
			if err := exec(ctx, b, sql, args); err != nil {
				return atLine(line, err)
			}
			rows++
		}
	})
	return rows, err
}

// atHeader is atLine for what is wrong with the first row of a CSV file: the table
// is named elsewhere.
func atHeader(line int, err error) error {
	var known *value.Error
	if errors.As(err, &known) && known.Code == noSuchColumn {
		return atLine(line, err)
	}
	return err
}

// ExportCSV writes the rows of a table or view as CSV, below a row with the names of
// the columns. Null is an empty field, and bytes are hexadecimal.
func ExportCSV(ctx context.Context, d *databases.Databases, name, table string, w io.Writer) (n int64, err error) {
	out := csv.NewWriter(w)
	err = d.Snapshot(ctx, name, func(ctx context.Context, s *databases.Snapshot) error {
		rows, err := s.Select(ctx, "SELECT * FROM "+databases.QuoteIdentifier(table))
		if err != nil {
			return err
		}
		defer rows.Close()
		fields := make([]string, rows.Columns())
		for i := range fields {
			fields[i] = rows.ColumnName(i)
		}
		for {
			if err := writeRow(out, w, fields); err != nil {
				return err
			}
			more, err := rows.Next(ctx)
			if err != nil || !more {
				return err
			}
			n++
			for i := range fields {
				fields[i] = field(rows.Stmt, i)
			}
			if err := rows.Err(); err != nil {
				return err
			}
		}
	})
	out.Flush()
	if err == nil {
		err = out.Error()
	}
	return n, err
}

// writeRow writes a row of CSV. A lone empty field is quoted: else its row would
// be an empty line, which is none.
func writeRow(out *csv.Writer, w io.Writer, fields []string) error {
	if len(fields) != 1 || fields[0] != "" {
		return out.Write(fields)
	}
	out.Flush()
	_, err := io.WriteString(w, "\"\"\n")
	return err
}

// field writes a value for CSV.
func field(s *sqlite.Stmt, i int) string {
	switch s.Kind(i) {
	case lib.SQLITE_INTEGER:
		return strconv.FormatInt(s.Int(i), 10)
	case lib.SQLITE_FLOAT:
		if n, ok := value.Number(s.Float(i)); ok {
			return string(value.AppendNumber(nil, n))
		}
		return real(s.Float(i))
	case lib.SQLITE_TEXT:
		return string(s.Text(i))
	case lib.SQLITE_BLOB:
		return hex.EncodeToString(s.Blob(i))
	}
	return ""
}
