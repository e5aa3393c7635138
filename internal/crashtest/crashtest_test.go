// Package crashtest holds the service to what it promises of durable jobs while
// it is killed without a word, again and again: every promise is a test on the
// real program in a process of its own. It holds tests only.
//
// With QL_PROMISES=1 the tests run at the counts that are promised, otherwise at
// small ones. What fails inside a process is tested beside the code, in
// internal/worker.
package crashtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// program is the path of the command ql, built for these tests.
var program string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	folder, err := os.MkdirTemp("", "ql-crashtest-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	program = filepath.Join(folder, "ql")
	build := exec.CommandContext(context.Background(), "go", "build", "-o", program, "ql/cmd/ql")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building ql: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// count is what a test counts to: the small number, or the promised one.
func count(small, promised int) int {
	if full() {
		return promised
	}
	return small
}

func full() bool { return os.Getenv("QL_PROMISES") == "1" }

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
