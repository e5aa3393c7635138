package crashtest

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"ql/internal/programtest"
	"ql/internal/store/blob/s3/s3test"
	"ql/internal/store/postgres/pgtest"
)

// effectScript has so many rounds of effects, one of each kind, and tells what is there of them in the end. Some ask in between,
// and some wait.
const effectScript = `
	START SESSION
	FOR ?i FROM 1 TO NUMBER(!GET('rounds')) DO
		APPEND "x" TO FILE "/faults/{!GET('n')}.txt"
		SET "n" AS (!SESSION('n') DEFAULT 0) + 1 OF !SESSION
		INSERT INTO effects (job, n) VALUES (!GET('n'), ?i);
		IF ?i = 1 AND !GET('kind') = "asks" THEN CONFIRM "Go on?" END
		IF ?i = 1 AND !GET('kind') = "waits" THEN WAIT 3 SECONDS END
	END
	READ "/faults/{!GET('n')}.txt" AS TEXT SET ?log
	SELECT count(*) FROM effects WHERE job = !GET('n') SET VALUE ?rows
	EMIT "{?log} {=!SESSION('n')} {?rows}"`

// faultyNodes are nodes, each with a way of its own to PostgreSQL, that meet what machines and networks do.
type faultyNodes struct {
	t        *testing.T
	postgres *pgtest.Server
	bucket   *s3test.Server
	nodes    []*server
	links    []*link
}

// newFaultyNodes starts nodes on a PostgreSQL of their own: unlike that of other tests it keeps what it has committed when it
// is killed.
func newFaultyNodes(t *testing.T) *faultyNodes {
	t.Helper()
	postgres, err := pgtest.RunClock("fsync=off", "shared_buffers=16MB", "max_connections=200")
	check(t, err)
	t.Cleanup(func() { check(t, postgres.Stop()) })
	check(t, postgres.Exec(t.Context(), "postgres", "CREATE DATABASE faults"))
	f := &faultyNodes{t: t, postgres: postgres, bucket: s3test.Start(t)}
	t.Setenv("QL_BLOBS", f.bucket.URL("ql"))
	for i := range 3 {
		way, database := newLink(t, postgres.URL("faults"))
		f.links = append(f.links, way)
		if i == 0 {
			t.Setenv("QL_DATABASE", database)
			f.nodes = append(f.nodes, newServer(t))
			f.nodes[0].flags = []string{"--node-listen", "127.0.0.1:0"}
		} else {
			f.nodes = append(f.nodes, newNode(t, f.nodes[0]))
		}
		f.nodes[i].flags = append(f.nodes[i].flags, "--database", database)
		f.nodes[i].start()
	}
	return f
}

// ask sends a request to one node after another until it is answered by one of some statuses.
func (f *faultyNodes) ask(first int, r request, fits func(answer) bool) (answer, error) {
	for deadline, i := time.Now().Add(patience), first; ; i++ {
		a, err := f.nodes[i%len(f.nodes)].try(r)
		if err == nil && fits(a) {
			return a, nil
		}
		if time.Now().After(deadline) || f.t.Context().Err() != nil {
			return a, fmt.Errorf("%s %s is not answered: %s, %w", r.method, r.path, a, err)
		}
		<-time.After(50 * time.Millisecond)
	}
}

// The faults that one node meets, or all.
func (f *faultyNodes) kill(i int) {
	f.nodes[i].kill()
	f.nodes[i].start()
}

func (f *faultyNodes) freeze(i int, lasts time.Duration) {
	check(f.t, f.nodes[i].process.Process.Signal(syscall.SIGSTOP))
	<-time.After(lasts)
	check(f.t, f.nodes[i].process.Process.Signal(syscall.SIGCONT))
}

func (f *faultyNodes) cut(i int, lasts time.Duration) {
	turn := f.links[i].cut
	if rand.IntN(2) == 0 {
		turn = f.links[i].stand
	}
	turn(true)
	<-time.After(lasts)
	turn(false)
}

func (f *faultyNodes) outage(lasts time.Duration) {
	f.bucket.Stop()
	<-time.After(lasts)
	f.bucket.Launch()
}

