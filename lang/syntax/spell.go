package syntax

import (
	"strings"
	"unicode/utf8"
)

// nearest returns the candidate that word was most likely meant to be, or "".
// Candidates are in capitals.
func nearest(word string, candidates []string) string {
	const longest = 24
	if len(word) > longest {
		return ""
	}
	upper := []rune(strings.ToUpper(word))
	best, bestDistance := "", 3
	switch {
	case len(upper) <= 2:
		return ""
	case len(upper) <= 4:
		bestDistance = 2
	}
	for _, c := range candidates {
		if d := distance(upper, []rune(c)); d < bestDistance && d < utf8.RuneCountInString(c) {
			best, bestDistance = c, d
		}
	}
	return best
}

// distance counts the letters to be inserted, dropped, changed or swapped with
// their neighbour to make b of a.
func distance(a, b []rune) int {
	before := make([]int, len(b)+1) // row i-2
	last := make([]int, len(b)+1)   // row i-1
	row := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// orList joins words as "A, B or C".
func orList(words []string) string {
	switch n := len(words); n {
	case 0:
		return ""
	case 1:
		return words[0]
	default:
		return strings.Join(words[:n-1], ", ") + " or " + words[n-1]
	}
}
