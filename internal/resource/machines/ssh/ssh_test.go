package ssh_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/engine"
	"ql/internal/network"
	"ql/internal/redacted"
	"ql/internal/resource/machines"
	"ql/internal/resource/machines/ssh"
	"ql/internal/resource/machines/sshtest"
	"ql/lang/value"
)

// here lets tests reach this machine as if it were a public host.
var here = network.Policy{Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, AnyPort: true}

// memory is a store of machines in memory, which does not seal.
type memory struct {
	mu   sync.Mutex
	rows map[string]machines.Machine
	keys map[string][]byte
}

func (s *memory) Put(_ context.Context, m machines.Machine, sealed []byte, _ int) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, there := s.rows[m.Name]
	s.rows[m.Name], s.keys[m.Name] = m, sealed
	return !there, nil
}

func (s *memory) Machine(_ context.Context, _ account.ID, name string) (machines.Machine, []byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, ok := s.rows[name]
	if !ok {
		return m, nil, account.ErrNotFound
	}
	return m, s.keys[name], nil
}

func (s *memory) Machines(context.Context, account.ID) ([]machines.Machine, error) { return nil, nil }

func (s *memory) Pin(_ context.Context, _ account.ID, name string, set time.Time, hostKey string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.rows[name]
	if !m.Set.Equal(set) || m.SSH.HostKey != "" && m.SSH.HostKey != hostKey {
		return account.ErrConflict
	}
	m.SSH.HostKey = hostKey
	s.rows[name] = m
	return nil
}

func (s *memory) Remove(_ context.Context, _ account.ID, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.rows, name)
	return nil
}

func (s *memory) SealMachineKey(_ account.ID, _ string, plain []byte) ([]byte, error) {
	return plain, nil
}

func (s *memory) OpenMachineKey(_ account.ID, _ string, sealed []byte) ([]byte, error) {
	return sealed, nil
}

// world is an account with machines on a server.
type world struct {
	*testing.T
	server   *sshtest.Server
	store    *memory
	registry *machines.Registry
	runner   *ssh.Runner
	usage    machines.Usage
	limits   account.Limits
}

func newWorld(t *testing.T, o ssh.Options, server *sshtest.Server) *world {
	t.Helper()
	w := &world{T: t, server: server, store: &memory{rows: map[string]machines.Machine{}, keys: map[string][]byte{}}, limits: account.Unlimited.Limits()}
	if o.Dialer == nil {
		o.Dialer = network.NewDialer(here, network.DialOptions{})
	}
	o.Pin = func(ctx context.Context, m machines.Machine, key string) error { return w.registry.Pin(ctx, m, key) }
	w.runner = ssh.New(o)
	w.registry = machines.New(machines.Options{
		Store: w.store, Sealer: w.store, Runners: map[machines.Kind]machines.Runner{machines.KindSSH: w.runner}, CheckHost: o.Dialer.Check, Clock: time.Now, Random: rand.Reader,
	})
	t.Cleanup(func() {
		if !w.usage.Idle() {
			t.Error("commands are still counted as under way")
		}
		if err := w.registry.Close(); err != nil {
			t.Error(err)
		}
		if open, _ := w.runner.Stats(); open != 0 {
			t.Errorf("%d connections stay open", open)
		}
	})
	return w
}

// add defines a machine that leads to the server, which lets it in.
func (w *world) add(name string, allow ...string) machines.Machine {
	w.Helper()
	m, _, err := w.registry.Put(w.Context(), ada, w.limits, name, machines.Definition{Kind: machines.KindSSH, Address: w.server.Address(), Allow: allow})
	if err != nil {
		w.Fatal(err)
	}
	w.server.Authorize(m.SSH.PublicKey)
	return m
}

var ada = account.Account{ID: 7, Username: "ada"}

func (w *world) machines() *machines.Machines {
	return w.registry.For(ada, w.limits, nil, &w.usage, nil)
}

