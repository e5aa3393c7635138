package syntax

// slab hands out nodes of one kind from pieces of memory that grow with their
// number: a tree is many small nodes that live and die together.
type slab[T any] struct {
	free  []T
	piece []T // that free is the rest of
	size  int
	count int // of the pieces so far
}

// The nodes of the first piece, and of the longest.
const firstPiece, longestPiece = 4, 128

// grow gets the next piece of memory, of at least so many nodes.
func (s *slab[T]) grow(least int) {
	s.size = max(firstPiece, min(2*s.size, longestPiece))
	for s.size < least {
		s.size *= 2
	}
	s.count++
	s.piece = make([]T, s.size)
	s.free = s.piece
}

// new returns one node.
func (s *slab[T]) new() *T {
	if len(s.free) == 0 {
		s.grow(1)
	}
	n := &s.free[0]
	s.free = s.free[1:]
	return n
}

// take moves the elements from base on out of a list under construction. It
// returns them, and the list without them.
func (s *slab[T]) take(list []T, base int) (taken, rest []T) {
	n := len(list) - base
	if n == 0 {
		return nil, list
	}
	if n > len(s.free) {
		if n > longestPiece/4 { // what is left of a piece is lost, and must not be much
			taken = make([]T, n)
			copy(taken, list[base:])
			clear(list[base:])
			return taken, list[:base]
		}
		s.grow(n)
	}
	taken, s.free = s.free[:n:n], s.free[n:]
	copy(taken, list[base:])
	clear(list[base:]) // the list must not keep the nodes alive
	return taken, list[:base]
}

// slabMark is how far a slab was used up.
type slabMark struct{ count, free int }

func (s *slab[T]) mark() slabMark { return slabMark{s.count, len(s.free)} }

// rewind takes back the nodes that were handed out since the mark. Where the piece of then
// is full, they are left to the collector but for those of the piece of now, all of which
// are younger.
func (s *slab[T]) rewind(m slabMark) {
	free := len(s.piece)
	if s.count == m.count {
		free = m.free
	}
	if free == len(s.free) {
		return
	}
	rest := s.piece[len(s.piece)-free:]
	clear(rest[:free-len(s.free)]) // whoever takes a node relies on its being empty
	s.free = rest
}

// slabs are the nodes that every script has many of.
type slabs struct {
	vars     slab[Var]
	numbers  slab[Number]
	texts    slab[plainText]
	accesses slab[FieldAccess]
	binaries slab[Binary]
	calls    slab[Call]
	globals  slab[Global]
	targets  slab[Target]
	blocks   slab[Block]
	emits    slab[Emit]
	sets     slab[Set]
	ifs      slab[If]
	fors     slab[ForIn]
	queries  slab[SQL]
	fields   slab[Field]
	maps     slab[MapLit]
	lists    slab[ListLit]
	lambdas  slab[Lambda]

	exprs   slab[Expr]
	stmts   slab[Stmt]
	entries slab[Entry]
	parts   slab[TextPart]
	sqls    slab[SQLPart]
}

// slabMarks are the marks of all slabs.
type slabMarks struct {
	ifs      slabMark
	fors     slabMark
	queries  slabMark
	fields   slabMark
	maps     slabMark
	lists    slabMark
	lambdas  slabMark
	vars     slabMark
	numbers  slabMark
	texts    slabMark
	accesses slabMark
	binaries slabMark
	calls    slabMark
	globals  slabMark
	targets  slabMark
	blocks   slabMark
	emits    slabMark
	sets     slabMark
	exprs    slabMark
	stmts    slabMark
	entries  slabMark
	parts    slabMark
	sqls     slabMark
}

func (s *slabs) mark() slabMarks {
	return slabMarks{
		ifs:      s.ifs.mark(),
		fors:     s.fors.mark(),
		queries:  s.queries.mark(),
		fields:   s.fields.mark(),
		maps:     s.maps.mark(),
		lists:    s.lists.mark(),
		lambdas:  s.lambdas.mark(),
		vars:     s.vars.mark(),
		numbers:  s.numbers.mark(),
		texts:    s.texts.mark(),
		accesses: s.accesses.mark(),
		binaries: s.binaries.mark(),
		calls:    s.calls.mark(),
		globals:  s.globals.mark(),
		targets:  s.targets.mark(),
		blocks:   s.blocks.mark(),
		emits:    s.emits.mark(),
		sets:     s.sets.mark(),
		exprs:    s.exprs.mark(),
		stmts:    s.stmts.mark(),
		entries:  s.entries.mark(),
		parts:    s.parts.mark(),
		sqls:     s.sqls.mark(),
	}
}

func (s *slabs) rewind(m *slabMarks) {
	s.ifs.rewind(m.ifs)
	s.fors.rewind(m.fors)
	s.queries.rewind(m.queries)
	s.fields.rewind(m.fields)
	s.maps.rewind(m.maps)
	s.lists.rewind(m.lists)
	s.lambdas.rewind(m.lambdas)
	s.vars.rewind(m.vars)
	s.numbers.rewind(m.numbers)
	s.texts.rewind(m.texts)
	s.accesses.rewind(m.accesses)
	s.binaries.rewind(m.binaries)
	s.calls.rewind(m.calls)
	s.globals.rewind(m.globals)
	s.targets.rewind(m.targets)
	s.blocks.rewind(m.blocks)
	s.emits.rewind(m.emits)
	s.sets.rewind(m.sets)
	s.exprs.rewind(m.exprs)
	s.stmts.rewind(m.stmts)
	s.entries.rewind(m.entries)
	s.parts.rewind(m.parts)
	s.sqls.rewind(m.sqls)
}
