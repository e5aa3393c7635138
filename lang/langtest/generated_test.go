package langtest

import (
	"fmt"
	"strings"
	"testing"
)

// The cases here are made by repetition: written out they would fill pages.

func repeated(n int, format string, separator string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = strings.ReplaceAll(format, "#", fmt.Sprint(i))
	}
	return strings.Join(parts, separator)
}

func nested(n int, open, inner, end string) string {
	return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
}

func TestGenerated(t *testing.T) {
	many := 70_000 // constants, more than two bytes can number
	if testing.Short() {
		many = 5_000
	}
	last := fmt.Sprint(many - 1)
	tests := []struct {
		name, script string
		want         string // the output, or the only error of the compiler
	}{
		{"a list of many elements", "EMIT SUM([" + repeated(3000, "1 + 0 * ?x", ",") + "]) SET ?x AS 0", "wrong_kind"},
		{"a list of many computed elements", "SET ?x AS 2 EMIT SUM([" + repeated(3000, "1 + 0 * ?x", ",") + "])", "3000"},
		{"a map of many entries", "SET ?x AS 2 EMIT COUNT({" + repeated(3000, "k#: ?x", ",") + "})", "3000"},
		{"EMIT of many values", "SET ?x AS 1 EMIT " + repeated(300, "?x", ","), strings.Repeat("1", 300)},
		{"many variables", repeated(1000, "SET ?v# AS # ", "") + "EMIT ?v0 + ?v149 + ?v150 + ?v999", "1298"},
		{"many functions", repeated(500, "DEFINE f#() RETURN # END ", "") + "EMIT f0() + f499()", "499"},
		{"many constants", repeated(many, "SET ?x AS 'k#' ", "") + "IF ?x = 'k" + last + "' AND ?x > 'k' AND ?x != 'k1' THEN EMIT ?x END", "k" + last},
		{"many numbers", "SET ?x AS 0 " + repeated(many, "SET ?x AS #.5 ", "") + "IF ?x = " + last + ".5 AND ?x > " + last + ".25 THEN EMIT ?x END", last + ".5"},
		{"many branches", "SET ?x AS 299 IF ?x = -1 THEN EMIT 'no' " + repeated(300, "ELSE IF ?x = # THEN EMIT 'yes#' ", "") + "END", "yes299"},
		{"many cases", "SET ?x AS 299 EMIT CASE " + repeated(300, "WHEN ?x = # THEN 'yes#' ", "") + "END", "yes299"},
		{"a long sum", "SET ?x AS 1 EMIT " + repeated(1000, "?x", " + "), "1000"},
		{"a long sum of constants", "SET ?x AS 1 EMIT " + repeated(400, "?x + 1", " + "), "800"},
		{"a long condition", "SET ?x AS 1 IF " + repeated(1000, "?x", " AND ") + " THEN EMIT 'yes' END", "yes"},
		{"a long path", "SET ?x" + strings.Repeat(".a", 80) + " AS 1 EMIT ?x" + strings.Repeat(".a", 80), "1"},
		{"deep parentheses", "EMIT " + nested(90, "(1 + ", "1", ")"), "91"},
		{"deep lists", "SET ?x AS 7 EMIT FLATTEN(" + nested(20, "[", "?x", "]") + ")[0]" + strings.Repeat("[0]", 18), "7"},
		{"deep calls", "DEFINE f(?a, ?b) RETURN ?a + ?b END EMIT " + nested(60, "f(1, ", "0", ")"), "60"},
		{"deep blocks", nested(60, "IF TRUE THEN ", "EMIT 'in'", " END"), "in"},
		{"deep loops", repeatedLoops(30) + "EMIT 'x'" + strings.Repeat(" END", 30), "x"},
		{"deep TRY", nested(60, "TRY ", "FAIL 'in'", " CATCH ?e FAIL ?e END"), "script_failed"},
		{"many steps in a row", "FOR ?i FROM 1 TO 2 DO " + repeated(400, "SET ?x AS # ", "") + "END EMIT ?x", "399"},
		{"the most arguments", "DEFINE f(" + repeated(90, "?a#", ", ") + ") RETURN ?a89 END EMIT f(" + repeated(90, "#", ", ") + ")", "89"},
		{"too many arguments", "EMIT MAX(" + repeated(91, "#", ", ") + ")", "1:6: a call takes at most 90 arguments: pass a list"},
		{"the most insertions", "SET ?x AS 1 EMIT \"" + strings.Repeat("{?x}", 90) + "\"", strings.Repeat("1", 90)},
		{"more insertions than registers", "SET ?x AS 1 EMIT \"" + strings.Repeat("{?x}", 91) + "\"", strings.Repeat("1", 91)},
		{"many insertions", "SET ?x AS 1 SET ?y AS \"a" + strings.Repeat("{?x}b", 1000) + "\" EMIT ?y", "a" + strings.Repeat("1b", 1000)},
		{"many insertions that are escaped", "SET ?x AS '<' SET ?y AS HTML \"" + strings.Repeat("{?x}b", 200) + "\" EMIT ?y", strings.Repeat("&lt;b", 200)},
		{"too many parameters", "SET ?x AS 1 SELECT " + repeated(91, "?x", ", ") + ";", "1:13: a SQL statement takes at most 90 parameters: bind a list or split the statement"},
		{"too long a sum", "SET ?x AS 1 EMIT " + nested(4, "(", "?x", strings.Repeat(" + ?x", 600)+")"),
			"1:22: this expression is too long: SET a part of it to a variable first (and 1 more)"},
		{"too many operators", "SET ?x AS 1 EMIT ?x" + strings.Repeat(" + ?x", 1001), "1:5021: more than 1000 operators follow one another: split this with SET"},
		{"many unknown names", repeated(5000, "EMIT ?v#, f#() ", ""), "1:6: ?v0 is never set: SET ?v0 AS … sets it (and 19 more)"},
		{"too many values at once", repeated(150, "SET ?v# AS # ", "") + "EMIT " + nested(120, "MAX(?v0, ", "1", ")"),
			"1:3231: this expression holds too many values at once: SET a part of it to a variable first"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := &Case{Name: test.name, Script: test.script}
			r := c.Run(Straight)
			if got := brief(r); got != test.want {
				t.Errorf("got %.200q, want %.200q", got, test.want)
			}
			for _, w := range otherWays {
				for _, s := range r.differences(w, c.Run(w)) {
					t.Errorf("%s: %.500s", w, s)
				}
			}
		})
	}
}

func repeatedLoops(n int) string { return repeated(n, "FOR ?i# FROM 1 TO 1 DO ", "") }

// brief is the output of a run, the code of its error, or what its compiler
// found.
func brief(r *Result) string {
	switch {
	case r.Wrong != nil:
		return r.Wrong.Error()
	case len(r.Compile) > 0:
		return r.Compile.Error()
	case r.Err != nil:
		return r.Err.Code
	}
	return r.Output
}