func (w *world) run(ctx context.Context, r engine.MachineRun) (engine.MachineResult, error) {
	if r.Most == 0 {
		r.Most = 1 << 20
	}
	return w.machines().Run(ctx, "box", r)
}

// shell runs a text, and wants it to do well.
func (w *world) shell(text string) engine.MachineResult {
	w.Helper()
	r, err := w.run(w.Context(), engine.MachineRun{Command: engine.MachineCommand{Text: text}})
	if err != nil {
		w.Fatalf("%s: %v", text, err)
	}
	return r
}

func wantCode(t *testing.T, what string, err error, code, says string) {
	t.Helper()
	var e *value.Error
	if !errors.As(err, &e) || e.Code != code || !strings.Contains(e.Message, says) {
		t.Errorf("%s: got %v, want %s: …%s…", what, err, code, says)
	}
}

func TestRun(t *testing.T) {
	w := newWorld(t, ssh.Options{}, sshtest.Start(t))
	w.add("box")
	var mu sync.Mutex
	streamed := map[bool]string{}
	r, err := w.run(t.Context(), engine.MachineRun{
		Command: engine.MachineCommand{Text: `cat; echo "$QL_STEP_KEY" >&2; exit 3`}, Input: []byte("in\x00put"), Env: map[string]string{engine.StepKey: "it's"},
		Output: func(stderr bool, piece []byte) {
			mu.Lock()
			defer mu.Unlock()
			streamed[stderr] += string(piece)
		},
	})
	if err != nil || r.Code != 3 || string(r.Stdout) != "in\x00put" || string(r.Stderr) != "it's\n" {
		t.Errorf("got %+v, %v", r, err)
	}
	if streamed[false] != "in\x00put" || streamed[true] != "it's\n" {
		t.Errorf("while it ran came %v", streamed)
	}
	r, err = w.run(t.Context(), engine.MachineRun{Command: engine.MachineCommand{List: []string{"printf", "%s|", "a b", "it's", "$HOME", "", "-n"}}, Env: map[string]string{engine.StepKey: "k"}})
	if err != nil || string(r.Stdout) != "a b|it's|$HOME||-n|" {
		t.Errorf("a list gives %q, %v", r.Stdout, err)
	}
	if r := w.shell("kill -TERM $$"); r.Code != 128+15 {
		t.Errorf("a command that a signal ends has the code %d", r.Code)
	}
	if r := w.shell("true"); r.Code != 0 || len(r.Stdout)+len(r.Stderr) > 0 {
		t.Errorf("got %+v", r)
	}
	// A command need not read what it is given.
	r, err = w.run(t.Context(), engine.MachineRun{Command: engine.MachineCommand{Text: "echo done"}, Input: make([]byte, 8<<20)})
	if err != nil || string(r.Stdout) != "done\n" {
		t.Errorf("got %q, %v", r.Stdout, err)
	}
	if open, used := w.runner.Stats(); open != 1 || used != 0 {
		t.Errorf("%d connections are open, %d of them in use", open, used)
	}
	_, err = w.machines().Run(t.Context(), "other", engine.MachineRun{})
	wantCode(t, "an unknown machine", err, "machine_not_found", `no machine "other"`)
}

// TestEnvironment: a host that takes variables is given them as such.
func TestEnvironment(t *testing.T) {
	w := newWorld(t, ssh.Options{}, sshtest.Start(t, "AcceptEnv QL_STEP_KEY"))
	w.add("box")
	for i := range 3 {
		r, err := w.run(t.Context(), engine.MachineRun{Command: engine.MachineCommand{Text: `echo "$QL_STEP_KEY $SSH_ORIGINAL_COMMAND"`}, Env: map[string]string{engine.StepKey: fmt.Sprint("k", i)}})
		if err != nil || string(r.Stdout) != fmt.Sprintf("k%d \n", i) {
			t.Errorf("got %q, %v", r.Stdout, err)
		}
	}
}

