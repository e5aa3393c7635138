package syntax

import (
	"slices"
	"strings"

	"ql/lang/source"
)

// What to say where an object or a clause of a statement does not fit.

// missingObject says what the verb needs.
func (p *parser) missingObject(verb word) {
	p.checkToken()
	t := &p.tok
	clause := t.kind == tWord && slices.Contains(clausesOf[verb], p.upper(t))
	if clause || t.kind == tWord && (t.line || t.word.isStructure()) || t.kind == tEOF || t.kind == tSemi {
		p.fail(p.last.start, p.prevStop, "%s", objectHelp[verb])
	}
	p.badOperand()
}

// badSet fails at a SET without a variable or a key.
func (p *parser) badSet(start source.Pos) {
	p.noteVariable()
	t, next := p.tok, p.peek(1)
	switch {
	case (t.is(wRow) || t.is(wValue)) && next.kind == tVar:
		p.fail(start, next.stop, "SET %s %s takes the result of SQL and stands at its end: no ; comes before it", t.word, p.text(next))
	case t.is(wFile) && (next.isText() || next.kind == tVar || next.kind == tGlobal):
		p.fail(start, next.stop, "SET FILE takes the rows of a SELECT and stands at its end: no ; comes before it")
	case t.kind == tWord && (t.line || t.word.isStructure()), t.kind == tEOF:
		p.fail(start, p.prevStop, "SET needs a variable and a value: SET ?name AS value")
	case t.kind == tWord:
		p.offer(source.ForeignWord, &t, "?"+p.text(&t))
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
		p.offer(source.ForeignWord, &t, "AS")
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
	var sign string
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
	if p.prior.verb.isSQLHead() && p.prior.result == "" {
		p.fail(p.last.start, p.prevStop, "the ; before %s has ended the SQL: leave it out to take the result", short(left))
	}
	if p.prior.verb != wNone && p.prior.result == "" {
		p.fail(p.last.start, p.prevStop, "%s gives no result that SET could take: to set a value write %s AS value", p.prior.verb, short(left))
	}
	p.fail(p.last.start, p.prevStop, "a value is missing: %s AS value", short(left))
}

// badFor fails at a FOR without its variable, or goes on after FOR EACH.
func (p *parser) badFor() {
	p.noteVariable()
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
		p.offer(source.ForeignWord, &t, "?"+p.text(&t))
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
		p.offer(source.ForeignWord, &t, "FROM")
		p.errorAt(t.start, t.stop, "write FROM instead of =: FOR ?%s FROM 1 TO 10 DO … END", v.Name)
		p.skip()
		return true
	case t.is(wOf) || t.kind == tColon:
		p.offer(source.ForeignWord, &t, "IN")
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
	p.offer(source.ForeignWord, &t, "?"+p.text(&t))
	p.errorAt(t.start, t.stop, "a parameter starts with ?: ?%s", p.text(&t))
	p.skip()
	p.noteVar(t.start, t.stop)
	return &Var{Span{t.start, t.stop}, p.text(&t)}
}

// noResult fails at a statement that must end with SET ?name and does not.
func (p *parser) noResult(verb word, example string) {
	p.checkToken()
	t := p.tok
	if t.is(wInto) && p.peek(1).kind == tVar {
		p.offer(source.ForeignWord, &t, "SET")
		p.fail(t.start, t.stop, "write SET %s instead of INTO %s", p.text(p.peek(1)), p.text(p.peek(1)))
	}
	if t.is(wAs) && p.peek(1).kind == tVar {
		p.offer(source.ForeignWord, &t, "SET")
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
		p.offer(source.UnknownWord, t, near)
		p.fail(t.start, t.stop, "%s has no clause %s; did you mean %s?", verb, text, near)
	}
	p.fail(t.start, t.stop, "%s has no clause %s: it takes %s", verb, short(text), orList(clauses))
}

// badUnit fails behind a number that should be a time.
func (p *parser) badUnit(amount Expr) {
	p.noteWords(Units)
	p.checkToken()
	t := &p.tok
	const units = "SECONDS, MINUTES, HOURS, DAYS or WEEKS"
	if t.kind == tWord && !t.line && !t.word.isVerb() {
		text := p.upper(t)
		if habit := unitHabits[text]; habit != "" {
			p.offerWord(t, habit)
			p.fail(t.start, t.stop, "instead of %s write %s", text, habit)
		}
		if near := nearest(text, Units()); near != "" {
			p.offer(source.UnknownWord, t, near)
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
	p.noteWords(Formats)
	t := &p.tok
	if t.kind == tWord {
		p.offer(source.UnknownWord, t, nearest(p.text(t), Formats()))
		p.fail(t.start, t.stop, "%s is no format: AS takes %s%s", short(p.upper(t)), orList(Formats()), didYouMean(p.text(t), Formats()))
	}
	p.expected("a format after AS", orList(Formats()))
}

// badKind fails behind the name of a field.
func (p *parser) badKind(f *Field) {
	p.noteWords(FieldKinds)
	p.checkToken()
	t, name := &p.tok, f.Name
	if f.Quoted == nil && isVerb(name) && (t.kind != tWord || t.line) {
		p.fail(f.Start, f.Start+source.Pos(len(name)), "expected the name of a field, found the statement %s: such as name TEXT REQUIRED", strings.ToUpper(name))
	}
	if t.kind != tWord || t.line {
		p.expected("the kind of the field", short(name)+" TEXT")
	}
	text := p.upper(t)
	ofPerson := p.last.verb == wGather // see noFiles
	if habit := kindHabits[text]; habit != "" && (ofPerson || habit != "FILE") {
		p.offerWord(t, habit)
		p.fail(t.start, t.stop, "instead of %s write %s", text, habit)
	}
	kinds := FieldKinds()
	if !ofPerson {
		kinds = slices.DeleteFunc(kinds, func(kind string) bool { return kind == "FILE" })
	}
	if near := nearest(text, kinds); near != "" {
		p.offer(source.UnknownWord, t, near)
		p.fail(t.start, t.stop, "%s is no kind of field; did you mean %s?", text, near)
	}
	p.fail(t.start, t.stop, "%s is no kind of field: the kinds are %s", short(text), orList(kinds))
}

func isVerb(name string) bool {
	return slices.Contains(Verbs(), strings.ToUpper(name))
}

// afterField fails where a field is followed by neither a comma nor the end of
// the fields.
func (p *parser) afterField() {
	t := p.tok
	if t.kind != tWord && !t.isText() {
		return
	}
	// Only a GATHER must have a result: behind other fields a verb starts the
	// next statement, whatever follows it.
	switch next := p.peek(1); {
	case p.last.verb != wGather && t.word.isVerb(), t.is(wInput) && next.is(wFields):
		return
	case t.is(wInto) && next.kind == tVar && clauseTakesSet(p.last.verb):
		p.offer(source.ForeignWord, &t, "SET")
		p.fail(t.start, t.stop, "write SET %s instead of INTO %s", p.text(next), p.text(next))
	}
	if next := p.peek(1); next.kind == tWord && (next.word >= wText && next.word <= wChoices) {
		p.fail(t.start, t.stop, "a comma is missing before the field %s", strings.Trim(p.text(&t), `"'`))
	}
	if t.kind != tWord || t.word.isVerb() || t.word.isStructure() || t.word == wWithin || t.word == wTo {
		return
	}
	text := p.upper(&t)
	if text == "OPTIONAL" || text == "NULLABLE" || t.word == wNot {
		p.fail(t.start, t.stop, "a field is optional unless it is REQUIRED: leave %s out", text)
	}
	if near := nearest(text, FieldAttributes()); near != "" {
		p.offer(source.UnknownWord, &t, near)
		p.fail(t.start, t.stop, "%s is no attribute of a field; did you mean %s?", text, near)
	}
	p.fail(t.start, t.stop, "%s is no attribute of a field: the attributes are %s", short(text), orList(FieldAttributes()))
}
