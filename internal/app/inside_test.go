package app

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"math"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/config"
	"ql/internal/job"
)

// start starts a service whose parts a test looks at.
func start(t *testing.T, change func(*config.Settings)) *App {
	t.Helper()
	s, err := config.Load(config.Sources{Flags: map[string]string{"listen": "127.0.0.1:0", "data": t.TempDir(), "dev": "true"}})
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&s)
	}
	a := New(s, Options{})
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return a
}

// exchange sends a request and returns the status and the body of its answer.
func exchange(t *testing.T, r *http.Request) (status int, body string) {
	t.Helper()
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

func TestServerLimits(t *testing.T) {
	a := start(t, nil)
	s := a.main.http
	if s.ReadHeaderTimeout != 5*time.Second || s.ReadTimeout != 15*time.Second || s.IdleTimeout != time.Minute || s.WriteTimeout != 0 ||
		s.MaxHeaderBytes != 32<<10 || s.HTTP2.MaxConcurrentStreams != 100 {
		t.Errorf("the server is %+v", s)
	}
}

func TestReadiness(t *testing.T) {
	a := start(t, nil)
	if err := a.ready(t.Context()); err != nil {
		t.Errorf("not ready: %v", err)
	}
	a.stopping.Store(true)
	if err := a.ready(t.Context()); !errors.Is(err, errStopping) {
		t.Errorf("while it stops: %v", err)
	}
}

// TestJobsAreForgotten: finished jobs are kept as long as their account's plan
// says.
func TestJobsAreForgotten(t *testing.T) {
	a := start(t, nil)
	ctx := t.Context()
	dev, err := a.parts.accounts.EnsureDevelopment(ctx)
	if err != nil {
		t.Fatal(err)
	}
	now, kept := time.Now(), a.limits(dev.LimitPlan()).JobsKept
	old := job.Record{Summary: job.Summary{ID: job.NewID(), Account: dev.ID, State: job.Complete, Mode: job.Sync, Convention: job.JSON,
		Created: now.Add(-kept - 24*time.Hour), Finished: now.Add(-kept - 24*time.Hour)}}
	young := old
	young.ID, young.Finished = job.NewID(), now.Add(-kept+24*time.Hour)
	for _, r := range []job.Record{old, young} {
		if err := a.parts.recorder.Record(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.parts.recorder.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	if err := a.upkeep(ctx, now); err != nil {
		t.Fatal(err)
	}
	if _, err := a.parts.store.Jobs.ByID(ctx, old.ID); !errors.Is(err, job.ErrNotFound) {
		t.Errorf("the old job: %v", err)
	}
	if _, err := a.parts.store.Jobs.ByID(ctx, young.ID); err != nil {
		t.Errorf("the young job: %v", err)
	}
}

func TestPlansOfSettings(t *testing.T) {
	a := start(t, func(s *config.Settings) {
		l := s.Plans[account.Free]
		l.ScriptBytes = 7
		s.Plans[account.Free] = l
	})
	if got := a.limits(account.Free).ScriptBytes; got != 7 {
		t.Errorf("free has %d", got)
	}
	if got := a.limits("none").ScriptBytes; got != 7 {
		t.Errorf("an unknown plan has %d", got)
	}
}

// TestHeldDatabasesAreBounded: databases of accounts unused the longest are
// closed, and those in use are not.
func TestHeldDatabasesAreBounded(t *testing.T) {
	a := start(t, nil)
	r := a.parts.resources
	busy := r.acquire(1)
	for id := range account.ID(3 * maxHeld) {
		r.release(r.acquire(id + 2))
	}
	if len(r.held) > maxHeld {
		t.Errorf("%d are held", len(r.held))
	}
	if r.held[1] != busy {
		t.Error("one in use was closed")
	}
	if r.held[3*maxHeld+1] == nil {
		t.Error("the last one used was closed")
	}
	r.release(busy)
}

func TestConnectionsPerAddress(t *testing.T) {
	a := start(t, func(s *config.Settings) { s.MaxConnectionsPerAddress = 2 })
	connect := func() net.Conn {
		t.Helper()
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", a.Address())
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	ask := func(c net.Conn) bool {
		_, _ = io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
		n, _ := c.Read(make([]byte, 1))
		return n == 1
	}
	first, second, third := connect(), connect(), connect()
	defer second.Close()
	defer third.Close()
	if !ask(first) || !ask(second) {
		t.Error("the first two are not served")
	}
	if ask(third) {
		t.Error("the third is served")
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	for served := false; !served; { // when the service has noticed
		c := connect()
		served = ask(c)
		_ = c.Close()
	}
}

func TestAddresses(t *testing.T) {
	for at, want := range map[string]string{
		"0.0.0.0:80": "localhost:80", "[::]:8080": "localhost:8080", "127.0.0.1:1": "127.0.0.1:1", "[::1]:1": "[::1]:1",
	} {
		if got := reachable(at); got != want {
			t.Errorf("%s is reached by %s, want %s", at, got, want)
		}
	}
	at := &net.TCPAddr{IP: net.IPv4zero, Port: 80}
	for want, s := range map[string]config.Settings{
		"http://localhost:80":  {},
		"https://localhost:80": {TLSCert: "x"},
		"https://a.example":    {ACMEDomains: []string{"a.example"}},
		"https://b.example/x":  {ACMEDomains: []string{"a.example"}, BaseURL: "https://b.example/x"},
	} {
		if got := ownURL(&s, at); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// certify writes a certificate for localhost and returns its serial number's
// authority.
func certify(t *testing.T, folder string, serial int64) *x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: der}, "key.pem": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(filepath.Join(folder, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	made, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestTLS(t *testing.T) {
	folder := t.TempDir()
	authority := certify(t, folder, 1)
	a := start(t, func(s *config.Settings) {
		s.TLSCert, s.TLSKey = filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	})
	if !strings.HasPrefix(a.URL(), "https://127.0.0.1:") {
		t.Errorf("the address is %s", a.URL())
	}
	roots := x509.NewCertPool()
	roots.AddCert(authority)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.URL()+"/healthz", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK || res.ProtoMajor != 2 || res.Header.Get("Strict-Transport-Security") == "" {
		t.Errorf("%s %s %v", res.Status, res.Proto, res.Header)
	}
}

// TestRenewedCertificate: a certificate that somebody renews is used a minute
// later, and files that are broken meanwhile change nothing.
func TestRenewedCertificate(t *testing.T) {
	folder := t.TempDir()
	certify(t, folder, 1)
	now := time.Now()
	c := &certificate{cert: filepath.Join(folder, "cert.pem"), key: filepath.Join(folder, "key.pem"), clock: func() time.Time { return now }}
	var log bytes.Buffer
	r := &renewals{log: slog.New(slog.NewTextHandler(&log, nil)), clock: c.clock, ends: c.ends}
	c.failed = r.failed
	if err := c.load(); err != nil {
		t.Fatal(err)
	}
	serial := func() int64 {
		pair, err := c.get(nil)
		if err != nil {
			t.Fatal(err)
		}
		return pair.Leaf.SerialNumber.Int64()
	}
	certify(t, folder, 2)
	if got := serial(); got != 1 {
		t.Errorf("at once it is number %d", got)
	}
	now = now.Add(renewed)
	if got := serial(); got != 2 {
		t.Errorf("later it is number %d", got)
	}
	if err := os.WriteFile(c.cert, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	now = now.Add(renewed)
	if got := serial(); got != 2 {
		t.Errorf("while the file is broken it is number %d", got)
	}
	// It is told, once an hour, and counted each time.
	for range 120 {
		now = now.Add(30 * time.Second)
		serial()
	}
	if told := strings.Count(log.String(), "could not be renewed"); told != 2 || r.failures.Load() != 61 || !strings.Contains(log.String(), "holds no certificate in PEM") {
		t.Errorf("of %d failures %d are told:\n%s", r.failures.Load(), told, log.String())
	}
	if days := r.daysLeft(); days != math.Floor(c.ends().Sub(now).Hours()/24*100)/100 {
		t.Errorf("%v days are left", days)
	}
	certify(t, folder, 3)
	now = now.Add(renewed)
	if got := serial(); got != 3 || r.failures.Load() != 61 {
		t.Errorf("when the file is right it is number %d, after %d failures", got, r.failures.Load())
	}
}

// TestWrongCertificates: the error names the file that is wrong.
func TestWrongCertificates(t *testing.T) {
	folder, other := t.TempDir(), t.TempDir()
	certify(t, folder, 1)
	certify(t, other, 2)
	cert, key := filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	write := func(name, text string) string {
		name = filepath.Join(folder, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	text, locked := write("text", "text"), write("locked", "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n")
	badCert := write("bad-cert", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
	badKey := write("bad-key", "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n")
	none, otherKey := filepath.Join(folder, "none"), filepath.Join(other, "key.pem")
	for name, test := range map[string]struct{ cert, key, want string }{
		"no certificate file":      {none, key, "tls-cert: " + none + ": no such file or directory"},
		"no key file":              {cert, none, "tls-key: " + none + ": no such file or directory"},
		"a folder":                 {folder, key, "tls-cert: " + folder + ": is a directory"},
		"a text":                   {text, key, "tls-cert: " + text + " holds no certificate in PEM, which begins with -----BEGIN CERTIFICATE-----"},
		"a text for a key":         {cert, text, "tls-key: " + text + " holds no private key in PEM, which begins with -----BEGIN PRIVATE KEY-----"},
		"a key for a certificate":  {key, key, "tls-cert: " + key + " holds a private key and no certificate: that is the file for tls-key"},
		"a certificate for a key":  {cert, cert, "tls-key: " + cert + " holds a certificate and no private key: that is the file for tls-cert"},
		"a locked key":             {cert, locked, "tls-key: the private key in " + locked + " is locked by a passphrase: store it without one, in a file that only the service can read"},
		"a damaged certificate":    {badCert, key, "tls-cert: the first certificate in " + badCert + " is damaged"},
		"a damaged key":            {cert, badKey, "tls-key: the private key in " + badKey + " is damaged, or of a kind that TLS does not use"},
		"files that do not belong": {cert, otherKey, "tls-key: the private key in " + otherKey + " is not that of the first certificate in " + cert},
	} {
		c := &certificate{cert: test.cert, key: test.key, clock: time.Now}
		if err := c.load(); err == nil || err.Error() != test.want {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
}
