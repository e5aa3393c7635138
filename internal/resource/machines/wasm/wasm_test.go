package wasm

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/admit"
	"ql/internal/engine"
	"ql/internal/resource/files"
	"ql/internal/resource/machines"
	"ql/internal/store/blob/dir"
	"ql/internal/store/sqlite"
	"ql/internal/store/sqlite/sqlitetest"
	"ql/lang"
	"ql/lang/vm"
)

// world is a runner with the files of one account.
type world struct {
	t        testing.TB
	runner   *Runner
	ledger   *admit.Ledger
	trees    *files.Trees
	limits   account.Limits
	accounts [2]account.ID
}

func newWorld(t testing.TB) *world { return newWorldWith(t, 480<<20, 120<<20) }

// newWorldWith is a world on a node with so much memory, and so much room for modules.
func newWorldWith(t testing.TB, budget, room int64) *world {
	t.Helper()
	w := &world{t: t, limits: account.Standard.Limits()}
	w.ledger = admit.NewLedger(admit.LedgerOptions{Budget: budget})
	runner, err := New(t.Context(), Options{Ledger: w.ledger, Cache: room})
	check(t, err)
	w.runner = runner
	folder := sqlitetest.Folder(t)
	_, _, err = sqlite.MakeFolder(folder)
	check(t, err)
	store, err := sqlite.Open(t.Context(), sqlite.Options{Folder: folder, Own: true})
	check(t, err)
	for i, name := range []string{"ada", "bob"} {
		id, err := store.Accounts().Create(t.Context(), account.Account{Username: name, Email: name + "@example.com", Plan: account.Standard, Created: time.Now()})
		check(t, err)
		w.accounts[i] = id
	}
	blobs, err := dir.OpenBlobs(filepath.Join(folder, sqlite.BlobFolder))
	check(t, err)
	w.trees = files.NewTrees(store.Files(), blobs, time.Now)
	t.Cleanup(func() {
		if s := w.ledger.Stats(); s.Held != 0 || s.Waiting != 0 {
			t.Errorf("the ledger still holds %+v", s)
		}
		if s := w.runner.CacheStats(); s.Users != 0 {
			t.Errorf("modules are still in use: %+v", s)
		}
		check(t, errors.Join(w.runner.Close(), blobs.Close(), store.Close()))
	})
	return w
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// tree are the files of an account.
func (w *world) tree(id account.ID) *files.Tree {
	return w.trees.For(id, files.Quota{Bytes: 64 << 20, File: 32 << 20, Nodes: 1000})
}

// put puts a file among those of the account.
func (w *world) put(path string, content []byte) {
	w.t.Helper()
	check(w.t, w.tree(w.accounts[0]).Write(w.t.Context(), path, content))
}

// use returns a machine of a module.
func (w *world) use(wasm machines.WASM) machines.Use {
	return machines.Use{Machine: machines.Machine{Name: "calc", Kind: machines.KindWASM, WASM: wasm}, Account: account.Account{ID: w.accounts[0]}, Limits: w.limits, Files: w.tree(w.accounts[0])}
}

func (w *world) run(wasm machines.WASM, r engine.MachineRun) (engine.MachineResult, error) {
	if r.Most == 0 {
		r.Most = 1 << 20
	}
	return w.runner.Run(w.t.Context(), w.use(wasm), r)
}

// goGuest builds the program of testdata/guest.
func goGuest(t *testing.T) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "guest.wasm")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", out, "./testdata/guest")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOFLAGS=")
	if b, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	guest, err := os.ReadFile(out)
	check(t, err)
	return guest
}

