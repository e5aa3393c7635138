package lib

import (
	"unicode/utf8"

	"ql/lang/value"
)

// like is LIKE as SQL has it in the account's databases, so that a condition can move between
// a script and its SQL.
func like(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "LIKE", args)
	s, pattern := in.text(0, "the text"), in.text(1, "the pattern")
	if in.err != nil {
		return value.Null, in.err
	}
	m := liker{c: c}
	defer m.pay()
	return value.Bool(m.matches(s, pattern)), nil
}

// liker counts the steps of a match.
type liker struct {
	c     *Call
	steps int
}

func (m *liker) pay() {
	m.c.Meter.Work(m.steps)
	m.steps = 0
}

func (m *liker) step() {
	if m.steps++; m.steps == 1024 { // so that the run can end at any time
		m.pay()
	}
}

// matches goes back to the last % where a character does not fit: what an earlier one could
// give up, the last one can as well.
func (m *liker) matches(s, pattern string) bool {
	i, j := 0, 0
	after, from := -1, 0 // behind the last %, and how far the text has come with it
	for i < len(s) {
		m.step()
		if j < len(pattern) {
			switch p := pattern[j]; {
			case p == '%':
				j++
				after, from = j, i
				continue
			case p == '_':
				_, n := utf8.DecodeRuneInString(s[i:])
				i, j = i+n, j+1
				continue
			case lowerASCII(p) == lowerASCII(s[i]):
				i, j = i+1, j+1
				continue
			}
		}
		if after < 0 {
			return false
		}
		_, n := utf8.DecodeRuneInString(s[from:])
		from += n
		i, j = from, after
	}
	for j < len(pattern) && pattern[j] == '%' {
		m.step()
		j++
	}
	return j == len(pattern)
}

func lowerASCII(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}
