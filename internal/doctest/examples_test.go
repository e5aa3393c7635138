package doctest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

const examplesFolder = root + "/examples"

// TestExamples runs the scripts of examples/testdata, which run the examples as
// their first comments say and look at what comes out.
func TestExamples(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           examplesFolder + "/testdata",
		UpdateScripts: *update,
		Setup:         func(e *testscript.Env) error { return copyExamples(filepath.Join(e.WorkDir, "examples")) },
	})
}

// copyExamples copies the examples, without their tests, to a folder.
func copyExamples(to string) error {
	return os.CopyFS(to, withoutTests{os.DirFS(examplesFolder)})
}

// TestExamplesAreWhole checks that every example says what it is and how it is
// run, is in the written form, and has a test.
func TestExamplesAreWhole(t *testing.T) {
	names, err := filepath.Glob(examplesFolder + "/*.ql")
	if err != nil {
		t.Fatal(err)
	}
	if len(names) == 0 {
		t.Fatal("there are no examples")
	}
	for _, name := range names {
		base := strings.TrimSuffix(filepath.Base(name), ".ql")
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(text), "-- ") {
			t.Errorf("%s.ql does not start with a comment that says what it is", base)
		}
		if command := fmt.Sprintf("ql run examples/%s.ql", base); !strings.Contains(string(text), command) {
			t.Errorf("%s.ql does not say how to run it: %s", base, command)
		}
		if want := written(string(text)) + "\n"; want != string(text) {
			t.Errorf("%s.ql is not in the written form: ql fmt -w does it", base)
		}
		if _, err := os.Stat(filepath.Join(examplesFolder, "testdata", base+".txtar")); err != nil {
			t.Errorf("%s.ql has no test: examples/testdata/%s.txtar", base, base)
		}
	}
}

// TestExampleSites checks that the scripts of the example sites say what they are, and are in the
// written form. internal/server/site visits them.
func TestExampleSites(t *testing.T) {
	sites := os.DirFS(examplesFolder + "/sites")
	if err := fs.WalkDir(sites, ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".ql") {
			return err
		}
		text, err := fs.ReadFile(sites, path)
		if !strings.HasPrefix(string(text), "-- ") {
			t.Errorf("%s does not start with a comment that says what it is", path)
		}
		if want := written(string(text)) + "\n"; want != string(text) {
			t.Errorf("%s is not in the written form: ql fmt -w does it", path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// TestConsoles runs the commands that pages show.
func TestConsoles(t *testing.T) {
	for _, p := range pages(t) {
		var edits []edit
		for i := range p.blocks {
			b := &p.blocks[i]
			if b.lang != "console" {
				continue
			}
			t.Run(fmt.Sprintf("%s line %d", p.name, b.line()), func(t *testing.T) {
				got := console(t, b)
				switch {
				case got == b.text:
				case *update:
					edits = append(edits, edit{b.from, b.to, got})
				default:
					t.Errorf("%s:%d: the console shows\n%s\nwant\n%s", p.name, b.line()+1, indented(got), indented(b.text))
				}
			})
		}
		p.save(t, edits)
	}
}

// console runs the commands of a block, in a folder with a copy of the examples,
// and returns what the block should show.
func console(t *testing.T, b *block) string {
	t.Helper()
	folder := t.TempDir()
	here, shownAs := strings.NewReplacer(), func(text string) string { return text }
	if slices.Contains(b.words, "service") {
		here, shownAs = bootService(t, folder)
	}
	if err := copyExamples(filepath.Join(folder, "examples")); err != nil {
		t.Fatal(err)
	}
	var shown strings.Builder
	for _, line := range strings.Split(b.text, "\n") {
		command, ok := strings.CutPrefix(line, "$ ")
		if !ok {
			continue
		}
		shown.WriteString(line + "\n")
		// The tests are the program: there is nothing to build first.
		command = strings.ReplaceAll(command, "go run ./cmd/ql", "ql")
		c := exec.CommandContext(t.Context(), "sh", "-c", here.Replace(command))
		c.Dir = folder
		var out bytes.Buffer
		c.Stdout, c.Stderr = &out, &out
		var failed *exec.ExitError
		if err := c.Run(); err != nil && !errors.As(err, &failed) {
			t.Fatal(err)
		}
		said := shownAs(out.String())
		shown.WriteString(said)
		if said != "" && !strings.HasSuffix(said, "\n") {
			shown.WriteByte('\n')
		}
	}
	return strings.TrimSuffix(shown.String(), "\n")
}

// withoutTests is a folder of examples without its testdata.
type withoutTests struct{ fs.FS }

// ReadDir implements fs.ReadDirFS.
func (w withoutTests) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(w.FS, name)
	kept := entries[:0]
	for _, e := range entries {
		if e.Name() != "testdata" {
			kept = append(kept, e)
		}
	}
	return kept, err
}
