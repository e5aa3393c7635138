package syntax_test

import (
	"strings"
	"testing"

	"ql/lang/source"
	"ql/lang/syntax"
)

// sqlParts writes the parts of a SQL statement with | between them, parameters
// as ‹source›, with IN and ( ) for lists, and one for one value of several after
// IN.
func sqlParts(src string, sql *syntax.SQL) string {
	var out []string
	for _, p := range sql.Parts {
		switch {
		case p.Param == nil:
			out = append(out, p.Text)
		case p.Choices != nil:
			out = append(out, "{‹"+src[p.Param.Pos():p.Param.End()]+"› "+strings.Join(p.Choices, " ")+"}")
		case p.Parens:
			out = append(out, "(‹"+src[p.Param.Pos():p.Param.End()]+"›)")
		case p.Among:
			out = append(out, "one‹"+src[p.Param.Pos():p.Param.End()]+"›")
		case p.InList:
			out = append(out, "IN‹"+src[p.Param.Pos():p.Param.End()]+"›")
		default:
			out = append(out, "‹"+src[p.Param.Pos():p.Param.End()]+"›")
		}
	}
	return strings.Join(out, "|")
}

func TestSQLParts(t *testing.T) {
	tests := []struct{ text, want string }{
		{`SELECT 1`, `SELECT 1`},
		{`SELECT ?a`, `SELECT |‹?a›`},
		{`SELECT ?a + ?b ;`, `SELECT |‹?a›| + |‹?b›`},
		{`SELECT ?a.b.c, ?a[0]['x'].y, ?a .b`, `SELECT |‹?a.b.c›|, |‹?a[0]['x'].y›|, |‹?a›| .b`},
		{`SELECT ?a[?b["]"]] SET ?x`, `SELECT |‹?a[?b["]"]]›`},
		{`SELECT !GET, !GET(), !GET('a').b[0], !SESSION ("x")`, `SELECT |‹!GET›|, |‹!GET()›|, |‹!GET('a').b[0]›|, |‹!SESSION ("x")›`},
		{`SELECT '?a !GET :x', "?b", ` + "`?c`" + `, $$?d;$$, $t$ $$ ?e $t$ FROM t`, `SELECT '?a !GET :x', "?b", ` + "`?c`" + `, $$?d;$$, $t$ $$ ?e $t$ FROM t`},
		{"SELECT 1 -- ?a ; SET ?b\n, 2 /* ?c ; */", "SELECT 1 -- ?a ; SET ?b\n, 2 /* ?c ; */"},
		{`SELECT a ? 'b', a ?| c, a ?& c, a @> b, a <@b, a @@ b, a !~ 'x', !!x, a != b, a::text`, `SELECT a ? 'b', a ?| c, a ?& c, a @> b, a <@b, a @@ b, a !~ 'x', !!x, a != b, a::text`},
		{`SELECT f(a := 1), a[1:n], a[lo:hi], b$c$d`, `SELECT f(a := 1), a[1:n], a[lo:hi], b$c$d`},
		{`SELECT ?x::int, ?ids::int[]`, `SELECT |‹?x›|::int, |‹?ids›|::int[]`},
		{`SELECT 1 WHERE a IN ?x`, `SELECT 1 WHERE a IN |IN‹?x›`},
		{`SELECT 1 WHERE a NOT IN ?x.y AND b`, `SELECT 1 WHERE a NOT IN |IN‹?x.y›| AND b`},
		{`SELECT 1 WHERE a in(?x)AND b`, `SELECT 1 WHERE a in|(‹?x›)|AND b`},
		{`SELECT 1 WHERE a IN ( !GET('ids') )`, `SELECT 1 WHERE a IN |(‹!GET('ids')›)`},
		{`SELECT 1 WHERE a IN (?x, ?y)`, `SELECT 1 WHERE a IN (|one‹?x›|, |one‹?y›|)`},
		{`SELECT 1 WHERE a IN (1, ?x /* c */ , !GET('y'))`, `SELECT 1 WHERE a IN (1, |one‹?x›| /* c */ , |one‹!GET('y')›|)`},
		{`SELECT 1 WHERE a IN (?x || 1, f(?y, 2), (?z))`, `SELECT 1 WHERE a IN (|‹?x›| || 1, f(|‹?y›|, 2), (|‹?z›|))`},
		{`SELECT 1 WHERE a IN (SELECT 1, ?x) AND b IN (VALUES (1, ?y), (2, 3))`, `SELECT 1 WHERE a IN (SELECT 1, |‹?x›|) AND b IN (VALUES (1, |‹?y›|), (2, 3))`},
		{`SELECT f(1, ?x), ?y, (?z, 1)`, `SELECT f(1, |‹?x›|), |‹?y›|, (|‹?z›|, 1)`},
		{`SELECT 1 WHERE a IN (?x + 1)`, `SELECT 1 WHERE a IN (|‹?x›| + 1)`},
		{`SELECT 1 WHERE a IN (SELECT ?x)`, `SELECT 1 WHERE a IN (SELECT |‹?x›|)`},
		{`SELECT POSITION('a' IN ?x), position ( ?y IN ?z )`, `SELECT POSITION('a' IN |‹?x›|), position ( |‹?y›| IN |‹?z›| )`},
		{`SELECT (SELECT 1; ) AS x; EMIT 1`, `SELECT (SELECT 1; ) AS x`},
		{`UPDATE t SET a = ?x, row = 1, value = 2`, `UPDATE t SET a = |‹?x›|, row = 1, value = 2`},
		{"SELECT id,\n read, list, emit,\n emit,\n stop\nFROM t", "SELECT id,\n read, list, emit,\n emit,\n stop\nFROM t"},
		{"CREATE TABLE\nIF NOT EXISTS t (a, b)", "CREATE TABLE\nIF NOT EXISTS t (a, b)"},
		{"SELECT *\nFROM t\nFOR UPDATE", "SELECT *\nFROM t\nFOR UPDATE"},
		{"CREATE TRIGGER t AFTER INSERT ON a BEGIN SELECT CASE WHEN 1 THEN 2 END; END; EMIT 1", "CREATE TRIGGER t AFTER INSERT ON a BEGIN SELECT CASE WHEN 1 THEN 2 END; END"},
		{"CREATE OR REPLACE TEMP TRIGGER t BEGIN DELETE FROM a; END", "CREATE OR REPLACE TEMP TRIGGER t BEGIN DELETE FROM a; END"},
		{"SELECT 'it''s' || \"a\"\"b\" SET ?x", "SELECT 'it''s' || \"a\"\"b\""},
		{"SELECT 1\n\n", "SELECT 1"},
		{"SELECT [it's], [c(d], [a -- b], [?x] FROM [a;b] WHERE c = ?y SET ?rows", "SELECT [it's], [c(d], [a -- b], [?x] FROM [a;b] WHERE c = |‹?y›"},
		{"SELECT 1 ORDER BY {?by IN name, t.city} {?o.dir[0] IN ASC, desc}, 1", "SELECT 1 ORDER BY |{‹?by› name t.city}| |{‹?o.dir[0]› ASC desc}|, 1"},
		{"SELECT { !GET('c') IN \"a b\" ,`c`,[it's], \"x\".[y] } FROM t", "SELECT |{‹!GET('c')› \"a b\" `c` [it's] \"x\".[y]}| FROM t"},
		{"select a from é where ü = ?ö", "select a from é where ü = |‹?ö›"},
	}
	for _, test := range tests {
		script, errs := syntax.Parse(source.NewFile("", test.text))
		if len(errs) > 0 {
			t.Errorf("%s", errs[0].Caret(""))
			continue
		}
		sql := script.Statements[0].(*syntax.SQL)
		if got := sqlParts(test.text, sql); got != test.want {
			t.Errorf("%s gives\n%s\nwant\n%s", test.text, got, test.want)
		}
		checkSQL(t, test.text, sql)
	}
}

