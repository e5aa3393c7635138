package files

import (
	"fmt"
	"strings"

	"ql/lang/value"
)

// extremes are the paths below a folder that would be the first to break a
// bound, were the folder moved; "" where there is nothing below.
type extremes struct {
	longest string // has the most bytes
	deepest string // has the most parts
}

func (e *extremes) add(path string) {
	if len(path) > len(e.longest) {
		e.longest = path
	}
	if parts(path) > parts(e.deepest) {
		e.deepest = path
	}
}

func parts(path string) int { return strings.Count(path, "/") }

// lengthens reports whether the paths below a folder get longer, or more parts, when
// it is moved.
func lengthens(from, to string) bool { return len(to) > len(from) || parts(to) > parts(from) }

// checkMove refuses a move of a folder after which a path below it would be one
// that nothing takes.
func checkMove(from, to string, below extremes) error {
	rule := "%s would have %d %s there, and a path has %d at most"
	if n := parts(below.deepest) - parts(from) + parts(to); n > maxSegments {
		return refuse(to, fmt.Sprintf(rule, value.Quote(below.deepest), n, "parts", maxSegments))
	}
	if n := len(below.longest) - len(from) + len(to); n > maxPath {
		return refuse(to, fmt.Sprintf(rule, value.Quote(below.longest), n, "bytes", maxPath))
	}
	return nil
}
