package lib

import (
	"errors"
	"fmt"
	"strings"

	"ql/lang/source"
	"ql/lang/syntax"
	"ql/lang/value"
)

// evaluator computes expressions in tests: what the machine does, in the
// plainest way.
type evaluator struct {
	call *Call
	vars map[string]value.Value
	// watch, where set, sees each call of a Go function.
	watch func(b *Builtin, args []value.Value)
}

// newMeter returns a meter with the given fuel and memory, and bounds wide
// enough for all tests.
func newMeter(fuel, memory int64) *value.Meter {
	m := &value.Meter{
		Bounds:    value.Bounds{Text: 16 << 20, Elements: 4 << 20, Nesting: 100, Pattern: 1 << 10, PatternCost: 1e8},
		Reserve:   fuel,
		TotalFuel: fuel,
		BytesLeft: memory,
		Memory:    memory,
		Measure:   func() int64 { return 0 },
	}
	m.End()
	return m
}

func newCall() *Call {
	return &Call{Meter: newMeter(1<<40, 1<<40), Patterns: NewPatterns(100)}
}

// evaluate returns what EMIT of the expression prints, or "!code: message".
func evaluate(c *Call, expr string) string {
	x, errs := syntax.ParseExpr(source.NewFile("", expr))
	if len(errs) > 0 {
		return "!syntax: " + errs[0].Message
	}
	e := evaluator{call: c, vars: map[string]value.Value{}}
	v, err := e.eval(x)
	var ve *value.Error
	switch {
	case errors.As(err, &ve):
		return fmt.Sprintf("!%s: %s", ve.Code, ve.Message)
	case err != nil:
		return "!" + err.Error()
	}
	return string(value.AppendText(nil, v))
}

func (e *evaluator) eval(x syntax.Expr) (value.Value, error) {
	switch x := x.(type) {
	case *syntax.Number:
		if x.IsInt {
			return value.Int(x.Int), nil
		}
		v, _ := value.Number(x.Float)
		return v, nil
	case *syntax.Text:
		var b strings.Builder
		for _, p := range x.Parts {
			b.WriteString(p.Plain)
		}
		return value.Text(b.String()), nil
	case *syntax.Null:
		return value.Null, nil
	case *syntax.Bool:
		return value.Bool(x.Value), nil
	case *syntax.Var:
		return e.vars[x.Name], nil
	case *syntax.Paren:
		return e.eval(x.X)
	case *syntax.ListLit:
		l := value.NewList(nil, 0)
		for _, item := range x.Items {
			v, err := e.eval(item)
			if err != nil {
				return value.Null, err
			}
			l.Append(nil, v.Share())
		}
		return l.Value(), nil
	case *syntax.MapLit:
		t := value.NewMap(nil, 0)
		for _, entry := range x.Entries {
			v, err := e.eval(entry.Value)
			if err != nil {
				return value.Null, err
			}
			t.SetText(entry.Key, v.Share())
		}
		return t.Value(), nil
	case *syntax.FieldAccess:
		v, err := e.eval(x.X)
		if err != nil {
			return value.Null, err
		}
		return orError(value.Index(nil, v, value.Text(x.Name)))
	case *syntax.Unary:
		v, err := e.eval(x.X)
		if err != nil {
			return value.Null, err
		}
		return orError(value.Neg(e.call.Meter, v))
	case *syntax.Case:
		for _, w := range x.Whens {
			v, err := e.eval(w.Cond)
			if err != nil {
				return value.Null, err
			}
			if v.Truthy() {
				return e.eval(w.Then)
			}
		}
		return e.eval(x.Else)
	case *syntax.Binary:
		return e.binary(x)
	case *syntax.Call:
		return e.function(x)
	}
	return value.Null, fmt.Errorf("the tests' evaluator does not know %T", x)
}

