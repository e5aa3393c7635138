//go:build !race

package site_test

import "testing"

// TestAllocations holds pages and files to what they may allocate: what is looked up, read or made once more
// for each request shows here first. The race detector allocates too.
func TestAllocations(t *testing.T) {
	w := measured(t)
	for _, v := range views {
		c := w.visits(t, v.path, v.lines...)
		for range 10 { // until all is known that is remembered
			c.ask(v.status)
		}
		if n := testing.AllocsPerRun(200, func() { c.ask(v.status) }); n > v.allocations {
			t.Errorf("%s: %.0f allocations, and %.0f are enough", v.name, n, v.allocations)
		}
	}
}
