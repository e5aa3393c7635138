package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ql/internal/redacted"
)

const fullQuery = `{
	"auth": {"username": "ada", "password": "pä\u0073s", "token": "t"},
	"query": "EMIT \"hi\"",
	"mode": "async",
	"request": {
		"path": "/x", "method": "POST", "header:Accept-Language": "de", "body": "b", "locale": "fr",
		"get": {"page": "2", "": "e"}, "post": {}, "cookie": {"theme": "dark"}
	},
	"trace": "errors",
	"options": {"webhook": "https://example.com/done", "webhook_trace": true}
}`

func ptr[T any](v T) *T { return &v }

// show makes secrets visible to comparisons.
var show = cmp.Transformer("show", func(s redacted.Text) string { return s.Reveal() })

func TestDecodeQuery(t *testing.T) {
	got, err := DecodeQuery([]byte(fullQuery), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	want := &Query{
		Auth:   &Auth{Username: "ada", Password: ptr(redacted.Text("päss")), Token: ptr(redacted.Text("t"))},
		Script: `EMIT "hi"`,
		Async:  true,
		Request: Request{
			Entries: []Pair{{"path", "/x"}, {"method", "POST"}, {"header:Accept-Language", "de"}, {"body", "b"}, {"locale", "fr"}},
			Get:     []Field{{Name: "page", Value: "2"}, {Name: "", Value: "e"}},
			Post:    []Field{},
			Cookie:  []Pair{{"theme", "dark"}},
		},
		Trace:        TraceErrors,
		Webhook:      "https://example.com/done",
		WebhookTrace: true,
		Shape:        Shape{Bytes: len(fullQuery), Depth: 3, Nodes: 23, Keys: 8},
	}
	if d := cmp.Diff(want, got, show); d != "" {
		t.Error(d)
	}
}

func TestDecodeProgram(t *testing.T) {
	for body, want := range map[string]Query{
		`{"script":"cart"}`: {Program: "cart"},
		`{"script":"cart@3","input":{"a": [1, {"b":2}]}}`: {Program: "cart@3", Input: `{"a": [1, {"b":2}]}`},
		`{"input":[],"script":"cart"}`:                    {Program: "cart", Input: "{}"},
		`{"query":"EMIT 1","input":{"a":1}}`:              {Script: "EMIT 1", Input: `{"a":1}`},
	} {
		got, err := DecodeQuery([]byte(body), Limits{})
		if err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		got.Shape = Shape{}
		if d := cmp.Diff(&want, got); d != "" {
			t.Errorf("%s: %s", body, d)
		}
	}
}

func TestDecodeQueryLeast(t *testing.T) {
	for _, body := range []string{`{"query":""}`, ` {"mode":"sync","query":""} `, `{"request":{},"query":"","options":{}}`, `{"query":"","trace":"full","options":{"webhook_trace":false}}`} {
		got, err := DecodeQuery([]byte(body), Limits{})
		if err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		got.Shape = Shape{}
		if d := cmp.Diff(&Query{}, got); d != "" {
			t.Errorf("%s: %s", body, d)
		}
	}
}

// TestDecodeQueryValues: what is sent as a request may be any JSON.
func TestDecodeQueryValues(t *testing.T) {
	const body = `{"query":"","request":{
		"get": {"n": 1.50, "yes": true, "none": null, "list": [ 1, "a" ], "text": "1"},
		"post": {"map": {"a": {}}},
		"body": {"order": 7}
	}}`
	q, err := DecodeQuery([]byte(body), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	want := Request{
		Get: []Field{
			{Name: "n", Value: "1.50", JSON: true}, {Name: "yes", Value: "true", JSON: true}, {Name: "none", Value: "null", JSON: true},
			{Name: "list", Value: `[ 1, "a" ]`, JSON: true}, {Name: "text", Value: "1"},
		},
		Post: []Field{{Name: "map", Value: `{"a": {}}`, JSON: true}},
		Body: Body{Kind: JSONBody, Text: `{"order": 7}`},
	}
	if d := cmp.Diff(want, q.Request); d != "" {
		t.Error(d)
	}
	for body, want := range map[string]Request{
		`null`:   {},
		`"text"`: {Entries: []Pair{{"body", "text"}}},
		`false`:  {Body: Body{Kind: JSONBody, Text: `false`}},
		`[]`:     {Body: Body{Kind: JSONBody, Text: `[]`}},
	} {
		q, err := DecodeQuery([]byte(`{"query":"","request":{"body":`+body+`}}`), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, q.Request); d != "" {
			t.Errorf("%s: %s", body, d)
		}
	}
}

// TestRequestStored: a request of earlier versions, as it is stored with its job and as
// idempotency keys compare it, stays what it was to the byte.
func TestRequestStored(t *testing.T) {
	const earlier = `{"Entries":[{"Name":"body","Value":"b"}],"Get":[{"Name":"page","Value":"2"}],"Post":[],"Cookie":null}`
	want := Request{Entries: []Pair{{"body", "b"}}, Get: []Field{{Name: "page", Value: "2"}}, Post: []Field{}}
	text, err := json.Marshal(want)
	if err != nil || string(text) != earlier {
		t.Errorf("it is stored as %s: %v", text, err)
	}
	for _, r := range []Request{want, {
		Get:  []Field{{Name: "n", Value: `{"a":"\u00e9"}`, JSON: true}},
		Body: Body{Kind: BytesBody, Bytes: []byte{0xff, 0}},
	}, {Body: Body{Kind: JSONBody, Text: `"<>&"`}}} {
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var again Request
		if err := json.Unmarshal(text, &again); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(r, again); d != "" {
			t.Error(d)
		}
	}
}

func TestDecodeQueryRefuses(t *testing.T) {
	tests := []struct{ body, want string }{
		{`[]`, `body: is a list: an object fits`},
		{`null`, `body: is null: an object fits`},
		{`"query"`, `body: is a text: an object fits`},
		{`{}`, `query: is missing: the script to run, a text, fits, or "script" with the name of a published one`},
		{`{"query":"","script":"a"}`, `script: stands beside query: one of the two fits, the name of a published script or the script itself`},
		{`{"script":""}`, `script: is "", which names no published script: one such as cart fits, or cart@3 for its third version`},
		{`{"script":"a b"}`, `script: is "a b", which names no published script: one such as cart fits, or cart@3 for its third version`},
		{`{"script":null}`, `script: is null: a text fits, or leave the field out`},
		{`{"script":"a","input":null}`, `input: is null: an object fits, or leave the field out`},
		{`{"script":"a","input":[1]}`, `input: is a list: an object fits`},
		{`{"query":"","input":"{}"}`, `input: is a text: an object fits`},
		{`{"query":null}`, `query: is null: a text fits`},
		{`{"query":5}`, `query: is a number: a text fits`},
		{`{"query":["a"]}`, `query: is a list: a text fits`},
		{`{"Query":"a"}`, `Query: is no known field: names are case-sensitive, "query" would fit`},
		{`{"qurey":"a"}`, `qurey: is no known field: did you mean "query"?`},
		{`{"query":"a","webhook":"w"}`, `webhook: is no known field: auth, query, script, input, mode, request, trace, history or options would fit`},
		{`{"query":"a","query":"b"}`, `query: occurs twice: once fits`},
		{`{"query":"a","mode":"Async"}`, `mode: is "Async": "sync" or "async" fits`},
		{`{"query":"a","mode":null}`, `mode: is null: a text fits, or leave the field out`},
		{`{"query":"a","mode":true}`, `mode: is a boolean: a text fits`},
		{`{"query":"a","auth":null}`, `auth: is null: an object fits, or leave the field out`},
		{`{"query":"a","auth":"ada"}`, `auth: is a text: an object fits`},
		{`{"query":"a","auth":{}}`, `auth.username: is missing: a username, e-mail address or phone number fits`},
		{`{"query":"a","auth":{"username":"ada"}}`, `auth.password: is missing: the account's password fits`},
		{`{"query":"a","auth":{"username":"ada","password":123456}}`, `auth.password: is a number: a text fits`},
		{`{"query":"a","auth":{"username":"ada","password":null}}`, `auth.password: is null: a text fits`},
		{`{"query":"a","auth":{"username":null,"password":"x"}}`, `auth.username: is null: a text fits`},
		{`{"query":"a","auth":{"username":"ada","passwort":"x"}}`, `auth.passwort: is no known field: did you mean "password"?`},
		{`{"query":"a","auth":{"username":"ada","PASSWORD":"x"}}`, `auth.PASSWORD: is no known field: names are case-sensitive, "password" would fit`},
		{`{"query":"a","request":[]}`, `request: is a list: an object fits`},
		{`{"query":"a","request":{"ip":"10.0.0.1"}}`, `request.ip: is not the caller's to say: leave it out, and !REQUEST('ip') is the address that the call comes from`},
		{`{"query":"a","request":{"ip":null}}`, `request.ip: is not the caller's to say: leave it out, and !REQUEST('ip') is the address that the call comes from`},
		{`{"query":"a","request":{"path":5}}`, `request.path: is a number: a text fits`},
		{`{"query":"a","request":{"x y":{}}}`, `request."x y": is an object: a text fits`},
		{`{"query":"a","request":{"get":"a=b"}}`, `request.get: is a text: an object fits`},
		{`{"query":"a","request":{"post":{"n":1e999}}}`, `request.post.n: is a number beyond what fits: up to about 1.8e308`},
		{`{"query":"a","request":{"post":null}}`, `request.post: is null: an object fits, or leave the field out`},
		{`{"query":"a","request":{"post":[1]}}`, `request.post: is a list: an object fits`},
		{`{"query":"a","request":{"body":{"a":1,"a":2}}}`, `request.body.a: occurs twice: once fits`},
		{`{"query":"a","request":{"get":{"a":["` + strings.Repeat("a", 30) + `"]}}}`, `request.get: is too large: 30 bytes at most, whatever the plan`},
		{`{"query":"a","request":{"cookie":{"n":null}}}`, `request.cookie.n: is null: a text fits, or leave the field out`},
		{`{"query":"a","request":{"header:X-Foo":"1","path":"/","header:x-foo":"2"}}`, `request.header:x-foo: occurs twice: once fits, and the names of headers are the same in whatever case`},
		{`{"query":"a","request":{"Header:a":"1","header:A":"1"}}`, `request.header:A: occurs twice: once fits, and the names of headers are the same in whatever case`},
		{`{"query":"a","trace":true}`, `trace: is true: false, "errors" or "full" fits, or leave the field out`},
		{`{"query":"a","trace":"none"}`, `trace: is "none": false, "errors" or "full" fits, or leave the field out`},
		{`{"query":"a","trace":null}`, `trace: is null: false, "errors" or "full" fits, or leave the field out`},
		{`{"query":"a","trace":[]}`, `trace: is a list: false, "errors" or "full" fits, or leave the field out`},
		{`{"query":"a","options":{"webhook_trace":"yes"}}`, `options.webhook_trace: is a text: true or false fits`},
		{`{"query":"a","mode":"async","options":{"webhook_trace":true}}`, `options.webhook_trace: goes only with options.webhook, the address to which the trace is sent`},
		{`{"query":"a","trace":false,"mode":"async","options":{"webhook":"https://a.b","webhook_trace":true}}`, `options.webhook_trace: does not go with "trace": false: there is no trace to send`},
		{`{"query":"a","options":5}`, `options: is a number: an object fits`},
		{`{"query":"a","options":{"webhok":""}}`, `options.webhok: is no known field: did you mean "webhook"?`},
		{`{"query":"a","options":{"webhook":"https://a.b"}}`, `options.webhook: goes only with "mode": "async": a synchronous call has its answer at once. With "webhook_events" one that pauses tells of that, and of its end`},
		{`{"query":"a","options":{"webhook_events":["paused"]}}`, `options.webhook_events: goes only with options.webhook, the address that is told of them`},
		{`{"query":"a","options":{"webhook":"https://a.b","webhook_events":[]}}`, `options.webhook_events: is empty: finished or paused fits, or both; or leave it out`},
		{`{"query":"a","options":{"webhook":"https://a.b","webhook_events":["ended"]}}`, `options.webhook_events: is a list of finished and paused, each once at most`},
		{`{"query":"a","options":{"webhook":"https://a.b","webhook_events":["paused","paused"]}}`, `options.webhook_events: is a list of finished and paused, each once at most`},
		{`{"query":"a","options":{"webhook":"https://a.b","webhook_events":[1]}}`, `options.webhook_events: is a number: a text fits`},
		{`{"query":"a","options":{"webhook":"https://a.b","webhook_events":"paused"}}`, `options.webhook_events: is a text: a list fits`},
		{`{"query":"a","mode":"async","options":{"webhook":null}}`, `options.webhook: is null: a text fits, or leave the field out`},
		{`{"query":"a","mode":"async","options":{"webhook":"/done"}}`, `options.webhook: is no absolute web address without credentials: one such as https://example.com/done fits`},
		{`{"query":"a","mode":"async","options":{"webhook":"ftp://a.b"}}`, `options.webhook: is no absolute web address without credentials: one such as https://example.com/done fits`},
		{`{"query":"a","mode":"async","options":{"webhook":"https://u:p@a.b"}}`, `options.webhook: is no absolute web address without credentials: one such as https://example.com/done fits`},
		{`{"query":"` + strings.Repeat("a", 51) + `"}`, `query: is too large: 50 bytes at most, whatever the plan`},
		{`{"query":"a","request":{"get":{"a":"","b":"","c":"","d":""}}}`, `request.get: has too many names: 3 at most, whatever the plan`},
		{`{"query":"a","request":{"cookie":{"a":"` + strings.Repeat("a", 30) + `"}}}`, `request.cookie: is too large: 30 bytes at most, whatever the plan`},
	}
	for _, test := range tests {
		_, err := DecodeQuery([]byte(test.body), small)
		var r *Refusal
		if !errors.As(err, &r) {
			t.Errorf("%s: got %v", test.body, err)
			continue
		}
		if r.Error() != test.want {
			t.Errorf("%s\n got:  %s\n want: %s", test.body, r, test.want)
		}
		code := InvalidRequest
		if strings.Contains(test.want, "too large") {
			code = TooLarge
		}
		if r.Limit != "" {
			t.Errorf("%s names the limit %s, which is nobody's yet", test.body, r.Limit)
		}
		if r.Code != code {
			t.Errorf("%s: code %s, want %s", test.body, r.Code, code)
		}
	}
}

// TestWithin checks that a request decoded under wide limits is held to narrow
// ones as if it had been decoded under them.
func TestWithin(t *testing.T) {
	long := strings.Repeat("a", 60)
	for _, body := range []string{
		`{"query":"a","request":{"get":{"a":"1"}}}`,
		`{"query":"` + long + `"}`,
		`{"query":"a","request":{"post":{"a":"1","b":"2","c":"3","d":"4"}}}`,
		`{"query":"a","request":{"cookie":{"a":"` + long + `"}}}`,
		`{"query":"a","request":{"x":"` + strings.Repeat(long, 4) + `"}}`,
		`{"query":"a","request":{"1":"","2":"","3":"","4":"","5":"","6":"","7":"","8":"","9":"","a":"","b":"","c":"","d":"","e":"","f":"","g":"","h":"","i":"","j":"","k":""}}`,
	} {
		_, want := DecodeQuery([]byte(body), small)
		q, err := DecodeQuery([]byte(body), Limits{})
		if err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		got := q.Within(small)
		if fmt.Sprint(got) != ofAccount(want) {
			t.Errorf("%s\n got:  %v\n want: %v", body, got, want)
		}
		form := "identity=a&password=b&q=" + q.Script
		pairsOf := func(list []Field) (pairs []Pair) {
			for _, f := range list {
				pairs = append(pairs, Pair{f.Name, f.Value})
			}
			return pairs
		}
		for name, pairs := range map[string][]Pair{"get": pairsOf(q.Request.Get), "post": pairsOf(q.Request.Post), "cookie": q.Request.Cookie} {
			if pairs != nil {
				form += "&" + name + "=" + string(appendPairs(nil, pairs))
			}
		}
		_, want = DecodeForm([]byte(form), small)
		f, err := DecodeForm([]byte(form), Limits{})
		if err != nil {
			t.Errorf("%s: %v", form, err)
			continue
		}
		if got := f.Within(small); fmt.Sprint(got) != ofAccount(want) {
			t.Errorf("%s\n got:  %v\n want: %v", form, got, want)
		}
	}
}

// ofAccount is what a refusal under everybody's limits says of an account's.
func ofAccount(err error) string { return strings.TrimSuffix(fmt.Sprint(err), WhateverThePlan) }

func TestDecodeReply(t *testing.T) {
	tests := []struct {
		body string
		want Reply
	}{
		{`{"approved":true}`, Reply{Approved: ptr(true)}},
		{`{"approved":false,"prompt_id":"p1"}`, Reply{Approved: ptr(false), PromptID: "p1"}},
		{`{"fields":{}}`, Reply{Fields: `{}`}},
		{`{"fields": {"n":1.10, "f":{"name":"x"}} }`, Reply{Fields: `{"n":1.10, "f":{"name":"x"}}`}},
	}
	for _, test := range tests {
		got, err := DecodeReply([]byte(test.body), Limits{})
		if err != nil {
			t.Errorf("%s: %v", test.body, err)
			continue
		}
		got.Shape = Shape{}
		if d := cmp.Diff(&test.want, got); d != "" {
			t.Errorf("%s: %s", test.body, d)
		}
	}
}

func TestDecodeReplyRefuses(t *testing.T) {
	tests := []struct{ body, want string }{
		{`true`, `body: is a boolean: an object fits`},
		{`{}`, `approved: is missing: true or false fits, or "fields" with an object where a form is asked for`},
		{`{"prompt_id":"x"}`, `approved: is missing: true or false fits, or "fields" with an object where a form is asked for`},
		{`{"approved":"true"}`, `approved: is a text: true or false fits`},
		{`{"approved":null}`, `approved: is null: true or false fits`},
		{`{"approved":0}`, `approved: is a number: true or false fits`},
		{`{"approved":true,"approved":false}`, `approved: occurs twice: once fits`},
		{`{"approved":true,"fields":{}}`, `fields: stands beside approved: one of the two fits, as the prompt asks`},
		{`{"fields":[]}`, `fields: is a list: an object fits`},
		{`{"fields":null}`, `fields: is null: an object fits`},
		{`{"approve":true}`, `approve: is no known field: did you mean "approved"?`},
		{`{"approved":true,"prompt_id":7}`, `prompt_id: is a number: a text fits`},
		{`{"approved":true,"prompt_id":null}`, `prompt_id: is null: a text fits, or leave the field out`},
		{`{"approved":true,"prompt_id":""}`, `prompt_id: is empty: the id of the prompt fits, or leave the field out`},
		{`{"fields":{"a":1,"a":2}}`, `fields.a: occurs twice: once fits`},
	}
	for _, test := range tests {
		if _, err := DecodeReply([]byte(test.body), Limits{}); err == nil || err.Error() != test.want {
			t.Errorf("%s\n got:  %v\n want: %s", test.body, err, test.want)
		}
	}
	reply, err := DecodeReply([]byte(`{"fields":{"a":[[[1]]]}}`), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if err := reply.Within(small); err == nil {
		t.Error("too deep a reply is within the limits")
	}
}

func TestSecretHides(t *testing.T) {
	s := redacted.Text("swordfish")
	text, err := json.Marshal(map[string]any{"v": s, "q": FormQuery{Password: s}})
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("m", "s", s, "q", FormQuery{Password: s})
	shown := string(text) + log.String() + fmt.Sprintf("%v %+v %#v %s %q %x %d %v", s, s, s, s, s, s, s, FormQuery{Password: s})
	if strings.Contains(shown, "swordfish") || strings.Contains(shown, fmt.Sprintf("%x", "swordfish")) {
		t.Errorf("shown: %s", shown)
	}
	if !strings.Contains(shown, redacted.Mask) {
		t.Errorf("nothing stands in its place: %s", shown)
	}
}

func TestCheckType(t *testing.T) {
	for _, c := range []string{"application/json", "application/json; charset=utf-8", "Application/JSON;charset=UTF-8", `application/json; charset="utf-8"`} {
		if err := CheckType(JSONType, c, ""); err != nil {
			t.Errorf("%s: %v", c, err)
		}
	}
	if err := CheckType(FormType, "application/x-www-form-urlencoded", "identity"); err != nil {
		t.Error(err)
	}
	tests := []struct{ want, contentType, encoding, err string }{
		{JSONType, "", "", `Content-Type: is missing: application/json fits`},
		{JSONType, "text/plain", "", `Content-Type: is "text/plain": application/json fits`},
		{JSONType, "application/jsonp", "", `Content-Type: is "application/jsonp": application/json fits`},
		{JSONType, "application/json, text/plain", "", `Content-Type: is "application/json, text/plain": application/json fits`},
		{JSONType, "application/json; charset=latin1", "", `Content-Type: is "application/json; charset=latin1": application/json fits, with charset=utf-8 or nothing behind it`},
		{JSONType, "application/json; version=1", "", `Content-Type: is "application/json; version=1": application/json fits, with charset=utf-8 or nothing behind it`},
		{FormType, "multipart/form-data; boundary=x", "", `Content-Type: is "multipart/form-data; boundary=x": application/x-www-form-urlencoded fits`},
		{FormType, JSONType, "", `Content-Type: is "application/json": application/x-www-form-urlencoded fits`},
		{FormType, FormType, "gzip", `Content-Encoding: is "gzip": bodies are taken uncompressed`},
	}
	for _, test := range tests {
		err := CheckType(test.want, test.contentType, test.encoding)
		var r *Refusal
		if !errors.As(err, &r) || r.Error() != test.err || r.Code != UnsupportedMediaType {
			t.Errorf("%s, %s: got %v, want %s", test.contentType, test.encoding, err, test.err)
		}
	}
}

func BenchmarkDecodeQuery(b *testing.B) {
	body := []byte(`{"auth":{"username":"ada","password":"correct horse battery"},"query":"EMIT \"Hello, \", !REQUEST('path')","request":{"path":"/hello","method":"GET"}}`)
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, err := DecodeQuery(body, Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}
