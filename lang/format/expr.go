package format

import (
	"strings"

	"ql/lang/syntax"
)

// expr prints an expression after sep.
func (p *printer) expr(sep doc, e syntax.Expr) doc {
	return concat{p.gap(sep), p.exprHere(e)}
}

// exprHere prints the expression whose first token is at the cursor.
func (p *printer) exprHere(e syntax.Expr) doc {
	switch e := e.(type) {
	case *syntax.Number:
		return p.atom(e.Raw, e.Raw)
	case *syntax.Text:
		return p.text(e)
	case *syntax.Null:
		return p.atom("NULL", "NULL")
	case *syntax.Bool:
		if e.Value {
			return p.atom("TRUE", "TRUE")
		}
		return p.atom("FALSE", "FALSE")
	case *syntax.Var:
		return p.atom("?"+e.Name, "?"+e.Name)
	case *syntax.Global:
		return p.global(e)
	case *syntax.Call:
		return p.call(e)
	case *syntax.Name:
		return p.atom(e.Name, p.callName(e.Name))
	case *syntax.Lambda:
		return p.lambda(e)
	case *syntax.Case:
		return p.caseExpr(e)
	case *syntax.ListLit:
		b := p.brackets("[", "]", len(e.Items), func(i int) doc { return p.exprHere(e.Items[i]) })
		return collection(b)
	case *syntax.MapLit:
		b := p.brackets("{", "}", len(e.Entries), func(i int) doc { return p.entry(e.Entries[i]) })
		return collection(b)
	case *syntax.Paren:
		b := p.brackets("(", ")", 1, func(int) doc { return p.exprHere(e.X) })
		return grouped(b.doc())
	case *syntax.Unary:
		return p.unary(e)
	case *syntax.Binary:
		return p.chain(e)
	case *syntax.Between:
		words := "BETWEEN"
		if e.Not {
			words = "NOT BETWEEN"
		}
		return concat{
			p.exprHere(e.X), p.operator(space{}, words), p.exprHere(e.Low),
			p.operator(space{}, "AND"), p.exprHere(e.High),
		}
	case *syntax.IsNull:
		x := concat{p.exprHere(e.X), p.token(space{}, "IS")}
		if e.Not {
			x = append(x, p.token(space{}, "NOT"))
		}
		return append(x, p.token(space{}, "NULL"))
	case *syntax.FieldAccess, *syntax.Index:
		return p.postfix(e)
	}
	return nil
}

// atom prints a token that is written as source in the script.
func (p *printer) atom(source, printed string) doc {
	p.moveTo(min(p.pos+len(source), len(p.src)))
	return text(printed)
}

// collection prints a list or a map: on one line when it was on one and fits.
func collection(b bracketed) doc {
	d := b.doc()
	if len(d) == 1 {
		return d
	}
	return group{d, b.overLines || mustBreak(d)}
}

func (p *printer) entry(e syntax.Entry) doc {
	var key doc
	if e.Quoted != nil {
		key = p.exprHere(e.Quoted)
	} else {
		key = p.atom(e.Key, e.Key)
	}
	return concat{key, p.token(nil, ":"), p.expr(space{}, e.Value)}
}

func (p *printer) global(e *syntax.Global) doc {
	name := p.atom("!"+e.Name, "!"+e.Name)
	if !e.Parens {
		return name
	}
	out := concat{name, p.token(nil, "(")}
	if e.Arg != nil {
		out = append(out, p.expr(nil, e.Arg))
	}
	return append(out, p.token(nil, ")"))
}

func (p *printer) call(e *syntax.Call) doc {
	name := concat{}
	if e.Prefix != "" {
		name = append(name, p.atom(e.Prefix, e.Prefix), p.token(nil, "."), p.gap(nil), p.atom(e.Name, e.Name))
	} else {
		name = append(name, p.atom(e.Name, p.callName(e.Name)))
	}
	name = append(name, p.gap(nil))
	b := p.brackets("(", ")", len(e.Args), func(i int) doc { return p.exprHere(e.Args[i]) })
	if n := len(e.Args); n > 0 && mayHug(e.Args[n-1]) {
		if d, ok := b.hug(name); ok {
			return d
		}
	}
	return grouped(name, b.doc())
}

// callName is how a call's name is written: built-ins in capitals, functions
// of the script's own as they are.
func (p *printer) callName(name string) string {
	upper := strings.ToUpper(name)
	if p.options.IsBuiltin == nil || p.defined[upper] || !p.options.IsBuiltin(upper) {
		return name
	}
	return upper
}

// mayHug tells whether a call's last argument may break on its own.
func mayHug(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.ListLit:
		return len(e.Items) > 0
	case *syntax.MapLit:
		return len(e.Entries) > 0
	case *syntax.Lambda:
		return mayHug(e.Body)
	case *syntax.Call:
		return len(e.Args) > 0 && mayHug(e.Args[len(e.Args)-1])
	}
	return false
}

func (p *printer) lambda(e *syntax.Lambda) doc {
	var params doc
	if e.Parens {
		b := p.brackets("(", ")", len(e.Params), func(i int) doc { return p.exprHere(e.Params[i]) })
		params = grouped(b.doc())
	} else {
		params = p.exprHere(e.Params[0])
	}
	return concat{params, p.token(space{}, "->"), p.expr(space{}, e.Body)}
}

