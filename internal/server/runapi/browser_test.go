// The library that drives the browser has races of its own, which the detector finds.

//go:build !race

package runapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/storage"
	"github.com/chromedp/chromedp"

	"ql/internal/account"
	"ql/internal/apptest"
	"ql/internal/operator"
	"ql/internal/server/browsertest"
	"ql/internal/wire"
)

// stage is what a hostile answer is shown on: the API's host with a page of the dashboard, a
// page of another site, and a browser whose user is signed in.
type stage struct {
	t         *testing.T
	tab       context.Context
	api       *httptest.Server // before the service
	elsewhere *httptest.Server
	otherURL  string // by another name than the API's, so that it is another site

	mu      sync.Mutex
	reached []string // what the browser asked for that is none of the program's
}

// stageScript shows an answer on a page that is there already.
const stageScript = `(function(){var p=new URLSearchParams(location.search),as=p.get('as'),u=p.get('u'),e;
function add(tag,set){e=document.createElement(tag);Object.assign(e,set);document.documentElement.append(e)}
if(as=='script'||as=='foreign-script')add('script',{src:u});
if(as=='module')add('script',{src:u,type:'module'});
if(as=='import')import(u).catch(function(){});
if(as=='worker')new Worker(u);
if(as=='sharedworker')new SharedWorker(u);
if(as=='serviceworker')navigator.serviceWorker.register(u,{scope:'/'}).catch(function(){});
if(as=='style')add('link',{rel:'stylesheet',href:u});
if(as=='frame')add('iframe',{src:u});
if(as=='foreign-fetch')fetch(u,{credentials:'include'}).then(function(r){return r.text()}).then(function(t){return fetch('/leak?read='+t)}).catch(function(){});
})()`

// newStage makes a stage. Answers of the program are those of the service, or where there is
// none those of a server that applies whatever a program sets.
func newStage(t *testing.T, service string) *stage {
	t.Helper()
	s := &stage{t: t}
	answer := http.Handler(http.HandlerFunc(obey))
	if service != "" {
		to, err := url.Parse(service)
		if err != nil {
			t.Fatal(err)
		}
		answer = &httputil.ReverseProxy{
			Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) },
			ModifyResponse: func(r *http.Response) error {
				// What is not answered proves nothing.
				if r.StatusCode >= 400 && (r.StatusCode != http.StatusForbidden || r.Request.Header.Get("Sec-Fetch-Dest") == "document") {
					s.note("the service: %s for %.80s", r.Status, r.Request.URL)
				}
				return nil
			},
		}
	}
	s.api = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/run/mallory/"):
			answer.ServeHTTP(w, r)
		case r.URL.Path == "/app/":
			wire.SetPage(w.Header(), wire.HeaderOptions{}, "")
			// Trusted Types keep the stage's own script from its work, and are another wall.
			csp := strings.ReplaceAll(w.Header().Get("Content-Security-Policy"), "; require-trusted-types-for 'script'", "; worker-src 'self'")
			w.Header().Set("Content-Security-Policy", csp)
			_, _ = io.WriteString(w, `<!doctype html><script src="/app/stage.js"></script>`)
		case r.URL.Path == "/app/stage.js":
			w.Header().Set("Content-Type", "text/javascript")
			_, _ = io.WriteString(w, stageScript)
		case r.URL.Path == "/favicon.ico":
			w.WriteHeader(http.StatusNoContent)
		default:
			s.note("the API: %s %s as %q for %q", r.Method, r.URL, r.Header.Get("Sec-Fetch-Dest"), r.Header.Get("Cookie"))
			_, _ = io.WriteString(w, "secret-api")
		}
	}))
	t.Cleanup(s.api.Close)
	s.elsewhere = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/frame":
			_, _ = fmt.Fprintf(w, `<!doctype html><iframe src="%s"></iframe>`, strings.ReplaceAll(r.FormValue("u"), `"`, "&quot;"))
		case "/stage":
			_, _ = io.WriteString(w, `<!doctype html><body><script>`+stageScript+`</script>`)
		case "/favicon.ico":
		default:
			s.note("another site: %s", r.URL)
		}
	}))
	t.Cleanup(s.elsewhere.Close)
	s.otherURL = strings.Replace(s.elsewhere.URL, "127.0.0.1", "localhost", 1)

	s.tab = browsertest.Open(t)
	s.signIn()
	return s
}

