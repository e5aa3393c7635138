package wasm

import (
	"bytes"
	"errors"

	"ql/lang/value"
)

// The sections of a module.
const (
	sectionCustom = iota
	sectionType
	sectionImport
	sectionFunction
	sectionTable
	sectionMemory
	sectionGlobal
	sectionExport
	sectionStart
	sectionElement
	sectionCode
	sectionData
	sectionDataCount
	sections
)

var sectionNames = [sections]string{"a custom section", "the section of types", "the section of imports", "the section of functions", "the section of tables", "the section of memory", "the section of globals", "the section of exports", "the start section", "the section of elements", "the code", "the section of data", "the count of data"}

// sectionOrder is the order in which they come.
var sectionOrder = [...]byte{sectionType, sectionImport, sectionFunction, sectionTable, sectionMemory, sectionGlobal, sectionExport, sectionStart, sectionElement, sectionDataCount, sectionCode, sectionData}

// wasiModule is what a module may import of, and hostModule where its hooks are.
const (
	wasiModule = "wasi_snapshot_preview1"
	hostModule = "ql"
)

// The hooks: functions of the host that a module gets behind those that it imports.
const (
	hookTurn   = iota // i64 → i64: more fuel, where there is a shortage of it
	hookDeeper        // i64 → i64: more stack, likewise
	hooks
)

var hookNames = [hooks]string{"turn", "deeper"}

// magic is how all modules begin.
var magic = []byte("\x00asm\x01\x00\x00\x00")

// plan is what is known of a module before it is compiled. All but pages are bytes, and none is
// less than what there will be.
type plan struct {
	pages    uint32 // of memory at its start
	instance int64  // that one instance takes besides its memory and its stack
	compiled int64  // that it takes compiled
	compile  int64  // that compiling it takes
	frame    int64  // that one of its functions takes on the stack
	work     int64  // nanoseconds that compiling it takes
}

// vector is a section as it is written: so many entries.
type vector struct {
	count int
	bytes []byte
}

// rewriter reads a module and writes it anew: the same, but that it stops now and then, for others
// to have their turn and for its deadline, and asks before its stack grows. It also checks it
// against all bounds. Whether the code is sound is left to wazero, with the exception of indices:
// none may be of what is added.
type rewriter struct {
	plan     plan
	sections [sections]vector

	types     []signature
	imports   int      // functions imported
	functions []uint32 // the types of the module's own
	tables    int
	memory    bool
	globals   int
	segments  int  // of elements
	data      int  // segments
	counted   bool // the data, before they came
	elements  int
	locals    int // of all functions
	entry     bool

	body body
}

// signature is the type of a function.
type signature struct{ params, results int }

// rewrite checks a module and returns it with its hooks. Turn is called now and then on the way.
// An error is a *value.Error, or that of turn.
func rewrite(module []byte, turn func() error) (out []byte, p plan, err error) {
	defer func() {
		r := recover()
		switch refused, isError := r.(error); {
		case r == nil:
		case isError && errors.As(refused, new(*value.Error)):
			out, err = nil, refused
		case isError && errors.As(refused, new(*interrupted)):
			out, err = nil, errors.Unwrap(refused)
		default:
			panic(r)
		}
	}()
	w := &rewriter{}
	w.read(module, turn)
	return w.write(), w.plan, nil
}

// interrupted is the panic by which a turn's error ends the reading.
type interrupted struct{ cause error }

func (i *interrupted) Error() string { return i.cause.Error() }
func (i *interrupted) Unwrap() error { return i.cause }

