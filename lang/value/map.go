package value

import (
	"hash/maphash"
	"unsafe"
)

// Map is an ordered map from texts to values: entries in the order of their
// first setting, and, for more than a few, a hash index beside them. A removed
// entry stays behind as a gap until the gaps outnumber the rest.
type Map struct {
	header
	gaps    int32
	piece   bool // it is one piece of memory with the room of its entries: see leavePiece
	entries []entry
	index   []slot // power of two, nil while small
}

// entry is one key and its value; keyP is nil for a gap.
type entry struct {
	keyP   unsafe.Pointer // *block of a text
	keyLen uint32
	hash   uint32 // valid where the map has an index
	val    Value
}

// slot holds the hash and the number of an entry, plus one; 0 is free. The
// hash is there so that a look-up rarely touches an entry in vain.
type slot uint64

// smallMap is how many entries are found by looking at each.
const smallMap = 8

// seed makes the hashes of this process unforeseeable to script authors.
var seed = maphash.MakeSeed()

func hashText(s string) uint32 { return fold(maphash.String(seed, s)) }

func fold(h uint64) uint32 { return uint32(h ^ h>>32) }

// NewMap returns an empty map with room for n entries, charging m.
func NewMap(m *Meter, n int) *Map {
	m.CheckElements(n)
	t := &Map{header: header{kind: KindMap, height: 1}}
	m.Alloc(int(mapWeight(n, 0)))
	if n > 0 {
		t.entries = make([]entry, 0, n)
		if n > smallMap {
			t.reindex(m)
		}
	}
	return t
}

// NewRecord returns a map with a value for each key, which are texts and none twice, charging m what NewMap
// and SetNew do. A small one is a single piece of memory with its entries.
func NewRecord(m *Meter, keys, vals []Value) *Map {
	n := len(keys)
	if n == 0 || n > mostInPiece {
		t := NewMap(m, n)
		for i, key := range keys {
			t.SetNew(m, key, vals[i])
		}
		return t
	}
	m.CheckElements(n)
	m.Alloc(int(mapWeight(n, 0)))
	m.Work(4 * n)
	t, room := onePiece[Map, entry](n)
	t.header, t.piece, t.entries = header{kind: KindMap, height: 1}, true, room
	vals = vals[:n]
	for i := range t.entries {
		e, v := &t.entries[i], vals[i]
		e.keyP, e.keyLen, e.val = keys[i].p, uint32(keys[i].n), v
		if v.IsContainer() {
			t.height = max(t.height, (*header)(v.p).height+1)
		}
	}
	if t.height > 1 {
		m.nest(t.height)
	}
	return t
}

// leavePiece returns the map in v, which is not shared, as one to which an entry can be added. One that is a piece of memory
// with its entries would hold their room for as long as it is there, when they have none left and get another, and that would
// weigh nothing. So it moves out: what holds the map, v, holds another one from then on.
func leavePiece(v *Value) *Map {
	t := v.Map()
	if t.piece && len(t.entries) == cap(t.entries) {
		t = &Map{header: t.header, gaps: t.gaps, entries: t.entries} // up to add, which comes next
		*v = t.Value()
	}
	return t
}

// Value returns the map as a value.
func (t *Map) Value() Value { return Value{unsafe.Pointer(t), 0} }

// Len returns the number of entries.
func (t *Map) Len() int { return len(t.entries) - int(t.gaps) }

func (e *entry) key() Value { return Value{e.keyP, uint64(e.keyLen)} }

func (e *entry) str() string {
	return unsafe.String((*byte)(unsafe.Add(e.keyP, blockSize)), int(e.keyLen))
}

// find returns the number of the entry of key, or -1.
func (t *Map) find(key string) int {
	if t.index == nil {
		for i := range t.entries {
			if e := &t.entries[i]; int(e.keyLen) == len(key) && e.keyP != nil && e.str() == key {
				return i
			}
		}
		return -1
	}
	return t.lookup(key, hashText(key))
}

func (t *Map) lookup(key string, h uint32) int {
	mask := uint32(len(t.index) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		s := t.index[i]
		if s == 0 {
			return -1
		}
		if uint32(s>>32) == h {
			n := int(uint32(s)) - 1
			if e := &t.entries[n]; e.keyP != nil && int(e.keyLen) == len(key) && e.str() == key {
				return n
			}
		}
	}
}

// Get returns the value of key and whether there is one. The map keeps it:
// Share it before it is put anywhere else.
func (t *Map) Get(key string) (Value, bool) {
	if i := t.find(key); i >= 0 {
		return t.entries[i].val, true
	}
	return Null, false
}

// longKey is from which length on the bytes of a key are paid for when it is
// looked up.
const longKey = 32

// chargeKey charges for looking a key up.
func chargeKey(m *Meter, n int) {
	if n >= longKey {
		chargeLongKey(m, n)
	}
}

// chargeLongKey is a function of its own so that chargeKey costs short keys no call.
//
//go:noinline
func chargeLongKey(m *Meter, n int) { m.WorkBytes(n) }

// Lookup is Get for a key of a script's, whose length it charges.
func (t *Map) Lookup(m *Meter, key string) (Value, bool) {
	chargeKey(m, len(key))
	return t.Get(key)
}

// Has reports whether the map has key.
func (t *Map) Has(key string) bool { return t.find(key) >= 0 }

