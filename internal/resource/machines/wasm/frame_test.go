package wasm

import (
	"bytes"
	"context"
	"reflect"
	"slices"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/sys"
)

// TestFrameEstimate checks that no function takes more of the stack than is counted for it: it has
// functions call themselves, and looks where on the stack each call stands.
func TestFrameEstimate(t *testing.T) {
	use := func(locals uint32, get, combine byte) (out []byte) {
		for i := range locals {
			out = join(out, op(get), num(i+1), op(combine))
		}
		return out
	}
	set := func(locals uint32, source []byte) (out []byte) {
		for i := range locals {
			out = join(out, source, op(opLocalSet), num(i+1))
		}
		return out
	}
	size := op(opMemorySize, 0)
	again := join(op(opLocalGet, 0), i32(1), op(0x6b), call(0))
	tests := map[string]struct {
		locals [][]byte
		body   []byte
	}{
		"nothing":    {nil, again},
		"two calls":  {nil, join(again, again)},
		"one local":  {[][]byte{op(1, typeI32)}, join(set(1, size), again, i32(0), op(opLocalGet, 1, 0x36, 0, 0))},
		"500 locals": {[][]byte{join(num(500), op(typeI32))}, join(set(500, size), again, i32(0), i32(0), use(500, opLocalGet, 0x6a), op(0x36, 0, 0))},
		"500 values": {nil, join(i32(0), slices.Repeat(size, 500), again, slices.Repeat(op(0x6a), 499), op(0x36, 0, 0))},
		"500 loads":  {nil, join(i32(0), slices.Repeat(join(i32(8), op(0x28, 0, 0)), 500), again, slices.Repeat(op(0x6a), 499), op(0x36, 0, 0))},
		"100 vectors": {[][]byte{join(num(100), op(typeV128))}, join(set(100, join(i32(16), op(prefixVector, 0, 0, 0))), again,
			i32(0), join(i32(32), op(prefixVector, 0, 0, 0)), func() (out []byte) {
				for i := range uint32(100) {
					out = join(out, op(opLocalGet), num(i+1), op(prefixVector), num(174))
				}
				return out
			}(), op(prefixVector, 11, 0, 0))},
		"joined paths": {[][]byte{join(num(100), op(typeI32))}, join(slices.Repeat(join(op(opLocalGet, 0, opIf, typeEmpty), set(100, size), op(opEnd)), 10), again,
			i32(0), i32(0), use(100, opLocalGet, 0x6a), op(0x36, 0, 0))},
		"paths in paths": {[][]byte{join(num(50), op(typeI32))}, join(bytes.Repeat(op(opBlock, typeEmpty), 50), op(opLocalGet, 0), i32(5), op(0x4b, opBrIf, 25), set(50, size),
			bytes.Repeat(join(op(opLocalGet, 0), i32(99), op(0x4b, opBrIf, 0, opEnd)), 50), again, i32(0), i32(0), use(50, opLocalGet, 0x6a), op(0x36, 0, 0))},
		"in a loop": {[][]byte{join(num(20), op(typeI32))}, join(op(opLoop, typeEmpty), set(20, size), again, i32(0), i32(0), use(20, opLocalGet, 0x6a), op(0x36, 0, 0), op(opEnd))},
	}
	for name, test := range tests {
		g := withMemory(1)
		kind := g.addType([]byte{typeI32}, nil)
		g.addFunc(kind, test.locals, op(opLocalGet, 0, opIf, typeEmpty), test.body, op(opEnd))
		module, p, err := rewrite(g.main(0, i32(1_000_000), call(0)).bytes(), func() error { return nil })
		check(t, err)
		if used := measureFrame(t, module); used > p.frame || used < 16 {
			t.Errorf("%s: %d bytes, and %d were counted", name, used, p.frame)
		} else {
			t.Logf("%s: %d bytes of %d", name, used, p.frame)
		}
	}
}

// measureFrame runs a module that calls itself, and returns how far apart its calls are.
func measureFrame(t *testing.T, module []byte) int64 {
	t.Helper()
	ctx := t.Context()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithCoreFeatures(api.CoreFeaturesV2))
	defer func() { check(t, r.Close(context.Background())) }()
	i64 := []api.ValueType{api.ValueTypeI64}
	host := r.NewHostModuleBuilder(hostModule)
	same := api.GoModuleFunc(func(context.Context, api.Module, []uint64) {})
	host.NewFunctionBuilder().WithGoModuleFunction(same, i64, i64).Export(hookNames[hookTurn])
	var places []uintptr
	host.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(_ context.Context, _ api.Module, stack []uint64) {
		if places = append(places, reflect.ValueOf(stack).Pointer()); len(places) == 2000 {
			panic(sys.NewExitError(0))
		}
	}), i64, i64).Export(hookNames[hookDeeper])
	_, err := host.Instantiate(ctx)
	check(t, err)
	_, err = r.InstantiateWithConfig(ctx, module, wazero.NewModuleConfig())
	if err != nil {
		t.Log(err)
	}
	// The stack moves when it grows: most distances are of two calls on the same one.
	var distances []int64
	for i := range places[1:] {
		distances = append(distances, int64(places[i])-int64(places[i+1]))
	}
	if len(distances) < 100 {
		t.Fatalf("%d calls", len(distances))
	}
	slices.Sort(distances)
	return distances[len(distances)/2]
}