func (e *evaluator) binary(x *syntax.Binary) (value.Value, error) {
	a, err := e.eval(x.X)
	if err != nil {
		return value.Null, err
	}
	b, err := e.eval(x.Y)
	if err != nil {
		return value.Null, err
	}
	switch x.Op {
	case syntax.OpAdd:
		return orError(value.Add(e.call.Meter, a, b))
	case syntax.OpSub:
		return orError(value.Sub(e.call.Meter, a, b))
	case syntax.OpIntDiv:
		return orError(value.IntDiv(e.call.Meter, a, b))
	case syntax.OpMul:
		return orError(value.Mul(e.call.Meter, a, b))
	case syntax.OpDiv:
		return orError(value.Div(e.call.Meter, a, b))
	case syntax.OpMod:
		return orError(value.Mod(e.call.Meter, a, b))
	case syntax.OpEq:
		return value.Bool(value.Equal(e.call.Meter, a, b)), nil
	case syntax.OpLt:
		n, err := value.Compare(e.call.Meter, a, b)
		if err != nil {
			return value.Null, err
		}
		return value.Bool(n < 0), nil
	case syntax.OpGt:
		n, err := value.Compare(e.call.Meter, a, b)
		if err != nil {
			return value.Null, err
		}
		return value.Bool(n > 0), nil
	}
	return value.Null, fmt.Errorf("the tests' evaluator does not know operator %d", x.Op)
}

func (e *evaluator) function(x *syntax.Call) (value.Value, error) {
	i, ok := Lookup(x.Name)
	if !ok {
		return value.Null, fmt.Errorf("no function %s", x.Name)
	}
	b := At(i)
	if len(x.Args) < b.Min || b.Max >= 0 && len(x.Args) > b.Max {
		return value.Null, fmt.Errorf("%s takes %d to %d arguments", b.Name, b.Min, b.Max)
	}
	var args []value.Value
	var lambda *syntax.Lambda
	for _, a := range x.Args {
		if l, ok := a.(*syntax.Lambda); ok {
			lambda = l
			continue
		}
		v, err := e.eval(a)
		if err != nil {
			return value.Null, err
		}
		args = append(args, v)
	}
	if lambda != nil {
		return e.loop(b, lambda, args)
	}
	return e.run(b, args)
}

func (e *evaluator) run(b *Builtin, args []value.Value) (value.Value, error) {
	if e.watch != nil {
		e.watch(b, args)
	}
	return b.Fn(e.call, args)
}

// loop runs a built-in that takes a lambda.
func (e *evaluator) loop(b *Builtin, lambda *syntax.Lambda, args []value.Value) (value.Value, error) {
	list, keys := noElements, noElements
	switch {
	case args[0].IsMap():
		list, keys = value.NewList(nil, 0), value.NewList(nil, 0)
		for k, v := range args[0].Map().All {
			list.Append(nil, v.Share())
			keys.Append(nil, k)
		}
	case !args[0].IsNull():
		list = args[0].List()
	}
	results, kept := value.NewList(nil, 0), value.NewList(nil, 0)
	sum := args[len(args)-1]
	for i := range list.Len() {
		params := []value.Value{list.At(i).Share(), value.Int(int64(i))}
		if b.Loop == LoopEntries {
			params[1] = keys.At(i)
		}
		if b.Loop == LoopReduce {
			params = append([]value.Value{sum}, params...)
		}
		for j, p := range lambda.Params {
			e.vars[p.Name] = params[j]
		}
		v, err := e.eval(lambda.Body)
		if err != nil {
			return value.Null, err
		}
		sum = v
		results.Append(nil, v.Share())
		if v.Truthy() {
			kept.Append(nil, list.At(i).Share())
		}
	}
	switch b.Loop {
	case LoopReduce:
		return sum, nil
	case LoopFilter:
		return kept.Value(), nil
	case LoopMap:
		return results.Value(), nil
	case LoopFirst, LoopLast:
		if b.Plain {
			return e.run(&all[byName["FIRST"]], []value.Value{kept.Value()})
		}
		return e.run(b, []value.Value{kept.Value()})
	case LoopAny, LoopAll:
		return e.run(b, []value.Value{results.Value()})
	}
	return e.run(b, append([]value.Value{args[0], results.Value()}, args[1:]...))
}
