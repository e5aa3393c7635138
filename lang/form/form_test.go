package form

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ql/lang/value"
)

// parseJSON makes a value of a JSON text.
func parseJSON(t testing.TB, text string) value.Value {
	t.Helper()
	v, err := value.ParseJSON(nil, text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// oneField returns a form with one field x, given by the rest of its map.
func oneField(t testing.TB, attributes string) *Form {
	t.Helper()
	f, err := Parse(parseJSON(t, `{"title":"T","fields":[{"name":"x",`+attributes+`}]}`))
	if err != nil {
		t.Fatalf("%s: %v", attributes, err)
	}
	return f
}

func toJSON(v value.Value) string { return string(value.AppendJSON(nil, v)) }

const shipping = `{"title":"Where shall we ship?","fields":[
	{"name":"name","kind":"text","required":true},
	{"name":"email","kind":"email","required":true,"max":100},
	{"name":"qty","kind":"integer","required":false,"min":1,"max":10,"default":1},
	{"name":"size","kind":"choice","choices":["S","M","L"]},
	{"name":"plan","kind":"choice","choices":{"free":"Free","pro":"Pro, 5 € a month"},"default":"free"},
	{"name":"extra","kind":"choices","choices":{"gift":"Gift wrap","fast":"Express"}},
	{"name":"tags","kind":"choices","choices":["a","b"],"required":true,"max":2},
	{"name":"note","kind":"long_text","label":"Anything else?","help":"For the driver","max":500},
	{"name":"when","kind":"date"},
	{"name":"at","kind":"time"},
	{"name":"news","kind":"boolean","required":true},
	{"name":"site","kind":"url"},
	{"name":"phone","kind":"phone"},
	{"name":"pin","kind":"secret","pattern":"[0-9]{4}"},
	{"name":"weight","kind":"number","min":0.5},
	{"name":"price","kind":"decimal","min":0,"default":"9.50"},
	{"name":"photo","kind":"file"}]}`

func TestSchema(t *testing.T) {
	f, err := Parse(parseJSON(t, shipping))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"type":"object","title":"Where shall we ship?","properties":{
		"name":{"type":"string","minLength":1,"maxLength":10000},
		"email":{"type":"string","format":"email","minLength":1,"maxLength":100,"pattern":"^[^\\s@\"]{1,64}@([^\\s@.\\[\\]]{1,63}\\.)+[^\\s@.\\[\\]]{1,63}$"},
		"qty":{"type":"integer","minimum":1,"maximum":10,"default":1},
		"size":{"type":"string","enum":["S","M","L"]},
		"plan":{"type":"string","oneOf":[{"const":"free","title":"Free"},{"const":"pro","title":"Pro, 5 € a month"}],"default":"free"},
		"extra":{"type":"array","items":{"anyOf":[{"const":"gift","title":"Gift wrap"},{"const":"fast","title":"Express"}]}},
		"tags":{"type":"array","maxItems":2,"minItems":1,"items":{"type":"string","enum":["a","b"]}},
		"note":{"type":"string","title":"Anything else?","description":"For the driver","contentMediaType":"text/plain","maxLength":500},
		"when":{"type":"string","format":"date"},
		"at":{"type":"string","pattern":"^([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?$"},
		"news":{"type":"boolean"},
		"site":{"type":"string","format":"uri","maxLength":2048,"pattern":"^https?:\\/\\/([^\\s\\/?#@]*@)?(\\[[0-9A-Fa-f:.]+\\]|[^\\s\\/?#@:\\[\\]]+)(:[0-9]*)?([\\/?#]|$)"},
		"phone":{"type":"string","maxLength":40,"pattern":"^\\+?([ .\\/\\(\\)\\-]*[0-9]){4,15}[ .\\/\\(\\)\\-]*$"},
		"pin":{"type":"string","format":"password","maxLength":10000,"pattern":"^(?:[0-9]{4})$"},
		"weight":{"type":"number","minimum":0.5},
		"price":{"type":"string","pattern":"^[+\\-]?[0-9]+(\\.[0-9]+)?$","default":"9.50"},
		"photo":{"type":"string","format":"binary"}},
		"required":["name","email","tags","news"]}`
	if diff := cmp.Diff(toJSON(parseJSON(t, want)), toJSON(f.Schema())); diff != "" {
		t.Errorf("schema (-want +got):\n%s", diff)
	}
}

// TestSchemaSaysWhatFits: what the pattern of a kind lets through is taken, as
// far as its format lets it through too, and what is taken the pattern lets
// through.
func TestSchemaSaysWhatFits(t *testing.T) {
	answers := map[Kind][]string{
		Email: {
			"ada@example.com", "a.b+c@x.y.example", "a!#$%&'*+/=?^_`{|}~-z@example.com", strings.Repeat("a", 64) + "@example.com", strings.Repeat("a", 65) + "@example.com",
			"a@" + strings.Repeat("b", 63) + ".example", "a@" + strings.Repeat("b", 64) + ".example", "ada@localhost", "ada@[127.0.0.1]", `"a b"@example.com`, `"a@b"@example.com`, "ada", "@example.com",
			"ada@", "a@b@example.com", "ada@example..com", "ada@example.com.", "jürgen@müller.example",
		},
		URL: {
			"https://example.com", "http://example.com:8080/a?b=c#d", "https://user:pass@example.com/", "http://[::1]:80/", "https://example.com?a", "http://127.0.0.1",
			"https://", "https:///a", "http://:80/", "http://@/", "http://a@:80", "ftp://example.com", "mailto:ada@example.com", "https:example.com", "urn:isbn:1", "//example.com",
		},
		Phone: {
			"+1 202 555 0143", "(030) 123-456", "110", "1234", "123456789012345", "1234567890123456", "++4930123456", "030+123456", "0800-FLOWERS", "+49/30.123456", "+", "----",
		},
		Time: {
			"00:00", "09:30", "23:59:59", "19:00:00", "24:00", "9:30", "09:60", "09:30:60", "09:30Z", "09:30:00+02:00", "09:30:00.5", "0930", "09:30:", "23:59:60",
		},
	}
	for kind, texts := range answers {
		f := oneField(t, fmt.Sprintf(`"kind":%q`, kind))
		pattern := regexp.MustCompile(patterns[kind])
		for _, text := range texts {
			if why := f.Fields[0].Check(value.Text(text)); pattern.MatchString(text) != (why == "") {
				t.Errorf("%s %q: the pattern lets it through: %t; the form says %q", kind, text, pattern.MatchString(text), why)
			}
		}
	}
	own := oneField(t, `"kind":"email","pattern":".*@example[.]com"`)
	if got, want := toJSON(own.Fields[0].schema()), `{"type":"string","format":"email","maxLength":254,"pattern":"^(?:.*@example[.]com)$"}`; got != want {
		t.Errorf("a pattern of the script's own: got %s, want %s", got, want)
	}
}

