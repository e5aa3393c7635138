package runapi

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"ql/internal/server/exchange"
	"ql/internal/wire"
)

const (
	prefix = "/run/ada/"
	at     = "/run/ada/todo/items"
)

// locations are addresses with where they lead, "" for elsewhere.
var locations = map[string]string{
	"/run/ada/todo/items/3":      "/run/ada/todo/items/3",
	"/run/ada/other":             "/run/ada/other",
	"/run/ada/":                  "/run/ada/",
	"/run/ada/todo?next=//x":     "/run/ada/todo?next=//x",
	"/run/ada/todo#part":         "/run/ada/todo#part",
	"/run/ada/todo/a%20b":        "/run/ada/todo/a%20b",
	"/run/ada/x/../todo":         "/run/ada/todo",
	"items/3":                    "/run/ada/todo/items/3",
	"./3":                        "/run/ada/todo/3",
	"../login":                   "/run/ada/login",
	"?page=2":                    "/run/ada/todo/items?page=2",
	"#end":                       "/run/ada/todo/items#end",
	"":                           "",
	"/":                          "",
	"/run/ada":                   "",
	"/run/adam/x":                "",
	"/run/bob/x":                 "",
	"/Run/ada/x":                 "",
	"/run/Ada/x":                 "",
	"/run/ada/../bob/x":          "",
	"/run/ada/../../v1/jobs":     "",
	"../../bob/x":                "",
	"../../../v1/query":          "",
	"/run/ada/..":                "",
	"/run/ada/%2e%2e/bob":        "",
	"/run/ada/%2E./bob":          "",
	"/run/ada/.%2e/bob":          "",
	"/run/ada/%252e%252e/bob":    "",
	"/run/ada/..%2fbob":          "",
	"/run/ada/%2f/evil.example":  "",
	"/run/ada/%5c%5cevil":        "",
	"/run/ada/..%5cbob":          "",
	"/run/ada//evil.example":     "",
	"/run/ada/a//b":              "",
	"/run/ada/%00":               "",
	"/run/ada/%0d%0aSet-Cookie:": "",
	"/run/ada/%zz":               "",
	"/run/ada/\\..\\bob":         "",
	"/v1/query":                  "",
	"/app/":                      "",
	"/form/x":                    "",
	"//evil.example":             "",
	"//evil.example/run/ada/":    "",
	"///evil.example":            "",
	"////evil.example":           "",
	"/\\evil.example":            "",
	"\\\\evil.example":           "",
	"/\t/evil.example":           "",
	"/\n/evil.example":           "",
	"\t//evil.example":           "",
	" //evil.example":            "",
	"http://evil.example":        "",
	"http:/run/ada/x":            "",
	"http:run/ada/x":             "",
	"http:///run/ada/x":          "",
	"https://localhost/run/ada/": "",
	"javascript:alert(1)":        "",
	"JavaScript:alert(1)":        "",
	"java\tscript:alert(1)":      "",
	"data:text/html,x":           "",
	"blob:null/x":                "",
	"view-source:/run/ada/":      "",
	"@evil.example":              "/run/ada/todo/@evil.example",
	"/run/ada/@evil.example":     "/run/ada/@evil.example",
	"//@evil.example":            "",
	"/run/ada/x\r\nX: y":         "",
	"/run/ada/x\x00":             "",
	"/run/ada/é":                 "",
	"/run/ada/<script>":          "",
	"/run/ada/todo\u2028":        "",
}

func TestOwnLocation(t *testing.T) {
	for location, want := range locations {
		if got, ok := exchange.OwnLocation(location, at, prefix); got != want || ok != (want != "") {
			t.Errorf("%q leads to %q, %t, want %q", location, got, ok, want)
		}
	}
}

