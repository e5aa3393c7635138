package value

import (
	"encoding/binary"
	"math"
	"unsafe"
)

// The functions here are small enough to be compiled into the machine's loop.
// Each does the common case or reports false, and the machine then takes the
// long way.

// LoadPacked puts element i of a packed list into *dst.
func (l *List) LoadPacked(i int64, dst *Value) bool {
	if l.tag == nil || uint64(i) >= uint64(len(l.words)) {
		return false
	}
	if dst.p != l.tag {
		dst.p = l.tag
	}
	dst.n = l.words[i]
	return true
}

// StorePacked puts v into place i of a packed, unshared list.
func (l *List) StorePacked(i int64, v Value) bool {
	if l.tag != v.p || l.flags&flagShared != 0 || uint64(i) >= uint64(len(l.words)) {
		return false
	}
	l.words[i] = v.n
	return true
}

// PushPacked appends v to a packed, unshared list that has room.
func (l *List) PushPacked(v Value) bool {
	n := len(l.words)
	if l.tag != v.p || l.flags&flagShared != 0 || n >= cap(l.words) {
		return false
	}
	l.words = l.words[:n+1]
	l.words[n] = v.n
	return true
}

// CopyScalar copies v to *dst where v is a scalar.
func (v Value) CopyScalar(dst *Value) bool {
	if v.p != tagInt() && v.p != tagFloat() && v.p != tagBool() {
		return false
	}
	if dst.p != v.p {
		dst.p = v.p
	}
	dst.n = v.n
	return true
}

// CopyTo copies v to *dst. A tag or pointer is written only where it changes: a store of a
// pointer costs more than a look.
func (v *Value) CopyTo(dst *Value) {
	if dst.p != v.p {
		dst.p = v.p
	}
	dst.n = v.n
}

// A hint is where in a map the entry of a key was found last. It is checked at
// each use, and so may say anything.

// place returns the number of the entry of a text key, or -1. It looks where the
// hint says first: most maps that one place of a program meets have the same keys
// in the same order, which are often the very constants of the program.
func (t *Map) place(key *Value, hint *uint8) int {
	if i := int(*hint); i < len(t.entries) && t.entries[i].is(key) {
		return i
	}
	return t.placeByText(key, hint)
}

// is reports whether the key of an entry is the very text that key is, or a text of at most
// eight bytes that is the same.
func (e *entry) is(key *Value) bool {
	if uint64(e.keyLen) != key.n {
		return false
	}
	if e.keyP == key.p {
		return true
	}
	return key.n-1 < 8 && (firstWord(e.keyP)^firstWord(key.p))<<(64-8*key.n) == 0
}

// firstWord returns the first eight bytes of the content of a block, the first of them as the lowest. Each block
// has room for as many, of which those behind what is used may be anything.
func firstWord(p unsafe.Pointer) uint64 {
	return binary.LittleEndian.Uint64((*[8]byte)(unsafe.Add(p, blockSize))[:])
}

// placeByText is place for what is not where the hint says, or of more than eight bytes.
//
//go:noinline
func (t *Map) placeByText(key *Value, hint *uint8) int {
	s := key.Str()
	if i := int(*hint); i < len(t.entries) {
		if e := &t.entries[i]; int(e.keyLen) == len(s) && e.keyP != nil && e.str() == s {
			return i
		}
	}
	i := t.find(s)
	if i >= 0 && i <= maxHint {
		*hint = uint8(i)
	}
	return i
}

const maxHint = 255

// LoadField puts the entry of a key that is a short text into *dst, shared if
// asked for. It reports false where c is no map or has no such entry.
func LoadField(dst, c, key *Value, hint *uint8, share bool) bool {
	if !c.IsMap() || key.n >= longKey {
		return false
	}
	t := c.Map()
	i := t.place(key, hint)
	if i < 0 {
		return false
	}
	v := &t.entries[i].val
	if share {
		v.Share()
	}
	v.CopyTo(dst)
	return true
}

