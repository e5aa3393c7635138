package wire

import (
	"bytes"
	"encoding/json"
	"mime"
	"mime/multipart"
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

// part is one part of a form whose boundary is x.
func part(headers, content string) string { return "--x\r\n" + headers + "\r\n\r\n" + content + "\r\n" }

// TestDecodeBodyInParts: a form in parts is what the same form is otherwise. One with files, or that
// is not quite one, stays bytes.
func TestDecodeBodyInParts(t *testing.T) {
	const a = `Content-Disposition: form-data; name="a"`
	for body, want := range map[string]string{
		"--x--":                    `{}`,
		"--x--\r\n":                `{}`,
		part(a, "1") + "--x--\r\n": `{"a":"1"}`,
		part(a, "1") + part(`content-disposition: Form-Data; name=b`, "é\r\n--y\r\n") + part(a, "") + "--x--": `{"a":["1",""],"b":"é\r\n--y\r\n"}`,
		part(a+"\r\nContent-Type: text/plain; charset=UTF-8", "1") + "--x--":                                  `{"a":"1"}`,
		part(`Content-Disposition: form-data; name="a \"é"`, "1") + "--x--":                                   `{"a \"é":"1"}`,

		"":                         "",
		"x":                        "",
		part(a, "1"):               "",
		part(a, "1") + "--x":       "",
		part(a, "1") + "--x--more": "",
		part(a, "1") + "--xy\r\n" + a + "\r\n\r\n1\r\n--x--":                  "",
		part(a+`; filename="f"`, "1") + "--x--":                               "",
		part(a+`; filename*=UTF-8''f`, "1") + "--x--":                         "",
		part(a+"\r\nContent-Type: application/json", "1") + "--x--":           "",
		part(a+"\r\nContent-Type: text/plain; charset=latin1", "1") + "--x--": "",
		part(a+"\r\nContent-Transfer-Encoding: base64", "1") + "--x--":        "",
		part(a+"\r\nX-More: 1", "1") + "--x--":                                "",
		part(a+"\r\n"+a, "1") + "--x--":                                       "",
		part("Content-Disposition: form-data", "1") + "--x--":                 "",
		part(`Content-Disposition: form-data; name=""`, "1") + "--x--":        "",
		part(`Content-Disposition: attachment; name="a"`, "1") + "--x--":      "",
		part("no header", "1") + "--x--":                                      "",
		part(a, "\xff") + "--x--":                                             "",
		part("Content-Disposition: form-data; name=\"\xff\"", "1") + "--x--":  "",
		"--x\r\n" + a + "\r\n--x--":                                           "",
	} {
		b, shape, err := DecodeBody("multipart/form-data; boundary=x", []byte(body), Limits{})
		expected := Body{Kind: JSONBody, Text: want}
		switch {
		case body == "":
			expected = Body{}
		case want == "":
			expected = Body{Kind: BytesBody, Bytes: []byte(body)}
		}
		if d := cmp.Diff(expected, b); d != "" || err != nil || shape.Bytes != len(body) {
			t.Errorf("%q: %v, %+v: %s", body, err, shape, d)
		}
	}
	for _, kind := range []string{"multipart/form-data", "multipart/mixed; boundary=x", `multipart/form-data; boundary=""`} {
		if b, _, err := DecodeBody(kind, []byte(part(a, "1")+"--x--"), Limits{}); err != nil || b.Kind != BytesBody {
			t.Errorf("%s: %+v, %v", kind, b, err)
		}
	}
	many := strings.Repeat(part(a, "1"), 4) + "--x--"
	if _, _, err := DecodeBody("multipart/form-data; boundary=x", []byte(many), Limits{FieldKeys: 3}); err == nil || err.Error() != "body: has too many fields: 3 at most, whatever the plan" {
		t.Errorf("too many fields: %v", err)
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
	f.Add("multipart/form-data; boundary=x", []byte(part(`Content-Disposition: form-data; name="a"`, "1")+part(`Content-Disposition: form-data; name=b`, "é")+"--x--"))
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
		if parsed, parameters, _ := mime.ParseMediaType(kind); parsed == MultipartType {
			read, err := multipart.NewReader(bytes.NewReader(body), parameters["boundary"]).ReadForm(1 << 20)
			if err != nil {
				t.Fatalf("%q is %s, and to mime/multipart: %v", body, b.Text, err)
			}
			if want := valuesOf(read.Value); len(read.File) > 0 || !reflect.DeepEqual(value, want) {
				t.Errorf("%q is %s, and %v to mime/multipart", body, b.Text, want)
			}
			return
		}
		if kind != FormType || strings.ContainsAny(string(body), ";") { // which net/url refuses
			return
		}
		form, err := url.ParseQuery(string(body))
		if err != nil {
			t.Fatal(err)
		}
		if want := valuesOf(form); !reflect.DeepEqual(value, want) {
			t.Errorf("%q is %s, and %v to net/url", body, b.Text, want)
		}
	})
}

// valuesOf is a form as the value of its JSON.
func valuesOf(form map[string][]string) any {
	values := map[string]any{}
	for name, texts := range form {
		values[name] = texts[0]
		if len(texts) > 1 {
			list := make([]any, len(texts))
			for i := range texts {
				list[i] = texts[i]
			}
			values[name] = list
		}
	}
	return values
}
