package fetch

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/engine"
	"ql/internal/network"
	"ql/internal/network/networktest"
	"ql/lang"
	"ql/lang/value"
	"ql/lang/vm"
)

// here lets tests call this machine as if it were a public host.
var here = network.Policy{Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, AnyPort: true}

func server(t *testing.T, f http.HandlerFunc) (address string, calls *atomic.Int64) {
	t.Helper()
	calls = &atomic.Int64{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		f(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, calls
}

func client(t *testing.T, p network.Policy) *network.Client {
	t.Helper()
	c := network.NewClient(p, network.ForFetches())
	t.Cleanup(c.Close)
	return c
}

func limits() Limits { return LimitsOf(account.Standard.Limits()) }

func get(t *testing.T, n *Network, r engine.Request) (engine.Reply, error) {
	t.Helper()
	if r.Number == 0 {
		r.Number = 1
	}
	if r.Method == "" {
		r.Method = "GET"
	}
	if r.Most == 0 {
		r.Most = 1 << 20
	}
	return n.Fetch(t.Context(), r)
}

func wantCode(t *testing.T, what string, err error, code, says string) {
	t.Helper()
	var e *value.Error
	if !errors.As(err, &e) || e.Code != code || !strings.Contains(e.Message, says) {
		t.Errorf("%s: got %v, want %s: …%s…", what, err, code, says)
	}
}

func wantLimit(t *testing.T, what string, err error, name string, most int64, says string) {
	t.Helper()
	wantCode(t, what, err, value.LimitExceeded, says)
	var e *value.Error
	if errors.As(err, &e) && (e.Limit == nil || e.Limit.Name != name || e.Limit.Max != most) {
		t.Errorf("%s: got the limit %+v, want %s of %d", what, e.Limit, name, most)
	}
}

func TestFetch(t *testing.T) {
	address, _ := server(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Reply", "yes")
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, "%s %s %s %s", r.Method, r.RequestURI, r.Header.Get("Authorization"), body)
	})
	var ended []string
	n := New(Options{Client: client(t, here), Limits: limits(), Limiter: &Limiter{}, Done: func(code string, _ time.Duration) { ended = append(ended, code) }})
	r, err := get(t, n, engine.Request{Method: "PUT", URL: address + "/a?b=c", Header: map[string][]string{"Authorization": {"Bearer x"}}, Body: []byte("hi")})
	if err != nil || r.Status != 201 || string(r.Body) != "PUT /a?b=c Bearer x hi" || r.Header["X-Reply"][0] != "yes" {
		t.Errorf("got %v, %v", r, err)
	}
	_, err = get(t, n, engine.Request{URL: address, Header: map[string][]string{"X": {"a\nb"}}})
	wantCode(t, "a split header", err, value.BadArgument, "control characters")
	if !slices.Equal(ended, []string{"ok", value.BadArgument}) {
		t.Errorf("told of %v", ended)
	}
}

