package wire

import (
	"encoding/base64"
	"time"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// plain are the bytes that stand for themselves in a JSON text, those of
// characters beyond ASCII among them.
var plain = func() (t [256]bool) {
	for b := range t {
		t[b] = b >= 0x20 && b != '"' && b != '\\'
	}
	return t
}()

// appendText appends a JSON text. What is not UTF-8 in it becomes U+FFFD, as
// nothing else would be JSON; results go through appendBytes, which loses
// nothing.
func appendText(dst []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = string([]rune(s))
	}
	return appendValid(dst, s)
}

// appendBytes appends the bytes as a JSON text where they are UTF-8, else their
// base64.
func appendBytes(dst, b []byte) (_ []byte, isText bool) {
	if utf8.Valid(b) {
		return appendValid(dst, b), true
	}
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, b)
	return append(dst, '"'), false
}

func appendValid[T string | []byte](dst []byte, s T) []byte {
	dst = append(dst, '"')
	dst = appendEscaped(dst, s)
	return append(dst, '"')
}

// appendEscaped appends what stands between the quotes of a JSON text.
func appendEscaped[T string | []byte](dst []byte, s T) []byte {
	start := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if plain[c] {
			continue
		}
		dst = append(dst, s[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
		}
	}
	return append(dst, s[start:]...)
}

// appendName appends the name of a field after others.
func appendName(dst []byte, name string) []byte {
	dst = append(dst, `,"`...)
	dst = append(dst, name...)
	return append(dst, `":`...)
}

func appendTextField(dst []byte, name, value string) []byte {
	return appendText(appendName(dst, name), value)
}

// appendOptional appends a field unless it is empty.
func appendOptional(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	return appendTextField(dst, name, value)
}

func appendTime(dst []byte, t time.Time) []byte {
	dst = append(dst, '"')
	dst = t.UTC().AppendFormat(dst, time.RFC3339Nano)
	return append(dst, '"')
}

// appendComma appends a comma unless the object or list has only begun.
func appendComma(dst []byte) []byte {
	if last := dst[len(dst)-1]; last == '{' || last == '[' {
		return dst
	}
	return append(dst, ',')
}

func appendPairs(dst []byte, pairs []Pair) []byte {
	dst = append(dst, '{')
	for _, p := range pairs {
		dst = appendComma(dst)
		dst = appendText(dst, p.Name)
		dst = append(dst, ':')
		dst = appendText(dst, p.Value)
	}
	return append(dst, '}')
}