func TestSQLResults(t *testing.T) {
	tests := []struct {
		text   string
		mode   syntax.SQLMode
		result string
		rest   int // statements after it
	}{
		{"SELECT 1", syntax.SQLNone, "", 0},
		{"SELECT 1; EMIT 1", syntax.SQLNone, "", 1},
		{"SELECT 1 SET ?x EMIT 1", syntax.SQLRows, "x", 1},
		{"SELECT 1 set row ?x; EMIT 1", syntax.SQLRow, "x", 1},
		{"SELECT 1 SET VALUE ?x\nEMIT 1", syntax.SQLValue, "x", 1},
		{"SELECT 1 SET ?x SET ?y AS 2", syntax.SQLRows, "x", 1},
		{"SELECT 1 SET ?x SELECT 2 SET ?y", syntax.SQLRows, "x", 1},
		{"UPDATE t SET a = 1 SET ?x", syntax.SQLRows, "x", 0},
	}
	for _, test := range tests {
		script, errs := syntax.Parse(source.NewFile("", test.text))
		if len(errs) > 0 {
			t.Errorf("%s", errs[0].Caret(""))
			continue
		}
		sql := script.Statements[0].(*syntax.SQL)
		result := ""
		if sql.Result != nil {
			result = sql.Result.Name
		}
		if sql.Mode != test.mode || result != test.result || len(script.Statements) != 1+test.rest {
			t.Errorf("%s: mode %v, result %q, %d statements", test.text, sql.Mode, result, len(script.Statements))
		}
	}
}

