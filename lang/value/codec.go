package value

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"unicode/utf8"
	"unsafe"
)

// Encoder writes values so that a Decoder gets back exactly what was there:
// which containers and blocks are shared, how much room they have, in which
// order a map stands. A thing that was written before is written as a
// reference to it.
//
// What is written does not tell a value that was there all the time from one
// that was decoded since. So frozen things, which come from outside again and
// again, are no things to refer to where they can be helped: those of a program
// are written as their numbers, and short texts in full each time.
type Encoder struct {
	buf       []byte
	walker    Walker
	static    map[unsafe.Pointer]uint64
	constants *Constants
}

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
func NewEncoder(buf []byte) *Encoder { return &Encoder{buf: buf} }

// Use makes the encoder write the constants of a program as numbers.
func (e *Encoder) Use(c *Constants) { e.constants = c }

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

// known returns the number of a thing that was written before, or gives it the
// next one. Things of a program are looked up beside them: their headers are
// not to be written.
func (e *Encoder) known(h *header) (uint64, bool) {
	if h.flags&flagStatic != 0 {
		p := unsafe.Pointer(h)
		if n, ok := e.static[p]; ok {
			return n, true
		}
		if e.static == nil {
			e.static = map[unsafe.Pointer]uint64{}
		}
		e.static[p] = e.take(nil)
		return 0, false
	}
	p := unsafe.Pointer(h)
	if int(h.id) < len(e.walker.seen) && e.walker.seen[h.id] == p {
		return uint64(h.id), true
	}
	h.id = uint32(e.take(p))
	return 0, false
}

func (e *Encoder) take(p unsafe.Pointer) uint64 {
	e.walker.seen = append(e.walker.seen, p)
	return uint64(len(e.walker.seen) - 1)
}

// Value writes v and all below it.
func (e *Encoder) Value(v Value) {
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
	if h.flags&flagStatic != 0 && e.frozen(v) {
		return
	}
	if n, ok := e.known(h); ok {
		e.Byte(encRef)
		e.Uint(n)
		if h.kind < KindList {
			e.Uint(v.n)
		}
		return
	}
	switch h.kind {
	case KindText, KindBytes:
		b := (*block)(v.p)
		e.Byte(encBlock)
		e.Byte(byte(h.kind)<<4 | h.flags)
		e.Uint(uint64(b.cap))
		e.Text(unsafe.String(unsafe.SliceData(b.content(int(b.used))), int(b.used)))
		e.Uint(v.n)
	case KindList:
		e.list((*List)(v.p))
	case KindMap:
		e.entries((*Map)(v.p))
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
			e.Value(v)
		}
		return
	}
	k := (*header)(l.tag).kind
	e.Byte(byte(k))
	e.Uint(uint64(cap(l.words)))
	e.Uint(uint64(len(l.words)))
	for _, w := range l.words {
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
		e.Value(x.val)
	}
}

// ErrCorrupt is the error of decoding what no Encoder wrote.
var ErrCorrupt = errors.New("the stored state is corrupt")

// Decoder reads what an Encoder wrote. It never trusts it: whatever it is
// given, it makes proper values or reports ErrCorrupt, and allocates no more
// than its room. Once it has failed, it goes on failing.
type Decoder struct {
	buf  []byte
	room int64
	objs []Value // zero while being read
	err  error

	constants *Constants
}

// NewDecoder returns a decoder of buf that allocates at most room bytes.
func NewDecoder(buf []byte, room int64) *Decoder { return &Decoder{buf: buf, room: room} }

// Use gives the decoder the constants that the encoder wrote as numbers.
func (d *Decoder) Use(c *Constants) { d.constants = c }

// Grant sets the room, for a decoder that reads its limit first.
func (d *Decoder) Grant(room int64) { d.room = room }

// Err returns ErrCorrupt once something was wrong.
func (d *Decoder) Err() error { return d.err }

// Rest returns how many bytes are left.
func (d *Decoder) Rest() int { return len(d.buf) }

// Fail makes the decoder fail.
func (d *Decoder) Fail() {
	d.err = ErrCorrupt
	d.buf = nil
}

