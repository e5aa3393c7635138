package crashtest

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ql/internal/admit/admittest"
	"ql/internal/programtest"
)

const (
	username = "ada"
	password = "a rather long sentence"
)

// server is ql serve on a data folder of the test's own, killed and started
// again as the test likes. Each start takes a new port.
type server struct {
	// mayMiss says that it may answer for a moment after its disk is gone, and find nothing there.
	mayMiss bool

	t    testing.TB
	data string
	// program is what is run; that of programtest unless set.
	program string
	before  []string // a command that runs the program, such as strace
	flags   []string // more than those that every server here has
	client  *http.Client
	log     *os.File
	kills   atomic.Int64
	// metrics is where the server shows its own.
	metrics string

	mu      sync.Mutex
	process *exec.Cmd
	exited  chan struct{} // closed when the process is gone
	up      chan struct{} // closed when the process serves
	url     string        // known then
}

// newServer makes a data folder with one account, of the plan unlimited.
func newServer(t testing.TB) *server {
	t.Helper()
	return newServerIn(t, t.TempDir())
}

// newServerIn is newServer in a folder that is empty or not there.
func newServerIn(t testing.TB, data string) *server {
	t.Helper()
	s := newServerOn(t, data)
	create := exec.CommandContext(t.Context(), programtest.Path, "account", "create", "--data", s.data, "--username", username, "--plan", "unlimited", "--password-stdin")
	create.Stdin = strings.NewReader(password)
	if out, err := create.CombinedOutput(); err != nil {
		t.Fatalf("making an account: %v\n%s", err, out)
	}
	return s
}

// newServerOn is newServer on a data folder that is there.
func newServerOn(t testing.TB, data string) *server {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "server.log"))
	check(t, err)
	s := &server{
		t: t, data: data, log: log, metrics: programtest.FreeAddress(t), up: make(chan struct{}),
		client: &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 256}},
	}
	t.Cleanup(func() {
		s.awaitNothing()
		s.end()
		s.client.CloseIdleConnections()
		if t.Failed() {
			t.Logf("the server said:\n%s", s.said())
		}
		check(t, log.Close())
	})
	return s
}

// said is the end of what the server wrote to its log.
func (s *server) said() string {
	text, err := os.ReadFile(s.log.Name())
	check(s.t, err)
	const most = 8 << 10
	return string(text[max(0, len(text)-most):])
}

// spawn starts the process, without waiting until it serves.
func (s *server) spawn() {
	s.t.Helper()
	arguments := append(s.before[:len(s.before):len(s.before)], cmp.Or(s.program, programtest.Path), "serve", "--data", s.data, "--listen", "127.0.0.1:0", "--metrics-listen", s.metrics, "--log-level", "warn", "--drain-delay", "0s")
	arguments = append(arguments, s.flags...)
	process := exec.CommandContext(context.Background(), arguments[0], arguments[1:]...)
	process.SysProcAttr = programtest.DieWithParent()
	process.Stderr = s.log
	out, err := process.StdoutPipe()
	check(s.t, err)
	check(s.t, process.Start())
	exited := make(chan struct{})
	s.mu.Lock()
	s.process, s.exited = process, exited
	up := s.up
	s.mu.Unlock()
	go func() {
		defer close(exited)
		lines := bufio.NewReader(out)
		line, _ := lines.ReadString('\n')
		if url, ok := strings.CutPrefix(strings.TrimSpace(line), "serving "); ok {
			s.mu.Lock()
			s.url = url
			s.mu.Unlock()
			close(up)
		}
		_, _ = io.Copy(io.Discard, lines)
		_ = process.Wait() // how it ended is asked of its state
	}()
}

// start starts the process and waits until it serves.
func (s *server) start() {
	s.t.Helper()
	s.spawn()
	s.awaitUp()
}

// awaitUp waits until the process serves.
func (s *server) awaitUp() {
	s.t.Helper()
	select {
	case <-s.up:
	case <-s.exited:
		s.t.Fatalf("the server did not start: %s\n%s", s.process.ProcessState, s.said())
	case <-time.After(time.Minute):
		s.t.Fatalf("the server does not serve after a minute\n%s", s.said())
	}
}

// kill ends the process by SIGKILL, wherever it is.
func (s *server) kill() {
	s.t.Helper()
	check(s.t, s.process.Process.Kill())
	<-s.exited
	if !strings.Contains(s.process.ProcessState.String(), "killed") {
		s.t.Errorf("before it was killed the server ended by itself: %s\n%s", s.process.ProcessState, s.said())
	}
	s.cutOff()
}

