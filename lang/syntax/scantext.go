package syntax

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"ql/lang/source"
)

// single scans '…': a quote inside is doubled, nothing else is special.
func (s *scanner) single(t *token) {
	t.kind, t.quote = tText, SingleQuote
	t.bodyStart = source.Pos(s.pos + 1)
	i := s.pos + 1
	for i < len(s.src) {
		switch s.src[i] {
		case '\'':
			if i+1 >= len(s.src) || s.src[i+1] != '\'' {
				t.bodyStop = source.Pos(i)
				s.pos = i + 1
				return
			}
			t.esc = true
			i += 2
		case '\n':
			s.unclosed(t, i, errText)
			return
		default:
			i++
		}
	}
	s.unclosed(t, i, errText)
}

// unclosed ends a text piece that has no closing quote at the offset.
func (s *scanner) unclosed(t *token, i int, err scanErr) {
	t.fail(err, t.start)
	t.bodyStop = source.Pos(i)
	s.pos = i
}

// openText scans "… or """… up to its end or its first insertion.
func (s *scanner) openText(t *token) {
	t.kind, t.quote = tText, DoubleQuote
	if s.at(1) == '"' && s.at(2) == '"' {
		t.quote = TripleQuote
		s.pos += 3
	} else {
		s.pos++
	}
	if s.piece(t) {
		t.kind = tTextHead
		s.texts = append(s.texts, openText{quote: t.quote, start: t.start})
		if t.quote == DoubleQuote {
			s.inLine++
		}
	}
}

// closeBrace takes "}": where it closes an insertion, the text goes on.
func (s *scanner) closeBrace(t *token) {
	n := len(s.texts)
	if n == 0 {
		s.one(t, tRBrace)
		return
	}
	if top := &s.texts[n-1]; top.braces > 0 {
		top.braces--
		s.one(t, tRBrace)
		return
	}
	t.quote = s.texts[n-1].quote
	s.pos++
	if s.piece(t) {
		t.kind = tTextMid
		return
	}
	t.kind = tTextTail
	if t.err == errText || t.err == errTriple {
		t.errPos = s.texts[n-1].start
	}
	s.texts = s.texts[:n-1]
	if t.quote == DoubleQuote {
		s.inLine--
	}
}

// piece scans the plain part of a text from s.pos on. It reports whether an
// insertion follows; otherwise the text ends there.
func (s *scanner) piece(t *token) (insertion bool) {
	src, i := s.src, s.pos
	t.bodyStart = source.Pos(i)
	for i < len(src) {
		switch src[i] {
		case '"':
			if t.quote == DoubleQuote {
				t.bodyStop = source.Pos(i)
				s.pos = i + 1
				return false
			}
			if strings.HasPrefix(src[i:], `"""`) {
				t.bodyStop = source.Pos(i)
				s.pos = i + 3
				return false
			}
			i++
		case '\n':
			if t.quote == DoubleQuote {
				s.unclosed(t, i, errText)
				return false
			}
			i++
		case '\\':
			t.esc = true
			i = s.escape(t, i)
		case '{':
			if n := insertionMark(src, i); n > 0 {
				t.equals = n == 2
				t.bodyStop = source.Pos(i)
				s.pos = i + n
				return true
			}
			i++
		default:
			i++
		}
	}
	if t.quote == TripleQuote {
		s.unclosed(t, i, errTriple)
	} else {
		s.unclosed(t, i, errText)
	}
	return false
}

// insertionMark returns how many bytes open an insertion at the brace at i:
// 1 for {?name and {!NAME, 2 for {=, 0 for a plain brace.
func insertionMark(src string, i int) int {
	if i+1 >= len(src) {
		return 0
	}
	switch src[i+1] {
	case '=':
		return 2
	case '?', '!':
		if letterAt(src, i+2) {
			return 1
		}
	}
	return 0
}

// escape checks the escape at i and returns the offset after it.
func (s *scanner) escape(t *token, i int) int {
	_, n, err := decodeEscape(s.src[i:])
	if err != errNone {
		t.fail(err, source.Pos(i))
	}
	return i + n
}

// DecodeEscape returns the character of the escape at the start of s, and how
// many bytes the escape takes. It must be one that the parser has taken.
func DecodeEscape(s string) (r rune, n int) {
	r, n, _ = decodeEscape(s)
	return r, n
}

// decodeEscape reads the escape at the start of s, which starts with a
// backslash: the character, how many bytes it takes, and what is wrong with it.
func decodeEscape(s string) (r rune, n int, err scanErr) {
	if len(s) < 2 || s[1] == '\n' {
		return '\\', 1, errEscape
	}
	switch s[1] {
	case '"', '\\', '/', '{':
		return rune(s[1]), 2, errNone
	case 'n':
		return '\n', 2, errNone
	case 't':
		return '\t', 2, errNone
	case 'r':
		return '\r', 2, errNone
	case 'b':
		return '\b', 2, errNone
	case 'f':
		return '\f', 2, errNone
	case 'u':
		return decodeUnicode(s)
	}
	_, size := utf8.DecodeRuneInString(s[1:])
	return '\\', 1 + size, errEscape
}

// decodeUnicode reads \u and four digits, a pair of those, or \u{…}.
func decodeUnicode(s string) (r rune, n int, err scanErr) {
	if strings.HasPrefix(s, `\u{`) {
		r, n = hexDigits(s[3:], 6)
		if n == 0 || len(s) <= 3+n || s[3+n] != '}' {
			return 0, 3, errUnicode
		}
		if utf16.IsSurrogate(r) {
			return 0, 4 + n, errSurrogate
		}
		if !utf8.ValidRune(r) {
			return 0, 4 + n, errUnicode
		}
		return r, 4 + n, errNone
	}
	r, n = hexDigits(s[2:], 4)
	if n < 4 {
		return 0, 2, errUnicode
	}
	if !utf16.IsSurrogate(r) {
		return r, 6, errNone
	}
	if strings.HasPrefix(s[6:], `\u`) {
		if low, n := hexDigits(s[8:], 4); n == 4 {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return pair, 12, errNone
			}
		}
	}
	return 0, 6, errSurrogate
}

// hexDigits reads up to limit hexadecimal digits.
func hexDigits(s string, limit int) (r rune, n int) {
	for n < len(s) && n < limit {
		c := s[n]
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return r, n
		}
		r = r<<4 | rune(c)
		n++
	}
	return r, n
}

// unescape decodes the plain piece of a "…" or """…""" text. The indentation is
// taken off after each line end of the source.
func unescape(s, indent string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		switch c := s[i]; c {
		case '\\':
			r, n, _ := decodeEscape(s[i:])
			b.WriteRune(r)
			i += n
		case '\n':
			b.WriteByte(c)
			i++
			i += commonPrefix(s[i:], indent)
		default:
			b.WriteByte(c)
			i++
		}
	}
	return b.String()
}

// commonPrefix returns how many bytes s and prefix start with in common.
func commonPrefix(s, prefix string) int {
	n := 0
	for n < len(s) && n < len(prefix) && s[n] == prefix[n] {
		n++
	}
	return n
}
