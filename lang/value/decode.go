package value

import (
	"encoding/binary"
	"math"
	"math/bits"
	"unicode/utf8"
	"unsafe"
)

// Decoder reads what an Encoder wrote. It never trusts it: whatever it is
// given, it makes proper values or reports ErrCorrupt, and allocates no more
// than its budget. What it does is linear in what it reads and in its budget.
// An error is sticky.
type Decoder struct {
	buf  []byte
	objs []unsafe.Pointer // what may be referred to; nil while being read
	err  error

	// What may still be allocated: by what weighs in a run, and by what is frozen.
	budget, frozen int64
	weight         int64 // of all that was read and weighs in a run

	yield func() error
	due   int // yields when fewer bytes are left

	constants *Constants
	shorts    map[string]Value // those read so far
	distinct  bool             // short texts are read anew each time
	keys      prefixHashes
}

// FrozenBudget is what a decoder may allocate for frozen things: the words of
// this process that values refer to, such as the keys of what FIND gives. They
// are read once each, however often they are referred to.
const FrozenBudget = 1 << 20

// NewDecoder returns a decoder of buf. What it reads weighs at most budget bytes.
func NewDecoder(buf []byte, budget int64) *Decoder {
	return &Decoder{buf: buf, budget: budget, frozen: FrozenBudget, due: math.MinInt}
}

// NewProgramDecoder returns a decoder of buf for a program and its constants,
// which are all frozen; it has no budget yet. Each constant is a thing of its own,
// so that they are numbered as they were: see Constants.
func NewProgramDecoder(buf []byte) *Decoder {
	return &Decoder{buf: buf, distinct: true, due: math.MinInt}
}

// SetYield has f called every so often, so that others have their turn while
// much is read. Its error ends the decoding.
func (d *Decoder) SetYield(f func() error) { d.yield, d.due = f, len(d.buf)-yieldBytes }

// SetConstants gives the decoder the constants that the encoder wrote as numbers.
func (d *Decoder) SetConstants(c *Constants) { d.constants = c }

// Weight returns what all the values read so far weigh in a run: as much as they
// did where they were written.
func (d *Decoder) Weight() int64 { return d.weight }

// Err returns ErrCorrupt once something was wrong, or the error of the function
// that SetYield was given.
func (d *Decoder) Err() error { return d.err }

// Remaining returns how many bytes are left.
func (d *Decoder) Remaining() int { return len(d.buf) }

// Fail makes the decoder fail.
func (d *Decoder) Fail() { d.end(ErrCorrupt) }

func (d *Decoder) end(err error) {
	if d.err == nil {
		d.err = err
	}
	d.buf, d.due = nil, math.MinInt
}

// callYield lets others have their turn.
func (d *Decoder) callYield() {
	d.due = len(d.buf) - yieldBytes
	if d.yield == nil {
		return
	}
	if err := d.yield(); err != nil {
		d.end(err)
	}
}

