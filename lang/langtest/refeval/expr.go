package refeval

import (
	"errors"
	"fmt"
	"html"
	"math"
	"math/big"
	"slices"
	"strings"

	"ql/lang/lib"
	"ql/lang/source"
	"ql/lang/syntax"
	"ql/lang/value"
)

func (m *machine) eval(e syntax.Expr) val { return fits(m.evaluate(e)) }

func (m *machine) evaluate(e syntax.Expr) val {
	switch e := e.(type) {
	case *syntax.Number:
		if e.IsInt {
			return e.Int
		}
		return whole(e.Float)
	case *syntax.Text:
		return m.text(e)
	case *syntax.Null:
		return nil
	case *syntax.Bool:
		return e.Value
	case *syntax.Var:
		return m.vars[e.Name]
	case *syntax.Paren:
		return m.eval(e.X)
	case *syntax.Case:
		var of val
		if e.Of != nil {
			of = m.eval(e.Of)
		}
		for _, w := range e.Whens {
			if cond := m.eval(w.Cond); e.Of != nil && equal(of, cond) || e.Of == nil && truth(cond) {
				return m.eval(w.Then)
			}
		}
		if e.Else == nil {
			return nil
		}
		return m.eval(e.Else)
	case *syntax.ListLit:
		l := list{}
		for _, x := range e.Items {
			l = append(l, m.eval(x))
		}
		return l
	case *syntax.MapLit:
		d := dict{vals: map[string]val{}}
		for _, x := range e.Entries {
			d = d.with(x.Key, m.eval(x.Value))
		}
		return d
	case *syntax.Unary:
		x := m.eval(e.X)
		if e.Op == syntax.OpNot {
			return !truth(x)
		}
		if !isNumeric(x) {
			m.fail(e.Pos(), value.WrongKind)
		}
		return m.arithmetic(e.Pos(), syntax.OpSub, int64(0), x)
	case *syntax.Between:
		x := m.eval(e.X)
		in := m.compare(e.OpPos, x, m.eval(e.Low)) >= 0 && m.compare(e.OpPos, x, m.eval(e.High)) <= 0
		return in != e.Not
	case *syntax.IsNull:
		return (m.eval(e.X) == nil) != e.Not
	case *syntax.FieldAccess:
		x := m.eval(e.X)
		return m.index(e.X.End(), x, e.Name)
	case *syntax.Index:
		x := m.eval(e.X)
		return m.index(e.X.End(), x, m.eval(e.I))
	case *syntax.Binary:
		return m.binary(e)
	case *syntax.Call:
		return m.call(e)
	}
	panic("an expression that is not pure")
}

func (m *machine) text(t *syntax.Text) string {
	var b strings.Builder
	for _, p := range t.Parts {
		switch {
		case p.Insert == nil:
			b.WriteString(p.Plain)
		case t.HTML:
			b.WriteString(html.EscapeString(written(m.eval(p.Insert))))
		default:
			b.WriteString(written(m.eval(p.Insert)))
		}
	}
	return b.String()
}

func (m *machine) binary(e *syntax.Binary) val {
	x := m.eval(e.X)
	switch e.Op {
	case syntax.OpAnd:
		return truth(x) && truth(m.eval(e.Y))
	case syntax.OpOr:
		return truth(x) || truth(m.eval(e.Y))
	case syntax.OpDefault:
		if x != nil {
			return x
		}
		return m.eval(e.Y)
	}
	y := m.eval(e.Y)
	switch e.Op {
	case syntax.OpEq:
		return equal(x, y)
	case syntax.OpNe:
		return !equal(x, y)
	case syntax.OpLt:
		return m.compare(e.OpPos, x, y) < 0
	case syntax.OpLe:
		return m.compare(e.OpPos, x, y) <= 0
	case syntax.OpGt:
		return m.compare(e.OpPos, x, y) > 0
	case syntax.OpGe:
		return m.compare(e.OpPos, x, y) >= 0
	case syntax.OpIn:
		return m.member(e.OpPos, x, y)
	case syntax.OpNotIn:
		return !m.member(e.OpPos, x, y)
	}
	if e.Op == syntax.OpAdd && !(isNumeric(x) && isNumeric(y)) {
		return m.join(e.OpPos, x, y)
	}
	if !isNumeric(x) || !isNumeric(y) {
		m.fail(e.OpPos, value.WrongKind)
	}
	return m.arithmetic(e.OpPos, e.Op, x, y)
}

