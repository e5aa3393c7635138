package lib

import (
	"fmt"
	"math"

	"ql/lang/value"
)

// needs wraps fn with the rule for null: a function given null for one of the
// first n arguments, which are those it cannot do without, gives null.
func needs(n int, fn Func) Func {
	return func(c *Call, args []value.Value) (value.Value, error) {
		for _, a := range args[:min(n, len(args))] {
			if a.IsNull() {
				return value.Null, nil
			}
		}
		return fn(c, args)
	}
}

// needsSecond is needs for functions of a list, which take null as the empty
// list, and of a second argument that they cannot do without.
func needsSecond(fn Func) Func {
	return func(c *Call, args []value.Value) (value.Value, error) {
		if args[1].IsNull() {
			return value.Null, nil
		}
		return fn(c, args)
	}
}

// input reads the arguments of one call. It keeps the first thing wrong with
// them, after which its methods give zero values: so a function reads all its
// arguments and looks at err once.
type input struct {
	*Call
	name string
	args []value.Value
	err  *value.Error
}

func read(c *Call, name string, args []value.Value) input {
	return input{Call: c, name: name, args: args}
}

// given reports whether argument i is there; null counts as left out.
func (in *input) given(i int) bool { return i < len(in.args) && !in.args[i].IsNull() }

// fail notes what is wrong, unless something already is.
func (in *input) fail(code, format string, args ...any) {
	if in.err == nil {
		in.err = value.Errorf(code, "%s %s", in.name, fmt.Sprintf(format, args...))
	}
}

// wrongKind notes that argument i is not of the kind wanted. what is its
// meaning; a function of one argument needs none.
func (in *input) wrongKind(i int, what, wanted, hint string) {
	place := ""
	if what != "" {
		place = fmt.Sprintf(" for argument %d, %s", i+1, what)
	}
	in.fail(value.WrongKind, "takes %s%s, not %s%s", wanted, place, value.Describe(in.args[i]), hint)
}

func (in *input) text(i int, what string) string {
	if in.err != nil || !in.args[i].IsText() {
		if in.err == nil {
			in.wrongKind(i, what, "a text", toTextHint(in.args[i]))
		}
		return ""
	}
	return in.args[i].Str()
}

func toTextHint(v value.Value) string {
	switch v.Kind() {
	case value.KindBool, value.KindInt, value.KindFloat, value.KindDecimal:
		return "; TEXT(…) makes a text of it"
	case value.KindBytes:
		return "; TEXT(…) reads bytes as text"
	}
	return ""
}

// content reads a text or bytes.
func (in *input) content(i int, what string) string {
	if in.err != nil {
		return ""
	}
	if k := in.args[i].Kind(); k != value.KindText && k != value.KindBytes {
		in.wrongKind(i, what, "a text or bytes", toTextHint(in.args[i]))
		return ""
	}
	return in.args[i].Str()
}

// number reads a number; after an error it is 0.
func (in *input) number(i int, what string) value.Value {
	if in.err != nil {
		return value.Int(0)
	}
	if !in.args[i].IsNumber() {
		in.wrongKind(i, what, "a number", toNumberHint(in.args[i]))
		return value.Int(0)
	}
	return in.args[i]
}

func toNumberHint(v value.Value) string {
	switch {
	case v.IsText():
		return "; NUMBER(…) makes a number of a text"
	case v.IsDecimal():
		return "; NUMBER(…) makes a number of a decimal"
	}
	return ""
}

// whole reads a whole number; floats beyond the integers are taken as the
// largest integer there is.
func (in *input) whole(i int, what string) int64 {
	v := in.number(i, what)
	if v.IsInt() {
		return v.Int64()
	}
	f := v.Float64()
	switch {
	case f != math.Trunc(f):
		in.fail(value.BadArgument, "takes a whole number for argument %d, %s, not %s", i+1, what, value.AppendNumber(nil, v))
		return 0
	case f > 0:
		return math.MaxInt64
	}
	return math.MinInt64
}

// count reads a whole number of at least low.
func (in *input) count(i int, what string, low int64) int64 {
	n := in.whole(i, what)
	if in.err == nil && n < low {
		in.fail(value.BadArgument, "takes a number of at least %d for argument %d, %s, not %d", low, i+1, what, n)
		return low
	}
	return n
}

var noElements = value.NewList(nil, 0)

// list reads a list; null is the empty list. It must only be read.
func (in *input) list(i int, what string) *value.List {
	if in.err != nil || in.args[i].IsNull() {
		return noElements
	}
	if !in.args[i].IsList() {
		hint := ""
		switch {
		case in.args[i].IsText():
			hint = "; SPLIT(…) makes a list of a text"
		case in.args[i].IsMap():
			hint = "; VALUES(…) and ENTRIES(…) make a list of a map"
		}
		in.wrongKind(i, what, "a list", hint)
		return noElements
	}
	return in.args[i].List()
}

var noEntries = value.NewMap(nil, 0)

// table reads a map. It must only be read.
func (in *input) table(i int, what string) *value.Map {
	if in.err != nil {
		return noEntries
	}
	if !in.args[i].IsMap() {
		hint := ""
		if in.args[i].IsText() {
			hint = "; FROM_JSON(…) makes a map of JSON text"
		}
		in.wrongKind(i, what, "a map", hint)
		return noEntries
	}
	return in.args[i].Map()
}
