package syntax_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"ql/lang/source"
	"ql/lang/syntax"
)

// Random programs made by the rules of the grammar are read without an error.
func TestPromiseGeneratedPrograms(t *testing.T) {
	rounds := 2000
	if os.Getenv("QL_PROMISES") != "" {
		rounds = 40_000
	}
	for seed := range rounds {
		g := &generator{rng: rand.New(rand.NewPCG(uint64(seed), 7))}
		var b strings.Builder
		n := 1 + g.rng.IntN(8)
		for range n {
			b.WriteString(g.statement(3) + g.pick(" ", "\n", ";", " -- c\n", " /* c */ "))
		}
		text := b.String()
		script, errs := syntax.Parse(source.NewFile("", text))
		if len(errs) > 0 {
			t.Fatalf("seed %d: %s\nin\n%s", seed, errs[0].Caret(""), text)
		}
		if len(script.Statements) != n {
			t.Fatalf("seed %d: %d statements, want %d, in\n%s", seed, len(script.Statements), n, text)
		}
	}
}

// generator writes random programs; depth bounds how deep they nest.
type generator struct {
	rng   *rand.Rand
	loops int
}

func (g *generator) pick(s ...string) string { return s[g.rng.IntN(len(s))] }

func (g *generator) maybe(s func() string) string {
	if g.rng.IntN(2) == 0 {
		return ""
	}
	return " " + s()
}

// word is a word with a meaning somewhere, which may stand as a name all the
// same.
func (g *generator) word() string {
	return g.pick("a", "set", "END", "Select", "as", "in", "line", "b_1", "größe", "value", "TEXT", "min", "_")
}

func (g *generator) variable() string { return "?" + g.word() }

func (g *generator) target() string {
	s := g.variable()
	for range g.rng.IntN(3) {
		s += g.access(1)
	}
	return s
}

func (g *generator) access(depth int) string {
	if g.rng.IntN(2) == 0 {
		return "." + g.word()
	}
	return "[" + g.expr(depth) + "]"
}

func (g *generator) text(depth int) string {
	if depth == 0 {
		return g.pick(`'a'`, `"b"`, `''`, `"{"`, "\"\"\"\n c\n \"\"\"", `'it''s ; END'`, `"\"}"`)
	}
	return g.pick(
		`"`+g.insertion(depth)+" "+g.insertion(depth)+`"`,
		"\"\"\"\n  "+g.insertion(depth)+"\n  \"\"\"",
	)
}

func (g *generator) insertion(depth int) string {
	return g.pick("{"+g.variable()+"}", "{!GET('a')}", "{="+g.line(depth-1)+"}")
}

// line is an expression without a line end, as "…" asks for.
func (g *generator) line(depth int) string {
	return strings.ReplaceAll(g.expr(min(depth, 0)), "\"\"\"\n c\n \"\"\"", "1")
}

func (g *generator) expr(depth int) string {
	if depth <= 0 {
		return g.pick("1", "2.5", "1_000", "NULL", "true", g.variable(), "!GET", "!SESSION('a')", "[]", "{}", "f()", g.text(0))
	}
	d := depth - 1
	switch g.rng.IntN(14) {
	case 0:
		return g.expr(d) + g.pick(" OR ", " AND ", "\nAND ") + g.expr(d)
	case 1:
		return "(NOT " + g.expr(d) + ")"
	case 2:
		return "(" + g.expr(d) + g.pick(" = ", "!=", "<", " <= ", " > ", ">=", " == ", "<>", " IN ", " NOT IN ") + g.sum(d) + ")"
	case 3:
		return "(" + g.sum(d) + g.pick(" IS NULL", " IS NOT NULL") + ")"
	case 4:
		return g.sum(d)
	case 5:
		return "(" + g.expr(d) + ")" + g.access(d)
	case 6:
		return "- (" + g.expr(d) + ")"
	case 7:
		return "CASE WHEN " + g.expr(d) + " THEN " + g.expr(d) + g.maybe(func() string { return "ELSE " + g.expr(d) }) + " END"
	case 8:
		return "[" + g.expr(d) + ", " + g.expr(d) + g.pick("", ",") + "]"
	case 9:
		return "{" + g.word() + ": " + g.expr(d) + `, "k k": ` + g.expr(d) + g.pick("", ",") + "}"
	case 10:
		return "MAP(" + g.expr(d) + ", ?x -> " + g.expr(d) + ")"
	case 11:
		return g.pick("replace(", "check(") + g.expr(d) + ", (?a, ?b) -> " + g.expr(d) + ")"
	case 12:
		return "HTML " + g.text(1)
	default:
		return g.text(1)
	}
}

func (g *generator) sum(depth int) string {
	return "(" + g.expr(depth) + ")" + g.pick(" + ", " - ", "*", "/", "%", " DIV ", " DEFAULT ") + "(" + g.expr(depth) + ")"
}

func (g *generator) duration() string {
	return g.pick("1", g.variable(), "(1 + 2)") + " " + g.pick("SECOND", "minutes", "HOURS", "DAY", "WEEKS")
}

func (g *generator) result() string { return "SET " + g.variable() }

