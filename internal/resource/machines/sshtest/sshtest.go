// Package sshtest starts real OpenSSH servers for tests, each with throw-away keys, a port of its own
// and a folder of the test's. Who logs in is the user that runs the test; for root it is a user that is
// made for that, since OpenSSH passes no signals to the commands of root.
package sshtest

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
)

// Server is an OpenSSH server.
type Server struct {
	User   string
	Port   int
	Folder string // that the user may write to

	t       testing.TB
	own     string // the folder of the server's files
	more    string // further lines of its configuration
	process *exec.Cmd
	ended   chan struct{}
}

// Start starts a server, which ends with the test. More are lines of its configuration.
func Start(t testing.TB, more ...string) *Server {
	t.Helper()
	who := login(t)
	// Not t.TempDir, which others cannot look into.
	own, err := os.MkdirTemp("", "ql-sshtest-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(own); err != nil {
			t.Error(err)
		}
	})
	s := &Server{User: who.Username, Folder: filepath.Join(own, "files"), own: own, t: t}
	s.prepare(who)
	for _, line := range more {
		s.more += line + "\n"
	}
	// The server insists on this folder where it separates privileges.
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil && os.Geteuid() == 0 {
		t.Fatal(err)
	}
	s.Authorize()
	s.NewHostKey()
	s.Run()
	t.Cleanup(s.Stop)
	return s
}

// Address is how a machine names the server: user@host:port.
func (s *Server) Address() string { return fmt.Sprintf("%s@127.0.0.1:%d", s.User, s.Port) }

func (s *Server) path(name string) string { return filepath.Join(s.own, name) }

// testUser is who logs in where tests run as root.
const testUser = "ql-sshtest"

// login returns who logs in.
func login(t testing.TB) *user.User {
	t.Helper()
	who, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	if who.Uid != "0" {
		return who
	}
	if who, err = user.Lookup(testUser); err == nil {
		return who
	}
	// Another test may be about to do the same.
	out, made := exec.CommandContext(t.Context(), "useradd", "--no-create-home", "--home-dir", "/tmp", "--shell", "/bin/sh", "--password", "*", testUser).CombinedOutput()
	if who, err = user.Lookup(testUser); err != nil {
		t.Fatalf("there is no user to log in as: %v, %v: %s", err, made, out)
	}
	return who
}

// prepare makes the folders that the user looks into and writes to.
func (s *Server) prepare(who *user.User) {
	s.t.Helper()
	uid, err := strconv.Atoi(who.Uid)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := os.Chmod(s.own, 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Mkdir(s.Folder, 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Chown(s.Folder, uid, -1); err != nil {
		s.t.Fatal(err)
	}
}

// Authorize lets those in who have one of some public keys, and nobody else.
func (s *Server) Authorize(keys ...string) {
	s.t.Helper()
	text := ""
	for _, key := range keys {
		text += key + "\n"
	}
	if err := os.WriteFile(s.path("authorized_keys"), []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// NewHostKey gives the server another key, from its next start on.
func (s *Server) NewHostKey() {
	s.t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(s.path("host_key"), pem.EncodeToMemory(block), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// Run starts the server that was stopped, on its port.
func (s *Server) Run() {
	s.t.Helper()
	if s.Port == 0 {
		l, err := (&net.ListenConfig{}).Listen(s.t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			s.t.Fatal(err)
		}
		_, port, err := net.SplitHostPort(l.Addr().String())
		if err != nil {
			s.t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			s.t.Fatal(err)
		}
		if s.Port, err = strconv.Atoi(port); err != nil {
			s.t.Fatal(err)
		}
	}
	config := fmt.Sprintf(`Port %d
ListenAddress 127.0.0.1
HostKey %s
AuthorizedKeysFile %s
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
UseDNS no
MaxStartups 200
MaxSessions 100
Subsystem sftp internal-sftp
%s`, s.Port, s.path("host_key"), s.path("authorized_keys"), s.more)
	if err := os.WriteFile(s.path("sshd_config"), []byte(config), 0o600); err != nil {
		s.t.Fatal(err)
	}
	program, err := exec.LookPath("/usr/sbin/sshd") // it insists on being called by its whole path
	if err != nil {
		s.t.Fatalf("%v: it is in the package openssh-server", err)
	}
	// A file, and no pipe, which connections that outlive the server would hold open.
	log, err := os.Create(s.path("log"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close() //nolint:errcheck // the server has its own
	s.ended = make(chan struct{})
	s.process = exec.CommandContext(context.WithoutCancel(s.t.Context()), program, "-D", "-e", "-f", s.path("sshd_config"))
	s.process.Stderr = log
	if err := s.process.Start(); err != nil {
		s.t.Fatal(err)
	}
	process, ended := s.process, s.ended
	go func() {
		_ = process.Wait() // it is killed
		close(ended)
	}()
	s.awaitPort()
}

// awaitPort waits until somebody answers.
func (s *Server) awaitPort() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 20*time.Second)
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", s.Port))
		if err == nil {
			_ = conn.Close()
			return
		}
		select {
		case <-ticker.C:
		case <-s.ended:
			s.t.Fatalf("the SSH server ended: %s", s.Log())
		case <-ctx.Done():
			s.t.Fatalf("the SSH server does not answer: %s", s.Log())
		}
	}
}

// Stop ends the server. Connections that are open stay open.
func (s *Server) Stop() {
	if s.process == nil {
		return
	}
	_ = s.process.Process.Kill()
	<-s.ended
	s.process = nil
}

// Log is what the server has written so far.
func (s *Server) Log() string {
	text, err := os.ReadFile(s.path("log"))
	if err != nil {
		return err.Error()
	}
	return string(text)
}
