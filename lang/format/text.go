package format

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"ql/lang/syntax"
)

// text prints a text literal in the quotes it was written in.
func (p *printer) text(t *syntax.Text) doc {
	p.moveTo(int(t.Start))
	var out concat
	if t.HTML {
		out = concat{p.token(nil, "HTML"), p.gap(space{})}
	}
	start, stop := p.pos, int(t.Stop)
	switch t.Quote {
	case syntax.SingleQuote:
		out = append(out, text(p.src[start:stop]))
	case syntax.DoubleQuote:
		var b strings.Builder
		b.WriteByte('"')
		p.pieces(t, start+1, stop-1, func(plain string) { escapeTo(&b, plain) }, func(insert string) { b.WriteString(insert) })
		b.WriteByte('"')
		out = append(out, text(b.String()))
	case syntax.TripleQuote:
		out = append(out, p.triple(t, start, stop))
	}
	p.moveTo(stop)
	return out
}

// pieces goes through the source of a text between its quotes: its plain
// pieces as they are and its insertions as printed.
func (p *printer) pieces(t *syntax.Text, start, stop int, plain, insert func(string)) {
	for _, part := range t.Parts {
		if part.Insert == nil {
			continue
		}
		plain(p.src[start:part.Start])
		insert(p.insertion(part))
		start = int(part.Stop)
	}
	plain(p.src[start:stop])
}

// insertion prints an insertion on one line. One that holds a line end or a
// comment stays as it is, for there a line could not be ended or joined.
func (p *printer) insertion(part syntax.TextPart) string {
	start, stop := int(part.Start), int(part.Stop)
	p.moveTo(start)
	written := p.src[start:stop]
	if !p.plainUpTo(stop) {
		p.moveTo(stop)
		return written
	}
	open := "{"
	if part.Equals {
		open = "{="
	}
	p.moveTo(start + len(open))
	d := p.expr(nil, part.Insert)
	p.moveTo(stop)
	return open + onLine(d) + "}"
}

// plainUpTo tells whether neither a line end nor a comment stands between the
// cursor and stop.
func (p *printer) plainUpTo(stop int) bool {
	if p.next < len(p.comments) && int(p.comments[p.next].Start) < stop {
		return false
	}
	return !strings.Contains(p.src[p.pos:stop], "\n")
}

// triple prints a """…""" text. The indentation of its closing line is not
// part of the content and is taken off every line, so all lines move together.
// Where the closing quotes do not begin their line, every blank is content.
func (p *printer) triple(t *syntax.Text, start, stop int) doc {
	const quotes = `"""`
	start, stop = start+len(quotes), stop-len(quotes)
	last := p.src[lastInsertion(t, start):stop]
	taken, moves := "", false
	if nl := strings.LastIndexByte(last, '\n'); nl >= 0 && strings.Trim(last[nl+1:], " \t") == "" {
		taken, moves = last[nl+1:], true
	}

	var out lines
	line := []byte(quotes)
	fixed := true
	add := func(s string, inside bool) {
		for i, l := range strings.Split(s, "\n") {
			if i > 0 {
				out = append(out, textLine{string(line), fixed})
				line, fixed = line[:0], inside
				if !inside {
					l = l[commonPrefix(l, taken):]
				}
			}
			line = append(line, l...)
		}
	}
	p.pieces(t, start, stop,
		func(plain string) { add(plain, !moves) },
		func(insert string) { add(insert, true) })
	return append(out, textLine{string(line) + quotes, fixed})
}

// lastInsertion is where the last insertion of a text ends, or start.
func lastInsertion(t *syntax.Text, start int) int {
	for i := len(t.Parts) - 1; i >= 0; i-- {
		if t.Parts[i].Insert != nil {
			return int(t.Parts[i].Stop)
		}
	}
	return start
}

// commonPrefix is the length of what both begin with.
func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// escapeTo writes a plain piece of a "…" text. Characters stand as themselves;
// escaped are only those that would end the text or open an insertion, and
// those that cannot be seen. Invisible ones that the author has not escaped,
// such as joiners in names, stay too, save control characters.
func escapeTo(b *strings.Builder, src string) {
	for src != "" {
		r, n := decode(src)
		escaped := src[0] == '\\'
		src = src[n:]
		switch {
		case r == '"' || r == '\\' || r == '{' && opensInsertion(src):
			b.WriteByte('\\')
			b.WriteRune(r)
		case shortEscapes[r] != "":
			b.WriteString(shortEscapes[r])
		case unicode.IsControl(r) || escaped && (!unicode.IsPrint(r) || unicode.IsMark(r)):
			if r > 0xFFFF {
				fmt.Fprintf(b, `\u{%X}`, r)
			} else {
				fmt.Fprintf(b, `\u%04X`, r)
			}
		default:
			b.WriteRune(r)
		}
	}
}

var shortEscapes = map[rune]string{'\n': `\n`, '\t': `\t`, '\r': `\r`, '\b': `\b`, '\f': `\f`}

// opensInsertion tells whether a brace before this would open an insertion.
func opensInsertion(src string) bool {
	if src == "" {
		return false
	}
	r, n := decode(src)
	if r != '?' && r != '!' || n == len(src) {
		return r == '='
	}
	r, _ = decode(src[n:])
	return r == '_' || unicode.IsLetter(r)
}

// decode gives the first character of a "…" text's source and how many bytes
// of the source it takes. The parser has checked the escapes.
func decode(src string) (r rune, n int) {
	if src[0] == '\\' {
		return syntax.DecodeEscape(src)
	}
	return utf8.DecodeRuneInString(src)
}