func (g *generator) block(depth int) string {
	var b strings.Builder
	for range g.rng.IntN(3) {
		b.WriteString(g.statement(depth-1) + g.pick(" ", "\n", ";"))
	}
	return b.String()
}

func (g *generator) loop(depth int) string {
	g.loops++
	body := g.block(depth)
	g.loops--
	return " DO " + body + " END"
}

func (g *generator) statement(depth int) string {
	if depth > 0 && g.rng.IntN(3) == 0 {
		return g.compound(depth)
	}
	if g.loops > 0 && g.rng.IntN(10) == 0 {
		return g.pick("BREAK", "CONTINUE")
	}
	e := func() string { return g.expr(2) }
	switch g.rng.IntN(23) {
	case 0:
		return "EMIT " + e() + ", " + e()
	case 1:
		return "EMIT LINE" + g.maybe(e)
	case 2:
		return "SET " + g.target() + " AS " + e()
	case 3:
		return "SET " + g.text(1) + " AS " + e() + " OF " + g.pick(g.target(), "!SESSION", "!response")
	case 4:
		return g.pick("UNSET "+g.target(), "UNSET 'a' OF "+g.target())
	case 5:
		return g.pick("APPEND "+e()+" TO "+g.target(), "APPEND LINE "+e()+" TO FILE "+e())
	case 6:
		return g.pick("STOP", "START SESSION", "END SESSION", "CALL f("+e()+")", "USE DATABASE "+e())
	case 7:
		return "FAIL " + e() + g.maybe(func() string { return "CODE " + e() })
	case 8:
		return "CONFIRM " + e() + g.maybe(func() string { return "WITHIN " + g.duration() }) + g.maybe(g.result)
	case 9:
		return "GATHER " + e() + " FIELDS " + g.word() + " CHOICE [1] MIN 1 DEFAULT -2 REQUIRED, \"b c\" LONG TEXT " + g.result()
	case 10:
		return "GATHER 'a', \"b\"" + g.maybe(func() string { return "WITHIN " + g.duration() }) + " " + g.result()
	case 11:
		return g.pick("WAIT "+g.duration(), "WAIT UNTIL "+e())
	case 12:
		return "READ " + e() + g.pick("", " AS JSON", " OPTIONAL", " OPTIONAL AS lines") + " " + g.result()
	case 13:
		return "WRITE " + e() + g.pick("", " AS CSV") + " TO " + e()
	case 14:
		return g.pick("LIST "+e()+" "+g.result(), "REMOVE "+e(), "UNSHARE "+e(), "MOVE "+e()+" TO "+e())
	case 15:
		return "COPY " + e() + g.pick("", " ON 'm'") + " TO " + e() + g.pick("", " ON 'n'")
	case 16:
		return "SHARE " + e() + g.pick("", " TIMES 2", " UNLIMITED") + g.maybe(func() string { return "FOR " + g.duration() }) + " " + g.result()
	case 17:
		return "RENDER " + e() + g.maybe(func() string { return "USING " + e() })
	case 18:
		return "FETCH " + e() + g.maybe(func() string { return "BODY " + e() }) + g.maybe(func() string { return "TIMEOUT " + g.duration() }) + g.maybe(g.result)
	case 19:
		return "RUN " + e() + " ON " + e() + g.maybe(func() string { return "INPUT " + e() }) + g.maybe(g.result)
	case 20:
		return fmt.Sprintf("SELECT a, (b) FROM t WHERE x = %s AND y IN (%s) %s", g.param(), g.param(),
			g.pick(";", "SET ?x", "SET ROW ?x", "set value ?x"))
	case 21:
		return "CHECK " + e() + " FIELDS " + g.word() + " CHOICE [1] MIN 1 DEFAULT -2 REQUIRED, \"b c\" LONG TEXT" + g.maybe(g.result)
	default:
		return "UPDATE t SET a = " + g.param() + ", b = 'x;' -- c ;\n WHERE c = CASE WHEN 1 THEN " + g.param() + " END" + g.pick(";", " SET ?r")
	}
}

func (g *generator) param() string {
	return g.pick("?a", "?a.b", "?a["+g.line(0)+"]", "!GET('q')", "!GET.a", "!POST(?b)[0]")
}

func (g *generator) compound(depth int) string {
	switch g.rng.IntN(6) {
	case 0:
		return "IF " + g.expr(1) + " THEN " + g.block(depth) + g.pick("", " ELSE IF ?c THEN "+g.block(depth)) +
			g.pick("", " ELSE\n"+g.block(depth)) + " END"
	case 1:
		return "FOR ?x IN " + g.expr(1) + g.loop(depth)
	case 2:
		return "FOR ?i FROM " + g.expr(1) + " TO " + g.expr(1) + g.pick("", " STEP 2") + g.loop(depth)
	case 3:
		return "WHILE " + g.expr(1) + g.loop(depth)
	case 4:
		return "TRY " + g.block(depth) + " CATCH" + g.pick("", " ?err") + " " + g.block(depth) + g.pick("", " FINALLY", " FINALLY EMIT 1") + " END"
	default:
		return "TRANSACTION " + g.block(depth) + " END"
	}
}
