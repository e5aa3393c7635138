package lib

import (
	"bytes"
	"cmp"
	"strconv"

	"ql/lang/value"
)

// decimal is a number by the digits of its shortest form: 0.DIGITS × 10^point,
// without zeros at either end. Rounding it rounds what people see: 2.675 to two
// digits is 2.68, though the nearest float is a little less than 2.675.
type decimal struct {
	negative bool
	digits   []byte
	point    int
}

// decimal returns a number by its digits, charging for both ways: to them and back.
func (c *Call) decimal(v value.Value) decimal {
	const (
		ordinary = 30
		far      = 300 // exponents that are read back digit by digit
		slow     = 2000
	)
	c.Meter.Work(ordinary)
	d := decimalOf(v)
	if d.point > far || d.point < -far {
		c.Meter.Work(slow)
	}
	return d
}

func decimalOf(v value.Value) decimal {
	var d decimal
	var buf [48]byte
	switch {
	case v.IsDecimal():
		whole, fraction, _ := bytes.Cut(value.AppendDecimal(buf[:0], v), []byte("."))
		d.digits = whole
		d.sign()
		d.point = len(d.digits)
		d.digits = append(d.digits, fraction...)
		for len(d.digits) > 0 && d.digits[0] == '0' {
			d.digits = d.digits[1:]
			d.point--
		}
	case v.IsInt():
		d.digits = strconv.AppendInt(buf[:0], v.Int64(), 10)
		d.sign()
		d.point = len(d.digits)
	default:
		d.digits = strconv.AppendFloat(buf[:0], v.Float64(), 'e', -1, 64)
		d.sign()
		d.scientific()
	}
	d.trim()
	return d
}

func (d *decimal) sign() {
	if d.digits[0] == '-' {
		d.negative = true
		d.digits = d.digits[1:]
	}
}

// scientific takes d.digits from the form D.DDDe±XX.
func (d *decimal) scientific() {
	s := d.digits
	for i, b := range s {
		if b != 'e' {
			continue
		}
		exponent, _ := strconv.Atoi(string(s[i+1:]))
		d.point = exponent + 1
		d.digits = s[:1]
		if i > 2 {
			d.digits = append(d.digits, s[2:i]...)
		}
		return
	}
}

func (d *decimal) trim() {
	for len(d.digits) > 0 && d.digits[len(d.digits)-1] == '0' {
		d.digits = d.digits[:len(d.digits)-1]
	}
	if len(d.digits) == 0 {
		d.negative, d.point = false, 0
	}
}

// round keeps so many digits after the point, or drops them before it where
// places is negative.
func (d *decimal) round(places int, r value.Rounding) {
	keep := d.point + places
	if keep >= len(d.digits) {
		return
	}
	half := -1 // what is dropped is less than half of the last digit that stays
	if keep >= 0 {
		half = cmp.Compare(d.digits[keep], '5')
		if half == 0 && len(d.digits) > keep+1 { // its last digit is not 0
			half = 1
		}
	}
	odd := keep > 0 && d.digits[keep-1]%2 == 1
	d.digits = d.digits[:max(keep, 0)]
	if r.Away(d.negative, odd, half) {
		if keep < 0 {
			d.point = -places
		}
		d.increment()
	}
	d.trim()
}

// increment adds one at the last digit.
func (d *decimal) increment() {
	for i := len(d.digits) - 1; i >= 0; i-- {
		if d.digits[i] != '9' {
			d.digits[i]++
			return
		}
		d.digits[i] = '0'
	}
	d.digits = append([]byte{'1'}, d.digits...)
	d.point++
}

// value returns the number; it reports false where that is out of range.
func (d *decimal) value() (value.Value, bool) {
	var buf [64]byte
	s := buf[:0]
	if d.negative {
		s = append(s, '-')
	}
	if len(d.digits) <= d.point && d.point < 20 {
		s = append(s, d.digits...)
		for range d.point - len(d.digits) {
			s = append(s, '0')
		}
		if len(d.digits) == 0 {
			s = append(s, '0')
		}
		if i, err := strconv.ParseInt(string(s), 10, 64); err == nil {
			return value.Int(i), true
		}
	} else {
		s = append(s, "0."...)
		s = append(s, d.digits...)
		s = append(s, 'e')
		s = strconv.AppendInt(s, int64(d.point), 10)
	}
	f, err := strconv.ParseFloat(string(s), 64)
	if err != nil {
		return value.Null, false
	}
	return value.Number(f)
}

// digit returns digit i before (i < 0) or after (i ≥ 0) the point.
func (d *decimal) digit(i int) byte {
	if i += d.point; i >= 0 && i < len(d.digits) {
		return d.digits[i]
	}
	return '0'
}
