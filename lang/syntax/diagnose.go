package syntax

import (
	"strings"

	"ql/lang/source"
)

// What to say where the grammar does not fit. The functions named bad… and
// missing… fail, save where their comment says that they go on.

// foreignBlockWord returns which word of ours the current word stands for by
// habit: END for ENDIF, ELSE for ELSEIF, CATCH for EXCEPT.
func (p *parser) foreignBlockWord() word {
	if p.peek(1).kind == tLParen {
		if w := foreignBlockWords[p.upper(&p.tok)]; w == wElse {
			return w
		}
		return wNone
	}
	return foreignBlockWords[p.upper(&p.tok)]
}

// strayWord reports a word that ends blocks where no block waits for it, and
// goes on behind it.
func (p *parser) strayWord() {
	t := p.tok
	w := t.word
	if w == wNone {
		w = p.foreignBlockWord()
	}
	switch w {
	case wEnd:
		if p.strayEnds > 0 {
			p.strayEnds--
			break
		}
		p.errorAt(t.start, t.stop, "this END closes nothing: no block is open here")
	case wElse:
		p.errorAt(t.start, t.stop, "this ELSE belongs to no IF: %s", p.elseHint())
		if p.last.verb == wIf && !p.peek(1).is(wIf) {
			p.strayEnds++
		}
	default:
		p.errorAt(t.start, t.stop, "this CATCH belongs to no TRY: write TRY … CATCH ?err … END")
		p.strayEnds++
		if p.peek(1).kind == tVar {
			p.skip()
		}
	}
	p.skip()
}

func (p *parser) elseHint() string {
	switch {
	case p.last.verb == wIf:
		return "the END before it has closed the IF"
	case len(p.blocks) > 0 && p.blocks[len(p.blocks)-1].verb == wIf:
		return "the IF has its ELSE already"
	}
	return "write IF … THEN … ELSE … END"
}

// endWithVerb reports END IF and its like, and goes on.
func (p *parser) endWithVerb(open opener) {
	t := p.tok
	if t.kind != tWord || t.line {
		return
	}
	next := p.peek(1)
	apart := next.line || next.kind == tEOF || next.kind == tSemi || next.kind == tWord && next.word.isStructure()
	if !apart {
		return
	}
	switch {
	case (t.word == wIf || t.word == wWhile) && !p.startsExprAt(next), t.word == wFor && next.kind != tVar,
		t.word == wCase, t.word == wFunction, t.word == wProcedure,
		t.word == wNone && equalFold(p.text(&t), "LOOP"):
		p.errorAt(t.start, t.stop, "write END instead of END %s: END alone closes the %s", p.upper(&t), open.verb)
		p.skip()
	}
}

// startsExprAt says whether the token may start an expression; of a word that
// might be a function's name it says yes.
func (p *parser) startsExprAt(t *token) bool {
	switch t.kind {
	case tVar, tGlobal, tNumber, tText, tTextHead, tLParen, tLBrack, tLBrace, tMinus:
		return true
	case tWord:
		return t.word == wNot || t.word == wCase || t.word == wNull || t.word == wTrue || t.word == wFalse ||
			t.word == wHTML || t.word.canName()
	}
	return false
}

// openingBrace reports a brace, a colon or BEGIN at the start of a block, and
// goes on.
func (p *parser) openingBrace(open *opener) {
	switch {
	case p.tok.kind == tLBrace:
		if !open.braces {
			p.errorAt(p.tok.start, p.tok.stop, "blocks have no braces: a block of %s ends with END", open.verb)
		}
		open.braces = true
		p.skip()
	case p.tok.kind == tColon:
		p.errorAt(p.tok.start, p.tok.stop, "no colon starts a block: it ends with END")
		p.skip()
	case p.is(wBegin):
		p.errorAt(p.tok.start, p.tok.stop, "blocks have no BEGIN: a block of %s ends with END", open.verb)
		p.strayEnds++
		p.skip()
	}
}

