package databases

import (
	"ql/internal/sqlite"
	"ql/lang/value"
)

const (
	// unmetered is the memory of a statement that runs for no script, as those of
	// an import do.
	unmetered = 64 << 20
	// libraryMemory is what SQLite may hold of a statement beyond as much as the
	// script may: pages of its tables, rows that it sorts, the program.
	libraryMemory = 16 << 20
)

// budget is what all aggregates of the statement under way may hold together. It
// comes out of the memory of its script.
type budget struct {
	meter *value.Meter // nil where no script waits
	// windows says that a group may be asked for its value more than once. The
	// library does not tell the last time, so nothing is released then.
	windows bool
	held    int
	charged int    // to the meter: the most that was held at once
	over    error  // that ended the statement
	member  []byte // reused
}

// begin starts anew, for a statement of a script with this meter.
func (b *budget) begin(m *value.Meter, windows bool) { *b = budget{meter: m, windows: windows} }

// end is the other end of begin.
func (b *budget) end() { *b = budget{} }

// memory returns what the script may hold.
func (b *budget) memory() int64 {
	if b.meter == nil {
		return unmetered
	}
	return b.meter.Memory
}

// exceeded returns the error of a statement that would hold more.
func (b *budget) exceeded() error {
	if b.meter == nil {
		return value.Exceeded("memory", unmetered, "this SQL statement holds more than %s: let it look at fewer rows", value.FormatSize(unmetered))
	}
	return &value.LimitError{Name: "memory", Max: b.meter.Memory}
}

// reserve reserves n bytes. Where it reports false, there are no more: the statement
// has to end.
func (b *budget) reserve(n int) (ok bool) {
	b.held += n
	if b.held <= b.charged {
		return true
	}
	if b.meter == nil && b.held > unmetered {
		b.over = b.exceeded()
		return false
	}
	defer func() {
		// The library is under way: no panic may go through it.
		if r := recover(); r != nil {
			limit, known := r.(*value.LimitError)
			if !known {
				panic(r)
			}
			b.over, ok = limit, false
		}
	}()
	b.meter.Alloc(b.held - b.charged)
	b.charged = b.held
	return true
}

// release is the reverse of reserve.
func (b *budget) release(n int) { b.held -= n }

// buffer holds bytes for one group. They come in at one end and, in a window, go
// out at the other.
type buffer struct {
	budget   *budget
	all      []byte
	from     int // where those that have not gone out start
	reserved int // of the budget
}

const (
	// groupBytes is what a group uses beside its bytes.
	groupBytes    = 256
	minGroupBytes = 64
)

// bytes returns what is there.
func (b *buffer) bytes() []byte { return b.all[b.from:] }

// reserve makes room for n more bytes. Where it reports false, the statement has
// ended.
func (b *buffer) reserve(c *sqlite.Call, n int) bool {
	length := len(b.all) - b.from
	switch {
	case len(b.all)+n <= cap(b.all):
		return true
	case b.from > cap(b.all)/2 && length+n <= cap(b.all):
		b.all, b.from = b.all[:copy(b.all, b.bytes())], 0
		return true
	}
	size := max(2*length, length+n, minGroupBytes)
	if b.reserved == 0 {
		n = groupBytes + size
	} else {
		n = size - cap(b.all)
	}
	if !b.budget.reserve(n) {
		c.Fail("out of memory")
		return false
	}
	b.reserved += n
	b.all, b.from = append(make([]byte, 0, size), b.bytes()...), 0
	return true
}

// drop removes the first n bytes, or all where there are fewer.
func (b *buffer) drop(n int) {
	if b.from += n; b.from >= len(b.all) {
		b.all, b.from = b.all[:0], 0
	}
}

// release releases what the buffer has reserved, after the last use of it.
func (b *buffer) release() {
	if b.budget.windows {
		return
	}
	b.budget.release(b.reserved)
	b.all, b.from, b.reserved = nil, 0, 0
}
