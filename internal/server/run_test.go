package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/admit"
	"ql/internal/auth"
	"ql/internal/engine"
	"ql/internal/server"
	"ql/internal/service"
)

// publishAs publishes a script of an account.
func (w *world) publishAs(m member, name, text string, s account.Switches) {
	w.t.Helper()
	_, _, err := w.accounts.PublishScript(w.t.Context(), m.Account, account.Publication{Name: name, Text: text, Switches: s, Keep: time.Hour})
	check(w.t, err)
}

var (
	forAnyone  = account.Switches{Callers: account.CallersAnyone}
	forDomains = account.Switches{Callers: account.CallersDomains}
	forKeys    = account.Switches{Callers: account.CallersKeys}
)

// TestThreeConventions: a script gives the same through each of them, and what it sets on its
// answer is handed over by two and applied by the third.
func TestThreeConventions(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	for i, test := range []struct {
		name   string
		script string
		get    map[string]string
		cookie map[string]string
		path   string
		output string
		status int               // of the program
		header map[string]string // likewise
		set    string            // the Set-Cookie header, without what ends it
		failed string
	}{
		{name: "text", script: `EMIT "Hello, {=1 + 1}"`, output: "Hello, 2", status: 200, header: map[string]string{"Content-Type": "text/plain; charset=utf-8"}},
		{name: "nothing", script: `SET ?a AS 1`, output: "", status: 200},
		{name: "bytes", script: `EMIT FROM_BASE64("/w==")`, output: "\xff", status: 200, header: map[string]string{"Content-Type": "application/octet-stream"}},
		{name: "query", script: `EMIT !GET('a'), !GET('b') DEFAULT "-"`, get: map[string]string{"a": "x y"}, output: "x y-", status: 200},
		{name: "cookie", script: `EMIT !COOKIE('theme'), !COOKIE('QLSESSID') DEFAULT "-"`, cookie: map[string]string{"theme": "dark"}, output: "dark-", status: 200},
		{name: "path", script: `EMIT !REQUEST('path'), " ", !REQUEST('method')`, path: "/items/3", output: "/items/3 POST", status: 200},
		{name: "status", script: `SET "status" AS 404 OF !RESPONSE EMIT "no"`, output: "no", status: 404},
		{name: "header", script: `SET "header:X-Total" AS "3" OF !RESPONSE SET "header:Content-Type" AS "text/csv" OF !RESPONSE EMIT "a,b"`, output: "a,b", status: 200,
			header: map[string]string{"X-Total": "3", "Content-Type": "text/csv"}},
		{name: "cookie set", script: `SET "theme" AS "light" OF !COOKIE EMIT "ok"`, output: "ok", status: 200, set: "theme=light"},
		{name: "JSON", script: `EMIT JSON {a: [1, NULL]}`, output: `{"a":[1,null]}`, status: 200, header: map[string]string{"Content-Type": "application/json"}},
		{name: "failed", script: `EMIT "so far" EMIT 1 / 0`, failed: "division_by_zero", status: 500},
		{name: "own error", script: `FAIL "there is no ink" CODE "out_of_ink"`, failed: "out_of_ink", status: 500},
		{name: "limit", script: `EMIT REPEAT("x", 100000000)`, failed: "limit_exceeded", status: 503},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := test.path
			if path == "" {
				path = "/"
			}
			get, cookie := mustJSON(t, test.get), mustJSON(t, test.cookie)
			if test.get == nil {
				get = "{}"
			}
			if test.cookie == nil {
				cookie = "{}"
			}
			form := w.form(ada, test.script, url.Values{"get": {get}, "cookie": {cookie}, "path": {path}, "method": {"POST"}})
			a := w.query(ada, test.script, fmt.Sprintf(`"request":{"get":%s,"cookie":%s,"path":%q,"method":"POST"}`, get, cookie, path)).read(t)
			name := fmt.Sprintf("p%d", i)
			w.publishAs(ada, name, test.script, forAnyone)
			query := url.Values{}
			for k, v := range test.get {
				query.Set(k, v)
			}
			headers := []string{"Authorization", basic(ada.name, ada.password)}
			for k, v := range test.cookie {
				headers = append(headers, "Cookie", k+"="+v)
			}
			run := w.send("POST", "/run/ada/"+name+strings.TrimSuffix(path, "/")+"?"+query.Encode(), "", "", headers...)
			if run.status != test.status {
				t.Errorf("status %d, want %d: %s", run.status, test.status, run.body)
			}
			if test.failed != "" {
				if got := run.read(t); form.header.Get("QL-Error") != test.failed || a.Error.Code != test.failed || got.Error.Code != test.failed || got.Status != "failed" || got.JobID == "" {
					t.Errorf("failed as %s, %s and %s", form.header.Get("QL-Error"), a.Error.Code, run.body)
				}
				return
			}
			result := *a.Result
			if a.ResultEncoding != "" {
				result = "\xff"
			}
			if form.body != test.output || result != test.output || run.body != test.output {
				t.Errorf("the outputs are %q, %q and %q, want %q", form.body, result, run.body, test.output)
			}
			for name, want := range test.header {
				if got := run.header.Get(name); got != want {
					t.Errorf("%s: %q, want %q", name, got, want)
				}
			}
			if got := run.header.Get("Set-Cookie"); test.set != "" && got != test.set+"; Path=/run/ada/; HttpOnly; SameSite=Lax" {
				t.Errorf("Set-Cookie: %q", got)
			}
			// What the two hand over is what the third has applied.
			if test.status != 200 && a.Response["status"] != float64(test.status) {
				t.Errorf("the response is %v", a.Response)
			}
			var handed map[string]any
			if text := form.header.Get("QL-Response"); text != "" {
				check(t, json.Unmarshal([]byte(text), &handed))
			}
			if mustJSON(t, handed) != mustJSON(t, a.Response) {
				t.Errorf("the responses are %v and %v", handed, a.Response)
			}
		})
	}
}