// badOpening reports that THEN or DO is missing, and goes on in the block.
func (p *parser) badOpening(open *opener, w word) {
	t := p.tok
	shape := "IF condition THEN … END"
	switch open.verb {
	case wFor:
		shape = "FOR ?x IN ?list DO … END"
	case wWhile:
		shape = "WHILE condition DO … END"
	}
	switch {
	case t.kind == tLBrace:
		p.errorAt(t.start, t.stop, "blocks have no braces: write %s", shape)
		open.braces = true
		p.skip()
	case t.kind == tColon, t.is(wThen), t.is(wDo), t.is(wBegin):
		p.errorAt(t.start, t.stop, "expected %s, found %s: write %s", w, p.describe(&t), shape)
		p.skip()
	case t.line || t.kind == tEOF || t.kind == tWord && t.word.isVerb():
		pos, end := p.missingAt()
		p.errorAt(pos, end, "expected %s, found %s: write %s", w, p.describe(&t), shape)
	default:
		p.guard(w, func() { p.expected(w.String(), shape) })
		if !p.got(w) && p.tok.kind == tLBrace {
			open.braces = true
			p.skip()
		}
	}
}

// catchWord takes CATCH. It reports false where there is none.
func (p *parser) catchWord(open opener) bool {
	switch {
	case p.got(wCatch):
		return true
	case p.tok.kind == tWord && p.tok.word == wNone && p.foreignBlockWord() == wCatch:
		t := p.tok
		if name := p.upper(&t); name == "FINALLY" || name == "ENSURE" {
			p.errorAt(t.start, t.stop, "there is no %s: what shall always happen stands after the END of TRY … CATCH … END", name)
		} else {
			p.errorAt(t.start, t.stop, "write CATCH ?err instead of %s", name)
		}
		for !p.peek(1).line && p.peek(1).kind != tEOF {
			p.skip()
		}
		p.skip()
		return true
	case p.tok.kind == tEOF:
		p.end(open)
	default:
		p.errorAt(open.start, open.start+3, "this TRY has no CATCH: write TRY … CATCH ?err … END")
		p.end(open)
	}
	return false
}

// catchVar reads the variable of CATCH, and goes on after a foreign one.
func (p *parser) catchVar(s *Try) {
	t := p.tok
	switch {
	case t.kind == tVar:
		s.Err = p.variable()
	case t.kind == tLParen && !t.line:
		p.errorAt(t.start, t.stop, "CATCH takes a variable without brackets: CATCH ?err")
		p.skipBrackets()
	case t.kind == tWord && t.word == wNone && !t.line && p.peek(1).kind != tLParen && verbHabits[p.upper(&t)] == "":
		p.errorAt(t.start, t.stop, "a variable starts with ?: CATCH ?%s", p.text(&t))
		p.skip()
	}
}

// skipBrackets skips from a bracket behind the one that closes it, on one line.
func (p *parser) skipBrackets() {
	for depth := 0; p.tok.kind != tEOF; {
		switch p.tok.kind {
		case tLParen:
			depth++
		case tRParen:
			depth--
		}
		p.skip()
		if depth == 0 || p.tok.line {
			return
		}
	}
}

// missingObject says what the verb needs.
func (p *parser) missingObject(verb word) {
	p.checkToken()
	t := &p.tok
	if t.kind == tWord && (t.line || t.word.isStructure()) || t.kind == tEOF || t.kind == tSemi {
		p.fail(p.last.start, p.prevStop, "%s", objectHelp[verb])
	}
	p.badOperand()
}

// badSet fails at a SET without a variable or a key.
func (p *parser) badSet(start source.Pos) {
	t, next := p.tok, p.peek(1)
	switch {
	case (t.is(wRow) || t.is(wValue)) && next.kind == tVar:
		p.fail(start, next.stop, "SET %s %s takes the result of SQL and stands at its end: no ; comes before it", t.word, p.text(next))
	case t.kind == tWord:
		p.fail(t.start, t.stop, "a variable starts with ?: SET ?%s AS value", p.text(&t))
	case t.kind == tGlobal:
		name := p.upper(&t)
		p.fail(t.start, t.stop, `a value of %s is set with SET "key" AS value OF %s`, name, name)
	}
	p.expected("a variable or a key", `SET ?name AS value or SET "key" AS value OF ?map`)
}

