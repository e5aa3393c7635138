package lib

import (
	"math"
	"strconv"
	"strings"

	"ql/lang/value"
)

var kindFunctions = []Builtin{
	{Name: "TYPE", Min: 1, Max: 1, Fn: typeOf,
		Signature: "TYPE(value)", Summary: "The kind of a value: null, boolean, number, text, list, map, bytes or decimal.",
		Example: `TYPE([1, 2])`, Result: "list"},
	{Name: "TEXT", Min: 1, Max: 2, Fn: withFallback(1, needs(1, toText)),
		Signature: "TEXT(value[, otherwise])", Summary: "The value as EMIT writes it: numbers in their shortest form, lists and maps as JSON, bytes read as UTF-8. With a second argument: that, for null and for bytes that are no text.",
		Example: `TEXT(1.50) + " €"`, Result: "1.5 €"},
	{Name: "NUMBER", Min: 1, Max: 2, Fn: withFallback(1, needs(1, toNumber)),
		Signature: "NUMBER(value[, otherwise])", Summary: "The number that a text writes; null for a blank text, error not_a_number for other texts. True is 1, false 0, and of a decimal it is the nearest number. With a second argument: that, for null and for whatever is no number.",
		Example: `NUMBER(" 12.50 ") + NUMBER("many", 1)`, Result: "13.5"},
	{Name: "DECIMAL", Min: 1, Max: 2, Fn: withFallback(1, needs(1, toDecimal)),
		Signature: "DECIMAL(value[, otherwise])", Summary: "The exact decimal that a text writes, or that a number is written as; null for a blank text, error not_a_number for other texts. With a second argument: that, for null and for whatever is no decimal.",
		Example: `DECIMAL("12.30") * 3`, Result: "36.90"},
	{Name: "BOOLEAN", Min: 1, Max: 2, Fn: withFallback(1, needs(1, toBoolean)),
		Signature: "BOOLEAN(value[, otherwise])", Summary: "True for true, yes, on and 1, false for false, no, off and 0, as text in any case or as value; null for a blank text. With a second argument: that, for null and for whatever is none of these.",
		Example: `BOOLEAN("Yes")`, Result: "true"},
	{Name: "BYTES", Min: 1, Max: 1, Fn: needs(1, toBytes),
		Signature: "BYTES(text)", Summary: "The text as bytes in UTF-8.",
		Example: `LENGTH(BYTES("€"))`, Result: "3"},
}

// kindNames are the answers of TYPE, made once.
var kindNames = func() map[value.Kind]value.Value {
	m := make(map[value.Kind]value.Value)
	for k := value.KindNull; k < value.Kinds; k++ {
		m[k] = value.Text(k.String()).Freeze()
	}
	return m
}()

func typeOf(_ *Call, args []value.Value) (value.Value, error) {
	return kindNames[args[0].Kind()], nil
}

func toText(c *Call, args []value.Value) (value.Value, error) {
	if err := c.printable(args[0]); err != nil {
		return value.Null, err
	}
	v, err := value.ToText(c.Meter, args[0])
	if err != nil {
		return value.Null, err
	}
	return v, nil
}

// withFallback gives a function of n arguments one more: what it gives in place of null and of
// an error.
func withFallback(n int, fn Func) Func {
	return func(c *Call, args []value.Value) (value.Value, error) {
		v, err := fn(c, args[:min(n, len(args))])
		if failed := err != nil || v.IsNull(); failed && len(args) > n {
			v, err = args[n].Share(), nil
		}
		return v, err
	}
}

func toNumber(c *Call, args []value.Value) (value.Value, error) {
	switch v := args[0]; v.Kind() {
	case value.KindInt, value.KindFloat:
		return v, nil
	case value.KindDecimal:
		return value.DecimalToNumber(c.Meter, v), nil
	case value.KindBool:
		if v.IsTrue() {
			return value.Int(1), nil
		}
		return value.Int(0), nil
	case value.KindText:
		c.Meter.Work(len(v.Str())/4 + value.FloatWork(v.Str()))
		c.Meter.Alloc(2 * len(v.Str())) // for the errors of package strconv
		return parseNumber(v.Str())
	}
	return value.Null, value.Errorf(value.WrongKind, "NUMBER takes a text, a number, a decimal or a boolean, not %s", value.Describe(args[0]))
}

// parseNumber reads an optional sign, digits with or without a point among
// them, and an optional exponent, with white space around.
func parseNumber(text string) (value.Value, error) {
	s := strings.TrimSpace(text)
	if s == "" {
		return value.Null, nil
	}
	if !isNumber(s) {
		return value.Null, value.Errorf(value.NotANumber, "the text %s is not a number; a number looks like 12, -3.5 or 1e6", value.Quote(text))
	}
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		return value.Int(i), nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(f, 0) {
		return value.Null, value.Errorf(value.NumberRange, "the text %s is too large for a number", value.Quote(text))
	}
	v, _ := value.Number(f)
	return v, nil
}

func isNumber(s string) bool {
	s = cutSign(s)
	before := digits(s)
	s = s[before:]
	after := 0
	if strings.HasPrefix(s, ".") {
		after = digits(s[1:])
		s = s[1+after:]
	}
	if before+after == 0 {
		return false
	}
	if s != "" && (s[0] == 'e' || s[0] == 'E') {
		s = cutSign(s[1:])
		n := digits(s)
		return n > 0 && n == len(s)
	}
	return s == ""
}

func cutSign(s string) string {
	if s != "" && (s[0] == '+' || s[0] == '-') {
		return s[1:]
	}
	return s
}

// digits returns how many digits s starts with.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

func toBoolean(_ *Call, args []value.Value) (value.Value, error) {
	const known = "true, yes, on and 1, or false, no, off and 0"
	v := args[0]
	switch v.Kind() {
	case value.KindBool:
		return v, nil
	case value.KindInt, value.KindFloat:
		switch v {
		case value.Int(0):
			return value.False, nil
		case value.Int(1):
			return value.True, nil
		}
		return value.Null, value.Errorf(value.BadArgument, "BOOLEAN knows %s, not the number %s", known, value.AppendNumber(nil, v))
	case value.KindText:
		const longest = 100 // with any reasonable amount of white space
		if s := v.Str(); len(s) <= longest {
			switch strings.ToLower(strings.TrimSpace(s)) {
			case "":
				return value.Null, nil
			case "true", "yes", "on", "1":
				return value.True, nil
			case "false", "no", "off", "0":
				return value.False, nil
			}
		}
		return value.Null, value.Errorf(value.BadArgument, "BOOLEAN knows %s, not %s", known, value.Quote(v.Str()))
	}
	return value.Null, value.Errorf(value.WrongKind, "BOOLEAN takes a text, a boolean or the numbers 0 and 1, not %s", value.Describe(v))
}

func toBytes(c *Call, args []value.Value) (value.Value, error) {
	if args[0].Kind() == value.KindBytes {
		return args[0], nil
	}
	in := read(c, "BYTES", args)
	s := in.text(0, "")
	if in.err != nil {
		return value.Null, in.err
	}
	b := value.NewBuilder(c.Meter, value.KindBytes, len(s))
	b.Add(s)
	return b.Value(), nil
}
