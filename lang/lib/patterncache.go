package lib

import (
	"container/list"
	"errors"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"ql/lang/regex"
	"ql/lang/value"
)

// Patterns is an LRU cache of compiled patterns, for all runs of a process: so many
// of them at most, and no more memory than that number of ordinary patterns takes. A
// nil *Patterns caches none.
type Patterns struct {
	mu         sync.Mutex
	byText     map[string]*list.Element // of *pattern
	order      *list.List               // the one used last in front
	maxEntries int
	weight     int
}

// ordinaryWeight is what a pattern may weigh, in bytes, on average.
const ordinaryWeight = 16 << 10

// NewPatterns returns an empty cache for so many patterns.
func NewPatterns(maxEntries int) *Patterns {
	return &Patterns{byText: make(map[string]*list.Element), order: list.New(), maxEntries: maxEntries}
}

func (ps *Patterns) get(text string) *pattern {
	if ps == nil {
		return nil
	}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	e := ps.byText[text]
	if e == nil {
		return nil
	}
	ps.order.MoveToFront(e)
	return e.Value.(*pattern)
}

func (ps *Patterns) put(p *pattern) {
	if ps == nil {
		return
	}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.byText[p.text] != nil {
		return
	}
	ps.byText[p.text] = ps.order.PushFront(p)
	ps.weight += p.weight + int(p.held.Load())
	ps.shed()
}

// weigh counts what a pattern holds for its states since they have become more, or fewer.
func (ps *Patterns) weigh(p *pattern) {
	held := int64(p.prog.Held())
	if ps == nil || held == p.held.Load() {
		return
	}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	old := p.held.Swap(held)
	if e := ps.byText[p.text]; e != nil && e.Value.(*pattern) == p {
		ps.weight += int(held - old)
		ps.shed()
	}
}

// shed drops what was not used for longest until the rest fits.
func (ps *Patterns) shed() {
	for ps.order.Len() > ps.maxEntries || ps.weight > ps.maxEntries*ordinaryWeight {
		last := ps.order.Remove(ps.order.Back()).(*pattern)
		delete(ps.byText, last.text)
		ps.weight -= last.weight + int(last.held.Load())
	}
}

// pattern is a compiled regular expression.
type pattern struct {
	text   string
	prog   *regex.Program
	insts  int           // instructions of its program
	groups []value.Value // their names, null for those without
	named  bool          // one of them has a name
	simple *simple       // where it has that form
	needs  string        // a text that stands in each match, "" where none is known or it is the start of each
	before *bytesOf      // what else may stand in a match before that text, nil where it may be anything
	weight int           // bytes, about, without its states
	held   atomic.Int64  // bytes of its states, as they are counted
	// compileWork is the fuel that compiling takes.
	compileWork int
}

const (
	// maxGroups and maxInsts bound what is held where groups are found by following all ways at once: for
	// every instruction the places of all groups.
	maxGroups = 100
	maxInsts  = 10_000
	// maxFolded is how many wide ranges, such as [а-я], may stand in a
	// pattern that ignores case: reading it walks all of Unicode for
	// each.
	maxFolded = 8
)

// pattern reads a pattern.
func (in *input) pattern(i int) *pattern {
	s := in.text(i, "the pattern")
	if in.err != nil {
		return nil
	}
	return in.patternOf(s, false)
}

// patternOfAll reads a pattern of which all matches are wanted.
func (in *input) patternOfAll(i int) *pattern {
	s := in.text(i, "the pattern")
	if in.err != nil {
		return nil
	}
	return in.patternOf(s, true)
}

