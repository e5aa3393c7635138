package value

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"unsafe"
)

// Encoder writes values so that a Decoder gets back exactly what was there:
// which containers and blocks are shared, how much room they have, the
// order of a map. A thing that was written before is written as a
// reference to it.
//
// What is written does not tell a value that was there all the time from one
// that was decoded since. So frozen things, which come from outside again and
// again, are no things to refer to where they can be helped: those of a program
// are written as their numbers, and short texts in full each time.
type Encoder struct {
	buf       []byte
	seen      []unsafe.Pointer // what was written, by its number
	weight    int64            // of that
	static    map[unsafe.Pointer]uint64
	constants *Constants

	yield func() error
	due   int // the length of buf at which to yield
	err   error
}

// yieldBytes is how many bytes an Encoder writes, or a Decoder reads, between two
// yields.
const yieldBytes = 64 << 10

// The encoded forms of a value.
const (
	encNull = iota
	encFalse
	encTrue
	encInt
	encFloat
	encRef
	encBlock
	encList
	encMap
	encConstant
	encShort
)

// shortText is the longest frozen text that is written in full each time.
const shortText = 32

// NewEncoder returns an encoder that appends to buf.
func NewEncoder(buf []byte) *Encoder { return &Encoder{buf: buf, due: math.MaxInt} }

// SetYield has f called every so often, so that others have their turn while
// much is written. Its error ends the encoding: see Err.
func (e *Encoder) SetYield(f func() error) { e.yield, e.due = f, len(e.buf)+yieldBytes }

// Err returns the error of the function that SetYield was given. What was written
// is of no use then.
func (e *Encoder) Err() error { return e.err }

// Weight returns what all the values written so far weigh in a run.
func (e *Encoder) Weight() int64 { return e.weight }

// Work counts n bytes that were looked at beside those that were written.
func (e *Encoder) Work(n int) {
	if e.yield == nil || e.err != nil {
		return
	}
	if e.due -= n; len(e.buf) >= e.due {
		e.callYield()
	}
}

func (e *Encoder) callYield() {
	if e.err == nil {
		e.err = e.yield()
	}
	e.due = len(e.buf) + yieldBytes
}

// SetConstants makes the encoder write the constants of a program as numbers.
func (e *Encoder) SetConstants(c *Constants) { e.constants = c }

// Bytes returns all that was written.
func (e *Encoder) Bytes() []byte { return e.buf }

// Byte writes one byte.
func (e *Encoder) Byte(b byte) { e.buf = append(e.buf, b) }

// Uint writes an unsigned number.
func (e *Encoder) Uint(n uint64) { e.buf = binary.AppendUvarint(e.buf, n) }

// Int writes a number.
func (e *Encoder) Int(n int64) { e.buf = binary.AppendVarint(e.buf, n) }

// Text writes a string.
func (e *Encoder) Text(s string) {
	e.Uint(uint64(len(s)))
	e.buf = append(e.buf, s...)
}

// reference returns the number of a thing that was written before, or gives it the
// next one. Things of a program are looked up beside them: their headers are
// not to be written.
func (e *Encoder) reference(h *header) (uint64, bool) {
	if h.flags&flagFrozen != 0 {
		p := unsafe.Pointer(h)
		if n, ok := e.static[p]; ok {
			return n, true
		}
		if e.static == nil {
			e.static = map[unsafe.Pointer]uint64{}
		}
		e.static[p] = e.assignID(nil)
		return 0, false
	}
	p := unsafe.Pointer(h)
	if int(h.id) < len(e.seen) && e.seen[h.id] == p {
		return uint64(h.id), true
	}
	h.id = uint32(e.assignID(p))
	e.weight += h.weight()
	return 0, false
}

func (e *Encoder) assignID(p unsafe.Pointer) uint64 {
	e.seen = append(e.seen, p)
	return uint64(len(e.seen) - 1)
}

