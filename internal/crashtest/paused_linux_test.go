package crashtest

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestPromisePausedJobsCostNothing starts the server on very many paused jobs:
// they take no memory, and one is resumed at once.
//
// A few of the jobs come in as any do. The others are copies of their rows, made
// while the server is stopped, since a million calls would take an hour: they
// are found, listed and looked after like any, but cannot be resumed, as what is
// sealed of a job opens for that job alone.
func TestPromisePausedJobsCostNothing(t *testing.T) {
	const few, most = 20, 100 // jobs; MiB
	jobs := count(2_000, 1_000_000)
	s := newServer(t)
	s.start()
	ids := make([]string, few)
	for i := range ids {
		ids[i] = s.submit(`FOR ?i FROM 1 TO 3 DO EMIT "{?i} " END CONFIRM "Go on, {!GET('n')}?" SET ?ok EMIT ?ok`, "n", strconv.Itoa(i))
		s.mustAwait(ids[i], "paused")
	}
	s.stop()

	started, before := s.startAndMeasure(ids[0])
	t.Logf("%d paused jobs: started in %v, %d MiB", few, started, before)
	s.stop()

	began := time.Now()
	s.copyPaused(jobs)
	info, err := os.Stat(s.store())
	check(t, err)
	t.Logf("%d paused jobs were made in %.1f s: a store of %d MiB", jobs, time.Since(began).Seconds(), info.Size()>>20)
	started, after := s.startAndMeasure(ids[1])
	t.Logf("%d paused jobs: started in %v, %d MiB", jobs, started, after)
	if after-before > most {
		t.Errorf("%d paused jobs take %d MiB more than %d: at most %d is promised", jobs, after-before, few, most)
	}
	if n := s.listed("paused"); n != min(500, jobs) {
		t.Errorf("a page of the list has %d paused jobs", n)
	}
	for _, id := range ids[2:6] {
		began := time.Now()
		reply, err := s.confirm(id, `{"approved":true}`, "")
		took := time.Since(began)
		check(t, err)
		if j, err := reply.job(); err != nil || reply.status != http.StatusOK || j.Result != "1 2 3 true" {
			t.Errorf("a job was resumed as %s, %v", reply, err)
		}
		t.Logf("one of them was resumed, and done, in %v", took.Round(10*time.Microsecond))
	}
}

// startAndMeasure starts the server, resumes one job, and returns how long the
// start took and how many MiB the server has then.
func (s *server) startAndMeasure(id string) (started time.Duration, resident int) {
	s.t.Helper()
	began := time.Now()
	s.start()
	started = time.Since(began).Round(time.Millisecond)
	a, err := s.confirm(id, `{"approved":false}`, "")
	check(s.t, err)
	if j, err := a.job(); err != nil || j.Result != "1 2 3 false" {
		s.t.Errorf("a job was resumed as %s, %v", a, err)
	}
	return started, s.resident()
}

// resident returns how many MiB of memory the server has.
func (s *server) resident() int {
	s.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.process.Process.Pid))
	check(s.t, err)
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmRSS:" {
			kib, err := strconv.Atoi(fields[1])
			check(s.t, err)
			return kib >> 10
		}
	}
	s.t.Fatal("the process tells no VmRSS")
	return 0
}

// copyPaused makes copies of the paused jobs until there are so many.
func (s *server) copyPaused(jobs int) {
	s.t.Helper()
	path := s.store()
	columns := "account, state, mode, convention, credential, created, steps, trace_dropped, result, encoding, attempt, due, stopping, failures, ran, program, task"
	there := number(s.t, path, "SELECT count(*) FROM jobs WHERE state = 'paused'")
	first := number(s.t, path, "SELECT min(seq) FROM jobs WHERE state = 'paused'")
	last := number(s.t, path, "SELECT max(seq) FROM jobs")
	execute(s.t, path,
		"PRAGMA journal_mode=MEMORY", "PRAGMA synchronous=OFF", "PRAGMA cache_size=-500000", "BEGIN",
		fmt.Sprintf(`WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < %d)
			INSERT INTO jobs (seq, id, %[2]s) SELECT %[3]d + n, randomblob(16), %[2]s FROM c JOIN jobs WHERE seq = %[4]d`,
			int64(jobs)-there, columns, last, first),
		fmt.Sprintf(`INSERT INTO job_snapshots SELECT j.seq, s.trace_dropped, s.response, s.trace, s.snapshot
			FROM jobs j JOIN job_snapshots s ON s.job = %d WHERE j.seq > %d`, first, last),
		fmt.Sprintf(`INSERT INTO job_output SELECT j.seq, o.start, o.output FROM jobs j JOIN job_output o ON o.job = %d WHERE j.seq > %d`, first, last),
		fmt.Sprintf(`INSERT INTO job_prompts (job, id, kind, token, sealed, expires, message, schema) SELECT j.seq, p.id, p.kind, randomblob(32), p.sealed, p.expires, p.message, p.schema
			FROM jobs j JOIN job_prompts p ON p.job = %d WHERE j.seq > %d`, first, last),
		fmt.Sprintf(`INSERT INTO questions (account, job, state, prompt, token, kind, audience, title, asked, expires)
			SELECT j.account, j.seq, 'open', p.id, p.token, p.kind, '', p.message, j.created, p.expires FROM jobs j JOIN job_prompts p ON p.job = j.seq WHERE j.seq > %d`, last),
		"COMMIT", "PRAGMA journal_mode=WAL",
	)
}
