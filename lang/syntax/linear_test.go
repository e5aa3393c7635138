package syntax_test

import (
	"os"
	"strings"
	"testing"

	"ql/lang/source"
	"ql/lang/syntax"
)

// hostile are pieces of text that, repeated, would make a parser that looks
// twice at what it has read, or recurses without limit, run for hours or fall.
var hostile = []string{
	"(", "[", "{", "{a:", "?x[", "F(", "F((?a,", "F(?a->", "NOT ", "- ", "1+", "?x.a", "?x DEFAULT ",
	"\"{=", "\"{?a[", "\"\"\"{=", "\"\"\"", "'", "\"", "\"a\nEMIT ", "`", "“", "«", "//", "#\n", "/*", "/* */", "--\n",
	"CASE WHEN ", "CASE ", "END\n", "ELSE\n", "CATCH\n", "FINALLY\n", "TRY FINALLY ", "IF 1 THEN ", "IF 1 THEN\n", "IF\n", "TRY ", "FOR ?x IN ?y DO\n",
	"DEFINE f() ", "DEFINE f(?a) END\n", "TRANSACTION\n", "EMIT 1 ", "EMIT 1\n", "EMIT )\n", "SET ?x ", "SET ?x\n",
	"WORD ", "WORD\n", "WORD 1\n", "EMTI 1\n", "PRINT 1\n", "?x\n", ";", "a:b,\n", "\\", "$", "\u00a0", "é", "\u200b",
	"SELECT (", "SELECT ", "SELECT 1;", "SELECT «;", "SELECT #;", "SELECT ?a[", "SELECT ?a[0]«;", "SELECT ?a[0]", "SELECT ?a[0]//",
	"SELECT 1 SET ?x ", "SELECT $a$", "SELECT $a", "SELECT 'a", "SELECT \"\"\"a\" SET \"\"\"", "SELECT a IN (?b", "SELECT a IN (?b) ",
	"SELECT a IN (/* */?b,", "SELECT /* */ ?a /* */", "SELECT :a\n", "SELECT ) ", "SELECT )\n", "SELECT CASE\n", "SELECT\nEND\n",
	"CREATE TRIGGER BEGIN ", "IF 1 THEN SELECT 1\nEND\n", "SELECT !GET(", "SELECT {?a}", "SELECT SET ", "SELECT SET 'a' ",
	"SELECT SET 'a' AS 1\n", "SELECT\nEMIT ", "SELECT\nIF NOT ",
	"GATHER 'a' FIELDS a TEXT, ", "GATHER 'a' FIELDS a TEXT b ", "GATHER \"a\", ", "CHECK ?a FIELDS a TEXT, ", "CHECK ?a FIELDS a TEXT b ", "INPUT FIELDS a TEXT, ", "FETCH 1 BODY ", "READ ", "WAIT 1 ", "'it's'\n",
	"THEN ", "foo THEN\n", "foo DO\n", "IF 1 {\n", "}\n", "{\n", "function f(a) {\n", "END IF\n", "TRY\nEND\n", "a.b.c", "x = 1\n", "?x = 1\n", "?x.y[",
}

// Each of them, many times over, is read to its end. The time is not measured
// here: with QL_PROMISES=1 the texts are so long that anything but linear time
// runs into the time limit of the tests.
func TestPromiseHostileTexts(t *testing.T) {
	size := 64 << 10
	if os.Getenv("QL_PROMISES") != "" {
		size = 8 << 20
	}
	for _, piece := range hostile {
		for _, start := range []string{"", "EMIT ", "SELECT ", "IF 1 THEN\n"} {
			f := source.NewFile("", start+strings.Repeat(piece, size/len(piece)))
			if script, _ := syntax.Parse(f); script == nil {
				t.Errorf("%q: no script", piece)
			}
			syntax.ParseTo(f, func(syntax.Stmt, []syntax.Span, int) {})
			if x, errs := syntax.ParseExpr(f); x == nil && len(errs) == 0 {
				t.Errorf("%q: neither an expression nor an error", piece)
			}
		}
	}
}