func TestValidateKeepsOrderAndFillsIn(t *testing.T) {
	f, err := Parse(parseJSON(t, shipping))
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.Validate(context.Background(), parseJSON(t, `{"news":"on","tags":["b","b"],"email":" ada@example.com ","name":"Ada","weight":"2.50","pin":"0042"}`), nil, always)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"name":"Ada","email":"ada@example.com","qty":1,"size":null,"plan":"free","extra":null,"tags":["b"],"note":null,"when":null,"at":null,` +
		`"news":true,"site":null,"phone":null,"pin":"0042","weight":2.5,"price":"9.50","photo":null}`
	if diff := cmp.Diff(want, toJSON(got)); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
}

func TestValidateNamesEveryWrongField(t *testing.T) {
	f, err := Parse(parseJSON(t, shipping))
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Validate(context.Background(), parseJSON(t, `{"colour":"red","qty":"11","size":"XL","tags":[]}`), nil, always)
	var wrong FieldErrors
	if !errors.As(err, &wrong) {
		t.Fatalf("got %v, want FieldErrors", err)
	}
	want := `name must be answered; email must be answered; qty must be a whole number from 1 to 10; size must be "S", "M" or "L"; ` +
		`tags must be answered; news must be answered; colour is no field of this form`
	if diff := cmp.Diff(want, wrong.Error()); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	if got, want := toJSON(wrong[2:4].Value(nil)), `{"qty":"must be a whole number from 1 to 10","size":"must be \"S\", \"M\" or \"L\""}`; got != want {
		t.Errorf("as a value: got %s, want %s", got, want)
	}
}

// TestAnswers checks single answers: want is the answer as JSON, or "! why".
func TestAnswers(t *testing.T) {
	tests := []struct{ field, answer, want string }{
		{`"kind":"text"`, `"Ada"`, `"Ada"`},
		{`"kind":"text"`, `" Ada "`, `" Ada "`},
		{`"kind":"text"`, `""`, `null`},
		{`"kind":"text"`, `"  "`, `null`},
		{`"kind":"text"`, `null`, `null`},
		{`"kind":"text","required":true`, `""`, `! must be answered`},
		{`"kind":"text","required":true`, `" "`, `! must be answered`},
		{`"kind":"text","required":true`, `null`, `! must be answered`},
		{`"kind":"text","default":"a"`, `""`, `null`},
		{`"kind":"text","default":"a"`, `null`, `"a"`},
		{`"kind":"integer","default":1,"required":true`, `null`, `1`},
		{`"kind":"text"`, `12`, `! must be a text`},
		{`"kind":"text"`, `["a"]`, `! must be a text`},
		{`"kind":"text"`, `"a\nb"`, `! must be a single line`},
		{`"kind":"text"`, `"a\tb"`, `"a\tb"`},
		{`"kind":"text"`, `"a\u0000b"`, `! must not have control characters in it`},
		{`"kind":"text","min":2,"max":3`, `"é€"`, `"é€"`},
		{`"kind":"text","min":2,"max":3`, `"a"`, `! must have 2 to 3 characters`},
		{`"kind":"text","min":2`, `"a"`, `! must have at least 2 characters`},
		{`"kind":"text","min":1,"max":1`, `"ab"`, `! must have exactly 1 character`},
		{`"kind":"text","max":3`, `"abcd"`, `! must have at most 3 characters`},
		{`"kind":"text"`, `"` + strings.Repeat("a", 10_001) + `"`, `! must have at most 10000 characters`},
		{`"kind":"text","pattern":"a+"`, `"aa"`, `"aa"`},
		{`"kind":"text","pattern":"a+"`, `"aab"`, `! does not have the form that is asked for`},
		{`"kind":"text","pattern":"a|b"`, `"ab"`, `! does not have the form that is asked for`},
		{`"kind":"text","pattern":"(?i)a"`, `"A"`, `"A"`},
		{`"kind":"long_text"`, `"a\nb"`, `"a\nb"`},
		{`"kind":"long_text"`, `"a\r\nb\r\n"`, `"a\nb\n"`},
		{`"kind":"long_text"`, `"a\rb"`, `"a\nb"`},
		{`"kind":"long_text","max":3`, `"a\r\nb"`, `"a\nb"`},
		{`"kind":"long_text","pattern":"a\nb"`, `"a\r\nb"`, `"a\nb"`},
		{`"kind":"text"`, `"a\r\nb"`, `! must be a single line`},
		{`"kind":"long_text"`, `"a\u001bb"`, `! must not have control characters in it`},
		{`"kind":"long_text","pattern":"(a?){900}a{900}"`, `"` + strings.Repeat("a", 90_000) + `"`, `! is too long for its pattern`},
		{`"kind":"secret"`, `"hunter2"`, `"hunter2"`},

		{`"kind":"email"`, `"ada@example.com"`, `"ada@example.com"`},
		{`"kind":"email"`, `" ada@example.com "`, `"ada@example.com"`},
		{`"kind":"email"`, `"a.b+c@x.y.example"`, `"a.b+c@x.y.example"`},
		{`"kind":"email"`, `"jürgen@müller.example"`, `"jürgen@müller.example"`},
		{`"kind":"email"`, `"ada"`, `! must be an e-mail address such as ada@example.com`},
		{`"kind":"email"`, `"ada@localhost"`, `! must be an e-mail address such as ada@example.com`},
		{`"kind":"email"`, `"@example.com"`, `! must be an e-mail address such as ada@example.com`},
		{`"kind":"email"`, `"a b@example.com"`, `! must be an e-mail address such as ada@example.com`},
		{`"kind":"email"`, `"a@b@example.com"`, `! must be an e-mail address such as ada@example.com`},
		{`"kind":"email"`, `".a@example.com"`, `! must be an e-mail address such as ada@example.com`},
		{`"kind":"email"`, `"a..b@example.com"`, `! must be an e-mail address such as ada@example.com`},
		{`"kind":"email"`, `"a@-example.com"`, `! must be an e-mail address such as ada@example.com`},
		{`"kind":"email"`, `"a@example..com"`, `! must be an e-mail address such as ada@example.com`},
		{`"kind":"email"`, `"a@example.com\nBcc: b@example.com"`, `! must be an e-mail address such as ada@example.com`},
		{`"kind":"email"`, `"a<b>@example.com"`, `! must be an e-mail address such as ada@example.com`},

		{`"kind":"url"`, `"https://example.com/a?b=c#d"`, `"https://example.com/a?b=c#d"`},
		{`"kind":"url"`, `"http://localhost:8080"`, `"http://localhost:8080"`},
		{`"kind":"url"`, `"example.com"`, `! must be an address such as https://example.com/page`},
		{`"kind":"url"`, `"javascript:alert(1)"`, `! must be an address such as https://example.com/page`},
		{`"kind":"url"`, `"ftp://example.com"`, `! must be an address such as https://example.com/page`},
		{`"kind":"url"`, `"https://"`, `! must be an address such as https://example.com/page`},
		{`"kind":"url"`, `"https://a b.example"`, `! must be an address such as https://example.com/page`},

		{`"kind":"phone"`, `"+1 202 555 0143"`, `"+1 202 555 0143"`},
		{`"kind":"phone"`, `"(030) 123-456"`, `"(030) 123-456"`},
		{`"kind":"phone"`, `"12"`, `! must be a phone number such as +1 202 555 0143`},
		{`"kind":"phone"`, `"1234567890123456"`, `! must be a phone number such as +1 202 555 0143`},
		{`"kind":"phone"`, `"0800-FLOWERS"`, `! must be a phone number such as +1 202 555 0143`},
		{`"kind":"phone"`, `"030+123456"`, `! must be a phone number such as +1 202 555 0143`},

		{`"kind":"number"`, `10`, `10`},
		{`"kind":"number"`, `"10"`, `10`},
		{`"kind":"number"`, `" -2.50 "`, `-2.5`},
		{`"kind":"number"`, `"+1e3"`, `1000`},
		{`"kind":"number"`, `""`, `null`},
		{`"kind":"number"`, `"1,5"`, `! must be a number`},
		{`"kind":"number"`, `"0x10"`, `! must be a number`},
		{`"kind":"number"`, `"1_000"`, `! must be a number`},
		{`"kind":"number"`, `"NaN"`, `! must be a number`},
		{`"kind":"number"`, `"Inf"`, `! must be a number`},
		{`"kind":"number"`, `"1e999"`, `! must be a number`},
		{`"kind":"number"`, `true`, `! must be a number`},
		{`"kind":"number","min":0.5`, `0.4`, `! must be a number from 0.5 on`},
		{`"kind":"number","max":2`, `2.1`, `! must be a number up to 2`},
		{`"kind":"integer"`, `"9007199254740993"`, `9007199254740993`},
		{`"kind":"integer"`, `3.0`, `3`},
		{`"kind":"decimal"`, `" 12.50 "`, `"12.50"`},
		{`"kind":"decimal"`, `"-0.005"`, `"-0.005"`},
		{`"kind":"decimal"`, `3`, `"3"`},
		{`"kind":"decimal"`, `0.1`, `"0.1"`},
		{`"kind":"decimal"`, `""`, `null`},
		{`"kind":"decimal"`, `"1,5"`, `! must be a decimal number`},
		{`"kind":"decimal"`, `"1e3"`, `! must be a decimal number`},
		{`"kind":"decimal"`, `".5"`, `! must be a decimal number`},
		{`"kind":"decimal"`, `true`, `! must be a decimal number`},
		{`"kind":"decimal"`, `"` + strings.Repeat("9", 39) + `"`, `! must have at most 38 digits`},
		{`"kind":"decimal"`, `1e300`, `! must have at most 38 digits`},
		{`"kind":"decimal","min":0.01,"max":"10.00"`, `"0.001"`, `! must be a decimal number from 0.01 to 10.00`},
		{`"kind":"decimal","min":0.01,"max":"10.00"`, `"10"`, `"10"`},
		{`"kind":"integer"`, `3.5`, `! must be a whole number`},
		{`"kind":"integer","min":1,"max":10`, `"many"`, `! must be a whole number from 1 to 10`},
		{`"kind":"integer","min":1,"max":10`, `11`, `! must be a whole number from 1 to 10`},
		{`"kind":"integer","min":1,"max":10`, `10`, `10`},

		{`"kind":"boolean"`, `true`, `true`},
		{`"kind":"boolean"`, `"on"`, `true`},
		{`"kind":"boolean"`, `"Yes"`, `true`},
		{`"kind":"boolean"`, `"0"`, `false`},
		{`"kind":"boolean","required":true`, `false`, `false`},
		{`"kind":"boolean","required":true`, `""`, `! must be answered`},
		{`"kind":"boolean"`, `"maybe"`, `! must be yes or no (true or false)`},
		{`"kind":"boolean"`, `1`, `! must be yes or no (true or false)`},

		{`"kind":"date"`, `"2028-02-29"`, `"2028-02-29"`},
		{`"kind":"date"`, `"2027-02-29"`, `! must be a date such as 2026-12-31`},
		{`"kind":"date"`, `"31.12.2026"`, `! must be a date such as 2026-12-31`},
		{`"kind":"date"`, `"2026-1-1"`, `! must be a date such as 2026-12-31`},
		{`"kind":"date","min":"2026-01-01","max":"2026-12-31"`, `"2027-01-01"`, `! must be a date from 2026-01-01 to 2026-12-31`},
		{`"kind":"time"`, `"09:30"`, `"09:30"`},
		{`"kind":"time"`, `"23:59:59"`, `"23:59:59"`},
		{`"kind":"time"`, `"24:00"`, `! must be a time such as 09:30`},
		{`"kind":"time"`, `"9:30"`, `! must be a time such as 09:30`},
		{`"kind":"time","min":"08:00"`, `"07:59"`, `! must be a time from 08:00 on`},

		{`"kind":"choice","choices":["S","M"]`, `"M"`, `"M"`},
		{`"kind":"choice","choices":["S","M"]`, `"m"`, `! must be "S" or "M"`},
		{`"kind":"choice","choices":["S"]`, `1`, `! must be "S"`},
		{`"kind":"choice","choices":{"s":"Small"}`, `"Small"`, `! must be "s"`},
		{`"kind":"choices","choices":["a","b","c"]`, `["c","a","c"]`, `["c","a"]`},
		{`"kind":"choices","choices":["a","b","c"]`, `"b"`, `["b"]`},
		{`"kind":"choices","choices":["a","b","c"]`, `[]`, `[]`},
		{`"kind":"choices","choices":["a","b","c"]`, `["d"]`, `! must be a list of "a", "b" and "c"`},
		{`"kind":"choices","choices":["a","b","c"]`, `{"a":1}`, `! must be a list of "a", "b" and "c"`},
		{`"kind":"choices","choices":["a","b","c"],"min":2`, `["a","a"]`, `! must be at least 2 choices`},
		{`"kind":"choices","choices":["a","b","c"],"max":2`, `["a","b","c"]`, `! must be at most 2 choices`},
		{`"kind":"choices","choices":["a","b"],"required":true`, `[]`, `! must be answered`},
		{`"kind":"choice","choices":["1","2","3","4","5","6","7","8","9","10","11"]`, `"x"`,
			`! must be "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", … (11 in all)`},

		{`"kind":"file"`, `null`, `null`},
		{`"kind":"file","required":true`, `null`, `! must be answered`},
		{`"kind":"file"`, `"a.png"`, `! must be a file: {"name": …, "type": …, "base64": …}`},
		{`"kind":"file"`, `{"name":"a"}`, `! must be a file: {"name": …, "type": …, "base64": …}`},
		{`"kind":"file"`, `{"name":"a","base64":"","path":"/etc/passwd"}`, `! must be a file: {"name": …, "type": …, "base64": …}`},
		{`"kind":"file"`, `{"name":"a","base64":"?"}`, `! must be a file whose "base64" is base64`},
		{`"kind":"file","max":3`, `{"name":"a","base64":"YWJjZA=="}`, `! must be a file of at most 3 bytes`},
		{`"kind":"file","max":3`, `{"name":"a","base64":"` + strings.Repeat("YWJj", 1000) + `"}`, `! must be a file of at most 3 bytes`},
		{`"kind":"file","min":2`, `{"name":"a","base64":"YQ=="}`, `! must be a file of 2 to 8388608 bytes`},
	}
	for _, tt := range tests {
		f := oneField(t, tt.field)
		got, err := f.Validate(context.Background(), parseJSON(t, `{"x":`+tt.answer+`}`), nil, always)
		var wrong FieldErrors
		var text string
		switch {
		case errors.As(err, &wrong):
			text = "! " + wrong[0].Message
			if f.Fields[0].Check(parseJSON(t, tt.answer)) != wrong[0].Message {
				t.Errorf("%s: Check and Validate differ about %.50s", tt.field, tt.answer)
			}
		case err != nil:
			text = err.Error()
		default:
			x, _ := got.Map().Get("x")
			text = toJSON(x)
		}
		if text != tt.want {
			t.Errorf("%s answered %.50s:\n got %s\nwant %s", tt.field, tt.answer, text, tt.want)
		}
	}
}

