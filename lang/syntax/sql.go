package syntax

import (
	"strings"
	"unicode"

	"ql/lang/source"
)

// The SQL mode. It reads a statement of the database's own language by bytes,
// not by tokens of ours, and knows of it only what it needs to find the bound
// parameters and the end.

// sqlReader reads one SQL statement.
type sqlReader struct {
	p    *parser
	src  string
	pos  int
	stmt *SQL
	// textStart is where the text after the last parameter starts.
	textStart int

	brackets []bracket
	// body says that the statement creates something with a body; begins is
	// how many BEGIN and CASE of that body are open, begin the first of them.
	body   bool
	begins int
	begin  int
	cases  int // open CASE outside brackets

	prev      word // the token before, where it was a word
	afterIn   bool // the token before was the bracket of IN (
	words     int  // words read so far
	lineStart bool // nothing but blanks stands before, on this line
	// swallowed is a word at the start of a line that ends blocks of ours, as
	// long as nothing else was found to end the SQL.
	swallowed swallowedEnd
	// semicolon is the first ; inside brackets, -1 without one.
	semicolon int
}

// bracket is an open bracket of SQL.
type bracket struct {
	pos      int
	char     byte
	position bool // of POSITION(… IN …)
}

// swallowedEnd is a word that SQL without an end seems to have swallowed.
type swallowedEnd struct {
	word word
	pos  source.Pos
}

// sql reads a SQL statement; the current token is its first word.
func (p *parser) sql() Stmt {
	head := p.tok
	p.prior, p.last = p.last, lastStmt{verb: head.word, start: head.start}
	r := &sqlReader{
		p: p, src: p.src, pos: int(head.stop), textStart: int(head.start), semicolon: -1,
		stmt: &SQL{Span: Span{Start: head.start}, Head: head.word.String()}, prev: head.word, words: 1,
	}
	p.ahead = p.ahead[:0]
	r.checkHead()
	for r.step() {
	}
	return r.stmt
}

// step reads one token of SQL. It returns false at the end of the statement,
// with the parser behind it.
func (r *sqlReader) step() bool {
	if r.pos >= len(r.src) {
		r.endOfScript()
		return false
	}
	c := r.src[r.pos]
	switch class[c] {
	case cSpace:
		r.lineStart = r.lineStart || c == '\n'
		r.pos++
		return true
	case cLetter, cHigh:
		return r.word()
	case cDigit:
		r.pos = sqlWordEnd(r.src, r.pos)
		r.token()
		return true
	}
	switch c {
	case '\'', '"', '`':
		r.quoted(c)
	case '-', '/':
		if end := r.comment(r.pos); end > r.pos {
			r.lineStart = r.lineStart || strings.IndexByte(r.src[r.pos:end], '\n') >= 0
			r.pos = end
			return true
		}
		r.pos++
	case '$':
		r.dollar()
	case '(', '[':
		in := c == '(' && r.prev == wIn
		r.brackets = append(r.brackets, bracket{r.pos, c, r.prev == wPosition})
		r.pos++
		r.token()
		r.afterIn = in
		return true
	case ')', ']':
		r.closeBracket(c)
	case ';':
		if r.outside() {
			r.finish(r.pos)
			r.p.resetTo(r.pos)
			r.p.next()
			return false
		}
		if r.semicolon < 0 {
			r.semicolon = r.pos
		}
		r.pos++
	case '?':
		return r.question()
	case '!':
		return r.bang()
	case ':':
		r.colon()
	case '@':
		r.at()
	case '{':
		r.brace()
	default:
		r.pos++
	}
	r.token()
	return true
}

// token notes that a token other than a word was read.
func (r *sqlReader) token() {
	r.prev, r.lineStart, r.afterIn = wNone, false, false
}

// outside says whether the statement may end here.
func (r *sqlReader) outside() bool { return len(r.brackets) == 0 && r.begins == 0 }

// sqlWordEnd returns the end of the SQL word at i. Engines take all characters
// beyond ASCII, and "$" inside, as parts of words.
func sqlWordEnd(src string, i int) int {
	for i < len(src) && (class[src[i]] == cLetter || class[src[i]] == cDigit || class[src[i]] == cHigh || src[i] == '$') {
		i++
	}
	return i
}

// comment returns the end of the comment at i, or i when none starts there.
func (r *sqlReader) comment(i int) int {
	rest := r.src[i:]
	switch {
	case strings.HasPrefix(rest, "--"):
		return lineEnd(r.src, i)
	case strings.HasPrefix(rest, "/*"):
		end := strings.Index(rest[2:], "*/")
		if end < 0 {
			r.fail(i, i+2, "this comment has no end: */ is missing")
		}
		return i + 2 + end + 2
	}
	return i
}

