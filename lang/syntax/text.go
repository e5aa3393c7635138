package syntax

import "strings"

// plainText is a text without insertions and its only part, in one piece of
// memory.
type plainText struct {
	Text
	part [1]TextPart
}

// textLit reads a text literal.
func (p *parser) textLit(html bool) *Text {
	if p.tok.kind == tTextHead {
		return p.insertingText(html)
	}
	t := p.nodes.texts.new()
	t.Span, t.Quote, t.HTML = Span{p.tok.start, p.tok.stop}, p.tok.quote, html
	part := &t.part[0]
	part.Span = Span{p.tok.bodyStart, p.tok.bodyStop}
	body := p.src[part.Start:part.Stop]
	switch {
	case t.Quote == TripleQuote:
		part.Plain = trimLines([]rawPiece{{body: body, esc: p.tok.esc}})[0]
	case !p.tok.esc:
		part.Plain = body
	case t.Quote == SingleQuote:
		part.Plain = strings.ReplaceAll(body, "''", "'")
	default:
		part.Plain = unescape(body, "")
	}
	if part.Plain != "" {
		t.Parts = t.part[:]
	}
	p.next()
	return &t.Text
}

// insertingText reads a text with insertions. Its parts and their sources are
// collected on stacks, plain parts and insertions in turn.
func (p *parser) insertingText(html bool) *Text {
	t := &p.nodes.texts.new().Text
	t.Start, t.Quote, t.HTML = p.tok.start, p.tok.quote, html
	p.enter()
	base, rawBase := len(p.parts), len(p.raw)
	for {
		piece := p.tok
		body := Span{piece.bodyStart, piece.bodyStop}
		p.parts = append(p.parts, TextPart{Span: body})
		p.raw = append(p.raw, rawPiece{p.src[body.Start:body.Stop], piece.esc})
		p.next()
		if piece.kind != tTextHead && piece.kind != tTextMid {
			break
		}
		part := p.insertion(piece)
		p.parts = append(p.parts, part)
	}
	t.Stop = p.prevStop
	p.leave()
	p.parts = p.parts[:base+decodeParts(t.Quote, p.parts[base:], p.raw[rawBase:])]
	t.Parts, p.parts = p.nodes.parts.take(p.parts, base)
	p.raw = p.raw[:rawBase]
	return t
}

// decodeParts gives the plain parts their texts and moves the parts that have a
// content to the front. It returns how many there are.
func decodeParts(quote Quote, parts []TextPart, raw []rawPiece) int {
	var lines []string
	if quote == TripleQuote {
		lines = trimLines(raw)
	}
	count := 0
	for i := range parts {
		part := &parts[i]
		if i%2 == 0 {
			switch r := raw[i/2]; {
			case lines != nil:
				part.Plain = lines[i/2]
			case r.esc:
				part.Plain = unescape(r.body, "")
			default:
				part.Plain = r.body
			}
		}
		if part.Insert != nil || part.Plain != "" {
			parts[count] = *part
			count++
		}
	}
	return count
}

// insertion reads the expression between the braces that piece opened and the
// next piece closes. Its span has the braces.
func (p *parser) insertion(piece token) TextPart {
	part := TextPart{Span: Span{Start: piece.bodyStop}, Equals: piece.equals}
	part.Insert = p.expr()
	if p.tok.kind != tTextMid && p.tok.kind != tTextTail {
		p.openInsertion(piece.bodyStop)
	}
	part.Stop = p.tok.bodyStart
	return part
}

// rawPiece is the source of a plain part of a text.
type rawPiece struct {
	body string
	esc  bool
}

// trimLines decodes the pieces of a """…""" text: without the line end after the
// opening quotes, the line of the closing quotes, and that line's indentation
// at the start of every line.
func trimLines(raw []rawPiece) []string {
	first, last := &raw[0], &raw[len(raw)-1]
	indent := ""
	if nl := strings.LastIndexByte(last.body, '\n'); nl >= 0 && strings.Trim(last.body[nl+1:], " \t") == "" {
		indent = last.body[nl+1:]
		if first == last && nl == 0 {
			return []string{""} // the opening and the closing line, and nothing between
		}
		last.body = last.body[:nl]
	}
	out := make([]string, len(raw))
	for i, r := range raw {
		if i == 0 && strings.HasPrefix(r.body, "\n") {
			r.body = r.body[1+commonPrefix(r.body[1:], indent):]
		}
		if !r.esc && (indent == "" || strings.IndexByte(r.body, '\n') < 0) {
			out[i] = r.body
		} else {
			out[i] = unescape(r.body, indent)
		}
	}
	return out
}
