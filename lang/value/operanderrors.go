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
	case (oneValue(a) || oneValue(b)) && (a.IsNumeric() || b.IsNumeric() || is(KindText)):
		hint = ": " + takeOneValue
	case is(KindBytes) && is(KindText):
		hint = ": TEXT(…) reads bytes as text, BYTES(…) makes bytes of a text"
	case is(KindList) && !is(KindMap):
		hint = ": ?list + [?x] adds an element to a list"
	case is(KindMap):
	case is(KindDecimal):
		hint = decimalHint(a, b)
	case moment(a) || moment(b):
		hint = ": " + moveMoment
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
	if strings.Contains(format, "subtract") && moment(a) {
		if b.IsNumeric() {
			e.Message += ": " + moveMoment
			return e
		}
		if moment(b) {
			e.Message += `: DIFFERENCE(?time, ?earlier, "days") counts what lies between two times`
			return e
		}
	}
	e.Message += numberFor(a, b)
	return e
}

// numberFor says how to come by a number where one of two operands is none.
func numberFor(a, b Value) string {
	switch {
	case a.IsNull() || b.IsNull():
		return ": null has no value; DEFAULT gives it one"
	case oneValue(a) || oneValue(b):
		return ": " + takeOneValue
	case a.IsDecimal() || b.IsDecimal():
		return decimalHint(a, b)
	case a.IsText() || b.IsText():
		return ": NUMBER(…) makes a number of a text"
	}
	return ""
}

// decimalHint says how to come by two decimals where one of two operands is none.
func decimalHint(a, b Value) string {
	switch {
	case a.IsFloat() || b.IsFloat():
		return ": a number that is not whole may not be exact; DECIMAL(…) makes a decimal of it"
	case a.IsText() || b.IsText():
		return ": DECIMAL(…) makes a decimal of a text"
	}
	return ""
}

const (
	takeOneValue = "where the list is the row of a SELECT, SET VALUE ?n takes the value itself"
	moveMoment   = `ADD_TIME(?time, 1, "day") gives a later time, a negative number an earlier one`
)

// oneValue says whether v looks like what SET ?n takes of a SELECT with one row
// of one column.
func oneValue(v Value) bool {
	if !v.IsList() || v.List().Len() != 1 {
		return false
	}
	row := v.List().At(0)
	return row.IsMap() && row.Map().Len() == 1
}

// moment says whether v is text that starts as NOW() writes a time.
func moment(v Value) bool {
	if !v.IsText() {
		return false
	}
	const form = "0000-00-00T00:00"
	text := v.Str()
	if len(text) < len(form) {
		return false
	}
	for i := range len(form) {
		digit := '0' <= text[i] && text[i] <= '9'
		if form[i] == '0' && !digit || form[i] != '0' && text[i] != form[i] {
			return false
		}
	}
	return true
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
	case oneValue(a) || oneValue(b):
		return "; " + takeOneValue
	case a.IsText() && b.IsDecimal() || a.IsDecimal() && b.IsText():
		return "; DECIMAL(…) makes a decimal of a text"
	case a.IsText() && b.IsNumber() || a.IsNumber() && b.IsText():
		return "; NUMBER(…) makes a number of a text"
	}
	return ""
}
