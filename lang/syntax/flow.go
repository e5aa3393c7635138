package syntax

import (
	"fmt"
	"slices"
	"strings"

	"ql/lang/source"
)

func (p *parser) open(verb word, start source.Pos) opener {
	return opener{verb: verb, start: start, indent: p.indent}
}

func (p *parser) ifStmt(start source.Pos) Stmt {
	s := p.nodes.ifs.new()
	open := p.open(wIf, start)
	branch := start
	for {
		b := Branch{Span: Span{Start: branch}}
		ok := p.skimHead(wThen) || p.guard(func() { b.Cond = p.object(wIf) })
		p.opening(&open, wThen, ok)
		open.accepts = wElse
		b.Body = p.block(open)
		b.Stop = b.Body.Stop
		s.Branches = append(s.Branches, b)
		if p.tok.kind == tRBrace && open.braces && p.peek(1).is(wElse) {
			p.next()
		}
		if p.tok.kind == tWord && p.tok.word == wNone && p.foreignBlockWord() == wElse {
			p.offer(source.ForeignWord, &p.tok, "ELSE IF")
			p.errorAt(p.tok.start, p.tok.stop, "write ELSE IF instead of %s", p.text(&p.tok))
			branch = p.tok.start
			p.skip()
			continue
		}
		if !p.got(wElse) {
			break
		}
		if p.is(wIf) && !p.tok.line {
			branch = p.tok.start
			p.next()
			continue
		}
		p.openingBrace(&open)
		open.accepts = wNone
		s.Else = p.block(open)
		break
	}
	p.end(open)
	s.Span = p.span(start)
	return s
}

// How loops are written that go through no list.
const (
	shapeForRange = "FOR ?i FROM 1 TO 10 DO … END"
	shapeForFile  = `FOR ?row IN FILE "/a.csv" DO … END`
)

// forHead is what stands between FOR and DO.
type forHead struct {
	key, value     *Var
	seq            Expr
	rng            bool
	from, to, step Expr
	file           *ForFile // where it goes through a file
}

func (p *parser) forStmt(start source.Pos) Stmt {
	open := p.open(wFor, start)
	var h forHead
	ok := p.skimHead(wDo) || p.guard(func() { p.forHeader(&h) })
	switch {
	case h.file != nil:
		open.shape = shapeForFile
	case h.rng:
		open.shape = shapeForRange
	}
	p.opening(&open, wDo, ok)
	p.loops++
	body := p.block(open)
	p.loops--
	p.end(open)
	switch {
	case h.file != nil:
		h.file.Span, h.file.Body = p.span(start), body
		return h.file
	case h.rng:
		return &ForRange{p.span(start), h.value, h.from, h.to, h.step, body}
	}
	s := p.nodes.fors.new()
	*s = ForIn{p.span(start), h.key, h.value, h.seq, body}
	return s
}

func (p *parser) forHeader(h *forHead) {
	if p.tok.kind != tVar {
		p.badFor()
	}
	h.value = p.variable()
	switch {
	case p.tok.kind == tComma:
		p.next()
		h.key = h.value
		h.value = p.variable()
		p.need(wIn, "FOR ?key, ?value IN ?map DO … END")
	case p.got(wFrom):
		h.rng = true
	case p.got(wIn):
	default:
		h.rng = p.badForIn(h.value)
	}
	if !h.rng {
		if p.is(wFile) && p.fileFollows() {
			p.forFile(h)
			return
		}
		h.seq = p.expr()
		return
	}
	h.from = p.expr()
	p.need(wTo, shapeForRange)
	h.to = p.expr()
	if p.got(wStep) {
		h.step = p.expr()
	}
}

// fileFollows tells whether FILE is the word of FOR … IN FILE, and no key of a map, such
// as in FOR ?x IN file.name, which is wrong in its own way.
func (p *parser) fileFollows() bool {
	switch next := p.peek(1); next.kind {
	case tDot, tLBrack:
		return next.line
	}
	return true
}

