package regex

import (
	"regexp/syntax"
	"slices"
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

// maxTrace is how many characters of a match are noted. The groups of a longer one are found by trying all
// ways side by side.
const maxTrace = 1 << 16

// trace has the states of a backward search, from the end of the match on.
type trace struct {
	rows   []uint32
	start  int // which of rows is that of the start of the match
	st     *states
	broken bool // it does not have them all
}

func (t *trace) begin(r *reader) {
	t.st, t.broken = r.st, r.plain != nil
	t.rows, t.start = append(t.rows[:0], r.at), 0
}

func (t *trace) add(r *reader) {
	if r.st != t.st || r.plain != nil {
		t.broken = true
		return
	}
	t.note(r.at)
}

func (t *trace) note(row uint32) { t.keep(append(t.rows, row)) }

// keep notes all rows so far.
func (t *trace) keep(rows []uint32) {
	if len(rows) > maxTrace {
		rows, t.broken = rows[:maxTrace], true
	}
	t.rows = rows
}

// ways are the last ways of walks through alternatives. A way depends on the instruction that it begins with, the state
// there and, for some, what stands before the place. Each has one place, which another may take: a word with all of it, so
// that it is read and written at once. Which slots are set on the way stands in a list by itself.
type ways struct {
	known [1 << wayBits]atomic.Uint64 // see way
	slots atomic.Pointer[[][]uint16]
}

const (
	wayBits  = 8
	waySlots = 64 // lists; there are mostly a few for each group
	wayMost  = 8  // slots in a list
	// waysBytes is what they take.
	waysBytes = 8<<wayBits + waySlots*(24+2*wayMost)
	// wayStates is how many states have a number in a way.
	wayStates = 1 << 16
)

// way is the key of one, which is never 0, above where it leads: 16 bits for an instruction, a bit where it does not depend on
// what stands before, and the number of its list of slots, 0 for none.
type way uint64

const (
	plainWay  = 1 << 16
	listShift = 17
	keyShift  = 30 // leaves 16 bits for an instruction, 16 for a state and 2 for a kind
)

func newWay(key uint64, to uint32, plain bool, list int) way {
	w := way(key<<keyShift | uint64(list)<<listShift | uint64(to))
	if plain {
		w |= plainWay
	}
	return w
}

func (w way) to() uint32  { return uint32(w & (plainWay - 1)) }
func (w way) plain() bool { return w&plainWay != 0 }
func (w way) list() int   { return int(w >> listShift & (1<<(keyShift-listShift) - 1)) }

// wayKey returns the key of a way, 0 where it has none.
func wayKey(pc, state uint32, before kind) uint64 {
	if state >= wayStates {
		return 0
	}
	return uint64(before)<<32 | uint64(state)<<16 | uint64(pc)
}

// at is where the way of a key stands.
func (w *ways) at(key uint64) *atomic.Uint64 {
	return &w.known[key*0x9E3779B97F4A7C15>>(64-wayBits)]
}

// find returns the way of a key and the slots that are set on it.
func (w *ways) find(key uint64) (found way, slots []uint16, ok bool) {
	found = way(w.at(key).Load())
	if uint64(found>>keyShift) != key || key == 0 {
		return 0, nil, false
	}
	if n := found.list(); n > 0 {
		slots = (*w.slots.Load())[n-1]
	}
	return found, slots, true
}

// keep notes a way, where there is room for its list. The lock of the states is held.
func (w *ways) keep(key uint64, to uint32, plain bool, slots []uint16) {
	n := 0
	if len(slots) > 0 {
		var lists [][]uint16
		if kept := w.slots.Load(); kept != nil {
			lists = *kept
		}
		n = 1 + slices.IndexFunc(lists, func(list []uint16) bool { return slices.Equal(list, slots) })
		if n == 0 {
			if len(lists) == waySlots || len(slots) > wayMost {
				return
			}
			// Who reads the lists that were there goes on with them.
			lists = append(lists[:len(lists):len(lists)], slices.Clone(slots))
			w.slots.Store(&lists)
			n = len(lists)
		}
	}
	if key != 0 {
		w.at(key).Store(uint64(newWay(key, to, plain, n)))
	}
}

// walker is what finding groups needs, used again and again.
type walker struct {
	trace trace
	round uint32
	met   []uint32
	stack []branch
	slots []uint16
}

// branch is an alternative still to be followed or, with a slot, what to put back there when the way behind
// it has led to nothing.
type branch struct {
	pc   uint32
	slot int32 // 1 + that of the place, 0 for an alternative
	old  int
}

var walkers = sync.Pool{New: func() any { return new(walker) }}

// keptWalker is up to which size one is kept for the next search.
const keptWalker = 4 << 10

func (w *walker) release() {
	w.trace.st = nil
	if cap(w.trace.rows) <= keptWalker && cap(w.met) <= keptWalker && cap(w.stack) <= keptWalker {
		walkers.Put(w)
	}
}

// places finds the places of the match that ends at end, at or behind pos.
func (p *Program) places(s string, pos, end int, at []int) {
	w := walkers.Get().(*walker)
	defer w.release()
	start := p.start(s, pos, end, &w.trace)
	for i := range at {
		at[i] = -1
	}
	if w.trace.broken {
		p.allWays(s, start, end, at)
	} else {
		p.walk(w, s, start, at)
	}
	at[0], at[1] = start, end
}

// walk takes, of each alternative, the first that leads to the end of the match.
func (p *Program) walk(w *walker, s string, start int, at []int) {
	t := &w.trace
	t.st.mu.Lock()
	sets := t.st.sets
	t.st.mu.Unlock()
	shift, words := p.backward.shift, p.backward.words
	// The trace goes on beyond the start where that was not known to be the leftmost one yet.
	k := t.start
	if len(w.met) < len(p.insts) {
		w.met = make([]uint32, len(p.insts))
		w.round = 0
	}
	pc := p.first
	var last struct{ pc, row, to uint32 } // the last plain way: in a repeat the next one is the same
	for i := start; ; k-- {
		row := t.rows[k]
		if pc == last.pc && row == last.row {
			pc = last.to
			if p.insts[pc].Out == last.pc {
				// Each character of a repeat that leads to the same state is passed in the same way.
				for k > 1 && t.rows[k-1] == row && s[i] < utf8.RuneSelf {
					i++
					k--
				}
			}
		} else if set := sets[int(row>>shift)*words:][:words]; set[pc/64]&(1<<(pc%64)) == 0 {
			before := kind(0)
			if p.looks {
				before = p.kindBefore(s, i)
			}
			key := wayKey(pc, row>>shift, before)
			var to uint32
			var plain bool
			found, slots, ok := t.st.ways.find(key)
			if ok {
				to, plain = found.to(), found.plain()
				for _, slot := range slots {
					at[slot] = i
				}
			} else {
				to, plain, slots = p.advance(w, s, i, pc, set, at)
				t.st.mu.Lock()
				t.st.ways.keep(key, to, plain, slots)
				t.st.mu.Unlock()
			}
			if plain && len(slots) == 0 {
				last.pc, last.row, last.to = pc, row, to
			}
			pc = to
		}
		if k == 0 {
			return
		}
		n := 1
		if s[i] >= utf8.RuneSelf {
			_, n = utf8.DecodeRuneInString(s[i:])
		}
		i += n
		pc = p.insts[pc].Out
	}
}

// advance goes from an instruction that is not in a set to one that is, which reads the character at i or is the match.
// It tells whether the way is plain, which does not depend on what stands beside the place, and which slots it has set.
func (p *Program) advance(w *walker, s string, i int, pc uint32, set []uint64, at []int) (to uint32, plain bool, slots []uint16) {
	w.round++
	if w.round == 0 {
		clear(w.met)
		w.round = 1
	}
	stack := w.stack[:0]
	holds, known := syntax.EmptyOp(0), false
	for {
		for w.met[pc] != w.round {
			w.met[pc] = w.round
			in := &p.insts[pc]
			switch in.Op {
			case syntax.InstAlt, syntax.InstAltMatch:
				stack = append(stack, branch{pc: in.Arg})
				pc = in.Out
			case syntax.InstNop:
				pc = in.Out
			case syntax.InstCapture:
				if int(in.Arg) < len(at) {
					stack = append(stack, branch{slot: int32(in.Arg) + 1, old: at[in.Arg]})
					at[in.Arg] = i
				}
				pc = in.Out
			case syntax.InstEmptyWidth:
				if !known {
					holds, known = points[p.kindBefore(s, i)][p.kindAt(s, i)], true
				}
				if syntax.EmptyOp(in.Arg)&^holds == 0 {
					pc = in.Out
				}
			default:
				if set[pc/64]&(1<<(pc%64)) != 0 {
					w.stack, w.slots = stack, w.slots[:0]
					for _, b := range stack {
						if b.slot > 0 {
							w.slots = append(w.slots, uint16(b.slot-1))
						}
					}
					return pc, !known, w.slots
				}
			}
		}
		// This way has led to nothing.
		for {
			b := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if b.slot == 0 {
				pc = b.pc
				break
			}
			at[b.slot-1] = b.old
		}
	}
}

// allWays finds the groups of the match from start to end by following all ways at once.
func (p *Program) allWays(s string, start, end int, at []int) {
	now, next := p.newThreads(), p.newThreads()
	now.begin()
	p.spread(now, s, start, p.first, at)
	for i := start; i < end; {
		class, n := p.classes.at(s, i)
		next.begin()
		for _, t := range now.list {
			if in := &p.insts[t.pc]; in.Op != syntax.InstMatch && p.takes(t.pc, class) {
				p.spread(next, s, i+n, in.Out, t.at)
			}
		}
		now, next = next, now
		i += n
	}
	for _, t := range now.list {
		if t.pc == p.match {
			copy(at, t.at)
			return
		}
	}
}

// threads are ways that have read the same text, the preferred one first.
type threads struct {
	list  []thread
	met   []uint32
	round uint32
	stack []branch
	here  []int
}

type thread struct {
	pc uint32
	at []int
}

func (p *Program) newThreads() *threads { return &threads{met: make([]uint32, len(p.insts))} }

func (t *threads) begin() {
	t.round++ // texts are shorter than it is wide
	t.list = t.list[:0]
}

// spread adds the instructions that follow pc at a place and read a character, and the match.
func (p *Program) spread(t *threads, s string, i int, pc uint32, at []int) {
	here := append(t.here[:0], at...)
	t.here = here
	holds := points[p.kindBefore(s, i)][p.kindAt(s, i)]
	stack := append(t.stack[:0], branch{pc: pc})
	for len(stack) > 0 {
		b := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if b.slot > 0 {
			here[b.slot-1] = b.old
			continue
		}
		if t.met[b.pc] == t.round {
			continue
		}
		t.met[b.pc] = t.round
		switch in := &p.insts[b.pc]; in.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			stack = append(stack, branch{pc: in.Arg}, branch{pc: in.Out})
		case syntax.InstNop:
			stack = append(stack, branch{pc: in.Out})
		case syntax.InstCapture:
			if int(in.Arg) < len(here) {
				stack = append(stack, branch{slot: int32(in.Arg) + 1, old: here[in.Arg]})
				here[in.Arg] = i
			}
			stack = append(stack, branch{pc: in.Out})
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(in.Arg)&^holds == 0 {
				stack = append(stack, branch{pc: in.Out})
			}
		case syntax.InstFail:
		default:
			t.add(b.pc, here)
		}
	}
	t.stack = stack
}

// add keeps a copy of the places of a way, in the room that one of an earlier text had.
func (t *threads) add(pc uint32, at []int) {
	n := len(t.list)
	if n < cap(t.list) {
		t.list = t.list[:n+1]
	} else {
		t.list = append(t.list, thread{})
	}
	t.list[n].pc = pc
	t.list[n].at = append(t.list[n].at[:0], at...)
}
