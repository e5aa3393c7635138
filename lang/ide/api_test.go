package ide_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ql/lang/ide"
)

func TestDiagnostics(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"EMIT 1", ""},
		{"SET ?name AS 1\nEMIT ?nmae", "20-25 unknown_variable ?nmae is never set; ?name is"},
		{"EMTI 1\r\nEMIT ?x", "0-4 unknown_word EMTI is no statement; did you mean EMIT? / 13-15 unknown_variable ?x is never set: SET ?x AS … sets it"},
		{"SET ?x AS (\nEMIT ?x", "11-11 syntax expected a value, found EMIT"},
		{"INCLUDE \"/lib/tax.ql\"\nEMIT tax(1)", ""},
		{"INCLUDE \"/lib/none.ql\"", `8-22 bad_include cannot include /lib/none.ql: file does not exist`},
	} {
		var got []string
		for _, d := range ide.Diagnostics(test.text, shop{}) {
			got = append(got, strings.Join([]string{span(d.Start, d.End), d.Code, d.Message}, " "))
		}
		if diff := cmp.Diff(test.want, strings.Join(got, " / ")); diff != "" {
			t.Errorf("%q: %s", test.text, diff)
		}
	}
	if got := ide.Diagnostics("INCLUDE \"/lib/none.ql\"\nEMIT other(1)\nEMIT ?x", nil); len(got) != 1 || got[0].Code != "unknown_variable" {
		t.Errorf("without an account: %+v", got)
	}
}

func span(start, end int) string { return fmt.Sprintf("%d-%d", start, end) }

func TestHover(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"EMIT UP|PER(\"a\")", "UPPER(text)"},
		{"EM|IT 1", "EMIT expr"},
		{"SET ?a AS 1\nEMIT ?|a", "First set on line 1; it stands in 2 places."},
		{"EMIT !GE|T('a')", "The parameters"},
		{"-- Doubles.\nDEFINE twice(?x) RETURN ?x * 2 END\nEMIT twi|ce(2)", "DEFINE twice(?x)\n```\n\nDoubles."},
		{"DEFINE twice(?x) RETURN ?|x * 2 END", "A parameter of twice"},
		{"INCLUDE \"/lib/tax.ql\"\nEMIT ta|x(2)", "Defined in /lib/tax.ql"},
		{"SELECT id FROM or|ders", "customer TEXT"},
		{"INCLUDE \"/lib/tax.ql\" AS t\nEMIT t.ta|x(2)", "What is owed.\n\nDefined in /lib/tax.ql"},
		{"DEFINE rate AS 0.2\nEMIT ra|te", "DEFINE rate AS 0.2"},
		{"SELECT tot|al FROM orders", "orders.total REAL"},
		{"EMIT \"UP|PER\"", ""},
		{"-- EM|IT", ""},
		{"EMIT 1 | ", ""},
	} {
		text, at := cut(t, test.text)
		got := ide.Hover(text, at, shop{})
		switch {
		case test.want == "" && got != nil:
			t.Errorf("%q says %q", test.text, got.Markdown)
		case test.want != "" && (got == nil || !strings.Contains(got.Markdown, test.want)):
			t.Errorf("%q says %+v", test.text, got)
		}
	}
}

func TestSignature(t *testing.T) {
	for _, test := range []struct {
		text, label string
		active      int
	}{
		{"EMIT REPLACE(\"a\", |", "REPLACE(text, from, to)", 1},
		{"EMIT REPLACE(UPPER(\"a\"), \"b\", |)", "REPLACE(text, from, to)", 2},
		{"EMIT \"{=REPLACE(?a, |", "REPLACE(text, from, to)", 1},
		{"EMIT twice(|)\nDEFINE twice(?x, ?y) RETURN 1 END", "twice(?x, ?y)", 0},
		{"EMIT UPPER([1, |", "UPPER(text)", 0},
		{"INCLUDE \"/lib/tax.ql\" AS t\nEMIT t.tax(1, |", "t.tax(?sum, ?rate)", 1},
		{"EMIT UPPER(1) |", "", 0},
	} {
		text, at := cut(t, test.text)
		got := ide.Signature(text, at, shop{})
		if test.label == "" {
			if got != nil {
				t.Errorf("%q: %+v", test.text, got)
			}
			continue
		}
		if got == nil || got.Label != test.label || got.Active != test.active || len(got.Parameters) == 0 {
			t.Errorf("%q: %+v", test.text, got)
		}
	}
}

