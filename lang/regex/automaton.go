package regex

import (
	"sync"
	"sync/atomic"
)

// automaton has the states of one direction.
type automaton struct {
	p *Program
	// first is the list of the state that a search starts with.
	first []uint16
	// step tells what follows when a character is read: the instructions of the next state, in its list, and
	// whether there is a match before that character.
	step func(work *workspace, from []uint16, k kind, class uint16) (next []uint16, match bool)
	// words is how many words the bits of a state take, 0 where nobody asks later which instructions belong to it.
	words int
	// shift tells the length of a row, as a power of two.
	shift  int
	states atomic.Pointer[states]
}

// states are those that were met, in a table: in the row of each state the next one for each class.
// All of them are dropped when they take too much room. Who still uses them does so to the end.
type states struct {
	table  atomic.Pointer[[]atomic.Uint32]
	starts [kinds]atomic.Uint32 // where a search starts, by what stands beside the place

	mu    sync.Mutex // for all below, and to write
	known map[string]uint32
	lists [][]uint16
	kinds []kind
	sets  []uint64 // the lists as bits, words of them for each state
	ways  *ways    // nil where nobody asks for groups
	work  workspace
	bytes atomic.Int64
}

// What stands in the table: the place of the next state's row, with matched added where there is a match before the
// character that leads there, and idle where nothing has begun behind it and some characters may be skipped.
const (
	unknown  = 0
	dead     = 1 // no match will follow
	ordinary = 2 // from here on
	idle     = 1 << 30
	matched  = 1 << 31
)

const (
	// maxBytes is what the states of one direction may take, beside some words for each instruction.
	maxBytes = 96 << 10
	// stateBytes is what a state takes beside its row, its list and its bits.
	stateBytes = 160
	// patience is how often the states may be dropped during one search.
	patience = 3
)

func (a *automaton) held() int {
	st := a.states.Load()
	if st == nil {
		return 0
	}
	return int(st.bytes.Load())
}

// current returns the states in use.
func (a *automaton) current() *states {
	st := a.states.Load()
	for st == nil {
		a.states.CompareAndSwap(nil, a.newStates())
		st = a.states.Load()
	}
	return st
}

func (a *automaton) newStates() *states {
	const rows = 4
	st := &states{known: make(map[string]uint32)}
	// The places of the first row mean unknown and dead.
	table := make([]atomic.Uint32, rows*a.width())
	st.table.Store(&table)
	st.lists, st.kinds = make([][]uint16, 1, rows), make([]kind, 1, rows)
	st.sets = make([]uint64, a.words)
	if a.words > 0 {
		st.ways = new(ways)
	}
	st.bytes.Store(int64(4*len(table) + a.fixed()))
	return st
}

// fixed is what the workspace of the states takes, and the ways of the walk for groups.
func (a *automaton) fixed() int {
	n := 16 * len(a.p.insts)
	if a.words > 0 {
		n += waysBytes
	}
	return n
}

// width is the length of a row.
func (a *automaton) width() int { return 1 << a.shift }

// place returns the row of the state with a list of instructions, made where there is none yet. It reports false where
// there is no room for it. The lock is held.
func (a *automaton) place(st *states, list []uint16, k kind) (row uint32, ok bool) {
	key := keyOf(st.work.key[:0], list, k)
	st.work.key = key
	if row, ok := st.known[string(key)]; ok {
		return row, true
	}
	table := *st.table.Load()
	width, words := a.width(), a.words
	n := len(st.lists)
	grown := 0
	if (n+1)*width > len(table) {
		grown = len(table)
	}
	takes := int64(4*grown + 2*len(key) + 8*words + stateBytes)
	if n > 2 && st.bytes.Load()+takes > int64(maxBytes+a.fixed()) {
		return 0, false
	}
	if grown > 0 {
		more := make([]atomic.Uint32, 2*len(table))
		for i := range table {
			more[i].Store(table[i].Load())
		}
		st.table.Store(&more)
	}
	st.bytes.Add(takes)
	st.lists = append(st.lists, append([]uint16(nil), list...))
	st.kinds = append(st.kinds, k)
	if words > 0 {
		st.sets = append(st.sets, make([]uint64, words)...)
		set := st.sets[n*words:]
		for _, pc := range list {
			set[pc/64] |= 1 << (pc % 64)
		}
	}
	row = uint32(n * width)
	st.known[string(key)] = row
	return row, true
}