// createAccount makes an account. The command gives up where a busy machine has PostgreSQL answer late, and is given again.
func (f *faultyNodes) createAccount(owner string) {
	f.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		c := exec.CommandContext(f.t.Context(), programtest.Path, "account", "create", "--data", f.nodes[0].data, "--username", owner, "--plan", "unlimited", "--password-stdin")
		c.Stdin = strings.NewReader(password)
		out, err := c.CombinedOutput()
		if a, failed := f.nodes[0].try(queryOf(owner, "sync", "EMIT 1")); failed == nil && a.status == http.StatusOK {
			return
		}
		if time.Now().After(deadline) {
			f.t.Fatalf("making an account: %v\n%s", err, out)
		}
	}
}

// createEffects makes what an account's jobs have effects on.
func (f *faultyNodes) createEffects(owner string) {
	f.t.Helper()
	awaitOf(f.t, owner, f.nodes[len(owner)%3], `CREATE TABLE effects (job TEXT, n INTEGER); CREATE INDEX effects_by_job ON effects (job);`)
}

// TestPromiseFaultyNodes has three nodes meet what machines, networks and clocks do.
func TestPromiseFaultyNodes(t *testing.T) {
	f := newFaultyNodes(t)
	f.createEffects(username)
	t.Run("clock", func(t *testing.T) { checkWrongClock(t, f) })
	t.Run("rotations", func(t *testing.T) { checkRotations(t, f) })
	t.Run("faults", func(t *testing.T) { checkFaults(t, f) })
	for _, s := range f.nodes {
		s.stop()
	}
}

// checkFaults has three nodes run jobs with effects on files, sessions and databases, while nodes are killed, stand still
// for longer than they are waited for and are cut off, PostgreSQL is started again, and the bucket is away. Each
// job that was accepted ends, and each of its effects is there once.
func checkFaults(t *testing.T, f *faultyNodes) {
	var faults []func()
	add := func(n int, fault func()) {
		for range n {
			faults = append(faults, fault)
		}
	}
	add(count(1, 60), func() { f.kill(rand.IntN(3)) })
	add(count(1, 40), func() { f.freeze(rand.IntN(3), time.Second+rand.N(9*time.Second)) })
	add(count(1, 5), func() { check(t, f.postgres.Restart()) })
	add(count(1, 20), func() { f.cut(rand.IntN(3), rand.N(8*time.Second)) })
	add(count(1, 5), func() { f.outage(rand.N(5 * time.Second)) })
	rand.Shuffle(len(faults), func(i, j int) { faults[i], faults[j] = faults[j], faults[i] })

	// All changes of an account's databases are made one after the other, by one node.
	owners := []string{username}
	for i := range count(2, 10) {
		owner := username + strings.Repeat("a", i+1)
		f.createAccount(owner)
		f.createEffects(owner)
		owners = append(owners, owner)
	}
	// Of ten jobs three have many effects, one asks and one waits.
	const asks, waits = 3, 4
	jobs, rounds := count(30, 20_000), count(4, 7) // each round has three effects
	roundsOf := func(i int) int {
		switch kind := i % 10; {
		case kind < asks:
			return rounds
		case kind <= waits:
			return 2
		}
		return 1
	}
	var over atomic.Bool
	var submitted atomic.Int64
	ids := make([]string, jobs)
	var clients sync.WaitGroup
	const workers = 8
	began := time.Now()
	for w := range workers {
		clients.Go(func() {
			for i := w; i < jobs; i += workers {
				kind := map[int]string{asks: "asks", waits: "waits"}[i%10]
				r := queryOf(owners[i%len(owners)], "async", effectScript, "n", strconv.Itoa(i), "kind", kind, "rounds", strconv.Itoa(roundsOf(i)))
				r.key = "job-" + strconv.Itoa(i)
				a, err := f.ask(i, r, func(a answer) bool { return a.status == http.StatusAccepted })
				if err != nil {
					t.Error(err)
					return
				}
				j, err := a.job()
				if err != nil {
					t.Error(err)
					return
				}
				ids[i] = j.ID
				submitted.Add(1)
				// So that jobs begin as long as there are faults.
				for share := int64(jobs) * 9 / 10; !over.Load() && submitted.Load() > share; {
					<-time.After(50 * time.Millisecond)
				}
			}
		})
	}
	for n, fault := range faults {
		if t.Failed() {
			break
		}
		fault()
		if n < len(faults)-1 {
			<-time.After(rand.N(time.Second))
		}
	}
	over.Store(true)
	t.Logf("%d faults were over after %v", len(faults), time.Since(began))
	clients.Wait()
	if t.Failed() {
		return
	}
	t.Logf("%d jobs were submitted after %v", jobs, time.Since(began))
	// Those that are left stand in one line, each with a moment of its own.
	within := patience + time.Duration(jobs)*100*time.Millisecond
	atOnce(jobs, func(i int) {
		if i%10 != asks || t.Failed() {
			return
		}
		if _, err := f.nodes[i%3].awaitWithin(within, ids[i], "paused"); err != nil {
			t.Errorf("job %d: %v", i, err)
		} else if a, err := f.nodes[(i+1)%3].confirm(ids[i], `{"approved":true}`, "?wait=0"); err != nil || a.status/100 != 2 {
			t.Errorf("job %d: %s, %v", i, a, err)
		}
	})
	t.Logf("all questions were answered after %v", time.Since(began))
	atOnce(jobs, func(i int) {
		if t.Failed() {
			return
		}
		j, err := f.nodes[(i+2)%3].awaitWithin(within, ids[i], "complete")
		if err != nil {
			t.Errorf("job %d: %v", i, err)
		} else if n := roundsOf(i); j.Result != fmt.Sprintf("%s %d %d", strings.Repeat("x", n), n, n) {
			t.Errorf("job %d left %q, of %d rounds", i, j.Result, n)
		}
	})
	t.Logf("all jobs had ended after %v", time.Since(began))
}

