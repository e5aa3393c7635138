package format

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"ql/lang/syntax"
)

// cursor walks the source in step with the printed tokens, so that every
// comment is met exactly where it stands. All of the source before pos is
// printed, or held in pending.
type cursor struct {
	src      string
	pos      int
	comments []syntax.Comment // all of the script
	next     int              // the first one not met yet
	pending  []comment        // met before a comma, to be printed after it
	lost     bool             // a token was not where it should be
}

// comment is a comment met on the way to a token.
type comment struct {
	text  string
	first bool // nothing but blanks stands before it on its line
	last  bool // nothing but blanks and comments stands after it on its line
	alone bool // like last, with no comments after it either
}

// moveTo goes on at pos; what lies between was printed as it is.
func (c *cursor) moveTo(pos int) {
	c.pos = pos
	for c.next < len(c.comments) && int(c.comments[c.next].Start) < pos {
		c.next++
	}
}

// skipBlanks moves over white space.
func (c *cursor) skipBlanks() {
	for c.pos < len(c.src) {
		r, n := utf8.DecodeRuneInString(c.src[c.pos:])
		if !unicode.IsSpace(r) {
			return
		}
		c.pos += n
	}
}

// atComment tells whether a comment begins here.
func (c *cursor) atComment() bool {
	return c.next < len(c.comments) && int(c.comments[c.next].Start) == c.pos
}

// take gives the comment that begins here and moves over it.
func (c *cursor) take() syntax.Comment {
	t := c.comments[c.next]
	c.next++
	c.pos = int(t.Stop)
	return t
}

// met moves to the next token and gives the comments on the way.
func (c *cursor) met() []comment {
	var list []comment
	for c.skipBlanks(); c.atComment(); c.skipBlanks() {
		start := c.pos
		t := c.take()
		list = append(list, comment{
			text:  cleaned(t.Text),
			first: beginsLine(c.src, start),
			alone: endsLine(c.src, c.pos),
		})
	}
	last := false
	for i := len(list) - 1; i >= 0; i-- {
		last = list[i].alone || last && !list[i+1].first
		list[i].last = last
	}
	return list
}

// ahead is the word that comes next, in capitals, without moving.
func (c *cursor) ahead() string {
	saved := *c
	c.met()
	w := c.src[c.pos : c.pos+c.wordLength()]
	*c = saved
	return strings.ToUpper(w)
}

// wordLength is the length of the word at pos, which is one of the language's
// own: those are ASCII letters.
func (c *cursor) wordLength() int {
	n := 0
	for c.pos+n < len(c.src) && isLetter(c.src[c.pos+n]) {
		n++
	}
	return n
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

// skip moves over the token at pos, which is printed as written: a word may be
// another form of it, as DAY and DAYS, and two operators have two spellings.
func (c *cursor) skip(written string) {
	n := len(written)
	switch rest := c.src[c.pos:]; {
	case isLetter(written[0]):
		n = c.wordLength()
	case written == "=" && strings.HasPrefix(rest, "=="):
		n = len("==")
	case written == "!=" && strings.HasPrefix(rest, "<>"):
	default:
		c.lost = c.lost || !strings.HasPrefix(rest, written)
	}
	c.pos = min(c.pos+n, len(c.src))
}

// cleaned is a comment without the blanks that end its lines.
func cleaned(s string) string {
	l := strings.Split(s, "\n")
	for i := range l {
		l[i] = strings.TrimRightFunc(l[i], unicode.IsSpace)
	}
	return strings.Join(l, "\n")
}

// beginsLine tells whether only blanks stand before pos on its line.
func beginsLine(src string, pos int) bool {
	for pos > 0 {
		r, n := utf8.DecodeLastRuneInString(src[:pos])
		if r == '\n' {
			break
		}
		if !unicode.IsSpace(r) {
			return false
		}
		pos -= n
	}
	return true
}

// endsLine tells whether only blanks stand after pos on its line.
func endsLine(src string, pos int) bool {
	for pos < len(src) {
		r, n := utf8.DecodeRuneInString(src[pos:])
		if r == '\n' {
			break
		}
		if !unicode.IsSpace(r) {
			return false
		}
		pos += n
	}
	return true
}

// hasBlankLine tells whether an empty line stands in a stretch of source.
func hasBlankLine(s string) bool {
	_, s, found := strings.Cut(s, "\n")
	for found {
		var l string
		l, s, found = strings.Cut(s, "\n")
		if found && strings.TrimSpace(l) == "" {
			return true
		}
	}
	return false
}
