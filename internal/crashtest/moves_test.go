package crashtest

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ql/internal/programtest"
	"ql/internal/store/blob/s3/s3test"
	"ql/internal/store/postgres/pgtest"
)

// TestPromiseMove moves a service with jobs in all nine states, whose server was killed, to PostgreSQL and S3 and back to
// a data folder, with kills of the command on the way: all goes on at each place as it would have after a restart, and
// the place before refuses to serve.
func TestPromiseMove(t *testing.T) {
	s := newServer(t)
	s.start()
	m := prepareMove(t, s)
	s.kill()
	s.copyMoved(count(200, 100_000))

	bucket, url := s3test.Start(t), pgtest.Start(t).Empty(t)
	there := place{data: filepath.Join(t.TempDir(), "node"), flags: []string{"--database", url, "--blobs", bucket.URL("moved")}}
	middle := m.move(s, there, []string{"--from", s.data, "--to", url, "--to-data", there.data, "--to-blobs", bucket.URL("moved")})
	m.check(middle)
	m.goOn(middle)
	// It is moved while jobs run again.
	middle.kill()

	back := place{data: filepath.Join(t.TempDir(), "back")}
	last := m.move(middle, back, []string{"--from", url, "--from-data", there.data, "--from-blobs", bucket.URL("moved"), "--to", back.data})
	m.check(last)
	m.goOn(last)
	last.command("", "job", "cancel", m.running)
	last.mustAwait(m.running, "cancelled")
	last.stop()
	t.Logf("moved there and back under %d kills", m.kills)
}

// place is where a server is.
type place struct {
	data  string
	flags []string
}

// movedService is what a service has that is moved.
type movedService struct {
	t       *testing.T
	states  map[string]string // of jobs
	paused  []string          // jobs that are answered, one at each place
	running string
	kills   int
}

// prepareMove gives a service what is moved.
func prepareMove(t *testing.T, s *server) *movedService {
	t.Helper()
	m := &movedService{t: t, states: map[string]string{}}
	s.command("s3cret", "account", "secret", "set", username, "token")
	s.command(`EMIT "published"`, "account", "publish", username, "hello", "-")
	s.mustCall(request{method: http.MethodPut, path: "/v1/schedules/daily", body: []byte(`{"script": "hello", "cron": "0 4 * * *"}`), owner: true}, nil)
	s.output(`CREATE TABLE notes (text TEXT); INSERT INTO notes VALUES ('kept');`)
	large := strings.Repeat("0123456789abcdef", 1<<15)
	if a, err := s.call(request{method: http.MethodPut, path: "/v1/files/large.txt", body: []byte(large), owner: true}); err != nil || a.status != http.StatusCreated {
		t.Fatalf("%s, %v", a, err)
	}

	at := func(state, script string) string {
		t.Helper()
		id := s.submit(script)
		m.states[id] = state
		return id
	}
	at("complete", `START SESSION SET "n" AS 1 OF !SESSION EMIT "done"`)
	at("failed", `FAIL "no"`)
	declined := at("declined", `CONFIRM "Sure?"`)
	s.mustAwait(declined, "paused")
	reply(t, s, declined, `{"approved":false}`)
	at("expired", `CONFIRM "Soon?" WITHIN 0.01 SECONDS`)
	s.command("", "job", "cancel", at("cancelled", `WAIT 1 DAY`))
	at("waiting", `WAIT 1 DAY EMIT "late"`)
	for range 2 {
		m.paused = append(m.paused, at("paused", `WRITE "one" TO "/p.txt" CONFIRM "Go on?" SET ?ok INSERT INTO notes VALUES ('answered'); EMIT ?ok, !SECRET('token') <> ""`))
	}
	m.running = at("running", `FOR ?i FROM 1 TO 1000000000000 DO SET ?x AS ?i END`)
	// Of two with the same key the second one waits for the first.
	for _, state := range []string{"waiting", "accepted"} {
		body, err := json.Marshal(map[string]any{
			"auth": map[string]string{"username": username, "password": password}, "mode": "async", "query": `WAIT 1 DAY`,
			"options": map[string]any{"concurrency": map[string]any{"key": "k", "most": 1}},
		})
		check(t, err)
		a, err := s.call(request{method: http.MethodPost, path: "/v1/query", body: body})
		check(t, err)
		j, err := a.job()
		check(t, err)
		m.states[j.ID] = state
		s.mustAwait(j.ID, state)
	}
	for id, state := range m.states {
		s.mustAwait(id, wanted(state)...)
	}
	return m
}

