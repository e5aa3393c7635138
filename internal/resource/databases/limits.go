package databases

import (
	"strings"

	"ql/internal/sqlite"
	"ql/lang/value"

	lib "modernc.org/sqlite/lib"
)

// What one statement may use.
const (
	// MaxValue is the most bytes of a value. It is the real guard of the time that a
	// single function may take, which no context ends.
	MaxValue = 1_000_000
	// MaxSQL is the most bytes of a statement.
	MaxSQL = 100_000
	// MaxColumns is the most columns of a table, an index or a result.
	MaxColumns  = 100
	maxParams   = 1_000
	maxArgBytes = 8_000_000 // of all parameters together: SQLite holds a copy
	maxRows     = 100_000
	maxDepth    = 100 // of an expression
	maxSelects  = 20  // that UNION and the like put together
	// maxInstructions bounds what a statement is compiled to. SQLite says that it
	// has no memory where that is longer.
	maxInstructions = 25_000
	maxArguments    = 32 // of a function
	maxPattern      = 200
	maxTriggers     = 10 // that set off one another
	// These two are the library's own.
	maxTables = 64
	maxFrom   = 200
)

var limits = map[int]int{
	lib.SQLITE_LIMIT_LENGTH:              MaxValue,
	lib.SQLITE_LIMIT_SQL_LENGTH:          MaxSQL,
	lib.SQLITE_LIMIT_COLUMN:              MaxColumns,
	lib.SQLITE_LIMIT_EXPR_DEPTH:          maxDepth,
	lib.SQLITE_LIMIT_COMPOUND_SELECT:     maxSelects,
	lib.SQLITE_LIMIT_VDBE_OP:             maxInstructions,
	lib.SQLITE_LIMIT_FUNCTION_ARG:        maxArguments,
	lib.SQLITE_LIMIT_ATTACHED:            0,
	lib.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: maxPattern,
	lib.SQLITE_LIMIT_VARIABLE_NUMBER:     maxParams,
	lib.SQLITE_LIMIT_TRIGGER_DEPTH:       maxTriggers,
	lib.SQLITE_LIMIT_WORKER_THREADS:      0,
}

// sqliteLimits are the limits that SQLite has a message for, by how it starts. The
// first that fits counts.
var sqliteLimits = []struct {
	theirs string
	name   string
	most   int64
	ours   string
}{
	{"too many terms in compound SELECT", "sql_selects", maxSelects, "UNION, INTERSECT and EXCEPT put at most %d SELECTs together: split the statement up, or give several rows with one VALUES"},
	{"Expression tree is too large", "sql_depth", maxDepth, "an expression in SQL is at most %d levels deep: compare with a list by IN (?list), or split the statement up"},
	{"VIEWs and/or subqueries nested too deep", "sql_depth", maxDepth, "queries in SQL stand at most %d levels deep inside one another: split the statement up"},
	{"Recursion limit", "sql_depth", maxDepth, "brackets in SQL stand at most %d levels deep inside one another: split the statement up"},
	{"parser stack overflow", "sql_depth", maxDepth, "brackets in SQL stand at most %d levels deep inside one another: split the statement up"},
	{"too many columns", "sql_columns", MaxColumns, "a table, an index and a result have at most %d columns"},
	{"too many terms in", "sql_columns", MaxColumns, "ORDER BY and GROUP BY take at most %d terms"},
	{"too many arguments on", "sql_arguments", maxArguments, "a function in SQL takes at most %d arguments"},
	{"LIKE or GLOB pattern too complex", "sql_pattern", maxPattern, "a pattern of LIKE or GLOB has at most %d bytes"},
	{"too many SQL variables", "sql_params", maxParams, "one SQL statement takes at most %d values"},
	{"too many levels of trigger recursion", "sql_triggers", maxTriggers, "triggers set off others at most %d levels deep"},
	{"triggers nested too deep", "sql_triggers", maxTriggers, "triggers set off others at most %d levels deep"},
	{sqlite.FullTextQueryTooLong, "sql_pattern", maxPattern, "what MATCH looks for has at most %d bytes"},
	{sqlite.FullTextRowTooLarge, "sql_value", MaxValue, "a row of a full-text table has at most %d bytes"},
	{sqlite.FullTextTooMany, "sql_pattern", maxPattern, "the text is too long for so much to look for: search for fewer words, or show the text without bm25, highlight and snippet"},
	{"at most 64 tables in a join", "sql_tables", maxTables, "a join has at most %d tables"},
	{"too many RIGHT JOINs", "sql_tables", maxTables, "a join has at most %d tables"},
	{"too many FROM clause terms", "sql_from", maxFrom, "FROM takes at most %d tables and queries"},
}

// overLimit returns the error of a statement that passes a limit of SQLite, or
// nil where the message says something else.
func overLimit(message string) error {
	for _, l := range sqliteLimits {
		if strings.HasPrefix(message, l.theirs) {
			if !strings.Contains(l.ours, "%d") {
				return value.Exceeded(l.name, l.most, "%s", l.ours)
			}
			return value.Exceeded(l.name, l.most, l.ours, l.most)
		}
	}
	return nil
}
