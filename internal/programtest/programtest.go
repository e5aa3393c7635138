// Package programtest builds the command ql for tests that run it as a process of its own.
// What they do with it is theirs. It is linked into tests alone.
package programtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Path is the path of the command ql while Main runs tests.
var Path string

// Main builds the command and runs the tests of a package. It returns the exit code for
// TestMain.
func Main(m *testing.M) int {
	folder, err := os.MkdirTemp("", "ql-programtest-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(folder) }()
	Path = filepath.Join(folder, "ql")
	build := exec.CommandContext(context.Background(), "go", "build", "-o", Path, "ql/cmd/ql")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building ql: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// Promised reports whether tests run at the counts that the documentation promises, or
// at small ones.
func Promised() bool { return os.Getenv("QL_PROMISES") == "1" }

// FreeAddress returns an address for a server that must be told where to listen before it
// starts, and again after it was killed. Nobody else gets it in between: it is on a loopback
// host of its own, while connections and servers that take any port have those of 127.0.0.1.
func FreeAddress(t testing.TB) string {
	t.Helper()
	var own [3]byte
	_, _ = rand.Read(own[:]) // it never fails
	for _, host := range []string{fmt.Sprintf("127.%d.%d.%d", 1|own[0], own[1], 1|own[2]&0x7f), "127.0.0.1"} {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", net.JoinHostPort(host, "0"))
		if err != nil {
			continue // not every system has all of the network
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		return l.Addr().String()
	}
	t.Fatal("nothing can listen on 127.0.0.1")
	return ""
}
