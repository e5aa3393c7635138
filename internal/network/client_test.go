package network_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ql/internal/network"
	"ql/internal/network/networktest"
)

// here lets tests call this machine as if it were a public host: one address,
// any port.
var here = network.Policy{Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, AnyPort: true}

// host starts a server that answers calls and counts them.
func host(t *testing.T, f http.HandlerFunc) (server *httptest.Server, calls *atomic.Int64) {
	t.Helper()
	calls = &atomic.Int64{}
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		f(w, r)
	}))
	t.Cleanup(server.Close)
	return server, calls
}

func port(s *httptest.Server) string { return s.URL[strings.LastIndexByte(s.URL, ':'):] }

func wantCode(t *testing.T, what string, err error, want network.Code) string {
	t.Helper()
	var e *network.Error
	if !errors.As(err, &e) || e.Code != want {
		t.Fatalf("%s: got %v, want %s", what, err, want)
	}
	if strings.Contains(e.Message, "127.0.0.1:") || strings.Contains(e.Message, "dial") {
		t.Errorf("%s: it tells too much: %s", what, e.Message)
	}
	return e.Message
}

func TestCall(t *testing.T) {
	server, _ := host(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		names := slices.Sorted(maps.Keys(r.Header))
		w.Header().Set("X-Reply", "yes")
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, "%s %s %s %s %q %v", r.Method, r.Host, r.RequestURI, body, r.UserAgent(), names)
	})
	c := network.NewClient(here, network.ForFetches())
	defer c.Close()
	a, err := c.Do(t.Context(), network.Request{
		Method: "POST", URL: server.URL + "/a?b=c#d", Body: []byte("hello"),
		Header: map[string][]string{
			"x-key": {"1"}, "Authorization": {"Bearer x"}, "Accept-Encoding": {"identity"},
			"Host": {"evil.example"}, "host": {"evil.example"}, "User-Agent": {"curl"}, "Connection": {"X-Key"}, "Content-Length": {"1"},
			"Transfer-Encoding": {"chunked"}, "Proxy-Authorization": {"x"}, "Upgrade": {"h2c"}, "TE": {"trailers"}, "Expect": {"100-continue"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := "POST " + strings.TrimPrefix(server.URL, "http://") + ` /a?b=c hello "ql" [Accept-Encoding Authorization Content-Length User-Agent X-Key]`
	if a.Status != http.StatusTeapot || string(a.Body) != want || a.Header["X-Reply"][0] != "yes" || a.URL.String() != server.URL+"/a?b=c" {
		t.Errorf("got %d, %s, %v, %s", a.Status, a.Body, a.Header, a.URL)
	}
}

func TestBadRequests(t *testing.T) {
	server, calls := host(t, func(http.ResponseWriter, *http.Request) {})
	c := network.NewClient(here, network.ForFetches())
	for name, r := range map[string]network.Request{
		"a split":            {Header: map[string][]string{"X": {"a\r\nHost: b"}}},
		"a null":             {Header: map[string][]string{"X": {"a\x00"}}},
		"a split name":       {Header: map[string][]string{"X: y\r\nZ": {"a"}}},
		"no name":            {Header: map[string][]string{"": {"a"}}},
		"CONNECT":            {Method: "CONNECT"},
		"TRACE":              {Method: "TRACE"},
		"a smuggled request": {Method: "GET / HTTP/1.1\r\nX: "},
		"an unknown method":  {Method: "get"},
	} {
		r.URL = server.URL
		_, err := c.Do(t.Context(), r)
		wantCode(t, name, err, network.InvalidRequest)
	}
	if calls.Load() != 0 {
		t.Errorf("%d calls were made", calls.Load())
	}
}

// TestEnvironment sets proxies as a node's environment might: no call uses them.
func TestEnvironment(t *testing.T) {
	proxy, asked := host(t, func(http.ResponseWriter, *http.Request) {})
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"} {
		t.Setenv(name, proxy.URL)
	}
	server, calls := host(t, func(w http.ResponseWriter, _ *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
	})
	o := network.ForFetches()
	o.Resolver = networktest.Names(t, networktest.Lead(map[string]string{"host.example": "127.0.0.1"}))
	c := network.NewClient(here, o)
	for range 2 {
		if _, err := c.Do(t.Context(), network.Request{URL: "http://host.example" + port(server)}); err != nil {
			t.Fatal(err)
		}
	}
	if calls.Load() != 2 || asked.Load() != 0 {
		t.Errorf("the host was called %d times, the proxy %d", calls.Load(), asked.Load())
	}
}

// TestRebinding resolves a name to a public address for whoever asks first, and
// to this machine at the time of the call.
func TestRebinding(t *testing.T) {
	server, calls := host(t, func(http.ResponseWriter, *http.Request) {})
	for _, trap := range []string{"127.0.0.1", "10.0.0.1", "169.254.169.254", "192.168.1.1", "100.64.0.1", "0.0.0.0", "224.0.0.1", "255.255.255.255"} {
		o := network.ForFetches()
		o.Resolver = networktest.Names(t, func(_ string, n int) []netip.Addr {
			if n == 1 {
				return []netip.Addr{netip.MustParseAddr("93.184.215.14")}
			}
			return []netip.Addr{netip.MustParseAddr(trap)}
		})
		c := network.NewClient(network.Policy{AnyPort: true}, o)
		target := "http://rebind.example" + port(server)
		if err := c.Check(target); err != nil {
			t.Fatal(err)
		}
		first, err := o.Resolver.LookupNetIP(t.Context(), "ip4", "rebind.example")
		if err != nil || first[0].String() != "93.184.215.14" {
			t.Fatalf("the first answer is %v, %v", first, err)
		}
		_, err = c.Do(t.Context(), network.Request{URL: target})
		if said := wantCode(t, trap, err, network.AddressNotAllowed); strings.Contains(said, trap) {
			t.Errorf("it tells where the name leads: %s", said)
		}
	}
	if calls.Load() != 0 {
		t.Errorf("%d calls came through", calls.Load())
	}
}

// TestSeveralAddresses gives a name a private and an allowed address: only the
// allowed one is called, whatever their order.
func TestSeveralAddresses(t *testing.T) {
	server, calls := host(t, func(http.ResponseWriter, *http.Request) {})
	o := network.ForFetches()
	o.Resolver = networktest.Names(t, func(_ string, n int) []netip.Addr {
		list := []netip.Addr{netip.MustParseAddr("127.0.0.2"), netip.MustParseAddr("127.0.0.1")}
		if n%2 == 0 {
			slices.Reverse(list)
		}
		return list
	})
	c := network.NewClient(here, o)
	for range 4 {
		if _, err := c.Do(t.Context(), network.Request{URL: "http://both.example" + port(server)}); err != nil {
			t.Fatal(err)
		}
	}
	if calls.Load() != 4 {
		t.Errorf("%d calls", calls.Load())
	}
}

func TestPortsAtConnect(t *testing.T) {
	server, calls := host(t, func(http.ResponseWriter, *http.Request) {})
	p := here
	p.AnyPort = false
	_, err := network.NewClient(p, network.ForFetches()).Do(t.Context(), network.Request{URL: server.URL})
	wantCode(t, "another port", err, network.AddressNotAllowed)
	if calls.Load() != 0 {
		t.Error("it was called")
	}
}

func TestRedirects(t *testing.T) {
	var server *httptest.Server
	var seen []string
	server, calls := host(t, func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, fmt.Sprintf("%s%s %s|%s|%s|%s", r.Host, r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("Cookie"), r.Header.Get("X-Api-Key"), r.Header.Get("Referer")))
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusFound)
		}
	})
	o := network.ForFetches()
	o.Resolver = networktest.Names(t, networktest.Lead(map[string]string{
		"a.example": "127.0.0.1", "b.example": "127.0.0.1", "sub.a.example": "127.0.0.1", "inside.example": "127.0.0.2", "far.example": "10.0.0.1",
	}))
	c := network.NewClient(here, o)
	at := func(host string) string { return "http://" + host + port(server) }
	secret := map[string][]string{"Authorization": {"token"}, "Cookie": {"a=b"}, "X-Api-Key": {"key"}}

	for to, want := range map[string]network.Code{
		"http://127.0.0.2" + port(server):               network.AddressNotAllowed,
		"http://169.254.169.254/":                       network.AddressNotAllowed,
		"http://[::ffff:10.0.0.1]/":                     network.AddressNotAllowed,
		"http://2130706433/":                            network.InvalidURL,
		"http://0x7f.1/":                                network.InvalidURL,
		"file:///etc/passwd":                            network.InvalidURL,
		"gopher://127.0.0.1:6379/_x":                    network.InvalidURL,
		"http://user:secret@127.0.0.1" + port(server):   network.InvalidURL,
		at("inside.example"):                            network.AddressNotAllowed,
		at("far.example"):                               network.AddressNotAllowed,
		at("nowhere.example"):                           network.FetchFailed,
		at("a.example") + "/?to=http%3A%2F%2F10.0.0.1/": network.AddressNotAllowed,
		at("a.example") + "/?to=/%3Fto=/%3Fto=/%3Fto=/": network.FetchFailed, // too many
	} {
		seen = nil
		_, err := c.Do(t.Context(), network.Request{URL: at("a.example") + "/?to=" + escape(to), Header: secret})
		wantCode(t, to, err, want)
	}

	calls.Store(0)
	seen = nil
	chain := at("a.example") + "/1?to=" + escape("/2?to="+escape(at("sub.a.example")+"/3?to="+escape(at("a.example")+"/4")))
	a, err := c.Do(t.Context(), network.Request{URL: chain, Header: secret})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"a.example" + port(server) + "/1 token|a=b|key|",
		"a.example" + port(server) + "/2 token|a=b|key|",
		"sub.a.example" + port(server) + "/3 |||",
		"a.example" + port(server) + "/4 |||",
	}
	if !slices.Equal(seen, want) || a.URL.String() != at("a.example")+"/4" {
		t.Errorf("got %q at %s", seen, a.URL)
	}

	// A client for webhooks follows none.
	w := network.ForWebhooks()
	w.Resolver = o.Resolver
	p := here
	p.PlainHTTP = true
	calls.Store(0)
	a, err = network.NewClient(p, w).Do(t.Context(), network.Request{Method: "POST", URL: at("a.example") + "/?to=/x"})
	if err != nil || a.Status != http.StatusFound || calls.Load() != 1 {
		t.Errorf("got %d, %v, after %d calls", a.Status, err, calls.Load())
	}
}