// TestRunCallers: who may call a program is its owner's to say.
func TestRunCallers(t *testing.T) {
	w := boot(t, settings{
		service: func(o *service.Options) { o.Limiter = admit.NewLimiter(admit.LimiterOptions{Unlimited: true}) },
		auth:    func(o *auth.Options) { o.Unthrottled = true },
	})
	ada, bob := w.member("ada", account.Standard), w.member("bob", account.Standard)
	for owner, domain := range map[string]string{"ada": "shop.example.com", "bob": "bob.example.com"} {
		_, err := w.accounts.AddDomain(t.Context(), owner, domain, false)
		check(t, err)
	}
	for name, s := range map[string]account.Switches{"keys": forKeys, "domains": forDomains, "anyone": forAnyone} {
		w.publishAs(ada, name, "EMIT !ACCOUNT('username')", s)
	}
	for _, test := range []struct {
		who     string
		headers []string
		// In the order of keys, domains, anyone.
		want     [3]int
		readable string // by which page
	}{
		{"nobody", nil, [3]int{404, 404, 200}, ""},
		{"owner by password", []string{"Authorization", basic("ada", ada.password)}, [3]int{200, 200, 200}, ""},
		{"owner by key", []string{"Authorization", basic("ada", ada.key)}, [3]int{200, 200, 200}, ""},
		{"wrong password", []string{"Authorization", basic("ada", "another long sentence")}, [3]int{401, 401, 401}, ""},
		{"somebody else", []string{"Authorization", basic("bob", bob.password)}, [3]int{404, 404, 200}, ""},
		{"listed page", []string{"Origin", listed}, [3]int{404, 200, 200}, listed},
		{"page of somebody else's list", []string{"Origin", bobs}, [3]int{404, 404, 200}, ""},
		{"unlisted page", []string{"Origin", unlisted}, [3]int{404, 404, 200}, ""},
		{"page of no name", []string{"Origin", "null"}, [3]int{404, 404, 200}, ""},
		{"owner from a listed page", []string{"Authorization", basic("ada", ada.password), "Origin", listed}, [3]int{200, 200, 200}, listed},
		{"owner from an unlisted page", []string{"Authorization", basic("ada", ada.password), "Origin", unlisted}, [3]int{403, 403, 403}, ""},
		{"key from an unlisted page", []string{"Authorization", basic("ada", ada.key), "Origin", unlisted}, [3]int{403, 403, 403}, ""},
		{"owner led by another site", []string{"Authorization", basic("ada", ada.password), "Sec-Fetch-Site", "cross-site"}, [3]int{403, 403, 403}, ""},
		{"token of the program's own", []string{"Authorization", "Bearer theirs"}, [3]int{404, 404, 200}, ""},
		{"no key", []string{"Authorization", "Bearer qln_wrong"}, [3]int{401, 401, 401}, ""},
	} {
		for i, name := range []string{"keys", "domains", "anyone"} {
			r := w.send("GET", "/run/ada/"+name, "", "", test.headers...)
			if r.status != test.want[i] || r.status == 200 && r.body != "ada" {
				t.Errorf("%s calls %s: %d %s, want %d", test.who, name, r.status, r.body, test.want[i])
			}
			want := ""
			if r.status == 200 || r.status == 404 {
				want = test.readable
			}
			if got := r.header.Get("Access-Control-Allow-Origin"); got != want {
				t.Errorf("%s calls %s: %d may be read by %q, want %q", test.who, name, r.status, got, want)
			}
			for header, want := range map[string]string{"Content-Security-Policy": "sandbox; default-src 'none'", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"} {
				if got := r.header.Values(header); len(got) != 1 || got[0] != want {
					t.Errorf("%s calls %s: %s: %q", test.who, name, header, got)
				}
			}
		}
	}
}

// TestRunLooksAlike: strangers do not learn which accounts and programs there are.
func TestRunLooksAlike(t *testing.T) {
	w := boot(t)
	ada, off := w.member("ada", account.Standard), w.member("off", account.Standard)
	w.publishAs(ada, "mine", "EMIT 1", forKeys)
	w.publishAs(off, "mine", "EMIT 1", forAnyone)
	check(t, w.store.Accounts().SetFlag(t.Context(), off.ID, account.FlagDisabled, true))
	addresses := []string{"/run/ada/mine", "/run/ada/none", "/run/nobody/mine", "/run/off/mine", "/run/ada/mine@1", "/run/ada/mine/rest", "/run/ada/%2e", "/run/ADA/mine", "/run/ada", "/run/ada/", "/run//mine"}
	var first response
	for round := range 4 {
		for i, address := range addresses {
			r := w.send("PUT", address, "", "")
			r.header.Del("Date")
			for _, name := range []string{"RateLimit", "Retry-After"} { // of the misses, which go on
				if r.status == 429 {
					r.header.Del(name)
				}
			}
			if round == 0 && i == 0 {
				first = r
			}
			if r.status == 404 && (r.body != first.body || !maps.EqualFunc(r.header, first.header, slices.Equal)) {
				t.Errorf("%s: %d %v %s, and %s: %d %v %s", addresses[0], first.status, first.header, first.body, address, r.status, r.header, r.body)
			}
			if r.status != 404 && (r.status != 429 || r.header.Get("RateLimit-Policy") != `"misses";q=30;w=60`) {
				t.Errorf("%s: %d %v %s", address, r.status, r.header, r.body)
			}
		}
	}
	if r := w.send("GET", "/run/ada/mine", "", "", "Authorization", basic("ada", ada.password)); r.status != 200 {
		t.Errorf("the owner: %d %s", r.status, r.body)
	}
	w.send("POST", "/run/ada/mine", "text/plain", strings.Repeat("x", 1_100_000), "Authorization", basic("ada", ada.password)).wantError(t, 413, "too_large")
	if a := w.send("GET", "/run/ada/none", "", "", "Authorization", basic("ada", ada.password)).wantError(t, 404, "script_not_found"); !strings.Contains(a.Error.Message, `"none"`) {
		t.Errorf("the owner reads %s", a.Error.Message)
	}
}