func TestHostKeys(t *testing.T) {
	w := newWorld(t, ssh.Options{}, sshtest.Start(t))
	m := w.add("box")
	if !strings.HasPrefix(m.SSH.PublicKey, "ssh-ed25519 ") || !strings.HasSuffix(m.SSH.PublicKey, " ql-ada-box") || m.SSH.HostKey != "" {
		t.Errorf("the machine is %+v", m)
	}
	if err := w.machines().Test(t.Context(), "box"); err != nil {
		t.Fatal(err)
	}
	pinned, err := w.registry.Machine(t.Context(), ada.ID, "box")
	if err != nil || !strings.HasPrefix(pinned.SSH.HostKey, "ssh-ed25519 ") {
		t.Fatalf("pinned is %q, %v", pinned.SSH.HostKey, err)
	}
	w.shell("true")
	w.server.Stop()
	w.server.NewHostKey()
	w.server.Run()
	w.runner.Forget(ada.ID, "box")
	for range 2 {
		_, err = w.run(t.Context(), engine.MachineRun{Command: engine.MachineCommand{Text: "touch /tmp/never"}})
		wantCode(t, "another key", err, "host_key_changed", machines.Fingerprint(pinned.SSH.HostKey))
		wantCode(t, "another key", err, "host_key_changed", "ql machine add")
	}
	// To add it again accepts the new key, and keeps the machine's own.
	again := w.add("box")
	if again.SSH.PublicKey != m.SSH.PublicKey {
		t.Error("the machine has another key")
	}
	w.shell("true")
	// A key that is named is the one that the host must have.
	_, _, err = w.registry.Put(t.Context(), ada, w.limits, "box", machines.Definition{Kind: machines.KindSSH, Address: w.server.Address(), HostKey: pinned.SSH.HostKey})
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, "a key that was named", w.machines().Test(t.Context(), "box"), "host_key_changed", "")
}

// TestHostKeyOfOpenConnections: a connection that is open was checked, and is used again, until it is old,
// or another one shows that the host has another key.
func TestHostKeyOfOpenConnections(t *testing.T) {
	run := engine.MachineRun{Command: engine.MachineCommand{Text: "true"}}
	for name, test := range map[string]struct {
		age   time.Duration
		found func(*world) error
	}{
		"another connection": {time.Hour, func(w *world) error { return w.machines().Test(w.Context(), "box") }},
		"an old one":         {time.Nanosecond, func(w *world) error { _, err := w.run(w.Context(), run); return err }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, ssh.Options{Age: test.age}, sshtest.Start(t))
			w.add("box")
			w.shell("true")
			w.server.Stop()
			w.server.NewHostKey()
			w.server.Run()
			if test.age == time.Hour {
				w.shell("true")
			}
			wantCode(t, "found", test.found(w), "host_key_changed", "")
			if open, _ := w.runner.Stats(); open != 0 {
				t.Errorf("%d connections are still open", open)
			}
			_, err := w.run(t.Context(), run)
			wantCode(t, "afterwards", err, "host_key_changed", "")
		})
	}
}

func TestKeys(t *testing.T) {
	w := newWorld(t, ssh.Options{}, sshtest.Start(t))
	w.add("box")
	w.server.Authorize()
	_, err := w.run(t.Context(), engine.MachineRun{Command: engine.MachineCommand{Text: "true"}})
	wantCode(t, "a refused key", err, "machine_failed", "refuses the machine's key for the user "+w.server.User)
	if open, _ := w.runner.Stats(); open != 0 {
		t.Errorf("%d connections are open", open)
	}
	// A key that the owner brings.
	private := w.store.keys["box"]
	m, created, err := w.registry.Put(t.Context(), ada, w.limits, "own", machines.Definition{Kind: machines.KindSSH, Address: w.server.Address(), Key: redacted.Text(private)})
	if err != nil || !created {
		t.Fatal(err)
	}
	w.server.Authorize(m.SSH.PublicKey)
	if err := w.machines().Test(t.Context(), "own"); err != nil {
		t.Error(err)
	}
	if err := w.machines().Test(t.Context(), "box"); err != nil {
		t.Errorf("the same key by another name: %v", err)
	}
}

