package ide_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ql/lang/ide"
)

// shop is an account with tables, files and programs.
type shop struct{}

func (shop) Databases() []string { return []string{"main", "shop"} }

func (shop) Tables(database string) []ide.Table {
	if database == "shop" {
		return []ide.Table{{Name: "sales", Columns: []ide.Column{{Name: "amount", Type: "REAL"}}}}
	}
	return []ide.Table{
		{Name: "orders", Columns: []ide.Column{{Name: "id", Type: "INTEGER"}, {Name: "customer", Type: "TEXT"}, {Name: "total", Type: "REAL"}}},
		{Name: "people", Columns: []ide.Column{{Name: "name", Type: "TEXT"}, {Name: "city", Type: "TEXT"}}},
	}
}

func (shop) Files(prefix string, most int) []string {
	var out []string
	for _, path := range []string{"/data/a.csv", "/data/b.json", "/pages/home.html"} {
		if strings.HasPrefix(path, prefix) && len(out) < most {
			out = append(out, path)
		}
	}
	return out
}

func (shop) Programs() []ide.Program {
	return []ide.Program{{Name: "invoice", Inputs: []ide.Input{{Name: "order", Kind: "INTEGER", Required: true}}}}
}

func (shop) Include(path string) (string, error) {
	if path == "/lib/tax.ql" {
		return "-- What is owed.\nDEFINE tax(?sum, ?rate DEFAULT 0.2)\n  RETURN ?sum * ?rate\nEND\nDEFINE top AS 3\n", nil
	}
	return "", os.ErrNotExist
}

// cut takes the | out of a text, and returns where it stood.
func cut(t *testing.T, text string) (string, int) {
	t.Helper()
	i := strings.IndexByte(text, '|')
	if i < 0 {
		t.Fatalf("no | in %q", text)
	}
	return text[:i] + text[i+1:], i
}

func labels(list []ide.Completion) []string {
	out := make([]string, len(list))
	for i, c := range list {
		out[i] = c.Label
	}
	return out
}