func escape(s string) string {
	return strings.NewReplacer("%", "%25", "?", "%3F", "&", "%26", "#", "%23").Replace(s)
}

func packed(t *testing.T, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestBodies(t *testing.T) {
	bomb := packed(t, make([]byte, 20<<20))
	small := packed(t, bytes.Repeat([]byte("na"), 20<<10))
	bodies := map[string]http.HandlerFunc{
		"/fits":      func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 1<<20)) },
		"/huge":      func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 1<<20+1)) },
		"/packed":    func(w http.ResponseWriter, _ *http.Request) { gzipped(w, small) },
		"/bomb":      func(w http.ResponseWriter, _ *http.Request) { gzipped(w, bomb) },
		"/nested":    func(w http.ResponseWriter, _ *http.Request) { gzipped(w, packed(t, bomb)) },
		"/notpacked": func(w http.ResponseWriter, _ *http.Request) { gzipped(w, []byte("plain")) },
		"/cutpacked": func(w http.ResponseWriter, _ *http.Request) { gzipped(w, small[:len(small)-9]) },
		"/short": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte("10 bytes.."))
		},
		"/endless": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		},
		"/hang": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		},
		"/silent": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"/headers": func(w http.ResponseWriter, _ *http.Request) {
			for i := range 2000 {
				w.Header().Set(fmt.Sprintf("X-%d", i), strings.Repeat("x", 100))
			}
		},
	}
	server, _ := host(t, func(w http.ResponseWriter, r *http.Request) { bodies[r.URL.Path](w, r) })
	o := network.ForFetches()
	o.Bytes = 1 << 20
	c := network.NewClient(here, o)
	wide := o
	wide.Bytes = 64 << 20
	w := network.NewClient(here, wide)
	get := func(c *network.Client, path string, total time.Duration) (network.Answer, error) {
		return c.Do(t.Context(), network.Request{URL: server.URL + path, Total: total})
	}

	if a, err := get(c, "/fits", 0); err != nil || len(a.Body) != 1<<20 {
		t.Errorf("what fits: %d bytes, %v", len(a.Body), err)
	}
	if a, err := get(c, "/packed", 0); err != nil || len(a.Body) != 40<<10 || a.Header["Content-Encoding"] != nil {
		t.Errorf("what is packed: %d bytes, %v, %v", len(a.Body), a.Header, err)
	}
	if a, err := get(w, "/nested", 0); err != nil || !bytes.Equal(a.Body, bomb) {
		t.Errorf("what is packed twice is unpacked once: %d bytes, %v", len(a.Body), err)
	}
	const brief = 100 * time.Millisecond
	for _, test := range []struct {
		path   string
		client *network.Client
		total  time.Duration
		want   network.Code
		says   string
	}{
		{"/huge", c, 0, network.LimitExceeded, "the answer has more than 1 MiB"},
		{"/endless", c, 0, network.LimitExceeded, "the answer has more than 1 MiB"},
		{"/bomb", c, 0, network.LimitExceeded, "the answer grows more than 100 times when it is decompressed"},
		{"/bomb", w, 0, network.LimitExceeded, "the answer grows more than 100 times when it is decompressed"},
		{"/notpacked", c, 0, network.FetchFailed, "the answer says that it is gzip and is not"},
		{"/cutpacked", c, 0, network.FetchFailed, "the host ended the connection before its answer was whole"},
		{"/short", c, 0, network.FetchFailed, "the host ended the connection before its answer was whole"},
		{"/hang", c, brief, network.FetchFailed, "the host took too long to answer"},
		{"/silent", c, brief, network.FetchFailed, "the host took too long to answer"},
		{"/headers", c, 0, network.FetchFailed, "the host could not be reached, or its answer was no HTTP"},
	} {
		_, err := get(test.client, test.path, test.total)
		if said := wantCode(t, test.path, err, test.want); said != test.says {
			t.Errorf("%s: it says %q", test.path, said)
		}
	}

	// A client that wants the start alone takes what it gets.
	cut := network.ForWebhooks()
	cut.Bytes = 1000
	p := here
	p.PlainHTTP = true
	start := network.NewClient(p, cut)
	for path, want := range map[string]int{"/endless": 1000, "/huge": 1000, "/hang": 0, "/short": 10, "/bomb": 1000} {
		a, err := get(start, path, brief)
		if err != nil || a.Status != http.StatusOK || len(a.Body) != want {
			t.Errorf("%s: %d, %d bytes, %v", path, a.Status, len(a.Body), err)
		}
	}
}

