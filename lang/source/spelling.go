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
		if d := distance(w, []rune(strings.ToLower(c))); d <= most && d < bestAt {
			best, bestAt = c, d
		}
	}
	return best
}

// distance is the number of letters to insert, delete, replace, or swap with a
// neighbour, to make a into b.
func distance(a, b []rune) int {
	var prev2 []int
	prev := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur := make([]int, len(b)+1)
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev = prev, cur
	}
	return prev[len(b)]
}
