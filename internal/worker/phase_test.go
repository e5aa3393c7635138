package worker

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDrawnPhases compares the drawing of an attempt's phases with the table by which it
// steps.
func TestDrawnPhases(t *testing.T) {
	text, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "### The phases of an attempt\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var drawn, listed []string
	for _, m := range regexp.MustCompile(`(?m)^(\w+) +── .* ─*► ([\w, ]+)$`).FindAllStringSubmatch(section, -1) {
		for to := range strings.SplitSeq(m[2], ", ") {
			drawn = append(drawn, m[1]+" ► "+to)
		}
	}
	for from := range phaseCount {
		for to := range phaseCount {
			if phaseTransitions[from].has(to) {
				listed = append(listed, from.String()+" ► "+to.String())
			}
		}
	}
	slices.Sort(drawn)
	slices.Sort(listed)
	if !slices.Equal(drawn, listed) {
		t.Errorf("docs/architecture.md draws\n%s\nand the table has\n%s", strings.Join(drawn, "\n"), strings.Join(listed, "\n"))
	}
}

// TestIllegalPhases: an attempt takes no step that the table does not have.
func TestIllegalPhases(t *testing.T) {
	steps := func(from, to phase) (done bool) {
		a := &attempt{w: &Worker{}, phase: from}
		defer func() {
			if recover() != nil && a.phase != from {
				t.Errorf("from %s it is %s after a step that may not be", from, a.phase)
			}
		}()
		a.enter(to)
		return a.phase == to
	}
	over := 0
	for from := range phaseCount {
		if from.isOver() {
			over++
		}
		for to := range phaseCount {
			if got, want := steps(from, to), phaseTransitions[from].has(to); got != want {
				t.Errorf("from %s to %s: %t, want %t", from, to, got, want)
			}
		}
	}
	if over != 3 {
		t.Errorf("%d phases are over", over)
	}
}
