package value

import (
	"fmt"
	"strconv"
)

// LimitError is the error of a run that went past one of its limits. No script can
// catch it.
type LimitError struct {
	Name  string // fuel, time, memory, depth, text, elements, output, pattern, …
	Max   int64
	Cause error // for time: why the context ended
}

// Error names the limit and what would help.
func (l *LimitError) Error() string {
	switch l.Name {
	case "fuel":
		return fmt.Sprintf("the script did more than %s steps of work, its limit", group(l.Max))
	case "time":
		return "the script ran longer than it may"
	case "memory":
		return fmt.Sprintf("the script holds more than %s of memory, its limit", FormatSize(l.Max))
	case "call_depth":
		return fmt.Sprintf("functions call each other more than %s deep, the limit: is there a call that never ends?", group(l.Max))
	case "nesting":
		return fmt.Sprintf("lists and maps stand more than %s deep inside each other, the limit", group(l.Max))
	case "value_size":
		return fmt.Sprintf("one text or bytes value is longer than %s, the limit", FormatSize(l.Max))
	case "elements":
		return fmt.Sprintf("one list or map has more than %s elements, the limit", group(l.Max))
	case "output":
		return fmt.Sprintf("the script emits more than %s, its limit", FormatSize(l.Max))
	case "fetches":
		return fmt.Sprintf("the script calls FETCH more than %s, its limit", times(l.Max))
	case "pattern_size":
		return fmt.Sprintf("the pattern is longer than %s, the limit", FormatSize(l.Max))
	case "pattern_cost":
		return "the pattern is too costly for a text of this length: use a simpler pattern, or match a shorter text"
	}
	return fmt.Sprintf("the script went past its limit %q of %d", l.Name, l.Max)
}

func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return group(n) + " times"
}

// Unwrap returns the cause, if any.
func (l *LimitError) Unwrap() error { return l.Cause }

// group writes n with spaces between the thousands.
func group(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + " " + s[i:]
	}
	return s
}

// FormatSize writes a number of bytes for people, exactly.
func FormatSize(n int64) string {
	for _, u := range []struct {
		name string
		unit int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= u.unit && n%u.unit == 0 {
			return fmt.Sprintf("%d %s", n/u.unit, u.name)
		}
	}
	return counted(group(n), n)
}

// FormatByteCount writes a number of bytes for people to the last one.
func FormatByteCount(n int64) string { return counted(strconv.FormatInt(n, 10), n) }

func counted(text string, bytes int64) string {
	if bytes == 1 {
		return text + " byte"
	}
	return text + " bytes"
}

// Bounds are the sizes that no single value may pass.
type Bounds struct {
	Text     int // bytes of one text or bytes value
	Elements int // elements of one list or map
	Nesting  int // levels of containers
	Pattern  int // bytes of a regular expression
	// PatternCost bounds compiled instructions × bytes of text.
	PatternCost int64
}

// Meter counts what a run uses and ends it at its limits. Whoever does work or
// allocates in the name of a script tells the meter first. A limit ends the
// run by a panic with a *LimitError, which the machine recovers: so no function in
// between has to hand it on, and none can swallow it. A nil Meter counts
// nothing, for hosts that make values of their own.
type Meter struct {
	Bounds
	// Fuel is what may be used before the next look at Reserve and the clock.
	Fuel int64
	// Reserve is the fuel beyond Fuel.
	Reserve int64
	// BytesLeft is how many bytes may be allocated before live memory is measured.
	BytesLeft int64
	// opStart is BytesLeft at the start of the operation under way, -1 outside one:
	// what it has allocated is live, though no root holds it yet.
	opStart int64
	// Memory is the limit of live memory.
	Memory int64
	// TotalFuel is the limit of fuel, for the error.
	TotalFuel int64
	// Measure walks all that the run holds and returns its size in bytes.
	Measure func() int64
	// Check tells whether the run must end now for another reason, time most
	// of all. It is called each time a slice of fuel is used up.
	Check func() *LimitError
	// tally is of a list that was made last, see Tally.
	tally Tally
}

// Slice is how much fuel is used between two looks at the clock.
const Slice = 1 << 16

const (
	// workBytes is how many bytes of plain copying one unit of fuel pays for.
	workBytes = 32
	// allocWork is what an allocation costs whatever its size, besides a unit for
	// each 1<<allocShift bytes.
	allocWork  = 2
	allocShift = 5
)