// assign takes the AS of a SET. Other ways to write it are reported, and
// reading goes on.
func (p *parser) assign() {
	if p.got(wAs) {
		return
	}
	t := p.tok
	left := p.src[p.last.start:p.prevStop]
	switch {
	case t.kind == tEq || t.is(wTo):
		p.errorAt(t.start, t.stop, "write AS instead of %s: %s AS %s", p.text(&t), short(left), p.valueAfter(t.stop))
		p.skip()
		return
	case t.kind == tColon && p.peek(1).kind == tEq:
		p.errorAt(t.start, t.stop, "write AS instead of :=: %s AS %s", short(left), p.valueAfter(t.stop))
		p.skip()
		p.skip()
		return
	case t.kind == tComma:
		p.fail(t.start, t.stop, "SET sets one variable at a time: %s AS value", short(left))
	case p.compound() != "":
		target := strings.TrimSpace(left[len("SET"):])
		p.fail(t.start, t.stop, "write the whole sum: SET %s AS %s %s", target, target, p.compound())
	case t.kind == tEOF || t.kind == tSemi || t.line || t.kind == tWord && (t.word.isVerb() || t.word.isStructure()):
		p.loneSet(left)
	}
	p.expected("AS", short(left)+" AS value")
}

// compound says how x += 1 and its like go on after "SET ?x AS ?x".
func (p *parser) compound() string {
	sign := ""
	switch p.tok.kind {
	case tPlus:
		sign = "+"
	case tMinus:
		sign = "-"
	case tStar:
		sign = "*"
	case tSlash:
		sign = "/"
	default:
		return ""
	}
	switch next := p.peek(1); {
	case next.kind == tEq:
		return sign + " value"
	case next.kind == p.tok.kind && next.start == p.tok.stop:
		return sign + " 1"
	}
	return ""
}

// loneSet fails at SET ?x without AS that takes no result.
func (p *parser) loneSet(left string) {
	if p.prior.verb.isSQLHead() && p.prior.result == nil {
		p.fail(p.last.start, p.prevStop, "the ; before %s has ended the SQL: leave it out to take the result", short(left))
	}
	if p.prior.verb != wNone && p.prior.result == nil {
		p.fail(p.last.start, p.prevStop, "%s gives no result that SET could take: to set a value write %s AS value", p.prior.verb, short(left))
	}
	p.fail(p.last.start, p.prevStop, "a value is missing: %s AS value", short(left))
}

// badFor fails at a FOR without its variable, or goes on after FOR EACH.
func (p *parser) badFor(start source.Pos) {
	t := p.tok
	const shapes = "FOR ?x IN ?list DO … END or FOR ?i FROM 1 TO 10 DO … END"
	switch {
	case t.kind == tWord && equalFold(p.text(&t), "EACH"):
		p.errorAt(t.start, t.stop, "write FOR instead of FOR EACH: FOR ?x IN ?list DO … END")
		p.skip()
		if p.tok.kind == tVar {
			return
		}
		panic(unwind{})
	case t.kind == tLParen:
		p.errorAt(t.start, t.stop, "a loop is written in another way: %s", shapes)
		p.skipBrackets()
		panic(unwind{})
	case t.kind == tWord && t.word == wNone:
		p.errorAt(t.start, t.stop, "a variable starts with ?: FOR ?%s IN ?list DO … END", p.text(&t))
		p.skip()
		panic(unwind{})
	}
	p.expected("a variable", shapes)
}

