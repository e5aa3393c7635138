package syntax_test

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ql/lang/source"
	"ql/lang/syntax"
)

// The trees of testdata/trees, a line a statement, stand in .tree files beside
// the scripts.
func TestTrees(t *testing.T) {
	paths, err := filepath.Glob("testdata/trees/*.ql")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(parse(t, string(text)), "\n") + "\n"
		golden := strings.TrimSuffix(path, ".ql") + ".tree"
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s\n%s", path, diff)
		}
	}
}

func parseExpr(t testing.TB, text string) syntax.Expr {
	t.Helper()
	x, errs := syntax.ParseExpr(source.NewFile("", text))
	if len(errs) > 0 {
		t.Fatal(errs[0].Caret(""))
	}
	return x
}

// Brackets where the grammar puts them change nothing.
func TestPrecedence(t *testing.T) {
	tests := []struct{ text, same string }{
		{`1 + 2 * 3`, `1 + (2 * 3)`},
		{`1 - 2 - 3`, `(1 - 2) - 3`},
		{`8 / 4 DIV 2 % 3`, `((8 / 4) DIV 2) % 3`},
		{`?a DEFAULT 0 + 1`, `(?a DEFAULT 0) + 1`},
		{`2 * ?a DEFAULT ?b DEFAULT 3`, `2 * ((?a DEFAULT ?b) DEFAULT 3)`},
		{`-?a DEFAULT 1`, `(-?a) DEFAULT 1`},
		{`-?a.b[0]`, `-((?a.b)[0])`},
		{`- -1`, `-(-1)`},
		{`NOT ?a = 1 AND ?b`, `(NOT (?a = 1)) AND ?b`},
		{`NOT NOT ?a OR ?b`, `(NOT (NOT ?a)) OR ?b`},
		{`?a OR ?b AND ?c OR ?d`, `(?a OR (?b AND ?c)) OR ?d`},
		{`?a + 1 < ?b - 1`, `(?a + 1) < (?b - 1)`},
		{`?a NOT IN ?b + [1]`, `?a NOT IN (?b + [1])`},
		{`?a + 1 IS NOT NULL AND TRUE`, `((?a + 1) IS NOT NULL) AND TRUE`},
		{`?a == 1`, `?a = 1`},
		{`?a <> 1`, `?a != 1`},
		{`true And fAlse`, `TRUE AND FALSE`},
		{`case when 1 then 2 end`, `CASE WHEN 1 THEN 2 END`},
		{`[1, 2,]`, `[1, 2]`},
		{`{a: 1,}`, `{a: 1}`},
		{`!get('a')`, `!GET('a')`},
	}
	for _, test := range tests {
		got := removeParens(syntax.Dump(parseExpr(t, test.text)))
		want := removeParens(syntax.Dump(parseExpr(t, test.same)))
		if got != want {
			t.Errorf("%s is\n%s\nwant\n%s", test.text, got, want)
		}
	}
}

// removeParens takes the (Paren X:…) nodes out of a dump.
func removeParens(dump string) string {
	const mark = "(Paren X:"
	for {
		i := strings.Index(dump, mark)
		if i < 0 {
			return dump
		}
		depth, quoted := 1, false
		j := i + len(mark)
		for ; depth > 0; j++ {
			switch c := dump[j]; {
			case c == '"':
				quoted = !quoted
			case quoted:
			case c == '(':
				depth++
			case c == ')':
				depth--
			}
		}
		dump = dump[:i] + dump[i+len(mark):j-1] + dump[j:]
	}
}

func TestNumbers(t *testing.T) {
	tests := []struct {
		text  string
		isInt bool
		i     int64
		f     float64
	}{
		{"0", true, 0, 0},
		{"007", true, 7, 0},
		{"42", true, 42, 0},
		{"1_000_000", true, 1000000, 0},
		{"9223372036854775807", true, math.MaxInt64, 0},
		{"9223372036854775808", false, 0, 9223372036854775808},
		{"123456789012345678901234567890", false, 0, 123456789012345678901234567890},
		{"2.0", true, 2, 0},
		{"2.50", false, 0, 2.5},
		{"1e6", true, 1000000, 0},
		{"1E+2", true, 100, 0},
		{"15e-1", false, 0, 1.5},
		{"9007199254740991.0", true, 1<<53 - 1, 0},
		{"9007199254740992.0", false, 0, 1 << 53},
		{"1e300", false, 0, 1e300},
		{"1e-400", true, 0, 0},
		{"1_0.2_5", false, 0, 10.25},
	}
	for _, test := range tests {
		n, ok := parseExpr(t, test.text).(*syntax.Number)
		if !ok || n.Raw != test.text || n.IsInt != test.isInt || n.Int != test.i || n.Float != test.f {
			t.Errorf("%s is %+v", test.text, n)
		}
	}
}

