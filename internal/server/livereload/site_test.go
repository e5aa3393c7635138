package livereload_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ql/internal/app"
	"ql/internal/apptest"
	"ql/internal/config"
)

// site is a folder that somebody develops, and the service for it.
type site struct {
	*apptest.Service
	t      testing.TB
	folder string
	client *http.Client
}

func develop(t testing.TB, files map[string]string) *site {
	t.Helper()
	s := &site{t: t, folder: t.TempDir(), client: &http.Client{Transport: &http.Transport{}}}
	t.Cleanup(s.client.CloseIdleConnections)
	for name, text := range files {
		s.write(name, text)
	}
	settings := apptest.Settings(t, func(c *config.Settings) { c.Data = filepath.Join(s.folder, ".ql", "dev") })
	if err := os.MkdirAll(filepath.Join(s.folder, ".ql"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.Service = apptest.StartWith(t, settings, app.Options{SiteFolder: s.folder, HiddenFolder: ".ql"})
	return s
}

// write writes a file as editors do.
func (s *site) write(name, text string) {
	s.t.Helper()
	at := filepath.Join(s.folder, name)
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(at+"~", []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(at+"~", at); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) read(name string) string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.folder, name))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// address is that of the site, as it is printed.
func (s *site) address() string {
	u, err := url.Parse(s.SiteURL("site"))
	if err != nil {
		s.t.Fatal(err)
	}
	return "http://localhost:" + u.Port()
}

func (s *site) do(method, address, body string, headers ...string) (int, string, http.Header) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, strings.Replace(address, "localhost", "127.0.0.1", 1), strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Host = strings.TrimPrefix(s.address(), "http://")
	if strings.HasPrefix(address, s.URL()) {
		r.Host = ""
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := s.client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res.StatusCode, string(text), res.Header
}

func (s *site) get(path string, headers ...string) (int, string) {
	s.t.Helper()
	status, text, _ := s.do(http.MethodGet, s.address()+path, "", headers...)
	return status, text
}

// run runs a script of the account, and returns its output or its error.
func (s *site) run(script string) string {
	s.t.Helper()
	body, err := json.Marshal(map[string]any{"auth": map[string]string{"username": "dev", "password": "dev"}, "query": script})
	if err != nil {
		s.t.Fatal(err)
	}
	_, text, _ := s.do(http.MethodPost, s.URL()+"/v1/query", string(body), "Content-Type", "application/json")
	var answer struct {
		Result string
		Error  struct{ Code, Message string }
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		s.t.Fatal(err, text)
	}
	if answer.Error.Code != "" {
		return answer.Error.Code + ": " + answer.Error.Message
	}
	return answer.Result
}

// waitForChange waits until a page is told of a change.
func (s *site) waitForChange(page string) {
	s.t.Helper()
	_, text := s.get(page)
	_, rest, _ := strings.Cut(text, "reload.js?page=")
	id, _, _ := strings.Cut(rest, `"`)
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.Replace(s.address(), "localhost", "127.0.0.1", 1)+"/_ql/dev/changes?page="+id, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	res, err := s.client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	s.write(strings.TrimPrefix(page, "/")+".html", "changed")
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		if lines.Text() == "event: change" {
			return
		}
	}
	s.t.Error("the page was not told")
}

