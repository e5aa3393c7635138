package lib

import (
	"hash/maphash"
	"math"

	"ql/lang/value"
)

// seed makes hashes unforeseeable to script authors.
var seed = maphash.MakeSeed()

// set holds different values, found by hash: equal as = has it.
type set struct {
	c       *Call
	members []value.Value
	hashes  []uint64
	slots   []uint32 // place in members, plus one; power of two
}

// bytesPerMember is what a member costs in members and hashes.
const bytesPerMember = 24

// find returns the slot where v is, or else belongs; slots must not be empty.
func (s *set) find(v value.Value, h uint64) (slot uint32, found bool) {
	// How many slots are looked at depends on the process's seed, and fuel must
	// not.
	s.c.Meter.Work(2)
	mask := uint32(len(s.slots) - 1)
	for i := uint32(h) & mask; ; i = (i + 1) & mask {
		at := s.slots[i]
		if at == 0 {
			return i, false
		}
		if s.hashes[at-1] == h && value.Equal(s.c.Meter, s.members[at-1], v) {
			return i, true
		}
	}
}

// has reports whether v is in the set.
func (s *set) has(v value.Value) bool {
	if len(s.members) == 0 {
		return false
	}
	_, found := s.find(v, hashOf(s.c.Meter, v))
	return found
}

// add puts v in and reports whether it was not there.
func (s *set) add(v value.Value) bool {
	if len(s.members)*4 >= len(s.slots)*3 {
		s.grow()
	}
	h := hashOf(s.c.Meter, v)
	slot, found := s.find(v, h)
	if found {
		return false
	}
	s.members = append(s.members, v)
	s.hashes = append(s.hashes, h)
	s.slots[slot] = uint32(len(s.members))
	return true
}

func (s *set) grow() {
	n := max(16, 2*len(s.slots))
	s.c.Meter.Alloc(n*4 + n*bytesPerMember)
	s.c.Meter.Work(n)
	s.members = append(make([]value.Value, 0, n), s.members...)
	s.hashes = append(make([]uint64, 0, n), s.hashes...)
	s.slots = make([]uint32, n)
	mask := uint32(n - 1)
	for at, h := range s.hashes {
		i := uint32(h) & mask
		for s.slots[i] != 0 {
			i = (i + 1) & mask
		}
		s.slots[i] = uint32(at + 1)
	}
}

// addAll adds the elements of l.
func (s *set) addAll(l *value.List) {
	for i := range l.Len() {
		s.add(l.At(i))
	}
}

// hashOf returns the same for values that are equal, charging for every node.
func hashOf(m *value.Meter, v value.Value) uint64 {
	m.Work(2)
	switch v.Kind() {
	case value.KindNull:
		return 0x9ae16a3b2f90404f
	case value.KindBool:
		return mix(uint64(value.KindBool), boolBit(v.IsTrue()))
	case value.KindInt:
		return mix(uint64(value.KindInt), uint64(v.Int64()))
	case value.KindFloat:
		f := v.Float64()
		if f == math.Trunc(f) && f >= math.MinInt64 && f < math.MaxInt64 {
			return mix(uint64(value.KindInt), uint64(int64(f)))
		}
		return mix(uint64(value.KindFloat), math.Float64bits(f))
	case value.KindDecimal:
		number, digits := value.HashKey(m, v)
		if digits == "" {
			return hashOf(m, number)
		}
		return mix(uint64(value.KindDecimal), maphash.String(seed, digits))
	case value.KindText, value.KindBytes:
		m.WorkBytes(len(v.Str()))
		return mix(uint64(v.Kind()), maphash.String(seed, v.Str()))
	case value.KindList:
		l := v.List()
		h := uint64(value.KindList)
		for i := range l.Len() {
			h = mix(h, hashOf(m, l.At(i)))
		}
		return h
	}
	h := uint64(value.KindMap)
	for k, e := range v.Map().All {
		h += mix(hashOf(m, k), hashOf(m, e)) // a sum, since the order does not count
	}
	return h
}

func boolBit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// mix combines two hashes under the seed.
func mix(a, b uint64) uint64 {
	return maphash.Comparable(seed, [2]uint64{a, b})
}
