package site_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"ql/internal/account"
	"ql/internal/apptest"
	"ql/internal/config"
	"ql/internal/operator"
)

// TestForgedRequests is the table of who may send what.
func TestForgedRequests(t *testing.T) {
	w := boot(t, lift)
	w.puts(map[string]string{"form.ql": `EMIT !REQUEST('method')`})
	own := w.SiteURL("ada")
	host := strings.TrimPrefix(own, "http://")
	for _, method := range []string{"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"} {
		safe := method == "GET" || method == "HEAD" || method == "OPTIONS"
		for _, test := range []struct {
			headers []string
			passes  bool
		}{
			{nil, true},
			{[]string{"Sec-Fetch-Site", "same-origin"}, true},
			{[]string{"Sec-Fetch-Site", "none"}, true},
			{[]string{"Sec-Fetch-Site", "same-site"}, false},
			{[]string{"Sec-Fetch-Site", "cross-site"}, false},
			{[]string{"Sec-Fetch-Site", "whatever"}, false},
			{[]string{"Sec-Fetch-Site", "cross-site", "Origin", own}, false},
			{[]string{"Sec-Fetch-Site", "same-origin", "Origin", "null"}, true},
			{[]string{"Origin", own}, true},
			{[]string{"Origin", "https://" + host}, true}, // a proxy has taken TLS off
			{[]string{"Origin", "null"}, false},
			{[]string{"Origin", "http://evil.example"}, false},
			{[]string{"Origin", strings.Replace(own, "ada", "bob", 1)}, false},
			{[]string{"Origin", "http://ada.sites.example:1"}, false},
			{[]string{"Origin", "http://" + host + ".evil"}, false},
		} {
			for _, kind := range []string{"application/x-www-form-urlencoded", "text/plain", "application/json"} {
				a := w.call(method, own+"/form", "{}", append([]string{"Content-Type", kind}, test.headers...)...)
				if passes := a.status == 200; passes != (safe || test.passes) || !passes && a.status != 403 {
					t.Errorf("%s %s %v: %d %s", method, kind, test.headers, a.status, a.body)
				}
			}
		}
	}
}

// lift lifts the rates of visitors.
func lift(s *config.Settings) {
	l := s.Plans[account.Standard]
	l.SiteRate = 0
	s.Plans[account.Standard] = l
}

