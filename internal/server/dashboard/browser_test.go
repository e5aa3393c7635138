// The library that drives the browser has races of its own, which the detector finds.

//go:build !race

package dashboard_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"ql/internal/account"
	"ql/internal/apptest"
	"ql/internal/config"
	"ql/internal/mail"
	"ql/internal/mail/mailtest"
	"ql/internal/operator"
	"ql/internal/programtest"
	"ql/internal/resource/machines/sshtest"
	"ql/internal/server/browsertest"
)

// pageTests are the tests of pages, each in the file of its page. They share a service in development, one
// in production, and a browser: a test that needs its own data uses names of its own.
var pageTests []pageTest

type pageTest struct {
	name       string
	production bool
	run        func(*visitor)
}

// inBrowser registers a test of a page: `go test -run InBrowser/NAME` runs it alone.
func inBrowser(name string, run func(*visitor)) bool {
	pageTests = append(pageTests, pageTest{name: name, run: run})
	return true
}

// inProduction registers a test of a page of a service with accounts: ada, and boss, who administers it.
func inProduction(name string, run func(*visitor)) bool {
	pageTests = append(pageTests, pageTest{name: name, run: run, production: true})
	return true
}

// TestInBrowser runs the tests of all pages.
func TestInBrowser(t *testing.T) {
	production := apptest.Boot(t, apptest.Production)
	host := sshtest.Start(t)
	// It says what it is asked to: as answers to webhooks do.
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, r.URL.Query().Get("say"), http.StatusGone)
	}))
	t.Cleanup(echo.Close)
	post := mailtest.Start(t, mailtest.Options{NoTLS: true})
	post.OnRecipient = func(to string) error {
		switch {
		case strings.HasPrefix(to, "nobody"):
			return mailtest.Refusal(550, "no such user")
		case strings.HasPrefix(to, "later"):
			return mailtest.Refusal(451, "come back later")
		}
		return nil
	}
	dev := apptest.Boot(t, func(s *config.Settings) {
		port := uint16(echo.Listener.Addr().(*net.TCPAddr).Port)
		s.EgressNetworks, s.EgressPorts, s.EgressHTTP = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, []uint16{uint16(host.Port), port}, true
		s.MailServer = &mail.Server{Host: post.Host, Port: post.Port, TLS: mail.TLSNone}
		s.MailFrom = &mail.Address{Name: "Service", Local: "ql", Domain: "service.example"}
	})
	t.Cleanup(host.Stop)
	production.Account("ada", account.Unlimited)
	production.Operate(func(o *operator.Operator) error {
		_, _, err := o.Accounts.Create(t.Context(), account.New{Username: "boss", Email: "boss@example.com", Password: apptest.Password, Plan: account.Unlimited, Admin: true, Verified: true})
		return err
	})
	first := browsertest.Open(t)
	if err := chromedp.Do(first, chromedp.Navigate("about:blank")); err != nil {
		t.Fatal(err)
	}
	local := strings.Replace(dev.URL(), "127.0.0.1", "localhost", 1)
	looked := map[string]int{}
	all := true
	for _, p := range pageTests {
		v := &visitor{service: dev, url: local, username: "dev", password: "dev", looked: looked, host: host, echo: echo.URL}
		if p.production {
			v = &visitor{service: production, url: production.URL(), username: "ada", password: apptest.Password, looked: looked, host: host}
		}
		ran := false
		t.Run(p.name, func(t *testing.T) {
			ran = true
			v.T = t
			v.visit(first)
			p.run(v)
		})
		all = all && ran
	}
	if all && !t.Failed() {
		everyPage(t, looked)
	}
}

// everyPage fails where a page of the list in web/src/pages.ts was not looked at.
func everyPage(t *testing.T, looked map[string]int) {
	t.Helper()
	text, err := os.ReadFile("../../../web/src/pages.ts")
	if err != nil {
		t.Fatal(err)
	}
	pages := regexp.MustCompile(`\{ file: '\w+', path: '([^']*)'`).FindAllStringSubmatch(string(text), -1)
	if len(pages) < 20 {
		t.Fatalf("pages.ts has %d pages", len(pages))
	}
	for _, p := range pages {
		if p[1] == "settings" {
			continue // which leads on to the first of them
		}
		pattern := regexp.MustCompile(`/?\*\w+`).ReplaceAllString(regexp.MustCompile(`:\w+`).ReplaceAllString(p[1], `[^/]+`), `(/.*)?`)
		is := regexp.MustCompile("^/app/" + pattern + "$")
		if !slices.ContainsFunc(slices.Collect(maps.Keys(looked)), is.MatchString) {
			t.Errorf("no test looks at the page %q", p[1])
		}
	}
}

// visitor is somebody at the pages: in a tab with cookies and storage of its own.
type visitor struct {
	*testing.T
	service            *apptest.Service
	url                string
	username, password string // as whom call and run are made
	tab                context.Context
	host               *sshtest.Server // that scripts of the service in development may reach
	echo               string          // a service that answers what is in its address behind say=
	looked             map[string]int  // how often the pages of a path were looked at

	mu      sync.Mutex
	console []string // what the browser complained of
}