// badForIn fails behind the variable of a FOR, or goes on where it is clear what
// was meant. It reports whether a range follows.
func (p *parser) badForIn(v *Var) (rng bool) {
	t := p.tok
	switch {
	case t.kind == tEq:
		p.errorAt(t.start, t.stop, "write FROM instead of =: FOR ?%s FROM 1 TO 10 DO … END", v.Name)
		p.skip()
		return true
	case t.is(wOf) || t.kind == tColon:
		p.errorAt(t.start, t.stop, "write IN instead of %s: FOR ?%s IN ?list DO … END", p.text(&t), v.Name)
		p.skip()
		return false
	}
	p.expected("IN or FROM", "FOR ?"+v.Name+" IN ?list DO … END or FOR ?"+v.Name+" FROM 1 TO 10 DO … END")
	return false
}

// badParam reads a parameter that is not a VAR: one without its "?" is reported,
// and reading goes on.
func (p *parser) badParam() *Var {
	t := p.tok
	if t.kind != tWord || t.err != errNone {
		p.expected("a parameter such as ?name, or )", "")
	}
	p.errorAt(t.start, t.stop, "a parameter starts with ?: ?%s", p.text(&t))
	p.skip()
	return &Var{Span{t.start, t.stop}, p.text(&t)}
}

// badIs fails behind IS.
func (p *parser) badIs(not bool) {
	p.checkToken()
	op := "="
	if not {
		op = "!="
	}
	p.fail(p.tok.start, p.tok.stop, "expected NULL or NOT NULL after IS, found %s: to compare values write %s", p.describe(&p.tok), op)
}

// chainedComparison reports 1 < ?x < 3, and goes on.
func (p *parser) chainedComparison(x Expr) {
	t := p.tok
	middle := "b"
	left := "a < b"
	if b, ok := x.(*Binary); ok && b.Stop-b.Start < 40 {
		left = p.src[b.Start:b.Stop]
		middle = p.src[b.Y.Pos():b.Y.End()]
	}
	p.errorAt(t.start, t.stop, "comparisons do not chain: write %s AND %s %s …", left, middle, p.text(&t))
}

// badField fails behind "." where no name follows.
func (p *parser) badField() {
	t := &p.tok
	switch {
	case t.kind == tNumber:
		p.fail(t.start, t.stop, "an item of a list is written with brackets: ?list[%s]", p.text(t))
	case t.kind == tVar:
		p.fail(t.start, t.stop, "a key from a variable is written with brackets: ?map[%s]; texts are joined with +", p.text(t))
	case t.isText():
		p.fail(t.start, t.stop, `a key in quotes is written with brackets: ?row["unit price"]; texts are joined with +`)
	}
	p.expected("a name after the dot", "")
}

// badOperand fails where a value should stand.
func (p *parser) badOperand() {
	p.checkToken()
	t := &p.tok
	if p.prevKind == tEq && p.prevStop == t.start && (t.kind == tLt || t.kind == tGt) {
		p.fail(t.start-1, t.stop, "write %s= instead of =%s", p.text(t), p.text(t))
	}
	if t.kind != tWord {
		p.expected("a value", "")
	}
	text := p.text(t)
	next := p.peek(1)
	switch w := t.word; {
	case w == wNot:
		p.fail(t.start, t.stop, "NOT needs brackets here: (NOT …)")
	case w == wHTML:
		p.fail(t.start, t.stop, `HTML stands before a text: HTML "<b>{?name}</b>"; a value is escaped with HTML_ESCAPE(?name)`)
	case t.line || w.isStructure() || w.isOperator():
		p.expected("a value", "")
	case w == wIf:
		p.fail(t.start, t.stop, "IF is a statement: as a value write CASE WHEN condition THEN a ELSE b END")
	case w.isSQLHead() && w != wReplace && (w == wSelect || text == p.upper(t)):
		p.fail(t.start, t.stop, "%s is a statement, not a value: write %s … SET VALUE ?name before this statement, and ?name here", w, w)
	case w.isVerb() && clauseTakesSet(w):
		p.fail(t.start, t.stop, "%s is a statement, not a value: write %s … SET ?name before this statement, and ?name here", w, w)
	case w.isVerb() && text == p.upper(t):
		p.expected("a value", "")
	case next.kind == tArrow:
		p.fail(t.start, t.stop, "the parameter of a function starts with ?: ?%s -> …", text)
	case valueHabits[p.upper(t)] != "":
		p.fail(t.start, t.stop, "instead of %s write %s", text, valueHabits[p.upper(t)])
	}
	if near := nearest(text, []string{"NULL", "TRUE", "FALSE", "CASE"}); near != "" {
		p.fail(t.start, t.stop, "%s is no value; did you mean %s? a variable is written ?%s", text, near, text)
	}
	p.fail(t.start, t.stop, `%s is no value: a variable is written ?%s, a text "%s"`, short(text), short(text), short(text))
}

