package formpage

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"ql/internal/principal"
	"ql/lang/form"
	"ql/lang/value"
)

// inserts are what is put into a text.
var inserts = regexp.MustCompile(`\{\w+\}`)

// TestWordsAreWhole: every language has every text, with the same put in.
func TestWordsAreWhole(t *testing.T) {
	for _, w := range languages[1:] {
		compareWords(t, w.Language, reflect.ValueOf(&english).Elem(), reflect.ValueOf(w).Elem())
	}
}

func compareWords(t *testing.T, at string, first, other reflect.Value) {
	t.Helper()
	switch first.Kind() {
	case reflect.String:
		if first.String() != "" && other.String() == "" {
			t.Errorf("%s: %q has no words", at, first)
		}
		if a, b := inserts.FindAllString(first.String(), -1), inserts.FindAllString(other.String(), -1); !reflect.DeepEqual(a, b) {
			t.Errorf("%s: %q takes %v, and %q %v", at, first, a, other, b)
		}
	case reflect.Struct:
		for i := range first.NumField() {
			compareWords(t, at+"."+first.Type().Field(i).Name, first.Field(i), other.Field(i))
		}
	case reflect.Array:
		for i := range first.Len() {
			compareWords(t, at, first.Index(i), other.Index(i))
		}
	case reflect.Map:
		if first.Len() > other.Len() {
			t.Errorf("%s: %d texts of %d", at, other.Len(), first.Len())
		}
	}
}

func TestSay(t *testing.T) {
	at := time.Date(2026, time.March, 2, 8, 5, 0, 0, time.FixedZone("", 3600))
	for _, test := range []struct {
		w    *words
		want string
	}{{&english, "This question was answered on 2 March 2026, 07:05 UTC by a page."}, {&german, "Diese Frage wurde am 2. März 2026, 07:05 UTC beantwortet: von einer Seite aus."}} {
		s := test.w.say(test.w.answered.words, at, "{by}", test.w.answerer(principal.ByOrigin))
		if got := s.Before + s.At.Text + s.After; got != test.want || s.At.Exact != "2026-03-02T07:05:00Z" {
			t.Errorf("got %q, %s", got, s.At.Exact)
		}
	}
	for n, want := range map[int]string{6: "6 Bytes", 1023: "1.023 Bytes", 1 << 10: "1 KiB", 1536: "1,5 KiB", 20 << 20: "20 MiB", 1<<30 - 1: "1.023,9 MiB", 5 << 29: "2,5 GiB"} {
		if got := german.AtMostBytes(n); got != "Höchstens "+want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
	if got := german.AtMost(1234567); got != "Höchstens 1.234.567 Zeichen" {
		t.Error(got)
	}
}

// TestProblemsAreKnown: whatever package form says of an answer is said in German too: its sentences
// are read from its source, and completed as it does.
func TestProblemsAreKnown(t *testing.T) {
	known := map[string]bool{}
	for _, file := range []string{"check.go", "validate.go"} {
		tree, err := parser.ParseFile(token.NewFileSet(), filepath.Join("../../../lang/form", file), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			for _, start := range []string{"must ", "does not ", "is too ", "is no ", "cannot "} {
				if strings.HasPrefix(text, start) {
					known[text] = true
				}
			}
			return true
		})
	}
	if len(known) < 15 {
		t.Fatalf("package form says only %v", known)
	}
	// How the sentences go on that are only begun, or have a place for something.
	tails := []string{"", `"a" or "b"`, `"a" and "b"`, "2 to 3 choices", "2 choices", "1 choice", "at least 2 choices", "exactly 1 choice", "3 to 4 bytes", "at most 1 byte", "date", "time",
		"date from 2026-01-01 to 2026-01-02", "time up to 09:00", " from 1 to 2", " from 1 on", " up to 2"}
	for text := range known {
		if strings.HasPrefix(text, "must be a map ") {
			continue // of a reply that is none, which a page never sends
		}
		found := false
		for _, tail := range tails {
			text := strings.NewReplacer("%s", "at most 5 characters", "%d", "5").Replace(text)
			if strings.Contains(text, "at least at most") {
				text = "must have at least 5 characters"
			}
			found = found || german.wrong(text+tail) != sentence(text+tail)
		}
		if !found {
			t.Errorf("%q is said in English", text)
		}
	}
}

