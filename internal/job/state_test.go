package job

import (
	"os"
	"regexp"
	"slices"
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

// TestDrawnTransitions compares the drawing of a job's states with Transitions.
func TestDrawnTransitions(t *testing.T) {
	text, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "### The states of a job\n")
	section, _, _ = strings.Cut(section, "\n### ")
	var drawn, listed []string
	for _, m := range regexp.MustCompile(`(?m)^(\w+) +── (\w+) ─*► ([\w, ]+)$`).FindAllStringSubmatch(section, -1) {
		for to := range strings.SplitSeq(m[3], ", ") {
			drawn = append(drawn, m[1]+" "+m[2]+" "+to)
		}
	}
	for _, one := range Transitions {
		from := string(one.From)
		if one.From == "" {
			from = "new"
		} else if !one.From.Valid() || one.From.Finished() {
			t.Errorf("%q cannot be left", one.From)
		}
		for _, to := range one.To {
			listed = append(listed, from+" "+one.By+" "+string(to))
		}
	}
	slices.Sort(drawn)
	slices.Sort(listed)
	if !slices.Equal(drawn, listed) {
		t.Errorf("docs/architecture.md draws\n%s\nand Transitions are\n%s", strings.Join(drawn, "\n"), strings.Join(listed, "\n"))
	}
}
