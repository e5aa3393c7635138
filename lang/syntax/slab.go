package syntax

// slab hands out nodes of one kind from pieces of memory that grow with their
// number: a tree is many small nodes that live and die together.
type slab[T any] struct {
	free []T
	size int
}

// The nodes of the first piece, and of the longest.
const firstPiece, longestPiece = 4, 128

// grow gets the next piece of memory, of at least so many nodes.
func (s *slab[T]) grow(least int) {
	s.size = max(firstPiece, min(2*s.size, longestPiece))
	for s.size < least {
		s.size *= 2
	}
	s.free = make([]T, s.size)
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

	exprs   slab[Expr]
	stmts   slab[Stmt]
	entries slab[Entry]
	parts   slab[TextPart]
	sqls    slab[SQLPart]
}
