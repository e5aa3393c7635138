package transfer

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"ql/internal/resource/databases"
	"ql/internal/sqlite"
	"ql/lang/value"

	lib "modernc.org/sqlite/lib"
)

// maxSQL bounds one statement of an import. It is more than a script's may have: a
// row stands in it with its values, bytes in two digits each.
const maxSQL = 16 << 20

// ImportSQL runs a text of SQL, such as ExportSQL writes, on a database, which is
// made where it is missing: statement by statement, each allowed as a script's would
// be, and all in one transaction. It returns how many there were, without those that
// only surround the others. A database that it would have made is not there after an
// error.
func ImportSQL(ctx context.Context, d *databases.Databases, name string, r io.Reader) (n int64, err error) {
	text, err := textReader(r)
	if err != nil {
		return 0, err
	}
	err = d.Batch(ctx, name, databases.BatchOptions{Create: true, MaxSQL: maxSQL}, func(b *databases.Batch) error {
		all := newStatements(text, maxSQL)
		begun := 0 // the line of the BEGIN that nothing has ended yet
		for {
			sql, err := all.next()
			if errors.Is(err, io.EOF) && begun > 0 {
				return atLine(begun, value.Errorf(sqlError, "BEGIN starts a transaction that nothing ends: the file is cut off, or COMMIT is missing; nothing of it is kept"))
			}
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err == nil && isFrame(all.words) {
				switch all.words[0] {
				case "BEGIN":
					begun = all.start
				case "COMMIT", "END":
					begun = 0
				}
				continue
			}
			if err == nil {
				err = refuseInImport(all.words)
			}
			if err == nil {
				err = exec(ctx, b, sql, nil)
			}
			if err != nil {
				return atLine(all.start, err)
			}
			n++
		}
	})
	return n, err
}

// isFrame reports whether a statement only surrounds those of a whole database:
// the import has a transaction of its own, and looks at references at its end.
func isFrame(words []string) bool {
	switch words[0] {
	case "BEGIN", "COMMIT", "END":
		return true
	case "PRAGMA":
		return len(words) == 4 && words[1] == "FOREIGN_KEYS" && (words[3] == "OFF" || words[3] == "ON")
	}
	return false
}

func refuseInImport(words []string) error {
	switch words[0] {
	case "ROLLBACK", "SAVEPOINT", "RELEASE":
		return value.Errorf(sqlDenied, "%s is not allowed in an import, which is one transaction: all of it is kept, or nothing", words[0])
	}
	return nil
}

// ExportSQL writes a database as SQL that makes it anew: tables and their rows, then
// indexes, triggers and views. It is as it is at one moment.
func ExportSQL(ctx context.Context, d *databases.Databases, name string, w io.Writer) error {
	out := bufio.NewWriter(w)
	err := d.Snapshot(ctx, name, func(ctx context.Context, s *databases.Snapshot) error {
		objects, err := s.Objects(ctx)
		if err != nil {
			return err
		}
		fmt.Fprint(out, "PRAGMA foreign_keys=OFF;\nBEGIN;\n")
		for _, o := range objects {
			if o.Kind != "table" {
				continue
			}
			fmt.Fprintf(out, "%s;\n", o.SQL)
			if err := exportTable(ctx, out, s, o); err != nil {
				return err
			}
		}
		if err := exportSequences(ctx, out, s); err != nil {
			return err
		}
		for _, o := range objects {
			if o.Kind != "table" && o.SQL != "" {
				fmt.Fprintf(out, "%s;\n", o.SQL)
			}
		}
		for _, o := range objects {
			if o.External { // of texts that are all here by now
				name := databases.QuoteIdentifier(o.Name)
				fmt.Fprintf(out, "INSERT INTO %s(%s) VALUES('rebuild');\n", name, name)
			}
		}
		_, err = fmt.Fprint(out, "COMMIT;\n")
		return err
	})
	if err != nil {
		return err
	}
	return out.Flush()
}

