package syntax

import (
	"strings"
	"unicode/utf8"

	"ql/lang/source"
)

// maxChoices is how many names a parameter in braces may choose among.
const maxChoices = 50

// choice reads {?by IN name, city}, whose parameter is at a place: it stands for one of some names, which the script's
// author has written. What it is decides which of them goes into the SQL, and none of its own text
// ever does.
func (r *sqlReader) choice(at int) {
	start := r.pos
	var x Expr
	if r.src[at] == '?' {
		x = r.variable(at)
	} else {
		x = r.global(at)
	}
	i := r.spaces(int(x.End()))
	if lookupWord(r.wordAt(i)) != wIn {
		r.pos = max(i, int(x.End()))
		if i < len(r.src) && r.src[i] == '}' {
			r.pos++
		}
		name := short(r.src[x.Pos():x.End()])
		r.errorAt(start, int(x.End()), "insertions do not work in SQL: write %s, without quotes and braces around it; for a name, list those it may be, as in {%s IN name, city}", name, name)
		r.token()
		r.complete = true
		return
	}
	choices, end := r.choices(start, sqlWordEnd(r.src, i))
	part := SQLPart{Span: Span{source.Pos(start), source.Pos(end)}, Param: x, Choices: choices}
	r.flush(start)
	r.parts = append(r.parts, part)
	r.pos, r.textStart = end, end
	r.token()
	r.complete = true
}

// choices reads the names behind IN, and the brace that ends them.
func (r *sqlReader) choices(open, i int) (list []string, end int) {
	for {
		i = r.spaces(i)
		stop := r.chosenName(i)
		if stop == i {
			bad := min(len(r.src), i+1)
			if i < len(r.src) {
				_, n := utf8.DecodeRuneInString(r.src[i:])
				bad = i + n
			}
			if i < len(r.src) && r.src[i] == '\'' {
				r.fail(i, bad, "this list has names of SQL, and no texts: write them without single quotes, as in {?by IN name, city}")
			}
			r.fail(i, bad, "here stands a name that may be chosen, such as name, t.name, \"a name\" or DESC")
		}
		name := r.src[i:stop]
		for _, other := range list {
			if strings.EqualFold(other, name) {
				r.errorAt(i, stop, "%s is in the list already", short(name))
			}
		}
		if len(list) == maxChoices {
			r.errorAt(i, stop, "there are at most %d names to choose among", maxChoices)
		}
		list = append(list, name)
		i = r.spaces(stop)
		switch {
		case i < len(r.src) && r.src[i] == ',':
			i++
		case i < len(r.src) && r.src[i] == '}':
			return list, i + 1
		case i < len(r.src) && (class[r.src[i]] == cLetter || r.src[i] == '"'):
			r.fail(i, i+1, "a comma is missing between two names of this list")
		default:
			r.fail(open, open+1, "this { is not closed: } is missing behind its names")
		}
	}
}

// chosenName returns the end of the name at start, with those before its dots; start where there is
// none.
func (r *sqlReader) chosenName(start int) int {
	for i := start; ; {
		end := i
		switch {
		case i >= len(r.src):
		case class[r.src[i]] == cLetter || class[r.src[i]] == cHigh:
			end = sqlWordEnd(r.src, i)
		case r.src[i] == '"' || r.src[i] == '`':
			if end = quoteEnd(r.src, i); end == 0 {
				r.fail(i, i+1, "this SQL text has no end: a second %c is missing", r.src[i])
			}
		case r.src[i] == '[':
			n := strings.IndexAny(r.src[i:], "]\n")
			if n < 0 || r.src[i+n] != ']' {
				r.fail(i, i+1, "this [ is not closed in its SQL statement")
			}
			end = i + n + 1
		}
		if end == i || strings.IndexByte(r.src[i:end], 0) >= 0 {
			return start
		}
		if end+1 >= len(r.src) || r.src[end] != '.' {
			return end
		}
		i = end + 1
	}
}

// spaces returns the offset after the white space at i.
func (r *sqlReader) spaces(i int) int {
	for i < len(r.src) && class[r.src[i]] == cSpace {
		i++
	}
	return i
}
