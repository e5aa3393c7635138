package crashtest

import (
	"encoding/json"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"ql/internal/programtest"
	"ql/internal/store/postgres/pgtest"
)

// TestDatabase goes the way of an account on PostgreSQL, through kills: it is made beside the server,
// its jobs pause, are answered, and go on where they were, their effects on files, sessions and
// databases are exact, and a limit holds as soon as it is set.
func TestDatabase(t *testing.T) {
	t.Setenv("QL_DATABASE", pgtest.Start(t).Empty(t))
	s := newServer(t)
	s.start()

	paused := s.submit(`WRITE "one" TO "/paused.txt" CONFIRM "Go on?" SET ?ok APPEND ", two" TO FILE "/paused.txt" READ "/paused.txt" AS TEXT SET ?text EMIT "{?ok} {?text}"`)
	s.mustAwait(paused, "paused")
	s.kill()
	s.start()
	if j := s.mustAwait(paused, "paused"); j.ID != paused {
		t.Errorf("the job came back as %+v", j)
	}
	a, err := s.confirm(paused, `{"approved":true}`, "")
	check(t, err)
	if j, err := a.job(); err != nil || j.Result != "true one, two" {
		t.Errorf("it was answered with %s, %v", a, err)
	}
	// Another answer changes nothing.
	if a, err = s.confirm(paused, `{"approved":true}`, ""); err != nil || a.status == http.StatusServiceUnavailable {
		t.Errorf("a second answer: %s, %v", a, err)
	}

	s.output(`CREATE TABLE steps (job TEXT, n INTEGER); CREATE TABLE counters (job TEXT PRIMARY KEY, n INTEGER);`)
	jobs := count(6, 100)
	s.runStepsKilling(0, jobs, func() time.Duration {
		if s.kills.Load() < int64(count(4, 40)) {
			return 400 * time.Millisecond
		}
		return time.Hour
	})

	var q struct{ Storage, Calls struct{ Used int64 } }
	check(t, json.Unmarshal([]byte(s.command("", "account", "quota", username, "--json")), &q))
	if q.Calls.Used < int64(jobs) || q.Storage.Used == 0 {
		t.Errorf("the quota shows %+v", q)
	}
	s.command("", "account", "set-limit", username, "storage_bytes", "1 MiB")
	a, err = s.call(query("sync", `WRITE REPEAT("x", 2000000) TO "/large.txt"`))
	check(t, err)
	if !strings.Contains(string(a.body), "storage") {
		t.Errorf("beyond the limit: %s", a)
	}
	s.command(password+"r\n", "account", "set-password", username)
	if a, err = s.try(request{method: http.MethodGet, path: "/v1/jobs", owner: true}); err != nil || a.status != http.StatusUnauthorized {
		t.Errorf("the old password is answered with %s, %v", a, err)
	}
	s.stop()
}

// TestDatabaseHasOneFolder: a second server cannot use a database, nor one without it the data folder.
func TestDatabaseHasOneFolder(t *testing.T) {
	url := pgtest.Start(t).Empty(t)
	create := func(want, name string, flags ...string) {
		t.Helper()
		c := exec.CommandContext(t.Context(), programtest.Path, append([]string{"account", "create", "--username", name, "--password-stdin"}, flags...)...)
		c.Stdin = strings.NewReader(password)
		out, err := c.CombinedOutput()
		if (err == nil) != (want == "") || !strings.Contains(string(out), want) {
			t.Errorf("%v: %v\n%s\nwant %q", flags, err, out, want)
		}
	}
	data, other := t.TempDir(), t.TempDir()
	create("", "ada", "--data", data, "--database", url)
	create("", "bob", "--data", data, "--database", url)
	create("name it by --master-key-file", "eve", "--data", other, "--database", url)
	create("is in a database elsewhere", "eve", "--data", data)
	create("", "ada", "--data", other)
	create("has a store of its own", "eve", "--data", other, "--database", pgtest.Start(t).Empty(t))
	create("must be like postgres://", "eve", "--data", data, "--database", "mysql://host/db")
	create("the storage cannot be used", "eve", "--data", data, "--database", "postgres:///nothing?host="+t.TempDir())
}
