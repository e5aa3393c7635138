package job

import (
	"strings"
	"testing"
)

var allStates = []State{Accepted, Running, Paused, Waiting, Complete, Failed, Declined, Cancelled, Expired}

// TestStates writes the whole machine down a second time, as a table.
func TestStates(t *testing.T) {
	const legal = `
		accepted>running accepted>cancelled
		running>complete running>failed running>declined running>cancelled running>paused running>waiting
		paused>running paused>expired paused>cancelled
		waiting>running waiting>cancelled`
	ways := map[string]bool{}
	for _, way := range strings.Fields(legal) {
		ways[way] = true
	}
	for _, from := range allStates {
		leaves := false
		for _, to := range allStates {
			way := string(from) + ">" + string(to)
			if from.MayBecome(to) != ways[way] {
				t.Errorf("%s: %t", way, from.MayBecome(to))
			}
			leaves = leaves || ways[way]
		}
		if from.Finished() == leaves {
			t.Errorf("%s: finished is %t", from, from.Finished())
		}
		if !from.Valid() {
			t.Errorf("%s is not valid", from)
		}
	}
	if len(next) != len(allStates) {
		t.Errorf("there are %d states", len(next))
	}
	for _, s := range []State{"", "ok", "Running"} {
		if s.Valid() || s.Finished() || s.MayBecome(Running) || Running.MayBecome(s) {
			t.Errorf("%q is a state", s)
		}
	}
}
