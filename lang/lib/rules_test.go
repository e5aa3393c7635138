package lib

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"ql/lang/source"
	"ql/lang/syntax"
	"ql/lang/value"
)

// exampleArgs returns what a function is called with in its example.
func exampleArgs(t *testing.T, b *Builtin) []value.Value {
	t.Helper()
	x, errs := syntax.ParseExpr(source.NewFile("", b.Example))
	if len(errs) > 0 {
		t.Fatalf("%s: %v", b.Name, errs[0])
	}
	var recorded []value.Value
	e := evaluator{call: newCall(), vars: map[string]value.Value{}}
	e.watch = func(f *Builtin, args []value.Value) {
		if f == b && recorded == nil {
			recorded = append([]value.Value{}, args...)
		}
	}
	if _, err := e.eval(x); err != nil {
		t.Fatalf("%s: %v", b.Name, err)
	}
	if recorded == nil {
		t.Fatalf("%s is not called in its example", b.Name)
	}
	return recorded
}

// TestNull checks the rule for null: given null for something that it needs, a
// function gives null; for a list, it takes it as []; what it can do without
// counts as left out.
func TestNull(t *testing.T) {
	// What is not null, by function and argument.
	other := map[string]string{
		"LENGTH 0": "0", "COUNT 0": "0", "TYPE 0": `"null"`, "TO_JSON 0": `"null"`, "TO_CSV 0": `""`, "TO_YAML 0": `"null\n"`,
		"JOIN 0": `""`, "JOIN 1": `"20260601"`,
		"SUM 0": "0", "PRODUCT 0": "1", "MIN 0": "1", "MIN 1": "2", "MIN 2": "1",
		"SLICE 0": "[]", "INSERT_AT 2": `["a",null,"c"]`,
		"SORT 0": "[]", "REVERSE 0": "[]", "UNIQUE 0": "[]", "FLATTEN 0": "[]", "CHUNK 0": "[]", "COLUMN 0": "[]",
		"ZIP 0": "[]", "ZIP 1": "[]", "INTERSECT 0": "[]", "INTERSECT 1": "[]", "EXCEPT 0": "[]", "EXCEPT 1": "[1,2,3]",
		"ANY 0": "false", "ALL 0": "true",
		"FROM_ENTRIES 0": "{}", "PICK 1": "{}", "OMIT 1": `{"id":7,"name":"Ada","hash":"x"}`,
		"MERGE_DEEP 0": `{"db":{"port":2}}`, "MERGE_DEEP 1": `{"db":{"host":"a","port":1}}`,
		"MERGE 0": `{"b":2,"c":3}`, "MERGE 1": `{"a":1,"b":1,"c":3}`, "MERGE 2": `{"a":1,"b":2}`,
	}
	failing := map[string]string{
		"INSERT_AT 0":  value.BadIndex, // the example inserts at 1
		"REMOVE_AT 0":  value.BadIndex,
		"PARSE_TIME 1": value.BadTime,     // the example cannot be read without its format
		"SORT_BY 0":    value.BadArgument, // the loop gives no keys for null
		"SORT_BY 1":    value.BadArgument,
		"GROUP_BY 0":   value.BadArgument,
		"GROUP_BY 1":   value.BadArgument,
	}
	for _, name := range []string{"MAP_VALUES", "FILTER_ENTRIES"} {
		failing[name+" 1"] = value.BadArgument // the loop gives a value for each entry
	}
	for _, name := range []string{"MIN_BY", "MAX_BY", "FLAT_MAP", "INDEX_BY"} {
		failing[name+" 0"], failing[name+" 1"] = value.BadArgument, value.BadArgument
	}
	for i := range Len() {
		b := At(i)
		if b.Fn == nil {
			continue
		}
		example := exampleArgs(t, b)
		for j := range example {
			args := append([]value.Value{}, example...)
			args[j] = value.Null
			name := fmt.Sprintf("%s %d", b.Name, j)
			got, err := b.Fn(newCall(), args)
			if err != nil {
				var ve *value.Error
				if !errors.As(err, &ve) || failing[name] != ve.Code {
					t.Errorf("%s: error %v", name, err)
				}
				continue
			}
			want := "null"
			if w, ok := other[name]; ok {
				want = w
			} else if j >= b.Min && b.Max >= 0 {
				without, err := b.Fn(newCall(), args[:j])
				if err != nil {
					t.Errorf("%s: left out: %v", name, err)
					continue
				}
				if j == len(args)-1 {
					want = string(value.AppendJSON(nil, without))
				} else {
					continue
				}
			}
			if got := string(value.AppendJSON(nil, got)); got != want {
				t.Errorf("%s is null: got %s, want %s", name, got, want)
			}
		}
	}
}

