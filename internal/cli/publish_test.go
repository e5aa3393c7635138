package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	accounts "ql/internal/account"
)

// TestPublishUnderSettings: a script is held to the limit that the operator's
// settings give the account's plan, be it narrower or wider than the usual one.
func TestPublishUnderSettings(t *testing.T) {
	b, data, store, _ := withAccount(t)
	must(t, store.Close())
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(b.folder, name)
		must(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	narrow := write("narrow.toml", "[plans.standard]\nscript_bytes = 5\n")
	wide := write("wide.toml", "[plans.standard]\nscript_bytes = '2 MiB'\nbody_bytes = '2 MiB'\n")
	short := write("short.ql", "EMIT 1")
	long := write("long.ql", "EMIT 1"+strings.Repeat(" ", maxScript))
	longer := write("longer.ql", "EMIT 1"+strings.Repeat(" ", 2<<20))

	publish := func(want int, file, settings string) string {
		t.Helper()
		return b.operate(t, data, want, "account", "publish", "ada", "top", file, "--config", settings)
	}
	wantLines(t, publish(exitFailed, short, narrow), "ql: the script has 6 bytes: the account's plan allows 5")
	if got := publish(exitOK, long, wide); !strings.HasPrefix(got, "top is published") {
		t.Errorf("got %s", got)
	}
	wantLines(t, publish(exitUsage, longer, wide), "ql: "+longer+": a script has at most 2 MiB")
	wantLines(t, publish(exitUsage, long, narrow), "ql: "+long+": a script has at most 1 MiB")
}

func TestScriptCommands(t *testing.T) {
	b, data, store, _ := withAccount(t)
	must(t, store.Close())
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(b.folder, name)
		must(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	run := func(want int, args ...string) string {
		t.Helper()
		return b.operate(t, data, want, append([]string{"script"}, args...)...)
	}
	one := write("one.ql", "INPUT FIELDS n INTEGER REQUIRED\nEMIT !INPUT.n")
	windows := write("windows.ql", "INPUT FIELDS n INTEGER REQUIRED\r\nEMIT !INPUT.n\r\n")
	two := write("two.ql", "EMIT 2")
	starts := func(got, want string) {
		t.Helper()
		if !strings.HasPrefix(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	starts(run(exitOK, "publish", "ada", "x", one), "x is published as version 1, for keys (SHA-256 ")
	starts(run(exitOK, "publish", "ada", "x", windows, "--callers", "anyone", "--method", "GET", "--method", "POST", "--secrets"), "x is published as version 1, for anyone (")
	starts(run(exitOK, "show", "ada", "x", "--json"), `{"name":"x","version":1,"callers":"anyone","methods":["GET","POST"],"secrets":true,"concurrency":null,"sha256":"`)
	for _, want := range []string{`"until":null,"schema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false},"versions":[{"version":1,`, `"text":"INPUT FIELDS n INTEGER REQUIRED\nEMIT !INPUT.n\n"}`} {
		if got := b.out.String(); !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	starts(run(exitOK, "publish", "ada", "x", two, "--keep", "7d"), "x is published as version 2, for keys (")
	got := run(exitOK, "show", "ada", "x")
	for _, want := range []string{"version    2\n", "earlier    version 1, answered until ", "\n\nEMIT 2\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("got\n%s, want %s", got, want)
		}
	}
	if got := run(exitOK, "show", "ada", "x@1"); !strings.HasSuffix(got, "\n\nINPUT FIELDS n INTEGER REQUIRED\nEMIT !INPUT.n\n") {
		t.Errorf("got %s", got)
	}
	starts(b.operate(t, data, exitOK, "account", "publish", "ada", "page", two), "page is published as version 1, for domains (")
	got = run(exitOK, "list", "ada")
	if lines := strings.Split(strings.TrimSpace(got), "\n"); len(lines) != 3 || !strings.HasPrefix(strings.Join(strings.Fields(lines[1]), " "), "page 1 domains all no ") ||
		!strings.HasPrefix(strings.Join(strings.Fields(lines[2]), " "), "x 2 keys all no ") {
		t.Errorf("got\n%s", got)
	}
	starts(run(exitOK, "list", "ada", "--json"), `{"scripts":[{"name":"page","version":1,"callers":"domains","methods":["GET","POST","PUT","PATCH","DELETE"],"secrets":false,`)

	wrong := write("wrong.ql", "EMIT ?a +\nEND\n")
	if got := run(exitUsage, "publish", "ada", "x", wrong); strings.Count(got, wrong+":") < 2 || !strings.Contains(got, "ql: nothing is published: the script has errors") {
		t.Errorf("got\n%s", got)
	}
	starts(run(exitUsage, "publish", "ada", "x", wrong, "--json"), `{"status":"failed","errors":[{"file":`)
	wantLines(t, run(exitUsage, "publish", "ada", "x", two, "--callers", "all"), `ql: callers: is "all": keys, domains or anyone fits`)
	wantLines(t, run(exitUsage, "publish", "ada", "x", two, "--method", "get"), `ql: methods: has "get": GET, POST, PUT, PATCH, DELETE fit`)
	wantLines(t, run(exitUsage, "publish", "ada", "x", two, "--keep", "31d"), `ql: --keep: "31d" is no time such as 24h, 7d or 0, and 30 days at most`)
	wantLines(t, run(exitUsage, "publish", "ada", "1", two), "ql: name: a name has 1 to 64 letters, digits, _, - and dots, and starts with a letter or _")
	wantLines(t, run(exitFailed, "show", "ada", "none"), `ql: the account has published no script "none"`)
	wantLines(t, run(exitOK, "remove", "ada", "x"), "x is published no more")
	wantLines(t, run(exitFailed, "remove", "ada", "x"), `ql: the account has published no script "x"`)
	wantLines(t, b.operate(t, data, exitOK, "account", "unpublish", "ada", "page"), "page is published no more")
}

// TestDevelopmentAccount: commands about the development account are under the limits of a service
// for others, and say by which flag they are under those of its developer's.
func TestDevelopmentAccount(t *testing.T) {
	b, data, store, _ := withAccount(t)
	_, err := store.Accounts().Create(t.Context(), accounts.Account{Username: accounts.Development, Plan: accounts.Free, Created: b.now})
	must(t, err)
	must(t, store.Close())
	const hint = " (where the service runs with --dev, say --dev here too)"
	wantLines(t, b.operate(t, data, exitUsage, "key", "create", "user_test", "z", "--scope", "run"), "ql: the development account has its credentials from the settings"+hint)
	if got := b.operate(t, data, exitOK, "key", "create", "user_test", "z", "--scope", "run", "--dev"); !strings.Contains(got, "qln_") {
		t.Errorf("got %s", got)
	}
	path := filepath.Join(b.folder, "one.ql")
	must(t, os.WriteFile(path, []byte("EMIT 1"), 0o600))
	most := accounts.Free.Limits().Published
	for i := range most {
		b.operate(t, data, exitOK, "script", "publish", "user_test", fmt.Sprintf("p%d", i), path)
	}
	wantLines(t, b.operate(t, data, exitFailed, "script", "publish", "user_test", "more", path),
		fmt.Sprintf("ql: the account has published %d scripts, which is as many as its plan allows: remove one first%s", most, hint))
	b.operate(t, data, exitOK, "script", "publish", "user_test", "more", path, "--dev")
	const note = "note: a service with --dev has other limits for the development account: say --dev here too to see them"
	for _, test := range []struct {
		noted bool
		args  []string
	}{{true, []string{"user_test"}}, {false, []string{"user_test", "--dev"}}, {false, []string{"ada"}}} {
		if got := b.operate(t, data, exitOK, append([]string{"account", "quota"}, test.args...)...); strings.Contains(got, note) != test.noted {
			t.Errorf("%v: %s", test.args, got)
		}
	}
	if got := b.operate(t, data, exitUsage, "key", "create", "ada", "1x", "--scope", "run"); strings.Contains(got, "--dev") {
		t.Errorf("another account: %s", got)
	}
}

// TestHelp: the word help is as the flag.
func TestHelp(t *testing.T) {
	for _, args := range [][]string{{"help"}, {"help", "key"}, {"help", "key", "create"}} {
		b := newBench(t, strings.NewReader(""))
		flag := newBench(t, strings.NewReader(""))
		if code := b.main(args); code != exitOK {
			t.Errorf("%v: %d %s", args, code, b.err.String())
		}
		flag.main(append(args[1:], "--help"))
		if b.out.String() != flag.out.String() || !strings.Contains(b.out.String(), "Usage: ql") {
			t.Errorf("%v: %s", args, b.out.String())
		}
	}
}
