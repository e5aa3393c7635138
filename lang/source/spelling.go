package source

import (
	"strings"
	"unicode/utf8"
)

// Nearest returns the candidate that word was most likely meant to be, or "".
// Case is ignored; a candidate is near when a third of its letters or fewer
// differ.
func Nearest(word string, candidates []string) string {
	best, bestAt := "", 1<<30
	w := []rune(strings.ToLower(word))
	if len(w) > 64 {
		return ""
	}
	for _, c := range candidates {
		n := utf8.RuneCountInString(c)
		most := max(len(w), n) / 3
		if most == 0 && max(len(w), n) >= 2 {
			most = 1
		}
		if n > 64 || n-len(w) > most || len(w)-n > most {
			continue
		}
		if d := EditDistance(w, []rune(strings.ToLower(c))); d <= most && d < bestAt {
			best, bestAt = c, d
		}
	}
	return best
}

// EditDistance counts the letters to be inserted, dropped, changed or swapped
// with their neighbour to make b of a.
func EditDistance(a, b []rune) int {
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
