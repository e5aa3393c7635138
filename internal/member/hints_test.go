package member

import "testing"

// TestHints: who is told of what is due, and what is no hint.
func TestHints(t *testing.T) {
	for _, c := range []struct {
		text       Hint
		known      bool
		due7, due8 bool
	}{
		{text: HintChange, known: true},
		{text: HintDue, known: true, due7: true, due8: true},
		{text: HintDueFor(7), known: true, due7: true},
		{text: "d7", known: true, due7: true},
		{text: "d78", known: true},
		{text: "d7x"},
		{text: "c7"},
		{text: "x"},
		{text: ""},
	} {
		if c.text.IsKnown() != c.known || c.text.IsDue(7) != c.due7 || c.text.IsDue(8) != c.due8 {
			t.Errorf("%q: known %v, due for 7 %v, for 8 %v", c.text, c.text.IsKnown(), c.text.IsDue(7), c.text.IsDue(8))
		}
	}
}