// patternOf returns the pattern of a text, of which the first match is wanted or all.
func (in *input) patternOf(s string, all bool) *pattern {
	in.Meter.Work(20 + len(s)/8)
	most := patternBounds(in.Meter).Pattern
	if len(s) > most {
		panic(&value.LimitError{Name: "pattern_size", Max: int64(most)})
	}
	if p := in.usedRecently(payment{s, all}); p != nil {
		return p
	}
	p := in.Patterns.get(s)
	if p == nil {
		if p = in.compile(strings.Clone(s)); in.err != nil {
			return nil
		}
		in.Patterns.put(p)
	}
	if in.pays(payment{p.text, false}) {
		in.Meter.Work(p.compileWork)
	}
	if all && in.pays(payment{p.text, true}) {
		in.Meter.Work(p.compileWork)
	}
	in.remember(p, all)
	return p
}

// Matcher is a compiled pattern of a run.
type Matcher struct {
	c *Call
	p *pattern
}

// Instructions returns how many instructions the pattern has been compiled to.
func (m Matcher) Instructions() int { return m.p.insts }

// Match reports whether the pattern matches somewhere in a text.
func (m Matcher) Match(text string) bool { return m.c.search(m.p, text, false) != nil }

// Compile returns the pattern of a field. As with MATCHES, the run pays for it and
// for matching, and it comes out of the cache where it is there.
func (c *Call) Compile(text string) (Matcher, *value.Error) {
	in := input{Call: c, name: "PATTERN"}
	p := in.patternOf(text, false)
	return Matcher{c, p}, in.err
}

// patternBounds returns the limits of patterns, generous ones where there is no
// meter.
func patternBounds(m *value.Meter) value.Bounds {
	if m == nil {
		return value.Bounds{Pattern: 4 << 10, PatternCost: 1e9}
	}
	return m.Bounds
}

func (in *input) compile(text string) *pattern {
	classes := strings.Count(text, `\p`) + strings.Count(text, `\P`) + strings.Count(text, "[^")
	folded := foldedRanges(text)
	if folded > maxFolded {
		in.fail(value.BadPattern, "cannot use %s: of ranges like [а-я], beyond English letters, at most %d may stand in a pattern that ignores case", value.Quote(text), maxFolded)
		return nil
	}
	work := 200 + 60*len(text) + 3000*classes + 700_000*folded
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		in.Meter.Work(work)
		in.badPattern(text, err)
		return nil
	}
	if tree.MaxCap() > maxGroups {
		in.Meter.Work(work)
		in.fail(value.BadPattern, "cannot use %s: a pattern has at most %d groups; (?:…) groups without counting", value.Quote(text), maxGroups)
		return nil
	}
	size := programSize(tree)
	if size > maxInsts {
		panic(&value.LimitError{Name: "pattern_cost", Max: patternBounds(in.Meter).PatternCost})
	}
	p := &pattern{text: text, compileWork: work + 30*size, weight: 2000 + 200*size + 14_000*(classes+folded)}
	for _, name := range tree.CapNames()[1:] {
		v := value.Null
		if name != "" {
			v = value.Text(name).Freeze()
			p.named = true
		}
		p.groups = append(p.groups, v)
	}
	if p.simple = newSimple(tree); p.simple != nil {
		p.weight += simpleWeight
	}
	p.prog, err = regex.New(tree.Simplify())
	if err != nil {
		in.badPattern(text, err)
		return nil
	}
	p.insts = p.prog.Instructions()
	if p.prog.Prefix() == "" && !p.prog.Anchored() { // which tells sooner
		var before bytesOf
		if p.needs, before = needed(tree); p.needs != "" && before != allBytes {
			p.before = &before
			p.weight += len(before)
		}
	}
	return p
}

// bytesOf tells of each byte whether it belongs to some characters. Those of characters beyond ASCII do all, or none.
type bytesOf [256]bool

var allBytes = func() (all bytesOf) {
	all.add(0, unicode.MaxRune)
	return all
}()

func (b *bytesOf) add(from, to rune) {
	for c := from; c <= min(to, utf8.RuneSelf-1); c++ {
		b[c] = true
	}
	if to >= utf8.RuneSelf {
		for i := utf8.RuneSelf; i < len(b); i++ {
			b[i] = true
		}
	}
}

