package main

import (
	"fmt"
	"strings"
)

// plainLoop is the row that all others are held against.
const plainLoop = "loop: plain"

// allRows returns every row, in families.
func allRows() []row {
	var all []row
	for _, family := range [][]row{machineRows(), walkRows(), functionRows(), templateRows(), sqlRows(), fileRows()} {
		all = append(all, family...)
	}
	return all
}

// What the setups of rows share: texts, lists and maps, small and large.
const (
	textsSetup = `
SET ?a1 AS "abcdefgh"
SET ?aM AS REPEAT("a", 1000000)
SET ?eM AS REPEAT("é", 500000)
SET ?mixM AS REPEAT("The quick brown fox, ", 50000)`
	listsSetup = `
SET ?l3 AS [3, 1, 2]
SET ?ints AS MAP(RANGE(1, 100000), ?i -> ?i * 7919 % 65537)
SET ?floats AS MAP(?ints, ?i -> ?i + 0.5)
SET ?texts AS MAP(?ints, ?i -> "t{?i}")
SET ?nested AS MAP(RANGE(1, 20000), ?i -> [0, ?i * 7919 % 65537])
SET ?nulls AS MAP(RANGE(1, 100000), ?i -> NULL)
SET ?bools AS MAP(RANGE(1, 100000), ?i -> ?i > 100000)
SET ?long AS MAP(RANGE(1, 16), ?i -> REPEAT("a", 60000) + "{?i}")
SET ?copies AS MAP(RANGE(1, 16), ?i -> REPEAT("a", 60000))`
	mapsSetup = `
SET ?m3 AS {a: 1, b: 2, c: 3}
SET ?pairs AS MAP(RANGE(1, 20000), ?i -> ["key {?i}", ?i])
SET ?wide AS FROM_ENTRIES(?pairs)
SET ?key AS REPEAT("k", 500000)
SET ?keyB AS REPEAT("k", 499999) + "l"
SET ?keys AS {} SET ?keys[?key] AS 1
SET ?keys2 AS {} SET ?keys2[REPEAT("k", 500000)] AS 1
SET ?many AS {} FOR ?i FROM 1 TO 20 DO SET ?many[REPEAT("k", 50000) + "{?i}"] AS ?i END
SET ?many2 AS {} FOR ?i FROM 1 TO 20 DO SET ?many2[REPEAT("k", 50000) + "{?i}"] AS ?i END
SET ?inMany AS REPEAT("k", 50000) + "7"`
	deepSetup = `
SET ?deep AS [1] FOR ?i FROM 1 TO 900 DO SET ?deep AS [?deep] END
SET ?deep2 AS [1] FOR ?i FROM 1 TO 900 DO SET ?deep2 AS [?deep2] END
SET ?deepM AS {a: 1} FOR ?i FROM 1 TO 900 DO SET ?deepM AS {a: ?deepM} END
SET ?deepM2 AS {a: 1} FOR ?i FROM 1 TO 900 DO SET ?deepM2 AS {a: ?deepM2} END`
)

// with makes rows of one family that share a setup, from pairs of name and body.
func with(family, setup string, pairs ...string) []row {
	var rows []row
	for i := 0; i < len(pairs); i += 2 {
		rows = append(rows, row{name: family + ": " + pairs[i], setup: setup, body: pairs[i+1]})
	}
	return rows
}

