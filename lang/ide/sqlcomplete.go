package ide

import (
	"slices"
	"strings"

	"ql/lang/source"
	"ql/lang/syntax"
)

// tables returns the tables of the database that the cursor's SQL is for.
func (c *completer) tables() []Table {
	if c.account == nil {
		return nil
	}
	return c.account.Tables(c.before.scope(c.expected).database)
}

// maxSQLTail bounds how much SQL behind the cursor is looked at for its tables.
const maxSQLTail = 16 << 10

// sql offers what fits into a statement of SQL: parameters, tables, columns, words.
func (c *completer) sql() {
	switch {
	case strings.HasPrefix(c.typed, "?"):
		c.variables()
		return
	case strings.HasPrefix(c.typed, "!"):
		c.globals(nil)
		return
	}
	before := dropComments(lexSQL(c.src, c.expected.SQL, c.start))
	tail := c.src[:min(len(c.src), int(c.at)+maxSQLTail)]
	behind := dropComments(lexSQL(tail, c.at, source.Pos(len(tail))))
	if end := sqlEnd(tail, behind); end >= 0 {
		behind = behind[:end]
	}
	last := lastToken(before, 1)
	if last.kind == sqlText && c.unclosed(last) {
		return
	}
	sources := tablesAround(before, behind)
	tables := c.tables()
	switch word := upper(last.text); {
	case last.text == "." && lastToken(before, 2).kind == sqlParam:
		c.fields()
		return
	case last.text == ".":
		c.columnsOf(lastToken(before, 2).text, sources, tables)
		return
	case last.kind == sqlWord && (word == "FROM" || word == "JOIN" || word == "INTO" || word == "UPDATE" || word == "TABLE" || word == "REFERENCES"),
		last.text == "," && clauseOf(before) == "FROM":
		c.tableNames(before, tables)
	case word == "SET" && last.kind == sqlWord:
		c.columns(sources, tables)
		for _, w := range []string{"ROW", "VALUE", "FILE"} {
			c.add(Completion{Label: w, Kind: Keyword})
		}
		c.variables()
		return
	default:
		for _, w := range likelySQL(before) {
			c.add(Completion{Label: w, Kind: Keyword})
		}
		c.columns(sources, tables)
		if !completesSQL(last) {
			c.variables()
			for _, w := range sqlOperands {
				c.add(Completion{Label: w, Kind: Keyword})
			}
		}
	}
	for _, w := range sqlWordList {
		c.add(Completion{Label: w, Kind: Keyword})
	}
	c.tableNames(before, tables)
	c.variables()
	c.globals(nil)
	c.ownWords()
}

// likelyBehind are the words that mostly follow a word of SQL, and likelyIn those that follow a value or a
// name in a clause.
var (
	likelyBehind = map[string][]string{
		"INSERT": {"INTO", "OR"}, "REPLACE": {"INTO"}, "DELETE": {"FROM"}, "ORDER": {"BY"}, "GROUP": {"BY"}, "PARTITION": {"BY"},
		"LEFT": {"JOIN", "OUTER"}, "RIGHT": {"JOIN", "OUTER"}, "FULL": {"JOIN", "OUTER"}, "INNER": {"JOIN"}, "CROSS": {"JOIN"}, "OUTER": {"JOIN"}, "NATURAL": {"JOIN"},
		"IS": {"NULL", "NOT"}, "NOT": {"NULL", "IN", "LIKE", "BETWEEN", "EXISTS"}, "UNION": {"ALL", "SELECT"}, "EXCEPT": {"SELECT"}, "INTERSECT": {"SELECT"},
		"CREATE": {"TABLE", "INDEX", "UNIQUE", "VIEW", "TRIGGER"}, "DROP": {"TABLE", "INDEX", "VIEW", "TRIGGER"}, "ALTER": {"TABLE"}, "UNIQUE": {"INDEX"},
		"CONFLICT": {"DO"}, "DO": {"NOTHING", "UPDATE"}, "PRIMARY": {"KEY"}, "FOREIGN": {"KEY"}, "IF": {"NOT", "EXISTS"},
		"ASC": {"LIMIT", "SET"}, "DESC": {"LIMIT", "SET"}, "NULL": {"AND", "OR", "ORDER", "LIMIT", "SET"},
	}
	likelyIn = map[string][]string{
		"SELECT": {"FROM", "AS"},
		"FROM":   {"WHERE", "JOIN", "LEFT", "ORDER", "GROUP", "LIMIT", "AS", "SET"},
		"INTO":   {"VALUES", "SELECT", "DEFAULT"},
		"UPDATE": {"SET"},
		"WHERE":  {"AND", "OR", "IN", "LIKE", "IS", "NOT", "BETWEEN", "ORDER", "GROUP", "LIMIT", "SET"},
		"ON":     {"AND", "OR", "JOIN", "LEFT", "WHERE", "ORDER", "GROUP", "LIMIT", "SET"},
		"HAVING": {"AND", "OR", "ORDER", "LIMIT", "SET"},
		"GROUP":  {"HAVING", "ORDER", "LIMIT", "SET"},
		"ORDER":  {"ASC", "DESC", "LIMIT", "SET"},
		"LIMIT":  {"OFFSET", "SET"},
		"SET":    {"WHERE", "RETURNING"},
		"VALUES": {"ON", "RETURNING", "SET"},
	}
)

