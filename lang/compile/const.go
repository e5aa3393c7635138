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

// constant is what is known of an expression: its value where it needs no run.
type constant struct {
	v  value.Value
	ok bool
}

// constOf returns the value of an expression that needs no run: literals,
// containers of them, and arithmetic on numbers. It is asked again and again on
// the way down an expression, so the answer is remembered.
func (c *compiler) constOf(e syntax.Expr) (value.Value, bool) {
	c.yield.Step()
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
		return c.constOf(e.X)
	case *syntax.Unary:
		if e.Op == syntax.OpNeg {
			if x, ok := c.constOf(e.X); ok && x.IsNumber() {
				v, err := value.Neg(x)
				return v, err == nil
			}
		}
	case *syntax.Binary:
		return c.memo(e, func() (value.Value, bool) { return c.constBinary(e) })
	case *syntax.ListLit:
		return c.memo(e, func() (value.Value, bool) { return c.constList(e) })
	case *syntax.MapLit:
		return c.memo(e, func() (value.Value, bool) { return c.constMap(e) })
	}
	return value.Null, false
}

func (c *compiler) memo(e syntax.Expr, find func() (value.Value, bool)) (value.Value, bool) {
	if k, ok := c.consts[e]; ok {
		return k.v, k.ok
	}
	v, ok := find()
	c.consts[e] = constant{v, ok}
	return v, ok
}

func (c *compiler) constList(e *syntax.ListLit) (value.Value, bool) {
	if len(e.Items) == 0 {
		return value.Null, false
	}
	l := value.NewList(nil, len(e.Items))
	for _, x := range e.Items {
		v, ok := c.constOf(x)
		if !ok {
			return value.Null, false
		}
		l.Append(nil, v)
	}
	return l.Value(), true
}

func (c *compiler) constMap(e *syntax.MapLit) (value.Value, bool) {
	if len(e.Entries) == 0 {
		return value.Null, false
	}
	m := value.NewMap(nil, len(e.Entries))
	for _, x := range e.Entries {
		v, ok := c.constOf(x.Value)
		if !ok {
			return value.Null, false
		}
		m.SetText(x.Key, v)
	}
	return m.Value(), true
}

// defaultOf returns the value of a parameter's default, which is always a
// constant. Other than constOf it makes a constant of an empty container too:
// built in the caller's code it would stand at a place in another file.
func (c *compiler) defaultOf(e syntax.Expr) value.Value {
	if v, ok := c.defaults[e]; ok {
		return v
	}
	var v value.Value
	switch e := e.(type) {
	case *syntax.ListLit:
		l := value.NewList(nil, len(e.Items))
		for _, x := range e.Items {
			l.Append(nil, c.defaultOf(x))
		}
		v = l.Value()
	case *syntax.MapLit:
		m := value.NewMap(nil, len(e.Entries))
		for _, x := range e.Entries {
			m.SetText(x.Key, c.defaultOf(x.Value))
		}
		v = m.Value()
	default:
		v, _ = c.constOf(e)
	}
	c.defaults[e] = v
	return v
}

func numberOf(n *syntax.Number) value.Value {
	if n.IsInt {
		return value.Int(n.Int)
	}
	v, _ := value.Number(n.Float)
	return v
}

func (c *compiler) constBinary(e *syntax.Binary) (value.Value, bool) {
	switch e.Op {
	case syntax.OpAdd, syntax.OpSub, syntax.OpMul, syntax.OpDiv:
	default:
		return value.Null, false
	}
	x, ok := c.constOf(e.X)
	if !ok || !x.IsNumber() {
		return value.Null, false
	}
	y, ok := c.constOf(e.Y)
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
func (c *compiler) smallInt(e syntax.Expr, low, high int64) (int64, bool) {
	v, ok := c.constOf(e)
	if !ok || !v.IsInt() || v.Int64() < low || v.Int64() > high {
		return 0, false
	}
	return v.Int64(), true
}
