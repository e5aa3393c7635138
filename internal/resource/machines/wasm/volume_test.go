package wasm

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ql/internal/engine"
	"ql/internal/resource/files"
	"ql/internal/resource/machines"
	"ql/lang/value"
)

// volumes returns a scratch folder, and folders of the account's files of two kinds.
func volumes(t *testing.T, w *world) map[string]*volume {
	t.Helper()
	dir, err := files.OpenDir(t.TempDir(), ".ql")
	check(t, err)
	t.Cleanup(func() { check(t, dir.Close()) })
	check(t, dir.Write(t.Context(), "/data/first", nil))
	check(t, dir.Remove(t.Context(), "/data/first"))
	_, err = w.tree(w.accounts[0]).MakeFolder(t.Context(), "/data")
	check(t, err)
	free := func(int64) bool { return true }
	return map[string]*volume{
		"scratch": newVolume(nil, "", false, free),
		"tree":    newVolume(w.tree(w.accounts[0]), "/data", true, free),
		"dir":     newVolume(dir, "/data/", true, free),
	}
}

// TestVolumes does the same to all kinds of volumes, with the same results.
func TestVolumes(t *testing.T) {
	w := newWorld(t)
	for name, v := range volumes(t, w) {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			var charged int64
			v.charge = func(bytes int64) bool { charged += bytes; return true }
			want := func(what string, got, want errno) {
				t.Helper()
				if got != want {
					t.Errorf("%s: %d, want %d", what, got, want)
				}
			}
			write := func(at, content string) {
				t.Helper()
				n, e := v.open(ctx, at, openMode{create: true, truncate: true, write: true})
				want("open "+at, e, success)
				if n == nil {
					t.FailNow()
				}
				_, e = v.writeAt(ctx, n, []byte(content), 0)
				want("write "+at, e, success)
				want("close "+at, v.close(ctx, n), success)
			}
			read := func(at string) string {
				t.Helper()
				n, e := v.open(ctx, at, openMode{})
				want("open "+at, e, success)
				if n == nil {
					t.FailNow()
				}
				b := make([]byte, 100)
				count, e := v.readAt(ctx, n, b, 0)
				want("read "+at, e, success)
				want("close "+at, v.close(ctx, n), success)
				return string(b[:count])
			}
			want("folder", v.makeFolder(ctx, "a"), success)
			want("folder again", v.makeFolder(ctx, "a"), eEXIST)
			write("a/x", "first")
			write("a/x", "then")
			if got := read("a/x"); got != "then" {
				t.Errorf("read %q", got)
			}
			_, e := v.open(ctx, "a/none", openMode{})
			want("missing", e, eNOENT)
			_, e = v.open(ctx, "a/x", openMode{create: true, exclusive: true, write: true})
			want("exclusive", e, eEXIST)
			_, e = v.open(ctx, "a", openMode{write: true})
			want("a folder to write", e, eISDIR)
			_, e = v.open(ctx, "a/x", openMode{folder: true})
			want("a file as a folder", e, eNOTDIR)
			_, e = v.open(ctx, "none/x", openMode{create: true, write: true})
			want("in no folder", e, eNOENT)

			// Two who have a file open see one content.
			one, e := v.open(ctx, "a/x", openMode{write: true})
			want("open", e, success)
			two, e := v.open(ctx, "a/x", openMode{write: true})
			want("open", e, success)
			_, e = v.writeAt(ctx, one, []byte("NEW"), 6)
			want("write", e, success)
			b := make([]byte, 20)
			if n, e := v.readAt(ctx, two, b, 0); e != success || string(b[:n]) != "then\x00\x00NEW" {
				t.Errorf("%d, %q", e, b[:n])
			}
			want("cut", v.truncate(ctx, two, 2), success)
			want("close", firstOf(v.close(ctx, one), v.close(ctx, two)), success)
			if got := read("a/x"); got != "th" {
				t.Errorf("read %q", got)
			}
			want("a full folder", v.remove(ctx, "a", true), eNOTEMPTY)
			want("rename", v.rename(ctx, "a/x", "y"), success)
			want("rename to itself", v.rename(ctx, "y", "y"), success)
			want("into itself", v.rename(ctx, "a", "a/b"), eINVAL)
			want("a folder over a file", v.rename(ctx, "a", "y"), eNOTDIR)
			write("z", "z")
			want("over another", v.rename(ctx, "y", "z"), success)
			if got := read("z"); got != "th" {
				t.Errorf("read %q", got)
			}
			write("a/deep", "d")
			want("a folder", v.rename(ctx, "a", "b"), success)
			if got := read("b/deep"); got != "d" {
				t.Errorf("read %q", got)
			}
			before := charged
			all, e := v.list(ctx, &node{folder: true, inode: 1})
			want("list", e, success)
			if got := charged - before; got != int64(len(all))*entrySize {
				t.Errorf("%d entries are charged with %d", len(all), got)
			}
			var names []string
			for _, one := range all[2:] {
				names = append(names, fmt.Sprint(one.name, one.folder))
			}
			if !slices.Equal(names, []string{"btrue", "zfalse"}) {
				t.Errorf("listed %v", names)
			}
			// Who has it open keeps it, and does not bring it back.
			one, e = v.open(ctx, "z", openMode{write: true})
			want("open", e, success)
			want("unlink", v.remove(ctx, "z", false), success)
			_, e = v.writeAt(ctx, one, []byte("more"), 0)
			want("write", e, success)
			want("close", v.close(ctx, one), success)
			_, e = v.stat(ctx, "z")
			want("stat", e, eNOENT)
			want("unlink a folder", v.remove(ctx, "b", false), eISDIR)
			// One that was removed and is open still is let go of at the end.
			write("last", "content")
			one, e = v.open(ctx, "last", openMode{})
			want("open", e, success)
			want("unlink", v.remove(ctx, "last", false), success)
			held := one.held
			v.release()
			if held != nil {
				if _, err := held.Read(make([]byte, 1)); err == nil {
					t.Error("a file that was removed is held after the run")
				}
			}
		})
	}
}