// TestConventions: a script gives the same on a site as in both conventions.
func TestConventions(t *testing.T) {
	w := boot(t, lift)
	key := w.Account("bob", account.Standard)
	for i, test := range []struct {
		script, output string
		status         int
		header         string // that the script sets
		formless       bool   // the form convention has no such entries
	}{
		{script: `EMIT "Hello, {=1 + 1}"`, output: "Hello, 2"},
		{script: `SET ?a AS 1`, output: ""},
		{script: `EMIT FROM_BASE64("/w==")`, output: "\xff"},
		{script: `EMIT !GET('a'), !GET('b') DEFAULT "-"`, output: "x y-"},
		{script: `EMIT !COOKIE('theme'), !COOKIE('QLSESSID') DEFAULT "-"`, output: "dark-"},
		{script: `EMIT !REQUEST('path'), " ", !REQUEST('method')`, output: "/%s POST"},
		{script: `EMIT !REQUEST('header:x-a')`, output: "1", formless: true},
		{script: `EMIT !POST('p')`, output: "q"},
		{script: `SET "status" AS 404 OF !RESPONSE EMIT "no"`, output: "no", status: 404},
		{script: `SET "header:X-Total" AS "3" OF !RESPONSE EMIT "a,b"`, output: "a,b", header: "3"},
		{script: `EMIT JSON {a: [1, NULL]}`, output: `{"a":[1,null]}`},
		{script: `WRITE "kept" TO "/x.txt" READ "/x.txt" SET ?x EMIT ?x`, output: "kept"},
		{script: `CREATE TABLE IF NOT EXISTS t (n INTEGER); SELECT count(*) AS n FROM t SET ?rows EMIT "db"`, output: "db"},
		{script: `EMIT !REQUEST('param:slug')`, output: "s%s", formless: true},
	} {
		name := fmt.Sprintf("p%d", i)
		test.output = strings.Replace(test.output, "%s", name, 1)
		w.put("bob", name+".ql", test.script)
		w.put("bob", "by/[slug].ql", test.script)
		path, slug := "/"+name, "s"+name
		form := url.Values{
			"identity": {"bob"}, "password": {key}, "q": {test.script}, "path": {path}, "method": {"POST"}, "get": {`{"a":"x y"}`}, "post": {`{"p":"q"}`},
			"cookie": {`{"theme":"dark"}`},
		}
		byForm := w.call("POST", w.URL()+"/api", form.Encode(), "Content-Type", "application/x-www-form-urlencoded")
		request := map[string]any{"path": path, "method": "POST", "get": map[string]string{"a": "x y"}, "post": map[string]string{"p": "q"}, "cookie": map[string]string{"theme": "dark"},
			"header:x-a": "1", "param:slug": slug}
		body, err := json.Marshal(map[string]any{"auth": map[string]string{"username": "bob", "password": apptest.Password}, "query": test.script, "request": request})
		if err != nil {
			t.Fatal(err)
		}
		byJSON := w.call("POST", w.URL()+"/v1/query", string(body), "Content-Type", "application/json")
		var read struct {
			Result   string `json:"result"`
			Encoding string `json:"result_encoding"`
			Response struct {
				Status int `json:"status"`
			} `json:"response"`
		}
		if err := json.Unmarshal([]byte(byJSON.body), &read); err != nil {
			t.Fatal(byJSON.body)
		}
		if read.Encoding != "" {
			read.Result = "\xff"
		}
		address := w.SiteURL("bob") + path
		if strings.Contains(test.script, "param:") {
			address = w.SiteURL("bob") + "/by/" + slug
		}
		bySite := w.call("POST", address+"?a=x+y", "p=q", "Content-Type", "application/x-www-form-urlencoded", "Cookie", "theme=dark; QLSESSID=x", "X-A", "1")
		if byForm.body != test.output && !test.formless || read.Result != test.output || bySite.body != test.output {
			t.Errorf("%s gives %q, %q and %q, want %q", test.script, byForm.body, read.Result, bySite.body, test.output)
		}
		if want := max(test.status, 200); bySite.status != want || test.status != read.Response.Status || bySite.header.Get("X-Total") != test.header {
			t.Errorf("%s: %d, %d, %v", test.script, bySite.status, read.Response.Status, bySite.header)
		}
	}
}

// jobs returns the jobs of an account, by their names.
func (w *world) jobs(username string) map[string]int {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, w.URL()+"/v1/jobs?limit=100", nil)
	if err != nil {
		w.t.Fatal(err)
	}
	req.SetBasicAuth(username, apptest.Password)
	res, err := w.client.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	var list struct {
		Jobs []struct{ Name, Status, Convention string }
	}
	if err := json.NewDecoder(res.Body).Decode(&list); err != nil {
		w.t.Fatal(err)
	}
	names := map[string]int{}
	for _, j := range list.Jobs {
		if j.Convention == "site" {
			names[j.Name+" "+j.Status]++
		}
	}
	return names
}

// TestFailures: visitors see a reference alone, by which the owner finds the job; what came to its
// end is no job, where the site does not say otherwise.
func TestFailures(t *testing.T) {
	w := boot(t)
	w.puts(map[string]string{
		"good.ql": `EMIT "ok"`, "fails.ql": `EMIT "so far" EMIT 1 / 0`, "wrong.ql": `EMIT "a`, "own.ql": `FAIL "the secret is out" CODE "oops"`,
		"large.ql": `EMIT REPEAT("x", 100000000)`, "check.ql": `CHECK !POST FIELDS name TEXT REQUIRED EMIT "ok"`, "secret.ql": `EMIT !SECRET('token')`,
		"long.ql": strings.Repeat("-- x\n", 60_000) + `EMIT 1`,
	})
	for path, status := range map[string]int{"/good": 200, "/fails": 500, "/wrong": 500, "/own": 500, "/large": 503, "/secret": 500, "/long": 500} {
		a := w.get(path)
		if a.status != status {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
		if status == 200 {
			continue
		}
		for _, inside := range []string{"so far", "zero", "oops", "secret", "line 1", "syntax", "limit", "/site"} {
			if strings.Contains(strings.ToLower(a.body), inside) {
				t.Errorf("%s tells of %q: %s", path, inside, a.body)
			}
		}
		if a.header.Get("Cache-Control") != "no-store" || a.header.Get("QL-Job-Id") != "" {
			t.Errorf("%s: %v", path, a.header)
		}
	}
	got := w.jobs("ada")
	want := map[string]int{"/site/fails.ql failed": 1, "/site/wrong.ql failed": 1, "/site/own.ql failed": 1, "/site/large.ql failed": 1, "/site/secret.ql failed": 1, "/site/long.ql failed": 1}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the jobs are %v, want %v", got, want)
	}
	// What the site says is kept.
	w.put("ada", "_site.toml", `records = "all"`)
	w.get("/good")
	if got := w.jobs("ada")["/site/good.ql complete"]; got != 1 {
		t.Errorf("%d views are kept", got)
	}
	w.put("ada", "_site.toml", `records = "none"`)
	w.get("/fails")
	if got := w.jobs("ada")["/site/fails.ql failed"]; got != 1 {
		t.Errorf("%d views are kept", got)
	}
}

