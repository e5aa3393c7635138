package crashtest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ql/internal/programtest"
	"ql/internal/store/blob/s3/s3test"
	"ql/internal/store/postgres/pgtest"
)

// anywhere runs commands on a machine that has nothing of a service but its master key, in a folder that is empty.
type anywhere struct {
	t      *testing.T
	folder string
	flags  []string
}

// run runs a command, which must say something: where it begins with "!", as its error.
func (a anywhere) run(want, input string, arguments ...string) string {
	a.t.Helper()
	c := exec.CommandContext(a.t.Context(), programtest.Path, append(arguments, a.flags...)...)
	c.Dir, c.Stdin = a.folder, strings.NewReader(input)
	out, err := c.CombinedOutput()
	want, fails := strings.CutPrefix(want, "!")
	if (err != nil) != fails || !strings.Contains(string(out), want) {
		a.t.Errorf("ql %s: %v\n%s\nwant %q", strings.Join(arguments, " "), err, out, want)
	}
	return string(out)
}

// also is run of what takes the same way as others that are run, at the counts that are promised alone.
func (a anywhere) also(want, input string, arguments ...string) {
	a.t.Helper()
	if programtest.Promised() {
		a.run(want, input, arguments...)
	}
}

// TestCommandsAnywhere: commands need a database, a bucket and the master key, and no data folder. Those that do say so.
func TestCommandsAnywhere(t *testing.T) {
	url, bucket := pgtest.Start(t).Empty(t), s3test.Start(t)
	t.Setenv("QL_DATABASE", url)
	t.Setenv("QL_BLOBS", bucket.URL("ql"))
	s := newServer(t)
	s.start()
	done := s.submit(`CREATE TABLE t (n INTEGER); WRITE REPEAT("x", 100000) TO "/large.txt" EMIT "done"`)
	s.mustAwait(done, "complete")
	paused := s.submit(`CONFIRM "Go on?"`)
	s.mustAwait(paused, "paused")

	key, err := os.ReadFile(filepath.Join(s.data, "master.key"))
	check(t, err)
	own := filepath.Join(t.TempDir(), "master.key")
	check(t, os.WriteFile(own, key, 0o600))
	// What a flag says is heard, and not only what the environment does.
	t.Setenv("QL_DATABASE", "")
	t.Setenv("QL_BLOBS", "")
	check(t, os.Unsetenv("QL_DATABASE"))
	check(t, os.Unsetenv("QL_BLOBS"))
	here := t.TempDir()
	ql := anywhere{t, here, []string{"--database", url, "--blobs", bucket.URL("ql"), "--master-key-file", own}}

	ql.run("bob", password, "account", "create", "--username", "bob", "--password-stdin")
	ql.also("bob", "", "account", "list")
	ql.also("ada", "", "account", "show", "ada")
	ql.run("117.7 KiB", "", "account", "quota", "ada")
	ql.also("", "", "account", "set-plan", "bob", "free")
	ql.also("", "", "account", "set-limit", "bob", "storage_bytes", "1 MiB")
	ql.also("", "", "account", "rotate-key", "bob")
	ql.run("", "the secret", "account", "secret", "set", "ada", "TOKEN")
	ql.also("TOKEN", "", "account", "secret", "list", "ada")
	ql.also("", "", "account", "domains", "list", "ada")
	ql.also("https://ql.example.com/", "", "account", "invite", "--base-url", "https://ql.example.com")
	ql.also("whsec_", "", "account", "webhook-secret", "ada")
	ql.run("", "EMIT 42", "script", "publish", "ada", "answer", "-")
	ql.also("answer", "", "script", "list", "ada")
	ql.also("", "", "script", "remove", "ada", "answer")
	var made struct{ Key string }
	check(t, json.Unmarshal([]byte(ql.run("", "", "key", "create", "ada", "ci", "--scope", "jobs", "--json")), &made))
	if a, err := s.call(request{method: "GET", path: "/v1/jobs", bearer: made.Key}); err != nil || a.status != 200 {
		t.Errorf("the key that was made elsewhere: %s, %v", a, err)
	}
	ql.also("ci", "", "key", "list", "ada")
	ql.run("", "", "key", "revoke", "ada", "ci")
	if a, err := s.call(request{method: "GET", path: "/v1/jobs", bearer: made.Key}); err != nil || a.status != 401 {
		t.Errorf("the key that was revoked elsewhere: %s, %v", a, err)
	}
	ql.also("", "", "machine", "list", "ada")
	ql.also("", "", "audit", "list", "ada")
	ql.run("", "", "audit", "verify", "ada")
	ql.run(done, "", "job", "list", "ada")
	ql.also("complete", "", "job", "show", done)
	ql.run("", "", "job", "replay", "--check", done)
	ql.run("", "", "job", "cancel", paused)
	s.mustAwait(paused, "cancelled")
	ql.run("", "", "mail", "list", "ada")
	ql.also("", "", "webhook", "list", "ada")
	ql.also("", "", "site", "releases", "ada")
	ql.also("", "", "site", "domain", "list", "ada")
	ql.also("", "", "share", "list", "ada")
	ql.run("large.txt", "", "files", "list", "ada")
	if got := ql.run("xxx", "", "files", "get", "ada", "/large.txt"); len(got) != 100_000 {
		t.Errorf("the file has %d bytes", len(got))
	}
	sent := filepath.Join(t.TempDir(), "sent")
	check(t, os.WriteFile(sent, []byte(strings.Repeat("y", 200_000)), 0o600))
	ql.run("", "", "files", "put", "ada", "/sent.txt", sent)
	if got := s.output(`READ "/sent.txt" AS TEXT SET ?text EMIT LENGTH(?text)`); got != "200000" {
		t.Errorf("the file that was sent has %s bytes", got)
	}
	ql.also("", "", "files", "remove", "ada", "/large.txt")
	ql.run("alive", "", "cluster", "status")
	ql.run("", "", "account", "delete", "bob")

	ql.run("!use its dashboard, or /v1/databases", "", "db", "list", "ada")
	ql.run("!where the first node has its data folder", "", "master-key", "rotate")
	ql.run("!ql backup cannot copy yet", "", "backup", filepath.Join(t.TempDir(), "copy"))
	wrong := anywhere{t, here, []string{"--database", url, "--blobs", bucket.URL("other"), "--master-key-file", own}}
	wrong.run("!in another bucket", "", "files", "list", "ada")
	without := anywhere{t, here, []string{"--database", url, "--master-key-file", own}}
	without.run("!say where by --blobs", "", "files", "list", "ada")
	keyless := anywhere{t, here, []string{"--database", url}}
	keyless.run("!name it by --master-key-file", "", "account", "list")
	fresh := anywhere{t, here, []string{"--database", pgtest.Start(t).Empty(t), "--master-key-file", own}}
	fresh.run("!has no accounts yet", "", "account", "list")
	fresh.run("eve", password, "account", "create", "--username", "eve", "--password-stdin")
	fresh.run("eve", "", "account", "list")
	fresh.run("!in the data folder of its server", "", "files", "list", "eve")
	left, err := os.ReadDir(here)
	check(t, err)
	if len(left) > 0 {
		t.Errorf("the commands left %v", left)
	}
	s.stop()
}
