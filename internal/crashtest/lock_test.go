package crashtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPromiseOneServer: a folder has one server, also where somebody takes the lock file
// for one that was left behind and removes it.
func TestPromiseOneServer(t *testing.T) {
	s := newServer(t)
	s.start()
	for _, remove := range []bool{false, true, true} {
		if remove {
			check(t, os.Remove(filepath.Join(s.data, "ql.lock")))
		}
		if said := s.refusedStart(); !strings.Contains(said, "is in use by") {
			t.Errorf("a second server said %s", said)
		}
	}
	s.output(`EMIT "the first one works"`)
	s.kill()
	s.start()
}
