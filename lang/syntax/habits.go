package syntax

import (
	"fmt"
	"strings"

	"ql/lang/source"
)

// What people write by habit from other languages, and the way it is written
// here. Keys are in capitals.

// foreignBlockWords end or part blocks elsewhere.
var foreignBlockWords = map[string]word{
	"ENDIF": wEnd, "END_IF": wEnd, "FI": wEnd, "ENDFOR": wEnd, "END_FOR": wEnd, "ENDFOREACH": wEnd,
	"ENDWHILE": wEnd, "END_WHILE": wEnd, "WEND": wEnd, "DONE": wEnd, "ENDLOOP": wEnd, "ENDTRY": wEnd,
	"ENDFUNCTION": wEnd, "ENDDEF": wEnd, "ENDDO": wEnd, "ENDTRANSACTION": wEnd,
	"ELSEIF": wElse, "ELIF": wElse, "ELSIF": wElse,
	"EXCEPT": wCatch, "RESCUE": wCatch, "ENSURE": wFinally,
}

// verbHabits are words that start a statement elsewhere, with what is written
// here.
var verbHabits = map[string]string{
	"PRINT":     `EMIT "text"`,
	"PRINTLN":   `EMIT LINE "text"`,
	"PRINTF":    `EMIT "text {?name}"`,
	"ECHO":      `EMIT "text"`,
	"PUTS":      `EMIT LINE "text"`,
	"DISPLAY":   `EMIT "text"`,
	"OUTPUT":    `EMIT "text"`,
	"WRITELN":   `EMIT LINE "text"`,
	"SAY":       `EMIT LINE "text"`,
	"CONSOLE":   `EMIT LINE "text"`,
	"LOG":       `EMIT LINE "text", or APPEND LINE "text" TO FILE "/log.txt"`,
	"ALERT":     `EMIT "text", or CONFIRM "question?" SET ?ok`,
	"THROW":     `FAIL "message" CODE "code"`,
	"RAISE":     `FAIL "message" CODE "code"`,
	"IMPORT":    `INCLUDE "/lib/name.ql", or IMPORT FILE "/rows.csv" INTO table for rows of a database`,
	"REQUIRE":   `INCLUDE "/lib/name.ql"`,
	"EXIT":      "STOP",
	"DIE":       `STOP, or FAIL "message"`,
	"QUIT":      "STOP",
	"HALT":      "STOP",
	"ABORT":     `FAIL "message"`,
	"NEXT":      "CONTINUE",
	"SKIP":      "CONTINUE",
	"LOOP":      "WHILE condition DO … END, or FOR ?i FROM 1 TO 10 DO … END",
	"REPEAT":    "WHILE condition DO … END",
	"UNTIL":     "WHILE NOT condition DO … END",
	"UNLESS":    "IF NOT condition THEN … END",
	"SWITCH":    "IF … THEN … ELSE IF … END, or as a value CASE WHEN … THEN … END",
	"MATCH":     "IF … THEN … ELSE IF … END, or as a value CASE WHEN … THEN … END",
	"SLEEP":     "WAIT 10 SECONDS",
	"DELAY":     "WAIT 10 SECONDS",
	"PAUSE":     `WAIT 10 SECONDS, or CONFIRM "Go on?"`,
	"ASK":       `GATHER "question" SET ?answer, or CONFIRM "question?" SET ?ok`,
	"PROMPT":    `GATHER "question" SET ?answer`,
	"INPUT":     `GATHER "question" SET ?answer, or INPUT FIELDS name TEXT at the start of the script`,
	"COMMIT":    "TRANSACTION … END, whose END commits",
	"ROLLBACK":  `TRANSACTION … END, which an error such as FAIL "why" rolls back`,
	"SAVEPOINT": "TRY … CATCH … END inside a TRANSACTION",
	"RELEASE":   "TRY … CATCH … END inside a TRANSACTION",
	"TRUNCATE":  "DELETE FROM table;",
	"EXEC":      `RUN "command" ON "machine"`,
	"EXECUTE":   `RUN "command" ON "machine"`,
	"SYSTEM":    `RUN "command" ON "machine"`,
	"SAVE":      `WRITE value TO "/path"`,
	"STORE":     `WRITE value TO "/path"`,
	"LOAD":      `READ "/path" SET ?name`,
	"OPEN":      `READ "/path" SET ?name, or USE DATABASE "name"`,
	"CONNECT":   `USE DATABASE "name"`,
	"RENAME":    `MOVE "/a" TO "/b"`,
	"UNLINK":    `REMOVE "/path"`,
	"ERASE":     `REMOVE "/path"`,
	"PUSH":      "APPEND value TO ?list",
	"ADD":       "APPEND value TO ?list, or SET ?n AS ?n + 1",
	"POST":      `FETCH "https://…" METHOD "POST" SET ?reply`,
	"GET":       `FETCH "https://…" SET ?reply`,
	"CURL":      `FETCH "https://…" SET ?reply`,
	"REQUEST":   `FETCH "https://…" SET ?reply`,
	"SEND":      `FETCH "https://…" METHOD "POST" BODY value`,
	"REDIRECT":  `SET "status" AS 303 OF !RESPONSE and SET "header:Location" AS "/path" OF !RESPONSE`,
	"HEADER":    `SET "header:Name" AS "value" OF !RESPONSE`,
	"SHOW":      `SELECT name, sql FROM sqlite_schema for the tables of a database, or EMIT "text" to write something out`,
	"DESCRIBE":  "SELECT sql FROM sqlite_schema WHERE name = 'table'",
	"VALUES":    "INSERT INTO table VALUES (…);",
	"MERGE":     "INSERT INTO … ON CONFLICT …;",
	"CLASS":     "maps for things with fields: SET ?thing AS {name: \"x\"}",
}