// join is + on anything but two numbers.
func (m *machine) join(at source.Pos, x, y val) val {
	switch a := x.(type) {
	case string:
		if b, ok := y.(string); ok {
			return a + b
		}
	case []byte:
		if b, ok := y.([]byte); ok {
			return slices.Concat(a, b)
		}
	case list:
		if b, ok := y.(list); ok {
			return slices.Concat(list{}, a, b)
		}
	case dict:
		if b, ok := y.(dict); ok {
			for _, k := range b.keys {
				a = a.with(k, b.vals[k])
			}
			return a
		}
	}
	m.fail(at, value.WrongKind)
	return nil
}

// arithmetic computes with two numbers, or decimals.
func (m *machine) arithmetic(at source.Pos, op syntax.Op, x, y val) val {
	if !isNumber(x) || !isNumber(y) {
		return m.decimals(at, op, x, y)
	}
	i, okX := x.(int64)
	j, okY := y.(int64)
	ints := okX && okY
	a, b := big.NewInt(i), big.NewInt(j)
	switch op {
	case syntax.OpDiv, syntax.OpIntDiv, syntax.OpMod:
		if op != syntax.OpDiv && !ints {
			m.fail(at, value.WrongKind)
		}
		if y == val(int64(0)) {
			m.fail(at, value.DivisionByZero)
		}
	}
	r := new(big.Int)
	if ints {
		switch op {
		case syntax.OpAdd:
			r.Add(a, b)
		case syntax.OpSub:
			r.Sub(a, b)
		case syntax.OpMul:
			r.Mul(a, b)
		case syntax.OpIntDiv:
			r.Quo(a, b)
		case syntax.OpMod:
			r.Rem(a, b)
		case syntax.OpDiv:
			rest := new(big.Int)
			r.QuoRem(a, b, rest)
			ints = rest.Sign() == 0
		}
		if ints && r.IsInt64() {
			return r.Int64()
		}
	}
	var f float64
	switch op {
	case syntax.OpAdd:
		f = float(x) + float(y)
	case syntax.OpSub:
		f = float(x) - float(y)
	case syntax.OpMul:
		f = float(x) * float(y)
	default:
		f = float(x) / float(y)
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		m.fail(at, value.NumberRange)
	}
	return whole(f)
}

func (m *machine) compare(at source.Pos, x, y val) int {
	if isNumeric(x) && isNumeric(y) {
		return order(x, y)
	}
	a, okA := x.(string)
	b, okB := y.(string)
	if !okA || !okB {
		m.fail(at, value.WrongKind)
	}
	return strings.Compare(a, b)
}

func (m *machine) member(at source.Pos, x, in val) bool {
	switch in := in.(type) {
	case nil:
		return false
	case list:
		return slices.ContainsFunc(in, func(e val) bool { return equal(x, e) })
	case dict:
		k, ok := x.(string)
		_, has := in.vals[k]
		return ok && has
	case string:
		switch x := x.(type) {
		case nil:
			return false
		case string:
			return strings.Contains(in, x)
		}
	}
	m.fail(at, value.WrongKind)
	return false
}

// index is an access: a missing key or index is null.
func (m *machine) index(at source.Pos, x, key val) val {
	switch x := x.(type) {
	case nil:
		return nil
	case list:
		i, ok := key.(int64)
		if !ok {
			m.fail(at, value.WrongKind)
		}
		if i < 0 {
			i += int64(len(x))
		}
		if i < 0 || i >= int64(len(x)) {
			return nil
		}
		return x[i]
	case dict:
		k, ok := key.(string)
		if !ok {
			m.fail(at, value.WrongKind)
		}
		return x.vals[k]
	}
	m.fail(at, value.WrongKind)
	return nil
}

