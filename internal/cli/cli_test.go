package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	accounts "ql/internal/account"
	"ql/internal/store/sqlite"
)

// bench is a console for tests, whose clock moves only when a script waits.
type bench struct {
	*console
	out, err bytes.Buffer
	now      time.Time
	waits    []time.Time
	cancel   context.CancelFunc
	folder   string
}

func newBench(t *testing.T, stdin io.Reader) *bench {
	b := &bench{now: time.Date(2026, 11, 15, 8, 30, 0, 0, time.UTC), folder: t.TempDir()}
	ctx, cancel := context.WithCancel(t.Context())
	b.cancel = cancel
	b.console = &console{ctx: ctx, in: newLineReader(stdin), out: &b.out, err: &b.err,
		clock: func() time.Time { return b.now },
		wait: func(ctx context.Context, until time.Time) error {
			b.waits = append(b.waits, until)
			b.now = until
			return ctx.Err()
		},
	}
	return b
}

// withAccount makes a data folder with an account, ada, of the plan standard.
func withAccount(t *testing.T) (b *bench, data string, store *sqlite.Store, id accounts.ID) {
	t.Helper()
	b = newBench(t, strings.NewReader(""))
	data = filepath.Join(b.folder, "data")
	store, err := sqlite.Open(t.Context(), sqlite.Options{Folder: data})
	must(t, err)
	id, err = store.Accounts().Create(t.Context(), accounts.Account{Username: "ada", Plan: accounts.Standard, Created: b.now})
	must(t, err)
	return b, data, store, id
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// run runs a script with ql run.
func (b *bench) run(t *testing.T, script string, args ...string) int {
	t.Helper()
	name := filepath.Join(b.folder, "script.ql")
	if err := os.WriteFile(name, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	return b.main(append([]string{"run", name, "--data", b.folder}, args...))
}

// operate runs a command on a data folder and returns all that it wrote.
func (b *bench) operate(t *testing.T, data string, want int, args ...string) string {
	t.Helper()
	b.out.Reset()
	b.err.Reset()
	if code := b.main(append(args, "--data", data)); code != want {
		t.Errorf("%v: got %d, %s%s", args, code, b.out.String(), b.err.String())
	}
	return b.out.String() + b.err.String()
}

// wantLines compares what a command wrote line by line, whatever the width of
// its columns.
func wantLines(t *testing.T, got string, want ...string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(got), "\n")
	if len(lines) != len(want) {
		t.Fatalf("got\n%s", got)
	}
	for i, line := range lines {
		if strings.Join(strings.Fields(line), " ") != want[i] {
			t.Errorf("got %s, want %s", line, want[i])
		}
	}
}

func TestWaitsForReal(t *testing.T) {
	b := newBench(t, strings.NewReader(""))
	code := b.run(t, `EMIT LINE NOW() WAIT 90 MINUTES EMIT LINE NOW() WAIT UNTIL "2026-11-15T08:30:00Z" EMIT LINE "past"`)
	if code != exitOK || b.out.String() != "2026-11-15T08:30:00Z\n2026-11-15T10:00:00Z\npast\n" {
		t.Errorf("got %d and %q", code, b.out.String())
	}
	if want := b.now; len(b.waits) != 1 || !b.waits[0].Equal(want) {
		t.Errorf("waited until %v, want %v", b.waits, want)
	}
	if want := "waiting until " + b.now.Local().Format(time.DateTime) + "\n"; b.err.String() != want {
		t.Errorf("said %q, want %q", b.err.String(), want)
	}
}

func TestInterruptedWait(t *testing.T) {
	b := newBench(t, strings.NewReader(""))
	b.wait = func(ctx context.Context, _ time.Time) error {
		b.cancel()
		return ctx.Err()
	}
	if code := b.run(t, `EMIT LINE "a" WAIT 1 HOUR EMIT "b"`); code != exitFailed || b.out.String() != "a\n" {
		t.Errorf("got %d and %q", code, b.out.String())
	}
	if !strings.Contains(b.err.String(), "script.ql:1:15: cancelled: the run was cancelled") {
		t.Errorf("said %q", b.err.String())
	}
}

func TestInterruptedLoop(t *testing.T) {
	b := newBench(t, strings.NewReader(""))
	b.cancel()
	if code := b.run(t, `WHILE TRUE DO SET ?x AS 1 END`); code != exitFailed || !strings.Contains(b.err.String(), "cancelled: the run was cancelled") {
		t.Errorf("got %d and %q", code, b.err.String())
	}
}

// silence is an input on which nobody ever says anything; the first read of it
// calls asked.
type silence struct{ asked func() }

func (s silence) Read([]byte) (int, error) {
	s.asked()
	select {}
}

func TestInterruptedQuestion(t *testing.T) {
	b := newBench(t, nil)
	b.in = newLineReader(silence{b.cancel})
	if code := b.run(t, `CONFIRM "Sure?"`); code != exitFailed || !strings.Contains(b.err.String(), "cancelled: the run was cancelled") {
		t.Errorf("got %d and %q", code, b.err.String())
	}
}

// TestQuestionExpires: the time that WITHIN gives is over before the question
// is asked, since the console's clock is behind the real one.
func TestQuestionExpires(t *testing.T) {
	b := newBench(t, silence{func() {}})
	b.now = time.Now().Add(-time.Hour)
	code := b.run(t, `TRY CONFIRM "Sure?" WITHIN 1 MINUTE SET ?ok CATCH ?e EMIT ?e.code END`)
	if code != exitOK || b.out.String() != "expired" || !strings.Contains(b.err.String(), "the time to answer is over") {
		t.Errorf("got %d, %q and %q", code, b.out.String(), b.err.String())
	}
}

// TestTimeIsForRunning: what is left of --timeout is counted over all parts of
// a run, and waiting is not part of it.
func TestTimeIsForRunning(t *testing.T) {
	b := newBench(t, strings.NewReader(""))
	if code := b.run(t, `WAIT 1 DAY EMIT "done"`, "--timeout", "1m"); code != exitOK || b.out.String() != "done" {
		t.Errorf("got %d, %q and %q", code, b.out.String(), b.err.String())
	}
}

func TestTerminalIsSafeFromScripts(t *testing.T) {
	b := newBench(t, strings.NewReader("y\n"))
	b.run(t, `CONFIRM "\u001b[2J\u202eSure?"`)
	if strings.ContainsAny(b.err.String(), "\x1b\u202e") {
		t.Errorf("the question went out as %q", b.err.String())
	}
}

func TestMainReportsHelpAsSuccess(t *testing.T) {
	var out, err bytes.Buffer
	if code := Main([]string{"fmt", "--help"}, strings.NewReader(""), &out, &err); code != exitOK || !strings.HasPrefix(out.String(), "Usage: ql fmt") {
		t.Errorf("got %d and %q, %q", code, out.String(), err.String())
	}
}

func TestLineReader(t *testing.T) {
	r := newLineReader(strings.NewReader("one\r\ntwo\nlast"))
	for _, want := range []string{"one", "two", "last"} {
		if got, err := r.line(t.Context()); got != want || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	if _, err := r.line(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: got %v, want io.EOF", err)
	}
}

func TestNegativeValues(t *testing.T) {
	for _, test := range []struct{ args, want []string }{
		{[]string{"serve", "--read-timeout", "-1s", "--json"}, []string{"serve", "--read-timeout=-1s", "--json"}},
		{[]string{"serve", "--read-timeout=2s", "-1s"}, []string{"serve", "--read-timeout=2s", "-1s"}},
		{[]string{"run", "-", "-h", "--get", "-x"}, []string{"run", "-", "-h", "--get", "-x"}},
		{[]string{"run", "--", "--get", "-1"}, []string{"run", "--", "--get", "-1"}},
		{[]string{"-1"}, []string{"-1"}},
	} {
		if got := joinNegative(test.args); !slices.Equal(got, test.want) {
			t.Errorf("%q: got %q, want %q", test.args, got, test.want)
		}
	}
}

// TestFlagsWithoutValues: what is wrong with a flag is said without the words of
// a parser.
func TestFlagsWithoutValues(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"serve", "--read-timeout", "-1s"}, "ql: --read-timeout: \"-1s\" is no time such as 30s, 5m or 1h30m\n"},
		{[]string{"run", "--timeout", "-1s", "x.ql"}, "ql: --timeout: -1s is no time such as 30s, 5m or 1h30m\n"},
		{[]string{"serve", "--max-connections", "-1"}, "ql: --max-connections: \"-1\" is no whole number from 1 on\n"},
		{[]string{"serve", "--data", "--dev"}, "ql: --data: a value is missing behind it (see ql --help)\n"},
		{[]string{"serve", "--data"}, "ql: --data: a value is missing behind it (see ql --help)\n"},
	} {
		b := newBench(t, nil)
		if code := b.main(test.args); code != exitUsage || b.err.String() != test.want {
			t.Errorf("%q: got %d and %q, want %q", test.args, code, b.err.String(), test.want)
		}
	}
}

