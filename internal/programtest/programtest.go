// Package programtest builds the command ql for tests that run it as a process of its own.
// What they do with it is theirs. It is linked into tests alone.
package programtest

import (
	"context"
	"fmt"
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
