package format

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"ql/lang/syntax"
)

// body prints the statements of a block one step deeper.
func (p *printer) body(b *syntax.Block) {
	p.indent += indent
	p.statements(b.Stmts)
	p.indent -= indent
}

// statements prints the statements of a block, each on a line of its own, with
// the comments around them. Of empty lines between two of them one is kept.
func (p *printer) statements(list []syntax.Stmt) {
	first := true
	for _, s := range list {
		first = p.leading(first)
		p.separate(first)
		first = false
		if !p.compound(s) {
			p.line(p.simple(s))
		}
	}
	p.leading(first)
}

// line prints d on a line of its own, with the comments that end the line.
func (p *printer) line(d ...doc) {
	p.out.newline(p.indent)
	p.out.render(p.indent, concat(d))
	for p.skipSeparators(false); p.atComment(); p.skipSeparators(false) {
		p.out.write(p.indent, " "+cleaned(p.take().Text))
	}
	p.printed = p.pos
}

// leading prints the comments before the next token on lines of their own.
func (p *printer) leading(first bool) bool {
	follows := false // a comment stands before this one on the same line
	for p.skipSeparators(true); p.atComment(); p.skipSeparators(true) {
		start := p.pos
		follows = follows && !strings.Contains(p.src[p.printed:start], "\n")
		if follows {
			p.out.write(p.indent, " "+cleaned(p.take().Text))
		} else {
			p.separate(first)
			p.out.newline(p.indent)
			p.out.write(p.indent, p.shifted(cleaned(p.take().Text), start))
		}
		p.printed = p.pos
		first, follows = false, true
	}
	return first
}

// separate leaves an empty line before the next statement or comment where
// there is one in the source, save at the start of a block.
func (p *printer) separate(first bool) {
	if !first && hasBlankLine(p.src[p.printed:p.pos]) {
		p.out.blankLine()
	}
}

// skipSeparators moves over blanks and semicolons, over line ends only where
// lines is set.
func (p *printer) skipSeparators(lines bool) {
	for p.pos < len(p.src) {
		r, n := utf8.DecodeRuneInString(p.src[p.pos:])
		if r != ';' && (!unicode.IsSpace(r) || r == '\n' && !lines) {
			return
		}
		p.pos += n
	}
}

// shifted is a comment with its lines after the first moved as far as the
// first is moved, where all of them are indented at least as deep.
func (p *printer) shifted(comment string, start int) string {
	before := p.src[:start]
	before = before[strings.LastIndexByte(before, '\n')+1:]
	l := strings.Split(comment, "\n")
	for _, s := range l[1:] {
		if s != "" && !strings.HasPrefix(s, before) {
			return comment
		}
	}
	for i, s := range l[1:] {
		if s != "" {
			l[i+1] = strings.Repeat(" ", p.indent) + strings.TrimPrefix(s, before)
		}
	}
	return strings.Join(l, "\n")
}