func (s *stage) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reached = append(s.reached, fmt.Sprintf(format, args...))
}

// obey answers as a program asks for, without any of the rules.
func obey(w http.ResponseWriter, r *http.Request) {
	var a hostile
	if err := json.Unmarshal([]byte(r.FormValue("a")), &a); err != nil {
		panic(err)
	}
	for _, h := range a.Headers {
		w.Header().Add(h.Name, h.Value)
	}
	for _, c := range a.Cookies {
		w.Header().Add("Set-Cookie", c.Name+"="+c.Value+"; Path=/")
	}
	if a.Status >= 200 {
		w.WriteHeader(a.Status)
	}
	_, _ = io.WriteString(w, a.Body)
}

// program is the program of which the service makes the answers.
const program = `SET ?a AS FROM_JSON(!GET('a'))
SET "status" AS ?a.status DEFAULT 200 OF !RESPONSE
FOR ?header IN ?a.headers DEFAULT [] DO
  SET "header:{?header.name}" AS ?header.value OF !RESPONSE
END
FOR ?cookie IN ?a.cookies DEFAULT [] DO
  SET "{?cookie.name}" AS ?cookie.value OF !COOKIE
END
EMIT ?a.body
`

func (s *stage) address(a hostile) string {
	text, err := json.Marshal(a)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.api.URL + "/run/mallory/hostile?a=" + url.QueryEscape(string(text))
}

// own are the cookies of somebody who is signed in.
var own = map[string]string{"QLSESSID": "secret-session", "qldash": "secret-dashboard"}

// signIn makes the browser that of a user who has something to lose.
func (s *stage) signIn() {
	s.t.Helper()
	s.must(chromedp.Do(s.tab, chromedp.Navigate(s.api.URL+"/app/")))
	_, err := chromedp.Call(s.tab, storage.ClearDataForOrigin, storage.ClearDataForOriginParams{Origin: s.api.URL, StorageTypes: "all"})
	s.must(err)
	_, err = chromedp.Call(s.tab, network.ClearBrowserCookies, cdp.Empty{})
	s.must(err)
	for name, value := range own {
		_, err := chromedp.Call(s.tab, network.SetCookie, network.SetCookieParams{Name: name, Value: value, URL: s.api.URL + "/", Path: "/", HTTPOnly: new(true), SameSite: network.CookieSameSiteLax})
		s.must(err)
	}
	_, err = chromedp.Run(s.tab, chromedp.Evaluate[string](`localStorage.token = "secret-storage"`))
	s.must(err)
	s.mu.Lock()
	s.reached = nil
	s.mu.Unlock()
}

func (s *stage) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// show shows an answer to the browser in the way that it is meant for, and returns what it has
// reached.
func (s *stage) show(a hostile) []string {
	s.t.Helper()
	script := hostile{Headers: []header{{"Content-Type", "text/javascript"}}, Body: attack}.filled(s.otherURL, "")
	at := s.address(a.filled(s.otherURL, strings.TrimPrefix(s.address(script), s.api.URL)))
	switch {
	case a.as == "":
		s.visit(at)
		s.visit(s.otherURL + "/frame?u=" + url.QueryEscape(at))
	case strings.HasPrefix(a.as, "foreign-"):
		s.visit(s.otherURL + "/stage?as=" + a.as + "&u=" + url.QueryEscape(at))
	default:
		s.visit(s.api.URL + "/app/?as=" + a.as + "&u=" + url.QueryEscape(strings.TrimPrefix(at, s.api.URL)))
	}
	s.look()
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.reached)
}

