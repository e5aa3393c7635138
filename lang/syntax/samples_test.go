package syntax_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"ql/lang/source"
	"ql/lang/syntax"
)

// samples are statements of every kind that may stand anywhere. SQL among them
// brings its own end.
var samples = []string{
	`EMIT "a"`,
	`EMIT ?a, ?b.c[0], -1`,
	`EMIT LINE`,
	`EMIT LINE ?x`,
	`EMIT LINE "a", 1 + 2`,
	`EMIT JSON {a: ?x, b: [1, 2]}`,
	`EMIT JSON (?x)`,
	`EMIT JSON UPPER(?x) DEFAULT NULL`,
	`EMIT HTML "<b>{?x}</b>"`,
	`EMIT CASE WHEN ?x THEN 1 ELSE 2 END`,
	`EMIT [1, 2, 3]`,
	`EMIT {a: 1, "b c": [TRUE, NULL]}`,
	`EMIT (1 + 2) * 3`,
	`EMIT NOT ?x`,
	`EMIT !GET('name') DEFAULT "nobody"`,
	`EMIT ?x IS NOT NULL`,
	`EMIT MAP(?l, ?x -> ?x * 2)`,
	`EMIT REDUCE(?l, (?a, ?b) -> ?a + ?b, 0)`,
	`EMIT REPLACE(?t, "a", "b")`,
	`SET ?x AS 1`,
	`SET ?x.a[0].b AS ?y`,
	`SET ?x[?k] AS ?x[?k] DEFAULT 0 + 1`,
	`SET "key" AS 1 OF ?m`,
	`SET "a{?b}" AS 1 OF ?m.n[0]`,
	`SET "status" AS 404 OF !RESPONSE`,
	`SET 'user' AS {id: 1} OF !SESSION`,
	`UNSET ?x`,
	`UNSET ?x.a["b"]`,
	`UNSET "key" OF ?m`,
	`UNSET "user" OF !SESSION`,
	`APPEND 1 TO ?l`,
	`APPEND {a: 1} TO ?m.list`,
	`APPEND "a" TO FILE "/log.txt"`,
	`APPEND LINE TO_JSON(?x) TO FILE "/log.txt"`,
	`IF ?a THEN EMIT 1 END`,
	`IF ?a THEN END`,
	`IF ?a = 1 THEN EMIT 1 ELSE EMIT 2 END`,
	"IF ?a THEN EMIT 1 ELSE IF ?b THEN EMIT 2 ELSE EMIT 3 END",
	"IF ?a THEN EMIT 1 ELSE\nIF ?b THEN EMIT 2 END END",
	`FOR ?x IN ?l DO EMIT ?x END`,
	`FOR ?k, ?v IN ?m DO EMIT ?k, ?v END`,
	`FOR ?i FROM 1 TO 10 DO EMIT ?i END`,
	`FOR ?i FROM 10 TO 1 STEP -1 DO CONTINUE END`,
	`WHILE ?x < 3 DO SET ?x AS ?x + 1 END`,
	`WHILE TRUE DO BREAK END`,
	`STOP`,
	`CALL note(1)`,
	`CALL note()`,
	`TRY EMIT 1 CATCH ?e EMIT ?e.message END`,
	`TRY EMIT 1 CATCH END`,
	`TRY EMIT 1 FINALLY EMIT 2 END`,
	`TRY EMIT 1 CATCH ?e EMIT 2 FINALLY EMIT 3 END`,
	`CALL finally(1)`,
	`FAIL "no"`,
	`FAIL "no" CODE "bad"`,
	`FAIL ?e`,
	`IMPORT ?rows INTO people`,
	`IMPORT FILE "/a.csv" INTO people`,
	`IMPORT FILE ?p AS JSON LINES INTO "my people" ENCODING "latin1" BAD ?bad SET ?r`,
	`IMPORT [{a: 1}] + ?more INTO "my people" SET ?r`,
	`SELECT * FROM t SET FILE "/a.csv"`,
	`SELECT * FROM t WHERE file = ?f SET FILE ?path + "/a.json"`,
	`START SESSION`,
	`FETCH ALL ?urls`,
	`FETCH ALL ["https://a.example", {url: ?u, method: "POST"}] AT MOST 5 TIMEOUT 10 SECONDS SET ?replies`,
	`RUN SCRIPT "report" SET ?r`,
	`RUN SCRIPT ?name USING {a: 1} WITHIN 5 MINUTES SET ?r`,
	`START SCRIPT "report" USING ?input SET ?job`,
	`START SCRIPT (?name)`,
	`WAIT FOR ?job`,
	`WAIT FOR ?jobs[0] WITHIN 1 HOUR SET ?r`,
	`WAIT FOR signal(1)`,
	`WAIT FOR SIGNAL "paid"`,
	`WAIT FOR SIGNAL ?name WITHIN 3 DAYS SET ?data`,
	`SIGNAL "paid" TO ?job`,
	`SIGNAL ?name USING {amount: 5} TO ?order.job`,
	`EMIT signal(1)`,
	`END SESSION`,
	`CONFIRM "Go on?"`,
	`CONFIRM "Go on?" SET ?ok`,
	`CONFIRM "Go on?" WITHIN 2 DAYS SET ?ok`,
	`CONFIRM "Go on?" TO "finance"`,
	`CONFIRM "Go on?" WITHIN 2 DAYS TO ?team + "!" SET ?ok`,
	`GATHER "name", "email" SET ?f`,
	`GATHER "name" TO UPPER(?x) WITHIN 1 HOUR SET ?f`,
	`GATHER "Join" FIELDS to TEXT REQUIRED, within TIME WITHIN 1 DAY TO "customer" SET ?f`,
	`GATHER "name" WITHIN 1 HOUR SET ?f`,
	`GATHER "Join" FIELDS name TEXT REQUIRED, set EMAIL SET ?f`,
	`GATHER "Join {?x}" FIELDS "a b" LONG TEXT LABEL "l" HELP "h", n INTEGER MIN 1 MAX 10 DEFAULT 1, c CHOICE ["a", "b"], d CHOICES {a: "A"} WITHIN ?n MINUTES SET ?f`,
	`CHECK ?x FIELDS a TEXT`,
	`CHECK (?x) FIELDS a TEXT REQUIRED, check INTEGER MIN 1 MAX ?n`,
	`CHECK {a: 1} FIELDS "a b" CHOICE ["a", "b"], d NUMBER DEFAULT -1 SET ?clean`,
	`EMIT check(1)`,
	`WAIT 10 SECONDS`,
	`WAIT POWER(2, ?n) + 1 MINUTES`,
	`WAIT UNTIL ?t`,
	`READ "/a.json" SET ?x`,
	`READ "/a.json" OPTIONAL AS JSON SET ?x`,
	`WRITE ?x TO "/a.json"`,
	`WRITE ?x AS CSV TO "/a"`,
	`LIST "/a" SET ?files`,
	`COPY "/a" TO "/b"`,
	`COPY "/a" ON "m" TO "/b" ON "n"`,
	`MOVE "/a" TO "/b"`,
	`REMOVE "/a"`,
	`SHARE "/a" SET ?url`,
	`SHARE "/a" TIMES 5 FOR 7 DAYS NAMED "b" SET ?url`,
	`SHARE "/a" NAMED "b" UNLIMITED SET ?url`,
	`UNSHARE ?url`,
	`USE DATABASE "shop"`,
	`TRANSACTION UPDATE t SET a = 1; END`,
	`RENDER "/a.html"`,
	`RENDER "/a.html" USING {a: 1}`,
	`FETCH "https://a.example"`,
	`FETCH ?url SET ?r`,
	`FETCH ?url TIMEOUT 5 SECONDS METHOD "POST" HEADERS {a: 1} QUERY {b: 2} BODY ?x SET ?r`,
	`RUN "ls {?dir}" ON "m"`,
	`RUN ["ls", ?dir] TIMEOUT 1 MINUTE ON "m" INPUT ?x SET ?out`,
	`SELECT * FROM t;`,
	`SELECT a, b FROM t WHERE c = ?x AND d IN (?ids) SET ?rows`,
	`SELECT COUNT(*) FROM t WHERE a = !GET('a') SET VALUE ?n`,
	`WITH x AS (SELECT 1) SELECT * FROM x SET ROW ?r`,
	`INSERT INTO t (a, b) VALUES (?a, ?b.c);`,
	`UPDATE t SET a = ?x, value = 2 WHERE id = ?id;`,
	`DELETE FROM t WHERE a = 'x;y' SET ?r`,
	`REPLACE INTO t VALUES (1);`,
	`CREATE TABLE t (a TEXT DEFAULT ';');`,
	`CREATE TRIGGER x AFTER INSERT ON t BEGIN UPDATE t SET a = CASE WHEN 1 THEN 2 END; END;`,
	`ALTER TABLE t ADD COLUMN b TEXT;`,
	`DROP TABLE t;`,
	`EXPLAIN SELECT 1 SET ?plan`,
}

