//go:build guests

package wasm

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"ql/internal/engine"
	"ql/internal/resource/machines"
)

// TestCProgram runs a program in C, built by clang with the C library for WASI of Debian.
func TestCProgram(t *testing.T) {
	out := filepath.Join(t.TempDir(), "words.wasm")
	build := exec.CommandContext(t.Context(), "clang", "--target=wasm32-wasi", "--sysroot=/", "-isystem", "/usr/include/wasm32-wasi", "-L/usr/lib/wasm32-wasi", "-O2", "-Wall", "-o", out, "testdata/cguest/words.c")
	if b, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	module, err := os.ReadFile(out)
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