// Set sets the value of key, a text. The map must not be shared.
func (t *Map) Set(m *Meter, key, v Value) {
	var h uint32
	var i int
	chargeKey(m, int(key.n))
	if t.index != nil {
		h = hashText(key.Str())
		i = t.lookup(key.Str(), h)
	} else {
		i = t.find(key.Str())
	}
	if i >= 0 {
		t.entries[i].val = v
	} else {
		t.add(m, key, h, v)
	}
	if v.IsContainer() {
		if h := (*header)(v.p).height + 1; h > t.height {
			m.nest(h)
			t.height = h
		}
	}
}

// SetNew is Set for a key that the map does not have, at the price of one that is short.
func (t *Map) SetNew(m *Meter, key, v Value) {
	var h uint32
	if t.index != nil {
		h = hashText(key.Str())
	}
	t.add(m, key, h, v)
	if v.IsContainer() {
		if h := (*header)(v.p).height + 1; h > t.height {
			m.nest(h)
			t.height = h
		}
	}
}

// SetText is Set for hosts: an unmetered key.
func (t *Map) SetText(key string, v Value) { t.Set(nil, Text(key), v) }

// add appends an entry for a key that the map does not have. h is the key's
// hash where the map has an index.
func (t *Map) add(m *Meter, key Value, h uint32, v Value) {
	n := len(t.entries)
	m.CheckElements(n - int(t.gaps) + 1)
	m.Work(4)
	if n == cap(t.entries) {
		room := m.nextCapacity(n, m.maxElements()+int(t.gaps))
		m.Alloc(room * entrySize)
		m.Work(n / 4)
		e := make([]entry, n, room)
		copy(e, t.entries)
		t.entries = e
	}
	t.entries = append(t.entries, entry{keyP: key.p, keyLen: uint32(key.n), hash: h, val: v})
	switch {
	case t.index == nil:
		if n >= smallMap {
			t.reindex(m)
		}
	case (n+1)*4 > len(t.index)*3:
		t.reindex(m)
	default:
		t.put(h, n)
	}
}

// put enters entry n under hash h into the index, which has room.
func (t *Map) put(h uint32, n int) {
	mask := uint32(len(t.index) - 1)
	i := h & mask
	for t.index[i] != 0 {
		i = (i + 1) & mask
	}
	t.index[i] = slot(uint64(h)<<32 | uint64(uint32(n+1)))
}

// indexLen returns the size of an index for n entries.
func indexLen(n int) int {
	size := 16
	for size*3 < n*4 {
		size *= 2
	}
	return size
}

// reindex makes the index anew, for all the entries there is room for.
func (t *Map) reindex(m *Meter) {
	size := indexLen(cap(t.entries))
	m.Alloc(size * slotSize)
	m.Work(len(t.entries) / 2)
	fresh := t.index == nil
	t.index = make([]slot, size)
	for i := range t.entries {
		e := &t.entries[i]
		if e.keyP == nil {
			continue
		}
		if fresh {
			chargeKey(m, int(e.keyLen))
			e.hash = hashText(e.str())
		}
		t.put(e.hash, i)
	}
}

// Remove takes key out and reports whether it was there. The map must not be
// shared.
func (t *Map) Remove(m *Meter, key string) bool {
	chargeKey(m, len(key))
	i := t.find(key)
	if i < 0 {
		return false
	}
	t.entries[i] = entry{}
	t.gaps++
	if int(t.gaps) > len(t.entries)/2 {
		t.compact(m)
	}
	return true
}

// compact closes the gaps.
func (t *Map) compact(m *Meter) {
	m.Work(len(t.entries) / 4)
	kept := t.entries[:0]
	for _, e := range t.entries {
		if e.keyP != nil {
			kept = append(kept, e)
		}
	}
	clear(t.entries[len(kept):])
	t.entries, t.gaps = kept, 0
	if t.index == nil {
		return
	}
	clear(t.index)
	for i := range kept {
		t.put(kept[i].hash, i)
	}
}

// Next returns the number of the first entry at or after position i, its key
// and its value; n is -1 after the last.
func (t *Map) Next(i int) (n int, key, v Value) {
	for ; i < len(t.entries); i++ {
		if e := &t.entries[i]; e.keyP != nil {
			return i, e.key(), e.val
		}
	}
	return -1, Null, Null
}

// All calls yield for each entry in order; a key is a text.
func (t *Map) All(yield func(key, v Value) bool) {
	for i := range t.entries {
		if e := &t.entries[i]; e.keyP != nil && !yield(e.key(), e.val) {
			return
		}
	}
}

// Clone returns a copy of the map that is not shared; its values are now
// shared by both.
func (t *Map) Clone(m *Meter) *Map {
	n := len(t.entries) - int(t.gaps)
	m.Alloc(int(mapWeight(n, len(t.index))))
	m.Work(4*n + len(t.index)/8)
	c := &Map{header: header{kind: KindMap, height: t.height}, entries: make([]entry, 0, n)}
	for _, e := range t.entries {
		if e.keyP != nil {
			e.val.Share()
			c.entries = append(c.entries, e)
		}
	}
	switch {
	case t.index == nil:
	case t.gaps == 0:
		c.index = append(make([]slot, 0, len(t.index)), t.index...)
	default:
		c.index = make([]slot, len(t.index))
		for i := range c.entries {
			c.put(c.entries[i].hash, i)
		}
	}
	return c
}