// keys evaluates the keys of a target, and that before an OF.
func (m *machine) keys(t *syntax.Target, last *syntax.Text) []val {
	var ks []val
	for _, a := range t.Path {
		if a.Index == nil {
			ks = append(ks, a.Name)
		} else {
			ks = append(ks, m.eval(a.Index))
		}
	}
	if last != nil {
		ks = append(ks, m.text(last))
	}
	return ks
}

func (m *machine) assign(t *syntax.Target, keys []val, v val) {
	m.vars[t.Var.Name] = m.changed(t.Pos(), m.vars[t.Var.Name], keys, func(val) val { return v })
}

func (m *machine) appended(at source.Pos, x val, keys []val, v val) val {
	return m.changed(at, x, keys, func(x val) val {
		switch l := x.(type) {
		case nil:
			return list{v}
		case list:
			return append(slices.Clone(l), v)
		}
		m.fail(at, value.WrongKind)
		return nil
	})
}

// changed returns x with what the keys lead to replaced by what f makes of it.
// Missing maps are made on the way, an index must exist.
func (m *machine) changed(at source.Pos, x val, keys []val, f func(val) val) val {
	if len(keys) == 0 {
		return f(x)
	}
	switch c := x.(type) {
	case nil:
		k, ok := keys[0].(string)
		if !ok {
			m.fail(at, value.BadIndex)
		}
		return dict{vals: map[string]val{}}.with(k, m.changed(at, nil, keys[1:], f))
	case dict:
		k, ok := keys[0].(string)
		if !ok {
			m.fail(at, value.WrongKind)
		}
		return c.with(k, m.changed(at, c.vals[k], keys[1:], f))
	case list:
		i := m.place(at, c, keys[0])
		if i < 0 {
			m.fail(at, value.BadIndex)
		}
		return c.with(i, m.changed(at, c[i], keys[1:], f))
	}
	m.fail(at, value.WrongKind)
	return nil
}

// place returns which element an index names, or -1.
func (m *machine) place(at source.Pos, l list, key val) int {
	i, ok := key.(int64)
	if !ok {
		m.fail(at, value.WrongKind)
	}
	if i < 0 {
		i += int64(len(l))
	}
	if i < 0 || i >= int64(len(l)) {
		return -1
	}
	return int(i)
}

func (m *machine) unset(t *syntax.Target, keys []val) {
	if len(keys) == 0 {
		m.vars[t.Var.Name] = nil
		return
	}
	holder := m.vars[t.Var.Name]
	for _, k := range keys[:len(keys)-1] {
		holder = m.index(t.Pos(), holder, k)
	}
	last := keys[len(keys)-1]
	var without val
	switch h := holder.(type) {
	case nil:
		return
	case dict:
		k, ok := last.(string)
		if !ok {
			m.fail(t.Pos(), value.WrongKind)
		}
		if _, ok := h.vals[k]; !ok {
			return
		}
		without = h.without(k)
	case list:
		i := m.place(t.Pos(), h, last)
		if i < 0 {
			return
		}
		without = slices.Delete(slices.Clone(h), i, i+1)
	default:
		m.fail(t.Pos(), value.WrongKind)
	}
	m.vars[t.Var.Name] = m.changed(t.Pos(), m.vars[t.Var.Name], keys[:len(keys)-1], func(val) val { return without })
}

func (m *machine) call(e *syntax.Call) val {
	if d, ok := m.funcs[strings.ToLower(e.Name)]; ok {
		return m.defined(e, d)
	}
	i, ok := lib.Lookup(e.Name)
	if !ok {
		panic("no function " + e.Name)
	}
	b := lib.At(i)
	if b.Loop != lib.NoLoop && len(e.Args) > 1 {
		return m.loop(e, b)
	}
	var args []val
	for _, a := range e.Args {
		args = append(args, m.eval(a))
	}
	return m.builtin(e, b, args...)
}

// builtin computes a function of the library: the library has tests of its
// own, so it is right here.
func (m *machine) builtin(e *syntax.Call, b *lib.Builtin, args ...val) val {
	defer func() {
		switch x := recover().(type) {
		case nil:
		case *value.LimitError:
			panic(exhausted{})
		default:
			panic(x)
		}
	}()
	var in []value.Value
	nodes := 0
	for _, a := range args {
		in = append(in, toMachine(a, &nodes))
	}
	out, err := b.Fn(&lib.Call{Meter: meter(), Patterns: lib.NewPatterns(1)}, in)
	var failed *value.Error
	if errors.As(err, &failed) {
		m.fail(e.Pos(), failed.Code)
	}
	return fromMachine(out)
}