// TestRunTellsNoPlan: what does not fit into an account's plan tells a stranger neither of the
// plan nor of the account.
func TestRunTellsNoPlan(t *testing.T) {
	for name, send := range map[string]func(w *world, user string) response{
		"body": func(w *world, user string) response {
			return w.send("POST", "/run/"+user+"/mine", "text/plain", strings.Repeat("x", 1_100_000))
		},
		"query": func(w *world, user string) response {
			return w.send("GET", "/run/"+user+"/none?"+manyNames(300), "", "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := boot(t)
			w.publishAs(w.member("ada", account.Standard), "mine", "EMIT 1", forKeys)
			w.member("una", account.Unlimited) // a larger request is read
			// Sooner or later: a minute has its misses, and a slow machine time for more.
			for range 300 {
				last, other := send(w, "ada"), send(w, "nobody")
				for _, a := range []response{last, other} {
					if a.status != 404 && a.status != 429 {
						t.Fatalf("got %d %s", a.status, a.body)
					}
				}
				if last.status == other.status && last.body != other.body {
					t.Fatalf("%d %s, and where there is no account %s", last.status, last.body, other.body)
				}
				if last.status == 429 {
					last.wantError(t, 429, "rate_limited")
					return
				}
			}
			t.Error("no such call is refused")
		})
	}
}

func manyNames(n int) string {
	q := url.Values{}
	for i := range n {
		q.Set("n"+strconv.Itoa(i), "")
	}
	return q.Encode()
}

func TestRunMethods(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	w.publishAs(ada, "all", "EMIT !REQUEST('method')", forAnyone)
	w.publishAs(ada, "some", "EMIT !REQUEST('method')", account.Switches{Callers: account.CallersAnyone, Methods: []string{"GET", "DELETE"}})
	w.publishAs(ada, "post", "EMIT !REQUEST('method')", account.Switches{Callers: account.CallersAnyone, Methods: []string{"POST"}})
	for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
		if r := w.send(method, "/run/ada/all", "", ""); r.status != 200 || r.body != method {
			t.Errorf("%s: %d %s", method, r.status, r.body)
		}
	}
	if r := w.send("HEAD", "/run/ada/all", "", ""); r.status != 200 || r.body != "" || r.header.Get("Content-Length") != "3" {
		t.Errorf("HEAD: %d %v %s", r.status, r.header, r.body)
	}
	const every = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
	for _, test := range []struct {
		method, program string
		status          int
		allow           string
	}{
		{"GET", "some", 200, ""}, {"DELETE", "some", 200, ""}, {"HEAD", "some", 200, ""}, {"HEAD", "post", 405, "POST"}, {"GET", "post", 405, "POST"},
		{"POST", "some", 405, "GET, HEAD, DELETE"}, {"PROPFIND", "all", 405, "GET, HEAD, POST, PUT, PATCH, DELETE"}, {"FOO", "some", 405, "GET, HEAD, DELETE"}, {"get", "all", 405, "GET, HEAD, POST, PUT, PATCH, DELETE"},
		{"TRACE", "all", 405, every}, {"OPTIONS", "all", 204, every}, {"OPTIONS", "some", 204, every}, {"OPTIONS", "none", 204, every}, {"OPTIONS", "a/b", 204, every},
	} {
		r := w.send(test.method, "/run/ada/"+test.program, "", "")
		if r.status != test.status || r.header.Get("Allow") != test.allow {
			t.Errorf("%s %s: %d %q, want %d %q", test.method, test.program, r.status, r.header.Get("Allow"), test.status, test.allow)
		}
	}
}

