package ide

import (
	"slices"

	"ql/lang/source"
	"ql/lang/syntax"
)

// Tokens returns how the pieces of a text are to be coloured, in order.
func Tokens(text string) []Token {
	d := open(text)
	script, _ := d.parse()
	c := colourer{d: d, names: map[source.Pos]bool{}}
	var sqls []*syntax.SQL
	syntax.Walk(script, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Call:
			c.names[n.Start] = true
		case *syntax.Define:
			c.names[n.NamePos] = true
		case *syntax.SQL:
			sqls = append(sqls, n)
		}
		return true
	})
	at := source.Pos(0)
	for _, s := range sqls {
		c.language(at, s.Start)
		c.sql(s)
		at = max(at, s.Stop)
	}
	c.language(at, source.Pos(len(d.file.Text)))
	slices.SortStableFunc(c.out, func(a, b Token) int { return a.Start - b.Start })
	return c.out
}

// colourer collects tokens. names are where names of functions stand.
type colourer struct {
	d     *document
	names map[source.Pos]bool
	out   []Token
}

func (c *colourer) add(s syntax.Span, kind Kind) {
	if s.Stop > s.Start {
		start, end := c.d.raws(s)
		c.out = append(c.out, Token{start, end, kind})
	}
}

// language colours a part that is not SQL.
func (c *colourer) language(from, to source.Pos) {
	dot := false
	comments := syntax.Lex(c.d.file.Text, from, to, func(t syntax.Token) {
		kind := Operator
		switch t.Kind {
		case syntax.WordToken:
			switch {
			case c.names[t.Start]:
				kind = Function
			case dot, !t.Known:
				kind = Field
			default:
				kind = Keyword
			}
		case syntax.VarToken:
			kind = Variable
		case syntax.GlobalToken:
			kind = Global
		case syntax.NumberToken:
			kind = Number
		case syntax.TextToken, syntax.TextOpenToken:
			kind = Text
		}
		dot = t.Kind == syntax.DotToken
		c.add(t.Span, kind)
	})
	for _, m := range comments {
		c.add(syntax.Span{Start: m.Start, Stop: m.Stop}, Comment)
	}
}

// sql colours a statement of SQL: its own words, and the parameters in it.
func (c *colourer) sql(s *syntax.SQL) {
	for _, p := range s.Parts {
		if p.Param != nil {
			c.language(p.Start, p.Stop)
			continue
		}
		for _, t := range lexSQL(c.d.file.Text, p.Start, p.Stop) {
			switch {
			case t.kind == sqlWord && sqlWords[upper(t.text)]:
				c.add(t.Span, Keyword)
			case t.kind == sqlWord:
				c.add(t.Span, Field)
			case t.kind == sqlText:
				c.add(t.Span, Text)
			case t.kind == sqlComment:
				c.add(t.Span, Comment)
			case t.kind == sqlNumber:
				c.add(t.Span, Number)
			default:
				c.add(t.Span, Operator)
			}
		}
	}
	if n := len(s.Parts); n > 0 {
		c.language(s.Parts[n-1].Stop, s.Stop)
	}
}
