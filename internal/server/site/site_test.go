package site_test

import (
	"context"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"ql/internal/account"
	"ql/internal/apptest"
	"ql/internal/config"
	"ql/internal/programtest"
)

type settings = config.Settings

// domain is that of sites in tests.
const domain = "sites.example"

// world is a service as operators run it, with sites.
type world struct {
	*apptest.Service
	t      testing.TB
	client *http.Client
}

// boot starts a service with sites below a domain, and the account ada.
func boot(t testing.TB, change ...func(*config.Settings)) *world {
	t.Helper()
	return bootWith(t, apptest.Settings(t, append([]func(*config.Settings){apptest.Production, func(s *config.Settings) {
		s.SiteHost, s.SiteListen = domain, "127.0.0.1:0"
	}}, change...)...))
}

// bootWith is boot with settings that are ready.
func bootWith(t testing.TB, s config.Settings) *world {
	t.Helper()
	w := &world{t: t}
	w.Service = apptest.Start(t, s)
	w.Account("ada", account.Standard)
	w.client = newClient(t)
	return w
}

// answer is an answer, read to its end.
type answer struct {
	status int
	header http.Header
	body   string
}

// call sends a request to any address. Headers come as pairs; a Host among them is the one called.
func (w *world) call(method, url, body string, headers ...string) answer {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
			continue
		}
		req.Header.Add(headers[i], headers[i+1])
	}
	res, err := w.client.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, string(text)}
}

// get asks for a path of ada's site.
func (w *world) get(path string, headers ...string) answer {
	w.t.Helper()
	return w.call("GET", w.SiteURL("ada")+path, "", headers...)
}

// put writes a file of an account's site.
func (w *world) put(username, path, text string) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodPut, w.URL()+"/v1/files/site/"+strings.NewReplacer("[", "%5B", "]", "%5D", " ", "%20").Replace(path), strings.NewReader(text))
	if err != nil {
		w.t.Fatal(err)
	}
	req.SetBasicAuth(username, apptest.Password)
	res, err := w.client.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode >= 300 {
		text, _ := io.ReadAll(res.Body)
		w.t.Fatalf("%s: %d %s", path, res.StatusCode, text)
	}
}

// puts writes files of ada's site.
func (w *world) puts(files map[string]string) {
	w.t.Helper()
	for path, text := range files {
		w.put("ada", path, text)
	}
}

