package crashtest

import (
	"archive/zip"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ql/internal/account"
	"ql/internal/programtest"
	"ql/lang"
	"ql/lang/bytecode"
	"ql/lang/value"
	"ql/lang/vm"
)

var makeGolden = flag.Bool("make-golden", false, "make the newest of testdata anew; such data must go on to be read as long as anybody may have such")

// golden is the folder of one version: the data folder of a server that was
// killed, packed, the jobs in it, and what one of them answers; and a program
// with a stored machine.
type golden string

const thisVersion golden = "testdata/v4"

func (g golden) data() string     { return filepath.Join(string(g), "data.zip") }
func (g golden) settings() string { return filepath.Join(string(g), "settings.toml") }
func (g golden) jobs() string     { return filepath.Join(string(g), "jobs.json") }
func (g golden) finished() string { return filepath.Join(string(g), "finished.json") }
func (g golden) program() string  { return filepath.Join(string(g), "program.bin") }
func (g golden) snapshot() string { return filepath.Join(string(g), "snapshot.bin") }

// Nothing in the data may be over before somebody reads it.
const goldenSettings = `[plans.unlimited]
pause = "800000h"
jobs_kept = "800000h"
`

// goldenJobs are the ids of the jobs, by what became of them.
type goldenJobs struct {
	Gather, Confirm, Wait, Finished, Cut string
	Ended                                string // in the intake alone; from v2 on
	// Account says that the account has a secret, a domain and a published script; from
	// v3 on.
	Account bool
	History bool // histories were kept; from v4 on
}

// What an account of v3 and later has besides files and databases.
const (
	goldenSecret    = "a secret of v3"
	goldenDomain    = "shop.example.com"
	goldenPublished = "greeting"
	goldenScript    = `EMIT "hello"`
)

const askingLibrary = `
	DEFINE ask(?names)
		SET ?all AS []
		FOR ?i, ?name IN ?names DO
			TRY
				GATHER "Who is {?name}?" FIELDS age INTEGER REQUIRED MIN 1, note TEXT SET ?form
				IF ?form.age > 100 THEN
					FAIL "too old" CODE "too_old"
				END
				APPEND "{?i}:{?name}:{?form.age}" TO ?all
			CATCH ?e
				APPEND "{?i}:{?name}:{?e.code}" TO ?all
			END
		END
		RETURN ?all
	END`

// TestGoldenData starts the server on the data folders of all versions, in
// which jobs stand at questions, wait, are finished, and were cut off by a kill:
// they go on as if nothing had happened.
func TestGoldenData(t *testing.T) {
	if *makeGolden {
		thisVersion.make(t)
	}
	versions, err := filepath.Glob("testdata/v*")
	check(t, err)
	if len(versions) == 0 {
		t.Fatal("there is no golden data")
	}
	for _, version := range versions {
		t.Run(filepath.Base(version), func(t *testing.T) {
			g := golden(version)
			t.Run("data", g.testData)
			t.Run("snapshot", g.testSnapshot)
		})
	}
}

