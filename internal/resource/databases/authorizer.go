package databases

import (
	"fmt"
	"strings"

	"ql/internal/sqlite"

	lib "modernc.org/sqlite/lib"
)

// authorizer says what a script's SQL may do. What is not listed is refused.
type authorizer struct {
	trusted  bool   // the statement is our own
	denied   string // why the last refused action was refused
	altering bool   // the statement changes a table's definition
	defining bool   // it works on definitions, of tables, views, triggers or indexes
	collects bool   // it has an aggregate that collects rows
	virtual  bool   // it makes a full-text table
	inserts  bool   // it inserts rows by itself
}

// hiddenPrefix starts the names of tables that scripts neither see nor make.
const (
	hiddenPrefix = "_ql_"
	hiddenReason = "names that start with _ql_ are kept for the service"
)

const attachReason = "ATTACH, DETACH and VACUUM are not allowed: a statement works on the one database that USE DATABASE names, and the service keeps it tidy"

const temporaryReason = "temporary tables are not allowed: make a plain table, or keep the rows in a variable"

// reset prepares for another statement.
func (a *authorizer) reset(altering bool) { *a = authorizer{trusted: a.trusted, altering: altering} }

// authorize decides over one action of a statement.
func (a *authorizer) authorize(action sqlite.Action) bool {
	// What a full-text table does by itself is held to what scripts may, whoever uses it: its
	// definition is a script's.
	if a.trusted && (!action.Nested || action.Code == lib.SQLITE_PRAGMA) {
		return true
	}
	if reason := a.refusal(action); reason != "" {
		a.denied = reason
		return false
	}
	return true
}

// refusal returns why an action is refused; "" where it is allowed.
func (a *authorizer) refusal(action sqlite.Action) string {
	if namesHidden(action) {
		return hiddenReason
	}
	if action.Database == "temp" && !a.altering {
		return temporaryReason
	}
	if action.Nested {
		if reason, known := refusalNested(action); known {
			return reason
		}
	}
	switch action.Code {
	case lib.SQLITE_INSERT:
		a.inserts = a.inserts || action.Inside == ""
		return ""
	case lib.SQLITE_SELECT, lib.SQLITE_RECURSIVE,
		lib.SQLITE_UPDATE, lib.SQLITE_DELETE,
		lib.SQLITE_DROP_TABLE, lib.SQLITE_DROP_INDEX, lib.SQLITE_DROP_VIEW, lib.SQLITE_DROP_TRIGGER:
		return ""
	case lib.SQLITE_CREATE_TABLE, lib.SQLITE_CREATE_INDEX, lib.SQLITE_CREATE_VIEW, lib.SQLITE_CREATE_TRIGGER,
		lib.SQLITE_REINDEX, lib.SQLITE_ANALYZE:
		a.defining = true
		return ""
	case lib.SQLITE_ALTER_TABLE:
		a.altering, a.defining = true, true
		return ""
	case lib.SQLITE_READ:
		return a.refuseTable(strings.ToLower(action.Arg1))
	case lib.SQLITE_FUNCTION:
		name := strings.ToLower(action.Arg2)
		a.collects = a.collects || collecting[name]
		return refuseFunction(name, action.Inside)
	case lib.SQLITE_PRAGMA:
		if a.altering && action.Arg1 == "quick_check" {
			return "" // ALTER TABLE ADD checks the rows that there are
		}
		return "PRAGMA is not allowed: the settings of a database are fixed"
	case lib.SQLITE_TRANSACTION, lib.SQLITE_SAVEPOINT:
		return "BEGIN, COMMIT, ROLLBACK and SAVEPOINT are not allowed in SQL: write TRANSACTION … END around the statements"
	case lib.SQLITE_ATTACH, lib.SQLITE_DETACH:
		return attachReason
	case lib.SQLITE_CREATE_VTABLE:
		if !strings.EqualFold(action.Arg2, "fts5") {
			return virtualReason
		}
		a.virtual, a.defining = true, true
		return ""
	case lib.SQLITE_DROP_VTABLE:
		return ""
	case lib.SQLITE_CREATE_TEMP_TABLE, lib.SQLITE_CREATE_TEMP_INDEX, lib.SQLITE_CREATE_TEMP_VIEW, lib.SQLITE_CREATE_TEMP_TRIGGER,
		lib.SQLITE_DROP_TEMP_TABLE, lib.SQLITE_DROP_TEMP_INDEX, lib.SQLITE_DROP_TEMP_VIEW, lib.SQLITE_DROP_TEMP_TRIGGER:
		return temporaryReason
	}
	return "this SQL is not allowed"
}

// refusalNested decides over what only a full-text table does, within a statement.
func refusalNested(action sqlite.Action) (reason string, known bool) {
	switch action.Code {
	case lib.SQLITE_PRAGMA:
		return "", action.Arg1 == "data_version" // whether others have changed the index
	case lib.SQLITE_INSERT, lib.SQLITE_UPDATE, lib.SQLITE_DELETE:
		// A table may refer to the shadow tables, and a trigger of it would run here, where SQLite
		// lets statements write to those.
		if action.Inside != "" {
			return "a trigger cannot run on what a full-text table does by itself", true
		}
	}
	return "", false
}

// namesHidden reports whether an action names something hidden. The second
// argument is a table too, but for these actions, where it is a column or a
// function, and those may be called as they like. ANALYZE without a name goes
// over all tables.
func namesHidden(a sqlite.Action) bool {
	switch a.Code {
	case lib.SQLITE_ANALYZE:
		return false
	case lib.SQLITE_READ, lib.SQLITE_UPDATE, lib.SQLITE_FUNCTION:
		return isHidden(a.Arg1)
	}
	return isHidden(a.Arg1) || isHidden(a.Arg2)
}