// topSamples may stand only at the top level.
var topSamples = []string{
	`INCLUDE "/lib/a.ql"`,
	`DEFINE f() RETURN 1 END`,
	`DEFINE f(?a, ?b DEFAULT [1, {a: -1}]) INSERT INTO t VALUES (?a); RETURN END`,
}

// parse returns the dumps of a script's statements.
func parse(t testing.TB, text string) []string {
	t.Helper()
	script, errs := syntax.Parse(source.NewFile("", text))
	if len(errs) > 0 {
		t.Fatalf("%s\nin:\n%s", errs[0].Caret(""), text)
	}
	return dumps(script.Statements)
}

func dumps(list []syntax.Stmt) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = syntax.Dump(s)
	}
	return out
}

var separators = []string{" ", "\n", ";"}

// Two statements after one another are the two statements, whatever stands
// between them.
func TestPairs(t *testing.T) {
	all := slices.Concat(samples, topSamples)
	if len(all) < 80 {
		t.Fatalf("only %d samples", len(all))
	}
	single := make([][]string, len(all))
	for i, s := range all {
		single[i] = parse(t, s)
		if len(single[i]) != 1 {
			t.Fatalf("%s is %d statements", s, len(single[i]))
		}
	}
	for i, a := range all {
		for j, b := range all {
			for _, sep := range separators {
				if got := parse(t, a+sep+b); !slices.Equal(got, slices.Concat(single[i], single[j])) {
					t.Errorf("%s%q%s gives\n%s", a, sep, b, strings.Join(got, "\n"))
				}
			}
		}
	}
}