func (w *rewriter) read(module []byte, turn func() error) {
	if !bytes.HasPrefix(module, magic) {
		refuse("it is no WebAssembly module; one for WASI preview 1 is built, for instance, by GOOS=wasip1 GOARCH=wasm go build")
	}
	in := reader{rest: module[len(magic):], what: "it"}
	place := -1
	for len(in.rest) > 0 {
		id := in.byte()
		if id >= sections {
			refuse("it has a section of the kind %d, which is not supported", id)
		}
		in.what = sectionNames[id]
		s := reader{rest: in.take(in.u32()), what: sectionNames[id]}
		if id == sectionCustom {
			continue // names and the like: nothing that runs
		}
		at := bytes.IndexByte(sectionOrder[:], id)
		if at <= place {
			refuse("%s is not in its place", s.what)
		}
		place = at
		w.section(id, &s, turn)
		if len(s.rest) > 0 {
			refuse("%s is longer than what it holds", s.what)
		}
	}
	if len(w.functions) > 0 && w.sections[sectionCode].count == 0 {
		refuse("its functions have no code")
	}
	if !w.entry {
		refuse("it exports no function _start: what a machine runs is a program, not a library")
	}
}

// section reads one section.
func (w *rewriter) section(id byte, s *reader, turn func() error) {
	v := &w.sections[id]
	switch id {
	case sectionStart:
		v.count, v.bytes = 1, appendU32(nil, w.function(s))
		return
	case sectionDataCount:
		w.data, w.counted = int(s.u32()), true
		if w.data > maxSegments {
			refuse("it has %d segments of data, and may have %d", w.data, maxSegments)
		}
		v.count = w.data
		return
	}
	most := map[byte]int{
		sectionType: maxTypes, sectionImport: maxImports, sectionFunction: maxFunctions, sectionTable: maxTables, sectionMemory: 1,
		sectionGlobal: maxGlobals, sectionExport: maxExports, sectionElement: maxSegments, sectionCode: maxFunctions, sectionData: maxSegments,
	}
	v.count = s.count(most[id], "entries in "+s.what)
	v.bytes = make([]byte, 0, len(s.rest))
	if id == sectionCode && v.count != len(w.functions) {
		refuse("it has %d functions, and code of %d", len(w.functions), v.count)
	}
	if id == sectionData {
		if w.counted && v.count != w.data {
			refuse("it has %d segments of data, and says %d", v.count, w.data)
		}
		w.data = v.count
	}
	for i := range v.count {
		switch id {
		case sectionType:
			w.addType(v, s)
		case sectionImport:
			w.addImport(v, s)
		case sectionFunction:
			t := s.index(len(w.types), "type")
			w.functions = append(w.functions, t)
			v.bytes = appendU32(v.bytes, t)
		case sectionTable:
			w.addTable(v, s)
		case sectionMemory:
			w.addMemory(v, s)
		case sectionGlobal:
			w.addGlobal(v, s)
		case sectionExport:
			w.addExport(v, s)
		case sectionElement:
			w.addElements(v, s)
		case sectionCode:
			if err := turn(); err != nil {
				panic(&interrupted{err})
			}
			w.addFunction(v, i, s)
		case sectionData:
			w.addData(v, s)
		}
	}
}

func (w *rewriter) addType(v *vector, s *reader) {
	if b := s.byte(); b != 0x60 {
		refuse("it has a type of the kind %#x, and functions alone have types here", b)
	}
	v.bytes = append(v.bytes, 0x60)
	var sizes [2]int
	for i := range sizes {
		n := s.count(maxValues, "values in one type")
		sizes[i] = n
		v.bytes = appendU32(v.bytes, uint32(n))
		for range n {
			v.bytes = append(v.bytes, s.valueType())
		}
	}
	w.types = append(w.types, signature{sizes[0], sizes[1]})
	// A type has a piece of code that enters functions of it.
	w.plan.compiled += 512 + 64*int64(sizes[0]+sizes[1])
}

func (w *rewriter) addImport(v *vector, s *reader) {
	module := s.take(s.u32())
	name := s.take(s.u32())
	kind := s.byte()
	switch {
	case string(module) != wasiModule:
		refuse("it imports %s of %s, and there is %s alone", value.Quote(string(name)), value.Quote(string(module)), wasiModule)
	case kind == 0 && wasiCalls[string(name)].do == nil:
		refuse("it imports %s of %s, which has no such function", value.Quote(string(name)), wasiModule)
	case kind != 0:
		refuse("it imports %s, which is no function, and functions alone can be imported", value.Quote(string(name)))
	}
	v.bytes = appendName(appendName(v.bytes, module), name)
	v.bytes = append(v.bytes, 0)
	v.bytes = appendU32(v.bytes, s.index(len(w.types), "type"))
	w.imports++
	w.plan.compiled += 512
}

