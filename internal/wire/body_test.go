package wire

import (
	"encoding/json"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDecodeBody(t *testing.T) {
	tests := []struct {
		kind, body string
		want       Body
	}{
		{JSONType, ``, Body{}},
		{"image/png", ``, Body{}},
		{JSONType, ` {"a": [1]} `, Body{Kind: JSONBody, Text: ` {"a": [1]} `}},
		{"application/json; charset=utf-8", `5`, Body{Kind: JSONBody, Text: `5`}},
		{"Application/Problem+JSON", `null`, Body{Kind: JSONBody, Text: `null`}},
		{FormType, `a=1&b=%C3%A9+x&a=2&c`, Body{Kind: JSONBody, Text: `{"a":["1","2"],"b":"é x","c":""}`}},
		{FormType, `&&`, Body{Kind: JSONBody, Text: `{}`}},
		{FormType, `a=%22%0A%00`, Body{Kind: JSONBody, Text: `{"a":"\"\n\u0000"}`}},
		{"text/plain", "hé", Body{Kind: TextBody, Text: "hé"}},
		{"text/csv; charset=latin1", "a\xe9", Body{Kind: BytesBody, Bytes: []byte("a\xe9")}},
		{"", "plain", Body{Kind: TextBody, Text: "plain"}},
		{"", "\xff", Body{Kind: BytesBody, Bytes: []byte("\xff")}},
		{"application/octet-stream", "plain", Body{Kind: BytesBody, Bytes: []byte("plain")}},
		{"multipart/form-data; boundary=x", "--x--", Body{Kind: BytesBody, Bytes: []byte("--x--")}},
	}
	for _, test := range tests {
		got, shape, err := DecodeBody(test.kind, []byte(test.body), Limits{})
		if err != nil {
			t.Errorf("%s %q: %v", test.kind, test.body, err)
			continue
		}
		if d := cmp.Diff(test.want, got); d != "" {
			t.Errorf("%s %q: %s", test.kind, test.body, d)
		}
		if shape.Bytes != len(test.body) {
			t.Errorf("%s %q has %d bytes", test.kind, test.body, shape.Bytes)
		}
	}
}

func TestDecodeBodyRefuses(t *testing.T) {
	l := Limits{Body: 60, Depth: 2, Nodes: 4, Keys: 3, FieldKeys: 3}
	for _, test := range []struct{ kind, body, want string }{
		{JSONType, `{"a":`, `body: is not JSON: found the end where a value should stand, at line 1, column 6`},
		{JSONType, `{"a":1e999}`, `a: is a number beyond what fits: up to about 1.8e308`},
		{JSONType, `[[[]]]`, `body[0][0]: is nested too deeply: 2 objects and lists inside one another at most, whatever the plan`},
		{JSONType, `[1,2,3,4]`, `body: has too many values: 4 at most, whatever the plan`},
		{JSONType, "\"\xff\"", `body: is not UTF-8: byte 2 is 0xff`},
		{FormType, `a=%zz`, `a: holds "%zz": two hexadecimal digits fit after a percent sign, and "%25" for the sign itself`},
		{FormType, `a=%ff`, `a: is not UTF-8: byte 1 is 0xff`},
		{FormType, `a=1&b=2&c=3&d=4`, `body: has too many fields: 3 at most, whatever the plan`},
		{"text/plain", strings.Repeat("a", 61), `body: is too large: 60 bytes at most, whatever the plan`},
		{"image/png", strings.Repeat("a", 61), `body: is too large: 60 bytes at most, whatever the plan`},
		{"text/html; charset", `{}`, `Content-Type: is "text/html; charset": a media type such as application/json fits`},
	} {
		if _, _, err := DecodeBody(test.kind, []byte(test.body), l); err == nil || err.Error() != test.want {
			t.Errorf("%s %q\n got:  %v\n want: %s", test.kind, test.body, err, test.want)
		}
	}
	_, shape, err := DecodeBody(JSONType, []byte(`[[[]]]`), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if err := shape.Within(l); err == nil || err.Error() != `body: is nested too deeply: 2 objects and lists inside one another at most` {
		t.Errorf("of an account: %v", err)
	}
}

func TestBodyFields(t *testing.T) {
	for body, want := range map[string][]Field{
		`{"a":"x","b":[1]}`: {{Name: "a", Value: "x"}, {Name: "b", Value: "[1]", JSON: true}},
		` {} `:              {},
		`[]`:                nil,
		`"a"`:               nil,
	} {
		b, _, err := DecodeBody(JSONType, []byte(body), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, b.Fields()); d != "" {
			t.Errorf("%s: %s", body, d)
		}
	}
	if got := (&Body{Kind: TextBody, Text: "{}"}).Fields(); got != nil {
		t.Errorf("a text has fields: %v", got)
	}
}

// FuzzBody checks that no body breaks the decoder, that what it calls JSON is, and that a
// form says what net/url reads in it.
func FuzzBody(f *testing.F) {
	f.Add(JSONType, []byte(`{"a":[1,"\u00e9"]}`))
	f.Add(FormType, []byte("a=1&a=%22&b=+%C3%A9&c"))
	f.Add("text/plain", []byte("a\xff"))
	f.Add("", []byte("x"))
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		b, shape, err := DecodeBody(kind, body, Limits{Body: 4000, Depth: 5, Nodes: 50, Keys: 25, FieldKeys: 20})
		if err != nil {
			return
		}
		if b.Kind != JSONBody {
			if string(b.Bytes)+b.Text != string(body) {
				t.Errorf("%q is %+v", body, b)
			}
			return
		}
		var value any
		if err := json.Unmarshal([]byte(b.Text), &value); err != nil {
			t.Fatal(err)
		}
		limits := Limits{}.withDefaults()
		if again, r := check(bodyField, b.Text, &limits); r != nil || kind == FormType && (again.Nodes != shape.Nodes || again.Depth != shape.Depth || again.Keys != shape.Keys) {
			t.Errorf("%s measures %+v (%v), and was said to measure %+v", b.Text, again, r, shape)
		}
		if kind != FormType || strings.ContainsAny(string(body), ";") { // which net/url refuses
			return
		}
		form, err := url.ParseQuery(string(body))
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]any{}
		for name, texts := range form {
			want[name] = texts[0]
			if len(texts) > 1 {
				list := make([]any, len(texts))
				for i := range texts {
					list[i] = texts[i]
				}
				want[name] = list
			}
		}
		if !reflect.DeepEqual(value, any(want)) {
			t.Errorf("%q is %s, and %v to net/url", body, b.Text, want)
		}
	})
}