// blank returns the offset after white space and comments from i on.
func (r *sqlReader) blank(i int) int {
	for i < len(r.src) {
		if class[r.src[i]] == cSpace {
			i++
			continue
		}
		end := r.comment(i)
		if end == i {
			break
		}
		i = end
	}
	return i
}

// wordAt returns the SQL word at i.
func (r *sqlReader) wordAt(i int) string { return r.src[i:sqlWordEnd(r.src, i)] }

// word reads a word and looks whether it ends the statement.
func (r *sqlReader) word() bool {
	start := r.pos
	r.pos = sqlWordEnd(r.src, start)
	w := lookupWord(r.src[start:r.pos])
	lineStart := r.lineStart
	r.trackBody(w, start)
	if r.outside() {
		switch {
		case w == wSet:
			if !r.setClause(start) {
				return false
			}
		case lineStart && w.isVerb() && !w.isSQLHead() && w != wEnd && r.startsStatement(w),
			w == wEmit && !lineStart && r.startsEmit():
			r.noEnd(w, start)
			return false
		default:
			r.trackCase(w, start, lineStart)
		}
	}
	r.token()
	r.prev = w
	r.words++
	return true
}

// trackBody follows BEGIN … END of CREATE TRIGGER and its like.
func (r *sqlReader) trackBody(w word, start int) {
	if r.stmt.Head != "CREATE" {
		return
	}
	const mostWords = 5 // CREATE OR REPLACE CONSTRAINT TRIGGER
	switch {
	case !r.body:
		if w == wTrigger || w == wFunction || w == wProcedure {
			r.body = r.words < mostWords && len(r.brackets) == 0
		}
	case len(r.brackets) > 0:
	case r.begins == 0:
		if w == wBegin {
			r.begins, r.begin = 1, start
		}
	case w == wBegin || w == wCase:
		r.begins++
	case w == wEnd:
		r.begins--
	}
}

// trackCase follows CASE … END and remembers an END, ELSE or CATCH that belongs
// to no CASE.
func (r *sqlReader) trackCase(w word, start int, lineStart bool) {
	switch w {
	case wCase:
		r.cases++
		return
	case wEnd:
		if r.cases > 0 {
			r.cases--
			return
		}
	case wElse, wCatch:
		if r.cases > 0 {
			return
		}
	default:
		return
	}
	if lineStart && len(r.p.blocks) > 0 && r.swallowed.word == wNone && !r.body {
		r.swallowed = swallowedEnd{w, source.Pos(start)}
	}
}

// setClause looks at a SET outside brackets. It returns false when the statement
// ends there, with its result or with an error.
func (r *sqlReader) setClause(start int) bool {
	i := r.blank(r.pos)
	if i >= len(r.src) {
		return true
	}
	mode := SQLRows
	if w := lookupWord(r.wordAt(i)); w == wRow || w == wValue {
		mode = SQLRow
		if w == wValue {
			mode = SQLValue
		}
		i = r.blank(sqlWordEnd(r.src, i))
	}
	switch {
	case i < len(r.src) && r.src[i] == '?' && letterAt(r.src, i+1):
		after := r.blank(wordEnd(r.src, i+1))
		switch {
		case r.assigns(after):
			r.noEnd(wSet, start)
			return false
		case after < len(r.src) && r.src[after] == '=' && mode == SQLRows:
			r.errorAt(i, wordEnd(r.src, i+1), "a parameter stands for a value, not for a column: write the column's name after SET")
			return true
		}
		r.finish(start)
		r.result(start, mode)
		return false
	case mode == SQLRows && (r.src[i] == '"' || r.src[i] == '\''):
		if end := quoteEnd(r.src, i); end > 0 && lookupWord(r.wordAt(r.blank(end))) == wAs {
			r.noEnd(wSet, start)
			return false
		}
	}
	return true
}

// assigns says whether AS or an access stands at i.
func (r *sqlReader) assigns(i int) bool {
	if i >= len(r.src) {
		return false
	}
	return r.src[i] == '.' || r.src[i] == '[' || lookupWord(r.wordAt(i)) == wAs
}

// result takes the result clause at start.
func (r *sqlReader) result(start int, mode SQLMode) {
	p := r.p
	p.resetTo(start)
	p.next()
	if mode != SQLRows {
		p.next()
	}
	r.stmt.Mode = mode
	r.stmt.Result = p.variable()
	r.stmt.Stop = p.prevStop
	p.last.result = r.stmt.Result
}