// refusedSQL are statements of SQL that scripts may not use, with why not and
// what fits instead.
var refusedSQL = map[string]string{
	"PRAGMA":  "the settings of a database are fixed; SELECT name, sql FROM sqlite_schema shows its tables",
	"ATTACH":  `a statement works on one database, which USE DATABASE "name" chooses`,
	"DETACH":  `a statement works on one database, which USE DATABASE "name" chooses`,
	"VACUUM":  "the service gives free room back by itself",
	"REINDEX": "indexes are kept in order by themselves",
	"ANALYZE": "the database chooses its indexes by itself; EXPLAIN QUERY PLAN SELECT … shows which",
}

// setHabits are words before the variable that is set.
var setHabits = map[string]bool{
	"LET": true, "VAR": true, "CONST": true, "DECLARE": true, "DIM": true, "MY": true, "LOCAL": true,
	"GLOBAL": true, "VAL": true, "ASSIGN": true, "STATIC": true,
}

// defineHabits are words that open a function elsewhere.
var defineHabits = map[string]bool{
	"FUNCTION": true, "DEF": true, "FUNC": true, "FN": true, "FUN": true, "SUB": true, "PROCEDURE": true, "PROC": true,
}

// valueHabits are values and operands elsewhere.
var valueHabits = map[string]string{
	"NIL": "NULL", "NONE": "NULL", "UNDEFINED": "NULL",
	"YES": "TRUE", "NO": "FALSE",
	"LAMBDA":   "?x -> ?x + 1 as an argument of MAP and the like",
	"FUNCTION": "?x -> ?x + 1 as an argument of MAP and the like",
	"NEW":      "[] for a list or {} for a map",
	"ARRAY":    "[1, 2, 3]",
	"AWAIT":    "the statement itself: every statement waits until it is done",
	"THIS":     "a variable such as ?name",
	"SELF":     "a variable such as ?name",
}

// operatorHabits are operators elsewhere.
var operatorHabits = map[string]string{
	"ILIKE":      `LIKE, which takes capital and small letters of A to Z for the same`,
	"REGEXP":     `MATCHES(text, pattern)`,
	"MATCHES":    `MATCHES(text, pattern)`,
	"CONTAINS":   `CONTAINS(text, part), or part IN text`,
	"STARTSWITH": `STARTS_WITH(text, part)`,
	"ENDSWITH":   `ENDS_WITH(text, part)`,
	"MOD":        `%`,
	"XOR":        `!= between two conditions`,
	"EQ":         `=`, "EQUALS": `=`, "NE": `!=`, "NEQ": `!=`, "GT": `>`, "GTE": `>=`, "GE": `>=`, "LT": `<`, "LTE": `<=`, "LE": `<=`,
	"ISNOT": `!=, or IS NOT NULL`,
	"ISNT":  `!=`,
}

