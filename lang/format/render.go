package format

import "strings"

// maxWidth is the column that a line should not pass.
const maxWidth = 100

// renderer lays docs out as text. Spaces and line ends are held back until
// something follows them, so that no line ends in a blank.
type renderer struct {
	buf       strings.Builder
	column    int
	lineStart bool // nothing stands on this line; its indentation is not written yet
	indent    int  // of this line
	space     int  // so many spaces are due before the next token
	endLine   bool // the line must end before the next token
	opened    bool // the last token was an opening bracket

	// What run and fits have used, to be used again.
	todo, measured jobs
}

// job is a doc to render with its indentation, or the rest of a concat: a list may have
// as many members as the script has bytes, and most are never looked at together.
type job struct {
	indent int
	flat   bool
	doc    doc
	rest   concat
}

// jobs are those to do, the next one last.
type jobs []job

// next takes the next doc.
func (j *jobs) next() job {
	n := len(*j) - 1
	top := &(*j)[n]
	if top.rest == nil {
		out := *top
		*j = (*j)[:n]
		return out
	}
	out := job{indent: top.indent, flat: top.flat, doc: top.rest[0]}
	if top.rest = top.rest[1:]; len(top.rest) == 0 {
		*j = (*j)[:n]
	}
	return out
}

func (j *jobs) add(indent int, flat bool, d doc) {
	if list, ok := d.(concat); !ok {
		*j = append(*j, job{indent: indent, flat: flat, doc: d})
	} else if len(list) > 0 {
		*j = append(*j, job{indent: indent, flat: flat, rest: list})
	}
}

// render prints d with lines that begin in it at the given indentation.
func (r *renderer) render(base int, d doc) {
	r.run(base, false, d)
}

// onLine is d printed on one line.
func onLine(d doc) string {
	var r renderer
	r.run(0, true, d)
	return r.buf.String()
}

func (r *renderer) run(base int, flat bool, d doc) {
	todo := r.todo[:0]
	defer func() { r.todo = todo }()
	todo.add(base, flat, d)
	for len(todo) > 0 {
		j := todo.next()
		switch d := j.doc.(type) {
		case text:
			r.write(j.indent, string(d))
		case raw:
			r.write(j.indent, string(d))
		case lines:
			r.writeLines(j.indent, d)
		case remark:
			r.comment(j.indent, d)
		case space:
			r.space = max(r.space, 1)
		case tab:
			r.space = 1
			if !j.flat {
				r.space = d.spaces
			}
		case line:
			switch {
			case !j.flat:
				r.newline(j.indent)
			case d.spaced:
				r.space = 1
			}
		case hard:
			r.newline(j.indent)
		case concat:
			todo.add(j.indent, j.flat, j.doc)
		case nest:
			todo.add(j.indent+d.by, j.flat, d.doc)
		case group:
			flat := j.flat || !d.broken && r.fits(job{indent: j.indent, flat: true, doc: d.doc}, todo)
			todo.add(j.indent, flat, d.doc)
		case hug:
			chosen := r.choose(j, d, todo)
			todo.add(chosen.indent, chosen.flat, chosen.doc)
		}
	}
}

// choose picks the layout of a call: on one line, with only the last argument
// broken, or one argument a line.
func (r *renderer) choose(j job, d hug, rest jobs) job {
	whole := job{indent: j.indent, flat: true, doc: concat{d.before, d.last, d.after}}
	if j.flat || !d.broken && r.fits(whole, rest) {
		return whole
	}
	if d.lastOnly {
		hugged := job{indent: j.indent, doc: concat{d.before, forced(d.last), d.after}}
		if r.fits(hugged, rest) {
			return hugged
		}
	}
	return job{indent: j.indent, doc: d.expanded}
}

