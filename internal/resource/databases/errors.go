package databases

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ql/internal/fault"
	"ql/internal/sqlite"
	"ql/lang/value"

	lib "modernc.org/sqlite/lib"
)

// Codes that stand in more than one place.
const (
	sqlError      = "sql_error"
	sqlDenied     = "sql_denied"
	limitExceeded = "limit_exceeded"
	quotaExceeded = "quota_exceeded"
	notText       = "not_text"
	noSuchColumn  = "no_such_column"
)

// retryAfter is when one may try again to use a disk that cannot be used.
const retryAfter = 5 * time.Second

// unavailable gives the errors of a disk that is full or broken a code.
func unavailable(err error) error {
	var e *sqlite.Error
	var system *fs.PathError
	switch {
	case errors.As(err, &system):
	case errors.As(err, &e) && e.Code == lib.SQLITE_IOERR_FSYNC:
		// It may stand in the journal all the same, and be found by whoever opens it next.
		return fault.New(fault.OutcomeUnknown, "the storage failed while a database was changed: whether it is done is not known; look before you repeat it").WithCause(err)
	case errors.As(err, &e):
		switch e.Primary() {
		case lib.SQLITE_FULL, lib.SQLITE_IOERR, lib.SQLITE_CANTOPEN, lib.SQLITE_READONLY:
		default:
			return err
		}
	default:
		return err
	}
	return fault.Retryable(fault.StorageUnavailable, retryAfter, "the storage cannot be used at the moment").WithCause(err)
}

// isUnreadable reports whether an error says that a database's file is none that anybody can read.
func isUnreadable(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && (e.Primary() == lib.SQLITE_CORRUPT || e.Primary() == lib.SQLITE_NOTADB)
}

// probeBytes is how much a disk must take that is not full.
const probeBytes = 16 * pageSize

// full explains SQLITE_FULL, which says both that the disk is full and that the
// database has all the pages it may have: it tries whether the disk takes more.
func (c *conn) full(err error) error {
	if probe := tryDisk(filepath.Dir(c.path)); probe != nil {
		return unavailable(fmt.Errorf("database %s: %w", c.name, errors.Join(err, probe)))
	}
	switch {
	case c.bounds.Bytes > 0:
		return storageFull(c.name, c.bounds)
	case c.options.MaxBytes == math.MaxInt64: // nothing bounds it but the disk, which has room again by now
		return unavailable(fmt.Errorf("database %s: %w", c.name, err))
	}
	return value.Errorf("database_full", "the database %s is full: it may hold %s", value.Quote(c.name), value.FormatSize(c.options.MaxBytes))
}

// malformed takes SQLite's message about a definition that it cannot read again apart.
func malformed(message string) (name, near string, ok bool) {
	rest, ok := strings.CutPrefix(message, "malformed database schema (")
	if !ok {
		return "", "", false
	}
	name, rest, ok = strings.Cut(rest, ")")
	if near, found := strings.CutPrefix(rest, " - near "); found {
		return name, ", near " + strings.TrimSuffix(near, ": syntax error"), ok
	}
	return name, "", ok
}

// usedUp returns a table of the statement under way whose AUTOINCREMENT has no number left, "" where
// there is none: SQLite says of that, too, that the database is full.
func (c *conn) usedUp() (table string) {
	if c.running == nil {
		return ""
	}
	const at = "SELECT name, EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'trigger' AND instr(lower(sql), lower(q.name)))" +
		" FROM sqlite_sequence q WHERE seq = 9223372036854775807 LIMIT 20"
	sql := c.running.sql
	// Without AUTOINCREMENT there is no such table, and that is an error of no interest.
	_ = c.eachRow(context.Background(), at, func(s *sqlite.Stmt) {
		if name := string(s.Text(0)); table == "" && s.Int(1) != 0 || mentions(sql, name) {
			table = name
		}
	})
	return table
}

// mentions reports whether SQL holds a name.
func mentions(sql, name string) bool {
	name = strings.ToLower(name)
	for other := range names(sql) {
		if other == name {
			return true
		}
	}
	return false
}