func TestTheFolderIsTheSite(t *testing.T) {
	s := develop(t, map[string]string{
		"index.ql":          `INCLUDE "/site/_lib.ql" EMIT HTML "<h1>{=hello("Ada")}</h1>"`,
		"_lib.ql":           `DEFINE hello(?n) RETURN "Hello, {?n}" END`,
		"about.html":        "<h1>About</h1>",
		"blog/[slug].ql":    `EMIT !REQUEST("param:slug")`,
		".env":              "secret",
		".ql/dev/.mine.txt": "secret",
	})
	rows := []struct {
		path   string
		status int
		has    string
	}{
		{"/", 200, "<h1>Hello, Ada</h1>"},
		{"/about", 200, "<h1>About</h1>"},
		{"/blog/first", 200, "first"},
		{"/index.ql", 404, ""},
		{"/_lib.ql", 404, ""},
		{"/.env", 404, ""},
		{"/.ql/dev/ql.db", 404, ""},
		{"/.ql/dev/master.key", 404, ""},
	}
	for _, row := range rows {
		if status, text := s.get(row.path); status != row.status || !strings.Contains(text, row.has) || strings.Contains(text, "secret") {
			t.Errorf("%s: %d %s", row.path, status, text)
		}
	}
	s.write("_lib.ql", `DEFINE hello(?n) RETURN "Good day, {?n}" END`)
	if _, text := s.get("/"); !strings.Contains(text, "Good day, Ada") {
		t.Errorf("a change is not seen: %s", text)
	}
	for _, host := range []string{"rebound.example", "localhost.rebound.example", "other.localhost"} {
		if status, _ := s.get("/", "Host", host); status != http.StatusMisdirectedRequest {
			t.Errorf("host %s: %d", host, status)
		}
	}
	for _, host := range []string{"localhost", "127.0.0.1:8081", "[::1]", "user_test.localhost:8081"} {
		if status, _ := s.get("/", "Host", host); status != http.StatusOK {
			t.Errorf("host %s: %d", host, status)
		}
	}
}

// TestScriptsAndTheFolder checks what scripts, and the owner past them, find and change.
func TestScriptsAndTheFolder(t *testing.T) {
	s := develop(t, map[string]string{"a.txt": "one", "rows.csv": "n\n1\n2\n", "t.html": "<p>{{.n}}</p>"})
	rows := []struct{ script, want string }{
		{`READ "/site/a.txt" SET ?t EMIT ?t`, "one"},
		{`WRITE "two" TO "/site/sub/b.txt" READ "/site/sub/b.txt" SET ?t EMIT ?t`, "two"},
		{`APPEND "!" TO FILE "/site/sub/b.txt" READ "/site/sub/b.txt" SET ?t EMIT ?t`, "two!"},
		{`WRITE "x" TO "/other.txt" COPY "/other.txt" TO "/site/copied.txt" READ "/site/copied.txt" SET ?t EMIT ?t`, "x"},
		{`MOVE "/site/copied.txt" TO "/back.txt" READ "/back.txt" SET ?t EMIT ?t`, "x"},
		{`COPY "/site/a.txt" TO "/site/c.txt" MOVE "/site/c.txt" TO "/site/d.txt" READ "/site/d.txt" SET ?t EMIT ?t`, "one"},
		{`READ "/site/copied.txt" SET ?t EMIT ?t`, `file_not_found: there is no file "/site/copied.txt"`},
		{`READ "/site/.ql/dev/master.key" SET ?t EMIT ?t`, `invalid_path: `},
		{`MOVE "/site" TO "/x"`, `invalid_path: the path "/site" cannot be used: it is a real folder here`},
		{`MOVE "/back.txt" TO "/site"`, `invalid_path: the path "/site" cannot be used: it is a real folder here`},
		{`READ "/site" SET ?t`, `is_folder: "/site" is a folder, not a file`},
		{`WRITE "x" TO "/site"`, `invalid_path: the path "/site" cannot be used: it is a real folder here`},
		{`SET ?sum AS 0 FOR ?row IN FILE "/site/rows.csv" DO SET ?sum AS ?sum + NUMBER(?row.n) END EMIT ?sum`, "3"},
		{`REMOVE "/site/d.txt" EMIT "gone"`, "gone"},
		{`LIST "/" SET ?l EMIT JSON MAP(?l, ?f -> ?f.name)`, `["back.txt","other.txt","site"]`},
		{`LIST "/site" SET ?l EMIT JSON MAP(?l, ?f -> ?f.path)`, `["/site/a.txt","/site/rows.csv","/site/sub","/site/t.html"]`},
	}
	for _, row := range rows {
		if got := s.run(row.script); !strings.HasPrefix(got, row.want) {
			t.Errorf("%s: %s, want %s", row.script, got, row.want)
		}
	}
	if got := s.read("sub/b.txt"); got != "two!" {
		t.Errorf("the real file: %s", got)
	}
	for _, row := range []struct {
		method, path string
		status       int
	}{
		{http.MethodGet, "/v1/files/site/a.txt", 200}, {http.MethodGet, "/v1/files/site", 200}, {http.MethodGet, "/v1/files/", 200},
		{http.MethodPut, "/v1/files/site/a.txt", 422}, {http.MethodDelete, "/v1/files/site/a.txt", 422}, {http.MethodPut, "/v1/files/free.txt", 201},
	} {
		status, text, _ := s.do(row.method, s.URL()+row.path, "text", "Authorization", "Basic ZGV2OmRldg==")
		if status != row.status {
			t.Errorf("%s %s: %d %s", row.method, row.path, status, text)
		}
	}
	if got := s.read("a.txt"); got != "one" {
		t.Errorf("the real file: %s", got)
	}
}

