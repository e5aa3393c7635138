package syntax

import (
	"strings"

	"ql/lang/source"
)

// Skimming. Whoever asks what may stand at a cursor asks little about the statements far in
// front of it: where they end, and which variables they name. A statement that plainly is what
// it seems is passed over by its bytes, without tokens and nodes. Whatever is not plain, or
// reaches to the cursor, is left to the parser: nothing is decided here that it would decide
// in another way.

// skimmed are the verbs whose statements may be passed over: those without blocks that define
// nothing, and whose clause words are no verbs but for SET. What is before the THEN or DO of
// IF, WHILE and FOR may be passed over too, see skimHead.
var skimmed = [wordCount]bool{
	wEmit: true, wSet: true, wUnset: true, wAppend: true, wReturn: true, wCall: true, wFail: true,
	wConfirm: true, wGather: true, wWait: true, wRead: true, wWrite: true, wList: true, wCopy: true, wMove: true,
	wRemove: true, wUnshare: true, wRender: true, wFetch: true, wRun: true, wCheck: true,
}

// takesResult are those of them that may end in SET ?name.
var takesResult = [wordCount]bool{
	wConfirm: true, wGather: true, wRead: true, wList: true, wFetch: true, wRun: true, wCheck: true,
}

// skim passes over the statement that the current token starts, and says whether it could.
func (p *parser) skim() bool {
	verb, start := p.tok.word, p.tok.start
	if p.tok.kind != tWord || p.tok.err != errNone {
		return false
	}
	if verb.isSQLHead() {
		return p.skimSQL()
	}
	if !skimmed[verb] {
		return false
	}
	s := skimmer{p: p, src: p.src, i: int(p.tok.stop), verb: verb, open: p.skims[:0]}
	if !p.skimmedBy(&s) {
		return false
	}
	p.prior, p.last = p.last, lastStmt{verb: verb, start: start, stop: p.prevStop, result: s.result}
	p.showSkimmed(nil)
	return true
}

// showSkimmed shows a statement of which no nodes were made.
func (p *parser) showSkimmed(s Stmt) {
	p.shown = true
	p.show(s, p.vars, len(p.blocks))
	p.vars = p.vars[:0]
}

// skimHead passes over what stands from the current token up to the word, which is then the
// current one, and says whether it could.
func (p *parser) skimHead(until word) bool {
	if !p.skimming || p.tok.kind == tEOF || p.tok.err != errNone {
		return false
	}
	s := skimmer{p: p, src: p.src, i: int(p.tok.start), until: until, open: p.skims[:0]}
	return p.skimmedBy(&s)
}

// skimmedBy has the skimmer go to its end, and the parser go on there.
func (p *parser) skimmedBy(s *skimmer) bool {
	vars, from := len(p.vars), s.i
	ok := s.run() && s.last > from
	p.skims = s.open
	if !ok {
		p.vars = p.vars[:vars]
		return false
	}
	p.goOn(s.i, s.last, s.line)
	return true
}

// goOn has the parser read on behind what was passed over, the last token of which ends there.
// line says that a line end stands between.
func (p *parser) goOn(at, last int, line bool) {
	p.ahead = p.ahead[:0]
	p.scan.reset(at)
	p.scan.scan(&p.tok)
	p.tok.line = p.tok.line || line
	p.prevStop, p.prevKind = source.Pos(last), tError
}

// skimmer passes over one statement.
type skimmer struct {
	p      *parser
	src    string
	i      int
	verb   word
	until  word // where it is not a statement that ends here
	open   []skimOpen
	inLine int    // how many of the open texts end with their line
	last   int    // the end of the last token
	dot    bool   // that was a dot
	word   word   // that was this word
	result string // the name in the SET ?name that was passed
	line   bool   // a line end stands behind it
}

// skimOpen is an open bracket, a CASE, or a text in whose insertion the skimmer stands: its byte,
// 'c', or '"' and for """ 't'.
type skimOpen struct {
	kind byte
	vars int // noted before it
	// Where a lambda stands in it: the variables noted before that, and those that are its
	// parameters; params is 0 without one.
	lambda, params int
}

// run goes to the end. It says whether all was plain.
func (s *skimmer) run() bool {
	src := s.src
	for s.i < len(src) {
		c := src[s.i]
		switch class[c] {
		case cSpace:
			if c == '\n' {
				if s.inLine > 0 {
					return false
				}
				s.line = true
			}
			s.i++
			continue
		case cLetter:
			over, ok := s.passWord()
			if over || !ok {
				return ok
			}
			continue
		case cDigit:
			if !s.number() {
				return false
			}
		case cComment:
			if skipped, ok := s.comment(); !ok {
				return false
			} else if skipped {
				continue
			}
			if src[s.i] == '-' && s.i+1 < len(src) && src[s.i+1] == '>' {
				if !s.lambda() {
					return false
				}
				s.i++
			}
			s.i++
		case cHigh:
			return false
		default:
			over, ok := s.symbol(c)
			if over || !ok {
				return ok
			}
		}
		s.token(c == '.')
	}
	return false
}

