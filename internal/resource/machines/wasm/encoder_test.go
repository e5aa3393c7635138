package wasm

import "slices"

// guest builds modules byte by byte, good ones and bad ones.
type guest struct {
	types    [][]byte
	imports  [][]byte
	funcs    [][]byte // the types of functions
	tables   [][]byte
	memory   []byte // limits; nil for none
	globals  [][]byte
	exports  [][]byte
	start    []byte
	elements [][]byte
	code     [][]byte
	data     [][]byte
	count    []byte
}

func num(n uint32) []byte   { return appendU32(nil, n) }
func signed(n int64) []byte { return appendSigned(nil, n) }

func join(parts ...[]byte) []byte { return slices.Concat(parts...) }

func op(b ...byte) []byte { return b }

func i32(n int64) []byte { return join(op(opI32Const), signed(n)) }
func i64(n int64) []byte { return join(op(opI64Const), signed(n)) }

func call(f uint32) []byte { return join(op(opCall), num(f)) }

// text is a vector of bytes.
func text(s string) []byte { return join(num(uint32(len(s))), []byte(s)) }

// addType adds the type of a function and returns its number.
func (g *guest) addType(params, results []byte) uint32 {
	g.types = append(g.types, join(op(0x60), num(uint32(len(params))), params, num(uint32(len(results))), results))
	return uint32(len(g.types) - 1)
}

// addImport imports a function of WASI and returns its number. All imports come before functions.
func (g *guest) addImport(name string) uint32 {
	params := []byte{}
	for _, c := range wasiCalls[name].params {
		params = append(params, map[rune]byte{'i': typeI32, 'I': typeI64}[c])
	}
	results := []byte{typeI32}
	if name == "proc_exit" {
		results = nil
	}
	g.imports = append(g.imports, join(text(wasiModule), text(name), op(0), num(g.addType(params, results))))
	return uint32(len(g.imports) - 1)
}

// addFunc adds a function and returns its number. Locals are pairs of a count and a kind.
func (g *guest) addFunc(kind uint32, locals [][]byte, body ...[]byte) uint32 {
	g.funcs = append(g.funcs, num(kind))
	code := join(num(uint32(len(locals))), join(locals...), join(body...), op(opEnd))
	g.code = append(g.code, join(num(uint32(len(code))), code))
	return uint32(len(g.imports) + len(g.funcs) - 1)
}

func (g *guest) export(name string, kind byte, index uint32) {
	g.exports = append(g.exports, join(text(name), op(kind), num(index)))
}

// main adds what runs first, with so many locals of 32 bits.
func (g *guest) main(locals uint32, body ...[]byte) *guest {
	var groups [][]byte
	if locals > 0 {
		groups = [][]byte{join(num(locals), op(typeI32))}
	}
	g.export(entryPoint, exportFunction, g.addFunc(g.addType(nil, nil), groups, body...))
	return g
}

// section writes a section of entries.
func section(id byte, entries [][]byte) []byte {
	if len(entries) == 0 {
		return nil
	}
	return raw(id, join(num(uint32(len(entries))), join(entries...)))
}

// raw writes a section as it is.
func raw(id byte, content []byte) []byte {
	return join(op(id), num(uint32(len(content))), content)
}

func (g *guest) bytes() []byte {
	out := join(magic, section(sectionType, g.types), section(sectionImport, g.imports), section(sectionFunction, g.funcs), section(sectionTable, g.tables))
	if g.memory != nil {
		out = join(out, section(sectionMemory, [][]byte{g.memory}))
	}
	out = join(out, section(sectionGlobal, g.globals), section(sectionExport, g.exports))
	if g.start != nil {
		out = join(out, raw(sectionStart, g.start))
	}
	out = join(out, section(sectionElement, g.elements))
	if g.count != nil {
		out = join(out, raw(sectionDataCount, g.count))
	}
	return join(out, section(sectionCode, g.code), section(sectionData, g.data))
}

// withMemory gives a module memory of so many pages.
func withMemory(pages uint32) *guest {
	g := &guest{memory: join(op(0), num(pages))}
	g.export("memory", exportMemory, 0)
	return g
}

// addData puts a text into memory.
func (g *guest) addData(at uint32, content string) {
	g.data = append(g.data, join(op(0), i32(int64(at)), op(opEnd), text(content)))
}

// loop is a loop without end around a body.
func loop(body ...[]byte) []byte {
	return join(op(opLoop, typeEmpty), join(body...), op(opBr, 0, opEnd))
}
