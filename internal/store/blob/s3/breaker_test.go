package s3

import (
	"testing"
	"time"
)

// TestBreaker: after some failures in a row nobody waits any more, but for one every now and then, until
// one succeeds.
func TestBreaker(t *testing.T) {
	var b breaker
	now := time.Unix(1_000_000, 0)
	steps := []struct {
		after time.Duration
		admit bool
		ok    bool // of a request that was admitted
	}{
		{0, true, false}, {0, true, false}, {0, true, true}, // not in a row
		{0, true, false}, {0, true, false}, {0, true, false},
		{0, false, false}, {openFor - 1, false, false},
		{1, true, false}, // one tries
		{1, false, false},
		{openFor, true, true},
		{0, true, false}, {0, true, false}, {0, true, true},
	}
	for i, step := range steps {
		now = now.Add(step.after)
		if got := b.admit(now); got != step.admit {
			t.Fatalf("step %d: %t", i, got)
		}
		if step.admit {
			b.note(now, step.ok)
		}
	}
	for range maxFailures {
		b.note(now, false)
	}
	now = now.Add(openFor)
	if !b.admit(now) || b.admit(now) {
		t.Error("while one tries, others wait no more than before")
	}
}