// settled is how long the browser is given to do what an answer makes it do.
const settled = 250 * time.Millisecond

// visit goes to an address and lets what is there do its work. Some addresses lead nowhere.
func (s *stage) visit(address string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.tab, 5*time.Second)
	defer cancel()
	_, _ = chromedp.Call(ctx, page.Navigate, page.NavigateParams{URL: address})
	timer := time.NewTimer(settled)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.tab.Done():
		s.t.Fatal(s.tab.Err())
	}
	// What it shows would speak for itself.
	if title, err := chromedp.Run(ctx, chromedp.Title()); err == nil && title == "PWNED" {
		s.note("the title of %.60s", address)
	}
	if taken, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.body ? getComputedStyle(document.body).getPropertyValue("--taken") : ""`)); err == nil && taken == "1" {
		s.note("the style of %.60s", address)
	}
}

// look checks that all is as it was.
func (s *stage) look() {
	s.t.Helper()
	all, err := chromedp.Call(s.tab, storage.GetCookies, storage.GetCookiesParams{})
	s.must(err)
	kept, programs := 0, 0
	for _, c := range all.Cookies {
		switch {
		case c.Path == "/" && own[c.Name] == c.Value:
			kept++
		case strings.HasPrefix(c.Path, "/run/mallory/") && !strings.HasPrefix(strings.ToLower(c.Name), "ql"):
			programs++
		default:
			s.note("the cookie %s=%s of %s", c.Name, c.Value, c.Path)
		}
	}
	if kept != len(own) || programs > 20 {
		s.note("%d of %d cookies are left, beside %d of programs", kept, len(own), programs)
	}
	s.must(chromedp.Do(s.tab, chromedp.Navigate(s.api.URL+"/app/")))
	kept2, err := chromedp.Run(s.tab, chromedp.Evaluate[string](`localStorage.token || "nothing"`))
	s.must(err)
	if kept2 != "secret-storage" {
		s.note("the storage has %s", kept2)
	}
	workers, err := chromedp.Run(s.tab, chromedp.Evaluate[int](`navigator.serviceWorker.getRegistrations().then(function(l) { return l.length })`, chromedp.EvalAwaitPromise))
	s.must(err)
	if workers > 0 {
		s.note("%d service workers", workers)
	}
}

// some are the hostile answers of a run: few of them unless what is promised is checked.
func some() []hostile {
	if n, _ := strconv.Atoi(os.Getenv("QL_PROMISES")); n > 0 {
		return hostileAnswers
	}
	return hostileAnswers[:4]
}

// TestPromiseHostileAnswersWithoutRules: what the test of the rules looks at shows harm where
// there are none.
func TestPromiseHostileAnswersWithoutRules(t *testing.T) {
	s := newStage(t, "")
	for _, a := range some() {
		if reached := s.show(a); (len(reached) == 0) != a.harmless {
			t.Errorf("%s reaches %q", a.name, reached)
		}
		s.signIn()
	}
}

// TestPromiseHostileAnswers: whatever a program answers, nothing of the origin that it shares is
// reached.
func TestPromiseHostileAnswers(t *testing.T) {
	ql := apptest.Boot(t, apptest.Production)
	ql.Account("mallory", account.Unlimited)
	ql.Operate(func(o *operator.Operator) error {
		_, _, err := o.Accounts.Publish(t.Context(), "mallory", account.Publication{Name: "hostile", Text: program, Switches: account.Switches{Callers: account.CallersAnyone}})
		return err
	})
	s := newStage(t, ql.URL())
	if n := len(hostileAnswers); n < 60 {
		t.Fatalf("there are %d hostile answers", n)
	}
	for _, a := range some() {
		for _, reached := range s.show(a) {
			t.Errorf("%s reaches %s", a.name, reached)
		}
		s.signIn()
	}
}
