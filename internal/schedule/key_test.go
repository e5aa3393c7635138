package schedule

import (
	"testing"

	"ql/internal/job"
)

// TestKey: what a schedule says of its jobs counts before what their script is published with, and
// those that wait for each other go one at a time by either.
func TestKey(t *testing.T) {
	none, own, published := job.Concurrency{}, job.Concurrency{Key: "own", Most: 3}, job.Concurrency{Key: "published", Most: 2}
	for _, test := range []struct {
		overlap              Overlap
		own, published, want job.Concurrency
	}{
		{OverlapSkip, none, none, none},
		{OverlapSkip, own, published, own},
		{OverlapAll, none, published, published},
		{OverlapQueue, none, none, job.Concurrency{Key: "\x1fschedule nightly", Most: 1}},
		{OverlapQueue, none, published, job.Concurrency{Key: "published", Most: 1}},
		{OverlapQueue, own, published, job.Concurrency{Key: "own", Most: 1}},
	} {
		s := Schedule{Name: "nightly", Overlap: test.overlap, Concurrency: test.own}
		if got := s.Key(test.published); got != test.want {
			t.Errorf("%+v: %+v", test, got)
		}
	}
}