func (g golden) testData(t *testing.T) {
	data := t.TempDir()
	unpack(t, g.data(), data)
	var jobs goldenJobs
	text, err := os.ReadFile(g.jobs())
	check(t, err)
	check(t, json.Unmarshal(text, &jobs))
	s := newServerOn(t, data)
	s.flags = []string{"--config", g.settings()}
	s.start()

	finished, err := os.ReadFile(g.finished())
	check(t, err)
	a, err := s.call(request{method: http.MethodGet, path: "/v1/job/" + jobs.Finished})
	check(t, err)
	if string(a.body) != string(finished) {
		t.Errorf("the finished job is shown as\n%s\nand was\n%s", a.body, finished)
	}
	wantResult := func(id, want string) {
		t.Helper()
		if j := s.mustAwait(id, "complete"); j.Result != want {
			t.Errorf("the job gave %q, want %q", j.Result, want)
		}
	}
	wantResult(jobs.Cut, "true x 1")
	if jobs.Ended != "" {
		wantResult(jobs.Ended, endedResult)
	}
	s.testNamedKey() // while all jobs are of that version
	if jobs.Account {
		s.testAccount()
	}
	wantResult(jobs.Wait, "before 1 after 2")

	if j := s.mustAwait(jobs.Confirm, "paused"); j.Result != "asking " || j.Prompt == nil || j.Prompt.Message != "Go on with 3 rows?" {
		t.Errorf("the job at CONFIRM is shown as %+v", j)
	}
	reply(t, s, jobs.Confirm, `{"approved":true}`)
	wantResult(jobs.Confirm, "asking true 65537")

	for _, r := range []struct{ message, reply string }{
		{"Who is Ada?", `{"fields":{"age":36}}`}, {"Who is Methuselah?", `{"fields":{"age":969,"note":"old"}}`}, {"Who is Cy?", `{"fields":{"age":"7"}}`},
	} {
		if j := s.mustAwait(jobs.Gather, "paused"); j.Prompt == nil || j.Prompt.Kind != "gather" || j.Prompt.Message != r.message {
			t.Fatalf("the job at GATHER is shown as %+v", j)
		}
		reply(t, s, jobs.Gather, r.reply)
	}
	wantResult(jobs.Gather, `asked ["0:Ada:36","1:Methuselah:too_old","2:Cy:7"]`)
	if got := s.output(`EMIT !ACCOUNT("username")`); got != username {
		t.Errorf("the account is %q", got)
	}
	s.command("", "audit", "verify", username)
	for _, id := range []string{jobs.Confirm, jobs.Gather} { // those of before histories were kept cannot be replayed
		if jobs.History {
			s.command("", "job", "replay", id, "--check")
		}
	}
}

// testAccount looks at what makeAccount made.
func (s *server) testAccount() {
	s.t.Helper()
	if got := s.output(`EMIT !SECRET("token")`); got != goldenSecret {
		s.t.Errorf("the secret is %q", got)
	}
	if got := s.command("", "account", "domains", "list", username); !strings.Contains(got, goldenDomain) {
		s.t.Errorf("the domains are\n%s", got)
	}
	if got := s.command("", "account", "published", username); !strings.Contains(got, goldenPublished) {
		s.t.Errorf("the published scripts are\n%s", got)
	}
	// Of a script that was published before texts were stored there is its hash.
	for script, status := range map[string]int{goldenScript: http.StatusOK, goldenScript + "\r\n": http.StatusOK, goldenScript + " ": http.StatusForbidden} {
		body, err := json.Marshal(map[string]string{"query": script})
		check(s.t, err)
		a, err := s.try(request{method: http.MethodPost, path: "/v1/query", body: body, origin: "https://" + goldenDomain})
		check(s.t, err)
		if a.status != status {
			s.t.Errorf("a page that sends %q gets %s", script, a)
		}
	}
}

// testNamedKey makes a key, which no earlier version has, and lists by it the jobs of earlier versions.
func (s *server) testNamedKey() {
	s.t.Helper()
	var made struct{ Key string }
	check(s.t, json.Unmarshal([]byte(s.command("", "key", "create", username, "upgraded", "--scope", "jobs", "--json")), &made))
	a, err := s.call(request{method: http.MethodGet, path: "/v1/jobs", bearer: made.Key})
	check(s.t, err)
	var list struct {
		Jobs []struct{ By, Key, Program *string }
	}
	check(s.t, json.Unmarshal(a.body, &list))
	if a.status != http.StatusOK || len(list.Jobs) == 0 {
		s.t.Fatalf("the key lists %s", a)
	}
	for _, j := range list.Jobs {
		if j.By == nil || *j.By != "password" || j.Key != nil || j.Program != nil {
			s.t.Errorf("a job of an earlier version was started so: %s", a.body)
		}
	}
	s.command("", "key", "revoke", username, "upgraded")
	if a, err := s.call(request{method: http.MethodGet, path: "/v1/jobs", bearer: made.Key}); err != nil || a.status != http.StatusUnauthorized {
		s.t.Errorf("after its end: %s, %v", a, err)
	}
}

func (s *server) makeAccount() {
	s.t.Helper()
	s.command(goldenSecret, "account", "secret", "set", username, "token")
	s.command("", "account", "domains", "add", username, goldenDomain, "--published-only")
	s.command(goldenScript, "account", "publish", username, goldenPublished, "-")
}

