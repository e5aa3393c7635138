package server_test

import (
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"ql/internal/account"
	"ql/internal/auth"
	"ql/internal/server"
)

func TestPages(t *testing.T) {
	w := boot(t)
	w.member("ada", account.Standard)
	check(t, w.accounts.SetSecret(t.Context(), "ada", "key", "very secret"))
	for entry, publishedOnly := range map[string]bool{"shop.example.com": false, "*.pub.example.com": true} {
		_, err := w.accounts.AddDomain(t.Context(), "ada", entry, publishedOnly)
		check(t, err)
	}
	const script = `EMIT !ACCOUNT('username')`
	_, _, err := w.accounts.Publish(t.Context(), "ada", account.Publication{Name: "who", Text: script, Switches: account.Switches{Callers: account.CallersDomains}})
	check(t, err)
	page := func(origin, script string, headers ...string) response {
		return w.send("POST", "/v1/query", "application/json", `{"query":`+quote(script)+`}`, append(headers, "Origin", origin)...)
	}

	if a := page(listed, script).read(t); a.Status != "ok" || *a.Result != "ada" {
		t.Errorf("a listed page: %+v", a)
	}
	r := page(listed, `EMIT !SECRET('key')`)
	if a := r.wantError(t, 422, "not_available"); strings.Contains(r.body, "very secret") || a.Error.Step != "EMIT" {
		t.Errorf("a page reads secrets: %s", r.body)
	}
	if r.header.Get("Access-Control-Allow-Origin") != listed {
		t.Error("a page cannot read why its script failed")
	}
	if a := page("https://a.pub.example.com", script).read(t); a.Status != "ok" {
		t.Errorf("a published script: %+v", a)
	}
	r = page("https://a.pub.example.com", script+" ")
	r.wantError(t, 403, "script_not_published")
	if r.header.Get("Access-Control-Allow-Origin") != "https://a.pub.example.com" {
		t.Error("a page cannot read that its script is not published")
	}
	page(listed, script, "Sec-Fetch-Site", "none").wantError(t, 403, "origin_not_allowed")

	// A listed page may read what is wrong with its request, others may not.
	for origin, want := range map[string]string{listed: listed, unlisted: ""} {
		r := w.send("POST", "/v1/query", "application/json", `{"query":1}`, "Origin", origin)
		r.wantError(t, 400, "invalid_request")
		if got := r.header.Get("Access-Control-Allow-Origin"); got != want {
			t.Errorf("a bad request from %s may be read by %q", origin, got)
		}
	}

	// Pages have a rate of their own.
	last := untilRefused(t, func() response { return page(listed, script) })
	if a := last.wantError(t, 429, "rate_limited"); a.Error.Limit != "origin_rate" || a.Error.Value != 60 {
		t.Errorf("too often: %+v", a.Error)
	}
	for name, want := range map[string]string{"Retry-After": "1", "RateLimit-Policy": `"pages";q=60;w=60`, "Access-Control-Allow-Origin": listed} {
		if got := last.header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if !strings.HasPrefix(last.header.Get("RateLimit"), `"pages";r=0;t=`) {
		t.Errorf("RateLimit: %q", last.header.Get("RateLimit"))
	}
}

// TestPagesShareTheRateOfTheirEntry: neither another spelling of the Origin nor
// another host below a wildcard begins a rate anew.
func TestPagesShareTheRateOfTheirEntry(t *testing.T) {
	w := boot(t, limited(func(l *account.Limits) { l.OriginRate = 4 }), settings{
		http: func(o *server.Options) { o.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} },
		auth: func(o *auth.Options) { o.Plain = true },
	})
	w.member("ada", account.Standard)
	for _, entry := range []string{"shop.example.com", "*.wild.example.com"} {
		_, err := w.accounts.AddDomain(t.Context(), "ada", entry, false)
		check(t, err)
	}
	page := func(origin, from string) int {
		return w.send("POST", "/v1/query", jsonType, `{"query":"EMIT 1"}`, "Origin", origin, "X-Forwarded-For", from).status
	}
	for _, origins := range [][]string{
		{"https://shop.example.com", "https://sHop.Example.com", "https://SHOP.EXAMPLE.COM", "https://shop.example.com:443", "https://shop.example.coM"},
		{"https://a.wild.example.com", "https://b.wild.example.com", "https://c.d.wild.example.com", "https://e.wild.example.com", "https://f.wild.example.com"},
	} {
		for i, origin := range origins {
			want := 200
			if i >= 4 {
				want = 429
			}
			if got := page(origin, "192.0.2.1"); got != want {
				t.Errorf("call %d, from %s: %d, want %d", i+1, origin, got, want)
			}
		}
		if got := page(origins[0], "192.0.2.2"); got != 200 {
			t.Errorf("another visitor of %s: %d", origins[0], got)
		}
	}
}

// checkExposed checks that a page which may read an answer may read all of its
// headers that are meant for scripts. Every answer that a test of this package
// gets passes through here.
func checkExposed(t testing.TB, req *http.Request, r response) {
	t.Helper()
	if r.header.Get("Access-Control-Allow-Origin") == "" {
		return
	}
	exposed := strings.Split(r.header.Get("Access-Control-Expose-Headers"), ", ")
	for name := range r.header {
		isExposed := slices.ContainsFunc(exposed, func(e string) bool { return http.CanonicalHeaderKey(e) == name })
		if !isExposed && !alwaysReadable[name] && !forBrowsers[name] && !strings.HasPrefix(name, "Access-Control-") {
			t.Errorf("%s %s: a page cannot read %s: it may read %v", req.Method, described(req.URL.Path), name, exposed)
		}
	}
}

