package site_test

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"

	"ql/internal/account"
)

// caller asks for one address of a site again and again, on one connection. It allocates nothing, so that
// what is allocated is the service's.
type caller struct {
	t       testing.TB
	conn    net.Conn
	in      *bufio.Reader
	request []byte
}

// measured boots a service with a site whose account no rate holds back.
func measured(t testing.TB) *world {
	w := boot(t)
	w.Account("bench", account.Unlimited)
	w.put("bench", "trivial.ql", "SET ?sum AS 0\nFOR ?i FROM 0 TO 9 DO\n  SET ?sum AS ?sum + ?i\nEND\nSET ?name AS !GET('name') DEFAULT \"world\"\nEMIT HTML \"<h1>hello {?name} {?sum}</h1>\"\n")
	w.put("bench", "setup.ql", "CREATE TABLE IF NOT EXISTS fruits (id INTEGER PRIMARY KEY, name TEXT NOT NULL);\nINSERT OR REPLACE INTO fruits (id, name) VALUES (1, 'apple'), (2, 'pear');\nEMIT \"made\"\n")
	w.put("bench", "read.ql", "SET ?id AS NUMBER(!GET('id'))\nSELECT name FROM fruits WHERE id = ?id SET VALUE ?name\nEMIT HTML \"<h1>{?name}</h1>\"\n")
	w.put("bench", "note.txt", strings.Repeat("x", 2<<10))
	w.put("bench", "blog/[slug].ql", "EMIT HTML \"<h1>{=!REQUEST('param:slug')}</h1>\"\n")
	if a := w.call("GET", w.SiteURL("bench")+"/setup", ""); a.body != "made" {
		t.Fatal(a)
	}
	return w
}

// visits opens a connection.
func (w *world) visits(t testing.TB, path string, lines ...string) *caller {
	t.Helper()
	u, err := url.Parse(w.SiteURL("bench"))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", "127.0.0.1:"+u.Port())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	head := fmt.Sprintf("GET %s HTTP/1.1\r\nHost: %s\r\n", path, u.Host)
	for _, line := range lines {
		head += line + "\r\n"
	}
	return &caller{t: t, conn: conn, in: bufio.NewReaderSize(conn, 64<<10), request: []byte(head + "\r\n")}
}

var contentLength = []byte("Content-Length: ")

// ask sends the request, and reads the answer, which must have a status; "" for any.
func (c *caller) ask(status string) {
	if _, err := c.conn.Write(c.request); err != nil {
		c.t.Fatal(err)
	}
	length := 0
	for first := true; ; first = false {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			c.t.Fatal(err)
		}
		if first && string(line[len("HTTP/1.1 "):len("HTTP/1.1 ")+len(status)]) != status {
			c.t.Fatalf("the answer is %s", line)
		}
		if value, ok := bytes.CutPrefix(line, contentLength); ok {
			for _, digit := range value[:len(value)-len("\r\n")] {
				length = 10*length + int(digit-'0')
			}
		}
		if len(line) == len("\r\n") {
			break
		}
	}
	if _, err := c.in.Discard(length); err != nil {
		c.t.Fatal(err)
	}
}

// views are what is measured, each with how often it may allocate.
var views = []struct {
	name, path, status string
	allocations        float64
	lines              []string
}{
	{"trivial", "/trivial?name=ada", "200", 115, nil},
	{"SQLite read", "/read?id=2", "200", 145, nil},
	{"pattern", "/blog/first", "200", 175, nil},
	{"file", "/note.txt", "200", 39, nil},
	{"file compressed", "/note.txt", "200", 66, []string{"Accept-Encoding: gzip"}},
	{"file not modified", "/note.txt", "304", 60, []string{"If-None-Match: *"}},
}

// BenchmarkPage has the service answer with pages and files, over a real connection.
func BenchmarkPage(b *testing.B) {
	w := measured(b)
	for _, v := range views {
		b.Run(v.name, func(b *testing.B) {
			c := w.visits(b, v.path, v.lines...)
			b.ReportAllocs()
			for b.Loop() {
				c.ask(v.status)
			}
		})
	}
}
