package value

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestJSONRoundTrip writes values as JSON and reads them back.
func TestJSONRoundTrip(t *testing.T) {
	for seed := range uint64(300) {
		w := newWorld(seed)
		for range 120 {
			w.step()
		}
		for _, v := range w.vars {
			b := AppendJSON(nil, v)
			if !FitsJSON(v, len(b)) || FitsJSON(v, len(b)-1) {
				t.Errorf("%s: does it fit its %d bytes?", b, len(b))
			}
			if n := JSONSize(nil, v); n != len(b) {
				t.Fatalf("seed %d: %s takes %d bytes, announced are %d", seed, b, len(b), n)
			}
			if !json.Valid(b) {
				t.Fatalf("seed %d: %s is no JSON", seed, b)
			}
			back, err := ParseJSON(nil, string(b))
			if err != nil || !Equal(nil, back, decimalsAsTexts(v)) {
				t.Fatalf("seed %d: %s is read as %s, %v", seed, b, AppendJSON(nil, back), err)
			}
			if again := AppendJSON(nil, back); !bytes.Equal(again, b) {
				t.Fatalf("seed %d: %s is read and written as %s", seed, b, again)
			}
			checkShape(t, back)
		}
	}
}

// decimalsAsTexts returns a copy of v in which decimals are what JSON makes of them.
func decimalsAsTexts(v Value) Value {
	switch v.Kind() {
	case KindDecimal:
		return TextOf(AppendDecimal(nil, v))
	case KindList:
		l := NewList(nil, 0)
		for i := range v.List().Len() {
			l.Append(nil, decimalsAsTexts(v.List().At(i)))
		}
		return l.Value()
	case KindMap:
		m := NewMap(nil, 0)
		for k, e := range v.Map().All {
			m.Set(nil, k, decimalsAsTexts(e))
		}
		return m.Value()
	}
	return v
}

// strange are documents that readers of JSON differ about, or that try one.
var strange = []string{
	``, ` `, `null`, `true`, `fals`, `nul`, `[]`, `{}`, `[1,2,]`, `[,]`, `{"a":1,}`, `{a:1}`, `{"a":1 "b":2}`, `{"a":1,"a":2}`, `{"a":1}{}`,
	`"a`, `"\"`, `"\u12"`, `"\u12g4"`, `"\u+123"`, `"\ud83d\ude00"`, `"\ud83d"`, `"\ude00\ud83d"`, `"\ud83dx"`, `"\x41"`, "\"\n\"", "\"\x7f\"", "\"\u2028\"", "\"\xff\"",
	`0`, `-0`, `00`, `01`, `-`, `+1`, `1.`, `.5`, `1e5`, `1E+5`, `1e`, `1e400`, `-1e400`, `1e-400`, `123456789012345678901234567890`, `9223372036854775807`, `9223372036854775808`,
	`-9223372036854775808`, `1.0`, `-0.0`, `1e0`, `0x10`, `NaN`, `Infinity`, "[1]\x00", "\ufeff1", `[[[[[[[[[[]]]]]]]]]]`, "[1]//x", "\t[ 1 ,\r\n2 ] ", `{"":""}`, `"\/\b\f\n\r\t\\"`,
	`[1,2.5,"x",null,true,{"k":[]}]`, strings.Repeat("[", 1001) + strings.Repeat("]", 1001), `{"a":{"b":{"c":{}}}}`,
}

// FuzzParseJSON compares the reader with that of Go: what it takes, Go takes
// and understands the same; what only Go takes has a reason.
func FuzzParseJSON(f *testing.F) {
	for _, s := range strange {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := ParseJSON(nil, s)
		theirs, ok := goJSON(s)
		if err != nil {
			if err.Code != BadJSON || err.Message == "" {
				t.Fatalf("%q: an odd error %s: %s", s, err.Code, err.Message)
			}
			if ok && utf8.ValidString(s) && !refusable(s, theirs) {
				t.Fatalf("%q is refused: %s", s, err.Message)
			}
			return
		}
		if !ok {
			t.Fatalf("%q is read as %s, but is no JSON", s, AppendJSON(nil, v))
		}
		if !sameJSON(v, theirs) {
			t.Fatalf("%q is read as %s, want %v", s, AppendJSON(nil, v), theirs)
		}
		checkShape(t, v)
		back, err := ParseJSON(nil, string(AppendJSON(nil, v)))
		if err != nil || !Equal(nil, back, v) {
			t.Fatalf("%q is not read again as it was: %v", s, err)
		}
	})
}

func goJSON(s string) (any, bool) {
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, false
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, false
	}
	return v, true
}

// refusable tells whether s has something that is JSON to Go and an error here:
// a key twice, half of a surrogate pair, a number out of range, deep nesting.
func refusable(s string, v any) bool {
	if strings.Contains(s, `\u`) || strings.Count(s, "[")+strings.Count(s, "{") > 1000 {
		return true
	}
	if hasHuge(v) {
		return true
	}
	// A key twice: less is left than was written.
	return keys(v) < strings.Count(s, ":")
}

func hasHuge(v any) bool {
	switch v := v.(type) {
	case json.Number:
		_, err := v.Float64()
		return err != nil
	case []any:
		for _, e := range v {
			if hasHuge(e) {
				return true
			}
		}
	case map[string]any:
		for _, e := range v {
			if hasHuge(e) {
				return true
			}
		}
	}
	return false
}