// clauseTakesSet says whether the statement may end with SET ?name.
func clauseTakesSet(w word) bool {
	c := clausesOf[w]
	return len(c) > 0 && strings.HasPrefix(c[len(c)-1], "SET")
}

// badGlobal reports an unknown global, and goes on.
func (p *parser) badGlobal(name string) {
	t := &p.tok
	if near := nearest(name, globals[:]); near != "" {
		p.errorAt(t.start, t.stop, "there is no global !%s; did you mean !%s?", name, near)
		return
	}
	if name != strings.ToUpper(name) {
		p.errorAt(t.start, t.stop, "there is no global !%s; to negate a condition write NOT ?%s", short(name), short(name))
		return
	}
	p.errorAt(t.start, t.stop, "there is no global !%s: the globals are !%s", name, strings.Join(globals[:], ", !"))
}

// badCase fails behind CASE without WHEN.
func (p *parser) badCase() {
	if p.startsExpr() {
		p.fail(p.tok.start, p.tok.stop, "CASE is followed by WHEN and a condition: CASE WHEN %s = … THEN … END", p.describe(&p.tok))
	}
	p.expected("WHEN", "CASE WHEN condition THEN a ELSE b END")
}

// noCaseEnd fails where a CASE goes on in no way it could.
func (p *parser) noCaseEnd(start source.Pos, hasElse bool) {
	p.checkToken()
	want := "WHEN, ELSE or END"
	if hasElse {
		want = "END"
	}
	if p.tok.line || p.tok.kind == tEOF {
		p.fail(start, start+source.Pos(len("CASE")), "this CASE has no END")
	}
	p.expected(want+" of the CASE", "")
}

// badKey fails where the key of a map should stand.
func (p *parser) badKey() {
	t := &p.tok
	switch t.kind {
	case tVar:
		p.fail(t.start, t.stop, `a key is a word or a text: for a key from a variable write {"{%s}": value}`, p.text(t))
	case tNumber:
		p.fail(t.start, t.stop, `a key is a word or a text: {"%s": value}`, p.text(t))
	}
	p.expected(`a key such as name or "name"`, "")
}

// noColon fails behind the key of a map.
func (p *parser) noColon(key string) {
	t := &p.tok
	if t.kind == tEq || t.kind == tArrow {
		p.fail(t.start, t.stop, "a colon stands after a key: {%s: value}", short(key))
	}
	p.expected("a colon after the key", "{"+short(key)+": value}")
}

// noResult fails at a statement that must end with SET ?name and does not.
func (p *parser) noResult(verb word, example string) {
	p.checkToken()
	t := p.tok
	if t.is(wInto) && p.peek(1).kind == tVar {
		p.fail(t.start, t.stop, "write SET %s instead of INTO %s", p.text(p.peek(1)), p.text(p.peek(1)))
	}
	if t.is(wAs) && p.peek(1).kind == tVar {
		p.fail(t.start, t.stop, "write SET %s instead of AS %s", p.text(p.peek(1)), p.text(p.peek(1)))
	}
	if t.is(wSet) && !t.line && p.peek(1).kind == tVar && p.peek(2).is(wAs) {
		name := p.text(p.peek(1))
		if _, ok := p.peek(3).word.format(); ok && verb == wRead {
			f := p.peek(3).word
			p.fail(t.start, t.stop, "the result is always last: write READ … AS %s SET %s", f, name)
		}
	}
	if t.kind == tWord && !t.line && !t.word.isVerb() && !t.word.isStructure() {
		p.badClause(verb)
	}
	p.fail(p.last.start, p.last.start+source.Pos(len(verb.String())), "%s needs a variable for its result: %s", verb, example)
}

