package wasm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"ql/internal/engine"
	"ql/internal/resource/machines"
	"ql/lang/value"
)

// hostile is a module that wants more than it may have, and how it is to end: by its time, with an
// error of a code, or with an exit code. Those that call WASI exit with the number that came back.
type hostile struct {
	name   string
	module []byte
	end    string // "time", a code of an error, or "" for an exit code
	code   int
	// scratch says that it has a scratch folder, and not one of the account's.
	scratch bool
}

// exitWith ends a module with what is on the stack.
func exitWith(exit uint32) []byte { return call(exit) }

// wasiGuest calls a function of WASI and exits with what it returns.
func wasiGuest(name string, args ...[]byte) []byte {
	g := withMemory(1)
	f := g.addImport(name)
	exit := g.addImport("proc_exit")
	g.addData(1024, "../secret\x00/secret\x00a/../../secret\x00folder/x\x00new.txt\x00.\x00")
	return g.main(0, join(args...), call(f), exitWith(exit)).bytes()
}

// Where the names of wasiGuest are, with their lengths.
var (
	upward   = join(i32(1024), i32(9))
	absolute = join(i32(1034), i32(7))
	around   = join(i32(1042), i32(14))
	newFile  = join(i32(1066), i32(7))
	withZero = join(i32(1024), i32(20))
)

func pathOpenArgs(path []byte, flags, rights int64) []byte {
	return join(i32(3), i32(0), path, i32(flags), i64(rights), i64(rights), i32(0), i32(512))
}

// counts is a section that says that it has very many entries.
func counts(id byte) []byte {
	return join(magic, raw(id, join(num(math.MaxUint32), make([]byte, 64))))
}

