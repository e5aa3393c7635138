package wasm

import "math/bits"

// The instructions that are told apart here.
const (
	opBlock        = 0x02
	opLoop         = 0x03
	opIf           = 0x04
	opElse         = 0x05
	opEnd          = 0x0b
	opBr           = 0x0c
	opBrIf         = 0x0d
	opBrTable      = 0x0e
	opReturn       = 0x0f
	opCall         = 0x10
	opCallIndirect = 0x11
	opDrop         = 0x1a
	opSelect       = 0x1b
	opSelectTyped  = 0x1c
	opLocalGet     = 0x20
	opLocalSet     = 0x21
	opLocalTee     = 0x22
	opGlobalGet    = 0x23
	opGlobalSet    = 0x24
	opTableGet     = 0x25
	opTableSet     = 0x26
	opLoadFirst    = 0x28
	opStoreFirst   = 0x36
	opStoreLast    = 0x3e
	opMemorySize   = 0x3f
	opMemoryGrow   = 0x40
	opI32Const     = 0x41
	opI64Const     = 0x42
	opF32Const     = 0x43
	opF64Const     = 0x44
	opPlainFirst   = 0x45 // comparisons, arithmetic and conversions: nothing follows them
	opI64LtS       = 0x53
	opI64Add       = 0x7c
	opI64Sub       = 0x7d
	opI64Or        = 0x84
	opI64ShrU      = 0x88
	opI64ExtendU   = 0xad
	opPlainLast    = 0xc4
	opRefNull      = 0xd0
	opRefIsNull    = 0xd1
	opRefFunc      = 0xd2
	prefixBulk     = 0xfc
	prefixVector   = 0xfd
)

// Those behind prefixBulk.
const (
	bulkTruncLast  = 7
	bulkMemoryInit = 8
	bulkDataDrop   = 9
	bulkMemoryCopy = 10
	bulkMemoryFill = 11
	bulkTableInit  = 12
	bulkElemDrop   = 13
	bulkTableCopy  = 14
	bulkTableGrow  = 15
	bulkTableSize  = 16
	bulkTableFill  = 17
)

// Those behind prefixVector.
const (
	vectorMemoryLast   = 11
	vectorConst        = 12
	vectorShuffle      = 13
	vectorLaneFirst    = 21
	vectorLaneLast     = 34
	vectorLaneMemFirst = 84
	vectorLaneMemLast  = 91
	vectorZeroLast     = 93
	vectorLast         = 255
)

// body is the function that is being written.
type body struct {
	out     []byte
	locals  int // with parameters, without the one that is added
	scratch uint32
	labels  []label
	set     []uint64 // a row of bits for each label: the locals that are set below it
	row     int      // words of one
	calls   []int    // where the size of the frame is to be put
	values  int64    // that the function computes
	phis    int64    // that come of joining paths
	weight  int64    // bytes of machine code
	wide    bool     // it has values of 128 bits
	blocks  int      // of the compiler's, between branches
	checks  int64    // instructions that look first whether they may, and end the module otherwise
	size    int64    // bytes of the function
	loops   int      // that are open
	deepest int      // most of them
	height  int      // of the stack of values, or more
	highest int
}

// label is a block that is open.
type label struct {
	op   byte
	cost int // where its cost is to be put; -1 for a block, whose cost is that of what it is in
	ops  int64
	args int
	// How high the stack of values is where the block begins, without its parameters, and how many
	// results it leaves there.
	base, results int
}

// leaving is how many instructions one is paid for like that leaves the module for wazero's own code: to
// grow memory or a table, or to name a function.
const leaving = 256

// The width of numbers that are put in later.
const (
	costWidth  = 4
	frameWidth = 5
)

// putPadded puts a number that is not negative there, as one of so many bytes.
func putPadded(b []byte, n int64, width int) {
	for i := range width - 1 {
		b[i] = byte(n&0x7f) | 0x80
		n >>= 7
	}
	b[width-1] = byte(n & 0x3f)
}