// command runs an operator's command beside the server, and returns what it prints.
func (s *server) command(input string, arguments ...string) string {
	s.t.Helper()
	c := exec.CommandContext(s.t.Context(), programtest.Path, append(arguments, "--data", s.data)...)
	c.Stdin = strings.NewReader(input)
	out, err := c.CombinedOutput()
	if err != nil {
		s.t.Fatalf("ql %v: %v\n%s", arguments, err, out)
	}
	return string(out)
}

func reply(t *testing.T, s *server, id, body string) {
	t.Helper()
	if a, err := s.confirm(id, body, ""); err != nil || a.status != http.StatusOK {
		t.Fatalf("the reply %s: %s, %v", body, a, err)
	}
}

// testSnapshot goes on from a stored machine, without any store.
func (g golden) testSnapshot(t *testing.T) {
	code, err := os.ReadFile(g.program())
	check(t, err)
	snapshot, err := os.ReadFile(g.snapshot())
	check(t, err)
	p, err := bytecode.Decode(code)
	check(t, err)
	m, err := vm.Restore(t.Context(), nil, p, snapshot, []byte("asked "))
	check(t, err)
	for _, age := range []int64{36, 969, 7} {
		if got := m.Effect().Kind; got != bytecode.EffectGather {
			t.Fatalf("the machine stands at %v", got)
		}
		form := value.NewMap(nil, 0)
		form.SetText("age", value.Int(age))
		m.Resume(form.Value())
		m.Run(t.Context())
	}
	if got, want := string(m.Output()), `asked ["0:Ada:36","1:Methuselah:too_old","2:Cy:7"]`; got != want || m.Status() != vm.Done {
		t.Errorf("the machine is %v and gave %q, want %q", m.Status(), got, want)
	}
}

const askingScript = `EMIT "asked " EMIT ask(["Ada", "Methuselah", "Cy"])`

// make makes the files of a version.
func (g golden) make(t *testing.T) {
	check(t, os.RemoveAll(string(g)))
	check(t, os.MkdirAll(string(g), 0o700))
	check(t, os.WriteFile(g.settings(), []byte(goldenSettings), 0o600))
	g.makeSnapshot(t)

	s := newServer(t)
	s.flags = []string{"--config", g.settings()}
	s.start()
	s.makeAccount()
	jobs := goldenJobs{Account: true, History: true}
	s.output(`CREATE TABLE rows (n); INSERT INTO rows VALUES (1), (2), (3); CREATE TABLE cut (id);
		USE DATABASE "other" CREATE TABLE held (n);
		WRITE !GET('library') TO "/lib/ask.ql"
		WRITE REPEAT("x", 65537) TO "/large.txt"`, "library", askingLibrary)
	jobs.Finished = s.submit(`FOR ?i FROM 1 TO 3 DO EMIT LINE ?i END SET "status" AS 404 OF !RESPONSE EMIT 1 / 0`)
	s.mustAwait(jobs.Finished, "failed")
	a, err := s.call(request{method: http.MethodGet, path: "/v1/job/" + jobs.Finished})
	check(t, err)
	check(t, os.WriteFile(g.finished(), a.body, 0o600))
	jobs.Gather = s.submit(`INCLUDE "/lib/ask.ql" ` + askingScript)
	s.mustAwait(jobs.Gather, "paused")
	jobs.Confirm = s.submit(`
		EMIT "asking "
		SELECT count(*) FROM rows SET VALUE ?n
		CONFIRM "Go on with {?n} rows?" SET ?ok
		READ "/large.txt" AS TEXT SET ?large
		EMIT "{?ok} {=LENGTH(?large)}"`)
	s.mustAwait(jobs.Confirm, "paused")
	jobs.Wait = s.submit(`SET ?n AS 1 EMIT "before {?n} " WAIT 1 MINUTE SET ?n AS ?n + 1 EMIT "after {?n}"`)
	s.mustAwait(jobs.Wait, "waiting")
	jobs.Cut, jobs.Ended = g.cut(t, s)
	main := filepath.Join(s.data, "accounts", "1", "databases", "main.db")
	for sql, want := range map[string]int64{
		"SELECT count(*) FROM jobs WHERE state = 'paused'": 2, "SELECT count(*) FROM jobs WHERE state = 'waiting'": 1,
		"SELECT count(*) FROM jobs WHERE state = 'running'": 1, "SELECT count(*) > 0 FROM job_journal": 1,
		"SELECT count(*) FROM jobs WHERE result = CAST('" + endedResult + "' AS BLOB)": 0,
	} {
		if got := number(t, s.store(), sql); got != want {
			t.Fatalf("%s is %d, not %d", sql, got, want)
		}
	}
	if number(t, main, "SELECT count(*) FROM _ql_receipts WHERE step > 0") == 0 {
		t.Fatal("the job that was cut off left no receipt")
	}
	text, err := json.MarshalIndent(jobs, "", "\t")
	check(t, err)
	check(t, os.WriteFile(g.jobs(), append(text, '\n'), 0o600))

	check(t, filepath.WalkDir(s.data, func(path string, _ os.DirEntry, err error) error {
		if strings.HasSuffix(path, ".db") {
			execute(t, path, "PRAGMA wal_checkpoint(TRUNCATE)", "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)")
		}
		return err
	}))
	check(t, os.Remove(filepath.Join(s.data, "ql.lock")))
	pack(t, s.data, g.data())
}

