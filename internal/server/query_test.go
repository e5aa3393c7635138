package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/engine"
	"ql/internal/fault"
	"ql/internal/service"
	"ql/lang/value"
)

// TestValues sends values of any kind, which arrive as they are: in a call, in a job that
// runs on, and in a repeat.
func TestValues(t *testing.T) {
	w := boot(t, settings{})
	ada := w.member("ada", account.Standard)
	const (
		show = `SET ?all AS [!GET('n') + 1, TYPE(!GET('none')), HAS(!GET, 'none'), !POST.list[1].a, !BODY, !REQUEST('body')] `
		sent = `"request":{"get":{"n":41,"none":null},"post":{"list":[0,{"a":true}]},"body":{"b":[1.50, "x"]}}`
		want = `[42,"null",true,true,{"b":[1.5,"x"]},null]`
	)
	for name, r := range map[string]response{
		"a call":        w.query(ada, show+"EMIT TO_JSON(?all)", sent),
		"a first call":  w.query(ada, show+"EMIT TO_JSON(?all)", sent, "Idempotency-Key", "values"),
		"its repeat":    w.query(ada, show+"EMIT TO_JSON(?all)", sent, "Idempotency-Key", "values"),
		"an inline job": w.poll(w.query(ada, show+"EMIT TO_JSON(?all)", sent+`,"mode":"async"`).read(t).JobID, "?wait=30"),
		"a stored job":  w.poll(w.query(ada, `WAIT 0.01 SECONDS WRITE "x" TO "/x" `+show+"EMIT TO_JSON(?all)", sent+`,"mode":"async"`).read(t).JobID, "?wait=30"),
	} {
		if a := r.read(t); r.status != 200 || a.Result == nil || *a.Result != want {
			t.Errorf("%s: %d %s", name, r.status, r.body)
		}
	}
	if r := w.query(ada, show, strings.Replace(sent, "41", "40", 1), "Idempotency-Key", "values"); r.status != 422 || r.read(t).Error.Code != "idempotency_mismatch" {
		t.Errorf("another value under the same key: %d %s", r.status, r.body)
	}
	if r := w.query(ada, "EMIT !BODY, TYPE(!BODY), !REQUEST('body')", `"request":{"body":"hi"}`); *r.read(t).Result != "hitexthi" {
		t.Errorf("a text: %s", r.body)
	}
	if r := w.form(ada, "EMIT !BODY IS NULL, !GET('n') + 'x'", url.Values{"get": {`{"n":"1"}`}}); r.body != "true1x" {
		t.Errorf("by form: %s", r.body)
	}
	if r := w.form(ada, "EMIT 1", url.Values{"get": {`{"n":1}`}}); r.status != 400 {
		t.Errorf("a number by form: %d %s", r.status, r.body)
	}
	if r := w.query(ada, "EMIT 1", `"request":{"get":{"n":1e400}}`); r.status != 400 || r.read(t).Error.Field != "request.get.n" {
		t.Errorf("a number beyond all: %d %s", r.status, r.body)
	}
}

