//go:build guests

package wasm

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ql/internal/engine"
	"ql/internal/resource/machines"
)

// documented returns the block of the documentation of modules that begins with a text.
func documented(t *testing.T, begins string) string {
	t.Helper()
	page, err := os.ReadFile("../../../../docs/wasm.md")
	check(t, err)
	for block := range strings.SplitSeq(string(page), "```") {
		if _, text, _ := strings.Cut(block, "\n"); strings.HasPrefix(text, begins) {
			return text
		}
	}
	t.Fatalf("the documentation has nothing that begins with %s", begins)
	return ""
}

// shell runs commands of the documentation in a folder.
func shell(t *testing.T, folder, text string) ([]byte, error) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "sh", "-ec", text)
	c.Dir = folder
	return c.CombinedOutput()
}

// TestCProgram runs a program in C, built as documentation says by clang with the C library for WASI
// of Debian.
func TestCProgram(t *testing.T) {
	folder := t.TempDir()
	check(t, os.CopyFS(folder, os.DirFS("testdata/cguest")))
	if b, err := shell(t, folder, documented(t, "clang ")); err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	module, err := os.ReadFile(filepath.Join(folder, "words.wasm"))
	check(t, err)
	w := newWorld(t)
	w.put("/words.wasm", module)
	w.put("/data/poem.txt", []byte("a rose is a rose"))
	m := machines.WASM{Module: "/words.wasm", Folder: "/data", Write: true}
	got, err := w.run(m, engine.MachineRun{Command: engine.MachineCommand{Text: "words poem.txt"}, Input: []byte("one two\nthree"), Env: map[string]string{engine.StepKey: "k"}})
	if want := "3 words\npoem.txt: 5 words\npoem.txt\nresult.txt\n"; err != nil || got.Code != 0 || string(got.Stdout) != want {
		t.Errorf("%d %s %s, %v", got.Code, got.Stdout, got.Stderr, err)
	}
	if b, err := w.tree(w.accounts[0]).Read(t.Context(), "/data/result.txt", 100); err != nil || string(b) != "for k\n" {
		t.Errorf("%q, %v", b, err)
	}
	got, err = w.run(m, engine.MachineRun{Command: engine.MachineCommand{Text: "words ../words.wasm"}})
	if err != nil || got.Code != 2 {
		t.Errorf("%d %s %s, %v", got.Code, got.Stdout, got.Stderr, err)
	}
}

// TestPythonProgram runs the program in Python of the documentation, by the interpreter for WASI that
// npm has. Its lock file says which bytes that is.
func TestPythonProgram(t *testing.T) {
	folder := t.TempDir()
	check(t, os.CopyFS(folder, os.DirFS("testdata/pyguest")))
	install, copies, _ := strings.Cut(documented(t, "npm install "), "\n")
	lock, err := os.ReadFile("testdata/pyguest/package.json")
	check(t, err)
	if name, version, _ := strings.Cut(strings.TrimPrefix(install, "npm install @"), "@"); !strings.Contains(string(lock), `"@`+name+`": "`+version+`"`) {
		t.Errorf("%s is not what the lock file has: %s", install, lock)
	}
	if b, err := shell(t, folder, "npm ci --no-audit --no-fund --ignore-scripts"); err != nil {
		t.Skipf("NOT CHECKED: npm ci: %v\n%s", err, b)
	}
	if b, err := shell(t, folder, copies); err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	module, err := os.ReadFile(filepath.Join(folder, "python.wasm"))
	check(t, err)
	program := []byte(documented(t, "import collections"))
	w := newWorldWith(t, 1<<30, 256<<20)
	w.put("/python.wasm", module)
	w.put("/programs/count.py", program)
	for i := range 2 {
		got, err := w.run(machines.WASM{Module: "/python.wasm", Folder: "/programs", Write: true}, engine.MachineRun{
			Command: engine.MachineCommand{List: []string{"python", "/count.py", "2"}}, Input: []byte("a rose is a rose is a rose"), Env: map[string]string{engine.StepKey: "k"},
		})
		if err != nil || got.Code != 0 || string(got.Stdout) != `{"a": 3, "rose": 3}` {
			t.Fatalf("run %d: %d %s %s, %v", i, got.Code, got.Stdout, got.Stderr, err)
		}
	}
	if b, err := w.tree(w.accounts[0]).Read(t.Context(), "/programs/seen.txt", 100); err != nil || string(b) != "k\nk\n" {
		t.Errorf("%q, %v", b, err)
	}
}
