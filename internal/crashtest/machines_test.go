package crashtest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ql/internal/resource/machines/sshtest"
)

// TestPromiseCommandsAtLeastOnce kills the server while a command runs on a host: the next attempt
// runs it again under the same key, and its step in the trace says that it was begun before.
func TestPromiseCommandsAtLeastOnce(t *testing.T) {
	kills := count(3, 200)
	host := sshtest.Start(t)
	s := newServer(t)
	s.flags = []string{"--egress-networks", "127.0.0.1/32", "--egress-ports", fmt.Sprint(host.Port)}
	var added struct {
		PublicKey string `json:"public_key"`
	}
	check(t, json.Unmarshal([]byte(s.command("", "machine", "add", username, "box", "--ssh", host.Address(), "--json")), &added))
	host.Authorize(added.PublicKey)
	s.start()
	// A command that is run for the first time does not end by itself.
	const script = `
		RUN "echo before" ON "box"
		RUN "echo $QL_STEP_KEY >> {!GET('file')}; if [ $(wc -l < {!GET('file')}) -lt 2 ]; then exec sleep 30; fi; cat {!GET('file')}" ON "box" SET ?out
		EMIT ?out.stdout`
	for i := range kills {
		file := filepath.Join(host.Folder, fmt.Sprint("ran-", i))
		id := s.submit(script, "file", file)
		awaitFile(t, file)
		s.kill()
		s.start()
		j := s.mustAwait(id, "complete")
		keys := strings.Fields(j.Result)
		if len(keys) != 2 || keys[0] != keys[1] || len(keys[0]) != 32 {
			t.Fatalf("the command ran under the keys %q", keys)
		}
		a, err := s.call(request{method: "GET", path: "/v1/job/" + id})
		check(t, err)
		if text := string(a.body); strings.Count(text, `"repeated":true`) != 1 || !strings.Contains(text, `"exec_class":"Machine"`) {
			t.Fatalf("the job is shown as %s", text)
		}
	}
	t.Logf("%d commands ran at least once, under one key each, under %d kills", kills, s.kills.Load())
}

// awaitFile waits until something is in a file.
func awaitFile(t *testing.T, file string) {
	t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-ticker.C {
		if info, err := os.Stat(file); err == nil && info.Size() > 0 {
			return
		}
	}
	t.Fatalf("nothing came to %s", file)
}
