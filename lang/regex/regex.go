// Package regex finds what regular expressions match, in time linear to the text and with the results of the
// regexp package: leftmost, and of those the match that comes first in the order of the alternatives.
//
// A search reads the text once forward, by an automaton whose states are made as they are met, and so knows where
// the match ends. From there it reads backward, by another automaton, to where the match starts, and notes for
// each character which instructions lead to that end. Where groups are wanted a walk forward again takes, of each
// alternative, the first that leads there, so nothing is tried in vain. States are kept with the program, up to a
// bound; where a text needs more of them than fit, it is read without keeping any, as by any other engine.
package regex

import (
	"errors"
	"math/bits"
	"regexp/syntax"
	"unicode/utf8"
)

// Program is a compiled regular expression. It may be used by many at once.
type Program struct {
	insts    []syntax.Inst
	first    uint32 // instruction
	match    uint32 // instruction
	groups   int
	anchored bool // matches at the start of the text only
	prefix   string
	// skip tells of each byte that no match starts with it, where skips is set: none is empty then. Where what stands
	// before is asked for, there is one bit for each kind of character that does.
	skip   [256]uint8
	skips  bool
	looks  bool       // it asks for what stands beside a place
	kindOf [256]uint8 // of each byte the bit of the kind of its character

	classes  classes
	setOf    []int32    // of each instruction that reads a character: which of the sets
	sets     [][]uint64 // which classes belong to it, one bit each
	behind   edges      // of each instruction: those that lead to it at once
	readers  edges      // of each instruction: those that lead to it by a character
	forward  automaton
	backward automaton
}

// maxInsts is how many instructions may be told apart by the states of an automaton.
const maxInsts = 1 << 16

// New compiles a regular expression, read and simplified by package syntax.
func New(tree *syntax.Regexp) (*Program, error) {
	prog, err := syntax.Compile(tree)
	if err != nil {
		return nil, err
	}
	if len(prog.Inst) > maxInsts {
		return nil, errors.New("the expression is too large")
	}
	p := &Program{insts: prog.Inst, first: uint32(prog.Start), groups: tree.MaxCap()}
	p.anchored = prog.StartCond()&syntax.EmptyBeginText != 0
	p.prefix, _ = prog.Prefix()
	for pc := range p.insts {
		if p.insts[pc].Op == syntax.InstMatch {
			p.match = uint32(pc)
		}
	}
	p.classify()
	p.behind, p.readers = edgesOf(p.insts)
	p.findSkips()
	p.forward.p, p.forward.step, p.forward.first = p, p.stepForward, []uint16{again}
	if p.anchored {
		p.forward.first[0] = uint16(p.first)
	}
	p.backward.p, p.backward.step, p.backward.first = p, p.stepBackward, []uint16{uint16(p.match)}
	if p.groups > 0 {
		p.backward.words = (len(p.insts) + 63) / 64
	}
	p.forward.shift = bits.Len(uint(max(ordinary, p.classes.count()) - 1))
	p.backward.shift = p.forward.shift
	return p, nil
}

// Instructions returns how many there are.
func (p *Program) Instructions() int { return len(p.insts) }

// Groups returns how many groups there are.
func (p *Program) Groups() int { return p.groups }

// Prefix returns what each match starts with: a search may start where that stands first.
func (p *Program) Prefix() string { return p.prefix }

// Anchored reports whether matches are at the start of the text only.
func (p *Program) Anchored() bool { return p.anchored }

// Held returns about how many bytes the program holds for its states now.
func (p *Program) Held() int { return p.forward.held() + p.backward.held() }

// A Payer is told of each stretch of text that was read. It may panic to end the search.
type Payer interface{ Read(n int) }

// Match reports whether there is a match in s that starts at or behind pos.
func (p *Program) Match(s string, pos int, by Payer) bool { return p.end(s, pos, true, by) >= 0 }

// Find returns the places of the first match in s that starts at or behind pos, and those of its groups: of each the
// start and the end, -1 where it took no part. They stand in at where that has room for them. It returns nil where
// there is no match.
func (p *Program) Find(s string, pos int, at []int, by Payer) []int {
	end := p.end(s, pos, false, by)
	if end < 0 {
		return nil
	}
	at = roomFor(at, 2*p.groups+2)
	if p.groups == 0 {
		at[0], at[1] = p.start(s, pos, end, nil), end
	} else {
		p.places(s, pos, end, at)
	}
	by.Read(end - at[0])
	return at
}

