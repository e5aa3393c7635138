package vm_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"ql/lang"
	"ql/lang/langtest"
	"ql/lang/value"
	"ql/lang/vm"
)

// bomb is a script that wants more than it may have.
type bomb struct {
	name  string
	defs  string // DEFINEs, which cannot stand in a TRY
	body  string
	limit string // the limit that ends it
	// host gives the result of every effect.
	host func(m *vm.Machine) value.Value
}

// doubled builds a list ?a of 2^40 elements that takes little room: each level
// holds the one below twice.
const doubled = "SET ?a AS [1] FOR ?i FROM 1 TO 40 DO SET ?a AS [?a, ?a] END "

// doubledToo builds another such list, ?b.
const doubledToo = "SET ?b AS [1] FOR ?i FROM 1 TO 40 DO SET ?b AS [?b, ?b] END "

// filled makes ?l a list of 90,000 numbers, none of them in order.
const filled = "SET ?l AS MAP(RANGE(1, 90000), ?x -> ?x * 7919 % 90001) "

var bombs = []bomb{
	// Texts.
	{name: "a text doubled", body: "SET ?t AS 'ab' WHILE TRUE DO SET ?t AS ?t + ?t END", limit: "value_size"},
	{name: "a text appended to", body: "SET ?t AS '' WHILE TRUE DO SET ?t AS ?t + 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' END", limit: "value_size"},
	{name: "two holders of a text appended to", body: "SET ?t AS REPEAT('x', 100000) WHILE TRUE DO SET ?u AS ?t + 'a' SET ?v AS ?t + 'b' END", limit: "fuel"},
	{name: "an insertion doubled", body: "SET ?t AS 'ab' WHILE TRUE DO SET ?t AS \"{?t}{?t}{?t}\" END", limit: "value_size"},
	{name: "REPEAT", body: "EMIT REPEAT('x', 1_000_000_000_000)", limit: "value_size"},
	{name: "REPEAT beyond 2^63", body: "EMIT REPEAT(REPEAT('x', 1000000), 9223372036854775807)", limit: "value_size"},
	{name: "REPEAT of REPEAT", body: "EMIT REPEAT(REPEAT('xy', 1000), 100000)", limit: "value_size"},
	{name: "PAD_LEFT", body: "EMIT PAD_LEFT('x', 1e15, 'ab')", limit: "value_size"},
	{name: "PAD_RIGHT in characters of four bytes", body: "EMIT PAD_RIGHT('', 1000000, '😀')", limit: "value_size"},
	{name: "JOIN with a long separator", body: "EMIT JOIN(RANGE(1, 50000), REPEAT('-', 1000))", limit: "value_size"},
	{name: "JOIN of long texts", body: "SET ?t AS REPEAT('x', 10000) EMIT JOIN(MAP(RANGE(1, 1000), ?i -> ?t), '')", limit: "value_size"},
	{name: "REPLACE by something long", body: "EMIT REPLACE(REPEAT('a', 1000), 'a', REPEAT('b', 100000))", limit: "value_size"},
	{name: "REPLACE_PATTERN by something long", body: "EMIT REPLACE_PATTERN(REPEAT('a', 1000), 'a', REPEAT('b', 100000))", limit: "value_size"},
	{name: "FILL", body: "SET ?t AS REPEAT('x', 100000) EMIT FILL(REPEAT('{a}', 1000), {a: ?t})", limit: "value_size"},
	{name: "BASE64 again and again", body: "SET ?t AS 'abc' WHILE TRUE DO SET ?t AS BASE64(?t) END", limit: "value_size"},
	{name: "HEX again and again", body: "SET ?t AS 'abc' WHILE TRUE DO SET ?t AS HEX(?t) END", limit: "value_size"},
	{name: "URL_ENCODE again and again", body: "SET ?t AS '%%%%' WHILE TRUE DO SET ?t AS URL_ENCODE(?t + ?t) END", limit: "value_size"},
	{name: "HTML_ESCAPE", body: "EMIT HTML_ESCAPE(REPEAT('<', 1000000))", limit: "value_size"},
	{name: "an insertion into HTML", body: "SET ?t AS REPEAT('\"', 1000000) EMIT HTML \"<p>{?t}</p>\"", limit: "value_size"},
	{name: "TO_JSON of quotes", body: "EMIT TO_JSON(REPEAT('\"', 1000000))", limit: "value_size"},
	{name: "TO_JSON indented", body: "SET ?l AS [1] FOR ?i FROM 1 TO 60 DO SET ?l AS [?l] END EMIT TO_JSON(MAP(RANGE(1, 10000), ?i -> ?l), 8)", limit: "value_size"},
	{name: "TO_CSV", body: "SET ?t AS REPEAT('\"', 10000) EMIT TO_CSV(MAP(RANGE(1, 1000), ?i -> {a: ?t}))", limit: "value_size"},
	{name: "QUERY_STRING", body: "SET ?t AS REPEAT('%', 10000) EMIT QUERY_STRING({a: MAP(RANGE(1, 1000), ?i -> ?t)})", limit: "value_size"},
	{name: "texts kept", body: "SET ?l AS [] WHILE TRUE DO APPEND REPEAT('x', 100000) TO ?l END", limit: "memory"},
	{name: "small texts kept", body: "SET ?l AS [] FOR ?i FROM 1 TO 90000 DO APPEND REPEAT('x', 150) + TEXT(?i) TO ?l END", limit: "memory"},

	// Lists and maps.
	{name: "a list in a list", body: "SET ?l AS [] WHILE TRUE DO SET ?l AS [?l] END", limit: "nesting"},
	{name: "a map in a map", body: "SET ?m AS {} WHILE TRUE DO SET ?m AS {a: ?m} END", limit: "nesting"},
	{name: "a list in itself", body: "SET ?l AS [1] WHILE TRUE DO APPEND ?l TO ?l END", limit: "nesting"},
	{name: "a map in itself by its path", body: "SET ?m AS {} WHILE TRUE DO SET ?m.a.b AS ?m END", limit: "nesting"},
	{name: "a list appended to", body: "SET ?l AS [] WHILE TRUE DO APPEND 1 TO ?l END", limit: "elements"},
	{name: "a mixed list appended to", body: "SET ?l AS ['a', 1] WHILE TRUE DO APPEND NULL TO ?l END", limit: "elements"},
	{name: "a list doubled", body: "SET ?l AS [1] WHILE TRUE DO SET ?l AS ?l + ?l END", limit: "elements"},
	{name: "a list flattened", body: "SET ?l AS [1] WHILE TRUE DO SET ?l AS FLATTEN([?l, ?l]) END", limit: "elements"},
	{name: "RANGE", body: "EMIT RANGE(1, 1_000_000_000_000)", limit: "elements"},
	{name: "RANGE over all integers", body: "EMIT RANGE(-9223372036854775807, 9223372036854775807)", limit: "elements"},
	{name: "SPLIT", body: "EMIT SPLIT(REPEAT('a,', 500000), ',')", limit: "elements"},
	{name: "SPLIT into characters", body: "EMIT SPLIT(REPEAT('a', 1000000), '')", limit: "elements"},
	{name: "LINES", body: `EMIT LINES(REPEAT("\n", 1000000))`, limit: "elements"},
	{name: "WORDS", body: "EMIT WORDS(REPEAT('a ', 500000))", limit: "elements"},
	{name: "FIND_ALL", body: "EMIT FIND_ALL(REPEAT('a', 1000000), 'a')", limit: "memory"},
	{name: "FROM_JSON of a long list", body: "EMIT FROM_JSON('[' + REPEAT('1,', 500000) + '1]')", limit: "elements"},
	{name: "FROM_JSON of a deep list", body: "EMIT FROM_JSON(REPEAT('[', 1000) + REPEAT(']', 1000))", limit: "nesting"},
	{name: "FROM_CSV", body: `EMIT FROM_CSV("a,b" + REPEAT("\n1,2", 200000))`, limit: "memory"},
	{name: "FROM_XML of many elements", body: `EMIT FROM_XML("<a>" + REPEAT("<b/>", 200000) + "</a>")`, limit: "memory"},
	{name: "FROM_XML of a deep document", body: `EMIT FROM_XML(REPEAT("<a>", 10000))`, limit: "nesting"},
	{name: "FROM_YAML of a long list", body: `EMIT FROM_YAML("[" + REPEAT("1,", 400000) + "1]")`, limit: "memory"},
	{name: "FROM_YAML of a deep list", body: `EMIT FROM_YAML(REPEAT("[", 2000) + REPEAT("]", 2000))`, limit: "nesting"},
	{name: "PARSE_QUERY", body: "EMIT PARSE_QUERY(REPEAT('a=1&', 200000))", limit: "memory"},
	{name: "keys of a map", body: "SET ?m AS {} SET ?i AS 0 WHILE TRUE DO SET ?i AS ?i + 1 SET ?m[REPEAT('key', 50) + TEXT(?i)] AS ?i END", limit: "memory"},
	{name: "short keys of a map", body: "SET ?m AS {} SET ?i AS 0 WHILE TRUE DO SET ?i AS ?i + 1 SET ?m[TEXT(?i)] AS NULL END", limit: "elements"},
	{name: "a growing path", body: "SET ?i AS 0 WHILE TRUE DO SET ?i AS ?i + 1 SET ?m[\"k{?i}\"].x.y AS ?i END", limit: "memory"},
	{name: "MERGE", body: "SET ?m AS {} SET ?i AS 0 WHILE TRUE DO SET ?i AS ?i + 1 SET ?n AS {} SET ?n[\"k{?i}\"] AS 1 SET ?m AS MERGE(?m, ?n) END", limit: "fuel"},
	{name: "maps added", body: "SET ?m AS {} FOR ?i FROM 1 TO 60000 DO SET ?m[TEXT(?i)] AS 1 END FOR ?j FROM 1 TO 10000 DO SET ?n AS ?m + {a: ?j} END", limit: "fuel"},
	{name: "lists kept", body: "SET ?l AS [] WHILE TRUE DO APPEND RANGE(1, 1000) TO ?l END", limit: "memory"},
	{name: "CHUNK", body: "SET ?l AS [] WHILE TRUE DO APPEND CHUNK(RANGE(1, 50000), 1) TO ?l END", limit: "memory"},
	{name: "ZIP", body: "SET ?r AS RANGE(1, 50000) SET ?l AS [] WHILE TRUE DO APPEND ZIP(?r, ?r) TO ?l END", limit: "memory"},
	{name: "ENTRIES", body: "SET ?m AS {} FOR ?i FROM 1 TO 1000 DO SET ?m[TEXT(?i)] AS ?i END EMIT MAP(RANGE(1, 90000), ?x -> ENTRIES(?m))", limit: "memory"},
	{name: "GROUP_BY", body: "SET ?l AS [] FOR ?i FROM 1 TO 20 DO APPEND GROUP_BY(RANGE(1, 50000), ?x -> ?x) TO ?l END", limit: "memory"},
	{name: "MAP of lists", body: "EMIT MAP(RANGE(1, 10000), ?x -> RANGE(1, 10000))", limit: "memory"},
	{name: "MAP in MAP in MAP", body: "SET ?r AS RANGE(1, 1000) EMIT COUNT(MAP(?r, ?x -> COUNT(MAP(?r, ?y -> COUNT(MAP(?r, ?z -> 1))))))", limit: "fuel"},
	{name: "ANY in FILTER", body: "SET ?r AS RANGE(1, 90000) EMIT COUNT(FILTER(?r, ?x -> ANY(?r, ?y -> ?x + ?y < 0)))", limit: "fuel"},
	{name: "REDUCE of a list to one twice as long", body: "EMIT REDUCE(RANGE(1, 100), (?a, ?x) -> ?a + ?a, [1])", limit: "elements"},
	{name: "REDUCE of a text to one twice as long", body: "EMIT REDUCE(RANGE(1, 100), (?a, ?x) -> ?a + ?a, 'x')", limit: "value_size"},
	{name: "variables of a function kept by recursion", defs: "DEFINE f(?n) SET ?t AS REPEAT('x', 500000) RETURN f(?n + 1) + ?t END ", body: "EMIT f(1)", limit: "memory"},

	// Small things with large contents.
	{name: "EMIT of a list in itself", body: doubled + "EMIT ?a", limit: "fuel"},
	{name: "TO_JSON of a list in itself", body: doubled + "EMIT LENGTH(TO_JSON(?a))", limit: "fuel"},
	{name: "TO_JSON of it indented", body: doubled + "EMIT LENGTH(TO_JSON(?a, 2))", limit: "value_size"},
	{name: "an insertion of a list in itself", body: doubled + "EMIT LENGTH(\"{?a}\")", limit: "fuel"},
	{name: "an insertion of it into HTML", body: doubled + "EMIT LENGTH(HTML \"{?a}\")", limit: "fuel"},
	{name: "JOIN of a list in itself", body: doubled + "EMIT LENGTH(JOIN(?a, ','))", limit: "fuel"},
	{name: "lists in themselves compared", body: doubled + doubledToo + "EMIT ?a = ?b", limit: "fuel"},
	{name: "lists in themselves looked for", body: doubled + doubledToo + "EMIT ?a IN [1, ?b]", limit: "fuel"},
	{name: "lists in themselves sorted", body: doubled + doubledToo + "EMIT COUNT(SORT([?a, ?b]))", limit: "fuel"},
	{name: "UNIQUE of lists in themselves", body: doubled + doubledToo + "EMIT COUNT(UNIQUE([?a, ?b]))", limit: "fuel"},
	{name: "GROUP_BY a list in itself", body: doubled + "EMIT COUNT(GROUP_BY([1], ?x -> ?a))", limit: "fuel"},
	{name: "FLATTEN of a list in itself", body: doubled + "WHILE TRUE DO SET ?a AS FLATTEN(?a) END", limit: "elements"},
	{name: "FOR through a list in itself", defs: "DEFINE walk(?l) FOR ?x IN ?l DO IF TYPE(?x) = 'list' THEN CALL walk(?x) END END END ", body: doubled + "CALL walk(?a)", limit: "fuel"},
	{name: "TEXT of a map in itself", body: "SET ?m AS {a: 1} FOR ?i FROM 1 TO 40 DO SET ?m AS {a: ?m, b: ?m} END EMIT LENGTH(TEXT(?m))", limit: "fuel"},

	// Time.
	{name: "WHILE TRUE", body: "WHILE TRUE DO END", limit: "fuel"},
	{name: "WHILE by a comparison", body: "SET ?i AS 0 WHILE ?i < 1e18 DO SET ?i AS ?i + 1 END", limit: "fuel"},
	{name: "WHILE that goes on", body: "WHILE 1 < 2 DO CONTINUE END", limit: "fuel"},
	{name: "WHILE by a built-in", body: "WHILE COUNT([1]) = 1 DO END", limit: "fuel"},
	{name: "FOR to 10^18", body: "FOR ?i FROM 1 TO 1000000000000000000 DO END", limit: "fuel"},
	{name: "FOR by halves", body: "FOR ?i FROM 0 TO 1e15 STEP 0.5 DO END", limit: "fuel"},
	{name: "FOR in FOR in FOR", body: "FOR ?i FROM 1 TO 100000 DO FOR ?j FROM 1 TO 100000 DO FOR ?k FROM 1 TO 100000 DO END END END", limit: "fuel"},
	{name: "FOR IN in FOR IN", body: "SET ?r AS RANGE(1, 50000) FOR ?x IN ?r DO FOR ?k, ?y IN ?r DO END END", limit: "fuel"},
	{name: "errors without end", body: "WHILE TRUE DO TRY FAIL 'again' CATCH ?e SET ?x AS ?e.code END END", limit: "fuel"},
	{name: "errors raised again without end", body: "SET ?e AS NULL WHILE TRUE DO TRY TRY SET ?x AS 1 / 0 CATCH ?e FAIL ?e END CATCH ?f SET ?y AS ?f END END", limit: "fuel"},
	{name: "long errors", body: "SET ?t AS REPEAT('x', 500000) SET ?l AS [] WHILE TRUE DO TRY FAIL ?t CATCH ?e APPEND ?e TO ?l END END", limit: "memory"},
	{name: "calls without end", defs: "DEFINE f() END ", body: "WHILE TRUE DO CALL f() END", limit: "fuel"},
	{name: "recursion", defs: "DEFINE f(?n) RETURN f(?n + 1) END ", body: "EMIT f(1)", limit: "call_depth"},
	{name: "recursion in an operand", defs: "DEFINE f(?n) RETURN 1 + f(?n + 1) * 2 END ", body: "EMIT f(1)", limit: "call_depth"},
	{name: "mutual recursion", defs: "DEFINE f(?n) RETURN g(?n + 1) END DEFINE g(?n) RETURN f(?n + 1) END ", body: "EMIT f(1)", limit: "call_depth"},
	{name: "recursion in a lambda", defs: "DEFINE f(?n) RETURN MAP([1, 2], ?x -> f(?n + 1)) END ", body: "EMIT f(1)", limit: "call_depth"},
	{name: "errors through FINALLY without end", body: "WHILE TRUE DO TRY TRY FAIL 'again' FINALLY SET ?x AS 1 END CATCH ?e SET ?x AS ?e.code END END", limit: "fuel"},
	{name: "CONTINUE through FINALLY without end", body: "WHILE TRUE DO TRY CONTINUE FINALLY SET ?x AS 1 END END", limit: "fuel"},
	{name: "recursion in a FINALLY", defs: "DEFINE f() TRY FAIL 'x' FINALLY CALL f() END END ", body: "CALL f()", limit: "call_depth"},
	{name: "recursion in a CATCH", defs: "DEFINE f() TRY FAIL 'x' CATCH ?e CALL f() END END ", body: "CALL f()", limit: "call_depth"},
	{name: "branching recursion", defs: "DEFINE fib(?n) IF ?n < 2 THEN RETURN ?n END RETURN fib(?n - 1) + fib(?n - 2) END ", body: "EMIT fib(60)", limit: "fuel"},
	{name: "sorting again and again", body: filled + "WHILE TRUE DO SET ?s AS SORT(?l) END", limit: "fuel"},
	{name: "SORT_BY again and again", body: filled + "WHILE TRUE DO SET ?s AS SORT_BY(?l, ?x -> -?x) END", limit: "fuel"},
	{name: "long texts sorted", body: "SET ?t AS REPEAT('x', 1000) SET ?l AS MAP(RANGE(1, 5000), ?i -> \"{?t}{?i}\") WHILE TRUE DO SET ?s AS SORT(?l) END", limit: "fuel"},
	{name: "long texts compared", body: "SET ?a AS REPEAT('x', 1000000) SET ?b AS REPEAT('x', 1000000) WHILE ?a <= ?b DO END", limit: "fuel"},
	{name: "long texts tested for equality", body: "SET ?a AS REPEAT('x', 1000000) SET ?b AS REPEAT('x', 1000000) WHILE ?a = ?b DO END", limit: "fuel"},
	{name: "IN on a long list", body: filled + "WHILE -1 NOT IN ?l DO END", limit: "fuel"},
	{name: "IN on a long text", body: "SET ?t AS REPEAT('a', 1000000) WHILE 'b' NOT IN ?t DO END", limit: "fuel"},
	{name: "INDEX_OF on a long list", body: filled + "WHILE TRUE DO SET ?i AS INDEX_OF(?l, -1) END", limit: "fuel"},
	{name: "UNSET at the front of a long list", body: filled + "WHILE TRUE DO UNSET ?l[0] APPEND 1 TO ?l END", limit: "fuel"},
	{name: "INSERT_AT", body: filled + "WHILE TRUE DO SET ?s AS INSERT_AT(?l, 0, 1) END", limit: "fuel"},
	{name: "a shared list written to", body: filled + "WHILE TRUE DO SET ?k AS ?l SET ?l[0] AS 1 END", limit: "fuel"},
	{name: "a shared map written to", body: "SET ?m AS {} FOR ?i FROM 1 TO 50000 DO SET ?m[TEXT(?i)] AS 1 END WHILE TRUE DO SET ?k AS ?m SET ?m.a AS 1 END", limit: "fuel"},
	{name: "gaps in a map", body: "SET ?m AS {} SET ?i AS 0 WHILE TRUE DO SET ?i AS ?i + 1 SET ?m[TEXT(?i)] AS 1 UNSET ?m[TEXT(?i - 100)] END", limit: "fuel"},
	{name: "UPPER of a long text", body: "SET ?t AS REPEAT('ä', 500000) WHILE TRUE DO SET ?u AS UPPER(?t) END", limit: "fuel"},
	{name: "TRIM of a long text", body: "SET ?t AS REPEAT(' ', 1000000) WHILE TRUE DO SET ?u AS TRIM(?t) END", limit: "fuel"},
	{name: "SHA256 of a long text", body: "SET ?t AS REPEAT('x', 1000000) WHILE TRUE DO SET ?u AS SHA256(?t) END", limit: "fuel"},
	{name: "SUM of a long list", body: filled + "WHILE TRUE DO SET ?s AS SUM(?l) END", limit: "fuel"},
	{name: "MEDIAN of a long list", body: filled + "WHILE TRUE DO SET ?s AS MEDIAN(?l) END", limit: "fuel"},
	{name: "REVERSE of a long list", body: filled + "WHILE TRUE DO SET ?l AS REVERSE(?l) END", limit: "fuel"},
	{name: "POSITION in a long text", body: "SET ?t AS REPEAT('a', 1000000) WHILE TRUE DO SET ?p AS POSITION(?t, 'aaaaaaaaab') END", limit: "fuel"},
	{name: "effects without end", body: "WHILE TRUE DO SET ?n AS NOW() END", limit: "fuel"},

	// Patterns.
	{name: "a costly pattern", body: "EMIT MATCHES(REPEAT('a', 1000000), '(a|aa)+(a|aa)+b')", limit: "pattern_cost"},
	{name: "a counted pattern", body: "EMIT MATCHES(REPEAT('a', 100000), '(a{0,500}){0,2}b')", limit: "pattern_cost"},
	{name: "a long pattern", body: "EMIT MATCHES('a', REPEAT('a', 1000))", limit: "pattern_size"},
	{name: "patterns without end", body: "SET ?t AS REPEAT('a', 20000) WHILE TRUE DO SET ?x AS MATCHES(?t, '(a|b)*c') END", limit: "fuel"},
	{name: "new patterns without end", body: "SET ?i AS 0 WHILE TRUE DO SET ?i AS ?i + 1 SET ?x AS MATCHES('a', \"{?i}\\{0,100}(a|b|c)*\") END", limit: "fuel"},
	{name: "SPLIT_PATTERN, simple", body: "EMIT SPLIT_PATTERN(REPEAT('a', 500000), '')", limit: "elements"},
	{name: "SPLIT_PATTERN, searched", body: "EMIT SPLIT_PATTERN(REPEAT('a', 500000), '|b')", limit: "elements"},

	// Output.
	{name: "EMIT without end", body: "WHILE TRUE DO EMIT 'xxxxxxxxxx' END", limit: "output"},
	{name: "EMIT LINE without end", body: "WHILE TRUE DO EMIT LINE END", limit: "output"},
	{name: "EMIT of numbers", body: "WHILE TRUE DO EMIT 1234567, 0.1 + 0.2 END", limit: "output"},
	{name: "EMIT of one long text", body: "EMIT REPEAT('x', 1000000)", limit: "output"},
	{name: "EMIT of long lists", body: filled + "WHILE TRUE DO EMIT ?l END", limit: "output"},
	{name: "rows emitted", body: "WHILE TRUE DO SELECT * FROM t; END", limit: "output", host: func(*vm.Machine) value.Value {
		return value.ListOf(value.Text("a row"), value.Int(1))
	}},
	{name: "a page rendered", body: "WHILE TRUE DO RENDER '/page.html' END", limit: "output", host: func(*vm.Machine) value.Value {
		return value.Text(strings.Repeat("<p>", 1000))
	}},

	// Results of the host.
	{name: "a long text read", body: "READ '/big.txt' SET ?t EMIT LENGTH(?t)", limit: "memory", host: func(*vm.Machine) value.Value {
		return value.Text(strings.Repeat("x", 40<<20))
	}},
	{name: "texts read and kept", body: "SET ?l AS [] WHILE TRUE DO READ '/big.txt' SET ?t APPEND ?t TO ?l END", limit: "memory", host: func(*vm.Machine) value.Value {
		return value.Text(strings.Repeat("x", 1<<20))
	}},
	{name: "texts kept in the session, many times over", body: "SET ?l AS [] WHILE TRUE DO APPEND !SESSION('k') TO ?l END", limit: "memory", host: func(*vm.Machine) value.Value {
		return value.ListOf(value.Text(strings.Repeat("x", 1<<16)))
	}},
	{name: "a result made under the machine's meter", body: "READ '/big.json' SET ?t", limit: "memory", host: func(m *vm.Machine) value.Value {
		v, err := value.ParseJSON(m.Meter(), "["+strings.Repeat(`["a","b","c"],`, 90_000)+"1]")
		if err != nil {
			return value.Null
		}
		return v
	}},
}