// cutOff ends the process, which may have ended by itself.
func (s *server) cutOff() {
	_ = s.process.Process.Kill() // as said
	<-s.exited
	s.gone()
	s.kills.Add(1)
}

// awaitNothing waits until the server, where one runs, holds nothing for anybody.
func (s *server) awaitNothing() {
	if s.process == nil || s.t.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second) // the test's own may have ended
	defer cancel()
	if left := admittest.AwaitIdle(ctx, "http://"+s.metrics+"/metrics", s.exited); left != "" {
		s.t.Errorf("in the end the server holds %s", left)
	}
}

// stop ends the process as an operator does, once nothing is held for anybody.
func (s *server) stop() {
	s.t.Helper()
	s.awaitNothing()
	check(s.t, s.process.Process.Signal(os.Interrupt))
	<-s.exited
	if !s.process.ProcessState.Success() {
		s.t.Errorf("the server stopped with %s\n%s", s.process.ProcessState, s.said())
	}
	s.gone()
}

func (s *server) gone() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process = nil
	select {
	case <-s.up:
		s.up = make(chan struct{})
	default: // those who wait for it wait on
	}
}

// end ends what may still be there.
func (s *server) end() {
	if s.process != nil {
		_ = s.process.Process.Kill() // it may be gone already
		<-s.exited
	}
}

// killing kills the server and starts it again, each time after a while that
// life tells, until stop is called. The server serves before and after.
func (s *server) killing(life func() time.Duration) (stop func()) {
	enough := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		for {
			timer := time.NewTimer(life())
			select {
			case <-timer.C:
			case <-enough:
				timer.Stop()
				return
			}
			s.kill()
			s.start()
		}
	})
	return func() {
		close(enough)
		done.Wait()
	}
}

// upTo is a random while.
func upTo(most time.Duration) func() time.Duration {
	return func() time.Duration { return rand.N(most) }
}

// address waits until the server serves, and returns where.
func (s *server) address(ctx context.Context) (string, error) {
	s.mu.Lock()
	up := s.up
	s.mu.Unlock()
	select {
	case <-up:
	case <-ctx.Done():
		return "", ctx.Err()
	case <-time.After(patience):
		return "", errors.New("the server does not serve")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.url, nil
}

// answer is what the server said to a request.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) String() string { return fmt.Sprintf("%d %s", a.status, a.body) }

// request is what is sent.
type request struct {
	method, path string
	body         []byte
	key          string // of idempotency; "" for none
	owner        bool   // with the account's password
	bearer       string // with a named key; "" for none
	origin       string // of the page that calls; "" for none
	session      string // of its visitor; "" for none
}

// try sends a request once. The error says that no whole answer came.
func (s *server) try(r request) (answer, error) {
	ctx := s.t.Context()
	url, err := s.address(ctx)
	if err != nil {
		return answer{}, err
	}
	asked, err := http.NewRequestWithContext(ctx, r.method, url+r.path, bytes.NewReader(r.body))
	if err != nil {
		return answer{}, err
	}
	asked.Header.Set("Content-Type", "application/json")
	if r.key != "" {
		asked.Header.Set("Idempotency-Key", r.key)
	}
	if r.owner {
		asked.SetBasicAuth(username, password)
	}
	if r.bearer != "" {
		asked.Header.Set("Authorization", "Bearer "+r.bearer)
	}
	if r.origin != "" {
		asked.Header.Set("Origin", r.origin)
	}
	if r.session != "" {
		asked.AddCookie(&http.Cookie{Name: "QLSESSID", Value: r.session})
	}
	got, err := s.client.Do(asked)
	if err != nil {
		return answer{}, err
	}
	defer got.Body.Close()
	body, err := io.ReadAll(got.Body)
	if err != nil {
		return answer{}, err
	}
	return answer{got.StatusCode, got.Header, body}, nil
}

// patience is how long a test waits for what must come.
const patience = 2 * time.Minute

// call sends a request until an answer comes. The server may be down meanwhile,
// or be about to stop.
func (s *server) call(r request) (answer, error) {
	for deadline := time.Now().Add(patience); ; {
		a, err := s.try(r)
		if err == nil && a.status != http.StatusServiceUnavailable {
			return a, nil
		}
		if s.t.Context().Err() != nil || time.Now().After(deadline) {
			return answer{}, errors.Join(err, fmt.Errorf("%s %s was not answered in time: %s", r.method, r.path, a))
		}
	}
}