func appendName(b, name []byte) []byte {
	return append(appendU32(b, uint32(len(name))), name...)
}

func (w *rewriter) addTable(v *vector, s *reader) {
	v.bytes = append(v.bytes, s.refType())
	least, most := s.limits(maxTable)
	if least > most {
		refuse("a table of it begins with %d elements, and may have %d", least, most)
	}
	v.bytes = appendU32(appendU32(append(v.bytes, 1), least), most)
	w.tables++
	const reference = 8
	w.plan.instance += reference * int64(most)
	if most > least {
		w.plan.instance += reference * int64(most) // the copy while it grows
	}
}

func (w *rewriter) addMemory(v *vector, s *reader) {
	least, most := s.limits(maxPages)
	if least > most {
		refuse("its memory begins with %d pages of 64 KiB, and may have %d", least, most)
	}
	v.bytes = appendU32(appendU32(append(v.bytes, 1), least), most)
	w.plan.pages, w.memory = least, true
}

func (w *rewriter) addGlobal(v *vector, s *reader) {
	v.bytes = append(v.bytes, s.valueType())
	mutable := s.byte()
	if mutable > 1 {
		s.cut()
	}
	v.bytes = append(v.bytes, mutable)
	v.bytes = w.constant(v.bytes, s)
	w.globals++
	w.plan.instance += 256
}

// constant reads an expression that is computed when the module starts.
func (w *rewriter) constant(b []byte, s *reader) []byte {
	op := s.byte()
	b = append(b, op)
	switch op {
	case opI32Const:
		b = appendSigned(b, s.signed(32))
	case opI64Const:
		b = appendSigned(b, s.signed(64))
	case opF32Const:
		b = append(b, s.take(4)...)
	case opF64Const:
		b = append(b, s.take(8)...)
	case opRefNull:
		b = append(b, s.refType())
	case opRefFunc:
		b = appendU32(b, w.function(s))
	case prefixVector:
		if s.u32() != vectorConst {
			refuse("%s computes what is no constant", s.what)
		}
		b = append(appendU32(b, vectorConst), s.take(16)...)
	default:
		refuse("%s computes what is no constant", s.what)
	}
	if s.byte() != opEnd {
		refuse("%s computes more than constants, which is not supported", s.what)
	}
	return append(b, opEnd)
}

// function reads the index of a function and returns its new one.
func (w *rewriter) function(s *reader) uint32 {
	return w.shifted(s.index(w.imports+len(w.functions), "function"))
}

// shifted returns the index that a function has behind the hooks.
func (w *rewriter) shifted(index uint32) uint32 {
	if int(index) >= w.imports {
		index += hooks
	}
	return index
}

// The kinds of exports.
const (
	exportFunction = iota
	exportTable
	exportMemory
	exportGlobal
)

const entryPoint = "_start"

func (w *rewriter) addExport(v *vector, s *reader) {
	name := s.take(s.u32())
	kind := s.byte()
	v.bytes = append(appendName(v.bytes, name), kind)
	var index uint32
	switch kind {
	case exportFunction:
		index = w.function(s)
		w.entry = w.entry || string(name) == entryPoint
	case exportTable:
		index = s.index(w.tables, "table")
	case exportMemory:
		if index = s.u32(); index > 0 || !w.memory {
			refuse("it exports a memory that it does not have")
		}
	case exportGlobal:
		index = s.index(w.globals, "global")
	default:
		refuse("it exports something of the kind %d, which is not supported", kind)
	}
	v.bytes = appendU32(v.bytes, index)
	w.plan.compiled += 256 + int64(len(name))
}

