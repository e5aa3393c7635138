package databases

import (
	"context"
	"strings"

	"ql/internal/sqlite"
	"ql/lang/value"
)

// maxViews is how many views a statement may come to, those of views and of
// triggers among them. One of several SELECTs counts as so many. SQLite puts a
// copy of each in its place before it looks at anything else, and nothing ends
// that: views that each name another twice double with each one.
const maxViews = 1_000

// maxDefinitions is how many bytes the definitions of a database may have together.
// Each connection holds them in memory, at several times that, while it is open.
const maxDefinitions = 1 << 20

// views are the views of a database, as a connection last saw them.
type views struct {
	version  int64          // of the definitions
	sizes    map[string]int // how many views each comes to, itself among them
	triggers int            // how many all triggers come to
	defined  int64          // bytes of all definitions
	fullText int            // how many full-text tables there are
}

// checkViews refuses a statement that comes to too many views, or to too large
// definitions.
func (c *conn) checkViews(ctx context.Context, sql string) error {
	version, err := c.schemaVersion(ctx)
	if err != nil {
		return err
	}
	if c.views.sizes == nil || c.views.version != version {
		if c.views, err = c.loadViews(ctx, version); err != nil {
			return err
		}
	}
	switch firstName(sql) {
	case "create", "alter":
		if c.views.defined+int64(len(sql)) > maxDefinitions {
			return value.Exceeded("sql_definitions", maxDefinitions, "the tables, views, indexes and triggers of this database would have definitions of more than %s together: drop some, or use a further database", value.FormatSize(maxDefinitions))
		}
	}
	if c.views.fullText >= maxFullText && definesVirtual(sql) {
		return value.Exceeded("sql_fulltext", maxFullText, "a database has at most %d full-text tables: use a further database, or one table for several kinds of texts", maxFullText)
	}
	if len(c.views.sizes) == 0 {
		return nil
	}
	n := c.views.count(sql)
	switch firstName(sql) {
	case "drop":
		return nil // it only takes them away
	case "select", "values":
	default:
		n += c.views.triggers
	}
	if n > maxViews {
		return value.Exceeded("sql_views", maxViews, "this SQL statement comes to more than %d views, with the views that they are made of: name fewer of them, or keep in a table what one gives", maxViews)
	}
	return nil
}

func (c *conn) schemaVersion(ctx context.Context) (version int64, err error) {
	err = c.execInternal(ctx, "PRAGMA schema_version", func(s *sqlite.Stmt) { version = s.Int(0) })
	return version, err
}

func (c *conn) loadViews(ctx context.Context, version int64) (views, error) {
	texts := map[string]string{}
	var triggers []string
	err := c.execInternal(ctx, "SELECT type, name, sql FROM sqlite_schema WHERE type IN ('view', 'trigger')", func(s *sqlite.Stmt) {
		if string(s.Text(0)) == "view" {
			texts[strings.ToLower(string(s.Text(1)))] = string(s.Text(2))
		} else {
			triggers = append(triggers, string(s.Text(2)))
		}
	})
	v := views{version: version, sizes: map[string]int{}}
	if err == nil {
		err = c.execInternal(ctx, "SELECT sum(octet_length(sql)) FROM sqlite_schema", func(s *sqlite.Stmt) { v.defined = s.Int(0) })
	}
	if err == nil {
		var virtual []string
		virtual, err = c.virtualTables(ctx)
		v.fullText = len(virtual)
	}
	for name := range texts {
		v.measure(name, texts)
	}
	for _, text := range triggers {
		v.triggers = min(v.triggers+v.count(text), maxViews+1)
	}
	return v, err
}

// measure finds out how many views a view comes to.
func (v *views) measure(name string, texts map[string]string) int {
	if size, ok := v.sizes[name]; ok {
		return size
	}
	v.sizes[name] = 1 // one that names itself is refused by SQLite
	size := 0         // its text names the view itself
	for other := range names(texts[name]) {
		switch _, ok := texts[other]; {
		case size > maxViews+1:
		case ok:
			size += v.measure(other, texts)
		case other == "select":
			size++
		}
	}
	v.sizes[name] = max(size-1, 1)
	return v.sizes[name]
}

// count returns how many views a text comes to, or more than maxViews.
func (v *views) count(sql string) int {
	n := 0
	for name := range names(sql) {
		n = min(n+v.sizes[name], maxViews+1)
	}
	return n
}

// definesVirtual reports whether SQL makes a virtual table.
func definesVirtual(sql string) bool {
	first := ""
	for name := range names(sql) {
		if first != "" {
			return first == "create" && name == "virtual"
		}
		first = name
	}
	return false
}