func gzipped(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Encoding", "gzip")
	_, _ = w.Write(body)
}

func TestBrokenHosts(t *testing.T) {
	o := network.ForFetches()
	o.Connect, o.Total = 100*time.Millisecond, 10*time.Second
	o.Resolver = networktest.Names(t, networktest.Lead(map[string]string{"a.example": "127.0.0.1"}))
	c := network.NewClient(here, o)
	closed := raw(t, nil)
	_ = closed.Close()
	for name, test := range map[string]struct {
		url  string
		says string
	}{
		"nobody listens":     {"http://" + closed.Addr().String(), "the host refused the connection"},
		"no such name":       {"http://b.example/", "the host's name was not found"},
		"closes":             {"http://" + raw(t, func(c net.Conn) {}).Addr().String(), "the host ended the connection before its answer was whole"},
		"resets":             {"http://" + raw(t, reset).Addr().String(), "the host broke the connection off"},
		"no HTTP":            {"http://" + raw(t, func(c net.Conn) { _, _ = c.Write([]byte("220 mail ESMTP\r\n")) }).Addr().String(), "the host could not be reached, or its answer was no HTTP"},
		"no TLS":             {"https://" + raw(t, func(c net.Conn) { _, _ = c.Write([]byte("HTTP/1.1 400 Bad\r\n\r\n")) }).Addr().String(), "the host does not speak TLS as it should"},
		"silent before TLS":  {"https://" + raw(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }).Addr().String(), "the host could not be reached in time"},
		"closes before TLS":  {"https://" + raw(t, func(c net.Conn) {}).Addr().String(), "the host ended the connection before its answer was whole"},
		"a redirect nowhere": {"http://" + raw(t, func(c net.Conn) { _, _ = c.Write([]byte("HTTP/1.1 302 Found\r\nLocation: http://[\r\n\r\n")) }).Addr().String(), `the host redirects to "http://[", which is no address`},
	} {
		_, err := c.Do(t.Context(), network.Request{URL: test.url})
		if said := wantCode(t, name, err, network.FetchFailed); said != test.says {
			t.Errorf("%s: it says %q, because of %v", name, said, errors.Unwrap(err))
		}
	}
}