// bombLimits are small limits, with less fuel.
func bombLimits() vm.Limits {
	l := langtest.SmallLimits()
	l.Fuel = 8e6
	return l
}

// explode runs a script under limits. Whenever memory is measured, and at each
// effect and the end, what is live is compared with the limit.
func explode(t testing.TB, ctx context.Context, text string, l vm.Limits, host func(*vm.Machine) value.Value) *vm.Machine {
	t.Helper()
	m := vm.New(compile(t, text), l, vm.Input{})
	live := func() {
		if n := m.Live(); n > l.Memory {
			t.Errorf("%d bytes are live, the limit is %d", n, l.Memory)
		}
	}
	m.OnMeasure(func(n int64) {
		if n > l.Memory {
			t.Errorf("%d bytes are live, the limit is %d", n, l.Memory)
		}
	})
	for m.Run(ctx) == vm.Pending {
		v := value.Null
		if host != nil {
			err := limited(func() { v = host(m) })
			if err != nil {
				m.ResumeError(err)
				continue
			}
		} else {
			v = value.Text("2026-01-01T00:00:00Z")
		}
		m.Resume(v)
	}
	live()
	if len(m.Output()) > l.Output {
		t.Errorf("%d bytes are emitted, the limit is %d", len(m.Output()), l.Output)
	}
	return m
}

