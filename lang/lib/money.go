package lib

import (
	"strings"

	"ql/lang/value"
)

// numeric reads a number or a decimal; after an error it is 0.
func (in *input) numeric(i int, what string) value.Value {
	if in.err == nil && in.args[i].IsDecimal() {
		return in.args[i]
	}
	return in.number(i, what)
}

// exact reads a decimal or a whole number; after an error it is 0.
func (in *input) exact(i int, what string) value.Value {
	v := in.numeric(i, what)
	if v.IsFloat() {
		in.wrongKind(i, what, "a decimal or a whole number", "; DECIMAL(…) makes a decimal of it")
		return value.Int(0)
	}
	return v
}

// decimals reads how many digits a decimal shall have after its point.
func (in *input) decimals(i int) int {
	n := in.count(i, "the digits", 0)
	if in.err == nil && n > value.MaxDigits {
		in.fail(value.BadArgument, "takes at most %d digits, not %d", value.MaxDigits, n)
	}
	return int(n)
}

// rounding reads a way to round; half up unless given.
func (in *input) rounding(i int) value.Rounding {
	if !in.given(i) {
		return value.HalfUp
	}
	name := in.text(i, "the rounding")
	r, ok := value.ParseRounding(name)
	if in.err == nil && !ok {
		names := value.RoundingNames[:]
		last := len(names) - 1
		in.fail(value.BadArgument, `rounds "%s" or "%s", not %s`, strings.Join(names[:last], `", "`), names[last], value.Quote(name))
	}
	return r
}

func toDecimal(c *Call, args []value.Value) (value.Value, error) {
	v := args[0]
	switch {
	case v.IsNumeric():
		return orError(value.ToDecimal(c.Meter, v))
	case v.IsText():
		c.Meter.Work(len(v.Str()) / 8)
		s := strings.TrimSpace(v.Str())
		if s == "" {
			return value.Null, nil
		}
		return orError(value.ParseDecimal(c.Meter, s))
	}
	return value.Null, value.Errorf(value.WrongKind, "DECIMAL takes a text, a number or a decimal, not %s", value.Describe(v))
}

// orError keeps a nil *value.Error from becoming an error.
func orError(v value.Value, err *value.Error) (value.Value, error) {
	if err != nil {
		return value.Null, err
	}
	return v, nil
}

func divide(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "DIVIDE", args)
	a, b := in.exact(0, "what is divided"), in.exact(1, "the divisor")
	digits, r := in.decimals(2), in.rounding(3)
	if in.err != nil {
		return value.Null, in.err
	}
	return orError(value.DivideDecimals(c.Meter, a, b, digits, r))
}

// mixed notes that decimals and numbers that are not whole stand together where
// they would be added or multiplied.
func (in *input) mixed(v value.Value) {
	in.fail(value.WrongKind, "takes either decimals and whole numbers, or numbers; among decimals is %s; DECIMAL(…) makes a decimal of it", value.Describe(v))
}

// powerOfDecimal is POWER with a decimal as its base.
func powerOfDecimal(in *input, base, exponent value.Value) (value.Value, error) {
	if !exponent.IsInt() || exponent.Int64() < 0 {
		in.fail(value.BadArgument, "takes a whole exponent from 0 on for a decimal, not %s; NUMBER(…) makes a number of a decimal", value.AppendText(nil, exponent))
		return value.Null, in.err
	}
	result := value.Int(1)
	var err *value.Error
	for n := exponent.Int64(); ; {
		if n&1 == 1 {
			if result, err = value.Mul(in.Meter, result, base); err != nil {
				return value.Null, err
			}
		}
		if n >>= 1; n == 0 {
			break
		}
		if base, err = value.Mul(in.Meter, base, base); err != nil {
			return value.Null, err
		}
	}
	return orError(value.ToDecimal(in.Meter, result))
}

// averageDigits is how many digits more than its numbers an average of decimals
// has whose digits never end.
const averageDigits = 6

func averageOfDecimals(c *Call, sum value.Value, n int64) (value.Value, error) {
	if v, err := value.Div(c.Meter, sum, value.Int(n)); err == nil {
		return v, nil
	}
	digits := min(value.DecimalScale(sum)+averageDigits, value.MaxDigits)
	return orError(value.DivideDecimals(c.Meter, sum, value.Int(n), digits, value.HalfEven))
}

func productOfDecimals(in *input) (value.Value, error) {
	product, _ := value.ToDecimal(in.Meter, value.Int(1))
	in.numbers(func(v value.Value) {
		switch {
		case in.err != nil:
		case v.IsFloat():
			in.mixed(v)
		default:
			// Only the last of the products stays, which is all that is counted.
			in.Meter.Work(productWork)
			product, in.err = value.Mul(nil, product, v)
		}
	})
	if in.err != nil {
		return value.Null, in.err
	}
	return product, nil
}

// productWork is what a product of two decimals takes that is not kept.
const productWork = 45

// medianOfDecimals returns what lies between two numbers of which at least one is a
// decimal.
func medianOfDecimals(in *input, low, high value.Value) (value.Value, error) {
	for _, v := range []value.Value{low, high} {
		if v.IsFloat() {
			in.mixed(v)
			return value.Null, in.err
		}
	}
	sum, err := value.Add(in.Meter, low, high)
	if err != nil {
		return value.Null, err
	}
	return orError(value.Div(in.Meter, sum, value.Int(2)))
}
