package databases

import (
	"context"
	"encoding/json"
	"strings"

	"ql/internal/sqlite"
	"ql/lang/value"
)

// Full-text tables are those of SQLite's module FTS5. Each keeps its index in shadow tables, which SQL
// may read and, since connections are defensive, never write: what is in them is the module's own
// writing, and no script can make it something that the module would stumble over.

// maxFullText is how many full-text tables a database may have. A connection holds prepared statements
// and a part of the index of each that it has used.
const maxFullText = 20

const virtualReason = "virtual tables are not allowed but for full-text search: CREATE VIRTUAL TABLE … USING fts5(…)"

const contentlessReason = "a full-text table has its texts, or says in content='…' which table has them: one with content='' could neither show nor export what it finds"

// virtualPrefix starts the definition of a virtual table as SQLite keeps it.
const virtualPrefix = "CREATE VIRTUAL TABLE "

// shadowSuffixes end the names of what a full-text table keeps its index in.
var shadowSuffixes = []string{"_data", "_idx", "_content", "_docsize", "_config"}

// shadows returns the names of what belongs to the full-text tables among some.
func shadows(virtual []string) map[string]bool {
	names := map[string]bool{}
	for _, table := range virtual {
		for _, suffix := range shadowSuffixes {
			names[strings.ToLower(table)+suffix] = true
		}
	}
	return names
}

// virtualTables returns the names of the database's full-text tables.
func (c *conn) virtualTables(ctx context.Context) (names []string, err error) {
	err = c.execInternal(ctx, "SELECT name FROM sqlite_schema WHERE type = 'table' AND substr(sql, 1, 21) = '"+virtualPrefix+"'",
		func(s *sqlite.Stmt) { names = append(names, string(s.Text(0))) })
	return names, err
}

// shadowList returns what belongs to the full-text tables, as a list of JSON.
func (c *conn) shadowList(ctx context.Context) ([]byte, error) {
	virtual, err := c.virtualTables(ctx)
	if err != nil {
		return nil, err
	}
	list := []string{}
	for name := range shadows(virtual) {
		list = append(list, name)
	}
	return json.Marshal(list)
}

// checkFullText refuses the definition of a full-text table that could not be exported.
func checkFullText(sql string) error {
	if content, given := fullTextContent(sql); given && content == "" {
		return value.Errorf(sqlDenied, contentlessReason)
	}
	return nil
}

// fullTextContent returns where the texts of a full-text table are, by its definition: in itself,
// where that is not given. FTS5 takes the word content in any case, and shortened.
func fullTextContent(sql string) (table string, given bool) {
	for _, argument := range moduleArguments(sql) {
		key, rest := gobbleWord(argument)
		rest = strings.TrimSpace(rest)
		if !strings.HasPrefix(rest, "=") || key == "" || !strings.HasPrefix("content", strings.ToLower(key)) {
			continue
		}
		table, _ = gobbleWord(strings.TrimSpace(rest[1:]))
		return table, true
	}
	return "", false
}

// moduleArguments returns what stands in the brackets of a CREATE VIRTUAL TABLE, taken apart at its
// commas.
func moduleArguments(sql string) (list []string) {
	depth, start := 0, 0
	for i := 0; i < len(sql); {
		length := 1
		switch c := sql[i]; {
		case strings.HasPrefix(sql[i:], "--"):
			length = lengthTo(sql[i:], "\n")
		case strings.HasPrefix(sql[i:], "/*"):
			length = 2 + lengthTo(sql[i+2:], "*/")
		case c == '\'' || c == '"' || c == '`':
			_, length = quotedName(sql[i:], c)
		case c == '[':
			length = lengthTo(sql[i:], "]")
		case c == '(':
			if depth++; depth == 1 {
				start = i + 1
			}
		case c == ')':
			if depth--; depth == 0 {
				return append(list, strings.TrimSpace(sql[start:i]))
			}
		case c == ',' && depth == 1:
			list = append(list, strings.TrimSpace(sql[start:i]))
			start = i + 1
		}
		i += length
	}
	return list
}

// gobbleWord takes the first word of a text, without its quotes.
func gobbleWord(text string) (word, rest string) {
	if text == "" {
		return "", ""
	}
	switch c := text[0]; c {
	case '\'', '"', '`':
		word, n := quotedName(text, c)
		return word, text[n:]
	case '[':
		n := lengthTo(text, "]")
		return strings.TrimSuffix(text[1:n], "]"), text[n:]
	}
	n := 0
	for n < len(text) && isWord(text[n]) {
		n++
	}
	return text[:n], text[n:]
}
