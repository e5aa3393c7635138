package lib

import (
	"math"
	"math/bits"
	"strings"
	"unicode/utf8"

	"ql/lang/value"
)

// part is how much of a text is worked through between two charges.
const part = 64 << 10

// scanned charges for n bytes that are looked at one by one.
func (c *Call) scanned(n int) { c.Meter.Work(n/8 + 1) }

// pieces yields s in parts that end between two characters, each charged
// before it is handed out.
func (c *Call) pieces(s string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for len(s) > 0 {
			n := boundary(s, part)
			c.scanned(n)
			if !yield(s[:n]) {
				return
			}
			s = s[n:]
		}
	}
}

// boundary returns the last place in s, up to n, that lies between two
// characters.
func boundary(s string, n int) int {
	if n >= len(s) {
		return len(s)
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return max(n, 0)
}

// chunks calls f for [0, n) in parts of at most size, charging cost units of
// fuel for every 64 bytes.
func (c *Call) chunks(n, size, cost int, f func(from, to int)) {
	for from := 0; from < n; from += size {
		to := min(n, from+size)
		c.Meter.Work((to-from)*cost/64 + 1)
		f(from, to)
	}
}

// characters counts the code points of s.
func (c *Call) characters(s string) int {
	n := 0
	for p := range c.pieces(s) {
		n += runeCount(p)
	}
	return n
}

// runeCount counts the code points of valid UTF-8: the bytes that continue none, eight at a time.
func runeCount(s string) int {
	n := len(s)
	for len(s) >= 8 {
		w := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		const tops = 0x8080808080808080
		if w &= tops &^ (w << 1); w != 0 {
			n -= bits.OnesCount64(w)
		}
		s = s[8:]
	}
	for i := range len(s) {
		if s[i]&0xc0 == 0x80 {
			n--
		}
	}
	return n
}

// offset returns where in s code point n starts, len(s) past the last.
func (c *Call) offset(s string, n int64) int {
	at := 0
	for p := range c.pieces(s) {
		k := int64(utf8.RuneCountInString(p))
		if k <= n {
			n -= k
			at += len(p)
			continue
		}
		for i := range p {
			if n == 0 {
				return at + i
			}
			n--
		}
	}
	return at
}

// index is strings.Index, charged.
func (c *Call) index(s, sub string) int {
	step := max(part, len(sub))
	for at := 0; ; at += step {
		end := min(len(s), at+step+len(sub))
		if i := strings.Index(s[at:end], sub); i >= 0 {
			c.Meter.Search(i, len(sub))
			return at + i
		}
		c.Meter.Search(end-at, len(sub))
		if end == len(s) {
			return -1
		}
	}
}

// maxBytes is the longest text there may be without a meter.
const maxBytes = 1 << 30

// size checks the length of a text to be made.
func (c *Call) size(n int64) int {
	if n > maxBytes || n < 0 {
		most := int64(maxBytes)
		if c.Meter != nil {
			most = int64(c.Meter.Text)
		}
		panic(&value.LimitError{Name: "value_size", Max: most})
	}
	c.Meter.CheckSize(int(n))
	return int(n)
}

// elements checks the length of a list to be made.
func (c *Call) elements(n uint64) int {
	if n > maxBytes {
		most := int64(maxBytes)
		if c.Meter != nil {
			most = int64(c.Meter.Elements)
		}
		panic(&value.LimitError{Name: "elements", Max: most})
	}
	c.Meter.CheckElements(int(n))
	return int(n)
}

// times returns a*b for a, b ≥ 0, or the largest integer where that is less.
func times(a, b int64) int64 {
	if a != 0 && b > math.MaxInt64/a {
		return math.MaxInt64
	}
	return a * b
}

// What making a value costs, whatever its size.
const (
	textWork = 4
	listWork = 15
	mapWork  = 20
)

// text returns a copy of s as a value.
func (c *Call) text(s string) value.Value {
	if s == "" {
		return value.Text("")
	}
	c.Meter.Work(textWork)
	b := value.NewBuilder(c.Meter, value.KindText, len(s))
	b.Add(s)
	return b.Value()
}

// buffer collects a text whose length is not known beforehand. Room is charged
// before it is made.
type buffer struct {
	c *Call
	b []byte
}

func (t *buffer) room(n int) {
	need := len(t.b) + n
	if need <= cap(t.b) {
		return
	}
	t.c.size(int64(need))
	to := max(need, 2*cap(t.b), 64)
	t.c.Meter.Alloc(to)
	t.c.Meter.WorkBytes(to)
	b := make([]byte, len(t.b), to)
	copy(b, t.b)
	t.b = b
}

func (t *buffer) add(s string) {
	t.room(len(s))
	t.b = append(t.b, s...)
}

func (t *buffer) addByte(b byte) {
	t.room(1)
	t.b = append(t.b, b)
}

func (t *buffer) addRune(r rune) {
	t.room(utf8.UTFMax)
	t.b = utf8.AppendRune(t.b, r)
}

// addValue adds v as an insertion writes it.
func (t *buffer) addValue(v value.Value) *value.Error {
	if err := t.c.printable(v); err != nil {
		return err
	}
	n := value.TextSize(t.c.Meter, v)
	t.room(n)
	t.b = value.AppendText(t.b, v)
	return nil
}

// printable refuses bytes that are no text.
func (c *Call) printable(v value.Value) *value.Error { return value.CheckPrintable(c.Meter, v) }

// value returns what was collected.
func (t *buffer) value() value.Value {
	if len(t.b) == 0 {
		return value.Text("")
	}
	b := value.NewBuilder(t.c.Meter, value.KindText, len(t.b))
	copy(b.Reserve(len(t.b)), t.b)
	return b.Value()
}
