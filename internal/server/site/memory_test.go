package site_test

import (
	"fmt"
	"maps"
	"runtime"
	"strings"
	"testing"

	"ql/internal/account"
)

// TestNothingIsStale: what was asked for often is what it was changed to, from the answer to the change on,
// however it was changed.
func TestNothingIsStale(t *testing.T) {
	w := boot(t)
	expect := func(after string, want map[string]string) {
		t.Helper()
		for path, body := range want {
			for range 3 { // read, remembered, and from memory
				if a := w.get(path); a.body != body {
					t.Fatalf("after %s %s is %d %q, want %q", after, path, a.status, a.body, body)
				}
			}
		}
	}
	first := map[string]string{"a.txt": "one", "page.ql": `EMIT "one"`, "folder/index.html": "one", "404.html": "none"}
	second := map[string]string{"a.txt": "two", "page.ql": `EMIT "two"`, "b.txt": "two", "404.html": "nothing"}
	shown := map[string]string{"/a.txt": "one", "/page": "one", "/folder/": "one", "/b.txt": "none"}
	shownThen := map[string]string{"/a.txt": "two", "/page": "two", "/folder/": "nothing", "/b.txt": "two"}
	for round := range 3 {
		if err := w.deploy(first); err != nil {
			t.Fatal(err)
		}
		expect(fmt.Sprintf("deploy %d", 2*round), shown)
		if err := w.deploy(second); err != nil {
			t.Fatal(err)
		}
		expect(fmt.Sprintf("deploy %d", 2*round+1), shownThen)
	}
	w.owner("POST", "/v1/sites/main/releases/1/restore", "")
	expect("a release was brought back", shown)
	w.puts(map[string]string{"a.txt": "three", "page.ql": `EMIT "three"`, "page": "a file is found before a script"})
	expect("files were written", map[string]string{"/a.txt": "three", "/page": "a file is found before a script"})
	w.owner("DELETE", "/v1/files/site/page", "")
	expect("a file was removed", map[string]string{"/page": "three"})
	w.owner("POST", "/v1/files/site/a.txt", `{"move":"/site/c.txt"}`)
	expect("a file was moved", map[string]string{"/a.txt": "none", "/c.txt": "three"})
	w.query(`WRITE "four" TO "/site/c.txt"`)
	expect("a script wrote a file", map[string]string{"/c.txt": "four"})
	w.put("ada", "_site.toml", "[redirects]\n\"/a.txt\" = \"/c.txt\"\n[headers]\n\"/c.txt\" = { X-Own = \"1\" }\n")
	for range 3 {
		if a, c := w.get("/a.txt"), w.get("/c.txt"); a.header.Get("Location") != "/c.txt" || c.header.Get("X-Own") != "1" {
			t.Fatalf("after the settings were written: %v %v", a.header, c.header)
		}
	}
	w.put("ada", "_site.toml", "")
	expect("the settings were emptied", map[string]string{"/a.txt": "none", "/c.txt": "four"})
	if a := w.get("/c.txt"); a.header.Get("X-Own") != "" {
		t.Errorf("%v", a.header)
	}
	w.Account("bob", account.Standard)
	w.put("bob", "c.txt", "bob's")
	if a := w.call("GET", w.SiteURL("bob")+"/c.txt", ""); a.body != "bob's" {
		t.Errorf("of another site %q was sent", a.body)
	}
	w.owner("DELETE", "/v1/files/site/c.txt", "")
	expect("the file was removed", map[string]string{"/c.txt": "none"})
}

// TestRememberedAnswers: the answer from memory is the answer that was read, to the header.
func TestRememberedAnswers(t *testing.T) {
	w := boot(t)
	w.puts(map[string]string{
		"a.txt": strings.Repeat("0123456789", 100), "empty.html": "", "full.bin": strings.Repeat("x", 64<<10), "large.bin": strings.Repeat("x", 64<<10+1),
		"docs/index.html": "<p>Docs", "app-3f2a1b9c.js": "1", "_site.toml": "[headers]\n\"/docs/\" = { X-Own = \"folder\" }\n\"/docs/index.html\" = { X-Own = \"file\", Cache-Control = \"no-store\" }\n",
	})
	type request struct {
		method, path string
		headers      []string
	}
	var all []request
	for _, path := range []string{"/a.txt", "/empty", "/empty.html", "/full.bin", "/large.bin", "/docs", "/docs/", "/docs/index.html", "/app-3f2a1b9c.js"} {
		for _, method := range []string{"GET", "HEAD", "POST", "OPTIONS"} {
			all = append(all, request{method, path, nil})
		}
		for _, h := range [][]string{{"Range", "bytes=0-3"}, {"If-None-Match", "*"}, {"If-Match", `"x"`}, {"Accept-Encoding", "gzip"}, {"If-Modified-Since", "Fri, 01 Jan 2100 00:00:00 GMT"}} {
			all = append(all, request{"GET", path, h})
		}
	}
	ask := func(r request) answer {
		a := w.call(r.method, w.SiteURL("ada")+r.path, "", r.headers...)
		a.header.Del("Date")
		a.header.Del("Ratelimit")
		if a.status >= 400 { // a notice, with something in it that is never the same
			a.header.Del("Content-Security-Policy")
			a.body = ""
		}
		return a
	}
	for _, r := range all {
		w.put("ada", "other.txt", "") // from here on nothing is remembered
		first := ask(r)
		for _, other := range all { // whoever else asks meanwhile
			if other.path == r.path {
				ask(other)
			}
		}
		again := ask(r)
		if again.status != first.status || again.body != first.body || !maps.EqualFunc(again.header, first.header, func(a, b []string) bool { return strings.Join(a, "\n") == strings.Join(b, "\n") }) {
			t.Errorf("%v: %d %v, and then %d %v", r, first.status, first.header, again.status, again.header)
		}
	}
}

// TestManyPaths: whoever asks for any number of paths has nothing remembered of them.
func TestManyPaths(t *testing.T) {
	w := measured(t)
	c := w.visits(t, "/")
	head := string(c.request[strings.Index(string(c.request), " HTTP/1.1"):])
	ask := func(from, to int) {
		for i := from; i < to; i++ {
			c.request = fmt.Appendf(nil, "GET /none/%d/%s%s", i, strings.Repeat("x", 300), head)
			c.ask("404")
			c.request = fmt.Appendf(nil, "GET /blog/%d-%s%s", i, strings.Repeat("x", 300), head)
			c.ask("200")
			c.request = fmt.Appendf(nil, "GET /note.txt?%d%s", i, head)
			c.ask("200")
		}
	}
	held := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	ask(0, 100)
	before := held()
	ask(100, 5_000)
	const caches = 6 << 20 // what the store remembers of one site, and a little more
	if grown := held() - before; grown > caches {
		t.Errorf("after 10,000 paths %d bytes more are held", grown)
	}
}
