package download_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/engine"
	"ql/internal/fault"
	"ql/internal/resource/files"
	"ql/internal/resource/shares"
	"ql/internal/server"
	"ql/internal/server/download"
	"ql/internal/store/blob/dir"
	"ql/internal/store/sqlite"
	"ql/internal/store/sqlite/sqlitetest"
)

// world is links behind a server, with a store and blobs of the test's own.
type world struct {
	t       testing.TB
	store   *sqlite.Store
	account account.ID
	files   *files.Tree
	links   *shares.Links
	url     string
	blobs   string
	client  *http.Client
	served  chan struct{} // one for every answer that the service is through with

	mu     sync.Mutex
	now    time.Time
	failed []error
	full   error // why nobody gets a place, or nil
	inside int   // who has one
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func boot(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, now: time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC), client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 200}},
		served: make(chan struct{}, 1<<17)}
	folder := sqlitetest.Folder(t)
	w.blobs = filepath.Join(folder, "blobs")
	var err error
	w.store, err = sqlite.Open(t.Context(), sqlite.Options{Folder: folder, Own: true})
	check(t, err)
	t.Cleanup(func() { check(t, w.store.Close()) })
	blobs, err := dir.OpenBlobs(w.blobs)
	check(t, err)
	t.Cleanup(func() { check(t, blobs.Close()) })
	w.account, err = w.store.Accounts().Create(t.Context(), account.Account{Username: "ada", Email: "ada@example.com", Plan: account.Standard, Created: w.now})
	check(t, err)
	trees := files.NewTrees(w.store.Files(), blobs, w.clock)
	w.files = trees.For(w.account, files.Quota{})
	all := shares.New(shares.Options{
		Store: w.store.Shares(), Canonical: files.Canonical, URL: "https://files.example.com/below", Clock: w.clock,
		Open: func(c shares.Content) io.ReadSeekCloser {
			var chunks []files.Chunk
			for _, one := range c.Chunks {
				chunks = append(chunks, files.Chunk{Hash: one.Hash, Size: one.Size})
			}
			return trees.OpenContent(chunks, c.Tail)
		},
	})
	w.links = all.For(w.account, shares.Limits{})
	handler := server.New(server.Options{
		Log:      slog.New(slog.DiscardHandler),
		OnServed: func(string, int, time.Duration) { w.served <- struct{}{} },
		Routes: download.Routes(download.Options{Shares: all, Enter: w.enter, OnFailed: func(_ string, err error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.failed = append(w.failed, err)
		}}),
	})
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.Close()
		if w.inside != 0 {
			t.Errorf("%d places were not given back", w.inside)
		}
	})
	t.Cleanup(w.client.CloseIdleConnections)
	w.url = server.URL
	return w
}

func (w *world) enter(_ context.Context, of int64) (func(), error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.full != nil || account.ID(of) != w.account {
		return nil, w.full
	}
	w.inside++
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.inside--
	}, nil
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func (w *world) write(path, content string) {
	w.t.Helper()
	check(w.t, w.files.Write(w.t.Context(), path, []byte(content)))
}

// share returns the address of a link on the test's server.
func (w *world) share(s engine.Share) string {
	w.t.Helper()
	link := w.links.Link()
	check(w.t, w.links.Share(w.t.Context(), link, s))
	token, ok := strings.CutPrefix(link, "https://files.example.com/below")
	if !ok {
		w.t.Fatalf("the link is %s", link)
	}
	return w.url + token
}

func (w *world) unlimited(path string) string {
	return w.share(engine.Share{Path: path, Unlimited: true})
}

// answer is what a client got.
type answer struct {
	status int
	header http.Header
	body   string
}

