package app_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/apptest"
	"ql/internal/cli"
	"ql/internal/config"
	"ql/internal/operator"
)

// asCommand makes the program of these tests the command ql.
const asCommand = "QL_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// process is ql serve as people run it, in a process of its own, so that what it
// uses is apart from what its callers in the test use.
type process struct {
	t       testing.TB
	address string
	pid     int
	keys    map[string]string // of accounts by their names
}

// startProcess starts a service in production with accounts of the plan
// unlimited, whose limits are changed by lines of a settings file.
func startProcess(t testing.TB, limits string, usernames ...string) *process {
	t.Helper()
	data := t.TempDir()
	p := &process{t: t, keys: map[string]string{}}
	o, err := operator.Open(t.Context(), apptest.Settings(t, apptest.Production, func(s *config.Settings) { s.Data = data }), true)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range usernames {
		_, key, err := o.Accounts.Create(t.Context(), account.New{
			Username: name, Email: name + "@example.com", Password: apptest.Password, Plan: account.Unlimited, Verified: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		p.keys[name] = key.Reveal()
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	settings := filepath.Join(data, "settings.toml")
	if err := os.WriteFile(settings, []byte("[plans.unlimited]\n"+limits), 0o600); err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), program, "serve", "--config", settings, "--data", data,
		"--listen", "127.0.0.1:0", "--log-level", "warn", "--stop-timeout", "1s")
	command.Env = append(os.Environ(), asCommand+"=1")
	said := &apptest.Log{}
	command.Stderr = said
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = 10 * time.Second
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Wait() // the test's context has ended it; scripts may have been under way
		if t.Failed() {
			t.Logf("the service said:\n%s", said)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	at, ok := strings.CutPrefix(strings.TrimSpace(line), "serving http://")
	if err != nil || !ok {
		t.Fatalf("ql serve said %q: %v", line, err)
	}
	p.address, p.pid = at, command.Process.Pid
	return p
}

// request is a call of a script, as it goes over the wire.
func (p *process) request(username, script string) []byte {
	body := url.Values{"identity": {username}, "password": {p.keys[username]}, "q": {script}}.Encode()
	return fmt.Appendf(nil, "POST /api HTTP/1.1\r\nHost: %s\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n%s", p.address, len(body), body)
}

// line is one connection to the service, used by one caller. It costs little, so
// that what is measured is the service.
type line struct {
	conn net.Conn
	in   *bufio.Reader
}

// dial connects from one of the machine's own addresses.
func (p *process) dial(from string) (*line, error) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	conn, err := dialer.DialContext(p.t.Context(), "tcp", p.address)
	if err != nil {
		return nil, err
	}
	return &line{conn, bufio.NewReaderSize(conn, 512)}, nil
}

const home = "127.0.0.1"

// reply is an answer: its status, and whether it says when to try again.
type reply struct {
	status     int
	retryAfter bool
	body       []byte
}

// call sends a request and waits for its answer.
func (l *line) call(request []byte, timeout time.Duration) (reply, error) {
	if err := l.conn.SetDeadline(time.Now().Add(timeout)); err != nil {
		return reply{}, err
	}
	if _, err := l.conn.Write(request); err != nil {
		return reply{}, err
	}
	res, err := http.ReadResponse(l.in, nil)
	if err != nil {
		return reply{}, err
	}
	defer res.Body.Close()
	var body bytes.Buffer
	if _, err := io.Copy(&body, res.Body); err != nil {
		return reply{}, err
	}
	return reply{res.StatusCode, res.Header.Get("Retry-After") != "", body.Bytes()}, nil
}
