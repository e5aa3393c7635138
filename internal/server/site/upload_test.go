package site_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime/multipart"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"ql/internal/account"
	"ql/internal/apptest"
	"ql/internal/config"
)

// part is one of a form: a value, or a file where it has a file name.
type part struct{ name, file, content string }

// formOf makes a form in parts.
func formOf(t testing.TB, parts ...part) (body, kind string) {
	t.Helper()
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	for _, p := range parts {
		create := func() (io.Writer, error) { return m.CreateFormField(p.name) }
		if p.file != "" {
			create = func() (io.Writer, error) { return m.CreateFormFile(p.name, p.file) }
		}
		w, err := create()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, p.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String(), m.FormDataContentType()
}

// postParts sends a form in parts to a page of ada's site.
func (w *world) postParts(path string, parts ...part) answer {
	w.t.Helper()
	body, kind := formOf(w.t, parts...)
	return w.call("POST", w.SiteURL("ada")+path, body, "Content-Type", kind)
}

// blobs returns how many files the service has on the disk for contents, those on their way too.
func (w *world) blobs() (n int) {
	w.t.Helper()
	err := filepath.WalkDir(filepath.Join(w.Settings.Data, "blobs"), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && d.Name() != "lock" {
			n++
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

const showFiles = `FOR ?f IN !FILES('photo') DEFAULT [] DO
	EMIT LINE ?f.name, "|", ?f.type, "|", ?f.size
END
EMIT !POST, COUNT(!BODY)`

// TestFilesOfRequests: what comes with a form is there for its script, and gone unless that keeps it.
func TestFilesOfRequests(t *testing.T) {
	w := boot(t, lift)
	large := strings.Repeat("0123456789abcdef", 20<<10) // 320 KiB: beyond what a row holds
	w.puts(map[string]string{
		"show.ql":  showFiles,
		"keep.ql":  `FOR ?f IN !FILES('photo') DO MOVE ?f.path TO "/photos/{?f.name}" END EMIT "kept"`,
		"copy.ql":  `SET ?p AS !FILES.photo[0].path COPY ?p TO "/a" COPY ?p TO "/b" REMOVE "/a" READ ?p AS BYTES SET ?c EMIT LENGTH(?c)`,
		"lines.ql": `SET ?n AS 0 SET ?p AS !FILES.photo[0].path FOR ?l IN FILE ?p AS LINES DO SET ?n AS ?n + 1 END EMIT ?n`,
		"twice.ql": `SET ?p AS !FILES.photo[0].path MOVE ?p TO "/t" TRY READ ?p AS BYTES SET ?c CATCH ?e EMIT ?e.code END`,
		"gone.ql":  `SET ?p AS !FILES.photo[0].path REMOVE ?p TRY MOVE ?p TO "/x" CATCH ?e EMIT ?e.code END`,
		"write.ql": `TRY WRITE "x" TO !FILES.photo[0].path CATCH ?e EMIT ?e.code END`,
		"none.ql":  `EMIT !FILES, !FILES('x') IS NULL`,
		"plain.ql": `EMIT !POST('title')`,
		"fail.ql":  `EMIT !FILES.photo[0].size RAISE "mine" "no"`,
	})
	for _, test := range []struct {
		path  string
		parts []part
		want  string
	}{
		{"/show", []part{{"title", "", "Us"}, {"photo", "a.png", "x"}, {"photo", `..\b "c".png`, large}, {"a", "", "1"}, {"a", "", "2"}},
			"a.png|application/octet-stream|1\nb _c_.png|application/octet-stream|327680\n{\"title\":\"Us\",\"a\":[\"1\",\"2\"]}2"},
		{"/show", []part{{"title", "", "Us"}}, `{"title":"Us"}1`},
		{"/keep", []part{{"photo", "a.txt", "small"}, {"photo", "b.txt", large}}, "kept"},
		{"/copy", []part{{"photo", "a.txt", large}}, "327680"},
		{"/copy", []part{{"photo", "a.txt", "tiny"}}, "4"},
		{"/lines", []part{{"photo", "a.txt", strings.Repeat("line\n", 30_000)}}, "30000"},
		{"/twice", []part{{"photo", "a.txt", large}}, "file_not_found"},
		{"/gone", []part{{"photo", "a.txt", large}}, "file_not_found"},
		{"/write", []part{{"photo", "a.txt", "x"}}, "invalid_path"},
		{"/none", []part{{"a", "", "1"}}, "{}true"},
		{"/plain", []part{{"photo", "a.txt", large}, {"title", "", "T"}}, "T"},
	} {
		if a := w.postParts(test.path, test.parts...); a.status != 200 || a.body != test.want {
			t.Errorf("%s: %d %s, want %s", test.path, a.status, a.body, test.want)
		}
	}
	if a := w.postParts("/fail", part{"photo", "a", large}); a.status != 500 {
		t.Errorf("a page that fails: %d", a.status)
	}
	if got := w.owner("GET", "/v1/files/photos/b.txt", ""); got != large {
		t.Errorf("what was kept has %d bytes", len(got))
	}
	if got := w.owner("GET", "/v1/files/", ""); strings.Contains(got, "uploads") {
		t.Error(got)
	}
	// All that is kept has one content, and that of the file of the loop is gone.
	if n := w.blobs(); n != 1 {
		t.Errorf("%d contents are left", n)
	}
	// Browsers send a field for which no file was chosen as one without a name.
	const none = "--x\r\nContent-Disposition: form-data; name=\"photo\"; filename=\"\"\r\nContent-Type: application/octet-stream\r\n\r\n\r\n--x--\r\n"
	w.put("ada", "chosen.ql", `EMIT !FILES`)
	if a := w.call("POST", w.SiteURL("ada")+"/chosen", none, "Content-Type", "multipart/form-data; boundary=x"); a.body != `{"photo":[]}` {
		t.Errorf("no file was chosen: %d %s", a.status, a.body)
	}
}

// TestRefusedFiles: what is too much, or no form, is refused for a reason, and nothing of it stays.
func TestRefusedFiles(t *testing.T) {
	w := boot(t, lift, func(s *config.Settings) {
		l := s.Plans[account.Standard]
		l.SiteBodyBytes, l.FileBytes, l.StorageBytes, l.BodyBytes, l.FieldKeys = 600<<10, 400<<10, 500<<10, 64<<10, 30
		s.Plans[account.Standard] = l
	})
	w.put("ada", "show.ql", showFiles)
	several := func(n int, p part) (list []part) {
		for i := range n {
			p.name = fmt.Sprintf("f%d", i)
			list = append(list, p)
		}
		return list
	}
	text := func(n int) string { return strings.Repeat("x", n<<10) }
	for _, test := range []struct {
		name   string
		parts  []part
		status int
		want   string
	}{
		{"more than a request has", []part{{"a", "a", text(350)}, {"b", "b", text(350)}}, 413, "614400 bytes at most"},
		{"more than a file has", []part{{"photo", "a", text(450)}}, 413, "409600"},
		{"more than there is room for", []part{{"a", "a", text(280)}, {"b", "b", text(280)}}, 429, ""},
		{"more text than is held", []part{{"a", "", text(70)}}, 413, "besides files"},
		{"more fields", several(31, part{content: "1"}), 400, "30 at most"},
		{"more files", several(21, part{file: "a", content: "1"}), 413, "20 at most"},
		{"more parts", several(60, part{file: "a", content: "1"}), 413, "20 at most"},
		{"text that is none", []part{{"a", "", "\xff"}}, 400, "UTF-8"},
		{"no name", []part{{"", "", "a"}}, 400, "without a name"},
	} {
		a := w.postParts("/show", test.parts...)
		if a.status != test.status || !strings.Contains(a.body, test.want) {
			t.Errorf("%s: %d %s", test.name, a.status, a.body)
		}
		if n := w.blobs(); n != 0 {
			t.Errorf("%s: %d contents are left", test.name, n)
		}
	}
	for _, body := range []string{"", "--x", "--x\r\n\r\n", "--y--", "--x\r\nContent-Disposition: form-data; name=a\r\n\r\n1"} {
		if a := w.call("POST", w.SiteURL("ada")+"/show", body, "Content-Type", "multipart/form-data; boundary=x"); a.status != 400 && body != "" {
			t.Errorf("%q: %d %s", body, a.status, a.body)
		}
	}
	// There is room for one that fits: nothing is counted any more of those that were refused.
	if a := w.postParts("/show", part{"photo", "a", text(390)}); a.status != 200 {
		t.Errorf("after all: %d %s", a.status, a.body)
	}
	if n := w.blobs(); n != 0 {
		t.Errorf("%d contents are left", n)
	}
}

// TestFilesOfAbsentVisitors: who goes away in the middle leaves nothing.
func TestFilesOfAbsentVisitors(t *testing.T) {
	w := boot(t, lift)
	w.put("ada", "show.ql", showFiles)
	body, kind := formOf(t, part{"photo", "a", strings.Repeat("x", 1<<20)})
	address, err := url.Parse(w.SiteURL("ada"))
	if err != nil {
		t.Fatal(err)
	}
	for _, sent := range []int{100, 1000, 600_000, len(body) - 10} {
		var dialer net.Dialer
		conn, err := dialer.DialContext(t.Context(), "tcp", "127.0.0.1:"+address.Port())
		if err != nil {
			t.Fatal(err)
		}
		head := fmt.Sprintf("POST /show HTTP/1.1\r\nHost: %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", address.Host, kind, len(body))
		if _, err := io.WriteString(conn, head+body[:sent]); err != nil {
			t.Fatal(err)
		}
		// The other direction stays open: what is answered tells that it has ended.
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(text), "HTTP/1.1 400 ") {
			t.Errorf("after %d bytes: %.80s %v", sent, text, err)
		}
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
		if n := w.blobs(); n != 0 {
			t.Errorf("after %d bytes %d contents are left", sent, n)
		}
	}
}

// TestFilesOfPausedPages: a page that asks has its files after the answer, also where the service was
// started anew meanwhile, and lets go of them at its end.
func TestFilesOfPausedPages(t *testing.T) {
	s := apptest.Settings(t, apptest.Production, lift, func(s *config.Settings) { s.SiteHost, s.SiteListen = domain, "127.0.0.1:0" })
	large := strings.Repeat("0123456789", 30<<10)
	const ask = `SET ?f AS !FILES.photo[0] GATHER "Who?" FIELDS who TEXT REQUIRED SET ?a `
	asked := map[string]answer{}
	cookies := map[string]string{}
	t.Run("before", func(t *testing.T) {
		w := bootWith(t, s)
		w.puts(map[string]string{
			"read.ql":  ask + `READ ?f.path AS BYTES SET ?c EMIT "{?a.who} {?f.name} {=LENGTH(?c)}"`,
			"keep.ql":  ask + `MOVE ?f.path TO "/kept/{?a.who}" TRY READ ?f.path AS BYTES SET ?c CATCH ?e EMIT "{?a.who} {?e.code}" END`,
			"moved.ql": `MOVE !FILES.photo[0].path TO "/kept/first" ` + ask + `EMIT "{?a.who} ", !FILES.photo[0].name`,
			"small.ql": ask + `READ ?f.path AS TEXT SET ?c EMIT ?c`,
			"leave.ql": ask + `EMIT "left"`,
		})
		for path, content := range map[string]string{"/read": large, "/keep": large + "2", "/moved": large + "3", "/small": "tiny", "/leave": large + "4"} {
			v := w.visitor()
			body, kind := formOf(t, part{"photo", "me.png", content})
			a := v.call("POST", w.SiteURL("ada")+path, body, "Content-Type", kind)
			for _, c := range (&http.Response{Header: a.header}).Cookies() {
				cookies[path] = c.Value
			}
			v.cookies["QLVISITOR"] = cookies[path]
			asked[path] = v.follow(a)
			v.wantPage(asked[path], 200, "Who?")
		}
		if n := w.blobs(); n != 4 {
			t.Errorf("%d contents are held", n)
		}
	})
	t.Run("after", func(t *testing.T) {
		w := &world{t: t, Service: apptest.Start(t, s)}
		w.client = newClient(t)
		for path, want := range map[string]string{"/read": "Bo me.png 307200", "/keep": "Bo file_not_found", "/moved": "Bo me.png", "/small": "tiny", "/leave": "left"} {
			v := w.visitor()
			v.cookies["QLVISITOR"] = cookies[path]
			v.wantPage(v.follow(v.submit(v.form(asked[path], "who", "Bo"))), 200, want)
		}
		for path, want := range map[string]string{"Bo": large + "2", "first": large + "3"} {
			if got := w.owner("GET", "/v1/files/kept/"+path, ""); got != want {
				t.Errorf("%s has %d bytes", path, len(got))
			}
		}
		if got := w.owner("GET", "/v1/limits", ""); !strings.Contains(got, `"storage":{"value":10737418240,"used":`) {
			t.Error(got)
		}
	})
}

// TestFilesOfPrograms: published programs have files too, and a repeat with another content is another
// request.
func TestFilesOfPrograms(t *testing.T) {
	w := boot(t, lift)
	w.owner("PUT", "/v1/scripts/file", `{"text":"READ !FILES.f[0].path AS TEXT SET ?t EMIT !FILES.f[0].name, ' ', ?t","callers":"anyone"}`)
	for _, test := range []struct {
		key, content string
		status       int
		want         string
	}{
		{"", "Bob", 200, "a.txt Bob"}, {"k", "Ada", 200, "a.txt Ada"}, {"k", "Ada", 200, "a.txt Ada"}, {"k", "Eve", 422, "idempotency_mismatch"},
		{"", strings.Repeat("x", 300<<10), 200, "a.txt xxx"},
	} {
		body, kind := formOf(t, part{"f", "a.txt", test.content})
		headers := []string{"Content-Type", kind}
		if test.key != "" {
			headers = append(headers, "Idempotency-Key", test.key)
		}
		if a := w.call("POST", w.URL()+"/run/ada/file", body, headers...); a.status != test.status || !strings.Contains(a.body, test.want) {
			t.Errorf("%s: %d %.100s", test.key, a.status, a.body)
		}
	}
	if n := w.blobs(); n != 0 {
		t.Errorf("%d contents are left", n)
	}
}

// TestPromiseLargeFiles: a request is not held in memory, however large it is.
func TestPromiseLargeFiles(t *testing.T) {
	size := int64(48 << 20)
	if os.Getenv("QL_PROMISES") != "" {
		size = 1 << 30
	}
	w := boot(t, lift, func(s *config.Settings) {
		l := s.Plans[account.Standard]
		l.SiteBodyBytes = 0
		s.Plans[account.Standard] = l
	})
	w.put("ada", "keep.ql", `MOVE !FILES.film[0].path TO "/film" EMIT !FILES.film[0].size`)
	const head = "--x\r\nContent-Disposition: form-data; name=\"film\"; filename=\"a.mp4\"\r\nContent-Type: video/mp4\r\n\r\n"
	var most uint64
	content := &watched{left: size, each: func() {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		most = max(most, m.HeapInuse)
	}}
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.SiteURL("ada")+"/keep", io.MultiReader(strings.NewReader(head), content, strings.NewReader("\r\n--x--\r\n")))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "multipart/form-data; boundary=x")
	res, err := w.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || string(text) != fmt.Sprint(size) {
		t.Errorf("%d %s %v", res.StatusCode, text, err)
	}
	grown := int64(most) - int64(before.HeapInuse)
	t.Logf("%d MiB came with %d MiB more memory", size>>20, grown>>20)
	if grown > 32<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
}

// watched is content that tells now and then how far it is.
type watched struct {
	left int64
	n    int
	each func()
}

func (r *watched) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	if r.n++; r.n%64 == 0 {
		r.each()
	}
	n := int(min(int64(len(p)), r.left))
	for i := range p[:n] {
		p[i] = byte(r.left)
	}
	r.left -= int64(n)
	return n, nil
}

// newClient is one to which all hosts are this machine.
func newClient(t testing.TB) *http.Client {
	var dialer net.Dialer
	c := &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DisableCompression: true,
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				_, port, err := net.SplitHostPort(address)
				if err != nil {
					return nil, errors.Join(errors.New(address), err)
				}
				return dialer.DialContext(ctx, network, "127.0.0.1:"+port)
			},
		},
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}
