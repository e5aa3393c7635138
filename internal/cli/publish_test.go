package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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