func tryDisk(folder string) error {
	f, err := os.CreateTemp(folder, ".probe-")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, probeBytes))
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

// explain turns an error of SQLite into one for the script, in plain words.
// Faults that are none of the script's come back as they are.
func (c *conn) explain(err error) error {
	if err == nil {
		return nil
	}
	if c.budget.over != nil {
		return c.budget.over
	}
	if errors.Is(err, sqlite.ErrMemoryFull) {
		return c.budget.exceeded()
	}
	if errors.Is(err, sqlite.ErrWALFull) {
		return walStorageFull(c.name, c.bounds)
	}
	if errors.Is(err, sqlite.ErrTemporaryFull) {
		return value.Exceeded("sql_temporary", c.options.Temporary, "this SQL statement sorts or collects more than %s on the way: let it look at fewer rows", value.FormatSize(c.options.Temporary))
	}
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	if c.authorizer.denied != "" {
		return value.Errorf(sqlDenied, "%s", c.authorizer.denied)
	}
	if err := overLimit(e.Message); err != nil && e.Primary() == lib.SQLITE_ERROR {
		return err
	}
	switch e.Primary() {
	case lib.SQLITE_CONSTRAINT:
		return constraint(e)
	case lib.SQLITE_ERROR:
		return mistake(e.Message)
	case lib.SQLITE_AUTH:
		return value.Errorf(sqlDenied, "this SQL is not allowed")
	case lib.SQLITE_MISMATCH:
		return value.Errorf(value.WrongKind, "this value does not fit: LIMIT, OFFSET and the number of a row, an INTEGER PRIMARY KEY, take whole numbers")
	case lib.SQLITE_CORRUPT:
		if e.Code == lib.SQLITE_CORRUPT_VTAB {
			return value.Errorf(sqlError, "a full-text index does not fit the texts of its table: INSERT INTO name(name) VALUES ('rebuild') makes it anew")
		}
		if name, near, ok := malformed(e.Message); ok && c.running != nil && c.running.defines {
			return value.Errorf(sqlError, "%s cannot be called so: SQLite keeps this definition and could not read it again%s; write the name in double quotes, or choose another", value.Quote(name), near)
		}
	case lib.SQLITE_FULL:
		if table := c.usedUp(); table != "" {
			return value.Errorf("row_numbers_used", "the table %s has no row numbers left: its AUTOINCREMENT has come to 9223372036854775807, the last one; give the row a number that is free", value.Quote(table))
		}
		return c.full(err)
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return value.Errorf("database_busy", "another program holds the database %s: it was waited for %s", value.Quote(c.name), c.options.Busy)
	case lib.SQLITE_TOOBIG:
		return value.Exceeded("sql_value", MaxValue, "a value in a database has at most %d bytes, and a statement at most %d", MaxValue, MaxSQL)
	case lib.SQLITE_NOMEM:
		return value.Exceeded("sql_instructions", maxInstructions, "this SQL statement is too complex: split it up")
	case lib.SQLITE_READONLY:
		if c.db.ReadOnly() || e.Code != lib.SQLITE_READONLY { // not by what the connection is for
			return unavailable(fmt.Errorf("this process may not write to the database file %s: %w", c.path, err))
		}
		return value.Errorf(sqlDenied, "this SQL is not allowed: it would change what may only be read")
	}
	return unavailable(fmt.Errorf("database %s: %w", c.name, err))
}

