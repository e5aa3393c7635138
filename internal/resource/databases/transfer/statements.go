package transfer

import (
	"bufio"
	"errors"
	"io"
	"strings"

	"ql/lang/value"
)

// statements takes a text of SQL apart, as it is read. A statement ends at a
// semicolon outside of quotes and comments; that of a trigger at one after END.
type statements struct {
	in    *bufio.Reader
	most  int // bytes of one statement
	text  strings.Builder
	line  int // that is read, from 1
	start int // the line on which the last statement starts
	// words are the first tokens of the last statement, without what counts as
	// space.
	words []string
}

func newStatements(in *bufio.Reader, most int) *statements {
	return &statements{in: in, most: most, line: 1}
}

// mostWords is how many of a statement's tokens are kept.
const mostWords = 5

// The places of a statement at which it matters what comes next.
const (
	atStart     = iota
	inStatement // the next semicolon ends it
	inExplain
	afterCreate
	inTrigger
	afterStep // of a trigger: a semicolon in it
	afterEnd  // of a trigger: END after such a semicolon
)

// next returns the next statement with its semicolon, or io.EOF. What is not
// ended at the end of the text is a statement too.
func (s *statements) next() (string, error) {
	s.text.Reset()
	s.words = s.words[:0]
	at, empty := atStart, true
	for {
		token, err := s.token()
		if errors.Is(err, io.EOF) {
			if at == atStart {
				return "", io.EOF
			}
			return s.text.String(), nil
		}
		if err != nil {
			return "", err
		}
		if token == "" {
			continue // a space or a comment
		}
		empty = empty && token == ";"
		if len(s.words) < mostWords && token != ";" {
			s.words = append(s.words, token)
		}
		switch at = after(at, token); {
		case at == atStart && empty:
			s.text.Reset()
		case at == atStart:
			return s.text.String(), nil
		}
	}
}

// after returns where a token leads to.
func after(at int, token string) int {
	if token == ";" {
		if at == inTrigger || at == afterStep {
			return afterStep
		}
		return atStart
	}
	switch at {
	case atStart, inExplain:
		switch token {
		case "CREATE":
			return afterCreate
		case "EXPLAIN":
			return inExplain
		}
		if at == inExplain && (token == "QUERY" || token == "PLAN") {
			return inExplain
		}
		return inStatement
	case afterCreate:
		switch token {
		case "TEMP", "TEMPORARY":
			return afterCreate
		case "TRIGGER":
			return inTrigger
		}
		return inStatement
	case inTrigger, afterEnd:
		return inTrigger
	case afterStep:
		if token == "END" {
			return afterEnd
		}
		return inTrigger
	}
	return inStatement
}

// token reads one token into the text and returns it in capitals where it is a
// word, ";" for a semicolon, "" for what counts as space, and "?" for the rest.
func (s *statements) token() (string, error) {
	line := s.line
	c, err := s.take()
	if err != nil {
		return "", err
	}
	if len(s.words) == 0 {
		s.start = line // unless this is a space or a comment
	}
	switch {
	case c == ';':
		return ";", nil
	case c == '\'' || c == '"' || c == '`':
		return "?", s.until(c)
	case c == '[':
		return "?", s.until(']')
	case c == '-' && s.follows('-'):
		return "", s.until('\n')
	case c == '/' && s.follows('*'):
		return "", s.comment()
	case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f':
		if s.text.Len() == 1 {
			s.text.Reset() // not between statements
		}
		return "", nil
	case !isWord(c):
		return "?", nil
	}
	from := s.text.Len() - 1
	for {
		next, _ := s.in.Peek(1) // what is wrong comes again with the next token
		if len(next) == 0 || !isWord(next[0]) {
			return strings.ToUpper(s.text.String()[from:]), nil
		}
		if _, err := s.take(); err != nil {
			return "", err
		}
	}
}

func isWord(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// take reads one byte into the text.
func (s *statements) take() (byte, error) {
	c, err := s.in.ReadByte()
	if err != nil {
		return 0, err
	}
	if s.text.Len() == s.most {
		return 0, value.Exceeded("import_bytes", int64(s.most), "a statement of an import has at most %s", value.FormatSize(int64(s.most)))
	}
	if c == '\n' {
		s.line++
	}
	return c, s.text.WriteByte(c)
}

func (s *statements) follows(c byte) bool {
	next, err := s.in.Peek(1)
	return err == nil && next[0] == c
}

// until reads up to a byte. A quote that stands twice, for itself, is read as
// two texts, which comes to the same.
func (s *statements) until(end byte) error {
	for {
		c, err := s.take()
		if errors.Is(err, io.EOF) {
			return nil // the library says what is wrong with it
		}
		if err != nil || c == end {
			return err
		}
	}
}

func (s *statements) comment() error {
	if _, err := s.take(); err != nil { // the star
		return err
	}
	for {
		if err := s.until('*'); err != nil {
			return err
		}
		next, err := s.in.Peek(1)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if next[0] == '/' {
			_, err := s.take()
			return err
		}
	}
}
