//go:build acme

package app_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/apptest"
	"ql/internal/config"
	"ql/internal/network/networktest"
	"ql/internal/operator"
	"ql/internal/tlscert/tlscerttest"
)

// authority is Pebble, the small certificate authority of Let's Encrypt for tests: it looks for itself
// whose a domain is.
type authority struct {
	t             *testing.T
	folder        string // with its certificate and its settings
	listen, admin string // addresses
	roots         *x509.CertPool

	mu  sync.Mutex
	log bytes.Buffer
}

// Write implements io.Writer.
func (a *authority) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.log.Write(p)
}

func (a *authority) has(text string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return strings.Contains(a.log.String(), text)
}

// newAuthority chooses where the authority will be: the service must be told before it starts.
// Its own certificate is in a folder.
func newAuthority(t *testing.T, folder string) *authority {
	t.Helper()
	return &authority{t: t, folder: folder, listen: freeAddress(t), admin: freeAddress(t), roots: x509.NewCertPool()}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // nobody has come
	return l.Addr().String()
}

// url is that of the directory.
func (a *authority) url() string {
	_, port, _ := net.SplitHostPort(a.listen)
	return "https://localhost:" + port + "/dir"
}

// start starts the authority, which calls domains at a port, and trusts its certificates from then on.
func (a *authority) start(port int) {
	a.t.Helper()
	must := func(err error) {
		a.t.Helper()
		if err != nil {
			a.t.Fatal(err)
		}
	}
	program := filepath.Join(a.folder, "pebble")
	build := exec.CommandContext(a.t.Context(), "go", "build", "-modfile=../../tools/go.mod", "-o", program, "github.com/letsencrypt/pebble/v2/cmd/pebble")
	if out, err := build.CombinedOutput(); err != nil {
		a.t.Fatalf("%v\n%s", err, out)
	}
	settings, err := json.Marshal(map[string]any{"pebble": map[string]any{
		"listenAddress": a.listen, "managementListenAddress": a.admin,
		"certificate": filepath.Join(a.folder, "cert.pem"), "privateKey": filepath.Join(a.folder, "key.pem"),
		"httpPort": 1, "tlsPort": port, "retryAfter": map[string]int{"authz": 1, "order": 1}, "keyAlgorithm": "ecdsa",
		"profiles": map[string]any{"default": map[string]any{"description": "any", "validityPeriod": 7776000}},
	}})
	must(err)
	file := filepath.Join(a.folder, "pebble.json")
	must(os.WriteFile(file, settings, 0o600))
	names := networktest.Server(a.t, func(name string, _ int) []netip.Addr {
		if name == "elsewhere.example" {
			return []netip.Addr{netip.MustParseAddr("127.0.0.2")}
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	}, nil)
	c := exec.CommandContext(a.t.Context(), program, "-config", file, "-dnsserver", names)
	c.Env = append(os.Environ(), "PEBBLE_VA_NOSLEEP=1", "PEBBLE_VA_ALWAYS_VALID=0", "PEBBLE_WFE_NONCEREJECT=0")
	c.Stdout, c.Stderr = a, a
	c.Cancel, c.WaitDelay = func() error { return c.Process.Kill() }, 10*time.Second
	must(c.Start())
	a.t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait() // it was killed
	})
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: a.roots}, DisableKeepAlives: true}}
	deadline := time.Now().Add(30 * time.Second)
	for {
		text, err := fetchText(a.t.Context(), client, "https://"+a.admin+"/roots/0")
		if err == nil && a.roots.AppendCertsFromPEM([]byte(text)) {
			return
		}
		if time.Now().After(deadline) {
			a.t.Fatalf("the authority does not start: %v\n%s", err, a.log.String())
		}
		<-time.After(50 * time.Millisecond)
	}
}

func fetchText(ctx context.Context, client *http.Client, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	res, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close() //nolint:errcheck // it was read
	text, err := io.ReadAll(res.Body)
	return string(text), err
}

