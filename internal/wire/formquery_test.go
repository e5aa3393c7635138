package wire

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const fullForm = "identity=ada%40example.com&password=qlk_1&q=EMIT+%22%C3%A4+%2B%22;&get=%7B%22page%22%3A%222%22%7D&post={}&cookie=%7B%22a%22:%22b%22%7D&path=/x%3Fy&method=GET&&other=1&other=2"

func TestDecodeForm(t *testing.T) {
	got, err := DecodeForm([]byte(fullForm), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	want := &FormQuery{
		Identity: "ada@example.com",
		Password: "qlk_1",
		Script:   `EMIT "ä +";`,
		Request: Request{
			Entries: []Pair{{"path", "/x?y"}, {"method", "GET"}},
			Get:     []Field{{Name: "page", Value: "2"}},
			Post:    []Field{},
			Cookie:  []Pair{{"a", "b"}},
		},
		Shape: Shape{Bytes: len(fullForm), Depth: 1, Nodes: 2, Keys: 1},
	}
	if d := cmp.Diff(want, got, show); d != "" {
		t.Error(d)
	}
	got, err = DecodeForm([]byte("identity=a&password=b&q=c&get=[]"), Limits{})
	if err != nil || got.Request.Get == nil || len(got.Request.Get) != 0 {
		t.Errorf("an empty list, as PHP writes one: %v, %v", got, err)
	}
	got, err = DecodeForm([]byte("q=&identity&password="), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(&FormQuery{Shape: Shape{Bytes: 21}}, got, show); d != "" {
		t.Error(d)
	}
}

func TestDecodeFormRefuses(t *testing.T) {
	const least = "identity=a&password=b&q=c"
	tests := []struct{ body, want string }{
		{"", `identity: is missing: the account's username or e-mail address fits, in a field of the form-encoded body`},
		{"identity=a&q=c", `password: is missing: the account's API key fits, in a field of the form-encoded body`},
		{"identity=a&password=b", `q: is missing: the script to run fits, in a field of the form-encoded body`},
		{"identity=a&password=b&foo=1&script=greet", `q: is missing: the script to run fits, in a field of the form-encoded body; "foo" is no field of this convention, which has identity, password, q, get, post, cookie, path, method`},
		{"identity=a&password=b&script=greet", `q: is missing: the script to run fits, in a field of the form-encoded body; a published script is called by its name at /v1/query, or at its own address below /run`},
		{"username=a&password=b&q=c", `identity: is missing: the account's username or e-mail address fits, in a field of the form-encoded body; "username" is no field of this convention, which has identity, password, q, get, post, cookie, path, method`},
		{`{"identity":"a","password":"b","q":"c"}`, `identity: is missing: the account's username or e-mail address fits, in a field of the form-encoded body`},
		{least + "&identity=z", `identity: occurs twice: once fits`},
		{least + "&%71=z", `q: occurs twice: once fits`},
		{least + "&path=%zz", `path: holds "%zz": two hexadecimal digits fit after a percent sign, and "%25" for the sign itself`},
		{least + "&path=a%4", `path: holds "%4": two hexadecimal digits fit after a percent sign, and "%25" for the sign itself`},
		{least + "&path=%", `path: holds "%": two hexadecimal digits fit after a percent sign, and "%25" for the sign itself`},
		{least + "&%=", `body: the name of field 4 holds "%": two hexadecimal digits fit after a percent sign, and "%25" for the sign itself`},
		{least + "&path=a%FFb", `path: is not UTF-8: byte 2 is 0xff`},
		{least + "&path=\xc3", `path: is not UTF-8: byte 1 is 0xc3`},
		{least + "&x%FF=1", `body: the name of field 4 is not UTF-8: byte 2 is 0xff`},
		{least + "&ip=10.0.0.1", `ip: is not the caller's to say: leave it out, and !REQUEST('ip') is the address that the call comes from`},
		{least + "&get=", `get: is empty: a JSON object such as {"page":"2"} fits, or leave the field out`},
		{least + "&get=page", `get: is not JSON: found 'p' where a value should stand, at line 1, column 1`},
		{least + "&post=[1]", `post: is a list: an object fits`},
		{least + "&post=[1]", `post: is a list: an object fits`},
		{least + "&post=null", `post: is null: an object fits, or leave the field out`},
		{least + `&cookie={"a":1}`, `cookie.a: is a number: a text fits`},
		{least + `&cookie={"a":"1","a":"2"}`, `cookie.a: occurs twice: once fits`},
		{least + `&cookie={"a":{"b":[[[]]]}}`, `cookie.a.b[0][0]: is nested too deeply: 4 objects and lists inside one another at most, whatever the plan`},
		{least + `&get={"a":"\ud800"}`, `get.a: holds \ud800, half of a surrogate pair: both halves, or the character itself, would fit`},
		{least + `&get={"a":"1","b":"2","c":"3","d":"4"}`, `get: has too many names: 3 at most, whatever the plan`},
		{least + strings.Repeat("&", 180), `body: is too large: 200 bytes at most, whatever the plan`},
		{"identity=a&password=b&q=" + strings.Repeat("a", 51), `q: is too large: 50 bytes at most, whatever the plan`},
	}
	for _, test := range tests {
		_, err := DecodeForm([]byte(test.body), small)
		var r *Refusal
		if !errors.As(err, &r) || r.Error() != test.want {
			t.Errorf("%s\n got:  %v\n want: %s", test.body, err, test.want)
		}
	}
	_, err := DecodeForm([]byte(least+strings.Repeat("&a=", 98)), Limits{})
	if err == nil || err.Error() != "body: has too many fields: 100 at most" {
		t.Errorf("101 fields: %v", err)
	}
	if _, err := DecodeForm([]byte(least+strings.Repeat("&a=", 97)), Limits{}); err != nil {
		t.Errorf("100 fields: %v", err)
	}
}

// FuzzForm compares the walk over a form's fields with net/url's. That one takes
// a semicolon for a mistake; by the standard it is a character like others.
func FuzzForm(f *testing.F) {
	for _, seed := range []string{fullForm, "", "&&", "a", "=", "a=b=c", "a=%41+%2b", "%", "a=%f", "a;b=c;d", "a=\xff", "q=1&q=2", "identity=a&password=b&q=%E2%82%AC&get={\"a\":\"b\"}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		want, wantErr := url.ParseQuery(strings.ReplaceAll(body, ";", "%3B"))
		bad := wantErr != nil
		total := 0
		for name, values := range want {
			total += len(values)
			for _, text := range append(values, name) {
				bad = bad || notUTF8(text) != ""
			}
		}
		got := url.Values{}
		fields := form{rest: body, most: mostFormFields, limit: formFieldsLimit}
		var refusal *Refusal
		for {
			name, value, ok, r := fields.next()
			if refusal = r; !ok {
				break
			}
			got.Add(name, value)
		}
		if total <= mostFormFields && (refusal != nil) != bad {
			t.Fatalf("refusal %v, reference %v", refusal, wantErr)
		}
		if refusal == nil && len(body) > 0 {
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		}

		q, err := DecodeForm([]byte(body), Limits{})
		if err != nil {
			return
		}
		for _, name := range formFields {
			if len(want[name]) > 1 {
				t.Errorf("%s was sent twice and taken", name)
			}
		}
		if q.Identity != want.Get("identity") || string(q.Password) != want.Get("password") || q.Script != want.Get("q") {
			t.Errorf("got %+v, want %v", q, want)
		}
		for _, name := range []string{"path", "method"} {
			if want.Has(name) && !slices.Contains(q.Request.Entries, Pair{name, want.Get(name)}) {
				t.Errorf("%s is missing in %v", name, q.Request.Entries)
			}
		}
	})
}

func BenchmarkDecodeForm(b *testing.B) {
	body := []byte(fullForm)
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, err := DecodeForm(body, Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}
