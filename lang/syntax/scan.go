package syntax

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ql/lang/source"
)

// scanner cuts a text into tokens, one call a token, each byte looked at once.
// It keeps the texts whose insertions are being scanned on a stack, so that it
// knows which closing brace goes on with a text.
type scanner struct {
	src      string
	pos      int
	texts    []openText
	inLine   int // how many of the open texts end with their line
	comments []Comment
	cursor   bool // the text ends at a cursor: what is open there is no mistake
}

// openText is a text inside one of whose insertions the scanner stands.
type openText struct {
	quote  Quote
	braces int32 // open braces inside the insertion
	start  source.Pos
}

// Classes of bytes.
const (
	cOther = iota
	cSpace
	cLetter
	cDigit
	cComment // may start a comment, ours or a foreign one
	cHigh    // the start of a character beyond ASCII
)

var class = func() (t [256]uint8) {
	for c := range t {
		switch {
		case c == ' ' || c >= '\t' && c <= '\r':
			t[c] = cSpace
		case c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z':
			t[c] = cLetter
		case '0' <= c && c <= '9':
			t[c] = cDigit
		case c == '-' || c == '/' || c == '#':
			t[c] = cComment
		case c >= utf8.RuneSelf:
			t[c] = cHigh
		}
	}
	return t
}()

// at returns the byte n places ahead, or 0 beyond the end.
func (s *scanner) at(n int) byte {
	if s.pos+n < len(s.src) {
		return s.src[s.pos+n]
	}
	return 0
}

// letterAt says whether a WORD may start at the offset.
func letterAt(src string, i int) bool {
	if i >= len(src) {
		return false
	}
	switch class[src[i]] {
	case cLetter:
		return true
	case cHigh:
		r, _ := utf8.DecodeRuneInString(src[i:])
		return unicode.IsLetter(r)
	}
	return false
}

// wordEnd returns the end of the WORD that starts at the offset.
func wordEnd(src string, i int) int {
	for i < len(src) {
		switch class[src[i]] {
		case cLetter, cDigit:
			i++
		case cHigh:
			r, n := utf8.DecodeRuneInString(src[i:])
			if !continuesWord(r) {
				return i
			}
			i += n
		default:
			return i
		}
	}
	return i
}

// continuesWord takes the vowel signs and accents that many scripts cannot be
// written without, but no character that cannot be seen.
func continuesWord(r rune) bool {
	if unicode.IsLetter(r) || unicode.IsDigit(r) {
		return true
	}
	const graphemeJoiner = 0x034F
	return unicode.In(r, unicode.Mn, unicode.Mc) && r != graphemeJoiner && !unicode.Is(unicode.Variation_Selector, r)
}

// scan reads the next token into t.
func (s *scanner) scan(t *token) {
	*t = token{}
	s.space(t)
	t.start = source.Pos(s.pos)
	if t.line && s.inLine > 0 {
		s.endInsertion(t, errInsertLine)
		return
	}
	if s.pos >= len(s.src) {
		t.stop = t.start
		if len(s.texts) > 0 && !s.cursor {
			s.endInsertion(t, errInsertEnd)
		}
		return
	}
	c := s.src[s.pos]
	switch class[c] {
	case cLetter:
		s.word(t)
	case cDigit:
		s.number(t)
	case cHigh:
		s.high(t)
	default:
		s.symbol(t, c)
	}
	t.stop = source.Pos(s.pos)
}

// endInsertion gives up all open texts: the script or the line ended in an
// insertion.
func (s *scanner) endInsertion(t *token, err scanErr) {
	t.kind, t.stop = tError, t.start
	t.fail(err, s.texts[len(s.texts)-1].start)
	s.texts, s.inLine = s.texts[:0], 0
}

// fail notes the first error of a token.
func (t *token) fail(err scanErr, pos source.Pos) {
	if t.err == errNone {
		t.err, t.errPos = err, pos
	}
}

// space skips white space and comments.
func (s *scanner) space(t *token) {
	for s.pos < len(s.src) {
		c := s.src[s.pos]
		switch class[c] {
		case cSpace:
			if c == '\n' {
				t.line = true
			}
			s.pos++
		case cComment:
			if !s.comment(t) {
				return
			}
		case cHigh:
			r, n := utf8.DecodeRuneInString(s.src[s.pos:])
			if !unicode.IsSpace(r) {
				return
			}
			s.pos += n
		default:
			return
		}
	}
}

// comment skips a comment, ours or a foreign one, if one starts here.
func (s *scanner) comment(t *token) bool {
	switch rest := s.src[s.pos:]; {
	case strings.HasPrefix(rest, "--"):
		s.lineComment()
	case strings.HasPrefix(rest, "/*"):
		s.blockComment(t)
	case strings.HasPrefix(rest, "//"):
		t.fail(errSlashes, source.Pos(s.pos))
		s.pos = lineEnd(s.src, s.pos)
	case rest[0] == '#':
		t.fail(errHash, source.Pos(s.pos))
		s.pos = lineEnd(s.src, s.pos)
	default:
		return false
	}
	return true
}