// hostileModules are all of them.
func hostileModules() []hostile {
	var all []hostile
	add := func(name, end string, code int, module []byte) {
		all = append(all, hostile{name: name, module: module, end: end, code: code})
	}
	plain := func(g *guest) uint32 { return g.addType(nil, nil) }

	// Memory.
	g := withMemory(1)
	exit := g.addImport("proc_exit")
	add("memory grows for ever", "", 1024, g.main(0, loop(i32(1), op(opMemoryGrow, 0), i32(-1), op(0x46, opIf, typeEmpty, opMemorySize, 0), exitWith(exit), op(opEnd))).bytes())
	g = withMemory(1)
	exit = g.addImport("proc_exit")
	add("memory grows by all", "", 255, g.main(0, i32(-1), op(opMemoryGrow, 0), i32(255), op(0x71), exitWith(exit)).bytes())
	add("memory of 4 GiB", badModule, 0, withMemory(65535).main(0).bytes())
	add("memory of 2 GiB", "limit_exceeded", 0, withMemory(maxPages).main(0).bytes())
	add("memory smaller than it begins", badModule, 0, (&guest{memory: op(1, 9, 3)}).main(0).bytes())
	add("shared memory", badModule, 0, (&guest{memory: op(3, 1, 2)}).main(0).bytes())
	g = (&guest{}).main(0)
	add("two memories", badModule, 0, join(magic, section(sectionType, g.types), section(sectionFunction, g.funcs), raw(sectionMemory, op(2, 0, 1, 0, 1)), section(sectionExport, g.exports), section(sectionCode, g.code)))
	everything := i32(64 << 16)
	add("memory filled for ever", "time", 0, withMemory(64).main(0, loop(i32(0), i32(7), everything, op(prefixBulk, bulkMemoryFill, 0))).bytes())
	add("memory copied for ever", "time", 0, withMemory(64).main(0, loop(i32(0), i32(0), everything, op(prefixBulk, bulkMemoryCopy, 0, 0))).bytes())
	add("memory filled beyond its end", "", faultCode, withMemory(1).main(0, i32(0), i32(7), i32(-1), op(prefixBulk, bulkMemoryFill, 0)).bytes())
	g = withMemory(1)
	g.addData(65530, "beyond the end")
	add("data beyond the end", "", faultCode, g.main(0).bytes())

	// Tables.
	add("a table of 4 billion", badModule, 0, (&guest{tables: [][]byte{join(op(typeFunc, 0), num(math.MaxUint32))}}).main(0).bytes())
	g = withMemory(1)
	exit = g.addImport("proc_exit")
	g.tables = [][]byte{op(typeFunc, 0, 1)}
	add("a table grows for ever", "", maxTable%256, g.main(0, loop(op(opRefNull, typeFunc), i32(1), op(prefixBulk, bulkTableGrow, 0), i32(-1), op(0x46, opIf, typeEmpty, prefixBulk, bulkTableSize, 0), i32(255), op(0x71), exitWith(exit), op(opEnd))).bytes())
	add("100 tables", badModule, 0, (&guest{tables: slices.Repeat([][]byte{op(typeFunc, 0, 1)}, 100)}).main(0).bytes())
	add("a table filled for ever", "time", 0, (&guest{tables: [][]byte{join(op(typeFunc, 0), num(90_000))}}).main(0, loop(i32(0), op(opRefNull, typeFunc), i32(90_000), op(prefixBulk, bulkTableFill, 0))).bytes())
	g = &guest{tables: [][]byte{op(typeFunc, 0, 1)}}
	kind := plain(g)
	add("a call of nothing", "", faultCode, g.main(0, i32(0), op(opCallIndirect, byte(kind), 0)).bytes())

	// Recursion.
	g = &guest{}
	kind = plain(g)
	g.addFunc(kind, nil, call(0), call(0))
	add("recursion without end", "", faultCode, g.main(0, call(0)).bytes())
	g = &guest{}
	kind = plain(g)
	var many []byte
	for i := range uint32(1000) {
		many = join(many, op(opLocalGet), num(i), i32(1), op(0x6a, opLocalSet), num(i))
	}
	g.addFunc(kind, [][]byte{join(num(1000), op(typeI32))}, many, call(1), many)
	g.addFunc(kind, nil, call(0))
	add("recursion with large frames", "", faultCode, g.main(0, call(0)).bytes())
	g = &guest{tables: [][]byte{op(typeFunc, 0, 1)}}
	kind = plain(g)
	g.addFunc(kind, nil, i32(0), op(opCallIndirect, byte(kind), 0))
	g.elements = [][]byte{join(op(0), i32(0), op(opEnd), num(1), num(0))}
	add("recursion by a table", "", faultCode, g.main(0, call(0)).bytes())
	// A loop would be stopped at its head; this has none.
	g = &guest{}
	kind = g.addType([]byte{typeI32}, nil)
	g.addFunc(kind, nil, op(opLocalGet, 0, opIf, typeEmpty), slices.Repeat(join(op(opLocalGet, 0), i32(1), op(0x6b), call(0)), 2), op(opEnd))
	add("2^1000 calls", "time", 0, g.main(0, i32(1000), call(0)).bytes())
	g = &guest{}
	kind = plain(g)
	g.start = num(g.addFunc(kind, nil, call(0), call(0)))
	add("recursion at the start", "", faultCode, g.main(0).bytes())

	// Loops and waits.
	add("an endless loop", "time", 0, (&guest{}).main(0, loop()).bytes())
	add("endless loops in loops", "time", 0, (&guest{}).main(1, loop(loop(op(opLocalGet, 0, opBrIf, 1)))).bytes())
	g = &guest{}
	g.start = num(g.addFunc(plain(g), nil, loop()))
	add("an endless loop at the start", "time", 0, g.main(0).bytes())
	g = withMemory(1)
	f := g.addImport("sched_yield")
	add("yields for ever", "time", 0, g.main(0, loop(call(f), op(opDrop))).bytes())
	for name, flags := range map[string]string{"sleeps for ever": "\x00", "sleeps until the end of time": "\x01"} {
		g = withMemory(1)
		f = g.addImport("poll_oneoff")
		g.addData(0, strings.Repeat("\x00", 24)+strings.Repeat("\xff", 7)+"\x7f"+strings.Repeat("\x00", 8)+flags)
		add(name, "time", 0, g.main(0, loop(i32(0), i32(1024), i32(1), i32(4096), call(f), op(opDrop))).bytes())
	}
	add("4 billion subscriptions", "", int(eINVAL), wasiGuest("poll_oneoff", i32(0), i32(0), i32(-1), i32(0)))
	g = withMemory(1024 - 64)
	f = g.addImport("random_get")
	add("random numbers for ever", "time", 0, g.main(0, loop(i32(0), i32(60<<20), call(f), op(opDrop))).bytes())

	// Files.
	add("a file above", "", int(ePERM), wasiGuest("path_open", pathOpenArgs(upward, 0, rightRead)))
	add("a file above, around a corner", "", int(ePERM), wasiGuest("path_open", pathOpenArgs(around, 0, rightRead)))
	add("an absolute path", "", int(ePERM), wasiGuest("path_open", pathOpenArgs(absolute, 0, rightRead)))
	add("a name with a zero", "", int(ePERM), wasiGuest("path_open", pathOpenArgs(withZero, 0, rightRead)))
	add("a name of 60,000 bytes", "", int(eNAMETOOLONG), wasiGuest("path_open", pathOpenArgs(join(i32(0), i32(60_000)), 0, rightRead)))
	add("a name outside memory", "", int(eFAULT), wasiGuest("path_open", pathOpenArgs(join(i32(-9), i32(9)), 0, rightRead)))
	add("a file of a folder that may only be read", "", int(eROFS), wasiGuest("path_open", pathOpenArgs(newFile, openCreate, rightWrite)))
	add("a symbolic link", "", int(ePERM), wasiGuest("path_symlink", upward, i32(3), newFile))
	add("where a link leads", "", int(eINVAL), wasiGuest("path_readlink", i32(3), newFile, i32(0), i32(100), i32(200)))
	add("a hard link", "", int(ePERM), wasiGuest("path_link", i32(3), i32(0), upward, i32(3), newFile))
	add("removes a file above", "", int(ePERM), wasiGuest("path_unlink_file", i32(3), upward))
	add("moves a file from above", "", int(ePERM), wasiGuest("path_rename", i32(3), upward, i32(3), newFile))
	add("makes a folder above", "", int(ePERM), wasiGuest("path_create_directory", i32(3), upward))
	add("renumbers to 2 billion", "", int(eBADF), wasiGuest("fd_renumber", i32(1), i32(math.MaxInt32)))
	g = withMemory(1)
	f = g.addImport("fd_read")
	exit = g.addImport("proc_exit")
	add("guesses descriptors", "", 0, g.main(1, i32(4), op(opLocalSet, 0), op(opLoop, typeEmpty, opLocalGet, 0), i32(0), i32(1), i32(64), call(f), i32(int64(eBADF)), op(0x47, opIf, typeEmpty), i32(1), exitWith(exit), op(opEnd),
		op(opLocalGet, 0), i32(1), op(0x6a, opLocalTee, 0), i32(100_000), op(0x48, opBrIf, 0, opEnd)).bytes())
	g = withMemory(1)
	f = g.addImport("path_open")
	exit = g.addImport("proc_exit")
	g.addData(1024, ".")
	add("opens folders for ever", "", int(eMFILE), g.main(1, loop(pathOpenArgs(join(i32(1024), i32(1)), openDirectory, rightRead), call(f), op(opLocalTee, 0, opIf, typeEmpty, opLocalGet, 0), exitWith(exit), op(opEnd))).bytes())

	// Calls that the host spends long on, so many that a module does little between its turns.
	vectors := strings.Repeat("\x00\x00\x01\x00\x00\x00\x10\x00", maxVectors) // 1 MiB each
	for name, work := range map[string]func(g *guest) []byte{
		"reads a file for ever": func(g *guest) []byte {
			size, read := g.addImport("fd_filestat_set_size"), g.addImport("fd_pread")
			return join(i32(4), i64(20<<20), call(size), op(opDrop), loop(i32(4), i32(2048), i32(maxVectors), i64(0), i32(64), call(read), op(opDrop)))
		},
		"writes a file for ever": func(g *guest) []byte {
			write := g.addImport("fd_pwrite")
			return loop(i32(4), i32(2048), i32(20), i64(0), i32(64), call(write), op(opDrop))
		},
		"resizes a file for ever": func(g *guest) []byte {
			size := g.addImport("fd_filestat_set_size")
			return loop(i32(4), i64(20<<20), call(size), op(opDrop), i32(4), i64(0), call(size), op(opDrop))
		},
	} {
		g = withMemory(17)
		f = g.addImport("path_open")
		g.addData(1024, "new.txt")
		g.addData(2048, vectors)
		body := work(g)
		add(name, "time", 0, g.main(0, pathOpenArgs(join(i32(1024), i32(7)), openCreate, rightRead|rightWrite), call(f), op(opDrop), body).bytes())
		all[len(all)-1].scratch = true
	}

	// What else the host gives.
	g = withMemory(1)
	f = g.addImport("fd_write")
	g.addData(0, "\x00\x00\x00\x00\x00\x80\x00\x00")
	add("writes for ever", "limit_exceeded", 0, g.main(0, loop(i32(1), i32(0), i32(1), i32(64), call(f), op(opDrop))).bytes())
	add("4 billion pieces", "", int(eFAULT), wasiGuest("fd_write", i32(1), i32(65_530), i32(-1), i32(64)))
	add("a signal", "", int(eNOSYS), wasiGuest("proc_raise", i32(9)))
	for _, name := range []string{"sock_accept", "sock_recv", "sock_send", "sock_shutdown"} {
		add(name, "", int(eNOTSOCK), wasiGuest(name, slices.Repeat(i32(3), len(wasiCalls[name].params))))
	}
	g = &guest{}
	g.imports = [][]byte{join(text(wasiModule), text("sock_open"), op(0), num(plain(g)))}
	add("a socket", badModule, 0, g.main(0).bytes())
	for _, module := range []string{"env", hostModule} {
		g = &guest{}
		g.imports = [][]byte{join(text(module), text(hookNames[0]), op(0), num(plain(g)))}
		add("imports of "+module, badModule, 0, g.main(0).bytes())
	}
	for i, entry := range [][]byte{op(1, typeFunc, 0, 1), op(2, 0, 1), op(3, typeI32, 0)} {
		g = &guest{imports: [][]byte{join(text(wasiModule), text("x"), entry)}}
		add(fmt.Sprintf("imports what is no function %d", i), badModule, 0, g.main(0).bytes())
	}
	// Its own hooks.
	add("sets its fuel", badModule, 0, (&guest{}).main(0, i64(math.MaxInt64), op(opGlobalSet, 0)).bytes())
	add("calls a hook", badModule, 0, (&guest{}).main(0, call(1)).bytes())
	add("uses the local that is added", badModule, 0, (&guest{}).main(0, i64(0), op(opLocalSet, 0)).bytes())
	g = (&guest{}).main(0)
	g.export("fuel", exportGlobal, 0)
	add("exports its fuel", badModule, 0, g.bytes())

	// Modules that are none.
	add("nothing", badModule, 0, nil)
	add("a text", badModule, 0, []byte("EMIT 1"))
	add("no program", badModule, 0, withMemory(1).bytes())
	for id := byte(sectionType); id < sections; id++ {
		add(fmt.Sprintf("4 billion entries in section %d", id), badModule, 0, counts(id))
	}
	g = &guest{}
	g.addFunc(plain(g), [][]byte{join(num(math.MaxUint32), op(typeI64))})
	add("4 billion locals", badModule, 0, g.main(0).bytes())
	g = &guest{}
	kind = plain(g)
	for range 200 {
		g.addFunc(kind, [][]byte{join(num(9_999), op(typeI64))})
	}
	add("2 million locals", badModule, 0, g.main(0).bytes())
	add("4 billion targets", badModule, 0, (&guest{}).main(0, i32(0), op(opBrTable), num(math.MaxUint32)).bytes())
	add("half a million targets", badModule, 0, (&guest{}).main(0, i32(0), op(opBrTable), num(500_000), make([]byte, 500_001)).bytes())
	add("a function of 2 MiB", badModule, 0, (&guest{}).main(0, bytes.Repeat(op(0x01), 2<<20)).bytes())
	add("100,000 blocks in each other", badModule, 0, (&guest{}).main(0, bytes.Repeat(op(opBlock, typeEmpty), 100_000), bytes.Repeat(op(opEnd), 100_000)).bytes())
	add("100,000 branches", badModule, 0, (&guest{}).main(1, bytes.Repeat(op(opLocalGet, 0, opIf, typeEmpty, opEnd), 100_000)).bytes())
	var sets []byte
	for i := range uint32(5000) {
		sets = join(sets, op(opMemorySize, 0, opLocalSet), num(i))
	}
	add("too many paths with too many locals", badModule, 0, withMemory(1).main(5000, bytes.Repeat(op(opBlock, typeEmpty), 1000), sets, bytes.Repeat(op(opEnd), 1000)).bytes())
	add("5,000 values across 5,000 branches", badModule, 0, withMemory(1).main(1, bytes.Repeat(op(opMemorySize, 0), 5000), bytes.Repeat(op(opLocalGet, 0, opIf, typeEmpty, opEnd), 5000), bytes.Repeat(op(opDrop), 5000)).bytes())
	// Each fill is a loop: 16,000 of them took 22 seconds to compile.
	add("30,000 fills", badModule, 0, withMemory(1).main(0, bytes.Repeat(join(i32(0), i32(0), i32(0), op(prefixBulk, bulkMemoryFill, 0)), 30_000)).bytes())
	var nested []byte
	for i := range uint32(500) {
		nested = join(nested, op(opLoop, typeEmpty, opMemorySize, 0, opLocalSet), num(i))
	}
	add("500 loops in each other that set a local each", badModule, 0, withMemory(1).main(500, nested, bytes.Repeat(op(opEnd), 500)).bytes())
	add("unsound code", badModule, 0, (&guest{}).main(0, op(0x6a)).bytes())
	add("an unknown instruction", badModule, 0, (&guest{}).main(0, op(0xff)).bytes())
	add("a tail call", badModule, 0, (&guest{}).main(0, op(0x12, 0)).bytes())
	add("an atomic instruction", badModule, 0, withMemory(1).main(0, op(0xfe, 0x03, 0)).bytes())
	add("an exception", badModule, 0, (&guest{}).main(0, op(0x08, 0)).bytes())
	add("a fault", "", faultCode, (&guest{}).main(0, op(0x00)).bytes())
	return all
}