// addFunction writes the function with the number i.
func (w *rewriter) addFunction(v *vector, i int, s *reader) {
	size := s.u32()
	if size > maxBody {
		refuse("a function of it has %d bytes, and may have %d", size, maxBody)
	}
	in := reader{rest: s.take(size), what: "a function of it"}
	b := &w.body
	*b = body{out: b.out[:0], labels: b.labels[:0], set: b.set[:0], calls: b.calls[:0], size: int64(size)}
	w.readLocals(&in, w.types[w.functions[i]].params)
	b.row = (b.locals + 63) / 64
	w.open(opCall, signature{})
	for len(b.labels) > 0 {
		w.instruction(&in)
	}
	if len(in.rest) > 0 {
		refuse("a function of it goes on behind its end")
	}
	frame := w.frame()
	for _, at := range b.calls {
		putPadded(b.out[at:], frame, frameWidth)
	}
	v.bytes = append(appendU32(v.bytes, uint32(len(b.out))), b.out...)
	w.plan.frame = max(w.plan.frame, frame)
	w.plan.compiled += 256 + 16*int64(b.locals) + b.weight + 16*b.phis
	w.plan.work += b.work()
	// Compiling goes function by function.
	w.plan.compile = max(w.plan.compile, w.compileBytes())
}

// frame is how much the function takes of the stack at most: each of its values may get a place
// there of its own.
func (w *rewriter) frame() int64 {
	b := &w.body
	slot := int64(8)
	if b.wide {
		slot = 16
	}
	return 256 + slot*(int64(b.locals)+b.values+b.phis)
}

// work is how long compiling the function takes at most, about, in nanoseconds: what was measured of
// the worst functions (TestPromiseWork). It grows with the square of blocks, with what may be alive in
// each, and with joined values by the depth of loops, which are gone through as often. What is linear
// costs up to four times as much in a large function, which fits no cache.
func (b *body) work() int64 {
	blocks, alive := int64(b.blocks), int64(b.locals+b.highest)
	linear := 1_000*b.values + 2_000*b.checks
	return 30_000 + 30*b.size + 15*blocks*blocks + blocks*alive*(600+min(alive, 2_000)*4/5) + 2_000*b.phis*int64(b.deepest) +
		linear + linear/10_000*min(b.values, 30_000)
}

// compileBytes is how much compiling the function takes.
func (w *rewriter) compileBytes() int64 {
	b := &w.body
	return 1<<20 + 1200*(int64(b.locals)+b.values+b.phis) + int64(b.blocks)*(3000+32*int64(b.locals+b.highest)) + b.weight
}

func (w *rewriter) readLocals(in *reader, params int) {
	b := &w.body
	groups := in.count(maxLocals, "groups of locals in one function")
	b.out = appendU32(b.out, uint32(groups)+1)
	b.locals = params
	for range groups {
		n := in.u32()
		if uint64(b.locals)+uint64(n) > maxLocals+uint64(params) {
			refuse("a function of it has more than %d locals", maxLocals)
		}
		b.locals += int(n)
		kind := in.valueType()
		b.wide = b.wide || kind == typeV128
		b.out = append(appendU32(b.out, n), kind)
	}
	if w.locals += b.locals; w.locals > maxAllLocals {
		refuse("its functions have more than %d locals together", maxAllLocals)
	}
	b.scratch = uint32(b.locals)
	b.out = append(b.out, 1, typeI64)
}

// open begins a block. A loop, and the function itself, pay for what is in them each time.
func (w *rewriter) open(op byte, t signature) {
	b := &w.body
	l := label{op: op, cost: -1, args: t.params + t.results, base: max(0, b.height-t.params), results: t.results}
	if op == opLoop || op == opCall {
		l.cost = w.payHere(op == opCall)
	}
	b.labels = append(b.labels, l)
	if len(b.labels) > maxNesting || (len(b.labels)+1)*b.row > 1<<18 {
		refuse("a function of it nests %d blocks, which is too deep", len(b.labels))
	}
	for range b.row {
		b.set = append(b.set, 0)
	}
	switch op {
	case opIf:
		b.blocks += 3
	case opLoop:
		b.blocks += 2
		b.loops++
		b.deepest = max(b.deepest, b.loops)
	default:
		b.blocks++
	}
}

