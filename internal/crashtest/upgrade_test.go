package crashtest

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ql/internal/programtest"
	"ql/internal/store/blob/s3/s3test"
)

// buildNext builds the next version of the program: one whose schema goes beyond that of this one.
func buildNext(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ql")
	build := exec.CommandContext(t.Context(), "go", "build", "-tags", "ql_next", "-o", path, "ql/cmd/ql")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the next version: %v\n%s", err, out)
	}
	return path
}

// retire stops a server while others are busy: what it runs goes on elsewhere.
func (s *server) retire() {
	s.t.Helper()
	check(s.t, s.process.Process.Signal(os.Interrupt))
	<-s.exited
	if !s.process.ProcessState.Success() {
		s.t.Errorf("the server stopped with %s\n%s", s.process.ProcessState, s.said())
	}
	s.gone()
}

// upgrade is callers of nodes that are replaced under them.
type upgrade struct {
	t     *testing.T
	nodes []*server
	away  atomic.Int64 // the node that the proxy leaves out, from 1; 0 for none

	mu  sync.Mutex
	ids []string
}

// node is one that the proxy sends a caller to.
func (u *upgrade) node(n int) *server {
	i := n % len(u.nodes)
	if int64(i+1) == u.away.Load() {
		i = (i + 1) % len(u.nodes)
	}
	return u.nodes[i]
}

// call makes the n-th call of a caller, which must be answered well.
func (u *upgrade) call(caller, n int) {
	name := fmt.Sprintf("%d-%d", caller, n)
	r, status := query("async", `
		APPEND "x" TO FILE "/jobs/{!GET('n')}.txt"
		WAIT 0.2 SECONDS
		INSERT INTO done VALUES (!GET('n'));
		APPEND "y" TO FILE "/jobs/{!GET('n')}.txt"
		READ "/jobs/{!GET('n')}.txt" AS TEXT SET ?log
		EMIT ?log`, "n", name), http.StatusAccepted
	if n%2 == 1 {
		r, status = query("sync", `INSERT INTO done VALUES (!GET('n')); EMIT "xy"`, "n", name), http.StatusOK
	}
	r.key = name
	a, err := u.node(caller + n/2).try(r)
	j, parsed := a.job()
	if err != nil || parsed != nil || a.status != status {
		u.t.Errorf("call %s: %s, %v", name, a, err)
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if status == http.StatusAccepted {
		u.ids = append(u.ids, j.ID)
	}
}

// TestPromiseUpgrade brings two nodes to the next version one after the other, under load, as behind a proxy that sends
// callers to those that are ready: no call fails, no job is lost or done twice, and questions that a version asked are
// answered at the other. When all are upgraded, the version before is refused.
func TestPromiseUpgrade(t *testing.T) {
	next := buildNext(t)
	for range count(1, 5) {
		t.Run("", func(t *testing.T) { checkUpgrade(t, next) })
	}
}

func checkUpgrade(t *testing.T, next string) {
	nodes := newNodes(t, s3test.Start(t), 2)
	for _, s := range nodes {
		s.flags = append(s.flags, "--drain-delay", "500ms")
	}
	for _, s := range nodes {
		s.retire()
		s.start() // by the flags
	}
	nodes[0].output(`CREATE TABLE done (job TEXT);`)
	paused := nodes[0].submit(`APPEND "x" TO FILE "/asked.txt" CONFIRM "One?" APPEND "y" TO FILE "/asked.txt" CONFIRM "Two?" READ "/asked.txt" AS TEXT SET ?log EMIT ?log`)
	nodes[0].mustAwait(paused, "paused")
	answer := func(s *server) {
		t.Helper()
		if a, err := s.confirm(paused, `{"approved":true}`, "?wait=30"); err != nil || a.status/100 != 2 {
			t.Errorf("an answer: %s, %v", a, err)
		}
	}

	u, callers, each := &upgrade{t: t, nodes: nodes}, count(2, 8), count(50, 250)
	var calls sync.WaitGroup
	for caller := range callers {
		calls.Go(func() {
			for n := range each {
				u.call(caller, n)
			}
		})
	}
	for i, s := range nodes {
		u.away.Store(int64(i + 1))
		s.retire()
		s.program = next
		s.start()
		u.away.Store(0)
		answer(nodes[1-i]) // first at the version before, then at the next one
	}
	calls.Wait()
	if j := nodes[0].mustAwait(paused, "complete"); j.Result != "xy" {
		t.Errorf("the job that asked came to %+v", j)
	}
	for _, id := range u.ids {
		if j := nodes[1].mustAwait(id, "complete"); j.Result != "xy" {
			t.Errorf("a job came to %+v", j)
		}
	}
	want := fmt.Sprintf("%d %[1]d", callers*each)
	if got := nodes[0].output(`SELECT count(*) AS n, count(DISTINCT job) AS d FROM done SET ?rows EMIT "{?rows[0].n} {?rows[0].d}"`); got != want {
		t.Errorf("of %s rows of calls, and different ones, there are %s", want, got)
	}

	// The last one of the version before is gone, and what it needed is removed by who has the upkeep.
	for _, s := range nodes {
		s.retire()
	}
	nodes[0].start()
	for deadline := time.Now().Add(patience); ; {
		out, err := exec.CommandContext(t.Context(), programtest.Path, "account", "list", "--data", nodes[0].data).CombinedOutput()
		if err != nil && strings.Contains(string(out), "needs a newer version of this program") {
			break
		}
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("a command of the version before: %v\n%s", err, out)
		}
	}
	if said := nodes[1].refusedStart(nodes[1].flags...); !strings.Contains(said, "needs a newer version of this program") {
		t.Errorf("a server of the version before is refused with %s", said)
	}
	nodes[1].start()
	nodes[1].output(`EMIT 1`)
}