func TestTexts(t *testing.T) {
	tests := []struct{ text, want string }{
		{`'a'`, "a"},
		{`''`, ""},
		{`'it''s'`, "it's"},
		{`'\n {?x} "'`, `\n {?x} "`},
		{`""`, ""},
		{`"a\"\\\/\{\n\t\r\b\f"`, "a\"\\/{\n\t\r\b\f"},
		{`"\u00e9\u{e9}\u{1F600}\ud83d\ude00"`, "éé😀😀"},
		{`"{ } {} {a} {? {! {1} }"`, "{ } {} {a} {? {! {1} }"},
		{`"it's"`, "it's"},
		{`""""""`, ""},
		{`"""a"b""c"""`, `a"b""c`},
		{"\"\"\"\n\"\"\"", ""},
		{"\"\"\"\n  \"\"\"", ""},
		{"\"\"\"\n\n\"\"\"", ""},
		{"\"\"\"\n\n\n\"\"\"", "\n"},
		{"\"\"\"a\nb\"\"\"", "a\nb"},
		{"\"\"\"\n  a\n    b\n\n c\n  \"\"\"", "a\n  b\n\nc"},
		{"\"\"\"\n\ta\n\t\tb\n\t\"\"\"", "a\n\tb"},
		{"\"\"\"\n  a\n  b\"\"\"", "  a\n  b"},
		{"\"\"\"x\n  a\n  \"\"\"", "x\na"},
		{"\"\"\"\n  a\\n  b\n  \"\"\"", "a\n  b"},
		{"\"\"\"\n  a\n  \\u0020\"\"\"", "  a\n   "},
	}
	for _, test := range tests {
		x, ok := parseExpr(t, test.text).(*syntax.Text)
		if !ok || x.HasInsertion() || x.Plain() != test.want {
			t.Errorf("%s is %q, want %q", test.text, x.Plain(), test.want)
		}
	}
}

// insertions writes a text with its insertions' sources in « ».
func insertions(src string, x *syntax.Text) string {
	var b strings.Builder
	for _, p := range x.Parts {
		if p.Insert == nil {
			b.WriteString(p.Plain)
			continue
		}
		b.WriteString("«")
		if p.Equals {
			b.WriteString("=")
		}
		b.WriteString(src[p.Insert.Pos():p.Insert.End()] + "»")
	}
	return b.String()
}

func TestInsertions(t *testing.T) {
	tests := []struct{ text, want string }{
		{`"{?a}"`, `«?a»`},
		{`"a{?b}c{!GET('d')}e"`, `a«?b»c«!GET('d')»e`},
		{`"{?a}{?b}"`, `«?a»«?b»`},
		{`"{ ?a} {=1 + 2}"`, `{ ?a} «=1 + 2»`},
		{`"{= {a: {b: 1}}.a.b }}"`, `«={a: {b: 1}}.a.b»}`},
		{`"{=UPPER("x{?y}")}"`, `«=UPPER("x{?y}")»`},
		{`"{!GET("q") DEFAULT "{"}"`, `«!GET("q") DEFAULT "{"»`},
		{`"\{?a} \u007b?b}"`, `{?a} {?b}`},
		{"\"\"\"\n  a\n  {?b}\n    {=1 +\n 2}c\n  \"\"\"", "a\n«?b»\n  «=1 +\n 2»c"},
		{"\"\"\"{?a}\n \"\"\"", "«?a»"},
		{"\"\"\"\n{?a}\"\"\"", "«?a»"},
		{`"{?é.ü}"`, `«?é.ü»`},
	}
	for _, test := range tests {
		x, ok := parseExpr(t, test.text).(*syntax.Text)
		if !ok || insertions(test.text, x) != test.want {
			t.Errorf("%s is %s, want %s", test.text, insertions(test.text, x), test.want)
		}
	}
}