// close ends the innermost block. Where its paths join, each local that one of them set has a
// value of its own.
func (w *rewriter) close() {
	b := &w.body
	last := len(b.labels) - 1
	l := b.labels[last]
	inner := b.set[last*b.row:]
	for i, word := range inner {
		b.phis += int64(bits.OnesCount64(word))
		if last > 0 {
			b.set[(last-1)*b.row+i] |= word
		}
	}
	b.phis += int64(l.args)
	if b.phis > maxPhis {
		refuse("a function of it joins too many paths with too many locals")
	}
	if l.op == opLoop {
		b.loops--
	}
	b.set = b.set[:last*b.row]
	b.labels = b.labels[:last]
	b.height = l.base
	b.move(l.results)
	switch {
	case l.cost >= 0:
		putPadded(b.out[l.cost:], min(l.ops+1, 1<<26), costWidth)
	case last > 0:
		b.labels[last-1].ops += l.ops
	}
}

// move notes how the stack of values changes. Code behind a branch that is always taken may take
// more than there is.
func (b *body) move(by int) {
	b.height = max(0, b.height+by)
	b.highest = max(b.highest, b.height)
}

// payHere writes what pays for a piece of code, and returns where its cost is to be put. Where a
// function begins it also looks at the stack, of which its caller has taken: so calls need no
// branches, which are what makes compiling slow.
func (w *rewriter) payHere(function bool) int {
	b := &w.body
	b.out = append(b.out, opGlobalGet)
	b.out = appendU32(b.out, w.fuelGlobal())
	b.out = append(b.out, opI64Const)
	at := len(b.out)
	b.out = append(b.out, 0, 0, 0, 0)
	b.out = append(b.out, opI64Sub, opLocalTee)
	b.out = appendU32(b.out, b.scratch)
	b.out = append(b.out, opGlobalSet)
	b.out = appendU32(b.out, w.fuelGlobal())
	b.out = append(b.out, opLocalGet)
	b.out = appendU32(b.out, b.scratch)
	if function {
		b.out = append(b.out, opGlobalGet)
		b.out = appendU32(b.out, w.stackGlobal())
		b.out = append(b.out, opI64Or)
	}
	b.out = append(b.out, opI64Const, 0, opI64LtS, opIf, typeEmpty)
	if function {
		b.out = w.appendHook(b.out, w.stackGlobal(), hookDeeper)
	}
	b.out = w.appendHook(b.out, w.fuelGlobal(), hookTurn)
	b.out = append(b.out, opEnd)
	b.weight += 88
	b.values += 6
	b.blocks += 3
	return at
}

// appendHook writes the call of a hook, which is given a global and returns what becomes of it.
func (w *rewriter) appendHook(b []byte, global uint32, hook int) []byte {
	b = appendU32(append(b, opGlobalGet), global)
	b = appendU32(append(b, opCall), w.hook(hook))
	return appendU32(append(b, opGlobalSet), global)
}

// moveStack writes what takes the function's frame of the stack before a call, or gives it back
// after it.
func (w *rewriter) moveStack(op byte) {
	b := &w.body
	b.out = append(b.out, opGlobalGet)
	b.out = appendU32(b.out, w.stackGlobal())
	b.out = append(b.out, opI64Const)
	b.calls = append(b.calls, len(b.out))
	b.out = append(b.out, 0, 0, 0, 0, 0)
	b.out = append(b.out, op, opGlobalSet)
	b.out = appendU32(b.out, w.stackGlobal())
	b.weight += 24
	b.values += 3
}

// chargeCode is the function that pays for an instruction which works on many bytes or elements.
// It takes their number and returns it.
func (w *rewriter) chargeCode() []byte {
	b := []byte{0, opGlobalGet}
	b = appendU32(b, w.fuelGlobal())
	b = append(b, opLocalGet, 0, opI64ExtendU, opI64Const, 4, opI64ShrU, opI64Sub, opGlobalSet)
	b = appendU32(b, w.fuelGlobal())
	b = append(b, opGlobalGet)
	b = appendU32(b, w.fuelGlobal())
	b = append(b, opI64Const, 0, opI64LtS, opIf, typeEmpty)
	b = w.appendHook(b, w.fuelGlobal(), hookTurn)
	b = append(b, opEnd, opLocalGet, 0, opEnd)
	return append(appendU32(nil, uint32(len(b))), b...)
}