// forFile reads what stands between IN and DO of a loop through a file.
func (p *parser) forFile(h *forHead) {
	word := p.tok
	s := &ForFile{Value: h.value}
	h.file = s
	p.next()
	if h.key != nil {
		p.errorAt(h.key.Start, h.key.Stop, "a loop through a file has one variable, and AT takes the line: FOR ?%s IN FILE … AT ?%s DO", h.value.Name, h.key.Name)
	}
	if p.tok.kind == tLParen && p.tok.start == word.stop {
		p.wordCalls = append(p.wordCalls, wordCall{wFor, wFile, word.start})
	}
	if !p.startsExpr() {
		p.expected("the path of a file", shapeForFile)
	}
	s.Path = p.expr()
	for p.tok.kind == tWord {
		switch p.tok.word {
		case wAs:
			p.once(s.Format != NoFormat)
			p.next()
			s.Format = p.rowFormat()
		case wEncoding:
			s.Encoding = p.clauseExpr(s.Encoding)
		case wAt:
			s.At = p.clauseVar(s.At, "?line", shapeForFile)
		case wBad:
			s.Bad = p.clauseVar(s.Bad, "?bad", shapeForFile)
		default:
			if !p.tok.line && !p.tok.word.isVerb() && !p.tok.word.isStructure() {
				p.badClause(wFor)
			}
			return
		}
	}
}

// clauseVar takes the current clause word and the variable behind it.
func (p *parser) clauseVar(seen *Var, name, shape string) *Var {
	p.once(seen != nil)
	word := p.tok.word
	p.next()
	if p.tok.kind != tVar {
		p.expected("a variable after "+word.String(), word.String()+" "+name+" in "+shape)
	}
	return p.variable()
}

// rowFormat reads a format of a file that is read row by row.
func (p *parser) rowFormat() Format {
	switch {
	case p.got(wCSV):
		return FormatCSV
	case p.got(wLines):
		return FormatLines
	case p.is(wJSON) && p.peek(1).is(wLines):
		p.next()
		p.next()
		return FormatJSONLines
	case p.is(wJSON):
		p.fail(p.tok.start, p.tok.stop, "a file of JSON is one value: READ it, or write AS JSON LINES where each line is one")
	case p.tok.kind == tWord:
		p.fail(p.tok.start, p.tok.stop, "%s is no format of rows: AS takes %s%s", short(p.upper(&p.tok)), orList(RowFormats()), didYouMean(p.text(&p.tok), RowFormats()))
	}
	p.expected("a format after AS", orList(RowFormats()))
	return NoFormat
}

func (p *parser) whileStmt(start source.Pos) Stmt {
	s := &While{}
	open := p.open(wWhile, start)
	ok := p.skimHead(wDo) || p.guard(func() { s.Cond = p.object(wWhile) })
	p.opening(&open, wDo, ok)
	p.loops++
	s.Body = p.block(open)
	p.loops--
	p.end(open)
	s.Span = p.span(start)
	return s
}

func (p *parser) needLoop(start source.Pos, verb word) {
	if p.loops == 0 && !p.leavesFinally(start, verb) {
		p.errorAt(start, p.prevStop, "%s stands outside a loop: it works only inside FOR or WHILE", verb)
	}
}

func (p *parser) tryStmt(start source.Pos) Stmt {
	s := &Try{}
	open := p.open(wTry, start)
	p.openingBrace(&open)
	open.accepts = wCatch
	s.Body = p.block(open)
	if p.tok.kind == tRBrace && open.braces && (p.peek(1).is(wCatch) || p.peek(1).is(wFinally)) {
		p.next()
	}
	if p.catchWord() {
		p.catchVar(s)
		p.openingBrace(&open)
		open.accepts = wFinally
		s.Catch = p.block(open)
		if p.tok.kind == tRBrace && open.braces && p.peek(1).is(wFinally) {
			p.next()
		}
	}
	if p.finallyWord() {
		p.openingBrace(&open)
		open.accepts = wNone
		s.Finally = p.finallyBlock(open)
	}
	if s.Catch == nil && s.Finally == nil && p.tok.kind != tEOF {
		p.errorAt(open.start, open.start+3, "this TRY has no CATCH: write TRY … CATCH ?err … END, or TRY … FINALLY … END")
	}
	p.end(open)
	s.Span = p.span(start)
	return s
}

// finallyBlock reads the block of FINALLY, which nothing leaves before its end.
func (p *parser) finallyBlock(open opener) *Block {
	loops, inFinally := p.loops, p.inFinally
	p.loops, p.inFinally = 0, true
	b := p.block(open)
	p.loops, p.inFinally = loops, inFinally
	return b
}

// leavesFinally refuses a statement that would leave a FINALLY: the failure that it runs
// for would be lost.
func (p *parser) leavesFinally(start source.Pos, verb word) bool {
	if p.inFinally {
		p.errorAt(start, p.prevStop, "%s cannot leave a FINALLY, which always runs to its end: put it behind the END of the TRY", verb)
	}
	return p.inFinally
}

