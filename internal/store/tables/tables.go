// Package tables is the store as its engine sees it: tables, columns and rows, whatever they mean. It is
// for who copies all of them from one engine to another, and for nobody else.
package tables

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Kind is what a column holds.
type Kind int

// The kinds.
const (
	Int Kind = iota + 1
	Text
	Bytes
)

// Column is a column of a table.
type Column struct {
	Name string
	Kind Kind
	// Computed says that the engine makes it of others: it is read, and never written.
	Computed bool
	// Clean says that it takes neither U+0000 nor what is no UTF-8.
	Clean bool
}

// Table is a table.
type Table struct {
	Name    string
	Columns []Column
	Key     []string // the columns of its primary key
	// Number is the column whose numbers the engine gives; "" for none. Where it remembers the last one, none is
	// given again after its row is gone.
	Number    string
	Remembers bool
	RefersTo  []string // tables whose rows must be there first
}

// Column returns a column by its name.
func (t *Table) Column(name string) (Column, bool) {
	i := slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == name })
	if i < 0 {
		return Column{}, false
	}
	return t.Columns[i], true
}

// Value is what a column of a row holds. Its bytes are valid while the row is.
type Value struct {
	Null  bool
	Int   int64  // of an Int
	Bytes []byte // of another
}

// Access is a connection to a store that reads and writes its tables. One goroutine uses it. A statement has
// parameters as SQLite has them: an int64, a string or bytes.
type Access interface {
	// Tables returns all tables, each behind those that it refers to.
	Tables() []Table
	// Rows calls f with all rows of a table, in the order of its key: with the columns that are asked for. A row
	// is valid during the call.
	Rows(ctx context.Context, t *Table, columns []Column, f func([]Value) error) error
	// Select calls f with the rows that a statement gives, whose columns are of these kinds. A row is valid during the call.
	Select(ctx context.Context, sql string, args []any, kinds []Kind, f func([]Value) error) error
	// Insert inserts rows.
	Insert(ctx context.Context, t *Table, columns []Column, rows [][]Value) error
	// Exec runs a statement and returns how many rows it changed.
	Exec(ctx context.Context, sql string, args ...any) (int64, error)

	// Lock begins a transaction in which nobody else changes the tables.
	Lock(ctx context.Context, tables []Table) error
	// Do runs f in a transaction of its own.
	Do(ctx context.Context, f func() error) error
	// Commit ends what Lock began, with its changes.
	Commit(ctx context.Context) error

	// Next returns the number that the next row of a table gets that has numbers; SetNext has it get that.
	Next(ctx context.Context, t *Table) (int64, error)
	SetNext(ctx context.Context, t *Table, next int64) error

	// Size returns about how many bytes the tables take.
	Size(ctx context.Context) (int64, error)
	Close() error
}

// Sort brings tables into an order in which each stands behind those that it refers to.
func Sort(list []Table) ([]Table, error) {
	slices.SortFunc(list, func(a, b Table) int { return cmp.Compare(a.Name, b.Name) })
	sorted, placed := make([]Table, 0, len(list)), map[string]bool{}
	for len(sorted) < len(list) {
		before := len(sorted)
		for _, t := range list {
			if placed[t.Name] || slices.ContainsFunc(t.RefersTo, func(name string) bool { return name != t.Name && !placed[name] }) {
				continue
			}
			placed[t.Name] = true
			sorted = append(sorted, t)
		}
		if len(sorted) == before {
			return nil, fmt.Errorf("tables refer to each other in a circle: %d of %d can be ordered", before, len(list))
		}
	}
	return sorted, nil
}

// Quote writes a name in a statement.
func Quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// Names are the names of columns in a statement.
func Names(columns []Column) string {
	quoted := make([]string, len(columns))
	for i, c := range columns {
		quoted[i] = Quote(c.Name)
	}
	return strings.Join(quoted, ", ")
}

// SelectAll is the statement that gives the rows of a table in the order of its key.
func SelectAll(t *Table, columns []Column) string {
	key := make([]string, len(t.Key))
	for i, name := range t.Key {
		key[i] = Quote(name)
	}
	return "SELECT " + Names(columns) + " FROM " + Quote(t.Name) + " ORDER BY " + strings.Join(key, ", ")
}

const replacement = "\uFFFD"

// Clean returns a text as a column keeps it that takes neither U+0000 nor what is no UTF-8.
func Clean(text []byte) []byte {
	if utf8.Valid(text) && !slices.Contains(text, 0) {
		return text
	}
	return []byte(strings.ReplaceAll(strings.ToValidUTF8(string(text), replacement), "\x00", replacement))
}
