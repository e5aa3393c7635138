package wasm

import (
	"encoding/binary"

	"ql/lang/value"
)

// The bounds of a module. All that wazero makes by what a module declares is bounded here, before
// wazero sees it: it takes each count at its word.
const (
	maxTypes     = 10_000
	maxValues    = 1_000 // parameters or results of one type
	maxImports   = 1_000
	maxFunctions = 100_000
	maxTables    = 16
	maxTable     = 100_000 // elements of one table
	maxGlobals   = 10_000
	maxExports   = 10_000
	maxSegments  = 100_000
	maxElements  = 1_000_000 // of all segments together
	maxLocals    = 10_000    // of one function
	maxAllLocals = 1_000_000
	maxBody      = 1 << 20 // bytes of one function
	maxNesting   = 20_000  // of blocks
	maxPhis      = 1_000_000
	maxPages     = 1 << 15 // of memory
)

// page is the unit of a module's memory.
const page = 64 << 10

// badModule is the code of a module that cannot be run.
const badModule = "bad_module"

// refuse is the error of a module that is not one, or that has too much of something. It ends the
// reading by a panic, which rewrite recovers.
func refuse(format string, args ...any) {
	panic(value.Errorf(badModule, "the module cannot be run: "+format, args...))
}

// reader reads a module. What is not there is refused.
type reader struct {
	rest []byte
	// what is being read, for messages
	what string
}

func (r *reader) cut() { refuse("%s ends too early, or holds a number that is none", r.what) }

func (r *reader) byte() byte {
	if len(r.rest) == 0 {
		r.cut()
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

func (r *reader) take(n uint32) []byte {
	if uint64(n) > uint64(len(r.rest)) {
		r.cut()
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

// u32 reads an unsigned number of up to 32 bits, in at most five bytes.
func (r *reader) u32() uint32 {
	var n uint64
	for shift := 0; shift < 35; shift += 7 {
		b := r.byte()
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			if n > 1<<32-1 {
				r.cut()
			}
			return uint32(n)
		}
	}
	r.cut()
	return 0
}

// signed reads a signed number of up to so many bits.
func (r *reader) signed(bits int) int64 {
	var n int64
	for shift := 0; shift < (bits+6)/7*7; shift += 7 {
		b := r.byte()
		if shift == 63 && b != 0 && b != 0x7f {
			r.cut()
		}
		n |= int64(b&0x7f) << shift
		if b >= 0x80 {
			continue
		}
		if shift+7 < 64 && b&0x40 != 0 {
			n |= -1 << (shift + 7)
		}
		if bits < 64 && (n < -1<<(bits-1) || n >= 1<<(bits-1)) {
			r.cut()
		}
		return n
	}
	r.cut()
	return 0
}

// count reads how many of something follow, of which each takes a byte at least.
func (r *reader) count(most int, what string) int {
	n := r.u32()
	if uint64(n) > uint64(most) {
		refuse("it has %d %s, and may have %d", n, what, most)
	}
	if uint64(n) > uint64(len(r.rest)) {
		r.cut()
	}
	return int(n)
}

// index reads the number of something of which there are so many.
func (r *reader) index(count int, what string) uint32 {
	n := r.u32()
	if uint64(n) >= uint64(count) {
		refuse("%s names the %s %d, and there are %d", r.what, what, n, count)
	}
	return n
}

// zero reads a byte that must be 0.
func (r *reader) zero() {
	if r.byte() != 0 {
		refuse("%s uses more than one memory, which is not supported", r.what)
	}
}

func appendU32(b []byte, n uint32) []byte { return binary.AppendUvarint(b, uint64(n)) }

func appendSigned(b []byte, n int64) []byte {
	for {
		c := byte(n & 0x7f)
		n >>= 7
		if n == 0 && c&0x40 == 0 || n == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

// The kinds of values.
const (
	typeI32    = 0x7f
	typeI64    = 0x7e
	typeF32    = 0x7d
	typeF64    = 0x7c
	typeV128   = 0x7b
	typeFunc   = 0x70
	typeExtern = 0x6f
	typeEmpty  = 0x40
)

func (r *reader) valueType() byte {
	switch b := r.byte(); b {
	case typeI32, typeI64, typeF32, typeF64, typeV128, typeFunc, typeExtern:
		return b
	default:
		refuse("%s holds a kind of values, %#x, that is not supported", r.what, b)
		return 0
	}
}

func (r *reader) refType() byte {
	b := r.byte()
	if b != typeFunc && b != typeExtern {
		refuse("%s holds a kind of references, %#x, that is not supported", r.what, b)
	}
	return b
}

// limits reads how large a table or a memory is and may become. Most is what it may become where
// the module says nothing less.
func (r *reader) limits(most uint32) (least, limit uint32) {
	limit = most
	switch flag := r.byte(); flag {
	case 0:
		least = r.u32()
	case 1:
		least = r.u32()
		limit = min(most, r.u32())
	default:
		refuse("%s has limits of a kind, %#x, that is not supported, such as those of shared memory", r.what, flag)
	}
	return least, limit
}