func (p *parser) transaction(start source.Pos) Stmt {
	open := p.open(wTransaction, start)
	p.openingBrace(&open)
	body := p.block(open)
	p.end(open)
	return &Transaction{p.span(start), body}
}

func (p *parser) returnStmt(start source.Pos) Stmt {
	s := &Return{}
	if !p.leavesFinally(start, wReturn) && !p.inDefine {
		p.errorAt(start, p.prevStop, "RETURN stands outside a function: to end the script write STOP, to answer EMIT")
	}
	if p.startsExpr() || p.strayOperand() {
		s.Value = p.expr()
	}
	s.Span = p.span(start)
	return s
}

func (p *parser) callStmt(start source.Pos) Stmt {
	if p.tok.kind != tWord || !p.tok.word.canName() {
		p.noteFunction()
		p.expected("the name of a function", "CALL name(…)")
	}
	if p.peek(1).kind != tLParen && !p.startsMember() {
		name := p.text(&p.tok)
		p.fail(p.tok.start, p.tok.stop, "the arguments are missing: CALL %s()", name)
	}
	call := p.call()
	return &CallStmt{p.span(start), call}
}

func (p *parser) failStmt(start source.Pos) Stmt {
	s := &Fail{Value: p.object(wFail)}
	if p.got(wCode) {
		s.Code = p.expr()
	}
	s.Span = p.span(start)
	return s
}

func (p *parser) define(start source.Pos) Stmt {
	s := &Define{NamePos: p.tok.start}
	open := p.open(wDefine, start)
	p.topLevel(wDefine, start)
	if p.tok.kind == tWord && (p.peek(1).is(wAs) || p.peek(1).kind == tEq) {
		return p.constant(start)
	}
	p.guard(func() { p.defineHeader(s) })
	p.openingBrace(&open)
	loops, inDefine, inFinally := p.loops, p.inDefine, p.inFinally
	p.loops, p.inDefine, p.inFinally = 0, true, false
	s.Body = p.block(open)
	p.loops, p.inDefine, p.inFinally = loops, inDefine, inFinally
	p.end(open)
	s.Span = p.span(start)
	return s
}

// constant reads DEFINE name AS expr. Only words without a meaning of their own name
// constants: others could not be told from the clauses of statements.
func (p *parser) constant(start source.Pos) Stmt {
	s := &Constant{Name: p.text(&p.tok), NamePos: p.tok.start}
	if p.tok.word != wNone {
		p.errorAt(p.tok.start, p.tok.stop, "%s has a meaning of its own and cannot name a constant", p.tok.word)
	}
	p.next()
	if p.tok.kind == tEq {
		p.errorAt(p.tok.start, p.tok.stop, "write AS instead of =: DEFINE %s AS value", short(s.Name))
	}
	p.next()
	s.Value = p.object(wDefine)
	s.Span = p.span(start)
	return s
}

func (p *parser) defineHeader(s *Define) {
	if p.tok.kind != tWord {
		p.expected("the name of the function", "DEFINE name(?a, ?b) … END")
	}
	s.Name, s.NamePos = p.text(&p.tok), p.tok.start
	if !p.tok.word.canName() {
		p.errorAt(p.tok.start, p.tok.stop, "%s has a meaning of its own and cannot name a function", p.tok.word)
	}
	p.next()
	if p.tok.kind != tLParen {
		p.expected("( or AS", "DEFINE "+s.Name+"() … END for a function, DEFINE "+s.Name+" AS value for a constant")
	}
	p.next()
	var names nameSet
	for p.tok.kind != tRParen {
		p.noteVariable()
		var param Param
		if p.tok.kind == tVar {
			param.Var = p.variable()
		} else {
			param.Var = p.badParam()
		}
		if !names.add(param.Var.Name) {
			p.errorAt(param.Var.Start, param.Var.Stop, "the parameter ?%s is written twice", param.Var.Name)
		}
		if p.tok.kind == tEq {
			p.offer(source.ForeignWord, &p.tok, "DEFAULT")
			p.errorAt(p.tok.start, p.tok.stop, "write DEFAULT instead of =: ?%s DEFAULT value", param.Var.Name)
			p.tok.kind, p.tok.word = tWord, wDefault
		}
		if p.got(wDefault) {
			param.Default = p.unary()
			p.needConstant(param.Default, "a parameter's default")
		} else if n := len(s.Params); n > 0 && s.Params[n-1].Default != nil {
			p.errorAt(param.Var.Start, param.Var.Stop, "?%s needs a DEFAULT too: the parameter before it has one", param.Var.Name)
		}
		s.Params = append(s.Params, param)
		if p.tok.kind != tComma {
			break
		}
		p.next()
		if p.tok.kind == tRParen {
			p.errorAt(p.tok.start, p.tok.stop, "no comma stands after the last parameter")
		}
	}
	if p.tok.kind != tRParen {
		p.expected("a comma or ) after the parameter", "")
	}
	p.next()
}

