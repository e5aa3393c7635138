package livereload

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ql/internal/guard"
	"ql/internal/resource/files"
)

// world is a folder and the pages made of it. A request for /name is a page made of the file name,
// and of those that are named by read=.
type world struct {
	*Live
	t       *testing.T
	folder  string
	dir     *files.Dir
	handler http.Handler
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, folder: t.TempDir()}
	dir, err := files.OpenDir(w.folder, ".ql")
	if err != nil {
		t.Fatal(err)
	}
	w.dir = dir
	w.Live = New(Options{Folder: dir, Guard: guard.New(slog.New(slog.DiscardHandler), func(string) {}), Knows: func(host string) bool { return strings.HasPrefix(host, "localhost") }})
	t.Cleanup(func() {
		w.Close()
		_ = dir.Close()
	})
	w.handler = w.Handler(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		w.Looked(r.Context(), r.URL.Path)
		for _, path := range r.URL.Query()["read"] {
			w.Looked(r.Context(), path)
		}
		for _, folder := range r.URL.Query()["list"] {
			w.Listed(r.Context(), folder, "")
		}
		kind := "text/html; charset=utf-8"
		if strings.HasSuffix(r.URL.Path, ".css") {
			kind = "text/css"
		}
		out.Header().Set("Content-Type", kind)
		_, _ = out.Write([]byte("<h1>page</h1>"))
	}))
	return w
}

// modified is the time of a file that is written next: the clock of a file system may stand still
// for some milliseconds.
var modified = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func (w *world) write(name, text string) {
	w.t.Helper()
	at := filepath.Join(w.folder, name)
	if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	modified = modified.Add(time.Second)
	if err := os.Chtimes(at, modified, modified); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) get(address string, headers ...string) *httptest.ResponseRecorder {
	w.t.Helper()
	r := httptest.NewRequestWithContext(w.t.Context(), http.MethodGet, "http://localhost"+address, nil)
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	out := httptest.NewRecorder()
	w.handler.ServeHTTP(out, r)
	return out
}

// open shows a page and returns its id.
func (w *world) open(address string, headers ...string) string {
	w.t.Helper()
	_, rest, ok := strings.Cut(w.get(address, headers...).Body.String(), scriptPath+"?page=")
	id, _, _ := strings.Cut(rest, `"`)
	if !ok || id == "" {
		w.t.Fatalf("%s: there is no script", address)
	}
	return id
}

// isTold tells whether a page is told of a change, by one comparison.
func (w *world) isTold(id string) bool {
	w.t.Helper()
	w.mu.Lock()
	p := w.pages[id]
	listener := make(chan struct{})
	p.listener = listener
	w.listens++
	w.mu.Unlock()
	w.compareOnce()
	w.mu.Lock()
	p.listener = nil
	w.listens--
	w.mu.Unlock()
	select {
	case <-listener:
		return true
	default:
		return false
	}
}

func TestPagesAreToldOfTheirFiles(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"a", "b", "lib", "style.css", "base.css"} {
		w.write(name, "one")
	}
	if err := os.Mkdir(filepath.Join(w.folder, "list"), 0o700); err != nil {
		t.Fatal(err)
	}
	const page = "/a?read=/lib&list=/list"
	style := func() {
		w.get("/style.css", "Referer", "http://localhost"+page, "Sec-Fetch-Dest", "style")
		w.get("/base.css", "Referer", "http://localhost/style.css", "Sec-Fetch-Dest", "style")
		w.get("/b", "Referer", "http://localhost"+page, "Sec-Fetch-Dest", "document") // a link that was followed
	}
	rows := []struct {
		what   string
		change func()
		told   bool
	}{
		{"nothing", func() {}, false},
		{"its file", func() { w.write("a", "two") }, true},
		{"its file, of the same length", func() { w.write("a", "six") }, true},
		{"what it includes", func() { w.write("lib", "two") }, true},
		{"its style", func() { w.write("style.css", "two") }, true},
		{"what its style imports", func() { w.write("base.css", "two") }, true},
		{"another page", func() { w.write("b", "two") }, false},
		{"a new file", func() { w.write("c", "one") }, false},
		{"a new file in a folder that it lists", func() { w.write("list/c", "one") }, true},
		{"what an editor makes there", func() { w.write("list/.c.swp", "one") }, false},
		{"its file is removed", func() { _ = os.Remove(filepath.Join(w.folder, "a")) }, true},
		{"its file is there again", func() { w.write("a", "one") }, true},
	}
	for _, row := range rows {
		id := w.open(page, "Sec-Fetch-Dest", "document")
		style()
		row.change()
		if told := w.isTold(id); told != row.told {
			t.Errorf("%s: the page is told: %t, want %t", row.what, told, row.told)
		}
	}
}

