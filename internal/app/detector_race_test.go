//go:build race

package app

import (
	"runtime"
	"sync"
	"testing"
)

// TestDetectorSeesMaps: what one goroutine stores in a sync.Map is ordered before what another does
// with it. The detector does not know that where a package that it does not watch was linked with
// its own copy of the map's code, and reports races of the standard library, now and then, anywhere.
func TestDetectorSeesMaps(t *testing.T) {
	type entry struct{ n int }
	var m sync.Map
	m.Store("other", nil) // the first one orders more than the others
	done := make(chan int)
	go func() {
		for {
			if e, ok := m.Load("entry"); ok {
				done <- e.(*entry).n
				return
			}
			runtime.Gosched()
		}
	}()
	e := &entry{}
	e.n = 1
	m.Store("entry", e)
	if n := <-done; n != 1 {
		t.Errorf("got %d", n)
	}
}
