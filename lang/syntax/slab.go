package syntax

// slab hands out nodes of one kind from pieces of memory that grow with their
// number: a tree is many small nodes that live and die together.
type slab[T any] struct {
	free []T
	size int
}

// grow gets the next piece of memory.
func (s *slab[T]) grow() {
	const first, most = 4, 128
	s.size = max(first, min(2*s.size, most))
	s.free = make([]T, s.size)
}

// new returns one node.
func (s *slab[T]) new() *T {
	if len(s.free) == 0 {
		s.grow()
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
		if n > s.size {
			taken = make([]T, n)
			copy(taken, list[base:])
			clear(list[base:])
			return taken, list[:base]
		}
		s.grow()
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