// TestGoProgram builds a program in Go as documentation says, and runs it.
func TestGoProgram(t *testing.T) {
	w := newWorld(t)
	w.put("/bin/guest.wasm", goGuest(t))
	w.put("/data/in.txt", []byte("from a file"))
	var live bytes.Buffer
	run := func(m machines.WASM, r engine.MachineRun) engine.MachineResult {
		t.Helper()
		m.Module = "/bin/guest.wasm"
		r.Env = map[string]string{engine.StepKey: "the key"}
		got, err := w.run(m, r)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	got := run(machines.WASM{}, engine.MachineRun{Command: engine.MachineCommand{Text: "guest echo 'a b' c"}, Input: []byte("in"), Output: func(stderr bool, piece []byte) {
		if !stderr {
			live.Write(piece)
		}
	}})
	if want := "guest|echo|a b|c\nin\nthe key\n"; string(got.Stdout) != want || got.Code != 0 || live.String() != want {
		t.Errorf("%+v, %q", got, live.String())
	}
	got = run(machines.WASM{}, engine.MachineRun{Command: engine.MachineCommand{List: []string{"x", "exit", "42"}}})
	if got.Code != 42 || string(got.Stderr) != "leaving\n" {
		t.Errorf("%+v", got)
	}
	got = run(machines.WASM{}, engine.MachineRun{Command: engine.MachineCommand{Text: "x files"}})
	if got.Code != 0 || string(got.Stdout) != "sub true\na.txt 8\nread changed!\n" {
		t.Errorf("scratch: %d %s %s", got.Code, got.Stdout, got.Stderr)
	}
	got = run(machines.WASM{Folder: "/data", Write: true}, engine.MachineRun{Command: engine.MachineCommand{Text: "x cat in.txt"}})
	if got.Code != 0 || string(got.Stdout) != "from a file" {
		t.Errorf("%d %s %s", got.Code, got.Stdout, got.Stderr)
	}
	got = run(machines.WASM{Folder: "/data", Write: true}, engine.MachineRun{Command: engine.MachineCommand{Text: "x files"}})
	if got.Code != 0 || string(got.Stdout) != "in.txt 11\nsub true\na.txt 8\nread changed!\n" {
		t.Errorf("folder: %d %s %s", got.Code, got.Stdout, got.Stderr)
	}
	if b, err := w.tree(w.accounts[0]).Read(t.Context(), "/data/sub/b.txt", 100); err != nil || string(b) != "changed!" {
		t.Errorf("%q, %v", b, err)
	}
	t.Run("script", func(t *testing.T) { testScript(t, w, "/bin/guest.wasm") })
}

// accountMachines are the machines of a script: one, called calc.
type accountMachines struct {
	*world
	machine machines.WASM
}

func (a accountMachines) Run(ctx context.Context, name string, r engine.MachineRun) (engine.MachineResult, error) {
	if name != "calc" {
		return engine.MachineResult{}, errors.New("there is no such machine")
	}
	return a.runner.Run(ctx, a.use(a.machine), r)
}

func (a accountMachines) CopyTo(ctx context.Context, _, path string, from io.Reader) error {
	return a.runner.CopyTo(ctx, a.use(a.machine), path, from)
}

func (a accountMachines) CopyFrom(ctx context.Context, _, path string, to io.Writer) error {
	return a.runner.CopyFrom(ctx, a.use(a.machine), path, to)
}

// testScript runs a script that uses a module: insertions are single arguments, whatever they hold,
// files go to it and come back, and a mistake of the module can be caught.
func testScript(t *testing.T, w *world, module string) {
	w.put("/in.txt", []byte("copied"))
	w.put("/broken.wasm", []byte("broken"))
	run := func(m machines.WASM, script string) string {
		t.Helper()
		p, err := lang.Compile(script, lang.Options{})
		check(t, err)
		machine := vm.New(p, w.limits.SyncMachine(), vm.Input{})
		r := engine.New(machine, engine.Options{Resources: engine.Resources{Files: w.tree(w.accounts[0]), Machines: accountMachines{w, m}}}, engine.State{})
		out, err := r.Continue(t.Context())
		if err != nil || out.Status != engine.Done {
			t.Fatalf("%+v, %v", out, err)
		}
		return string(machine.Output())
	}
	got := run(machines.WASM{Module: module, Folder: "/data", Write: true}, `
		SET ?hostile AS "a b'; $(c) \"d"
		RUN "guest echo {?hostile} last" ON "calc" INPUT "in" SET ?out
		SET ?lines AS SPLIT(?out.stdout, "\n")
		EMIT LINE ?out.code, " ", ?lines[0], " ", ?lines[1], " ", LENGTH(?lines[2]) > 10
		COPY "/in.txt" TO "x.txt" ON "calc"
		RUN ["guest", "cat", "x.txt"] ON "calc" SET ?out
		EMIT LINE ?out.stdout
		COPY "x.txt" ON "calc" TO "/back.txt"
		READ "/back.txt" SET ?back
		EMIT LINE ?back
		RUN "guest exit 3" ON "calc" SET ?out
		EMIT LINE ?out.code, " ", ?out.stderr`)
	if want := "0 guest|echo|a b'; $(c) \"d|last in true\ncopied\ncopied\n3 leaving\n\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	got = run(machines.WASM{Module: "/broken.wasm"}, `TRY RUN "m" ON "calc" CATCH ?err EMIT ?err.code END`)
	if got != badModule {
		t.Errorf("%q", got)
	}
}