// addAll adds all characters that may stand in what a tree matches.
func (b *bytesOf) addAll(tree *syntax.Regexp) {
	switch tree.Op {
	case syntax.OpLiteral:
		for _, r := range tree.Rune {
			b.add(r, r)
			if tree.Flags&syntax.FoldCase != 0 {
				for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
					b.add(f, f)
				}
			}
		}
	case syntax.OpCharClass:
		for i := 0; i+1 < len(tree.Rune); i += 2 {
			b.add(tree.Rune[i], tree.Rune[i+1])
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.add(0, unicode.MaxRune)
	}
	for _, sub := range tree.Sub {
		b.addAll(sub)
	}
}

// needed returns the longest text without which nothing matches, of several the first; "" where there is none. It tells too
// what may stand in a match before that text.
func needed(tree *syntax.Regexp) (longest string, before bytesOf) {
	switch {
	case tree.Op == syntax.OpLiteral:
		// A byte that is part of no character is taken for U+FFFD, which is another text.
		if tree.Flags&syntax.FoldCase == 0 && !slices.Contains(tree.Rune, utf8.RuneError) {
			longest = string(tree.Rune)
		}
	case tree.Op == syntax.OpConcat, tree.Op == syntax.OpCapture, tree.Op == syntax.OpPlus, tree.Op == syntax.OpRepeat && tree.Min > 0:
		var met bytesOf
		for _, sub := range tree.Sub {
			if text, inside := needed(sub); len(text) > len(longest) {
				longest, before = text, met
				for i, is := range inside {
					before[i] = before[i] || is
				}
			}
			met.addAll(sub)
		}
	}
	return longest, before
}

func (in *input) badPattern(text string, err error) {
	var e *syntax.Error
	if !errors.As(err, &e) {
		in.fail(value.BadPattern, "cannot read the pattern %s", value.Quote(text))
		return
	}
	hint := ""
	if e.Code == syntax.ErrInvalidPerlOp || e.Code == syntax.ErrInvalidEscape {
		hint = "; patterns are RE2: without look-ahead, look-behind and back-references"
	}
	in.fail(value.BadPattern, "cannot read the pattern %s: %s in %s%s", value.Quote(text), e.Code, value.Quote(e.Expr), hint)
}

// programSize returns about how many instructions tree compiles to, repeats
// written out.
func programSize(tree *syntax.Regexp) int {
	const enough = 1 << 30
	n := 0
	for _, sub := range tree.Sub {
		n = min(enough, n+programSize(sub))
	}
	switch tree.Op {
	case syntax.OpLiteral:
		return len(tree.Rune)
	case syntax.OpRepeat:
		// x{2,} is xx+, x{2,4} is xx(x(x)?)?
		most := tree.Max
		if most < 0 {
			most = tree.Min + 1
		}
		return min(enough, (n+1)*most+1)
	case syntax.OpConcat:
		return n
	case syntax.OpCapture, syntax.OpAlternate:
		return n + len(tree.Sub) + 1
	}
	return n + 1
}

// foldedRanges returns how many ranges of a pattern that ignores case may reach
// far beyond ASCII, at most: they end with such a character, as it is or as
// \x{…}.
func foldedRanges(text string) int {
	if !ignoresCase(text) {
		return 0
	}
	n := 0
	for {
		_, end, ok := strings.Cut(text, "-")
		if !ok || end == "" {
			return n
		}
		if end[0] >= 0x80 || strings.HasPrefix(end, `\x{`) {
			n++
		}
		text = end
	}
}

// ignoresCase reports whether the flag i stands in one of the flags of text.
func ignoresCase(text string) bool {
	for rest := text; ; {
		_, after, ok := strings.Cut(rest, "(?")
		if !ok {
			return false
		}
		flags := strings.IndexFunc(after, func(r rune) bool { return !strings.ContainsRune("imsU-", r) })
		if flags > 0 && strings.Contains(after[:flags], "i") {
			return true
		}
		rest = after
	}
}
