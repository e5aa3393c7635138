package site

import (
	"net/http"
	"strings"
	"testing"

	"ql/internal/hostname"
	"ql/internal/wire"
)

// TestHostileHeaders: what a page sets does not break the answer, bind browsers beyond it, or reach
// the servers in front.
func TestHostileHeaders(t *testing.T) {
	for _, test := range []struct {
		name, value string
		sent        bool
	}{
		{"X-Total", "3", true}, {"x-total", "3", true}, {"Content-Type", "text/plain", true}, {"Content-Security-Policy", "default-src *", true},
		{"Cross-Origin-Opener-Policy", "unsafe-none", true}, {"Access-Control-Allow-Origin", "*", true}, {"Cache-Control", "max-age=60", true}, {"Link", "</a.css>; rel=preload", true},
		{"X-Frame-Options", "DENY", true}, {"Clear-Site-Data", "*", true}, {"Refresh", "1", true}, {"Service-Worker-Allowed", "/", true},
		{"Set-Cookie", "a=1; Domain=sites.example", false}, {"set-cookie", "a=1", false}, {"Set-Cookie2", "a=1", false},
		{"Content-Length", "1", false}, {"Transfer-Encoding", "chunked", false}, {"Connection", "close", false}, {"Keep-Alive", "1", false}, {"Upgrade", "h2c", false},
		{"TE", "x", false}, {"Trailer", "x", false}, {"Proxy-Authenticate", "Basic", false}, {"Proxy-Connection", "x", false}, {"Content-Encoding", "gzip", false},
		{"Date", "x", false}, {"Server", "x", false}, {"Strict-Transport-Security", "max-age=0", false}, {"Alt-Svc", "h3=\":443\"", false}, {"Public-Key-Pins", "x", false},
		{"X-Accel-Redirect", "/etc/passwd", false}, {"X-Sendfile", "/etc/passwd", false}, {"X-LiteSpeed-Location", "/x", false}, {"X-Lighttpd-Send-File", "/x", false}, {"X-Reproxy-URL", "http://x", false},
		{"QL-Job-Id", "x", false}, {"ql-status", "ok", false},
		{"X-A", "1\r\nSet-Cookie: b=2", false}, {"X-A", "1\nX-B: 2", false}, {"X-A", "1\x00", false}, {"X-A", "\x7f", false}, {"X-A", "ü", false}, {"X-A", "1\t2", false},
		{"X-Long", strings.Repeat("x", 20<<10), false},
	} {
		h := http.Header{}
		apply(h, wire.Response{Headers: []wire.Pair{{Name: test.name, Value: test.value}}}, setting{called: "ada.sites.example", at: "/", place: place{prefix: "/"}})
		if got := h.Get(test.name) == test.value; got != test.sent {
			t.Errorf("%s: %.40q is sent: %t", test.name, test.value, got)
		}
		if omitted := omittedFrom(h) != nil; omitted == test.sent {
			t.Errorf("%s: %.40q is told to be left out: %t", test.name, test.value, omitted)
		}
		if h["X-B"] != nil || h["Set-Cookie"] != nil {
			t.Errorf("%s: %v", test.name, h)
		}
	}
}

// isShop is of a site that has one other host.
func isShop(h hostname.Host) bool { return h.Name == "shop.example" }

// TestLocations: a page leads to its own site alone.
func TestLocations(t *testing.T) {
	for location, want := range map[string]string{
		"/x": "/x", "/": "/", "x": "/a/x", "../x": "/x", "?p=1": "/a/b?p=1", "#x": "/a/b#x", "/x?next=//evil": "/x?next=//evil", "./": "/a/", "/a%20b": "/a%20b",
		"http://ada.sites.example/x": "/x", "https://ada.sites.example/x?y#z": "/x?y#z", "http://ADA.sites.example/x": "/x", "http://ada.sites.example": "/",
		"http://ada.sites.example?x": "/?x",
		"https://Shop.example/x?y#z": "https://shop.example/x?y#z", "http://shop.example": "http://shop.example/", "https://shop.example/a/../x": "https://shop.example/x",
		"https://shop.example//evil": "", "https://shop.example\\@evil.example/": "", "https://evil@shop.example/": "", "https://shop.example:81/": "", "https://x.shop.example/": "", "https://shop.example/%2f/evil": "",
		"": "", "//evil.example": "", "///evil.example": "", "/\\evil.example": "", "\\\\evil.example": "", "/\t/evil.example": "", "http://evil.example": "", "https://bob.sites.example/": "",
		"http://ada.sites.example.evil/": "", "http://ada.sites.example:81/": "", "http://user@ada.sites.example/": "", "http://ada.sites.example//evil.example": "", "http:evil": "", "http:///x": "",
		"javascript:alert(1)": "", "data:text/html,x": "", "ftp://ada.sites.example/": "", "/%2f/evil.example": "", "/%5cevil": "", "/x//y": "", "/..%2f": "", "/%0d%0aX: y": "", "/x\r\nX: y": "", "http://ada.sites.example\\@evil.example/": "",
		"http://ada.sites.example%2eevil/": "", " /x": "", "/x y": "", "/<x>": "",
	} {
		h := http.Header{}
		status := apply(h, wire.Response{Status: 303, Headers: []wire.Pair{{Name: "Location", Value: location}}}, setting{called: "ada.sites.example", at: "/a/b", place: place{prefix: "/"}, isOwn: isShop})
		if got := h.Get("Location"); got != want || status != 303 {
			t.Errorf("%q leads to %q, want %q", location, got, want)
		}
	}
}