func keyOf(key []byte, list []uint16, k kind) []byte {
	key = append(key, byte(k))
	for _, pc := range list {
		key = append(key, byte(pc), byte(pc>>8))
	}
	return key
}

// reader is where a search is.
type reader struct {
	a     *automaton
	st    *states
	table []atomic.Uint32
	at    uint32 // the row of the state, or dead

	dropped int // how often the states were
	// plain is used where too many states are needed: it has the list of the state itself, and keeps none.
	plain *plain
}

type plain struct {
	work workspace
	list []uint16
	kind kind
}

// begin starts a search.
func (a *automaton) begin(k kind) reader {
	st := a.current()
	if row := st.starts[k].Load(); row != unknown {
		// The row was there before its place was told.
		return reader{a: a, st: st, table: *st.table.Load(), at: row}
	}
	r := reader{a: a, st: st}
	r.enter(a.first, k)
	if r.plain == nil {
		r.st.starts[k].Store(r.at)
	}
	return r
}

// restart begins the search again, with what stands before the place.
func (r *reader) restart(k kind) {
	if row := r.st.starts[k].Load(); row != unknown && r.plain == nil {
		r.at = row
		if int(row) >= len(r.table) {
			r.table = *r.st.table.Load()
		}
		return
	}
	dropped := r.dropped
	*r = r.a.begin(k)
	r.dropped += dropped
}

// enter goes to a state by its list. Where there is no room for it, all states are dropped.
func (r *reader) enter(list []uint16, k kind) {
	for {
		r.st.mu.Lock()
		row, ok := r.a.place(r.st, list, k)
		r.table = *r.st.table.Load()
		r.st.mu.Unlock()
		if ok {
			r.at = row
			return
		}
		r.dropped++
		if r.dropped > patience {
			r.plain = &plain{list: append([]uint16(nil), list...), kind: k}
			// A row without states, so that each character is asked for.
			r.at, r.table = 0, make([]atomic.Uint32, r.a.width())
			return
		}
		fresh := r.a.newStates()
		if r.a.states.CompareAndSwap(r.st, fresh) {
			r.st = fresh
		} else {
			r.st = r.a.current()
		}
	}
}

// next reads a character of a class whose way may not be known yet, and reports whether there is a match before it.
func (r *reader) next(class uint16) bool {
	if r.plain != nil {
		return r.nextPlain(class)
	}
	if v := r.table[r.at+uint32(class)].Load(); v != unknown {
		return r.follow(v)
	}
	st := r.st
	st.mu.Lock()
	table := *st.table.Load()
	if v := table[r.at+uint32(class)].Load(); v != unknown {
		st.mu.Unlock()
		r.table = table
		return r.follow(v)
	}
	from := r.at >> r.a.shift
	next, match := r.a.step(&st.work, st.lists[from], st.kinds[from], class)
	k := r.a.p.classes.kinds[class]
	v, ok := uint32(dead), true
	if len(next) > 0 {
		v, ok = r.a.place(st, next, k)
	}
	if ok {
		if r.a.p.skips && len(next) == 1 && next[0] == again {
			v += idle
		}
		if match {
			v += matched
		}
		table = *st.table.Load()
		table[r.at+uint32(class)].Store(v)
		st.mu.Unlock()
		r.table = table
		return r.follow(v)
	}
	list := append([]uint16(nil), next...)
	st.mu.Unlock()
	r.enter(list, k)
	return match
}

func (r *reader) follow(v uint32) bool {
	match := v >= matched
	r.at = v &^ (matched | idle)
	return match
}

func (r *reader) isDead() bool { return r.at == dead }

func (r *reader) nextPlain(class uint16) bool {
	next, match := r.a.step(&r.plain.work, r.plain.list, r.plain.kind, class)
	r.plain.list = append(r.plain.list[:0], next...)
	r.plain.kind = r.a.p.classes.kinds[class]
	if len(next) == 0 {
		r.at = dead
	}
	return match
}
