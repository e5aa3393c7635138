package syntax

import (
	"strings"

	"ql/lang/source"
)

// skimSQL passes over the statement of SQL that the current token starts, and says whether it
// could. It shows a SQL with its parts alone.
func (p *parser) skimSQL() bool {
	head := p.tok
	switch head.word {
	case wSelect, wInsert, wUpdate, wDelete:
	default:
		return false
	}
	vars := len(p.vars)
	s := sqlSkimmer{p: p, src: p.src, i: int(head.stop), textStart: int(head.start), parts: p.skimmedSQL.Parts[:0]}
	ok := s.head(head.word) && s.run()
	p.skimmedSQL = SQL{Span: Span{head.start, source.Pos(s.last)}, Head: head.word.String(), Parts: s.parts}
	if !ok {
		p.vars = p.vars[:vars]
		return false
	}
	p.goOn(s.i, s.last, false)
	p.prior, p.last = p.last, lastStmt{verb: head.word, start: head.start, stop: p.prevStop, result: s.result}
	p.showSkimmed(&p.skimmedSQL)
	return true
}

// sqlSkimmer passes over one statement of SQL.
type sqlSkimmer struct {
	p         *parser
	src       string
	i         int
	parts     []SQLPart
	textStart int // of the text behind the last parameter
	last      int // the end of the last token
	brackets  int
	cases     int
	result    string // the name of the variable that it sets
	line      bool   // a line end stands before the token
}

// head says whether the statement starts as it should.
func (s *sqlSkimmer) head(verb word) bool {
	i := skipSpace(s.src, s.i)
	if i >= len(s.src) {
		return false
	}
	switch verb {
	case wSelect:
		return true
	case wDelete:
		return lookupWord(s.src[i:sqlWordEnd(s.src, i)]) == wFrom
	}
	return class[s.src[i]] == cLetter
}

// run goes to the end. It says whether all was plain.
func (s *sqlSkimmer) run() bool {
	src := s.src
	for s.i < len(src) {
		c := src[s.i]
		switch class[c] {
		case cSpace:
			s.line = s.line || c == '\n'
			s.i++
			continue
		case cLetter, cHigh:
			if over, ok := s.word(); over || !ok {
				return ok
			}
		case cDigit:
			s.i = sqlWordEnd(src, s.i)
		case cComment:
			if rest := src[s.i:]; strings.HasPrefix(rest, "--") {
				s.i = lineEnd(src, s.i)
				continue
			} else if strings.HasPrefix(rest, "/*") {
				return false
			}
			s.i++
		default:
			if c == ';' && s.brackets == 0 {
				s.flush(s.last)
				return true
			}
			if !s.symbol(c) {
				return false
			}
		}
		s.last, s.line = s.i, false
	}
	return false
}

// symbol passes what is no word.
func (s *sqlSkimmer) symbol(c byte) bool {
	src := s.src
	if s.i+1 >= len(src) {
		return false
	}
	next := src[s.i+1]
	switch c {
	case '\'', '"', '`':
		s.i = quoteEnd(src, s.i)
		return s.i > 0
	case '(':
		s.brackets++
	case ')':
		if s.brackets--; s.brackets < 0 {
			return false
		}
	case '?':
		if class[next] != cLetter {
			return false
		}
		end := wordEnd(src, s.i+1)
		s.p.noteVar(source.Pos(s.i+1), source.Pos(end))
		return s.param(end)
	case ',', '.', '+', '*', '%', '=', '<', '>', '|', '&', '~':
	case '!':
		if class[next] == cLetter {
			return s.global()
		}
		if next != '=' {
			return false
		}
	default:
		return false
	}
	s.i++
	return true
}

// global passes a global with a text in brackets, or without brackets.
func (s *sqlSkimmer) global() bool {
	src := s.src
	end := wordEnd(src, s.i+1)
	if i := skipSpace(src, end); i+1 < len(src) && src[i] == '(' {
		if src[i+1] != '\'' {
			return false
		}
		stop := quoteEnd(src, i+1)
		if stop == 0 || stop >= len(src) || src[stop] != ')' || strings.IndexByte(src[i:stop], '\n') >= 0 {
			return false
		}
		end = stop + 1
	}
	return s.param(end)
}

// param passes the parameter up to end and the fields behind it.
func (s *sqlSkimmer) param(end int) bool {
	src := s.src
	s.flush(s.i)
	for end < len(src) && src[end] == '.' && letterAt(src, end+1) {
		end = wordEnd(src, end+1)
	}
	s.i, s.textStart = end, end
	return end < len(src) && src[end] != '['
}

// word passes a word, or ends behind the result that it takes.
func (s *sqlSkimmer) word() (over, ok bool) {
	src, start := s.src, s.i
	s.i = sqlWordEnd(src, start)
	if s.brackets > 0 {
		return false, true
	}
	switch w := lookupWord(src[start:s.i]); {
	case w == wSet:
		return s.set(start)
	case w == wCase:
		s.cases++
	case w == wEnd:
		s.cases--
		return false, s.cases >= 0
	case w == wElse || w == wThen:
		return false, s.cases > 0
	case w == wCatch || w == wFinally:
		return false, false
	case w.isVerb():
		// A column may be called so; whether it is one is for the parser to say.
		return false, false
	}
	return false, true
}

// set looks at the SET that starts there.
func (s *sqlSkimmer) set(start int) (over, ok bool) {
	src := s.src
	i := skipSpace(src, s.i)
	end := sqlWordEnd(src, i)
	switch lookupWord(src[i:end]) {
	case wFile:
		return false, false
	case wRow, wValue:
		i = skipSpace(src, end)
	}
	if i >= len(src) || src[i] == '"' || src[i] == '\'' || src[i] == '-' || src[i] == '/' {
		return false, false
	}
	if src[i] != '?' {
		return false, true
	}
	end = wordEnd(src, i+1)
	after := skipSpace(src, end)
	if after >= len(src) || class[src[i+1]] != cLetter {
		return false, false
	}
	switch src[after] {
	case '.', '[', '=', '-', '/':
		return false, false
	}
	if lookupWord(src[after:sqlWordEnd(src, after)]) == wAs {
		return false, false
	}
	s.flush(s.last)
	s.p.noteVar(source.Pos(i+1), source.Pos(end))
	s.i, s.last, s.result = end, end, src[i+1:end]
	return true, true
}

// flush adds the text up to end as a part.
func (s *sqlSkimmer) flush(end int) {
	if end > s.textStart {
		s.parts = append(s.parts, SQLPart{Span: Span{source.Pos(s.textStart), source.Pos(end)}, Text: s.src[s.textStart:end]})
	}
}