// kindHabits are kinds of form fields elsewhere.
var kindHabits = map[string]string{
	"STRING": "TEXT", "STR": "TEXT", "VARCHAR": "TEXT", "CHAR": "TEXT", "INT": "INTEGER", "BIGINT": "INTEGER",
	"FLOAT": "NUMBER", "DOUBLE": "NUMBER", "REAL": "NUMBER", "NUMERIC": "DECIMAL", "MONEY": "DECIMAL",
	"BOOL": "BOOLEAN", "CHECKBOX": "BOOLEAN", "PASSWORD": "SECRET", "TEXTAREA": "LONG TEXT", "TEL": "PHONE",
	"DATETIME": "DATE", "TIMESTAMP": "DATE", "UPLOAD": "FILE", "IMAGE": "FILE", "LINK": "URL",
	"SELECT": "CHOICE [\"a\", \"b\"]", "DROPDOWN": "CHOICE [\"a\", \"b\"]", "RADIO": "CHOICE [\"a\", \"b\"]",
	"ENUM": "CHOICE [\"a\", \"b\"]", "MULTISELECT": "CHOICES [\"a\", \"b\"]",
}

// unitHabits are units of time elsewhere.
var unitHabits = map[string]string{
	"S": "SECONDS", "SEC": "SECONDS", "SECS": "SECONDS", "M": "MINUTES", "MIN": "MINUTES", "MINS": "MINUTES",
	"H": "HOURS", "HR": "HOURS", "HRS": "HOURS", "D": "DAYS", "W": "WEEKS",
	"MS": "SECONDS, such as 0.5 SECONDS", "MILLISECONDS": "SECONDS, such as 0.5 SECONDS",
	"MONTH": "DAYS or WEEKS, or WAIT UNTIL a time", "MONTHS": "DAYS or WEEKS, or WAIT UNTIL a time",
	"YEAR": "DAYS or WEEKS, or WAIT UNTIL a time", "YEARS": "DAYS or WEEKS, or WAIT UNTIL a time",
}

// clausesOf lists the clauses of the statements that have some.
var clausesOf = map[word][]string{
	wConfirm: {"TO", "BY MAIL", "WITHIN", "SET ?ok"},
	wGather:  {"FIELDS", "TO", "BY MAIL", "WITHIN", "SET ?form"},
	wCheck:   {"FIELDS", "SET ?clean"},
	wInput:   {"FIELDS"},
	wRead:    {"AS", "OPTIONAL", "SET ?name"},
	wWrite:   {"AS", "TO"},
	wList:    {"SET ?files"},
	wCopy:    {"ON", "TO"},
	wMove:    {"TO"},
	wShare:   {"TIMES", "UNLIMITED", "FOR", "NAMED", "SET ?url"},
	wRender:  {"USING"},
	wFetch:   {"METHOD", "HEADERS", "QUERY", "BODY", "TIMEOUT", "SET ?reply"},
	wRun:     {"ON", "INPUT", "TIMEOUT", "SET ?out"},
	wSignal:  {"TO", "USING"},
	wImport:  {"INTO", "AS", "ENCODING", "BAD ?bad", "SET ?result"},
	wMail:    {"SUBJECT", "TEXT", "HTML", "FROM", "ATTACH", "SET ?id"},
	wFail:    {"CODE"},
	wFor:     {"AS", "ENCODING", "AT ?line", "BAD ?bad", "DO"},
}