// TestSite: scripts run, files are sent, folders have their slash, and what is not there has the
// nearest page that says so.
func TestSite(t *testing.T) {
	w := boot(t)
	w.puts(map[string]string{
		"index.ql":          `SET ?name AS !GET('name') DEFAULT "you" EMIT HTML "<h1>Hello, {?name}</h1>"`,
		"style.css":         "h1 { color: red }",
		"about.html":        "<p>About",
		"blog/[slug].ql":    `EMIT "{=!REQUEST('param:slug')} at {=!REQUEST('path')} by {=!REQUEST('method')}"`,
		"blog/404.ql":       `EMIT "no post {=!REQUEST('path')}"`,
		"where.ql":          `EMIT !REQUEST('scheme'), " ", !REQUEST('origin'), " ", !REQUEST('host')`,
		"docs/index.html":   "<p>Docs",
		"files/[...all].ql": `EMIT !REQUEST('param:all')`,
		"404.html":          "<p>Nothing here",
		"form.ql":           `EMIT !POST('a'), " ", !REQUEST('method')`,
		"_layout.html":      "secret",
	})
	const html = "text/html; charset=utf-8"
	for _, test := range []struct {
		method, path, body string
		status             int
		kind, want         string
	}{
		{"GET", "/", "", 200, html, "<h1>Hello, you</h1>"},
		{"GET", "/?name=%3Cb%3E", "", 200, html, "<h1>Hello, &lt;b&gt;</h1>"},
		{"HEAD", "/", "", 200, html, ""},
		{"GET", "/style.css", "", 200, "text/css; charset=utf-8", "h1 { color: red }"},
		{"HEAD", "/style.css", "", 200, "text/css; charset=utf-8", ""},
		{"GET", "/about", "", 200, html, "<p>About"},
		{"GET", "/blog/first%20one", "", 200, html, "first one at /blog/first one by GET"},
		{"DELETE", "/blog/x", "", 200, html, "x at /blog/x by DELETE"},
		{"GET", "/blog/x/y", "", 404, html, "no post /blog/x/y"},
		{"GET", "/docs/", "", 200, html, "<p>Docs"},
		{"GET", "/files/a/b", "", 200, html, "a/b"},
		{"GET", "/nothing", "", 404, html, "<p>Nothing here"},
		{"GET", "/index.ql", "", 404, html, "<p>Nothing here"},
		{"GET", "/_layout.html", "", 404, html, "<p>Nothing here"},
		{"POST", "/form", "a=1", 200, html, "1 POST"},
	} {
		a := w.call(test.method, w.SiteURL("ada")+test.path, test.body, "Content-Type", "application/x-www-form-urlencoded")
		if a.status != test.status || a.header.Get("Content-Type") != test.kind || a.body != test.want {
			t.Errorf("%s %s: %d %s %q", test.method, test.path, a.status, a.header.Get("Content-Type"), a.body)
		}
	}
	for host, want := range map[string]string{
		"ada.sites.example":       "http http://ada.sites.example ada.sites.example",
		"ADA.sites.example.:80":   "http http://ada.sites.example ada.sites.example",
		"ada.sites.example:8081":  "http http://ada.sites.example:8081 ada.sites.example",
		"ada.sites.example:443":   "http http://ada.sites.example:443 ada.sites.example",
		"ada.sites.example:00080": "",
	} {
		if a := w.get("/where", "Host", host); a.body != want && (want != "" || a.status != 421) {
			t.Errorf("by %s: %d %s", host, a.status, a.body)
		}
	}
	if a := w.get("/docs?x=1"); a.status != 308 || a.header.Get("Location") != "/docs/?x=1" {
		t.Errorf("a folder without its slash: %d %s", a.status, a.header.Get("Location"))
	}
	if a := w.get("//evil.example//x?y=//z"); a.status != 308 || a.header.Get("Location") != "/evil.example/x?y=//z" {
		t.Errorf("empty parts: %d %s", a.status, a.header.Get("Location"))
	}
	if a := w.call("POST", w.SiteURL("ada")+"/style.css", ""); a.status != 405 || a.header.Get("Allow") != "GET, HEAD, OPTIONS" {
		t.Errorf("a file takes POST: %d %v", a.status, a.header)
	}
	for _, path := range []string{"/a%2Fb", "/a%2fb", "/%5cb", "/a%00", "/%2e%2e/x", "/./x", "/x/..", "/%ff", "/%0a"} {
		if a := w.get(path); a.status != 400 || !strings.Contains(a.body, "read in several ways") {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}

// TestHosts: whose site a host is; others are answered by nobody.
func TestHosts(t *testing.T) {
	w := boot(t)
	w.Account("bob", account.Standard)
	w.Account("eve_1", account.Standard)
	w.put("ada", "index.html", "ada's")
	w.put("eve_1", "index.html", "eve's")
	address := w.SiteURL("ada")
	for host, want := range map[string]string{
		"ada.sites.example": "200 ada's", "ADA.Sites.Example": "200 ada's", "ada.sites.example.": "200 ada's", "ada.sites.example:4711": "200 ada's",
		"eve_1.sites.example": "200 eve's",
		"bob.sites.example":   "404", "nobody.sites.example": "404", // without a site, and no account
		"sites.example": "404", "x.ada.sites.example": "421", "a.sites.example": "421", "ada.sites.example.evil": "421", "adasites.example": "421",
		"127.0.0.1": "421", "localhost": "421", "api.example": "421", "[::1]": "421", "ada.localhost": "421",
	} {
		a := w.call("GET", address+"/", "", "Host", host)
		status, body, _ := strings.Cut(want, " ")
		if strconv.Itoa(a.status) != status || body != "" && a.body != body {
			t.Errorf("%s: %d %s", host, a.status, a.body)
		}
		if body == "" && (strings.Contains(a.body, "ada") || !strings.HasPrefix(a.header.Get("Content-Type"), "text/html")) {
			t.Errorf("%s: %s", host, a.body)
		}
	}
	if a := w.call("GET", address+"/~ada/", "", "Host", "sites.example"); a.status != 421 {
		t.Errorf("sites share an origin: %d", a.status)
	}
	for _, path := range []string{"/index.html", ""} {
		if a := w.call("DELETE", w.URL()+"/v1/files/site"+path, "", "Authorization", "Basic "+basic("eve_1")); a.status != 200 {
			t.Fatal(a.body)
		}
	}
	// While there is one site, there is nobody to share with.
	if a := w.call("GET", address+"/~ada/", "", "Host", "sites.example"); a.status != 200 || a.body != "ada's" {
		t.Errorf("one site: %d %s", a.status, a.body)
	}
	if a := w.call("GET", address+"/~ada/", "", "Host", "127.0.0.1"); a.status != 421 {
		t.Errorf("by an address: %d", a.status)
	}
	// The service's own addresses are not below a site, nor sites on its listener.
	for _, path := range []string{"/healthz", "/v1/query", "/api", "/openapi.json", "/run/ada/x", "/metrics"} {
		if a := w.get(path); a.status != 404 || strings.HasPrefix(a.header.Get("Content-Type"), "application/json") {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	if a := w.call("GET", w.URL()+"/", "", "Host", "ada.sites.example"); a.body == "ada's" {
		t.Error("the service serves a site")
	}
}

// TestPaths: a developer has sites at /~username/ too.
func TestPaths(t *testing.T) {
	w := boot(t, func(s *config.Settings) { s.Dev, s.SiteHost = true, "localhost" })
	w.puts(map[string]string{
		"index.ql": `START SESSION SET "n" AS 1 OF !SESSION SET "c" AS "1" OF !COOKIE EMIT !REQUEST('path'), " ", !REQUEST('base')`,
		"go.ql":    `SET "status" AS 303 OF !RESPONSE SET "header:Location" AS !GET('to') OF !RESPONSE`,
		"a/b.html": "b",
	})
	address := w.SiteURL("ada")
	if !strings.HasPrefix(address, "http://ada.localhost:") {
		t.Fatal(address)
	}
	plain := strings.Replace(address, "ada.localhost", "127.0.0.1", 1)
	a := w.call("GET", plain+"/~ada/", "")
	if a.status != 200 || a.body != "/ /~ada" {
		t.Errorf("%d %s", a.status, a.body)
	}
	for _, cookie := range a.header.Values("Set-Cookie") {
		if !strings.Contains(cookie, "; Path=/~ada/;") {
			t.Errorf("a cookie is for more than the site: %s", cookie)
		}
	}
	if n := len(a.header.Values("Set-Cookie")); n != 2 {
		t.Errorf("%d cookies", n)
	}
	if a := w.call("GET", plain+"/~ada/a/b", ""); a.status != 200 || a.body != "b" {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := w.call("GET", plain+"/~ada", ""); a.status != 308 || a.header.Get("Location") != "/~ada/" {
		t.Errorf("%d %v", a.status, a.header)
	}
	for to, want := range map[string]string{"/~ada/a/b": "/~ada/a/b", "a/b": "/~ada/a/b", "/~bob/": "", "/": "", "//evil.example": ""} {
		if a := w.call("GET", plain+"/~ada/go?to="+to, ""); a.header.Get("Location") != want {
			t.Errorf("%s leads to %q", to, a.header.Get("Location"))
		}
	}
	for _, path := range []string{"/", "/~", "/~ADA/", "/~nobody/", "/ada/"} {
		if a := w.call("GET", plain+path, ""); a.status != 404 {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}

// bootShared is boot with one port for sites and the service.
func bootShared(t testing.TB, change ...func(*settings)) *world {
	t.Helper()
	address := programtest.FreeAddress(t)
	w := boot(t, append(change, func(s *settings) {
		s.Listen, s.SiteListen, s.BaseURL, s.JSONAPIURL, s.FileURL = address, address, "http://api.example", "http://api.example", "http://api.example"
	})...)
	w.client.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	return w
}

// TestSharedListener: sites and the service on one port are told apart by their hosts.
func TestSharedListener(t *testing.T) {
	w := bootShared(t)
	w.put("ada", "index.html", "ada's")
	w.put("ada", "healthz", "mine")
	for _, test := range []struct {
		host, path string
		status     int
		body       string
	}{
		{"ada.sites.example", "/", 200, "ada's"},
		{"ada.sites.example", "/healthz", 200, "mine"},
		{"ada.sites.example", "/openapi.json", 404, ""},
		{"api.example", "/healthz", 200, `{"status":"ok"}`},
		{"127.0.0.1", "/healthz", 200, `{"status":"ok"}`},
		{"192.0.2.7", "/healthz", 200, `{"status":"ok"}`},
		{"api.example", "/", 404, ""},
		{"evil.example", "/", 421, ""},
		{"evil.example", "/healthz", 421, ""},
		{"192.0.2.7", "/", 421, ""},
		{"sites.example", "/", 404, ""},
		{"sites.example", "/~ada/", 200, "ada's"},
	} {
		if a := w.call("GET", w.SiteURL("ada")+test.path, "", "Host", test.host); a.status != test.status || test.body != "" && a.body != test.body {
			t.Errorf("%s%s: %d %s", test.host, test.path, a.status, a.body)
		}
	}
}

// basic is what HTTP Basic sends for an account.
func basic(username string) string {
	return base64.StdEncoding.EncodeToString([]byte(username + ":" + apptest.Password))
}