// FuzzOwnLocation: whatever is let through leads below the prefix, also for who reads it as
// browsers do, and again after having been read once.
func FuzzOwnLocation(f *testing.F) {
	for location := range locations {
		f.Add(location, "/items")
	}
	f.Fuzz(func(t *testing.T, location, rest string) {
		from := "/run/ada/todo" + rest
		own, ok := exchange.OwnLocation(location, from, prefix)
		if !ok {
			return
		}
		// A browser drops some characters, takes a backslash for a slash, and reads %2e as a dot.
		path, _, _ := strings.Cut(own, "#")
		path, _, _ = strings.Cut(path, "?")
		for range 3 {
			path = strings.ReplaceAll(path, "\\", "/")
			if !strings.HasPrefix(path, prefix) || strings.Contains(path, "//") || strings.ContainsAny(path, "\t\r\n\x00") {
				t.Fatalf("%q leads to %q, which is read as %q", location, own, path)
			}
			for _, part := range strings.Split(path, "/") {
				if part == "." || part == ".." {
					t.Fatalf("%q leads to %q, which is read as %q", location, own, path)
				}
			}
			decoded, err := url.PathUnescape(path)
			if err != nil {
				break
			}
			path = decoded
		}
		if again, ok := exchange.OwnLocation(own, from, prefix); !ok || again != own {
			t.Fatalf("%q leads to %q, and that to %q", location, own, again)
		}
	})
}

func TestOwnCookies(t *testing.T) {
	for name, own := range map[string]bool{
		"theme": false, "sid": false, "a_ql": false, "_ql": false, "q": false, "host-ql": false, "-ql": false,
		"QLSESSID": true, "qlsessid": true, "QlX": true, "QL": true, "QLD_1": true, "qldash": true,
		"__Host-qldash": true, "__HOST-QLdash": true, "__host-x": true, "__Secure-x": true, "__secure-ql": true,
		"__Http-x": true, "__Host-Http-x": true, "__x": true,
	} {
		if isOwnCookie(name) != own {
			t.Errorf("%q belongs to the service: %t", name, !own)
		}
	}
}