// The same holds inside every kind of block.
func TestPromisePairsInBlocks(t *testing.T) {
	type stmt = syntax.Stmt
	blocks := []struct {
		text string
		body func(stmt) *syntax.Block
	}{
		{"IF ?c THEN %s END", func(s stmt) *syntax.Block { return s.(*syntax.If).Branches[0].Body }},
		{"IF ?c THEN ELSE IF ?d THEN %s END", func(s stmt) *syntax.Block { return s.(*syntax.If).Branches[1].Body }},
		{"IF ?c THEN ELSE\n%s END", func(s stmt) *syntax.Block { return s.(*syntax.If).Else }},
		{"FOR ?x IN ?l DO %s END", func(s stmt) *syntax.Block { return s.(*syntax.ForIn).Body }},
		{"FOR ?i FROM 1 TO 2 DO %s END", func(s stmt) *syntax.Block { return s.(*syntax.ForRange).Body }},
		{"WHILE ?c DO %s END", func(s stmt) *syntax.Block { return s.(*syntax.While).Body }},
		{"TRY %s CATCH ?err END", func(s stmt) *syntax.Block { return s.(*syntax.Try).Body }},
		{"TRY CATCH ?err %s END", func(s stmt) *syntax.Block { return s.(*syntax.Try).Catch }},
		{"TRY CATCH ?err %s FINALLY END", func(s stmt) *syntax.Block { return s.(*syntax.Try).Catch }},
		{"TRY %s FINALLY END", func(s stmt) *syntax.Block { return s.(*syntax.Try).Body }},
		{"TRANSACTION %s END", func(s stmt) *syntax.Block { return s.(*syntax.Transaction).Body }},
	}
	inner := append(slices.Clone(samples), `BREAK`, `CONTINUE`, `RETURN`, `RETURN ?x + 1`)
	step := 7
	if os.Getenv("QL_PROMISES") != "" {
		step = 1
	}
	for _, block := range blocks {
		read := func(body string) []string {
			t.Helper()
			text := "DEFINE f() WHILE TRUE DO " + fmt.Sprintf(block.text, body) + " END END"
			script, errs := syntax.Parse(source.NewFile("", text))
			if len(errs) > 0 {
				t.Fatalf("%s\nin:\n%s", errs[0].Caret(""), text)
			}
			loop := script.Statements[0].(*syntax.Define).Body.Stmts[0].(*syntax.While)
			if len(script.Statements) != 1 || len(loop.Body.Stmts) != 1 {
				t.Fatalf("%s is not one block", text)
			}
			return dumps(block.body(loop.Body.Stmts[0]).Stmts)
		}
		single := make([][]string, len(inner))
		for i, s := range inner {
			single[i] = read(s)
		}
		for i := 0; i < len(inner); i++ {
			for j := i % step; j < len(inner); j += step {
				for _, sep := range separators {
					if got := read(inner[i] + sep + inner[j]); !slices.Equal(got, slices.Concat(single[i], single[j])) {
						t.Errorf("%s with %s%q%s gives\n%s", block.text, inner[i], sep, inner[j], strings.Join(got, "\n"))
					}
				}
			}
		}
	}
}

