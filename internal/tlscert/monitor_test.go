package tlscert

import (
	"bytes"
	"crypto/tls"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/acme/autocert"

	"ql/internal/tlscert/tlscerttest"
)

// TestEndingCertificate: the operator is told, once a day, that a certificate ends
// soon.
func TestEndingCertificate(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	ends := now.AddDate(0, 0, 20)
	var log bytes.Buffer
	r := &Monitor{log: slog.New(slog.NewTextHandler(&log, nil)), clock: func() time.Time { return now }, notAfter: func() time.Time { return ends }}
	for range 24 * 20 {
		if err := r.Remind(t.Context(), now); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Hour)
	}
	if n := strings.Count(log.String(), "expires soon"); n != 14 || !strings.Contains(log.String(), "days_left=13") {
		t.Errorf("it is told %d times:\n%s", n, log.String())
	}
	r.notAfter = func() time.Time { return time.Time{} }
	if days := r.DaysLeft(); !math.IsNaN(days) {
		t.Errorf("without a certificate %v days are left", days)
	}
}

// TestSilentAuthority: where a certificate authority refuses, cannot be reached,
// or finds a domain to be another's, the log and the metrics say so. The manager
// is the real one.
func TestSilentAuthority(t *testing.T) {
	for name, test := range map[string]struct {
		serve http.HandlerFunc
		want  string
	}{
		"refuses": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"type":"urn:ietf:params:acme:error:rateLimited","detail":"too many certificates already issued"}`)
		}, "refuses: status 403: too many certificates already issued"},
		"is down":  {nil, "cannot be reached"},
		"is wrong": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }, "a.example: "},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(test.serve)
			defer server.Close()
			if test.serve == nil {
				server.Close()
			}
			var log bytes.Buffer
			r := &Monitor{log: slog.New(slog.NewTextHandler(&log, nil)), clock: time.Now}
			r.notAfter = func() time.Time { return time.Time{} }
			get := r.watch(newManager(Options{Folder: t.TempDir(), Directory: server.URL}, autocert.HostWhitelist("a.example")), []string{"a.example"})
			hello := &tls.ClientHelloInfo{ServerName: "b.example", CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}}
			if _, err := get(hello); err == nil || r.failures.Load() != 0 {
				t.Errorf("a stranger's name: %v, %d failures", err, r.failures.Load())
			}
			hello.ServerName = "a.example"
			if _, err := get(hello); err == nil || r.failures.Load() == 0 || !strings.Contains(log.String(), test.want) {
				t.Errorf("%v, %d failures:\n%s", err, r.failures.Load(), log.String())
			}
			if days := r.DaysLeft(); !math.IsNaN(days) {
				t.Errorf("%v days are left", days)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	for _, test := range []struct {
		status int
		body   string
		want   string
	}{
		{200, `{"status":"pending"}`, ""},
		{200, `{"status":"valid"}`, ""},
		{400, `{"type":"urn:ietf:params:acme:error:badNonce","detail":"again","status":400}`, ""},
		{429, `{"type":"urn:ietf:params:acme:error:rateLimited","detail":"too many","status":429}`, "status 429: too many"},
		{502, `<html>`, "status 502"},
		{200, `{"status":"invalid","challenges":[{"status":"pending"},{"status":"invalid","error":{"type":"x","detail":"Timeout during connect"}}]}`, "Timeout during connect"},
		{200, `{"status":"invalid","error":{"detail":"the order has ended"}}`, "the order has ended"},
		{200, `{"status":"invalid"}`, "it could not make sure that the domain is this server's"},
	} {
		if got := refusal(test.status, []byte(test.body)); got != test.want {
			t.Errorf("%d %s: %q", test.status, test.body, got)
		}
	}
}

// TestStoredCertificate: how long one is valid is read where the manager stored it.
func TestStoredCertificate(t *testing.T) {
	folder, stored := t.TempDir(), t.TempDir()
	tlscerttest.Write(t, folder, 1)
	c := &keyPair{cert: filepath.Join(folder, "cert.pem"), key: filepath.Join(folder, "key.pem"), clock: time.Now}
	if err := c.load(); err != nil {
		t.Fatal(err)
	}
	var text []byte
	for _, name := range []string{c.key, c.cert} { // in their order there
		part, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, part...)
	}
	m := newManager(Options{Folder: stored}, autocert.HostWhitelist("a.example", "b.example"))
	r := &Monitor{log: slog.New(slog.DiscardHandler), clock: time.Now, notAfter: func() time.Time { return time.Time{} }}
	r.watch(m, []string{"a.example", "b.example"})
	if err := m.Cache.Put(t.Context(), "b.example", text); err != nil {
		t.Fatal(err)
	}
	if got := firstExpiry(m.Cache, []string{"a.example", "b.example"}); !got.Equal(c.notAfter()) {
		t.Errorf("it ends at %s, want %s", got, c.notAfter())
	}
	if err := os.RemoveAll(stored); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(stored, nil, 0o600); err != nil { // a file where the folder was
		t.Fatal(err)
	}
	if err := m.Cache.Put(t.Context(), "a.example", text); err == nil || r.failures.Load() != 1 {
		t.Errorf("a certificate that cannot be stored: %v, %d failures", err, r.failures.Load())
	}
}