// machineRows are the machine's operations.
func machineRows() []row {
	rows := []row{{name: plainLoop, body: `SET ?i AS 0 WHILE ?i < 100000 DO SET ?i AS ?i + 1 END`}}
	rows = append(rows, with("loop", listsSetup+mapsSetup,
		"counting", ``,
		"WHILE floats", `SET ?i AS 0.5 WHILE ?i < 1000 DO SET ?i AS ?i + 1 END`,
		"FOR broken steps", `FOR ?i FROM 0 TO 100 STEP 0.1 DO END`,
		"FOR down", `FOR ?i FROM 1000 TO 1 STEP -1 DO END`,
		"FOR ints", `FOR ?x IN ?ints DO END`,
		"FOR texts", `FOR ?x IN ?texts DO END`,
		"FOR map", `FOR ?k, ?x IN ?wide DO END`,
		"FOR list of one", `FOR ?x IN [1] DO END`,
		"IF chain", `IF ?round = -1 THEN SET ?z AS 1 ELSE IF ?round = -2 THEN SET ?z AS 2 ELSE IF ?round = -3 THEN SET ?z AS 3 END`,
		"gaps of a map", `SET ?g AS ?wide FOR ?i FROM 2 TO 9000 DO UNSET ?g["key {?i}"] END FOR ?i FROM 1 TO 1000 DO FOR ?k, ?x IN ?g DO BREAK END END`,
	)...)
	rows = append(rows, with("check", `
SET ?m AS {a: "text", b: "5", c: "x9", d: "2026-01-02"}
SET ?list AS MAP(RANGE(1, 1000), ?i -> "x{?i}")
SET ?chosen AS MAP(RANGE(1, 10000), ?i -> "x999")
SET ?long AS REPEAT("a", 90000)
SET ?wide AS FROM_ENTRIES(MAP(RANGE(1, 20000), ?i -> ["key {?i}", ?i]))`,
		"small", `CHECK ?m FIELDS a TEXT, b INTEGER, c TEXT, d DATE`,
		"one field", `CHECK {a: 1} FIELDS a INTEGER SET ?z`,
		"wrong", `TRY CHECK ?m FIELDS a NUMBER, b EMAIL, c URL CATCH ?e END`,
		"addresses", `CHECK {a: "ada@example.com", b: "https://example.com/a?b=c", c: "+1 202 555 0143", d: "09:30"} FIELDS a EMAIL, b URL, c PHONE, d TIME`,
		"pattern", `CHECK ?m FIELDS a TEXT PATTERN '[a-z]+', b TEXT, c TEXT, d TEXT`,
		"costly pattern", `CHECK {a: "aaaaaaaaaaaaaaaaaaaa"} FIELDS a TEXT PATTERN '(?:a?){900}b*'`,
		"long text", `CHECK {a: ?long} FIELDS a LONG TEXT`,
		"many choices", `CHECK {a: "x999"} FIELDS a CHOICE ?list`,
		"long list", `CHECK {a: ?chosen} FIELDS a CHOICES ?list`,
		"unknown entries", `TRY CHECK ?wide FIELDS a TEXT CATCH ?e END`,
	)...)
	rows = append(rows, with("arithmetic", `
SET ?x AS 3
SET ?f AS 1.5
SET ?big AS 9007199254740993
SET ?y AS 0
SET ?none AS NULL
SET ?h AS 1e300`,
		"add ints", `SET ?y AS ?x + ?round`,
		"add floats", `SET ?y AS ?f + ?f`,
		"add mixed", `SET ?y AS ?x + ?f`,
		"subtract mixed", `SET ?y AS ?x - ?f`,
		"multiply large", `SET ?y AS ?big * 3`,
		"multiply floats", `SET ?y AS ?f * ?f`,
		"divide", `SET ?y AS ?round / 3`,
		"divide floats", `SET ?y AS ?h / ?f`,
		"DIV", `SET ?y AS ?round DIV ?x`,
		"modulo", `SET ?y AS ?round % ?x`,
		"negate", `SET ?y AS -?f`,
		"NOT", `SET ?y AS NOT ?y`,
		"compare ints", `SET ?y AS ?round < 5`,
		"compare floats", `SET ?y AS ?f < ?h`,
		"compare mixed", `SET ?y AS ?x < ?f`,
		"equal ints", `SET ?y AS ?x = ?round`,
		"equal mixed", `SET ?y AS ?x = ?f`,
		"CASE", `SET ?y AS CASE WHEN ?x = 1 THEN 1 WHEN ?x = 2 THEN 2 ELSE 3 END`,
		"DEFAULT", `SET ?y AS ?none DEFAULT 3`,
	)...)
	rows = append(rows, with("decimal", `
SET ?a AS DECIMAL("1234.56")
SET ?b AS DECIMAL("0.19")
SET ?w AS DECIMAL("1234567890123456789012345678901234.5678")
SET ?w2 AS DECIMAL("9.9999999999999999999999999999")
SET ?two AS DECIMAL("85070591730234615865843651857942052864")
SET ?least AS DECIMAL("0.00000000000000000000000000000000000001")
SET ?many AS MAP(RANGE(1, 5000), ?i -> DECIMAL(?i) / 8)
SET ?close AS MAP(RANGE(1, 5000), ?i -> DECIMAL("1.000000000000000000000000000001") * ?i)`,
		"add", `SET ?y AS ?a + ?b`,
		"add an integer", `SET ?y AS ?a + 1`,
		"add wide", `SET ?y AS ?w + ?b`,
		"subtract", `SET ?y AS ?a - ?b`,
		"multiply", `SET ?y AS ?a * ?b`,
		"multiply wide", `SET ?y AS ?w2 * 99999999`,
		"divide", `SET ?y AS ?a / 8`,
		"divide wide", `SET ?y AS ?w / ?w`,
		"divide in vain", `TRY SET ?y AS ?w / 7 CATCH END`,
		"divide by a power of two", `TRY SET ?y AS ?least / ?two CATCH END`,
		"remainder", `SET ?y AS ?w % ?b`,
		"too long", `TRY SET ?y AS ?w * ?w CATCH END`,
		"compare", `SET ?y AS ?a < ?b`,
		"compare wide", `SET ?y AS ?w < ?least`,
		"compare with a float", `SET ?y AS ?a < 1234.5`,
		"compare with a small float", `SET ?y AS ?least < 4.9e-324`,
		"equal to an integer", `IF ?a = 7 THEN SET ?y AS 1 END`,
		"text", `SET ?y AS "{?w}"`,
		"UNIQUE", `SET ?y AS UNIQUE(?many)`,
		"UNIQUE close together", `SET ?y AS UNIQUE(?close)`,
		"SORT", `SET ?y AS SORT(?close)`)...)
	rows = append(rows, with("call", `
DEFINE nothing() END
DEFINE add(?a, ?b) RETURN ?a + ?b END
DEFINE down(?n) IF ?n > 0 THEN RETURN down(?n - 1) END RETURN 0 END`,
		"nothing", `CALL nothing()`,
		"add", `SET ?y AS add(1, ?round)`,
		"1,000 deep", `SET ?y AS down(1000)`,
		"19,000 deep", `SET ?y AS down(19000)`,
	)...)
	rows = append(rows, with("access", textsSetup+listsSetup+mapsSetup+deepSetup,
		"list", `SET ?y AS ?l3[1]`,
		"texts", `SET ?y AS ?texts[77]`,
		"from the end", `SET ?y AS ?l3[-1]`,
		"missing index", `SET ?y AS ?l3[99]`,
		"field", `SET ?y AS ?m3.b`,
		"missing field", `SET ?y AS ?m3.nothing`,
		"field of a wide map", `SET ?y AS ?wide["key 777"]`,
		"long key of a small map", `SET ?y AS ?keys[?key]`,
		"long key, another block", `SET ?y AS ?keys2[?key]`,
		"long key that is missing", `SET ?y AS ?keys[?keyB]`,
		"long key of many", `SET ?y AS ?many[?inMany]`,
		"long key set", `SET ?keys2[?key] AS ?round`,
		"long key of many set", `SET ?many[?inMany] AS ?round`,
		"set list", `SET ?l3[1] AS ?round`,
		"set text in list", `SET ?texts[1] AS "x"`,
		"set field", `SET ?m3.b AS ?round`,
		"set path", `SET ?q.a.b.c AS ?round`,
		"set and unset", `SET ?m3.d AS 1 UNSET ?m3.d`,
		"append ints", `SET ?y AS [] FOR ?i FROM 1 TO 1000 DO APPEND ?i TO ?y END`,
		"append texts", `SET ?y AS [] FOR ?i FROM 1 TO 1000 DO APPEND ?a1 TO ?y END`,
		"append mixed", `SET ?y AS [1] APPEND "a" TO ?y`,
		"copy on write ints", `SET ?y AS ?ints SET ?y[0] AS 1`,
		"copy on write texts", `SET ?y AS ?texts SET ?y[0] AS "b"`,
		"copy on write map", `SET ?y AS ?wide SET ?y.z AS 1`,
		"unpack", `SET ?y AS ?ints SET ?y[0] AS "b"`,
		"remove first", `SET ?y AS ?ints FOR ?i FROM 1 TO 100 DO UNSET ?y[0] END`,
		"remove first text", `SET ?y AS ?texts FOR ?i FROM 1 TO 100 DO UNSET ?y[0] END`,
		"fill and empty a map", `SET ?y AS {} FOR ?i FROM 1 TO 1000 DO SET ?y["k{?i}"] AS ?i END FOR ?i FROM 1 TO 1000 DO UNSET ?y["k{?i}"] END`,
		"fill a map with long keys", `SET ?y AS {} FOR ?i FROM 1 TO 12 DO SET ?y[?long[?i]] AS ?i END`,
		"list literal", `SET ?y AS [1, 2, ?round]`,
		"map literal", `SET ?y AS {a: 1, b: ?round}`,
	)...)
	rows = append(rows, with("text", textsSetup+listsSetup+mapsSetup+`
SET ?f AS 1.7976931348623157e308
SET ?small AS 4.9e-324
SET ?bytes AS BYTES(?aM)
SET ?bytesE AS BYTES(?eM)`,
		"join small", `SET ?y AS ?a1 + "x"`,
		"join large", `SET ?y AS ?aM + ?eM`,
		"append in place", `SET ?y AS "" FOR ?i FROM 1 TO 1000 DO SET ?y AS ?y + "abc" END`,
		"insertion", `SET ?y AS "{?a1} and {?round}"`,
		"insertion of a float", `SET ?y AS "{?f}"`,
		"insertion of a small float", `SET ?y AS "{?small}"`,
		"insertion of a large text", `SET ?y AS "x{?aM}"`,
		"insertion of bytes", `SET ?y AS "x{?bytesE}"`,
		"insertion of ints", `SET ?y AS "x{?ints}"`,
		"insertion of floats", `SET ?y AS "x{?floats}"`,
		"insertion of a map with long keys", `SET ?y AS "x{?many}"`,
		"HTML insertion", `SET ?y AS HTML "<p>{?a1}</p>"`,
		"HTML insertion large", `SET ?y AS HTML "<p>{?mixM}</p>"`,
		"HTML insertion of floats", `SET ?y AS HTML "<p>{?floats}</p>"`,
		"compare small", `SET ?y AS ?a1 < "abcdefgi"`,
		"compare large", `SET ?y AS ?aM < ?eM`,
		"equal large", `SET ?y AS ?copies[0] = ?copies[1]`,
		"order large", `SET ?y AS ?copies[0] < ?copies[1]`,
	)...)
	rows = append(rows, with("emit", textsSetup+listsSetup+mapsSetup,
		"nothing", `EMIT ""`,
		"number", `IF ?round < 1000000 THEN EMIT ?round END`,
	)...)
	errorSetup := `
DEFINE fails() FAIL "x" END
DEFINE deep(?n) IF ?n = 0 THEN FAIL "x" END RETURN deep(?n - 1) + 1 END
DEFINE tries(?n) TRY IF ?n = 0 THEN FAIL "x" END RETURN tries(?n - 1) + 1 CATCH ?e FAIL ?e END END
SET ?message AS REPEAT("é", 400000)
SET ?big AS {message: "x", data: REPEAT("a", 100000)}`
	rows = append(rows, with("error", errorSetup,
		"caught", `TRY FAIL "x" CATCH ?e END`,
		"of a function", `TRY SET ?y AS 1 / 0 CATCH ?e END`,
		"in a call", `TRY CALL fails() CATCH ?e END`,
		"1,000 deep", `TRY SET ?y AS deep(1000) CATCH ?e END`,
		"19,000 deep", `TRY SET ?y AS deep(19000) CATCH ?e END`,
		"raised again", `TRY TRY FAIL "x" CATCH ?e FAIL ?e END CATCH ?f END`,
		"raised again 500 deep", `TRY SET ?y AS tries(500) CATCH ?e END`,
		"with a long message", `TRY FAIL ?message CATCH ?e END`,
		"of a map", `TRY FAIL ?big CATCH ?e END`,
		"wrong kind with a long text", `TRY SET ?y AS ?message - 1 CATCH ?e END`,
		"many handlers", `TRY `+strings.Repeat(`TRY SET ?y AS 1 CATCH ?e END `, 200)+` FAIL "x" CATCH ?e END`,
	)...)
	return rows
}

