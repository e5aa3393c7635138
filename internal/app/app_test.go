package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/app"
	"ql/internal/apptest"
	"ql/internal/config"
	"ql/internal/operator"
	"ql/internal/store/sqlite"
)

// answer is what the service answers, in either convention.
type answer struct {
	status int
	at     string // where it came from after redirects
	header http.Header
	body   string

	Status string `json:"status"`
	JobID  string `json:"job_id"`
	Result string `json:"result"`
	Error  struct {
		Code string `json:"code"`
	} `json:"error"`
}

func send(t testing.TB, req *http.Request) answer {
	t.Helper()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	a := answer{status: res.StatusCode, at: res.Request.URL.String(), header: res.Header, body: string(body)}
	if res.Header.Get("Content-Type") == "application/json" {
		if err := json.Unmarshal(body, &a); err != nil {
			t.Fatalf("%v in %s", err, body)
		}
	}
	return a
}

func get(t testing.TB, address string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	return send(t, req)
}

func post(t testing.TB, address, contentType, body string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	return send(t, req)
}

func query(t testing.TB, base, username, password, script string) answer {
	t.Helper()
	body, err := json.Marshal(map[string]any{"auth": map[string]string{"username": username, "password": password}, "query": script})
	if err != nil {
		t.Fatal(err)
	}
	return post(t, base+"/v1/query", "application/json", string(body))
}

func form(t testing.TB, base, identity, key, script string) answer {
	t.Helper()
	return post(t, base+"/api", "application/x-www-form-urlencoded", url.Values{"identity": {identity}, "password": {key}, "q": {script}}.Encode())
}

func TestDevelopmentAccount(t *testing.T) {
	b := apptest.Boot(t)
	if a := query(t, b.URL(), "dev", "dev", `EMIT !ACCOUNT('username'), " ", 6 * 7`); a.status != 200 || a.Status != "ok" || a.Result != "user_test 42" {
		t.Errorf("JSON: %d %s", a.status, a.body)
	}
	if a := form(t, b.URL(), "dev", "dev", `EMIT !ACCOUNT('plan'), " ", 6 * 7`); a.status != 200 || a.body != "free 42" {
		t.Errorf("form: %d %s", a.status, a.body)
	}
	if a := query(t, b.URL(), "dev", "wrong", `EMIT 1`); a.status != 401 {
		t.Errorf("wrong: %d %s", a.status, a.body)
	}
}