// TestBothConventions runs each script through both conventions. What the
// script gives is the same; how it is written differs.
func TestBothConventions(t *testing.T) {
	w := boot(t, limited(func(l *account.Limits) { l.SyncCPU = 50 * time.Millisecond }))
	ada := w.member("ada", account.Standard)
	check(t, w.accounts.SetSecret(t.Context(), "ada", "greeting", "hello secret"))
	if r := w.query(ada, `WRITE "DEFINE double(?n) RETURN ?n * 2 END" TO "/lib.ql"`, ""); r.status != 200 {
		t.Fatal(r.body)
	}
	type request struct {
		get, post, cookie map[string]string
		path, method      string
	}
	tests := []struct {
		name    string
		script  string
		request request
		output  string
		status  int    // 200 where it is 0
		code    string // of the error
		line    int
	}{
		{name: "output", script: `EMIT "Hello, ", "Ada"`, output: "Hello, Ada"},
		{name: "nothing", script: ``, output: ""},
		{name: "beyond ASCII", script: `EMIT "Grüße 🎉 \"quoted\""`, output: `Grüße 🎉 "quoted"`},
		{name: "no request", script: `EMIT TO_JSON(!GET), TO_JSON(!POST), TO_JSON(!COOKIE), TO_JSON(!REQUEST('path'))`, output: `{}{}{}null`},
		{
			name:    "request",
			script:  `EMIT !GET('page'), !POST('name'), !COOKIE('theme'), !REQUEST('path'), !REQUEST('method')`,
			request: request{map[string]string{"page": "2"}, map[string]string{"name": "Grace"}, map[string]string{"theme": "dark"}, "/shop", "POST"},
			output:  `2Gracedark/shopPOST`,
		},
		{
			name:    "cookies of our own",
			script:  `EMIT !COOKIE`,
			request: request{map[string]string{}, map[string]string{}, map[string]string{"QLSESSID": "secret", "QLD_abc": "secret", "qlsessid": "theirs", "XQLD_": "theirs too"}, "/", ""},
			output:  `{"XQLD_":"theirs too","qlsessid":"theirs"}`,
		},
		{name: "secret", script: `EMIT !SECRET('greeting')`, output: "hello secret"},
		{name: "account", script: `EMIT !ACCOUNT('username'), " ", !ACCOUNT('plan')`, output: "ada standard"},
		{name: "include", script: "INCLUDE \"/lib.ql\"\nEMIT double(21)", output: "42"},
		{name: "database", script: "CREATE TABLE IF NOT EXISTS t (n INTEGER);\nDELETE FROM t;\nINSERT INTO t VALUES (7);\nSELECT n FROM t SET VALUE ?n\nEMIT ?n", output: "7"},
		{name: "short wait", script: `WAIT 0.01 SECONDS EMIT "later"`, output: "later"},
		{name: "syntax error", script: "EMIT 1\nEMIT (", status: 422, code: "syntax_error", line: 2},
		{name: "division", script: "EMIT \"so far\"\nEMIT 1 / 0", output: "so far", status: 422, code: "division_by_zero", line: 2},
		{name: "own code", script: `FAIL "none left" CODE "out_of_stock"`, status: 422, code: "out_of_stock", line: 1},
		{name: "file not found", script: `READ "/none.txt" SET ?x`, status: 422, code: "file_not_found", line: 1},
		{name: "missing include", script: `INCLUDE "/none.ql"`, status: 422, code: "syntax_error", line: 1},
		{name: "endless", script: `WHILE TRUE DO SET ?x AS 1 END`, status: 422, code: "limit_exceeded", line: 1},
	}
	for _, test := range tests {
		if test.status == 0 {
			test.status = 200
		}
		t.Run(test.name+"/json", func(t *testing.T) {
			more := ""
			if r := test.request; r.path != "" {
				more = `"request":` + mustJSON(t, map[string]any{"get": r.get, "post": r.post, "cookie": r.cookie, "path": r.path, "method": r.method})
			}
			r := w.query(ada, test.script, more)
			a := r.read(t)
			wantStatus := "ok"
			if test.code != "" {
				wantStatus = "failed"
			}
			if r.status != test.status || a.Status != wantStatus || a.Result == nil || *a.Result != test.output ||
				a.Error.Code != test.code || a.Error.Line != test.line || a.Trace == nil || len(a.JobID) != 36 {
				t.Errorf("answer %d %s", r.status, r.body)
			}
			poll := w.send("GET", "/v1/job/"+a.JobID, "", "")
			if want := strings.Replace(r.body, `{"status":"ok"`, `{"status":"complete"`, 1); poll.status != 200 || poll.body != want {
				t.Errorf("poll %d %s\nwant %s", poll.status, poll.body, want)
			}
		})
		t.Run(test.name+"/form", func(t *testing.T) {
			more := url.Values{}
			if r := test.request; r.path != "" {
				more = url.Values{"get": {mustJSON(t, r.get)}, "post": {mustJSON(t, r.post)}, "cookie": {mustJSON(t, r.cookie)}, "path": {r.path}, "method": {r.method}}
			}
			r := w.form(ada, test.script, more)
			wantStatus := "ok"
			output := r.body
			if test.code != "" {
				wantStatus = "failed"
				at := strings.LastIndex(r.body, "error: "+test.code+": ")
				if at < 0 {
					t.Fatalf("answer %d %s", r.status, r.body)
				}
				output = strings.TrimSuffix(r.body[:at], "\n")
			}
			if r.status != test.status || output != test.output || r.header.Get("QL-Status") != wantStatus || r.header.Get("QL-Error") != test.code ||
				len(r.header.Get("QL-Job-Id")) != 36 || r.header.Get("Content-Type") != "text/plain; charset=utf-8" {
				t.Errorf("answer %d %v %s", r.status, r.header, r.body)
			}
		})
	}
}