// TestHostileModules runs modules that want more than they may have. Each ends at its limit, and
// touches nothing.
func TestHostileModules(t *testing.T) {
	w := newWorld(t)
	w.put("/secret", []byte("of the account"))
	w.put("/data/folder/x", []byte("in the folder"))
	modules := hostileModules()
	if len(modules) < 40 {
		t.Fatalf("%d modules", len(modules))
	}
	for i, h := range modules {
		path := fmt.Sprintf("/modules/%d.wasm", i)
		w.put(path, h.module)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		if h.end == "time" {
			ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
		}
		definition := machines.WASM{Module: path, Folder: "/data"}
		if h.scratch {
			definition.Folder = ""
		}
		got, err := w.runner.Run(ctx, w.use(definition), engine.MachineRun{Command: engine.MachineCommand{Text: "m"}, Most: 1 << 20})
		cancel()
		var known *value.Error
		switch {
		case h.end == "time":
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %+v, %v", h.name, got, err)
			}
		case h.end != "":
			if !errors.As(err, &known) || known.Code != h.end {
				t.Errorf("%s: %+v, %v", h.name, got, err)
			}
		case err != nil || got.Code != h.code:
			t.Errorf("%s: %d %s, %v; want %d", h.name, got.Code, got.Stderr, err, h.code)
		}
		if s := w.ledger.Stats(); s.Held != 0 {
			t.Fatalf("%s: the ledger holds %d bytes", h.name, s.Held)
		}
	}
	for path, want := range map[string]string{"/secret": "of the account", "/data/folder/x": "in the folder"} {
		if got, err := w.tree(w.accounts[0]).Read(t.Context(), path, 100); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	var names []string
	for info, err := range w.tree(w.accounts[0]).List(t.Context(), "/data", "") {
		check(t, err)
		names = append(names, info.Name)
	}
	if !slices.Equal(names, []string{"folder"}) {
		t.Errorf("the folder holds %v", names)
	}
}

// TestTruncatedModule: no beginning of a module is one.
func TestTruncatedModule(t *testing.T) {
	g := withMemory(1)
	exit := g.addImport("proc_exit")
	g.tables = [][]byte{op(typeFunc, 0, 1)}
	g.elements = [][]byte{join(op(0), i32(0), op(opEnd), num(1), num(1))}
	g.count = num(1)
	g.addData(3, "data")
	module := g.main(1, i32(3), exitWith(exit)).bytes()
	turn := func() error { return nil }
	if _, _, err := rewrite(module, turn); err != nil {
		t.Fatal(err)
	}
	for n := range len(module) {
		// Cut between the last sections it has all that a program needs.
		if _, _, err := rewrite(module[:n], turn); err == nil && n < len(module)-20 {
			t.Errorf("%d of %d bytes are taken", n, len(module))
		}
	}
}