// meter bounds one call of the library.
func meter() *value.Meter {
	const enough = 1 << 28
	return &value.Meter{
		Bounds: value.Bounds{Text: 4 * mostBytes, Elements: 4 * mostElements, Nesting: 10_000, Pattern: 1000, PatternCost: enough},
		Fuel:   enough, BytesLeft: enough, Memory: enough, Measure: func() int64 { return 0 },
	}
}

func (m *machine) defined(e *syntax.Call, d *syntax.Define) val {
	vars := map[string]val{}
	for i, p := range d.Params {
		if i < len(e.Args) {
			vars[p.Var.Name] = m.eval(e.Args[i])
		} else {
			vars[p.Var.Name] = m.eval(p.Default)
		}
	}
	outer, step := m.vars, m.step
	m.vars = vars
	m.value = nil
	f := m.block(d.Body)
	m.vars, m.step = outer, step
	if f != toReturn {
		return nil
	}
	return m.value
}

// loop computes the functions that take a lambda.
func (m *machine) loop(e *syntax.Call, b *lib.Builtin) val {
	var elements list
	start := val(nil)
	switch x := m.eval(e.Args[0]).(type) {
	case nil:
	case list:
		elements = x
	default:
		if len(e.Args) > 2 {
			m.eval(e.Args[2])
		}
		m.fail(e.Args[0].Pos(), value.WrongKind)
	}
	if len(e.Args) > 2 {
		start = m.eval(e.Args[2])
	}
	l := m.lambdaOf(e, b)
	vars := m.vars
	apply := func(args ...val) val {
		hidden := map[string]val{}
		var added []string
		for i, p := range l.Params {
			if v, ok := vars[p.Name]; ok {
				hidden[p.Name] = v
			} else {
				added = append(added, p.Name)
			}
			vars[p.Name] = args[i]
		}
		defer func() {
			for _, name := range added {
				delete(vars, name)
			}
			for name, v := range hidden {
				vars[name] = v
			}
		}()
		return m.eval(l.Body)
	}
	var results list
	for i, x := range elements {
		switch b.Loop {
		case lib.LoopReduce:
			start = apply(start, x, int64(i))
		case lib.LoopFilter:
			if truth(apply(x, int64(i))) {
				results = append(results, x)
			}
		case lib.LoopAny:
			if truth(apply(x, int64(i))) {
				return true
			}
		case lib.LoopAll:
			if !truth(apply(x, int64(i))) {
				return false
			}
		default:
			results = append(results, apply(x, int64(i)))
		}
	}
	switch b.Loop {
	case lib.LoopReduce:
		return start
	case lib.LoopAny:
		return false
	case lib.LoopAll:
		return true
	case lib.LoopKeys:
		return m.builtin(e, b, elements, results)
	}
	if results == nil {
		results = list{}
	}
	return results
}

// lambdaOf returns the lambda of a call, or one that calls the function that is named instead.
func (m *machine) lambdaOf(e *syntax.Call, b *lib.Builtin) *syntax.Lambda {
	if l, ok := e.Args[1].(*syntax.Lambda); ok {
		return l
	}
	name := e.Args[1].(*syntax.Name)
	n := 1
	if b.Loop == lib.LoopReduce {
		n = 2
	}
	if d, ok := m.funcs[strings.ToLower(name.Name)]; ok {
		for n < len(d.Params) && d.Params[n].Default == nil {
			n++
		}
	} else if i, ok := lib.Lookup(name.Name); ok {
		n = max(n, lib.At(i).Min)
	}
	l := &syntax.Lambda{Span: name.Span, Body: &syntax.Call{Span: name.Span, Name: name.Name}}
	for i := range n {
		v := &syntax.Var{Name: fmt.Sprint(" ", i)}
		l.Params = append(l.Params, v)
		l.Body.(*syntax.Call).Args = append(l.Body.(*syntax.Call).Args, v)
	}
	return l
}