func TestRunPreflight(t *testing.T) {
	w := boot(t)
	w.member("ada", account.Standard)
	w.member("bob", account.Standard)
	for owner, domain := range map[string]string{"ada": "shop.example.com", "bob": "bob.example.com"} {
		_, err := w.accounts.AddDomain(t.Context(), owner, domain, false)
		check(t, err)
	}
	ask := func(path, origin, headers string) response {
		list := []string{"Origin", origin, "Access-Control-Request-Method", "PATCH"}
		if headers != "" {
			list = append(list, "Access-Control-Request-Headers", headers)
		}
		return w.send("OPTIONS", path, "", "", list...)
	}
	r := ask("/run/ada/todo/1", listed, "content-type,x-more")
	if r.status != 204 || r.header.Get("Access-Control-Allow-Origin") != listed || r.header.Get("Access-Control-Allow-Headers") != "content-type,x-more" ||
		r.header.Get("Access-Control-Allow-Methods") != "GET, POST, PUT, PATCH, DELETE" || r.header.Get("Access-Control-Allow-Credentials") != "true" {
		t.Errorf("%d %v %s", r.status, r.header, r.body)
	}
	for name, r := range map[string]response{
		"page of another list": ask("/run/ada/todo", bobs, ""), "unlisted": ask("/run/ada/todo", unlisted, ""), "no account": ask("/run/nobody/todo", listed, ""), "null": ask("/run/ada/todo", "null", ""),
	} {
		r.wantError(t, 403, "origin_not_allowed")
		if r.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %v", name, r.header)
		}
	}
	ask("/run/ada/todo", listed, "a b;c").wantError(t, 400, "invalid_request")
	// Who asks which accounts list a domain is counted, and who may call is not.
	untilRefused(t, func() response { return ask("/run/ada/todo", unlisted, "") }).wantError(t, 429, "rate_limited")
	if r := ask("/run/ada/todo", listed, ""); r.status != 204 {
		t.Errorf("a listed page: %d %s", r.status, r.body)
	}
}

// TestRunRequest: what a program finds of its request.
func TestRunRequest(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	w.publishAs(ada, "show", `SET ?body AS !BODY
EMIT TO_JSON({path: !REQUEST('path'), rest: !REQUEST('rest'), base: !REQUEST('base'), get: !GET, post: !POST, body: CASE WHEN TYPE(?body) = "bytes" THEN "bytes" ELSE ?body END,
  raw: CASE WHEN TYPE(!REQUEST('body')) = "bytes" THEN "bytes" ELSE !REQUEST('body') END, cookie: !COOKIE, more: !REQUEST('header:x-more'), auth: !REQUEST('header:authorization'), cookies: !REQUEST('header:cookie')})`, forAnyone)
	const none = `"cookie":{},"more":null,"auth":null,"cookies":null}`
	for _, test := range []struct {
		name, path, kind, body string
		headers                []string
		want                   string
	}{
		{"nothing", "", "", "", nil, `{"path":"/","rest":"","base":"/run/ada/show","get":{},"post":{},"body":null,"raw":null,` + none},
		{"path", "/items/3%20b/", "", "", nil, `{"path":"/items/3 b/","rest":"items/3 b/","base":"/run/ada/show","get":{},"post":{},"body":null,"raw":null,` + none},
		{"query", "?a=1&b=%26&a=2", "", "", nil, `{"path":"/","rest":"","base":"/run/ada/show","get":{"a":["1","2"],"b":"&"},"post":{},"body":null,"raw":null,` + none},
		{"JSON", "", "application/json", ` {"a": [1]}`, nil, `{"path":"/","rest":"","base":"/run/ada/show","get":{},"post":{},"body":{"a":[1]},"raw":" {\"a\": [1]}",` + none},
		{"form", "", formType, `a=1&b=+`, nil, `{"path":"/","rest":"","base":"/run/ada/show","get":{},"post":{"a":"1","b":" "},"body":{"a":"1","b":" "},"raw":"a=1&b=+",` + none},
		{"text", "", "text/plain", "hi", nil, `{"path":"/","rest":"","base":"/run/ada/show","get":{},"post":{},"body":"hi","raw":"hi",` + none},
		{"bytes", "", "image/png", "\xff", nil, `{"path":"/","rest":"","base":"/run/ada/show","get":{},"post":{},"body":"bytes","raw":"bytes",` + none},
		{"headers", "", "", "", []string{"X-More", "a", "X-More", "b", "Cookie", "theme=dark; QLSESSID=x; __Host-qldash=y; theme=wide", "Authorization", "Bearer theirs"},
			`{"path":"/","rest":"","base":"/run/ada/show","get":{},"post":{},"body":null,"raw":null,"cookie":{"theme":"dark"},"more":"a, b","auth":"Bearer theirs","cookies":null}`},
		{"credentials", "", "", "", []string{"Authorization", basic("ada", ada.password)}, `{"path":"/","rest":"","base":"/run/ada/show","get":{},"post":{},"body":null,"raw":null,` + none},
	} {
		r := w.send("POST", "/run/ada/show"+test.path, test.kind, test.body, test.headers...)
		if r.status != 200 || r.body != test.want {
			t.Errorf("%s: %d\n%s, want\n%s", test.name, r.status, r.body, test.want)
		}
	}
	for _, path := range []string{"/../x", "/%2e%2e/x", "/a%2fb", "/a%5Cb", "/a//b", "/a%00", "/a%25b", "/%ff", "/."} {
		w.send("GET", "/run/ada/show"+path, "", "").wantError(t, 400, "invalid_request")
	}
	w.send("POST", "/run/ada/show", "application/json", "{", "Content-Encoding", "gzip").wantError(t, 415, "unsupported_media_type")
	w.send("POST", "/run/ada/show", "application/json", "{").wantError(t, 400, "invalid_request")
	if a := w.send("GET", "/run/ada/show?a=%zz", "", "").wantError(t, 400, "invalid_request"); strings.Contains(a.Error.Message, "body") {
		t.Errorf("a wrong query: %s", a.Error.Message)
	}
}