func TestComplete(t *testing.T) {
	for _, test := range []struct{ text, has, hasNot string }{
		{"|", "EMIT SET SELECT DEFINE INPUT IF", "ELSE BREAK RETURN"},
		{"EM|", "EMIT", "SET"},
		{"EMIT 1\n|", "EMIT SET AND", "INPUT ELSE"},
		{"FOR ?x IN [1] DO\n  |", "BREAK CONTINUE END EMIT", "DEFINE RETURN"},
		{"IF 1 THEN |", "ELSE END EMIT", "BREAK"},
		{"IF ?a |", "THEN AND OR IS NOT", "DO EMIT"},
		{"IF ?sum AND |", "?sum NOT", "DO EMIT"},
		{"FOR ?x IN MAP(?list, ?y -> ?y) DO\n  EMIT |", "?x ?list", "?y"},
		{"TRY\n EMIT 1\n|", "CATCH FINALLY EMIT", ""},
		{"DEFINE f(?a) |", "RETURN END EMIT", ""},
		{"READ \"/a\" |", "AS OPTIONAL SET", "EMIT METHOD"},
		{"READ \"/a\" AS |", "JSON CSV TEXT", "EMIT"},
		{"FETCH \"https://x\" |", "METHOD BODY TIMEOUT SET", ""},
		{"FETCH \"https://x\" METHOD \"POST\" |", "BODY SET", "METHOD"},
		{"WAIT 3 |", "SECONDS DAYS", "EMIT"},
		{"START |", "SESSION", "EMIT"},
		{"USE |", "DATABASE", "EMIT"},
		{"GATHER \"x\" FIELDS a |", "TEXT EMAIL", "REQUIRED"},
		{"GATHER \"x\" FIELDS a TEXT |", "REQUIRED DEFAULT SET WITHIN", "EMIT"},
		{"SET ?total AS 1\nEMIT |", "?total UPPER !GET LINE NULL CASE", "EMIT"},
		{"SET ?total AS 1\nEMIT ?t|", "?total", "UPPER"},
		{"SET ?total AS 1\nEMIT \"a {?t|\"", "?total", "UPPER"},
		{"SET ?total AS 1\nEMIT \"a {=UP|\"", "UPPER", "?total EMIT"},
		{"EMIT MAP(?list, ?item -> ?|", "?item ?list", ""},
		{"EMIT MAP([1], ?item -> ?item)\nEMIT ?|", "", "?item"},
		{"SET ?a AS 1\nDEFINE f(?b)\n  EMIT |\nEND\nSET ?c AS 2\n", "?b", "?a ?c"},
		{"SET ?a AS 1\nDEFINE f(?b)\n  EMIT 1\nEND\nEMIT |\nSET ?c AS 2\n", "?a ?c f", "?b"},
		{"EMIT twice(1)\nCALL |\nDEFINE twice(?x)\nEND", "twice", "UPPER"},
		{"INCLUDE \"/lib/tax.ql\"\nEMIT |", "tax", ""},
		{"INCLUDE \"/lib/tax.ql\" AS t\nEMIT |", "t.tax t.top", "tax"},
		{"INCLUDE \"/lib/tax.ql\" AS t\nEMIT t.|", "tax top", "UPPER"},
		{"DEFINE rate AS 0.2\nEMIT |", "rate", ""},
		{"INSERT INTO orders VALUES (?row.|", "total", "SELECT"},
		{"GATHER \"x\" FIELDS a TEXT, |", "", "EMIT REQUIRED"},
		{"SET \"status\" AS 1 OF |", "!RESPONSE !SESSION", "!GET"},
		{"EMIT !|", "!GET !POST", "UPPER"},
		{"-- EM|", "", "EMIT"},
		{"/* EM|", "", "EMIT"},
		{"EMIT 'EM|", "", "EMIT"},
		{"READ \"/data/|\" SET ?x", "/data/a.csv /data/b.json", "/pages/home.html"},
		{"WRITE 1 TO \"/pages/h|", "/pages/home.html", ""},
		{"USE DATABASE \"s|\"", "shop", ""},
		{"USE DATABASE \"m|\"", "main", "shop"},
		{"SET ?r AS {a: 1, beta: 2}\nEMIT ?r.|", "beta", "EMIT"},
		{"SELECT | FROM orders", "id customer total", "name city"},
		{"SELECT id FROM |", "orders people", ""},
		{"SELECT o.| FROM orders o JOIN people p ON p.name = o.customer;", "id total", "name SELECT"},
		{"SELECT p.| FROM orders o JOIN people AS p ON p.name = o.customer;", "name city", "total"},
		{"SELECT id FROM orders WHERE customer IN (SELECT | FROM people)", "name city id", ""},
		{"SELECT id FROM orders WHERE |", "customer total AND", ""},
		{"SET ?x AS 1\nSELECT id FROM orders WHERE id = ?|", "?x", "customer"},
		{"USE DATABASE \"shop\"\nSELECT | FROM sales", "amount", "total"},
		{"INSERT INTO orders (|", "id customer", ""},
		{"SELECT id FROM orders SET |", "ROW VALUE", ""},
		{"SELECT 'cus|", "", "customer"},
		{"SELECT id FROM orders SET FILE \"/data/|\"", "/data/a.csv", "id"},
		{"IMPORT ?rows |", "INTO", "EMIT"},
		{"IMPORT ?rows INTO |", "orders people", "EMIT"},
		{"EMIT ?x NOT |", "IN LIKE BETWEEN", ""},
		{"EMIT ?x IS |", "NULL NOT", ""},
		{"SETT ?x AS 1\nEMIT |", "?x UPPER", ""},
	} {
		text, at := cut(t, test.text)
		got := labels(ide.Complete(text, at, shop{}))
		for _, want := range strings.Fields(test.has) {
			if !slices.Contains(got, want) {
				t.Errorf("%q offers no %s, but %q", test.text, want, got[:min(len(got), 40)])
			}
		}
		for _, unwanted := range strings.Fields(test.hasNot) {
			if slices.Contains(got, unwanted) {
				t.Errorf("%q offers %s", test.text, unwanted)
			}
		}
	}
}