// chargeMany writes a call of it, with the number on top of the stack.
func (w *rewriter) chargeMany() {
	b := &w.body
	b.out = append(b.out, opCall)
	b.out = appendU32(b.out, w.charge())
	b.weight += 64
	b.values++
}

// instruction reads one instruction and writes it, with numbers in their shortest form: so wazero
// sees what was seen here.
func (w *rewriter) instruction(in *reader) {
	b := &w.body
	b.labels[len(b.labels)-1].ops++
	op := in.byte()
	switch {
	case op == opBlock || op == opLoop || op == opIf:
		b.out = append(b.out, op)
		t := w.blockType(in)
		b.weight += 16
		if op == opIf {
			b.move(-1)
		}
		w.open(op, t)
	case op == opElse:
		if b.labels[len(b.labels)-1].op != opIf {
			refuse("a function of it has an else without an if")
		}
		l := b.labels[len(b.labels)-1]
		b.height = l.base
		b.move(l.args - l.results)
		b.out = append(b.out, op)
		b.weight += 8
	case op == opEnd:
		b.out = append(b.out, op)
		w.close()
	case op == opBr || op == opBrIf:
		b.out = appendU32(append(b.out, op), in.index(len(b.labels), "block"))
		b.weight += 16
		b.blocks++
		if op == opBrIf {
			b.blocks++
			b.move(-1)
		}
	case op == opBrTable:
		w.branchTable(in)
	case op == opCall || op == opCallIndirect:
		w.call(op, in)
	case op <= 0x01 || op == opReturn || op == opDrop:
		b.out = append(b.out, op)
		switch op {
		case opDrop:
			b.move(-1)
		case 0x00, opReturn:
			b.weight += 48
		}
	case op == opSelect || op == opRefIsNull || op >= opPlainFirst && op <= opPlainLast:
		b.out = append(b.out, op)
		b.move(plainMove(op))
		b.values++
		b.weight += plainWeight(op)
		if plainWeight(op) > 100 {
			b.checks++
		}
	case op == opSelectTyped:
		if in.u32() != 1 {
			refuse("a function of it selects more than one value at once, which is not supported")
		}
		b.out = append(b.out, op, 1, in.valueType())
		b.move(-2)
		b.values++
		b.weight += 32
	case op >= opLocalGet && op <= opTableSet:
		w.variable(op, in)
	case op >= opLoadFirst && op <= opStoreLast:
		b.out = append(b.out, op)
		w.memoryArgument(in)
		if op >= opStoreFirst {
			b.move(-2)
		}
		b.values += 2
		b.checks++
		b.weight += 64 // the check of its bounds is most of it
	case op == opMemorySize || op == opMemoryGrow:
		in.zero()
		b.out = append(b.out, op, 0)
		if op == opMemorySize {
			b.move(1)
		} else {
			b.labels[len(b.labels)-1].ops += leaving
		}
		b.values += 2
		b.weight += 96
	case op == opI32Const || op == opI64Const:
		size := 32
		if op == opI64Const {
			size = 64
		}
		b.out = appendSigned(append(b.out, op), in.signed(size))
		b.move(1)
		b.values++
		b.weight += 16
	case op == opF32Const || op == opF64Const:
		size := uint32(4)
		if op == opF64Const {
			size = 8
		}
		b.out = append(append(b.out, op), in.take(size)...)
		b.move(1)
		b.values++
		b.weight += 20
	case op == opRefNull:
		b.out = append(b.out, op, in.refType())
		b.move(1)
		b.values++
		b.weight += 16
	case op == opRefFunc:
		b.out = appendU32(append(b.out, op), w.function(in))
		b.labels[len(b.labels)-1].ops += leaving
		b.move(1)
		b.values++
		b.weight += 96
	case op == prefixBulk:
		w.bulk(in)
	case op == prefixVector:
		w.vector(in)
	default:
		refuse("a function of it has the instruction %#x, which is not supported", op)
	}
}

// plainMove is how the stack of values changes by a plain instruction: those of two operands leave
// one value less.
func plainMove(op byte) int {
	switch {
	case op == opSelect:
		return -2
	case op >= 0x46 && op <= 0x4f, op >= 0x51 && op <= 0x66, op >= 0x6a && op <= 0x78, op >= 0x7c && op <= 0x8a, op >= 0x92 && op <= 0x98, op >= 0xa0 && op <= 0xa6:
		return -1
	}
	return 0
}