// TestDevelopmentAccountDeleted: its credentials are the settings', so they open a
// new one.
func TestDevelopmentAccountDeleted(t *testing.T) {
	b := apptest.Boot(t)
	if a := query(t, b.URL(), "dev", "dev", `WRITE "old" TO "/a.txt" CREATE TABLE t (x); EMIT "made"`); a.Result != "made" {
		t.Fatal(a.body)
	}
	b.Operate(func(o *operator.Operator) error { return o.DeleteAccount(t.Context(), account.Development) })
	for range 2 {
		a := query(t, b.URL(), "dev", "dev", `LIST "/" SET ?files EMIT COUNT(?files) TRY SELECT * FROM t SET ?rows CATCH ?e EMIT " ", ?e.code END`)
		if a.Result != "0 no_such_table" {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
}

func TestNoDevelopmentAccountInProduction(t *testing.T) {
	b := apptest.Boot(t, apptest.Production)
	if a := query(t, b.URL(), "dev", "dev", `EMIT 1`); a.status != 401 || a.Error.Code != "bad_credentials" {
		t.Errorf("%d %s", a.status, a.body)
	}
	if has, err := b.HasAccounts(t.Context()); has || err != nil {
		t.Errorf("there are accounts: %t, %v", has, err)
	}
	b.Account("ada", account.Standard)
	if has, err := b.HasAccounts(t.Context()); !has || err != nil {
		t.Errorf("there are no accounts: %t, %v", has, err)
	}
}

// TestResources: what scripts keep is there for the next one of the account,
// and for no other.
func TestResources(t *testing.T) {
	b := apptest.Boot(t, apptest.Production)
	ada, bob := b.Account("ada", account.Standard), b.Account("bob", account.Free)
	b.Operate(func(o *operator.Operator) error { return o.Accounts.SetSecret(t.Context(), "ada", "TOKEN", "s3cret") })
	const write = `WRITE "hello" TO "/a.txt"
		CREATE TABLE visits (n INTEGER);
		INSERT INTO visits VALUES (1), (2);`
	if a := form(t, b.URL(), "ada", ada, write); a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	const read = `READ "/a.txt" SET ?text SELECT COUNT(*) FROM visits SET VALUE ?n
		EMIT ?text, " ", ?n, " ", LENGTH(!SECRET('TOKEN')), " ", !QUOTA('storage').used > 5, " ", !QUOTA('storage').limit`
	if a := form(t, b.URL(), "ada@example.com", ada, read); a.status != 200 || a.body != "hello 2 6 true 10737418240" {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := form(t, b.URL(), "bob", bob, `READ "/a.txt" SET ?text`); a.header.Get("QL-Error") != "file_not_found" {
		t.Errorf("bob finds %d %s", a.status, a.body)
	}
	if a := form(t, b.URL(), "bob", bob, `SELECT COUNT(*) FROM visits SET VALUE ?n`); a.header.Get("QL-Error") != "no_such_table" {
		t.Errorf("bob finds %d %s", a.status, a.body)
	}
}

// TestOperatorBesideServer: what the operator changes counts at once.
func TestOperatorBesideServer(t *testing.T) {
	b := apptest.Boot(t, apptest.Production)
	old := b.Account("ada", account.Standard)
	if a := form(t, b.URL(), "ada", old, `EMIT 1`); a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if a := query(t, b.URL(), "ada", apptest.Password, `EMIT 1`); a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	var key account.Key
	b.Operate(func(o *operator.Operator) (err error) {
		if _, key, err = o.Accounts.RotateKey(t.Context(), "ada"); err != nil {
			return err
		}
		return o.Accounts.SetPassword(t.Context(), "ada", "another long sentence")
	})
	if a := form(t, b.URL(), "ada", old, `EMIT 1`); a.status != 401 {
		t.Errorf("the old key: %d %s", a.status, a.body)
	}
	if a := form(t, b.URL(), "ada", key.Reveal(), `WRITE "x" TO "/a" CREATE TABLE t (n INTEGER);`); a.status != 200 {
		t.Errorf("the new key: %d %s", a.status, a.body)
	}
	if a := query(t, b.URL(), "ada", apptest.Password, `EMIT 1`); a.status != 401 {
		t.Errorf("the old password: %d %s", a.status, a.body)
	}
	b.Operate(func(o *operator.Operator) error { return o.DeleteAccount(t.Context(), "ada@example.com") })
	if a := form(t, b.URL(), "ada", key.Reveal(), `EMIT 1`); a.status != 401 {
		t.Errorf("deleted: %d %s", a.status, a.body)
	}
	if left, err := os.ReadDir(filepath.Join(b.Settings.Data, "accounts")); len(left) != 0 || err != nil {
		t.Errorf("of the deleted account is left %v, %v", left, err)
	}
}

// TestRestart: a service that stops and starts again has lost nothing.
func TestRestart(t *testing.T) {
	b := apptest.Boot(t)
	first := query(t, b.URL(), "dev", "dev", `WRITE "kept" TO "/a.txt" EMIT "done"`)
	if first.Result != "done" {
		t.Fatal(first.body)
	}
	second := app.New(b.Settings, app.Options{})
	var used *sqlite.InUse
	if err := second.Start(t.Context()); !errors.As(err, &used) {
		t.Errorf("a second service on the folder: %v", err)
	}
	for range 2 {
		if err := b.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	again := apptest.Start(t, b.Settings)
	if a := get(t, again.URL()+"/v1/job/"+first.JobID); a.status != 200 || a.Status != "complete" || a.Result != "done" {
		t.Errorf("the job is now %d %s", a.status, a.body)
	}
	if a := query(t, again.URL(), "dev", "dev", `READ "/a.txt" SET ?t EMIT ?t`); a.Result != "kept" {
		t.Errorf("the file is now %s", a.body)
	}
}

// TestStopWaits: a script under way is waited for, and its caller answered.
func TestStopWaits(t *testing.T) {
	b := apptest.Boot(t)
	answers := make(chan answer)
	go func() { answers <- query(t, b.URL(), "dev", "dev", `WAIT 1 SECOND EMIT "waited"`) }()
	for running := false; !running; {
		running = strings.Contains(get(t, b.URL()+"/metrics").body, "\nql_scripts_running 1\n")
	}
	if err := b.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	a := <-answers
	if a.Result != "waited" {
		t.Errorf("the caller got %s", a.body)
	}
	again := apptest.Start(t, b.Settings)
	if got := get(t, again.URL()+"/v1/job/"+a.JobID); got.Result != "waited" {
		t.Errorf("the job is now %d %s", got.status, got.body)
	}
}

// TestStopGivesUp: a stop that may not wait says so in the log, and closes
// everything; it has done what it was asked for.
func TestStopGivesUp(t *testing.T) {
	b := apptest.Settings(t)
	b.StopTimeout = time.Nanosecond
	log := &apptest.Log{}
	service := app.New(b, app.Options{Log: slog.New(slog.NewJSONHandler(log, nil))})
	if err := service.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(service.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	body := `{"auth":{"username":"dev","password":"dev"},"query":"WAIT 1 SECOND"}`
	if _, err := fmt.Fprintf(c, "POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body); err != nil {
		t.Fatal(err)
	}
	for running := false; !running; {
		running = strings.Contains(get(t, service.URL()+"/metrics").body, "\nql_scripts_running 1\n")
	}
	if err := service.Stop(context.Background()); err != nil || !log.Has("calls in flight were aborted") || !log.Has(`"calls":1`) {
		t.Errorf("the stop says %v, and the log %s", err, log)
	}
	again := app.New(b, app.Options{})
	if err := again.Start(t.Context()); err != nil {
		t.Errorf("the folder is not free: %v", err)
	}
	if err := again.Stop(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestStartFails(t *testing.T) {
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	others := t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(others, "letters.txt"), nil, 0o600), os.Chmod(others, 0o755)); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		change func(*config.Settings)
		want   string
	}{
		"address in use":         {func(s *config.Settings) { s.Listen = taken.Addr().String() }, "nothing can listen on " + taken.Addr().String() + ": address already in use: stop what has this address, or name another by --listen"},
		"metrics address in use": {func(s *config.Settings) { s.MetricsListen = taken.Addr().String() }, "or name another by --metrics-listen"},
		"data of somebody else":  {func(s *config.Settings) { s.Data = others }, "holds other things"},
		"no certificate":         {func(s *config.Settings) { s.TLSCert, s.TLSKey = []string{"/none.pem"}, []string{"/none.pem"} }, "tls-cert: /none.pem: no such file"},
		"no master key":          {func(s *config.Settings) { s.MasterKeyFile = "/none/master.key" }, "/none/master.key"},
		"data is a file":         {func(s *config.Settings) { s.Data = os.Args[0] }, "is a file, and no folder: name another by --data"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := apptest.Settings(t)
			good := s
			test.change(&s)
			if err := app.New(s, app.Options{}).Start(t.Context()); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, want %q", err, test.want)
			}
			apptest.Start(t, good) // the folder is free again
		})
	}
}

// TestOpenFolder: a data folder that others may read is closed, and said to be.
func TestOpenFolder(t *testing.T) {
	s := apptest.Settings(t)
	if err := errors.Join(os.MkdirAll(s.Data, 0o700), os.Chmod(s.Data, 0o755)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []bool{true, false} {
		var log strings.Builder
		service := app.New(s, app.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
		if err := errors.Join(service.Start(t.Context()), service.Stop(context.Background())); err != nil {
			t.Fatal(err)
		}
		if said := strings.Contains(log.String(), "mode=0755"); said != want {
			t.Errorf("the log is\n%s", &log)
		}
		if info, err := os.Stat(s.Data); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("the data folder is %v, %v", info.Mode(), err)
		}
	}
}

// TestWrongMasterKey: a store that is sealed under another key is not served.
func TestWrongMasterKey(t *testing.T) {
	b := apptest.Boot(t)
	if err := b.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(b.Settings.Data, "master.key")
	if info, err := os.Stat(key); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key is %v, %v", info, err)
	}
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	if err := app.New(b.Settings, app.Options{}).Start(t.Context()); err == nil || !strings.Contains(err.Error(), "sealed under a master key") {
		t.Errorf("without the key: %v", err)
	}
}

func TestFolderIsClosedToOthers(t *testing.T) {
	b := apptest.Boot(t, func(s *config.Settings) { s.Data = filepath.Join(s.Data, "made", "here") })
	info, err := os.Stat(b.Settings.Data)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the data folder is %v, %v", info, err)
	}
}

func TestMetricsListener(t *testing.T) {
	b := apptest.Boot(t, apptest.Production, func(s *config.Settings) { s.MetricsListen = "127.0.0.1:0" })
	get(t, b.URL()+"/healthz")
	if a := get(t, "http://"+b.MetricsAddress()+"/metrics"); a.status != 200 || !strings.Contains(a.body, `ql_http_requests_total{code="200",route="/healthz"} 1`) {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := get(t, b.URL()+"/metrics"); a.status != 404 {
		t.Errorf("callers find metrics: %d", a.status)
	}
	if a := get(t, "http://"+b.MetricsAddress()+"/healthz"); a.status != 404 {
		t.Errorf("the metrics' listener serves more: %d", a.status)
	}
}

// TestNoMetricsForCallers: without a listener of their own nobody sees them in
// production, since behind a proxy everybody calls from this machine.
func TestNoMetricsForCallers(t *testing.T) {
	b := apptest.Boot(t, apptest.Production)
	if a := get(t, b.URL()+"/metrics"); a.status != 404 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// TestMetricsNameNoAccount: no label tells who called.
func TestMetricsNameNoAccount(t *testing.T) {
	b := apptest.Boot(t)
	b.Account("canaryname", account.Standard)
	query(t, b.URL(), "canaryname", apptest.Password, `EMIT "x"`)
	query(t, b.URL(), "canaryname", "wrong", `EMIT "x"`)
	text := get(t, b.URL()+"/metrics").body
	if strings.Contains(text, "canary") || !strings.Contains(text, `ql_run_duration_seconds_count{state="complete"} 1`) ||
		!strings.Contains(text, `ql_programs_total{cache="miss"} 1`) || !strings.Contains(text, `ql_admission_total{outcome="admitted"} 1`) {
		t.Errorf("the metrics are\n%s", text)
	}
}

func TestHosts(t *testing.T) {
	b := apptest.Boot(t, func(s *config.Settings) {
		s.BaseURL, s.AllowedHosts = "https://api.example.com", []string{"other.example.com", "[2001:db8::1]", "behind_proxy:8443"}
	})
	if b.URL() != "https://api.example.com" {
		t.Errorf("the address is %s", b.URL())
	}
	at := b.Address()
	for host, want := range map[string]int{
		"api.example.com": 404, "API.example.com:443": 404, "other.example.com": 404, "127.0.0.1:8080": 404, "[::1]:80": 404, "localhost": 404,
		"api.example.com.": 404, "[2001:DB8:0::1]:8080": 404, "behind_proxy:8443": 404, "behind_proxy": 421, "behind_proxy:8444": 421, "api.example.com:x": 421,
		"evil.example": 421, "api.example.com.evil.example": 421, "192.0.2.1": 421,
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+at+"/nothing", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		got := send(t, req)
		// Both are not_found; only the message of one is about the name.
		named := strings.Contains(got.body, host) && strings.Contains(got.body, "add the name to allowed_hosts")
		if misdirected := strings.Contains(got.body, "Host header"); misdirected && !named || !misdirected && !strings.Contains(got.body, "POST /v1/query") {
			t.Errorf("by %s it says %s", host, got.body)
		}
		if misdirected := strings.Contains(got.body, "Host header"); misdirected != (want == 421) || got.status != 404 {
			t.Errorf("%s: %d %s", host, got.status, got.body)
		}
		req.URL.Path = "/api"
		if got := send(t, req); (got.header.Get("QL-Error") == "not_found") != (want == 421) || !strings.HasPrefix(got.body, "error: ") {
			t.Errorf("the form convention by %s: %d %s", host, got.status, got.body)
		}
		req.URL.Path = "/healthz"
		if got := send(t, req); got.status != 200 {
			t.Errorf("the health by %s: %d", host, got.status)
		}
	}
}

// TestDevelopersHosts: a page whose name was made to lead to this machine
// cannot call a developer's service.
func TestDevelopersHosts(t *testing.T) {
	b := apptest.Boot(t)
	for host, want := range map[string]bool{"localhost:8080": true, "127.0.0.1": true, "[::1]:8080": true, "rebound.example": false} {
		for _, path := range []string{"/openapi.json", "/metrics"} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.URL()+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Host = host
			if got := send(t, req); (got.status == 200) != want {
				t.Errorf("%s by %s: %d %.300s", path, host, got.status, got.body)
			}
		}
	}
}

// TestDevelopersPages: a page of a developer's service calls it by whatever name
// of this machine the page itself was loaded by, and pages of others do not.
func TestDevelopersPages(t *testing.T) {
	b := apptest.Boot(t)
	_, port, err := net.SplitHostPort(b.Address())
	if err != nil {
		t.Fatal(err)
	}
	for page, want := range map[string]int{
		"http://localhost:" + port: 200, "http://127.0.0.1:" + port: 200, "http://[::1]:" + port: 200,
		"http://localhost:1": 403, "https://localhost:" + port: 403, "http://evil.example:" + port: 403,
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.URL()+"/v1/query",
			strings.NewReader(`{"auth":{"username":"dev","password":"dev"},"query":"EMIT 1"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Origin", page)
		if want == 200 {
			req.Host = strings.TrimPrefix(page, "http://")
		}
		if got := send(t, req); got.status != want {
			t.Errorf("%s: %d %s", page, got.status, got.body)
		}
	}
}

func TestLogHasNoSecrets(t *testing.T) {
	b := apptest.Boot(t, func(s *config.Settings) { s.DevPassword = "canary-dev-password" })
	key := b.Account("ada", account.Standard)
	query(t, b.URL(), "dev", "canary-dev-password", `EMIT "canary-script"`)
	a := query(t, b.URL(), "ada", apptest.Password, `EMIT "canary-script"`)
	get(t, b.URL()+"/v1/job/"+a.JobID)
	form(t, b.URL(), "ada", key, `EMIT "canary-script" x`)
	if err := b.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"canary", apptest.Password, key, a.JobID} {
		if b.Log.Has(secret) {
			t.Errorf("the log has %s:\n%s", secret, b.Log)
		}
	}
	if !b.Log.Has("the service has started") {
		t.Errorf("the log is %s", b.Log)
	}
}

func TestSlowAndLargeHeaders(t *testing.T) {
	b := apptest.Boot(t, func(s *config.Settings) { s.ReadHeaderTimeout = 50 * time.Millisecond })
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.URL()+"/healthz", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Large", strings.Repeat("x", 64<<10))
	// The service hangs up on them, whether or not its answer comes through.
	if res, err := http.DefaultClient.Do(req); err == nil {
		_ = res.Body.Close()
		if res.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("large headers: %d", res.StatusCode)
		}
	}
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", b.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: x\r\n"); err != nil {
		t.Fatal(err)
	}
	// The headers never end: the service hangs up.
	if _, err := io.ReadAll(c); err != nil {
		t.Errorf("the connection ended with %v", err)
	}
	if a := get(t, b.URL()+"/healthz"); a.status != 200 {
		t.Errorf("the next call: %d", a.status)
	}
}
