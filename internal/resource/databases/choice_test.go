package databases

import (
	"strings"
	"testing"

	"ql/internal/engine"
	"ql/lang"
	"ql/lang/bytecode"
	"ql/lang/value"
)

// chosenQuery compiles one SQL statement of the language.
func chosenQuery(t *testing.T, script string, params ...value.Value) engine.Query {
	t.Helper()
	p, err := lang.Compile(script, lang.Options{})
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	// As it comes back from where programs are stored.
	if p, err = bytecode.Decode(bytecode.Encode(p)); err != nil {
		t.Fatal(err)
	}
	return engine.Query{Statement: &p.Statements[0], Params: params}
}

// TestChoices: a name that a value chooses is one of those in the script, whatever the value is.
func TestChoices(t *testing.T) {
	d := open(t, Options{})
	must(t, d, `CREATE TABLE t(name, city, "a b", [it's])`)
	must(t, d, "INSERT INTO t VALUES ('b', 'x', 1, 9), ('a', 'y', 2, 8)")
	const sorted = `SET ?by AS 1 SET ?dir AS 1 SELECT name FROM t ORDER BY {?by IN name, t.city, "a b", [it's]} {?dir IN ASC, DESC};`
	const up, down = `[{"name":"a"},{"name":"b"}]`, `[{"name":"b"},{"name":"a"}]`
	text := value.Text
	for _, c := range []struct {
		by, dir value.Value
		want    string
	}{
		{text("name"), text("ASC"), up},
		{text("name"), text("desc"), down},
		{text("NAME"), text("asc"), up},
		{text("t.city"), text("ASC"), down},
		{text("a b"), text("ASC"), down},
		{text("it's"), text("ASC"), up},
		{text("city"), text("ASC"), "bad_choice"},
		{text(`"a b"`), text("ASC"), "bad_choice"},
		{text("name; DROP TABLE t"), text("ASC"), "bad_choice"},
		{text("name"), text("ASC, city"), "bad_choice"},
		{text("name\x00"), text("ASC"), "bad_choice"},
		{text(""), text("ASC"), "bad_choice"},
		{value.Null, text("ASC"), "bad_choice"},
		{value.Int(1), text("ASC"), "bad_choice"},
		{list(text("name")), text("ASC"), "bad_choice"},
	} {
		if got := outcome(t)(d.Query(t.Context(), "", chosenQuery(t, sorted, c.by, c.dir))); got != c.want {
			t.Errorf("by %s %s: %s", value.Describe(c.by), value.Describe(c.dir), got)
		}
	}
	_, err := d.Query(t.Context(), "", chosenQuery(t, sorted, text("1; DROP TABLE t"), text("ASC")))
	if want := `this SQL takes one of name, t.city, a b, it's here, not the text "1; DROP TABLE t"`; err == nil || err.Error() != want {
		t.Errorf("it says %v", err)
	}
}

// TestChoicesTouch: what stands beside a name does not become a part of it.
func TestChoicesTouch(t *testing.T) {
	d := open(t, Options{})
	must(t, d, "CREATE TABLE t(a, a1)")
	must(t, d, "INSERT INTO t VALUES (1, 2)")
	q := chosenQuery(t, "SET ?c AS 1 SELECT t.{?c IN a, a1}AS n, ?c AS v FROM t WHERE {?c IN a}=1;", value.Text("a"), value.Text("x"), value.Text("a"))
	if got := outcome(t)(d.Query(t.Context(), "", q)); got != `[{"n":1,"v":"x"}]` {
		t.Error(got)
	}
	q = chosenQuery(t, "SET ?c AS 1 SELECT {?c IN a}1 FROM t;", value.Text("a"))
	if got := outcome(t)(d.Query(t.Context(), "", q)); got != sqlError {
		t.Error(got)
	}
}

// TestVariantsAreBounded: each choice is a statement of its own, and a connection keeps no more of them
// than of others.
func TestVariantsAreBounded(t *testing.T) {
	d := open(t, Options{})
	names := make([]string, 50)
	for i := range names {
		names[i] = "c" + strings.Repeat("x", i)
	}
	must(t, d, "CREATE TABLE t("+strings.Join(names, ",")+")")
	script := "SET ?c AS 1 SELECT {?c IN " + strings.Join(names, ", ") + "} FROM t;"
	for _, name := range names {
		if _, err := d.Query(t.Context(), "", chosenQuery(t, script, value.Text(name))); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range d.open["main"].idleReaders {
		if n := len(c.statements); n > maxCachedStatements {
			t.Errorf("a connection keeps %d statements", n)
		}
	}
}