// ELSE IF on one line goes on with the same IF; on two lines ELSE opens a block.
func TestElseIf(t *testing.T) {
	one := parse(t, "IF ?a THEN EMIT 1 ELSE IF ?b THEN EMIT 2 END")
	two := parse(t, "IF ?a THEN EMIT 1 ELSE\nIF ?b THEN EMIT 2 END END")
	if len(one) != 1 || len(two) != 1 || one[0] == two[0] {
		t.Errorf("one line: %s\ntwo lines: %s", one, two)
	}
}

// A clause word that were a verb would make a statement ambiguous.
func TestClauseWordsAreNoVerbs(t *testing.T) {
	clauses := slices.Concat(syntax.ClauseWords(), syntax.FieldAttributes(), syntax.FieldKinds(),
		syntax.Formats(), syntax.Units())
	var both []string
	for _, w := range clauses {
		if slices.Contains(syntax.Verbs(), w) {
			both = append(both, w)
		}
	}
	slices.Sort(both)
	if want := []string{"FOR", "SET"}; !slices.Equal(both, want) {
		t.Errorf("clause words that are verbs: %v, want %v", both, want)
	}
}

// Every word in the lists is in capitals and stands in a list once.
func TestWordLists(t *testing.T) {
	lists := map[string][]string{
		"Verbs": syntax.Verbs(), "SQLHeads": syntax.SQLHeads(), "StructureWords": syntax.StructureWords(),
		"OperatorWords": syntax.OperatorWords(), "ClauseWords": syntax.ClauseWords(),
		"FieldKinds": syntax.FieldKinds(), "FieldAttributes": syntax.FieldAttributes(),
		"Formats": syntax.Formats(), "Units": syntax.Units(), "Globals": syntax.Globals(),
	}
	for name, list := range lists {
		seen := map[string]bool{}
		for _, w := range list {
			if w == "" || w != strings.ToUpper(w) || seen[w] {
				t.Errorf("%s has %q", name, w)
			}
			seen[w] = true
		}
		if len(list) == 0 {
			t.Errorf("%s is empty", name)
		}
	}
}

// INPUT FIELDS goes on with any statement, whatever its last field ends with.
func TestInputBefore(t *testing.T) {
	for _, input := range []string{`INPUT FIELDS a TEXT`, `INPUT FIELDS a INTEGER MIN -1, "b c" CHOICE ["x"] DEFAULT "x"`, `input fields set DATE REQUIRED`} {
		head := parse(t, input)
		for _, s := range slices.Concat(samples, topSamples) {
			want := append(slices.Clone(head), parse(t, s)...)
			for _, sep := range []string{" ", "\n", ";"} {
				if got := parse(t, input+sep+s); !slices.Equal(got, want) {
					t.Errorf("%s%s%s is\n%s", input, sep, s, strings.Join(got, "\n"))
				}
			}
		}
	}
}