// walkRows are walks over values.
func walkRows() []row {
	return with("walk", textsSetup+listsSetup+mapsSetup+deepSetup+`
SET ?ints2 AS MAP(?ints, ?i -> ?i)
SET ?floats2 AS MAP(?floats, ?i -> ?i)
SET ?texts2 AS MAP(?ints, ?i -> "t{?i}")
SET ?nested2 AS MAP(?nested, ?i -> [?i[0], ?i[1]])
SET ?wide2 AS FROM_ENTRIES(?pairs)
SET ?wideL AS [?wide]
SET ?wideL2 AS [?wide2]
SET ?manyL AS [?many]
SET ?manyL2 AS [?many2]
SET ?deepL AS MAP(RANGE(1, 10), ?i -> ?deep)
SET ?mixed AS MAP(RANGE(1, 20000), ?i -> CASE WHEN ?i % 2 = 0 THEN ?i ELSE "a" END)
SET ?nearA AS REPEAT("a", 50) + "b"
SET ?nearB AS REPEAT("a", 3000) + "b"
SET ?nearC AS REPEAT("a", 300000) + "b"`,
		"equal ints", `SET ?y AS ?ints = ?ints2`,
		"equal floats", `SET ?y AS ?floats = ?floats2`,
		"equal texts", `SET ?y AS ?texts = ?texts2`,
		"equal nested", `SET ?y AS ?nested = ?nested2`,
		"equal maps", `SET ?y AS ?wide = ?wide2`,
		"equal maps with long keys", `SET ?y AS ?many = ?many2`,
		"equal deep", `SET ?y AS ?deep = ?deep2`,
		"equal deep maps", `SET ?y AS ?deepM = ?deepM2`,
		"equal small lists", `SET ?y AS ?l3 = [3, 1, 2]`,
		"IN ints", `SET ?y AS -1 IN ?ints`,
		"IN floats", `SET ?y AS 1 IN ?floats`,
		"IN texts", `SET ?y AS "t" IN ?texts`,
		"IN long texts", `SET ?y AS ?long[3] IN ?long`,
		"IN equal texts", `SET ?y AS ?copies[3] IN ?long`,
		"IN nested", `SET ?y AS [0, -1] IN ?nested`,
		"IN nulls", `SET ?y AS 1 IN ?nulls`,
		"IN small list", `SET ?y AS 2 IN ?l3`,
		"IN map", `SET ?y AS "key 77" IN ?wide`,
		"IN map with a long key", `SET ?y AS ?inMany IN ?many2`,
		"IN text", `SET ?y AS "zz" IN ?aM`,
		"IN text, near match", `SET ?y AS ?nearA IN ?aM`,
		"IN text, long near match", `SET ?y AS ?nearB IN ?aM`,
		"IN text, half near match", `SET ?y AS ?nearC IN ?aM`,
		"IN small text", `SET ?y AS "c" IN ?a1`,
		"merge", `SET ?y AS ?wide + ?wide2`,
		"merge with long keys", `SET ?y AS ?many + ?many2`,
		"merge small", `SET ?y AS ?m3 + {a: 2}`,
		"join lists", `SET ?y AS ?ints + ?ints2`,
		"join texts", `SET ?y AS ?texts + ?texts2`,
		"join lists in place", `SET ?y AS [] FOR ?i FROM 1 TO 100 DO SET ?y AS ?y + ?l3 END`,
		"order lists", `SET ?y AS SORT([?ints, ?ints2])`,
		"order floats", `SET ?y AS SORT([?floats, ?floats2])`,
		"order texts", `SET ?y AS SORT([?texts, ?texts2])`,
		"order maps", `SET ?y AS SORT([?wide, ?wide2])`,
		"order maps with long keys", `SET ?y AS SORT([?many, ?many2])`,
		"order deep", `SET ?y AS SORT([?deep, ?deep2])`,
		"order deep maps", `SET ?y AS SORT([?deepM, ?deepM2])`,
		"order nulls", `SET ?y AS SORT([?nulls, ?nulls + []])`,
		"sort mixed", `SET ?y AS SORT(?mixed)`,
		"JSON of ints", `SET ?y AS TO_JSON(?ints)`,
		"JSON of floats", `SET ?y AS TO_JSON(?floats)`,
		"JSON of nulls", `SET ?y AS TO_JSON(?nulls)`,
		"JSON of long keys", `SET ?y AS TO_JSON(?many)`,
		"JSON of a wide map", `SET ?y AS TO_JSON(?wide)`,
		"JSON of deep", `SET ?y AS TO_JSON(?deep)`,
		"JSON of the same many times", `SET ?y AS TO_JSON(?deepL)`,
		"hash deep", `SET ?y AS UNIQUE([?deep, ?deep2])`,
		"hash long keys", `SET ?y AS UNIQUE([?many, ?many2])`,
		"hash ints", `SET ?y AS UNIQUE([?ints, ?ints2])`,
	)
}