// Both conventions show all errors of a script.
func TestSyntaxErrorsInBothConventions(t *testing.T) {
	w := boot(t, settings{})
	ada := w.member("ada", account.Standard)
	const script = "EMIT (\nPRINT 1\nEMIT 1 +"
	r := w.form(ada, script, nil)
	a := w.query(ada, script, "").read(t)
	if len(a.Error.Details) != 3 {
		t.Fatalf("details %v", a.Error.Details)
	}
	want := ""
	for _, d := range a.Error.Details {
		want += fmt.Sprintf("error: syntax_error: %s (line %v, column %v)\n", d["message"], d["line"], d["column"])
	}
	if r.status != 422 || r.body != want {
		t.Errorf("answer %d %s\nwant %s", r.status, r.body, want)
	}
}

// limited changes the limits of every plan.
func limited(change func(*account.Limits)) settings {
	limits := func(p account.Plan) account.Limits {
		l := p.Limits()
		change(&l)
		return l
	}
	return settings{
		service:  func(o *service.Options) { o.Limits = limits },
		accounts: func(o *account.Options) { o.Limits = limits },
	}
}

func TestOutputInBytes(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	const script = `EMIT FROM_BASE64("/wD+")`
	r := w.query(ada, script, "")
	a := r.read(t)
	if *a.Result != "/wD+" || a.ResultEncoding != "base64" {
		t.Errorf("JSON: %s", r.body)
	}
	if poll := w.send("GET", "/v1/job/"+a.JobID, "", "").read(t); *poll.Result != "/wD+" || poll.ResultEncoding != "base64" {
		t.Errorf("poll: %+v", poll)
	}
	if r := w.form(ada, script, nil); r.body != "\xff\x00\xfe" || r.header.Get("Content-Type") != "application/octet-stream" {
		t.Errorf("form: %q %v", r.body, r.header)
	}
}

func TestResponse(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	const script = `SET "status" AS 201 OF !RESPONSE
SET "header:X-Shop" AS "für dich" OF !RESPONSE
SET "theme" AS "dark" OF !COOKIE
UNSET "old" OF !COOKIE`
	r := w.query(ada, script, `"request":{"cookie":{"old":"1"}}`)
	const want = `"response":{"status":201,"headers":{"X-Shop":"für dich"},"cookies":{"theme":"dark","old":null}}`
	if r.status != 200 || !strings.Contains(r.body, want) {
		t.Errorf("JSON: %d %s", r.status, r.body)
	}
	if poll := w.send("GET", "/v1/job/"+r.read(t).JobID, "", ""); !strings.Contains(poll.body, want) {
		t.Errorf("poll: %s", poll.body)
	}
	f := w.form(ada, script, url.Values{"cookie": {`{"old":"1"}`}})
	if got := f.header.Get("QL-Response"); f.status != 200 || got != `{"status":201,"headers":{"X-Shop":"f\u00fcr dich"},"cookies":{"theme":"dark","old":null}}` {
		t.Errorf("form: %d %s %s", f.status, got, f.body)
	}
	if r.header.Get("X-Shop") != "" || len(r.header.Values("Set-Cookie")) != 0 {
		t.Error("what a script sets is applied to our own answer")
	}
}