// checkWrongClock has the clock of PostgreSQL jump by an hour, there and back: no node is taken for dead, what waits for
// a time waits for that of its node, each effect is there once, and a key that was revoked opens nothing.
func checkWrongClock(t *testing.T, f *faultyNodes) {
	job := 0
	for jump := range count(1, 20) {
		var ids []string
		submit := func() {
			ids = append(ids, f.nodes[job%3].submit(effectScript, "n", "clock-"+strconv.Itoa(job), "kind", []string{"", "waits"}[job%2], "rounds", "2"))
			job++
		}
		for range 6 {
			submit()
		}
		check(t, f.postgres.SetClock([]time.Duration{time.Hour, -time.Hour, 0}[jump%3]))
		for range 6 {
			submit()
		}
		name := "key" + strconv.Itoa(jump)
		var made struct{ Key string }
		f.nodes[jump%3].mustCall(request{method: http.MethodPost, path: "/v1/keys", body: fmt.Appendf(nil, `{"name": %q, "scopes": ["jobs"]}`, name), owner: true}, &made)
		for _, s := range f.nodes {
			s.mustCall(request{method: http.MethodGet, path: "/v1/jobs?limit=1", bearer: made.Key}, nil)
		}
		f.nodes[(jump+1)%3].mustCall(request{method: http.MethodDelete, path: "/v1/keys/" + name, owner: true}, nil)
		for n, s := range f.nodes {
			if a, err := s.call(request{method: http.MethodGet, path: "/v1/jobs?limit=1", bearer: made.Key}); err != nil || a.status != http.StatusUnauthorized {
				t.Errorf("after its end the key is answered by node %d with %s, %v", n+1, a, err)
			}
		}
		for i, id := range ids {
			if j := f.nodes[(i+1)%3].mustAwait(id, "complete"); j.Result != "xx 2 2" {
				t.Errorf("a job left %q", j.Result)
			}
		}
	}
	for n, s := range f.nodes {
		if said := s.said(); strings.Contains(said, "dead") {
			t.Errorf("node %d: %s", n+1, said)
		}
	}
	check(t, f.postgres.SetClock(0))
}