// TestProblemsInGerman: what is said of answers to real fields.
func TestProblemsInGerman(t *testing.T) {
	field := func(kind string, more ...any) value.Value {
		m := value.NewMap(nil, 8)
		m.SetText("name", value.Text("x"))
		m.SetText("kind", value.Text(kind))
		for i := 0; i < len(more); i += 2 {
			m.SetText(more[i].(string), more[i+1].(value.Value))
		}
		return m.Value()
	}
	list := func(texts ...string) value.Value {
		var all []value.Value
		for _, text := range texts {
			all = append(all, value.Text(text))
		}
		return value.ListOf(all...)
	}
	three, five := value.Int(3), value.Int(5)
	for _, test := range []struct {
		field value.Value
		sent  value.Value
		want  string
	}{
		{field("text", "required", value.True), value.Text(" "), "Muss beantwortet werden."},
		{field("text", "min", three, "max", five), value.Text("ab"), "Muss 3 bis 5 Zeichen haben."},
		{field("text", "min", three), value.Text("ab"), "Muss mindestens 3 Zeichen haben."},
		{field("text", "min", three, "max", three), value.Text("ab"), "Muss genau 3 Zeichen haben."},
		{field("text", "max", five), value.Text("abcdef"), "Darf höchstens 5 Zeichen haben."},
		{field("text"), value.Text("a\nb"), "Muss in einer Zeile stehen."},
		{field("text"), value.Text("a\x00"), "Darf keine Steuerzeichen enthalten."},
		{field("text", "pattern", value.Text("[0-9]+")), value.Text("a"), "Hat nicht die Form, die verlangt ist."},
		{field("email"), value.Text("x"), "Muss eine E-Mail-Adresse wie ada@example.com sein."},
		{field("url"), value.Text("x"), "Muss eine Adresse wie https://example.com/page sein."},
		{field("phone"), value.Text("x"), "Muss eine Telefonnummer wie +1 202 555 0143 sein."},
		{field("number", "min", three, "max", five), value.Text("6"), "Muss eine Zahl von 3 bis 5 sein."},
		{field("integer", "min", three), value.Text("x"), "Muss eine ganze Zahl ab 3 sein."},
		{field("integer", "max", three), value.Text("4"), "Muss eine ganze Zahl bis 3 sein."},
		{field("boolean"), value.Text("x"), "Muss Ja oder Nein sein."},
		{field("date"), value.Text("x"), "Muss ein Datum wie 2026-12-31 sein."},
		{field("date", "min", value.Text("2026-01-01")), value.Text("2025-01-01"), "Muss ein Datum ab dem 2026-01-01 sein."},
		{field("time"), value.Text("x"), "Muss eine Uhrzeit wie 09:30 sein."},
		{field("time", "max", value.Text("10:00")), value.Text("11:00"), "Muss eine Uhrzeit bis 10:00 sein."},
		{field("choice", "choices", list("a", "b")), value.Text("c"), "Muss eines von dem sein, was zur Wahl steht."},
		{field("choices", "choices", list("a", "b")), value.Text("c"), "Muss aus dem gewählt sein, was zur Wahl steht."},
		{field("choices", "choices", list("a", "b"), "max", value.Int(1)), list("a", "b"), "Höchstens 1 darf gewählt sein."},
		{field("choices", "choices", list("a", "b"), "min", value.Int(2)), list("a"), "Mindestens 2 müssen gewählt sein."},
	} {
		definition := value.NewMap(nil, 1)
		definition.SetText("fields", value.ListOf(test.field))
		f, err := form.Parse(definition.Value())
		if err != nil {
			t.Fatal(err)
		}
		if got := german.wrong(f.Fields[0].Check(test.sent)); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}