// token notes that a token was passed.
func (s *skimmer) token(dot bool) { s.last, s.dot, s.word, s.line = s.i, dot, wNone, false }

// passWord passes a word, or ends at it.
func (s *skimmer) passWord() (over, ok bool) {
	src, start := s.src, s.i
	end := start + 1
	for end < len(src) && (class[src[end]] == cLetter || class[src[end]] == cDigit) {
		end++
	}
	if end == len(src) || class[src[end]] == cHigh {
		return false, false
	}
	w := wNone
	if !s.dot {
		switch w = lookupWord(src[start:end]); {
		case w == s.until && w != wNone && len(s.open) == 0:
			return true, true
		case w == wNone:
			if len(s.open) == 0 && !s.named(end) {
				return false, false
			}
		case w.isVerb() || w.isStructure():
			over, ok = s.verbAt(w, end)
			if over || !ok {
				return over, ok
			}
		case w == wCase:
			s.open = append(s.open, skimOpen{kind: 'c', vars: len(s.p.vars)})
		case w >= wBegin: // of other languages too
			if s.line || src[end] != '(' || w == wFunction {
				return false, false
			}
		}
	}
	s.i = end
	s.token(false)
	s.word = w
	return false, true
}

// needsMore are the words that no statement ends with.
var needsMore = func() (t [wordCount]bool) {
	for w := range wordCount {
		t[w] = w.isOperator() || w == wBetween || w == wLike || w >= wLine && w <= wValue || w >= wRequired && w <= wPattern
	}
	for _, w := range []word{wNull, wTrue, wFalse, wLine, wOptional, wUnlimited, wRequired} {
		t[w] = false
	}
	return t
}()

// named says whether a word outside brackets without a meaning of its own, which ends there, is
// a name. It may be a constant too, a misspelt verb, or what other languages call END.
func (s *skimmer) named(end int) bool {
	if s.hasFields() {
		const list = len("FIELDS")
		return s.last > list && (!s.line || s.src[s.last-1] == ',' || lookupWord(s.src[s.last-list:s.last]) == wFields) // a field
	}
	return !s.line && (s.src[end] == '(' || s.src[end] == '.')
}

// hasFields says whether any word may stand in the statement, as the name of a field.
func (s *skimmer) hasFields() bool { return s.verb == wGather || s.verb == wCheck }

// verbAt looks at a verb or a word of structure.
func (s *skimmer) verbAt(w word, end int) (over, ok bool) {
	called := s.src[end] == '('
	if n := len(s.open); n > 0 {
		if s.open[n-1].kind == 'c' && (w == wThen || w == wElse || w == wEnd) {
			if w == wEnd {
				s.open = s.open[:n-1]
			}
			return false, true
		}
		// The key of a map, or a function.
		return false, s.src[end] == ':' && s.open[n-1].kind == '{' || called && w.canName()
	}
	switch w {
	case wThen, wDo, wImport, wMail, wSignal:
		return false, false
	case wReplace, wFinally, wCheck:
		if called {
			return false, w != wFinally && !s.line
		}
	case wSet:
		result, ok := s.set(end)
		if takesResult[s.verb] && result != "" {
			s.result = result
			return false, ok
		}
		if !ok || result != "" || takesResult[s.verb] && s.result == "" {
			return false, false
		}
	}
	return true, s.mayEnd() && (s.line || !s.hasFields())
}

// mayEnd says whether the statement may end behind the last token.
func (s *skimmer) mayEnd() bool {
	switch s.verb {
	case wRead, wList, wGather:
		if s.result == "" {
			return false
		}
	}
	return s.until == wNone && s.last > 0 && endsValue(s.src[s.last-1]) && !needsMore[s.word]
}

// set returns the name of the result that the SET which ends there takes, as parser.atResult
// does, "" where it starts a statement, and whether that is plain.
func (s *skimmer) set(end int) (result string, ok bool) {
	src := s.src
	i := skipSpace(src, end)
	if i >= len(src) || src[i] != '?' {
		return "", i < len(src) && (src[i] == '"' || src[i] == '\'')
	}
	name := src[i+1 : wordEnd(src, i+1)]
	i = skipSpace(src, i+1+len(name))
	if i >= len(src) || src[i] == '-' || src[i] == '/' || class[src[i]] == cHigh { // the cursor, or a comment
		return "", false
	}
	if src[i] == '.' || src[i] == '[' || lookupWord(src[i:wordEnd(src, i)]) == wAs {
		return "", true
	}
	return name, name != ""
}

// number passes a number.
func (s *skimmer) number() bool {
	src := s.src
	for s.i < len(src) && (class[src[s.i]] == cDigit || src[s.i] == '.' || src[s.i] == '_') {
		s.i++
	}
	return s.i < len(src) && class[src[s.i]] != cLetter && class[src[s.i]] != cHigh
}

// comment passes a comment, and says whether there is one.
func (s *skimmer) comment() (skipped, ok bool) {
	switch rest := s.src[s.i:]; {
	case strings.HasPrefix(rest, "--"):
		s.i = lineEnd(s.src, s.i)
	case strings.HasPrefix(rest, "/*"):
		end := strings.Index(rest, "*/")
		if end < len("/*") {
			return false, false
		}
		if strings.IndexByte(rest[:end], '\n') >= 0 {
			if s.inLine > 0 {
				return false, false
			}
			s.line = true
		}
		s.i += end + len("*/")
	default:
		return false, rest[0] != '#' && !strings.HasPrefix(rest, "//")
	}
	return true, true
}

