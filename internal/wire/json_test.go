package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// small are limits that short documents can exceed.
var small = Limits{Body: 200, Script: 50, Depth: 4, Nodes: 20, Keys: 20, Fields: 30, FieldKeys: 3}

func TestCheckRefuses(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"nothing", "", `body: is not JSON: found the end where a value should stand, at line 1, column 1`},
		{"blanks", " \n ", `body: is not JSON: found the end where a value should stand, at line 2, column 2`},
		{"no value", `{"a":}`, `body: is not JSON: found '}' where a value should stand, at line 1, column 6`},
		{"second value", `{} {}`, `body: is not JSON: found '{' after the end of the document, at line 1, column 4`},
		{"comma at the end", `[1,]`, `body: is not JSON: found ']' where a value should stand, at line 1, column 4`},
		{"comma at an object's end", `{"a":1,}`, `body: is not JSON: found '}' where a name in "…" should stand, at line 1, column 8`},
		{"no comma", `[1 2]`, `body: is not JSON: found '2' where "," or "]" should stand, at line 1, column 4`},
		{"no colon", `{"a" 1}`, `body: is not JSON: found '1' where ":" should stand, at line 1, column 6`},
		{"open", `{"a":1`, `body: is not JSON: found the end where "," or "}" should stand, at line 1, column 7`},
		{"bare name", `{a:1}`, `body: is not JSON: found 'a' where a name in "…" should stand, at line 1, column 2`},
		{"single quotes", `'a'`, `body: is not JSON: found '\'' where a value should stand, at line 1, column 1`},
		{"comment", "// x\n1", `body: is not JSON: found '/' where a value should stand, at line 1, column 1`},
		{"NaN", `NaN`, `body: is not JSON: found 'N' where a value should stand, at line 1, column 1`},
		{"half a word", `tru`, `body: is not JSON: found 't' where a value should stand, at line 1, column 1`},
		{"leading zero", `01`, `body: is not JSON: found '1' after the end of the document, at line 1, column 2`},
		{"plus", `+1`, `body: is not JSON: found '+' where a value should stand, at line 1, column 1`},
		{"minus alone", `-`, `body: is not JSON: found the end where a digit should stand, at line 1, column 2`},
		{"point at the end", `1.`, `body: is not JSON: found the end where a digit should stand, at line 1, column 3`},
		{"no exponent", `1e+`, `body: is not JSON: found the end where a digit should stand, at line 1, column 4`},
		{"open text", `"abc`, `body: is not JSON: found the end where the "\"" of a text should stand, at line 1, column 5`},
		{"line in a text", "\"a\nb\"", `body: is not JSON: found '\n' in a text, where its escape should stand, at line 1, column 3`},
		{"escape", `"\x41"`, `body: is not JSON: found 'x' after a backslash, where one of "\/bfnrtu should stand, at line 1, column 3`},
		{"end after a backslash", `"\`, `body: is not JSON: found the end in a text, at line 1, column 3`},
		{"short escape", `"\u12"`, `body: is not JSON: found \u without its four hexadecimal digits, at line 1, column 3`},
		{"half a pair", `{"a":["\ud83d"]}`, `a[0]: holds \ud83d, half of a surrogate pair: both halves, or the character itself, would fit`},
		{"two high halves", `"\ud83d\ud83d"`, `body: holds \ud83d, half of a surrogate pair: both halves, or the character itself, would fit`},
		{"not UTF-8", "\"a\xff\"", `body: is not UTF-8: byte 3 is 0xff`},
		{"surrogate in UTF-8", "\"\xed\xa0\x80\"", `body: is not UTF-8: byte 2 is 0xed`},
		{"byte order mark", "\ufeff{}", `body: starts with a byte order mark: send the JSON without it`},
		{"twice", `{"a":1,"b":{"a":2},"a":3}`, `a: occurs twice: once fits`},
		{"twice, inside", `{"l":[{"a":1,"a":2}]}`, `l[0].a: occurs twice: once fits`},
		{"twice, spelled otherwise", `{"ab":1,"a\u0062":2}`, `ab: occurs twice: once fits`},
		{"twice among many", `{"1":0,"2":0,"3":0,"4":0,"5":0,"6":0,"7":0,"8":0,"9":0,"a":0,"b":0,"c":0,"d":0,"e":0,"f":0,"g":0,"h":0,"g":1}`, `g: occurs twice: once fits`},
		{"twice, odd name", `{"a b\n":1,"a b\n":2}`, `"a b\n": occurs twice: once fits`},
		{"deep", `{"a":[[[[]]]]}`, `a[0][0][0]: is nested too deeply: 4 objects and lists inside one another at most`},
		{"many values", `[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]`, `body: has too many values: 20 at most`},
		{"long", `"` + strings.Repeat("a", 200) + `"`, `body: is too large: 200 bytes at most`},
	}
	limits := small.withDefaults()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, r := check(bodyField, test.text, &limits)
			if r == nil {
				t.Fatal("taken")
			}
			if r.Error() != test.want {
				t.Errorf("got:  %s\nwant: %s", r, test.want)
			}
		})
	}
}

func TestCheckKeys(t *testing.T) {
	limits := Limits{Keys: 3}.withDefaults()
	if _, r := check(bodyField, `{"a":0,"b":0,"c":{"d":0,"e":0,"f":0}}`, &limits); r != nil {
		t.Fatal(r)
	}
	_, r := check(bodyField, `{"a":0,"b":{"c":0,"d":0,"e":0,"f":0}}`, &limits)
	if r == nil || r.Error() != "b: has too many names in one object: 3 at most" || r.Limit != "json_keys" || r.Max != 3 {
		t.Errorf("got %+v", r)
	}
}

// TestDepthIsBounded checks that no setting makes the decoder nest without end.
func TestDepthIsBounded(t *testing.T) {
	n := 1 << 20
	limits := Limits{Body: 4 << 20, Depth: 1 << 30, Nodes: 1 << 30}.withDefaults()
	_, r := check(bodyField, strings.Repeat("[", n)+strings.Repeat("]", n), &limits)
	if r == nil || r.Limit != "json_depth" || r.Max != deepest {
		t.Errorf("got %+v", r)
	}
}

// TestBombsBuildNothing checks that what the limits refuse costs no memory: the
// checks come before anything is built.
func TestBombsBuildNothing(t *testing.T) {
	const size = 1 << 20
	fill := func(open, unit, end string) string {
		return open + strings.Repeat(unit, (size-len(open)-len(end))/len(unit)) + end
	}
	limits := Default()
	for name, bomb := range map[string]string{
		"objects": fill("[", `{"":0},`, "0]"),
		"numbers": fill("[", "0,", "0]"),
		"lists":   fill("", "[", ""),
		"maps":    fill("", `{"a":`, ""),
		"escapes": fill(`["`, `\ud83d\ude00`, `\ud83d"]`),
	} {
		allocs := testing.AllocsPerRun(1, func() {
			if _, r := check(bodyField, bomb, &limits); r == nil {
				t.Errorf("%s: taken", name)
			}
		})
		if allocs > 100 {
			t.Errorf("%s: %v allocations", name, allocs)
		}
	}
}

// TestPathsAreShort checks that a deep place does not make a long refusal.
func TestPathsAreShort(t *testing.T) {
	limits := Limits{Depth: deepest}.withDefaults()
	_, r := check(bodyField, strings.Repeat(`{"a name":`, 2*deepest), &limits)
	if r == nil || r.Limit != "json_depth" || len(r.Field) > 200 {
		t.Errorf("got %+v", r)
	}
}

func TestShape(t *testing.T) {
	limits := Default()
	text := ` {"a":[1,{"b":null,"c":"x"}],"d":true} `
	got, r := check(bodyField, text, &limits)
	if r != nil {
		t.Fatal(r)
	}
	if want := (Shape{Bytes: len(text), Depth: 3, Nodes: 7, Keys: 2}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// build makes of a node what encoding/json makes of its text.
func build(n node) any {
	switch n[0] {
	case '{':
		m := map[string]any{}
		members := n.inside()
		for name, value, ok := members.member(); ok; name, value, ok = members.member() {
			m[name] = build(value)
		}
		return m
	case '[':
		l := []any{}
		items := n.inside()
		for item, ok := items.item(); ok; item, ok = items.item() {
			l = append(l, build(item))
		}
		return l
	case '"':
		return n.text()
	case 't', 'f':
		return n == "true"
	case 'n':
		return nil
	}
	return json.Number(n)
}

// strict tells whether text is what check should take, by encoding/json's
// tokens and the rules that it does not have.
func strict(text string, l Limits) bool {
	if !json.Valid([]byte(text)) || !utf8.ValidString(text) || len(text) > l.Body || halfPair(text) {
		return false
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var open []map[string]bool // nil for lists
	nodes, isName := 0, false
	for {
		token, err := d.Token()
		if err != nil {
			return errors.Is(err, io.EOF) && nodes <= l.Nodes
		}
		if s, ok := token.(string); ok && isName {
			names := open[len(open)-1]
			if names[s] || len(names) == l.Keys {
				return false
			}
			names[s] = true
			isName = false
			continue
		}
		if n, ok := token.(json.Number); ok {
			if _, err := n.Float64(); err != nil {
				return false
			}
		}
		switch token {
		case json.Delim('{'):
			nodes++
			open = append(open, map[string]bool{})
		case json.Delim('['):
			nodes++
			open = append(open, nil)
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		default:
			nodes++
		}
		if len(open) > l.Depth {
			return false
		}
		isName = len(open) > 0 && open[len(open)-1] != nil
	}
}

// halfPair tells whether valid JSON escapes half of a surrogate pair.
func halfPair(text string) bool {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		i++
		if text[i] != 'u' {
			continue
		}
		unit := unitAt(text[i+1:])
		i += 4
		if unit < 0xd800 || unit > 0xdfff {
			continue
		}
		if unit > 0xdbff || len(text) < i+7 || text[i+1:i+3] != `\u` {
			return true
		}
		if low := unitAt(text[i+3:]); low < 0xdc00 || low > 0xdfff {
			return true
		}
		i += 6
	}
	return false
}

func unitAt(digits string) uint64 {
	unit, err := strconv.ParseUint(digits[:4], 16, 16)
	if err != nil {
		panic(err) // valid JSON has them
	}
	return unit
}

func FuzzJSONStrict(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `[]`, `null`, `"a"`, `-0.5e+10`, ` {"a" : [1, 2.50, true ,false,null, "x\n\u00e9\ud83d\ude00"]} `,
		`{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"password":"a","PASSWORD":"b"}`, `[[[[[]]]]]`, `"\ud800"`, `"\ud83d\u0041"`,
		"\"\xff\"", "\ufeff{}", `{"":0}`, `[1,]`, `01`, `1e999999999999`, `123456789012345678901234567890`, `"\/\b\f"`, `{"a":{"a":{"a":1}}}`,
		`{"1":0,"2":0,"3":0,"4":0,"5":0,"6":0,"7":0,"8":0,"9":0,"a":0,"b":0,"c":0,"d":0,"e":0,"f":0,"g":0,"h":0}`,
	} {
		f.Add(seed)
	}
	limits := Limits{Body: 4000, Depth: 5, Nodes: 50, Keys: 25}.withDefaults()
	f.Fuzz(func(t *testing.T, text string) {
		shape, r := check(bodyField, text, &limits)
		if taken := r == nil; taken != strict(text, limits) {
			t.Fatalf("taken: %t (%v)", taken, r)
		}
		if r != nil {
			if !utf8.ValidString(r.Error()) || strings.ContainsAny(r.Error(), "\n\r\x00") {
				t.Errorf("the refusal is no line of text: %q", r)
			}
			return
		}
		if again := shape.within(bodyField, &limits); again != nil {
			t.Errorf("measured otherwise than checked: %v", again)
		}
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		var want any
		if err := d.Decode(&want); err != nil {
			t.Fatal(err)
		}
		if got := build(root(text)); !reflect.DeepEqual(got, want) {
			t.Errorf("got %#v, want %#v", got, want)
		}
	})
}

// FuzzQuery checks that no body breaks the decoders, and that what they take is
// what encoding/json sees in it.
func FuzzQuery(f *testing.F) {
	f.Add([]byte(fullQuery))
	f.Add([]byte(`{"query":"","request":{"get":{"a":"1","b":"2"},"x":"y"}}`))
	f.Add([]byte(`{"query":"","request":{"get":{"a":1,"b":[null,{"c":true}]},"post":[],"body":{"x":-0.5e1}}}`))
	f.Add([]byte(`{"approved":true,"prompt_id":"p"}`))
	f.Add([]byte(`{"fields":{"a":[1,{"name":"x"}]}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if q, err := DecodeQuery(body, small); err == nil {
			var want struct {
				Auth    map[string]string
				Query   string
				Request map[string]json.RawMessage
			}
			if err := json.Unmarshal(body, &want); err != nil {
				t.Fatal(err)
			}
			if q.Script != want.Query || (q.Auth != nil) != (want.Auth != nil) {
				t.Errorf("got %+v, want %+v", q, want)
			}
			if q.Auth != nil && (q.Auth.Username != want.Auth["username"] || q.Auth.Password != nil && string(*q.Auth.Password) != want.Auth["password"]) {
				t.Errorf("got %+v, want %+v", q.Auth, want.Auth)
			}
			for name, list := range map[string][]Field{"get": q.Request.Get, "post": q.Request.Post} {
				var sent map[string]json.RawMessage
				_ = json.Unmarshal(want.Request[name], &sent) // of [], which is an empty one
				for _, f := range list {
					var text string
					isText := json.Unmarshal(sent[f.Name], &text) == nil && sent[f.Name][0] == '"'
					if isText == f.JSON || isText && text != f.Value || f.JSON && string(sent[f.Name]) != f.Value {
						t.Errorf("request.%s.%s: got %+v, want %s", name, f.Name, f, sent[f.Name])
					}
				}
				if len(list) != len(sent) {
					t.Errorf("request.%s has %d fields, and %d were sent", name, len(list), len(sent))
				}
			}
			for _, p := range q.Request.Entries {
				var text string
				if err := json.Unmarshal(want.Request[p.Name], &text); err != nil || text != p.Value {
					t.Errorf("request.%s: got %q, want %s", p.Name, p.Value, want.Request[p.Name])
				}
			}
		}
		if p, err := DecodeReply(body, small); err == nil && p.Fields != "" {
			var compact, want bytes.Buffer
			var all map[string]json.RawMessage
			if err := errors.Join(json.Unmarshal(body, &all), json.Compact(&compact, []byte(p.Fields)), json.Compact(&want, all["fields"])); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(compact.Bytes(), want.Bytes()) {
				t.Errorf("fields: got %s, want %s", &compact, &want)
			}
		}
	})
}
