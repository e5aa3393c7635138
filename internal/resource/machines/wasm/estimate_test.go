package wasm

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// compiledSize returns how much machine code a module becomes, as wazero stores it.
func compiledSize(t testing.TB, module []byte) (int64, error) {
	t.Helper()
	folder := t.TempDir()
	cache, err := wazero.NewCompilationCacheWithDir(folder)
	check(t, err)
	r := wazero.NewRuntimeWithConfig(context.Background(), wazero.NewRuntimeConfig().WithCoreFeatures(api.CoreFeaturesV2).WithDebugInfoEnabled(false).WithCompilationCache(cache))
	_, invalid := r.CompileModule(t.Context(), module)
	check(t, r.Close(context.Background()))
	check(t, cache.Close(context.Background()))
	var size int64
	check(t, filepath.WalkDir(folder, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	}))
	return size, invalid
}

// TestCompiledEstimate checks that no instruction becomes more machine code than is counted for it.
func TestCompiledEstimate(t *testing.T) {
	// Operands come of globals, and results go there: else the compiler would leave out most of it.
	f32 := join(op(opF32Const), make([]byte, 4))
	f64 := join(op(opF64Const), make([]byte, 8))
	v128 := join(op(prefixVector), num(vectorConst), make([]byte, 16))
	get := map[byte][]byte{typeI32: op(opGlobalGet, 0), typeI64: op(opGlobalGet, 1), typeF32: op(opGlobalGet, 2), typeF64: op(opGlobalGet, 3), typeV128: op(opGlobalGet, 4)}
	snippets := map[string][]byte{
		"constants":     join(i32(1<<30), op(opDrop), i64(1<<60), op(opDrop), f32, op(opDrop), f64, op(opDrop), v128, op(opDrop)),
		"load":          join(get[typeI32], op(0x28, 0, 0), op(opGlobalSet, 0)),
		"store":         join(get[typeI32], get[typeI64], op(0x37, 0, 0)),
		"grow":          join(get[typeI32], op(opMemoryGrow, 0, opGlobalSet, 0)),
		"size":          op(opMemorySize, 0, opGlobalSet, 0),
		"fill":          join(get[typeI32], get[typeI32], get[typeI32], op(prefixBulk, bulkMemoryFill, 0)),
		"copy":          join(get[typeI32], get[typeI32], get[typeI32], op(prefixBulk, bulkMemoryCopy, 0, 0)),
		"table copy":    join(get[typeI32], get[typeI32], get[typeI32], op(prefixBulk, bulkTableCopy, 0, 0)),
		"table get":     join(get[typeI32], op(opTableGet, 0, opDrop)),
		"table set":     join(get[typeI32], op(opRefNull, typeFunc, opTableSet, 0)),
		"table grow":    join(op(opRefNull, typeFunc), get[typeI32], op(prefixBulk, bulkTableGrow, 0, opGlobalSet, 0)),
		"table fill":    join(get[typeI32], op(opRefNull, typeFunc), get[typeI32], op(prefixBulk, bulkTableFill, 0)),
		"global":        op(opGlobalGet, 0, opGlobalSet, 0),
		"call":          join(get[typeI32], op(opCall, 0, opGlobalSet, 0)),
		"indirect":      join(get[typeI32], get[typeI32], op(opCallIndirect, 0, 0, opGlobalSet, 0)),
		"imported":      op(opCall, 1),
		"block":         op(opBlock, typeEmpty, opEnd),
		"loop":          op(opLoop, typeEmpty, opEnd),
		"if":            join(get[typeI32], op(opIf, typeI32), get[typeI32], op(opElse), i32(2), op(opEnd, opGlobalSet, 0)),
		"branch":        join(op(opBlock, typeEmpty), get[typeI32], op(opBrIf, 0, opEnd)),
		"table branch":  join(op(opBlock, typeEmpty), get[typeI32], op(opBrTable, 8, 0, 1, 0, 1, 0, 1, 0, 1, 0, opEnd)),
		"return":        join(get[typeI32], op(opIf, typeEmpty, opReturn, opEnd)),
		"trap":          join(get[typeI32], op(opIf, typeEmpty, 0x00, opEnd)),
		"ref":           op(opRefFunc, 2, opDrop),
		"select":        join(get[typeI64], get[typeI64], get[typeI32], op(opSelect, opGlobalSet, 1)),
		"lanes":         join(get[typeV128], op(prefixVector, 21, 3, opGlobalSet, 0)),
		"swizzle":       join(get[typeV128], get[typeV128], op(prefixVector, 14, opGlobalSet, 4)),
		"shuffle":       join(get[typeV128], get[typeV128], op(prefixVector, vectorShuffle), make([]byte, 16), op(opGlobalSet, 4)),
		"vector load":   join(get[typeI32], op(prefixVector, 0, 0, 0, opGlobalSet, 4)),
		"vector lane":   join(get[typeI32], get[typeV128], op(prefixVector, vectorLaneMemFirst, 0, 0, 3, opGlobalSet, 4)),
		"vector splat":  join(get[typeI32], op(prefixVector, 15, opGlobalSet, 4)),
		"vector select": join(get[typeV128], get[typeV128], get[typeV128], op(prefixVector, 82, opGlobalSet, 4)),
	}
	for o := byte(opPlainFirst); o <= opPlainLast; o++ {
		in, out := plainKinds(o)
		snippet := join(op(o), join(op(opGlobalSet), map[byte][]byte{typeI32: op(0), typeI64: op(1), typeF32: op(2), typeF64: op(3)}[out]))
		for _, kind := range in {
			snippet = join(get[kind], snippet)
		}
		snippets[fmt.Sprintf("%#x", o)] = snippet
	}
	for o := byte(0); o <= bulkTruncLast; o++ {
		kind, out := byte(typeF32), byte(0)
		if o&2 != 0 {
			kind = typeF64
		}
		if o >= 4 {
			out = 1
		}
		snippets[fmt.Sprintf("truncate %d", o)] = join(get[kind], op(prefixBulk, o, opGlobalSet, out))
	}
	// Of the vectors' instructions, whichever shape is sound.
	shapes := [][2][]byte{
		{join(get[typeV128], get[typeV128]), op(opGlobalSet, 4)},
		{get[typeV128], op(opGlobalSet, 4)},
		{get[typeV128], op(opGlobalSet, 0)},
		{join(get[typeV128], get[typeI32]), op(opGlobalSet, 4)},
	}
	for o := uint32(vectorLaneLast + 1); o <= vectorLast; o++ {
		if o == 82 || o >= vectorLaneMemFirst && o <= vectorZeroLast {
			continue
		}
		for i, shape := range shapes {
			snippets[fmt.Sprintf("vector %d/%d", o, i)] = join(shape[0], op(prefixVector), num(o), shape[1])
		}
	}
	sound := 0
	worst := 0.0
	for name, snippet := range snippets {
		g := withMemory(1)
		unary := g.addType([]byte{typeI32}, []byte{typeI32})
		plain := g.addType(nil, nil)
		g.imports = [][]byte{join(text(wasiModule), text("sched_yield"), op(0), num(g.addType(nil, []byte{typeI32})))}
		if name == "imported" {
			snippet = op(opCall, 0, opDrop)
		} else if name == "call" {
			snippet = join(get[typeI32], op(opCall, 1, opGlobalSet, 0))
		}
		g.tables = [][]byte{op(typeFunc, 0, 10)}
		for i, zero := range [][]byte{i32(0), i64(0), f32, f64, v128} {
			g.globals = append(g.globals, join(op(typeI32-byte(i), 1), zero, op(opEnd)))
		}
		g.addFunc(unary, nil, op(opLocalGet, 0))
		const times = 100
		main := g.addFunc(plain, nil, bytes.Repeat(snippet, times))
		g.export(entryPoint, exportFunction, main)
		g.elements = [][]byte{join(op(3, 0), num(1), num(main))}
		out, p, err := rewrite(g.bytes(), func() error { return nil })
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		size, err := compiledSize(t, out)
		if err != nil {
			if !strings.HasPrefix(name, "vector ") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		sound++
		// Where the shape is sound, it says how many operands the instruction has.
		if number, shape, found := strings.Cut(strings.TrimPrefix(name, "vector "), "/"); found {
			o, err := strconv.ParseUint(number, 10, 32)
			check(t, err)
			if want := map[string]int{"0": -1, "1": 0, "2": 0, "3": -1}[shape]; vectorMove(uint32(o)) != want {
				t.Errorf("%s moves the stack by %d, and by %d is counted", name, want, vectorMove(uint32(o)))
			}
		}
		// What does not grow with the code is left aside.
		if counted := p.compiled - 64<<10; size > counted {
			t.Errorf("%s: %d bytes of machine code, and %d were counted", name, size, counted)
		} else {
			t.Logf("%s: %.0f of %.0f", name, float64(size)/times, float64(counted)/times)
			worst = max(worst, float64(size)/float64(counted))
		}
	}
	if sound < 300 {
		t.Errorf("only %d instructions were compiled", sound)
	}
	t.Logf("at most %.2f of what was counted", worst)
}

// plainKinds returns what a plain instruction takes and gives.
func plainKinds(o byte) (in []byte, out byte) {
	unary := func(in, out byte) ([]byte, byte) { return []byte{in}, out }
	binary := func(in, out byte) ([]byte, byte) { return []byte{in, in}, out }
	switch {
	case o == 0x45:
		return unary(typeI32, typeI32)
	case o <= 0x4f:
		return binary(typeI32, typeI32)
	case o == 0x50:
		return unary(typeI64, typeI32)
	case o <= 0x5a:
		return binary(typeI64, typeI32)
	case o <= 0x60:
		return binary(typeF32, typeI32)
	case o <= 0x66:
		return binary(typeF64, typeI32)
	case o <= 0x69:
		return unary(typeI32, typeI32)
	case o <= 0x78:
		return binary(typeI32, typeI32)
	case o <= 0x7b:
		return unary(typeI64, typeI64)
	case o <= 0x8a:
		return binary(typeI64, typeI64)
	case o <= 0x91:
		return unary(typeF32, typeF32)
	case o <= 0x98:
		return binary(typeF32, typeF32)
	case o <= 0x9f:
		return unary(typeF64, typeF64)
	case o <= 0xa6:
		return binary(typeF64, typeF64)
	}
	conversions := [...][2]byte{
		{typeI64, typeI32}, {typeF32, typeI32}, {typeF32, typeI32}, {typeF64, typeI32}, {typeF64, typeI32}, {typeI32, typeI64}, {typeI32, typeI64}, {typeF32, typeI64}, {typeF32, typeI64},
		{typeF64, typeI64}, {typeF64, typeI64}, {typeI32, typeF32}, {typeI32, typeF32}, {typeI64, typeF32}, {typeI64, typeF32}, {typeF64, typeF32}, {typeI32, typeF64}, {typeI32, typeF64},
		{typeI64, typeF64}, {typeI64, typeF64}, {typeF32, typeF64}, {typeF32, typeI32}, {typeF64, typeI64}, {typeI32, typeF32}, {typeI64, typeF64},
		{typeI32, typeI32}, {typeI32, typeI32}, {typeI64, typeI64}, {typeI64, typeI64}, {typeI64, typeI64},
	}
	c := conversions[o-0xa7]
	return unary(c[0], c[1])
}