// TestSiteSettings: what _site.toml says holds from the next request on, and a mistake in it is the
// owner's to see.
func TestSiteSettings(t *testing.T) {
	w := boot(t)
	w.Operate(func(o *operator.Operator) error {
		return o.Accounts.SetSecret(t.Context(), "ada", "token", "hush")
	})
	w.puts(map[string]string{
		"app.html": "app", "a.css": "x", "new.html": "new", "secret.ql": `EMIT !SECRET('token')`, "page.ql": `SET "header:X-Two" AS "mine" OF !RESPONSE EMIT "page"`, "_hidden.html": "hidden",
	})
	w.put("ada", "_site.toml", `
fallback = "/app.html"
[redirects]
"/old" = "/new"
"/blog/*" = "/posts/*"
"/x*" = "/*"
[headers]
"/*" = { X-One = "1", X-Two = "2", Content-Security-Policy = "default-src 'none'" }
`)
	if a := w.get("/anything/at/all"); a.status != 200 || a.body != "app" {
		t.Errorf("the fallback: %d %s", a.status, a.body)
	}
	if a := w.get("/_hidden"); a.status != 404 {
		t.Errorf("what is never served has a fallback: %d %s", a.status, a.body)
	}
	for path, want := range map[string]string{"/old?a=1": "/new?a=1", "/blog/a%20b": "/posts/a%20b", "/x/evil.example": "/evil.example", "/x%2525": "/%2525"} {
		if a := w.get(path); a.status != 308 || a.header.Get("Location") != want {
			t.Errorf("%s: %d %s", path, a.status, a.header.Get("Location"))
		}
	}
	if a := w.get("/a.css"); a.header.Get("X-One") != "1" || a.header.Get("X-Two") != "2" || a.header.Get("Content-Security-Policy") != "default-src 'none'" {
		t.Errorf("a file: %v", a.header)
	}
	if a := w.get("/page"); a.header.Get("X-One") != "1" || a.header.Get("X-Two") != "mine" {
		t.Errorf("a page: %v", a.header)
	}
	if a := w.get("/secret"); a.status != 500 || strings.Contains(a.body, "hush") {
		t.Errorf("a secret: %d %s", a.status, a.body)
	}
	w.put("ada", "_site.toml", "fallbak = 1")
	for range 3 {
		a := w.get("/a.css")
		if a.status != 500 || strings.Contains(a.body, "fallba") {
			t.Errorf("a mistake: %d %s", a.status, a.body)
		}
	}
	if got := w.jobs("ada")["/site/_site.toml failed"]; got != 1 {
		t.Errorf("the mistake is told %d times", got)
	}
	w.put("ada", "_site.toml", "")
	if a := w.get("/a.css"); a.status != 200 || a.header.Get("X-One") != "" {
		t.Errorf("mended: %d %v", a.status, a.header)
	}
	if a := w.get("/secret"); a.status != 500 {
		t.Errorf("a secret: %d %s", a.status, a.body)
	}
}

