package syntax

import (
	"math"
	"strconv"
	"strings"

	"ql/lang/source"
)

// Levels of binding, loosest first.
const (
	levelOr = iota + 1
	levelAnd
	levelNot
	levelCompare
	levelSum
	levelProduct
	levelDefault
)

// operator is a binary operator and how tightly it binds; level 0 is none.
type operator struct {
	level uint8
	op    Op
}

var kindOps = [...]operator{
	tEq: {levelCompare, OpEq}, tNe: {levelCompare, OpNe},
	tLt: {levelCompare, OpLt}, tLe: {levelCompare, OpLe},
	tGt: {levelCompare, OpGt}, tGe: {levelCompare, OpGe},
	tPlus: {levelSum, OpAdd}, tMinus: {levelSum, OpSub},
	tStar: {levelProduct, OpMul}, tSlash: {levelProduct, OpDiv}, tPercent: {levelProduct, OpMod},
	tSemi: {},
}

var wordOps = [wordCount]operator{
	wOr: {levelOr, OpOr}, wAnd: {levelAnd, OpAnd},
	wIn: {levelCompare, OpIn}, wIs: {levelCompare, OpEq},
	wLike: {levelCompare, OpLike}, wBetween: {levelCompare, OpBetween},
	wDiv: {levelProduct, OpIntDiv}, wDefault: {levelDefault, OpDefault},
}

// operator returns the binary operator that the current token is.
func (p *parser) operator() operator {
	if p.tok.kind != tWord {
		if p.tok.kind == tEOF {
			p.noteOperator()
		}
		return kindOps[p.tok.kind]
	}
	if p.tok.word == wNot {
		switch next := p.peek(1); {
		case next.is(wIn):
			return operator{levelCompare, OpNotIn}
		case next.is(wLike):
			return operator{levelCompare, OpNotLike}
		case next.is(wBetween):
			return operator{levelCompare, OpNotBetween}
		}
	}
	return wordOps[p.tok.word]
}

// expr reads an expression.
func (p *parser) expr() Expr { return p.binary(levelOr) }

// sum reads an expression without comparisons and logic.
func (p *parser) sum() Expr { return p.binary(levelSum) }

// binary reads operands joined by operators that bind at least as tightly as
// the level.
func (p *parser) binary(level uint8) Expr {
	var x Expr
	if p.is(wNot) && level <= levelNot {
		x = p.not()
	} else {
		x = p.unary()
	}
	links := 0
	for {
		o := p.operator()
		if o.level < level || o.level == 0 {
			return x
		}
		p.chain(&links)
		if o.level == levelCompare {
			x = p.comparison(x, o.op)
			continue
		}
		pos := p.tok.start
		p.next()
		y := p.binary(o.level + 1)
		x = p.newBinary(o.op, pos, x, y)
	}
}

func (p *parser) newBinary(op Op, pos source.Pos, x, y Expr) *Binary {
	b := p.nodes.binaries.new()
	*b = Binary{Span{x.Pos(), y.End()}, op, pos, x, y}
	return b
}

func (p *parser) not() Expr {
	start := p.tok.start
	p.enter()
	p.next()
	x := p.binary(levelNot)
	p.leave()
	return &Unary{Span{start, x.End()}, OpNot, x}
}

// comparison reads the operator and the right side of x compared with y.
func (p *parser) comparison(x Expr, op Op) Expr {
	pos := p.tok.start
	switch {
	case p.is(wIs):
		p.next()
		not := p.got(wNot)
		if !p.got(wNull) {
			p.badIs(not)
		}
		x = &IsNull{Span{x.Pos(), p.prevStop}, x, not}
	case op == OpBetween || op == OpNotBetween:
		not := p.got(wNot)
		p.next()
		low := p.sum()
		p.need(wAnd, "?x BETWEEN 1 AND 10")
		high := p.sum()
		x = &Between{Span{x.Pos(), high.End()}, pos, x, low, high, not}
	default:
		if op == OpNotIn || op == OpNotLike {
			p.next()
		}
		p.next()
		y := p.sum()
		x = p.newBinary(op, pos, x, y)
	}
	if p.operator().level == levelCompare {
		p.chainedComparison(x)
	}
	return x
}