// objectHelp says what a verb cannot do without.
var objectHelp = map[word]string{
	wEmit:    `EMIT needs a value: EMIT "text" or EMIT ?name; an empty line is EMIT LINE`,
	wDefine:  `DEFINE needs a value: DEFINE name AS 0.19`,
	wAppend:  `APPEND needs a value: APPEND value TO ?list`,
	wIf:      `IF needs a condition: IF ?x > 1 THEN … END`,
	wWhile:   `WHILE needs a condition: WHILE ?x < 10 DO … END`,
	wFail:    `FAIL needs a message: FAIL "message" CODE "code"`,
	wConfirm: `CONFIRM needs a question: CONFIRM "Go on?" SET ?ok`,
	wGather:  `GATHER needs a title and FIELDS, or names: GATHER "name", "email" SET ?form`,
	wCheck:   `CHECK needs a map and FIELDS: CHECK ?map FIELDS name TEXT REQUIRED SET ?clean`,
	wWait:    `WAIT needs a time: WAIT 10 MINUTES or WAIT UNTIL ?time; a job is waited for with WAIT FOR ?job, and a signal with WAIT FOR SIGNAL "name"`,
	wRead:    `READ needs the path of a file: READ "/a.json" SET ?name`,
	wWrite:   `WRITE needs a value: WRITE ?name TO "/a.json"`,
	wList:    `LIST needs the path of a folder: LIST "/folder" SET ?files`,
	wCopy:    `COPY needs the path of a file: COPY "/a" TO "/b"`,
	wMove:    `MOVE needs the path of a file: MOVE "/a" TO "/b"`,
	wRemove:  `REMOVE needs the path of a file: REMOVE "/a"`,
	wShare:   `SHARE needs the path of a file: SHARE "/a.pdf" SET ?url`,
	wUnshare: `UNSHARE needs the address that SHARE gave: UNSHARE ?url`,
	wRender:  `RENDER needs the path of a template: RENDER "/page.html" USING ?data`,
	wFetch:   `FETCH needs an address: FETCH "https://…" SET ?reply`,
	wRun:     `RUN needs a command: RUN "command" ON "machine"`,
}

// sqlHabit returns a message for a statement that starts like SQL but is meant
// as something else: by the first character behind its first word, and the
// word there.
func sqlHabit(head word, next byte, word string) string {
	value := next == '?' || next == '\'' || next == '"' || next == '{' || class[next] == cDigit
	switch head {
	case wDelete:
		switch {
		case word == "FILE" || next == '\'' || next == '"':
			return `DELETE is SQL: a file is removed with REMOVE "/path"`
		case next == '?':
			return "DELETE is SQL, DELETE FROM table: a variable is dropped with UNSET ?name, a file with REMOVE"
		}
	case wInsert:
		if value || next == '[' {
			return "INSERT is SQL, INSERT INTO table: a value is added to a list with APPEND value TO ?list"
		}
	case wUpdate:
		if next == '?' {
			return "UPDATE is SQL, UPDATE table SET …: a variable is set with SET ?name AS value"
		}
	case wWith:
		if value || next == '(' || next == '[' {
			return "WITH starts a SQL statement and is no clause: FETCH takes HEADERS, QUERY and BODY, RENDER takes USING, RUN takes INPUT"
		}
	case wCreate:
		switch word {
		case "FILE", "FOLDER", "DIRECTORY":
			return `CREATE is SQL: a file and its folders are made with WRITE value TO "/path"`
		case "SESSION":
			return "CREATE is SQL: a session is started with START SESSION"
		case "DATABASE", "SCHEMA":
			return `CREATE ` + word + ` is not needed: a database is made when it is first used, so write USE DATABASE "name"`
		}
	case wDrop:
		switch word {
		case "FILE", "FOLDER", "DIRECTORY":
			return `DROP is SQL: a file is removed with REMOVE "/path"`
		case "SESSION":
			return "DROP is SQL: a session is ended with END SESSION"
		case "DATABASE", "SCHEMA":
			return `DROP ` + word + ` is not allowed: DROP TABLE removes a table, and who runs the service removes a database with ql db drop`
		}
	}
	return ""
}

// didYouMean gives "; did you mean X?" or nothing.
func didYouMean(word string, candidates []string) string {
	if near := nearest(word, candidates); near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	return ""
}

// offerWord offers what is written here by habit, where that is a word alone.
func (p *parser) offerWord(t *token, habit string) {
	p.fix.code = source.ForeignWord
	if strings.Trim(habit, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_ !=<>%") == "" {
		p.offer(source.ForeignWord, t, habit)
	}
}

func (p *parser) upper(t *token) string { return strings.ToUpper(p.text(t)) }