// FuzzCookies: no cookie of the service's own names is set, whatever is asked for, and none
// that reaches further than the account's own addresses.
func FuzzCookies(f *testing.F) {
	for _, name := range []string{"theme", "QLSESSID", "__Host-qldash", "ſ", "qL", "_Host-ql", "=QLSESSID", " QLSESSID", "\tql"} {
		f.Add(name, "dark")
	}
	f.Add("a", "b; Path=/")
	f.Add("a", "b\r\nSet-Cookie: QLSESSID=x; Path=/")
	f.Fuzz(func(t *testing.T, name, value string) {
		if strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?={}`, r) }) || name == "" {
			return // the rules of the engine refuse those
		}
		h := http.Header{}
		apply(h, wire.Response{Cookies: []wire.Cookie{{Name: name, Value: value}}}, setting{prefix: prefix})
		for _, line := range h["Set-Cookie"] {
			c, err := http.ParseSetCookie(line)
			if err != nil || strings.ContainsAny(line, "\r\n") {
				t.Fatalf("%q: %v", line, err)
			}
			lower := strings.ToLower(c.Name)
			if c.Name != name || strings.HasPrefix(lower, "ql") || strings.Contains(lower, "host-ql") && strings.HasPrefix(lower, "__") {
				t.Fatalf("%q sets the cookie %q", name, c.Name)
			}
			if c.Path != prefix || c.Domain != "" || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || strings.Count(line, ";") != 3 {
				t.Fatalf("the cookie reaches too far: %s", line)
			}
		}
	})
}

const omittedHeader = "QL-Response-Omitted"

// omittedFrom returns what an answer says to have left out.
func omittedFrom(h wire.Header) []string { return h[omittedHeader] }

// TestHeadersOfScripts: what may be set is set as it is, and all else left out and named.
func TestHeadersOfScripts(t *testing.T) {
	allowed := map[string]string{
		"Content-Type": "text/html; charset=utf-8", "content-disposition": `attachment; filename="a.csv"`, "ETag": `"1"`, "X-Total": "3",
		"Cache-Control": "max-age=60", "Link": `</run/ada/todo?page=2>; rel="next", </run/ada/todo>; rel=first`, "Retry-After": "5",
		"X-Robots-Tag": "noindex", "Last-Modified": "Sun, 15 Nov 2026 08:30:00 GMT", "Vary": "Accept", "Location": "/run/ada/todo/1",
	}
	for name, value := range allowed {
		h := http.Header{}
		apply(h, wire.Response{Headers: []wire.Pair{{Name: name, Value: value}}}, setting{prefix: prefix, at: at, cacheable: true})
		if h.Get(name) != value || omittedFrom(h) != nil {
			t.Errorf("%s: %q becomes %v", name, value, h)
		}
	}
	refused := []wire.Pair{
		{Name: "Content-Security-Policy", Value: "default-src *"}, {Name: "CONTENT-SECURITY-POLICY", Value: ""},
		{Name: "Content-Security-Policy-Report-Only", Value: "default-src *; report-uri https://evil.example"},
		{Name: "Access-Control-Allow-Origin", Value: "*"}, {Name: "access-control-allow-credentials", Value: "true"},
		{Name: "Strict-Transport-Security", Value: "max-age=0"}, {Name: "Clear-Site-Data", Value: `"*"`}, {Name: "Service-Worker-Allowed", Value: "/"},
		{Name: "Set-Cookie", Value: "QLSESSID=x"}, {Name: "Set-Cookie2", Value: "a=b"}, {Name: "Connection", Value: "close"},
		{Name: "Transfer-Encoding", Value: "chunked"}, {Name: "Content-Length", Value: "1"}, {Name: "Content-Encoding", Value: "gzip"},
		{Name: "Trailer", Value: "Set-Cookie"}, {Name: "Trailer:Set-Cookie", Value: "a=b"}, {Name: "Upgrade", Value: "h2c"}, {Name: "Keep-Alive", Value: "1"},
		{Name: "Date", Value: "x"}, {Name: "Server", Value: "x"}, {Name: "Alt-Svc", Value: `h3=":443"`}, {Name: "Refresh", Value: "0; url=/v1/jobs"},
		{Name: "Link", Value: "</v1/jobs>; rel=preload; as=fetch"}, {Name: "Link", Value: `</a>; rel="next preload"`}, {Name: "Link", Value: "</a>; rel=next, </v1/jobs>; rel=prefetch"},
		{Name: "Location", Value: "//evil.example"}, {Name: "Content-Type", Value: "multipart/x-mixed-replace; boundary=a"},
		{Name: "Content-Type", Value: "application/signed-exchange;v=b3"}, {Name: "Content-Type", Value: "text/html;;;=\x01"}, {Name: "Content-Type", Value: "nonsense/"},
		{Name: "X-Accel-Redirect", Value: "/internal"}, {Name: "X-Sendfile", Value: "/etc/passwd"}, {Name: "X-Content-Type-Options", Value: ""},
		{Name: "X-Frame-Options", Value: "ALLOWALL"}, {Name: "X-LIGHTTPD-send-file", Value: "/etc/passwd"}, {Name: "X-Forwarded-Host", Value: "evil"},
		{Name: "WWW-Authenticate", Value: "Basic"}, {Name: "Proxy-Authenticate", Value: "Basic"}, {Name: "Report-To", Value: "{}"}, {Name: "NEL", Value: "{}"},
		{Name: "Reporting-Endpoints", Value: `a="https://evil.example"`}, {Name: "Origin-Trial", Value: "x"}, {Name: "Permissions-Policy", Value: "camera=*"},
		{Name: "Cross-Origin-Resource-Policy", Value: "cross-origin"}, {Name: "Cross-Origin-Opener-Policy", Value: "unsafe-none"}, {Name: "Timing-Allow-Origin", Value: "*"},
		{Name: "Speculation-Rules", Value: `"/run/ada/rules.json"`}, {Name: "Supports-Loading-Mode", Value: "credentialed-prerender"}, {Name: "Set-Login", Value: "logged-in"},
		{Name: "Sec-Session-Registration", Value: `(ES256);path="/run/ada/x"`}, {Name: "Use-As-Dictionary", Value: `match="/v1/*"`}, {Name: "SourceMap", Value: "/v1/jobs"},
		{Name: "Referrer-Policy", Value: "unsafe-url"}, {Name: "Accept-CH", Value: "Sec-CH-UA"}, {Name: "QL-Job-Id", Value: "x"}, {Name: "RateLimit", Value: "x"},
		{Name: "X-Text", Value: "é"}, {Name: "Unheard-Of", Value: "x"},
	}
	for _, header := range refused {
		h := http.Header{}
		wire.SetOutput(h, wire.HeaderOptions{}, false)
		before := maps.Clone(h)
		status := apply(h, wire.Response{Status: 302, Headers: []wire.Pair{header}}, setting{prefix: prefix, at: at, cacheable: true})
		if got := omittedFrom(h); !slices.Equal(got, []string{strings.ToLower(header.Name)}) || status != 302 {
			t.Errorf("%s: %q is left out as %q", header.Name, header.Value, got)
		}
		delete(h, omittedHeader)
		if !maps.EqualFunc(h, before, slices.Equal) {
			t.Errorf("%s: %q: the headers were %v and are %v", header.Name, header.Value, before, h)
		}
	}
}

func TestStatuses(t *testing.T) {
	for set, want := range map[int]int{0: 200, 100: 200, 101: 200, 103: 200, 199: 200, 200: 200, 204: 204, 304: 304, 404: 404, 599: 599} {
		h := http.Header{}
		if got := apply(h, wire.Response{Status: set}, setting{}); got != want {
			t.Errorf("%d becomes %d", set, got)
		}
		if left := omittedFrom(h) != nil; left != (set > 0 && set < 200) {
			t.Errorf("%d is left out: %t", set, left)
		}
	}
}

// TestAnswersAreBounded: neither headers nor what a browser keeps grow beyond measure.
func TestAnswersAreBounded(t *testing.T) {
	var r wire.Response
	for i := range 100 {
		r.Headers = append(r.Headers, wire.Pair{Name: fmt.Sprintf("X-%d", i), Value: strings.Repeat("x", 500)})
	}
	h := http.Header{}
	apply(h, r, setting{prefix: prefix})
	size := 0
	for name, values := range h {
		size += len(name) + len(strings.Join(values, ""))
	}
	if size > mostBytes+2<<10 || len(h) < 10 {
		t.Errorf("%d headers of %d bytes", len(h), size)
	}

	r = wire.Response{}
	for i := range 100 {
		r.Cookies = append(r.Cookies, wire.Cookie{Name: fmt.Sprintf("c%d", i), Value: "x"})
	}
	h = http.Header{}
	apply(h, r, setting{prefix: prefix, sent: []wire.Pair{{Name: "a"}, {Name: "b"}, {Name: "c5"}}})
	if n := len(h["Set-Cookie"]); n != mostCookies-2 {
		t.Errorf("%d cookies beside 3 that are there, of which one is set anew", n)
	}
	if got := h.Get("Cache-Control"); got != "no-store" {
		t.Errorf("cookies may be kept by caches: %q", got)
	}
	r = wire.Response{Cookies: []wire.Cookie{{Name: "c99", Removed: true}}}
	h = http.Header{}
	apply(h, r, setting{prefix: prefix, sent: manyCookies(100)})
	if got := h.Get("Set-Cookie"); got != "c99=; Max-Age=0; Path=/run/ada/; HttpOnly; SameSite=Lax" {
		t.Errorf("a cookie is removed by %q", got)
	}
}

func manyCookies(n int) (list []wire.Pair) {
	for i := range n {
		list = append(list, wire.Pair{Name: fmt.Sprintf("n%d", i)})
	}
	return list
}

// TestCachesKeepWhatAnybodyMayHave alone.
func TestCachesKeepWhatAnybodyMayHave(t *testing.T) {
	set := wire.Response{Headers: []wire.Pair{{Name: "Vary", Value: "Accept"}, {Name: "Cache-Control", Value: "public, max-age=60"}, {Name: "Expires", Value: "0"}}}
	for cacheable, want := range map[bool]string{true: "public, max-age=60", false: "no-store"} {
		h := http.Header{}
		wire.SetOutput(h, wire.HeaderOptions{}, false)
		apply(h, set, setting{prefix: prefix, cacheable: cacheable})
		if got := h.Get("Cache-Control"); got != want {
			t.Errorf("cacheable %t: %q", cacheable, got)
		}
		if vary := strings.Join(h["Vary"], ", "); cacheable && vary != "Accept, Origin, Authorization" {
			t.Errorf("Vary: %s", vary)
		}
	}
}
