package lib

import "math/bits"

// sortStable sorts vs, whose elements have so many bytes, by merging runs into
// a second slice and back. All comparisons are paid for: half of what they are
// likely to be before the first, so that what cannot be paid does not start,
// and the rest on the way, so that the clock is looked at.
func sortStable[T any](c *Call, vs []T, size int, compare func(a, b T) int) {
	n := len(vs)
	c.Meter.Work(n * bits.Len(uint(n)) / 2)
	if n < 2 {
		return
	}
	c.Meter.Alloc(n * size)
	s := sorter[T]{c: c, compare: compare}
	s.sort(vs, make([]T, n))
}

type sorter[T any] struct {
	c       *Call
	compare func(a, b T) int
}

// shortRun is how many elements are sorted by inserting each in its place.
const shortRun = 8

// sort sorts vs with the help of spare, which is as long.
func (s *sorter[T]) sort(vs, spare []T) {
	if len(vs) <= shortRun {
		for i := 1; i < len(vs); i++ {
			s.c.Meter.Work(shortRun / 2)
			for j := i; j > 0 && s.compare(vs[j-1], vs[j]) > 0; j-- {
				vs[j-1], vs[j] = vs[j], vs[j-1]
			}
		}
		return
	}
	half := len(vs) / 2
	s.sort(vs[:half], spare[:half])
	s.sort(vs[half:], spare[half:])
	s.c.Meter.Work(1)
	if s.compare(vs[half-1], vs[half]) <= 0 {
		return
	}
	left, right := spare[:copy(spare, vs[:half])], vs[half:]
	out := vs[:0]
	for len(left) > 0 && len(right) > 0 {
		s.c.Meter.Work(1)
		if s.compare(left[0], right[0]) <= 0 {
			out, left = append(out, left[0]), left[1:]
		} else {
			out, right = append(out, right[0]), right[1:]
		}
	}
	_ = append(out, left...) // what is left of the right half is in its place
}
