package lib

import (
	"strings"
	"testing"

	"ql/lang/value"
)

// TestLimits checks that functions end at the limits instead of passing them.
func TestLimits(t *testing.T) {
	long := `REPEAT("a", 900)`
	for _, c := range []struct{ expr, limit string }{
		{`REPEAT("a", 1001)`, "value_size"},
		{`REPEAT("ab", 9223372036854775807)`, "value_size"},
		{`REPEAT("a", 1e300)`, "value_size"},
		{`PAD_LEFT("a", 1001)`, "value_size"},
		{`PAD_LEFT("a", 9223372036854775807, "abc")`, "value_size"},
		{`PAD_RIGHT("a", 500, "é")`, ""},
		{`PAD_RIGHT("a", 600, "é")`, "value_size"},
		{`JOIN([` + long + `, ` + long + `])`, "value_size"},
		{`JOIN(RANGE(1, 50), ` + long + `)`, "value_size"},
		{`REPLACE(` + long + `, "a", "bc")`, "value_size"},
		{`REPLACE_PATTERN(` + long + `, "a", "bc")`, "value_size"},
		{`REPLACE_PATTERN("aaa", "(a+)", "$1` + strings.Repeat("$1", 400) + `")`, "value_size"},
		{`FILL('{a}{a}', {a: ` + long + `})`, "value_size"},
		{`UPPER(REPEAT("ß", 500))`, ""},
		{`UPPER(REPEAT("ɐ", 450))`, "value_size"},
		{`URL_ENCODE(REPEAT("é", 400))`, "value_size"},
		{`HTML_ESCAPE(REPEAT("<", 400))`, "value_size"},
		{`ESCAPE_PATTERN(REPEAT("(", 600))`, "value_size"},
		{`BASE64(` + long + `)`, "value_size"},
		{`HEX(` + long + `)`, "value_size"},
		{`TO_JSON([` + long + `, ` + long + `])`, "value_size"},
		{`TO_JSON(RANGE(1, 60), 8)`, ""},
		{`TO_JSON(MAP(RANGE(1, 50), ?x -> [?x]), 8)`, "value_size"},
		{`TO_CSV([[` + long + `, ` + long + `]])`, "value_size"},
		{`QUERY_STRING({a: REPEAT("é", 400)})`, "value_size"},
		{`TEXT([` + long + `, ` + long + `])`, "value_size"},
		{`RANGE(1, 101)`, "elements"},
		{`RANGE(-9223372036854775807, 9223372036854775807)`, "elements"},
		{`RANGE(9223372036854775807, -9223372036854775807, -1)`, "elements"},
		{`SPLIT(` + long + `, "")`, "elements"},
		{`SPLIT(REPEAT(",", 200), ",")`, "elements"},
		{`LINES(REPEAT("\n", 200))`, "elements"},
		{`WORDS(REPEAT("a ", 200))`, "elements"},
		{`FIND_ALL(` + long + `, "a")`, "elements"},
		{`SPLIT_PATTERN(` + long + `, "a")`, "elements"},
		{`FLATTEN([RANGE(1, 60), RANGE(1, 60)])`, "elements"},
		{`INSERT_AT(RANGE(1, 100), 0, 0)`, "elements"},
		{`FROM_CSV("a\n" + REPEAT("b\n", 200))`, "elements"},
		{`FROM_JSON("[" + REPEAT("1,", 200) + "1]")`, "elements"},
		{`PARSE_QUERY(JOIN(RANGE(1, 90), "&") + JOIN(RANGE(100, 190), "&"))`, "elements"},
		{`FROM_JSON(REPEAT("[", 30))`, "nesting"},
		{`CHUNK(FROM_JSON(REPEAT("[", 10) + REPEAT("]", 10)), 1)`, "nesting"},
		{`MATCHES("a", REPEAT("a", 101))`, "pattern_size"},
		{`MATCHES(` + long + `, '(?:abc?){3,19}')`, "pattern_cost"},
		{`MATCHES("", '(?:a{100}){10}(?:a{100}){10}(?:a{100}){10}(?:a{100}){10}(?:a{100}){10}(?:a{100}){10}')`, "pattern_cost"},
		{`FIND_ALL(` + long + `, '(?:abc?){3,19}')`, "pattern_cost"},
	} {
		m := newMeter(10_000_000, 1<<20)
		m.Bounds = value.Bounds{Text: 1000, Elements: 100, Nesting: 10, Pattern: 100, PatternCost: 50_000}
		name, got := "", ""
		if l := limited(func() { got = evaluate(&Call{Meter: m}, c.expr) }); l != nil {
			name = l.Name
		}
		if name != c.limit || strings.HasPrefix(got, "!") {
			t.Errorf("%s: limit %q, want %q (%s)", c.expr, name, c.limit, got)
		}
	}
}

// TestNoMeter checks that hosts may call functions without a meter, and that
// even then nothing grows without bound.
func TestNoMeter(t *testing.T) {
	for _, c := range []struct{ expr, limit string }{
		{`REPEAT("a", 9223372036854775807)`, "value_size"},
		{`PAD_LEFT("a", 9223372036854775807)`, "value_size"},
		{`RANGE(1, 9223372036854775807)`, "elements"},
		{`MATCHES("a", REPEAT("a", 5000))`, "pattern_size"},
	} {
		l := limited(func() { evaluate(&Call{}, c.expr) })
		if l == nil || l.Name != c.limit {
			t.Errorf("%s: limit %v, want %s", c.expr, l, c.limit)
		}
	}
	for _, b := range Reference() {
		if b.Host {
			continue
		}
		if got := evaluate(&Call{}, b.Example); got != b.Result {
			t.Errorf("%s: got %s, want %s", b.Example, got, b.Result)
		}
	}
}

// TestOutOfFuel checks that work which cannot be paid does not go on: each of
// these would take hours.
func TestOutOfFuel(t *testing.T) {
	a := value.Text(strings.Repeat("a", 1<<20))
	for _, c := range []struct {
		name string
		args []value.Value
	}{
		{"FIND_ALL", []value.Value{a, value.Text(`(?s)a.*b|a`)}},
		{"REPLACE_PATTERN", []value.Value{a, value.Text(`(?s)(a.*b|a)`), value.Text("$1")}},
		{"SPLIT_PATTERN", []value.Value{a, value.Text(`(?s)a.*b|a`)}},
		{"SORT", []value.Value{manyEqual(40, a)}},
		{"UNIQUE", []value.Value{bomb(60)}},
		{"TO_JSON", []value.Value{bomb(60)}},
		{"TO_CSV", []value.Value{value.ListOf(value.ListOf(bomb(60)))}},
		{"JOIN", []value.Value{bomb(60)}},
	} {
		i, _ := Lookup(c.name)
		m := newMeter(1_000_000, 1<<30)
		l := limited(func() { _, _ = At(i).Fn(&Call{Meter: m}, c.args) })
		if l == nil || l.Name != "fuel" {
			t.Errorf("%s ended with %v, want the limit of fuel", c.name, l)
		}
	}
}

// bomb is a list that holds a list twice that holds a list twice …
func bomb(depth int) value.Value {
	v := value.ListOf(value.Int(1))
	for range depth {
		v = value.ListOf(v.Share(), v)
	}
	return v
}

// manyEqual is a list of n texts that are equal to v.
func manyEqual(n int, v value.Value) value.Value {
	l := value.NewList(nil, 0)
	for range n {
		l.Append(nil, value.Text(v.Str()))
	}
	return l.Value()
}
