package cli

import (
	"bytes"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// openTerminal returns the two ends of a pseudo-terminal.
func openTerminal(t *testing.T) (keyboard, terminal *os.File) {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = keyboard.Close() })
	if err := unix.IoctlSetPointerInt(int(keyboard.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(keyboard.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = terminal.Close() })
	return keyboard, terminal
}

func echoes(t *testing.T, f *os.File) bool {
	t.Helper()
	state, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return state.Lflag&unix.ECHO != 0
}

func TestSecretsAreNotShown(t *testing.T) {
	keyboard, terminal := openTerminal(t)
	if !echoes(t, terminal) || !hasTerminal(terminal) {
		t.Fatal("a new terminal shows what is typed")
	}
	restore, ok := hideInput(terminal)
	if !ok || echoes(t, terminal) {
		t.Errorf("hidden: %v, shown all the same: %v", ok, echoes(t, terminal))
	}
	restore()
	if !echoes(t, terminal) {
		t.Error("nothing is shown after the secret either")
	}

	if _, err := keyboard.WriteString("1234\n"); err != nil {
		t.Fatal(err)
	}
	var screen bytes.Buffer
	got, err := newLineReader(terminal).secret(t.Context(), &screen, "PIN: ")
	if err != nil || got != "1234" || screen.String() != "PIN: \n" {
		t.Errorf("got %q, %v and %q on the screen", got, err, screen.String())
	}
	if !echoes(t, terminal) {
		t.Error("nothing is shown after the secret was read")
	}
}

// typist answers the questions on a screen, in their order, at the keyboard.
type typist struct {
	t                  *testing.T
	keyboard, terminal *os.File
	answers            []string
	screen             bytes.Buffer
}

func (p *typist) Write(text []byte) (int, error) {
	if bytes.HasSuffix(text, []byte(": ")) {
		if echoes(p.t, p.terminal) {
			p.t.Errorf("at %q what is typed is shown", text)
		}
		if len(p.answers) == 0 {
			p.t.Fatalf("asked once more: %q", text)
		}
		if _, err := p.keyboard.WriteString(p.answers[0]); err != nil {
			p.t.Error(err)
		}
		p.answers = p.answers[1:]
	}
	return p.screen.Write(text)
}

// TestPasswordsAtATerminal: who types a password is asked for it, twice, and does
// not see it.
func TestPasswordsAtATerminal(t *testing.T) {
	const sentence, endOfInput = "a rather long sentence\n", "\x04"
	data := t.TempDir()
	create := []string{"account", "create", "--username", "ada", "--password-stdin"}
	for _, test := range []struct {
		name    string
		args    []string
		answers []string
		code    int
		screen  string
	}{
		{"two that differ", create, []string{sentence, "another long sentence\n"}, exitUsage,
			"password: \nthe same again: \nql: the two passwords are not the same: nothing is changed\n"},
		{"none", create, []string{endOfInput}, exitUsage, "password: \nql: nothing was typed\n"},
		{"an account", create, []string{sentence, sentence}, exitOK, "password: \nthe same again: \n"},
		{"a new password", []string{"account", "set-password", "ada"}, []string{sentence, sentence}, exitOK, "password: \nthe same again: \n"},
		{"a secret", []string{"account", "secret", "set", "ada", "TOKEN"}, []string{"s3cret\n"}, exitOK, "value, one line: \n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			keyboard, terminal := openTerminal(t)
			person := &typist{t: t, keyboard: keyboard, terminal: terminal, answers: test.answers}
			b := newBench(t, terminal)
			b.console.err = person
			if code := b.main(append(test.args, "--data", data)); code != test.code || person.screen.String() != test.screen || len(person.answers) != 0 {
				t.Errorf("got %d, %q and %q on the screen, and %d answers are left", code, b.out.String(), person.screen.String(), len(person.answers))
			}
			if !echoes(t, terminal) {
				t.Error("what is typed later is not shown either")
			}
		})
	}
	store := newBench(t, nil)
	if got := store.operate(t, data, exitOK, "account", "secret", "list", "ada"); !strings.Contains(got, "TOKEN") {
		t.Errorf("the secrets are %s", got)
	}
}

func TestPipesAreNoTerminals(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, ok := hideInput(r); ok || hasTerminal(r) || isTerminal(w) || isTerminal(&bytes.Buffer{}) {
		t.Error("a pipe was taken for a terminal")
	}
	if _, err := w.WriteString("1234\n"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := newLineReader(r).secret(t.Context(), io.Discard, ""); err != nil || got != "1234" {
		t.Errorf("got %q, %v", got, err)
	}
}
