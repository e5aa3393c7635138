package relational

import "testing"

// TestFewOf: what is sent at once has few bytes, unless a single one has more.
func TestFewOf(t *testing.T) {
	const most = mostRowBytes
	for _, c := range []struct {
		sizes []int64
		want  int
	}{
		{nil, 0},
		{[]int64{1, 2, 3}, 3},
		{[]int64{most, 1}, 1},
		{[]int64{most - 1, 1, 1}, 2},
		{[]int64{2 * most, 1}, 1},
	} {
		if got := fewOf(c.sizes, func(size int64) int64 { return size }); got != c.want {
			t.Errorf("%d of %v, want %d", got, c.sizes, c.want)
		}
	}
}