func TestQuoted(t *testing.T) {
	for word, want := range map[string]string{
		"./ql-data": "./ql-data", "identity=dev": "identity=dev", "": "''", "q=EMIT 1": "'q=EMIT 1'", "it's": `'it'\''s'`, "$HOME": "'$HOME'",
	} {
		if got := quoted(word); got != want {
			t.Errorf("quoted(%q) = %s, want %s", word, got, want)
		}
	}
}

func TestRounded(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 999: "999ns", 1234: "1.23µs", 98765: "98.8µs", 1234567: "1.23ms", 12*time.Second + 345678901: "12.3s",
	} {
		if got := rounded(d).String(); got != want {
			t.Errorf("rounded(%d) = %s, want %s", d, got, want)
		}
	}
}

func TestReplaceFileKeepsModeAndLinks(t *testing.T) {
	dir := t.TempDir()
	name, link := filepath.Join(dir, "a.ql"), filepath.Join(dir, "link.ql")
	if err := os.WriteFile(name, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a.ql", link); err != nil {
		t.Fatal(err)
	}
	if err := replaceFile(link, "new"); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(name)
	if err != nil || string(got) != "new" {
		t.Errorf("got %q, %v", got, err)
	}
	if info, _ := os.Stat(name); info.Mode().Perm() != 0o640 {
		t.Errorf("the mode is now %v", info.Mode())
	}
	if info, _ := os.Lstat(link); info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link is a link no more")
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 2 {
		t.Errorf("the folder now holds %v", entries)
	}
}

// TestFolderVariable: the folder that scripts run on has a variable of its own,
// apart from that of the service's data.
func TestFolderVariable(t *testing.T) {
	b := newBench(t, strings.NewReader(""))
	script := filepath.Join(t.TempDir(), "script.ql")
	if err := os.WriteFile(script, []byte(`WRITE "x" TO "/made"`), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("QL_DATA", filepath.Join(b.folder, "missing"))
	t.Setenv("QL_FOLDER", b.folder)
	if code := b.main([]string{"run", script}); code != exitOK {
		t.Errorf("got %d and %s", code, b.err.String())
	}
	if _, err := os.Stat(filepath.Join(b.folder, "made")); err != nil {
		t.Error(err)
	}
	if code := b.main([]string{"check", script}); code != exitOK {
		t.Errorf("check: got %d and %s", code, b.err.String())
	}
}