// needConstant refuses a value that would have to be computed; what says of
// which value that is said.
func (p *parser) needConstant(x Expr, what string) {
	switch x := x.(type) {
	case *Number, *Null, *Bool, *Name:
		return
	case *FieldAccess:
		if _, ok := x.X.(*Name); ok {
			return
		}
	case *Text:
		if !x.HasInsertion() {
			return
		}
	case *Unary:
		if _, ok := x.X.(*Number); ok && x.Op == OpNeg {
			return
		}
	case *ListLit:
		for _, item := range x.Items {
			p.needConstant(item, what)
		}
		return
	case *MapLit:
		for _, e := range x.Entries {
			p.needConstant(e.Value, what)
		}
		return
	}
	p.errorAt(x.Pos(), x.End(), "%s is a constant: a number, a text without insertions, NULL, TRUE, FALSE, or a list or map of them", what)
}

func (p *parser) include(start source.Pos) Stmt {
	p.topLevel(wInclude, start)
	if !p.tok.isText() {
		p.expected("the path of a file", `INCLUDE "/lib/tax.ql"`)
	}
	path := p.textLit(false)
	switch plain := path.Plain(); {
	case path.HasInsertion():
		p.errorAt(path.Start, path.Stop, "the path of INCLUDE is fixed: insertions do not work in it")
	case !strings.HasPrefix(plain, "/"):
		p.errorAt(path.Start, path.Stop, `the path of INCLUDE starts with /: INCLUDE "/%s"`, strings.TrimPrefix(plain, "./"))
	}
	s := &Include{Path: path}
	if p.got(wAs) {
		if p.tok.kind != tWord || p.tok.line {
			p.expected("a prefix", fmt.Sprintf("INCLUDE %q AS tax", short(path.Plain())))
		}
		s.As, s.AsPos = p.text(&p.tok), p.tok.start
		if p.tok.word != wNone {
			p.errorAt(p.tok.start, p.tok.stop, "%s has a meaning of its own and cannot be a prefix", p.tok.word)
		}
		p.next()
	}
	s.Span = p.span(start)
	return s
}

// topLevel notes a statement that may stand at the top level only.
func (p *parser) topLevel(verb word, start source.Pos) {
	if n := len(p.blocks); n > 0 {
		p.nested = append(p.nested, nestedStmt{verb, p.blocks[n-1].verb, start})
	}
}

// checkNested reports such statements inside blocks.
func (p *parser) checkNested() {
	if p.endMissed {
		return
	}
	for _, n := range p.nested {
		p.errorAt(n.start, n.start+source.Pos(len(n.verb.String())),
			"%s stands at the top level of a script, not inside %s", n.verb, n.block)
	}
}

// opening takes THEN or DO. After a broken header nothing more is said where it
// is missing.
func (p *parser) opening(open *opener, w word, ok bool) {
	switch {
	case p.got(w):
		p.openingBrace(open)
	case ok:
		p.badOpening(open, w)
	case p.tok.kind == tLBrace:
		open.braces = true
		p.skip()
	case p.is(wThen) || p.is(wDo):
		p.skip()
	}
}

// nameSet finds names that are written twice, in linear time.
type nameSet struct {
	few  [8]string
	n    int // how many of few are in use
	many map[string]bool
}

func (s *nameSet) has(name string) bool {
	return s.many[name] || slices.Contains(s.few[:s.n], name)
}

// add reports whether the name is new.
func (s *nameSet) add(name string) bool {
	if s.many != nil {
		if s.many[name] {
			return false
		}
		s.many[name] = true
		return true
	}
	for _, known := range s.few[:s.n] {
		if known == name {
			return false
		}
	}
	if s.n < len(s.few) {
		s.few[s.n] = name
		s.n++
		return true
	}
	s.many = map[string]bool{name: true}
	for _, known := range s.few {
		s.many[known] = true
	}
	return true
}