// wanted are the states in which a job is shown.
func wanted(state string) []string {
	if state == "complete" {
		return []string{"ok", state}
	}
	return []string{state}
}

// copyMoved makes copies of the jobs that ended or are paused, until there are so many.
func (s *server) copyMoved(jobs int) {
	s.t.Helper()
	path := s.store()
	last := number(s.t, path, "SELECT max(seq) FROM jobs")
	columns := "account, state, mode, convention, credential, created, finished, steps, trace_dropped, error, response, trace, result, encoding, attempt, checksum, name"
	execute(s.t, path, fmt.Sprintf(`WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < %d),
		ended (seq, place) AS (SELECT seq, row_number() OVER () - 1 FROM jobs WHERE finished IS NOT NULL)
		INSERT INTO jobs (seq, id, %[2]s) SELECT %[3]d + n, randomblob(16), %[2]s FROM c JOIN ended ON ended.place = n %% (SELECT count(*) FROM ended) JOIN jobs USING (seq)`,
		jobs, columns, last))
}

// move moves the service of a server that does not run, and returns the server at the new place.
func (m *movedService) move(s *server, to place, flags []string) *server {
	t := m.t
	t.Helper()
	run := func(ctx context.Context) (string, error) {
		c := exec.CommandContext(ctx, programtest.Path, append([]string{"move"}, flags...)...)
		c.SysProcAttr = programtest.DieWithParent()
		out, err := c.CombinedOutput()
		return string(out), err
	}
	// The time that is there to be killed in is that of a whole move, which is not known: it grows until one ends.
	ended := false
	for n := range count(4, 25) {
		limit := time.Duration(50+rand.IntN(250*(n+1))) * time.Millisecond
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		out, err := run(ctx)
		killed := ctx.Err() != nil
		cancel()
		if err == nil {
			ended = true
			break
		}
		if !killed {
			t.Fatalf("ql move: %v\n%s", err, out)
		}
		m.kills++
	}
	// One that was killed may have moved all, too, and had only its end left.
	out, err := run(t.Context())
	before := strings.Contains(out, "all was moved before")
	if err != nil || !before && (ended || !strings.Contains(out, "moved and verified")) {
		t.Fatalf("ql move: %v\n%s", err, out)
	}
	refused := exec.CommandContext(t.Context(), programtest.Path, append([]string{"serve", "--listen", "127.0.0.1:0", "--data", s.data}, s.flags...)...)
	if out, err := refused.CombinedOutput(); err == nil || !strings.Contains(string(out), "was moved elsewhere") || !strings.Contains(string(out), "the way back is ql move --from ") {
		t.Errorf("the place that was left serves: %v\n%s", err, out)
	}
	next := newServerOn(t, to.data)
	next.flags = to.flags
	next.start()
	return next
}

// check looks for what was moved.
func (m *movedService) check(s *server) {
	m.t.Helper()
	for id, state := range m.states {
		s.mustAwait(id, wanted(state)...)
	}
	if got := s.output(`READ "/large.txt" AS TEXT SET ?text SELECT count(*) FROM notes SET VALUE ?n EMIT LENGTH(?text), ?n, !SECRET('token') <> ""`); !strings.HasPrefix(got, "524288") {
		m.t.Errorf("the file, the database and the secret: %s", got)
	}
	if a, err := s.call(request{method: http.MethodGet, path: "/v1/schedules/daily", owner: true}); err != nil || a.status != http.StatusOK {
		m.t.Errorf("the schedule: %s, %v", a, err)
	}
}

// goOn answers one of the paused jobs.
func (m *movedService) goOn(s *server) {
	m.t.Helper()
	id := m.paused[0]
	m.paused = m.paused[1:]
	reply(m.t, s, id, `{"approved":true}`)
	s.mustAwait(id, wanted("complete")...)
	m.states[id] = "complete"
}
