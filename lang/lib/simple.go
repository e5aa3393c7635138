package lib

import (
	"regexp/syntax"
	"unicode/utf8"
)

// simple is a pattern that needs no search for how its parts share a text out: characters and classes
// in a row, each as often as it may be, where what follows a part cannot be a character of that part. Most
// patterns of scripts are such: numbers, words, fields of a line. Whether and how one matches at a place
// is told by reading on, once; the places are tried from left to right.
//
// It gives what the regexp package gives: leftmost, and of those the match that takes as much as it can from
// the left.
type simple struct {
	parts  []simplePart
	groups int
	start  bool // only at the start of the text
	// classes tells of each ASCII character which classes of the parts it belongs to, one bit each.
	classes [256]uint64
	// first tells of each byte whether a match may start with it; empty is set where one may be empty.
	first [256]bool
	empty bool
	// run is set where it has one part, as often as it may be, but at least once: each run of such characters is a match.
	run bool
}

// simpleWeight is what one weighs beside its parts, in bytes, about.
const simpleWeight = 2304

// simplePart is characters of one class in a row, or a point between characters.
type simplePart struct {
	ascii    [2]uint64 // which characters below 128
	bit      uint64    // of the class in simple.classes
	others   []rune    // ranges of the others, as in syntax.Regexp
	min, max int       // how many; max is -1 for any number
	group    int       // where above 0: number of a place in the result, and no characters
	end      bool      // the end of the text, and no characters
}

// simpleParts is how many parts a simple pattern may have: those of a place are tried one by one.
const simpleParts = 64

// simpleRun is how many characters are read between two looks at the budget.
const simpleRun = 1 << 10

// newSimple returns the simple form of a pattern, nil where it has none.
func newSimple(tree *syntax.Regexp) *simple {
	n := partsOf(tree)
	if n > simpleParts {
		return nil
	}
	p := &simple{groups: tree.MaxCap(), parts: make([]simplePart, 0, n)}
	if !p.add(tree) {
		return nil
	}
	for i := range p.parts {
		if p.parts[i].min != p.parts[i].max && !p.disjoint(i) {
			return nil
		}
	}
	p.lead()
	p.classify()
	p.run = len(p.parts) == 1 && p.parts[0].min == 1 && p.parts[0].max < 0 && !p.start
	return p
}

// partsOf returns how many parts a pattern has at most.
func partsOf(tree *syntax.Regexp) int {
	switch tree.Op {
	case syntax.OpLiteral:
		return len(tree.Rune)
	case syntax.OpConcat, syntax.OpCapture:
		n := 2
		for _, sub := range tree.Sub {
			n += partsOf(sub)
		}
		return n
	}
	return 1
}

func (p *simple) add(tree *syntax.Regexp) bool {
	switch tree.Op {
	case syntax.OpEmptyMatch:
		return true
	case syntax.OpBeginText:
		if len(p.parts) > 0 || p.start {
			return false
		}
		p.start = true
		return true
	case syntax.OpEndText:
		p.parts = append(p.parts, simplePart{end: true})
		return true
	case syntax.OpConcat:
		for _, sub := range tree.Sub {
			if !p.add(sub) {
				return false
			}
		}
		return true
	case syntax.OpCapture:
		p.parts = append(p.parts, simplePart{group: 2 * tree.Cap})
		if !p.add(tree.Sub[0]) {
			return false
		}
		p.parts = append(p.parts, simplePart{group: 2*tree.Cap + 1})
		return true
	case syntax.OpLiteral:
		if tree.Flags&syntax.FoldCase != 0 {
			return false
		}
		for _, r := range tree.Rune {
			p.parts = append(p.parts, class([]rune{r, r}, 1, 1))
		}
		return true
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		ranges, ok := rangesOf(tree.Sub[0])
		if !ok || tree.Flags&syntax.NonGreedy != 0 {
			return false
		}
		least, most := tree.Min, tree.Max
		switch tree.Op {
		case syntax.OpStar:
			least, most = 0, -1
		case syntax.OpPlus:
			least, most = 1, -1
		case syntax.OpQuest:
			least, most = 0, 1
		}
		p.parts = append(p.parts, class(ranges, least, most))
		return true
	}
	ranges, ok := rangesOf(tree)
	p.parts = append(p.parts, class(ranges, 1, 1))
	return ok
}

// rangesOf returns the characters of a pattern that takes just one.
func rangesOf(tree *syntax.Regexp) ([]rune, bool) {
	switch tree.Op {
	case syntax.OpCharClass:
		return tree.Rune, true
	case syntax.OpAnyChar:
		return []rune{0, utf8.MaxRune}, true
	case syntax.OpAnyCharNotNL:
		return []rune{0, '\n' - 1, '\n' + 1, utf8.MaxRune}, true
	case syntax.OpLiteral:
		if len(tree.Rune) == 1 && tree.Flags&syntax.FoldCase == 0 {
			return []rune{tree.Rune[0], tree.Rune[0]}, true
		}
	}
	return nil, false
}

func class(ranges []rune, least, most int) simplePart {
	c := simplePart{min: least, max: most}
	for i := 0; i < len(ranges); i += 2 {
		low, high := ranges[i], ranges[i+1]
		for r := low; r <= min(high, utf8.RuneSelf-1); r++ {
			c.ascii[r>>6] |= 1 << (r & 63)
		}
		if high >= utf8.RuneSelf {
			c.others = append(c.others, max(low, utf8.RuneSelf), high)
		}
	}
	return c
}