// limited returns the limit that f runs into.
func limited(f func()) (err error) {
	defer func() {
		if l, ok := recover().(*value.LimitError); ok {
			err = l
		}
	}()
	f()
	return nil
}

// TestBombs checks that each bomb ends at its limit, and that no TRY keeps it
// from that.
func TestBombs(t *testing.T) {
	for _, b := range bombs {
		t.Run(b.name, func(t *testing.T) {
			texts := []string{
				b.defs + "TRY " + b.body + " CATCH ?bomb EMIT 'survived' END EMIT 'survived'",
				b.defs + b.body + " EMIT 'survived'",
			}
			if testing.Short() {
				texts = texts[:1]
			}
			for _, text := range texts {
				m := explode(t, t.Context(), text, bombLimits(), b.host)
				e := m.Err()
				switch {
				case e == nil:
					t.Errorf("it ends well with %d bytes of output, after %d fuel", len(m.Output()), m.Fuel())
				case e.Code != "limit_exceeded" || e.Limit == nil || e.Limit.Name != b.limit:
					t.Errorf("it ends with %s at %+v (%v), want the limit %s", e.Code, e.Limit, e, b.limit)
				case strings.Contains(string(m.Output()), "survived"):
					t.Error("it goes on after its limit")
				}
				m.Forget()
			}
		})
	}
}

