package value

import "unsafe"

// Walker visits everything that a set of roots holds, each container and each
// block once. It remembers what it has seen in the visited things themselves:
// their header holds their place in its table, and the table says whether that
// is really theirs.
type Walker struct {
	m *Meter
	// seen are addresses and no pointers: the roots hold what is visited, nothing moves, and so the garbage
	// collector has nothing to do with them.
	seen  []uintptr
	bytes int64
	few   [8]uintptr // where seen starts: most values are small
}

// NewWalker returns a walker that charges m a unit of fuel for each visit.
func NewWalker(m *Meter) *Walker {
	w := &Walker{m: m}
	w.seen = w.few[:0]
	return w
}

// maxSeen is how long a table is that a walker keeps for the next walk.
const maxSeen = 1 << 10

// Reset makes the walker as NewWalker does.
func (w *Walker) Reset(m *Meter) {
	if cap(w.seen) < len(w.few) || cap(w.seen) > maxSeen {
		w.seen = w.few[:]
	}
	w.m, w.seen, w.bytes = m, w.seen[:0], 0
}

// Bytes returns the size of all that was visited so far.
func (w *Walker) Bytes() int64 { return w.bytes }

// first reports whether h is visited for the first time, and enters it.
func (w *Walker) first(h *header) bool {
	p := uintptr(unsafe.Pointer(h))
	if int(h.id) < len(w.seen) && w.seen[h.id] == p {
		return false
	}
	h.id = uint32(len(w.seen))
	if len(w.seen) == cap(w.seen) {
		w.grow()
	}
	w.seen = append(w.seen, p)
	return true
}

// grow makes twice the room: append makes a quarter more, and so a large table anew again and again.
//
//go:noinline
func (w *Walker) grow() {
	seen := make([]uintptr, len(w.seen), 2*max(len(w.few), cap(w.seen)))
	copy(seen, w.seen)
	w.seen = seen
}

// Visit adds v and all below it.
func (w *Walker) Visit(v Value) {
	if v.p == nil || scalar(v.p) {
		return
	}
	h := (*header)(v.p)
	if h.flags&flagFrozen != 0 || !w.first(h) {
		return
	}
	w.m.Work(1)
	w.bytes += h.weight()
	switch h.kind {
	case KindList:
		vals := (*List)(v.p).vals
		w.m.Work(len(vals) / 4)
		for _, e := range vals {
			w.Visit(e)
		}
	case KindMap:
		t := (*Map)(v.p)
		w.m.Work(len(t.entries) / 2)
		for i := range t.entries {
			e := &t.entries[i]
			if e.keyP == nil {
				continue
			}
			// Most keys are shared with another map, and were seen there.
			if h := (*header)(e.keyP); int(h.id) >= len(w.seen) || w.seen[h.id] != uintptr(e.keyP) {
				w.Visit(e.key())
			}
			if p := e.val.p; p != nil && !scalar(p) {
				w.Visit(e.val)
			}
		}
	}
}

// SizeOf returns the bytes that v holds, shared parts counted once.
func SizeOf(v Value) int64 {
	w := NewWalker(nil)
	w.Visit(v)
	return w.Bytes()
}
