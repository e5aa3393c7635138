package lib

import (
	"io"
	"unicode/utf8"

	"ql/lang/value"
)

// directCost is up to which cost a text is matched in one go. Beyond, the text
// is handed to the regexp package character by character, each paid for as it
// is read: so that the run can end at any time, and an early match is cheap.
const directCost = 1 << 16

// affordable checks the cost of matching p against n bytes: the instructions
// of the program that may be looked at, one time each for every byte.
func (c *Call) affordable(p *pattern, n int) int {
	cost := times(int64(p.insts), int64(n+1))
	if most := patternBounds(c.Meter).PatternCost; cost > most {
		panic(&value.LimitError{Name: "pattern_cost", Max: most})
	}
	return int(cost)
}

// fuelPer returns what one character costs with p: measured, one instruction
// takes up to 13 ns, and longer where the places of many groups are copied.
func (p *pattern) fuelPer(withGroups bool) int {
	n := p.insts
	if withGroups {
		n += n * len(p.groups) / 8
	}
	return n/2 + 4
}

// matched is the result of search where no places are wanted.
var matched = []int{0, 0}

// search returns the places of the first match of p in s and of its groups,
// or nil. Without places it only tells whether there is a match.
func (c *Call) search(p *pattern, s string, places bool) []int {
	cost := c.affordable(p, len(s))
	c.Meter.Work(20 + p.insts/4)
	if p.prefix != "" && c.index(s, p.prefix) < 0 {
		return nil
	}
	if p.simple != nil {
		if at, done := c.searchSimple(p, s, 0); done {
			return at
		}
	}
	if places {
		c.Meter.Alloc(p.insts * 16 * (len(p.groups) + 1))
	}
	if cost <= directCost {
		c.Meter.Alloc(8 * cost) // what is still to be tried
		c.Meter.Work(p.fuelPer(places) * len(s))
		if places {
			return p.re.FindStringSubmatchIndex(s)
		}
		if p.re.MatchString(s) {
			return matched
		}
		return nil
	}
	r := runes{c: c, s: s, price: p.fuelPer(places)}
	defer r.pay()
	if places {
		return p.re.FindReaderSubmatchIndex(&r)
	}
	if p.re.MatchReader(&r) {
		return matched
	}
	return nil
}

// matches yields the places of all matches of p in s, from left to right, none
// inside another; an empty match does not follow another match at once.
func (c *Call) matches(p *pattern, s string) func(yield func(at []int) bool) {
	return func(yield func(at []int) bool) {
		c.affordable(p, len(s))
		r := runes{c: c, price: p.fuelPer(true)}
		pos, end := 0, -1
		for pos <= len(s) {
			at := c.searchFrom(p, s, pos, &r)
			if at == nil {
				return
			}
			again := at[0] == at[1] && at[0] == end
			end = at[1]
			if end > pos {
				pos = end
			} else {
				_, n := utf8.DecodeRuneInString(s[pos:])
				pos += max(n, 1)
			}
			if !again && !yield(at) {
				return
			}
		}
	}
}

// searchFrom is search for what lies at or behind pos, with regard to the
// character before it. r is there to be used again.
func (c *Call) searchFrom(p *pattern, s string, pos int, r *runes) []int {
	c.Meter.Work(20 + p.insts/4)
	if p.simple != nil {
		if at, done := c.searchSimple(p, s, pos); done {
			return at
		}
	}
	c.Meter.Alloc(p.insts*8 + 32*(len(p.groups)+2))
	if p.prefix != "" {
		skip := c.index(s[pos:], p.prefix)
		if skip < 0 {
			return nil
		}
		pos += skip
	}
	defer r.pay()
	if pos == 0 {
		r.s, r.at = s, 0
		return p.re.FindReaderSubmatchIndex(r)
	}
	_, width := utf8.DecodeLastRuneInString(s[:pos])
	start := pos - width
	r.s, r.at = s[start:], 0
	at := p.next.Load().FindReaderSubmatchIndex(r)
	if at == nil {
		return nil
	}
	at = at[2:]
	for i := range at {
		if at[i] >= 0 {
			at[i] += start
		}
	}
	return at
}

const (
	// simpleBudget is how many characters a simple pattern may read more than there are. Where it has read more, it
	// has tried many places in vain, and reads again and again what lies behind them: the regexp package does not.
	simpleBudget = 1 << 14
	// simpleText is up to which length a text is searched at once, without a look at the clock.
	simpleText = 1 << 18
)

// searchSimple is search for a simple pattern, at or behind pos. It reports false where the search was given up.
func (c *Call) searchSimple(p *pattern, s string, pos int) (at []int, done bool) {
	const readsPerWork = 4 // one takes up to 3 ns
	n := 2 * (len(p.groups) + 1)
	c.Meter.Alloc(8 * n)
	at, read, ok := p.simple.find(s, pos, simpleBudget+min(len(s)-pos, simpleText), make([]int, n))
	c.Meter.Work(read / readsPerWork)
	return at, ok
}

// runes reads a text for the regexp package, charging for it.
type runes struct {
	c      *Call
	s      string
	at     int
	price  int
	unpaid int
}

// ReadRune gives the next character.
func (r *runes) ReadRune() (rune, int, error) {
	if r.at >= len(r.s) {
		return 0, 0, io.EOF
	}
	const most = 256
	if r.unpaid++; r.unpaid == most {
		r.pay()
	}
	ch, n := utf8.DecodeRuneInString(r.s[r.at:])
	r.at += n
	return ch, n, nil
}

func (r *runes) pay() {
	r.c.Meter.Work(r.unpaid * r.price)
	r.unpaid = 0
}