// plainWeight is how many bytes of machine code an instruction makes at most.
func plainWeight(op byte) int64 {
	switch {
	case op >= 0x6d && op <= 0x70, op >= 0x7f && op <= 0x82: // division
		return 176
	case op >= 0xa8 && op <= 0xab, op >= 0xae && op <= 0xb1: // what does not fit is a fault
		return 240
	case op >= 0x8b && op <= 0xbf: // of floating point
		return 72
	}
	return 32
}

// blockType reads the type of a block: how many values go into it, and come out.
func (w *rewriter) blockType(in *reader) signature {
	b := &w.body
	n := in.signed(33)
	b.out = appendSigned(b.out, n)
	switch {
	case n >= 0:
		if n >= int64(len(w.types)) {
			refuse("a function of it has a block of the type %d, and there are %d", n, len(w.types))
		}
		t := w.types[n]
		b.values += int64(t.params + t.results)
		return t
	case byte(n&0x7f) == typeEmpty:
		return signature{}
	case byte(n&0x7f) == typeV128:
		b.wide = true
	}
	return signature{results: 1}
}

func (w *rewriter) branchTable(in *reader) {
	b := &w.body
	n := in.count(maxBody, "targets of one branch")
	b.out = appendU32(append(b.out, opBrTable), uint32(n))
	for range n + 1 {
		b.out = appendU32(b.out, in.index(len(b.labels), "block"))
	}
	b.move(-1)
	b.weight += 64 + 24*int64(n)
	b.blocks += n + 1
	b.labels[len(b.labels)-1].ops += int64(n) / 16
}

func (w *rewriter) call(op byte, in *reader) {
	b := &w.body
	var t signature
	if op == opCall {
		index := in.index(w.imports+len(w.functions), "function")
		if int(index) < w.imports {
			// What is imported does not call back.
			b.out = appendU32(append(b.out, op), index)
			b.move(1) // at most; its arguments are few
			b.values += 32
			b.weight += 160
			return
		}
		t = w.types[w.functions[int(index)-w.imports]]
		w.moveStack(opI64Sub)
		b.out = appendU32(append(b.out, op), w.shifted(index))
	} else {
		kind := in.index(len(w.types), "type")
		t = w.types[kind]
		table := in.index(w.tables, "table")
		w.moveStack(opI64Sub)
		b.out = appendU32(appendU32(append(b.out, op), kind), table)
		b.move(-1)
		b.values += 4
		b.checks += 2
		b.weight += 256
	}
	b.move(-t.params)
	b.move(t.results)
	w.moveStack(opI64Add)
	// Arguments and results have places of their own, where they do not fit registers.
	b.values += 2 * int64(t.params+t.results)
	b.weight += 48 + 16*int64(t.params+t.results)
}

func (w *rewriter) variable(op byte, in *reader) {
	b := &w.body
	b.out = append(b.out, op)
	switch op {
	case opLocalGet, opLocalSet, opLocalTee:
		index := in.index(b.locals, "local")
		b.out = appendU32(b.out, index)
		switch op {
		case opLocalGet:
			b.move(1)
		case opLocalSet:
			b.move(-1)
		}
		if op != opLocalGet {
			b.set[(len(b.labels)-1)*b.row+int(index/64)] |= 1 << (index % 64)
		}
		b.weight += 6
	case opGlobalGet, opGlobalSet:
		b.out = appendU32(b.out, in.index(w.globals, "global"))
		b.move(map[byte]int{opGlobalGet: 1, opGlobalSet: -1}[op])
		b.values++
		b.weight += 20
	default:
		b.out = appendU32(b.out, in.index(w.tables, "table"))
		if op == opTableSet {
			b.move(-2)
		}
		b.values += 4
		b.checks++
		b.weight += 96
	}
}

func (w *rewriter) memoryArgument(in *reader) {
	b := &w.body
	b.out = appendU32(b.out, in.u32()) // the alignment
	b.out = appendU32(b.out, in.u32()) // the offset
}