// TestRunFailures: strangers learn no more of a failure than its code.
func TestRunFailures(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	_, err := w.accounts.AddDomain(t.Context(), "ada", "shop.example.com", false)
	check(t, err)
	w.publishAs(ada, "fails", `EMIT "so far" SET "status" AS 201 OF !RESPONSE SET "header:X-A" AS "b" OF !RESPONSE FAIL "the password is 1234" CODE "my_code"`, forAnyone)
	for _, headers := range [][]string{nil, {"Origin", listed}} {
		r := w.send("GET", "/run/ada/fails", "", "", headers...)
		if r.status != 500 || r.body != `{"status":"failed","error":{"code":"my_code","message":"the program failed"}}` || r.header.Get("X-A")+r.header.Get("QL-Job-Id") != "" {
			t.Errorf("%d %v %s", r.status, r.header, r.body)
		}
	}
	r := w.send("GET", "/run/ada/fails", "", "", "Authorization", basic("ada", ada.password))
	a := r.wantError(t, 500, "my_code")
	if a.Error.Message != "the password is 1234" || a.Error.Line != 1 || r.header.Get("QL-Job-Id") != a.JobID {
		t.Errorf("%v %s", r.header, r.body)
	}
	job := w.send("GET", "/v1/job/"+a.JobID, "", "").read(t)
	if job.Status != "failed" || *job.Result != "so far" || len(job.Trace) == 0 {
		t.Errorf("the job: %+v", job)
	}
	// What was sent and does not fit is no fault of the program.
	w.publishAs(ada, "input", `INPUT FIELDS n INTEGER MIN 1 REQUIRED EMIT !INPUT('n') + 1`, forAnyone)
	w.publishAs(ada, "check", `CHECK !BODY FIELDS n INTEGER MIN 1 REQUIRED SET ?in EMIT ?in.n + 1`, forAnyone)
	for path, kind := range map[string]string{"input": jsonType, "check": jsonType, "input?more=1": formType} {
		good, bad := `{"n":"2"}`, `{"n":"none"}`
		if kind == formType {
			good, bad = "n=2", "n=none"
		}
		if a := w.send("POST", "/run/ada/"+path, kind, bad).wantError(t, 422, "invalid_fields"); a.Error.Fields["n"] != "must be a whole number from 1 on" || a.JobID != "" || a.Error.Line != 0 {
			t.Errorf("%s: %+v", path, a.Error)
		}
		if r := w.send("POST", "/run/ada/"+path, kind, good); r.status != 200 || r.body != "3" {
			t.Errorf("%s: %d %s", path, r.status, r.body)
		}
	}
	if r := w.send("GET", "/run/ada/input?n=4", "", ""); r.status != 200 || r.body != "5" {
		t.Errorf("by the query: %d %s", r.status, r.body)
	}
	w.send("GET", "/run/ada/input", "", "").wantError(t, 422, "invalid_fields")
	w.publishAs(ada, "large", `EMIT REPEAT("x", 100000000)`, forAnyone)
	if r := w.send("GET", "/run/ada/large", "", ""); r.status != 503 || r.body != `{"status":"failed","error":{"code":"limit_exceeded","message":"the program came to a limit"}}` {
		t.Errorf("%d %s", r.status, r.body)
	}
}

// TestRunStands: a program that asks somebody is a job of the owner's, of which a stranger gets
// where to answer what it is asked, and nothing else.
func TestRunStands(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	w.publishAs(ada, "form", `EMIT "so far" GATHER "Who?" FIELDS name TEXT SET ?form EMIT ?form.name`, forAnyone)
	w.publishAs(ada, "sure", `EMIT "so far" CONFIRM "Sure?" EMIT "done"`, forAnyone)
	w.publishAs(ada, "later", `WAIT 1 HOUR`, forAnyone)
	r := w.send("GET", "/run/ada/form", "", "")
	a := r.read(t)
	if r.status != 202 || a.Status != "paused" || a.FormURL == "" || a.JobID+a.PollURL+a.ConfirmURL != "" || a.Result != nil || r.header.Get("QL-Job-Id") != "" {
		t.Errorf("%d %v %s", r.status, r.header, r.body)
	}
	if page := w.send("GET", strings.TrimPrefix(a.FormURL, "http://ql.example"), "", ""); page.status != 200 || !strings.Contains(page.body, "Who?") {
		t.Errorf("the form: %d %s", page.status, page.body)
	}
	if r := w.send("GET", "/run/ada/sure", "", ""); r.status != 202 || r.body != `{"status":"paused"}` {
		t.Errorf("%d %s", r.status, r.body)
	}
	// Nor are questions for somebody else the caller's to answer.
	w.publishAs(ada, "to", `GATHER "Who?" FIELDS name TEXT TO "finance" SET ?form`, forAnyone)
	w.publishAs(ada, "sent", `SET ?url AS !JOB('form_url') GATHER "Who?" FIELDS name TEXT SET ?form`, forAnyone)
	for _, name := range []string{"to", "sent"} {
		if r := w.send("GET", "/run/ada/"+name, "", ""); r.status != 202 || r.body != `{"status":"paused"}` {
			t.Errorf("%s: %d %s", name, r.status, r.body)
		}
	}
	// A key that may not run the program calls it as a stranger does.
	if r := w.send("GET", "/run/ada/sure", "", "", bearer(w.key(ada, "files", "files"))...); r.status != 202 || r.body != `{"status":"paused"}` || r.header.Get("QL-Job-Id") != "" {
		t.Errorf("a key of files: %d %v %s", r.status, r.header, r.body)
	}
	if r := w.send("GET", "/run/ada/sure", "", "", bearer(w.key(ada, "sure", "run:sure"))...); r.status != 202 || r.read(t).PollURL == "" {
		t.Errorf("a key of the program: %d %s", r.status, r.body)
	}
	if r := w.send("GET", "/run/ada/later", "", ""); r.status != 202 || !strings.HasPrefix(r.body, `{"status":"waiting","resume_at":"`) {
		t.Errorf("%d %s", r.status, r.body)
	}
	r = w.send("GET", "/run/ada/sure", "", "", "Authorization", basic("ada", ada.password))
	if a := r.read(t); r.status != 202 || a.Status != "paused" || a.PollURL == "" || a.FormURL == "" || a.ConfirmURL == "" || *a.Result != "so far" || r.header.Get("QL-Job-Id") != a.JobID {
		t.Errorf("%d %v %s", r.status, r.header, r.body)
	}
}