// What is offered goes in the place of what is typed.
func TestCompletionReplaces(t *testing.T) {
	for _, test := range []struct{ text, label, want string }{
		{"EM| 1", "EMIT", "EMIT 1"},
		{"\uFEFFSET ?total AS 1\r\nEMIT ?t|", "?total", "\uFEFFSET ?total AS 1\r\nEMIT ?total"},
		{"READ \"/da|\" SET ?x", "/data/a.csv", "READ \"/data/a.csv\" SET ?x"},
		{"EMIT upp|", "UPPER", "EMIT UPPER("},
	} {
		text, at := cut(t, test.text)
		list := ide.Complete(text, at, shop{})
		i := slices.IndexFunc(list, func(c ide.Completion) bool { return c.Label == test.label })
		if i < 0 {
			t.Errorf("%q: no %s", test.text, test.label)
			continue
		}
		if got := ide.Apply(text, []ide.Edit{{Start: list[i].Start, End: list[i].End, Text: list[i].Insert}}); got != test.want {
			t.Errorf("%q with %s is %q", test.text, test.label, got)
		}
	}
}

// scripts returns the sample scripts of the grammar's tests.
func scripts(tb testing.TB, pattern string) map[string]string {
	tb.Helper()
	paths, err := filepath.Glob("../syntax/testdata/" + pattern)
	if err != nil || len(paths) == 0 {
		tb.Fatalf("no scripts: %v", err)
	}
	out := map[string]string{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		out[filepath.Base(path)] = string(text)
	}
	return out
}

// What is likeliest comes first: clauses before operators, statements on a line of their own, in SQL what
// follows the clause, keys before the words of texts.
func TestLikeliestFirst(t *testing.T) {
	for _, test := range []struct {
		text  string // | is the cursor
		first []string
	}{
		{"IF ?x |", []string{"THEN", "NOT"}},
		{"WAIT 5 |", []string{"SECOND", "SECONDS"}},
		{"IF 1 THEN\n  EMIT 1\n  |", []string{"EMIT", "SET"}},
		{"FETCH \"https://a.example\"\n  |", []string{"METHOD", "HEADERS"}},
		{"FETCH \"https://a.example\" METHOD \"|", []string{"GET", "POST"}},
		{"SET ?who AS 1\nIMPORT |", []string{"?who", "FILE"}},
		{"SET ?who AS 1\nEMIT \"Hello {|}\"", []string{"?who", "!ACCOUNT"}},
		{"EMIT \"Hello {?r.|\"\nSET ?r AS {size: 1, born: 2}", []string{"size", "born"}},
		{"DELETE |", []string{"FROM"}},
		{"SELECT * FROM customers |", []string{"WHERE", "JOIN"}},
		{"SELECT * FROM customers ORDER |", []string{"BY"}},
		{"SELECT * FROM customers ORDER BY id |", []string{"ASC", "DESC"}},
		{"SELECT * FROM customers c JOIN orders |", []string{"ON"}},
		{"INSERT INTO customers (id) |", []string{"VALUES", "SELECT"}},
		{"UPDATE customers |", []string{"SET"}},
	} {
		before, behind, _ := strings.Cut(test.text, "|")
		var labels []string
		for _, c := range ide.Complete(before+behind, len(before), shop{}) {
			labels = append(labels, c.Label)
		}
		if len(labels) < len(test.first) || !slices.Equal(labels[:len(test.first)], test.first) {
			t.Errorf("%q: %v, not %v first", test.text, labels[:min(len(labels), 8)], test.first)
		}
	}
}