func TestLimits(t *testing.T) {
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	if _, err := w.Write(make([]byte, 8<<20)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	address, calls := server(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb.Bytes())
		case "/long":
			_, _ = w.Write(make([]byte, 64<<10+1))
		case "/large":
			_, _ = w.Write(make([]byte, 1000))
		case "/silent":
			<-r.Context().Done()
		}
	})
	l := limits()
	l.Calls, l.Time, l.Bytes = 2, 200*time.Millisecond, 999
	c := client(t, here)
	n := New(Options{Client: c, Limits: l})
	wide := New(Options{Client: c, Limits: limits()})

	_, err := get(t, n, engine.Request{Number: 3, URL: address})
	var limit *value.LimitError // of the run: no script catches it
	if !errors.As(err, &limit) || limit.Name != "fetches" || limit.Max != 2 || limit.Error() != "the script calls FETCH more than 2 times, its limit" {
		t.Errorf("one more: %v", err)
	}
	_, err = get(t, n, engine.Request{URL: address, Timeout: time.Second})
	wantLimit(t, "a longer time", err, "fetch_time", 200, "TIMEOUT is longer than the 0.2 seconds")
	_, err = get(t, New(Options{Client: c}), engine.Request{URL: address})
	wantCode(t, "a plan without", err, "not_available", "may not FETCH")
	if calls.Load() != 0 {
		t.Errorf("%d calls left", calls.Load())
	}
	_, err = get(t, n, engine.Request{Number: 2, URL: address + "/large"})
	wantLimit(t, "a large answer", err, "fetch_bytes", 999, "more than 999 bytes")
	_, err = get(t, wide, engine.Request{URL: address + "/large", Most: 998})
	wantLimit(t, "one larger than a value", err, "value_size", 998, "more than 998 bytes")
	_, err = get(t, wide, engine.Request{URL: address + "/long", Most: 64 << 10})
	wantLimit(t, "one larger than a round number", err, "value_size", 64<<10, "more than 64 KiB")
	_, err = get(t, wide, engine.Request{URL: address + "/bomb", Most: 64 << 20})
	wantLimit(t, "a bomb", err, "fetch_ratio", 100, "100 times")
	_, err = get(t, n, engine.Request{URL: address + "/silent"})
	wantCode(t, "silence", err, "fetch_failed", "took too long")
	_, err = get(t, wide, engine.Request{URL: address + "/silent", Timeout: 50 * time.Millisecond})
	wantCode(t, "a shorter time", err, "fetch_failed", "took too long")
}

// TestWalls: what the service's own network has is out of reach, also by a
// redirect and by a name.
func TestWalls(t *testing.T) {
	inside, calls := server(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "secret") })
	n := New(Options{Client: client(t, network.Policy{AnyPort: true}), Limits: limits()})
	for _, address := range []string{inside, strings.Replace(inside, "127.0.0.1", "localhost", 1), "http://169.254.169.254/latest/meta-data", "http://[::1]/", "http://10.0.0.1/"} {
		_, err := get(t, n, engine.Request{URL: address})
		wantCode(t, address, err, "address_not_allowed", "not allowed")
	}
	for _, address := range []string{"", "x", "ftp://a.example", "https://user:pass@a.example", "file:///etc/passwd"} {
		_, err := get(t, n, engine.Request{URL: address})
		wantCode(t, address, err, "invalid_url", "")
	}
	// The outer host may be called; it is on this machine only in this test.
	outer, _ := server(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusFound)
	})
	o := network.ForFetches()
	o.Resolver = networktest.Names(t, networktest.Lead(map[string]string{"inside.test": "127.0.0.2"}))
	c := network.NewClient(here, o)
	t.Cleanup(c.Close)
	n = New(Options{Client: c, Limits: limits()})
	for _, to := range []string{"http://127.0.0.2/", "http://169.254.169.254/", "http://inside.test/"} {
		_, err := get(t, n, engine.Request{URL: outer + "?to=" + to})
		wantCode(t, "a redirect to "+to, err, "address_not_allowed", "")
	}
	_, err := get(t, n, engine.Request{URL: "http://inside.test/"})
	wantCode(t, "a name that leads inside", err, "address_not_allowed", "its name leads to")
	if calls.Load() != 0 {
		t.Errorf("%d calls came through", calls.Load())
	}
}

// TestCauseStaysBehind: the causes of errors hold URLs, and so secrets.
func TestCauseStaysBehind(t *testing.T) {
	s := httptest.NewServer(nil)
	closed := s.URL
	s.Close()
	_, err := get(t, New(Options{Client: client(t, here), Limits: limits()}), engine.Request{URL: closed + "/?key=hush"})
	wantCode(t, "nobody listens", err, "fetch_failed", "refused the connection")
	for e := err; e != nil; e = errors.Unwrap(e) {
		if strings.Contains(fmt.Sprintf("%+v", e), "hush") {
			t.Errorf("the error tells %+v", e)
		}
	}
}

