package wire

import (
	"bytes"
	"strings"
	"unicode/utf16"
)

// node is the text of one JSON value inside a document that check has accepted.
type node string

// kind says in words what a node is.
func (n node) kind() string {
	switch n[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a text"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// text returns the text that a node is.
func (n node) text() string { return unescape(string(n[1 : len(n)-1])) }

// unescape resolves the escapes between the quotes of a text.
func unescape(raw string) string {
	at := strings.IndexByte(raw, '\\')
	if at < 0 {
		return raw
	}
	var b strings.Builder
	b.Grow(len(raw))
	for ; at >= 0; at = strings.IndexByte(raw, '\\') {
		b.WriteString(raw[:at])
		c := raw[at+1]
		raw = raw[at+2:]
		switch c {
		case 'b':
			b.WriteByte('\b')
		case 'f':
			b.WriteByte('\f')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 't':
			b.WriteByte('\t')
		case 'u':
			r, _ := hex4(raw)
			raw = raw[4:]
			if utf16.IsSurrogate(r) {
				low, _ := hex4(raw[2:])
				r = utf16.DecodeRune(r, low)
				raw = raw[6:]
			}
			b.WriteRune(r)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteString(raw)
	return b.String()
}

// Which bytes stand between values, and in numbers, true, false and null.
var (
	between = bytesOf(" \t\n\r,:")
	inWord  = bytesOf("+-.0123456789Eaeflnrstu")
)

func bytesOf(s string) (t [256]bool) {
	for i := range len(s) {
		t[s[i]] = true
	}
	return t
}

// cursor walks the members of an object or the items of a list.
type cursor struct {
	text string
	at   int
}

// inside returns a cursor before the first member of an object or item of a
// list.
func (n node) inside() cursor { return cursor{text: string(n), at: 1} }

// member returns the next member of an object.
func (c *cursor) member() (name string, value node, ok bool) {
	n, ok := c.item()
	if !ok {
		return "", "", false
	}
	value, _ = c.item()
	return n.text(), value, true
}

// item returns the next item of a list.
func (c *cursor) item() (node, bool) {
	for between[c.text[c.at]] {
		c.at++
	}
	if b := c.text[c.at]; b == ']' || b == '}' {
		return "", false
	}
	start := c.at
	c.skip()
	return node(c.text[start:c.at]), true
}

// skip goes to the end of the value that begins here.
func (c *cursor) skip() {
	depth := 0
	for {
		switch c.text[c.at] {
		case '"':
			c.skipText()
		case '{', '[':
			depth++
			c.at++
		case '}', ']':
			depth--
			c.at++
		default:
			c.at++
			if depth == 0 {
				for c.at < len(c.text) && inWord[c.text[c.at]] {
					c.at++
				}
			}
		}
		if depth == 0 {
			return
		}
	}
}

func (c *cursor) skipText() {
	c.at++
	for {
		switch c.text[c.at] {
		case '"':
			c.at++
			return
		case '\\':
			c.at += 2
		default:
			c.at++
		}
	}
}

// root returns the value of a document that check has accepted.
func root(text string) node { return node(strings.Trim(text, " \t\n\r")) }

// DecodeBytes is how many bytes decoding a body takes at most besides the body: its text,
// and what its escapes stand for. What the names of large objects take is asked of
// Limits.Reserve.
func DecodeBytes(body []byte) int64 {
	times := int64(1)
	if bytes.ContainsAny(body, `\%+`) {
		times++
	}
	return times * int64(len(body))
}
