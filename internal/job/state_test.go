package job

import (
	"strings"
	"testing"
)

func TestStates(t *testing.T) {
	for state, want := range map[State]struct{ valid, finished bool }{
		Accepted: {true, false}, Running: {true, false}, Paused: {true, false}, Waiting: {true, false},
		Complete: {true, true}, Failed: {true, true}, Declined: {true, true}, Cancelled: {true, true}, Expired: {true, true},
		"": {}, "ok": {}, "Running": {},
	} {
		if state.Valid() != want.valid || state.Finished() != want.finished {
			t.Errorf("%q: valid %t, finished %t", state, state.Valid(), state.Finished())
		}
	}
	for state := range finished {
		if !strings.Contains(StatesText, string(state)) {
			t.Errorf("%q is not named among the states", state)
		}
	}
}
