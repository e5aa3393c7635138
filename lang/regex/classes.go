package regex

import (
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

// classes shares all characters out into classes, so that each instruction takes all of a class or none.
type classes struct {
	ascii [utf8.RuneSelf]uint16
	from  []rune   // where ranges of characters start, in order
	class []uint16 // of each range
	kinds []kind   // of each class
	end   uint16   // the class of what lies beyond the text
}

// kind is what of a character beside a point tells of the point.
type kind uint8

const (
	beyond kind = iota // the start or the end of the text
	newline
	wordPart
	other
	kinds
)

// points tells of each pair of kinds what holds between them.
var points = func() (holds [kinds][kinds]syntax.EmptyOp) {
	runes := [kinds]rune{-1, '\n', 'a', ' '}
	for a, before := range runes {
		for b, after := range runes {
			holds[a][b] = syntax.EmptyOpContext(before, after)
		}
	}
	return holds
}()

// of returns the class of a character.
func (c *classes) of(r rune) uint16 {
	if r < utf8.RuneSelf {
		return c.ascii[r]
	}
	i, found := slices.BinarySearch(c.from, r)
	if !found {
		i--
	}
	return c.class[i]
}

// at returns the class of the character at i, and its width. A byte that is part of none is U+FFFD.
func (c *classes) at(s string, i int) (class uint16, width int) {
	if s[i] < utf8.RuneSelf {
		return c.ascii[s[i]], 1
	}
	r, width := utf8.DecodeRuneInString(s[i:])
	return c.of(r), width
}

// before returns the class of the character that ends at i.
func (c *classes) before(s string, i int) (class uint16, width int) {
	if s[i-1] < utf8.RuneSelf {
		return c.ascii[s[i-1]], 1
	}
	r, width := utf8.DecodeLastRuneInString(s[:i])
	return c.of(r), width
}

// count returns how many classes there are, the one beyond the text among them.
func (c *classes) count() int { return int(c.end) + 1 }

// kindBefore returns the kind of what stands before pos.
func (p *Program) kindBefore(s string, pos int) kind {
	if pos == 0 {
		return p.classes.kinds[p.classes.end]
	}
	class, _ := p.classes.before(s, pos)
	return p.classes.kinds[class]
}

// kindAt returns the kind of what stands at pos.
func (p *Program) kindAt(s string, pos int) kind {
	if pos == len(s) {
		return p.classes.kinds[p.classes.end]
	}
	class, _ := p.classes.at(s, pos)
	return p.classes.kinds[class]
}

var (
	anyRune = []rune{0, unicode.MaxRune}
	notLine = []rune{0, '\n' - 1, '\n' + 1, unicode.MaxRune}
	line    = []rune{'\n', '\n'}
	word    = []rune{'0', '9', 'A', 'Z', '_', '_', 'a', 'z'}
)

// rangesOf returns the characters that an instruction takes, nil where it takes none: pairs, in order.
func rangesOf(in *syntax.Inst) []rune {
	switch in.Op {
	case syntax.InstRune1:
		return []rune{in.Rune[0], in.Rune[0]}
	case syntax.InstRuneAny:
		return anyRune
	case syntax.InstRuneAnyNotNL:
		return notLine
	case syntax.InstRune:
		if len(in.Rune) != 1 {
			return in.Rune
		}
		r := in.Rune[0]
		all := []rune{r}
		if syntax.Flags(in.Arg)&syntax.FoldCase != 0 {
			for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
				all = append(all, f)
			}
			slices.Sort(all)
		}
		pairs := make([]rune, 0, 2*len(all))
		for _, r := range all {
			pairs = append(pairs, r, r)
		}
		return pairs
	}
	return nil
}

// classify finds the classes of the characters and the sets of classes that instructions take.
func (p *Program) classify() {
	var sets [][]rune
	known := map[string]int32{}
	p.setOf = make([]int32, len(p.insts))
	var looks syntax.EmptyOp
	for pc := range p.insts {
		in := &p.insts[pc]
		if in.Op == syntax.InstEmptyWidth {
			looks |= syntax.EmptyOp(in.Arg)
		}
		if !reads(in) {
			continue
		}
		ranges := rangesOf(in)
		key := string(ranges)
		i, ok := known[key]
		if !ok {
			i = int32(len(sets))
			known[key] = i
			sets = append(sets, ranges)
		}
		p.setOf[pc] = i
	}
	taken := len(sets)
	lines := looks&(syntax.EmptyBeginLine|syntax.EmptyEndLine) != 0
	words := looks&(syntax.EmptyWordBoundary|syntax.EmptyNoWordBoundary) != 0
	if lines {
		sets = append(sets, line)
	}
	if words {
		sets = append(sets, word)
	}
	c := &p.classes
	n := c.split(sets)
	c.end = uint16(n)
	p.sets = make([][]uint64, taken)
	for i := range p.sets {
		p.sets[i] = make([]uint64, (n+64)/64)
	}
	c.kinds = make([]kind, n+1)
	for i, class := range c.class {
		r := c.from[i]
		switch {
		case lines && r == '\n':
			c.kinds[class] = newline
		case words && syntax.IsWordChar(r):
			c.kinds[class] = wordPart
		default:
			c.kinds[class] = other
		}
		for k, ranges := range sets[:taken] {
			if contains(ranges, r) {
				p.sets[k][class/64] |= 1 << (class % 64)
			}
		}
	}
	c.kinds[n] = beyond
	p.looks = looks != 0
	if !p.looks {
		clear(c.kinds) // nothing asks for them, and states are told apart by them
	}
}