// caseExpr prints a CASE: on one line when it was on one and fits.
func (p *printer) caseExpr(e *syntax.Case) doc {
	start := p.pos
	out := concat{p.token(nil, "CASE")}
	if e.Of != nil {
		out = append(out, p.expr(space{}, e.Of))
	}
	var inner concat
	for _, w := range e.Whens {
		inner = append(inner, p.token(lineOrSpace, "WHEN"), p.expr(space{}, w.Cond),
			p.token(space{}, "THEN"), p.expr(space{}, w.Then))
	}
	if e.Else != nil {
		inner = append(inner, p.token(lineOrSpace, "ELSE"), p.expr(space{}, e.Else))
	}
	inner = append(inner, beforeClosing(p.collect()))
	overLines := strings.Contains(p.src[start:p.pos], "\n")
	out = append(out, indented(inner), lineOrSpace, p.token(nil, "END"))
	return group{out, overLines || mustBreak(out)}
}

func (p *printer) unary(e *syntax.Unary) doc {
	if e.Op == syntax.OpNot {
		return concat{p.token(nil, "NOT"), p.expr(space{}, e.X)}
	}
	var sep doc
	if inner, ok := e.X.(*syntax.Unary); ok && inner.Op == syntax.OpNeg {
		sep = space{} // two minus signs in a row would begin a comment
	}
	return concat{p.token(nil, "-"), p.expr(sep, e.X)}
}

// operators are the binary operators as printed, with how tightly they bind.
var operators = map[syntax.Op]struct {
	words string
	level int
}{
	syntax.OpOr:      {"OR", 1},
	syntax.OpAnd:     {"AND", 2},
	syntax.OpEq:      {"=", compares},
	syntax.OpNe:      {"!=", compares},
	syntax.OpLt:      {"<", compares},
	syntax.OpLe:      {"<=", compares},
	syntax.OpGt:      {">", compares},
	syntax.OpGe:      {">=", compares},
	syntax.OpIn:      {"IN", compares},
	syntax.OpNotIn:   {"NOT IN", compares},
	syntax.OpLike:    {"LIKE", compares},
	syntax.OpNotLike: {"NOT LIKE", compares},
	syntax.OpAdd:     {"+", 4},
	syntax.OpSub:     {"-", 4},
	syntax.OpMul:     {"*", 5},
	syntax.OpDiv:     {"/", 5},
	syntax.OpMod:     {"%", 5},
	syntax.OpIntDiv:  {"DIV", 5},
	syntax.OpDefault: {"DEFAULT", 6},
}

// compares is the level of the comparisons. A line does not break at them, but
// inside their sides.
const compares = 3

// chain prints operators of one level in a row; where they do not fit on the
// line, each begins a line of its own.
func (p *printer) chain(e *syntax.Binary) doc {
	links := []*syntax.Binary{e}
	for {
		x, ok := links[len(links)-1].X.(*syntax.Binary)
		if !ok || operators[x.Op].level != operators[e.Op].level {
			break
		}
		links = append(links, x)
	}
	innermost := links[len(links)-1]
	first := p.operand(innermost.Op, innermost.X)
	sep := doc(lineOrSpace)
	breaks := operators[e.Op].level != compares
	if !breaks {
		sep = space{}
	}
	var rest concat
	for i := len(links) - 1; i >= 0; i-- {
		rest = append(rest, p.operator(sep, operators[links[i].Op].words), p.operand(links[i].Op, links[i].Y))
	}
	if !breaks {
		return concat{first, rest}
	}
	return grouped(first, indented(rest))
}

// operand prints a side of an operator. A DEFAULT in arithmetic gets the brackets that show how
// it is read.
func (p *printer) operand(op syntax.Op, e syntax.Expr) doc {
	if !syntax.NeedsBrackets(op, e) {
		return p.exprHere(e)
	}
	b := bracketed{open: "(", end: ")", members: []doc{p.exprHere(e)}}
	return grouped(b.doc())
}

// operator prints an operator after sep. A comment after it that ends a
// line goes before it, for it is the line before the operator that ends.
func (p *printer) operator(sep doc, words string) doc {
	var list []comment
	for _, w := range strings.Fields(words) {
		list = joined(list, p.collect())
		p.skip(w)
	}
	after := p.collect()
	stay := len(after)
	for stay > 0 && !after[stay-1].last {
		stay--
	}
	list = joined(list, after[:stay])
	return appendRemarks(concat{spread(list, sep), text(words), space{}}, after[stay:])
}

// postfix prints accesses: x.name and x[i].
func (p *printer) postfix(e syntax.Expr) doc {
	var steps []syntax.Expr
	for {
		switch x := e.(type) {
		case *syntax.FieldAccess:
			steps, e = append(steps, x), x.X
			continue
		case *syntax.Index:
			steps, e = append(steps, x), x.X
			continue
		}
		break
	}
	out := concat{p.exprHere(e)}
	for i := len(steps) - 1; i >= 0; i-- {
		switch x := steps[i].(type) {
		case *syntax.FieldAccess:
			out = append(out, p.field(x.Name))
		case *syntax.Index:
			out = append(out, p.index(x.I))
		}
	}
	return out
}

func (p *printer) field(name string) doc {
	return concat{p.token(nil, "."), p.gap(nil), p.atom(name, name)}
}

func (p *printer) index(i syntax.Expr) doc {
	return concat{p.token(nil, "["), p.expr(nil, i), p.token(nil, "]")}
}

// target prints the left side of a SET.
func (p *printer) target(sep doc, t *syntax.Target) doc {
	out := concat{p.gap(sep), p.exprHere(t.Var)}
	for _, a := range t.Path {
		if a.Index != nil {
			out = append(out, p.index(a.Index))
		} else {
			out = append(out, p.field(a.Name))
		}
	}
	return out
}