func TestErrorPage(t *testing.T) {
	s := develop(t, map[string]string{
		"syntax.ql":  "SET ?x AS 1\nEMIT ?<y\n",
		"names.ql":   "SET ?x AS 1\nEMIT ?nmae\n",
		"fails.ql":   "SET ?x AS 1\nEMIT \"<script>\"\nEMIT 1 / (?x - 1)\n",
		"deep.ql":    `INCLUDE "/site/_lib.ql" EMIT half(0)`,
		"_lib.ql":    "DEFINE half(?n)\n    RETURN 1 / ?n\nEND\n",
		"s/index.ql": "EMIT 1",
	})
	rows := []struct{ path, want string }{
		{"/names", "names.ql:2:6: ?nmae is never set"},
		{"/names", "    EMIT ?nmae\n         ^~~~~\n"},
		{"/fails", "fails.ql:3:8: division_by_zero: cannot divide 1 by zero\n    EMIT 1 / (?x - 1)\n           ^\n"},
		{"/fails?q=%3Cscript%3Ealert(1)%3C/script%3E", "&lt;script&gt;alert(1)&lt;/script&gt;"},
		{"/fails", "<h2>Trace</h2>"},
		{"/fails", "<tr><th>method</th><td>GET</td></tr>"},
		{"/deep", "/site/_lib.ql:2:14: division_by_zero"},
		{"/deep", "    RETURN 1 / ?n\n"},
		{"/syntax", "syntax.ql:2:"},
	}
	for _, row := range rows {
		status, text := s.get(row.path)
		if status != http.StatusInternalServerError || !strings.Contains(text, row.want) || strings.Contains(text, "<script>") {
			t.Errorf("%s: %d, want %q:\n%s", row.path, status, row.want, text)
		}
	}
	s.write("_site.toml", "colour = 1\n")
	if status, text := s.get("/s/"); status != http.StatusInternalServerError || !strings.Contains(text, "colour") {
		t.Errorf("settings: %d %s", status, text)
	}
}

// TestFilesOfRequests: what comes with a form goes into the real folder, and out of it.
func TestFilesOfRequests(t *testing.T) {
	s := develop(t, map[string]string{"send.ql": `SET ?p AS !FILES.a[0].path COPY ?p TO "/site/copies/a.txt" MOVE ?p TO "/kept.txt" READ "/kept.txt" AS TEXT SET ?t EMIT LENGTH(?t)`})
	content := strings.Repeat("x", 100<<10)
	body := "--x\r\nContent-Disposition: form-data; name=a; filename=a.txt\r\n\r\n" + content + "\r\n--x--\r\n"
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.address()+"/send", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "multipart/form-data; boundary=x")
	res, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || !strings.HasPrefix(string(text), "102400") || s.read("copies/a.txt") != content {
		t.Errorf("%d %.300s %v", res.StatusCode, text, err)
	}
}
