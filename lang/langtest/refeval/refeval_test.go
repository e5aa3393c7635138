package refeval

import (
	"testing"

	"ql/lang/source"
	"ql/lang/syntax"
)

// TestRun checks the evaluator against the rules of the language: it is what
// the machine is compared with.
func TestRun(t *testing.T) {
	for _, test := range []struct {
		text string
		want Result
	}{
		{`EMIT 1 + 2, "a{=1 / 4}b", [1, {a: NULL}], NULL`, Result{Output: `3a0.25b[1,{"a":null}]`, Steps: 1}},
		{`SET ?a AS [1] SET ?b AS ?a APPEND 2 TO ?b SET ?b[0] AS 9 EMIT ?a, ?b`, Result{Output: `[1][9,2]`, Steps: 5}},
		{`SET ?m.a.b AS 1 UNSET ?m.a.b SET "k" AS 2 OF ?m EMIT ?m`, Result{Output: `{"a":{},"k":2}`, Steps: 4}},
		{`SET ?l AS [1, 2, 3] UNSET ?l[-1] UNSET ?l[9] EMIT ?l[-1], ?l[7]`, Result{Output: "2", Steps: 4}},
		{`EMIT 9223372036854775807 + 1 > 9223372036854775807, 7 DIV -2, -7 % 3, 0.5 + 0.5`, Result{Output: "true-3-11", Steps: 1}},
		{`EMIT 1 = 1.0, '1' = 1, NULL = NULL, {a: 1, b: 2} = {b: 2, a: 1}`, Result{Output: "truefalsetruetrue", Steps: 1}},
		{`EMIT 2 IN [1, 2], 'a' IN {a: NULL}, 'b' IN 'abc', 1 NOT IN NULL`, Result{Output: "truetruetruetrue", Steps: 1}},
		{`EMIT NULL DEFAULT 5, CASE WHEN 0 THEN 1 END, CASE WHEN '' THEN 1 ELSE 2 END, NOT []`, Result{Output: "52true", Steps: 1}},
		{`FOR ?i FROM 3 TO 1 STEP -1 DO IF ?i = 2 THEN CONTINUE END EMIT ?i END EMIT ?i`, Result{Output: "311", Steps: 8}},
		{`FOR ?i FROM 0 TO 1 STEP 0.25 DO EMIT ?i, ' ' END`, Result{Output: "0 0.25 0.5 0.75 1 ", Steps: 6}},
		{`FOR ?k, ?v IN {a: 1, b: 2} DO EMIT ?k, ?v END FOR ?x IN NULL DO EMIT 'never' END`, Result{Output: "a1b2", Steps: 4}},
		{`SET ?i AS 0 WHILE ?i < 3 DO SET ?i AS ?i + 1 IF ?i = 2 THEN BREAK END END EMIT ?i`, Result{Output: "2", Steps: 9}},
		{`DEFINE f(?n, ?by DEFAULT 2) IF ?n = 0 THEN RETURN [] END RETURN f(?n - 1) + [?n * ?by] END EMIT f(2)`, Result{Output: "[2,4]", Steps: 7}},
		{`DEFINE f() SET ?x AS 1 END SET ?x AS 5 CALL f() EMIT ?x, f() IS NULL`, Result{Output: "5true", Steps: 5}},
		{`DEFINE f() STOP END TRY CALL f() CATCH EMIT 'no' END EMIT 'no'`, Result{Steps: 2}},
		{`EMIT MAP([3, 1], (?x, ?i) -> ?x + ?i), REDUCE([1, 2], (?a, ?x) -> ?a + [?x], []), SORT_BY([1, 2, 3], ?x -> -?x)`, Result{Output: "[3,2][1,2][3,2,1]", Steps: 1}},
		{`SET ?x AS 7 EMIT FILTER([1, 9], ?x -> ?x > 5), ?x, ANY([], ?y -> TRUE), ALL([], ?y -> FALSE)`, Result{Output: "[9]7falsetrue", Steps: 2}},
		{"TRY\nEMIT 'a', 1 / 0\nCATCH ?e\nEMIT ?e.code, ?e.line, ?e.step\nEND", Result{Output: "division_by_zero2EMIT", Steps: 2}},
		{"TRY\nFAIL 'm' CODE 'c'\nCATCH ?e\nFAIL ?e\nEND", Result{Code: "c", Step: "FAIL", Line: 2, Steps: 2}},
		{"SET ?x.a[0] AS 1", Result{Code: "bad_index", Step: "SET", Line: 1, Steps: 1}},
		{"TRY SET ?x.a[0] AS 1 CATCH END EMIT ?x IS NULL", Result{Output: "true", Steps: 2}},
		{"EMIT\n'a' +\n1", Result{Code: "wrong_kind", Step: "EMIT", Line: 2, Steps: 1}},
		{"DEFINE f()\nRETURN NULL + 1\nEND\nEMIT f()", Result{Code: "wrong_kind", Step: "RETURN", Line: 2, Steps: 2}},
		{"EMIT 1e308 * 10", Result{Code: "number_range", Step: "EMIT", Line: 1, Steps: 1}},
		{`EMIT HTML "<i>{='<&'}</i>", 1e21, 3.7e-9, 2.50`, Result{Output: "<i>&lt;&amp;</i>1e+213.7e-92.5", Steps: 1}},
		{`EMIT DECIMAL('1.10') + 2, ' ', -DECIMAL('1.10') * DECIMAL('1.10'), ' ', DECIMAL('10.00') / 4, ' ', [DECIMAL('7.5') % 2, DECIMAL('7.5') DIV 2]`, Result{Output: `3.10 -1.2100 2.50 ["1.5","3"]`, Steps: 1}},
		{`EMIT DECIMAL('2.00') = 2, DECIMAL('0.10') = 0.1, DECIMAL('0.1') < 0.11, NOT DECIMAL('0.00')`, Result{Output: "truetruetruetrue", Steps: 1}},
		{"EMIT DECIMAL('1') + 0.5", Result{Code: "wrong_kind", Step: "EMIT", Line: 1, Steps: 1}},
		{"EMIT DECIMAL('1') / 3", Result{Code: "number_range", Step: "EMIT", Line: 1, Steps: 1}},
		{`WHILE TRUE DO END`, Result{Exhausted: true, Steps: MaxSteps + 1}},
	} {
		script, errs := syntax.Parse(source.NewFile("", test.text))
		if len(errs) > 0 {
			t.Fatalf("%s: %v", test.text, errs)
		}
		if got := Run(script); got != test.want {
			t.Errorf("%s\ngot  %+v\nwant %+v", test.text, got, test.want)
		}
	}
}