// Byte reads one byte.
func (d *Decoder) Byte() byte {
	if len(d.buf) == 0 {
		d.Fail()
		return 0
	}
	b := d.buf[0]
	d.buf = d.buf[1:]
	return b
}

// Uint reads an unsigned number; only its shortest form is taken.
func (d *Decoder) Uint() uint64 {
	n, size := binary.Uvarint(d.buf)
	if size <= 0 || size > 1 && d.buf[size-1] == 0 {
		d.Fail()
		return 0
	}
	d.buf = d.buf[size:]
	return n
}

// Int reads a number.
func (d *Decoder) Int() int64 {
	n := d.Uint()
	return int64(n>>1) ^ -int64(n&1)
}

// Count reads a number of things that each take at least one byte.
func (d *Decoder) Count() int {
	n := d.Uint()
	if n > uint64(len(d.buf)) {
		d.Fail()
		return 0
	}
	return int(n)
}

// Below reads a number less than limit.
func (d *Decoder) Below(limit int) int {
	n := d.Uint()
	if limit <= 0 || n >= uint64(limit) {
		d.Fail()
		return 0
	}
	return int(n)
}

// Text reads a string.
func (d *Decoder) Text() string {
	n := d.Count()
	s := string(d.buf[:n])
	d.buf = d.buf[n:]
	return s
}

// take accounts for n bytes about to be allocated.
func (d *Decoder) take(n uint64, each int64) bool {
	if d.err != nil || n > 1<<40 || int64(n)*each > d.room {
		d.Fail()
		return false
	}
	d.room -= int64(n) * each
	return true
}

// maxDepth is deeper than any limit on nesting.
const maxDepth = 20_000

// Value reads a value.
func (d *Decoder) Value() Value { return d.value(0) }

func (d *Decoder) value(depth int) Value {
	if depth > maxDepth {
		d.Fail()
	}
	switch d.Byte() {
	case encNull:
	case encFalse:
		return False
	case encTrue:
		return True
	case encInt:
		return Int(d.Int())
	case encFloat:
		return d.float()
	case encRef:
		n := d.Below(len(d.objs))
		if d.err != nil || d.objs[n].IsNull() {
			d.Fail()
			return Null
		}
		v := d.objs[n]
		if !v.IsContainer() {
			v.n = d.Uint()
			d.checkText(v)
		}
		return v
	case encBlock:
		return d.block()
	case encList:
		return d.list(depth)
	case encMap:
		return d.entries(depth)
	case encConstant:
		return d.constant()
	case encShort:
		s := d.Text()
		if len(s) > shortText || !utf8.ValidString(s) || !d.take(uint64(BlockSize(len(s))), 1) {
			d.Fail()
			return Null
		}
		return Text(s).Freeze()
	default:
		d.Fail()
	}
	return Null
}

func (d *Decoder) constant() Value {
	if d.constants == nil {
		d.Fail()
		return Null
	}
	n := d.Below(len(d.constants.values))
	if d.err != nil {
		return Null
	}
	v := d.constants.values[n]
	if !v.IsContainer() {
		v.n = d.Uint()
		d.checkText(v)
	}
	return v
}

func (d *Decoder) float() Value {
	if len(d.buf) < 8 {
		d.Fail()
		return Null
	}
	w := binary.LittleEndian.Uint64(d.buf)
	d.buf = d.buf[8:]
	v, ok := Number(math.Float64frombits(w))
	if !ok || !v.IsFloat() {
		d.Fail()
		return Null
	}
	return v
}

