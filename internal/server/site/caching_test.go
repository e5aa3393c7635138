package site_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"strconv"
	"strings"
	"testing"
)

// TestCaching is the table of conditions and ranges of files, and of conditions of pages.
func TestCaching(t *testing.T) {
	w := boot(t)
	w.puts(map[string]string{
		"ten.txt": "0123456789", "empty.txt": "", "app-3f2a1b9c.js": "1", "report-20261117.txt": "2", "page.ql": `EMIT "page"`, "many.ql": `EMIT RANDOM()`,
		"own.ql":  `SET "header:ETag" AS "\"v1\"" OF !RESPONSE SET "header:Cache-Control" AS "public, max-age=60" OF !RESPONSE EMIT "own {=RANDOM()}"`,
		"gone.ql": `SET "status" AS 410 OF !RESPONSE EMIT "gone"`, "404.html": "0123456789",
	})
	file, page := w.get("/ten.txt"), w.get("/page")
	tag, modified, pageTag := file.header.Get("Etag"), file.header.Get("Last-Modified"), page.header.Get("Etag")
	const before, after = "Mon, 01 Jan 2001 00:00:00 GMT", "Fri, 01 Jan 2100 00:00:00 GMT"
	if tag == "" || modified == "" || pageTag == "" || page.header.Get("Last-Modified") != "" {
		t.Fatalf("%v %v", file.header, page.header)
	}
	for _, test := range []struct {
		path    string
		headers []string
		status  int
		body    string
		part    string // Content-Range
	}{
		{"/ten.txt", nil, 200, "0123456789", ""},
		{"/ten.txt", []string{"If-None-Match", tag}, 304, "", ""},
		{"/ten.txt", []string{"If-None-Match", "W/" + tag}, 304, "", ""},
		{"/ten.txt", []string{"If-None-Match", `"x", ` + tag}, 304, "", ""},
		{"/ten.txt", []string{"If-None-Match", "*"}, 304, "", ""},
		{"/ten.txt", []string{"If-None-Match", `"x"`}, 200, "0123456789", ""},
		{"/ten.txt", []string{"If-None-Match", "x"}, 400, "*", ""},
		{"/ten.txt", []string{"If-Modified-Since", modified}, 304, "", ""},
		{"/ten.txt", []string{"If-Modified-Since", after}, 304, "", ""},
		{"/ten.txt", []string{"If-Modified-Since", before}, 200, "0123456789", ""},
		{"/ten.txt", []string{"If-Modified-Since", "yesterday"}, 200, "0123456789", ""},
		{"/ten.txt", []string{"If-None-Match", `"x"`, "If-Modified-Since", after}, 200, "0123456789", ""},
		{"/ten.txt", []string{"If-None-Match", tag, "If-Modified-Since", before}, 304, "", ""},
		{"/ten.txt", []string{"If-Match", tag}, 200, "0123456789", ""},
		{"/ten.txt", []string{"If-Match", `"x"`}, 412, "*", ""},
		{"/ten.txt", []string{"If-Match", "*"}, 200, "0123456789", ""},
		{"/ten.txt", []string{"If-Unmodified-Since", before}, 412, "*", ""},
		{"/ten.txt", []string{"If-Unmodified-Since", after}, 200, "0123456789", ""},
		{"/ten.txt", []string{"Range", "bytes=0-3"}, 206, "0123", "bytes 0-3/10"},
		{"/ten.txt", []string{"Range", "bytes=4-"}, 206, "456789", "bytes 4-9/10"},
		{"/ten.txt", []string{"Range", "bytes=-2"}, 206, "89", "bytes 8-9/10"},
		{"/ten.txt", []string{"Range", "bytes=0-0"}, 206, "0", "bytes 0-0/10"},
		{"/ten.txt", []string{"Range", "bytes=-99"}, 206, "0123456789", "bytes 0-9/10"},
		{"/ten.txt", []string{"Range", "bytes=5-99"}, 206, "56789", "bytes 5-9/10"},
		{"/ten.txt", []string{"Range", "bytes=10-"}, 416, "*", "bytes */10"},
		{"/ten.txt", []string{"Range", "bytes=-0"}, 416, "*", "bytes */10"},
		{"/ten.txt", []string{"Range", "bytes=3-1"}, 200, "0123456789", ""},
		{"/ten.txt", []string{"Range", "bytes=0-1,3-4"}, 200, "0123456789", ""},
		{"/ten.txt", []string{"Range", "lines=0-1"}, 200, "0123456789", ""},
		{"/ten.txt", []string{"Range", "bytes=0-3", "If-Range", tag}, 206, "0123", "bytes 0-3/10"},
		{"/ten.txt", []string{"Range", "bytes=0-3", "If-Range", `"x"`}, 200, "0123456789", ""},
		{"/ten.txt", []string{"Range", "bytes=0-3", "If-Range", "W/" + tag}, 200, "0123456789", ""},
		{"/ten.txt", []string{"Range", "bytes=0-3", "If-None-Match", tag}, 304, "", ""},
		{"/empty.txt", []string{"Range", "bytes=0-0"}, 416, "*", "bytes */0"},
		{"/empty.txt", nil, 200, "", ""},
		{"/nothing", []string{"Range", "bytes=0-3"}, 404, "0123456789", ""},
		{"/nothing", []string{"If-None-Match", "*"}, 404, "0123456789", ""},
		{"/page", []string{"If-None-Match", pageTag}, 304, "", ""},
		{"/page", []string{"If-None-Match", "W/" + pageTag}, 304, "", ""},
		{"/page", []string{"If-None-Match", "*"}, 304, "", ""},
		{"/page", []string{"If-None-Match", `"x"`}, 200, "page", ""},
		{"/page", []string{"If-None-Match", "x"}, 200, "page", ""},
		{"/page", []string{"If-Modified-Since", after}, 200, "page", ""},
		{"/page", []string{"Range", "bytes=0-1"}, 200, "page", ""},
		{"/many", []string{"If-None-Match", pageTag}, 200, "*", ""},
		{"/own", []string{"If-None-Match", `"v1"`}, 304, "", ""},
		{"/own", []string{"If-None-Match", `"v2"`}, 200, "*", ""},
		{"/gone", []string{"If-None-Match", "*"}, 410, "gone", ""},
	} {
		a := w.get(test.path, test.headers...)
		if a.status != test.status || test.body != "*" && a.body != test.body || a.header.Get("Content-Range") != test.part {
			t.Errorf("%s %v: %d %q %s", test.path, test.headers, a.status, a.body, a.header.Get("Content-Range"))
		}
		if a.status == 304 && (a.header.Get("Etag") == "" || a.header.Get("Content-Type") != "") {
			t.Errorf("%s %v: %v", test.path, test.headers, a.header)
		}
		if a.status == 416 && !strings.HasPrefix(a.header.Get("Content-Type"), "text/html") {
			t.Errorf("%s %v: %v", test.path, test.headers, a.header)
		}
	}
	for path, want := range map[string]string{
		"/ten.txt": "public, max-age=0, must-revalidate", "/app-3f2a1b9c.js": "public, max-age=31536000, immutable", "/report-20261117.txt": "public, max-age=0, must-revalidate",
		"/page": "no-cache", "/own": "public, max-age=60",
	} {
		if got := w.get(path).header.Get("Cache-Control"); got != want {
			t.Errorf("%s: Cache-Control: %s, want %s", path, got, want)
		}
	}
	if a := w.call("POST", w.SiteURL("ada")+"/page", "", "If-None-Match", "*"); a.status != 200 || a.header.Get("Etag") != "" {
		t.Errorf("what POST answers is named: %d %v", a.status, a.header)
	}
}