// kinds has a value of every kind, ordinary and odd.
func kinds() []value.Value {
	half, _ := value.Number(-0.5)
	huge, _ := value.Number(1e300)
	text := value.Text("x")
	price, _ := value.ParseDecimal(nil, "-12.30")
	return []value.Value{
		price,
		value.Null, value.True, value.Int(0), value.Int(3), value.Int(-1 << 63), value.Int(1<<63 - 1), half, huge,
		value.Text(""), text, value.Text("2026-06-01"), value.Text("days"), value.Text(`\d(`), value.Text(strings.Repeat("é", 300)),
		value.Bytes(nil), value.Bytes([]byte{0xff, 0xfe}),
		value.ListOf(), value.ListOf(value.Int(1), value.Int(2)), value.ListOf(text, value.ListOf(text), value.Null),
		value.ListOf(table(2), table(1)),
		table(0), table(3),
	}
}

// TestAnyKind calls every function with every kind in every place: it gives a
// value or an error, both of which can be printed, or ends at a limit.
func TestAnyKind(t *testing.T) {
	codes := map[string]bool{
		value.WrongKind: true, value.NumberRange: true, value.NotANumber: true, value.BadIndex: true, value.BadArgument: true,
		value.BadJSON: true, value.BadCSV: true, value.BadXML: true, value.BadYAML: true, value.BadZIP: true, value.BadGZIP: true,
		value.BadTime: true, value.BadPattern: true, value.DivisionByZero: true,
	}
	all := kinds()
	for i := range Len() {
		b := At(i)
		if b.Fn == nil {
			continue
		}
		most := b.Max
		if most < 0 {
			most = 2
		}
		patterns := NewPatterns(4)
		for n := b.Min; n <= most; n++ {
			args := make([]value.Value, n)
			places := 1
			for range n {
				places *= len(all)
			}
			for k := range places {
				for j, rest := 0, k; j < n; j, rest = j+1, rest/len(all) {
					args[j] = all[rest%len(all)]
				}
				c := &Call{Meter: newMeter(1_000_000, 1<<20), Patterns: patterns}
				c.Meter.Text, c.Meter.Elements = 10_000, 1000
				var got value.Value
				var err error
				limit := limited(func() { got, err = b.Fn(c, args) })
				switch {
				case limit != nil:
				case err == nil:
					value.AppendJSON(nil, got)
				default:
					var ve *value.Error
					if !errors.As(err, &ve) || !codes[ve.Code] || ve.Message == "" || strings.Contains(ve.Message, "%!") {
						t.Fatalf("%s(%v): %#v", b.Name, show(args), err)
					}
				}
			}
		}
	}
}

func show(args []value.Value) string {
	return string(value.AppendJSON(nil, value.ListOf(args...)))
}

// limited runs f and returns the limit at which it ended, if any.
func limited(f func()) (limit *value.LimitError) {
	defer func() {
		if r := recover(); r != nil {
			var ok bool
			if limit, ok = r.(*value.LimitError); !ok {
				panic(r)
			}
		}
	}()
	f()
	return nil
}

// TestArgumentsStay checks that no function changes what it is given, and that
// what it keeps of it is shared.
func TestArgumentsStay(t *testing.T) {
	for i := range Len() {
		b := At(i)
		if b.Fn == nil {
			continue
		}
		args := exampleArgs(t, b)
		before := show(args)
		got, err := b.Fn(newCall(), args)
		if err != nil {
			t.Fatal(err)
		}
		if after := show(args); after != before {
			t.Errorf("%s changes its arguments from %s to %s", b.Name, before, after)
		}
		held := map[value.Value]bool{}
		for _, a := range args {
			containers(a, func(v value.Value) { held[v] = true })
		}
		containers(got, func(v value.Value) {
			if held[v] && !v.Shared() {
				t.Errorf("%s gives away %s without sharing it", b.Name, value.AppendJSON(nil, v))
			}
		})
	}
}

// containers calls f with v and what it holds, as far as they are containers.
func containers(v value.Value, f func(value.Value)) {
	switch {
	case v.IsList():
		f(v)
		for i := range v.List().Len() {
			containers(v.List().At(i), f)
		}
	case v.IsMap():
		f(v)
		for _, e := range v.Map().All {
			containers(e, f)
		}
	}
}
