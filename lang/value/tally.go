package value

import "unsafe"

// Tally counts what a Walker would find in a list while that is made, so that nobody has to walk through it
// once more to weigh it.
type Tally struct {
	list  *List // that it is of; nil while it is made
	bytes int64
	work  int
}

// Add counts a value by itself, without what it leads to. Nothing is counted twice.
func (t *Tally) Add(v Value) {
	if v.p == nil || scalar(v.p) {
		return
	}
	h := (*header)(v.p)
	if h.flags&flagFrozen != 0 {
		return
	}
	t.work++
	t.bytes += h.weight()
	switch h.kind {
	case KindList:
		t.work += len((*List)(v.p).vals) / 4
	case KindMap:
		t.work += len((*Map)(v.p).entries) / 2
	}
}

// Complete adds a list all of whose parts have been counted, and leaves the tally with the meter for whoever
// weighs the list next. It must not be changed before.
func (t *Tally) Complete(m *Meter, l *List) {
	if m == nil {
		return
	}
	t.Add(l.Value())
	t.list = l
	m.tally = *t
}

// Weigh returns what v weighs with all below it, charging to what a walk costs. v is walked through, by w,
// unless it is the list of the tally left with the meter; that is forgotten.
func (m *Meter) Weigh(v Value, w *Walker, to *Meter) int64 {
	t := m.tally
	m.tally = Tally{}
	if t.list != nil && v.p == unsafe.Pointer(t.list) {
		to.Work(t.work)
		return t.bytes
	}
	w.Reset(to)
	w.Visit(v)
	bytes := w.Bytes()
	w.Reset(nil) // it would keep what the script lets go
	return bytes
}

// Forget forgets the tally left with the meter, which holds its list.
func (m *Meter) Forget() { m.tally = Tally{} }