func TestBadForms(t *testing.T) {
	field := func(s string) string { return `{"title":"T","fields":[{"name":"x",` + s + `}]}` }
	tests := []struct{ form, want string }{
		{`[]`, `a form is a map, not a list of 0`},
		{`{"title":"T"}`, `a form needs at least one field`},
		{`{"title":"T","fields":[]}`, `a form needs at least one field`},
		{`{"title":["T"],"fields":[{"name":"x","kind":"text"}]}`, `the form's title must be a text, not a list of 1`},
		{`{"title":"T","fields":[3]}`, `a field is a map, not the number 3`},
		{`{"title":"T","fields":[{"kind":"text"}]}`, `a field's name is a text of 1 to 100 visible characters, not null`},
		{`{"title":"T","fields":[{"name":" a","kind":"text"}]}`, `a field's name is a text of 1 to 100 visible characters, not the text " a"`},
		{`{"title":"T","fields":[{"name":"a\u202eb","kind":"text"}]}`, `a field's name is a text of 1 to 100 visible characters, not the text "a\u202eb"`},
		{`{"title":"T","fields":[{"name":"x","kind":"text"},{"name":"x","kind":"date"}]}`, `the form has two fields named "x"`},
		{field(`"kind":"colour"`), `the field "x": the text "colour" is no kind of field`},
		{field(`"kind":"text","min":5,"max":3`), `the field "x": MIN 5 is greater than MAX 3`},
		{field(`"kind":"integer","min":5,"max":3`), `the field "x": MIN 5 is greater than MAX 3`},
		{field(`"kind":"date","min":"2026-02-01","max":"2026-01-01"`), `the field "x": MIN 2026-02-01 is greater than MAX 2026-01-01`},
		{field(`"kind":"date","min":"soon"`), `the field "x": MIN must be a date such as 2026-12-31`},
		{field(`"kind":"integer","min":1.5`), `the field "x": MIN must be a whole number`},
		{field(`"kind":"text","min":-1`), `the field "x": MIN bounds the length and takes a whole number from 0 on, not the number -1`},
		{field(`"kind":"text","max":"9"`), `the field "x": MAX bounds the length and takes a whole number from 0 on, not the text "9"`},
		{field(`"kind":"text","min":20000`), `the field "x": MIN 20000 is more than TEXT takes, which is 10000 at most`},
		{field(`"kind":"text","max":200000`), `the field "x": MAX 200000 is more than TEXT takes, which is 10000 at most`},
		{field(`"kind":"file","max":1099511627777`), `the field "x": MAX 1099511627777 is more than FILE takes, which is 1099511627776 at most`},
		{field(`"kind":"file","min":9000000`), `the field "x": MIN 9000000 is more than FILE takes without MAX, which is 8388608 at most`},
		{field(`"kind":"file","min":9000000,"max":8999999`), `the field "x": MIN 9000000 is greater than MAX 8999999`},
		{field(`"kind":"choices","choices":["a"],"min":2`), `the field "x": MIN 2 is more than CHOICES takes, which is 1 at most`},
		{field(`"kind":"boolean","min":1`), `the field "x": MIN has no meaning for BOOLEAN`},
		{field(`"kind":"decimal","min":"x"`), `the field "x": MIN must be a decimal number`},
		{field(`"kind":"decimal","pattern":"1"`), `the field "x": PATTERN has no meaning for DECIMAL`},
		{field(`"kind":"number","pattern":"1"`), `the field "x": PATTERN has no meaning for NUMBER`},
		{field(`"kind":"text","pattern":3`), `the field "x": PATTERN takes a text, not the number 3`},
		{field(`"kind":"text","pattern":"a)|(b"`), `the field "x": the PATTERN is no regular expression: unexpected ): a)|(b`},
		{field(`"kind":"text","pattern":"(?<a"`), `the field "x": the PATTERN is no regular expression: invalid named capture: (?<a`},
		{field(`"kind":"text","pattern":"((a{30}){30}){30}"`), `the field "x": the PATTERN is no regular expression: invalid repeat count: {30}`},
		{field(`"kind":"text","pattern":"` + strings.Repeat("a", 1025) + `"`), `the field "x": the PATTERN is longer than 1024 bytes`},
		{field(`"kind":"text","pattern":"` + strings.Repeat("a{900}", 20) + `"`), `the field "x": the PATTERN is too large: its repetitions multiply`},
		{field(`"kind":"text","label":{}`), `the field "x": LABEL must be a text, not a map of 0`},
		{field(`"kind":"text","help":[]`), `the field "x": HELP must be a text, not a list of 0`},
		{field(`"kind":"text","help":"` + strings.Repeat("a", 10_001) + `"`), `the field "x": HELP has more than 10000 characters`},
		{field(`"kind":"choice"`), `the field "x": CHOICE takes a list of texts, or a map of values and their labels, not null`},
		{field(`"kind":"choice","choices":[]`), `the field "x": CHOICE has nothing to choose from: its list is empty`},
		{field(`"kind":"choices","choices":{}`), `the field "x": CHOICES has nothing to choose from: its list is empty`},
		{field(`"kind":"choice","choices":[1,2]`), `the field "x": the choices must be texts, not the number 1`},
		{field(`"kind":"choice","choices":["a",""]`), `the field "x": "" cannot be a choice: an empty answer is no answer`},
		{field(`"kind":"choice","choices":["a","a"]`), `the field "x": the choice "a" stands there twice`},
		{field(`"kind":"choice","choices":{"a":[]}`), `the field "x": the label of "a" must be a text, not a list of 0`},
		{field(`"kind":"choice","choices":["S","M"],"default":"L"`), `the field "x": DEFAULT must be "S" or "M", and the text "L" does not fit`},
		{field(`"kind":"integer","max":10,"default":11`), `the field "x": DEFAULT must be a whole number up to 10, and the number 11 does not fit`},
		{field(`"kind":"file","default":"a"`), `the field "x": DEFAULT has no meaning for FILE`},
		{field(`"kind":"secret","default":"a"`), `the field "x": DEFAULT has no meaning for SECRET`},
	}
	for _, tt := range tests {
		_, err := Parse(parseJSON(t, tt.form))
		var e *value.Error
		if !errors.As(err, &e) {
			t.Errorf("%s: got %v, want an error", tt.form, err)
			continue
		}
		if e.Code != BadForm || e.Message != tt.want {
			t.Errorf("%.100s:\n got %s: %s\nwant %s", tt.form, e.Code, e.Message, tt.want)
		}
	}
	many := make([]string, 101)
	for i := range many {
		many[i] = fmt.Sprintf(`{"name":"f%d","kind":"text"}`, i)
	}
	if _, err := Parse(parseJSON(t, `{"fields":[`+strings.Join(many, ",")+`]}`)); err == nil || err.Error() != "a form has at most 100 fields, not 101" {
		t.Errorf("101 fields: got %v", err)
	}
}

