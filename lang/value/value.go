// Package value holds the values that scripts compute with: JSON trees of
// null, booleans, numbers, texts, lists and maps, plus bytes and decimals. A Value
// is two words; numbers and booleans never allocate. Containers are copied lazily:
// see Share. What a run may allocate is counted by its Meter. The package
// knows nothing of programs or of the machine that runs them.
//
// # Representation
//
// A Value is a pointer and 64 bits of payload. The pointer always leads to a
// header whose first byte is the Kind, so that the kind of any value is one
// load away; nil is null. Scalars point to a static header each (their "tag")
// and keep their bits in the payload. Texts, bytes and decimals point to a block of
// header and content in one pointer-free allocation, and keep their length in
// the payload: two texts may share a block, one a prefix of the other, which
// makes appending to the longest one cheap. Lists and maps point to their
// List or Map.
//
// This is the only package of the language that uses package unsafe: for the
// kind look-up, for the content of blocks, and for nothing else.
package value

import (
	"math"
	"unsafe"
)

// Kind tells what a value is.
type Kind uint8

// The kinds. Int and Float are the two forms of one kind, number. What is stored
// has their numbers in it: a new one is added at the end.
const (
	KindNull Kind = iota
	KindBool
	KindInt
	KindFloat
	KindText
	KindBytes
	KindList
	KindMap
	KindDecimal
)

// Kinds is how many there are.
const Kinds = KindDecimal + 1

var kindNames = [...]string{"null", "boolean", "number", "number", "text", "bytes", "list", "map", "decimal"}

// String returns the kind's name as scripts see it.
func (k Kind) String() string { return kindNames[k] }

// container reports whether k is list or map.
func (k Kind) container() bool { return k-KindList <= KindMap-KindList }

// Value is one value. The zero Value is null.
type Value struct {
	p unsafe.Pointer // *header, nil for null
	n uint64
}

// header is the first word of everything a Value may point to.
type header struct {
	kind   Kind
	flags  uint8
	height uint16 // levels of containers below and including this one
	id     uint32 // place in the table of whoever walks the values; see visit
}

const (
	flagShared = 1 << iota // more than one place may hold it: copy before writing
	flagFrozen             // belongs to a program: never written, not even its header
)

var tags = [...]header{{kind: KindBool}, {kind: KindInt}, {kind: KindFloat}}

// The tags are functions, not variables: their results are constants to the
// linker, which saves the machine's loop a load each time.
func tagBool() unsafe.Pointer  { return unsafe.Pointer(&tags[0]) }
func tagInt() unsafe.Pointer   { return unsafe.Pointer(&tags[1]) }
func tagFloat() unsafe.Pointer { return unsafe.Pointer(&tags[2]) }

// Null is the null value.
var Null = Value{}

// True and False are the booleans.
var (
	True  = Value{tagBool(), 1}
	False = Value{tagBool(), 0}
)

// MaxExact is the first whole float that stays a float: 2^53.
const MaxExact = 1 << 53

// Bool returns b as a value.
func Bool(b bool) Value {
	if b {
		return True
	}
	return False
}

// Int returns i as a value.
func Int(i int64) Value { return Value{tagInt(), uint64(i)} }

// Number returns f as a value: an integer where f is whole and below 2^53, a
// float otherwise. It reports false for NaN and the infinities, which are no
// numbers of the language.
func Number(f float64) (Value, bool) {
	if i := int64(f); float64(i) == f && i < MaxExact && i > -MaxExact {
		return Value{tagInt(), uint64(i)}, true
	}
	if math.IsInf(f, 0) || f != f {
		return Null, false
	}
	return Value{tagFloat(), math.Float64bits(f)}, true
}

// Kind returns the kind of v.
func (v Value) Kind() Kind {
	if v.p == nil {
		return KindNull
	}
	return (*header)(v.p).kind
}

// IsNull reports whether v is null.
func (v Value) IsNull() bool { return v.p == nil }

// IsInt reports whether v is a number in its integer form.
func (v Value) IsInt() bool { return v.p == tagInt() }