func TestResolve(t *testing.T) {
	tests := []struct {
		from, name, want string
		e                errno
	}{
		{"", "a", "a", 0}, {"a", "b", "a/b", 0}, {"a/b", "../c", "a/c", 0}, {"a", ".", "a", 0}, {"a", "..", "", 0}, {"", "a//b/./c/", "a/b/c", 0},
		{"", "..", "", ePERM}, {"a", "../..", "", ePERM}, {"a", "../../a", "", ePERM}, {"", "a/../../b", "", ePERM}, {"", "/a", "", ePERM}, {"", "a\x00b", "", ePERM},
		{"", "", "", eNOENT}, {"", "\xff", "", eILSEQ}, {"", strings.Repeat("a", maxPath+1), "", eNAMETOOLONG},
	}
	for _, test := range tests {
		if got, e := resolve(test.from, []byte(test.name)); got != test.want || e != test.e {
			t.Errorf("%q in %q: %q, %d; want %q, %d", test.name, test.from, got, e, test.want, test.e)
		}
	}
}

// TestQuotaOfFolder: what a module writes counts as the account's, and its scratch folder as its
// memory.
func TestQuotaOfFolder(t *testing.T) {
	w := newWorld(t)
	g := withMemory(1)
	open := g.addImport("path_open")
	write := g.addImport("fd_write")
	exit := g.addImport("proc_exit")
	g.addData(1024, "new.txt")
	g.addData(0, "\x00\x00\x00\x00\x00\x80\x00\x00") // 32 KiB from the beginning of memory
	stop := join(op(opLocalTee, 0, opIf, typeEmpty, opLocalGet, 0), exitWith(exit), op(opEnd))
	g.main(1, pathOpenArgs(join(i32(1024), i32(7)), openCreate, rightWrite), call(open), stop, loop(i32(4), i32(0), i32(1), i32(64), call(write), stop))
	w.put("/m.wasm", g.bytes())
	got, err := w.run(machines.WASM{Module: "/m.wasm"}, engine.MachineRun{Command: engine.MachineCommand{Text: "m"}})
	if err != nil || got.Code != int(eNOSPC) {
		t.Errorf("scratch: %+v, %v", got, err)
	}
	// The file has more than an account may have in one: it is known when it is written, which is
	// when the module ends without having closed it.
	w.limits.Memory = 200 << 20
	_, err = w.run(machines.WASM{Module: "/m.wasm", Folder: "/", Write: true}, engine.MachineRun{Command: engine.MachineCommand{Text: "m"}})
	var known *value.Error
	if !errors.As(err, &known) || known.Code != "limit_exceeded" {
		t.Errorf("folder: %v", err)
	}
	// COPY reaches the folder, and no more.
	u := w.use(machines.WASM{Module: "/m.wasm", Folder: "/data", Write: true})
	check(t, w.runner.CopyTo(t.Context(), u, "in.txt", strings.NewReader("copied")))
	var out strings.Builder
	check(t, w.runner.CopyFrom(t.Context(), u, "/in.txt", &out))
	if out.String() != "copied" {
		t.Errorf("%q", out.String())
	}
	for _, path := range []string{"../m.wasm", "", "/", "a/../../m.wasm"} {
		if err := w.runner.CopyFrom(t.Context(), u, path, &out); !errors.As(err, &known) || known.Code != "invalid_path" {
			t.Errorf("%q: %v", path, err)
		}
	}
	u.Machine.WASM.Write = false
	if err := w.runner.CopyTo(t.Context(), u, "in.txt", strings.NewReader("again")); !errors.As(err, &known) || known.Code != "machine_failed" {
		t.Error(err)
	}
	check(t, w.runner.Test(t.Context(), u))
	u.Machine.WASM.Module = "/data/in.txt"
	if err := w.runner.Test(t.Context(), u); !errors.As(err, &known) || known.Code != badModule {
		t.Error(err)
	}
}

func TestArguments(t *testing.T) {
	for _, r := range []engine.MachineRun{
		{}, {Command: engine.MachineCommand{Text: "a 'b"}}, {Command: engine.MachineCommand{List: []string{"a", "b\x00"}}},
		{Command: engine.MachineCommand{List: []string{"a", strings.Repeat("b", maxArguments)}}},
	} {
		var known *value.Error
		if _, _, err := arguments(r); !errors.As(err, &known) || known.Code != value.BadArgument {
			t.Errorf("%+.50v: %v", r, err)
		}
	}
}
