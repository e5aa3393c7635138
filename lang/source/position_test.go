package source

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestPositionEverywhere compares every position of texts with long and short
// lines with one that is counted from the line's start.
func TestPositionEverywhere(t *testing.T) {
	texts := []string{
		"", "\n", "a\nbé€x\n\n😀", strings.Repeat("aé€😀 ", 2000), strings.Repeat("x", stride*2) + "\n" + strings.Repeat("é", stride*3) + "\nz",
	}
	for _, text := range texts {
		f := NewFile("", text)
		line, start, near := 1, 0, 0
		for p := 0; p <= len(text); p++ {
			if p > 0 && text[p-1] == '\n' {
				line, start = line+1, p
			}
			if p < len(text) && !utf8.RuneStart(text[p]) {
				continue
			}
			want := 1 + utf8.RuneCountInString(text[start:p])
			if l, c := f.Position(Pos(p)); l != line || c != want {
				t.Fatalf("byte %d of %.20q stands at %d:%d, want %d:%d", p, text, l, c, line, want)
			}
			near = (near*7 + 3) % 6
			if l, c := f.PositionNear(Pos(p), near); l != line || c != want {
				t.Fatalf("byte %d of %.20q stands at %d:%d near line %d, want %d:%d", p, text, l, c, near, line, want)
			}
		}
	}
}
