// Package crashtest holds the service to what it promises of durable jobs while
// it is killed without a word, again and again: every promise is a test on the
// real program in a process of its own. It holds tests only.
//
// With QL_PROMISES=1 the tests run at the counts that are promised, otherwise at
// small ones. What fails inside a process is tested beside the code, in
// internal/worker.
package crashtest

import (
	"fmt"
	"os"
	"testing"

	"ql/internal/programtest"
	"ql/internal/store/postgres/pgtest"
)

func TestMain(m *testing.M) {
	code := programtest.Main(m)
	if err := pgtest.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// count is what a test counts to: the small number, or the promised one.
func count(small, promised int) int {
	if programtest.Promised() {
		return promised
	}
	return small
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