// unary reads -x or an operand.
func (p *parser) unary() Expr {
	if p.tok.kind != tMinus {
		return p.postfix()
	}
	start := p.tok.start
	p.enter()
	p.next()
	x := p.unary()
	p.leave()
	return &Unary{Span{start, x.End()}, OpNeg, x}
}

// postfix reads an operand with accesses.
func (p *parser) postfix() Expr {
	x := p.primary()
	links := 0
	for {
		switch p.tok.kind {
		case tDot:
			p.chain(&links)
			p.next()
			name := p.fieldName()
			x = p.newAccess(x, name, p.prevStop)
		case tLBrack:
			p.chain(&links)
			i := p.index()
			x = &Index{Span{x.Pos(), p.prevStop}, x, i}
		default:
			return x
		}
	}
}

func (p *parser) newAccess(x Expr, name string, stop source.Pos) *FieldAccess {
	f := p.nodes.accesses.new()
	*f = FieldAccess{Span{x.Pos(), stop}, x, name}
	return f
}

// fieldName takes the WORD after ".": any word.
func (p *parser) fieldName() string {
	if p.tok.kind != tWord {
		p.badField()
	}
	name := p.text(&p.tok)
	p.next()
	return name
}

// index reads [expr].
func (p *parser) index() Expr {
	open := p.tok.start
	p.enter()
	p.next()
	if p.tok.kind == tRBrack {
		p.fail(p.tok.start, p.tok.stop, "the index is missing between [ and ]: to add to a list write APPEND value TO ?list")
	}
	i := p.expr()
	p.closing(tRBrack, open, "]")
	p.leave()
	return i
}

// closing takes the closing bracket of the one at open.
func (p *parser) closing(k kind, open source.Pos, what string) {
	if p.tok.kind != k {
		p.notClosed(open, what)
	}
	p.next()
}

// mayStartExpr says whether the token can start an expression, by itself: a word
// also needs the right token behind it.
func (t *token) mayStartExpr() bool {
	switch t.kind {
	case tVar, tGlobal, tNumber, tText, tTextHead, tLParen, tLBrack, tLBrace, tMinus:
		return true
	case tWord:
		switch t.word {
		case wNull, wTrue, wFalse, wNot, wCase, wHTML:
			return true
		}
		return t.word.canName()
	}
	return false
}

// startsExpr says whether an expression starts at the current token.
func (p *parser) startsExpr() bool {
	t := &p.tok
	switch {
	case !t.mayStartExpr():
		p.noteValue()
		return false
	case t.is(wHTML):
		return p.peek(1).isText()
	case t.kind == tWord && t.word.canName():
		return p.startsCall() || p.startsMember() || !t.line && p.startsName()
	}
	return true
}

// startsCall says whether the current word, which can name a function, is
// followed by its arguments.
func (p *parser) startsCall() bool {
	if p.tok.word == wCheck {
		return p.touchesParen()
	}
	return p.peek(1).kind == tLParen
}

// touchesParen says whether a ( stands right behind the current token.
func (p *parser) touchesParen() bool {
	next := p.peek(1)
	return next.kind == tLParen && next.start == p.tok.stop
}

// primary reads an operand.
func (p *parser) primary() Expr {
	start := p.tok.start
	switch p.tok.kind {
	case tVar:
		return p.variable()
	case tNumber:
		return p.number()
	case tText, tTextHead:
		return p.textLit(false)
	case tGlobal:
		return p.global()
	case tLParen:
		p.enter()
		p.next()
		x := p.expr()
		if p.tok.kind == tComma {
			p.fail(start, start+1, "a list stands in square brackets: [%s, …]", short(p.src[x.Pos():x.End()]))
		}
		p.closing(tRParen, start, ")")
		p.leave()
		return &Paren{p.span(start), x}
	case tLBrack:
		return p.listLit()
	case tLBrace:
		return p.mapLit()
	case tWord:
		switch p.tok.word {
		case wNull:
			p.next()
			return &Null{p.span(start)}
		case wTrue, wFalse:
			value := p.tok.word == wTrue
			p.next()
			return &Bool{p.span(start), value}
		case wHTML:
			if p.peek(1).isText() {
				p.next()
				t := p.textLit(true)
				t.Start = start
				return t
			}
		case wCase:
			return p.caseExpr()
		case wFunction:
			p.notLambda()
			fallthrough
		default:
			if p.tok.word.canName() && p.startsCall() || p.startsMember() {
				return p.call()
			}
			if p.startsName() {
				return p.name(false)
			}
		}
	}
	p.badOperand()
	return nil
}

