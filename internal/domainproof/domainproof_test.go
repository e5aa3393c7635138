package domainproof

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"

	"ql/internal/network"
	"ql/internal/network/networktest"
)

const value = "ql-domain=Zq3b1xGq0vJc2rX9mB4nT7kLsPdWyUeHoAfIiQjRg5E"

// site starts a server whose certificate is for example.com, and returns a checker that finds it there.
func site(t *testing.T, p network.Policy, texts map[string]string, answer http.HandlerFunc) (c *Checker, base string) {
	t.Helper()
	server := httptest.NewTLSServer(answer)
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	leads := func(string, int) []netip.Addr { return []netip.Addr{netip.MustParseAddr("127.0.0.1")} }
	c = New(p, network.Options{Roots: roots, Resolver: networktest.Records(t, leads, texts)})
	t.Cleanup(c.Close)
	return c, "https://example.com:" + u.Port()
}

var everywhere = network.Policy{Private: true, AnyPort: true}

func TestFiles(t *testing.T) {
	files := map[string]string{
		"/whole": value, "/line": "other\n" + value + "\r\n", "/part": value + "x", "/empty": "",
		"/word": "Nothing is at " + value + " here", "/first": value + " is not here\n", "/spaces": " " + value + "\t\nother",
		"/long": strings.Repeat("x", 8<<10) + "\n" + value,
	}
	c, base := site(t, everywhere, nil, func(w http.ResponseWriter, r *http.Request) {
		text, ok := files[r.URL.Path]
		switch {
		case r.URL.Path == "/moved":
			http.Redirect(w, r, "/whole", http.StatusFound)
		case r.URL.Path == "/refused":
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(value))
		case !ok:
			http.NotFound(w, r)
		default:
			_, _ = w.Write([]byte(text))
		}
	})
	for path, want := range map[string]bool{
		"/whole": true, "/line": true, "/part": false, "/empty": false, "/missing": false, "/moved": false, "/refused": false, "/long": false,
		"/word": false, "/first": false, "/spaces": true,
	} {
		if got, err := c.Check(t.Context(), "_ql-domain.example.com", base+path, value); got != want || err != nil {
			t.Errorf("%s: %t, %v", path, got, err)
		}
	}
}

func TestRecords(t *testing.T) {
	c, _ := site(t, everywhere, map[string]string{"_ql-domain.example.com": value}, http.NotFound)
	for record, want := range map[string]bool{"_ql-domain.example.com": true, "_ql-domain.example.net": false} {
		if got, err := c.Check(t.Context(), record, "https://example.com:1/x", value); got != want || err != nil {
			t.Errorf("%s: %t, %v", record, got, err)
		}
	}
}

// TestRecordsAlone tells a record that is not there from one of which nothing is known.
func TestRecordsAlone(t *testing.T) {
	c, _ := site(t, everywhere, map[string]string{"_ql.example.com": value, "_ql.example.net": "other"}, func(http.ResponseWriter, *http.Request) {
		t.Error("the site is called")
	})
	for record, want := range map[string]bool{"_ql.example.com": true, "_ql.example.net": false, "_ql.example.org": false} {
		if got, err := c.CheckRecord(t.Context(), record, value); got != want || err != nil {
			t.Errorf("%s: %t, %v", record, got, err)
		}
	}
	broken := New(everywhere, network.Options{Resolver: &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("there is no network")
	}}})
	defer broken.Close()
	if got, err := broken.CheckRecord(t.Context(), "_ql.example.com", value); got || !errors.Is(err, ErrUnknown) {
		t.Errorf("without a name server: %t, %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := broken.CheckRecord(ctx, "_ql.example.com", value); got || !errors.Is(err, context.Canceled) {
		t.Errorf("who hangs up: %t, %v", got, err)
	}
}

// TestGuard has a domain that leads to this machine: nobody is called there.
func TestGuard(t *testing.T) {
	called := false
	c, base := site(t, network.Policy{AnyPort: true}, nil, func(w http.ResponseWriter, _ *http.Request) {
		called = true
		_, _ = w.Write([]byte(value))
	})
	if got, err := c.Check(t.Context(), "_ql-domain.example.com", base+"/x", value); got || err != nil || called {
		t.Errorf("%t, %v, called: %t", got, err, called)
	}
}

// TestManyAtOnce has more domains asked than are at once, which hang.
func TestManyAtOnce(t *testing.T) {
	var arrived sync.WaitGroup
	arrived.Add(atOnce)
	hang := make(chan struct{})
	c, base := site(t, everywhere, nil, func(http.ResponseWriter, *http.Request) {
		arrived.Done()
		<-hang
	})
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	for range atOnce {
		done.Go(func() {
			if got, err := c.Check(ctx, "_ql-domain.example.com", base+"/x", value); got || !errors.Is(err, context.Canceled) {
				t.Errorf("%t, %v", got, err)
			}
		})
	}
	arrived.Wait()
	if _, err := c.Check(t.Context(), "_ql-domain.example.com", base+"/x", value); !errors.Is(err, ErrBusy) {
		t.Errorf("one more: %v", err)
	}
	cancel()
	done.Wait()
	close(hang)
	if _, err := c.Check(ctx, "_ql-domain.example.com", base+"/x", value); errors.Is(err, ErrBusy) {
		t.Error("a slot is not given back")
	}
}