// Verbs of SQL inside of one statement, and parameters in ORDER BY that do sort,
// are no mistakes.
func TestSQLThatGoesOn(t *testing.T) {
	for _, text := range []string{
		"INSERT INTO t (a)\nSELECT 1",
		"INSERT INTO t\nWITH c AS (SELECT 1)\nSELECT * FROM c",
		"INSERT OR REPLACE INTO t VALUES (1)",
		"INSERT INTO t SELECT 1 WHERE true ON CONFLICT (a) DO\nUPDATE SET b = 1",
		"INSERT INTO t VALUES (1) ON CONFLICT DO NOTHING RETURNING\na",
		"REPLACE INTO t SELECT 1",
		"WITH a AS (SELECT 1), b (x) AS (SELECT 2)\nSELECT * FROM a, b",
		"WITH a AS (SELECT 1)\nINSERT INTO t\nSELECT * FROM a",
		"WITH a AS (SELECT 1)\nUPDATE t SET a = 1",
		"WITH RECURSIVE a AS (SELECT 1)\nDELETE FROM t",
		"SELECT 1\nUNION ALL\nSELECT 2\nEXCEPT\nSELECT 3",
		"SELECT replace(a, 'x', 'y') AS b,\nreplace(b, 'x', 'y') FROM t",
		"EXPLAIN QUERY PLAN\nSELECT 1",
		"EXPLAIN ANALYZE\nSELECT 1",
		"CREATE TABLE t AS\nSELECT 1",
		"CREATE VIEW v (a) AS -- why\nSELECT 1",
		"CREATE TABLE t (a REFERENCES b ON\nDELETE CASCADE ON\nUPDATE SET NULL)",
		"CREATE TRIGGER x AFTER\nUPDATE OF a ON t BEGIN\nINSERT INTO t VALUES (1);\nUPDATE t SET a = 1;\nEND",
		"CREATE TRIGGER x INSTEAD OF\nDELETE ON v BEGIN SELECT 1; END",
		"ALTER TABLE t\nDROP COLUMN a",
		"ALTER TABLE t\nALTER COLUMN a DROP DEFAULT,\nALTER COLUMN b SET NOT NULL",
		"CREATE TABLE t (a) WITH (fillfactor = 70)",
		"SELECT * FROM t FOR\nUPDATE",
		"SELECT a, delete FROM t",
		"SELECT t.delete\nFROM t",
		"SELECT \"select\", [insert] FROM t",
		"SELECT * FROM t ORDER BY CASE ?col WHEN 'name' THEN name WHEN 'city' THEN city END",
		"SELECT * FROM t ORDER BY ?lat - lat, ?x * y, abs(?z - z)",
		"SELECT * FROM t ORDER BY ?name = name DESC, ?a IN (b, c), ?a LIKE b, ?a IS b",
		"SELECT * FROM t ORDER BY a LIMIT ?n OFFSET ?m",
		"SELECT * FROM t ORDER BY a LIMIT ?n, ?m",
		"SELECT (SELECT a FROM t ORDER BY a), ?b",
		"SELECT group_concat(a, ?sep ORDER BY a), ?b FROM t",
		"SELECT sum(a) OVER (ORDER BY b ROWS BETWEEN ?n PRECEDING AND ?m FOLLOWING), ?c FROM t",
		"UPDATE t SET a = (SELECT b FROM u ORDER BY c LIMIT 1), d = ?d",
		"SELECT order, by FROM t WHERE x = ?y",
	} {
		if _, errs := syntax.Parse(source.NewFile("", text)); len(errs) > 0 {
			t.Errorf("%s", errs[0].Caret(""))
		}
	}
}
