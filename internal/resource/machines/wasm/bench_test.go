package wasm

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"ql/internal/engine"
	"ql/internal/programtest"
	"ql/internal/resource/machines"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// hello is a module that writes a line.
func hello() []byte {
	g := withMemory(1)
	write := g.addImport("fd_write")
	g.addData(0, "\x08\x00\x00\x00\x06\x00\x00\x00hello\n")
	return g.main(0, i32(1), i32(0), i32(1), i32(64), call(write), op(opDrop)).bytes()
}

// rounds is a module that computes: calls and loops of integers.
func rounds() []byte {
	g := withMemory(1)
	kind := g.addType([]byte{typeI32}, []byte{typeI32})
	fib := uint32(0)
	g.addFunc(kind, nil, op(opLocalGet, 0), i32(2), op(0x48, opIf, typeEmpty, opLocalGet, 0, opReturn, opEnd),
		op(opLocalGet, 0), i32(1), op(0x6b), call(fib), op(opLocalGet, 0), i32(2), op(0x6b), call(fib), op(0x6a))
	return g.main(1, i32(27), call(fib), op(opDrop), op(opLoop, typeEmpty), op(opLocalGet, 0), op(opLocalGet, 0), op(0x36, 0, 4), op(opLocalGet, 0), i32(8), op(0x6a, opLocalTee, 0), i32(60_000), op(0x48, opBrIf, 0, opEnd)).bytes()
}

// ours returns a function that runs a module as RUN does, and bare one that has wazero run it, both
// warm.
func ours(t testing.TB, module []byte) func() []byte {
	w := newWorld(t)
	w.put("/m.wasm", module)
	u := w.use(machines.WASM{Module: "/m.wasm"})
	return func() []byte {
		got, err := w.runner.Run(t.Context(), u, engine.MachineRun{Command: engine.MachineCommand{Text: "m"}, Most: 1 << 20})
		check(t, err)
		return got.Stdout
	}
}

func bare(t testing.TB, module []byte, stoppable bool) func() []byte {
	ctx := t.Context()
	if stoppable {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		t.Cleanup(cancel)
	}
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCoreFeatures(api.CoreFeaturesV2).WithCloseOnContextDone(stoppable))
	t.Cleanup(func() { check(t, r.Close(context.Background())) })
	wasi_snapshot_preview1.MustInstantiate(ctx, r)
	compiled, err := r.CompileModule(ctx, module)
	check(t, err)
	return func() []byte {
		var out bytes.Buffer
		instance, err := r.InstantiateModule(ctx, compiled, wazero.NewModuleConfig().WithName("").WithArgs("m").WithEnv(engine.StepKey, "x").WithStdout(&out).WithStderr(&out))
		check(t, errors.Join(err, instance.Close(ctx)))
		return out.Bytes()
	}
}

func BenchmarkModules(b *testing.B) {
	for _, m := range []struct {
		name   string
		module []byte
	}{{"hello", hello()}, {"rounds", rounds()}} {
		for _, way := range []struct {
			name string
			run  func(testing.TB) func() []byte
		}{
			{"RUN", func(t testing.TB) func() []byte { return ours(t, m.module) }},
			{"bare", func(t testing.TB) func() []byte { return bare(t, m.module, false) }},
			{"bare-stoppable", func(t testing.TB) func() []byte { return bare(t, m.module, true) }},
		} {
			b.Run(m.name+"/"+way.name, func(b *testing.B) {
				run := way.run(b)
				run()
				b.ReportAllocs()
				for b.Loop() {
					run()
				}
			})
		}
	}
}

// TestPromiseWarmCall: a warm RUN of a trivial module takes less than a millisecond, and no more than
// one and a half times what bare wazero takes, which cannot be stopped.
func TestPromiseWarmCall(t *testing.T) {
	for name, module := range map[string][]byte{"hello": hello(), "rounds": rounds()} {
		times := 20
		if programtest.Promised() {
			times = 1000
		}
		ways := []func() []byte{ours(t, module), bare(t, module, false), bare(t, module, true)}
		took := make([][]time.Duration, len(ways))
		for range times + 1 {
			for i, run := range ways {
				began := time.Now()
				if got := run(); name == "hello" && string(got) != "hello\n" {
					t.Fatalf("%q", got)
				}
				took[i] = append(took[i], time.Since(began))
			}
		}
		medians := make([]time.Duration, len(ways))
		for i := range took {
			slices.Sort(took[i])
			medians[i] = took[i][times/2]
		}
		t.Logf("%s, medians of %d: RUN %v, wazero %v, wazero that can be stopped %v", name, times, medians[0], medians[1], medians[2])
		if name == "hello" && programtest.Promised() && (medians[0] >= time.Millisecond || medians[0] > medians[1]*3/2) {
			t.Errorf("%s is too slow", name)
		}
	}
}