func TestOutputAtItsLimit(t *testing.T) {
	w := newWorld(t, ssh.Options{}, sshtest.Start(t))
	w.add("box")
	for _, text := range []string{"yes", "yes >&2", "yes & yes >&2", "head -c 1001 /dev/zero"} {
		_, err := w.run(t.Context(), engine.MachineRun{Command: engine.MachineCommand{Text: text}, Most: 1000})
		wantCode(t, text, err, value.LimitExceeded, "more than 1000 bytes")
	}
	if r, err := w.run(t.Context(), engine.MachineRun{Command: engine.MachineCommand{Text: "head -c 600 /dev/zero; head -c 400 /dev/zero >&2"}, Most: 1000}); err != nil || len(r.Stdout) != 600 || len(r.Stderr) != 400 {
		t.Errorf("of as much as fits came %d and %d, %v", len(r.Stdout), len(r.Stderr), err)
	}
}

// TestEnds: a command whose time is over, or that is cancelled, is ended on its host.
func TestEnds(t *testing.T) {
	w := newWorld(t, ssh.Options{}, sshtest.Start(t))
	w.add("box")
	folder := w.server.Folder
	pid := func(name string) string { return filepath.Join(folder, name) }
	gone := func(name string) {
		t.Helper()
		// The host ends it in a while.
		w.shell("p=$(cat " + pid(name) + "); i=0; while kill -0 $p 2>/dev/null && [ $i -lt 200 ]; do i=$((i+1)); sleep 0.05; done; ! kill -0 $p 2>/dev/null")
		if r := w.shell("kill -0 $(cat " + pid(name) + ")"); r.Code == 0 {
			t.Errorf("%s: the command runs on", name)
		}
	}
	_, err := w.run(t.Context(), engine.MachineRun{Command: engine.MachineCommand{Text: "echo $$ > " + pid("a") + "; exec sleep 600"}, Timeout: 500 * time.Millisecond})
	wantCode(t, "over its time", err, "machine_timeout", "longer than 0.5 seconds")
	gone("a")
	ctx, cancel := context.WithCancel(t.Context())
	_, err = w.run(ctx, engine.MachineRun{
		Command: engine.MachineCommand{Text: "trap '' TERM HUP; echo $$ > " + pid("b") + "; echo begun; while true; do sleep 0.1; done"},
		Output:  func(bool, []byte) { cancel() },
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	gone("b")
	_, err = w.run(t.Context(), engine.MachineRun{Command: engine.MachineCommand{Text: "true"}, Timeout: 25 * time.Hour})
	wantCode(t, "a longer time", err, value.LimitExceeded, "TIMEOUT is longer")
}

// TestBrokenConnections: one that is killed under a command is an error, and the next command has
// another one.
func TestBrokenConnections(t *testing.T) {
	w := newWorld(t, ssh.Options{Grace: time.Second}, sshtest.Start(t))
	w.add("box")
	_, err := w.run(t.Context(), engine.MachineRun{Command: engine.MachineCommand{Text: "kill -9 $PPID; sleep 600"}})
	wantCode(t, "killed while it runs", err, "machine_failed", "broke off before the command ended")
	w.shell("true")
	// One that died while nobody used it is replaced.
	pid, err := strconv.Atoi(strings.TrimSpace(string(w.shell("echo $PPID").Stdout)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	w.shell("true")
	w.server.Stop()
	w.runner.Forget(ada.ID, "box")
	_, err = w.run(t.Context(), engine.MachineRun{Command: engine.MachineCommand{Text: "true"}})
	wantCode(t, "nobody there", err, "machine_failed", "refused the connection")
}

// TestHungHosts: a host that says nothing, and one that stops in the middle, are cut off.
func TestHungHosts(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	greeting := []byte("")
	var mu sync.Mutex
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			_, _ = c.Write(greeting)
			mu.Unlock()
			t.Cleanup(func() { _ = c.Close() })
		}
	}()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, ssh.Options{Handshake: 300 * time.Millisecond}, nil)
	if _, _, err := w.registry.Put(t.Context(), ada, w.limits, "box", machines.Definition{Kind: machines.KindSSH, Address: "ada@127.0.0.1:" + port}); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "SSH-2.0-x\r\n"} {
		mu.Lock()
		greeting = []byte(text)
		mu.Unlock()
		_, err = w.run(t.Context(), engine.MachineRun{Command: engine.MachineCommand{Text: "true"}})
		wantCode(t, "a host that says "+text, err, "machine_failed", "takes too long to answer")
	}
	mu.Lock()
	greeting = []byte("HTTP/1.1 400 Bad Request\r\nsecret: x\r\n\r\n" + strings.Repeat("x\n", 2000))
	mu.Unlock()
	_, err = w.run(t.Context(), engine.MachineRun{Command: engine.MachineCommand{Text: "true"}})
	wantCode(t, "another protocol", err, "machine_failed", "")
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("the error tells what the host said: %v", err)
	}
}