// TestACMESites has a real authority certify the domains of sites: those that are proved, as many as an
// account may, and no others.
func TestACMESites(t *testing.T) {
	folder := t.TempDir()
	own := tlscerttest.Write(t, folder, 7)
	t.Setenv("SSL_CERT_FILE", filepath.Join(folder, "cert.pem")) // which the authority shows too
	for name, shared := range map[string]bool{"a listener of their own": false, "the service's listener": true} {
		t.Run(name, func(t *testing.T) {
			a := newAuthority(t, folder)
			a.roots.AddCert(own)
			w := apptest.Boot(t, apptest.Production, func(s *config.Settings) {
				s.TLSCert, s.TLSKey = []string{filepath.Join(folder, "cert.pem")}, []string{filepath.Join(folder, "key.pem")}
				s.SiteHost, s.SiteListen, s.ACMESites, s.ACMEURL = "sites.example", "127.0.0.1:0", true, a.url()
				if shared {
					s.Listen = freeAddress(t)
					s.SiteListen, s.BaseURL = s.Listen, "https://localhost"
				}
			})
			testACMESites(t, w, a)
		})
	}
}

func testACMESites(t *testing.T, w *apptest.Service, a *authority) {
	address := w.SiteURL("ada")
	port, err := strconv.Atoi(address[strings.LastIndexByte(address, ':')+1:])
	if err != nil {
		t.Fatal(err)
	}
	a.start(port)
	w.Account("ada", account.Standard)
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: a.roots}, DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, "127.0.0.1:"+strconv.Itoa(port))
		},
	}}
	w.Operate(func(o *operator.Operator) error {
		for _, domain := range []string{"shop.example", "elsewhere.example", "a.example", "b.example", "c.example", "late.example"} {
			if _, err := o.Accounts.RequestSiteDomain(t.Context(), "ada", domain); err != nil {
				return err
			}
			if _, err := o.Accounts.ProveSiteDomain(t.Context(), "ada", domain, func(context.Context, string, string) (bool, error) { return true, nil }); err != nil {
				return err
			}
		}
		_, err := o.Accounts.RequestSiteDomain(t.Context(), "ada", "unproven.example")
		return err
	})
	visit := func(domain string) (certificate *x509.Certificate, err error) {
		c, err := (&tls.Dialer{Config: &tls.Config{RootCAs: a.roots, ServerName: domain}}).DialContext(t.Context(), "tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			return nil, err
		}
		defer c.Close() //nolint:errcheck // it was looked at
		return c.(*tls.Conn).ConnectionState().PeerCertificates[0], nil
	}

	// Who comes while a certificate is made may have to come again.
	visitAgain := func(domain string) *x509.Certificate {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); ; <-time.After(100 * time.Millisecond) {
			c, err := visit(domain)
			if err == nil {
				return c
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: %v\n%s\n%s", domain, err, w.Log, a.log.String())
			}
		}
	}

	for _, domain := range []string{"unproven.example", "nobody.example"} {
		if c, err := visit(domain); err == nil {
			t.Errorf("%s has a certificate for %v", domain, c.DNSNames)
		}
		if a.has(domain) {
			t.Errorf("the authority is asked for %s", domain)
		}
	}
	first := visitAgain("shop.example")
	if again, err := visit("shop.example"); err != nil || again.SerialNumber.Cmp(first.SerialNumber) != 0 {
		t.Errorf("it is another one the next time: %v", err)
	}
	if text, err := fetchText(t.Context(), client, "https://shop.example/"); err != nil || !strings.Contains(text, "There is no such page") {
		t.Errorf("%s, %v", text, err)
	}
	// A domain that leads elsewhere gets none, and counts.
	if _, err := visit("elsewhere.example"); err == nil || !a.has("elsewhere.example") {
		t.Errorf("a domain that leads elsewhere: %v\n%s", err, w.Log)
	}
	for _, domain := range []string{"a.example", "b.example", "c.example"} {
		visitAgain(domain)
	}
	if _, err := visit("late.example"); err == nil || a.has("late.example") {
		t.Errorf("a sixth one of the day: %v", err)
	}
	w.Operate(func(o *operator.Operator) error {
		return o.Accounts.RemoveSiteDomain(t.Context(), "ada", "shop.example")
	})
	if c, err := visit("shop.example"); err == nil {
		t.Errorf("a domain that was removed has a certificate for %v", c.DNSNames)
	}
	if _, err := visit("localhost"); err != nil {
		t.Errorf("the service's own: %v", err)
	}
}
