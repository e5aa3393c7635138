package value

import (
	"math"
	"unsafe"
)

// What values weigh: the bytes of memory that they are counted with, whoever
// counts. The meter charges these sums before it lets anything be allocated, a
// Walker and an Encoder find them in what is there, and a Decoder charges them
// before it allocates what it reads. So what fits a limit while a run goes on
// fits it when the run is restored. They are numbers of this package's own and
// not those of the allocator, which rounds up: they must not change with it.
//
// Numbers, booleans and null weigh nothing by themselves: what holds them has
// room for them. Frozen things weigh nothing in a run: they are their program's or
// this process's, and those that a Decoder makes have a FrozenBudget of their own.
const (
	blockSize = 16 // the header of a text, of bytes or of a decimal
	listSize  = 64
	wordSize  = 8  // an element of a list of numbers, or of booleans
	valueSize = 16 // an element of any other list
	mapSize   = 72
	entrySize = 32
	slotSize  = 8 // of a map's index
)

// BlockSize returns what a text or bytes of n bytes weighs.
func BlockSize(n int) int { return (blockSize + max(n, 1) + 7) &^ 7 }

// blockWeight is what a block with room for n bytes weighs.
func blockWeight(n uint32) int64 { return blockSize + int64(n) }

// listWeight is what a list with room for so many words and values weighs.
func listWeight(words, vals int) int64 {
	return listSize + int64(words)*wordSize + int64(vals)*valueSize
}

// mapWeight is what a map with room for so many entries, and an index of so many
// slots, weighs.
func mapWeight(entries, slots int) int64 {
	return mapSize + int64(entries)*entrySize + int64(slots)*slotSize
}

// weight is what a thing weighs by itself, without what it leads to.
func (h *header) weight() int64 {
	p := unsafe.Pointer(h)
	switch h.kind {
	case KindText, KindBytes, KindDecimal:
		return blockWeight((*block)(p).cap)
	case KindList:
		l := (*List)(p)
		return listWeight(cap(l.words), cap(l.vals))
	case KindMap:
		t := (*Map)(p)
		return mapWeight(cap(t.entries), len(t.index))
	}
	return 0
}

// sum adds n times each to a size, and never overflows: what would is the most
// there is, more than any budget.
func sum(size int64, n uint64, each int64) int64 {
	if n > uint64(math.MaxInt64-size)/uint64(each) {
		return math.MaxInt64
	}
	return size + int64(n)*each
}
