package value

import (
	"unsafe"
)

// List is an ordered sequence of values. While all of them are numbers of one
// form, or booleans, only their payloads are kept: half the memory, and
// nothing for the garbage collector to look at.
type List struct {
	header
	tag   unsafe.Pointer // the common tag of the payloads; nil: vals holds the elements
	words []uint64
	vals  []Value
}

// NewList returns an empty list with room for n elements, charging m.
func NewList(m *Meter, n int) *List {
	m.CheckElements(n)
	m.Alloc(int(listWeight(0, n)))
	l := &List{header: header{kind: KindList, height: 1}}
	if n > 0 {
		l.vals = make([]Value, 0, n)
	}
	return l
}

// NewListFrom returns a list of values, charging m what NewList and Append do. A small one is a single piece of memory with
// its elements, and shared from the beginning: whoever writes to it copies it first, so that elements that have no room
// are never left behind in a piece that is still held.
func NewListFrom(m *Meter, vals []Value) *List {
	n := len(vals)
	if n == 0 || n > mostInPiece || scalar(vals[0].p) {
		l := NewList(m, n)
		for _, v := range vals {
			l.Append(m, v)
		}
		return l
	}
	m.CheckElements(n)
	m.Alloc(int(listWeight(0, n)))
	l, room := onePiece[List, Value](n)
	l.header, l.vals = header{kind: KindList, flags: flagShared, height: 1}, room
	for i, v := range vals {
		l.vals[i] = v
		l.raiseHeight(m, v)
	}
	return l
}

// newPacked returns an empty list with room for n scalars of v's form.
func newPacked(m *Meter, tag unsafe.Pointer, n int) *List {
	m.CheckElements(n)
	m.Alloc(int(listWeight(n, 0)))
	return &List{header: header{kind: KindList, height: 1}, tag: tag, words: make([]uint64, 0, n)}
}

// ListOf returns a list of the given values, charging nobody: for hosts.
func ListOf(vs ...Value) Value {
	l := NewList(nil, len(vs))
	for _, v := range vs {
		l.Append(nil, v)
	}
	return l.Value()
}

// Value returns the list as a value.
func (l *List) Value() Value { return Value{unsafe.Pointer(l), 0} }

// Len returns the number of elements.
func (l *List) Len() int {
	if l.tag != nil {
		return len(l.words)
	}
	return len(l.vals)
}

// At returns element i, 0 ≤ i < Len. The list keeps it: Share it before it is
// put anywhere else.
func (l *List) At(i int) Value {
	if l.tag != nil {
		return Value{l.tag, l.words[i]}
	}
	return l.vals[i]
}

// scalar reports whether p is the tag of a scalar.
func scalar(p unsafe.Pointer) bool { return p == tagInt() || p == tagFloat() || p == tagBool() }

// Append adds v at the end. The list must not be shared.
func (l *List) Append(m *Meter, v Value) {
	if l.tag != nil {
		if v.p == l.tag {
			if len(l.words) == cap(l.words) {
				l.grow(m)
			}
			l.words = append(l.words, v.n)
			return
		}
		l.unpack(m)
	} else if len(l.vals) == 0 && cap(l.vals) == 0 && scalar(v.p) {
		l.tag = v.p
		l.grow(m)
		l.words = append(l.words, v.n)
		return
	}
	if len(l.vals) == cap(l.vals) {
		l.grow(m)
	}
	l.vals = append(l.vals, v)
	l.raiseHeight(m, v)
}

// raiseHeight lifts the list's height over that of its element v.
func (l *List) raiseHeight(m *Meter, v Value) {
	if v.IsContainer() {
		if h := (*header)(v.p).height + 1; h > l.height {
			m.nest(h)
			l.height = h
		}
	}
}

// grow makes room for at least one more element.
func (l *List) grow(m *Meter) {
	n := l.Len()
	m.CheckElements(n + 1)
	room := m.nextCapacity(n, m.maxElements())
	if l.tag != nil {
		m.Alloc(room * wordSize)
		w := make([]uint64, n, room)
		copy(w, l.words)
		l.words = w
		m.Work(n / 8)
		return
	}
	m.Alloc(room * valueSize)
	v := make([]Value, n, room)
	copy(v, l.vals)
	l.vals = v
	m.Work(n / 4)
}

// nextCapacity returns the capacity that follows n, at most limit where that holds
// one more.
func (m *Meter) nextCapacity(n, limit int) int {
	next := n + n/2
	switch {
	case n < 4:
		next = 4
	case n < 1024:
		next = n * 2
	}
	return max(n+1, min(next, limit))
}

// unpack turns payloads into values, for a list that becomes mixed.
func (l *List) unpack(m *Meter) {
	room := max(cap(l.words), 4)
	m.Alloc(room * valueSize)
	m.Work(len(l.words) / 2)
	v := make([]Value, len(l.words), room)
	for i, w := range l.words {
		v[i] = Value{l.tag, w}
	}
	l.tag, l.words, l.vals = nil, nil, v
}

// Set replaces element i, 0 ≤ i < Len. The list must not be shared.
func (l *List) Set(m *Meter, i int, v Value) {
	if l.tag != nil {
		if v.p == l.tag {
			l.words[i] = v.n
			return
		}
		l.unpack(m)
	}
	l.vals[i] = v
	l.raiseHeight(m, v)
}

// Remove takes element i out, closing the gap. The list must not be shared.
func (l *List) Remove(m *Meter, i int) {
	m.Work((l.Len() - i) / 8)
	if l.tag != nil {
		l.words = append(l.words[:i], l.words[i+1:]...)
		return
	}
	copy(l.vals[i:], l.vals[i+1:])
	l.vals[len(l.vals)-1] = Null
	l.vals = l.vals[:len(l.vals)-1]
}

// Clone returns a copy of the list that is not shared; its elements are now
// shared by both.
func (l *List) Clone(m *Meter) *List {
	n := l.Len()
	if l.tag != nil {
		c := newPacked(m, l.tag, n)
		c.words = append(c.words, l.words...)
		m.Work(n / 4)
		return c
	}
	c := NewList(m, n)
	c.height = l.height
	m.Work(n)
	c.vals = append(c.vals, l.vals...)
	for _, v := range c.vals {
		v.Share()
	}
	return c
}

// Extend appends all elements of o, which the two then share. l must not be
// shared; o may be l itself.
func (l *List) Extend(m *Meter, o *List) {
	n := o.Len()
	m.CheckElements(l.Len() + n)
	m.Work(n)
	for i := range n {
		l.Append(m, o.At(i).Share())
	}
}

// Slice returns a new list of elements [i, j), shared with l.
func (l *List) Slice(m *Meter, i, j int) *List {
	m.Work(j - i)
	if l.tag != nil {
		c := newPacked(m, l.tag, j-i)
		c.words = append(c.words, l.words[i:j]...)
		return c
	}
	c := NewList(m, j-i)
	c.height = 1
	for _, v := range l.vals[i:j] {
		c.vals = append(c.vals, v.Share())
		c.raiseHeight(m, v)
	}
	return c
}
