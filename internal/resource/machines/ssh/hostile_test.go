package ssh_test

import (
	"strings"
	"testing"

	"ql/internal/engine"
	"ql/internal/resource/machines"
	"ql/internal/resource/machines/ssh"
	"ql/internal/resource/machines/sshtest"
)

// TestHostileArguments: a real shell takes each of 100 hostile texts as one argument, in a list and
// where it is quoted in a text.
func TestHostileArguments(t *testing.T) {
	w := newWorld(t, ssh.Options{}, sshtest.Start(t))
	w.add("box")
	pieces := []string{"'", `"`, "`id`", "$(id)", "${HOME}", "; id", "| id", "& id", "\n id", "\\", "' ; id '", `'\''`, "*", "~", "#", "!!", "$'\\''", "-n", " ", "é"}
	var hostile []string
	for i, a := range pieces {
		for n := range 5 {
			hostile = append(hostile, a+pieces[(i*3+n*7+1)%len(pieces)])
		}
	}
	want := strings.Join(hostile, "\x00") + "\x00"
	quoted := `printf '%s\0'`
	for _, one := range hostile {
		quoted += " " + machines.Quote(one)
	}
	for what, command := range map[string]engine.MachineCommand{
		"a list": {List: append([]string{"printf", `%s\0`}, hostile...)}, "a text": {Text: quoted},
	} {
		r, err := w.run(t.Context(), engine.MachineRun{Command: command})
		if err != nil || len(hostile) != 100 || string(r.Stdout) != want || len(r.Stderr) > 0 {
			t.Errorf("%s: %v\n got %q\nwant %q\n%s", what, err, r.Stdout, want, r.Stderr)
		}
	}
}