// watched notes, before anything else of a page runs, what it is refused and how it jumps.
const watched = `window.__refused = []; window.__shift = 0;
addEventListener("securitypolicyviolation", (e) => window.__refused.push(e.violatedDirective + " " + e.blockedURI + " " + e.sample));
addEventListener("error", (e) => window.__refused.push("error: " + e.message));
addEventListener("unhandledrejection", (e) => window.__refused.push("rejected: " + e.reason));
new PerformanceObserver((l) => { for (const e of l.getEntries()) if (!e.hadRecentInput) window.__shift += e.value }).observe({ type: "layout-shift", buffered: true });`

// visit opens a tab with cookies and storage of its own.
func (v *visitor) visit(first context.Context) {
	v.Helper()
	tab, cancel := chromedp.NewContext(first, chromedp.WithNewBrowserContext())
	v.Cleanup(cancel)
	v.watch(tab, cancel)
}

// another is another tab of the same person.
func (v *visitor) another() *visitor {
	v.Helper()
	other := &visitor{T: v.T, service: v.service, url: v.url, username: v.username, password: v.password, looked: v.looked, host: v.host}
	tab, cancel := chromedp.NewContext(v.tab)
	v.Cleanup(cancel)
	other.watch(tab, cancel)
	return other
}

// watch has the tab watched for all that a browser complains of.
func (v *visitor) watch(tab context.Context, cancel context.CancelFunc) {
	v.Helper()
	v.tab = tab
	messages := chromedp.Console(tab)
	var listening sync.WaitGroup
	listening.Go(func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			// A status that says no is an answer, and advice is none of ours.
			if m.Source != "network" && m.Type != chromedp.ConsoleDebug && m.Type != chromedp.ConsoleInfo && m.Type != chromedp.ConsoleLog {
				v.mu.Lock()
				v.console = append(v.console, m.String())
				v.mu.Unlock()
			}
		}
	})
	v.Cleanup(listening.Wait)
	v.Cleanup(cancel)
	v.Cleanup(v.check)
	v.size(1280, 800)
	v.must(chromedp.Call(tab, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: watched}))
}

// check fails where the browser complained of something.
func (v *visitor) check() {
	v.Helper()
	if v.tab.Err() == nil && !v.Failed() {
		if refused := v.read(`JSON.stringify(window.__refused ?? [])`); refused != "[]" {
			v.Errorf("the page was refused, or failed: %s", refused)
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, c := range v.console {
		v.Errorf("console: %s", c)
	}
	v.console = nil
}

func (v *visitor) must(_ any, err error) {
	v.Helper()
	if err != nil {
		v.Fatal(err)
	}
}

// open opens a page by its address below /app/, and waits until its heading is there.
func (v *visitor) open(path string) {
	v.Helper()
	v.must(nil, chromedp.Do(v.tab, chromedp.Navigate(v.url+"/app/"+path)))
	v.until(`document.querySelector("h1, .cm-editor")`)
}

// read returns the text that an expression gives, and until waits for one to be true.
func (v *visitor) read(expression string) string {
	v.Helper()
	return browsertest.Read(v, v.tab, expression)
}

func (v *visitor) until(expression string) {
	v.Helper()
	browsertest.Until(v, v.tab, expression)
}

// untilText waits until the page has a text.
func (v *visitor) untilText(text string) {
	v.Helper()
	v.until(fmt.Sprintf(`document.body.innerText.includes(%q)`, text))
}

// find is an expression for what is seen with a role and a name, as a person finds it: a button, a link,
// a field by its label.
func find(name string) string {
	return fmt.Sprintf(`[...document.querySelectorAll("button, a, input, select, textarea, [role]")].find((e) => e.checkVisibility() && (e.ariaLabel ?? e.labels?.[0]?.innerText ?? e.innerText).trim() === %q)`, name)
}

// click clicks what has a name, once it is there.
func (v *visitor) click(name string) {
	v.Helper()
	v.until(find(name))
	v.read(find(name) + `.click()`)
}

// fill writes into the field with a label.
func (v *visitor) fill(label, text string) {
	v.Helper()
	v.until(find(label))
	v.read(fmt.Sprintf(`((e) => { e.focus(); e.value = %q; e.dispatchEvent(new Event("input", { bubbles: true })); e.dispatchEvent(new Event("change", { bubbles: true })) })(%s)`, text, find(label)))
}

// press presses keys one after the other, with what is held down meanwhile.
func (v *visitor) press(keys string, held ...chromedp.Modifier) {
	v.Helper()
	v.must(nil, chromedp.Do(v.tab, chromedp.KeyEvent(keys, chromedp.KeyModifiers(held...))))
}

// size makes the window so large.
func (v *visitor) size(width, height int64) {
	v.Helper()
	v.must(nil, chromedp.Do(v.tab, chromedp.EmulateViewport(width, height)))
}

// colours sets what the system prefers: "light" or "dark".
func (v *visitor) colours(scheme string) {
	v.Helper()
	v.must(chromedp.Call(v.tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}}))
}

