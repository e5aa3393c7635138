package gen

import (
	"slices"
	"strings"
)

// Shrink leaves out lines of a program as long as it still fails, for reports
// that people can read. fails must report false for texts that do not compile.
func Shrink(text string, fails func(string) bool) string {
	lines := strings.SplitAfter(text, "\n")
	without := func(i, j int, k ...int) bool {
		rest := slices.Concat(lines[:i], lines[j:])
		for _, at := range k {
			rest = slices.Delete(rest, at, at+1)
		}
		if !fails(strings.Join(rest, "")) {
			return false
		}
		lines = rest
		return true
	}
	for again := true; again; {
		again = false
		for size := len(lines) / 2; size > 0; size /= 2 {
			for at := 0; at+size <= len(lines); {
				if without(at, at+size) {
					again = true
				} else {
					at++
				}
			}
		}
		// A block is left out by its first and its last line.
		const few = 60
		for first := 0; first < len(lines) && len(lines) <= few; first++ {
			for last := first; last+1 < len(lines); last++ {
				if without(first, first+1, last) {
					again = true
					break
				}
			}
		}
	}
	return strings.Join(lines, "")
}
