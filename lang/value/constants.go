package value

import "unsafe"

// Constants numbers the frozen values of a program and all below them, so that
// an Encoder writes a number where one of them stands, and a Decoder puts the
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