// TestLeftBehind checks that what functions leave behind in registers that no
// later one writes to is not kept: it is in no account.
func TestLeftBehind(t *testing.T) {
	l := bombLimits()
	l.Memory, l.Fuel = 4<<20, 50e6
	text := `
DEFINE f(?depth)
  IF ?depth > 0 THEN RETURN f(?depth - 1) END
  RETURN COUNT([1, [2, [3, [4, [5, REPEAT('x', 1000000)]]]]])
END
FOR ?depth FROM 190 TO 2 STEP -2 DO SET ?n AS f(?depth) END
EMIT ?n`
	m := explode(t, t.Context(), text, l, nil)
	if m.Err() != nil {
		t.Fatal(m.Err())
	}
	if n := m.LeftBehind(); n > l.Memory {
		t.Errorf("%d bytes are left behind, the limit of memory is %d", n, l.Memory)
	}
}

// TestEffectsFindCleanRegisters checks that no register that is not in use holds anything at an effect, whatever
// functions were called before it: large ones, small ones at the same place, and those that call others.
func TestEffectsFindCleanRegisters(t *testing.T) {
	program, err := lang.Compile(`
DEFINE large(?n)
  SET ?a AS [?n, [?n, [?n, [?n, ?n + 1]]]] SET ?b AS [1, 2, 3, 4, 5, 6, ?n] SET ?c AS ?a + ?b
  RETURN [?a, ?b, ?c, ?n]
END
DEFINE small(?n) SET ?t AS NOW() RETURN ?t END
DEFINE deep(?n) IF ?n = 0 THEN RETURN large(?n) END RETURN deep(?n - 1) END
FOR ?i FROM 1 TO 4 DO
  SET ?x AS small(?i)
  SET ?x AS large(?i)
  SET ?x AS small(?i)
  SET ?x AS deep(?i)
  SET ?x AS NOW()
  SET ?x AS [?x, small(?i), large(?i), NOW()]
END
TRANSACTION SET ?x AS large(1) END`, lang.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := vm.New(program, langtest.Limits(), vm.Input{})
	defer m.Release()
	effects := 0
	for m.Run(t.Context()) == vm.Pending {
		effects++
		if n := m.DirtyRegisters(); n > 0 {
			t.Fatalf("at effect %d, line %d, %d registers that are not in use hold something", effects, m.Effect().Line, n)
		}
		m.Resume(value.Text("a value"))
	}
	if m.Err() != nil || effects < 20 {
		t.Errorf("%d effects, then %v", effects, m.Err())
	}
}

// TestPromiseBombs measures how long after its deadline a bomb goes on, and how
// far the heap grows: both must be close to the limits.
func TestPromiseBombs(t *testing.T) {
	const (
		limit  = 300 * time.Millisecond
		most   = 50 * time.Millisecond
		factor = 8
	)
	list := bombs
	if !promised {
		list = bombs[:3]
	}
	for _, b := range list {
		l := langtest.Limits()
		l.Fuel = 1 << 60
		over, heap := time.Duration(1<<62), uint64(1<<62)
		for range 3 { // the best of three: the machine is not ours alone
			o, h := overshoot(t, b, l, limit)
			over, heap = min(over, o), min(heap, h)
			if over <= most {
				break
			}
		}
		t.Logf("%-50s %8.1f ms over, heap %6.1f MB", b.name, float64(over.Microseconds())/1000, float64(heap)/1e6)
		if !promised {
			continue
		}
		if over > most {
			t.Errorf("%s: ends %v after its deadline", b.name, over)
		}
		if heap > factor*uint64(l.Memory) {
			t.Errorf("%s: the heap grows by %d bytes, the limit of memory is %d", b.name, heap, l.Memory)
		}
	}
}

// overshoot runs a bomb with a deadline, and returns how much later it ended
// and by how much the heap had grown at most.
func overshoot(t *testing.T, b bomb, l vm.Limits, limit time.Duration) (time.Duration, uint64) {
	text := b.defs + b.body
	prog := compile(t, text)
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	stop, peaks := make(chan struct{}), make(chan uint64)
	go func() {
		peak := uint64(0)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				peaks <- peak
				return
			case <-tick.C:
				var now runtime.MemStats
				runtime.ReadMemStats(&now)
				peak = max(peak, now.HeapAlloc)
			}
		}
	}()
	m := vm.New(prog, l, vm.Input{})
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	start := time.Now()
	for m.Run(ctx) == vm.Pending {
		v := value.Text("2026-01-01T00:00:00Z")
		if b.host != nil {
			if err := limited(func() { v = b.host(m) }); err != nil {
				m.ResumeError(err)
				continue
			}
		}
		m.Resume(v)
	}
	over := max(0, time.Since(start)-limit)
	close(stop)
	peak := <-peaks
	m.Release()
	return over, peak - min(peak, before.HeapAlloc)
}