// TestHeadersAreBounded checks that no script makes the headers of its answer
// so long that a client refuses it.
func TestHeadersAreBounded(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	tests := []struct {
		name, script, code string
		omitted            bool
	}{
		{"long headers", `SET 'header:X-A' AS REPEAT('a', 8192) OF !RESPONSE SET 'header:X-B' AS REPEAT('b', 8192) OF !RESPONSE EMIT "hi"`, "", true},
		{"many headers", `FOR ?i FROM 1 TO 100 DO SET "header:X-{?i}" AS REPEAT("some text", 10) OF !RESPONSE END EMIT "hi"`, "", true},
		{"letters that are longer in a header", `SET 'header:X-A' AS REPEAT('ä', 2000) OF !RESPONSE EMIT "hi"`, "", true},
		{"a header that fits", `SET 'header:X-A' AS REPEAT('a', 8000) OF !RESPONSE EMIT "hi"`, "", false},
		{"a long code", `EMIT LINE "hi" FAIL "x" CODE REPEAT("ab", 100000)`, "bad_argument", false},
		{"a code of two lines", `EMIT LINE "hi" FAIL "x" CODE "a\nb: c"`, "bad_argument", false},
		{"a long code in a map", `EMIT LINE "hi" FAIL {message: "x", code: REPEAT("ab", 100000)}`, "bad_argument", false},
	}
	for _, test := range tests {
		r := w.form(ada, test.script, nil)
		size := 0
		for name, values := range r.header {
			size += len(name) + len(strings.Join(values, ""))
		}
		if !strings.HasPrefix(r.body, "hi") || strings.Count(r.body, "\n") > 2 || r.header.Get("QL-Error") != test.code || size > 10_000 {
			t.Errorf("%s: %d bytes of headers, QL-Error %.100q, %.200q", test.name, size, r.header.Get("QL-Error"), r.body)
		}
		want := ""
		if test.omitted {
			want = "too large"
		}
		if got := r.header.Get("QL-Response-Omitted"); got != want || test.omitted && r.header.Get("QL-Response") != "" {
			t.Errorf("%s: QL-Response-Omitted %q, want %q", test.name, got, want)
		}
	}
	if r := w.query(ada, tests[0].script, ""); !strings.Contains(r.body, strings.Repeat("b", 8192)) {
		t.Error("the JSON convention leaves the response out")
	}
}

func TestSyntaxErrors(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	r := w.query(ada, "EMIT (\nEMIT )\nEMIT 1", "")
	a := r.wantError(t, 422, "syntax_error")
	if a.Status != "failed" || len(a.Error.Details) < 2 || a.Error.Line != 1 || a.Error.Details[0]["message"] != a.Error.Message {
		t.Errorf("%s", r.body)
	}
	many := w.query(ada, strings.Repeat("EMIT )\n", 5000), "").wantError(t, 422, "syntax_error")
	if n := len(many.Error.Details); n > 100 {
		t.Errorf("%d details", n)
	}
}

func TestSyncTime(t *testing.T) {
	w := boot(t, limited(func(l *account.Limits) { l.SyncTime = 100 * time.Millisecond }))
	ada := w.member("ada", account.Standard)
	r := w.query(ada, "EMIT \"so far\"\nWHILE TRUE DO SET ?x AS 1 END", "")
	a := r.wantError(t, 422, "limit_exceeded")
	if a.Error.Limit != "sync_time" || a.Error.Value != 100 || *a.Result != "so far" || !strings.Contains(a.Error.Message, "than the 0.1 seconds that a synchronous call may take") || !strings.Contains(a.Error.Message, "mode: async") {
		t.Errorf("%s", r.body)
	}
}

// TestSessionBusy holds a session for longer than another call may wait for it.
func TestSessionBusy(t *testing.T) {
	held, free := make(chan struct{}), make(chan struct{})
	var calls atomic.Int32
	w := boot(t, limited(func(l *account.Limits) { l.SyncTime = 200 * time.Millisecond }), settings{service: func(o *service.Options) {
		open := o.Host.Resources
		o.Host.Resources = func(ctx context.Context, a account.Account, l account.Limits, session string) (engine.Resources, error) {
			r, err := open(ctx, a, l, session)
			if calls.Add(1) == 2 {
				r.Quota = func(context.Context) (value.Value, error) {
					close(held)
					<-free
					return value.NewMap(nil, 0).Value(), nil
				}
			}
			return r, err
		}
	}})
	ada := w.member("ada", account.Standard)
	cookie := w.query(ada, "START SESSION", "").cookie(t)
	send := []string{"Cookie", "QLSESSID=" + cookie.Value}
	done := make(chan response)
	go func() { done <- w.query(ada, "START SESSION EMIT !QUOTA('x')", "", send...) }()
	<-held
	r := w.query(ada, "START SESSION", "", send...)
	if a := r.wantError(t, 409, "session_busy"); a.Status != "failed" || a.Error.Step != "START SESSION" {
		t.Errorf("%s", r.body)
	}
	if r := w.form(ada, "START SESSION", nil, send...); r.status != 409 || r.header.Get("QL-Error") != "session_busy" {
		t.Errorf("%d %s", r.status, r.body)
	}
	close(free)
	<-done
	w.query(ada, `FAIL "mine" CODE "internal"`, "").wantError(t, 422, "internal")
}

