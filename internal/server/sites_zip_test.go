package server_test

import (
	"archive/zip"
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"ql/internal/account"
)

const zipType = "application/zip"

// zipEntry is a file of a zip file.
type zipEntry struct {
	name, content string
	change        func(*zip.FileHeader)
}

// zipOf makes a zip file.
func zipOf(t testing.TB, entries ...zipEntry) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		if e.change != nil {
			e.change(h)
		}
		f, err := w.CreateHeader(h)
		check(t, err)
		if e.content != "" {
			_, err = f.Write([]byte(e.content))
			check(t, err)
		}
	}
	check(t, w.Close())
	return b.String()
}

// deployZip sends a zip file.
func (o siteOwner) deployZip(body string, headers ...string) (int, siteAnswer, response) {
	o.t.Helper()
	r := o.send("PUT", "/v1/sites/main", zipType, body, append(headers, "Authorization", basic(o.name, o.password))...)
	var a siteAnswer
	if err := json.Unmarshal([]byte(r.body), &a); err != nil {
		o.t.Fatalf("%d %s: %v", r.status, r.body, err)
	}
	return r.status, a, r
}

// blobs returns how many contents are on the disk, those on their way too.
func (w *world) blobs() (n int) {
	w.t.Helper()
	check(w.t, filepath.WalkDir(filepath.Join(w.folder, "blobs"), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && d.Name() != "lock" {
			n++
		}
		return err
	}))
	return n
}

// noise is text that does not get shorter.
func noise(n int) string {
	b, from := make([]byte, n), rand.NewChaCha8([32]byte{1})
	_, _ = from.Read(b) // it never fails
	return string(b)
}

func TestSiteIsDeployedOfZip(t *testing.T) {
	w := boot(t, unlimitedCalls)
	ada := siteOwner{w, w.member("ada", account.Standard)}
	large := noise(300_000) // beyond what a row holds
	stored := func(h *zip.FileHeader) { h.Method = zip.Store }
	link := func(h *zip.FileHeader) { h.SetMode(fs.ModeSymlink | 0o777) }
	body := zipOf(t,
		zipEntry{name: "mysite/"}, zipEntry{name: "mysite/index.ql", content: `INCLUDE "/site/_lib.ql"` + "\nEMIT twice(2)"},
		zipEntry{name: "mysite/_lib.ql", content: "DEFINE twice(?n)\nRETURN 2 * ?n\nEND"},
		zipEntry{name: "mysite/img/a.bin", content: large}, zipEntry{name: "mysite/img/b.bin", content: large, change: stored},
		zipEntry{name: "mysite/empty.txt"}, zipEntry{name: "mysite/.well-known/x", content: "x"},
		// What is left out.
		zipEntry{name: "mysite/.git/config", content: "secret"}, zipEntry{name: "mysite/node_modules/.bin/x", content: "../x", change: link},
		zipEntry{name: "__MACOSX/mysite/._index.ql", content: "x"}, zipEntry{name: ".DS_Store", content: "x"},
	)
	status, a, r := ada.deployZip(body, "If-None-Match", "*")
	if status != 201 || a.Release.Number != 1 || a.Release.Files != 6 || a.Release.By != "password" || r.header.Get("Etag") != `"1"` {
		t.Fatalf("%d %s", status, r.body)
	}
	for path, want := range map[string]string{"img/a.bin": large, "img/b.bin": large, "empty.txt": "", ".well-known/x": "x"} {
		if r := w.send("GET", "/v1/files/site/"+path, "", "", "Authorization", basic(ada.name, ada.password)); r.status != 200 || r.body != want {
			t.Errorf("%s: %d with %d bytes, want %d", path, r.status, len(r.body), len(want))
		}
	}
	if n := w.blobs(); n != 1 {
		t.Errorf("%d contents are on the disk: the zip file is to be gone, and the large content to be there once", n)
	}
	if status, a, r = ada.deployZip(body); status != 200 || a.Release.Number != 1 {
		t.Errorf("the same again: %d %s", status, r.body)
	}
	if status, a, r = ada.deployZip(body, "If-None-Match", "*"); status != 412 || a.Error.Code != "precondition_failed" {
		t.Errorf("over another release: %d %s", status, r.body)
	}
	// Scripts compile, or nothing changes; a file beside the folder has that stay.
	if status, a, r = ada.deployZip(zipOf(t, zipEntry{name: "a/b.ql", content: "EMIT 1 +"}, zipEntry{name: "c.txt"})); status != 422 || len(a.Error.Details) == 0 || a.Error.Details[0].File != "/site/a/b.ql" {
		t.Errorf("a script with an error: %d %s", status, r.body)
	}
	if _, a, _ = ada.call("GET", "", ""); a.Release.Number != 1 {
		t.Errorf("the release is %+v", a.Release)
	}
	if n := w.blobs(); n != 1 {
		t.Errorf("%d contents are on the disk", n)
	}
	if r := w.send("PUT", "/v1/sites/main", zipType, zipOf(t, zipEntry{name: "a.txt"}), page(w.token(w.signIn(ada.member)))...); r.status != 201 {
		t.Errorf("by a page of the dashboard: %d %s", r.status, r.body)
	}
	key := w.key(ada.member, "looks", "manage")
	if r := w.send("PUT", "/v1/sites/main", zipType, body, "Authorization", "Bearer "+key); r.status != 403 {
		t.Errorf("by a key that may not run scripts: %d %s", r.status, r.body)
	}
}

