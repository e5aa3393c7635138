package lib

import (
	"strings"
	"unicode/utf8"

	"ql/lang/value"
)

// numberStyle says how a number is shown: what stands between the thousands,
// what before the decimals, and how many of those there are (-1: as many as
// the number has).
type numberStyle struct {
	group, mark string
	digits      int
}

// parseStyle reads a style from the way it writes 1234.5, such as "1.234,50".
func parseStyle(s string) (numberStyle, bool) {
	st := numberStyle{mark: "."}
	rest, ok := strings.CutPrefix(s, "1")
	if !ok {
		return st, false
	}
	group, decimals, ok := strings.Cut(rest, "234")
	if !ok || utf8.RuneCountInString(group) > 1 {
		return st, false
	}
	st.group = group
	if decimals == "" {
		if group == "." {
			st.mark = ","
		}
		return st, true
	}
	_, n := utf8.DecodeRuneInString(decimals)
	st.mark, st.digits = decimals[:n], len(decimals)-n
	if strings.Trim(decimals[n:], "0123456789") != "" || strings.ContainsAny(group+st.mark, "0123456789-") || group == st.mark {
		return st, false
	}
	return st, true
}

const mostDigits = 100

func formatNumber(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "FORMAT_NUMBER", args)
	n := in.numeric(0, "the number")
	style := numberStyle{group: ",", mark: ".", digits: -1}
	if in.given(2) {
		s := in.text(2, "the style")
		var ok bool
		if style, ok = parseStyle(s); !ok {
			in.fail(value.BadArgument, `takes a style that shows how 1234.5 is to look, such as "1,234.50", "1.234,50", "1 234,50" or "1234.5", not %s`, value.Quote(s))
		}
	}
	if in.given(1) {
		digits := in.count(1, "the digits", 0)
		if in.err == nil && digits > mostDigits {
			in.fail(value.BadArgument, "takes at most %d digits, not %d", mostDigits, digits)
		}
		style.digits = int(digits)
	}
	if in.err != nil {
		return value.Null, in.err
	}
	d := c.decimal(n)
	c.Meter.Work(2 * max(d.point, 0))
	switch {
	case style.digits >= 0:
	case n.IsDecimal():
		style.digits = value.DecimalScale(n)
	default:
		style.digits = max(0, len(d.digits)-d.point)
	}
	c.Meter.Work(2 * style.digits)
	d.round(style.digits, value.HalfUp)
	return style.write(c, d), nil
}

func (st *numberStyle) write(c *Call, d decimal) value.Value {
	out := buffer{c: c}
	if d.negative {
		out.addByte('-')
	}
	for left := max(d.point, 1); left > 0; left-- {
		out.addByte(d.digit(-left))
		if left%3 == 1 && left > 1 {
			out.add(st.group)
		}
	}
	if st.digits > 0 {
		out.add(st.mark)
	}
	for i := range st.digits {
		out.addByte(d.digit(i))
	}
	return out.value()
}
