package value

import (
	"encoding/base64"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

const (
	ones = 0x0101010101010101
	tops = 0x80 * ones
)

// word8 returns the first eight bytes of s.
func word8(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// special is not 0 where one of eight bytes is a control character, a quotation mark or a backslash.
func special(w uint64) uint64 {
	quote, backslash := w^'"'*ones, w^'\\'*ones
	return ((w-0x20*ones)&^w | (quote-ones)&^quote | (backslash-ones)&^backslash) & tops
}

// plainPrefix returns the length of a part at the start of s that stands in JSON as it is: no more than
// can be told by eight bytes at once.
func plainPrefix(s string) int {
	n := 0
	for len(s)-n >= 8 {
		if w := word8(s[n:]); special(w)|w&tops != 0 {
			break
		}
		n += 8
	}
	return n
}

// AppendText appends v as EMIT and insertions write it: texts and bytes as
// they are, numbers in their shortest form, decimals with all their digits, lists
// and maps as compact JSON, null as nothing.
func AppendText(dst []byte, v Value) []byte {
	switch v.Kind() {
	case KindNull:
		return dst
	case KindText, KindBytes:
		return append(dst, v.Str()...)
	case KindDecimal:
		return AppendDecimal(dst, v)
	}
	return AppendJSON(dst, v)
}

// PutText writes v as AppendText does, into dst, which is TextSize bytes long.
func PutText(dst []byte, v Value) {
	switch {
	case v.p == tagInt():
		putInt(dst, int64(v.n))
	case v.IsText():
		copy(dst, v.Str())
	default:
		AppendText(dst[:0], v)
	}
}

// pairs are the numbers from 00 to 99.
const pairs = "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748495051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899"

// putInt writes an integer into dst, which is intLength bytes long.
func putInt(dst []byte, i int64) {
	u := uint64(i)
	if i < 0 {
		dst[0] = '-'
		dst, u = dst[1:], -u
	}
	n := len(dst)
	for ; u >= 100; u /= 100 {
		pair := u % 100 * 2
		dst[n-1], dst[n-2] = pairs[pair+1], pairs[pair]
		n -= 2
	}
	if u >= 10 {
		dst[1], dst[0] = pairs[2*u+1], pairs[2*u]
	} else {
		dst[0] = '0' + byte(u)
	}
}

// AppendNumber appends a number in its shortest form.
func AppendNumber(dst []byte, v Value) []byte {
	if v.p == tagInt() {
		from, n := len(dst), intLength(int64(v.n))
		dst = slices.Grow(dst, n)[:from+n]
		putInt(dst[from:], int64(v.n))
		return dst
	}
	f := v.Float64()
	// A whole float that an integer could be is written in full: its shortest
	// digits would be read as an integer beside it.
	if i := int64(f); float64(i) == f && i != math.MaxInt64 && i != math.MinInt64 {
		return strconv.AppendInt(dst, i, 10)
	}
	if a := math.Abs(f); a < 1e-6 || a >= 1e21 {
		// 1e-09 is written 1e-9. It is put together apart: dst may have room
		// for just what is written in the end.
		var buf [32]byte
		b := strconv.AppendFloat(buf[:0], f, 'e', -1, 64)
		if n := len(b); n >= 4 && b[n-4] == 'e' && b[n-2] == '0' {
			b[n-2] = b[n-1]
			b = b[:n-1]
		}
		return append(dst, b...)
	}
	return strconv.AppendFloat(dst, f, 'f', -1, 64)
}

// AppendJSON appends v as compact JSON; bytes become base64 text, and decimals text:
// most readers of JSON would make a number of 64 bits of one.
func AppendJSON(dst []byte, v Value) []byte {
	switch v.Kind() {
	case KindNull:
		return append(dst, "null"...)
	case KindBool:
		return strconv.AppendBool(dst, v.n != 0)
	case KindInt, KindFloat:
		return AppendNumber(dst, v)
	case KindText:
		return AppendQuoted(dst, v.Str())
	case KindBytes:
		dst = append(dst, '"')
		dst = base64.StdEncoding.AppendEncode(dst, v.Raw())
		return append(dst, '"')
	case KindDecimal:
		dst = append(dst, '"')
		dst = AppendDecimal(dst, v)
		return append(dst, '"')
	case KindList:
		l := v.List()
		dst = append(dst, '[')
		for i := range l.Len() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendJSON(dst, l.At(i))
		}
		return append(dst, ']')
	}
	dst = append(dst, '{')
	first := true
	t := v.Map()
	for i := range t.entries {
		e := &t.entries[i]
		if e.keyP == nil {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = AppendQuoted(dst, e.str())
		dst = append(dst, ':')
		dst = AppendJSON(dst, e.val)
	}
	return append(dst, '}')
}

// AppendShort appends v as JSON for a person to read, at most about that many bytes of it: what is left out is
// an ellipsis, and of bytes how many there are is told. Its work grows with what it appends.
func AppendShort(dst []byte, v Value, most int) []byte {
	return appendShort(dst, v, len(dst)+most)
}

// ellipsis stands for what is left out. Nothing but it follows what was cut, so that whoever looks for a text that must
// not be shown knows the beginning of one.
const ellipsis = "…"

func appendShort(dst []byte, v Value, end int) []byte {
	if len(dst) >= end {
		return append(dst, ellipsis...)
	}
	switch v.Kind() {
	case KindText:
		s := v.Str()
		if room := end - len(dst); len(s) > room {
			for room > 0 && !utf8.RuneStart(s[room]) {
				room--
			}
			dst = AppendQuoted(dst, s[:room])
			return append(append(dst[:len(dst)-1], ellipsis...), '"')
		}
		return AppendQuoted(dst, s)
	case KindBytes:
		dst = strconv.AppendInt(dst, int64(len(v.Raw())), 10)
		return append(dst, " bytes"...)
	case KindList:
		l := v.List()
		dst = append(dst, '[')
		for i := range l.Len() {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			if len(dst) >= end {
				return append(dst, ellipsis+"]"...)
			}
			dst = appendShort(dst, l.At(i), end)
		}
		return append(dst, ']')
	case KindMap:
		dst = append(dst, '{')
		n := 0
		for k, e := range v.Map().All {
			if n > 0 {
				dst = append(dst, ", "...)
			}
			if n++; len(dst) >= end {
				return append(dst, ellipsis+"}"...)
			}
			dst = appendShort(dst, k, end)
			dst = append(dst, ": "...)
			dst = appendShort(dst, e, end)
		}
		return append(dst, '}')
	}
	return AppendJSON(dst, v)
}

const hexDigits = "0123456789abcdef"

// AppendQuoted appends s as a JSON string. Only what JSON must escape is
// escaped, and U+2028 and U+2029, which break JavaScript.
func AppendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := plainPrefix(s); i < len(s); {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			switch {
			case r == utf8.RuneError && n == 1:
				dst = append(dst, s[start:i]...)
				dst = append(dst, `\ufffd`...)
			case r == '\u2028' || r == '\u2029':
				dst = append(dst, s[start:i]...)
				dst = append(dst, `\u202`...)
				dst = append(dst, hexDigits[r&0xF])
			default:
				i += n
				continue
			}
			i += n
			start = i
			continue
		}
		dst = append(dst, s[start:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, `\n`...)
		case '\t':
			dst = append(dst, `\t`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\b':
			dst = append(dst, `\b`...)
		case '\f':
			dst = append(dst, `\f`...)
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xF])
		}
		i++
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// What it takes to write a number, and how many bytes of a text are written in
// quotes for a unit of fuel: for both, once to measure and once to write.
const (
	intWork     = 3
	floatWork   = 20
	decimalWork = 12
	quotedBytes = 4
)

// NumberWork returns the fuel that writing a number or a decimal takes.
func NumberWork(v Value) int {
	switch {
	case v.IsFloat():
		return floatWork
	case v.IsDecimal():
		return decimalWork
	}
	return intWork
}

// JSONSize returns the length of v as JSON without making it, charging m for
// the walk and for writing it after: to be asked before room is allocated.
func JSONSize(m *Meter, v Value) int {
	switch v.Kind() {
	case KindNull:
		return 4
	case KindBool:
		return 5 - int(v.n)
	case KindInt, KindFloat:
		m.Work(NumberWork(v))
		if v.p == tagInt() {
			return intLength(int64(v.n))
		}
		var buf [32]byte
		return len(AppendNumber(buf[:0], v))
	case KindDecimal:
		return 2 + decimalLength(m, v)
	case KindText:
		m.Work(int(v.n) / quotedBytes)
		return quotedSize(v.Str())
	case KindBytes:
		m.Work(int(v.n) / quotedBytes)
		return 2 + base64.StdEncoding.EncodedLen(int(v.n))
	case KindList:
		l := v.List()
		m.Work(l.Len())
		n := 2 + max(0, l.Len()-1)
		for i := range l.Len() {
			n += JSONSize(m, l.At(i))
		}
		return n
	}
	t := v.Map()
	m.Work(t.Len() * 2)
	n := 2 + max(0, 2*t.Len()-1)
	for i := range t.entries {
		e := &t.entries[i]
		if e.keyP == nil {
			continue
		}
		m.Work(int(e.keyLen) / quotedBytes)
		n += quotedSize(e.str()) + JSONSize(m, e.val)
	}
	return n
}

// intLength returns how many bytes an integer is written in.
func intLength(i int64) int {
	n, u := 1, uint64(i)
	if i < 0 {
		n, u = 2, -u
	}
	for ; u >= 10_000; u /= 10_000 {
		n += 4
	}
	switch {
	case u >= 1000:
		return n + 3
	case u >= 100:
		return n + 2
	case u >= 10:
		return n + 1
	}
	return n
}

// FitsJSON reports whether v takes at most so many bytes as JSON. It looks no
// further than that: a small value that holds itself in many places may be
// longer than anything.
func FitsJSON(v Value, most int) bool { return jsonLeft(v, most) >= 0 }

// jsonLeft returns what is left of so many bytes after v, below 0 where it does
// not fit.
func jsonLeft(v Value, left int) int {
	switch v.Kind() {
	case KindText, KindBytes:
		if int(v.n) > left { // before it is looked through
			return -1
		}
		return left - JSONSize(nil, v)
	case KindList:
		l := v.List()
		left -= 2 + max(0, l.Len()-1)
		for i := 0; i < l.Len() && left >= 0; i++ {
			left = jsonLeft(l.At(i), left)
		}
		return left
	case KindMap:
		t := v.Map()
		left -= 2 + max(0, 2*t.Len()-1)
		for k, e := range t.All {
			if left < 0 || len(k.Str()) > left {
				return -1
			}
			left = jsonLeft(e, left-quotedSize(k.Str()))
		}
		return left
	}
	return left - JSONSize(nil, v)
}

func quotedSize(s string) int {
	n := len(s) + 2
	for i := plainPrefix(s); i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\' || c == '\n' || c == '\t' || c == '\r' || c == '\b' || c == '\f':
			n++
		case c < 0x20:
			n += 5
		case c == 0xE2 && i+2 < len(s) && s[i+1] == 0x80 && (s[i+2] == 0xA8 || s[i+2] == 0xA9):
			n += 3
		}
	}
	return n
}