// TestCompilerBombs compiles texts that want too much of the front end: each is
// refused in words, or compiled.
func TestCompilerBombs(t *testing.T) {
	const n = 20_000
	deep := func(open, middle, close string) string {
		return strings.Repeat(open, n) + middle + strings.Repeat(close, n)
	}
	for _, test := range []struct {
		name, text string
		refused    bool
	}{
		{"brackets", "SET ?x AS " + deep("(", "1", ")"), true},
		{"brackets that stay open", "SET ?x AS " + strings.Repeat("(", n), true},
		{"lists", "SET ?x AS " + deep("[", "", "]"), true},
		{"lists that stay open", "SET ?x AS " + strings.Repeat("[", n), true},
		{"maps", "SET ?x AS " + deep("{a:", "1", "}"), true},
		{"NOT", "SET ?x AS " + strings.Repeat("NOT ", n) + "TRUE", true},
		{"minus", "SET ?x AS " + strings.Repeat("- ", n) + "1", true},
		{"IF", deep("IF TRUE THEN ", "", " END"), true},
		{"WHILE", deep("WHILE TRUE DO ", "", " END"), true},
		{"FOR", deep("FOR ?x IN [1] DO ", "", " END"), true},
		{"TRY", deep("TRY ", "", " CATCH END"), true},
		{"TRY with FINALLY", deep("TRY ", "", " FINALLY END"), true},
		{"ELSE with an IF of its own", deep("IF TRUE THEN ELSE\n", "", " END"), true},
		{"ELSE IF", "IF TRUE THEN " + strings.Repeat("ELSE IF TRUE THEN ", n) + "END", false},
		{"CASE", "SET ?x AS " + deep("CASE WHEN TRUE THEN ", "1", " END"), true},
		{"WHEN", "SET ?x AS CASE " + strings.Repeat("WHEN TRUE THEN 1 ", n) + "END", false},
		{"insertions", "SET ?x AS " + deep(`"{=`, "1", `}"`), true},
		{"insertions that stay open", "SET ?x AS " + strings.Repeat(`"{=`, n), true},
		{"calls", "SET ?x AS " + deep("ABS(", "1", ")"), true},
		{"indexes", "SET ?x AS [1]" + deep("[[1]", "[0]", "[0]]"), true},
		{"accesses", "SET ?x AS {} SET ?y AS ?x" + strings.Repeat(".a", n), true},
		{"a long sum", "SET ?x AS 1" + strings.Repeat(" + 1", n), true},
		{"a long OR", "SET ?x AS TRUE" + strings.Repeat(" OR TRUE", n), true},
		{"a long DEFAULT", "SET ?x AS NULL" + strings.Repeat(" DEFAULT NULL", n), true},
		{"lambdas", "SET ?x AS " + deep("MAP([1], ?y -> ", "1", ")"), true},
		{"a path", "SET ?x" + strings.Repeat(".a", n) + " AS 1", true},
		{"arguments", "SET ?x AS MAX(" + strings.Repeat("1, ", n) + "1)", true},
		{"parameters", "DEFINE f(" + strings.Repeat("?a, ", n) + "?b) END", true},
		{"a long list", "SET ?x AS [" + strings.Repeat("1, ", 20*n) + "1]", false},
		{"a long list that is computed", "SET ?y AS 1 SET ?x AS [" + strings.Repeat("?y, ", 5*n) + "1]", false},
		{"a long text", "SET ?x AS '" + strings.Repeat("x", 100*n) + "'", false},
		{"a text with many insertions", "SET ?y AS 1 SET ?x AS \"" + strings.Repeat("{?y}", n) + "\"", false},
		{"many statements", strings.Repeat("SET ?x AS 1 ", 5*n), false},
		{"many statements in a loop", "FOR ?i FROM 1 TO 2 DO " + strings.Repeat("SET ?x AS 1 ", n) + "END", false},
		{"many arguments of EMIT", "EMIT " + strings.Repeat("1, ", n) + "1", false},
		{"comments that stay open", strings.Repeat("/*", n), true},
		{"quotes", strings.Repeat(`"`, n+1), true},
		{"brackets in SQL", "SELECT " + deep("(", "1", ")") + ";", false},
		{"parameters of SQL", "SET ?x AS 1 SELECT " + strings.Repeat("?x, ", n) + "1;", true},
		{"semicolons", strings.Repeat(";", 10*n), false},
		{"GATHER", "GATHER 't' FIELDS " + fields(n) + " SET ?x", false},
	} {
		p, err := lang.Compile(test.text, lang.Options{})
		switch {
		case err != nil && !test.refused:
			t.Errorf("%s: refused: %v", test.name, err)
		case err == nil && test.refused:
			t.Errorf("%s: compiled to %d bytes", test.name, p.Bytes)
		case err == nil:
			explode(t, t.Context(), test.text, bombLimits(), nil)
		}
	}
	var many strings.Builder
	for i := range n {
		fmt.Fprintf(&many, "SET ?v%d AS %d DEFINE f%d() RETURN %d END ", i, i, i, i)
	}
	fmt.Fprintf(&many, "EMIT ?v%d + f%d()", n-1, n-1)
	m := explode(t, t.Context(), many.String(), bombLimits(), nil)
	if got, want := string(m.Output()), fmt.Sprint(2*(n-1)); got != want {
		t.Errorf("%d variables and functions: got %q, want %s (%v)", n, got, want, m.Err())
	}
}

func fields(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "f%d TEXT", i)
	}
	return b.String()
}
