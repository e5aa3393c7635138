package regex

import (
	"regexp/syntax"
	"slices"
)

// again stands in a list for the start of another match, at each further place. Instruction 0 itself always fails.
const again = 0

// workspace is what a step needs, used again and again.
type workspace struct {
	round uint32
	met   []uint32 // of each instruction: the round in which it was last met on the way
	taken []uint32 // and in which it was last put into the next list
	stack []uint32
	next  []uint16
	key   []byte
}

func (w *workspace) begin(insts int) {
	if w.met == nil {
		w.met, w.taken = make([]uint32, insts), make([]uint32, insts)
	}
	w.round++
	if w.round == 0 {
		clear(w.met)
		clear(w.taken)
		w.round = 1
	}
	w.next = w.next[:0]
	w.stack = w.stack[:0]
}

func (w *workspace) take(pc uint32) {
	if w.taken[pc] != w.round {
		w.taken[pc] = w.round
		w.next = append(w.next, uint16(pc))
	}
}

// takes tells whether an instruction takes the characters of a class.
func (p *Program) takes(pc uint32, class uint16) bool {
	return p.sets[p.setOf[pc]][class/64]&(1<<(class%64)) != 0
}

// stepForward follows the instructions of a list, in their order, up to those that read a character, and gives
// what comes behind those of them that take one of the class. A match ends it: what comes later in
// the order is of no interest any more.
func (p *Program) stepForward(w *workspace, from []uint16, k kind, class uint16) (next []uint16, match bool) {
	w.begin(len(p.insts))
	holds := points[k][p.classes.kinds[class]]
	for _, pc := range from {
		if pc != again {
			w.stack = append(w.stack, uint32(pc))
		} else {
			w.stack = append(w.stack, p.first)
		}
		if p.follow(w, holds, class) {
			return w.next, true
		}
		if pc == again && class != p.classes.end {
			w.next = append(w.next, again)
		}
	}
	return w.next, false
}

// follow does stepForward for the instruction on the stack.
func (p *Program) follow(w *workspace, holds syntax.EmptyOp, class uint16) (match bool) {
	for len(w.stack) > 0 {
		pc := w.stack[len(w.stack)-1]
		w.stack = w.stack[:len(w.stack)-1]
		if w.met[pc] == w.round {
			continue
		}
		w.met[pc] = w.round
		switch i := &p.insts[pc]; i.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			w.stack = append(w.stack, i.Arg, i.Out)
		case syntax.InstCapture, syntax.InstNop:
			w.stack = append(w.stack, i.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(i.Arg)&^holds == 0 {
				w.stack = append(w.stack, i.Out)
			}
		case syntax.InstMatch:
			return true
		case syntax.InstFail:
		default:
			if p.takes(pc, class) {
				w.take(i.Out)
			}
		}
	}
	return false
}

// stepBackward is given the instructions that lead to the end of the match by the character behind a place, or the match
// itself. It gives those that lead there by the character before the place, and reports whether a match starts here.
func (p *Program) stepBackward(w *workspace, from []uint16, k kind, class uint16) (next []uint16, match bool) {
	w.begin(len(p.insts))
	holds := points[p.classes.kinds[class]][k]
	for _, pc := range from {
		w.stack = append(w.stack, uint32(pc))
	}
	for len(w.stack) > 0 {
		pc := w.stack[len(w.stack)-1]
		w.stack = w.stack[:len(w.stack)-1]
		if w.met[pc] == w.round {
			continue
		}
		w.met[pc] = w.round
		match = match || pc == p.first
		for _, before := range p.behind.to(pc) {
			if i := &p.insts[before]; i.Op != syntax.InstEmptyWidth || syntax.EmptyOp(i.Arg)&^holds == 0 {
				w.stack = append(w.stack, uint32(before))
			}
		}
		for _, before := range p.readers.to(pc) {
			if p.takes(uint32(before), class) {
				w.take(uint32(before))
			}
		}
	}
	// Their order means nothing, and states are told apart by it.
	slices.Sort(w.next)
	return w.next, match
}

// edges has for each instruction others that lead to it.
type edges struct {
	from []uint16
	at   []uint32 // of each instruction where its own start
}

func (e *edges) to(pc uint32) []uint16 { return e.from[e.at[pc]:e.at[pc+1]] }

// edgesOf returns which instructions lead to each without reading a character, and which by reading one.
func edgesOf(insts []syntax.Inst) (behind, readers edges) {
	each := func(yield func(e *edges, from int, to uint32)) {
		for pc := range insts {
			switch i := &insts[pc]; {
			case reads(i):
				yield(&readers, pc, i.Out)
			case i.Op == syntax.InstAlt || i.Op == syntax.InstAltMatch:
				yield(&behind, pc, i.Out)
				yield(&behind, pc, i.Arg)
			case i.Op != syntax.InstFail && i.Op != syntax.InstMatch:
				yield(&behind, pc, i.Out)
			}
		}
	}
	for _, e := range []*edges{&behind, &readers} {
		e.at = make([]uint32, len(insts)+1)
	}
	each(func(e *edges, _ int, to uint32) { e.at[to+1]++ })
	for _, e := range []*edges{&behind, &readers} {
		for pc := range insts {
			e.at[pc+1] += e.at[pc]
		}
		e.from = make([]uint16, e.at[len(insts)])
	}
	filled := map[*edges][]uint32{&behind: slices.Clone(behind.at), &readers: slices.Clone(readers.at)}
	each(func(e *edges, from int, to uint32) {
		e.from[filled[e][to]] = uint16(from)
		filled[e][to]++
	})
	return behind, readers
}