func reads(in *syntax.Inst) bool {
	return in.Op == syntax.InstRune || in.Op == syntax.InstRune1 || in.Op == syntax.InstRuneAny || in.Op == syntax.InstRuneAnyNotNL
}

func contains(ranges []rune, r rune) bool {
	low, high := 0, len(ranges)/2
	for low < high {
		mid := (low + high) / 2
		switch {
		case r < ranges[2*mid]:
			high = mid
		case r > ranges[2*mid+1]:
			low = mid + 1
		default:
			return true
		}
	}
	return false
}

// split makes the classes for sets of characters and returns how many there are.
func (c *classes) split(sets [][]rune) int {
	c.from = append(c.from, 0)
	for _, ranges := range sets {
		for i := 0; i < len(ranges); i += 2 {
			c.from = append(c.from, ranges[i])
			if ranges[i+1] < unicode.MaxRune {
				c.from = append(c.from, ranges[i+1]+1)
			}
		}
	}
	slices.Sort(c.from)
	c.from = slices.Compact(c.from)
	c.class = make([]uint16, len(c.from))
	n := 1
	// Each set splits the classes that are there: those of its ranges move to new ones.
	var moved []uint16 // to which class, 0 for none yet
	for _, ranges := range sets {
		moved = append(moved[:0], make([]uint16, n)...)
		left := make([]bool, n) // characters of it stay
		k := 0
		inside := func(r rune) bool {
			for k < len(ranges) && ranges[k+1] < r {
				k += 2
			}
			return k < len(ranges) && ranges[k] <= r
		}
		for i, r := range c.from {
			if !inside(r) {
				left[c.class[i]] = true
			}
		}
		k = 0
		for i, r := range c.from {
			class := c.class[i]
			if !inside(r) || !left[class] {
				continue
			}
			if moved[class] == 0 {
				moved[class] = uint16(n)
				n++
			}
			c.class[i] = moved[class]
		}
	}
	for r := range c.ascii {
		i, found := slices.BinarySearch(c.from, rune(r))
		if !found {
			i--
		}
		c.ascii[r] = c.class[i]
	}
	return n
}

// findSkips finds the bytes that no match starts with.
func (p *Program) findSkips() {
	if p.anchored {
		return
	}
	var starts [kinds][]uint64 // of each kind that stands before: the classes that a match starts with
	for before := range kinds {
		starts[before] = make([]uint64, (p.classes.count()+63)/64)
		for at := range kinds {
			first, empty := p.firstClasses(points[before][at])
			if empty {
				return
			}
			for class, k := range p.classes.kinds {
				if k == at || !p.looks {
					starts[before][class/64] |= first[class/64] & (1 << (class % 64))
				}
			}
		}
		if !p.looks { // what stands beside a place tells nothing
			for k := range starts {
				starts[k] = starts[before]
			}
			break
		}
	}
	// Of a character of several bytes all are skipped, or none.
	others := false
	for i, class := range p.classes.class {
		if i+1 == len(p.classes.from) || p.classes.from[i+1] > utf8.RuneSelf {
			for _, s := range starts {
				others = others || s[class/64]&(1<<(class%64)) != 0
			}
		}
	}
	for b := range p.skip {
		p.kindOf[b] = 1 << other
		switch {
		case b < utf8.RuneSelf:
			class := p.classes.ascii[b]
			p.kindOf[b] = 1 << p.classes.kinds[class]
			for before, s := range starts {
				if s[class/64]&(1<<(class%64)) == 0 {
					p.skip[b] |= 1 << before
				}
			}
		case !others:
			p.skip[b] = always
		}
		p.skips = p.skips || p.skip[b] != 0
	}
}

// firstClasses returns the classes of characters that a match may start with at a point where so much holds, and whether one
// may be empty, wherever it is.
func (p *Program) firstClasses(holds syntax.EmptyOp) (classes []uint64, empty bool) {
	classes = make([]uint64, (p.classes.count()+63)/64)
	met := make([]bool, len(p.insts))
	stack := []uint32{p.first}
	for len(stack) > 0 {
		pc := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if met[pc] {
			continue
		}
		met[pc] = true
		switch in := &p.insts[pc]; {
		case in.Op == syntax.InstMatch:
			return nil, true
		case reads(in):
			for i, set := range p.sets[p.setOf[pc]] {
				classes[i] |= set
			}
		case in.Op == syntax.InstAlt || in.Op == syntax.InstAltMatch:
			stack = append(stack, in.Out, in.Arg)
		case in.Op != syntax.InstEmptyWidth || syntax.EmptyOp(in.Arg)&^holds == 0:
			stack = append(stack, in.Out)
		}
	}
	return classes, false
}
