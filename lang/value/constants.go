package value

import "unsafe"

// Constants numbers the frozen values of a program and all below them, so that
// an Encoder writes a number for each of them, and a Decoder puts the
// program's own back. It is only read once it is made.
type Constants struct {
	values []Value
	number map[unsafe.Pointer]uint64
}

// NewConstants numbers the given values, which must be frozen, in their order.
func NewConstants(vs []Value) *Constants {
	c := &Constants{number: map[unsafe.Pointer]uint64{}}
	for _, v := range vs {
		c.add(v)
	}
	return c
}

// numberSize is what it takes to number a constant.
const numberSize = 64

// ConstantsWeight returns what the given values, which must be frozen, and all
// below them weigh as the constants of a program, with their numbers: as much as
// a decoder of them charges.
func ConstantsWeight(vs []Value) int64 {
	w := constantsWeight{seen: map[unsafe.Pointer]bool{}}
	for _, v := range vs {
		w.add(v)
	}
	return w.bytes
}

type constantsWeight struct {
	seen  map[unsafe.Pointer]bool
	bytes int64
}

func (w *constantsWeight) add(v Value) {
	if v.p == nil || scalar(v.p) {
		return
	}
	h := (*header)(v.p)
	if !h.kind.container() {
		n := (*block)(v.p).used
		if v.IsText() && n <= shortText { // each is a thing of its own when it is read
			w.bytes += numberSize + int64(BlockSize(int(n)))
			return
		}
		if !w.seen[v.p] {
			w.seen[v.p] = true
			w.bytes += numberSize + int64(BlockSize(int(n)))
		}
		return
	}
	if w.seen[v.p] {
		return
	}
	w.seen[v.p] = true
	w.bytes += numberSize + h.weight()
	switch h.kind {
	case KindList:
		for _, e := range (*List)(v.p).vals {
			w.add(e)
		}
	case KindMap:
		for k, e := range (*Map)(v.p).All {
			w.add(k)
			w.add(e)
		}
	}
}

func (c *Constants) add(v Value) {
	if v.p == nil || scalar(v.p) {
		return
	}
	if _, ok := c.number[v.p]; ok {
		return
	}
	c.number[v.p] = uint64(len(c.values))
	c.values = append(c.values, v)
	switch v.Kind() {
	case KindList:
		for _, e := range v.List().vals {
			c.add(e)
		}
	case KindMap:
		for k, e := range v.Map().All {
			c.add(k)
			c.add(e)
		}
	}
}