// alwaysReadable are the headers that browsers expose by themselves.
var alwaysReadable = map[string]bool{"Cache-Control": true, "Content-Length": true, "Content-Type": true, "Last-Modified": true}

// forBrowsers are the headers that tell nothing to a script.
var forBrowsers = map[string]bool{
	"Connection": true, "Content-Security-Policy": true, "Cross-Origin-Resource-Policy": true, "Date": true, "Referrer-Policy": true,
	"Set-Cookie": true, "Strict-Transport-Security": true, "Vary": true, "Www-Authenticate": true,
	"X-Accel-Buffering": true, "X-Content-Type-Options": true, "X-Robots-Tag": true,
}

// TestPagesReadHeaders gets each header that scripts of pages read; checkExposed
// checks that they may.
func TestPagesReadHeaders(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	_, err := w.accounts.AddDomain(t.Context(), "ada", "shop.example.com", false)
	check(t, err)
	page := []string{"Origin", listed}
	files := w.filesOf(ada)
	got := http.Header{}
	for _, r := range []response{
		w.form(ada, `SET "status" AS 404 OF !RESPONSE`, nil, page...),
		w.form(ada, `FOR ?i FROM 1 TO 3 DO SET "a{?i}" AS REPEAT("x", 4000) OF !COOKIE END`, nil, page...),
		w.form(ada, `CONFIRM "?"`, nil, page...),
		w.form(ada, `EMIT 1 / 0`, nil, page...),
		w.query(ada, `EMIT 1`, `"mode":"async"`, page...),
		files.call("PUT", "/a.txt", "text", page...),
		files.call("GET", "/a.txt", "", append(page, "Range", "bytes=1-2")...),
	} {
		maps.Copy(got, r.header)
	}
	for _, name := range []string{
		"Location", "Link", "RateLimit", "RateLimit-Policy", "ETag", "Accept-Ranges", "Content-Range", "Content-Disposition",
		"QL-Job-Id", "QL-Status", "QL-Error", "QL-Response", "QL-Response-Omitted",
	} {
		if got.Get(name) == "" {
			t.Errorf("no answer has %s", name)
		}
	}
}

func TestPreflight(t *testing.T) {
	w := boot(t)
	w.member("ada", account.Standard)
	_, err := w.accounts.AddDomain(t.Context(), "ada", "shop.example.com", false)
	check(t, err)
	const someJob = "0d3f0a4e-7b8c-4d5e-9f00-112233445566"
	for _, path := range []string{"/v1/query", "/v1/job/" + someJob, "/v1/job/" + someJob + "/events", "/v1/confirm/" + someJob, "/v1/jobs", "/v1/questions", "/v1/limits", "/v1/account/log", "/v1/files/a/b.txt", "/v1/shares", "/v1/shares/0", "/api"} {
		r := w.send("OPTIONS", path, "", "", "Origin", listed, "Access-Control-Request-Method", "POST")
		want := map[string]string{
			"Access-Control-Allow-Origin": listed, "Access-Control-Allow-Credentials": "true", "Vary": "Origin",
			"Access-Control-Allow-Methods": "GET, POST, PUT, PATCH, DELETE", "Access-Control-Max-Age": "600",
			"Access-Control-Allow-Headers": "Authorization, Content-Type, Idempotency-Key, Prefer, Last-Event-ID",
		}
		for name, value := range want {
			if got := r.header.Get(name); r.status != 204 || got != value {
				t.Errorf("%s: %d, %s is %q", path, r.status, name, got)
			}
		}
		for _, origin := range []string{unlisted, nullPage, "http://shop.example.com", "https://shop.example.com.evil.example"} {
			r := w.send("OPTIONS", path, "", "", "Origin", origin, "Access-Control-Request-Method", "POST")
			if r.status != 403 {
				t.Errorf("%s from %s: %d", path, origin, r.status)
			}
			for name := range r.header {
				if strings.HasPrefix(name, "Access-Control-") {
					t.Errorf("%s from %s: %s", path, origin, name)
				}
			}
		}
	}
	for _, route := range w.handler.Routes() {
		methods := w.send("OPTIONS", "/v1/query", "", "", "Origin", listed, "Access-Control-Request-Method", route.Method).header.Get("Access-Control-Allow-Methods")
		if route.Pages && route.Preflight == nil && !slices.Contains(strings.Split(methods, ", "), route.Method) {
			t.Errorf("pages may call %s %s, and no preflight offers that", route.Method, route.Path)
		}
	}
	row, err := w.accounts.Find(t.Context(), "ada")
	check(t, err)
	check(t, w.store.Accounts().SetFlag(t.Context(), row.ID, account.FlagDisabled, true))
	for _, r := range []response{
		w.send("OPTIONS", "/v1/query", "", "", "Origin", listed, "Access-Control-Request-Method", "POST"),
		w.send("POST", "/v1/query", jsonType, `{"query":"EMIT 1"}`, "Origin", listed),
		w.send("POST", "/v1/query", jsonType, `{`, "Origin", listed),
	} {
		if r.status != 403 && r.status != 400 || r.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("a page of a disabled account: %d %v", r.status, r.header)
		}
	}
	if r := w.send("OPTIONS", "/v1/query", "", ""); r.status != 405 || r.header.Get("Allow") != "POST" {
		t.Errorf("OPTIONS without a page: %d %v", r.status, r.header)
	}
	if r := w.send("OPTIONS", "/healthz", "", "", "Origin", listed, "Access-Control-Request-Method", "GET"); r.status != 405 {
		t.Errorf("preflight of a route that is not for pages: %d", r.status)
	}
}