// memory is a Sink that keeps what it is given.
type memory struct {
	uploads  []Upload
	attached map[string]Attached
	err      error
}

func (m *memory) Attached(field string) (Attached, bool) {
	a, ok := m.attached[field]
	return a, ok
}

func (m *memory) Store(_ context.Context, u Upload) (string, error) {
	m.uploads = append(m.uploads, u)
	return "/uploads/" + u.Name, m.err
}

func TestFiles(t *testing.T) {
	f, err := Parse(parseJSON(t, `{"fields":[{"name":"photo","kind":"file"},{"name":"n","kind":"integer"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	reply := `{"photo":{"name":"C:\\temp\\cat.png","type":"image/PNG","base64":"` + base64.StdEncoding.EncodeToString([]byte("meow")) + `"},"n":%s}`
	sink := &memory{}
	if _, err := f.Validate(context.Background(), parseJSON(t, fmt.Sprintf(reply, `"x"`)), sink, always); err == nil || len(sink.uploads) > 0 {
		t.Errorf("a reply with a wrong field: got %v and stored %v, want an error and nothing stored", err, sink.uploads)
	}
	got, err := f.Validate(context.Background(), parseJSON(t, fmt.Sprintf(reply, "1")), sink, always)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"photo":{"name":"cat.png","type":"image/png","size":4,"path":"/uploads/cat.png"},"n":1}`; toJSON(got) != want {
		t.Errorf("got %s, want %s", toJSON(got), want)
	}
	if diff := cmp.Diff([]Upload{{Field: "photo", Name: "cat.png", Type: "image/png", Content: []byte("meow")}}, sink.uploads); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	full := errors.New("full")
	if _, err := f.Validate(context.Background(), parseJSON(t, fmt.Sprintf(reply, "1")), &memory{err: full}, always); !errors.Is(err, full) {
		t.Errorf("a sink that fails: got %v", err)
	}
	if _, err := f.Validate(context.Background(), parseJSON(t, fmt.Sprintf(reply, "1")), nil, always); err == nil {
		t.Error("a file without a sink is no error")
	}
}

// sized is a received file of which nothing but its size is there.
type sized int64

func (s sized) Size() int64                         { return int64(s) }
func (s sized) Store(context.Context, string) error { return nil }

// TestAttachedFiles: a file that came beside a reply is checked as one that came in it.
func TestAttachedFiles(t *testing.T) {
	f, err := Parse(parseJSON(t, `{"fields":[{"name":"photo","kind":"file","required":true,"min":2,"max":10000000000},{"name":"small","kind":"file"},{"name":"n","kind":"integer"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	photo := Attached{`C:\temp\cat.png`, "image/PNG", sized(9_000_000_000)}
	for _, test := range []struct {
		reply    string
		attached map[string]Attached
		want     string
	}{
		{`{"n":1}`, map[string]Attached{"photo": photo}, `{"photo":{"name":"cat.png","type":"image/png","size":9000000000,"path":"/uploads/cat.png"},"small":null,"n":1}`},
		{`{}`, map[string]Attached{"photo": {"", "nonsense;;", sized(2)}}, `{"photo":{"name":"file","type":"application/octet-stream","size":2,"path":"/uploads/file"},"small":null,"n":null}`},
		{`{}`, map[string]Attached{"photo": {"a", "", sized(1)}}, "photo must be a file of 2 to 10000000000 bytes"},
		{`{}`, map[string]Attached{"photo": {"a", "", sized(10_000_000_001)}}, "photo must be a file of 2 to 10000000000 bytes"},
		{`{}`, map[string]Attached{"photo": photo, "small": {"a", "", sized(8<<20 + 1)}}, "small must be a file of at most 8388608 bytes"},
		{`{}`, map[string]Attached{"n": photo}, "photo must be answered"},
		{`{"n":"x"}`, map[string]Attached{"photo": photo}, "n must be a whole number"},
	} {
		sink := &memory{attached: test.attached}
		got, err := f.Validate(t.Context(), parseJSON(t, test.reply), sink, always)
		text := toJSON(got)
		if err != nil {
			text = err.Error()
		}
		if text != test.want || (err != nil) != (len(sink.uploads) == 0) {
			t.Errorf("%s with %v:\n got %s, stored %v\nwant %s", test.reply, test.attached, text, sink.uploads, test.want)
		}
	}
	if photo := toJSON(f.Schema()); !strings.Contains(photo, `"photo":{"type":"string","format":"binary","maxLength":10000000000}`) || !strings.Contains(photo, `"small":{"type":"string","format":"binary"}`) {
		t.Errorf("the schema is %s", photo)
	}
}

func TestFileNames(t *testing.T) {
	for in, want := range map[string]string{
		"cat.png":                          "cat.png",
		"/etc/passwd":                      "passwd",
		`..\..\boot.ini`:                   "boot.ini",
		"..":                               "file",
		"":                                 "file",
		"/":                                "_",
		".htaccess":                        "htaccess",
		"a:b*c?.txt":                       "a_b_c_.txt",
		"report \u202e.pdf ":               "report _.pdf",
		"ends. ":                           "ends",
		"Füße.txt":                         "Füße.txt",
		strings.Repeat("a", 300) + ".jpeg": strings.Repeat("a", 195) + ".jpeg",
		strings.Repeat("€", 100) + ".txt":  strings.Repeat("€", 65) + ".txt",
		"a\u0378b":                         "a_b",
	} {
		if got := FileName(in); got != want {
			t.Errorf("FileName(%q) = %q, want %q", in, got, want)
		}
	}
}

// FuzzValidate: whatever a reply holds, it is refused or gives answers that
// are good answers themselves.
func FuzzValidate(f *testing.F) {
	for _, seed := range []string{`{"name":"Ada"}`, `{"name":"Ada","email":"a@b.c","tags":"a","news":"yes"}`, `{"tags":["a"],"qty":1e400}`, `[]`,
		`{"photo":{"name":"a","type":"a/b","base64":"YQ=="},"name":"A","email":"a@b.cc","tags":["b","a"],"news":false}`} {
		f.Add(seed)
	}
	definition, err := Parse(parseJSON(f, shipping))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		reply, bad := value.ParseJSON(nil, text)
		if bad != nil {
			return
		}
		answers, err := definition.Validate(context.Background(), reply, &memory{}, always)
		if err != nil {
			if !errors.As(err, &FieldErrors{}) {
				t.Fatalf("%s: %v", text, err)
			}
			return
		}
		answers.Map().SetText("photo", value.Null)
		again, err := definition.Validate(context.Background(), answers, nil, always)
		if err != nil {
			t.Fatalf("%s gives %s, which is refused: %v", text, toJSON(answers), err)
		}
		if toJSON(again) != toJSON(answers) {
			t.Fatalf("%s gives %s, then %s", text, toJSON(answers), toJSON(again))
		}
	})
}

// FuzzParse: whatever a form's definition holds, it is refused or can be
// published.
func FuzzParse(f *testing.F) {
	f.Add(shipping)
	f.Add(`{"fields":[{"name":"x","kind":"choices","choices":{"a":""},"default":["a"]}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		v, bad := value.ParseJSON(nil, text)
		if bad != nil {
			return
		}
		form, err := Parse(v)
		if err != nil {
			return
		}
		if _, err := value.ParseJSON(nil, toJSON(form.Schema())); err != nil {
			t.Fatalf("%s: its schema is no JSON: %v", text, err)
		}
	})
}

// always has its turn.
func always() error { return nil }

// TestPatternsOfAReply holds all patterns of a form together to a bound, and looks at
// no answer without a turn.
func TestPatternsOfAReply(t *testing.T) {
	var fields, answers []string
	for i := range 20 {
		fields = append(fields, fmt.Sprintf(`{"name":"f%d","kind":"long_text","pattern":"(?:a?){900}b*"}`, i))
		answers = append(answers, fmt.Sprintf(`"f%d":"%s"`, i, strings.Repeat("a", 9000)))
	}
	reply := parseJSON(t, "{"+strings.Join(answers, ",")+"}")
	f, err := Parse(parseJSON(t, `{"fields":[`+strings.Join(fields[:8], ",")+`]}`))
	if err != nil {
		t.Fatal(err)
	}
	var wrong FieldErrors
	if _, err := f.Validate(t.Context(), reply, nil, always); !errors.As(err, &wrong) {
		t.Fatal(err)
	}
	costly := 0
	for _, w := range wrong {
		if w.Message == "is too long for its pattern" {
			costly++
		}
	}
	if costly != 2 { // six of 16 million instructions × bytes fit
		t.Errorf("%d of 8 were too costly: %v", costly, wrong)
	}
	turns := 0
	stop := errors.New("stop")
	_, err = f.Validate(t.Context(), reply, nil, func() error {
		if turns++; turns == 3 {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) {
		t.Error(err)
	}
	if _, err = Parse(parseJSON(t, `{"fields":[`+strings.Join(fields, ",")+`]}`)); err == nil || !strings.Contains(err.Error(), "too large together") {
		t.Error(err)
	}
}
