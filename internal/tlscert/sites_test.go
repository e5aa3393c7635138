package tlscert

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/acme"

	"ql/internal/tlscert/tlscerttest"
)

// sites are domains for which certificates may be ordered, or not.
type sites struct {
	mu      sync.Mutex
	has     map[string]bool
	refused error
	orders  []string // as OrderCertificate was called
}

func (s *sites) HasSite(_ context.Context, domain string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.has[domain], nil
}

func (s *sites) OrderCertificate(_ context.Context, domain string, renewal bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.orders = append(s.orders, fmt.Sprintf("%s %t", domain, renewal))
	if !s.has[domain] {
		return errNoSite
	}
	return s.refused
}

// files writes a certificate for names to a folder of its own.
func files(t *testing.T, serial int64, names ...string) (cert, key string) {
	t.Helper()
	folder := t.TempDir()
	tlscerttest.WriteFor(t, folder, serial, names...)
	return filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
}

// handshake returns the number of the certificate that a caller is shown who asks for a name; 0 for none.
func handshake(t *testing.T, config *tls.Config, name string) int64 {
	t.Helper()
	server, client := net.Pipe()
	defer server.Close()
	defer client.Close()
	var done sync.WaitGroup
	done.Go(func() {
		_ = tls.Server(server, config).HandshakeContext(t.Context()) // what comes of it the client sees
		_ = server.Close()
	})
	c := tls.Client(client, &tls.Config{ServerName: name, InsecureSkipVerify: true}) //nolint:gosec // which one it is shown is what is tested
	err := c.HandshakeContext(t.Context())
	_ = client.Close()
	done.Wait()
	if err != nil {
		return 0
	}
	return c.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
}

// TestSelection: the name that a caller asks for chooses among several certificates.
func TestSelection(t *testing.T) {
	own, ownKey := files(t, 1, "api.example.com")
	wild, wildKey := files(t, 2, "*.sites.example", "sites.example")
	config, monitor, err := Open(Options{CertFiles: []string{own, wild}, KeyFiles: []string{ownKey, wildKey}, Log: slog.New(slog.DiscardHandler), Clock: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int64{
		"api.example.com": 1, "API.example.com": 1, "ada.sites.example": 2, "sites.example": 2, "a.b.sites.example": 1, "other.example": 1, "": 1,
	} {
		if got := handshake(t, config, name); got != want {
			t.Errorf("%q: number %d, want %d", name, got, want)
		}
	}
	if days := monitor.DaysLeft(); days < 0.9 || days > 1 {
		t.Errorf("%v days are left", days)
	}
	if config.NextProtos != nil {
		t.Errorf("an authority is waited for: %v", config.NextProtos)
	}
}

// authority is a server that answers an ACME client as far as its orders, which it refuses.
type authority struct {
	*httptest.Server
	mu        sync.Mutex
	requests  []string
	badNonces int // how many orders to refuse for their nonces
}

func newAuthority(t *testing.T) *authority {
	a := &authority{}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.requests = append(a.requests, r.URL.Path)
		w.Header().Set("Replay-Nonce", fmt.Sprint(len(a.requests)))
		switch r.URL.Path {
		case "/":
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"newNonce":%q,"newAccount":%q,"newOrder":%q}`, a.URL+"/nonce", a.URL+"/account", a.URL+"/order")
		case "/account":
			w.Header().Set("Location", a.URL+"/account/1")
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, `{"status":"valid"}`)
		case "/order":
			kind := "rateLimited"
			if a.badNonces > 0 {
				a.badNonces--
				kind = "badNonce"
			}
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = fmt.Fprintf(w, `{"type":"urn:ietf:params:acme:error:%s","detail":"not now"}`, kind)
		}
	}))
	t.Cleanup(a.Close)
	return a
}

// asked returns how often a path was asked for, of all or of one.
func (a *authority) asked(path string) (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range a.requests {
		if path == "" || p == path {
			n++
		}
	}
	return n
}

// TestOrders: for a domain at which no site is served nothing is asked of the authority, and an order is
// counted once, before it leaves.
func TestOrders(t *testing.T) {
	a, s := newAuthority(t), &sites{has: map[string]bool{"shop.example": true}}
	var log bytes.Buffer
	cert, certKey := files(t, 1, "api.example.com")
	config, _, err := Open(Options{
		CertFiles: []string{cert}, KeyFiles: []string{certKey}, Sites: s, Directory: a.URL + "/", Folder: t.TempDir(),
		Log: slog.New(slog.NewTextHandler(&log, nil)), Clock: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"other.example", "api.example.com", "localhost", ""} {
		if got := handshake(t, config, name); got != 1 || a.asked("") > 0 {
			t.Errorf("%s: number %d, and the authority is asked %v", name, got, a.requests)
		}
	}
	a.badNonces = 1
	if got := handshake(t, config, "shop.example"); got != 0 || a.asked("/order") != 2 || fmt.Sprint(s.orders) != "[shop.example false]" {
		t.Errorf("number %d, orders %v, asked %v", got, s.orders, a.requests)
	}
	if !strings.Contains(log.String(), "domain=shop.example") {
		t.Errorf("the log says\n%s", log.String())
	}

	s.has["late.example"], s.refused = true, errors.New("as many as may be")
	if got := handshake(t, config, "late.example"); got != 0 || a.asked("/order") != 2 || len(s.orders) != 2 {
		t.Errorf("number %d, orders %v, asked %v", got, s.orders, a.requests)
	}
	delete(s.has, "shop.example")
	before := a.asked("")
	if got := handshake(t, config, "shop.example"); got != 1 || a.asked("") != before {
		t.Errorf("one that was removed: number %d, asked %v", got, a.requests)
	}
}

// TestRenewalsAreOrders: what a manager orders by itself, for a domain that is lost meanwhile, does not
// leave either.
func TestRenewalsAreOrders(t *testing.T) {
	a, s := newAuthority(t), &sites{has: map[string]bool{"shop.example": true}}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	m := newSiteManager(Options{Sites: s, Directory: a.URL + "/", Folder: t.TempDir(), Log: slog.New(slog.DiscardHandler), Clock: time.Now})
	m.Client.Key = key
	if _, err := m.Client.Register(t.Context(), &acme.Account{}, acme.AcceptTOS); err != nil {
		t.Fatal(err)
	}
	order := func(domains ...string) error {
		_, err := m.Client.AuthorizeOrder(t.Context(), acme.DomainIDs(domains...))
		return err
	}
	for _, domains := range [][]string{{"lost.example"}, {"shop.example", "lost.example"}} {
		if err := order(domains...); !errors.Is(err, errNoSite) || a.asked("/order") > 0 {
			t.Errorf("%v: %v, asked %v", domains, err, a.requests)
		}
	}
	if err := order("shop.example"); err == nil || a.asked("/order") != 1 {
		t.Errorf("%v, asked %v", err, a.requests)
	}
}