// TextSize returns the length of v as AppendText writes it.
func TextSize(m *Meter, v Value) int {
	if v.p == tagInt() {
		m.Work(intWork)
		return intLength(int64(v.n))
	}
	switch v.Kind() {
	case KindNull:
		return 0
	case KindText, KindBytes:
		return int(v.n)
	case KindDecimal:
		return decimalLength(m, v)
	}
	return JSONSize(m, v)
}

// decimalLength returns how many bytes a decimal is written in.
func decimalLength(m *Meter, v Value) int {
	m.Work(decimalWork)
	var buf [2 * MaxDigits]byte
	return len(AppendDecimal(buf[:0], v))
}

// CheckPrintable refuses bytes that are no text: all else can be written.
func CheckPrintable(m *Meter, v Value) *Error {
	if v.Kind() != KindBytes {
		return nil
	}
	m.Work(int(v.n) / 8)
	if !utf8.ValidString(v.Str()) {
		return Errorf(WrongKind, "these bytes are no UTF-8 text: BASE64(…) or HEX(…) writes any bytes as text")
	}
	return nil
}

// ToText returns v as the text that an insertion writes. Bytes that are not
// UTF-8 have no text.
func ToText(m *Meter, v Value) (Value, *Error) {
	switch v.Kind() {
	case KindText:
		return v, nil
	case KindBytes:
		if err := CheckPrintable(m, v); err != nil {
			return Null, err
		}
	}
	n := TextSize(m, v)
	b := NewBuilder(m, KindText, n)
	AppendText(b.Reserve(n)[:0], v)
	return b.Value(), nil
}