func isHidden(name string) bool {
	return len(name) >= len(hiddenPrefix) && strings.EqualFold(name[:len(hiddenPrefix)], hiddenPrefix)
}

// mentionsHidden reports whether SQL holds a hidden name or that of its own
// index. Only a quote within a name could be written in more than one way.
func mentionsHidden(sql string) bool {
	sql = strings.ToLower(sql)
	for at := 0; ; at++ {
		i := strings.Index(sql[at:], hiddenPrefix)
		if i < 0 {
			return false
		}
		at += i
		before := strings.TrimSuffix(sql[:at], "sqlite_autoindex_")
		if before == "" || len(before) < at || !isWord(before[at-1]) {
			return true
		}
	}
}

// refuseTable keeps scripts from the settings where they look like tables. The
// engine's other doors of this kind are modules, and a connection has none.
func (a *authorizer) refuseTable(name string) string {
	if !strings.HasPrefix(name, "pragma_") || a.altering && name == "pragma_quick_check" {
		return ""
	}
	return fmt.Sprintf("%s is not allowed: the settings of a database are fixed", name)
}

// FunctionGroup is a group of the functions that SQL may use.
type FunctionGroup struct {
	Title string
	Names []string
}

// AllowedFunctions are the functions that SQL may use. Each is linear in its arguments,
// whose size is limited, or replaced by one that is: no context can end a
// function. An aggregate holds a few numbers, or is replaced by one that collects
// within the budget of its statement. TestFunctionsAreKnown holds the list against
// the engine's.
var AllowedFunctions = []FunctionGroup{
	{"Texts and values", []string{
		"abs", "char", "coalesce", "concat", "concat_ws", "format", "glob", "hex", "if", "ifnull", "iif", "instr", "length",
		"like", "likelihood", "likely", "lower", "ltrim", "max", "min", "nullif", "octet_length", "printf", "quote", "random",
		"randomblob", "replace", "round", "rtrim", "sign", "soundex", "sqlite_version", "substr", "substring", "trim",
		"typeof", "unhex", "unicode", "unistr", "unistr_quote", "unlikely", "upper", "zeroblob",
	}},
	{"Numbers", []string{
		"acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "ceiling", "cos", "cosh", "degrees", "exp",
		"floor", "ln", "log", "log10", "log2", "mod", "pi", "pow", "power", "radians", "sin", "sinh", "sqrt", "tan", "tanh",
		"trunc",
	}},
	{"Times", []string{
		"current_date", "current_time", "current_timestamp", "date", "datetime", "julianday", "strftime", "time", "timediff",
		"unixepoch",
	}},
	{"JSON", []string{
		"->", "->>", "json", "json_array", "json_array_insert", "json_array_length", "json_error_position", "json_extract",
		"json_group_array", "json_group_object", "json_insert", "json_object", "json_quote", "json_remove", "json_replace",
		"json_set", "json_type", "json_valid", "jsonb", "jsonb_array", "jsonb_array_insert", "jsonb_extract", "jsonb_insert",
		"jsonb_object", "jsonb_remove", "jsonb_replace", "jsonb_set",
	}},
	{"Aggregates and windows", []string{
		"avg", "count", "cume_dist", "dense_rank", "first_value", "group_concat", "lag", "last_value", "lead", "nth_value",
		"ntile", "percent_rank", "rank", "row_number", "string_agg", "sum", "total",
	}},
	{"Full-text search", []string{
		"bm25", "highlight", "match", "snippet",
	}},
}

// allowed are those, and what ALTER TABLE calls by itself; scripts cannot.
var allowed = func() map[string]bool {
	names := set(
		"sqlite_rename_table", "sqlite_rename_column", "sqlite_rename_test", "sqlite_rename_quotefix", "sqlite_drop_column",
		"sqlite_drop_constraint", "sqlite_add_constraint", "sqlite_find_constraint", "sqlite_fail",
	)
	for _, group := range AllowedFunctions {
		for _, name := range group.Names {
			names[name] = true
		}
	}
	return names
}()

// collecting are the aggregates that collect rows.
var collecting = set("group_concat", "json_group_array", "json_group_object", "string_agg")

// refused are the engine's functions that SQL may not use, so that a new one
// is noticed and thought about.
var refused = set(
	"load_extension", "sqlite_compileoption_get", "sqlite_compileoption_used", "sqlite_log", "sqlite_offset", "sqlite_source_id",
	"subtype",
	// not linear, or not held to the size of a value
	"json_patch", "jsonb_patch", "json_pretty", "jsonb_group_array", "jsonb_group_object",
	// what they tell belongs to the connection, not to the script
	"changes", "last_insert_rowid", "total_changes",
	// of modules that are not there, and what full-text tables need not
	"fts5", "fts5_get_locale", "fts5_insttoken", "fts5_locale", "fts5_source_id", "geopoly_area", "geopoly_bbox",
	"geopoly_blob", "geopoly_ccw", "geopoly_contains_point", "geopoly_debug", "geopoly_group_bbox", "geopoly_json",
	"geopoly_overlap", "geopoly_regular", "geopoly_svg", "geopoly_within", "geopoly_xform", "rtreecheck",
	"rtreedepth", "rtreenode",
)

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, name := range names {
		m[name] = true
	}
	return m
}

func refuseFunction(name, inside string) string {
	if allowed[name] {
		return ""
	}
	switch name {
	case "changes", "total_changes", "last_insert_rowid":
		if inside != "" {
			return "" // in a trigger they tell of its own statement
		}
		return name + "() is not allowed: the result of an INSERT, UPDATE or DELETE has changes and last_id, and RETURNING gives the rows"
	}
	return fmt.Sprintf("the function %s is not allowed", name)
}