// raw starts a host that speaks as f does, once it was spoken to.
func raw(t *testing.T, f func(net.Conn)) net.Listener {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = conn.Read(make([]byte, 4096))
				f(conn)
			}()
		}
	}()
	return l
}

func reset(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0) }

func TestTLS(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	o := network.ForWebhooks()
	_, err := network.NewClient(here, o).Do(t.Context(), network.Request{URL: server.URL})
	if said := wantCode(t, "a certificate of nobody", err, network.FetchFailed); said != "the host's certificate is not valid: nobody who is trusted has signed it" {
		t.Errorf("it says %q", said)
	}
	o.Roots = x509.NewCertPool()
	o.Roots.AddCert(server.Certificate())
	a, err := network.NewClient(here, o).Do(t.Context(), network.Request{URL: server.URL})
	if err != nil || string(a.Body) != "hello" {
		t.Errorf("got %q, %v", a.Body, err)
	}
	o.Resolver = networktest.Names(t, networktest.Lead(map[string]string{"other.test": "127.0.0.1"}))
	_, err = network.NewClient(here, o).Do(t.Context(), network.Request{URL: "https://other.test" + port(server)})
	if said := wantCode(t, "a certificate of another", err, network.FetchFailed); said != "the host's certificate is not valid: it is for another host" {
		t.Errorf("it says %q", said)
	}
}