// TestWalls: what the operator does not allow is not reached.
func TestWalls(t *testing.T) {
	w := newWorld(t, ssh.Options{Dialer: network.NewDialer(network.Policy{}, network.DialOptions{})}, nil)
	for _, address := range []string{"root@127.0.0.1", "root@localhost", "root@[::1]", "root@10.0.0.1", "root@169.254.169.254", "root@example.com:25", "root@intranet"} {
		_, _, err := w.registry.Put(t.Context(), ada, w.limits, "box", machines.Definition{Kind: machines.KindSSH, Address: address})
		if err == nil || !strings.Contains(err.Error(), "not allowed") {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, address := range []string{"", "example.com", "@example.com", "a b@example.com", "-oProxyCommand=x@example.com", "root@exa mple.com", "root@example.com:99999", "root@", "a:b@example.com"} {
		_, _, err := w.registry.Put(t.Context(), ada, w.limits, "box", machines.Definition{Kind: machines.KindSSH, Address: address})
		if err == nil || !strings.Contains(err.Error(), "such as") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestAllowed(t *testing.T) {
	w := newWorld(t, ssh.Options{}, sshtest.Start(t))
	w.add("box", "echo *", "printf %s| * b")
	for text, want := range map[string]string{"echo a 'b;c'": "a b;c\n", "echo": "\n", `printf '%s|' 'a c' b`: "a c|b|"} {
		if r := w.shell(text); string(r.Stdout) != want {
			t.Errorf("%s gives %q", text, r.Stdout)
		}
	}
	for _, text := range []string{"ls", "echo a; ls", "echo $(ls)", "echo `ls`", "echo a > /tmp/x", "echo a\nls", "printf '%s|' a c", "printf x", "sh -c 'echo'", "echo \"$HOME\"", "FOO=x echo", "echo ~"} {
		_, err := w.run(t.Context(), engine.MachineRun{Command: engine.MachineCommand{Text: text}})
		wantCode(t, text, err, "command_not_allowed", "")
	}
	_, err := w.run(t.Context(), engine.MachineRun{Command: engine.MachineCommand{List: []string{"ls"}}})
	wantCode(t, "a list", err, "command_not_allowed", "")
	wantCode(t, "a copy", w.machines().CopyTo(t.Context(), "box", "/tmp/never", strings.NewReader("x")), "command_not_allowed", "sftp")
}

func TestCopies(t *testing.T) {
	w := newWorld(t, ssh.Options{}, sshtest.Start(t))
	w.add("box")
	folder := w.server.Folder
	there := filepath.Join(folder, "a b'c")
	content := make([]byte, 3<<20+17)
	if _, err := rand.Read(content); err != nil {
		t.Fatal(err)
	}
	if err := w.machines().CopyTo(t.Context(), "box", there, bytes.NewReader(content)); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(there); err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes came: %v", len(got), err)
	}
	var back bytes.Buffer
	if err := w.machines().CopyFrom(t.Context(), "box", there, &back); err != nil || !bytes.Equal(back.Bytes(), content) {
		t.Errorf("%d bytes came back: %v", back.Len(), err)
	}
	// One that is cut off leaves the file as it was.
	cut := errors.New("cut")
	err := w.machines().CopyTo(t.Context(), "box", there, io.MultiReader(strings.NewReader("half"), failing{cut}))
	if !errors.Is(err, cut) {
		t.Errorf("cut off: %v", err)
	}
	if err := os.Chmod(there, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := w.machines().CopyTo(t.Context(), "box", there, strings.NewReader("")); err != nil {
		t.Error(err)
	}
	info, err := os.Stat(there)
	if err != nil || info.Size() != 0 || info.Mode().Perm() != 0o640 {
		t.Errorf("the file is %v, %v", info, err)
	}
	if list, err := os.ReadDir(folder); err != nil || len(list) != 1 {
		t.Errorf("left are %v, %v", list, err)
	}
	wantCode(t, "no such file", w.machines().CopyFrom(t.Context(), "box", there+"x", io.Discard), "file_not_found", "")
	wantCode(t, "no such folder", w.machines().CopyTo(t.Context(), "box", there+"x/y", strings.NewReader("")), "file_not_found", "")
	wantCode(t, "a folder", w.machines().CopyFrom(t.Context(), "box", folder, io.Discard), "is_folder", "")
	wantCode(t, "onto a folder", w.machines().CopyTo(t.Context(), "box", folder, strings.NewReader("")), "is_folder", "")
	if err := w.machines().CopyFrom(t.Context(), "box", "/dev/zero", failingWriter{cut}); !errors.Is(err, cut) {
		t.Errorf("who writes gives up: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = w.machines().CopyFrom(ctx, "box", "/dev/zero", writer(func([]byte) { cancel() }))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	w.shell("true")
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

type failingWriter struct{ err error }

func (f failingWriter) Write([]byte) (int, error) { return 0, f.err }

type writer func([]byte)

func (f writer) Write(p []byte) (int, error) { f(p); return len(p), nil }

// TestConnectionBounds: connections are shared, closed when nobody uses them, and bounded.
func TestConnectionBounds(t *testing.T) {
	w := newWorld(t, ssh.Options{PerAccount: 2, Sessions: 2, Idle: 100 * time.Millisecond}, sshtest.Start(t))
	w.add("box")
	release := filepath.Join(w.server.Folder, "release")
	var group sync.WaitGroup
	begun := make(chan struct{}, 4)
	for range 4 {
		group.Go(func() {
			r, err := w.run(t.Context(), engine.MachineRun{
				Command: engine.MachineCommand{Text: "echo x; while [ ! -e " + release + " ]; do sleep 0.05; done"},
				Output:  func(bool, []byte) { begun <- struct{}{} },
			})
			if err != nil || r.Code != 0 {
				t.Errorf("%+v, %v", r, err)
			}
		})
		<-begun
	}
	if open, used := w.runner.Stats(); open != 2 || used != 2 {
		t.Errorf("%d connections are open, %d in use", open, used)
	}
	_, err := w.run(t.Context(), engine.MachineRun{Command: engine.MachineCommand{Text: "true"}})
	wantCode(t, "one more", err, "machine_failed", "as many connections")
	if err := os.WriteFile(release, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	group.Wait()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for open := -1; open != 0; open, _ = w.runner.Stats() {
		<-ticker.C
	}
}