func (p *parser) number() Expr {
	n := p.nodes.numbers.new()
	n.Span, n.Raw = Span{p.tok.start, p.tok.stop}, p.text(&p.tok)
	if !n.decode() {
		p.tok.fail(errNumberRange, p.tok.start)
	}
	p.next()
	return n
}

// decode sets the value of a literal; false means that no number is so large.
func (n *Number) decode() bool {
	if v, ok := smallInt(n.Raw); ok {
		n.IsInt, n.Int = true, v
		return true
	}
	digits := strings.ReplaceAll(n.Raw, "_", "")
	if v, err := strconv.ParseInt(digits, 10, 64); err == nil {
		n.IsInt, n.Int = true, v
		return true
	}
	v, err := strconv.ParseFloat(digits, 64)
	const exact = 1 << 53
	switch {
	case math.IsInf(v, 0):
		return false
	case err != nil: // the scanner has reported a letter in the number
		n.IsInt = true
	case v == math.Trunc(v) && v < exact:
		n.IsInt, n.Int = true, int64(v)
	default:
		n.Float = v
	}
	return true
}

// smallInt reads a literal of up to 18 plain digits.
func smallInt(s string) (v int64, ok bool) {
	if len(s) > 18 {
		return 0, false
	}
	for i := 0; i < len(s); i++ {
		d := s[i] - '0'
		if d > 9 {
			return 0, false
		}
		v = v*10 + int64(d)
	}
	return v, true
}

// globalName takes a GLOBAL and checks its name.
func (p *parser) globalName() *Global {
	name := p.src[p.tok.start+1 : p.tok.stop]
	known, ok := lookupGlobal(name)
	if !ok {
		p.badGlobal(name)
	}
	g := p.newGlobal(known)
	p.next()
	return g
}

// newGlobal makes a node of the current GLOBAL.
func (p *parser) newGlobal(name string) *Global {
	g := p.nodes.globals.new()
	g.Span, g.Name = Span{p.tok.start, p.tok.stop}, name
	return g
}

func lookupGlobal(name string) (string, bool) {
	for _, g := range globals {
		if equalFold(name, g) {
			return g, true
		}
	}
	return strings.ToUpper(name), false
}

func (p *parser) global() *Global {
	g := p.globalName()
	if p.tok.kind == tLParen {
		p.globalArg(g)
	}
	return g
}

// globalArg reads the brackets after a global.
func (p *parser) globalArg(g *Global) {
	open := p.tok.start
	p.enter()
	p.next()
	g.Parens = true
	if p.tok.kind != tRParen {
		g.Arg = p.expr()
	}
	p.closing(tRParen, open, ")")
	p.leave()
	g.Stop = p.prevStop
}

// call reads name(args); the caller has seen the name and the bracket.
func (p *parser) call() *Call {
	start := p.tok.start
	c := p.nodes.calls.new()
	if p.startsMember() {
		c.Prefix = p.text(&p.tok)
		p.noteName(namedAt{pos: start, name: c.Prefix})
		p.next()
		p.next()
	}
	c.Name = p.text(&p.tok)
	p.enter()
	p.next()
	open := p.tok.start
	p.next()
	base := len(p.exprs)
	for p.tok.kind != tRParen {
		p.pushExpr(p.arg())
		if p.tok.kind != tComma {
			break
		}
		p.next()
		if p.tok.kind == tRParen {
			p.errorAt(p.tok.start, p.tok.stop, "no comma stands after the last argument")
		}
	}
	p.closing(tRParen, open, "a comma or )")
	c.Args = p.takeExprs(base)
	c.Span = p.span(start)
	p.leave()
	return c
}

// arg reads an argument: an expression or a lambda.
func (p *parser) arg() Expr {
	switch p.tok.kind {
	case tVar:
		if p.peek(1).kind == tArrow {
			start := p.tok.start
			return p.lambda(start, []*Var{p.variable()}, false)
		}
	case tWord:
		if next := p.peek(1).kind; p.tok.word.canName() && p.tok.err == errNone && (next == tComma || next == tRParen) {
			return p.name(true)
		}
	case tLParen:
		if p.peek(1).kind != tVar {
			break
		}
		after := p.peek(2).kind
		if after == tComma || after == tRParen && p.peek(3).kind == tArrow {
			return p.lambdaParams()
		}
	}
	return p.expr()
}