// FuzzLocation: wherever a page leads is on its site, as browsers read it.
func FuzzLocation(f *testing.F) {
	for _, location := range []string{"/x", "//evil", "http://ada.sites.example//evil", "http://ada.sites.example/x", "/a/../..//x", "?x", "#"} {
		f.Add(location)
	}
	f.Fuzz(func(t *testing.T, location string) {
		s := setting{called: "ada.sites.example", at: "/a/b", place: place{prefix: "/"}, isOwn: isShop}
		own, ok := s.ownLocation(location)
		own = strings.TrimPrefix(strings.TrimPrefix(own, "http://shop.example"), "https://shop.example")
		if ok && (!strings.HasPrefix(own, "/") || strings.HasPrefix(own, "//") || strings.ContainsAny(own, "\\\r\n\t ")) {
			t.Fatalf("%q leads to %q", location, own)
		}
	})
}

// TestCookies: cookies are the host's alone, and none has a name of the service's.
func TestCookies(t *testing.T) {
	for name, sent := range map[string]bool{
		"theme": true, "__Host-x": true, "qwerty": true, "QLSESSID": false, "qlsessid": false, "QLD_x": false, "ql": false, "__Host-qldash": false, "__host-QL": false, "__Secure-ql": false, "__Secure-__Host-ql": true,
	} {
		h := http.Header{}
		apply(h, wire.Response{Cookies: []wire.Cookie{{Name: name, Value: "1"}}}, setting{called: "h", at: "/", place: place{prefix: "/"}, HeaderOptions: wire.HeaderOptions{HTTPS: true}})
		if got := h.Get("Set-Cookie"); got != "" != sent || sent && got != name+"=1; Path=/; HttpOnly; Secure; SameSite=Lax" {
			t.Errorf("%s: %q", name, got)
		}
	}
	for _, value := range []string{"1; Domain=sites.example", "1\r\nX: y", "\"", "\\", "ü"} {
		h := http.Header{}
		apply(h, wire.Response{Cookies: []wire.Cookie{{Name: "a", Value: value}}}, setting{called: "h", at: "/", place: place{prefix: "/"}})
		if h.Get("Set-Cookie") != "" {
			t.Errorf("%q is sent: %v", value, h)
		}
	}
	var many []wire.Cookie
	for n := range 60 {
		many = append(many, wire.Cookie{Name: string(rune('a'+n%26)) + string(rune('a'+n/26)), Value: "1"})
	}
	h := http.Header{}
	apply(h, wire.Response{Cookies: many}, setting{called: "h", at: "/", place: place{prefix: "/"}})
	if n := len(h["Set-Cookie"]); n != mostCookies {
		t.Errorf("%d cookies are set", n)
	}
}

// FuzzPlace: what is read of a path has no part that another reader would read otherwise.
func FuzzPlace(f *testing.F) {
	for _, path := range []string{"", "a/b", "a//b", "%2e%2e", "a%2Fb", "a/%00", "%ff", "//", "a/", "%25"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		p := place{prefix: "/", path: path}
		got, err := p.decodePath("")
		if err != nil {
			return
		}
		if !strings.HasPrefix(got, "/") || strings.Contains(got, "//") || strings.ContainsAny(got, "\\\x00\r\n") || strings.Contains(got+"/", "/../") || strings.Contains(got+"/", "/./") {
			t.Fatalf("%q is read as %q", path, got)
		}
	})
}

// omittedHeader is written as the service writes it, which is not in the form of net/http.
const omittedHeader = "QL-Response-Omitted"

func omittedFrom(h wire.Header) []string { return h[omittedHeader] }