// symbol passes another token, or ends at it.
func (s *skimmer) symbol(c byte) (over, ok bool) {
	src := s.src
	next := byte(0)
	if s.i+1 < len(src) {
		next = src[s.i+1]
	}
	n := len(s.open)
	switch c {
	case '"':
		return false, s.text()
	case '\'':
		for i := s.i + 1; i < len(src) && src[i] != '\n'; i++ {
			if src[i] == '\'' {
				s.i = i + 1
				return false, true // a doubled quote starts the next one
			}
		}
		return false, false
	case '?':
		if class[next] != cLetter {
			return false, false
		}
		start := s.i
		s.i = wordEnd(src, start+1)
		s.p.noteVar(source.Pos(start+1), source.Pos(s.i))
		return false, s.i < len(src)
	case '!':
		if class[next] == cLetter {
			s.i = wordEnd(src, s.i+1)
			return false, s.i < len(src)
		}
		if next != '=' {
			return false, false
		}
	case '(', '[', '{':
		s.open = append(s.open, skimOpen{kind: c, vars: len(s.p.vars)})
		s.i++
		return false, n < MaxNesting/2
	case ')', ']', '}':
		return false, s.closing(c)
	case ';':
		return true, n == 0 && s.mayEnd()
	case ',':
		if n > 0 {
			s.endLambda(n - 1)
		}
	case ':':
		if n == 0 || s.open[n-1].kind != '{' {
			return false, false
		}
	case '.', '+', '<', '>', '%':
	case '*':
		if next == '*' {
			return false, false
		}
	case '=':
		if next == '=' || next == '>' {
			return false, false
		}
	default:
		return false, false
	}
	s.i++
	return false, true
}

// closing passes a closing bracket, or goes on with the text whose insertion ends here.
func (s *skimmer) closing(c byte) bool {
	n := len(s.open)
	if n == 0 {
		return false
	}
	top := s.open[n-1].kind
	s.endLambda(n - 1)
	s.open = s.open[:n-1]
	s.i++
	switch top {
	case '(':
		return c == ')'
	case '[':
		return c == ']'
	case '{':
		return c == '}'
	case '"':
		s.inLine--
		return c == '}' && s.piece(top)
	case 't':
		return c == '}' && s.piece(top)
	}
	return false
}

// lambda notes the lambda whose parameters stand before the arrow.
func (s *skimmer) lambda() bool {
	n, vars := len(s.open), len(s.p.vars)
	if n == 0 || s.open[n-1].kind != '(' || s.open[n-1].params > 0 || vars == 0 {
		return false
	}
	top := &s.open[n-1]
	if s.src[s.last-1] != ')' {
		if s.p.vars[vars-1].Stop != source.Pos(s.last) {
			return false
		}
		top.lambda, top.params = vars-1, 1
		return true
	}
	closed := s.open[:n+1][n] // the brackets that were closed last, before nothing else was opened
	if closed.kind != '(' || closed.vars >= vars {
		return false
	}
	top.lambda, top.params = closed.vars, vars-closed.vars
	return true
}

// endLambda takes back the parameters of the lambda that ends in the open bracket, as
// parser.forgetParams does.
func (s *skimmer) endLambda(n int) {
	o := &s.open[n]
	if o.params == 0 {
		return
	}
	p := s.p
	var names nameSet
	for _, v := range p.vars[o.lambda : o.lambda+o.params] {
		names.add(p.src[v.Start:v.Stop])
	}
	kept := p.vars[:o.lambda]
	for _, v := range p.vars[o.lambda:] {
		if !names.has(p.src[v.Start:v.Stop]) {
			kept = append(kept, v)
		}
	}
	p.vars = kept
	o.params = 0
}

// text passes a text from its quote up to its end or its first insertion.
func (s *skimmer) text() bool {
	if strings.HasPrefix(s.src[s.i:], `"""`) {
		s.i += len(`"""`)
		return s.piece('t')
	}
	s.i++
	return s.piece('"')
}

// piece passes a piece of a text.
func (s *skimmer) piece(kind byte) bool {
	src, i := s.src, s.i
	for i < len(src) {
		switch src[i] {
		case '"':
			if kind == '"' {
				s.i = i + 1
				return true
			}
			if strings.HasPrefix(src[i:], `"""`) {
				s.i = i + len(`"""`)
				return true
			}
		case '\n':
			if kind == '"' {
				return false
			}
		case '\\':
			if i++; kind == '"' && i < len(src) && src[i] == '\n' {
				return false
			}
		case '{':
			if n := insertionMark(src, i); n > 0 {
				s.open = append(s.open, skimOpen{kind: kind, vars: len(s.p.vars)})
				if s.i = i + n; kind == '"' {
					s.inLine++
				}
				return len(s.open) < MaxNesting/2
			}
		}
		i++
	}
	return false
}