// Value writes v and all below it.
func (e *Encoder) Value(v Value) {
	if len(e.buf) >= e.due {
		e.callYield()
	}
	switch v.Kind() {
	case KindNull:
		e.Byte(encNull)
		return
	case KindBool:
		e.Byte(encFalse + byte(v.n))
		return
	case KindInt:
		e.Byte(encInt)
		e.Int(int64(v.n))
		return
	case KindFloat:
		e.Byte(encFloat)
		e.buf = binary.LittleEndian.AppendUint64(e.buf, v.n)
		return
	}
	h := (*header)(v.p)
	if h.flags&flagFrozen != 0 && e.frozen(v) {
		return
	}
	if n, ok := e.reference(h); ok {
		e.Byte(encRef)
		e.Uint(n)
		if !h.kind.container() {
			e.Uint(v.n)
		}
		return
	}
	switch h.kind {
	case KindText, KindBytes, KindDecimal:
		b := (*block)(v.p)
		e.Byte(encBlock)
		e.Byte(byte(h.kind)<<4 | h.flags)
		e.Uint(uint64(b.cap))
		e.content(b.content(int(b.used)))
		e.Uint(v.n)
	case KindList:
		e.list((*List)(v.p))
	case KindMap:
		e.entries((*Map)(v.p))
	}
}

// content writes the bytes of a block.
func (e *Encoder) content(p []byte) {
	e.Uint(uint64(len(p)))
	e.buf = slices.Grow(e.buf, len(p))
	for len(p) > 0 && e.err == nil {
		n := min(len(p), yieldBytes)
		e.buf = append(e.buf, p[:n]...)
		p = p[n:]
		if len(e.buf) >= e.due {
			e.callYield()
		}
	}
}

// frozen writes a constant, or a short frozen text.
func (e *Encoder) frozen(v Value) bool {
	if e.constants != nil {
		if n, ok := e.constants.number[v.p]; ok {
			e.Byte(encConstant)
			e.Uint(n)
			if !v.IsContainer() {
				e.Uint(v.n)
			}
			return true
		}
	}
	if v.IsText() && (*block)(v.p).used <= shortText {
		e.Byte(encShort)
		e.Text(v.Str())
		return true
	}
	return false
}

func (e *Encoder) list(l *List) {
	e.Byte(encList)
	e.Byte(l.flags)
	e.Uint(uint64(l.height))
	if l.tag == nil {
		e.Byte(0)
		e.Uint(uint64(cap(l.vals)))
		e.Uint(uint64(len(l.vals)))
		for _, v := range l.vals {
			if e.Value(v); e.err != nil {
				return
			}
		}
		return
	}
	k := (*header)(l.tag).kind
	e.Byte(byte(k))
	e.Uint(uint64(cap(l.words)))
	e.Uint(uint64(len(l.words)))
	for _, w := range l.words {
		if len(e.buf) >= e.due {
			if e.callYield(); e.err != nil {
				return
			}
		}
		switch k {
		case KindInt:
			e.Int(int64(w))
		case KindFloat:
			e.buf = binary.LittleEndian.AppendUint64(e.buf, w)
		default:
			e.Byte(byte(w))
		}
	}
}

func (e *Encoder) entries(t *Map) {
	e.Byte(encMap)
	e.Byte(t.flags)
	e.Uint(uint64(t.height))
	e.Uint(uint64(cap(t.entries)))
	e.Uint(uint64(len(t.index)))
	e.Uint(uint64(len(t.entries)))
	for i := range t.entries {
		x := &t.entries[i]
		if x.keyP == nil {
			e.Byte(0)
			continue
		}
		e.Byte(1)
		e.Value(x.key())
		if e.Value(x.val); e.err != nil {
			return
		}
	}
}

// ErrCorrupt is the error of decoding what no Encoder wrote.
var ErrCorrupt = errors.New("the stored state is corrupt")
