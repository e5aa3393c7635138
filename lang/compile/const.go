package compile

import (
	"ql/lang/source"
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
	case *syntax.Name, *syntax.FieldAccess:
		if d := c.res.Constant(e); d != nil {
			if _, ok := c.constOf(d.Value); !ok && !isCollection(d.Value) {
				return value.Null, false // checkConstants has said so
			}
			return c.defaultOf(d.Value), true
		}
	case *syntax.Unary:
		if e.Op == syntax.OpNeg {
			if x, ok := c.constOf(e.X); ok && x.IsNumber() {
				v, err := value.Neg(nil, x)
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
		if !ok || !c.mayRepeat(x, v) {
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
		if !ok || !c.mayRepeat(x.Value, v) {
			return value.Null, false
		}
		m.SetText(x.Key, v)
	}
	return m.Value(), true
}

// isCollection reports whether an expression is a list or map as written.
func isCollection(e syntax.Expr) bool {
	switch unparen(e).(type) {
	case *syntax.ListLit, *syntax.MapLit:
		return true
	}
	return false
}

// maxRepeated is how many bytes of named texts are written again into the lists and maps of a
// program: a short script could make a long program of a long one.
const maxRepeated = 64 << 10

// mayRepeat reports whether the value of an expression may be part of a constant list or map.
func (c *compiler) mayRepeat(e syntax.Expr, v value.Value) bool {
	switch e := unparen(e).(type) {
	case *syntax.Name, *syntax.FieldAccess:
		if c.res.Constant(e) == nil || v.IsNumber() || v.IsNull() || v.IsBool() {
			return true
		}
		if v.IsContainer() {
			return false
		}
		c.repeated += len(v.Str())
		return c.repeated <= maxRepeated
	}
	return true
}

// checkConstants reports what is named or a default, but has no value.
func (c *compiler) checkConstants() {
	for _, d := range c.res.Constants {
		c.checkConstant(c.res.Files[d.File], d.Value, false)
	}
	for _, f := range c.res.Funcs {
		for _, p := range f.Params {
			if p.Default != nil {
				c.checkConstant(c.res.Files[f.File], p.Default, false)
			}
		}
	}
}

// checkConstant checks a part of a constant; inside says that it stands in a list or map.
func (c *compiler) checkConstant(f *source.File, e syntax.Expr, inside bool) {
	switch e := unparen(e).(type) {
	case *syntax.ListLit:
		for _, x := range e.Items {
			c.checkConstant(f, x, true)
		}
		return
	case *syntax.MapLit:
		for _, x := range e.Entries {
			c.checkConstant(f, x.Value, true)
		}
		return
	}
	switch v, ok := c.constOf(e); {
	case !ok:
		c.errs.Add(f, e.Pos(), e.End(), "this has no value: only numbers are reckoned with in a constant, and not past their range")
	case inside && !c.mayRepeat(e, v):
		c.errs.Add(f, e.Pos(), e.End(), "the lists and maps among the constants repeat more than %d bytes of other constants", maxRepeated)
	}
}

// defaultOf returns the value of a DEFINE name AS, or of a parameter's default, which is always a
// constant. Other than constOf it makes a constant of an empty container too:
// built in the caller's code it would stand at a place in another file.
func (c *compiler) defaultOf(e syntax.Expr) value.Value {
	if v, ok := c.defaults[e]; ok {
		return v
	}
	var v value.Value
	switch e := unparen(e).(type) {
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
		v, err = value.Sub(nil, x, y)
	case syntax.OpMul:
		v, err = value.Mul(nil, x, y)
	default:
		v, err = value.Div(nil, x, y)
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