// LoadElement puts the element of an index into *dst, shared if asked for. It reports
// false where c is no list or has no such index from its start.
func LoadElement(dst, c, index *Value, share bool) bool {
	return index.p == tagInt() && LoadIndex(dst, c, int64(index.n), share)
}

// LoadIndex is LoadElement of an index that is known to be one.
func LoadIndex(dst, c *Value, i int64, share bool) bool {
	if !c.IsList() {
		return false
	}
	l := c.List()
	if l.tag != nil {
		return l.LoadPacked(i, dst)
	}
	if uint64(i) >= uint64(len(l.vals)) {
		return false
	}
	v := &l.vals[i]
	if share {
		v.Share()
	}
	v.CopyTo(dst)
	return true
}

// LoadElementField is LoadElement and LoadField of what that gives.
func LoadElementField(dst, c, index, key *Value, hint *uint8, share bool) bool {
	if index.p != tagInt() || !c.IsList() {
		return false
	}
	l := c.List()
	if index.n >= uint64(len(l.vals)) {
		return false
	}
	record := &l.vals[index.n]
	if !record.IsMap() || key.n >= longKey {
		return false
	}
	t := record.Map()
	i := int(*hint)
	if i >= len(t.entries) || !t.entries[i].is(key) {
		if i = t.placeByText(key, hint); i < 0 {
			return false
		}
	}
	v := &t.entries[i].val
	if share {
		v.Share()
	}
	v.CopyTo(dst)
	return true
}

// StoreField sets the entry of a key that is a short text, which the map must have, to a
// value that is no container. It reports false where that is not so, and where the map is shared.
func StoreField(c, key *Value, hint *uint8, v *Value) bool {
	if !c.IsMap() || key.n >= longKey || v.IsContainer() {
		return false
	}
	t := c.Map()
	if t.flags&flagShared != 0 {
		return false
	}
	i := t.place(key, hint)
	if i < 0 {
		return false
	}
	v.CopyTo(&t.entries[i].val)
	return true
}

// StoreElementField is StoreField of an element of a list that is not shared.
func StoreElementField(c, index, key *Value, hint *uint8, v *Value) bool {
	if v.IsContainer() {
		return false
	}
	place := ElementField(c, index, key, hint, true)
	if place == nil {
		return false
	}
	v.CopyTo(place)
	return true
}

// ElementField returns the place of a field, whose key is a short text, of an element of a list, or nil. Where it is asked
// for as its caller's own, neither the list nor the record is shared, and what is no container may be put there; otherwise
// it is to be read only. It holds until something is written to either of the two.
func ElementField(c, index, key *Value, hint *uint8, own bool) *Value {
	if index.p != tagInt() || !c.IsList() {
		return nil
	}
	l := c.List()
	if index.n >= uint64(len(l.vals)) {
		return nil
	}
	record := &l.vals[index.n]
	if !record.IsMap() || key.n >= longKey {
		return nil
	}
	t := record.Map()
	if own && (l.flags|t.flags)&flagShared != 0 {
		return nil
	}
	i := int(*hint)
	if i >= len(t.entries) || !t.entries[i].is(key) {
		if i = t.placeByText(key, hint); i < 0 {
			return nil
		}
	}
	return &t.entries[i].val
}

// OwnEntry returns the place of an element of a list, or of the entry of a map for a key that is a short text, where what is no container
// may be put. It is nil where there is none, and then ok tells whether it is only missing in a map, for SetMissing with the hash.
func OwnEntry(c, key *Value) (place *Value, hash uint32, ok bool) {
	if !c.IsContainer() || (*header)(c.p).flags&flagShared != 0 {
		return nil, 0, false
	}
	if c.IsList() {
		l := c.List()
		if key.p != tagInt() || key.n >= uint64(len(l.vals)) {
			return nil, 0, false
		}
		return &l.vals[key.n], 0, true
	}
	if !key.IsText() || key.n >= longKey {
		return nil, 0, false
	}
	t := c.Map()
	var i int
	if t.index == nil {
		i = t.find(key.Str())
	} else {
		hash = hashText(key.Str())
		i = t.lookup(key.Str(), hash)
	}
	if i < 0 {
		return nil, hash, true
	}
	return &t.entries[i].val, hash, true
}

