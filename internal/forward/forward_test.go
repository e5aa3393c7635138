package forward

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ql/internal/guard"
	"ql/internal/listen"
)

// showing starts a node that shows what it receives.
func showing(t *testing.T, secret string) *Nodes {
	t.Helper()
	n, err := Open(t.Context(), "127.0.0.1:0", secret, listen.Limits{Connections: 10})
	if err != nil {
		t.Fatal(err)
	}
	show := func(where string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			from, ok := From(r.Context())
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			for name := range r.Header {
				if strings.HasPrefix(name, "Ql-Node-") {
					t.Errorf("the header %s arrived", name)
				}
			}
			w.Header().Set("X-Shown", r.Method+" "+r.Host+r.URL.RequestURI()+" "+r.RemoteAddr+" "+r.Header.Get("X-Told")+" "+r.Header.Get("X-Forwarded-For")+r.UserAgent())
			w.WriteHeader(http.StatusTeapot)
			if ok && from.Encrypted {
				where += " encrypted"
			}
			_, _ = io.WriteString(w, where+" "+string(body))
		})
	}
	g := guard.New(slog.New(slog.DiscardHandler), nil)
	server := n.Start(show("service"), show("site"), listen.Options{Log: slog.New(slog.DiscardHandler)}, g, make(chan error, 1))
	t.Cleanup(func() {
		if _, err := server.Shutdown(context.Background(), time.Now()); err != nil {
			t.Error(err)
		}
		if err := n.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return n
}

// TestSend: a request arrives at the other node as it came to the first one.
func TestSend(t *testing.T) {
	to := showing(t, "secret")
	from, err := Open(t.Context(), "", "secret", listen.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = from.Close(context.Background()) }()
	if from.Address() != "" {
		t.Errorf("a node without a listener is at %s", from.Address())
	}
	for _, test := range []struct {
		method, body string
		length       int64
		origin       Origin
		shown, want  string
	}{
		{http.MethodGet, "", 0, Origin{Addr: netip.MustParseAddr("203.0.113.7")}, "GET api.example/run/x?a=1%2F2 203.0.113.7:0 yes ", "service "},
		{http.MethodPost, "body", 4, Origin{Addr: netip.MustParseAddr("2001:db8::1"), Encrypted: true}, "POST api.example/run/x?a=1%2F2 [2001:db8::1]:0 yes ", "service encrypted body"},
		{http.MethodPut, "of unknown length", -1, Origin{Addr: netip.MustParseAddr("203.0.113.7"), Site: true}, "PUT api.example/run/x?a=1%2F2 203.0.113.7:0 yes ", "site of unknown length"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), test.method, "http://api.example/run/x?a=1%2F2", nil)
		r.Header.Set("X-Told", "yes")
		r.Header.Set("X-Forwarded-For", "198.51.100.1") // who the caller is was decided where it called
		r.Header.Set(headerEncrypted, "1")              // nobody but a node says so
		r.Header.Set("Connection", "close")
		answer, err := from.Send(t.Context(), to.Address(), r, test.origin, io.NopCloser(strings.NewReader(test.body)), test.length)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusTeapot || string(body) != test.want || strings.TrimSpace(answer.Header.Get("X-Shown")) != strings.TrimSpace(test.shown) {
			t.Errorf("%s: %d %q %q, %v", test.method, answer.StatusCode, body, answer.Header.Get("X-Shown"), err)
		}
		_ = answer.Body.Close()
	}
}

// TestStrangers: who does not have the master key is neither heard nor told anything.
func TestStrangers(t *testing.T) {
	to := showing(t, "secret")
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://api.example/", nil)
	stranger, err := Open(t.Context(), "", "another secret", listen.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := stranger.Send(t.Context(), to.Address(), r, Origin{}, nil, 0); err == nil {
		t.Errorf("a stranger is answered with %d", answer.StatusCode)
		_ = answer.Body.Close()
	} else if !errors.Is(err, ErrNotSent) { // it is one to the other as well
		t.Errorf("what was not sent: %v", err)
	}
	// One that looks at no certificate shows none, and is heard no more than that.
	plain := stranger.tls()
	plain.Certificates, plain.VerifyConnection = nil, nil
	client := http.Client{Transport: &http.Transport{TLSClientConfig: plain}}
	if answer, err := client.Do(get(t, to.Address())); err == nil {
		t.Errorf("without a certificate the answer is %d", answer.StatusCode)
		_ = answer.Body.Close()
	}
	client.CloseIdleConnections()
	// A request that is none of a node's.
	known := http.Client{Transport: &http.Transport{TLSClientConfig: to.tls()}}
	answer, err := known.Do(get(t, to.Address()))
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode != http.StatusBadRequest {
		t.Errorf("a request without what nodes say is answered with %d", answer.StatusCode)
	}
	_ = answer.Body.Close()
	known.CloseIdleConnections()
}

func get(t *testing.T, address string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+"/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestSentOnce: what breaks on its way is not sent again, whatever its caller says of it: only who knows what it does can tell.
func TestSentOnce(t *testing.T) {
	n, err := Open(t.Context(), "", "secret", listen.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = n.Close(context.Background()) }()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", n.tls())
	if err != nil {
		t.Fatal(err)
	}
	var received atomic.Int64
	server := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if received.Add(1); r.URL.Path == "/breaks" {
			if r.Header.Get("Idempotency-Key") != "a" || r.Header.Get("X-Idempotency-Key") != "b" {
				t.Errorf("the headers are %v", r.Header)
			}
			panic(http.ErrAbortHandler)
		}
	})}
	go func() { _ = server.Serve(listener) }()
	defer func() { _ = server.Close() }()
	for _, path := range []string{"/", "/breaks"} { // by one connection, which the library thinks is old then
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.Header.Set("Idempotency-Key", "a")
		r.Header.Set("X-Idempotency-Key", "b")
		answer, err := n.Send(t.Context(), listener.Addr().String(), r, Origin{Addr: netip.MustParseAddr("203.0.113.7")}, http.NoBody, 0)
		if err == nil {
			_ = answer.Body.Close()
		}
		if (err == nil) != (path == "/") || errors.Is(err, ErrNotSent) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if got := received.Load(); got != 2 {
		t.Errorf("%d requests were received, and not 2", got)
	}
}