// exportTable writes what is in a table. A full-text table has settings; its rows have their numbers,
// by which others refer to them, unless they are another table's.
func exportTable(ctx context.Context, out *bufio.Writer, s *databases.Snapshot, o databases.Object) error {
	if !o.FullText {
		return exportRows(ctx, out, s, o.Name)
	}
	if err := exportSettings(ctx, out, s, o.Name); err != nil || o.External {
		return err
	}
	return exportRows(ctx, out, s, o.Name, "rowid")
}

// exportSettings writes how a full-text table ranks and keeps its index.
func exportSettings(ctx context.Context, out *bufio.Writer, s *databases.Snapshot, table string) error {
	rows, err := s.Select(ctx, "SELECT k, v FROM "+databases.QuoteIdentifier(table+"_config")+" WHERE k <> 'version' ORDER BY k")
	if err != nil {
		return err
	}
	defer rows.Close()
	name := databases.QuoteIdentifier(table)
	for {
		more, err := rows.Next(ctx)
		if err != nil || !more {
			return err
		}
		fmt.Fprintf(out, "INSERT INTO %s(%s,rank) VALUES(%s,%s);\n", name, name, literal(rows.Stmt, 0), literal(rows.Stmt, 1))
	}
}

// exportRows writes one INSERT for each row, with some columns more than its table shows.
func exportRows(ctx context.Context, out *bufio.Writer, s *databases.Snapshot, table string, more ...string) error {
	names, rows, err := s.Table(ctx, table, more...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for i, name := range names {
		names[i] = databases.QuoteIdentifier(name)
	}
	columns := strings.Join(names, ",")
	for {
		more, err := rows.Next(ctx)
		if err != nil || !more {
			return err
		}
		values := make([]string, len(names))
		for i := range values {
			values[i] = literal(rows.Stmt, i)
		}
		if err := rows.Err(); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "INSERT INTO %s(%s) VALUES(%s);\n", databases.QuoteIdentifier(table), columns, strings.Join(values, ",")); err != nil {
			return err
		}
	}
}

// exportSequences writes how far AUTOINCREMENT has come.
func exportSequences(ctx context.Context, out *bufio.Writer, s *databases.Snapshot) error {
	found, err := s.HasTable(ctx, "sqlite_sequence")
	if err != nil || !found {
		return err
	}
	fmt.Fprint(out, "DELETE FROM sqlite_sequence;\n")
	rows, err := s.Select(ctx, "SELECT name, seq FROM sqlite_sequence ORDER BY name")
	if err != nil {
		return err
	}
	defer rows.Close()
	for {
		more, err := rows.Next(ctx)
		if err != nil || !more {
			return err
		}
		fmt.Fprintf(out, "INSERT INTO sqlite_sequence(name,seq) VALUES(%s,%s);\n", literal(rows.Stmt, 0), literal(rows.Stmt, 1))
	}
}

// literal writes a value as SQL has it, exactly.
func literal(s *sqlite.Stmt, i int) string {
	switch s.Kind(i) {
	case lib.SQLITE_INTEGER:
		n := s.Int(i)
		if n == math.MinInt64 {
			return "-9223372036854775807-1" // its digits alone are no integer
		}
		return strconv.FormatInt(n, 10)
	case lib.SQLITE_FLOAT:
		return real(s.Float(i))
	case lib.SQLITE_TEXT:
		text := s.Text(i)
		if !utf8.Valid(text) || strings.IndexByte(string(text), 0) >= 0 {
			return "CAST(X'" + hex.EncodeToString(text) + "' AS TEXT)"
		}
		return "'" + strings.ReplaceAll(string(text), "'", "''") + "'"
	case lib.SQLITE_BLOB:
		return "X'" + hex.EncodeToString(s.Blob(i)) + "'"
	}
	return "NULL"
}

// real writes a number so that it is read as the same one, and not as an integer.
func real(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "9e999"
	case math.IsInf(f, -1):
		return "-9e999"
	}
	text := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text
}