// fits tells whether what first prints up to its first line end stays within
// the width. What follows it on the same line counts too, up to where that may
// break: were it taken for unbroken, a list that is broken here would be a list
// over several lines the next time, and fit then.
func (r *renderer) fits(first job, rest jobs) bool {
	room := maxWidth - r.column
	if r.lineStart {
		room = maxWidth - r.indent
	}
	if r.endLine {
		room = maxWidth - first.indent - indent
	}
	room -= r.space
	todo := r.measured[:0]
	defer func() { r.measured = todo }()
	todo.add(first.indent, first.flat, first.doc)
	after := false
	for room >= 0 {
		if len(todo) == 0 {
			if len(rest) == 0 {
				return true
			}
			after = true
			todo = append(todo, rest[len(rest)-1])
			rest = rest[:len(rest)-1]
		}
		j := todo.next()
		switch d := j.doc.(type) {
		case text:
			room -= width(string(d))
		case raw:
			before, _, ends := strings.Cut(string(d), "\n")
			if room -= width(before); ends {
				return room >= 0
			}
		case lines:
			if room -= width(d[0].text); len(d) > 1 {
				return room >= 0
			}
		case remark:
			if d.own || d.ends {
				return true
			}
			room -= 1 + width(d.text)
		case space:
			room--
		case tab:
			room -= d.spaces
		case line:
			switch {
			case !j.flat:
				return true
			case d.spaced:
				room--
			}
		case hard:
			return true
		case concat:
			todo.add(j.indent, j.flat, j.doc)
		case nest:
			todo.add(j.indent, j.flat, d.doc)
		case group:
			todo.add(j.indent, !after && !d.broken, d.doc)
		case hug:
			if after || d.broken {
				todo.add(j.indent, false, d.expanded)
			} else {
				todo.add(j.indent, true, concat{d.before, d.last, d.after})
			}
		}
	}
	return false
}

// newline ends the line; several in a row end it once.
func (r *renderer) newline(base int) {
	if !r.lineStart {
		r.put("\n")
	}
	r.column, r.lineStart, r.indent = 0, true, base
	r.space, r.endLine, r.opened = 0, false, false
}

// blankLine leaves one line empty.
func (r *renderer) blankLine() {
	r.newline(0)
	r.put("\n")
}

// write prints a token, and before it the space or line end that is due. Where
// a comment ends the line inside a phrase, its rest stands one step deeper.
func (r *renderer) write(base int, s string) {
	if s == "" {
		return
	}
	if r.endLine {
		r.newline(base + indent)
	}
	switch {
	case r.lineStart:
		r.pad(r.indent)
	case r.space > 0 && !strings.ContainsRune(",.:;)]}", rune(s[0])):
		r.pad(r.space)
	}
	r.lineStart, r.space = false, 0
	r.put(s)
	if i := strings.LastIndexByte(s, '\n'); i >= 0 {
		r.column = width(s[i+1:])
	} else {
		r.column += width(s)
	}
	r.opened = strings.ContainsRune("([{", rune(s[len(s)-1]))
}

// writeLines prints a text over several lines.
func (r *renderer) writeLines(base int, d lines) {
	r.write(base, d[0].text)
	for _, l := range d[1:] {
		r.put("\n")
		r.column = 0
		if !l.fixed && l.text != "" {
			r.pad(base + indent)
		}
		r.put(l.text)
		r.column += width(l.text)
	}
	r.opened = false
}

// comment prints a comment after what stands on the line, or on a new one.
func (r *renderer) comment(base int, d remark) {
	if d.own && !r.lineStart {
		r.newline(base)
	}
	r.space = 1
	if r.opened && !d.ends {
		r.space = 0
	}
	r.write(base, d.text)
	r.space, r.endLine, r.opened = 1, d.ends, false
}

const blanks = "                                                                                "

func (r *renderer) pad(n int) {
	r.column += n
	for ; n > len(blanks); n -= len(blanks) {
		r.put(blanks)
	}
	r.put(blanks[:n])
}

// put writes a text. Its memory is doubled where it is full: to grow by less takes several
// times as much in all.
func (r *renderer) put(s string) {
	if r.buf.Len()+len(s) > r.buf.Cap() {
		r.buf.Grow(max(len(s), r.buf.Len()))
	}
	r.buf.WriteString(s)
}