func TestNames(t *testing.T) {
	const text = `SET ?x AS 1
DEFINE twice(?x)
  RETURN ?x * 2
END
EMIT Twice(?x), MAP([1], ?x -> ?x + 1), "{?x}"
SELECT ?x SET ?rows`
	at := func(part string, n int) int {
		i := 0
		for range n {
			i += strings.Index(text[i:], part) + 1
		}
		return i
	}
	for _, test := range []struct {
		name   string
		offset int
		places int
		set    int
	}{
		{"the top level's", at("?x", 4), 4, at("?x", 1) - 1},
		{"the function's", at("?x", 3), 2, at("?x", 2) - 1},
		{"the lambda's", at("?x", 6), 2, at("?x", 5) - 1},
		{"the function", at("Twice", 1), 2, at("twice", 1) - 1},
		{"the result", at("?rows", 1), 1, at("?rows", 1) - 1},
	} {
		if got := ide.References(text, test.offset); len(got) != test.places {
			t.Errorf("%s name stands at %v", test.name, got)
		}
		if got, ok := ide.Definition(text, test.offset, nil); !ok || got.Start != test.set {
			t.Errorf("%s name is defined at %+v, %t, not %d", test.name, got, ok, test.set)
		}
	}
	if got, ok := ide.Definition("INCLUDE \"/lib/tax.ql\"\nEMIT tax(1)", 30, shop{}); !ok || got.File != "/lib/tax.ql" || got.Start != 24 {
		t.Errorf("included: %+v, %t", got, ok)
	}
	if got, ok := ide.Definition("INCLUDE \"/lib/tax.ql\" AS t\nEMIT t.tax(1)", 37, shop{}); !ok || got.File != "/lib/tax.ql" || got.Start != 24 {
		t.Errorf("behind a prefix: %+v, %t", got, ok)
	}
	edits, err := ide.Rename(text, at("?x", 1), "count")
	want := strings.NewReplacer("SET ?x", "SET ?count", "Twice(?x)", "Twice(?count)", "{?x}", "{?count}", "SELECT ?x", "SELECT ?count").Replace(text)
	if diff := cmp.Diff(want, ide.Apply(text, edits)); err != nil || diff != "" {
		t.Errorf("renamed: %v %s", err, diff)
	}
	for name, offset := range map[string]int{"rows": at("?x", 1), "1a": at("?x", 1), "": at("?x", 1), "upper": at("Twice", 1), "IF": at("Twice", 1)} {
		if _, err := ide.Rename(text, offset, name); err == nil {
			t.Errorf("renaming to %q is taken", name)
		}
	}
	if _, err := ide.Rename(text, at("MAP", 1), "other"); err == nil {
		t.Error("a function of the library is renamed")
	}
	if _, ok := ide.Renamable(text, at("MAP", 1)); ok {
		t.Error("a function of the library can be renamed")
	}
}

func TestOutline(t *testing.T) {
	const text = "INPUT FIELDS age INTEGER\n/* a\n b */\nDEFINE f(?a)\n  RETURN ?a\nEND\nSET ?t AS \"\"\"\na\n\"\"\"\nEMIT ?t"
	var names []string
	for _, s := range ide.Symbols(text) {
		names = append(names, string(s.Kind)+" "+s.Name+" "+text[s.NameStart:s.NameEnd])
	}
	if diff := cmp.Diff([]string{"field age age", "function f f", "variable ?t ?t"}, names); diff != "" {
		t.Error(diff)
	}
	var folds []string
	for _, f := range ide.Folds(text) {
		folds = append(folds, string(f.Kind)+" "+text[f.Start:f.End])
	}
	if diff := cmp.Diff([]string{"comment /* a\n b */", "keyword DEFINE f(?a)\n  RETURN ?a\nEND", "keyword SET ?t AS \"\"\"\na\n\"\"\"", "text \"\"\"\na\n\"\"\""}, folds); diff != "" {
		t.Error(diff)
	}
}