// constraint explains what a row broke. SQLite's messages read "UNIQUE
// constraint failed: users.email".
func constraint(e *sqlite.Error) error {
	_, what, _ := strings.Cut(e.Message, "constraint failed: ")
	switch e.Code {
	case lib.SQLITE_CONSTRAINT_UNIQUE, lib.SQLITE_CONSTRAINT_PRIMARYKEY, lib.SQLITE_CONSTRAINT_ROWID:
		if index, ok := strings.CutPrefix(what, "index "); ok {
			return value.Errorf("unique", "the index %s takes each value once, and another row has this one", index)
		}
		table, columns := split(what)
		if len(columns) > 1 {
			return value.Errorf("unique", "%s must be unique together: another row of %s has the same values", strings.Join(columns, " and "), table)
		}
		return value.Errorf("unique", "%s must be unique: another row of %s has the same value", columns[0], table)
	case lib.SQLITE_CONSTRAINT_NOTNULL:
		table, columns := split(what)
		return value.Errorf("not_null", "%s of %s must not be null", strings.Join(columns, " and "), table)
	case lib.SQLITE_CONSTRAINT_FOREIGNKEY:
		return value.Errorf("foreign_key", "a row refers to another that is not there: add that one first, or remove the ones that refer to it first")
	case lib.SQLITE_CONSTRAINT_CHECK:
		return value.Errorf("check_failed", "the row breaks the check %s of its table", value.Quote(what))
	case lib.SQLITE_CONSTRAINT_TRIGGER:
		return value.Errorf("check_failed", "%s", e.Message)
	case lib.SQLITE_CONSTRAINT_DATATYPE:
		return value.Errorf(value.WrongKind, "%s", e.Message)
	}
	return value.Errorf("check_failed", "%s", e.Message)
}

// split takes "users.email, users.name" apart.
func split(what string) (table string, columns []string) {
	for _, name := range strings.Split(what, ", ") {
		t, column, ok := strings.Cut(name, ".")
		if !ok {
			t, column = "the table", name
		}
		table = t
		columns = append(columns, column)
	}
	return table, columns
}

// mistake explains SQL that SQLite does not understand.
func mistake(message string) error {
	if table, ok := strings.CutPrefix(message, "no such table: "); ok {
		return value.Errorf("no_such_table", "there is no table %s", value.Quote(strings.TrimPrefix(table, "main.")))
	}
	if column, ok := strings.CutPrefix(message, "no such column: "); ok {
		if quoted, _, ok := strings.Cut(column, " - should this be a string literal"); ok {
			name := strings.Trim(quoted, `"`)
			return value.Errorf(noSuchColumn, "there is no column %s: a text in SQL stands in single quotes, '%s'", value.Quote(name), name)
		}
		return value.Errorf(noSuchColumn, "there is no column %s%s", value.Quote(strings.Trim(column, `"`)), nowHint(column))
	}
	if table, column, ok := strings.Cut(message, " has no column named "); ok {
		return value.Errorf(noSuchColumn, "the table %s has no column %s", value.Quote(strings.TrimPrefix(table, "table ")), value.Quote(column))
	}
	if message == `near "?": syntax error` {
		return value.Errorf(sqlError, "a variable in SQL stands for a value: it cannot be the name of a table or column, or any other part of the SQL")
	}
	if near, ok := strings.CutSuffix(message, ": syntax error"); ok {
		if verb := strings.Trim(strings.TrimPrefix(near, "near "), `"`); sqlVerbs[strings.ToUpper(verb)] {
			return value.Errorf(sqlError, "a syntax error in the SQL %s: if another statement starts there, put ; before %s", near, strings.ToUpper(verb))
		}
		return value.Errorf(sqlError, "a syntax error in the SQL %s", near)
	}
	if name, ok := strings.CutPrefix(message, "no such function: "); ok {
		return value.Errorf(sqlError, "%s%s", message, nowHint(name))
	}
	if message == "incomplete input" {
		return value.Errorf(sqlError, "the SQL statement is not complete")
	}
	return value.Errorf(sqlError, "%s", message)
}

// sqlVerbs are the words with which a statement of SQL starts.
var sqlVerbs = map[string]bool{
	"SELECT": true, "WITH": true, "INSERT": true, "UPDATE": true, "DELETE": true, "CREATE": true, "ALTER": true, "DROP": true,
	"EXPLAIN": true, "REPLACE": true,
}

// nowHint says how SQL comes by this moment where it asked for NOW, which is a
// function of the language and not of the database.
func nowHint(name string) string {
	if !strings.EqualFold(name, "NOW") {
		return ""
	}
	return ": NOW() is no SQL; write SET ?now AS NOW() before the SQL and ?now in it"
}
