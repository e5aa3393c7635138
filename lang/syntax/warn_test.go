package syntax_test

import (
	"strings"
	"testing"

	"ql/lang/source"
	"ql/lang/syntax"
)

func TestWarnings(t *testing.T) {
	for script, want := range map[string]string{
		`EMIT ?x DEFAULT 0 + 1`:                                                  "1:9: DEFAULT is taken before + here: this is (?x DEFAULT 0) + 1, and not ?x DEFAULT (0 + 1); brackets say which is meant",
		`EMIT 2 * ?x DEFAULT 0`:                                                  "1:13: DEFAULT is taken before * here: this is 2 * (?x DEFAULT 0), and not (2 * ?x) DEFAULT 0; brackets say which is meant",
		`IF "{=?a DIV ?b DEFAULT 1}" THEN END`:                                   "1:17: DEFAULT is taken before DIV here: this is ?a DIV (?b DEFAULT 1), and not (?a DIV ?b) DEFAULT 1; brackets say which is meant",
		`EMIT (?x DEFAULT 0) + 1`:                                                "",
		`EMIT ?x DEFAULT (0 + 1)`:                                                "",
		`EMIT ?x DEFAULT 0 > 1 AND ?y DEFAULT FALSE, -?x DEFAULT 1`:              "",
		"DEFINE f(?a DEFAULT 1) RETURN MAP(?a, ?x ->\n ?x DEFAULT ?a -\n 1) END": "2:5: DEFAULT is taken before - here: this is (?x DEFAULT ?a) - 1, and not ?x DEFAULT (?a - 1); brackets say which is meant",
	} {
		s, errs := syntax.Parse(source.NewFile("", script))
		if len(errs) > 0 {
			t.Fatalf("%s: %v", script, errs)
		}
		var got []string
		for _, w := range syntax.Warnings(s) {
			got = append(got, w.Error())
		}
		if strings.Join(got, "\n") != want {
			t.Errorf("%s\n got %q\nwant %q", script, got, want)
		}
		if syntax.Bracket(s); len(syntax.Warnings(s)) > 0 {
			t.Errorf("%s: with brackets there are warnings", script)
		}
	}
}