// finish ends the text of the statement at end.
func (r *sqlReader) finish(end int) {
	r.flush(len(strings.TrimRightFunc(r.src[:end], unicode.IsSpace)))
	r.stmt.Stop = r.stmt.Parts[len(r.stmt.Parts)-1].Stop
	if r.p.swallowed.word == wNone {
		r.p.swallowed = r.swallowed
	}
}

// flush adds the text up to end as a part.
func (r *sqlReader) flush(end int) {
	if end > r.textStart {
		r.stmt.Parts = append(r.stmt.Parts, SQLPart{
			Span: Span{source.Pos(r.textStart), source.Pos(end)}, Text: r.src[r.textStart:end],
		})
	}
}

// Parameters.

func (r *sqlReader) question() bool {
	start := r.pos
	switch {
	case letterAt(r.src, start+1):
		end := wordEnd(r.src, start+1)
		v := &Var{Span{source.Pos(start), source.Pos(end)}, r.src[start+1 : end]}
		r.bind(r.accesses(v))
		return true
	case start+1 < len(r.src) && class[r.src[start+1]] == cDigit:
		r.pos = sqlWordEnd(r.src, start+1)
		r.errorAt(start, r.pos, "%s is no parameter here: write the variable itself, such as ?name", r.src[start:r.pos])
	default:
		r.pos++
		if i := r.blank(r.pos); i >= len(r.src) || strings.IndexByte("),;", r.src[i]) >= 0 {
			r.errorAt(start, start+1, "a bare ? is no parameter here: write the variable itself, such as ?name")
		}
	}
	r.token()
	return true
}

func (r *sqlReader) bang() bool {
	start := r.pos
	if !letterAt(r.src, start+1) {
		r.pos++
		if r.pos < len(r.src) && r.src[r.pos] == '!' {
			r.pos++ // PostgreSQL's !! before a word
		}
		r.token()
		return true
	}
	p := r.p
	p.resetTo(start)
	name := p.src[p.tok.start+1 : p.tok.stop]
	known, ok := lookupGlobal(name)
	if !ok {
		p.badGlobal(name)
	}
	g := &Global{Span: Span{p.tok.start, p.tok.stop}, Name: known}
	if i := r.blank(int(g.Stop)); i < len(r.src) && r.src[i] == '(' {
		p.enter()
		p.resetTo(i + 1)
		g.Parens = true
		if p.tok.kind != tRParen {
			g.Arg = p.expr()
		}
		g.Stop = r.closing(tRParen, i, ")")
		p.leave()
	}
	r.bind(r.accesses(g))
	return true
}

// closing returns the end of the closing bracket, without reading what stands
// behind it: that is SQL again.
func (r *sqlReader) closing(k kind, open int, what string) source.Pos {
	p := r.p
	if p.tok.kind != k {
		p.notClosed(source.Pos(open), what)
	}
	if p.tok.err != errNone {
		p.reportScan(&p.tok)
	}
	return p.tok.stop
}

// accesses reads the accesses that touch x.
func (r *sqlReader) accesses(x Expr) Expr {
	links := 0
	for {
		start, end := x.Pos(), int(x.End())
		switch {
		case end+1 < len(r.src) && r.src[end] == '.' && letterAt(r.src, end+1):
			stop := wordEnd(r.src, end+1)
			x = &FieldAccess{Span{start, source.Pos(stop)}, x, r.src[end+1 : stop]}
		case end < len(r.src) && r.src[end] == '[':
			p := r.p
			p.enter()
			p.resetTo(end + 1)
			i := p.expr()
			stop := r.closing(tRBrack, end, "]")
			p.leave()
			x = &Index{Span{start, stop}, x, i}
		default:
			return x
		}
		r.p.chain(&links)
	}
}

// bind adds a parameter as a part.
func (r *sqlReader) bind(x Expr) {
	part := SQLPart{Span: Span{x.Pos(), x.End()}, Param: x}
	top := len(r.brackets) - 1
	switch {
	case r.prev == wIn:
		part.InList = top < 0 || !r.brackets[top].position
	case r.afterIn:
		if end := r.blank(int(part.Stop)); end < len(r.src) && r.src[end] == ')' {
			r.keepComments(r.brackets[top].pos+1, int(part.Start))
			r.keepComments(int(part.Stop), end)
			part.InList, part.Parens = true, true
			part.Start, part.Stop = source.Pos(r.brackets[top].pos), source.Pos(end+1)
			r.brackets = r.brackets[:top]
		}
	}
	r.flush(int(part.Start))
	r.stmt.Parts = append(r.stmt.Parts, part)
	r.pos = int(part.Stop)
	r.textStart = r.pos
	r.token()
}