// Work counts n bytes that were looked at beside those that were read.
func (d *Decoder) Work(n int) {
	if d.yield == nil || d.err != nil {
		return
	}
	if d.due += n; len(d.buf) < d.due {
		d.callYield()
	}
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

// charge takes what is about to be allocated from the budget, and reports
// whether there is as much.
func (d *Decoder) charge(size int64, frozen bool) bool {
	left := &d.budget
	if frozen {
		left = &d.frozen
	}
	if d.distinct {
		size = sum(size, 1, numberSize)
	}
	if d.err != nil || size > *left {
		d.Fail()
		return false
	}
	*left -= size
	if !frozen {
		d.weight += size
	}
	return true
}

// Charge takes n things of so many bytes each, which are about to be allocated
// for a program, from the budget of its constants. It reports whether there is as
// much. each is at least 1.
func (d *Decoder) Charge(n, each int) bool {
	size := sum(0, uint64(n), int64(each))
	if d.err != nil || size > d.frozen {
		d.Fail()
		return false
	}
	d.frozen -= size
	return true
}

// SetBudget sets the budget of a program.
func (d *Decoder) SetBudget(budget int64) { d.frozen = budget }

// BudgetLeft returns what is left of the budget of a program.
func (d *Decoder) BudgetLeft() int64 { return d.frozen }

// maxDepth is deeper than any limit on nesting.
const maxDepth = 20_000

// Value reads a value.
func (d *Decoder) Value() Value { return d.value(0) }

func (d *Decoder) value(depth int) Value {
	if depth > maxDepth {
		d.Fail()
	}
	if len(d.buf) < d.due {
		d.callYield()
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
		if d.err != nil || d.objs[n] == nil {
			d.Fail()
			return Null
		}
		return d.sized(Value{p: d.objs[n]})
	case encBlock:
		return d.block()
	case encList:
		return d.list(depth)
	case encMap:
		return d.entries(depth)
	case encConstant:
		return d.constant()
	case encShort:
		return d.short()
	default:
		d.Fail()
	}
	return Null
}

// sized gives a value that refers to something its length, where it has one.
func (d *Decoder) sized(v Value) Value {
	if v.IsContainer() {
		return v
	}
	v.n = d.Uint()
	b := (*block)(v.p)
	// All of a block is valid, so a part is that ends between two characters.
	if d.err != nil || v.n > uint64(b.used) || b.kind == KindDecimal && v.n != uint64(b.used) || b.kind == KindText && v.n < uint64(b.used) && !utf8.RuneStart(b.content(int(b.used))[v.n]) {
		d.Fail()
		return Null
	}
	return v
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
	return d.sized(d.constants.values[n])
}

// short reads a short frozen text, and makes each only once.
func (d *Decoder) short() Value {
	n := d.Count()
	s := d.buf[:n]
	d.buf = d.buf[n:]
	if v, ok := d.shorts[string(s)]; ok {
		return v
	}
	if n > shortText || !utf8.Valid(s) || !d.charge(int64(BlockSize(n)), true) {
		d.Fail()
		return Null
	}
	v := Text(string(s)).Freeze()
	if d.distinct {
		return v
	}
	if d.shorts == nil {
		d.shorts = map[string]Value{}
	}
	d.shorts[v.Str()] = v
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
	frozen := flags&flagFrozen != 0
	if d.err != nil || kind != KindText && kind != KindBytes && kind != KindDecimal || flags&^flagFrozen != 0 || room < uint64(n) || room > math.MaxUint32-32 {
		d.Fail()
		return Null
	}
	// A frozen block has no room, any other as much as its words give it; and a
	// short frozen text has a form of its own.
	size := int64(BlockSize(int(room)))
	if frozen && (room != uint64(n) || kind == KindText && n <= shortText) || !frozen && size != blockWeight(uint32(room)) || !d.charge(size, frozen) {
		d.Fail()
		return Null
	}
	x := newBlock(kind, int(room))
	x.cap, x.used, x.flags = uint32(room), uint32(n), flags
	if !d.content(x.content(n), kind == KindText) {
		return Null
	}
	if kind == KindDecimal && (size != int64(BlockSize(decimalSize)) || !validDecimal(x.content(n))) {
		d.Fail()
		return Null
	}
	d.objs = append(d.objs, unsafe.Pointer(x))
	return d.sized(Value{p: unsafe.Pointer(x)})
}

// content reads the bytes of a block, which are characters where it is a text.
func (d *Decoder) content(to []byte, text bool) bool {
	for len(to) > 0 {
		n := min(len(to), yieldBytes)
		if text && n < len(to) {
			for back := 0; back < utf8.UTFMax-1 && !utf8.RuneStart(d.buf[n]); back++ {
				n--
			}
		}
		copy(to, d.buf[:n])
		if text && !utf8.Valid(to[:n]) {
			d.Fail()
			return false
		}
		to, d.buf = to[n:], d.buf[n:]
		if len(d.buf) < d.due {
			if d.callYield(); d.err != nil {
				return false
			}
		}
	}
	return true
}

// reserve takes the number of a container that is being read.
func (d *Decoder) reserve() int {
	d.objs = append(d.objs, nil)
	return len(d.objs) - 1
}

func (d *Decoder) list(depth int) Value {
	at := d.reserve()
	flags, height := d.Byte(), d.Uint()
	kind := Kind(d.Byte())
	room, n := d.Uint(), d.Count()
	frozen, each := flags&flagFrozen != 0, int64(wordSize)
	if kind == 0 {
		each = valueSize
	}
	if kind > KindFloat || flags&^(flagShared|flagFrozen) != 0 || height == 0 || height > maxDepth || room < uint64(n) ||
		!d.charge(sum(listSize, room, each), frozen) {
		d.Fail()
		return Null
	}
	l := &List{header: header{kind: KindList, flags: flags, height: uint16(height)}}
	if kind == 0 {
		if room > 0 {
			l.vals = make([]Value, 0, room)
		}
		for range n {
			v := d.value(depth + 1)
			if d.err != nil || v.Height() >= int(l.height) || frozen && !v.isFrozen() {
				d.Fail()
				return Null
			}
			l.vals = append(l.vals, v)
		}
	} else {
		l.tag = unsafe.Pointer(&tags[kind-KindBool])
		l.words = make([]uint64, 0, room)
		for range n {
			if len(d.buf) < d.due {
				d.callYield()
			}
			if l.words = append(l.words, d.word(kind)); d.err != nil {
				return Null
			}
		}
	}
	d.objs[at] = unsafe.Pointer(l)
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
	frozen, size := flags&flagFrozen != 0, sum(sum(mapSize, room, entrySize), index, slotSize)
	if flags&^(flagShared|flagFrozen) != 0 || height == 0 || height > maxDepth || room < uint64(n) || !d.charge(size, frozen) {
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
	for range n {
		switch d.Byte() {
		case 0:
			t.entries = append(t.entries, entry{})
			t.gaps++
			continue
		case 1:
		default:
			d.Fail()
		}
		known := len(d.buf) > 0 && d.buf[0] != encBlock
		k, v := d.value(depth+1), d.value(depth+1)
		if d.err != nil || !k.IsText() || v.Height() >= int(t.height) || frozen && !(k.isFrozen() && v.isFrozen()) || !d.enter(t, k, known, v) {
			d.Fail()
			return Null
		}
	}
	if d.err != nil {
		return Null
	}
	d.objs[at] = unsafe.Pointer(t)
	return t.Value()
}

// enter adds an entry to a map that has room for it, unless it has the key. The
// key's text may be known from before.
func (d *Decoder) enter(t *Map, key Value, known bool, v Value) bool {
	e := entry{keyP: key.p, keyLen: uint32(key.n), val: v}
	long := key.n > hashStep
	if long || t.index != nil {
		e.hash = d.hash(key, long && known)
	}
	if t.index != nil {
		if t.lookup(key.Str(), e.hash) >= 0 {
			return false
		}
		t.put(e.hash, len(t.entries))
	} else {
		for i := range t.entries {
			x := &t.entries[i]
			if x.keyLen == e.keyLen && x.hash == e.hash && x.keyP != nil && x.str() == key.Str() {
				return false
			}
		}
	}
	t.entries = append(t.entries, e)
	return true
}

// hash returns the hash of a key. One whose text was read before may be one of
// many, each with another length.
func (d *Decoder) hash(key Value, known bool) uint32 {
	if !known {
		d.Work(int(key.n))
		return hashText(key.Str())
	}
	h, work := d.keys.hash(key)
	d.Work(work)
	return h
}