// badClause fails at a word that is no clause of the verb.
func (p *parser) badClause(verb word) {
	t := &p.tok
	text := p.upper(t)
	clauses := clausesOf[verb]
	if near := nearest(text, clauses); near != "" && near != text {
		p.fail(t.start, t.stop, "%s has no clause %s; did you mean %s?", verb, text, near)
	}
	p.fail(t.start, t.stop, "%s has no clause %s: it takes %s", verb, short(text), orList(clauses))
}

// badUnit fails behind a number that should be a time.
func (p *parser) badUnit(amount Expr) {
	p.checkToken()
	t := &p.tok
	const units = "SECONDS, MINUTES, HOURS, DAYS or WEEKS"
	if t.kind == tWord && !t.line && !t.word.isVerb() {
		text := p.upper(t)
		if habit := unitHabits[text]; habit != "" {
			p.fail(t.start, t.stop, "instead of %s write %s", text, habit)
		}
		if near := nearest(text, Units()); near != "" {
			p.fail(t.start, t.stop, "%s is no unit of time; did you mean %s?", text, near)
		}
		if t.word == wNone {
			p.fail(t.start, t.stop, "%s is no unit of time: write %s", text, units)
		}
	}
	p.fail(amount.Pos(), amount.End(), "a unit of time is missing: write %s SECONDS; the units are %s", short(p.src[amount.Pos():amount.End()]), units)
}

// badFormat fails behind AS.
func (p *parser) badFormat() {
	t := &p.tok
	if t.kind == tWord {
		p.fail(t.start, t.stop, "%s is no format: AS takes %s%s", short(p.upper(t)), orList(Formats()), didYouMean(p.text(t), Formats()))
	}
	p.expected("a format after AS", orList(Formats()))
}

// badKind fails behind the name of a field.
func (p *parser) badKind(name string) {
	p.checkToken()
	t := &p.tok
	if t.kind != tWord || t.line {
		p.expected("the kind of the field", short(name)+" TEXT")
	}
	text := p.upper(t)
	if habit := kindHabits[text]; habit != "" {
		p.fail(t.start, t.stop, "instead of %s write %s", text, habit)
	}
	if near := nearest(text, FieldKinds()); near != "" {
		p.fail(t.start, t.stop, "%s is no kind of field; did you mean %s?", text, near)
	}
	p.fail(t.start, t.stop, "%s is no kind of field: the kinds are %s", short(text), orList(FieldKinds()))
}

// afterField fails where a field is followed by neither a comma nor the end of
// the fields.
func (p *parser) afterField(f *Field) {
	t := p.tok
	if t.kind != tWord && !t.isText() {
		return
	}
	if next := p.peek(1); next.kind == tWord && (next.word >= wText && next.word <= wChoices) {
		p.fail(t.start, t.stop, "a comma is missing before the field %s", strings.Trim(p.text(&t), `"'`))
	}
	if t.kind != tWord || t.word.isVerb() || t.word.isStructure() || t.word == wWithin {
		return
	}
	text := p.upper(&t)
	if text == "OPTIONAL" || text == "NULLABLE" || t.word == wNot {
		p.fail(t.start, t.stop, "a field is optional unless it is REQUIRED: leave %s out", text)
	}
	if near := nearest(text, FieldAttributes()); near != "" {
		p.fail(t.start, t.stop, "%s is no attribute of a field; did you mean %s?", text, near)
	}
	p.fail(t.start, t.stop, "%s is no attribute of a field: the attributes are %s", short(text), orList(FieldAttributes()))
}