// TestRunWithoutRoom: of a result that there is no room to send a stranger learns no id of a job,
// by which it would read it all the same.
func TestRunWithoutRoom(t *testing.T) {
	ledger := admit.NewLedger(admit.LedgerOptions{Budget: 4 << 20, Unlimited: true, Wait: time.Millisecond})
	w := boot(t, settings{http: func(o *server.Options) { o.Ledger = ledger }})
	ada := w.member("ada", account.Standard)
	_, err := w.accounts.AddDomain(t.Context(), "ada", "shop.example.com", false)
	check(t, err)
	w.publishAs(ada, "large", `EMIT REPEAT("x", 5000000)`, forAnyone)
	for who, test := range map[string]struct {
		headers []string
		job     bool
	}{
		"stranger":           {nil, false},
		"key of files":       {bearer(w.key(ada, "files", "files")), false},
		"key of the program": {bearer(w.key(ada, "large", "run:large")), true},
		"owner":              {[]string{"Authorization", basic("ada", ada.password)}, true},
		"listed page":        {[]string{"Origin", listed}, true},
	} {
		a := w.send("GET", "/run/ada/large", "", "", test.headers...).wantError(t, 413, "too_large")
		_, rest, told := strings.Cut(a.Error.Message, "it is kept as the job ")
		if told != test.job || !strings.HasPrefix(a.Error.Message, "the script has run") {
			t.Errorf("%s: %s", who, a.Error.Message)
		}
		if id, _, _ := strings.Cut(rest, ","); told {
			// Its result does not fit into a poll either, which has found the job.
			w.send("GET", "/v1/job/"+id, "", "").wantError(t, 413, "too_large")
		}
	}
}

// TestRunCaches: caches keep what anybody gets, and not what the owner gets at the same address.
func TestRunCaches(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	w.publishAs(ada, "page", `SET "header:Cache-Control" AS "public, max-age=60" OF !RESPONSE EMIT 1`, forAnyone)
	r := w.send("GET", "/run/ada/page", "", "")
	if r.header.Get("Cache-Control") != "public, max-age=60" || !slices.Equal(r.header.Values("Vary"), []string{"Origin", "Authorization"}) || r.header.Get("QL-Job-Id") != "" {
		t.Errorf("a stranger: %v", r.header)
	}
	r = w.send("GET", "/run/ada/page", "", "", "Authorization", basic("ada", ada.password))
	if r.header.Get("Cache-Control") != "no-store" || r.header.Get("QL-Job-Id") == "" {
		t.Errorf("the owner: %v", r.header)
	}
}

// TestRunSessions: a visitor's session is of one account's programs.
func TestRunSessions(t *testing.T) {
	w := boot(t)
	ada, bob := w.member("ada", account.Standard), w.member("bob", account.Standard)
	const script = `START SESSION SET "n" AS (!SESSION('n') DEFAULT 0) + 1 OF !SESSION EMIT !SESSION('n')`
	w.publishAs(ada, "count", script, forAnyone)
	w.publishAs(bob, "count", script, forAnyone)
	r := w.send("GET", "/run/ada/count", "", "")
	c := r.cookie(t)
	if c == nil || c.Path != "/run/ada/" || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Domain != "" || r.body != "1" {
		t.Fatalf("%v %s", r.header, r.body)
	}
	if r := w.send("GET", "/run/ada/count", "", "", "Cookie", "QLSESSID="+c.Value); r.body != "2" || r.cookie(t) != nil {
		t.Errorf("%v %s", r.header, r.body)
	}
	if r := w.send("GET", "/run/bob/count", "", "", "Cookie", "QLSESSID="+c.Value); r.body != "1" || r.cookie(t) == nil || r.cookie(t).Value == c.Value || r.cookie(t).Path != "/run/bob/" {
		t.Errorf("%v %s", r.header, r.body)
	}
}

// TestRunIdempotency: a repeat has the first answer whole, and a stranger's key is that of its
// network.
func TestRunIdempotency(t *testing.T) {
	w := boot(t, settings{http: func(o *server.Options) { o.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} }})
	ada := w.member("ada", account.Standard)
	w.publishAs(ada, "count", `APPEND "x" TO FILE "/log.txt" READ "/log.txt" SET ?log SET "status" AS 201 OF !RESPONSE SET "header:X-Len" AS TEXT(LENGTH(?log)) OF !RESPONSE EMIT ?log`, forAnyone)
	call := func(from, key, path string, headers ...string) response {
		return w.send("POST", "/run/ada/count"+path, "", "", append(headers, "X-Forwarded-For", from, "Idempotency-Key", key)...)
	}
	for i, test := range []struct {
		r      response
		status int
		body   string
	}{
		{call("192.0.2.1", "a", ""), 201, "x"},
		{call("192.0.2.1", "a", "", "X-Other", "b", "Cookie", "c=d"), 201, "x"},
		{call("192.0.2.2", "a", ""), 201, "xx"},
		{call("192.0.2.2", "a", "", "Authorization", basic("ada", ada.password)), 201, "xxx"},
		{call("192.0.2.9", "a", "", "Authorization", basic("ada", ada.password)), 201, "xxx"},
	} {
		if test.r.status != test.status || test.r.body != test.body || test.r.header.Get("X-Len") != strconv.Itoa(len(test.body)) {
			t.Errorf("%d: %d %v %s, want %d %s", i, test.r.status, test.r.header, test.r.body, test.status, test.body)
		}
	}
	call("192.0.2.1", "a", "/other").wantError(t, 422, "idempotency_mismatch")
	call("192.0.2.1", "a", "?q=1").wantError(t, 422, "idempotency_mismatch")
}