// bulk reads what stands behind prefixBulk.
func (w *rewriter) bulk(in *reader) {
	b := &w.body
	op := in.u32()
	if op >= bulkMemoryInit && op != bulkDataDrop && op != bulkElemDrop && op != bulkTableSize {
		w.chargeMany()
	}
	b.out = appendU32(append(b.out, prefixBulk), op)
	b.values += 8
	b.checks += 2
	b.weight += 448
	if op == bulkMemoryFill || op == bulkTableFill {
		b.blocks += 3 // it is a loop of copies
	}
	switch op {
	case bulkMemoryInit, bulkMemoryCopy, bulkMemoryFill, bulkTableInit, bulkTableCopy, bulkTableFill:
		b.move(-3)
	case bulkTableGrow:
		b.labels[len(b.labels)-1].ops += leaving
		b.move(-1)
	case bulkTableSize:
		b.move(1)
	}
	switch {
	case op <= bulkTruncLast:
		b.weight -= 448 - 160
	case op == bulkMemoryInit:
		b.out = appendU32(b.out, in.index(w.data, "segment of data"))
		in.zero()
		b.out = append(b.out, 0)
	case op == bulkDataDrop:
		b.out = appendU32(b.out, in.index(w.data, "segment of data"))
	case op == bulkMemoryCopy:
		in.zero()
		in.zero()
		b.out = append(b.out, 0, 0)
	case op == bulkMemoryFill:
		in.zero()
		b.out = append(b.out, 0)
	case op == bulkTableInit:
		b.out = appendU32(b.out, in.index(w.segments, "segment of elements"))
		b.out = appendU32(b.out, in.index(w.tables, "table"))
	case op == bulkElemDrop:
		b.out = appendU32(b.out, in.index(w.segments, "segment of elements"))
	case op == bulkTableCopy:
		b.out = appendU32(b.out, in.index(w.tables, "table"))
		b.out = appendU32(b.out, in.index(w.tables, "table"))
	case op == bulkTableGrow || op == bulkTableSize || op == bulkTableFill:
		b.out = appendU32(b.out, in.index(w.tables, "table"))
	default:
		refuse("a function of it has the instruction 0xfc %d, which is not supported", op)
	}
}

// vector reads what stands behind prefixVector.
func (w *rewriter) vector(in *reader) {
	b := &w.body
	op := in.u32()
	b.out = appendU32(append(b.out, prefixVector), op)
	b.wide = true
	b.values += 4
	b.weight += 128
	b.move(vectorMove(op))
	switch {
	case op <= vectorMemoryLast || op > vectorLaneMemLast && op <= vectorZeroLast:
		w.memoryArgument(in)
	case op == vectorConst || op == vectorShuffle:
		b.out = append(b.out, in.take(16)...)
	case op >= vectorLaneFirst && op <= vectorLaneLast:
		b.out = append(b.out, in.byte())
	case op >= vectorLaneMemFirst && op <= vectorLaneMemLast:
		w.memoryArgument(in)
		b.out = append(b.out, in.byte())
	case op > vectorLast:
		refuse("a function of it has the instruction 0xfd %d, which is not supported", op)
	}
}

// vectorPairs are the instructions, as ranges, that leave one value less: of two operands, shifts,
// and those that put something into a lane.
var vectorPairs = [...][2]uint32{
	{13, 14}, {23, 23}, {26, 26}, {28, 28}, {30, 30}, {32, 32}, {34, 76}, {78, 81}, {84, 87}, {101, 102}, {107, 115}, {118, 121}, {123, 123}, {130, 130}, {133, 134}, {139, 147},
	{149, 153}, {155, 159}, {171, 174}, {177, 177}, {181, 186}, {188, 191}, {203, 206}, {209, 209}, {213, 223}, {228, 235}, {240, 247},
}

// vectorMove is how the stack of values changes by an instruction behind prefixVector.
func vectorMove(op uint32) int {
	const store, choose = 11, 82
	switch {
	case op == vectorConst:
		return 1
	case op == store || op == choose || op >= vectorLaneMemFirst+4 && op <= vectorLaneMemLast:
		return -2
	}
	for _, r := range vectorPairs {
		if op >= r[0] && op <= r[1] {
			return -1
		}
	}
	return 0
}