// TestPromiseVisitsLeaveNothing: any number of visits leaves no job, and all that they held is given
// back, which the end of every test checks.
func TestPromiseVisitsLeaveNothing(t *testing.T) {
	visits := 1000
	if n, _ := strconv.Atoi(os.Getenv("QL_PROMISES")); n > 0 {
		visits = 10_000
	}
	w := boot(t, lift)
	w.puts(map[string]string{"index.ql": `EMIT "page {=!GET('n')}"`, "a.css": "x", "b/[x].ql": `EMIT !REQUEST('param:x')`})
	paths := []string{"/?n=%d", "/a.css?%d", "/b/%d", "/wp-login.php?%d", "/.env?%d", "/b/%d/x"}
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			for n := worker; n < visits; n += 4 {
				a := w.get(fmt.Sprintf(paths[n%len(paths)], n))
				if want := []int{200, 200, 200, 404, 404, 404}[n%len(paths)]; a.status != want {
					t.Errorf("%s: %d", paths[n%len(paths)], a.status)
					return
				}
			}
		})
	}
	group.Wait()
	if got := w.jobs("ada"); len(got) != 0 {
		t.Errorf("the jobs are %v", got)
	}
	a := w.call("GET", w.URL()+"/v1/limits", "", "Authorization", "Basic "+basic("ada"))
	var limits struct {
		Limits map[string]struct{ Used int64 }
	}
	if err := json.Unmarshal([]byte(a.body), &limits); err != nil || limits.Limits["records"].Used != 0 || limits.Limits["calls"].Used < int64(visits)/3 || limits.Limits["egress"].Used == 0 {
		t.Errorf("%v of %s", err, a.body)
	}
}

// TestVisitorRates: each visitor's network has a rate for pages, and another for all it asks for.
func TestVisitorRates(t *testing.T) {
	w := boot(t, func(s *config.Settings) {
		l := s.Plans[account.Standard]
		l.SiteRate = 5
		s.Plans[account.Standard] = l
	})
	w.puts(map[string]string{"index.ql": `EMIT 1`, "a.css": "x"})
	count := func(path string, most int) (served int) {
		for range most {
			a := w.get(path)
			if a.status == 429 {
				if a.header.Get("Retry-After") == "" || !strings.Contains(a.body, "Too many requests") {
					t.Errorf("%v %s", a.header, a.body)
				}
				break
			}
			served++
		}
		return served
	}
	if n := count("/", 20); n < 5 || n == 20 {
		t.Errorf("%d pages are served", n)
	}
	if n := count("/a.css", 100); n < 40 || n == 100 {
		t.Errorf("%d files are served", n)
	}
	// Who tries names of sites is stopped too.
	missed := 0
	for n := range 60 {
		if w.call("GET", strings.Replace(w.SiteURL("ada"), "ada", fmt.Sprintf("nobody%d", n), 1)+"/", "").status == 404 {
			missed++
		}
	}
	if missed == 60 {
		t.Errorf("%d names could be tried", missed)
	}
}

// TestSessions: a visitor's session is of the site's host alone. By https its cookie has a name that
// no page of another host can set.
func TestSessions(t *testing.T) {
	w := boot(t, func(s *config.Settings) { s.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
	w.puts(map[string]string{"index.ql": `START SESSION SET "n" AS (!SESSION('n') DEFAULT 0) + 1 OF !SESSION EMIT !SESSION('n')`})
	for _, test := range []struct{ scheme, name, foreign, tail string }{
		{"http", "QLSESSID", "__Host-QLSESSID", "; Path=/; HttpOnly; SameSite=Lax"},
		{"https", "__Host-QLSESSID", "QLSESSID", "; Path=/; HttpOnly; Secure; SameSite=Lax"},
	} {
		a := w.get("/", "X-Forwarded-Proto", test.scheme)
		cookie, tail, _ := strings.Cut(a.header.Get("Set-Cookie"), ";")
		name, id, _ := strings.Cut(cookie, "=")
		if a.body != "1" || name != test.name || ";"+tail != test.tail {
			t.Fatalf("%s: %s %v", test.scheme, a.body, a.header["Set-Cookie"])
		}
		if a := w.get("/", "X-Forwarded-Proto", test.scheme, "Cookie", cookie); a.body != "2" {
			t.Errorf("%s: the session is lost: %s", test.scheme, a.body)
		}
		if a := w.get("/", "X-Forwarded-Proto", test.scheme, "Cookie", test.foreign+"="+id); a.body != "1" {
			t.Errorf("%s: a session is taken from %s", test.scheme, test.foreign)
		}
	}
}
