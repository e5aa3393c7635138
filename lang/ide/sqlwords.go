package ide

import (
	"strings"

	"ql/lang/source"
	"ql/lang/syntax"
)

// sqlWords are the words of the database's language that people write in scripts.
var sqlWords = func() map[string]bool {
	words := map[string]bool{}
	for _, w := range strings.Fields(`
		ABORT ACTION ADD AFTER ALL ALTER ALWAYS AND AS ASC AUTOINCREMENT BEFORE BEGIN BETWEEN BLOB BY CASCADE CASE CAST CHECK
		COLLATE COLUMN CONFLICT CONSTRAINT CREATE CROSS CURRENT CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP DEFAULT
		DEFERRABLE DEFERRED DELETE DESC DISTINCT DO DROP EACH ELSE END ESCAPE EXCEPT EXCLUDE EXISTS EXPLAIN FAIL FILTER
		FIRST FOLLOWING FOR FOREIGN FROM FULL GENERATED GLOB GROUP GROUPS HAVING IF IGNORE IMMEDIATE IN INDEX INDEXED
		INITIALLY INNER INSERT INSTEAD INTEGER INTERSECT INTO IS ISNULL JOIN KEY LAST LEFT LIKE LIMIT MATCH MATERIALIZED NATURAL
		NO NOT NOTHING NOTNULL NULL NULLS OF OFFSET ON OR ORDER OTHERS OUTER OVER PARTITION PLAN PRECEDING PRIMARY QUERY
		RAISE RANGE REAL RECURSIVE REFERENCES REGEXP RENAME REPLACE RESTRICT RETURNING RIGHT ROLLBACK ROW ROWID ROWS SELECT SET
		STRICT TABLE TEMP TEMPORARY TEXT THEN TIES TO TRIGGER UNBOUNDED UNION UNIQUE UPDATE USING VALUE VALUES VIEW VIRTUAL WHEN
		WHERE WINDOW WITH WITHOUT NEW OLD ABS AVG COALESCE COUNT DATE DATETIME GROUP_CONCAT IFNULL INSTR JSON_EXTRACT LENGTH
		LOWER MAX MIN NULLIF RANDOM ROUND ROW_NUMBER STRFTIME SUBSTR SUM TIME TOTAL TRIM TYPEOF UPPER`) {
		words[w] = true
	}
	return words
}()

func upper(s string) string { return strings.ToUpper(s) }

type sqlKind uint8

const (
	sqlWord sqlKind = iota
	sqlQuoted
	sqlText
	sqlComment
	sqlNumber
	sqlParam
	sqlOther // one character
)

// sqlToken is a token of SQL; of a quoted name text is the name.
type sqlToken struct {
	syntax.Span
	kind sqlKind
	text string
}

// lexSQL returns the tokens of a part of SQL.
func lexSQL(text string, from, to source.Pos) []sqlToken {
	var out []sqlToken
	eachSQL(text, from, to, func(t sqlToken) { out = append(out, t) })
	return out
}

// eachSQL cuts SQL into tokens, as far as tools need it. What has no end reaches to the
// end of the part.
func eachSQL(text string, from, to source.Pos, each func(sqlToken)) {
	s := text[:to]
	for i := int(from); i < len(s); {
		start := i
		kind, value := sqlOther, ""
		switch c := s[i]; {
		case c == ' ' || c >= '\t' && c <= '\r':
			i++
			continue
		case isLetter(c):
			for i < len(s) && (isLetter(s[i]) || isDigit(s[i]) || s[i] == '$') {
				i++
			}
			kind = sqlWord
		case isDigit(c):
			for i < len(s) && (isLetter(s[i]) || isDigit(s[i]) || s[i] == '.') {
				i++
			}
			kind = sqlNumber
		case c == '\'' || c == '"' || c == '`':
			kind = sqlText
			if c != '\'' {
				kind = sqlQuoted
			}
			i = closing(s, i+1, string(c))
			value = strings.Trim(s[start:i], string(c))
		case strings.HasPrefix(s[i:], "--"):
			kind = sqlComment
			i = closing(s, i, "\n")
		case strings.HasPrefix(s[i:], "/*"):
			kind = sqlComment
			i = closing(s, i+2, "*/")
		case (c == '?' || c == '!') && i+1 < len(s) && isLetter(s[i+1]):
			kind = sqlParam
			for i++; i < len(s) && (isLetter(s[i]) || isDigit(s[i])); {
				i++
			}
		default:
			i++
		}
		if value == "" {
			value = s[start:i]
		}
		each(sqlToken{syntax.Span{Start: source.Pos(start), Stop: source.Pos(i)}, kind, value})
	}
}

func closing(s string, i int, mark string) int {
	if n := strings.Index(s[i:], mark); n >= 0 {
		return i + n + len(mark)
	}
	return len(s)
}

func isLetter(c byte) bool {
	return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= 0x80
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