// screens are the windows that pages are looked at in. Where QL_PROMISES is not set, the first two are enough, each width
// and each scheme once; and of a page that was looked at before, as without its dialog, one of them, by turns.
var screens = []struct {
	scheme string
	width  int64
}{{"light", 1280}, {"dark", 360}, {"dark", 1280}, {"light", 360}}

// look looks at the page as it is, in light and dark, wide and narrow: nothing serious is found by axe,
// nothing is wider than the window, and nothing has jumped. QL_SCREENSHOTS names a folder for pictures.
func (v *visitor) look(name string) {
	v.Helper()
	path := v.read(`location.pathname`)
	before := v.looked[path]
	v.looked[path]++
	if shift := v.read(`window.__shift.toFixed(4)`); shift > "0.0200" {
		v.Errorf("%s jumps by %s", name, shift)
	}
	shown := screens[:2]
	if programtest.Promised() || os.Getenv("QL_SCREENSHOTS") != "" {
		shown = screens
	} else if before > 0 {
		shown = screens[before%2 : before%2+1]
	}
	for _, screen := range shown {
		v.colours(screen.scheme)
		v.size(screen.width, 800)
		at := fmt.Sprintf("%s-%s-%d", name, screen.scheme, screen.width)
		if over := v.read(`document.documentElement.scrollWidth - innerWidth`); over > "0" && !strings.HasPrefix(over, "-") {
			v.Errorf("%s is wider than the window by %s", at, over)
		}
		for _, found := range browsertest.Barriers(v, v.tab) {
			v.Errorf("%s: %s", at, found)
		}
		v.picture(at)
	}
	v.size(1280, 800)
	v.colours("light")
	v.read(`window.__shift = 0`)
}

// closer takes a picture of a part of a page on a phone, which is further down.
func (v *visitor) closer(name, selector string) {
	v.Helper()
	if os.Getenv("QL_SCREENSHOTS") == "" {
		return
	}
	v.size(360, 800)
	v.read(fmt.Sprintf(`document.querySelector(%q).scrollIntoView({ block: "center" })`, selector))
	v.picture(name + "-closer-360")
	v.size(1280, 800)
	v.forgetJumps()
}

// forgetJumps forgets how the page has jumped by what a script of the test has clicked, which counts as nobody's
// input. Jumps are told of after their frame.
func (v *visitor) forgetJumps() {
	v.Helper()
	await[bool](v, `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => { window.__shift = 0; done(true) }))))`)
}

// tour are the pictures of docs/dashboard.md, which are small.
var tour = []string{"overview-light-1280", "editor-trace-light-1280", "job-light-1280", "job-variables-light-1280", "inbox-dark-1280", "files-preview-light-1280", "table-light-1280", "jobs-dark-360"}

// picture writes what is seen into the folder of QL_SCREENSHOTS, if there is one; and that of the tour into the folder
// of QL_TOUR.
func (v *visitor) picture(name string) {
	v.Helper()
	if to := os.Getenv("QL_TOUR"); to != "" && slices.Contains(tour, name) {
		quality := int64(50)
		small, err := chromedp.Call(v.tab, page.CaptureScreenshot, page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatWebp, Quality: &quality})
		v.must(nil, err)
		v.must(nil, os.WriteFile(filepath.Join(to, regexp.MustCompile(`-(light|dark)-\d+$`).ReplaceAllString(name, "")+".webp"), small.Data, 0o600))
	}
	folder := os.Getenv("QL_SCREENSHOTS")
	if folder == "" {
		return
	}
	png, err := chromedp.Run(v.tab, chromedp.CaptureScreenshot())
	v.must(nil, err)
	v.must(nil, os.MkdirAll(folder, 0o750))
	v.must(nil, os.WriteFile(filepath.Join(folder, name+".png"), png, 0o600))
}

// call calls the API as the account does from a program, and reads what it answers.
func (v *visitor) call(method, path string, body, into any) {
	v.Helper()
	text, err := json.Marshal(body)
	v.must(nil, err)
	if raw, ok := body.(string); ok {
		text = []byte(raw)
	}
	r, err := http.NewRequestWithContext(v.Context(), method, v.service.URL()+path, bytes.NewReader(text))
	v.must(nil, err)
	r.SetBasicAuth(v.username, v.password)
	if path == "/v1/query" {
		r.Header.Del("Authorization")
	}
	if _, ok := body.(string); !ok && body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(r)
	v.must(nil, err)
	answer, err := io.ReadAll(res.Body)
	v.must(nil, err)
	v.must(nil, res.Body.Close())
	if res.StatusCode >= 400 && res.StatusCode != http.StatusUnprocessableEntity {
		v.Fatalf("%s %s: %d %s", method, path, res.StatusCode, answer)
	}
	if into != nil {
		v.must(nil, json.Unmarshal(answer, into))
	}
}

// run runs a script as the account.
func (v *visitor) run(script string) (answer struct {
	Status, Result string
	JobID          string `json:"job_id"`
}) {
	v.Helper()
	v.call(http.MethodPost, "/v1/query", map[string]any{"auth": map[string]string{"username": v.username, "password": v.password}, "query": script}, &answer)
	return answer
}