// Work charges n units of fuel.
func (m *Meter) Work(n int) {
	if m == nil {
		return
	}
	m.Fuel -= int64(n)
	if m.Fuel < 0 {
		m.Refill()
	}
}

// WorkBytes charges fuel for copying or reading n bytes.
func (m *Meter) WorkBytes(n int) { m.Work(n / workBytes) }

// Search charges for looking through n bytes for a part of so many. One byte is
// found in no time; of a longer part, nearly all may stand again and again without
// the whole of it, and each is compared.
func (m *Meter) Search(n, part int) {
	if part < 2 {
		m.WorkBytes(n)
		return
	}
	m.Work(n/8 + part/8)
}

// Refill moves fuel from the reserve after Fuel has gone below zero, looking
// at the clock on the way.
func (m *Meter) Refill() {
	if m.Check != nil {
		if l := m.Check(); l != nil {
			panic(l)
		}
	}
	need := Slice - m.Fuel
	if need > m.Reserve {
		need = m.Reserve
		if m.Fuel+need < 0 {
			m.Fuel, m.Reserve = 0, 0
			panic(&LimitError{Name: "fuel", Max: m.TotalFuel})
		}
	}
	m.Fuel += need
	m.Reserve -= need
}

// Used returns the fuel used so far.
func (m *Meter) Used() int64 { return m.TotalFuel - m.Fuel - m.Reserve }

// Alloc charges n bytes that are about to be allocated: of memory, and of fuel for
// making them ready and collecting them later.
func (m *Meter) Alloc(n int) {
	if m != nil {
		m.BytesLeft -= int64(n)
		m.Fuel -= int64(n>>allocShift + allocWork)
		if m.BytesLeft|m.Fuel < 0 { // either of them
			m.replenish(n)
		}
	}
}

// replenish finds out what is missing for an allocation of n bytes.
func (m *Meter) replenish(n int) {
	if m.Fuel < 0 {
		m.Refill()
	}
	if m.BytesLeft < 0 {
		m.measure(int64(n))
	}
}

// Begin and End enclose an operation that allocates more than once before the
// machine holds its result.
func (m *Meter) Begin() { m.opStart = m.BytesLeft }

// End is the other end of Begin.
func (m *Meter) End() { m.opStart = -1 }

// Allocated returns what the operation under way has allocated so far, for ReleaseTo.
func (m *Meter) Allocated() int64 {
	if m == nil {
		return 0
	}
	return m.opStart - m.BytesLeft
}

// ReleaseTo gives back what the operation under way has allocated since Allocated: it holds
// none of it any more.
func (m *Meter) ReleaseTo(allocated int64) {
	if m != nil {
		m.BytesLeft = m.opStart - allocated
	}
}

// measure replaces the estimate, in which nothing is ever given back, by the
// exact size of what is live. n bytes were charged last, in vain so far.
func (m *Meter) measure(n int64) {
	pending := n
	if m.opStart >= 0 {
		pending = m.opStart - m.BytesLeft
	}
	if pending > m.Memory {
		m.BytesLeft = 0
		panic(&LimitError{Name: "memory", Max: m.Memory})
	}
	live := m.Measure()
	m.BytesLeft = m.Memory - live - pending
	if m.opStart >= 0 {
		m.opStart = m.Memory - live
	}
	if m.BytesLeft < 0 {
		m.BytesLeft = 0
		panic(&LimitError{Name: "memory", Max: m.Memory})
	}
}

// CheckSize checks the length of a text or bytes value.
func (m *Meter) CheckSize(n int) {
	if m != nil && n > m.Text {
		panic(&LimitError{Name: "value_size", Max: int64(m.Text)})
	}
}

// CheckElements checks the number of elements of a container.
func (m *Meter) CheckElements(n int) {
	if m != nil && n > m.Elements {
		panic(&LimitError{Name: "elements", Max: int64(m.Elements)})
	}
}

func (m *Meter) maxText() int {
	if m == nil {
		return 1 << 30
	}
	return m.Text
}

func (m *Meter) maxElements() int {
	if m == nil {
		return 1 << 40
	}
	return m.Elements
}

// nest checks the height of a container.
func (m *Meter) nest(h uint16) {
	if m != nil && int(h) > m.Nesting {
		panic(&LimitError{Name: "nesting", Max: int64(m.Nesting)})
	}
}
