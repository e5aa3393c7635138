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
	// parts are those read so far; textStart is where the text after the last
	// of them starts.
	parts     []SQLPart
	textStart int

	brackets []bracket
	// body says that the statement creates something with a body; begins is
	// how many BEGIN and CASE of that body are open, begin the first of them.
	body      bool
	begins    int
	begin     int
	beginErrs int // errors reported before begin
	cases     int // open CASE outside brackets

	sqlShape

	prev      word // the token before, where it was a word
	afterIn   bool // the token before was the bracket of IN (
	comma     bool // the token before was a comma
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
	position bool // of POSITION(… IN …)
	list     bool // of the values after IN
	order    bool // in an ORDER BY of its own
	errs     int  // errors reported before it
}

// swallowedEnd is a word that SQL without an end seems to have swallowed.
type swallowedEnd struct {
	word word
	pos  source.Pos
	errs int // errors reported before it
}

// sql reads a SQL statement; the current token is its first word.
func (p *parser) sql() Stmt {
	head := p.tok
	p.prior, p.last = p.last, lastStmt{verb: head.word, start: head.start}
	r := &p.sqls
	stmt := p.nodes.queries.new()
	stmt.Start, stmt.Head = head.start, head.word.String()
	*r = sqlReader{
		p: p, src: p.src, pos: int(head.stop), textStart: int(head.start), semicolon: -1,
		stmt: stmt, prev: head.word, words: 1,
		parts: r.parts[:0], brackets: r.brackets[:0],
	}
	p.ahead = p.ahead[:0]
	p.scan.reset(int(head.stop)) // forget what a look ahead has met: it is SQL
	r.checkHead()
	r.clause(head.word, r.stmt.Head, false)
	for r.step() {
	}
	r.stmt.Parts, r.parts = p.nodes.sqls.take(r.parts, 0)
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
		r.complete = true
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
	case '[':
		r.bracketed()
	case '(':
		in := r.prev == wIn
		r.brackets = append(r.brackets, bracket{pos: r.pos, position: r.prev == wPosition, list: in, errs: len(r.p.errs)})
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
		if i := r.spaces(r.pos + 1); i < len(r.src) && (r.src[i] == '?' || r.src[i] == '!') && letterAt(r.src, i+1) {
			r.choice(i)
			return true
		}
		r.pos++
	default:
		r.pos++
	}
	r.token()
	r.comma = c == ','
	r.term = r.comma && *r.terms()
	r.complete = c == ')' || c == '\'' || c == '"' || c == '`' || c == ']'
	return true
}

// token notes that a token other than a word was read.
func (r *sqlReader) token() {
	r.prev, r.lineStart, r.afterIn, r.comma = wNone, false, false, false
	r.orderWord, r.term, r.complete = false, false, false
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
	text := r.src[start:r.pos]
	w := lookupWord(text)
	lineStart, ordered := r.lineStart, r.orderWord
	r.trackBody(w, start)
	if r.afterIn && (w.isSQLHead() || strings.EqualFold(text, "VALUES")) {
		r.brackets[len(r.brackets)-1].list = false // it is a query
	}
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
		case w.isSQLHead() && r.nextStatement(w):
			r.noEnd(w, start)
			return false
		default:
			r.trackCase(w, start, lineStart)
		}
	}
	r.token()
	r.prev = w
	r.words++
	r.clause(w, text, ordered)
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
			r.begins, r.begin, r.beginErrs = 1, start, len(r.p.errs)
		}
	case w == wBegin || w == wCase:
		r.begins++
	case w == wEnd:
		r.begins--
	}
}

// trackCase follows CASE … END and remembers an END, ELSE, CATCH or FINALLY that
// belongs to no CASE.
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
	case wElse, wCatch, wFinally:
		if r.cases > 0 {
			return
		}
	default:
		return
	}
	if lineStart && len(r.p.blocks) > 0 && r.swallowed.word == wNone && !r.body {
		r.swallowed = swallowedEnd{w, source.Pos(start), len(r.p.errs)}
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
	switch w := lookupWord(r.wordAt(i)); w {
	case wFile:
		return r.setFile(start, r.blank(sqlWordEnd(r.src, i)))
	case wRow, wValue:
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

// setFile looks at SET FILE, behind which i is. Only before a path are the two words ours: a
// column may be called file.
func (r *sqlReader) setFile(start, i int) bool {
	if i >= len(r.src) {
		return true
	}
	switch c := r.src[i]; {
	case c == '"' || c == '\'':
	case (c == '?' || c == '!') && letterAt(r.src, i+1):
	default:
		return true
	}
	if r.verb != wNone && r.verb != wSelect {
		r.errorAt(start, i, "SET FILE takes the rows of a SELECT, and this is %s: what it returns is taken with SET ?rows, and written with WRITE ?rows TO \"/out.csv\"", r.verb)
	}
	r.finish(start)
	p := r.p
	p.resetTo(start)
	p.next()
	p.next()
	r.stmt.Mode = SQLFile
	r.stmt.File = p.expr()
	p.last.file = true
	r.stmt.Stop = p.prevStop
	return false
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
	p.last.result = r.stmt.Result.Name
}

// finish ends the text of the statement at end.
func (r *sqlReader) finish(end int) {
	r.flush(len(strings.TrimRightFunc(r.src[:end], unicode.IsSpace)))
	r.stmt.Stop = r.parts[len(r.parts)-1].Stop
	if r.p.swallowed.word == wNone {
		r.p.swallowed = r.swallowed
	}
}

// cut takes back what was read from pos on.
func (r *sqlReader) cut(pos int) {
	for n := len(r.parts); n > 0 && int(r.parts[n-1].Stop) > pos; n-- {
		r.textStart = int(r.parts[n-1].Start)
		r.parts = r.parts[:n-1]
	}
}

// flush adds the text up to end as a part.
func (r *sqlReader) flush(end int) {
	if end > r.textStart {
		r.parts = append(r.parts, SQLPart{
			Span: Span{source.Pos(r.textStart), source.Pos(end)}, Text: r.src[r.textStart:end],
		})
	}
}

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
		return next == wSession || next == wScript
	case wRun:
		return next == wScript
	case wFetch:
		return next == wAll
	case wWait:
		return next == wFor
	case wUse:
		return next == wDatabase
	case wImport:
		return next == wFile
	case wMail:
		return next == wTo
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
	if i >= len(r.src) {
		return false
	}
	next := lookupWord(r.wordAt(i))
	return r.startsValue(i) || next == wLine || next == wJSON
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
		r.p.forgetErrors(r.swallowed.errs)
		r.cut(pos)
	}
	r.p.fix = fix{source.MissingEnd, source.Pos(pos), source.Pos(pos), "; "}
	r.errorAt(pos, pos+len(w.String()), "this SQL has no end: put ; before %s", w)
	r.finish(pos)
	r.p.resetTo(pos)
}

// endOfScript ends the statement with the script.
func (r *sqlReader) endOfScript() {
	r.p.noteSQL(r.stmt)
	switch {
	case len(r.brackets) > 0:
		open := r.brackets[0]
		r.p.forgetErrors(open.errs)
		if r.semicolon > 0 {
			r.pos = r.semicolon
		} else {
			r.pos = open.pos
		}
		r.fail(open.pos, open.pos+1, "this ( is not closed in its SQL statement")
	case r.begins > 0:
		r.p.forgetErrors(r.beginErrs)
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