// TestFaultsInScripts lets resources break under a script.
func TestFaultsInScripts(t *testing.T) {
	var broken error
	w := boot(t, settings{service: func(o *service.Options) {
		open := o.Host.Resources
		o.Host.Resources = func(ctx context.Context, a account.Account, l account.Limits, session string) (engine.Resources, error) {
			r, err := open(ctx, a, l, session)
			r.Quota = func(context.Context) (value.Value, error) { return value.Null, broken }
			r.Files = brokenFiles{r.Files, &broken}
			return r, err
		}
	}})
	ada := w.member("ada", account.Standard)
	for _, script := range []string{"EMIT \"so far\"\nEMIT !QUOTA('x')", "INCLUDE \"/a.ql\""} {
		broken = errors.New("the inside story")
		before := strings.Count(w.log.String(), "the inside story")
		r := w.query(ada, script, "")
		a := r.wantError(t, 500, "internal")
		if a.Status != "failed" || len(a.Error.ID) != 8 || strings.Contains(r.body, "inside") || strings.Count(w.log.String(), "the inside story") != before+1 {
			t.Errorf("%s\n%s", r.body, w.log)
		}
		broken = fault.Retryable(fault.StorageUnavailable, 5*time.Second, "the storage cannot be used at the moment")
		r = w.query(ada, script, "")
		if r.wantError(t, 503, "storage_unavailable"); r.header.Get("Retry-After") != "5" {
			t.Errorf("%v", r.header)
		}
		if f := w.form(ada, script, nil); f.status != 503 || f.header.Get("QL-Status") != "failed" || f.header.Get("Retry-After") != "5" {
			t.Errorf("form: %d %v", f.status, f.header)
		}
	}
}

type brokenFiles struct {
	engine.Files
	err *error
}

func (f brokenFiles) Read(context.Context, string, int) ([]byte, error) { return nil, *f.err }

func mustJSON(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	check(t, err)
	return string(text)
}

// TestInputOfACall: a script that says what it is given is not run for a call that gives
// it nothing, and nothing of that is a job.
func TestInputOfACall(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	const wants = "INPUT FIELDS name TEXT REQUIRED, qty INTEGER DEFAULT 1\nWRITE \"x\" TO \"/ran.txt\"\nEMIT !INPUT"
	for _, more := range []string{"", `"mode":"async"`} {
		r := w.query(ada, wants, more)
		a := r.read(t)
		if r.status != 422 || a.Error.Code != "invalid_fields" || a.Error.Fields["name"] != "must be answered" || len(a.Error.Fields) != 1 || a.JobID != "" {
			t.Errorf("%s: %d %s", more, r.status, r.body)
		}
	}
	if r := w.form(ada, wants, url.Values{}); r.status != 422 || r.header.Get("QL-Error") != "invalid_fields" {
		t.Errorf("%d %v %s", r.status, r.header, r.body)
	}
	if r := w.query(ada, `READ "/ran.txt" OPTIONAL SET ?x EMIT ?x IS NULL`, ""); *r.read(t).Result != "true" {
		t.Errorf("the script was run: %s", r.body)
	}
	if r := w.query(ada, "INPUT FIELDS name TEXT, qty INTEGER DEFAULT 1\nEMIT !INPUT", ""); *r.read(t).Result != `{"name":null,"qty":1}` {
		t.Errorf("%d %s", r.status, r.body)
	}
	r := w.query(ada, "CHECK {qty: 0} FIELDS qty INTEGER MIN 1, name TEXT REQUIRED", "")
	if a := r.read(t); r.status != 422 || a.Error.Code != "invalid_fields" || len(a.Error.Fields) != 2 || a.Error.Line != 1 || a.JobID == "" {
		t.Errorf("a CHECK that nobody catches: %d %s", r.status, r.body)
	}
	if r := w.query(ada, "EMIT TO_JSON(!INPUT)", ""); *r.read(t).Result != "null" {
		t.Errorf("%d %s", r.status, r.body)
	}
}
