package syntax

import (
	"fmt"
	"strings"

	"ql/lang/source"
)

// What to say where an expression does not fit.

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
	p.noteAccess()
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
	p.noteValue()
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
		p.offerWord(t, valueHabits[p.upper(t)])
		p.fail(t.start, t.stop, "instead of %s write %s", text, valueHabits[p.upper(t)])
	}
	said, instead := NoValue(text)
	p.offer(source.UnknownWord, t, instead)
	p.fail(t.start, t.stop, "%s", said)
}

// NoValue says of a name that is neither a constant nor anything else what may have been
// meant, and what to write instead.
func NoValue(name string) (said, instead string) {
	if near := nearest(name, []string{"NULL", "TRUE", "FALSE", "CASE"}); near != "" {
		return fmt.Sprintf("%s is no value; did you mean %s? a variable is written ?%s", name, near, name), near
	}
	variable := "?" + name
	name = short(name)
	return fmt.Sprintf(`%s is no value: a variable is written ?%s, a text "%s"`, name, name, name), variable
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
		p.offer(source.UnknownGlobal, t, "!"+near)
		p.errorAt(t.start, t.stop, "there is no global !%s; did you mean !%s?", name, near)
		return
	}
	if name != strings.ToUpper(name) {
		p.errorAt(t.start, t.stop, "there is no global !%s; to negate a condition write NOT ?%s", short(name), short(name))
		return
	}
	p.fix.code = source.UnknownGlobal
	p.errorAt(t.start, t.stop, "there is no global !%s: the globals are !%s", name, strings.Join(globals[:], ", !"))
}

// badCase fails behind CASE, and what it compares, without WHEN.
func (p *parser) badCase(of Expr) {
	if of != nil {
		p.expected("WHEN", fmt.Sprintf("CASE %s WHEN value THEN a ELSE b END", short(p.src[of.Pos():of.End()])))
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
	p.noteKey()
	t := &p.tok
	switch t.kind {
	case tVar:
		p.fail(t.start, t.stop, "a key is a word or a text: for a key from a variable write SET ?map[%s] AS value", p.text(t))
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