// TestFlaws looks at certificates that one host has after the other.
func TestFlaws(t *testing.T) {
	for want, change := range map[string]func(*x509.Certificate){
		"it has expired, or is not valid yet": func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Hour) },
		"it cannot be used for a host":        func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageEmailProtection} },
	} {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		template := &x509.Certificate{
			SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
			NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		}
		change(template)
		der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
		if err != nil {
			t.Fatal(err)
		}
		made, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewUnstartedServer(http.NotFoundHandler())
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
		server.StartTLS()
		defer server.Close()
		o := network.ForFetches()
		o.Roots = x509.NewCertPool()
		o.Roots.AddCert(made)
		c := network.NewClient(here, o)
		defer c.Close()
		_, err = c.Do(t.Context(), network.Request{URL: server.URL})
		if said := wantCode(t, want, err, network.FetchFailed); said != "the host's certificate is not valid: "+want {
			t.Errorf("it says %q, because of %v", said, errors.Unwrap(err))
		}
	}
}

// TestUnfollowed takes an answer that redirects nowhere as it is, where no
// redirect is followed.
func TestUnfollowed(t *testing.T) {
	server, _ := host(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "http://[")
		w.WriteHeader(http.StatusFound)
	})
	a, err := network.NewClient(network.Policy{Private: true, AnyPort: true, PlainHTTP: true}, network.ForWebhooks()).Do(t.Context(), network.Request{URL: server.URL})
	if err != nil || a.Status != http.StatusFound {
		t.Errorf("got %d, %v", a.Status, err)
	}
}

func TestEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server, _ := host(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	if _, err := network.NewClient(here, network.ForFetches()).Do(ctx, network.Request{URL: server.URL}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestCaller: of calls that share a timer each has its own time, and one that took too long does not end the
// next.
func TestCaller(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/silent" {
			<-r.Context().Done()
		}
		fmt.Fprint(w, r.URL.Path)
	}))
	t.Cleanup(server.Close)
	c := network.NewClient(here, network.ForFetches())
	t.Cleanup(c.Close)
	ctx, cancel := context.WithCancel(t.Context())
	caller := network.NewCaller(ctx)
	defer caller.Close()
	call := func(path string, total time.Duration) (network.Answer, error) {
		t.Helper()
		a, err := c.Prepare(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		return caller.Do(a, network.Request{Total: total})
	}
	for range 3 {
		for range 2 {
			if a, err := call("/a", time.Minute); err != nil || string(a.Body) != "/a" {
				t.Errorf("got %s, %v", a.Body, err)
			}
		}
		var e *network.Error
		if _, err := call("/silent", 20*time.Millisecond); !errors.As(err, &e) || e.Message != "the host took too long to answer" {
			t.Errorf("silence: %v", err)
		}
	}
	cancel()
	if _, err := call("/a", time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}

// TestKnownHost: what was said of one host does not hold for another, nor for another port of it.
func TestKnownHost(t *testing.T) {
	c := network.NewClient(network.Policy{}, network.ForFetches())
	for range 2 {
		for address, allowed := range map[string]bool{
			"https://a.example/x": true, "https://a.example:443/": true, "https://a.example:22/": false, "https://127.0.0.1/": false,
			"https://b.example/": true, "https://a.example:/": false, "https://user@a.example/": false, "ftp://a.example/": false, "http://localhost/": false,
		} {
			if _, err := c.Prepare("https://a.example/"); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Prepare(address); (err == nil) != allowed {
				t.Errorf("%s: %v", address, err)
			}
		}
	}
}