// templateRows are templates of RENDER.
func templateRows() []row {
	var rows []row
	add := func(name, setup, using, template string) {
		rows = append(rows, row{name: "render: " + name, setup: setup, body: `RENDER "/page.html" USING ` + using, files: map[string]string{"/page.html": template}})
	}
	hundred := func(s string) string { return strings.Repeat(s, 100) }
	add("small", "", `{a: 1}`, `<p>{{.a}}</p>`)
	add("text of 200 KB", "", `{}`, strings.Repeat("<p class=\"a\">Tom &amp; Jerry</p>\n", 6000))
	add("100 actions", "", `{a: "x"}`, hundred(`{{.a}}`))
	add("100 len of a small text", "", `{a: "x"}`, hundred(`{{len .a}}`))
	add("100 len of a large text", textsSetup, `{a: ?eM}`, hundred(`{{len .a}}`))
	add("100 len of a list", listsSetup, `{a: ?ints}`, hundred(`{{len .a}}`))
	add("large text", textsSetup, `{a: ?mixM}`, `<p>{{.a}}</p>`)
	add("large text in a script", textsSetup, `{a: ?mixM}`, `<script>x = {{.a}}</script>`)
	add("large text in an attribute", textsSetup, `{a: ?mixM}`, `<a title="{{.a}}" href="/{{.a}}">x</a>`)
	add("floats in a script", listsSetup, `{a: ?floats}`, `<script>x = {{.a}}</script>`)
	add("ints", listsSetup, `{a: ?ints}`, `<p>{{.a}}</p>`)
	add("long keys", mapsSetup, `{a: ?many}`, `<p>{{.a}}</p>`)
	add("wide map", mapsSetup, `{a: ?wide}`, `<p>{{.a}}</p>`)
	add("loop over ints", listsSetup, `{a: ?ints}`, `{{range .a}}<i>{{.}}</i>{{end}}`)
	add("loop over a map", mapsSetup, `{a: ?wide}`, `{{range $k, $v := .a}}<i>{{$k}}{{$v}}</i>{{end}}`)
	add("loop over long keys", mapsSetup, `{a: ?many}`, `{{range $k, $v := .a}}<i>{{$v}}</i>{{end}}`)
	add("eq", textsSetup+`
SET ?bM AS REPEAT("a", 1000000)`, `{a: ?aM, b: ?bM}`, hundred(`{{if eq .a .b}}x{{end}}`))
	add("eq of numbers", "", `{a: 1, b: 1.5}`, hundred(`{{if eq .a .b}}x{{end}}`))
	add("lt", textsSetup+`
SET ?bM AS REPEAT("a", 1000000)`, `{a: ?aM, b: ?bM}`, hundred(`{{if lt .a .b}}x{{end}}`))
	add("default", "", `{a: 1}`, hundred(`{{default "x" .b}}`))
	add("index", listsSetup, `{a: ?texts}`, hundred(`{{index .a 5}}`))
	add("index by a long key", mapsSetup, `{a: ?many, k: ?inMany}`, hundred(`{{index .a .k}}`))
	add("and or not", "", `{a: 1}`, hundred(`{{if and .a (or .a .b) (not .b)}}x{{end}}`))
	add("data that is not shown", listsSetup, `{a: ?texts}`, `x`)
	add("bytes", textsSetup, `{a: BYTES(?aM)}`, `x`)
	add("recursive definition", deepSetup+`
SET ?d AS {} FOR ?i FROM 1 TO 50 DO SET ?d AS {a: ?d} END`, `?d`, `{{define "x"}}{{if .a}}<b>{{template "x" .a}}</b>{{end}}{{end}}{{template "x" .}}`)
	add("broken", "", `{}`, `<p>x</p>`)
	rows[len(rows)-1].body = `TRY RENDER "/broken.html" CATCH ?e END`
	rows[len(rows)-1].files = map[string]string{"/broken.html": strings.Repeat("<p>x</p>", 30000) + "{{"}
	return rows
}

