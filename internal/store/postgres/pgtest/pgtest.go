// Package pgtest starts a PostgreSQL server for tests, and for benchmarks: one for each test binary, in a folder of its
// own, that speaks by a socket in that folder alone and forgets all when the machine does. Each test has
// a database of its own.
package pgtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// settings are those of the server: what it loses when the machine stops, nobody misses.
var settings = []string{
	"listen_addresses=", "fsync=off", "synchronous_commit=off", "full_page_writes=off", "shared_buffers=16MB", "max_connections=200",
	"autovacuum=off", "max_wal_size=256MB", "max_locks_per_transaction=128",
}

// Server is a server that runs.
type Server struct {
	folder   string
	settings []string
	clock    string // a file by which it is set; "" where it goes as that of the machine
	command  *exec.Cmd
	exited   chan struct{}
	output   *bytes.Buffer

	databases atomic.Int64
	templates sync.Map // of names to *copies
}

var (
	once   sync.Once
	server *Server
	failed error
)

// Main runs the tests of a package, and stops the server that they started, if they did.
func Main(m *testing.M) int {
	code := m.Run()
	if err := Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// Stop stops the server that tests started, if they did.
func Stop() error {
	if server == nil {
		return nil
	}
	return server.Stop()
}

// Start returns the server of the test binary, started where it is not yet. The package's TestMain must
// call Main, or Stop.
func Start(t testing.TB) *Server {
	t.Helper()
	once.Do(func() { server, failed = run(settings, false) })
	if failed != nil {
		t.Fatal(failed)
	}
	return server
}

// programs is the folder of the server's programs.
func programs() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path), nil
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return "", errors.New("PostgreSQL is not installed: install the package postgresql")
	}
	return filepath.Dir(found[len(found)-1]), nil
}

// unprivileged is who the server runs as: it refuses root.
func unprivileged() (*syscall.SysProcAttr, int, error) {
	if os.Getuid() != 0 {
		return &syscall.SysProcAttr{}, os.Getuid(), nil
	}
	who, err := user.Lookup("postgres")
	if err != nil {
		if who, err = user.Lookup("nobody"); err != nil {
			return nil, 0, err
		}
	}
	uid, err := strconv.Atoi(who.Uid)
	if err != nil {
		return nil, 0, err
	}
	gid, err := strconv.Atoi(who.Gid)
	if err != nil {
		return nil, 0, err
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, uid, nil
}

// Run starts a server for a program that is no test, which stops it by Stop: one that loses nothing when the machine does,
// unless the settings say otherwise.
func Run(settings ...string) (*Server, error) {
	return run(append([]string{"listen_addresses="}, settings...), false)
}

// RunClock is Run with a clock that SetClock sets.
func RunClock(settings ...string) (*Server, error) {
	return run(append([]string{"listen_addresses="}, settings...), true)
}

// SetClock has the server's clock go wrong by so much from now on.
func (s *Server) SetClock(by time.Duration) error {
	return os.WriteFile(s.clock, fmt.Appendf(nil, "%+d", int(by.Seconds())), 0o644)
}

// clockEnvironment has a process take the time from a file.
func clockEnvironment(file string) ([]string, error) {
	found, err := filepath.Glob("/usr/lib/*/faketime/libfaketime.so.1")
	if err != nil || len(found) == 0 {
		return nil, errors.Join(err, errors.New("there is no libfaketime: install the package faketime"))
	}
	return append(os.Environ(), "LD_PRELOAD="+found[0], "FAKETIME_TIMESTAMP_FILE="+file, "FAKETIME_CACHE_DURATION=1", "FAKETIME_DONT_FAKE_MONOTONIC=1"), nil
}

func run(settings []string, clock bool) (*Server, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	as, uid, err := unprivileged()
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "ql-pg-")
	if err != nil {
		return nil, err
	}
	if err := os.Chown(folder, uid, -1); err != nil {
		return nil, err
	}
	data := filepath.Join(folder, "data")
	initialize := exec.CommandContext(context.Background(), filepath.Join(bin, "initdb"), "-D", data, "-U", "ql", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions")
	initialize.SysProcAttr, initialize.Dir = as, folder
	if out, err := initialize.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	s := &Server{folder: folder, settings: settings, output: &bytes.Buffer{}}
	if clock {
		s.clock = filepath.Join(folder, "clock")
		if err := s.SetClock(0); err != nil {
			return nil, errors.Join(err, os.RemoveAll(folder))
		}
	}
	if err := s.launch(bin, as, settings); err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	return s, nil
}

// launch runs the server, and waits until it answers.
func (s *Server) launch(bin string, as *syscall.SysProcAttr, settings []string) error {
	args := []string{"-D", filepath.Join(s.folder, "data"), "-c", "unix_socket_directories=" + s.folder}
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	s.command = exec.CommandContext(context.Background(), filepath.Join(bin, "postgres"), args...)
	s.command.SysProcAttr, s.command.Dir, s.command.Stderr = as, s.folder, s.output
	if s.clock != "" {
		environment, err := clockEnvironment(s.clock)
		if err != nil {
			return err
		}
		s.command.Env = environment
	}
	exited, err := start(s.command)
	if err != nil {
		return err
	}
	s.exited = exited
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		c, err := pgconn.Connect(ctx, s.URL("postgres"))
		if err == nil {
			return c.Close(ctx)
		}
		select {
		case <-s.exited:
			return fmt.Errorf("the server ended: %s", s.output)
		case <-ctx.Done():
			return errors.Join(err, s.Stop())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// start starts a process that dies with the tests, should they be killed, and returns what is closed when it has ended.
func start(command *exec.Cmd) (exited chan struct{}, err error) {
	dying := *command.SysProcAttr
	dying.Pdeathsig = syscall.SIGQUIT
	command.SysProcAttr = &dying
	exited = make(chan struct{})
	started := make(chan error)
	go func() {
		// The system takes the thread that started a process for its parent. It must not end before, and nor must those
		// of other processes, so it is given back.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := command.Start()
		started <- err
		if err == nil {
			_ = command.Wait() // what it says is in its output
			close(exited)
		}
	}()
	return exited, <-started
}

// Restart ends the server at once, with all that is under way, and starts it again: what it had committed is there still,
// unless its settings say otherwise.
func (s *Server) Restart() error {
	if err := s.command.Process.Signal(syscall.SIGQUIT); err != nil {
		return err
	}
	<-s.exited
	bin, err := programs()
	if err != nil {
		return err
	}
	as, _, err := unprivileged()
	if err != nil {
		return err
	}
	return s.launch(bin, as, s.settings)
}

// Pause has the server stand still, with all that it does, until resume is called or the test ends: it takes
// connections, and answers nothing. Nobody else may use it meanwhile.
func (s *Server) Pause(t testing.TB) (resume func()) {
	t.Helper()
	stopped, err := s.processes()
	if err != nil {
		t.Fatal(err)
	}
	signal := func(to syscall.Signal) {
		for _, pid := range stopped {
			if err := syscall.Kill(pid, to); err != nil && !errors.Is(err, syscall.ESRCH) {
				t.Error(err)
			}
		}
	}
	signal(syscall.SIGSTOP)
	resume = sync.OnceFunc(func() { signal(syscall.SIGCONT) })
	t.Cleanup(resume)
	return resume
}

// processes are the numbers of the server's processes, the one first that makes the others.
func (s *Server) processes() ([]int, error) {
	first := s.command.Process.Pid
	all := []int{first}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		// The name, in brackets, may hold anything; the state and the parent stand behind it.
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) > 1 && fields[1] == strconv.Itoa(first) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			if err != nil {
				return nil, err
			}
			all = append(all, pid)
		}
	}
	return all, err
}