// TestPacked: files that gain by it are sent compressed to who takes that, and are the same.
func TestPacked(t *testing.T) {
	w := boot(t)
	long := strings.Repeat("body { color: red }\n", 1000)
	w.puts(map[string]string{"a.css": long, "short.css": "x", "a.png": long, "page.ql": `EMIT REPEAT("x", 5000)`})
	unpack := func(text string) string {
		t.Helper()
		r, err := gzip.NewReader(bytes.NewReader([]byte(text)))
		if err != nil {
			t.Fatal(err)
		}
		plain, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		return string(plain)
	}
	plain := w.get("/a.css")
	if plain.body != long || plain.header.Get("Vary") != "Accept-Encoding" || plain.header.Get("Content-Encoding") != "" {
		t.Errorf("%v", plain.header)
	}
	for range 2 { // computed, and kept
		a := w.get("/a.css", "Accept-Encoding", "br, gzip")
		if a.status != 200 || a.header.Get("Content-Encoding") != "gzip" || unpack(a.body) != long || len(a.body) > len(long)/10 ||
			a.header.Get("Content-Length") != strconv.Itoa(len(a.body)) || a.header.Get("Etag") != "W/"+plain.header.Get("Etag") || a.header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%d %v", a.status, a.header)
		}
	}
	if a := w.get("/a.css", "Accept-Encoding", "gzip", "If-None-Match", "W/"+plain.header.Get("Etag")); a.status != 304 {
		t.Errorf("what is known is sent: %d", a.status)
	}
	if a := w.call("HEAD", w.SiteURL("ada")+"/a.css", "", "Accept-Encoding", "gzip"); a.status != 200 || a.header.Get("Content-Encoding") != "gzip" || a.body != "" {
		t.Errorf("HEAD: %d %v", a.status, a.header)
	}
	for path, headers := range map[string][]string{
		"/short.css": {"Accept-Encoding", "gzip"}, "/a.png": {"Accept-Encoding", "gzip"}, "/page": {"Accept-Encoding", "gzip"},
		"/a.css": {"Accept-Encoding", "gzip;q=0"}, "/a.css?1": {"Accept-Encoding", "gzip;q=0.0, br"}, "/a.css?2": {"Accept-Encoding", "br"}, "/a.css?3": {"Accept-Encoding", "gzip", "Range", "bytes=0-9"},
	} {
		if a := w.get(path, headers...); a.header.Get("Content-Encoding") != "" || a.status >= 300 {
			t.Errorf("%s: %d %v", path, a.status, a.header)
		}
	}
	w.put("ada", "a.css", long+"x")
	if a := w.get("/a.css", "Accept-Encoding", "gzip"); unpack(a.body) != long+"x" {
		t.Error("an old file is sent")
	}
}
