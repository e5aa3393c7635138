package syntax

import (
	"strings"

	"ql/lang/source"
)

func (r *sqlReader) question() bool {
	start := r.pos
	switch {
	case letterAt(r.src, start+1):
		r.bind(r.variable(start))
		return true
	case start+1 < len(r.src) && class[r.src[start+1]] == cDigit:
		r.pos = sqlWordEnd(r.src, start+1)
		r.errorAt(start, r.pos, "%s is no parameter here: write the variable itself, such as ?name", r.src[start:r.pos])
	default:
		r.pos++
		if i := r.blank(r.pos); i >= len(r.src) || strings.IndexByte("),;", r.src[i]) >= 0 {
			r.errorAt(start, start+1, "a bare ? is no parameter here: write the variable itself, such as ?name")
		}
	}
	r.token()
	return true
}

func (r *sqlReader) bang() bool {
	start := r.pos
	if !letterAt(r.src, start+1) {
		r.pos++
		if r.pos < len(r.src) && r.src[r.pos] == '!' {
			r.pos++ // PostgreSQL's !! before a word
		}
		r.token()
		return true
	}
	r.bind(r.global(start))
	return true
}

// variable reads the variable at start, with the accesses that touch it.
func (r *sqlReader) variable(start int) Expr {
	return r.accesses(r.p.newVar(source.Pos(start), source.Pos(wordEnd(r.src, start+1))))
}

// global reads the global at start, with what touches it.
func (r *sqlReader) global(start int) Expr {
	p := r.p
	p.resetTo(start)
	name := p.src[p.tok.start+1 : p.tok.stop]
	known, ok := lookupGlobal(name)
	if !ok {
		p.badGlobal(name)
	}
	g := p.newGlobal(known)
	if i := r.blank(int(g.Stop)); i < len(r.src) && r.src[i] == '(' {
		p.enter()
		p.resetTo(i + 1)
		g.Parens = true
		if p.tok.kind != tRParen {
			g.Arg = p.expr()
		}
		g.Stop = r.closing(tRParen, i, ")")
		p.leave()
	}
	return r.accesses(g)
}

// closing returns the end of the closing bracket, without reading what stands
// behind it: that is SQL again.
func (r *sqlReader) closing(k kind, open int, what string) source.Pos {
	p := r.p
	if p.tok.kind != k {
		p.notClosed(source.Pos(open), what)
	}
	if p.tok.err != errNone {
		p.reportScan(&p.tok)
	}
	return p.tok.stop
}

// accesses reads the accesses that touch x.
func (r *sqlReader) accesses(x Expr) Expr {
	links := 0
	for {
		start, end := x.Pos(), int(x.End())
		switch {
		case end+1 < len(r.src) && r.src[end] == '.' && letterAt(r.src, end+1):
			stop := wordEnd(r.src, end+1)
			x = r.p.newAccess(x, r.src[end+1:stop], source.Pos(stop))
		case end < len(r.src) && r.src[end] == '[':
			p := r.p
			p.enter()
			p.resetTo(end + 1)
			i := p.expr()
			stop := r.closing(tRBrack, end, "]")
			p.leave()
			x = &Index{Span{start, stop}, x, i}
		default:
			return x
		}
		r.p.chain(&links)
	}
}

// bind adds a parameter as a part.
func (r *sqlReader) bind(x Expr) {
	part := SQLPart{Span: Span{x.Pos(), x.End()}, Param: x}
	top := len(r.brackets) - 1
	if r.term {
		r.constantOrder(int(part.Start), int(part.Stop))
	}
	switch {
	case r.prev == wIn:
		part.InList = top < 0 || !r.brackets[top].position
	case r.afterIn || r.comma && top >= 0 && r.brackets[top].list:
		switch end := r.blank(int(part.Stop)); {
		case end >= len(r.src):
		case r.afterIn && r.src[end] == ')':
			r.keepComments(r.brackets[top].pos+1, int(part.Start))
			r.keepComments(int(part.Stop), end)
			part.InList, part.Parens = true, true
			part.Start, part.Stop = source.Pos(r.brackets[top].pos), source.Pos(end+1)
			r.brackets = r.brackets[:top]
		default:
			part.Among = r.src[end] == ',' || r.src[end] == ')'
		}
	}
	r.flush(int(part.Start))
	r.parts = append(r.parts, part)
	r.pos = int(part.Stop)
	r.textStart = r.pos
	r.token()
	r.complete = true
}