func keys(v any) int {
	n := 0
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			n += keys(e)
		}
	case map[string]any:
		for _, e := range v {
			n += 1 + keys(e)
		}
	}
	return n
}

func sameJSON(v Value, theirs any) bool {
	switch x := theirs.(type) {
	case nil:
		return v.IsNull()
	case bool:
		return v.IsBool() && v.IsTrue() == x
	case string:
		return v.IsText() && v.Str() == x
	case json.Number:
		if !v.IsNumber() {
			return false
		}
		if n, ok := new(big.Int).SetString(x.String(), 10); ok && n.IsInt64() {
			return v == Int(n.Int64())
		}
		f, err := x.Float64()
		want, ok := Number(f)
		return err == nil && ok && v == want
	case []any:
		if !v.IsList() || v.List().Len() != len(x) {
			return false
		}
		for i, e := range x {
			if !sameJSON(v.List().At(i), e) {
				return false
			}
		}
		return true
	case map[string]any:
		if !v.IsMap() || v.Map().Len() != len(x) {
			return false
		}
		for k, e := range x {
			w, ok := v.Map().Get(k)
			if !ok || !sameJSON(w, e) {
				return false
			}
		}
		return true
	}
	return false
}

// TestParseJSONUnderLimits checks that a document cannot make more than a
// script may hold.
func TestParseJSONUnderLimits(t *testing.T) {
	for _, test := range []struct {
		name, document, limit string
	}{
		{"nesting", strings.Repeat("[", 50) + strings.Repeat("]", 50), "nesting"},
		{"nested maps", strings.Repeat(`{"a":`, 50) + "1" + strings.Repeat("}", 50), "nesting"},
		{"elements", "[" + strings.Repeat("1,", 200) + "1]", "elements"},
		{"a long text", `"` + strings.Repeat("x", 2000) + `"`, "value_size"},
		{"a long key", `{"` + strings.Repeat("x", 2000) + `":1}`, "value_size"},
		{"memory", "[" + strings.Repeat(`["`+strings.Repeat("y", 500)+`"],`, 90) + "1]", "memory"},
		{"fuel", "[" + strings.Repeat(" ", 100_000) + "]", "fuel"},
	} {
		m := roomy(20_000)
		m.Bounds = Bounds{Text: 1000, Elements: 100, Nesting: 20}
		m.Fuel, m.Reserve = 0, 10_000
		m.Begin()
		if got := limitOf(func() { _, _ = ParseJSON(m, test.document) }); got != test.limit {
			t.Errorf("%s: the limit reached is %q, want %q", test.name, got, test.limit)
		}
	}
}

// TestFitsJSONLooksNoFurther asks it of values that hold themselves in so many
// places that nobody could look at all of them.
func TestFitsJSONLooksNoFurther(t *testing.T) {
	list, table := ListOf(), NewMap(nil, 0).Value()
	for range 100 {
		list = ListOf(list, list)
		m := NewMap(nil, 2)
		m.SetText("a", table)
		m.SetText("b", table)
		table = m.Value()
	}
	for _, v := range []Value{list, table} {
		if FitsJSON(v, 1_000_000) {
			t.Error("it fits")
		}
	}
}

// TestKeysOfJSONAreShared checks that objects with the same keys share their texts, whatever else the keys look like.
func TestKeysOfJSONAreShared(t *testing.T) {
	rows, err := ParseJSON(nil, `[{"id":1,"name":"a"},{"id":2,"na\u006de":"b","a\"b":1},{"name":3,"a\\":4,"":5,"id":6},{"a\"b":7,"":8,"a\\":9}]`)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(AppendJSON(nil, rows)), `[{"id":1,"name":"a"},{"id":2,"name":"b","a\"b":1},{"name":3,"a\\":4,"":5,"id":6},{"a\"b":7,"":8,"a\\":9}]`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	_, first, _ := rows.List().At(0).Map().Next(0)
	_, second, _ := rows.List().At(1).Map().Next(0)
	if first.p != second.p {
		t.Error("two objects have a text of their own for the same key")
	}
	if _, err := ParseJSON(nil, `[{"id":1},{"id":1,"id":2}]`); err == nil || !strings.Contains(err.Message, "twice") {
		t.Errorf("a key that stands there twice: %v", err)
	}
}

func TestIntLength(t *testing.T) {
	for _, i := range []int64{0, 9, 10, 99, 100, 999, 1000, 9999, 10_000, 99_999, 100_000, 12_345_678, math.MaxInt64} {
		for _, i := range []int64{i, -i, -i - 1} {
			if got, want := intLength(i), len(strconv.FormatInt(i, 10)); got != want {
				t.Errorf("%d has %d digits, not %d", i, want, got)
			}
			if got, want := string(AppendNumber([]byte("x"), Int(i))), "x"+strconv.FormatInt(i, 10); got != want {
				t.Errorf("%d is written %s, not %s", i, got, want)
			}
		}
	}
}

// TestPutText checks that what is put into its room is what would be appended, and no more than that.
func TestPutText(t *testing.T) {
	half, _ := Number(-0.5)
	for _, v := range []Value{Null, True, Int(0), Int(7), Int(-10), Int(math.MinInt64), Int(123_456), half, Text(""), Text("é"), Bytes([]byte("ab")), ListOf(Int(12), Text("<"))} {
		n := TextSize(nil, v)
		room := []byte(strings.Repeat("#", n+2))
		PutText(room[1:n+1], v)
		if got, want := string(room), "#"+string(AppendText(nil, v))+"#"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
