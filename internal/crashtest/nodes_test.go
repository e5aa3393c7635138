package crashtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ql/internal/store/blob/s3/s3test"
	"ql/internal/store/postgres/pgtest"
)

// newNodes starts servers with data folders of their own on one database and one bucket.
func newNodes(t *testing.T, bucket *s3test.Server, n int) []*server {
	t.Helper()
	t.Setenv("QL_DATABASE", pgtest.Start(t).Empty(t))
	t.Setenv("QL_BLOBS", bucket.URL("ql"))
	nodes := []*server{newServer(t)}
	nodes[0].flags = []string{"--node-listen", "127.0.0.1:0"}
	nodes[0].start()
	for len(nodes) < n {
		nodes = append(nodes, newNode(t, nodes[0]))
	}
	for _, s := range nodes[1:] {
		s.start()
	}
	return nodes
}

// newNode is a server that is to be started beside a first one.
func newNode(t *testing.T, first *server) *server {
	t.Helper()
	s := newServerOn(t, t.TempDir())
	s.flags = []string{"--node-listen", "127.0.0.1:0", "--master-key-file", filepath.Join(first.data, "master.key")}
	return s
}

// TestNodes has three nodes on one database and one bucket. A job is answered and shown wherever somebody asks;
// those of a node that is killed end at the others, each of their effects done once; a key that was revoked opens
// nothing at any node as soon as that is answered; and what needs a database of the account runs where that is.
func TestNodes(t *testing.T) {
	nodes := newNodes(t, s3test.Start(t), 3)
	first, second, third := nodes[0], nodes[1], nodes[2]

	// Questions are answered at another node than where they were asked.
	paused := second.submit(`WRITE "one" TO "/paused.txt" CONFIRM "Go on?" SET ?ok APPEND ", two" TO FILE "/paused.txt" READ "/paused.txt" AS TEXT SET ?text EMIT "{?ok} {?text}"`)
	third.mustAwait(paused, "paused")
	a, err := first.confirm(paused, `{"approved":true}`, "?wait=30")
	check(t, err)
	if j := third.mustAwait(paused, "complete"); j.Result != "true one, two" {
		t.Errorf("%+v, after %s", j, a)
	}

	// Databases are where they were first used, and calls find them there.
	first.output(`CREATE TABLE rows (n INTEGER);`)
	if got := third.output(`SELECT count(*) FROM rows SET VALUE ?n EMIT ?n`); got != "0" {
		t.Errorf("a table at another node has %s rows", got)
	}
	if a, err = second.call(request{method: http.MethodGet, path: "/v1/databases", owner: true}); err != nil || !strings.Contains(string(a.body), "main") {
		t.Errorf("databases at another node: %s, %v", a, err)
	}
	asked := third.submit(`INSERT INTO rows VALUES (1); CONFIRM "More?" INSERT INTO rows VALUES (2); SELECT sum(n) FROM rows SET VALUE ?sum EMIT ?sum`)
	third.mustAwait(asked, "paused")
	if a, err = second.confirm(asked, `{"approved":true}`, ""); err != nil || a.status/100 != 2 {
		t.Errorf("%s, %v", a, err)
	}
	if j := second.mustAwait(asked, "complete"); j.Result != "3" {
		t.Errorf("the job with a database came to %+v", j)
	}

	// The same call at two nodes at once is made once.
	var calls sync.WaitGroup
	for _, s := range nodes {
		calls.Go(func() {
			r := query("sync", `APPEND "x" TO FILE "/once.txt" EMIT "done"`)
			r.key = "once"
			if a, err := s.try(r); err != nil || a.status != http.StatusOK && !strings.Contains(string(a.body), "idempotency_in_progress") {
				t.Errorf("%s, %v", a, err)
			}
		})
	}
	calls.Wait()
	if got := third.output(`READ "/once.txt" AS TEXT SET ?text EMIT ?text`); got != "x" {
		t.Errorf("the call was made %d times", len(got))
	}

	// A key is revoked at one node.
	for i := range count(3, 50) {
		name := "key" + strconv.Itoa(i)
		var made struct{ Key string }
		check(t, json.Unmarshal([]byte(first.command("", "key", "create", username, name, "--scope", "jobs", "--json")), &made))
		use := func(s *server) int {
			a, err := s.call(request{method: http.MethodGet, path: "/v1/jobs", bearer: made.Key})
			check(t, err)
			return a.status
		}
		for n, s := range nodes {
			if status := use(s); status != http.StatusOK {
				t.Fatalf("the key is answered with %d by node %d", status, n+1)
			}
		}
		a, err := nodes[i%3].call(request{method: http.MethodDelete, path: "/v1/keys/" + name, owner: true})
		check(t, err)
		if a.status/100 != 2 {
			t.Fatalf("%s", a)
		}
		for n, s := range nodes {
			// Who tries many keys that open nothing is told to wait.
			if status := use(s); status != http.StatusUnauthorized && status != http.StatusTooManyRequests {
				t.Errorf("after its end the key is answered with %d by node %d", status, n+1)
			}
		}
	}

	var shown struct{ Nodes []struct{ Status string } }
	for deadline := time.Now().Add(patience); ; {
		check(t, json.Unmarshal([]byte(second.command("", "cluster", "status", "--json", "--master-key-file", filepath.Join(first.data, "master.key"))), &shown))
		if len(shown.Nodes) == 3 && shown.Nodes[2].Status == "alive" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the nodes are %+v", shown)
		}
	}

	// A node is killed with jobs under way.
	kills, jobs := count(1, 60), count(12, 300)
	for round := range kills {
		killed := nodes[1+round%2]
		var ids []string
		at := time.Now().Add(time.Second).UTC().Format(time.RFC3339Nano)
		for i := range jobs {
			ids = append(ids, nodes[i%3].submit(`
				WAIT UNTIL !GET('at')
				START SESSION
				FOR ?i FROM 1 TO 5 DO
					APPEND "x" TO FILE "/jobs/{!GET('n')}.txt"
					SET "n" AS (!SESSION('n') DEFAULT 0) + 1 OF !SESSION
					WAIT 0.1 SECONDS
				END
				READ "/jobs/{!GET('n')}.txt" AS TEXT SET ?log
				EMIT "{?log} {=!SESSION('n')}"`, "n", fmt.Sprintf("%d-%d", round, i), "at", at))
		}
		ids = append(ids, killed.submit(`SET ?n AS 0 FOR ?i FROM 1 TO 3000000 DO SET ?n AS ?n + 1 END APPEND "x" TO FILE "/long.txt" EMIT ?n`))
		killed.kill()
		other := nodes[2-round%2]
		for i, id := range ids {
			want := "xxxxx 5"
			if i == jobs {
				want = "3000000"
			}
			if j := other.mustAwait(id, "complete"); j.Result != want {
				t.Errorf("job %d left %q, not %q", i, j.Result, want)
			}
		}
		killed.start()
	}
	if got := len(first.output(`READ "/long.txt" AS TEXT SET ?text EMIT ?text`)); got != kills {
		t.Errorf("%d jobs that were under way at a node that was killed wrote %d times", kills, got)
	}
	for _, s := range nodes {
		s.stop()
	}
}

