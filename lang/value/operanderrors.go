package value

import "strings"

// The errors of operators whose operands do not fit. Each names both operands
// in the order they stand in, and a way out.

func addError(a, b Value) *Error {
	hint := ""
	ka, kb := a.Kind(), b.Kind()
	is := func(k Kind) bool { return ka == k || kb == k }
	switch {
	case is(KindNull):
		hint = ": null has no value; DEFAULT gives it one"
	case is(KindBytes) && is(KindText):
		hint = ": TEXT(…) reads bytes as text, BYTES(…) makes bytes of a text"
	case is(KindList) && !is(KindMap):
		hint = ": ?list + [?x] adds an element to a list"
	case is(KindMap):
	case is(KindText):
		hint = ": NUMBER(?a) + 1 adds numbers, \"{?a}1\" joins texts"
	}
	return Errorf(WrongKind, "cannot add %s and %s%s", Describe(a), Describe(b), hint)
}

func mulError(a, b Value) *Error {
	text, other := a, b
	if !text.IsText() {
		text, other = b, a
	}
	if text.IsText() && other.IsNumber() && !strings.ContainsAny(text.Str(), "0123456789") {
		return Errorf(WrongKind, "cannot multiply %s by %s: REPEAT(?text, ?n) repeats a text", Describe(a), Describe(b))
	}
	return operandError("cannot multiply %s by %s", a, b)
}

// operandError is the error of arithmetic on anything but numbers. The format
// takes the two operands.
func operandError(format string, a, b Value) *Error {
	e := Errorf(WrongKind, format, Describe(a), Describe(b))
	if a.IsList() && b.IsList() && strings.Contains(format, "subtract") {
		e.Message += ": EXCEPT(?a, ?b) leaves out what the second list has"
		return e
	}
	e.Message += numberFor(a, b)
	return e
}

// numberFor says how to come by a number where one of two operands is none.
func numberFor(a, b Value) string {
	switch {
	case a.IsNull() || b.IsNull():
		return ": null has no value; DEFAULT gives it one"
	case a.IsText() || b.IsText():
		return ": NUMBER(…) makes a number of a text"
	}
	return ""
}

// wantWhole is the error of DIV and % on anything but whole numbers.
func wantWhole(op string, a, b Value) *Error {
	if a.IsNumber() && b.IsNumber() {
		return Errorf(WrongKind, "%s takes whole numbers, not %s and %s: FLOOR(…) or ROUND(…) makes one", op, AppendNumber(nil, a), AppendNumber(nil, b))
	}
	return operandError("cannot divide %s by %s", a, b)
}

// orderError is the error of < > <= >= between values that have no order.
func orderError(a, b Value) *Error {
	return Errorf(WrongKind, "cannot compare %s with %s: < > <= >= take two numbers or two texts%s", Describe(a), Describe(b), orderHint(a, b))
}

func orderHint(a, b Value) string {
	switch {
	case a.IsNull() || b.IsNull():
		return "; null has no value, DEFAULT gives it one"
	case a.IsText() && b.IsNumber() || a.IsNumber() && b.IsText():
		return "; NUMBER(…) makes a number of a text"
	}
	return ""
}