func (d *Decoder) block() Value {
	b := d.Byte()
	kind, flags := Kind(b>>4), b&0xF
	room := d.Uint()
	n := d.Count()
	if kind != KindText && kind != KindBytes || flags&^flagStatic != 0 || room < uint64(n) || room > math.MaxUint32-32 || !d.take(room+blockSize, 1) {
		d.Fail()
		return Null
	}
	x := newBlock(kind, int(room))
	// A frozen block has no room; any other has what its words give it.
	if flags&flagStatic != 0 {
		x.cap = uint32(room)
	}
	short := kind == KindText && n <= shortText // has a form of its own
	if uint64(x.cap) != room || flags&flagStatic != 0 && (room != uint64(n) || short) {
		d.Fail()
		return Null
	}
	copy(x.content(n), d.buf[:n])
	d.buf = d.buf[n:]
	x.used = uint32(n)
	x.flags = flags
	v := Value{unsafe.Pointer(x), 0}
	d.objs = append(d.objs, v)
	v.n = d.Uint()
	d.checkText(v)
	return v
}

// checkText checks a value against its block.
func (d *Decoder) checkText(v Value) {
	b := (*block)(v.p)
	if d.err != nil || v.n > uint64(b.used) || b.kind == KindText && !utf8.ValidString(v.Str()) {
		d.Fail()
	}
}

// reserve takes the number of a container that is being read.
func (d *Decoder) reserve() int {
	d.objs = append(d.objs, Null)
	return len(d.objs) - 1
}

func (d *Decoder) list(depth int) Value {
	at := d.reserve()
	flags, height := d.Byte(), d.Uint()
	kind := Kind(d.Byte())
	room, n := d.Uint(), d.Count()
	if flags&^(flagShared|flagStatic) != 0 || height > maxDepth || room < uint64(n) || !d.take(room+4, 16) {
		d.Fail()
		return Null
	}
	l := &List{header: header{kind: KindList, flags: flags, height: uint16(height)}}
	switch kind {
	case 0:
		if room > 0 {
			l.vals = make([]Value, 0, room)
		}
		for range n {
			v := d.value(depth + 1)
			if d.err != nil || v.Height() >= int(l.height) {
				d.Fail()
				return Null
			}
			l.vals = append(l.vals, v)
		}
	case KindInt, KindFloat, KindBool:
		l.tag = unsafe.Pointer(&tags[kind-KindBool])
		l.words = make([]uint64, 0, room)
		for range n {
			l.words = append(l.words, d.word(kind))
		}
	default:
		d.Fail()
	}
	if d.err != nil || l.height == 0 {
		d.Fail()
		return Null
	}
	d.objs[at] = l.Value()
	return l.Value()
}

func (d *Decoder) word(k Kind) uint64 {
	switch k {
	case KindInt:
		return uint64(d.Int())
	case KindFloat:
		return d.float().n
	}
	b := d.Byte()
	if b > 1 {
		d.Fail()
	}
	return uint64(b)
}

func (d *Decoder) entries(depth int) Value {
	at := d.reserve()
	flags, height := d.Byte(), d.Uint()
	room, index, n := d.Uint(), d.Uint(), d.Count()
	if flags&^(flagShared|flagStatic) != 0 || height == 0 || height > maxDepth || room < uint64(n) || !d.take(room+4, entrySize) || !d.take(index, slotSize) {
		d.Fail()
		return Null
	}
	if index != 0 && (bits.OnesCount64(index) != 1 || index*3 < uint64(n)*4) || index == 0 && n > smallMap {
		d.Fail()
		return Null
	}
	t := &Map{header: header{kind: KindMap, flags: flags, height: uint16(height)}}
	if room > 0 {
		t.entries = make([]entry, 0, room)
	}
	if index > 0 {
		t.index = make([]slot, index)
	}
	for i := range n {
		switch d.Byte() {
		case 0:
			t.entries = append(t.entries, entry{})
			t.gaps++
			continue
		case 1:
		default:
			d.Fail()
		}
		k, v := d.value(depth+1), d.value(depth+1)
		if d.err != nil || !k.IsText() || v.Height() >= int(t.height) || t.find(k.Str()) >= 0 {
			d.Fail()
			return Null
		}
		e := entry{keyP: k.p, keyLen: uint32(k.n), val: v}
		if t.index != nil {
			e.hash = hashText(k.Str())
		}
		t.entries = append(t.entries, e)
		if t.index != nil {
			t.put(e.hash, i)
		}
	}
	if d.err != nil {
		return Null
	}
	d.objs[at] = t.Value()
	return t.Value()
}
