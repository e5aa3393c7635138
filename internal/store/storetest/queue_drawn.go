package storetest

import (
	"slices"
	"testing"

	"ql/internal/job"
)

// testQueueDrawnTransitions compares what the operations do to a job's state, which
// testQueueTransitions has every store do, with job.Transitions.
func testQueueDrawnTransitions(t *testing.T, _ Stores) {
	methods := map[string]string{"Pause": "Suspend", "Wait": "Suspend"}
	tested := map[string]bool{}
	for moment, row := range transitions {
		from := moment
		if !from.Valid() {
			from = job.Running // all moments beside the states are of a job that runs
		}
		for operation, want := range row {
			by := methods[operation]
			if by == "" {
				by = operation
			}
			i := slices.IndexFunc(job.Transitions, func(one job.Transition) bool {
				return one.From == from && one.By == by && slices.Contains(one.To, want.state)
			})
			switch {
			case i >= 0:
				tested[string(from)+" "+by] = true
			case want.state != "" && want.state != from:
				t.Errorf("%s takes a job from %s to %s, which is none of job.Transitions", by, from, want.state)
			}
		}
	}
	for _, one := range job.Transitions {
		if one.From != "" && !tested[string(one.From)+" "+one.By] {
			t.Errorf("no test takes a job from %s by %s", one.From, one.By)
		}
	}
}