// IsFloat reports whether v is a number in its floating form.
func (v Value) IsFloat() bool { return v.p == tagFloat() }

// IsNumber reports whether v is a number.
func (v Value) IsNumber() bool { return v.p == tagInt() || v.p == tagFloat() }

// IsBool reports whether v is a boolean.
func (v Value) IsBool() bool { return v.p == tagBool() }

// IsText reports whether v is a text.
func (v Value) IsText() bool { return v.p != nil && (*header)(v.p).kind == KindText }

// IsList reports whether v is a list.
func (v Value) IsList() bool { return v.p != nil && (*header)(v.p).kind == KindList }

// IsMap reports whether v is a map.
func (v Value) IsMap() bool { return v.p != nil && (*header)(v.p).kind == KindMap }

// IsContainer reports whether v is a list or a map.
func (v Value) IsContainer() bool { return v.p != nil && (*header)(v.p).kind.container() }

// Int64 returns the payload of an integer; v.IsInt() must hold.
func (v Value) Int64() int64 { return int64(v.n) }

// Float64 returns the payload of a float; v.IsFloat() must hold.
func (v Value) Float64() float64 { return math.Float64frombits(v.n) }

// IsTrue returns the payload of a boolean; v.IsBool() must hold.
func (v Value) IsTrue() bool { return v.n != 0 }

// Float returns a number as a float64, rounding large integers.
func (v Value) Float() float64 {
	if v.p == tagInt() {
		return float64(int64(v.n))
	}
	return math.Float64frombits(v.n)
}

// List returns the list of v, which must be one.
func (v Value) List() *List { return (*List)(v.p) }

// Map returns the map of v, which must be one.
func (v Value) Map() *Map { return (*Map)(v.p) }

// Truthy reports whether a condition takes v as true: all but null, false, 0,
// "", [], {} and no bytes.
func (v Value) Truthy() bool {
	if v.p == nil {
		return false
	}
	switch (*header)(v.p).kind {
	case KindList:
		return (*List)(v.p).Len() > 0
	case KindMap:
		return (*Map)(v.p).Len() > 0
	case KindDecimal:
		return !v.decimal().zero()
	}
	return v.n != 0 // floats are never zero: a whole result is an integer
}

// Height returns how many levels of containers v has: 0 for a scalar.
func (v Value) Height() int {
	if v.IsContainer() {
		return int((*header)(v.p).height)
	}
	return 0
}

// Share records that one more place holds v, so that a write through any of
// them copies first. It must be called whenever a container is put in a second
// place; for scalars, texts and bytes it does nothing.
func (v Value) Share() Value {
	if v.p != nil {
		if h := (*header)(v.p); h.kind.container() && h.flags&flagShared == 0 {
			h.flags |= flagShared
		}
	}
	return v
}

// Shared reports whether a write to v must copy first.
func (v Value) Shared() bool {
	return v.IsContainer() && (*header)(v.p).flags&flagShared != 0
}

// isFrozen reports whether v is a scalar, or belongs to a program: then all below
// it does.
func (v Value) isFrozen() bool {
	return v.p == nil || scalar(v.p) || (*header)(v.p).flags&flagFrozen != 0
}

// Freeze marks v and all below it as belonging to a program, to be read by any
// number of machines at once and written by none.
func (v Value) Freeze() Value {
	if v.p == nil {
		return v
	}
	h := (*header)(v.p)
	if h.flags&flagFrozen != 0 {
		return v
	}
	switch h.kind {
	case KindText, KindBytes, KindDecimal:
		b := (*block)(v.p)
		b.flags |= flagFrozen
		b.cap = b.used // so that nothing is ever appended to it in place
	case KindList:
		h.flags |= flagFrozen | flagShared
		for _, e := range (*List)(v.p).vals {
			e.Freeze()
		}
	case KindMap:
		h.flags |= flagFrozen | flagShared
		m := (*Map)(v.p)
		for i := range m.entries {
			m.entries[i].key().Freeze()
			m.entries[i].val.Freeze()
		}
	}
	return v
}