// keepComments collects the comments between the brackets of a list and its
// parameter: they are part of no text.
func (r *sqlReader) keepComments(i, end int) {
	for i < end {
		stop := r.comment(i)
		if stop == i {
			i++
			continue
		}
		r.p.scan.comments = append(r.p.scan.comments, Comment{source.Pos(i), source.Pos(stop), r.src[i:stop]})
		i = stop
	}
}

// Quotes and brackets.

// quoteEnd returns the offset after the quoted text at i, or 0 when it has no
// end.
func quoteEnd(src string, i int) int {
	quote := src[i]
	for i++; ; i++ {
		n := strings.IndexByte(src[i:], quote)
		if n < 0 {
			return 0
		}
		i += n + 1
		if i >= len(src) || src[i] != quote {
			return i
		}
	}
}

func (r *sqlReader) quoted(quote byte) {
	start := r.pos
	end := quoteEnd(r.src, start)
	if end == 0 {
		r.fail(start, start+1, "this SQL text has no end: a second %c is missing", quote)
	}
	body := r.src[start:end]
	for i := strings.IndexByte(body, '{'); i >= 0; {
		if insertionMark(body, i) == 1 {
			r.insertion(start + i)
			break
		}
		n := strings.IndexByte(body[i+1:], '{')
		if n < 0 {
			break
		}
		i += 1 + n
	}
	r.pos = end
}

// insertion refuses {?name} at i.
func (r *sqlReader) insertion(i int) {
	end := wordEnd(r.src, i+2)
	r.errorAt(i, end, "insertions do not work in SQL: write %s, without quotes and braces around it", r.src[i+1:end])
}

func (r *sqlReader) brace() {
	if insertionMark(r.src, r.pos) == 1 {
		r.insertion(r.pos)
		r.pos = wordEnd(r.src, r.pos+2)
		return
	}
	r.pos++
}

// dollar reads $tag$ … $tag$, and refuses $1 and $name.
func (r *sqlReader) dollar() {
	start := r.pos
	end := start + 1
	if end < len(r.src) && class[r.src[end]] != cDigit {
		for end < len(r.src) && (class[r.src[end]] == cLetter || class[r.src[end]] == cDigit || class[r.src[end]] == cHigh) {
			end++
		}
	}
	if end < len(r.src) && r.src[end] == '$' {
		tag := r.src[start : end+1]
		n := strings.Index(r.src[end+1:], tag)
		if n < 0 {
			r.fail(start, end+1, "this SQL text has no end: a second %s is missing", tag)
		}
		r.pos = end + 1 + n + len(tag)
		return
	}
	if end = sqlWordEnd(r.src, start+1); end > start+1 {
		r.foreignParam(start, end)
	}
	r.pos = end
}

// foreignParam refuses :name, @name, $name and $1.
func (r *sqlReader) foreignParam(start, end int) {
	name := r.src[start+1 : end]
	if !letterAt(name, 0) {
		name = "name"
	}
	r.errorAt(start, end, "%s is no parameter here: write ?%s", r.src[start:end], name)
}

func (r *sqlReader) colon() {
	start := r.pos
	r.pos++
	if r.pos >= len(r.src) {
		return
	}
	top := len(r.brackets) - 1
	switch c := r.src[r.pos]; {
	case c == ':' || c == '=': // a cast or a named argument of PostgreSQL
		r.pos++
	case top >= 0 && r.brackets[top].char == '[': // a slice
	case class[c] == cLetter || class[c] == cDigit || class[c] == cHigh:
		r.pos = sqlWordEnd(r.src, r.pos)
		r.foreignParam(start, r.pos)
	}
}

func (r *sqlReader) at() {
	start := r.pos
	r.pos++
	if before := r.src[start-1]; before == '<' || before == '@' { // operators of PostgreSQL
		return
	}
	if letterAt(r.src, r.pos) {
		r.pos = sqlWordEnd(r.src, r.pos)
		r.foreignParam(start, r.pos)
	}
}