func TestTokens(t *testing.T) {
	const text = "-- c\r\nEMIT UPPER(?a.name) + \"x{!GET.b}\"\r\nSELECT id FROM t WHERE a = ?b AND c = 'd' SET ?r"
	var got []string
	last := 0
	for _, token := range ide.Tokens(text) {
		if token.Start < last {
			t.Fatalf("%v overlaps", token)
		}
		last = token.End
		if token.Kind != ide.Operator {
			got = append(got, string(token.Kind)+" "+text[token.Start:token.End])
		}
	}
	want := []string{
		"comment -- c", "keyword EMIT", "function UPPER", "variable ?a", "field name", "text \"x{", "global !GET", "field b", "text }\"",
		"keyword SELECT", "field id", "keyword FROM", "field t", "keyword WHERE", "field a", "variable ?b", "keyword AND", "field c", "text 'd'", "keyword SET", "variable ?r",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestWarnings: what may be meant otherwise is told where nothing is wrong, and its fix says the same.
func TestWarnings(t *testing.T) {
	const text = "SET ?n AS {}\nEMIT ?n.a DEFAULT 1 + 2"
	found := ide.Diagnostics(text, nil)
	if len(found) != 1 || found[0].Severity != ide.Warning || found[0].Code != "mixed_default" || len(found[0].Fixes) != 1 {
		t.Fatalf("%+v", found)
	}
	mended := ide.Apply(text, found[0].Fixes[0].Edits)
	if mended != "SET ?n AS {}\nEMIT (?n.a DEFAULT 1) + 2" || len(ide.Diagnostics(mended, nil)) != 0 {
		t.Errorf("%q", mended)
	}
	if many := ide.Diagnostics("SET ?a AS 1\n"+strings.Repeat("EMIT ?a DEFAULT 1 + 2\n", 1000), nil); len(many) != 50 {
		t.Errorf("%d warnings of 1000", len(many))
	}
	if found := ide.Diagnostics(text+"\nEMTI 1", nil); len(found) != 1 || found[0].Severity != ide.Error {
		t.Errorf("beside a mistake: %+v", found)
	}
}

func TestEffects(t *testing.T) {
	const text = `READ "/a.csv" SET ?a
WRITE ?a TO "/b.csv"
WRITE ?a TO ?a.path
SELECT 1 SET FILE "/rows.csv"
USE DATABASE "shop"
FETCH "https://api.example.com/{?a}" HEADERS {Key: !SECRET('key')}
CONFIRM "Sure?"
WAIT 1 DAY
START SESSION
FOR ?row IN FILE "/big.csv" DO
  EMIT ?row
END
IMPORT FILE "/more.csv" INTO people
INCLUDE "/lib/tax.ql"`
	want := ide.Reach{
		Databases: []string{"", "shop"}, Reads: []string{"/a.csv", "/big.csv", "/more.csv"}, Writes: []string{"/b.csv", "/rows.csv"}, AnyWrite: true,
		Hosts: []string{"api.example.com"}, Secrets: []string{"key"}, People: true, Waits: true, Sessions: true,
	}
	if diff := cmp.Diff(want, ide.Effects(text, shop{})); diff != "" {
		t.Error(diff)
	}
	for text, host := range map[string]string{"FETCH \"https://{?x}.example.com/\"": "", "FETCH ?x": "", "FETCH \"https://a.example.com{?x}\"": "", "FETCH \"https://a.example.com\"": "a.example.com"} {
		r := ide.Effects(text, nil)
		if r.AnyHost != (host == "") || host != "" && r.Hosts[0] != host {
			t.Errorf("%s: %+v", text, r)
		}
	}
	if r := ide.Effects("USE DATABASE \"a\"\nSELECT 1;", nil); len(r.Databases) != 1 {
		t.Errorf("%+v", r)
	}
}

func TestFormat(t *testing.T) {
	if got, d := ide.Format("emit upper('a')"); got != "EMIT UPPER('a')\n" || d != nil {
		t.Errorf("%q, %v", got, d)
	}
	if got, d := ide.Format("emti 1"); got != "" || len(d) != 1 || len(d[0].Fixes) != 1 {
		t.Errorf("%q, %v", got, d)
	}
}

func TestOffsets(t *testing.T) {
	const text = "\uFEFFa\r\nbä😀c\rd\n"
	o := ide.NewOffsets(text)
	for _, test := range []struct{ offset, line, column, line16, column16 int }{
		{0, 1, 1, 0, 0}, {3, 1, 1, 0, 0}, {4, 1, 2, 0, 1}, {6, 2, 1, 1, 0}, {7, 2, 2, 1, 1}, {9, 2, 3, 1, 2}, {13, 2, 4, 1, 4}, {14, 2, 5, 1, 5}, {15, 3, 1, 2, 0}, {17, 4, 1, 3, 0},
	} {
		if line, column := o.Position(test.offset); line != test.line || column != test.column {
			t.Errorf("%d is at %d:%d, not %d:%d", test.offset, line, column, test.line, test.column)
		}
		if line, column := o.UTF16(test.offset); line != test.line16 || column != test.column16 {
			t.Errorf("%d is at %d:%d in UTF-16, not %d:%d", test.offset, line, column, test.line16, test.column16)
		}
		if test.offset == 0 {
			continue
		}
		if got := o.Offset(test.line, test.column); got != test.offset {
			t.Errorf("%d:%d is %d, not %d", test.line, test.column, got, test.offset)
		}
		if got := o.FromUTF16(test.line16, test.column16); got != test.offset {
			t.Errorf("%d:%d is %d in UTF-16, not %d", test.line16, test.column16, got, test.offset)
		}
		if got := o.FromUTF8(o.UTF8(test.offset)); got != test.offset {
			t.Errorf("%d comes back as %d", test.offset, got)
		}
	}
	if got := o.FromUTF16(1, 3); got != 9 {
		t.Errorf("the middle of a pair is %d", got)
	}
	for _, far := range []int{o.Offset(99, 1), o.FromUTF16(99, 0), o.FromUTF16(3, 99)} {
		if far != len(text) {
			t.Errorf("beyond the end is %d", far)
		}
	}
	long := ide.NewOffsets(strings.Repeat("ä", 5000))
	for _, n := range []int{1, 255, 256, 257, 4999, 5001} {
		if got := long.Offset(1, n); got != 2*(n-1) {
			t.Errorf("column %d is %d", n, got)
		}
		if _, column := long.Position(2 * (n - 1)); column != n {
			t.Errorf("offset %d is column %d", 2*(n-1), column)
		}
	}
}