// A statement reaches from its verb to its last token.
func TestStatementSpans(t *testing.T) {
	for _, text := range samples {
		script, errs := syntax.Parse(source.NewFile("", "  "+text+"  -- c\n"))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		s := script.Statements[0]
		if got := script.File.Text[s.Pos():s.End()]; got != strings.TrimSuffix(text, ";") {
			t.Errorf("%s spans %q", text, got)
		}
	}
}

func TestComments(t *testing.T) {
	text := "-- a\nEMIT 1 /* b */ -- c\nREPLACE /* sql */ INTO t -- sql\n VALUES (1); -- d\n" +
		"SELECT 1 WHERE a IN ( /* e */ ?x[ /* f */ 0] /* g */ ) /* sql */;\nIF ?a THEN -- h\nEND /* i\n*/"
	script, errs := syntax.Parse(source.NewFile("", text))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	var got []string
	for _, c := range script.Comments {
		got = append(got, c.Text)
		if text[c.Start:c.Stop] != c.Text {
			t.Errorf("%q is not at [%d, %d)", c.Text, c.Start, c.Stop)
		}
	}
	want := []string{"-- a", "/* b */", "-- c", "-- d", "/* e */", "/* f */", "/* g */", "-- h", "/* i\n*/"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// No word is reserved.
func TestNoReservedWords(t *testing.T) {
	words := append(append(syntax.Verbs(), syntax.StructureWords()...), syntax.OperatorWords()...)
	for _, w := range append(words, syntax.ClauseWords()...) {
		parse(t, "SET ?"+w+" AS ?a."+w+" EMIT {"+w+": 1} SET ?x."+w+" AS ?"+w)
		parse(t, `GATHER "t" FIELDS `+w+" TEXT REQUIRED, b TEXT SET ?"+w)
	}
}

// The limits hold to the level, and what is below them is read.
func TestLimits(t *testing.T) {
	nest := func(n int) string { return strings.Repeat("(", n) + "1" + strings.Repeat(")", n) }
	chain := func(n int) string { return "1" + strings.Repeat(" + 1", n) }
	tests := []struct {
		name string
		text func(int) string
		most int
	}{
		{"brackets", nest, syntax.MaxNesting},
		{"operators", chain, syntax.MaxChain},
		{"accesses", func(n int) string { return "?x" + strings.Repeat(".a", n) }, syntax.MaxChain},
		{"insertions", func(n int) string { return strings.Repeat(`"{=`, n) + "1" + strings.Repeat(`}"`, n) }, syntax.MaxNesting},
	}
	for _, test := range tests {
		parseExpr(t, test.text(test.most))
		if _, errs := syntax.ParseExpr(source.NewFile("", test.text(test.most+1))); len(errs) != 1 {
			t.Errorf("%s beyond the limit: %v", test.name, errs)
		}
	}
	blocks := func(n int) string { return strings.Repeat("WHILE 1 DO ", n) + strings.Repeat("END ", n) }
	parse(t, blocks(syntax.MaxNesting))
	if _, errs := syntax.Parse(source.NewFile("", blocks(syntax.MaxNesting+1))); len(errs) != 1 {
		t.Errorf("blocks beyond the limit: %v", errs)
	}
}

// With errors the script still holds what could be read.
func TestBestEffort(t *testing.T) {
	script, errs := syntax.Parse(source.NewFile("", "EMIT 1\nPRINT 2\nIF ?a THEN\n  EMIT )\n  EMIT 3\nEND\nEMIT 4"))
	if len(errs) != 2 {
		t.Errorf("errors: %v", errs)
	}
	got := dumps(script.Statements)
	want := parse(t, "EMIT 1 IF ?a THEN EMIT 3 END EMIT 4")
	want = slices.Insert(want, 1, "(BadStmt)")
	want[2] = strings.Replace(want[2], "[(Emit", `[(BadStmt Verb:"EMIT") (Emit`, 1)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestEmpty(t *testing.T) {
	for _, text := range []string{"", "\n", ";", " ;; \n;", "-- c", "\uFEFF", "/* c */ ;"} {
		if got := parse(t, text); len(got) != 0 {
			t.Errorf("%q gives %v", text, got)
		}
	}
}