func (r *sqlReader) closeBracket(c byte) {
	n := len(r.brackets)
	switch {
	case n == 0:
		r.errorAt(r.pos, r.pos+1, "this %c closes nothing: no bracket is open in this SQL", c)
	case (c == ')') != (r.brackets[n-1].char == '('):
		open := r.brackets[n-1]
		r.errorAt(r.pos, r.pos+1, "this %c does not close the %c of line %d", c, open.char, r.p.file.Line(source.Pos(open.pos)))
		r.brackets = r.brackets[:n-1]
	default:
		r.brackets = r.brackets[:n-1]
	}
	r.pos++
}

// The end.

// startsStatement says whether the verb before r.pos, at the start of a line,
// looks like a statement of ours rather than like a column.
func (r *sqlReader) startsStatement(verb word) bool {
	i := r.pos
	for i < len(r.src) && (r.src[i] == ' ' || r.src[i] == '\t') {
		i++
	}
	if i >= len(r.src) {
		return false
	}
	if r.startsValue(i) {
		return true
	}
	if class[r.src[i]] != cLetter {
		return verb == wEmit && (r.src[i] == '(' || r.src[i] == '[')
	}
	end := sqlWordEnd(r.src, i)
	next := lookupWord(r.src[i:end])
	called := end < len(r.src) && r.src[end] == '('
	switch verb {
	case wEmit:
		return true
	case wStart:
		return next == wSession
	case wUse:
		return next == wDatabase
	case wCall, wDefine:
		return called
	case wIf, wWhile:
		if next == wNot {
			after := r.blank(end)
			return after < len(r.src) && lookupWord(r.wordAt(after)) != wExists
		}
		return called && next != wExists
	}
	return false
}

// startsEmit says whether the EMIT before r.pos, in the middle of a line, is
// ours: no SQL has a value right after a name.
func (r *sqlReader) startsEmit() bool {
	i := r.blank(r.pos)
	return i < len(r.src) && (r.startsValue(i) || lookupWord(r.wordAt(i)) == wLine)
}

// startsValue says whether a VAR, GLOBAL, NUMBER, TEXT or map starts at i.
func (r *sqlReader) startsValue(i int) bool {
	switch c := r.src[i]; c {
	case '?', '!':
		return letterAt(r.src, i+1)
	case '\'', '"', '{':
		return true
	default:
		return class[c] == cDigit
	}
}

// noEnd reports that the word at pos starts the next statement, or that a word
// before it has ended the block already, and ends the SQL there.
func (r *sqlReader) noEnd(w word, pos int) {
	if r.swallowed.word != wNone {
		w, pos = r.swallowed.word, int(r.swallowed.pos)
	}
	r.errorAt(pos, pos+len(w.String()), "this SQL has no end: put ; before %s", w)
	r.finish(pos)
	r.p.resetTo(pos)
}

// endOfScript ends the statement with the script.
func (r *sqlReader) endOfScript() {
	switch {
	case len(r.brackets) > 0:
		open := r.brackets[0]
		if r.semicolon > 0 {
			r.pos = r.semicolon
		} else {
			r.pos = open.pos
		}
		r.fail(open.pos, open.pos+1, "this %c is not closed in its SQL statement", open.char)
	case r.begins > 0:
		r.fail(r.begin, r.begin+len("BEGIN"), "this BEGIN has no END")
	case len(r.p.blocks) > 0 && r.swallowed.word != wNone:
		r.noEnd(wEnd, r.pos)
		return
	case len(r.p.blocks) > 0:
		r.errorAt(int(r.stmt.Start), int(r.stmt.Start)+len(r.stmt.Head),
			"this SQL has no end: inside a block it ends with ; or with SET ?name")
		r.p.endMissed = true
	}
	r.finish(r.pos)
	r.p.resetTo(r.pos)
}

func (r *sqlReader) errorAt(start, end int, format string, args ...any) {
	r.p.errorAt(source.Pos(start), source.Pos(end), format, args...)
}

// fail reports an error that leaves no end to be found. Reading goes on with the
// next line.
func (r *sqlReader) fail(start, end int, format string, args ...any) {
	r.errorAt(start, end, format, args...)
	r.p.resetTo(lineEnd(r.src, max(start, r.pos)))
	panic(unwind{})
}

// checkHead refuses statements that only look like SQL.
func (r *sqlReader) checkHead() {
	i := r.blank(r.pos)
	if i >= len(r.src) {
		return
	}
	if message := sqlHabit(r.p.last.verb, r.src[i], strings.ToUpper(r.wordAt(i))); message != "" {
		r.errorAt(int(r.stmt.Start), r.pos, "%s", message)
		r.p.resetTo(i)
		panic(unwind{})
	}
}