// TestNodesAreRefused: what does not fit the first node is told, and changes nothing.
func TestNodesAreRefused(t *testing.T) {
	bucket := s3test.Start(t)
	nodes := newNodes(t, bucket, 1)
	refused := func(want string, flags ...string) {
		t.Helper()
		if said := newServerOn(t, t.TempDir()).refusedStart(flags...); !strings.Contains(said, want) {
			t.Errorf("%v: %s", flags, said)
		}
	}
	key := filepath.Join(nodes[0].data, "master.key")
	refused("name it by --master-key-file")
	other := filepath.Join(t.TempDir(), "master.key")
	check(t, os.WriteFile(other, []byte("qlmaster_"+strings.Repeat("A", 43)+"\n"), 0o600))
	refused("is not the one that this store is sealed under", "--master-key-file", other)
	check(t, os.Unsetenv("QL_BLOBS"))
	refused("as one more node of it, with the bucket of all by --blobs", "--master-key-file", key)
	refused("nodes share a database and a bucket", "--join", "--master-key-file", key)
	nodes[0].stop()
	if said := nodes[0].refusedStart(); !strings.Contains(said, "are in a bucket: say where by --blobs") {
		t.Errorf("the first node without --blobs: %s", said)
	}
	check(t, os.Setenv("QL_BLOBS", bucket.URL("other")))
	refused("in another bucket", "--master-key-file", key)
}

// TestNodesBegin has nodes that are all started in the same way and at once, as a supervisor of many does: one of them begins
// with the database and makes the master key, and the others join it.
func TestNodesBegin(t *testing.T) {
	t.Setenv("QL_DATABASE", pgtest.Start(t).Empty(t))
	t.Setenv("QL_BLOBS", s3test.Start(t).URL("ql"))
	key := filepath.Join(t.TempDir(), "master.key")
	nodes := make([]*server, 3)
	for i := range nodes {
		nodes[i] = newServerOn(t, t.TempDir())
		nodes[i].flags = []string{"--node-listen", "127.0.0.1:0", "--master-key-file", key}
		nodes[i].spawn()
	}
	for _, s := range nodes {
		s.awaitUp()
	}
	nodes[1].command(password, "account", "create", "--username", username, "--master-key-file", key, "--password-stdin")
	for i, s := range nodes {
		if got := s.output(`EMIT 6 * 7`); got != "42" {
			t.Errorf("node %d answers %q", i+1, got)
		}
	}
}

// TestCommandBegins: the first command about an empty database makes the master key, as the first node would.
func TestCommandBegins(t *testing.T) {
	t.Setenv("QL_DATABASE", pgtest.Start(t).Empty(t))
	t.Setenv("QL_BLOBS", s3test.Start(t).URL("ql"))
	key := filepath.Join(t.TempDir(), "master.key")
	s := newServerOn(t, t.TempDir())
	s.flags = []string{"--master-key-file", key}
	s.command(password, "account", "create", "--username", username, "--master-key-file", key, "--password-stdin")
	s.start()
	if got := s.output(`EMIT 6 * 7`); got != "42" {
		t.Errorf("the node answers %q", got)
	}
}