// SetMissing sets an entry of a map to what is no container, for a key for which OwnEntry found no place, and gave the hash.
func SetMissing(m *Meter, c *Value, key Value, hash uint32, v Value) {
	leavePiece(c).add(m, key, hash, v)
}

// StoreElement puts a value that is no container into place i of an unshared list. It reports false
// where that is not so, and where the list would have to be made anew.
func StoreElement(c, index, v *Value) bool {
	if index.p != tagInt() || !c.IsList() || v.IsContainer() {
		return false
	}
	l := c.List()
	if l.flags&flagShared != 0 || index.n >= uint64(len(l.vals)) {
		return false
	}
	v.CopyTo(&l.vals[index.n])
	return true
}

// expMask are the bits that are all set in the infinities and NaN.
const expMask = 0x7ff << 52

// IsBroken reports whether f is a number that is kept as a float: for each that is not whole. Of whole ones it reports
// false for those below 2^63, even if they are too large for an integer.
func IsBroken(f float64) bool {
	// Most results are below 2^21 and have ones among their last 32 bits, which are
	// all behind the point there. To see that takes half as long as to convert the number.
	const at21 = (1023 + 21) << 53
	if b := math.Float64bits(f); uint32(b) != 0 && b<<1 < at21 {
		return true
	}
	return float64(int64(f)) != f && math.Float64bits(f)&expMask != expMask
}

// setNumber makes *v the number f. It reports false for NaN and the infinities.
func (v *Value) setNumber(f float64) bool {
	if i := int64(f); float64(i) == f && i < MaxExact && i > -MaxExact {
		v.SetInt(i)
		return true
	}
	if math.Float64bits(f)&expMask == expMask {
		return false
	}
	v.SetFloat(f)
	return true
}

// The four below set *v to what two numbers give, at least one of which is a float. They report
// false where that is not so, and where the result is no number.

// SetSum sets *v to x + y.
func (v *Value) SetSum(x, y *Value) bool {
	return mixed(x, y) && v.setNumber(x.Float()+y.Float())
}

// SetDifference sets *v to x - y.
func (v *Value) SetDifference(x, y *Value) bool {
	return mixed(x, y) && v.setNumber(x.Float()-y.Float())
}

// SetProduct sets *v to x * y.
func (v *Value) SetProduct(x, y *Value) bool {
	return mixed(x, y) && v.setNumber(x.Float()*y.Float())
}

// SetQuotient sets *v to x / y; both may be integers. Of those below 2^53 the quotient is whole as a float just
// where it is exact: the next fraction with such a divisor is farther away than rounding reaches.
func (v *Value) SetQuotient(x, y *Value) bool {
	if !x.IsNumber() || !y.IsNumber() || y.p == tagInt() && y.n == 0 {
		return false
	}
	if x.p == tagInt() && y.p == tagInt() && !(x.exact() && y.exact()) {
		return false
	}
	f := x.Float() / y.Float()
	if i := int64(f); float64(i) == f && i < MaxExact && i > -MaxExact {
		v.SetInt(i)
		return true
	}
	if math.Float64bits(f)&expMask == expMask {
		return false
	}
	v.SetFloat(f)
	return true
}

// exact reports whether an integer is below 2^53 without its sign.
func (v *Value) exact() bool { return v.n+MaxExact-1 <= 2*MaxExact-2 }

// mixed reports whether two values are numbers and one of them a float.
func mixed(x, y *Value) bool {
	return x.p == tagFloat() && (y.p == tagFloat() || y.p == tagInt()) || y.p == tagFloat() && x.p == tagInt()
}
