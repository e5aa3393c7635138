package refeval

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"ql/lang/value"
)

// A val is nil, a bool, an int64, a float64, a decimal, a string, a []byte, a list or
// a dict. None is ever changed once it is made: that is how assignment copies.
type val any

type list []val

// dict is an ordered map.
type dict struct {
	keys []string
	vals map[string]val
}

func (d dict) with(key string, v val) dict {
	c := dict{keys: d.keys, vals: make(map[string]val, len(d.vals)+1)}
	for k, x := range d.vals {
		c.vals[k] = x
	}
	if _, ok := d.vals[key]; !ok {
		c.keys = append(slices.Clone(d.keys), key)
	}
	c.vals[key] = v
	return c
}

func (d dict) without(key string) dict {
	c := dict{vals: map[string]val{}}
	for _, k := range d.keys {
		if k != key {
			c.keys = append(c.keys, k)
			c.vals[k] = d.vals[k]
		}
	}
	return c
}

func (l list) with(i int, v val) list {
	c := slices.Clone(l)
	c[i] = v
	return c
}

func truth(v val) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case float64:
		return v != 0
	case decimal:
		return v.rat().Sign() != 0
	case string:
		return v != ""
	case []byte:
		return len(v) > 0
	case list:
		return len(v) > 0
	}
	return len(v.(dict).keys) > 0
}

// whole makes an integer of a float that is one below 2^53.
func whole(f float64) val {
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return int64(f)
	}
	return f
}

func isNumber(v val) bool {
	switch v.(type) {
	case int64, float64:
		return true
	}
	return false
}

// isNumeric reports whether v is a number or a decimal.
func isNumeric(v val) bool {
	_, ok := v.(decimal)
	return ok || isNumber(v)
}

func float(v val) float64 {
	if i, ok := v.(int64); ok {
		return float64(i)
	}
	return v.(float64)
}

func exact(v val) *big.Rat {
	if i, ok := v.(int64); ok {
		return new(big.Rat).SetInt64(i)
	}
	return new(big.Rat).SetFloat64(v.(float64))
}

// order compares two numbers or decimals.
func order(a, b val) int {
	if isNumber(a) && isNumber(b) {
		return exact(a).Cmp(exact(b))
	}
	return shown(a).Cmp(shown(b))
}

func equal(a, b val) bool {
	if isNumeric(a) && isNumeric(b) {
		return order(a, b) == 0
	}
	switch a := a.(type) {
	case list:
		b, ok := b.(list)
		return ok && slices.EqualFunc(a, b, equal)
	case dict:
		b, ok := b.(dict)
		if !ok || len(a.keys) != len(b.keys) {
			return false
		}
		for _, k := range a.keys {
			if v, ok := b.vals[k]; !ok || !equal(a.vals[k], v) {
				return false
			}
		}
		return true
	case []byte:
		b, ok := b.([]byte)
		return ok && bytes.Equal(a, b)
	}
	switch b.(type) {
	case list, dict, []byte:
		return false
	}
	return a == b
}

// mostBytes is how long a text may be before a script is given up, and
// mostElements how long a list.
const (
	mostBytes    = 1 << 18
	mostElements = 1 << 13
)

// fits gives a script up whose texts or lists have grown too large.
func fits(v val) val {
	switch x := v.(type) {
	case string:
		if len(x) > mostBytes {
			panic(exhausted{})
		}
	case list:
		if len(x) > mostElements {
			panic(exhausted{})
		}
	}
	return v
}

// written returns v as EMIT writes it.
func written(v val) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case []byte:
		return string(v)
	case decimal:
		return string(v)
	}
	var b strings.Builder
	json(&b, v)
	return b.String()
}

func json(b *strings.Builder, v val) {
	if b.Len() > mostBytes {
		panic(exhausted{})
	}
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case int64:
		b.WriteString(strconv.FormatInt(v, 10))
	case float64:
		b.WriteString(numeral(v))
	case string:
		b.WriteString(quoted(v))
	case decimal:
		b.WriteString(quoted(string(v)))
	case []byte:
		panic("bytes have no part in pure programs")
	case list:
		b.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			json(b, e)
		}
		b.WriteByte(']')
	case dict:
		b.WriteByte('{')
		for i, k := range v.keys {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(quoted(k))
			b.WriteByte(':')
			json(b, v.vals[k])
		}
		b.WriteByte('}')
	}
}

// numeral writes a float in the shortest form that reads back as it: digits
// from a millionth up to 10^21, with an exponent beyond. Those that integers
// could be are written in full.
func numeral(f float64) string {
	if f == math.Trunc(f) && math.Abs(f) < 1<<63 {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	if a := math.Abs(f); a >= 1e-6 && a < 1e21 {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, 64), "e")
	n, err := strconv.Atoi(exponent)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("%se%+d", mantissa, n)
}

func quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteString("\\" + string(r))
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\b':
			b.WriteString(`\b`)
		case r == '\f':
			b.WriteString(`\f`)
		case r < 0x20 || r == 0x2028 || r == 0x2029:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// toMachine makes a machine's value of v, of which it holds no part, and counts
// what it makes.
func toMachine(v val, nodes *int) value.Value {
	if *nodes++; *nodes > mostBytes {
		panic(exhausted{})
	}
	switch v := v.(type) {
	case nil:
		return value.Null
	case bool:
		return value.Bool(v)
	case int64:
		return value.Int(v)
	case float64:
		x, ok := value.Number(v)
		if !ok {
			panic("no number of the language")
		}
		return x
	case string:
		return value.Text(v)
	case decimal:
		d, err := value.ParseDecimal(nil, string(v))
		if err != nil {
			panic(err)
		}
		return d
	case []byte:
		return value.Bytes(v)
	case list:
		l := value.NewList(nil, 0)
		for _, e := range v {
			l.Append(nil, toMachine(e, nodes))
		}
		return l.Value()
	}
	m := value.NewMap(nil, 0)
	d := v.(dict)
	for _, k := range d.keys {
		m.SetText(k, toMachine(d.vals[k], nodes))
	}
	return m.Value()
}

func fromMachine(v value.Value) val {
	switch v.Kind() {
	case value.KindBool:
		return v.IsTrue()
	case value.KindInt:
		return v.Int64()
	case value.KindFloat:
		return v.Float64()
	case value.KindDecimal:
		return decimal(value.AppendDecimal(nil, v))
	case value.KindText:
		s := strings.Clone(v.Str())
		if !utf8.ValidString(s) {
			panic("a text that is not UTF-8")
		}
		return s
	case value.KindBytes:
		return bytes.Clone(v.Raw())
	case value.KindList:
		l := list{}
		for i := range v.List().Len() {
			l = append(l, fromMachine(v.List().At(i)))
		}
		return l
	case value.KindMap:
		d := dict{vals: map[string]val{}}
		for k, e := range v.Map().All {
			d.keys = append(d.keys, strings.Clone(k.Str()))
			d.vals[d.keys[len(d.keys)-1]] = fromMachine(e)
		}
		return d
	}
	return nil
}
