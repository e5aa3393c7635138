package syntax

import (
	"fmt"

	"ql/lang/source"
)

// maxWarnings bounds what is told of one script.
const maxWarnings = 50

// Warnings lists what a script may not mean as it says it: DEFAULT as a part of arithmetic, which
// it binds more tightly than, without brackets. The message shows both ways to read it.
func Warnings(s *Script) (list source.Errors) {
	src := s.File.Text
	text := func(e Expr) string { return short(src[e.Pos():e.End()]) }
	mixedDefaults(s, func(b *Binary, side *Expr) {
		if len(list) == maxWarnings {
			return
		}
		d := (*side).(*Binary)
		var is, other string
		if side == &b.X {
			is = fmt.Sprintf("(%s DEFAULT %s) %s %s", text(d.X), text(d.Y), b.Op, text(b.Y))
			other = fmt.Sprintf("%s DEFAULT (%s %s %s)", text(d.X), text(d.Y), b.Op, text(b.Y))
		} else {
			is = fmt.Sprintf("%s %s (%s DEFAULT %s)", text(b.X), b.Op, text(d.X), text(d.Y))
			other = fmt.Sprintf("(%s %s %s) DEFAULT %s", text(b.X), b.Op, text(d.X), text(d.Y))
		}
		list.Add(s.File, d.OpPos, d.OpPos+source.Pos(len("DEFAULT")), "DEFAULT is taken before %s here: this is %s, and not %s; brackets say which is meant", b.Op, is, other).
			As(source.MixedDefault).Offer(d.Pos(), d.End(), "("+src[d.Pos():d.End()]+")")
	})
	list.Sort()
	return list
}

// Bracket puts brackets around each DEFAULT that Warnings tells of.
func Bracket(s *Script) {
	mixedDefaults(s, func(_ *Binary, side *Expr) {
		*side = &Paren{Span{(*side).Pos(), (*side).End()}, *side}
	})
}

// NeedsBrackets says whether an operand of an operator is a DEFAULT that Warnings tells of.
func NeedsBrackets(op Op, operand Expr) bool {
	d, ok := operand.(*Binary)
	return ok && d.Op == OpDefault && op >= OpAdd && op <= OpIntDiv
}

// mixedDefaults calls f with each part of arithmetic that is a DEFAULT without brackets.
func mixedDefaults(s *Script, f func(b *Binary, side *Expr)) {
	Walk(s, func(n Node) bool {
		if b, ok := n.(*Binary); ok {
			for _, side := range []*Expr{&b.X, &b.Y} {
				if NeedsBrackets(b.Op, *side) {
					f(b, side)
				}
			}
		}
		return true
	})
}