func (p *parser) lambdaParams() Expr {
	start := p.tok.start
	p.next()
	var params []*Var
	var names nameSet
	for {
		v := p.variable()
		if !names.add(v.Name) {
			p.errorAt(v.Start, v.Stop, "the parameter ?%s is written twice", v.Name)
		}
		params = append(params, v)
		if p.tok.kind != tComma {
			break
		}
		p.next()
	}
	p.closing(tRParen, start, "a comma or )")
	return p.lambda(start, params, true)
}

func (p *parser) lambda(start source.Pos, params []*Var, parens bool) Expr {
	if p.tok.kind != tArrow {
		p.expected("-> after the parameters", "(?a, ?b) -> ?a + ?b")
	}
	p.enter()
	p.next()
	body := p.expr()
	p.leave()
	p.forgetParams(start, params)
	l := p.nodes.lambdas.new()
	*l = Lambda{Span{start, body.End()}, params, parens, body}
	return l
}

func (p *parser) caseExpr() Expr {
	start := p.tok.start
	c := &Case{}
	p.enter()
	p.cases++
	p.next()
	if !p.is(wWhen) && p.startsExpr() {
		c.Of = p.expr()
	}
	if !p.is(wWhen) {
		p.badCase(c.Of)
	}
	for p.got(wWhen) {
		var w When
		w.Cond = p.expr()
		p.need(wThen, "CASE WHEN condition THEN a ELSE b END")
		w.Then = p.expr()
		c.Whens = append(c.Whens, w)
	}
	if p.got(wElse) {
		c.Else = p.expr()
	}
	if !p.got(wEnd) {
		p.noCaseEnd(start, c.Else != nil)
	}
	p.cases--
	p.leave()
	c.Span = p.span(start)
	return c
}

func (p *parser) listLit() Expr {
	start := p.tok.start
	p.enter()
	p.next()
	base := len(p.exprs)
	for p.tok.kind != tRBrack {
		p.pushExpr(p.expr())
		if p.tok.kind != tComma {
			break
		}
		p.next()
	}
	p.closing(tRBrack, start, "a comma or ]")
	items := p.takeExprs(base)
	p.leave()
	l := p.nodes.lists.new()
	*l = ListLit{p.span(start), items}
	return l
}

func (p *parser) mapLit() Expr {
	start := p.tok.start
	p.enter()
	p.next()
	base := len(p.entries)
	var keys nameSet
	for p.tok.kind != tRBrace {
		e := p.entry()
		if !keys.add(e.Key) {
			p.errorAt(e.Start, e.Stop, "the key %q is written twice", e.Key)
		}
		p.entries = append(p.entries, e)
		if p.tok.kind != tComma {
			break
		}
		p.next()
	}
	p.closing(tRBrace, start, "a comma or }")
	p.leave()
	m := p.nodes.maps.new()
	m.Span = p.span(start)
	m.Entries, p.entries = p.nodes.entries.take(p.entries, base)
	return m
}

func (p *parser) entry() Entry {
	start := p.tok.start
	var e Entry
	switch {
	case p.tok.kind == tWord && p.tok.err == errNone:
		e.Key = p.text(&p.tok)
		p.next()
	case p.tok.isText():
		e.Quoted = p.textLit(false)
		e.Key = e.Quoted.Plain()
		if e.Quoted.HasInsertion() {
			p.errorAt(e.Quoted.Start, e.Quoted.Stop, "insertions do not work in the keys of a map: write SET ?map[?key] AS value")
		}
	default:
		p.badKey()
	}
	if p.tok.kind != tColon {
		p.noColon(e.Key)
	}
	p.next()
	e.Value = p.expr()
	e.Span = p.span(start)
	return e
}

// pushExpr adds an expression to the list under construction.
func (p *parser) pushExpr(x Expr) { p.exprs = append(p.exprs, x) }

// takeExprs copies out the expressions from base on.
func (p *parser) takeExprs(base int) []Expr {
	list, rest := p.nodes.exprs.take(p.exprs, base)
	p.exprs = rest
	return list
}
