package syntax

import (
	"strings"
	"unicode/utf8"

	"ql/lang/source"
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
		if d := source.EditDistance(upper, []rune(c)); d < bestDistance && d < utf8.RuneCountInString(c) {
			best, bestDistance = c, d
		}
	}
	return best
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