func roomFor(at []int, n int) []int {
	if cap(at) < n {
		return make([]int, n)
	}
	return at[:n]
}

// chunk is how much text is read between two calls of a Payer.
const chunk = 4 << 10

// end returns where the first match ends that starts at or behind pos, -1 where there is none. With any, it may be
// the end of any match.
func (p *Program) end(s string, pos int, any bool, by Payer) int {
	if p.anchored && pos > 0 {
		return -1
	}
	end, paid, i := -1, pos, pos
	if p.skips {
		i = p.skipFrom(s, i, min(len(s), pos+chunk))
	}
	r := p.forward.begin(p.kindBefore(s, i))
	ascii := &p.classes.ascii
	for {
		stop := min(len(s), paid+chunk)
		at := r.at
		table := r.table
		for i < stop {
			b := s[i]
			if b >= utf8.RuneSelf {
				break
			}
			v := table[at+uint32(ascii[b])].Load()
			if v-ordinary >= idle-ordinary {
				if v == unknown {
					break
				}
				if v >= matched {
					end = i
					if any {
						by.Read(i - paid)
						return end
					}
					v -= matched
				}
				if v == dead {
					by.Read(i - paid)
					return end
				}
				if v >= idle {
					v -= idle
					next := p.skipFrom(s, i+1, stop)
					if next > i+1 && p.looks {
						// What stands before has become something else.
						r.restart(p.kindBefore(s, next))
						table, v = r.table, r.at
					}
					i = next - 1
				}
			}
			at = v
			i++
		}
		r.at = at
		class, width := p.classes.end, 0
		switch {
		case i < stop:
			class, width = p.classes.at(s, i)
		case i < len(s):
			by.Read(i - paid)
			paid = i
			continue
		}
		if r.next(class) {
			end = i
			if any {
				break
			}
		}
		if r.isDead() || width == 0 {
			break
		}
		i += width
	}
	by.Read(i - paid)
	return end
}

// always is set in skip for each kind of character that may stand before.
const always = 1<<kinds - 1

// skipFrom returns the first place from i to stop where a match may start.
func (p *Program) skipFrom(s string, i, stop int) int {
	rest := s[i:stop]
	if !p.looks {
		for n := range len(rest) {
			if p.skip[rest[n]] == 0 {
				return i + n
			}
		}
		return stop
	}
	for n := range len(rest) {
		// With most bytes no match starts, whatever stands before.
		skip := p.skip[rest[n]]
		if skip == always {
			continue
		}
		before := uint8(1)
		if n > 0 {
			before = p.kindOf[rest[n-1]]
		} else {
			before <<= p.kindBefore(s, i)
		}
		if skip&before == 0 {
			return i + n
		}
	}
	return stop
}

// start returns where the match starts that ends at end, at or behind pos. It notes the states of the places
// between in trace, unless that is nil.
func (p *Program) start(s string, pos, end int, trace *trace) int {
	r := p.backward.begin(p.kindAt(s, end))
	start := end
	if trace != nil {
		trace.begin(&r)
	}
	var rows []uint32 // of trace
	ascii := &p.classes.ascii
	for i := end; ; {
		at, table := r.at, r.table
		if trace != nil {
			rows = trace.rows
		}
		for i > pos {
			b := s[i-1]
			if b >= utf8.RuneSelf {
				break
			}
			v := table[at+uint32(ascii[b])].Load()
			if v == unknown {
				break
			}
			if v >= matched {
				start = i
				if trace != nil {
					trace.start = len(rows) - 1
				}
				v -= matched
			}
			if v == dead {
				break
			}
			at = v
			i--
			if trace != nil && len(rows) <= maxTrace {
				rows = append(rows, v)
			}
		}
		if trace != nil {
			trace.keep(rows)
		}
		r.at = at
		class, width := p.classes.end, 0
		if i > 0 {
			class, width = p.classes.before(s, i)
		}
		if r.next(class) {
			start = i
			if trace != nil {
				trace.start = len(trace.rows) - 1
			}
		}
		if i <= pos || r.isDead() {
			return start
		}
		i -= width
		if trace != nil {
			trace.add(&r)
		}
	}
}