// TestRunRates: strangers count by their network, and leave room for the owner.
func TestRunRates(t *testing.T) {
	w := boot(t, settings{http: func(o *server.Options) { o.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} }})
	ada := w.member("ada", account.Standard)
	w.publishAs(ada, "one", `EMIT 1`, forAnyone)
	last := untilRefused(t, func() response { return w.send("GET", "/run/ada/one", "", "", "X-Forwarded-For", "192.0.2.1") })
	if a := last.wantError(t, 429, "rate_limited"); a.Error.Limit != "origin_rate" || last.header.Get("Retry-After") == "" {
		t.Errorf("%v %s", last.header, last.body)
	}
	if r := w.send("GET", "/run/ada/one", "", "", "X-Forwarded-For", "192.0.2.2"); r.status != 200 {
		t.Errorf("from elsewhere: %d %s", r.status, r.body)
	}
	if r := w.send("GET", "/run/ada/one", "", "", "X-Forwarded-For", "192.0.2.1", "Authorization", basic("ada", ada.password)); r.status != 200 {
		t.Errorf("the owner: %d %s", r.status, r.body)
	}
}

// TestRunLeavesRoom: strangers never have all that the account may run at once.
func TestRunLeavesRoom(t *testing.T) {
	held := make(chan struct{})
	began := make(chan struct{}, 8)
	w := boot(t, limited(func(l *account.Limits) { l.Concurrent = 4 }), settings{service: func(o *service.Options) {
		o.Gate = admit.NewGate(admit.GateOptions{Slots: 8, Wait: time.Millisecond})
		open := o.Host.Resources
		o.Host.Resources = func(ctx context.Context, a account.Account, l account.Limits, session string) (engine.Resources, error) {
			r, err := open(ctx, a, l, session)
			r.Secrets = slowSecrets{began, held}
			return r, err
		}
	}})
	ada := w.member("ada", account.Standard)
	w.publishAs(ada, "slow", `EMIT !SECRET('a')`, account.Switches{Callers: account.CallersAnyone, Secrets: true})
	w.publishAs(ada, "fast", `EMIT 1`, forAnyone)
	done := make(chan int, 3)
	for range 3 {
		go func() { done <- w.send("GET", "/run/ada/slow", "", "").status }()
		<-began
	}
	w.send("GET", "/run/ada/fast", "", "").wantError(t, 429, "rate_limited")
	if r := w.send("GET", "/run/ada/fast", "", "", "Authorization", basic("ada", ada.password)); r.status != 200 {
		t.Errorf("the owner: %d %s", r.status, r.body)
	}
	close(held)
	for range 3 {
		if status := <-done; status != 200 {
			t.Errorf("a stranger: %d", status)
		}
	}
}

type slowSecrets struct {
	began chan<- struct{}
	held  <-chan struct{}
}

func (s slowSecrets) Secret(context.Context, string) (string, bool, error) {
	s.began <- struct{}{}
	<-s.held
	return "secret", true, nil
}

// TestRunLeavesMemory: nor all the memory that it may have at once, whichever way they come.
func TestRunLeavesMemory(t *testing.T) {
	held := make(chan struct{})
	began := make(chan struct{}, 14)
	w := boot(t, limited(func(l *account.Limits) { l.Concurrent, l.Memory = 10, 64<<20 }), settings{service: func(o *service.Options) {
		o.Gate = admit.NewGate(admit.GateOptions{Slots: 16, Wait: time.Second, Memory: 768 << 20})
		open := o.Host.Resources
		o.Host.Resources = func(ctx context.Context, a account.Account, l account.Limits, session string) (engine.Resources, error) {
			r, err := open(ctx, a, l, session)
			r.Secrets = slowSecrets{began, held}
			return r, err
		}
	}})
	ada := w.member("ada", account.Standard)
	_, err := w.accounts.AddDomain(t.Context(), "ada", "shop.example.com", false)
	check(t, err)
	w.publishAs(ada, "slow", `EMIT !SECRET('a')`, account.Switches{Callers: account.CallersAnyone, Secrets: true})
	ways := [][]string{nil, {"Origin", listed}, bearer(w.key(ada, "files", "files"))}
	done := make(chan int, 14)
	for i := range 14 {
		go func() { done <- w.send("GET", "/run/ada/slow", "", "", ways[i%len(ways)]...).status }()
	}
	for range 4 { // of the six that fit
		<-began
	}
	for name, r := range map[string]response{
		"owner":              w.query(ada, `EMIT 1`, ""),
		"key of the account": w.send("POST", "/v1/query", jsonType, `{"query":"EMIT 1"}`, bearer(w.key(ada, "run", "run"))...),
	} {
		if r.status != 200 {
			t.Errorf("%s: %d %s", name, r.status, r.body)
		}
	}
	select {
	case <-began:
		t.Error("one visitor more is in")
	default:
	}
	close(held)
	for range 14 {
		if status := <-done; status != 200 && status != 503 {
			t.Errorf("a visitor: %d", status)
		}
	}
}

