package cli

import (
	"bytes"
	"os"
	"strconv"
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
	got, err := newLineReader(terminal).secret(t.Context(), &screen)
	if err != nil || got != "1234" || screen.String() != "\n" {
		t.Errorf("got %q, %v and %q on the screen", got, err, screen.String())
	}
	if !echoes(t, terminal) {
		t.Error("nothing is shown after the secret was read")
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
	if got, err := newLineReader(r).secret(t.Context(), w); err != nil || got != "1234" {
		t.Errorf("got %q, %v", got, err)
	}
}