// addElements reads a segment of elements. The bits of its kind say whether it is passive or has
// a table of its own, and whether its elements are expressions.
func (w *rewriter) addElements(v *vector, s *reader) {
	kind := s.u32()
	if kind > 7 {
		refuse("it has a segment of elements of the kind %d, which is not supported", kind)
	}
	v.bytes = appendU32(v.bytes, kind)
	active, explicit, expressions := kind&1 == 0, kind&3 != 0, kind&4 != 0
	if active {
		if kind&2 != 0 {
			v.bytes = appendU32(v.bytes, s.index(w.tables, "table"))
		}
		v.bytes = w.constant(v.bytes, s)
	}
	switch {
	case explicit && expressions:
		v.bytes = append(v.bytes, s.refType())
	case explicit:
		if s.byte() != 0 {
			refuse("it has elements that are no functions, which is not supported")
		}
		v.bytes = append(v.bytes, 0)
	}
	n := s.count(maxElements-w.elements, "elements in a segment")
	v.bytes = appendU32(v.bytes, uint32(n))
	for range n {
		if expressions {
			v.bytes = w.constant(v.bytes, s)
		} else {
			v.bytes = appendU32(v.bytes, w.function(s))
		}
	}
	w.elements += n
	w.segments++
	w.plan.compiled += 256 + 128*int64(n)
	w.plan.instance += 64 + 64*int64(n)
}

func (w *rewriter) addData(v *vector, s *reader) {
	kind := s.u32()
	if kind > 2 {
		refuse("it has a segment of data of the kind %d, which is not supported", kind)
	}
	if kind == 2 {
		if s.u32() != 0 {
			refuse("it has data of more than one memory, which is not supported")
		}
		kind = 0
	}
	v.bytes = appendU32(v.bytes, kind)
	if kind == 0 {
		if !w.memory {
			refuse("it has data, and no memory")
		}
		v.bytes = w.constant(v.bytes, s)
	}
	content := s.take(s.u32())
	v.bytes = appendName(v.bytes, content)
	w.plan.compiled += 256 + int64(len(content))
	w.plan.instance += 32
}

// write returns the module with what is added to it.
func (w *rewriter) write() []byte {
	w.add(sectionType, []byte{0x60, 1, typeI64, 1, typeI64}, []byte{0x60, 1, typeI32, 1, typeI32})
	for _, name := range hookNames {
		entry := appendName(appendName(nil, []byte(hostModule)), []byte(name))
		w.add(sectionImport, appendU32(append(entry, 0), w.hookType()))
	}
	w.add(sectionFunction, appendU32(nil, w.chargeType()))
	for _, first := range []int64{fuelPerTurn, firstStack} {
		w.add(sectionGlobal, append(appendSigned([]byte{typeI64, 1, opI64Const}, first), opEnd))
	}
	w.add(sectionCode, w.chargeCode())
	size := len(magic)
	for i := range w.sections {
		size += len(w.sections[i].bytes) + 16
	}
	out := append(make([]byte, 0, size), magic...)
	for _, id := range sectionOrder {
		v := &w.sections[id]
		if v.count == 0 && (id != sectionDataCount || !w.counted) {
			continue
		}
		content := appendU32(nil, uint32(v.count))
		if id == sectionStart {
			content = nil
		}
		out = append(out, id)
		out = appendU32(out, uint32(len(content)+len(v.bytes)))
		out = append(append(out, content...), v.bytes...)
		v.bytes = nil
	}
	w.plan.compiled += 2*int64(len(out)) + 64<<10
	w.plan.instance += 64 << 10
	w.plan.compile += w.plan.compiled + 2*int64(len(out))
	return out
}

// add adds entries to the end of a section.
func (w *rewriter) add(id byte, entries ...[]byte) {
	v := &w.sections[id]
	v.count += len(entries)
	for _, e := range entries {
		v.bytes = append(v.bytes, e...)
	}
}

// The indices of what is added.
func (w *rewriter) hookType() uint32    { return uint32(len(w.types)) }
func (w *rewriter) chargeType() uint32  { return uint32(len(w.types)) + 1 }
func (w *rewriter) hook(i int) uint32   { return uint32(w.imports + i) }
func (w *rewriter) charge() uint32      { return uint32(w.imports + hooks + len(w.functions)) }
func (w *rewriter) fuelGlobal() uint32  { return uint32(w.globals) }
func (w *rewriter) stackGlobal() uint32 { return uint32(w.globals) + 1 }