func TestScriptsOwnChangesTellNobody(t *testing.T) {
	w := newWorld(t)
	w.write("count", "1")
	first, second := w.open("/x?read=/count&list=/"), w.open("/x?read=/count&list=/")
	done := w.Changing("/count", "/new")
	w.write("count", "2")
	w.write("new", "1")
	if w.isTold(first) {
		t.Error("a page is told while a script writes")
	}
	done()
	if w.isTold(first) || w.isTold(second) {
		t.Error("a page is told of what a script wrote")
	}
	w.write("count", "3")
	if !w.isTold(first) || !w.isTold(second) {
		t.Error("a page is not told of what somebody wrote afterwards")
	}
	if len(w.changing) != 0 || len(w.making) != 0 {
		t.Errorf("left over: %v, %d requests", w.changing, len(w.making))
	}
}

func TestWhatIsHeldIsBounded(t *testing.T) {
	w := newWorld(t)
	kept := w.open("/kept")
	_, leave := w.listen(kept)
	defer leave()
	for i := range 2 * mostPages {
		w.open(fmt.Sprintf("/p%d", i))
	}
	if len(w.pages) > mostPages || len(w.order) > mostPages {
		t.Errorf("%d pages are held, and %d in order", len(w.pages), len(w.order))
	}
	if w.pages[kept] == nil {
		t.Error("a page that listens was forgotten")
	}
	var many strings.Builder
	for i := range 2 * mostLooked {
		fmt.Fprintf(&many, "&read=/f%d", i)
	}
	if p := w.pages[w.open("/many?"+many.String()[1:])]; len(p.looked) > mostLooked {
		t.Errorf("a page holds %d files", len(p.looked))
	}
	at := "/parts"
	id := w.open(at)
	for i := range 2 * mostAddresses {
		w.get(fmt.Sprintf("/part%d.css", i), "Referer", "http://localhost"+at)
	}
	if p := w.pages[id]; len(p.addresses) > mostAddresses || len(p.looked) > mostLooked {
		t.Errorf("a page holds %d addresses and %d files", len(p.addresses), len(p.looked))
	}
}

func TestListenersAreBounded(t *testing.T) {
	w := newWorld(t)
	var leaves []func()
	for i := range mostListeners {
		told, leave := w.listen(w.open(fmt.Sprintf("/p%d", i)))
		if told == nil {
			t.Fatalf("%d pages listen, and another may not", i)
		}
		leaves = append(leaves, leave)
	}
	if out := w.get(eventsPath + "?page=" + w.open("/more")); out.Code != http.StatusServiceUnavailable {
		t.Errorf("one too many listens: %d", out.Code)
	}
	for _, leave := range leaves {
		leave()
	}
	if out := w.get(eventsPath + "?page=unknown"); out.Code != http.StatusOK || !strings.Contains(out.Body.String(), "event: change\n") {
		t.Errorf("a page of an earlier process: %d %q", out.Code, out.Body)
	}
	w.mu.Lock()
	ended := w.ended
	w.mu.Unlock()
	if ended != nil {
		<-ended // nothing is compared where nobody listens
	}
}

// TestNobodyReads checks that a page which reads nothing does not keep the server from its end.
func TestNobodyReads(t *testing.T) {
	w := newWorld(t)
	server := httptest.NewServer(w.handler)
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for i := range 100 {
		id := w.open(fmt.Sprintf("/p%d", i))
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+eventsPath+"?page="+id, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = "localhost"
		res, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
	}
	w.mu.Lock()
	if w.listens != 100 {
		t.Errorf("%d pages listen", w.listens)
	}
	w.mu.Unlock()
	w.write("p7", "new")
	w.Close()
	server.Close() // waits for all that are answered
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.listens != 0 {
		t.Errorf("%d pages listen after the end", w.listens)
	}
}

func TestOwnAddresses(t *testing.T) {
	w := newWorld(t)
	rows := []struct {
		headers []string
		status  int
	}{
		{nil, http.StatusOK},
		{[]string{"Sec-Fetch-Site", "same-origin"}, http.StatusOK},
		{[]string{"Sec-Fetch-Site", "cross-site"}, http.StatusForbidden},
		{[]string{"Sec-Fetch-Site", "same-site"}, http.StatusForbidden},
		{[]string{"Host", "rebound.example"}, http.StatusMisdirectedRequest},
	}
	for _, row := range rows {
		for _, address := range []string{scriptPath, eventsPath + "?page=unknown"} {
			if out := w.get(address, row.headers...); out.Code != row.status {
				t.Errorf("%s with %v: %d, want %d", address, row.headers, out.Code, row.status)
			}
		}
	}
}

func TestWhatIsNoPage(t *testing.T) {
	w := newWorld(t)
	if body := w.get("/x.css").Body.String(); strings.Contains(body, "<script") {
		t.Errorf("a style: %s", body)
	}
	if body := w.get("/x", "Sec-Fetch-Dest", "empty").Body.String(); strings.Contains(body, "<script") {
		t.Errorf("what a script fetched: %s", body)
	}
	out := httptest.NewRecorder()
	w.handler.ServeHTTP(out, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/x", strings.NewReader("a=1")))
	if strings.Contains(out.Body.String(), "<script") {
		t.Errorf("the answer to a form: %s", out.Body)
	}
	if len(w.pages) != 0 {
		t.Errorf("%d pages are held", len(w.pages))
	}
}