// Stop ends the server, and what it has.
func (s *Server) Stop() error {
	select {
	case <-s.exited:
	default:
		if err := s.command.Process.Signal(syscall.SIGINT); err != nil { // ends what is under way
			return err
		}
		<-s.exited
	}
	return os.RemoveAll(s.folder)
}

// URL returns where a database is.
func (s *Server) URL(database string) string {
	q := url.Values{"host": {s.folder}, "user": {"ql"}}
	return "postgres:///" + database + "?" + q.Encode()
}

// Exec runs statements in a database.
func (s *Server) Exec(ctx context.Context, database, sql string) error {
	c, err := pgconn.Connect(ctx, s.URL(database))
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, sql).ReadAll()
	return errors.Join(err, c.Close(ctx))
}

// Database returns the URL of a database for one test. It is a copy of a template that fill fills
// once, and is used again after reset has emptied it.
func (s *Server) Database(t testing.TB, template string, fill, reset func(url string) error) string {
	t.Helper()
	entry, _ := s.templates.LoadOrStore(template, &copies{})
	url, err := entry.(*copies).take(s, template, fill)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := reset(url); err != nil {
			t.Error(err)
			return
		}
		entry.(*copies).give(url)
	})
	return url
}

// Empty returns the URL of a new database with nothing in it, which goes with the test.
func (s *Server) Empty(t testing.TB) string {
	t.Helper()
	ctx, name := context.Background(), fmt.Sprintf("test_%d", s.databases.Add(1))
	if err := s.Exec(ctx, "postgres", "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Exec(ctx, "postgres", "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	return s.URL(name)
}

// copies are those of a template.
type copies struct {
	mu     sync.Mutex
	filled bool
	free   []string
}

func (c *copies) take(s *Server, template string, fill func(url string) error) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ctx := context.Background()
	if !c.filled {
		if err := s.Exec(ctx, "postgres", "CREATE DATABASE "+template); err != nil {
			return "", err
		}
		if err := fill(s.URL(template)); err != nil {
			return "", err
		}
		c.filled = true
	}
	if n := len(c.free); n > 0 {
		url := c.free[n-1]
		c.free = c.free[:n-1]
		return url, nil
	}
	name := fmt.Sprintf("test_%d", s.databases.Add(1))
	return s.URL(name), s.Exec(ctx, "postgres", "CREATE DATABASE "+name+" TEMPLATE "+template)
}

func (c *copies) give(url string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.free = append(c.free, url)
}