func (c *simplePart) isPoint() bool { return c.end || c.group > 0 }

// has tells whether a character of more than one byte belongs to the class.
func (c *simplePart) has(r rune) bool {
	low, high := 0, len(c.others)/2
	for low < high {
		mid := (low + high) / 2
		switch {
		case r < c.others[2*mid]:
			high = mid
		case r > c.others[2*mid+1]:
			low = mid + 1
		default:
			return true
		}
	}
	return false
}

// disjoint tells whether none of the characters of part i may follow it.
func (p *simple) disjoint(i int) bool {
	c := &p.parts[i]
	for k := i + 1; k < len(p.parts); k++ {
		next := &p.parts[k]
		if next.isPoint() {
			continue
		}
		if c.ascii[0]&next.ascii[0] != 0 || c.ascii[1]&next.ascii[1] != 0 || overlap(c.others, next.others) {
			return false
		}
		if next.min > 0 {
			return true
		}
	}
	return true
}

func overlap(a, b []rune) bool {
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i+1] < b[j]:
			i += 2
		case b[j+1] < a[i]:
			j += 2
		default:
			return true
		}
	}
	return false
}

// lead finds out what a match may start with.
func (p *simple) lead() {
	for i := range p.parts {
		c := &p.parts[i]
		if c.isPoint() {
			continue
		}
		for b := range p.first {
			if b < utf8.RuneSelf {
				p.first[b] = p.first[b] || c.ascii[b>>6]&(1<<(b&63)) != 0
			} else {
				p.first[b] = p.first[b] || len(c.others) > 0
			}
		}
		if c.min > 0 {
			return
		}
	}
	p.empty = true
}

// classify gives each part the bit of its class.
func (p *simple) classify() {
	for i := range p.parts {
		c := &p.parts[i]
		c.bit = 1 << i // there are no more than simpleParts
		for b := range utf8.RuneSelf {
			if c.ascii[b>>6]&(1<<(b&63)) != 0 {
				p.classes[b] |= c.bit
			}
		}
	}
}

// find returns the places of the first match at or behind pos, in the form of the regexp package, or nil. It puts
// them into at, which has room. It gives up with ok false when it has read more than budget
// characters; read is how many there were.
func (p *simple) find(s string, pos, budget int, at []int) (found []int, read int, ok bool) {
	for ; pos <= len(s); pos++ {
		if p.start && pos > 0 {
			return nil, read, true
		}
		if !p.empty {
			from, stop := pos, len(s)
			if most := 2 * (budget - read); stop-pos > most {
				stop = pos + most
			}
			for pos < stop && !p.first[s[pos]] {
				pos++
			}
			read += (pos - from) / 2
			if pos == stop && stop < len(s) {
				return nil, read, false
			}
			if pos == len(s) || p.start && pos > 0 {
				return nil, read, true
			}
		}
		end, n := p.matchAt(s, pos, budget-read, at)
		read += n
		if end >= 0 {
			at[0], at[1] = pos, end
			return at, read, true
		}
		if read >= budget {
			return nil, read, false
		}
		if s != "" && pos < len(s) && s[pos] >= utf8.RuneSelf {
			_, width := utf8.DecodeRuneInString(s[pos:])
			pos += width - 1
		}
	}
	return nil, read, true
}

// matchAt returns where a match ends that starts at pos, -1 where there is none, and how many characters it read.
func (p *simple) matchAt(s string, pos, budget int, at []int) (end, read int) {
	begin := pos
	for i := range p.parts {
		c := &p.parts[i]
		if c.isPoint() {
			if c.group > 0 {
				at[c.group] = pos
			} else if pos != len(s) {
				return -1, pos - begin + i
			}
			continue
		}
		n, bit := 0, c.bit
		for n != c.max && pos < len(s) {
			from, stop := pos, min(len(s), pos+simpleRun)
			if c.max >= 0 {
				stop = min(stop, pos+c.max-n)
			}
			for pos < stop && p.classes[s[pos]]&bit != 0 {
				pos++
			}
			n += pos - from
			if pos < stop {
				if s[pos] < utf8.RuneSelf {
					break
				}
				r, width := utf8.DecodeRuneInString(s[pos:])
				if !c.has(r) {
					break
				}
				pos += width
				n++
			}
			if pos-begin > budget {
				return -1, pos - begin + i
			}
		}
		if n < c.min {
			return -1, pos - begin + i + 1
		}
	}
	return pos, pos - begin + len(p.parts)
}

// toRun returns where the next run of characters of the only part begins, at or behind pos; from limit on, where it
// has not looked.
func (p *simple) toRun(s string, pos, limit int) int {
	for pos < limit {
		if !p.first[s[pos]] {
			pos++
			continue
		}
		if s[pos] < utf8.RuneSelf {
			return pos
		}
		r, width := utf8.DecodeRuneInString(s[pos:])
		if p.parts[0].has(r) {
			return pos
		}
		pos += width
	}
	return pos
}

// throughRun returns where the run ends that pos is in; from limit on, where it has not looked.
func (p *simple) throughRun(s string, pos, limit int) int {
	for pos < limit && p.first[s[pos]] {
		if s[pos] < utf8.RuneSelf {
			pos++
			continue
		}
		r, width := utf8.DecodeRuneInString(s[pos:])
		if !p.parts[0].has(r) {
			return pos
		}
		pos += width
	}
	return pos
}
