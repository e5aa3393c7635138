package vm_test

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestConcurrentMachines runs machines of the same programs at once: a program
// is shared by all, and none may write to it. The race detector looks on.
func TestConcurrentMachines(t *testing.T) {
	for seed := range count(10, 40) {
		s := newSubject(t, 20_000+seed)
		want := straight(t, s, nothing)
		var wait sync.WaitGroup
		got := make([]record, 4)
		for i := range got {
			wait.Go(func() { got[i] = straight(t, s, nothing) })
		}
		wait.Wait()
		for i := range got {
			if d := cmp.Diff(want, got[i]); d != "" {
				t.Fatalf("seed %d: beside others it does otherwise (-want +got):\n%s\n%s", seed, d, numbered(s.text))
			}
		}
	}
}
