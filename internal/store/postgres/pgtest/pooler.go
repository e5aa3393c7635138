package pgtest

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// How a pooler gives connections away.
const (
	SessionMode     = "session"     // when a client leaves
	TransactionMode = "transaction" // after each transaction
)

// Pooler is PgBouncer before a server.
type Pooler struct{ folder string }

// Pooler starts PgBouncer before the server, until the test ends.
func (s *Server) Pooler(t testing.TB, mode string) *Pooler {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		program = "/usr/sbin/pgbouncer"
	}
	as, uid, err := unprivileged()
	if err != nil {
		t.Fatal(err)
	}
	// Not t.TempDir: the name of a socket is short.
	folder, err := os.MkdirTemp("", "ql-pool-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	})
	users, settings := filepath.Join(folder, "users"), filepath.Join(folder, "pgbouncer.ini")
	for path, text := range map[string]string{
		users: "\"ql\" \"\"\n",
		settings: fmt.Sprintf("[databases]\n* = host=%s\n[pgbouncer]\nlisten_addr =\nlisten_port = 6432\nunix_socket_dir = %s\nauth_type = trust\nauth_file = %s\n"+
			"pool_mode = %s\nmax_client_conn = 500\ndefault_pool_size = 30\nserver_idle_timeout = 1\n", s.folder, folder, users, mode),
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(folder, uid, -1); err != nil {
		t.Fatal(err)
	}
	command, output := exec.CommandContext(context.Background(), program, settings), &bytes.Buffer{}
	command.SysProcAttr, command.Dir, command.Stderr = as, folder, output
	exited, err := start(command)
	if err != nil {
		t.Fatalf("%v: install the package pgbouncer", err)
	}
	t.Cleanup(func() {
		select {
		case <-exited:
			t.Errorf("the pooler has ended: %s\n%s", command.ProcessState, output)
		default:
			_ = command.Process.Kill() // it may be gone already
			<-exited
		}
	})
	p := &Pooler{folder}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		c, err := pgconn.Connect(ctx, p.URL(s.URL("postgres")))
		if err == nil {
			if err := c.Close(ctx); err != nil {
				t.Error(err)
			}
			return p
		}
		select {
		case <-exited:
			t.Fatalf("the pooler ended: %s", output)
		case <-ctx.Done():
			t.Fatal(err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// URL is where a database of the server is by way of the pooler.
func (p *Pooler) URL(direct string) string {
	u, err := url.Parse(direct)
	if err != nil {
		panic(err) // URL has made it
	}
	q := u.Query()
	q.Set("host", p.folder)
	q.Set("port", "6432")
	u.RawQuery = q.Encode()
	return u.String()
}