// TestRunHidesKeys: a key of this service never comes to a program, however it was misspelled.
func TestRunHidesKeys(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	w.publishAs(ada, "show", `EMIT !REQUEST('header:authorization')`, forAnyone)
	key := w.key(ada, "files", "files")
	for _, sent := range []string{
		"Bearer\t" + key, "bearer  \t" + key, "Token " + key, "Bearer" + key, key, `Token token="` + key + `"`, "Bearer x," + key,
		"Bearer\t" + ada.key, "ApiKey " + ada.key, "Basic\t" + key, "Basic\tYTpi", "basic",
	} {
		r := w.send("GET", "/run/ada/show", "", "", "Authorization", sent)
		if r.status != 400 && r.status != 401 || strings.Contains(r.body, key) || strings.Contains(r.body, ada.key) {
			t.Errorf("%q: %d %s", sent, r.status, r.body)
		}
	}
	for _, theirs := range []string{"Bearer eyJh.b.c", "Token 1", "Digest a=b", "Bearer ql_x"} {
		if r := w.send("GET", "/run/ada/show", "", "", "Authorization", theirs); r.status != 200 || r.body != theirs {
			t.Errorf("%q: %d %s", theirs, r.status, r.body)
		}
	}
}

// TestRunInputOfABody: of a body that has no fields it is said what it is, and what would fit.
func TestRunInputOfABody(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	w.publishAs(ada, "greet", "INPUT FIELDS name TEXT REQUIRED\nEMIT !INPUT.name", forAnyone)
	w.publishAs(ada, "maybe", "INPUT FIELDS name TEXT\nEMIT TYPE(!BODY)", forAnyone)
	for _, test := range []struct{ kind, body, is string }{
		{jsonType, `[1]`, "a list"}, {jsonType, `"Ada"`, "a text"}, {jsonType, `null`, "null"},
		{"text/plain", "name=Ada", `"text/plain"`}, {"", "name=Ada", "a text"}, {"application/octet-stream", "\xff", `"application/octet-stream"`},
	} {
		a := w.send("POST", "/run/ada/greet", test.kind, test.body).wantError(t, 422, "invalid_fields")
		want := "name must be answered: the body is " + test.is + ", of which no fields are read; an object with Content-Type: application/json fits, or a form with application/x-www-form-urlencoded"
		if a.Error.Message != want || a.Error.Fields["name"] != "must be answered" {
			t.Errorf("%s: %+v", test.kind, a.Error)
		}
		if r := w.send("POST", "/run/ada/maybe", test.kind, test.body); r.status != 200 {
			t.Errorf("%s, where no field is needed: %d %s", test.kind, r.status, r.body)
		}
	}
	// A form in parts without files is a form.
	w.publishAs(ada, "form", "EMIT JSON {input: !INPUT, post: !POST, body: !BODY, raw: LENGTH(!REQUEST('body'))}", forAnyone)
	const inParts = "--x\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\nAda\r\n--x--\r\n"
	if r := w.send("POST", "/run/ada/greet", "multipart/form-data; boundary=x", inParts); r.status != 200 || r.body != "Ada" {
		t.Errorf("a form in parts: %d %s", r.status, r.body)
	}
	if r := w.send("POST", "/run/ada/form", "multipart/form-data; boundary=x", inParts); r.body != `{"input":{"name":"Ada"},"post":{"name":"Ada"},"body":{"name":"Ada"},"raw":0}` {
		t.Errorf("a form in parts: %d %s", r.status, r.body)
	}
	const withFile = "--x\r\nContent-Disposition: form-data; name=\"name\"; filename=\"a.txt\"\r\n\r\nAda\r\n--x--\r\n"
	if a := w.send("POST", "/run/ada/greet", "multipart/form-data; boundary=x", withFile).wantError(t, 422, "invalid_fields"); a.Error.Message != "name must be answered" {
		t.Errorf("%s", a.Error.Message)
	}
	for _, r := range []response{w.send("POST", "/run/ada/greet", "", ""), w.send("POST", "/run/ada/greet", jsonType, `{}`), w.send("POST", "/run/ada/greet", "application/x-www-form-urlencoded", "x=1")} {
		if a := r.wantError(t, 422, "invalid_fields"); strings.Contains(a.Error.Message, "the body") {
			t.Errorf("%s", a.Error.Message)
		}
	}
}

// TestRunAsCode: what a browser means to run is not even made.
func TestRunAsCode(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	w.publishAs(ada, "js", `APPEND "x" TO FILE "/ran.txt" EMIT "alert(1)"`, forAnyone)
	for _, to := range []string{"script", "worker", "sharedworker", "serviceworker", "style", "object", "embed", "manifest", "xslt", "audioworklet", "font", "unheard-of"} {
		w.send("GET", "/run/ada/js", "", "", "Sec-Fetch-Dest", to).wantError(t, 403, "origin_not_allowed")
	}
	w.send("GET", "/run/ada/js", "", "", "Service-Worker", "script").wantError(t, 403, "origin_not_allowed")
	if r := w.query(ada, `READ "/ran.txt" SET ?a EMIT ?a`, ""); r.status != 422 {
		t.Errorf("it ran: %s", r.body)
	}
	for _, to := range []string{"empty", "document", "iframe", "image"} {
		if r := w.send("GET", "/run/ada/js", "", "", "Sec-Fetch-Dest", to); r.status != 200 {
			t.Errorf("%s: %d %s", to, r.status, r.body)
		}
	}
}
