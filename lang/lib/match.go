package lib

import (
	"unicode/utf8"

	"ql/lang/value"
)

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

// searchWork returns what the search for a match costs beside what it reads.
func (p *pattern) searchWork() int { return 20 + p.insts/4 }

// search returns the places of the first match of p in s and of its groups,
// or nil. Without places it only tells whether there is a match.
func (c *Call) search(p *pattern, s string, places bool) []int {
	c.affordable(p, len(s))
	if places && len(p.groups) > 0 && p.simple == nil {
		c.Meter.Alloc(p.insts * 16 * (len(p.groups) + 1))
	}
	return c.searchFrom(p, s, 0, c.placesOf(p), places)
}

// placesOf returns room for the places of a match, up to the next search of the run.
func (c *Call) placesOf(p *pattern) []int {
	n := 2 * (len(p.groups) + 1)
	if n <= len(c.places) {
		return c.places[:n]
	}
	c.Meter.Alloc(8 * n)
	return make([]int, n)
}

// matches yields the places of all matches of p in s, from left to right, none
// inside another; an empty match does not follow another match at once. The places stand
// in the same slice each time.
func (c *Call) matches(p *pattern, s string) func(yield func(at []int) bool) {
	return func(yield func(at []int) bool) {
		c.affordable(p, len(s))
		room := c.placesOf(p)
		if p.simple != nil && p.simple.run && p.prog.Prefix() == "" {
			c.runs(p, s, room, yield)
			return
		}
		pos, end := 0, -1
		for pos <= len(s) {
			at := c.searchFrom(p, s, pos, room, true)
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

// runs is matches for a simple pattern of one part: it tells of the same matches, and charges what searchFrom would,
// without a call for each.
func (c *Call) runs(p *pattern, s string, at []int, yield func(at []int) bool) {
	each := p.searchWork() * readsPerWork
	owed := 0 // reads
	for from := 0; ; {
		for {
			limit := min(len(s), from+part)
			read := from
			from = p.simple.toRun(s, from, limit)
			owed += (from - read) / 2
			if from < limit || from >= len(s) {
				break
			}
			owed = c.payReads(owed)
		}
		owed += each
		if from == len(s) {
			c.payReads(owed)
			return
		}
		to := from
		for {
			limit := min(len(s), to+part)
			read := to
			to = p.simple.throughRun(s, to, limit)
			owed += to - read
			if to < limit || to >= len(s) {
				break
			}
			owed = c.payReads(owed)
		}
		if owed++; owed > part {
			owed = c.payReads(owed)
		}
		at[0], at[1] = from, to
		if !yield(at) {
			c.payReads(owed)
			return
		}
		from = to
	}
}

// payReads charges for so many characters that a simple pattern has read, and returns those that are not worth
// a unit.
func (c *Call) payReads(n int) (left int) {
	c.Meter.Work(n / readsPerWork)
	return n % readsPerWork
}

// searchFrom is search for what lies at or behind pos, with regard to the
// character before it. The places stand in at, which has room for them.
func (c *Call) searchFrom(p *pattern, s string, pos int, at []int, places bool) []int {
	c.Meter.Work(p.searchWork())
	if prefix := p.prog.Prefix(); prefix != "" {
		skip := c.index(s[pos:], prefix)
		if skip < 0 {
			return nil
		}
		pos += skip
	}
	if p.simple != nil {
		if at, done := c.searchSimple(p, s, pos, at); done {
			return at
		}
	}
	start := pos
	if p.needs != "" {
		at := c.index(s[pos:], p.needs)
		if at < 0 {
			return nil
		}
		if p.before != nil {
			// No match starts before what may stand in front of the text.
			for start += at; start > pos && p.before[s[start-1]]; {
				start--
			}
		}
	}
	if places && len(p.groups) > 0 {
		c.Meter.Alloc(p.insts*8 + 32*(len(p.groups)+2))
	}
	c.price = p.fuelPer(places)
	if start > pos { // which costs as much as if it were read
		(*reading)(c).Read(start - pos)
		pos = start
	}
	defer c.Patterns.weigh(p)
	if places {
		return p.prog.Find(s, pos, at, (*reading)(c))
	}
	if p.prog.Match(s, pos, (*reading)(c)) {
		return at
	}
	return nil
}

// reading charges for the text that is read.
type reading Call

// Read is told of so many bytes.
func (r *reading) Read(n int) { r.Meter.Work(n * r.price) }

const (
	// simpleBudget is how many characters a simple pattern may read more than there are. Where it has read more, it
	// has tried many places in vain, and reads again and again what lies behind them: its automaton does not.
	simpleBudget = 1 << 14
	// simpleText is up to which length a text is searched at once, without a look at the clock.
	simpleText = 1 << 18
	// readsPerWork is how many characters a simple pattern reads for a unit of fuel: one takes up to 3 ns.
	readsPerWork = 4
)

// searchSimple is search for a simple pattern, at or behind pos. It reports false where the search was given up.
func (c *Call) searchSimple(p *pattern, s string, pos int, at []int) (found []int, done bool) {
	found, read, ok := p.simple.find(s, pos, simpleBudget+min(len(s)-pos, simpleText), at[:2*(len(p.groups)+1)])
	c.Meter.Work(read / readsPerWork)
	return found, ok
}
