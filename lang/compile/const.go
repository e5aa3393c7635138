package compile

import (
	"ql/lang/syntax"
	"ql/lang/value"
)

// plainText reports whether a text has no insertions.
func plainText(t *syntax.Text) bool {
	for _, p := range t.Parts {
		if p.Insert != nil {
			return false
		}
	}
	return true
}

// textOf returns the content of a text without insertions.
func textOf(t *syntax.Text) string {
	switch len(t.Parts) {
	case 0:
		return ""
	case 1:
		return t.Parts[0].Plain
	}
	s := ""
	for _, p := range t.Parts {
		s += p.Plain
	}
	return s
}

// constOf returns the value of an expression that needs no run: literals,
// containers of them, and arithmetic on numbers.
func constOf(e syntax.Expr) (value.Value, bool) {
	switch e := e.(type) {
	case *syntax.Number:
		return numberOf(e), true
	case *syntax.Text:
		if plainText(e) {
			return value.Text(textOf(e)), true
		}
	case *syntax.Null:
		return value.Null, true
	case *syntax.Bool:
		return value.Bool(e.Value), true
	case *syntax.Paren:
		return constOf(e.X)
	case *syntax.Unary:
		if e.Op == syntax.OpNeg {
			if x, ok := constOf(e.X); ok && x.IsNumber() {
				v, err := value.Neg(x)
				return v, err == nil
			}
		}
	case *syntax.Binary:
		return constBinary(e)
	case *syntax.ListLit:
		if len(e.Items) == 0 {
			return value.Null, false
		}
		l := value.NewList(nil, len(e.Items))
		for _, x := range e.Items {
			v, ok := constOf(x)
			if !ok {
				return value.Null, false
			}
			l.Append(nil, v)
		}
		return l.Value(), true
	case *syntax.MapLit:
		if len(e.Entries) == 0 {
			return value.Null, false
		}
		m := value.NewMap(nil, len(e.Entries))
		for _, x := range e.Entries {
			v, ok := constOf(x.Value)
			if !ok {
				return value.Null, false
			}
			m.SetText(x.Key, v)
		}
		return m.Value(), true
	}
	return value.Null, false
}

func numberOf(n *syntax.Number) value.Value {
	if n.IsInt {
		return value.Int(n.Int)
	}
	v, _ := value.Number(n.Float)
	return v
}

func constBinary(e *syntax.Binary) (value.Value, bool) {
	switch e.Op {
	case syntax.OpAdd, syntax.OpSub, syntax.OpMul, syntax.OpDiv:
	default:
		return value.Null, false
	}
	x, ok := constOf(e.X)
	if !ok || !x.IsNumber() {
		return value.Null, false
	}
	y, ok := constOf(e.Y)
	if !ok || !y.IsNumber() {
		return value.Null, false
	}
	var v value.Value
	var err *value.Error
	switch e.Op {
	case syntax.OpAdd:
		v, err = value.Add(nil, x, y)
	case syntax.OpSub:
		v, err = value.Sub(x, y)
	case syntax.OpMul:
		v, err = value.Mul(x, y)
	default:
		v, err = value.Div(x, y)
	}
	return v, err == nil
}

// smallInt returns the value of an expression that is a constant integer
// between low and high.
func smallInt(e syntax.Expr, low, high int64) (int64, bool) {
	v, ok := constOf(e)
	if !ok || !v.IsInt() || v.Int64() < low || v.Int64() > high {
		return 0, false
	}
	return v.Int64(), true
}