// sqlOperands are the words that a value of SQL mostly starts with.
var sqlOperands = []string{"DISTINCT", "COUNT", "SUM", "MIN", "MAX", "AVG", "COALESCE", "CASE", "NOT", "NULL", "EXISTS"}

// likelySQL returns the words that mostly follow the tokens.
func likelySQL(before []sqlToken) []string {
	last := lastToken(before, 1)
	if last.kind == sqlWord {
		if words := likelyBehind[upper(last.text)]; words != nil {
			return words
		}
	}
	if !completesSQL(last) {
		return nil
	}
	clause := clauseOf(before)
	if clause == "FROM" && upper(lastToken(before, 2).text) == "JOIN" {
		return append([]string{"ON"}, likelyIn[clause]...)
	}
	return likelyIn[clause]
}

// completesSQL says whether a value or a name may end with the token.
func completesSQL(t sqlToken) bool {
	return t.kind == sqlWord && !sqlWords[upper(t.text)] || t.kind == sqlQuoted || t.kind == sqlText || t.kind == sqlNumber || t.kind == sqlParam ||
		t.text == ")" || t.text == "*"
}

var sqlWordList = func() []string {
	var out []string
	for w := range sqlWords {
		out = append(out, w)
	}
	slices.Sort(out)
	return out
}()

// unclosed says whether a text of SQL has no end before the cursor.
func (c *completer) unclosed(t sqlToken) bool {
	return t.Stop == c.start && (t.Stop-t.Start < 2 || c.src[t.Stop-1] != c.src[t.Start])
}

// lastToken returns the token so many places from the end; an empty one beyond.
func lastToken(tokens []sqlToken, n int) sqlToken {
	if len(tokens) < n {
		return sqlToken{kind: sqlOther}
	}
	return tokens[len(tokens)-n]
}

func dropComments(tokens []sqlToken) []sqlToken {
	return slices.DeleteFunc(tokens, func(t sqlToken) bool { return t.kind == sqlComment })
}

// sqlEnd returns the number of the token that ends the statement: a ; or SET with a
// parameter, or a word at the start of a line that starts a statement. -1 without one.
func sqlEnd(text string, tokens []sqlToken) int {
	for i, t := range tokens {
		if t.text == ";" {
			return i
		}
		if t.kind != sqlWord {
			continue
		}
		if upper(t.text) == "SET" && i+1 < len(tokens) && tokens[i+1].kind == sqlParam {
			return i
		}
		lineStart := strings.TrimRight(text[:t.Start], " \t")
		if strings.HasSuffix(lineStart, "\n") && slices.Contains(syntax.Verbs(), upper(t.text)) && !slices.Contains(syntax.SQLHeads(), upper(t.text)) && upper(t.text) != "SET" {
			return i
		}
	}
	return -1
}

// tableRef is a table that a FROM or its like names, and what it is called there.
type tableRef struct{ table, alias string }

// tablesAround returns the tables of the query around the cursor, and behind them those
// of the queries around that.
func tablesAround(before, behind []sqlToken) []tableRef {
	tokens := slices.Concat(before, behind)
	at := len(before)
	var out []tableRef
	from, to := at, at
	for {
		from = groupStart(tokens, from)
		to = groupEnd(tokens, to)
		out = append(out, refsOf(tokens[from:to])...)
		if from == 0 {
			return out
		}
		from--
		if to < len(tokens) {
			to++
		}
	}
}

// groupStart returns where the brackets around the token start, behind the opening one.
func groupStart(tokens []sqlToken, at int) int {
	depth := 0
	for i := at - 1; i >= 0; i-- {
		switch tokens[i].text {
		case ")":
			depth++
		case "(":
			if depth == 0 {
				return i + 1
			}
			depth--
		}
	}
	return 0
}

// groupEnd returns where they end.
func groupEnd(tokens []sqlToken, at int) int {
	depth := 0
	for i := at; i < len(tokens); i++ {
		switch tokens[i].text {
		case "(":
			depth++
		case ")":
			if depth == 0 {
				return i
			}
			depth--
		}
	}
	return len(tokens)
}