type allowance struct {
	bytes int64
	more  bool
	err   error
}

func (a *allowance) Reserve(_ context.Context, bytes int64, more bool) (func(int64), error) {
	a.bytes, a.more = a.bytes+bytes, more
	return func(bytes int64) { a.bytes -= bytes }, a.err
}

func TestAllowance(t *testing.T) {
	address, calls := server(t, func(http.ResponseWriter, *http.Request) {})
	a := &allowance{}
	n := New(Options{Client: client(t, here), Limits: limits(), Allowance: a})
	body := make([]byte, 1000)
	if _, err := get(t, n, engine.Request{Method: "POST", URL: address, Body: body, Header: map[string][]string{"A": {"b"}}}); err != nil {
		t.Fatal(err)
	}
	if want := int64(len("POST"+address+"A: b\r\n") + len(body)); a.bytes != want {
		t.Errorf("%d bytes were reserved, want %d", a.bytes, want)
	}
	if a.more {
		t.Error("a call alone reserves ahead")
	}
	a.bytes = 0
	_, err := get(t, n, engine.Request{URL: address, Header: map[string][]string{"X": {"a\nb"}}})
	wantCode(t, "what is not sent", err, value.BadArgument, "")
	if a.bytes != 0 {
		t.Errorf("%d bytes stay reserved of what was not sent", a.bytes)
	}
	a.err = value.Errorf("quota_exceeded", "no more this month")
	_, err = get(t, n, engine.Request{URL: address})
	wantCode(t, "over quota", err, "quota_exceeded", "no more")
	if calls.Load() != 1 {
		t.Errorf("%d calls were made", calls.Load())
	}
}

func TestLine(t *testing.T) {
	const most, all = 3, 12
	var active, peak atomic.Int64
	come, goOn := make(chan struct{}, all), make(chan struct{})
	address, _ := server(t, func(http.ResponseWriter, *http.Request) {
		if n := active.Add(1); n > peak.Load() {
			peak.Store(n)
		}
		come <- struct{}{}
		<-goOn
		active.Add(-1)
	})
	l := limits()
	l.AtOnce = most
	n := New(Options{Client: client(t, here), Limits: l, Limiter: &Limiter{}})
	var runs sync.WaitGroup
	for range all {
		runs.Go(func() {
			if _, err := get(t, n, engine.Request{URL: address}); err != nil {
				t.Error(err)
			}
		})
	}
	for range most {
		<-come
	}
	// Who gives up while it waits leaves its place to others.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := n.Fetch(ctx, engine.Request{Number: 1, Method: "GET", URL: address}); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
	close(goOn)
	runs.Wait()
	if peak.Load() != most || n.o.Limiter.active != 0 || len(n.o.Limiter.waiting) != 0 {
		t.Errorf("%d at once; %d are left and %d wait", peak.Load(), n.o.Limiter.active, len(n.o.Limiter.waiting))
	}
}