// TestHostileZips: each is refused by its name, and nothing of it stays.
func TestHostileZips(t *testing.T) {
	w := boot(t, unlimitedCalls)
	ada := siteOwner{w, w.member("ada", account.Free)}
	fine := zipEntry{name: "fine.bin", content: noise(200_000)}
	named := func(name string) string { return zipOf(t, fine, zipEntry{name: name, content: "x"}) }
	with := func(change func(*zip.FileHeader)) string {
		return zipOf(t, fine, zipEntry{name: "odd", content: "x", change: change})
	}
	// edit changes a zip file behind the n-th mark of a kind.
	edit := func(body, mark string, n int, change func(entry []byte)) string {
		b, at := []byte(body), 0
		for range n {
			at += bytes.Index(b[at:], []byte(mark)) + 4
		}
		change(b[at-4:])
		return string(b)
	}
	const entryMark, endMark = "PK\x01\x02", "PK\x05\x06"
	put32 := binary.LittleEndian.PutUint32
	many := func(n int) (list []zipEntry) {
		for i := range n {
			list = append(list, zipEntry{name: fmt.Sprintf("%d", i), change: func(h *zip.FileHeader) { h.Method = zip.Store }})
		}
		return list
	}
	commented := many(50)
	for i := range commented {
		commented[i].change = func(h *zip.FileHeader) { h.Comment = strings.Repeat("c", 60_000) }
	}
	two := zipOf(t, fine, zipEntry{name: "b.txt", content: "hello"})
	for name, test := range map[string]struct {
		body, want string
		status     int
	}{
		"slip":              {named("../../etc/passwd"), `\"../../etc/passwd\", which has an empty part, . or ..`, 400},
		"slip below":        {named("a/../../b"), "has an empty part, . or ..", 400},
		"absolute":          {named("/etc/passwd"), `\"/etc/passwd\", which is absolute`, 400},
		"backslash":         {named(`..\a`), "has a backslash", 400},
		"drive":             {named("C:/a"), "C:", 422},
		"control":           {named("a\x00b"), "invalid_path", 422},
		"no UTF-8":          {named("a\xff"), "invalid_path", 422},
		"twice":             {zipOf(t, zipEntry{name: "a", content: "1"}, zipEntry{name: "a", content: "2"}), `\"a\", which it has twice`, 400},
		"twice by case":     {zipOf(t, zipEntry{name: "a", content: "1"}, zipEntry{name: "A", content: "2"}), "the same name on some systems", 422},
		"file and folder":   {zipOf(t, zipEntry{name: "x"}, zipEntry{name: "a"}, zipEntry{name: "a/b"}), "other files stand in a folder of this name", 422},
		"link":              {with(func(h *zip.FileHeader) { h.SetMode(fs.ModeSymlink | 0o777) }), `\"odd\", which is a symbolic link`, 400},
		"device":            {with(func(h *zip.FileHeader) { h.SetMode(fs.ModeDevice) }), `\"odd\", which is no file`, 400},
		"encrypted":         {with(func(h *zip.FileHeader) { h.Flags |= 1 }), `\"odd\", which is encrypted`, 400},
		"method":            {edit(two, entryMark, 2, func(e []byte) { e[10] = 12 }), `\"b.txt\", which is packed by method 12`, 400},
		"bomb":              {zipOf(t, fine, zipEntry{name: "bomb", content: strings.Repeat("\x00", 9<<20)}), `\"bomb\", which unpacks to more than 100 times`, 413},
		"bomb that lies":    {edit(zipOf(t, fine, zipEntry{name: "bomb", content: strings.Repeat("\x00", 9<<20)}), entryMark, 2, func(e []byte) { put32(e[24:], 1000) }), `\"bomb\", which is damaged, or unpacks to another size`, 400},
		"large file":        {edit(two, entryMark, 2, func(e []byte) { put32(e[24:], 11<<20) }), "file_bytes", 413},
		"many files":        {zipOf(t, many(2001)...), "more than 2000 files", 413},
		"many entries":      {edit(two, endMark, 1, func(e []byte) { binary.LittleEndian.PutUint16(e[10:], 60_000) }), "has 60000 entries", 413},
		"large directory":   {zipOf(t, commented...), "has a directory of entries that is too large", 413},
		"checksum":          {edit(two, "PK\x03\x04", 1, func(e []byte) { e[50]++ }), `\"fine.bin\", which`, 400},
		"no directory":      {two[:len(two)-30], "is cut off", 400},
		"broken directory":  {edit(two, entryMark, 1, func(e []byte) { e[0] = 'x' }), "its directory cannot be read", 400},
		"directory is away": {edit(two, endMark, 1, func(e []byte) { put32(e[16:], 1<<31) }), "stands elsewhere than the directory has it", 400},
		"shared bytes":      {edit(two, entryMark, 2, func(e []byte) { put32(e[42:], 0) }), `\"b.txt\", which overlaps another`, 400},
		"behind the end":    {edit(two, entryMark, 2, func(e []byte) { put32(e[42:], 1<<30) }), `\"b.txt\", which is damaged`, 400},
		"ZIP64":             {two[:len(two)-22] + "PK\x06\x07" + strings.Repeat("\x00", 16) + two[len(two)-22:], "ZIP64", 400},
		"no files":          {zipOf(t, zipEntry{name: "a/"}, zipEntry{name: ".git/x"}), "without files", 400},
		"nothing":           {"", "is no zip file", 400},
		"something else":    {fine.content, "is no zip file", 400},
		"a zip too large":   {noise(10<<20 + 1), "file_bytes", 413},
	} {
		if status, _, r := ada.deployZip(test.body); status != test.status || !strings.Contains(r.body, test.want) {
			t.Errorf("%s: %d %.400s, want %d with %s", name, status, r.body, test.status, test.want)
		}
		if n := w.blobs(); n != 0 {
			t.Fatalf("%s: %d contents are left", name, n)
		}
	}
	if r := w.send("PUT", "/v1/sites/main", zipType, two, "Authorization", basic(ada.name, ada.password), "Content-Encoding", "gzip"); r.status != 415 {
		t.Errorf("packed once more: %d %s", r.status, r.body)
	}
	if p := ada.plan(map[string]string{"a": fine.content, "b": "x", "c": "hello"}); p.Release != nil || len(p.Missing) != 3 {
		t.Errorf("something was stored: %+v", p)
	}
}

// TestZipThatIsCutOff: of a zip file that does not come to its end nothing stays.
func TestZipThatIsCutOff(t *testing.T) {
	w := boot(t)
	ada := siteOwner{w, w.member("ada", account.Free)}
	body := zipOf(t, zipEntry{name: "a", content: noise(900_000)})
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(w.url, "http://"))
	check(t, err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "PUT /v1/sites/main HTTP/1.1\r\nHost: x\r\nAuthorization: %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", basic(ada.name, ada.password), zipType, len(body), body[:600_000])
	check(t, err)
	check(t, conn.(*net.TCPConn).CloseWrite())
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	check(t, err)
	defer res.Body.Close()
	if res.StatusCode != http.StatusBadRequest {
		t.Errorf("%d", res.StatusCode)
	}
	if n := w.blobs(); n != 0 {
		t.Errorf("%d contents are left", n)
	}
	if _, a, _ := ada.call("GET", "", ""); a.Release != nil {
		t.Errorf("there is a release: %+v", a.Release)
	}
}
