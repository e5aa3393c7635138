package wasm

import (
	"bytes"
	"context"
	"runtime"
	"syscall"
	"testing"
	"time"

	"ql/internal/programtest"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// slowest are functions that take the compiler long, by how often something is in them. Each has so many
// locals.
var slowest = map[string]struct {
	locals uint32
	body   func(n int) []byte
}{
	"ifs":         {1, repeated(op(opLocalGet, 0, opIf, typeEmpty, opEnd))},
	"faults":      {1, repeated(op(opLocalGet, 0, opIf, typeEmpty, 0x00, opEnd))},
	"branches":    {1, repeated(op(opBlock, typeEmpty, opLocalGet, 0, opBrIf, 0, opEnd))},
	"loops":       {1, repeated(op(opLoop, typeEmpty, opEnd))},
	"fills":       {0, repeated(join(i32(0), i32(0), i32(0), op(prefixBulk, bulkMemoryFill, 0)))},
	"copies":      {0, repeated(join(i32(0), i32(0), i32(0), op(prefixBulk, bulkMemoryCopy, 0, 0)))},
	"table fills": {0, repeated(join(i32(0), op(opRefNull, typeFunc), i32(0), op(prefixBulk, bulkTableFill, 0)))},
	"loads":       {0, func(n int) []byte { return join(i32(0), bytes.Repeat(op(0x28, 0, 0), n), op(opDrop)) }},
	"stores":      {0, repeated(join(i32(0), op(opMemorySize, 0, 0x36, 0, 0)))},
	"divisions":   {0, func(n int) []byte { return join(i32(1), bytes.Repeat(op(opMemorySize, 0, 0x6d), n), op(opDrop)) }},
	"calls":       {0, repeated(call(0))},
	"indirect":    {0, repeated(join(i32(0), op(opCallIndirect, 0, 0)))},
	"alive": {2000, func(n int) []byte {
		return join(setAll(2000), bytes.Repeat(op(opLocalGet, 0, opIf, typeEmpty, opEnd), n), useAll(2000))
	}},
	"loops in loops": {400, func(n int) []byte {
		var b []byte
		for i := range uint32(n) {
			b = join(b, op(opLoop, typeEmpty, opMemorySize, 0, opLocalSet), num(i%400))
		}
		return join(setAll(400), b, bytes.Repeat(op(opLocalGet, 0, opBrIf, 0, opEnd), n), useAll(400))
	}},
}

func repeated(b []byte) func(n int) []byte { return func(n int) []byte { return bytes.Repeat(b, n) } }

// setAll gives all locals a value that is not known, and useAll uses them: they are alive between.
func setAll(locals uint32) (b []byte) {
	for i := range locals {
		b = join(b, op(opMemorySize, 0, opLocalSet), num(i))
	}
	return b
}

func useAll(locals uint32) (b []byte) {
	for i := range locals {
		b = join(b, i32(0), op(opLocalGet), num(i), op(0x36, 0, 0))
	}
	return b
}

// TestPromiseWork: compiling takes no longer than it was counted for before. A function without an end of
// anything is refused, whatever is in it.
func TestPromiseWork(t *testing.T) {
	target := 5 * time.Millisecond
	if programtest.Promised() {
		target = 3 * time.Second
	}
	for name, f := range slowest {
		var module []byte
		var p plan
		var refused error
		n := 1
		for refused == nil && p.work < int64(target) {
			g := withMemory(1)
			g.tables = [][]byte{op(typeFunc, 0, 10)}
			g.addFunc(g.addType(nil, nil), nil)
			out, more, err := rewrite(g.main(f.locals, f.body(n)).bytes(), func() error { return nil })
			if refused = err; err == nil {
				module, p = out, more
			}
			n += n/2 + 1
		}
		if module == nil {
			t.Errorf("%s: %v", name, refused)
			continue
		}
		took := compileTime(t, module)
		t.Logf("%s: %v of %v", name, took.Round(time.Millisecond), time.Duration(p.work).Round(time.Millisecond))
		// Beside others at work a core does less in the same time.
		if programtest.Promised() && took > 2*time.Duration(p.work) {
			t.Errorf("%s: compiling took %v, and %v were counted", name, took, time.Duration(p.work))
		}
	}
}

// compileTime returns how long the compiler computes on a module.
func compileTime(t *testing.T, module []byte) time.Duration {
	t.Helper()
	r := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfig().WithCoreFeatures(api.CoreFeaturesV2).WithDebugInfoEnabled(false))
	defer func() { check(t, r.Close(context.Background())) }()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	used := func() time.Duration {
		const thisThread = 1
		var u syscall.Rusage
		check(t, syscall.Getrusage(thisThread, &u))
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := used()
	_, err := r.CompileModule(t.Context(), module)
	check(t, err)
	return used() - before
}