// keepComments collects the comments between the brackets of a list and its
// parameter: they are part of no text.
func (r *sqlReader) keepComments(i, end int) {
	for i < end {
		stop := r.comment(i)
		if stop == i {
			i++
			continue
		}
		r.p.scan.insertComment(Comment{source.Pos(i), source.Pos(stop), r.src[i:stop]})
		i = stop
	}
}

// quoteEnd returns the offset after the quoted text at i, or 0 when it has no
// end.
func quoteEnd(src string, i int) int {
	quote := src[i]
	for i++; ; i++ {
		n := strings.IndexByte(src[i:], quote)
		if n < 0 {
			return 0
		}
		i += n + 1
		if i >= len(src) || src[i] != quote {
			return i
		}
	}
}

func (r *sqlReader) quoted(quote byte) {
	start := r.pos
	end := quoteEnd(r.src, start)
	if end == 0 {
		r.fail(start, start+1, "this SQL text has no end: a second %c is missing", quote)
	}
	r.noInsertions(start, end)
	r.pos = end
}

// bracketed reads a name in [ ], which holds anything but ]. PostgreSQL's a[1:2] and int[] are read
// the same way. No name goes over lines, so that one without an end is told where it stands.
func (r *sqlReader) bracketed() {
	start := r.pos
	n := strings.IndexAny(r.src[start:], "]\n")
	if n < 0 || r.src[start+n] != ']' {
		r.fail(start, start+1, "this [ is not closed in its SQL statement")
	}
	r.noInsertions(start, start+n)
	r.pos = start + n + 1
}

// noInsertions refuses {?name} from start to end, which are in quotes.
func (r *sqlReader) noInsertions(start, end int) {
	body := r.src[start:end]
	for i := strings.IndexByte(body, '{'); i >= 0; {
		if insertionMark(body, i) == 1 {
			r.insertion(start + i)
			break
		}
		n := strings.IndexByte(body[i+1:], '{')
		if n < 0 {
			break
		}
		i += 1 + n
	}
}

// insertion refuses {?name} at i.
func (r *sqlReader) insertion(i int) {
	end := wordEnd(r.src, i+2)
	r.errorAt(i, end, "insertions do not work in SQL: write %s, without quotes and braces around it", r.src[i+1:end])
}

// dollar reads $tag$ … $tag$, and refuses $1 and $name.
func (r *sqlReader) dollar() {
	start := r.pos
	end := start + 1
	if end < len(r.src) && class[r.src[end]] != cDigit {
		for end < len(r.src) && (class[r.src[end]] == cLetter || class[r.src[end]] == cDigit || class[r.src[end]] == cHigh) {
			end++
		}
	}
	if end < len(r.src) && r.src[end] == '$' {
		tag := r.src[start : end+1]
		n := strings.Index(r.src[end+1:], tag)
		if n < 0 {
			r.fail(start, end+1, "this SQL text has no end: a second %s is missing", tag)
		}
		r.pos = end + 1 + n + len(tag)
		return
	}
	if end = sqlWordEnd(r.src, start+1); end > start+1 {
		r.foreignParam(start, end)
	}
	r.pos = end
}

// foreignParam refuses :name, @name, $name and $1.
func (r *sqlReader) foreignParam(start, end int) {
	name := r.src[start+1 : end]
	if !letterAt(name, 0) {
		name = "name"
	}
	r.errorAt(start, end, "%s is no parameter here: write ?%s", r.src[start:end], name)
}

func (r *sqlReader) colon() {
	start := r.pos
	r.pos++
	if r.pos >= len(r.src) {
		return
	}
	switch c := r.src[r.pos]; {
	case c == ':' || c == '=': // a cast or a named argument of PostgreSQL
		r.pos++
	case class[c] == cLetter || class[c] == cDigit || class[c] == cHigh:
		r.pos = sqlWordEnd(r.src, r.pos)
		r.foreignParam(start, r.pos)
	}
}

func (r *sqlReader) at() {
	start := r.pos
	r.pos++
	if before := r.src[start-1]; before == '<' || before == '@' { // operators of PostgreSQL
		return
	}
	if letterAt(r.src, r.pos) {
		r.pos = sqlWordEnd(r.src, r.pos)
		r.foreignParam(start, r.pos)
	}
}

func (r *sqlReader) closeBracket(c byte) {
	n := len(r.brackets)
	switch {
	case n == 0:
		r.errorAt(r.pos, r.pos+1, "this %c closes nothing: no bracket is open in this SQL", c)
	case c == ']':
		r.errorAt(r.pos, r.pos+1, "this ] does not close the ( of line %d", r.p.file.Line(source.Pos(r.brackets[n-1].pos)))
		r.brackets = r.brackets[:n-1]
	default:
		r.brackets = r.brackets[:n-1]
	}
	r.pos++
}