// endedResult is that of a job which ended at once.
const endedResult = "over when it was accepted"

// cut kills the server in the middle of a job: it has changed a database and a
// file by then, and waits for another script to let go of another database. Another
// job has just ended, and is not stored yet.
func (g golden) cut(t *testing.T, s *server) (id, ended string) {
	go func() {
		_, _ = s.try(query("sync", `WRITE "x" TO "/holds.txt" USE DATABASE "other" TRANSACTION INSERT INTO held VALUES (0); WHILE true DO SET ?n AS 1 END END`)) // it gets no answer
	}()
	s.hasFile("/holds.txt")
	id = s.submit(`
		SET ?id AS UUID()
		INSERT INTO cut VALUES (?id);
		APPEND "x" TO FILE "/cut.txt"
		USE DATABASE "other"
		INSERT INTO held VALUES (1);
		SELECT count(*) FROM held SET VALUE ?held
		USE DATABASE "main"
		SELECT id FROM cut SET ?rows
		READ "/cut.txt" AS TEXT SET ?log
		EMIT "{=COLUMN(?rows, 'id') = [?id]} {?log} {?held}"`)
	s.hasFile("/cut.txt")
	ended = s.submit(`EMIT "` + endedResult + `"`)
	s.kill()
	return id, ended
}

// hasFile asks until a file holds an x.
func (s *server) hasFile(path string) {
	for s.output(`READ !GET('path') AS TEXT OPTIONAL SET ?text EMIT ?text DEFAULT ""`, "path", path) != "x" {
	}
}

func (g golden) makeSnapshot(t *testing.T) {
	p, err := lang.Compile(askingLibrary+"\n"+askingScript, lang.Options{})
	check(t, err)
	m := vm.New(p, account.Unlimited.Limits().AsyncMachine(), vm.Input{})
	if got := m.Run(t.Context()); got != vm.Pending {
		t.Fatalf("the machine is %v", got)
	}
	snapshot, err := m.Snapshot(t.Context(), nil)
	check(t, err)
	check(t, os.WriteFile(g.program(), bytecode.Encode(p), 0o600))
	check(t, os.WriteFile(g.snapshot(), snapshot, 0o600))
}

// pack makes an archive of a folder.
func pack(t *testing.T, folder, archive string) {
	t.Helper()
	f, err := os.Create(archive)
	check(t, err)
	w := zip.NewWriter(f)
	check(t, w.AddFS(os.DirFS(folder)))
	check(t, w.Close())
	check(t, f.Close())
}

// unpack makes the folder of an archive again. Its files are for nobody else, as
// the server wants it.
func unpack(t *testing.T, archive, folder string) {
	t.Helper()
	r, err := zip.OpenReader(archive)
	check(t, err)
	defer r.Close()
	check(t, os.CopyFS(folder, r))
	check(t, os.Chmod(filepath.Join(folder, "master.key"), 0o600))
}
