package browser

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestOpen: the chosen program gets the address, as one argument whatever is in it, and is not waited
// for.
func TestOpen(t *testing.T) {
	folder := t.TempDir()
	program, opened := filepath.Join(folder, "show"), filepath.Join(folder, "opened")
	if err := syscall.Mkfifo(opened, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho \"$# $1\" > '"+opened+"'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	const address = "http://localhost:8081/?a=$(id)&b=c d"
	if err := Open(t.Context(), program, address); err != nil {
		t.Fatal(err)
	}
	// The program cannot end before this reads what it says.
	f, err := os.Open(opened)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if line, err := bufio.NewReader(f).ReadString('\n'); line != "1 "+address+"\n" {
		t.Errorf("%q %v", line, err)
	}
	if err := Open(t.Context(), filepath.Join(folder, "nothing"), address); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
	t.Setenv("PATH", folder)
	if err := Open(t.Context(), "", address); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
}

// TestCommands: every system has a program.
func TestCommands(t *testing.T) {
	for system, want := range map[string]string{"linux": "xdg-open", "freebsd": "xdg-open", "darwin": "open", "windows": "rundll32"} {
		if got := commands("", system)[0][0]; got != want {
			t.Errorf("%s: %s", system, got)
		}
	}
}
