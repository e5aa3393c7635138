package compile

import (
	"strings"

	"ql/lang/syntax"
)

// shellState is where a shell is in a command that it reads from the left.
type shellState struct {
	quote   byte // ' " or ` that is open, 0 for none
	escaped bool // a \ stands before
	dollar  bool // a $ stands before, outside quotes
	comment bool // up to the end of the line
	word    bool // in a word: a # is one of its characters
	here    bool // a text of several lines has been announced by <<
	depth   int  // of (( that are open
	// unsure says that shells differ in how they read what follows, or that it takes more than
	// this to tell.
	unsure bool
	last   byte
}

// read takes what stands between two insertions.
func (s *shellState) read(text string) {
	for i := range len(text) {
		s.next(text[i])
		s.last = text[i]
	}
}

func (s *shellState) next(c byte) {
	dollar := s.dollar
	s.dollar = false
	switch {
	case s.comment:
		s.comment = c != '\n'
	case s.escaped:
		s.escaped = false
		s.word = s.word || c != '\n' // which joins two lines
	case s.quote == '\'':
		if c == '\'' {
			s.quote = 0
		}
	case c == '\\':
		s.escaped = true
	case s.quote != 0:
		if c == s.quote {
			s.quote = 0
		}
		// Quotes inside are read anew.
		s.unsure = s.unsure || s.last == '$' && (c == '(' || c == '{') || c == '`'
	case c == '\'' && dollar:
		s.unsure = true
	case c == '\'' || c == '"' || c == '`':
		s.quote, s.word = c, true
	case c == '#' && !s.word && !dollar:
		s.comment = true
	default:
		s.operator(c)
		s.dollar = c == '$'
		s.word = !strings.ContainsRune(" \t\n|&;<>()", rune(c))
	}
}

// operator notes what a shell reads otherwise than words.
func (s *shellState) operator(c byte) {
	switch {
	case c == '<' && s.last == '<':
		s.here = true
	case c == '(' && s.last == '(':
		s.depth++
	case c == ')' && s.last == ')' && s.depth > 0:
		s.depth--
	}
}

// inserted takes an insertion, which is quoted and ends where it began.
func (s *shellState) inserted() { s.word, s.last = true, '\'' }

// refusal says why an insertion cannot be one quoted argument where the shell is; "" where it can.
func (s *shellState) refusal() string {
	switch {
	case s.quote != 0 && s.quote != '`' && !s.unsure:
		return "inside quotes: each insertion is quoted already, so leave the quotes out"
	case s.quote == '`' && !s.unsure:
		return "inside backticks: write $( and )"
	case s.unsure:
		return "behind $' or behind $(, ${ and backticks in quotes: do with one kind of quotes before it"
	case s.escaped:
		return `behind a \: leave that out`
	case s.dollar:
		return "behind a $: leave that out, or put a blank between"
	case s.comment:
		return "in a comment of the shell"
	case s.here:
		return "behind <<: give the text by INPUT"
	case s.depth > 0:
		return "in a shell's arithmetic: compute it in the script, as in {=?a + 1}"
	}
	return ""
}

// checkCommand refuses insertions of RUN's text that a shell would not read as one quoted argument:
// whatever is in them could become a command.
func (g *fn) checkCommand(t *syntax.Text) {
	if g.fast {
		return // the other version has told
	}
	if t.HTML {
		g.errorf(t, "RUN takes no HTML text, whose insertions are not quoted for a shell: leave HTML out")
		return
	}
	var s shellState
	for _, p := range t.Parts {
		if p.Insert == nil {
			s.read(p.Plain)
			continue
		}
		if why := s.refusal(); why != "" {
			g.errorf(p.Insert, "an insertion of RUN cannot stand %s", why)
			return
		}
		s.inserted()
	}
}
