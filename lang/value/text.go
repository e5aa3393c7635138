package value

import (
	"unsafe"
)

// block is the header of a text or of bytes; its content follows it in the
// same allocation. used is the length of the longest value that shares it.
type block struct {
	header
	used uint32
	cap  uint32
}

var emptyText = newBlock(KindText, 0)

func init() { Value{unsafe.Pointer(emptyText), 0}.Freeze() }

// newBlock allocates a block with room for n bytes, rounded up to whole words.
// It is a []uint64 to the allocator: aligned and free of pointers. There is
// always room for a byte: a pointer to the content of an empty text must not
// point past the block, where the garbage collector would take it for one to
// something else.
func newBlock(k Kind, n int) *block {
	words := make([]uint64, BlockSize(n)/8)
	b := (*block)(unsafe.Pointer(&words[0]))
	b.kind = k
	b.cap = uint32(len(words)*8 - blockSize)
	return b
}

// content returns the first n bytes of the block.
func (b *block) content(n int) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(b), blockSize)), n)
}

// Text returns s as a value. s must be valid UTF-8.
func Text(s string) Value {
	if s == "" {
		return Value{unsafe.Pointer(emptyText), 0}
	}
	b := newBlock(KindText, len(s))
	copy(b.content(len(s)), s)
	b.used = uint32(len(s))
	return Value{unsafe.Pointer(b), uint64(len(s))}
}

// TextOf returns the valid UTF-8 in p as a value.
func TextOf(p []byte) Value {
	return Text(unsafe.String(unsafe.SliceData(p), len(p)))
}

// Bytes returns a copy of p as a value of kind bytes.
func Bytes(p []byte) Value {
	b := newBlock(KindBytes, len(p))
	copy(b.content(len(p)), p)
	b.used = uint32(len(p))
	return Value{unsafe.Pointer(b), uint64(len(p))}
}

// Str returns the content of a text or of bytes without copying it. v must be
// one of the two.
func (v Value) Str() string {
	return unsafe.String((*byte)(unsafe.Add(v.p, blockSize)), int(v.n))
}

// Raw returns the content of a text or of bytes, which must not be changed.
func (v Value) Raw() []byte {
	return unsafe.Slice((*byte)(unsafe.Add(v.p, blockSize)), int(v.n))
}

// Concat returns a followed by b, which are both texts or both bytes. Where a
// is the longest value of its block and the block has room, b is written
// behind it and nothing is copied: a loop that appends to one text costs what
// it appends.
func Concat(m *Meter, a, b Value) Value {
	if b.n == 0 {
		return a
	}
	if a.n == 0 {
		return b
	}
	return appendTo(m, a, b.Str())
}

// appendTo returns a followed by the bytes of s.
func appendTo(m *Meter, a Value, s string) Value {
	n := int(a.n) + len(s)
	m.CheckSize(n)
	old := (*block)(a.p)
	if uint64(old.used) == a.n && n <= int(old.cap) {
		m.Work(len(s) / workBytes)
		copy(old.content(n)[a.n:], s)
		old.used = uint32(n)
		return Value{a.p, uint64(n)}
	}
	// Room to grow only for what has already been appended to once or is
	// large: most concatenations are the last ones of their text.
	room := n
	if n >= 64 {
		room = n + n/2
		room = min(room, max(n, m.maxText()))
	}
	m.Alloc(BlockSize(room))
	m.Work(n / workBytes)
	b := newBlock(old.kind, room)
	c := b.content(n)
	copy(c, a.Raw())
	copy(c[a.n:], s)
	b.used = uint32(n)
	return Value{unsafe.Pointer(b), uint64(n)}
}

// Builder puts a text or bytes of known length together in its final place.
type Builder struct {
	b *block
	n int
}

// NewBuilder returns a builder for exactly n bytes of kind k, charging m.
func NewBuilder(m *Meter, k Kind, n int) Builder {
	m.CheckSize(n)
	m.Alloc(BlockSize(n))
	m.Work(n / workBytes)
	return Builder{b: newBlock(k, n)}
}

// Add appends s. No more than the announced length may be added.
func (t *Builder) Add(s string) {
	copy(t.b.content(t.n + len(s))[t.n:], s)
	t.n += len(s)
}

// Reserve returns room for the n bytes that follow, to be written by the caller.
func (t *Builder) Reserve(n int) []byte {
	r := t.b.content(t.n + n)[t.n:]
	t.n += n
	return r
}

// Value returns what was built.
func (t *Builder) Value() Value {
	t.b.used = uint32(t.n)
	return Value{unsafe.Pointer(t.b), uint64(t.n)}
}