// try asks for an address. Headers come as pairs. It returns when the service is
// through with the answer.
func (w *world) try(method, url string, headers ...string) (answer, error) {
	req, err := http.NewRequestWithContext(w.t.Context(), method, url, nil)
	if err != nil {
		return answer{}, err
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	res, err := w.client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	<-w.served
	return answer{res.StatusCode, res.Header, string(body)}, err
}

func (w *world) ask(method, url string, headers ...string) answer {
	w.t.Helper()
	a, err := w.try(method, url, headers...)
	check(w.t, err)
	return a
}

func (w *world) get(url string, headers ...string) answer { return w.ask("GET", url, headers...) }

// cookie returns what a client sends back.
func (a answer) cookie() string {
	name, _, _ := strings.Cut(a.header.Get("Set-Cookie"), ";")
	return name
}

// latest returns the newest link with its receipts, as the store has them.
func (w *world) latest() (shares.Share, []shares.Receipt) {
	w.t.Helper()
	list, err := w.store.Shares().List(w.t.Context(), w.account, 0, 1)
	check(w.t, err)
	receipts, err := w.store.Shares().Receipts(w.t.Context(), list[0].Account, list[0].Seq)
	check(w.t, err)
	return list[0], receipts
}

// large is content of several chunks and a tail.
func large() string {
	var b strings.Builder
	for i := 0; b.Len() < 9<<20; i++ {
		fmt.Fprintf(&b, "line %d of a large file\n", i)
	}
	return b.String()
}

// TestPromiseOneDeliveryForEachUse: whoever asks at the same time, a link for one
// use hands its file out once. QL_PROMISES=1 asks 1,000 times for each of 50.
func TestPromiseOneDeliveryForEachUse(t *testing.T) {
	links, clients := 5, 60
	if os.Getenv("QL_PROMISES") == "1" {
		links, clients = 50, 1000
	}
	w := boot(t)
	w.write("/a.txt", "the content")
	total := 0
	for range links {
		url := w.share(engine.Share{Path: "/a.txt"})
		statuses := make([]int, clients)
		start := make(chan struct{})
		var group sync.WaitGroup
		for i := range clients {
			group.Go(func() {
				<-start
				a, err := w.try("GET", url)
				if err != nil || (a.status == 200) != (a.body == "the content") {
					t.Errorf("%d %q: %v", a.status, a.body, err)
				}
				statuses[i] = a.status
			})
		}
		close(start)
		group.Wait()
		count := map[int]int{}
		for _, s := range statuses {
			count[s]++
		}
		if count[200] != 1 || count[410] != clients-1 {
			t.Errorf("the answers are %v", count)
		}
		total += count[200]
	}
	if total != links {
		t.Errorf("%d deliveries of %d links", total, links)
	}
}

// TestClients has each kind of client come to a fresh link, and then a plain one:
// that gets the file only where the first did not use the link up.
func TestClients(t *testing.T) {
	w := boot(t)
	w.write("/report.csv", "a,b\n1,2\n")
	const browser = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
	for _, c := range []struct {
		name    string
		method  string
		headers []string
		status  int
		uses    bool
	}{
		{"curl", "GET", []string{"User-Agent", "curl/8.5.0", "Accept", "*/*"}, 200, true},
		{"a browser", "GET", []string{"User-Agent", browser, "Accept", "text/html,*/*;q=0.8"}, 200, true},
		{"no agent", "GET", []string{"User-Agent", ""}, 200, true},
		{"wget", "GET", []string{"User-Agent", "Wget/1.21"}, 200, true},
		{"a script", "GET", []string{"User-Agent", "python-requests/2.32"}, 200, true},
		{"a range of one byte", "GET", []string{"Range", "bytes=0-0"}, 200, true},
		{"a range beyond the end", "GET", []string{"Range", "bytes=100-"}, 200, true},
		{"a cache", "GET", []string{"If-None-Match", "*"}, 200, true},
		{"a strange cookie", "GET", []string{"Cookie", "QLD_0000000000000000=x; QLSESSID=y"}, 200, true},
		{"compression", "GET", []string{"Accept-Encoding", "gzip, br"}, 200, true},
		{"HEAD", "HEAD", nil, 200, false},
		{"HEAD of a browser", "HEAD", []string{"User-Agent", browser}, 200, false},
		{"OPTIONS", "OPTIONS", nil, 405, false},
		{"POST", "POST", nil, 405, false},
		{"Chrome that prefetches", "GET", []string{"Sec-Purpose", "prefetch"}, 403, false},
		{"Chrome that prerenders", "GET", []string{"Sec-Purpose", "prefetch;prerender"}, 403, false},
		{"an old prefetch", "GET", []string{"Purpose", "prefetch"}, 403, false},
		{"Firefox that prefetches", "GET", []string{"X-Moz", "prefetch"}, 403, false},
		{"Safari that previews", "GET", []string{"X-Purpose", "preview"}, 403, false},
		{"Slack", "GET", []string{"User-Agent", "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)"}, 200, false},
		{"Slack with a range", "GET", []string{"User-Agent", "Slackbot-LinkExpanding 1.0", "Range", "bytes=0-32768"}, 200, false},
		{"Teams", "GET", []string{"User-Agent", "Mozilla/5.0 (Windows NT 6.1; WOW64) SkypeUriPreview Preview/0.5"}, 200, false},
		{"Facebook", "GET", []string{"User-Agent", "facebookexternalhit/1.1"}, 200, false},
		{"WhatsApp", "GET", []string{"User-Agent", "WhatsApp/2.23.20.0"}, 200, false},
		{"Telegram", "GET", []string{"User-Agent", "TelegramBot (like TwitterBot)"}, 200, false},
		{"Discord", "GET", []string{"User-Agent", "Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)"}, 200, false},
		{"a search engine", "GET", []string{"User-Agent", "Mozilla/5.0 (compatible; Googlebot/2.1)"}, 200, false},
	} {
		url := w.share(engine.Share{Path: "/report.csv"})
		first := w.ask(c.method, url, c.headers...)
		if first.status != c.status {
			t.Errorf("%s: %d, want %d", c.name, first.status, c.status)
		}
		if got := first.body == "a,b\n1,2\n"; got != c.uses {
			t.Errorf("%s got the file: %t", c.name, got)
		}
		second := w.get(url)
		if want := map[bool]int{true: 410, false: 200}[c.uses]; second.status != want {
			t.Errorf("after %s: %d, want %d", c.name, second.status, want)
		}
	}
}

func TestHeaders(t *testing.T) {
	w := boot(t)
	w.write("/folder/report.csv", "a,b\n")
	w.write("/page.html", "<script>alert(1)</script>")
	a := w.get(w.share(engine.Share{Path: "/folder/report.csv"}))
	for name, want := range map[string]string{
		"Content-Type": "text/csv; charset=utf-8", "Content-Disposition": `attachment; filename="report.csv"`, "Content-Length": "4",
		"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox; default-src 'none'", "Referrer-Policy": "no-referrer",
		"Cache-Control": "no-store", "X-Robots-Tag": "noindex", "Accept-Ranges": "none", "Etag": "",
		"Cross-Origin-Resource-Policy": "same-origin",
	} {
		if got := a.header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if c := a.header.Get("Set-Cookie"); !strings.HasPrefix(c, "QLD_") || !strings.HasSuffix(c, "; Path=/; Max-Age=600; HttpOnly; SameSite=Lax") {
		t.Errorf("the cookie is %q", c)
	}
	// The length of what may be loaded once is told to whoever loads it.
	head := w.ask("HEAD", w.share(engine.Share{Path: "/folder/report.csv"}))
	if head.header.Get("Content-Length") != "" || head.header.Get("Set-Cookie") != "" || head.header.Get("Content-Type") != "text/csv; charset=utf-8" {
		t.Errorf("HEAD says %v", head.header)
	}
	if head := w.ask("HEAD", w.unlimited("/folder/report.csv")); head.header.Get("Content-Length") != "4" || head.header.Get("Etag") == "" {
		t.Errorf("HEAD of an unlimited link says %v", head.header)
	}
	name := "Übersicht \"1\".html"
	a = w.get(w.share(engine.Share{Path: "/page.html", Name: &name}))
	if got := a.header.Get("Content-Type"); got != "application/octet-stream" {
		t.Errorf("a page is handed out as %s", got)
	}
	if got, want := a.header.Get("Content-Disposition"), `attachment; filename="_bersicht _1_.html"; filename*=UTF-8''%C3%9Cbersicht%20%221%22.html`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestEnds: whoever comes too late is told why, in words for people and in a
// code for programs; and a link that was never there is not told from a text
// that is none.
func TestEnds(t *testing.T) {
	w := boot(t)
	w.write("/a.txt", "a")
	used, revoked := w.share(engine.Share{Path: "/a.txt"}), w.share(engine.Share{Path: "/a.txt"})
	hour := time.Hour
	expired := w.share(engine.Share{Path: "/a.txt", Unlimited: true, For: &hour})
	w.get(used)
	check(t, w.links.Unshare(t.Context(), revoked))
	w.pass(time.Hour)
	unknown := w.url + "/files/" + strings.Repeat("A", 43)
	for _, c := range []struct{ url, title, german, code string }{
		{used, "This link was used already", "Dieser Link wurde schon benutzt", "file_gone"},
		{revoked, "This link was taken back", "Dieser Link wurde zurückgenommen", "file_gone"},
		{expired, "This link has expired", "Dieser Link ist abgelaufen", "file_gone"},
		{unknown, "There is no such link", "Diesen Link gibt es nicht", "not_found"},
		{w.url + "/files/x", "There is no such link", "Diesen Link gibt es nicht", "not_found"},
		{w.url + "/files/" + strings.Repeat("A", 42) + "B", "There is no such link", "Diesen Link gibt es nicht", "not_found"},
		{w.url + "/files/..", "There is no such link", "Diesen Link gibt es nicht", "not_found"},
	} {
		status := map[string]int{"file_gone": 410, "not_found": 404}[c.code]
		page := w.get(c.url, "Accept", "text/html,application/xhtml+xml")
		if page.status != status || !strings.Contains(page.body, "<h1>"+c.title+"</h1>") || page.header.Get("Content-Type") != "text/html; charset=utf-8" {
			t.Errorf("%s: %d %s", c.url, page.status, page.body)
		}
		page = w.get(c.url, "Accept", "text/html", "Accept-Language", "de-AT, en;q=0.5")
		if page.status != status || !strings.Contains(page.body, "<h1>"+c.german+"</h1>") || !strings.Contains(page.body, `<html lang="de">`) {
			t.Errorf("%s in German: %d %s", c.url, page.status, page.body)
		}
		program := w.get(c.url, "Accept", "*/*", "Accept-Language", "de")
		if program.status != status || !strings.Contains(program.body, `"code":"`+c.code+`"`) || !strings.Contains(strings.ToLower(program.body), strings.ToLower(c.title)) {
			t.Errorf("%s: %d %s", c.url, program.status, program.body)
		}
		if head := w.ask("HEAD", c.url); head.status != status {
			t.Errorf("HEAD %s: %d", c.url, head.status)
		}
	}
}

// TestCrowd: who is turned away because too many load at once has used nothing
// up.
func TestCrowd(t *testing.T) {
	w := boot(t)
	w.write("/a.txt", "a")
	url := w.share(engine.Share{Path: "/a.txt"})
	w.full = fault.Retryable(fault.Overloaded, time.Second, "too many at once")
	if a := w.get(url); a.status != 503 || a.header.Get("Retry-After") != "1" {
		t.Errorf("%d %v", a.status, a.header)
	}
	w.full = nil
	if a := w.get(url); a.status != 200 || a.body != "a" {
		t.Errorf("then: %d", a.status)
	}
}

// TestPinned: what a link hands out is what the file was.
func TestPinned(t *testing.T) {
	w := boot(t)
	content := large()
	w.write("/large.log", content)
	url := w.share(engine.Share{Path: "/large.log", Times: new(int64(3))})
	w.write("/large.log", "another")
	check(t, w.files.Remove(t.Context(), "/large.log"))
	for range 3 {
		if a := w.get(url); a.status != 200 || a.body != content {
			t.Errorf("%d, %d bytes", a.status, len(a.body))
		}
	}
	if a := w.get(url); a.status != 410 {
		t.Errorf("a fourth time: %d", a.status)
	}
	share, receipts := w.latest()
	if share.Used != 3 || len(receipts) != 3 {
		t.Fatalf("%+v, %+v", share, receipts)
	}
	for _, r := range receipts {
		if r.Sent != int64(len(content)) || r.Finished.IsZero() || r.Address != "127.0.0.1" || !strings.HasPrefix(r.Agent, "Go-http-client") {
			t.Errorf("%+v", r)
		}
	}
}

func TestRanges(t *testing.T) {
	w := boot(t)
	content := large()
	w.write("/large.log", content)
	w.write("/empty.txt", "")
	size := len(content)
	url := w.unlimited("/large.log")
	tag := w.ask("HEAD", url).header.Get("Etag")
	for _, c := range []struct {
		asked    string
		from, to int // of what is sent; to -1 for a refusal
		isPart   bool
	}{
		{"", 0, size, false},
		{"bytes=0-", 0, size, true},
		{"bytes=0-0", 0, 1, true},
		{"bytes=10-19", 10, 20, true},
		{"bytes=8388600-8388620", 8388600, 8388621, true}, // across two chunks
		{"bytes=-5", size - 5, size, true},
		{fmt.Sprintf("bytes=%d-%d", size-1, size+100), size - 1, size, true},
		{"bytes=-99999999999", 0, size, true},
		{fmt.Sprintf("bytes=%d-", size), 0, -1, false},
		{"bytes=-0", 0, -1, false},
		{"bytes=5-1", 0, size, false},
		{"bytes=0-1,5-6", 0, size, false},
		{"bytes=a-b", 0, size, false},
		{"bytes=+1-2", 0, size, false},
		{"bytes=--1", 0, size, false},
		{"lines=1-2", 0, size, false},
	} {
		a := w.get(url, "Range", c.asked)
		if c.to < 0 {
			if a.status != 416 || a.header.Get("Content-Range") != fmt.Sprintf("bytes */%d", size) {
				t.Errorf("%s: %d %v", c.asked, a.status, a.header)
			}
			continue
		}
		status, part := 200, ""
		if c.isPart {
			status, part = 206, fmt.Sprintf("bytes %d-%d/%d", c.from, c.to-1, size)
		}
		if a.status != status || a.header.Get("Content-Range") != part || a.body != content[c.from:c.to] {
			t.Errorf("%s: %d %s, %d bytes", c.asked, a.status, a.header.Get("Content-Range"), len(a.body))
		}
	}
	if a := w.get(url, "Range", "bytes=0-0", "If-Range", tag); a.status != 206 {
		t.Errorf("If-Range with the tag: %d", a.status)
	}
	if a := w.get(url, "Range", "bytes=0-0", "If-Range", `"other"`); a.status != 200 {
		t.Errorf("If-Range with another: %d", a.status)
	}
	for _, list := range []string{tag, `"x", ` + tag, "W/" + tag, "*"} {
		if a := w.get(url, "If-None-Match", list); a.status != 304 || a.body != "" || a.header.Get("Etag") != tag {
			t.Errorf("%s: %d", list, a.status)
		}
	}
	if a := w.get(url, "If-None-Match", `"x"`); a.status != 200 || a.header.Get("Accept-Ranges") != "bytes" || a.header.Get("Set-Cookie") != "" {
		t.Errorf("%d %v", a.status, a.header)
	}
	empty := w.unlimited("/empty.txt")
	if a := w.get(empty); a.status != 200 || a.body != "" || a.header.Get("Content-Length") != "0" {
		t.Errorf("an empty file: %d %v", a.status, a.header)
	}
	if a := w.get(empty, "Range", "bytes=0-0"); a.status != 416 {
		t.Errorf("a part of an empty file: %d", a.status)
	}
}

// breakOff loads the beginning of a file, hangs up, and returns the cookie once
// the service has noticed.
func (w *world) breakOff(url, cookie string) string {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	check(w.t, err)
	req.Header.Set("Cookie", cookie)
	res, err := w.client.Do(req)
	check(w.t, err)
	if res.StatusCode != http.StatusOK {
		w.t.Fatalf("the download to break off: %d", res.StatusCode)
	}
	_, err = io.ReadFull(res.Body, make([]byte, 1000))
	check(w.t, err)
	cancel()
	_ = res.Body.Close() // it is cut off
	<-w.served
	return answer{header: res.Header}.cookie()
}

// TestRestart: a client whose download broke off may begin again, and nobody
// else.
func TestRestart(t *testing.T) {
	w := boot(t)
	content := large()
	w.write("/large.log", content)
	url := w.share(engine.Share{Path: "/large.log"})
	cookie := w.breakOff(url, "")
	if a := w.get(url); a.status != 410 {
		t.Errorf("another client: %d", a.status)
	}
	if a := w.ask("HEAD", url, "Cookie", cookie); a.status != 410 {
		t.Errorf("HEAD by the client: %d", a.status)
	}
	if again := w.breakOff(url, cookie); again != cookie {
		t.Errorf("the cookie %s became %s", cookie, again)
	}
	w.pass(9 * time.Minute)
	a := w.get(url, "Cookie", cookie)
	if a.status != 200 || a.body != content {
		t.Fatalf("the restart: %d, %d bytes", a.status, len(a.body))
	}
	if a := w.get(url, "Cookie", cookie); a.status != 410 {
		t.Errorf("after all was sent: %d", a.status)
	}
	share, receipts := w.latest()
	if share.Used != 1 || len(receipts) != 1 || receipts[0].Restarts != 2 || receipts[0].Sent != int64(len(content)) || receipts[0].Finished.IsZero() {
		t.Errorf("%+v, %+v", share, receipts)
	}

	// Three times at most, and within ten minutes.
	url = w.share(engine.Share{Path: "/large.log"})
	cookie = w.breakOff(url, "")
	for range shares.MaxRestarts {
		w.breakOff(url, cookie)
	}
	if a := w.get(url, "Cookie", cookie); a.status != 410 {
		t.Errorf("a fourth restart: %d", a.status)
	}
	url = w.share(engine.Share{Path: "/large.log"})
	cookie = w.breakOff(url, "")
	w.pass(shares.RestartWithin)
	if a := w.get(url, "Cookie", cookie); a.status != 410 {
		t.Errorf("after ten minutes: %d", a.status)
	}
}

// TestDamage: content that is not what was shared breaks the download off, and
// the operator is told.
func TestDamage(t *testing.T) {
	w := boot(t)
	w.write("/a.bin", strings.Repeat("x", 300_000))
	url := w.unlimited("/a.bin")
	check(t, filepath.WalkDir(w.blobs, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		check(t, err)
		return os.WriteFile(path, bytes.Replace(content, []byte("x"), []byte("y"), 1), 0o600)
	}))
	if a, err := w.try("GET", url); err == nil {
		t.Errorf("%d bytes came, and the client was not told that something is wrong", len(a.body))
	}
	_, receipts := w.latest()
	if len(receipts) != 1 || !receipts[0].Finished.IsZero() {
		t.Errorf("%+v", receipts)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.failed) != 1 {
		t.Errorf("the operator was told %v", w.failed)
	}
}