func lineEnd(src string, i int) int {
	if n := strings.IndexByte(src[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(src)
}

func (s *scanner) lineComment() {
	start := s.pos
	s.pos = lineEnd(s.src, s.pos)
	s.addComment(start)
}

func (s *scanner) blockComment(t *token) {
	start := s.pos
	end := strings.Index(s.src[start+2:], "*/")
	if end < 0 {
		t.fail(errComment, source.Pos(start))
		s.pos = len(s.src)
		return
	}
	s.pos = start + 2 + end + 2
	if strings.IndexByte(s.src[start:s.pos], '\n') >= 0 {
		t.line = true
	}
	s.addComment(start)
}

func (s *scanner) addComment(start int) {
	s.comments = append(s.comments, Comment{
		Start: source.Pos(start), Stop: source.Pos(s.pos), Text: s.src[start:s.pos],
	})
}

// insertComment adds a comment in its place, which is near the end.
func (s *scanner) insertComment(c Comment) {
	n := len(s.comments)
	for n > 0 && s.comments[n-1].Start > c.Start {
		n--
	}
	s.comments = slices.Insert(s.comments, n, c)
}

// reset moves the scanner to pos, which stands outside all texts. Comments that
// a look ahead has already collected will be met again.
func (s *scanner) reset(pos int) {
	s.pos = pos
	s.texts, s.inLine = s.texts[:0], 0
	for n := len(s.comments); n > 0 && int(s.comments[n-1].Start) >= pos; n-- {
		s.comments = s.comments[:n-1]
	}
}

func (s *scanner) word(t *token) {
	start := s.pos
	s.pos = wordEnd(s.src, start)
	t.kind = tWord
	t.word = lookupWord(s.src[start:s.pos])
}

// symbol scans a token that starts with the ASCII character c.
func (s *scanner) symbol(t *token, c byte) {
	switch c {
	case '"':
		s.openText(t)
	case '\'':
		s.single(t)
	case '?':
		s.question(t)
	case '!':
		s.bang(t)
	case '(':
		s.one(t, tLParen)
	case ')':
		s.one(t, tRParen)
	case '[':
		s.one(t, tLBrack)
	case ']':
		s.one(t, tRBrack)
	case '{':
		if n := len(s.texts); n > 0 {
			s.texts[n-1].braces++
		}
		s.one(t, tLBrace)
	case '}':
		s.closeBrace(t)
	case ',':
		s.one(t, tComma)
	case '.':
		s.dot(t)
	case ':':
		s.one(t, tColon)
	case ';':
		s.one(t, tSemi)
	case '+':
		s.one(t, tPlus)
	case '-':
		if s.at(1) == '>' {
			s.take(t, tArrow, 2)
		} else {
			s.one(t, tMinus)
		}
	case '*':
		if s.at(1) == '*' {
			s.odd(t, tStar, 2, errStarStar)
		} else {
			s.one(t, tStar)
		}
	case '/':
		s.one(t, tSlash)
	case '%':
		s.one(t, tPercent)
	case '=':
		s.equals(t)
	case '<':
		switch s.at(1) {
		case '=':
			s.take(t, tLe, 2)
		case '>':
			s.take(t, tNe, 2)
		default:
			s.one(t, tLt)
		}
	case '>':
		if s.at(1) == '=' {
			s.take(t, tGe, 2)
		} else {
			s.one(t, tGt)
		}
	case '&':
		if s.at(1) == '&' {
			t.word = wAnd
			s.odd(t, tWord, 2, errAndAnd)
		} else {
			s.odd(t, tError, 1, errChar)
		}
	case '|':
		if s.at(1) == '|' {
			t.word = wOr
			s.odd(t, tWord, 2, errOrOr)
		} else {
			s.odd(t, tError, 1, errChar)
		}
	case '$':
		s.sigil(t, errDollar)
	case '@':
		s.sigil(t, errAt)
	case '`':
		s.foreignText(t, "`", 1, errBackquote)
	default:
		s.odd(t, tError, 1, errChar)
	}
}

func (s *scanner) take(t *token, k kind, n int) {
	t.kind = k
	s.pos += n
}

func (s *scanner) one(t *token, k kind) {
	t.kind = k
	s.pos++
}

// odd takes a token that other languages have. It stands for the kind that was
// probably meant, so that the parser can go on after the error.
func (s *scanner) odd(t *token, k kind, n int, err scanErr) {
	t.fail(err, source.Pos(s.pos))
	s.take(t, k, n)
}

func (s *scanner) equals(t *token) {
	switch {
	case s.at(1) == '=' && s.at(2) == '=':
		s.odd(t, tEq, 3, errTripleEq)
	case s.at(1) == '=':
		s.take(t, tEq, 2)
	case s.at(1) == '>':
		s.odd(t, tArrow, 2, errFatArrow)
	default:
		s.one(t, tEq)
	}
}

func (s *scanner) question(t *token) {
	switch c := s.at(1); {
	case letterAt(s.src, s.pos+1):
		t.kind = tVar
		s.pos = wordEnd(s.src, s.pos+1)
	case c == '?':
		t.word = wDefault
		s.odd(t, tWord, 2, errQuestions)
	case c == '.' && letterAt(s.src, s.pos+2):
		s.odd(t, tDot, 2, errQuestionDot)
	case class[c] == cDigit:
		t.fail(errQuestionDigit, source.Pos(s.pos))
		t.kind = tVar
		s.pos = wordEnd(s.src, s.pos+1)
	default:
		s.odd(t, tError, 1, errQuestion)
	}
}

func (s *scanner) bang(t *token) {
	switch {
	case letterAt(s.src, s.pos+1):
		t.kind = tGlobal
		s.pos = wordEnd(s.src, s.pos+1)
	case s.at(1) == '=' && s.at(2) == '=':
		s.odd(t, tNe, 3, errNotEqEq)
	case s.at(1) == '=':
		s.take(t, tNe, 2)
	default:
		t.word = wNot
		s.odd(t, tWord, 1, errBang)
	}
}

// dot takes ".": before a digit it is a number without its 0, save right after
// a value, where the parser explains what was meant.
func (s *scanner) dot(t *token) {
	if class[s.at(1)] == cDigit && (s.pos == 0 || !endsValue(s.src[s.pos-1])) {
		t.fail(errLeadingDot, source.Pos(s.pos))
		s.pos++
		s.number(t)
		return
	}
	s.one(t, tDot)
}

func endsValue(c byte) bool {
	return class[c] == cLetter || class[c] == cDigit || class[c] == cHigh || c == ')' || c == ']' || c == '}' || c == '"' || c == '\''
}

// sigil takes the $x and @x of other languages as a variable.
func (s *scanner) sigil(t *token, err scanErr) {
	t.fail(err, source.Pos(s.pos))
	s.pos++
	if letterAt(s.src, s.pos) {
		t.kind = tVar
		s.pos = wordEnd(s.src, s.pos)
		return
	}
	t.kind = tError
}

// high scans a token that starts beyond ASCII.
func (s *scanner) high(t *token) {
	r, n := utf8.DecodeRuneInString(s.src[s.pos:])
	switch {
	case unicode.IsLetter(r):
		s.word(t)
	case r == '“' || r == '”' || r == '„':
		s.foreignText(t, "”“", n, errCurlyQuote)
	case r == '‘' || r == '’' || r == '‚':
		s.foreignText(t, "’‘", n, errCurlyQuote)
	case r == '«':
		s.foreignText(t, "»", n, errCurlyQuote)
	case unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r):
		s.odd(t, tError, n, errInvisible)
	default:
		s.odd(t, tError, n, errChar)
	}
}

// foreignText takes a text in quotes that are not ours, up to one of the closers
// on the same line, as a text without insertions.
func (s *scanner) foreignText(t *token, closers string, n int, err scanErr) {
	t.fail(err, source.Pos(s.pos))
	s.pos += n
	t.kind, t.quote = tText, SingleQuote
	t.bodyStart = source.Pos(s.pos)
	for s.pos < len(s.src) && s.src[s.pos] != '\n' {
		r, n := utf8.DecodeRuneInString(s.src[s.pos:])
		if strings.ContainsRune(closers, r) {
			t.bodyStop = source.Pos(s.pos)
			s.pos += n
			return
		}
		s.pos += n
	}
	t.bodyStop = source.Pos(s.pos)
}

// number scans a NUMBER.
func (s *scanner) number(t *token) {
	t.kind = tNumber
	start := s.pos
	s.digits()
	if s.at(0) == '.' && class[s.at(1)] == cDigit {
		s.pos++
		s.digits()
	}
	if c := s.at(0); c == 'e' || c == 'E' {
		sign := 0
		if d := s.at(1); d == '+' || d == '-' {
			sign = 1
		}
		if class[s.at(1+sign)] == cDigit {
			s.pos += 1 + sign
			for class[s.at(0)] == cDigit {
				s.pos++
			}
		}
	}
	if !letterAt(s.src, s.pos) {
		return
	}
	end := wordEnd(s.src, s.pos)
	tail := s.src[s.pos:end]
	if s.src[start:s.pos] == "0" && len(tail) > 1 && (tail[0] == 'x' || tail[0] == 'X') {
		t.fail(errHexNumber, source.Pos(start))
		s.pos = end
		return
	}
	t.fail(errNumberLetter, source.Pos(start))
	if lookupWord(tail) == wNone {
		s.pos = end
	}
}

func (s *scanner) digits() {
	for s.pos < len(s.src) && (class[s.src[s.pos]] == cDigit || s.src[s.pos] == '_') {
		s.pos++
	}
}