// TestSecretsStayHidden gives secrets where they do not belong: no error shows
// them, in whatever letters.
func TestSecretsStayHidden(t *testing.T) {
	address, calls := server(t, func(http.ResponseWriter, *http.Request) {})
	n := New(Options{Client: client(t, network.Policy{}), Limits: limits()})
	for clause, says := range map[string]string{
		`"https://a.example" METHOD !SECRET('k')`:                            `"•••" is no method that can be used: GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS fits`,
		`"https://a.example" METHOD "TRACE" HEADERS {x: !SECRET('k')}`:       `"TRACE" is no method that can be used: GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS fits`,
		`"https://a.example" HEADERS ?odd`:                                   `"••• A" is no name of a header`,
		`"https://a.example" HEADERS {"X A": 1}`:                             `"X A" is no name of a header`,
		`"https://a.example" HEADERS ?broken`:                                "the header ••• has control characters in it",
		`"https://" + !SECRET('k') + ".local/x"`:                             "calls to •••.local are not allowed: names in .local are for a private network; who runs the service may allow it by the setting egress_networks",
		`"https://" + !SECRET('k')`:                                          "calls to ••• are not allowed: a public host has a dot in its name; who runs the service may allow it by the setting egress_networks",
		`"https://" + !SECRET('k') + "$.example"`:                            `"•••$.example" is no host such as example.com`,
		`"https://a.example/%zz" + !SECRET('k')`:                             `"https://a.example/%zz•••" is no URL such as https://example.com/path`,
		`"https://a.example/%zz/" + REPEAT("é", 9) + "/0/" + !SECRET('k')`:   "a URL has ASCII characters only: write others as %C3%A4 and the like, and a domain by its xn-- form",
		`"https://a.example/%zz/0123456789/0123456789/0123/" + !SECRET('k')`: `"https://a.example/%zz/0123456789/0123456789/0123/•••..." is no URL such as https://example.com/path`,
	} {
		p, err := lang.Compile(`SET ?u AS !SECRET('k') SET ?odd AS {} SET ?odd[?u + " A"] AS 1 SET ?broken AS {} SET ?broken[?u] AS "a\nb" FETCH `+clause, lang.Options{})
		if err != nil {
			t.Fatal(clause, err)
		}
		run := engine.New(vm.New(p, account.Standard.Limits().SyncMachine(), vm.Input{}), engine.Options{Resources: engine.Resources{Network: n, Secrets: secrets{"k": "TopSecretValue-0123456789"}}}, engine.State{})
		out, err := run.Continue(t.Context())
		if err != nil || out.Err == nil || out.Err.Message != says {
			t.Errorf("%s: %v, %v\nwant %s", clause, out.Err, err, says)
		}
	}
	if calls.Load() != 0 {
		t.Errorf("%s was called", address)
	}
}

type secrets map[string]string

func (s secrets) Secret(_ context.Context, name string) (string, bool, error) {
	text, ok := s[name]
	return text, ok, nil
}

// TestServe: calls are made one after the other until there are no more, each is told of once, and its
// reply holds memory until it is released. Calls that nobody waits for are not made.
func TestServe(t *testing.T) {
	address, calls := server(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL.Path) })
	var held atomic.Int64
	a := &allowance{}
	n := New(Options{Client: client(t, here), Limits: limits(), Allowance: a, Reserve: func(_ context.Context, bytes int64) (func(), error) {
		held.Add(bytes)
		return func() { held.Add(-bytes) }, nil
	}})
	type made struct {
		number int
		reply  engine.Reply
		err    error
	}
	requests, done := make(chan engine.Request, 10), make(chan made)
	ctx, cancel := context.WithCancel(t.Context())
	n.Serve(ctx, requests, func(r engine.Request, reply engine.Reply, err error) { done <- made{r.Number, reply, err} })
	for i := range 3 {
		requests <- engine.Request{Number: i + 1, Method: "GET", URL: fmt.Sprintf("%s/%d", address, i+1), Most: 1000}
	}
	for i := range 3 {
		one := <-done
		if one.err != nil || one.number != i+1 || string(one.reply.Body) != fmt.Sprintf("/%d", i+1) || held.Load() < 2 {
			t.Errorf("got %+v, and %d bytes are held", one, held.Load())
		}
		one.reply.Release()
		if held.Load() != 0 && i == 2 {
			t.Errorf("%d bytes are held in the end", held.Load())
		}
	}
	if !a.more {
		t.Error("calls side by side reserve nothing ahead")
	}
	sent := a.bytes
	cancel()
	requests <- engine.Request{Number: 4, Method: "GET", URL: address, Most: 1000}
	if one := <-done; !errors.Is(one.err, context.Canceled) || a.bytes != sent || calls.Load() != 3 {
		t.Errorf("too late: %+v, %d bytes of %d, %d calls", one, a.bytes, sent, calls.Load())
	}
	close(requests)
}