// Tables for SQL, and queries that count.
const (
	sqlCount = `WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 10000) `
	sqlFew   = `WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 20) `
	sqlSetup = `
USE DATABASE "fuel"
CREATE TABLE IF NOT EXISTS nums (id INTEGER PRIMARY KEY, n INTEGER, t TEXT);
CREATE TABLE IF NOT EXISTS big (id INTEGER PRIMARY KEY, t TEXT);
CREATE TABLE IF NOT EXISTS out (id INTEGER PRIMARY KEY, n INTEGER, t TEXT);
SELECT count(*) FROM nums SET VALUE ?n
IF ?n = 0 THEN
  INSERT INTO nums ` + sqlCount + `SELECT i, i * 7919 % 65537, 'name ' || (i * 7919 % 65537) FROM c;
  INSERT INTO big ` + sqlFew + `SELECT i, replace(printf('%.900000c', 'a'), 'b', 'c') FROM c;
END
DELETE FROM out;
SET ?x AS REPEAT("a", 900000)
SET ?e AS REPEAT("é", 400000)
SET ?near AS REPEAT("a", 190) + "b"
SET ?json AS TO_JSON(RANGE(1, 100000))
SET ?ids AS RANGE(1, 900)`
)

// sqlRows are SQL statements.
func sqlRows() []row {
	rows := with("sql", sqlSetup,
		"smallest", `SELECT 1 SET VALUE ?y`,
		"one row", `SELECT id, n, t FROM nums WHERE id = 77 SET ROW ?y`,
		"error", `TRY SELECT 1 FROM nosuch SET VALUE ?y CATCH ?e1 END`,
		"insert", `INSERT INTO out (n, t) VALUES (1, 'x');`,
		"100 inserts in a transaction", `TRANSACTION FOR ?i FROM 1 TO 100 DO INSERT INTO out (n, t) VALUES (?i, 'x'); END END`,
		"insert of a large text", `TRANSACTION DELETE FROM out; INSERT INTO out (t) VALUES (?x); END`,
		"update all", `UPDATE nums SET n = n + 0;`,
		"insert and delete all", `TRANSACTION INSERT INTO out (n) SELECT n FROM nums; DELETE FROM out; END`,
		"count rows", `SELECT count(*) FROM nums SET VALUE ?y`,
		"sum", `SELECT sum(n) FROM nums SET VALUE ?y`,
		"scan", `SELECT count(*) FROM nums WHERE t = 'x' SET VALUE ?y`,
		"rows", `SELECT id, n, t FROM nums SET ?y`,
		"sort", `SELECT id FROM nums ORDER BY t LIMIT 1 SET VALUE ?y`,
		"sort of 500,000", `SELECT a.id FROM nums a, (SELECT id FROM nums LIMIT 50) b ORDER BY a.n * b.id LIMIT 1 OFFSET 400000 SET VALUE ?y`,
		"sort of large texts", `SELECT max(length(t)) FROM (SELECT t FROM big ORDER BY t) SET VALUE ?y`,
		"group", `SELECT count(*) FROM (SELECT n % 100 AS g, count(*) FROM nums GROUP BY g) SET VALUE ?y`,
		"distinct", `SELECT count(DISTINCT n) FROM nums SET VALUE ?y`,
		"join", `SELECT count(*) FROM nums a JOIN nums b ON a.n = b.id SET VALUE ?y`,
		"cross join", `SELECT count(*) FROM nums a, (SELECT 1 FROM nums LIMIT 100) b WHERE a.n < 0 SET VALUE ?y`,
		"recursive", sqlCount+`SELECT sum(i) FROM c SET VALUE ?y`,
		"window", `SELECT max(x) FROM (SELECT sum(n) OVER (ORDER BY id ROWS 10 PRECEDING) AS x FROM nums) SET VALUE ?y`,
		"scan of large texts", `SELECT count(*) FROM big WHERE t = 'x' SET VALUE ?y`,
		"compare large texts", `SELECT count(*) FROM big a, big b WHERE a.t = b.t SET VALUE ?y`,
		"read of large texts", `SELECT t FROM big SET ?y`,
		"large parameter", `SELECT length(?x) SET VALUE ?y`,
		"concat large", strings.Replace(sqlCount, "10000", "100", 1)+`SELECT sum((?x || i) > (i || ?x)) FROM c SET VALUE ?y`,
		"index", `TRANSACTION CREATE INDEX byn ON nums (n); DROP INDEX byn; END`,
		"create and drop", `TRANSACTION CREATE TABLE gone (a, b, c); DROP TABLE gone; END`,
		"IN list", `SELECT count(*) FROM nums WHERE id IN (?ids) SET VALUE ?y`,
		"long statement", `SELECT max(`+strings.Repeat("coalesce(1 + 2 * 3, 4, 5, 6, 7), ", 30)+`1) + max(`+strings.Repeat("coalesce(1 + 2 * 3, 4, 5, 6, 7), ", 30)+`1) AS x SET ?y`,
		"deep statement", `SELECT `+strings.Repeat("(", 80)+"1"+strings.Repeat(" + 1)", 80)+` SET VALUE ?y`,
	)
	// More different statements than a connection keeps prepared.
	var different strings.Builder
	for i := range 60 {
		fmt.Fprintf(&different, "SELECT n + %d, t || 'x' FROM nums WHERE id = %d SET ROW ?y\n", i, i+1)
	}
	rows = append(rows, row{name: "sql: 60 different statements", setup: sqlSetup, body: different.String()})
	for _, f := range sqlFunctions {
		rows = append(rows, row{name: "sql function: " + f[0], setup: sqlSetup, body: strings.Replace(sqlCount, "10000", f[2], 1) + "SELECT max(" + f[1] + ") FROM c SET VALUE ?y"})
	}
	return rows
}

