package app

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/config"
	"ql/internal/tlscert/tlscerttest"
	"ql/lang/value"
	"ql/lang/vm"
)

// start starts a service whose parts a test looks at.
func start(t *testing.T, change func(*config.Settings)) *App {
	t.Helper()
	return startWith(t, change, Options{Version: "test"})
}

func startWith(t *testing.T, change func(*config.Settings), o Options) *App {
	t.Helper()
	s, err := config.Load(config.Sources{Flags: map[string]string{"listen": "127.0.0.1:0", "data": t.TempDir(), "dev": "true"}})
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&s)
	}
	a := New(s, o)
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

// TestMember: a process says to others that share its store what it can read.
func TestMember(t *testing.T) {
	a := start(t, nil)
	list, err := a.parts.store.Members.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 1 || list[0].Version != a.o.Version || list[0].Formats != vm.SnapshotFormat {
		t.Errorf("the members are %+v", list)
	}
}

func wantCode(t *testing.T, what string, err error, code string) {
	t.Helper()
	var e *value.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Errorf("%s: got %v, want %s", what, err, code)
	}
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

func TestServerTimeouts(t *testing.T) {
	a := start(t, nil)
	if o := a.serverOptions(nil, nil); o.ReadHeaderTimeout != 5*time.Second || o.ReadTimeout != 15*time.Second || o.IdleTimeout != time.Minute {
		t.Errorf("they are %+v", o)
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

func TestPlansOfSettings(t *testing.T) {
	a := start(t, func(s *config.Settings) {
		l := s.Plans[account.Free]
		l.ScriptBytes = 7
		s.Plans[account.Free] = l
	})
	if got := a.settings.Limits(account.Free).ScriptBytes; got != 7 {
		t.Errorf("free has %d", got)
	}
	if got := a.settings.Limits("none").ScriptBytes; got != 7 {
		t.Errorf("an unknown plan has %d", got)
	}
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

func TestTLS(t *testing.T) {
	folder := t.TempDir()
	authority := tlscerttest.Write(t, folder, 1)
	a := start(t, func(s *config.Settings) {
		s.TLSCert, s.TLSKey = []string{filepath.Join(folder, "cert.pem")}, []string{filepath.Join(folder, "key.pem")}
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
