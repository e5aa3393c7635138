package gen

import "strings"

// Shrink leaves out lines of a program as long as it still fails, for reports
// that people can read. fails must report false for texts that do not compile.
func Shrink(text string, fails func(string) bool) string {
	lines := strings.SplitAfter(text, "\n")
	for again := true; again; {
		again = false
		for size := len(lines) / 2; size > 0; size /= 2 {
			for at := 0; at+size <= len(lines); {
				rest := append(append([]string(nil), lines[:at]...), lines[at+size:]...)
				if fails(strings.Join(rest, "")) {
					lines, again = rest, true
				} else {
					at++
				}
			}
		}
	}
	return strings.Join(lines, "")
}