// sqlFunctions are calls of SQL's functions, each with how many rows call it.
var sqlFunctions = [][3]string{
	{"abs", "abs(i)", "5000"},
	{"length small", "length(i || 'x')", "5000"},
	{"length large", "length(?e || i)", "50"},
	{"upper large", "upper(?x || i) > ''", "20"},
	{"substr large", "length(substr(?x || i, 2))", "50"},
	{"substr of é", "substr(?e || i, 390000, 1)", "50"},
	{"instr near match", "instr(?x || i, ?near)", "20"},
	{"replace", "length(replace(?x || i, 'a', 'b'))", "20"},
	{"replace near match", "length(replace(?x || i, ?near, 'b'))", "20"},
	{"trim set", "length(trim(?x || i, 'a'))", "20"},
	{"hex", "length(hex(substr(?x, 1, 400000) || i))", "20"},
	{"quote", "length(quote(substr(?x, 1, 400000) || i))", "20"},
	{"unhex", "length(unhex(?x || 'a' || i % 10, ' '))", "20"},
	{"like", "'name of ' || i LIKE '%of 7%'", "5000"},
	{"like near match", "?x || i LIKE '%' || ?near || '%'", "3"},
	{"like many %", "?x || i LIKE '%a%a%a%a%a%a%a%a%a%a%a%a%a%a%b'", "3"},
	{"glob near match", "?x || i GLOB '*' || ?near || '*'", "3"},
	{"like é", "?e || i LIKE '%éééééééb'", "3"},
	{"printf", "printf('%d %s %.3f', i, 'x', i / 7.0)", "5000"},
	{"printf wide", "length(printf('%900000d', i))", "20"},
	{"round", "round(i / 7.0, 2)", "5000"},
	{"strftime", "strftime('%Y-%m-%d %H:%M:%S', i * 86400, 'unixepoch')", "2000"},
	{"strftime long", "length(strftime(replace(substr(?x, 1, 20000), 'a', '%Y%j%f') || i, i * 86400, 'unixepoch'))", "2"},
	{"datetime modifiers", "datetime(i, 'unixepoch', '+1 day', 'start of month', '+1 month', '-1 day', 'weekday 0')", "2000"},
	{"sin", "sin(i)", "5000"},
	{"json_extract small", `json_extract('{"a":[1,2,{"b":3}]}', '$.a[2].b')`, "2000"},
	{"json_extract large", "json_extract(?json || ' ', '$[' || i || ']')", "3"},
	{"json_array", "json_array(i, 'x', i)", "2000"},
	{"json_set large", "length(json_set(?json || ' ', '$[' || i || ']', 1))", "3"},
	{"json_valid large", "json_valid(?json || substr('   ', 1, i))", "3"},
	{"json_group_array", "(SELECT length(json_group_array(t)) FROM nums WHERE id < 1000 + i)", "10"},
	{"group_concat", "(SELECT length(group_concat(t)) FROM nums WHERE id < 1000 + i)", "10"},
	{"randomblob", "length(hex(randomblob(400000 + i)))", "20"},
	{"zeroblob", "length(zeroblob(900000 + i))", "50"},
	{"concat", "length(concat(?x, i))", "50"},
	{"coalesce", "coalesce(NULL, i)", "5000"},
	{"char", "char(i, i, i)", "5000"},
	{"unicode", "unicode(?e || i)", "50"},
	{"soundex", "soundex('x' || i)", "5000"},
	{"soundex large", "soundex(?x || i)", "20"},
	{"format commas", "format('%,d', i)", "5000"},
	{"cast", "CAST(?x || i AS INTEGER)", "50"},
	{"cast of digits", "CAST('1' || i AS REAL)", "5000"},
	{"sum of texts", "('12' || i) + 1", "5000"},
	{"min", "min(?x || i, ?x)", "20"},
}