// refsOf returns the tables that a group of tokens names outside of inner brackets.
func refsOf(tokens []sqlToken) []tableRef {
	var out []tableRef
	depth, inFrom := 0, false
	for i := 0; i < len(tokens); i++ {
		t := tokens[i]
		switch t.text {
		case "(":
			depth++
			continue
		case ")":
			depth--
			continue
		}
		if depth > 0 {
			continue
		}
		starts := inFrom && t.text == ","
		if t.kind == sqlWord {
			switch upper(t.text) {
			case "FROM":
				starts, inFrom = true, true
			case "JOIN", "INTO", "UPDATE":
				starts = true
			case "WHERE", "GROUP", "ORDER", "HAVING", "LIMIT", "SET", "VALUES", "UNION", "SELECT", "ON":
				inFrom = false
			}
		}
		if !starts {
			continue
		}
		if ref, ok := refAt(tokens, i+1); ok {
			out = append(out, ref)
		}
	}
	return out
}

// refAt reads name [AS] [alias] at a token.
func refAt(tokens []sqlToken, i int) (tableRef, bool) {
	if i >= len(tokens) || tokens[i].kind != sqlWord && tokens[i].kind != sqlQuoted {
		return tableRef{}, false
	}
	ref := tableRef{table: tokens[i].text, alias: tokens[i].text}
	if i+1 < len(tokens) && tokens[i+1].kind == sqlWord && upper(tokens[i+1].text) == "AS" {
		i++
	}
	if i+1 < len(tokens) && (tokens[i+1].kind == sqlWord && !sqlWords[upper(tokens[i+1].text)] || tokens[i+1].kind == sqlQuoted) {
		ref.alias = tokens[i+1].text
	}
	return ref, true
}

// clauseOf returns the clause of the query that its end stands in.
func clauseOf(tokens []sqlToken) string {
	clause := ""
	for _, t := range tokens[groupStart(tokens, len(tokens)):] {
		if t.kind != sqlWord {
			continue
		}
		switch w := upper(t.text); w {
		case "SELECT", "FROM", "WHERE", "GROUP", "ORDER", "HAVING", "LIMIT", "SET", "VALUES", "ON", "RETURNING", "INTO", "UPDATE":
			clause = w
		}
	}
	return clause
}

func findTable(tables []Table, name string) *Table {
	for i := range tables {
		if strings.EqualFold(tables[i].Name, name) {
			return &tables[i]
		}
	}
	return nil
}

// columnsOf offers the columns of the table that a query calls so.
func (c *completer) columnsOf(alias string, sources []tableRef, tables []Table) {
	for _, s := range sources {
		if strings.EqualFold(s.alias, alias) || strings.EqualFold(s.table, alias) {
			c.tableColumns(findTable(tables, s.table))
			return
		}
	}
	c.tableColumns(findTable(tables, alias))
}

func (c *completer) tableColumns(t *Table) {
	if t == nil {
		return
	}
	for _, col := range t.Columns {
		c.add(Completion{Label: col.Name, Kind: ColumnOf, Detail: strings.TrimSpace(t.Name + " " + col.Type)})
	}
}

// columns offers those of all tables of the query, and what the tables are called. As
// long as it names none, any column may be meant.
func (c *completer) columns(sources []tableRef, tables []Table) {
	if len(sources) == 0 {
		for i := range tables {
			c.tableColumns(&tables[i])
		}
	}
	for _, s := range sources {
		c.tableColumns(findTable(tables, s.table))
	}
	for _, s := range sources {
		c.add(Completion{Label: s.alias, Kind: TableOf, Detail: s.table})
	}
}

// tableNames offers the tables, and those that a WITH makes.
func (c *completer) tableNames(before []sqlToken, tables []Table) {
	for i := 2; i < len(before); i++ {
		if before[i].text == "(" && upper(before[i-1].text) == "AS" && before[i-2].kind == sqlWord {
			c.add(Completion{Label: before[i-2].text, Kind: TableOf})
		}
	}
	for _, t := range tables {
		var names []string
		for _, col := range t.Columns {
			names = append(names, col.Name)
		}
		c.add(Completion{Label: t.Name, Kind: TableOf, Detail: strings.Join(names, ", ")})
	}
}

// ownWords offers the names that the text's own SQL uses: tables that it makes, and
// their columns.
func (c *completer) ownWords() {
	for _, s := range c.before.sql {
		if c.full() {
			return
		}
		eachSQL(c.src, s.Start, s.Stop, func(t sqlToken) {
			if t.kind == sqlWord && c.fits(t.text) && !sqlWords[upper(t.text)] {
				c.add(Completion{Label: t.text, Kind: ColumnOf})
			}
		})
	}
}
